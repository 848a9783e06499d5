//! Where lists lie: tables, generations of keys, and partitions.
//!
//! ```text
//!   rows of `lists` and of `notes`, k =
//!   0 … 5 … 21 … 37 … 53 … │ … 69 … 85 … 101 … 117 … │ 128 … 133 …
//!       ▲                  │                         │
//!       a live key,        a partition begins        the next generation
//!       between fillers    every 64 rows             begins every 128 rows
//! ```
//!
//! Clients append to the keys of one generation for a while and then turn to the next one, so that lists
//! stay short. No client is two generations ahead of another, so that two generations of 16 keys are
//! live at a time. Fillers never change: they are what a range is long by.

use super::transactions::{KeyId, Name};

/// How many clients there are.
pub const CLIENTS: u64 = 32;

/// How many transactions a client runs before it turns to the next generation of keys.
pub(super) const GENERATION_TRANSACTIONS: u64 = 16;

/// How many generations there are in a round, after which all clients pause and the history is judged.
pub(super) const GENERATIONS: u64 = 8;

/// How many keys of a generation lie in each table.
pub(super) const SLOTS: u64 = 8;

/// How many rows lie from one key to the next.
const STRIDE: u64 = 16;

/// Where the first key of a generation lies.
const FIRST: u64 = 5;

/// How many rows of a table belong to one generation.
pub(super) const GENERATION_ROWS: u64 = SLOTS * STRIDE;

/// How many rows of a table there are room for.
pub(super) const ROWS: u64 = GENERATIONS * GENERATION_ROWS;

/// How many rows there are from the beginning of a partition to the next.
pub(super) const PARTITION_ROWS: u64 = GENERATION_ROWS / 2;

/// How many rows of `parents`, and of `players`, belong to one generation.
pub(super) const PARENTS: u64 = 8;

/// A table of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Table {
    /// The one with an index.
    Lists,
    /// The one without.
    Notes,
}

pub(super) const TABLES: [Table; 2] = [Table::Lists, Table::Notes];

impl Table {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lists => "lists",
            Self::Notes => "notes",
        }
    }

    fn number(self) -> u64 {
        match self {
            Self::Lists => 0,
            Self::Notes => 1,
        }
    }
}

/// What a key has at the beginning of a round, and what may become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// A row, which stays.
    Present,
    /// No row: the first append inserts it.
    Absent,
    /// A row, which may be deleted.
    Deletable,
}

/// The key of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) table: Table,
    pub(super) generation: u64,
    pub(super) slot: u64,
}

impl Key {
    /// All keys of a round, by their numbers.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        TABLES.into_iter().flat_map(Self::of_table)
    }

    /// The keys of a table, by their rows.
    pub(super) fn of_table(table: Table) -> impl Iterator<Item = Self> {
        (0..GENERATIONS * SLOTS).map(move |number| Self {
            table,
            generation: number / SLOTS,
            slot: number % SLOTS,
        })
    }

    /// The key whose row this is, unless it is a filler.
    pub(super) fn at(table: Table, row: u64) -> Option<Self> {
        let inside = row % GENERATION_ROWS;
        (inside % STRIDE == FIRST && row < ROWS).then_some(Self {
            table,
            generation: row / GENERATION_ROWS,
            slot: inside / STRIDE,
        })
    }

    pub(super) fn row(self) -> u64 {
        self.generation * GENERATION_ROWS + self.slot * STRIDE + FIRST
    }

    pub(super) fn id(self) -> KeyId {
        let number = (self.table.number() * GENERATIONS + self.generation) * SLOTS + self.slot;
        usize::try_from(number).expect("a round has few keys")
    }

    /// What the index finds it by: two keys of a generation have the same, in two partitions.
    pub(super) fn tag(self) -> u64 {
        self.generation * (SLOTS / 2) + self.slot % (SLOTS / 2)
    }

    /// Its partition of all tables, as they were split at the beginning.
    pub(super) fn partition(self) -> u64 {
        (self.table.number() << 32) + self.row() / PARTITION_ROWS
    }

    pub(super) fn start(self) -> Start {
        match self.slot {
            2 | 6 => Start::Absent,
            7 => Start::Deletable,
            _ => Start::Present,
        }
    }

    pub(super) fn name(self) -> String {
        format!("{}/{}", self.table.name(), self.row())
    }
}

/// How many elements, and how many rows of its own, a transaction has room for.
pub(super) const OWN_MAX: u64 = 16;

/// The id of a row that only one step of one transaction inserts.
pub(super) fn own_id(name: Name, step: u64) -> u64 {
    (name.ordinal * CLIENTS + name.client) * OWN_MAX + step
}

/// The transaction that inserted the row with such an id.
pub(super) fn inserter(id: u64) -> Name {
    let transaction = id / OWN_MAX;
    Name {
        client: transaction % CLIENTS,
        ordinal: transaction / CLIENTS,
    }
}

/// A row of `parents`, or of `players`, that several clients speak of at the same time.
pub(super) fn parent(round: u64, generation: u64, number: u64) -> u64 {
    (round * GENERATIONS + generation) * PARENTS + number % PARENTS
}
