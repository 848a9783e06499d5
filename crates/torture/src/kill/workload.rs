//! Tables, rows and statements of the clients: all follow from the numbers of a client and of a row.
//!
//! ```text
//!   entries    (lane, client, n)   tag, ticket, filler   batch b of a client is 64 consecutive n, over all lanes
//!   progress   (client)            how many batches and transfers a client has done
//!   accounts   (id)                balance
//!   loads      (n)                 value
//! ```
//!
//! The transaction of batch b inserts its rows, gives those of batch b − 2 another tag, deletes those of
//! batch b − 48, and says b in `progress`. So it writes to many partitions, two tables and two indexes.

use std::fmt::Write as _;

use storage::env::{Random, SeededRandom};

/// Clients that write batches and transfers.
pub(super) const WRITERS: i64 = 4;
/// First key columns that the rows of a batch are spread over.
pub(super) const LANES: i64 = 8;
/// Rows of a batch.
pub(super) const BATCH_ROWS: i64 = 64;
/// Batches of a client after which a batch gets other tags.
pub(super) const RETAG_AGE: i64 = 2;
/// Batches of a client that are kept.
pub(super) const BATCHES_KEPT: i64 = 48;
/// Tags of rows as they are inserted; later they are higher by this.
pub(super) const TAGS: i64 = 10_000;
/// Accounts of the bank.
pub(super) const ACCOUNTS: i64 = 64;
/// What each account begins with.
pub(super) const BALANCE: i64 = 1_000;
/// Rows of a load: as many as the server needs to write them past its journal.
pub(super) const LOAD_ROWS: i64 = 10_000;
/// Loads until the table is emptied.
pub(super) const LOADS_KEPT: i64 = 2;
/// Bytes that a row is filled up with.
const FILLER_BYTES: usize = 96;

/// The statements that make the tables.
pub(super) fn setup() -> Vec<String> {
    let mut statements = vec![
        "CREATE TABLE entries (lane bigint NOT NULL, client bigint NOT NULL, n bigint NOT NULL, \
         tag bigint NOT NULL, ticket bigserial, filler text NOT NULL, PRIMARY KEY (lane, client, n), \
         INDEX by_tag GLOBAL ON (tag), INDEX by_ticket GLOBAL ON (ticket))"
            .to_owned(),
        "CREATE TABLE progress (client bigint PRIMARY KEY, batches bigint NOT NULL, \
         transfers bigint NOT NULL)"
            .to_owned(),
        "CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL)".to_owned(),
        "CREATE TABLE loads (n bigint PRIMARY KEY, value bigint NOT NULL)".to_owned(),
    ];
    let rows: Vec<_> = (0..WRITERS)
        .map(|client| format!("({client}, 0, 0)"))
        .collect();
    statements.push(format!("INSERT INTO progress VALUES {}", rows.join(", ")));
    let rows: Vec<_> = (0..ACCOUNTS)
        .map(|id| format!("({id}, {BALANCE})"))
        .collect();
    statements.push(format!("INSERT INTO accounts VALUES {}", rows.join(", ")));
    statements
}

/// The numbers of the rows of a batch; batches count from 1.
pub(super) fn batch_rows(batch: i64) -> std::ops::Range<i64> {
    (batch - 1) * BATCH_ROWS..batch * BATCH_ROWS
}

/// The batch of a row.
pub(super) fn batch_of(n: i64) -> i64 {
    n.div_euclid(BATCH_ROWS) + 1
}

/// The batches that are kept after so many.
pub(super) fn batches_kept(done: i64) -> std::ops::RangeInclusive<i64> {
    (done - BATCHES_KEPT + 1).max(1)..=done
}

/// The first key column of a row.
pub(super) fn lane(n: i64) -> i64 {
    n.rem_euclid(LANES)
}

/// The tag of a client's row after so many batches of that client.
pub(super) fn tag(client: i64, n: i64, done: i64) -> i64 {
    let seed = client.unsigned_abs() << 40 | n.unsigned_abs();
    let first = SeededRandom::new(seed).below(TAGS.unsigned_abs());
    let retagged = batch_of(n) <= done - RETAG_AGE;
    first.cast_signed() + if retagged { TAGS } else { 0 }
}

/// What a client's row is filled up with.
pub(super) fn filler(client: i64, n: i64) -> String {
    format!("{client}/{n}/")
        .repeat(FILLER_BYTES / 4)
        .split_at(FILLER_BYTES)
        .0
        .to_owned()
}

/// The value of a row that is loaded.
pub(super) fn load_value(n: i64) -> i64 {
    n.wrapping_mul(31) % 1_009
}

/// The numbers of the rows of a load; loads count from 1.
pub(super) fn load_rows(load: i64) -> std::ops::Range<i64> {
    (load - 1) * LOAD_ROWS..load * LOAD_ROWS
}

/// The transaction of a batch. It answers with `n` and `ticket` of each row.
pub(super) fn batch_text(client: i64, batch: i64) -> String {
    let mut text = "BEGIN; INSERT INTO entries (lane, client, n, tag, filler) VALUES ".to_owned();
    for (place, n) in batch_rows(batch).enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        let (lane, tag, filler) = (lane(n), tag(client, n, batch), filler(client, n));
        put(
            &mut text,
            format_args!("{comma}({lane}, {client}, {n}, {tag}, '{filler}')"),
        );
    }
    text.push_str(" RETURNING n, ticket; ");
    if batch > RETAG_AGE {
        let rows = rows_of(client, batch - RETAG_AGE);
        put(
            &mut text,
            format_args!("UPDATE entries SET tag = tag + {TAGS} WHERE {rows}; "),
        );
    }
    if batch > BATCHES_KEPT {
        let rows = rows_of(client, batch - BATCHES_KEPT);
        put(
            &mut text,
            format_args!("DELETE FROM entries WHERE {rows}; "),
        );
    }
    put(
        &mut text,
        format_args!("UPDATE progress SET batches = {batch} WHERE client = {client}; COMMIT"),
    );
    text
}

/// The condition that finds the rows of a batch by ranges of the key.
fn rows_of(client: i64, batch: i64) -> String {
    let lanes: Vec<_> = (0..LANES).map(|lane| lane.to_string()).collect();
    let (lanes, rows) = (lanes.join(", "), batch_rows(batch));
    format!(
        "lane IN ({lanes}) AND client = {client} AND n >= {} AND n < {}",
        rows.start, rows.end
    )
}

/// Rows that the transaction of a batch writes.
pub(super) fn batch_writes(batch: i64) -> u64 {
    let batches = 1 + i64::from(batch > RETAG_AGE) + i64::from(batch > BATCHES_KEPT);
    (batches * BATCH_ROWS + 1).unsigned_abs()
}

/// Money that goes from one account to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    /// The account that has less afterwards.
    pub from: i64,
    /// The account that has more afterwards.
    pub to: i64,
    /// How much.
    pub amount: i64,
}

impl Transfer {
    /// Rows that its transaction writes.
    pub(super) const WRITES: u64 = 3;

    /// Some transfer between two accounts.
    pub(super) fn choose(random: &SeededRandom) -> Self {
        let below = |bound: i64| random.below(bound.unsigned_abs()).cast_signed();
        let from = below(ACCOUNTS);
        Self {
            from,
            to: (from + 1 + below(ACCOUNTS - 1)) % ACCOUNTS,
            amount: 1 + below(9),
        }
    }

    /// Its transaction, as the client's so many-th.
    pub(super) fn text(self, client: i64, number: i64) -> String {
        let Self { from, to, amount } = self;
        format!(
            "BEGIN; UPDATE accounts SET balance = balance - {amount} WHERE id = {from}; \
             UPDATE accounts SET balance = balance + {amount} WHERE id = {to}; \
             UPDATE progress SET transfers = {number} WHERE client = {client}; COMMIT"
        )
    }
}

fn put(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more)
        .expect("writing to a string does not fail");
}
