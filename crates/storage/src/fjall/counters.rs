//! Flushes and compactions of an engine, which fjall itself does not count.
//!
//! ```text
//!   flushes        memtable 7 is active, 5 and 6 are sealed  ⇒  0 … 4, five of them, are in tables
//!   compactions    one filter is asked for and finished for each that rewrites tables
//! ```
//!
//! fjall numbers the memtables of a tree from 0 on, anew after each opening. Its own count of
//! compactions is no use: it counts each look at the levels, also if there is nothing to do. The filter
//! keeps every pair. Tables that are only moved to another level pass no filter and are not counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::fjall::compaction::filter::{
    CompactionFilter, CompactionFilterResult, Context, Factory, ItemAccessor, Verdict,
};
use ::fjall::{AbstractTree, Keyspace};

use crate::EngineCounters;

/// What an engine has counted since it was opened.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Memtables that were gone already when the engine was opened: those of the recovery.
    flushes_before: u64,
    /// Flushes of spaces that were dropped.
    flushes_dropped: AtomicU64,
    /// The most that was ever told, so that no count goes back: a memtable that is sealed between two
    /// looks makes one too few.
    flushes_told: AtomicU64,
    compactions: Compactions,
}

impl Counters {
    /// Counts from here on, given the spaces as they were opened.
    pub(super) fn new<'k>(
        compactions: Compactions,
        spaces: impl IntoIterator<Item = &'k Keyspace>,
    ) -> Self {
        Self {
            flushes_before: spaces.into_iter().map(flushed).sum(),
            compactions,
            ..Self::default()
        }
    }

    /// The counter of compactions, for fjall to be opened with again.
    pub(super) fn compactions(&self) -> &Compactions {
        &self.compactions
    }

    /// Keeps what a space counted that is dropped.
    pub(super) fn retire(&self, flushes: u64) {
        self.flushes_dropped.fetch_add(flushes, Ordering::Relaxed);
    }

    pub(super) fn read<'k>(
        &self,
        spaces: impl IntoIterator<Item = &'k Keyspace>,
    ) -> EngineCounters {
        let dropped = self.flushes_dropped.load(Ordering::Relaxed);
        let sum = dropped + spaces.into_iter().map(flushed).sum::<u64>();
        let flushes = sum.saturating_sub(self.flushes_before);
        let told = self.flushes_told.fetch_max(flushes, Ordering::Relaxed);
        EngineCounters {
            flushes: flushes.max(told),
            compactions: self.compactions.0.load(Ordering::Relaxed),
        }
    }
}

/// Memtables of a space that are in tables.
pub(super) fn flushed(keyspace: &Keyspace) -> u64 {
    let begun = keyspace.tree.active_memtable().id();
    let sealed = u64::try_from(keyspace.sealed_memtable_count()).unwrap_or(u64::MAX);
    begun.saturating_sub(sealed)
}

/// The number of compactions that have rewritten tables, over all spaces.
#[derive(Clone, Debug, Default)]
pub(super) struct Compactions(Arc<AtomicU64>);

impl Factory for Compactions {
    fn name(&self) -> &str {
        "compaction counter"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        Box::new(KeepAll(self.clone()))
    }
}

struct KeepAll(Compactions);

impl CompactionFilter for KeepAll {
    fn filter_item(&mut self, _: ItemAccessor<'_>, _: &Context) -> CompactionFilterResult {
        Ok(Verdict::Keep)
    }

    fn finish(self: Box<Self>) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }
}
