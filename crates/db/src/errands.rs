//! Work that takes long and that one client waits for: it is handed to a thread in the background, and
//! given up when nobody waits for it any more.
//!
//! ```text
//!   session ── send ──► waiting ──► the thread: one errand after the other ──► what it brings
//!      │                               ▲
//!      └── goes away ── given up ──────┘   the errand looks now and then
//! ```
//!
//! Whoever waits for an errand that panics, or that is given up unrun, is told so.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::{Error, Kind, Result};

/// Work that is handed to the background.
#[derive(Default)]
pub(crate) struct Errands {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    errands: VecDeque<(GivenUp, Box<dyn FnOnce() + Send>)>,
    /// The one that is under way.
    running: Option<GivenUp>,
}

/// Whether an errand need not be finished.
#[derive(Clone, Debug, Default)]
pub(crate) struct GivenUp(Arc<AtomicBool>);

impl GivenUp {
    /// Whether nobody waits any more.
    pub(crate) fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn say(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Errands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Errands({})", self.waiting.lock().errands.len())
    }
}

/// The errand ended without bringing anything.
#[derive(Debug, thiserror::Error)]
#[error("the work in the background was broken off: see what the server printed, and try again")]
struct BrokenOff;

/// What an errand brings back, and who waits for it.
struct Slot<T> {
    brought: Option<Result<T>>,
    waiting: Option<Waker>,
}

/// Where an errand puts what it brings. Dropped before that, it says that the errand was broken off.
struct Bringer<T>(Arc<Mutex<Slot<T>>>);

impl<T> Bringer<T> {
    fn bring(&self, brought: Result<T>) {
        let mut slot = self.0.lock();
        slot.brought.get_or_insert(brought);
        if let Some(waiting) = slot.waiting.take() {
            waiting.wake();
        }
    }
}

impl<T> Drop for Bringer<T> {
    fn drop(&mut self) {
        self.bring(Err(Error::new(Kind::Internal, BrokenOff)));
    }
}

/// Gives an errand up when whoever waits for it goes away.
struct Waits(GivenUp);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.say();
    }
}

impl Errands {
    /// Runs the next errand; waits for one, but not for longer than this.
    pub(crate) fn run_one(&self, most: Duration) {
        let (given_up, errand) = {
            let mut waiting = self.waiting.lock();
            if waiting.errands.is_empty() {
                self.changed.wait_for(&mut waiting, most);
            }
            let Some((given_up, errand)) = waiting.errands.pop_front() else {
                return;
            };
            waiting.running = Some(given_up.clone());
            (given_up, errand)
        };
        if !given_up.is_so() {
            errand();
        }
        self.waiting.lock().running = None;
    }

    /// Gives up the errand that is under way, and those that wait.
    pub(crate) fn give_up(&self) {
        let waiting = self.waiting.lock();
        let errands = waiting.errands.iter().map(|(given_up, _)| given_up);
        errands.chain(&waiting.running).for_each(GivenUp::say);
        self.changed.notify_all();
    }

    /// Hands work over, and waits for what it brings.
    pub(crate) async fn send<T: Send + 'static>(
        &self,
        work: impl FnOnce(GivenUp) -> T + Send + 'static,
    ) -> Result<T> {
        let slot = Arc::new(Mutex::new(Slot {
            brought: None,
            waiting: None,
        }));
        let bringer = Bringer(Arc::clone(&slot));
        let given_up = GivenUp::default();
        let told = given_up.clone();
        let errand = move || {
            let brought = work(told);
            bringer.bring(Ok(brought));
        };
        let waits = Waits(given_up.clone());
        self.waiting
            .lock()
            .errands
            .push_back((given_up, Box::new(errand)));
        self.changed.notify_all();
        let brought = poll_fn(|context| {
            let mut slot = slot.lock();
            match slot.brought.take() {
                Some(brought) => Poll::Ready(brought),
                None => {
                    slot.waiting = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        });
        let brought = brought.await;
        drop(waits);
        brought
    }
}
