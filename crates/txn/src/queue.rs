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
//!
//! A task that must not hold up its thread waits without leading: [`Queue::enqueue`]. For such tasks
//! somebody else stands by and leads whenever nobody does: [`Queue::drive`].

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use storage::blocking;

/// How many commits one group may hold.
const GROUP_COMMITS_MAX: usize = 1024;

/// How many bytes the commits of one group may write, unless one alone writes more.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// The line of commits waiting to be written.
#[derive(Debug)]
pub(crate) struct Queue<R, O> {
    line: Mutex<Line<R, O>>,
    /// Tells whoever stands by that there is nobody to lead.
    leaderless: Condvar,
}

#[derive(Debug)]
struct Line<R, O> {
    waiting: VecDeque<Waiting<R, O>>,
    led: bool,
    /// Whether somebody stands by to lead those who cannot.
    driven: bool,
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
    can_lead: bool,
}

#[derive(Debug)]
enum Turn<O> {
    /// Nothing yet; a task leaves word how to wake it.
    Wait(Option<Waker>),
    Lead,
    Done(O),
    /// The leader panicked: nobody knows what became of this commit.
    Lost,
}

impl<O> Ticket<O> {
    fn new(can_lead: bool) -> Arc<Self> {
        Arc::new(Self {
            turn: Mutex::new(Turn::Wait(None)),
            changed: Condvar::new(),
            can_lead,
        })
    }

    fn set(&self, turn: Turn<O>) {
        let before = std::mem::replace(&mut *self.turn.lock(), turn);
        if let Turn::Wait(Some(waker)) = before {
            waker.wake();
        }
        self.changed.notify_one();
    }

    /// Waits for the next turn and takes it.
    fn wait(&self) -> Turn<O> {
        let mut turn = self.turn.lock();
        while matches!(*turn, Turn::Wait(_)) {
            self.changed.wait(&mut turn);
        }
        std::mem::replace(&mut *turn, Turn::Wait(None))
    }
}

/// The outcome of a commit that somebody else leads.
#[derive(Debug)]
pub(crate) struct Pending<O> {
    ticket: Arc<Ticket<O>>,
}

impl<O> Future for Pending<O> {
    type Output = Option<O>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut turn = self.ticket.turn.lock();
        match std::mem::replace(&mut *turn, Turn::Wait(Some(context.waker().clone()))) {
            Turn::Done(outcome) => Poll::Ready(Some(outcome)),
            Turn::Lost => Poll::Ready(None),
            Turn::Wait(_) | Turn::Lead => Poll::Pending,
        }
    }
}

impl<R, O> Queue<R, O> {
    pub(crate) fn new() -> Self {
        let line = Line {
            waiting: VecDeque::new(),
            led: false,
            driven: false,
        };
        Self {
            line: Mutex::new(line),
            leaderless: Condvar::new(),
        }
    }

    /// Waits for the outcome of `request`, which writes so many bytes. `lead` is called for a whole
    /// group, whenever this thread leads one, and answers with an outcome for each request in order.
    /// `None` if a leader panicked.
    pub(crate) fn submit(
        &self,
        request: R,
        bytes: usize,
        lead: impl Fn(Vec<R>) -> Vec<O>,
    ) -> Option<O> {
        let ticket = Ticket::new(true);
        let mut leads = {
            let mut line = self.line.lock();
            let ticket = Arc::clone(&ticket);
            line.waiting.push_back(Waiting {
                request,
                bytes,
                ticket,
            });
            !std::mem::replace(&mut line.led, true)
        };
        blocking(|| {
            loop {
                if leads {
                    self.lead_group(&lead);
                }
                match ticket.wait() {
                    Turn::Done(outcome) => return Some(outcome),
                    Turn::Lost | Turn::Wait(_) => return None,
                    Turn::Lead => leads = true,
                }
            }
        })
    }

    /// Puts `request` in line and answers at once with something to await. Without anybody standing
    /// by, the calling thread leads after all.
    pub(crate) fn enqueue(
        &self,
        request: R,
        bytes: usize,
        lead: impl Fn(Vec<R>) -> Vec<O>,
    ) -> Pending<O> {
        let ticket = Ticket::new(false);
        let pending = Pending {
            ticket: Arc::clone(&ticket),
        };
        let mut line = self.line.lock();
        line.waiting.push_back(Waiting {
            request,
            bytes,
            ticket,
        });
        if !line.led && line.driven {
            self.leaderless.notify_one();
        }
        let leads = !line.driven && !std::mem::replace(&mut line.led, true);
        drop(line);
        if leads {
            blocking(|| self.lead_group(&lead));
        }
        pending
    }

    /// Stands by for up to `most`, and leads a group if nobody else does.
    pub(crate) fn drive(&self, most: Duration, lead: impl Fn(Vec<R>) -> Vec<O>) {
        let mut line = self.line.lock();
        line.driven = true;
        if line.led || line.waiting.is_empty() {
            self.leaderless.wait_for(&mut line, most);
        }
        if line.led || line.waiting.is_empty() {
            return;
        }
        line.led = true;
        drop(line);
        self.lead_group(&lead);
    }

    /// Nobody stands by any more; those in line are led to the last.
    pub(crate) fn stop_driving(&self, lead: impl Fn(Vec<R>) -> Vec<O>) {
        loop {
            let mut line = self.line.lock();
            line.driven = false;
            if line.led || line.waiting.is_empty() {
                return;
            }
            line.led = true;
            drop(line);
            self.lead_group(&lead);
        }
    }

    /// Leads a group, and further ones as long as those in front can neither lead nor have somebody
    /// standing by who does.
    fn lead_group(&self, lead: impl Fn(Vec<R>) -> Vec<O>) {
        loop {
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
            std::mem::forget(leadership);
            let goes_on = self.appoint_next();
            for (ticket, outcome) in tickets.iter().zip(outcomes) {
                ticket.set(Turn::Done(outcome));
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Hands the lead on. Answers whether nobody can take it although somebody waits.
    fn appoint_next(&self) -> bool {
        let mut line = self.line.lock();
        match line.waiting.front() {
            Some(next) if next.ticket.can_lead => next.ticket.set(Turn::Lead),
            Some(_) if line.driven => {
                line.led = false;
                self.leaderless.notify_one();
            }
            Some(_) => return true,
            None => line.led = false,
        }
        false
    }
}

impl<R, O> Line<R, O> {
    /// The first in line, and those behind it that still fit.
    fn next_group(&mut self) -> (Vec<R>, Vec<Arc<Ticket<O>>>) {
        let most = self.waiting.len().min(GROUP_COMMITS_MAX);
        let mut requests = Vec::with_capacity(most);
        let mut tickets = Vec::with_capacity(most);
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

/// Hands the lead on when leading a group panicked.
struct Leadership<'q, R, O> {
    queue: &'q Queue<R, O>,
    tickets: Vec<Arc<Ticket<O>>>,
}

impl<R, O> Drop for Leadership<'_, R, O> {
    fn drop(&mut self) {
        if self.queue.appoint_next() {
            // Whoever comes next leads those who cannot.
            self.queue.line.lock().led = false;
        }
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
        let queue: Queue<u8, ()> = Queue::new();
        let mut line = queue.line.lock();
        for (request, bytes) in [(1, GROUP_BYTES_MAX * 2), (2, GROUP_BYTES_MAX), (3, 1)] {
            let ticket = Ticket::new(true);
            line.waiting.push_back(Waiting {
                request,
                bytes,
                ticket,
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

    /// Polls until ready, as an executor would.
    fn block_on<F: Future>(future: F) -> F::Output {
        struct Unpark(std::thread::Thread);
        impl std::task::Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Arc::new(Unpark(std::thread::current())).into();
        let mut future = std::pin::pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    #[test]
    fn tasks_are_led_by_whoever_stands_by() {
        let queue: Queue<u32, u32> = Queue::new();
        let double = |group: Vec<u32>| group.into_iter().map(|n| n * 2).collect();
        // Nobody stands by: the caller leads.
        assert_eq!(block_on(queue.enqueue(1, 1, double)), Some(2));
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    queue.drive(Duration::from_millis(10), double);
                }
                queue.stop_driving(double);
            });
            let askers: Vec<_> = (0..4)
                .map(|asker| {
                    let queue = &queue;
                    scope.spawn(move || {
                        for number in 0..200 {
                            let outcome = match (asker + number) % 3 {
                                0 => queue.submit(number, 1, double),
                                _ => block_on(queue.enqueue(number, 1, double)),
                            };
                            assert_eq!(outcome, Some(number * 2));
                        }
                    })
                })
                .collect();
            for asker in askers {
                asker.join().unwrap();
            }
            done.store(true, Ordering::SeqCst);
        });
    }

    #[test]
    fn a_task_behind_a_leader_is_led_by_it_when_nobody_stands_by() {
        let queue: Queue<usize, usize> = Queue::new();
        let (entered, gathered) = (Barrier::new(2), Barrier::new(2));
        let first = std::sync::atomic::AtomicBool::new(true);
        std::thread::scope(|scope| {
            let leader = scope.spawn(|| {
                queue.submit(1, 1, |group| {
                    if first.swap(false, Ordering::SeqCst) {
                        entered.wait();
                        gathered.wait();
                    }
                    group
                })
            });
            entered.wait();
            let pending = queue.enqueue(2, 1, |group| group);
            gathered.wait();
            assert_eq!(leader.join().unwrap(), Some(1));
            assert!(matches!(*pending.ticket.turn.lock(), Turn::Done(2)));
        });
    }
}
