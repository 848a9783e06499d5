//! Who owns which keys, how hot they are, and how that changes: map, heat, split, merge, stripe.
//!
//! A table is one sorted run of keys, cut into partitions. Everything that is said about a
//! partition is in one of three places:
//!
//! ```text
//!   Descriptor   which keys, on which engine        on the META engine; replaced, never changed
//!   Counters     how many rows and bytes            beside the rows, written by every commit
//!   Heat         who does what to it, how often     in memory only; gone after a restart
//! ```
//!
//! # The life of a split
//! ```text
//!   transactions ──► Heat: busy time, sampled footprints
//!                      │ every few seconds
//!                      ▼
//!                decide_table(stats, samples, settings, now)     pure: decide.rs
//!                      │ Split at /m, because …
//!                      ▼
//!                the caller stops commits on the table for a moment
//!                      │
//!                      ▼
//!                Directory::split                                one synced batch: directory.rs
//!                      │
//!        map   ├────── 4 ──────┤        becomes        ├── 8 ──┼── 9 ──┤
//!                      │
//!                      ▼
//!                commits go on; readers never stopped; a scan in the background
//!                makes the counters of 8 and 9 exact again: counters.rs
//! ```
//!
//! # What holds at every instant
//! - Partitions tile the keys: no gap, no overlap, from the first key to the last. It is asserted
//!   before a changed map is written, and checked, as an error, when a map is read.
//! - Only split, merge, create and drop change descriptors, and a new descriptor has a higher
//!   generation than those it replaces.
//! - A change of the map is one atomic write on one engine. A crash leaves the old map or the new.
//! - Deciding and acting are apart: nothing in [`decide`] can touch an engine, and nothing in
//!   [`Directory`] has an opinion.
//! - Keys are compared as bytes. Only choosing a short cut and printing look at columns.
//!
//! Deliberately absent: time and chance (both are passed in), threads, and any idea of what a row or
//! a transaction is. Stripes, one key range served by several partitions, have their place in the
//! descriptor's [`Kind`] and nothing else yet.
//!
//! # Where to read
//! ```text
//!   spaces.rs      every space and every metadata record, on one page
//!   descriptor.rs  the record of a partition        counters.rs  the record of its content
//!   map.rs         routing                          directory.rs all maps, and how they change
//!   heat.rs        counting accesses                samples.rs   sampling transactions
//!   chart.rs       heat over time                   events.rs    what was done, and what was not
//!   watch.rs       what a control loop remembers    hot_keys.rs  which keys are hot, from the samples
//!   decide.rs      what to do, and why
//! ```

mod chart;
mod counters;
pub mod decide;
mod descriptor;
mod directory;
mod error;
mod events;
mod heat;
mod hot_keys;
mod ids;
mod map;
mod partition;
mod record;
pub mod samples;
mod share;
pub mod spaces;
mod watch;

pub use chart::{CELLS_MAX, Cell, HeatChart, Place, Slice};
pub use counters::{Counters, Counts, Delta, Totals, counters_key};
pub use descriptor::{Descriptor, Kind};
pub use directory::{Directory, PARTITIONS_MAX};
pub use error::{Error, Result};
pub use events::{Cause, EVENTS_MAX, Event, EventKind, EventRecord, Events, News};
pub use heat::{Heat, HeatTotals};
pub use hot_keys::{HOT_KEY_SAMPLES_MIN, HOT_KEY_SHARE_MIN, HOT_KEYS_MAX, HotKey, hot_keys};
pub use ids::{PartitionId, TableId};
pub use map::Map;
pub use partition::Partition;
pub use samples::{Access, AccessKind, Footprint, Samples};
pub use share::Share;
pub use storage::KeyRange;
pub use storage::env::{Random, SeededRandom};
pub use watch::Watch;
