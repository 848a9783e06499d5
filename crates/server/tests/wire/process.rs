//! A server of one test, on a port of its own, gone with the test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use tokio_postgres::{Client, NoTls};

/// A running `evenkeel serve`.
pub(crate) struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
    /// Where it listens.
    pub(crate) port: u16,
    /// Where it listens for HTTP.
    pub(crate) http_port: u16,
}

impl Server {
    /// Starts one and waits until it says that it is ready.
    pub(crate) fn start(data: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["serve", "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0"])
            .arg("--data")
            .arg(data)
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("it prints a line");
        let ports = line.trim().split("127.0.0.1:").skip(1);
        let port = |text: &str| text.split(' ').next()?.parse().ok();
        let ports: Vec<u16> = ports.filter_map(port).collect();
        let [http_port, port] = ports[..] else {
            panic!("no two ports in `{line}`");
        };
        Self {
            port,
            http_port,
            child,
            lines,
        }
    }

    /// The most memory it ever had, in KiB.
    pub(crate) fn memory_kib_max(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|number| number.parse().ok()).unwrap()
    }

    /// A driver connected to it.
    pub(crate) async fn connect(&self) -> Client {
        self.try_connect().await.expect("it lets clients in")
    }

    pub(crate) async fn try_connect(&self) -> Result<Client, tokio_postgres::Error> {
        let config = format!("host=127.0.0.1 port={} user=ada dbname=boats", self.port);
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Ends it as the power going off does.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Asks it to end, and waits: the exit status and what it still printed.
    pub(crate) fn terminate(mut self) -> (ExitStatus, String) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        assert!(sent.expect("kill is there").success());
        let mut rest = String::new();
        self.lines.read_line(&mut rest).expect("it prints UTF-8");
        (self.child.wait().expect("it ends"), rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
