//! Statements that were made ready for a text like the next one, for all sessions.
//!
//! ```text
//!   text ─► shape ─► not known     the text is read as any; its shape is noted, once
//!                    once          the shape is made ready, and serves this text
//!                    shared        it serves this text
//!                    apart         its literals are more than values
//!     │
//!     └─► itself ──► not known     it is read, and noted
//!                    once          it is read, and what came of it is kept
//!                    ready         it is that
//! ```
//!
//! What a planner plans is kept by the text itself, with the literals in it, and so are statements that
//! come with parameters. What is met once costs a note and nothing more, because many a text is never
//! sent again. What is known holds for the tables as they were, and is forgotten when any of them changes.

use std::fmt;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sql::{Prepared, Shape};

/// What all of them together may take, as far as that is told by their lengths.
const BYTES_MAX: u64 = 48 << 20;

/// What a statement that is ready takes for each byte of its text: trees and plans. Measured were 280
/// for short ones, and 360 for VALUES of several hundred numbers.
const READY_BYTES_PER_BYTE: u64 = 360;

/// What a note takes beside its text.
const NOTE_BYTES: u64 = 128;

/// How many shapes are expected.
const SHAPES: usize = 1_000;

/// What a statement that a planner plans takes at least: its plan, optimised.
const PLANNED_BYTES_MIN: u64 = 64 << 10;

/// What is known of a shape or a text.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// It was met, and may serve others.
    Once,
    /// The shape is ready.
    Shared(Shape),
    /// The text is ready.
    Ready(Prepared),
    /// It has to be read each time.
    Apart,
}

/// What is known, and for which tables.
#[derive(Clone)]
struct Entry {
    known: Known,
    generation: u64,
}

/// Shapes and texts, the ones used longest ago forgotten first.
pub(crate) struct Shapes {
    entries: Cache<Box<str>, Entry, Weight>,
}

impl Shapes {
    /// What is known of a shape while the tables are of this generation.
    pub(crate) fn get(&self, shape: &str, generation: u64) -> Option<Known> {
        let entry = self.entries.get(shape)?;
        (entry.generation == generation).then_some(entry.known)
    }

    /// Remembers something of a shape.
    pub(crate) fn set(&self, shape: &str, generation: u64, known: Known) {
        let entry = Entry { known, generation };
        self.entries.insert(shape.into(), entry);
    }
}

impl Default for Shapes {
    fn default() -> Self {
        Self {
            entries: Cache::with_weighter(SHAPES, BYTES_MAX, Weight),
        }
    }
}

impl fmt::Debug for Shapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.entries.len();
        f.debug_struct("Shapes").field("known", &known).finish()
    }
}

/// How much an entry counts.
#[derive(Clone)]
struct Weight;

impl Weighter<Box<str>, Entry> for Weight {
    fn weight(&self, shape: &Box<str>, entry: &Entry) -> u64 {
        let bytes = u64::try_from(shape.len()).unwrap_or(u64::MAX);
        let ready = bytes * READY_BYTES_PER_BYTE;
        match &entry.known {
            Known::Shared(_) => ready,
            Known::Ready(prepared) if prepared.is_shared() => ready,
            Known::Ready(_) => PLANNED_BYTES_MIN + ready,
            Known::Once | Known::Apart => NOTE_BYTES + bytes,
        }
    }
}
