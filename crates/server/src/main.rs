//! The `evenkeel` program: its command line.

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use db::FjallOptions;
use mimalloc::MiMalloc;
use server::serve::{Addresses, DATA_DEFAULT, PG_DEFAULT};
use server::shell::{self, Place};
use server::{Error, advise, lint, record, serve};

/// What a client's thread sets aside for a commit is given back by the thread that commits. The usual
/// allocator makes a write about a sixth dearer for that, and more so the longer it runs.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// EvenKeel, a database of sorted, range-partitioned tables that keeps its load even.
///
/// `evenkeel serve` runs it for every client of PostgreSQL, such as `psql -h 127.0.0.1 -p 5433`, and
/// `evenkeel sql` works on a data directory without a server. Inside a Rust program it is the library
/// crate `db`.
#[derive(Parser)]
#[command(name = "evenkeel", version, verbatim_doc_comment)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the database for PostgreSQL's clients: psql, drivers, ORMs
    ///
    /// Anyone who reaches the address may do anything: there are no passwords yet. The default
    /// address is reachable from this machine only.
    Serve {
        /// The directory of the data; made if it does not exist
        #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT)]
        data: PathBuf,
        /// The address to serve PostgreSQL's clients on; port 0 takes a free one
        #[arg(long, value_name = "ADDR", default_value = PG_DEFAULT)]
        pg: String,
        /// The address for HTTP (the NoSQL web API, /metrics, /health), or none [default: 127.0.0.1:8081]
        #[arg(long, value_name = "ADDR")]
        http: Option<String>,
        /// Clients that may be connected at a time [default: 1000]
        #[arg(long, value_name = "N")]
        connections_max: Option<usize>,
        /// Connections of HTTP that may be open at a time [default: 1000]
        #[arg(long, value_name = "N")]
        http_connections_max: Option<usize>,
        #[command(flatten)]
        engine: EngineArgs,
    },
    /// Run SQL on a data directory that no server has open, or on a server
    ///
    /// Without -c and -f it asks for statements at the terminal, or reads them from a pipe.
    Sql {
        /// The directory of the data; made if it does not exist
        #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT)]
        data: PathBuf,
        /// The server to talk to instead, such as postgres://ada@127.0.0.1:5433/boats
        #[arg(long, value_name = "URL", conflicts_with = "data")]
        url: Option<String>,
        /// Run these statements and exit; may be given several times
        #[arg(short = 'c', value_name = "SQL")]
        command: Vec<String>,
        /// Run the statements of this file and exit; may be given several times, after -c
        #[arg(short = 'f', value_name = "FILE")]
        file: Vec<PathBuf>,
    },
    /// Check the keys of a schema, with no server: SQL of YDB, PostgreSQL, CockroachDB, Spanner, TiDB
    ///
    /// Exits with 0 if nothing is denied, with 1 if something is (errors, and what --deny names), and
    /// with 2 if a file or a statement cannot be read; the rest is checked all the same. A comment
    /// `-- evenkeel: allow KEY003 reason` at a statement exempts it.
    Lint(lint::Args),
    /// Get at the transactions that were recorded, to find better keys with
    #[command(subcommand)]
    Record(record::Record),
    /// Say which key a table should have, from what was recorded of it or from a trace
    ///
    /// Every sensible key is judged by replaying the recorded transactions under it. The two or three
    /// that nothing beats are shown with the statements that make them and with what gets worse.
    /// With --verify one of them is tried out, and what was predicted stands beside what was measured.
    /// Exits with 2 if the trace cannot be read or is too short to say anything.
    Advise(advise::Args),
}

/// What the engine on disk may use.
#[derive(Debug, clap::Args)]
struct EngineArgs {
    /// Memory that all tables and indexes together may fill with writes before some are flushed, in MiB
    /// [default: 256]
    #[arg(long, value_name = "MIB")]
    memtables_mib: Option<u64>,
    /// Write no zeros ahead of the journal's end, where they save a file system no work
    #[arg(long)]
    no_journal_zeros: bool,
    /// Memory that one table or index fills with writes before they are flushed. For tests that need many
    /// flushes in a short time [default: 28672]
    #[arg(long, value_name = "KIB", hide = true)]
    memtable_kib: Option<u64>,
}

impl EngineArgs {
    fn options(&self) -> FjallOptions {
        let default = FjallOptions::default();
        FjallOptions {
            memtable_bytes_max: self.memtable_kib.map_or(default.memtable_bytes_max, |kib| {
                kib.saturating_mul(1 << 10)
            }),
            memtables_bytes_max: self
                .memtables_mib
                .map_or(default.memtables_bytes_max, |mib| {
                    mib.max(1).saturating_mul(1 << 20)
                }),
            journal_zeros: !self.no_journal_zeros,
            ..default
        }
    }
}

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Some(Command::Lint(args)) => return lint::run(&args),
        Some(Command::Record(args)) => record::run(&args),
        Some(Command::Advise(args)) => return advise::run(&args),
        None => Args::command().print_long_help().map_err(Error::Io),
        Some(Command::Serve {
            data,
            pg,
            http,
            connections_max,
            http_connections_max,
            engine,
        }) => {
            let addresses = Addresses {
                pg,
                http,
                connections_max,
                http_connections_max,
            };
            serve::serve(&data, &addresses, engine.options())
        }
        Some(Command::Sql {
            data,
            url,
            command,
            file,
        }) => {
            let place = url.as_deref().map_or(Place::Data(&data), Place::Url);
            shell::run(place, &command, &file)
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Whoever reads our output may have closed the pipe: there is nobody left to tell.
            if !matches!(&error, Error::Io(io) if io.kind() == ErrorKind::BrokenPipe) {
                let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("error: {error}\n"));
            }
            ExitCode::FAILURE
        }
    }
}
