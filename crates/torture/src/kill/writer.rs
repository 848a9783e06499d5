//! Writers: clients that insert, update and delete batches of rows and transfer money.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use storage::env::{Random, SeededRandom};
use tokio_postgres::{Client, SimpleQueryMessage};

use super::client::{Failure, failure};
use super::findings::Finding;
use super::observed::{Entry, Progress};
use super::workload::{Transfer, batch_of, batch_text, batch_writes, batches_kept};

/// One transaction in so many is a batch, the others are transfers.
const BATCH_ONE_IN: u64 = 3;

/// A transaction that was sent and not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InFlight {
    /// The next batch.
    Batch,
    /// The next transfer.
    Transfer(Transfer),
}

/// What was acknowledged to a writer.
#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledged {
    /// The writer.
    pub client: i64,
    /// Batches, from 1 on.
    pub batches: i64,
    /// Transfers, from 1 on.
    pub transfers: i64,
    /// By how much each account has changed.
    pub net: BTreeMap<i64, i64>,
    /// The tickets of the rows that are kept, by the rows' numbers.
    pub tickets: BTreeMap<i64, i64>,
    /// What may be there besides.
    pub in_flight: Option<InFlight>,
}

impl Acknowledged {
    /// Notes that the next batch is there, with the tickets of its rows.
    fn add_batch(&mut self, tickets: impl IntoIterator<Item = (i64, i64)>) {
        self.batches += 1;
        self.tickets.extend(tickets);
        let oldest = *batches_kept(self.batches).start();
        self.tickets.retain(|n, _| batch_of(*n) >= oldest);
    }

    /// Notes that the next transfer is there.
    fn add_transfer(&mut self, transfer: Transfer) {
        self.transfers += 1;
        *self.net.entry(transfer.from).or_default() -= transfer.amount;
        *self.net.entry(transfer.to).or_default() += transfer.amount;
    }

    /// Takes the transaction that was in flight for done if it is there, and answers with the tickets
    /// that are known now.
    pub(super) fn settle(&mut self, found: Progress, entries: &[Entry]) -> Vec<i64> {
        match self.in_flight.take() {
            Some(InFlight::Batch) if found.batches > self.batches => {
                let batch = found.batches;
                let own = |one: &&Entry| one.client == self.client && batch_of(one.n) == batch;
                let tickets = entries.iter().filter(own).map(|one| (one.n, one.ticket));
                let tickets: Vec<_> = tickets.collect();
                self.add_batch(tickets.iter().copied());
                tickets.into_iter().map(|(_, ticket)| ticket).collect()
            }
            Some(InFlight::Transfer(transfer)) if found.transfers > self.transfers => {
                self.add_transfer(transfer);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

/// A writer and what it has to tell.
#[derive(Debug)]
pub(super) struct Writer {
    /// What was acknowledged to it.
    pub acknowledged: Acknowledged,
    /// Rows that it wrote in this life of the server.
    pub operations: u64,
    /// Tickets that it was given in this life.
    pub tickets: Vec<i64>,
    /// What it heard and should not have.
    pub findings: Vec<Finding>,
    random: SeededRandom,
    /// How many batches it has done, for the disruptor.
    position: Arc<AtomicI64>,
}

impl Writer {
    /// A writer that has done nothing.
    pub(super) fn new(client: i64, seed: u64, position: Arc<AtomicI64>) -> Self {
        Self {
            acknowledged: Acknowledged {
                client,
                ..Acknowledged::default()
            },
            operations: 0,
            tickets: Vec::new(),
            findings: Vec::new(),
            random: SeededRandom::new(seed),
            position,
        }
    }

    /// Writes until the server is gone.
    pub(super) async fn run(&mut self, connection: Client) {
        loop {
            let next = match self.random.below(BATCH_ONE_IN) {
                0 => InFlight::Batch,
                _ => InFlight::Transfer(Transfer::choose(&self.random)),
            };
            let client = self.acknowledged.client;
            let text = match next {
                InFlight::Batch => batch_text(client, self.acknowledged.batches + 1),
                InFlight::Transfer(transfer) => {
                    transfer.text(client, self.acknowledged.transfers + 1)
                }
            };
            self.acknowledged.in_flight = Some(next);
            match connection.simple_query(&text).await {
                Ok(answer) => self.acknowledge(next, &answer),
                Err(error) => match failure(&error, &format!("{next:?} of client {client}")) {
                    Failure::Gone => return,
                    Failure::Wrong(finding) => {
                        self.findings.push(finding);
                        return;
                    }
                    Failure::Retry => {
                        self.acknowledged.in_flight = None;
                        if connection.batch_execute("ROLLBACK").await.is_err() {
                            return;
                        }
                    }
                },
            }
        }
    }

    fn acknowledge(&mut self, done: InFlight, answer: &[SimpleQueryMessage]) {
        self.acknowledged.in_flight = None;
        match done {
            InFlight::Batch => {
                let tickets: Vec<_> = answer.iter().filter_map(ticket).collect();
                self.tickets
                    .extend(tickets.iter().map(|(_, ticket)| ticket));
                self.acknowledged.add_batch(tickets);
                self.operations += batch_writes(self.acknowledged.batches);
                self.position
                    .store(self.acknowledged.batches, Ordering::Relaxed);
            }
            InFlight::Transfer(transfer) => {
                self.acknowledged.add_transfer(transfer);
                self.operations += Transfer::WRITES;
            }
        }
    }
}

/// A row's number and ticket.
fn ticket(message: &SimpleQueryMessage) -> Option<(i64, i64)> {
    let SimpleQueryMessage::Row(row) = message else {
        return None;
    };
    Some((row.get(0)?.parse().ok()?, row.get(1)?.parse().ok()?))
}
