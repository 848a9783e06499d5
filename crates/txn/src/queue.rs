//! Group commit without a thread of its own: the first in line leads, the others follow.
//!
//! ```text
//!   commits arrive        a b c │ d e f g │ h …
//!                         ▼     │ ▼       │ ▼
//!   a leads {a}           write, sync ────┤
//!   b leads {b c d e f}                   │ write, sync ──┐
//!   g leads {g h …}                                       │ write, sync
//! ```
//!
//! While one group is being written and synced, the next one gathers. Whoever stands first when a
//! group is done leads the next, before the outcomes of the last are even handed out. Under no load
//! a commit is written at once, by the thread that made it.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// How many commits one group may hold.
const GROUP_COMMITS_MAX: usize = 1024;

/// How many bytes the commits of one group may write, unless one alone writes more.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// The line of commits waiting to be written.
#[derive(Debug)]
pub(crate) struct Queue<R, O> {
    line: Mutex<Line<R, O>>,
}

#[derive(Debug)]
struct Line<R, O> {
    waiting: VecDeque<Waiting<R, O>>,
    led: bool,
}

#[derive(Debug)]
struct Waiting<R, O> {
    request: R,
    bytes: usize,
    ticket: Arc<Ticket<O>>,
}

#[derive(Debug)]
struct Ticket<O> {
    turn: Mutex<Turn<O>>,
    changed: Condvar,
}

#[derive(Debug)]
enum Turn<O> {
    Wait,
    Lead,
    Done(O),
    /// The leader panicked: nobody knows what became of this commit.
    Lost,
}

impl<O> Ticket<O> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            turn: Mutex::new(Turn::Wait),
            changed: Condvar::new(),
        })
    }

    fn set(&self, turn: Turn<O>) {
        *self.turn.lock() = turn;
        self.changed.notify_one();
    }

    fn wait(&self) -> Turn<O> {
        let mut turn = self.turn.lock();
        while matches!(*turn, Turn::Wait) {
            self.changed.wait(&mut turn);
        }
        std::mem::replace(&mut *turn, Turn::Wait)
    }
}

impl<R, O> Queue<R, O> {
    pub(crate) fn new() -> Self {
        Self {
            line: Mutex::new(Line {
                waiting: VecDeque::new(),
                led: false,
            }),
        }
    }

    /// Waits for the outcome of `request`, which writes so many bytes. `lead` is called for a whole group, if this thread leads
    /// one, and answers with an outcome for each request in order. `None` if a leader panicked.
    pub(crate) fn submit(
        &self,
        request: R,
        bytes: usize,
        lead: impl FnOnce(Vec<R>) -> Vec<O>,
    ) -> Option<O> {
        let ticket = Ticket::new();
        let leads = {
            let mut line = self.line.lock();
            let ticket = Arc::clone(&ticket);
            line.waiting.push_back(Waiting {
                request,
                bytes,
                ticket,
            });
            !std::mem::replace(&mut line.led, true)
        };
        if !leads {
            match ticket.wait() {
                Turn::Done(outcome) => return Some(outcome),
                Turn::Lost => return None,
                Turn::Lead | Turn::Wait => {}
            }
        }
        self.lead_group(lead);
        match ticket.wait() {
            Turn::Done(outcome) => Some(outcome),
            Turn::Lost | Turn::Lead | Turn::Wait => None,
        }
    }

    fn lead_group(&self, lead: impl FnOnce(Vec<R>) -> Vec<O>) {
        let (requests, tickets) = self.line.lock().next_group();
        let mut leadership = Leadership {
            queue: self,
            tickets,
        };
        let outcomes = lead(requests);
        assert_eq!(
            outcomes.len(),
            leadership.tickets.len(),
            "one outcome for each commit"
        );
        let tickets = std::mem::take(&mut leadership.tickets);
        drop(leadership);
        for (ticket, outcome) in tickets.iter().zip(outcomes) {
            ticket.set(Turn::Done(outcome));
        }
    }

    fn appoint_next(&self) {
        let mut line = self.line.lock();
        match line.waiting.front() {
            Some(next) => next.ticket.set(Turn::Lead),
            None => line.led = false,
        }
    }
}

impl<R, O> Line<R, O> {
    /// The first in line, and those behind it that still fit.
    fn next_group(&mut self) -> (Vec<R>, Vec<Arc<Ticket<O>>>) {
        let mut requests = Vec::new();
        let mut tickets = Vec::new();
        let mut bytes = 0;
        while let Some(next) = self.waiting.pop_front_if(|next| {
            requests.is_empty()
                || (requests.len() < GROUP_COMMITS_MAX && bytes + next.bytes <= GROUP_BYTES_MAX)
        }) {
            bytes += next.bytes;
            requests.push(next.request);
            tickets.push(next.ticket);
        }
        (requests, tickets)
    }
}

/// Hands the lead on when the group is done, also when leading it panicked.
struct Leadership<'q, R, O> {
    queue: &'q Queue<R, O>,
    tickets: Vec<Arc<Ticket<O>>>,
}

impl<R, O> Drop for Leadership<'_, R, O> {
    fn drop(&mut self) {
        self.queue.appoint_next();
        for ticket in &self.tickets {
            ticket.set(Turn::Lost);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn commits_that_arrive_during_a_group_form_the_next_one() {
        let queue: Queue<usize, usize> = Queue::new();
        let groups = AtomicUsize::new(0);
        let (entered, gathered) = (Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                queue.submit(100, 1, |group| {
                    entered.wait();
                    gathered.wait();
                    groups.fetch_add(1, Ordering::SeqCst);
                    group
                })
            });
            entered.wait();
            let followers: Vec<_> = (0..8)
                .map(|number| {
                    let (queue, groups) = (&queue, &groups);
                    scope.spawn(move || {
                        let lead = |group: Vec<usize>| {
                            groups.fetch_add(1, Ordering::SeqCst);
                            group.into_iter().map(|n| n * 2).collect()
                        };
                        queue.submit(number, 1, lead)
                    })
                })
                .collect();
            while queue.line.lock().waiting.len() < 8 {
                std::thread::yield_now();
            }
            gathered.wait();
            for (number, follower) in followers.into_iter().enumerate() {
                assert_eq!(follower.join().unwrap(), Some(number * 2));
            }
        });
        assert_eq!(groups.load(Ordering::SeqCst), 2, "the eight went together");
    }

    #[test]
    fn a_group_ends_where_its_bytes_would_pass_the_limit() {
        let mut line: Line<u8, ()> = Line {
            waiting: VecDeque::new(),
            led: true,
        };
        for (request, bytes) in [(1, GROUP_BYTES_MAX * 2), (2, GROUP_BYTES_MAX), (3, 1)] {
            line.waiting.push_back(Waiting {
                request,
                bytes,
                ticket: Ticket::new(),
            });
        }
        assert_eq!(line.next_group().0, [1], "one alone may be larger");
        assert_eq!(line.next_group().0, [2]);
        assert_eq!(line.next_group().0, [3]);
    }

    #[test]
    fn a_leader_that_panics_strands_nobody() {
        let queue: Queue<u8, u8> = Queue::new();
        let lost = std::panic::catch_unwind(AssertUnwindSafe(|| {
            queue.submit(1, 1, |_| panic!("as asked"))
        }));
        assert!(lost.is_err());
        assert_eq!(queue.submit(2, 1, |group| group), Some(2));
    }
}
