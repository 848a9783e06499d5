//! `evenkeel serve`: opens a database and lets clients in until it is told to stop.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use db::{Database, FjallOptions};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::http::{HttpListener, Limits};
use crate::pg::listener::{CONNECTIONS_MAX, Listener, STOP_SECONDS_MAX};
use crate::{Error, Result};

/// Where the data lies unless said otherwise.
pub const DATA_DEFAULT: &str = "./evenkeel-data";
/// Where PostgreSQL's clients are served unless said otherwise.
pub const PG_DEFAULT: &str = "127.0.0.1:5433";

/// Where HTTP is served unless said otherwise.
pub const HTTP_DEFAULT: &str = "127.0.0.1:8081";
/// What is said instead of an address where HTTP is not wanted.
pub const HTTP_NONE: &str = "none";

/// Connections of HTTP at a time unless said otherwise.
pub const HTTP_CONNECTIONS_MAX: usize = 1_000;
/// Seconds that a connection of HTTP may take until its next request is there: more than the minute
/// that Prometheus lets pass between two looks by default.
pub const HTTP_REQUEST_SECONDS_MAX: u64 = 75;

/// Stack of a thread that serves clients. A text is read with 24 MiB ahead, because nobody knows how
/// deep it is nested: where there is less, a stack is mapped for it and unmapped again, which for a
/// short statement takes longer than all the rest. Of a stack only what was used takes memory.
pub(crate) const STACK_BYTES: usize = 48 << 20;

/// Threads that there may be besides one for each client that blocks.
const SPARE_THREADS: usize = 64;

/// Where and to how many clients a database is served.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// The address for PostgreSQL's clients.
    pub pg: String,
    /// The address for HTTP, or [`HTTP_NONE`]. Without one [`HTTP_DEFAULT`] is taken if it is free.
    pub http: Option<String>,
    /// Clients of PostgreSQL's that may be connected at a time; without it [`CONNECTIONS_MAX`].
    pub connections_max: Option<usize>,
    /// Connections of HTTP that may be open at a time; without it [`HTTP_CONNECTIONS_MAX`].
    pub http_connections_max: Option<usize>,
}

/// Serves the database in `data` until the process is asked to end.
///
/// When it is ready it says so on standard output in one line, with the real ports.
pub fn serve(data: &Path, addresses: &Addresses, engine: FjallOptions) -> Result<()> {
    let connections = addresses.connections_max.unwrap_or(CONNECTIONS_MAX)
        + addresses
            .http_connections_max
            .unwrap_or(HTTP_CONNECTIONS_MAX);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK_BYTES)
        // Each client may block a thread at the same time, and the others have to be served.
        .max_blocking_threads(connections + SPARE_THREADS)
        .enable_all()
        .build()?;
    raise_file_limit();
    let database = open_with_engine(data, engine)?;
    runtime.block_on(async {
        let places = addresses.connections_max.unwrap_or(CONNECTIONS_MAX);
        let listener = Listener::bind(&addresses.pg, Arc::clone(&database), places).await?;
        let http = listen_http(addresses, &database).await?;
        let stop = stop_signal()?;
        let address = listener.address()?;
        let http_address = http.as_ref().map(HttpListener::address).transpose()?;
        let mut addresses = http_address.iter().chain([&address]);
        if addresses.any(|address| !address.ip().is_loopback()) {
            let warning =
                "anyone who reaches this address may do anything: there are no passwords yet";
            writeln!(io::stderr(), "warning: {warning}")?;
        }
        let also = match http_address {
            Some(address) => format!("HTTP on {address} and "),
            None => String::new(),
        };
        writeln!(
            io::stdout(),
            "evenkeel: serving {also}PostgreSQL clients on {address}"
        )?;
        let (stopping, mut stopped) = watch::channel(false);
        let looked_at = async move {
            if let Some(http) = http {
                let stop = async move {
                    // Who holds the other end being gone means the same.
                    let _ = stopped.wait_for(|stopped| *stopped).await;
                };
                http.serve(stop).await?;
            }
            Ok::<_, Error>(())
        };
        let looked_at = tokio::spawn(looked_at);
        listener.serve(stop).await;
        stopping.send_replace(true);
        // A client of HTTP that does not leave is cut off with the process.
        let farewell = timeout(Duration::from_secs(STOP_SECONDS_MAX), looked_at).await;
        farewell.unwrap_or(Ok(Ok(()))).map_err(io::Error::other)?
    })?;
    database.sync()?;
    writeln!(io::stdout(), "evenkeel: stopped")?;
    Ok(())
}

/// Listens for HTTP where that was asked for. An address that nobody asked for may be taken: clients
/// of PostgreSQL's are served all the same.
async fn listen_http(
    addresses: &Addresses,
    database: &Arc<Database>,
) -> Result<Option<HttpListener>> {
    let limits = Limits {
        connections_max: addresses
            .http_connections_max
            .unwrap_or(HTTP_CONNECTIONS_MAX),
        request_time_max: Duration::from_secs(HTTP_REQUEST_SECONDS_MAX),
    };
    let bind = |address| HttpListener::bind(address, Arc::clone(database), limits);
    match addresses.http.as_deref() {
        Some(HTTP_NONE) => Ok(None),
        Some(address) => Ok(Some(bind(address).await?)),
        None => match bind(HTTP_DEFAULT).await {
            Ok(listener) => Ok(Some(listener)),
            Err(error) => {
                let warning = "no NoSQL web API, /metrics and /health; choose another address with --http ADDR";
                writeln!(io::stderr(), "warning: {error}: {warning}")?;
                Ok(None)
            }
        },
    }
}

/// Opens the database in a directory.
pub fn open(data: &Path) -> Result<Arc<Database>> {
    open_with_engine(data, FjallOptions::default())
}

/// As [`open`], with other settings of the storage engine.
fn open_with_engine(data: &Path, engine: FjallOptions) -> Result<Arc<Database>> {
    let opened = Database::open_with_engine(data, engine).map_err(|source| Error::Open {
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
