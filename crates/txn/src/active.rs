//! Which snapshots are being read: the watermark above, the horizon below.
//!
//! ```text
//!        horizon                        watermark
//!   ────────┬──────────────┬──────────────┬─────────────▶ timestamps
//!     oldest snapshot   other snapshots   newest commit that is
//!     still read                          wholly applied: new snapshots start here
//! ```
//!
//! A snapshot starts at the watermark, so every commit it may see is already in storage. Nothing a
//! snapshot at or above the horizon can see may be collected. Both move under one lock: a commit
//! that finds no older snapshot active knows that none can appear any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Timestamp;

/// The snapshots in use.
#[derive(Debug, Default)]
pub(crate) struct Active {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    watermark: Timestamp,
    /// How many readers there are at the watermark, where most of them are.
    newest: usize,
    /// How many readers each older snapshot has.
    readers: BTreeMap<Timestamp, usize>,
}

impl State {
    fn horizon(&self) -> Timestamp {
        self.readers
            .keys()
            .next()
            .copied()
            .unwrap_or(self.watermark)
    }

    /// The oldest snapshot in use by others than `own`.
    fn oldest(&self, own: &[Timestamp]) -> Option<Timestamp> {
        let newest = std::iter::once((&self.watermark, &self.newest));
        let mut all = self.readers.iter().chain(newest);
        let others = all.find(|(at, readers)| {
            let ours = own.iter().filter(|own| own == at).count();
            **readers > ours
        });
        others.map(|(at, _)| *at)
    }

    /// Raises the watermark; who read there reads at an older snapshot now.
    fn raise(&mut self, watermark: Timestamp) {
        if watermark <= self.watermark {
            return;
        }
        let readers = std::mem::take(&mut self.newest);
        if readers > 0 {
            self.readers.insert(self.watermark, readers);
        }
        self.watermark = watermark;
    }
}

/// Keeps a snapshot readable until dropped.
#[derive(Debug)]
pub(crate) struct Reading {
    active: Arc<Active>,
    at: Timestamp,
}

impl Reading {
    pub(crate) fn at(&self) -> Timestamp {
        self.at
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut state = self.active.state.lock();
        if self.at == state.watermark {
            state.newest -= 1;
        } else if let Some(readers) = state.readers.get_mut(&self.at) {
            *readers -= 1;
            if *readers == 0 {
                state.readers.remove(&self.at);
            }
        }
    }
}

impl Active {
    /// A new snapshot at the watermark.
    pub(crate) fn read(self: &Arc<Self>) -> Reading {
        let mut state = self.state.lock();
        let at = state.watermark;
        state.newest += 1;
        Reading {
            active: Arc::clone(self),
            at,
        }
    }

    /// The oldest timestamp that may still be read.
    pub(crate) fn horizon(&self) -> Timestamp {
        self.state.lock().horizon()
    }

    /// The oldest snapshot in use, not counting `own`.
    pub(crate) fn oldest(&self, own: &[Timestamp]) -> Option<Timestamp> {
        self.state.lock().oldest(own)
    }

    /// The timestamp at which new snapshots start.
    pub(crate) fn watermark(&self) -> Timestamp {
        self.state.lock().watermark
    }

    /// Raises the watermark over commits that are wholly applied. `remember` runs before any
    /// snapshot can start above them, and is told the oldest snapshot in use, not counting `own`:
    /// those of the transactions that just committed.
    pub(crate) fn advance(
        &self,
        watermark: Timestamp,
        own: &[Timestamp],
        remember: impl FnOnce(Option<Timestamp>),
    ) {
        let mut state = self.state.lock();
        remember(state.oldest(own));
        state.raise(watermark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_horizon_is_the_oldest_snapshot_in_use_or_else_the_watermark() {
        let active = Arc::new(Active::default());
        active.advance(Timestamp(5), &[], |oldest| assert_eq!(oldest, None));
        let five = active.read();
        let also_five = active.read();
        active.advance(Timestamp(9), &[Timestamp(5)], |oldest| {
            assert_eq!(oldest, Some(Timestamp(5)))
        });
        active.advance(Timestamp(9), &[Timestamp(5); 2], |oldest| {
            assert_eq!(oldest, None)
        });
        let nine = active.read();
        assert_eq!((five.at(), nine.at()), (Timestamp(5), Timestamp(9)));
        drop(five);
        assert_eq!(active.horizon(), Timestamp(5));
        drop(also_five);
        assert_eq!(active.horizon(), Timestamp(9));
        active.advance(Timestamp(12), &[], |_| ());
        drop(nine);
        assert_eq!(active.horizon(), Timestamp(12));
    }

    #[test]
    fn the_watermark_never_goes_back() {
        let active = Arc::new(Active::default());
        active.advance(Timestamp(9), &[], |_| ());
        active.advance(Timestamp(3), &[], |_| ());
        assert_eq!(active.watermark(), Timestamp(9));
    }
}
