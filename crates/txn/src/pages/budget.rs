//! How much memory pages may take, and which of them go when it is more.
//!
//! Pages stand in a queue. When there are too many bytes the one in front goes, unless it was used
//! since it was last there: then it goes to the end. Only a few are looked at for each new page, so
//! that a scan of more rows than there is room for does not walk the whole queue for nothing.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::{Page, TablePages};

/// How many pages are looked at to make room for one.
const LOOKS_MAX: usize = 8;

/// From how many places on a queue is cleared of pages that are gone.
const QUEUE_MIN: usize = 4096;

/// Bytes that are counted.
#[derive(Debug)]
pub(super) struct Room {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.budget.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The bytes of all pages of a store.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes_max: usize,
    bytes: AtomicUsize,
    queue: Mutex<Queue>,
}

#[derive(Debug)]
struct Queue {
    pages: VecDeque<(Weak<TablePages>, Weak<Page>)>,
    /// When it is so long it is cleared of pages that are gone.
    clear_at: usize,
}

impl Budget {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            bytes: AtomicUsize::new(0),
            queue: Mutex::new(Queue {
                pages: VecDeque::new(),
                clear_at: QUEUE_MIN,
            }),
        }
    }

    /// How many bytes all pages may take.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// How many bytes all pages take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts so many bytes until what is answered is dropped.
    pub(super) fn take(self: &Arc<Self>, bytes: usize) -> Room {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Room {
            budget: Arc::clone(self),
            bytes,
        }
    }

    /// Makes room for a page that was added to its table: others go, or itself.
    pub(crate) fn admit(&self, table: &Arc<TablePages>, page: &Arc<Page>) {
        let mut queue = self.queue.lock();
        for _ in 0..LOOKS_MAX {
            if self.bytes() <= self.bytes_max {
                break;
            }
            let Some((of, oldest)) = queue.pages.pop_front() else {
                break;
            };
            let Some((of_table, old)) = of.upgrade().zip(oldest.upgrade()) else {
                continue;
            };
            if old.was_used() {
                queue.pages.push_back((of, oldest));
            } else {
                of_table.remove(&old);
            }
        }
        if self.bytes() > self.bytes_max {
            table.remove(page);
            return;
        }
        let place = (Arc::downgrade(table), Arc::downgrade(page));
        queue.pages.push_back(place);
        if queue.pages.len() >= queue.clear_at {
            queue.pages.retain(|(_, page)| page.strong_count() > 0);
            queue.clear_at = QUEUE_MIN.max(queue.pages.len() * 2);
        }
    }
}
