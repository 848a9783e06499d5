//! Interrupts: how a statement that blocks its thread learns that it is not wanted any more.
//!
//! A task that waits is dropped when its client cancels it or its time is over. One that validates a
//! million rows inside of [`txn::blocking`] is not waiting, so it looks here now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use txn::Store;

use crate::{Error, Result};

/// After how many rows a statement that goes over very many looks for an interrupt.
pub(crate) const INTERRUPT_ROWS: usize = 1_024;

/// What may end the statement of a session.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    deadline: Mutex<Option<Deadline>>,
}

/// When the time of a statement is over, by the store's monotonic clock.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    at: Duration,
    length: Duration,
}

impl Interrupt {
    /// Begins a statement, which may take so long; what was asked of the one before is forgotten.
    pub fn begin(&self, store: &Store, length: Option<Duration>) {
        self.0.cancelled.store(false, Ordering::Release);
        *self.0.deadline.lock() = length.map(|length| Deadline {
            at: store.monotonic() + length,
            length,
        });
    }

    /// Asks the statement under way to end.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
    }

    /// An error if the statement is to end.
    pub(crate) fn check(&self, store: &Store) -> Result<()> {
        if self.0.cancelled.load(Ordering::Acquire) {
            return Err(Error::Cancelled);
        }
        match *self.0.deadline.lock() {
            Some(deadline) if store.monotonic() >= deadline.at => Err(Error::TimedOut {
                ms: deadline.length.as_millis(),
            }),
            _ => Ok(()),
        }
    }
}
