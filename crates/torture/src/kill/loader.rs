//! The loader: a client that fills a table by COPY, past the server's journal, and empties it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::SinkExt;
use tokio_postgres::{Client, Error};

use super::client::{Failure, failure};
use super::findings::Finding;
use super::workload::{LOAD_ROWS, LOADS_KEPT, load_rows, load_value};

/// Bytes of a load's text that are sent at once.
const CHUNK_BYTES: usize = 32 << 10;
/// Between two statements, so that the other clients have the server too.
const REST: Duration = Duration::from_millis(150);

/// A statement of the loader that was sent and not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadInFlight {
    /// The next load.
    Copy,
    /// Emptying the table.
    Truncate,
}

/// What was acknowledged to the loader: the loads after `emptied` up to `loaded` are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Loads {
    /// The last load that was there when the table was emptied.
    pub emptied: i64,
    /// The last load.
    pub loaded: i64,
    /// What may have happened besides.
    pub in_flight: Option<LoadInFlight>,
}

impl Loads {
    /// Takes what was in flight for done if it is: `found` are the loads that have rows.
    pub(super) fn settle(&mut self, found: &[i64]) {
        match self.in_flight.take() {
            Some(LoadInFlight::Copy) if found.contains(&(self.loaded + 1)) => self.loaded += 1,
            Some(LoadInFlight::Truncate) if found.is_empty() => self.emptied = self.loaded,
            _ => {}
        }
    }
}

/// The loader and what it has to tell.
#[derive(Debug)]
pub(super) struct Loader {
    /// What was acknowledged to it.
    pub acknowledged: Loads,
    /// Rows that it wrote in this life of the server, and times that it emptied the table.
    pub operations: u64,
    /// What it heard and should not have.
    pub findings: Vec<Finding>,
    /// How many loads it has done, for the disruptor.
    position: Arc<AtomicI64>,
}

impl Loader {
    /// A loader that has done nothing.
    pub(super) fn new(position: Arc<AtomicI64>) -> Self {
        Self {
            acknowledged: Loads::default(),
            operations: 0,
            findings: Vec::new(),
            position,
        }
    }

    /// Loads until the server is gone.
    pub(super) async fn run(&mut self, connection: Client) {
        loop {
            let Loads {
                emptied, loaded, ..
            } = self.acknowledged;
            let next = match loaded - emptied >= LOADS_KEPT {
                true => LoadInFlight::Truncate,
                false => LoadInFlight::Copy,
            };
            tokio::time::sleep(REST).await;
            self.acknowledged.in_flight = Some(next);
            let outcome = match next {
                LoadInFlight::Copy => copy(&connection, loaded + 1).await,
                LoadInFlight::Truncate => connection.batch_execute("TRUNCATE loads").await,
            };
            match outcome.map_err(|error| failure(&error, &format!("{next:?}"))) {
                Ok(()) => self.acknowledge(next),
                Err(Failure::Retry) => self.acknowledged.in_flight = None,
                Err(Failure::Gone) => return,
                Err(Failure::Wrong(finding)) => {
                    self.findings.push(finding);
                    return;
                }
            }
        }
    }

    fn acknowledge(&mut self, done: LoadInFlight) {
        self.acknowledged.in_flight = None;
        match done {
            LoadInFlight::Copy => {
                self.acknowledged.loaded += 1;
                self.operations += LOAD_ROWS.unsigned_abs();
            }
            LoadInFlight::Truncate => {
                self.acknowledged.emptied = self.acknowledged.loaded;
                self.operations += 1;
            }
        }
        self.position
            .store(self.acknowledged.loaded, Ordering::Relaxed);
    }
}

/// Sends the rows of a load.
async fn copy(connection: &Client, load: i64) -> Result<(), Error> {
    let sink = connection.copy_in("COPY loads FROM STDIN").await?;
    let mut sink = std::pin::pin!(sink);
    let mut text = String::with_capacity(CHUNK_BYTES);
    for n in load_rows(load) {
        writeln!(text, "{n}\t{}", load_value(n)).expect("writing to a string does not fail");
        if text.len() >= CHUNK_BYTES {
            sink.send(std::io::Cursor::new(std::mem::take(&mut text)))
                .await?;
        }
    }
    sink.send(std::io::Cursor::new(text)).await?;
    sink.finish().await?;
    Ok(())
}
