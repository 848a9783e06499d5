//! The history of one round: what each transaction asked, what it saw and how it ended.
//!
//! Every key holds a list. A transaction appends elements to lists and reads lists; no element is
//! appended twice, so that a list tells by itself which transactions it comes from, and in which order.

use std::fmt;
use std::time::Duration;

/// A number that is appended to one list once.
pub type Element = u32;

/// The place of a key in [`History::keys`].
pub type KeyId = usize;

/// What a client saw of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// There was no row.
    Absent,
    /// The elements of its row.
    List(Vec<Element>),
}

/// One operation of a transaction, as it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An element was put at the end of a list.
    Append {
        /// The list.
        key: KeyId,
        /// What was put there.
        element: Element,
    },
    /// A list was seen.
    Read {
        /// The list.
        key: KeyId,
        /// Its elements.
        version: Version,
    },
    /// A row was deleted, for good. The checker takes it for the last element of its list.
    Delete {
        /// The list.
        key: KeyId,
        /// Its elements when it was deleted, as DELETE returned them.
        list: Vec<Element>,
        /// The element that stands for the deletion.
        element: Element,
    },
    /// ROLLBACK TO SAVEPOINT: writes from the operation with this number on are taken back.
    RollbackTo(usize),
}

/// How a transaction ended, as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// COMMIT was acknowledged.
    Committed,
    /// The server refused it, or its client rolled it back.
    Aborted,
    /// The client was told nothing.
    Unknown,
}

/// Which transaction of which client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The number of the client.
    pub client: u64,
    /// The number of the transaction among those of its client.
    pub ordinal: u64,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {} transaction {}", self.client, self.ordinal)
    }
}

/// A transaction that ended.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Which one.
    pub name: Name,
    /// When its client sent BEGIN.
    pub began: Duration,
    /// When its client heard how it ended.
    pub ended: Duration,
    /// How it ended.
    pub outcome: Outcome,
    /// What was answered, in order.
    pub operations: Vec<Operation>,
}

/// A key of a history.
#[derive(Clone, Debug)]
pub struct Key {
    /// How it is printed.
    pub name: String,
    /// Whether its row is there from the beginning, so that it is absent only after a deletion. The row
    /// of any other key is never deleted: absent, it has no elements yet.
    pub deletable: bool,
}

/// Everything that happened between two instants at which no transaction was open.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The keys. All lists are empty at the beginning.
    pub keys: Vec<Key>,
    /// The transactions, in any order.
    pub transactions: Vec<Transaction>,
    /// What was in each key after the last transaction ended.
    pub last: Vec<Version>,
}
