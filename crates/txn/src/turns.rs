//! A lock that is given in the order it was asked for.
//!
//! Commits take the commit lock again and again. Under an ordinary lock a split that waits for it can
//! be passed by one group after another; here it waits for one group and no more.

use std::ops::{Deref, DerefMut};

use parking_lot::{Condvar, Mutex, MutexGuard};
use storage::blocking;

/// Something that one thread at a time may touch, in turn.
#[derive(Debug)]
pub(crate) struct Turns<T> {
    line: Mutex<Line>,
    moved: Condvar,
    inner: Mutex<T>,
}

/// Numbers as at a counter: the next to be drawn, and the one being served.
#[derive(Debug, Default)]
struct Line {
    next: u64,
    serving: u64,
}

impl<T> Turns<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self {
            line: Mutex::default(),
            moved: Condvar::new(),
            inner: Mutex::new(inner),
        }
    }

    /// Waits for this thread's turn.
    pub(crate) fn lock(&self) -> Turn<'_, T> {
        let mut line = self.line.lock();
        let number = line.next;
        line.next += 1;
        if line.serving != number {
            drop(line);
            blocking(|| self.wait_for(number));
        }
        Turn {
            inner: Some(self.inner.lock()),
            turns: self,
        }
    }
}

impl<T> Turns<T> {
    fn wait_for(&self, number: u64) {
        let mut line = self.line.lock();
        while line.serving != number {
            self.moved.wait(&mut line);
        }
    }
}

/// The turn of one thread; the next one's begins when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'t, T> {
    /// Taken only by the drop.
    inner: Option<MutexGuard<'t, T>>,
    turns: &'t Turns<T>,
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().expect("held until the turn ends")
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("held until the turn ends")
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.inner = None;
        self.turns.line.lock().serving += 1;
        self.turns.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_the_order_they_were_asked_for() {
        let turns = Turns::new(Vec::new());
        std::thread::scope(|scope| {
            let first = turns.lock();
            for number in 0..8 {
                let turns_of_it = &turns;
                scope.spawn(move || turns_of_it.lock().push(number));
                while turns.line.lock().next < number + 2 {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*turns.lock(), (0..8).collect::<Vec<u64>>());
    }
}
