//! `evenkeel serve`: opens a database and lets clients in until it is told to stop.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use db::Database;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::pg::listener::{CONNECTIONS_MAX, Listener};
use crate::{Error, Result};

/// Where the data lies unless said otherwise.
pub const DATA_DEFAULT: &str = "./evenkeel-data";
/// Where PostgreSQL's clients are served unless said otherwise.
pub const PG_DEFAULT: &str = "127.0.0.1:5433";

/// Stack of a thread that serves clients: planning a query over the catalog was measured to need more
/// than the usual 2 MiB when it is not optimised, and an overflow would end the server.
pub(crate) const STACK_BYTES: usize = 8 << 20;

/// Serves the database in `data` to PostgreSQL's clients on `pg`, until the process is asked to end.
///
/// When it is ready it says so on standard output in one line, with the real port.
pub fn serve(data: &Path, pg: &str, connections_max: Option<usize>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()?;
    raise_file_limit();
    let database = open(data)?;
    runtime.block_on(async {
        let places = connections_max.unwrap_or(CONNECTIONS_MAX);
        let listener = Listener::bind(pg, Arc::clone(&database), places).await?;
        let stop = stop_signal()?;
        let address = listener.address()?;
        if !address.ip().is_loopback() {
            let warning =
                "anyone who reaches this address may do anything: there are no passwords yet";
            writeln!(io::stderr(), "warning: {warning}")?;
        }
        writeln!(
            io::stdout(),
            "evenkeel: serving PostgreSQL clients on {}",
            address
        )?;
        listener.serve(stop).await;
        Ok::<_, Error>(())
    })?;
    database.sync()?;
    writeln!(io::stdout(), "evenkeel: stopped")?;
    Ok(())
}

/// Opens the database in a directory.
pub fn open(data: &Path) -> Result<Arc<Database>> {
    let opened = Database::open(data).map_err(|source| Error::Open {
        path: data.to_owned(),
        source,
    })?;
    Ok(Arc::new(opened))
}

/// Asks for as many open files as the machine allows: every client is one, and many systems start
/// programs with fewer than the limit on clients.
fn raise_file_limit() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Without it there is room for fewer clients, and those beyond wait to be accepted.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// Comes when the process is asked to end: Ctrl-C, or SIGTERM.
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
