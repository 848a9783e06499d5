//! Row locks: transactions that wait for each other, polled in the order that the seed says.
//!
//! ```text
//!   T4  locks t0/7           has it
//!   T6  locks t0/7           waits; looked at now and then, gives up, or is dropped while it waits
//!   T4  locks what T6 has    a circle: it goes on without the lock
//!   T4  ends                 T6 is woken, and may see a later snapshot than before
//! ```
//!
//! A lock decides nothing, so what is checked is this: no wait outlasts the locks of all others, who is
//! let through was woken, two never have one row, and who is let through although another has the row
//! would have waited in a circle. When the snapshot moved, all that was read before is still true at
//! the new one.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};

use db::{Kind, Table, Transaction, Value};

use crate::actor::{Actor, Hand};
use crate::error::{Checked, Wrong};
use crate::model::{Number, Spot};
use crate::tables::all_spots;
use crate::world::{ACTORS_MAX, World};

/// Notes that a future was woken.
#[derive(Debug, Default)]
pub(crate) struct Bell(AtomicBool);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A future that only the simulator polls.
pub(crate) struct Polled<T> {
    future: Pin<Box<dyn Future<Output = T>>>,
    bell: Arc<Bell>,
}

impl<T> Polled<T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'static) -> Self {
        // The first look needs no call.
        let bell = Bell(AtomicBool::new(true));
        Self {
            future: Box::pin(future),
            bell: Arc::new(bell),
        }
    }

    /// Looks whether it has ended. An error if it has although nobody called.
    pub(crate) fn poll(&mut self) -> Checked<Option<T>> {
        let called = self.bell.0.swap(false, Ordering::Relaxed);
        let waker = Arc::clone(&self.bell).into();
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(_) if !called => Err(Wrong("a task was ready and not woken".to_owned())),
            Poll::Ready(output) => Ok(Some(output)),
            Poll::Pending => Ok(None),
        }
    }

    fn call(&self) {
        self.bell.0.store(true, Ordering::Relaxed);
    }
}

/// A transaction and what became of its wait: nothing if it gave up.
type Waited = (Box<Transaction>, Option<db::Result<()>>);

/// A row lock that an actor waits for.
pub(crate) struct LockWait {
    spot: Spot,
    waited: Polled<Waited>,
    gives_up: Rc<Cell<bool>>,
}

impl LockWait {
    fn new(txn: Box<Transaction>, table: Arc<Table>, spot: Spot) -> Self {
        let gives_up = Rc::new(Cell::new(false));
        let waited = wait(txn, table, spot.1, Rc::clone(&gives_up));
        Self {
            spot,
            waited: Polled::new(waited),
            gives_up,
        }
    }
}

/// Waits for a row lock, the one place that knows how.
async fn wait(
    mut txn: Box<Transaction>,
    table: Arc<Table>,
    key: u64,
    gives_up: Rc<Cell<bool>>,
) -> Waited {
    let key = [Value::Uint64(key)];
    let outcome = {
        let mut lock = pin!(txn.claim(&table, &key));
        poll_fn(|context| match gives_up.get() {
            true => Poll::Ready(None),
            false => lock.as_mut().poll(context).map(Some),
        })
        .await
    };
    (txn, outcome)
}

impl World {
    /// Locks a row, often one that was changed since the actor's snapshot, or that another has.
    pub(crate) fn lock(&mut self, mut actor: Actor, near: Spot) -> Checked<()> {
        let newer = |spot: &Spot| {
            let newest = self.model.at(*spot, u64::MAX);
            newest.is_some_and(|(at, _)| at > actor.at) && !actor.own.contains_key(spot)
        };
        let changed: Vec<Spot> = all_spots().filter(newer).collect();
        let waiting = self.waiting.iter().flat_map(|(one, _)| &one.locks);
        let waiting: Vec<Spot> = waiting.copied().collect();
        let locked: Vec<Spot> = self.others().flat_map(|(_, locks)| locks).collect();
        let spot = match self.chance.below(6) {
            // A row that it counts on may be gone when its snapshot moves.
            _ if !actor.present.is_empty() && self.chance.one_in(2) => self.chance.pick(&changed),
            0 | 1 => self.chance.pick(&changed),
            2 => self.chance.pick(&locked),
            _ if self.chance.one_in(2) => self.chance.pick(&waiting),
            _ => None,
        };
        let spot = spot.unwrap_or(near);
        let Hand::Writer(txn) = std::mem::replace(&mut actor.hand, Hand::Waiting) else {
            return Ok(());
        };
        let (table, key) = spot;
        self.log.say(format!("T{} locks t{table}/{key}", actor.by));
        let mut wait = LockWait::new(txn, self.table(table)?, spot);
        match wait.waited.poll()? {
            Some(waited) => self.end_wait(actor, spot, waited, true),
            None => {
                self.log.say("  it waits");
                self.coverage.add("a wait for a row lock");
                self.waiting.push((actor, wait));
                Ok(())
            }
        }
    }

    /// One of those that wait looks whether it has its lock, or gives up, or is gone.
    pub(crate) fn let_wait(&mut self, index: usize) -> Checked<()> {
        let (actor, mut wait) = self.waiting.swap_remove(index);
        let by = actor.by;
        match self.chance.below(12) {
            0 => {
                self.coverage.add("a row lock whose waiter was dropped");
                self.log.say(format!("T{by} is gone while it waits"));
                drop(wait);
                return Ok(());
            }
            1 => {
                self.coverage.add("a row lock that was given up");
                self.log.say(format!("T{by} gives up waiting"));
                wait.gives_up.set(true);
                wait.waited.call();
            }
            _ => {}
        }
        match wait.waited.poll()? {
            Some(waited) => self.end_wait(actor, wait.spot, waited, false),
            None => {
                self.log.say(format!("T{by} waits"));
                self.waiting.push((actor, wait));
                Ok(())
            }
        }
    }

    fn end_wait(
        &mut self,
        mut actor: Actor,
        spot: Spot,
        (txn, outcome): Waited,
        at_once: bool,
    ) -> Checked<()> {
        let before = actor.at;
        let after = txn.at().0;
        let by = actor.by;
        actor.hand = Hand::Writer(txn);
        if let Some(outcome) = outcome {
            self.note_lock(&mut actor, spot, at_once)?;
            match outcome {
                Ok(()) => {
                    self.log.say(format!("T{by} goes on at @{after}"));
                    self.follow_snapshot(&mut actor, before, after)?;
                    self.get(&mut actor, spot)?;
                    // What was proven only at the old snapshot shows if nothing follows.
                    if after > before && self.chance.one_in(2) {
                        return self.commit(actor);
                    }
                }
                Err(error) if error.kind() == Kind::Conflict => {
                    self.log.say(format!("T{by} goes on: {error}"));
                    self.coverage.add("a row lock that came too late");
                    self.check_conflict(&actor, spot, &error)?;
                    self.follow_snapshot(&mut actor, before, after)?;
                }
                Err(error) => self.tolerate(&format!("T{by} locks a row"), &error)?,
            }
        }
        self.actors.push(actor);
        Ok(())
    }

    /// The actor has its lock, unless it would have waited in a circle.
    fn note_lock(&mut self, actor: &mut Actor, spot: Spot, at_once: bool) -> Checked<()> {
        if actor.own.get(&spot).is_some_and(|edit| edit.is_whole()) {
            return Ok(());
        }
        let Some(holder) = self.holder(spot).filter(|holder| *holder != actor.by) else {
            actor.locks.insert(spot);
            return Ok(());
        };
        let by = actor.by;
        if at_once && self.would_wait_for(actor, holder) {
            self.coverage.add("a wait in a circle");
            return Ok(());
        }
        let (table, key) = spot;
        Err(Wrong(format!(
            "T{by} got the lock of t{table}/{key}, which T{holder} has"
        )))
    }

    /// Everybody but the one who acts, with the rows that each has locked.
    fn others(&self) -> impl Iterator<Item = (Number, Vec<Spot>)> {
        let actors = self.actors.iter();
        let waiting = self.waiting.iter().map(|(actor, _)| actor);
        let actors = actors.chain(waiting);
        let actors = actors.map(|one| (one.by, one.locks.iter().copied().collect()));
        actors.chain(self.locks_in_line())
    }

    fn holder(&self, spot: Spot) -> Option<Number> {
        let mut others = self.others();
        let holder = others.find(|(_, locks)| locks.contains(&spot));
        holder.map(|(by, _)| by)
    }

    /// Whether somebody waits, perhaps through others, for a row of this actor.
    fn would_wait_for(&self, actor: &Actor, first: Number) -> bool {
        let mut who = first;
        for _ in 0..ACTORS_MAX {
            let waiting = self.waiting.iter().find(|(one, _)| one.by == who);
            let Some((_, wait)) = waiting else {
                return false;
            };
            if actor.locks.contains(&wait.spot) {
                return true;
            }
            match self.holder(wait.spot) {
                Some(next) => who = next,
                None => return false,
            }
        }
        false
    }

    /// The snapshot may have moved forward: what was read at the old one is true at the new one.
    fn follow_snapshot(&mut self, actor: &mut Actor, before: u64, after: u64) -> Checked<()> {
        let by = actor.by;
        if after == before {
            return Ok(());
        }
        if after < before || !actor.cursors.is_empty() {
            let message = format!("the snapshot of T{by} moved from @{before} to @{after}");
            return Err(Wrong(message));
        }
        self.coverage.add("a snapshot that moved forward");
        actor.at = after;
        // What an engine that crashed alone has lost is found out when the transaction commits.
        if self.shaken {
            return Ok(());
        }
        for read in &actor.reads {
            let [then, now] = [read.seen, after].map(|at| self.model.row(read.spot, at));
            if then != now {
                let (table, key) = read.spot;
                return Err(Wrong(format!(
                    "the snapshot of T{by} moved to @{after} though t{table}/{key}, which it read \
                     as {then:?}, had become {now:?}"
                )));
            }
        }
        Ok(())
    }

    /// A lock is refused only to those who read what has changed since.
    fn check_conflict(&mut self, actor: &Actor, spot: Spot, error: &db::Error) -> Checked<()> {
        let newest = |spot: Spot| self.model.at(spot, u64::MAX).map_or(0, |(at, _)| at);
        let mut known = actor.reads.iter().map(|read| read.spot).chain([spot]);
        if known.any(|spot| newest(spot) > actor.at) {
            return Ok(());
        }
        self.tolerate(&format!("T{} locks a row", actor.by), error)
    }

    /// Everybody else has ended: who still waits must be let through, one after another.
    pub(crate) fn end_waits(&mut self) -> Checked<()> {
        while !self.waiting.is_empty() {
            let waiting = std::mem::take(&mut self.waiting);
            let count = waiting.len();
            for (actor, mut wait) in waiting {
                match wait.waited.poll()? {
                    Some((txn, _)) => {
                        self.log.say(format!("T{} waited to the end", actor.by));
                        drop(txn);
                    }
                    None => self.waiting.push((actor, wait)),
                }
            }
            if self.waiting.len() == count {
                return Err(Wrong(
                    "those who wait for row locks wait for ever".to_owned(),
                ));
            }
        }
        Ok(())
    }
}
