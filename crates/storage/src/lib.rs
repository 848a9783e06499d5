//! Bytes in, bytes out: the [`Engine`] trait, its adapters, clock and chance, the conformance suite.
//!
//! ```text
//!   txn, partitions            speak Engine, Snapshot, Batch and Placement only
//!        │
//!   Placement                  which engine holds a partition: one for all, or one each
//!        │
//!   Engine ─┬─ fjall           the embedded LSM, on disk
//!           ├─ memory          the reference in tests, with crashes that lose what was not synced
//!           └─ faulty          wraps any engine and fails on request
//!
//!   Parts  ─┬─ files           bytes of large objects, beside the engine
//!           └─ memory
//! ```
//!
//! An engine holds numbered *spaces*, each an ordered map from bytes to bytes. It never interprets a
//! key. Engines differ in speed, never in results: [`conformance`] runs on every one of them.

mod blocking;
pub mod conformance;
mod engine;
pub mod env;
mod error;
mod faulty;
mod fjall;
mod memory;
mod parts;
mod placement;

pub use blocking::blocking;
pub use bytes::{Buf, Bytes};
pub use engine::{
    Batch, Direction, Durability, ENGINE_KEY_BYTES_MAX, Engine, EngineCounters, KeyRange,
    Operation, Pair, Scan, Snapshot, SpaceId,
};
pub use error::{Error, Result};
pub use faulty::{Fault, FaultyEngine};
pub use fjall::{FjallEngine, FjallOptions};

pub use memory::{MemoryEngine, MemoryMedium};
pub use parts::{
    Checksum, FileParts, MemoryParts, PART_BYTES_MAX, PartId, PartSink, Parts, UploadId,
};
pub use placement::{EngineId, Placement, SeparatePlacement, SharedPlacement};
