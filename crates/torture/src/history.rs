//! The kind `history`: many clients append to lists and read them, and a checker judges what they saw.
//!
//! ```text
//!   seed ──plan──► clients ──SQL──► server      beside: ALTER TABLE, CREATE INDEX, splits, merges
//!                     │
//!                  history ──check──► anomalies, and coverage
//! ```
//!
//! A run is a sequence of rounds. In a round each client runs a fixed number of transactions over fresh
//! lists; between rounds nothing is open, what is left is read, and the history of the round is judged
//! and forgotten. So memory does not grow with the length of a run.

mod beside;
pub mod check;
mod client;
mod coverage;
mod explain;
mod graph;
mod layout;
mod pace;
mod plan;
mod tables;
pub mod transactions;
mod versions;
mod writes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use storage::env::{Clock, SystemClock};

use beside::{Beside, Orphans};
use check::{Anomaly, Class};
use client::Client;
pub use coverage::{Coverage, Shape};
pub use layout::CLIENTS;
use layout::{GENERATION_TRANSACTIONS, GENERATIONS};
use pace::Pace;
use plan::{Place, plan};
use transactions::{History, Outcome, Transaction};

use crate::{Error, Options, Result, Server};

/// From this length on a run must have covered everything.
const COVERED_AFTER: Duration = Duration::from_secs(30);

/// How many anomalies of each class are printed.
const EXAMPLES_MAX: u64 = 3;

/// How many errors are printed.
const ERRORS_MAX: usize = 10;

/// What a run found.
#[derive(Debug, Default)]
pub struct Report {
    /// How long clients went on, with the judging between rounds.
    pub elapsed: Duration,
    /// What the transactions were.
    pub coverage: Coverage,
    /// How many anomalies there were of each class.
    pub anomalies: BTreeMap<Class, u64>,
    /// The first ones.
    pub examples: Vec<Anomaly>,
    /// Errors that no client may be told.
    pub unexpected: Vec<String>,
}

/// Runs it and prints what was found. The answer is whether that is nothing, and everything was covered.
pub fn run(options: &Options) -> Result<bool> {
    let report = torture(options)?;
    print!("{}", report.coverage);
    let speed = report.coverage.transactions / report.elapsed.as_secs().max(1);
    println!("  {speed} transactions a second");
    for anomaly in &report.examples {
        println!("{}: {}", anomaly.class, anomaly.text);
    }
    for (class, count) in &report.anomalies {
        println!("  anomalies of class {class}: {count}");
    }
    for error in report.unexpected.iter().take(ERRORS_MAX) {
        println!("  unexpected error: {error}");
    }
    let missing = match options.duration >= COVERED_AFTER {
        true => report.coverage.missing(),
        false => Vec::new(),
    };
    for what in &missing {
        println!("  not covered: {what}");
    }
    let anomalies: u64 = report.anomalies.values().sum();
    println!(
        "TORTURE history transactions={} clients={CLIENTS} aborted={} anomalies={anomalies}",
        report.coverage.transactions, report.coverage.aborted
    );
    Ok(anomalies == 0 && missing.is_empty() && report.unexpected.is_empty())
}

/// Starts a server, runs rounds until the time is over, and judges them.
pub fn torture(options: &Options) -> Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let folder = tempfile::tempdir()?;
    let server = Server::start(&options.server, &folder.path().join("data"))?;
    let report = runtime.block_on(rounds(options, &server));
    if report.is_err() {
        // A server that panicked said so there.
        let log = std::fs::read_to_string(folder.path().join("data.log"));
        eprint!("{}", log.unwrap_or_default());
    }
    report
}

async fn rounds(options: &Options, server: &Server) -> Result<Report> {
    let clock = Arc::new(SystemClock::new());
    let admin = connect(server).await?;
    tables::create(&admin).await?;
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        clients.push(Client::new(number, connect(server).await?, clock.clone()));
    }
    let mut report = Report::default();
    let begun = clock.monotonic();
    let mut number = 0;
    while clock.monotonic() < begun + options.duration {
        tables::fill(&admin, number).await?;
        let round = Arc::new(Round {
            number,
            seed: options.seed,
            deadline: begun + options.duration,
            clock: clock.clone(),
            pace: Pace::new(CLIENTS),
            beside: Arc::new(Beside::default()),
        });
        let (returned, done) = round.run(clients, server).await?;
        clients = returned;
        report.add(done, &admin).await?;
        number += 1;
    }
    report.elapsed = clock.monotonic() - begun;
    Ok(report)
}

async fn connect(server: &Server) -> Result<tokio_postgres::Client> {
    let client = server.connect().await;
    client.map_err(|error| Error::Server(format!("no connection: {error}")))
}

/// One round, as its tasks share it.
struct Round {
    number: u64,
    seed: u64,
    deadline: Duration,
    clock: Arc<SystemClock>,
    pace: Pace,
    beside: Arc<Beside>,
}

/// What came of the tasks of a round.
#[derive(Default)]
struct Done {
    transactions: Vec<Transaction>,
    coverage: Coverage,
    faults: Vec<Anomaly>,
    orphans: Orphans,
    unexpected: Vec<String>,
}

impl Round {
    /// Runs all clients to the end of the round, with what goes on beside them.
    async fn run(
        self: Arc<Self>,
        clients: Vec<Client>,
        server: &Server,
    ) -> Result<(Vec<Client>, Done)> {
        let beside = &self.beside;
        let ddl = connect(server).await?;
        let ddl = tokio::spawn(beside::change_tables(ddl, beside.clone()));
        let splits = connect(server).await?;
        let seed = self.seed ^ self.number;
        let splits = tokio::spawn(beside::split_and_merge(splits, beside.clone(), seed));
        let orphans = connect(server).await?;
        let orphans = tokio::spawn(beside::look_for_orphans(orphans, beside.clone()));
        let tasks: Vec<_> = (0..)
            .zip(clients)
            .map(|(number, client)| tokio::spawn(self.clone().attend(number, client)))
            .collect();
        let mut returned = Vec::new();
        let mut done = Done::default();
        for task in tasks {
            let (client, part) = task.await.map_err(ended)??;
            returned.push(client);
            done.merge(part);
        }
        self.beside.over.store(true, Ordering::SeqCst);
        done.unexpected.extend(ddl.await.map_err(ended)??);
        done.unexpected.extend(splits.await.map_err(ended)??);
        done.orphans.extend(orphans.await.map_err(ended)??);
        Ok((returned, done))
    }

    /// All transactions of one client.
    async fn attend(self: Arc<Self>, number: u64, client: Client) -> Result<(Client, Done)> {
        let done = self.transactions(number, client).await;
        self.pace.leave(number);
        done
    }

    async fn transactions(&self, number: u64, mut client: Client) -> Result<(Client, Done)> {
        let mut done = Done::default();
        for generation in 0..GENERATIONS {
            self.pace.enter(number, generation).await;
            for index in 0..GENERATION_TRANSACTIONS {
                if self.clock.monotonic() >= self.deadline {
                    return Ok((client, done));
                }
                let place = Place {
                    client: number,
                    round: self.number,
                    generation,
                    index,
                };
                let plan = plan(self.seed, place);
                let (ddl, splits) = (self.beside.ddl.ended(), self.beside.splits.ended());
                let ended = client.run(&plan, place).await?;
                let mut shapes = vec![plan.shape];
                if self.beside.ddl.since(ddl) {
                    shapes.push(Shape::BesideDdl);
                }
                if self.beside.splits.since(splits) {
                    shapes.push(Shape::BesideSplit);
                }
                done.add(ended, &shapes);
            }
        }
        Ok((client, done))
    }
}

/// A task that did not end by itself.
fn ended(error: tokio::task::JoinError) -> Error {
    Error::Server(format!("a task of the run ended: {error}"))
}

impl Done {
    fn add(&mut self, ended: client::Done, shapes: &[Shape]) {
        let coverage = &mut self.coverage;
        coverage.transactions += 1;
        for shape in shapes {
            *coverage.shapes.entry(*shape).or_default() += 1;
        }
        if ended.transaction.outcome == Outcome::Committed {
            coverage.multi_partition += u64::from(ended.partitions > 1);
        } else {
            coverage.aborted += 1;
        }
        self.unexpected.extend(ended.unexpected);
        if let Some(code) = ended.code {
            *coverage.refused.entry(code).or_default() += 1;
        }
        self.transactions.push(ended.transaction);
        self.faults.extend(ended.faults);
    }

    fn merge(&mut self, other: Self) {
        self.transactions.extend(other.transactions);
        self.coverage.merge(&other.coverage);
        self.faults.extend(other.faults);
        self.orphans.extend(other.orphans);
        self.unexpected.extend(other.unexpected);
    }
}

impl Report {
    /// Judges a round whose transactions have all ended.
    async fn add(&mut self, mut done: Done, admin: &tokio_postgres::Client) -> Result<()> {
        for (table, id, anomaly) in tables::orphans(admin).await? {
            done.orphans.insert((table, id), anomaly);
        }
        let history = History {
            keys: tables::keys(),
            transactions: done.transactions,
            last: tables::versions(admin).await?,
        };
        self.coverage.merge(&done.coverage);
        self.unexpected.extend(done.unexpected);
        let found = check::check(&history).into_iter();
        let found = found.chain(done.faults).chain(done.orphans.into_values());
        for anomaly in found {
            let count = self.anomalies.entry(anomaly.class).or_default();
            *count += 1;
            if *count <= EXAMPLES_MAX {
                self.examples.push(anomaly);
            }
        }
        Ok(())
    }
}
