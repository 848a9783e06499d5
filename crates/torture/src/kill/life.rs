//! The lives of the server: start, judgement, clients, kill.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use storage::env::{Clock, Random, SeededRandom, SystemClock};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::disruptor::Disruptor;
use super::findings::{self, Finding};
use super::judge::{judge, loads_found, progress_of};
use super::loader::Loader;
use super::metrics::{self, Counted};
use super::observed::{Observed, observe};
use super::tally::Tally;
use super::tickets::Tickets;
use super::workload::{WRITERS, setup};
use super::writer::Writer;
use crate::{Error, Options, Result, Server};

/// The shortest time between the start of the clients and the kill.
const LIFE_MS_MIN: u64 = 100;
/// The longest one.
const LIFE_MS_MAX: u64 = 3_500;
/// The average time from kill to kill, if the machine is fast enough.
const KILL_INTERVAL: Duration = Duration::from_millis(4_500);
/// One start in so many is killed before it serves.
const KILLED_START_ONE_IN: u64 = 6;
/// The longest time until such a kill.
const KILLED_START_MS_MAX: u64 = 300;
/// Kills between two progress lines.
const REPORT_KILLS: u64 = 20;
/// Time limit of the queries of one judgement.
const JUDGE_WAIT: Duration = Duration::from_secs(120);
/// Small memtables, for many flushes within a second; by default they have 32 MiB.
const SERVER_OPTIONS: [&str; 2] = ["--memtable-kib", "128"];

/// State of a run: the server's data, its clients and what they were told.
pub(super) struct Run {
    options: Options,
    clock: SystemClock,
    random: SeededRandom,
    runtime: Runtime,
    directory: TempDir,
    writers: Vec<Writer>,
    loader: Loader,
    disruptor: Disruptor,
    tickets: Tickets,
    tally: Tally,
    /// Time that the last start and judgement took.
    overhead: Duration,
    sound: bool,
}

impl Run {
    /// A new run, with its tables made.
    pub(super) fn begin(options: &Options) -> Result<Self> {
        let random = SeededRandom::new(options.seed);
        let batches: Vec<_> = (0..WRITERS).map(|_| Arc::new(AtomicI64::new(0))).collect();
        let loads = Arc::new(AtomicI64::new(0));
        let writers = (0..WRITERS).zip(&batches);
        let writers =
            writers.map(|(id, position)| Writer::new(id, random.next_u64(), Arc::clone(position)));
        let run = Self {
            options: options.clone(),
            clock: SystemClock::new(),
            runtime: Runtime::new()?,
            directory: tempfile::tempdir()?,
            writers: writers.collect(),
            loader: Loader::new(Arc::clone(&loads)),
            disruptor: Disruptor::new(random.next_u64(), batches, loads),
            random,
            tickets: Tickets::default(),
            tally: Tally::default(),
            overhead: Duration::ZERO,
            sound: true,
        };
        let server = run.start()?;
        run.runtime.block_on(async {
            let client = connect(&server).await?;
            for statement in setup() {
                let made = client.batch_execute(&statement).await;
                made.map_err(|error| Error::Statement { statement, error })?;
            }
            Ok::<_, Error>(())
        })?;
        Ok(run)
    }

    /// Whether its time is up.
    pub(super) fn is_over(&self) -> bool {
        self.clock.monotonic() >= self.options.duration
    }

    /// One start, judgement, life and kill of the server; `false` if something was wrong.
    pub(super) fn round(&mut self) -> Result<bool> {
        let kills = self.tally.kills;
        if self.random.below(KILLED_START_ONE_IN) == 0 {
            let mut server = self.launch()?;
            let life = Duration::from_millis(self.random.below(KILLED_START_MS_MAX));
            // A timer is made inside of the runtime.
            self.runtime
                .block_on(async { tokio::time::sleep(life).await });
            server.kill();
            self.tally.kills += 1;
        }
        let Some(mut server) = self.start_judged() else {
            return Ok(false);
        };
        self.live(&mut server)?;
        if self.tally.kills / REPORT_KILLS > kills / REPORT_KILLS {
            eprintln!("{}", self.tally);
        }
        Ok(self.sound)
    }

    /// Judges the last life, and answers with the numbers and whether nothing was wrong.
    pub(super) fn finish(mut self) -> (Tally, bool) {
        if self.sound {
            self.start_judged();
        }
        if !self.sound {
            println!("the data is kept in {}", self.directory.keep().display());
        }
        (self.tally, self.sound)
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn launch(&self) -> Result<Server> {
        Server::launch(&self.options.server, &self.data(), &SERVER_OPTIONS)
    }

    fn start(&self) -> Result<Server> {
        let mut server = self.launch()?;
        server.await_ready(&self.data())?;
        Ok(server)
    }

    /// Restart with a judgement; no server if something is wrong.
    fn start_judged(&mut self) -> Option<Server> {
        let begun = self.clock.monotonic();
        let started = self.start().and_then(|server| {
            let observed = self.observe(&server)?;
            Ok((server, observed))
        });
        let found = match &started {
            Ok((_, observed)) => self.judge(observed),
            Err(error) => vec![Finding::Anomaly(format!(
                "the server cannot be used after the kill: {error}"
            ))],
        };
        self.note(&found);
        self.overhead = self.clock.monotonic() - begun;
        let (server, _) = started.ok()?;
        self.sound.then_some(server)
    }

    fn observe(&self, server: &Server) -> Result<Observed> {
        self.runtime.block_on(async {
            let observing = async { observe(&connect(server).await?).await };
            let late = |_| Error::Server("the server does not answer the judge".to_owned());
            let observed = tokio::time::timeout(JUDGE_WAIT, observing).await;
            observed.map_err(late)?
        })
    }

    fn judge(&mut self, observed: &Observed) -> Vec<Finding> {
        let writers = self.writers.iter();
        let acknowledged: Vec<_> = writers.map(|one| one.acknowledged.clone()).collect();
        let mut found = judge(&acknowledged, &self.loader.acknowledged, observed);
        found.extend(self.settle(observed));
        found
    }

    /// Outcomes of the transactions that were in flight, from what is there.
    fn settle(&mut self, observed: &Observed) -> Vec<Finding> {
        let mut findings = Vec::new();
        for writer in &mut self.writers {
            let Some(found) = progress_of(&writer.acknowledged, &observed.progress) else {
                continue;
            };
            let tickets = writer.acknowledged.settle(found, &observed.entries);
            findings.extend(given_twice(&mut self.tickets, &tickets));
        }
        self.loader
            .acknowledged
            .settle(&loads_found(&observed.loads));
        findings
    }

    /// The longest life that leaves time for enough kills: starts and judgements take longer on a slow
    /// machine.
    fn life_ms_max(&self) -> u64 {
        let spare = KILL_INTERVAL.saturating_sub(self.overhead);
        let twice = u64::try_from(spare.as_millis() * 2).unwrap_or(LIFE_MS_MAX);
        twice.clamp(LIFE_MS_MIN * 4, LIFE_MS_MAX)
    }

    /// Runs the clients, kills the server, and collects what they noted.
    fn live(&mut self, server: &mut Server) -> Result<()> {
        let life = LIFE_MS_MIN + self.random.below(self.life_ms_max() - LIFE_MS_MIN);
        // Until the kill.
        let alive = Cell::new(true);
        let (counted, early) = self.runtime.block_on(async {
            let mut clients = Vec::new();
            for writer in &mut self.writers {
                clients.push(early(&alive, writer.run(connect(server).await?)).boxed_local());
            }
            let loading = self.loader.run(connect(server).await?);
            clients.push(early(&alive, loading).boxed_local());
            let disrupting = self.disruptor.run(connect(server).await?);
            clients.push(early(&alive, disrupting).boxed_local());
            let watching = metrics::watch(server.http_port());
            let killing = async {
                tokio::time::sleep(Duration::from_millis(life)).await;
                alive.set(false);
                server.kill();
            };
            let (early, counted, ()) = tokio::join!(join_all(clients), watching, killing);
            let early = early.into_iter().filter(|early| *early).count();
            Ok::<_, Error>((counted, early))
        })?;
        self.tally.kills += 1;
        if !self.take_in(counted) && early > 0 {
            let text = format!("{early} connections ended before the server was killed");
            self.note(&[Finding::Anomaly(text)]);
        }
        Ok(())
    }

    /// Adds up what the clients noted; `true` if something was wrong.
    fn take_in(&mut self, counted: Counted) -> bool {
        let mut found = Vec::new();
        for writer in &mut self.writers {
            self.tally.operations += std::mem::take(&mut writer.operations);
            found.append(&mut writer.findings);
            found.extend(given_twice(
                &mut self.tickets,
                &std::mem::take(&mut writer.tickets),
            ));
        }
        self.tally.operations += std::mem::take(&mut self.loader.operations);
        found.append(&mut self.loader.findings);
        self.tally.splits += std::mem::take(&mut self.disruptor.splits);
        found.append(&mut self.disruptor.findings);
        self.tally.flushes += counted.flushes;
        self.tally.compactions += counted.compactions;
        self.note(&found);
        !found.is_empty()
    }

    /// Prints and counts what was found.
    fn note(&mut self, found: &[Finding]) {
        findings::print(found, &format!("after kill {}", self.tally.kills));
        for finding in found {
            match finding {
                Finding::Lost(_) => self.tally.lost += 1,
                Finding::Anomaly(_) => self.tally.anomalies += 1,
            }
        }
        self.sound &= found.is_empty();
    }
}

/// Waits for a client; `true` if it ended before the kill.
async fn early(alive: &Cell<bool>, client: impl Future<Output = ()>) -> bool {
    client.await;
    alive.get()
}

fn given_twice(tickets: &mut Tickets, given: &[i64]) -> Vec<Finding> {
    let twice = given.iter().filter(|ticket| !tickets.add(**ticket));
    let text = |ticket: &i64| format!("the sequence gave {ticket}, which it had given before");
    twice.map(|ticket| Finding::Anomaly(text(ticket))).collect()
}

async fn connect(server: &Server) -> Result<tokio_postgres::Client> {
    server.connect().await.map_err(|error| Error::Statement {
        statement: "connect".to_owned(),
        error,
    })
}
