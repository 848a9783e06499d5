//! Snapshots, conflicts, commit: serializable transactions over versioned, partitioned tables.
//!
//! # Where versions lie
//! ```text
//!                        snapshot @5          snapshot @9
//!   key    under the key   reads                reads
//!   /a     @3 "old"        old                  old              one get
//!   /b     @7 "new"        history: @2 "was"    new              one get; the old one from memory
//!   /c     @8 tombstone    history: @1 "gone"   nothing
//!   /d     @9 "late"       nothing              late             no version at or before @5
//! ```
//! The newest version of a row lies under its bare key, with its timestamp. A read at a snapshot takes
//! it if it is old enough, and otherwise looks for the version it replaced ([`history`]).
//!
//! # When a commit is refused
//! Reads remember what they read: keys, and ranges as far as they were scanned ([`reads`]). A commit
//! fails if any of that changed after the transaction's snapshot ([`recent`]); the first to commit
//! wins. Writes alone never conflict: of two blind writes the later one stays, of two patches of one
//! row both do ([`patch`]). Because every
//! transaction that commits has read what is still true when it commits, the result is as if they had
//! run one after another in the order of their timestamps.
//!
//! Who is going to change a row can claim it first ([`claims`]): the claims of one row come one after
//! another, and each then sees what the one before it wrote, so a hot row is no reason to be refused.
//!
//! # How a commit becomes durable
//! Commits line up ([`queue`]), and the first in line writes a whole group as one batch with one sync
//! ([`commit`]). If a transaction's rows lie in several engines it takes the two steps of [`across`].
//! Very many new rows come in past the line, sorted, as files of their own ([`load`]).
//!
//! # What never happens here
//! No thread is spawned, no clock is read and no chance drawn except through `storage::env`. A reader
//! never waits for a writer. Nothing below this crate knows about versions.

mod across;
mod active;
mod bulk;
mod claims;
mod collect;
mod commit;
mod cuts;
mod effort;
mod engines;
mod epochs;
mod error;
mod footprint;
mod history;
mod intent;
mod load;
mod locks;
mod pages;
mod patch;
mod pending;
mod pile;
mod plan;
mod queue;
mod reader;
mod reads;
mod recent;
mod records;
mod reshape;
mod scan;
mod spilled;
mod store;
mod stored;
mod timestamp;
mod transaction;
mod turns;
mod version;
mod view;
mod warm;
mod writes;

pub use partitions::{
    Cause, Cell, Event, EventKind, HeatTotals, HotKey, News, Partition, PartitionId, Place, Share,
    Slice, TableId, decide,
};
pub use storage::{Bytes, Direction, Durability, KeyRange, blocking};

pub use across::{Fatality, Immortal, Step};
pub use claims::Patience;
pub use collect::Collected;
pub use cuts::{Extent, Tile};
pub use error::{Error, Result};
pub use load::{LOAD_BYTES_MAX, LOAD_ROWS_MAX};
pub use locks::{LOCKS_MAX, Lock, LockMode, LockName, LockUntil, Locker};
pub use patch::Patching;
pub use pile::Pile;
pub use reader::Reader;
pub use reshape::Cut;
pub use scan::Scan;
pub use store::{Measured, Options, Store};
pub use timestamp::{HybridTimestamps, Timestamp, Timestamps};
pub use transaction::{Committed, Transaction};
pub use view::{Touches, View};
pub use writes::{
    KEY_BYTES_MAX, Savepoint, TRANSACTION_BULK_BYTES_MAX, TRANSACTION_BYTES_MAX,
    TRANSACTION_WRITES_MAX,
};
