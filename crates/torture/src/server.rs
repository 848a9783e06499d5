//! A server that is started for a run, in a directory that outlives it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tokio_postgres::NoTls;

use crate::{Error, Result};

/// A running server. Dropping it kills it with SIGKILL.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
    http_port: u16,
}

impl Server {
    /// Starts `program` on the directory `data`, on ports of its own, and waits until it serves.
    pub fn start(program: &Path, data: &Path) -> Result<Self> {
        let mut server = Self::launch(program, data, &[])?;
        server.await_ready(data)?;
        Ok(server)
    }

    /// Starts `program` as [`Server::start`] does, with more arguments, and does not wait for it.
    pub fn launch(program: &Path, data: &Path, more: &[&str]) -> Result<Self> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(log_of(data))?;
        let child = Command::new(program)
            .args(["serve", "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0"])
            .args(more)
            .arg("--data")
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| Error::Server(format!("{}: {error}", program.display())))?;
        Ok(Self {
            child,
            port: 0,
            http_port: 0,
        })
    }

    /// Waits until a server that was launched on `data` serves.
    pub fn await_ready(&mut self, data: &Path) -> Result<()> {
        let mut line = String::new();
        if let Some(out) = self.child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let Some((http, pg)) = ports(&line) else {
            let said = std::fs::read_to_string(log_of(data)).unwrap_or_default();
            self.kill();
            return Err(Error::Server(format!(
                "the server named no ports: `{}` {said}",
                line.trim()
            )));
        };
        (self.http_port, self.port) = (http, pg);
        Ok(())
    }

    /// The port of its NoSQL API and metrics.
    pub fn http_port(&self) -> u16 {
        self.http_port
    }

    /// A client of its own connection, which a task of the runtime drives.
    pub async fn connect(
        &self,
    ) -> std::result::Result<tokio_postgres::Client, tokio_postgres::Error> {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(self.port);
        config.user("torture").dbname("postgres");
        let (client, connection) = config.connect(NoTls).await?;
        // A connection that ends ends the requests of its client, which is where it is noticed.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(client)
    }

    /// Ends it at once, as a power cord does for a process, and waits until it is gone.
    pub fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where what a server says on its standard error is kept, beside its data.
fn log_of(data: &Path) -> PathBuf {
    data.with_extension("log")
}

/// The ports in the line that a server says when it is ready.
fn ports(line: &str) -> Option<(u16, u16)> {
    let port = |word: &str| word.rsplit(':').next()?.parse().ok();
    let mut ports = line
        .split_whitespace()
        .filter(|word| word.contains("127.0.0.1:"));
    Some((port(ports.next()?)?, port(ports.next()?)?))
}
