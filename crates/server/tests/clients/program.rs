//! Running a client program against a server, and failing with what it printed.

use std::process::Command;

use tempfile::TempDir;

use crate::process::Server;

/// Names a server that is running already, on this machine.
pub(crate) const PORT_VARIABLE: &str = "CLIENTS_PORT";

/// What each program may take; they say themselves which of their sections hangs.
const PROGRAM_SECONDS_MAX: &str = "80";

/// The server that clients are let loose on.
pub(crate) struct Target {
    /// Where it listens.
    pub(crate) port: u16,
    /// Where it listens for HTTP, if it is ours.
    http_port: Option<u16>,
    /// Ends with the test, and before its directory.
    _ours: Option<(Server, TempDir)>,
}

impl Target {
    /// A new one of ours, unless the environment names another.
    pub(crate) fn start() -> Self {
        if let Ok(port) = std::env::var(PORT_VARIABLE) {
            let port = port.parse();
            return Self {
                port: port.unwrap_or_else(|_| panic!("{PORT_VARIABLE} is no port")),
                http_port: None,
                _ours: None,
            };
        }
        let data = tempfile::tempdir().unwrap();
        let server = Server::start(data.path(), &[]);
        Self {
            port: server.port,
            http_port: Some(server.http_port),
            _ours: Some((server, data)),
        }
    }

    /// Runs a program that finds the server as libpq does, or by V3IO_API; what it printed, if it ended well.
    pub(crate) fn run(&self, program: &str, arguments: &[&str]) -> String {
        let http = self
            .http_port
            .map(|port| format!("http://127.0.0.1:{port}"));
        let output = Command::new("timeout")
            .args([PROGRAM_SECONDS_MAX, program])
            .args(arguments)
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.port.to_string())
            .env("PGUSER", "ada")
            .env("PGDATABASE", "boats")
            .env("V3IO_API", http.unwrap_or_default())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output();
        let output = output.expect("`timeout` of the coreutils is there");
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(
            output.status.success(),
            "{program} {} ended with {}\n{out}\n{err}",
            arguments.join(" "),
            output.status
        );
        out
    }
}

/// Sections that are known to fail, and why, as arguments of a program. It runs them all the same, and
/// one that passes fails the test: so the lists shrink.
pub(crate) fn not_yet(sections: &[(&str, &str)]) -> Vec<String> {
    for (section, why) in sections {
        println!("not yet: {section}: {why}");
    }
    sections
        .iter()
        .map(|(section, _)| format!("-{section}"))
        .collect()
}

/// The path of a file beside this one.
pub(crate) fn beside(name: &str) -> String {
    format!("{}/tests/clients/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Whether a program can be run at all.
pub(crate) fn assert_there(program: &str, asks: &str) {
    let found = Command::new(program).arg(asks).output();
    assert!(
        found.is_ok_and(|output| output.status.success()),
        "{program} is missing: `./dev test` installs it"
    );
}
