//! Starting and ending the two servers, each on a port and in a directory of its own.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio_postgres::NoTls;

use super::{client, process};
use crate::{Error, Result};

/// Who connects, and to which database.
pub(crate) const USER: &str = "bench";
pub(crate) const DATABASE: &str = "postgres";

/// What PostgreSQL is told beyond its defaults, which are durable.
const POSTGRESQL_SETTINGS: &[&str] = &[
    "shared_buffers=512MB",
    "max_wal_size=4GB",
    "fsync=on",
    "synchronous_commit=on",
];

/// How often a server that starts or ends is looked at, and how often at most.
const PATIENCE: Duration = Duration::from_millis(100);
const LOOKS_MAX: usize = 300;

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    /// How it was started, for those who read the figures.
    pub(crate) settings: String,
    child: Child,
    /// The signal that asks it to end, even if clients are connected.
    farewell: &'static str,
    /// The most memory that was seen.
    memory_mib: f64,
    /// Where ours serves its web API.
    pub(crate) http_port: u16,
}

/// Ours, as it was started.
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) pg_port: u16,
    pub(crate) http_port: u16,
}

/// Starts ours on ports of its own, and waits until it serves.
pub(crate) fn start_ours(program: &Path, dir: &Path) -> Result<Started> {
    let mut child = Command::new(program)
        .args(["serve", "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        .arg("--data")
        .arg(dir.join("evenkeel"))
        .stdout(Stdio::piped())
        .stderr(File::create(dir.join("evenkeel.log"))?)
        .spawn()?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    let mut ports = line.split("127.0.0.1:").skip(1).map(|rest| {
        let port = rest.split_whitespace().next()?;
        port.parse::<u16>().ok()
    });
    match (ports.next().flatten(), ports.next().flatten()) {
        (Some(http_port), Some(pg_port)) => Ok(Started {
            child,
            pg_port,
            http_port,
        }),
        _ => {
            // It may have ended already.
            let _ = child.kill();
            Err(Error::Child(format!("evenkeel named no ports: `{line}`")))
        }
    }
}

impl Server {
    /// Ours.
    pub(crate) fn ours(program: &Path, dir: &Path) -> Result<Self> {
        let started = start_ours(program, dir)?;
        Ok(Self {
            name: "evenkeel",
            port: started.pg_port,
            settings: "serve, with its defaults".to_owned(),
            child: started.child,
            farewell: "TERM",
            memory_mib: 0.0,
            http_port: started.http_port,
        })
    }

    /// A client of its own connection, which a task of the runtime drives.
    pub(crate) async fn connect(&self) -> Result<tokio_postgres::Client> {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(self.port);
        config.user(USER).dbname(DATABASE);
        let (client, connection) = config.connect(NoTls).await?;
        // When it ends, so do the requests of its client.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(client)
    }

    /// PostgreSQL, in a new cluster.
    pub(crate) fn postgresql(dir: &Path) -> Result<Self> {
        let programs = programs()?;
        let data = dir.join("postgresql");
        std::fs::create_dir(&data)?;
        let log = dir.join("postgresql.log");
        let log = || File::options().create(true).append(true).open(&log);
        let root = own_user()? == "root";
        if root {
            done(Command::new("chown").arg("postgres").arg(&data))?;
        }
        let cluster = ["--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust"];
        let mut command = as_postgres(root, &programs.join("initdb"));
        command.args(cluster).args(["--no-sync", "-U", USER, "-D"]);
        done(command.arg(&data).stdout(log()?).stderr(log()?))?;

        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = as_postgres(root, &programs.join("postgres"));
        command.arg("-D").arg(&data).args(["-p", &port.to_string()]);
        let addresses = ["listen_addresses=127.0.0.1", "unix_socket_directories="];
        for setting in addresses.iter().chain(POSTGRESQL_SETTINGS) {
            command.args(["-c", setting]);
        }
        let child = command.stdout(log()?).stderr(log()?).spawn()?;
        let mut server = Self {
            name: "postgresql",
            port,
            settings: POSTGRESQL_SETTINGS.join(", "),
            child,
            farewell: "INT",
            memory_mib: 0.0,
            http_port: 0,
        };
        for _ in 0..LOOKS_MAX {
            if client::ask(&server, "SELECT 1").is_ok() {
                return Ok(server);
            }
            if server.child.try_wait()?.is_some() {
                break;
            }
            std::thread::park_timeout(PATIENCE);
        }
        let said = std::fs::read_to_string(dir.join("postgresql.log")).unwrap_or_default();
        Err(Error::Child(format!("PostgreSQL did not start: {said}")))
    }

    /// Processor time so far.
    pub(crate) fn cpu(&self) -> Duration {
        process::cpu(self.child.id())
    }

    /// Looks at its memory now; the peak of a single process the system remembers by itself.
    pub(crate) fn note_memory(&mut self) {
        let id = self.child.id();
        let seen = match self.name {
            "evenkeel" => process::peak_mib(id),
            _ => process::family_mib(id),
        };
        self.memory_mib = self.memory_mib.max(seen);
    }

    /// The most that was seen.
    pub(crate) fn memory_mib(&self) -> f64 {
        self.memory_mib
    }

    /// Fails if the server has ended by itself.
    pub(crate) fn alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(Error::Child(format!("{} ended: {status}", self.name))),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let id = self.child.id().to_string();
        // It may have ended already.
        let _ = Command::new("kill")
            .args(["-s", self.farewell, &id])
            .status();
        for _ in 0..LOOKS_MAX {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::park_timeout(PATIENCE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where Debian puts PostgreSQL's programs: the newest of them.
fn programs() -> Result<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let found = versions.into_iter().flatten().flatten();
    let found = found.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let programs = entry.path().join("bin");
        (programs.join("initdb").exists() && programs.join("postgres").exists())
            .then_some((version, programs))
    });
    let newest = found.max().map(|(_, programs)| programs);
    newest
        .ok_or_else(|| Error::Usage("PostgreSQL is missing: `./dev bench sql` installs it".into()))
}

/// PostgreSQL does not run as root, and as root we may choose.
fn as_postgres(root: bool, program: &Path) -> Command {
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    command.arg(program);
    // Our own directory may be closed to that user.
    command.current_dir("/");
    command
}

fn own_user() -> Result<String> {
    let output = Command::new("id").arg("-un").output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn done(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Child(format!("{command:?} ended with {status}")))
}
