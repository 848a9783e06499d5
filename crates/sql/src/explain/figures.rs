//! What the plans that found the rows of a write did, for EXPLAIN ANALYZE.
//!
//! A write is done with its rows when it answers, so its plan is gone by then. A session that measures a
//! statement asks its executor to keep the figures; at all other times that costs one look at a flag.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::Ran;
use crate::query::QueryRows;
use crate::{Executor, Result};

/// The figures of the last plan that found rows for a write.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    wanted: AtomicBool,
    last: Mutex<Option<Ran>>,
}

impl Executor {
    /// Keeps the figures of the next write.
    pub fn keep_figures(&self) {
        *self.figures().last.lock() = None;
        self.figures().wanted.store(true, Ordering::Relaxed);
    }

    /// The figures that were kept, if DataFusion found the rows. No more are kept.
    pub fn take_figures(&self) -> Option<Ran> {
        self.figures().wanted.store(false, Ordering::Relaxed);
        self.figures().last.lock().take()
    }

    /// Tells of the rows that a write has found, all of them.
    pub(crate) fn note_figures(&self, rows: &QueryRows) -> Result<()> {
        if self.figures().wanted.load(Ordering::Relaxed) {
            *self.figures().last.lock() = rows.plan()?.map(Ran);
        }
        Ok(())
    }
}
