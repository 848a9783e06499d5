//! The clients, the same for both servers: psql for statements, pgbench for load.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::server::{DATABASE, Server, USER};
use crate::{Error, Result};

/// What a statement, a load or a run of pgbench may take before it is ended.
const STATEMENT_SECONDS_MAX: &str = "300";

/// A transaction is tried again until the time of the run is over: both servers refuse some when they
/// are serializable, and PostgreSQL the same one a thousand times in two seconds.
const TRIES: &str = "--max-tries=0";

/// Threads of pgbench; more than one, or it cannot keep either server busy.
const THREADS: &str = "--jobs=2";

/// What pgbench says after a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) per_second: f64,
    pub(crate) transactions: f64,
    /// How many of them needed more than one try.
    pub(crate) retried: f64,
}

/// How statements are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode {
    /// Prepared once, with parameters.
    Prepared,
    /// As text with values written in it, as clients do that do not prepare.
    Simple,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Simple => "simple",
        }
    }
}

/// What pgbench is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load<'a> {
    /// `-f FILE`, or a script of its own by `-b NAME`.
    pub(crate) script: &'a [&'a str],
    /// Variables of the script.
    pub(crate) variables: &'a [(&'a str, i64)],
    pub(crate) clients: u32,
    pub(crate) mode: Mode,
    pub(crate) seconds: u32,
    /// The isolation level, if it is not the server's own choice.
    pub(crate) isolation: Option<&'a str>,
}

/// Puts a load on a server, and looks at its memory half-way.
pub(crate) fn pgbench(server: &mut Server, load: Load<'_>) -> Result<Run> {
    let mut command = connected("pgbench", server);
    command.args(["-n", "-M", load.mode.name(), TRIES, THREADS]);
    command.args(load.script);
    command.args(["-c", &load.clients.to_string()]);
    command.args(["-T", &load.seconds.to_string()]);
    for (name, value) in load.variables {
        command.args(["-D", &format!("{name}={value}")]);
    }
    if let Some(level) = load.isolation {
        let options = format!(
            "-c default_transaction_isolation={}",
            level.replace(' ', "\\ ")
        );
        command.env("PGOPTIONS", options);
    }
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    std::thread::park_timeout(Duration::from_secs(load.seconds.into()) / 2);
    server.note_memory();
    let output = child.wait_with_output()?;
    let [out, err] = [output.stdout, output.stderr].map(|text| lossy(&text));
    server.alive()?;
    if !output.status.success() {
        return Err(told(server, "pgbench", &err));
    }
    read_run(&out).ok_or_else(|| told(server, "pgbench", &format!("{out}{err}")))
}

/// The figures in pgbench's report; nothing if a transaction failed for good. What each client was at when
/// the time was over counts as failed there if it was refused just then, and as processed nowhere.
fn read_run(report: &str) -> Option<Run> {
    let number = |label: &str| -> Option<f64> {
        let line = report.lines().find_map(|line| line.strip_prefix(label))?;
        let digits = line.trim_start_matches([':', '=', ' ']);
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.');
        digits.get(..end.unwrap_or(digits.len()))?.parse().ok()
    };
    let failed = number("number of failed transactions")?;
    let limited = number("maximum number of tries").is_some();
    let unfinished_max = if limited {
        0.0
    } else {
        number("number of clients")?
    };
    let run = Run {
        per_second: number("tps")?,
        transactions: number("number of transactions actually processed")?,
        retried: number("number of transactions retried").unwrap_or(0.0),
    };
    (failed <= unfinished_max && run.transactions > 0.0).then_some(run)
}

/// Makes pgbench's own tables.
pub(crate) fn pgbench_tables(server: &Server, scale: u32) -> Result<()> {
    let mut command = connected("pgbench", server);
    command.args(["-i", "-q", "-s", &scale.to_string()]);
    finish(server, "pgbench -i", &mut command).map(drop)
}

/// Runs one statement and hands back what psql prints: columns by a bar, rows by a line.
pub(crate) fn ask(server: &Server, statement: &str) -> Result<String> {
    let mut command = psql(server);
    command.args(["-c", statement]).stdin(Stdio::null());
    finish(server, statement, &mut command)
}

/// Runs the statements, or takes the rows, that lie in a file.
pub(crate) fn feed(server: &Server, file: &Path, statement: Option<&str>) -> Result<()> {
    let mut command = psql(server);
    match statement {
        Some(statement) => command.args(["-c", statement]),
        None => command.args(["-f", "-"]),
    };
    command.stdin(File::open(file)?);
    finish(
        server,
        statement.unwrap_or("a file of statements"),
        &mut command,
    )
    .map(drop)
}

fn psql(server: &Server) -> Command {
    let mut command = connected("psql", server);
    command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
    command
}

fn connected(program: &str, server: &Server) -> Command {
    let mut command = Command::new("timeout");
    command.args([STATEMENT_SECONDS_MAX, program]);
    command.env("PGHOST", "127.0.0.1");
    command.env("PGPORT", server.port.to_string());
    command.env("PGUSER", USER).env("PGDATABASE", DATABASE);
    command
}

fn finish(server: &Server, what: &str, command: &mut Command) -> Result<String> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut out = String::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut out)?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(out.trim_end().to_owned());
    }
    Err(told(server, what, &lossy(&output.stderr)))
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// The first lines of what a client said are enough: the others repeat it for each connection.
fn told(server: &Server, what: &str, said: &str) -> Error {
    let lines: Vec<&str> = said.lines().take(3).collect();
    Error::Child(format!("{}, {what}: {}", server.name, lines.join(" / ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What pgbench 15 says of PostgreSQL 15, serializable.
    const REPORT: &str = "\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 10
query mode: prepared
number of clients: 8
number of threads: 2
duration: 2 s
number of transactions actually processed: 929
number of failed transactions: 0 (0.000%)
number of transactions retried: 584 (62.863%)
total number of retries: 4867
latency average = 17.001 ms
initial connection time = 47.803 ms
tps = 470.573456 (without initial connection time)
";

    /// The same with `--max-tries=50`.
    const USED_UP: &str = "\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 10
query mode: prepared
number of clients: 8
number of threads: 2
maximum number of tries: 50
duration: 2 s
number of transactions actually processed: 1756
number of failed transactions: 28 (1.570%)
number of transactions retried: 1052 (58.969%)
total number of retries: 5472
latency average = 8.834 ms (including failures)
initial connection time = 57.207 ms
tps = 891.344316 (without initial connection time)
";

    #[test]
    fn figures_are_found_in_the_report() {
        let run = read_run(REPORT).unwrap();
        assert_eq!(run.transactions, 929.0);
        assert_eq!(run.retried, 584.0);
        assert_eq!(run.per_second, 470.573_456);
        assert!(read_run("").is_none());
    }

    #[test]
    fn a_run_in_which_a_transaction_failed_for_good_is_no_measurement() {
        assert!(read_run(USED_UP).is_none());
        let failed = |report: &str, from: &str, to: &str| {
            let [from, to] = [from, to].map(|count| format!("failed transactions: {count} ("));
            read_run(&report.replace(&from, &to))
        };
        assert!(
            failed(USED_UP, "28", "1").is_none(),
            "its tries were used up"
        );
        assert!(failed(USED_UP, "28", "0").is_some());
        // Each client may be in the middle of one when the time is over.
        assert!(failed(REPORT, "0", "8").is_some());
        assert!(failed(REPORT, "0", "9").is_none());
    }
}
