//! Locks that programs name by numbers and give a meaning to themselves.
//!
//! ```text
//!   lock 7   A          B waits ◄── C waits          one has it, or several that share it
//!   lock 9   C  D       shared
//! ```
//!
//! They outlive transactions, so a [`Locker`] holds them and not a transaction. Who waits here or for a
//! row stands in one graph ([`claims`](crate::claims)): the transactions of a locker claim rows in its
//! name, and a circle through rows and locks is found before anybody closes it. A claim can be left
//! out and a lock cannot, so who would close a circle here is refused.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use hashbrown::HashMap;

use crate::claims::{Claimant, Claims, Patience, Spot, State};
use crate::{Error, Result, Store};

/// How many locks one locker has at most.
pub const LOCKS_MAX: usize = 10_000;

/// What a lock is called. Names of one number and of two never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockName {
    /// One number.
    One(i64),
    /// Two numbers.
    Two(i32, i32),
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(name) => write!(f, "{name}"),
            Self::Two(first, second) => write!(f, "({first}, {second})"),
        }
    }
}

/// Who else may have a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockMode {
    /// Nobody.
    Exclusive,
    /// Those who share it too.
    Shared,
}

/// How long a lock is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockUntil {
    /// Until it is given back as often as it was taken.
    Unlocked,
    /// Until the transaction ends.
    TransactionEnd,
}

/// A lock as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    /// Its name.
    pub name: LockName,
    /// Who else may have it.
    pub mode: LockMode,
}

/// Who has a lock, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct LockLine {
    pub(crate) holders: Vec<(Claimant, LockMode)>,
    waiting: VecDeque<(Claimant, LockMode, Waker)>,
}

impl LockLine {
    fn has(&self, claimant: Claimant, mode: LockMode) -> bool {
        self.holders.contains(&(claimant, mode))
    }

    /// Whether none of the others who have it minds.
    fn lets(&self, claimant: Claimant, mode: LockMode) -> bool {
        let mut holders = self.holders.iter();
        holders.all(|(who, held)| {
            *who == claimant || (*held == LockMode::Shared && mode == LockMode::Shared)
        })
    }

    /// Who has a lock already does not stand behind those who wait for it to be given back.
    fn is_held_by(&self, claimant: Claimant) -> bool {
        self.holders.iter().any(|(who, _)| *who == claimant)
    }
}

impl State {
    /// Takes a lock, if that can be without waiting.
    fn try_lock(&mut self, claimant: Claimant, lock: Lock) -> bool {
        let line = self.locks.entry(lock.name).or_default();
        if line.has(claimant, lock.mode) {
            return true;
        }
        let turn = line.waiting.is_empty() || line.is_held_by(claimant);
        let taken = turn && line.lets(claimant, lock.mode);
        if taken {
            line.holders.push((claimant, lock.mode));
        }
        taken
    }

    fn unlock(&mut self, claimant: Claimant, lock: Lock) -> Vec<Waker> {
        if let Some(line) = self.locks.get_mut(&lock.name) {
            line.holders.retain(|held| *held != (claimant, lock.mode));
        }
        self.next_in_line(lock.name)
    }

    /// Leaves the line of a lock, or gives back what was got before anybody looked.
    fn leave(&mut self, claimant: Claimant, lock: Lock) -> Vec<Waker> {
        self.waits.remove(&claimant);
        let Some(line) = self.locks.get_mut(&lock.name) else {
            return Vec::new();
        };
        let before = line.waiting.len();
        line.waiting.retain(|(who, ..)| *who != claimant);
        match line.waiting.len() == before {
            true => self.unlock(claimant, lock),
            // Those behind it may share what it would have had alone.
            false => self.next_in_line(lock.name),
        }
    }

    /// Hands a lock to those in front who can have it now, and who are to be woken.
    fn next_in_line(&mut self, name: LockName) -> Vec<Waker> {
        let mut woken = Vec::new();
        let Some(line) = self.locks.get_mut(&name) else {
            return woken;
        };
        while let Some((claimant, mode, waker)) = line.waiting.pop_front() {
            if !line.lets(claimant, mode) {
                line.waiting.push_front((claimant, mode, waker));
                break;
            }
            line.holders.push((claimant, mode));
            self.waits.remove(&claimant);
            woken.push(waker);
        }
        if line.holders.is_empty() {
            self.locks.remove(&name);
        }
        woken
    }
}

/// Who has locks. Dropping it gives them back.
#[derive(Debug)]
pub struct Locker {
    claims: Arc<Claims>,
    pub(crate) claimant: Claimant,
    /// Those to be unlocked, and how often.
    kept: HashMap<Lock, usize>,
    /// Those of the transaction, in the order they were taken.
    taken: Vec<Lock>,
}

impl Locker {
    /// One that has nothing yet.
    pub fn new(store: &Store) -> Self {
        let claimant = store.claims.state.lock().newcomer();
        Self {
            claims: Arc::clone(&store.claims),
            claimant,
            kept: HashMap::new(),
            taken: Vec::new(),
        }
    }

    /// Takes a lock. Waits for those who have it, no longer than `patience` lasts.
    pub async fn lock(
        &mut self,
        lock: Lock,
        until: LockUntil,
        patience: Option<Patience>,
    ) -> Result<()> {
        self.has_room()?;
        let locking = Locking {
            claims: Arc::clone(&self.claims),
            claimant: self.claimant,
            lock,
            in_line: false,
        };
        let mut locking = pin!(locking);
        let mut end = None;
        poll_fn(|context| {
            if let Poll::Ready(done) = locking.as_mut().poll(context) {
                return Poll::Ready(done);
            }
            let Some(patience) = &patience else {
                return Poll::Pending;
            };
            let end = end.get_or_insert_with(|| patience.begin());
            let over = end.as_mut().poll(context);
            over.map(|()| Err(Error::LockHeld { name: lock.name }))
        })
        .await?;
        self.note(lock, until);
        Ok(())
    }

    /// Takes a lock unless somebody else has it. Answers whether it did.
    pub fn try_lock(&mut self, lock: Lock, until: LockUntil) -> Result<bool> {
        self.has_room()?;
        let taken = self.claims.state.lock().try_lock(self.claimant, lock);
        if taken {
            self.note(lock, until);
        }
        Ok(taken)
    }

    fn has_room(&self) -> Result<()> {
        match self.kept.len() + self.taken.len() < LOCKS_MAX {
            true => Ok(()),
            false => Err(Error::TooManyLocks { limit: LOCKS_MAX }),
        }
    }

    fn note(&mut self, lock: Lock, until: LockUntil) {
        match until {
            LockUntil::Unlocked => *self.kept.entry(lock).or_default() += 1,
            LockUntil::TransactionEnd => self.taken.push(lock),
        }
    }

    /// Gives a lock back that was to be kept until then. Answers whether there was such a one.
    pub fn unlock(&mut self, lock: Lock) -> bool {
        let Some(times) = self.kept.get_mut(&lock) else {
            return false;
        };
        *times -= 1;
        if *times == 0 {
            self.kept.remove(&lock);
            self.let_go(lock);
        }
        true
    }

    /// Gives all locks back that were to be kept until then.
    pub fn unlock_all(&mut self) {
        for (lock, _) in std::mem::take(&mut self.kept) {
            self.let_go(lock);
        }
    }

    /// How many locks the transaction took.
    pub fn taken(&self) -> usize {
        self.taken.len()
    }

    /// Gives back what the transaction took after the first `first` locks.
    pub fn end_taken(&mut self, first: usize) {
        while self.taken.len() > first
            && let Some(lock) = self.taken.pop()
        {
            self.let_go(lock);
        }
    }

    /// Lets others have a lock, if nothing else keeps it.
    fn let_go(&mut self, lock: Lock) {
        if self.kept.contains_key(&lock) || self.taken.contains(&lock) {
            return;
        }
        let woken = self.claims.state.lock().unlock(self.claimant, lock);
        woken.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Locker {
    fn drop(&mut self) {
        self.end_taken(0);
        self.unlock_all();
    }
}

/// A lock on its way. Dropping it gives the place in line back.
struct Locking {
    claims: Arc<Claims>,
    claimant: Claimant,
    lock: Lock,
    in_line: bool,
}

impl Future for Locking {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = &mut *self;
        let (claimant, lock) = (this.claimant, this.lock);
        let mut guard = this.claims.state.lock();
        let state = &mut *guard;
        if this.in_line {
            let waiting = state.locks.get_mut(&lock.name).into_iter();
            let mut waiting = waiting.flat_map(|line| &mut line.waiting);
            if let Some((.., waker)) = waiting.find(|(who, ..)| *who == claimant) {
                waker.clone_from(context.waker());
                return Poll::Pending;
            }
            this.in_line = false;
            return Poll::Ready(Ok(()));
        }
        if state.try_lock(claimant, lock) {
            return Poll::Ready(Ok(()));
        }
        let spot = Spot::Lock(lock.name);
        if state.closes_circle(claimant, &spot) {
            return Poll::Ready(Err(Error::Deadlock { name: lock.name }));
        }
        let line = state.locks.entry(lock.name).or_default();
        let waiter = (claimant, lock.mode, context.waker().clone());
        match line.is_held_by(claimant) {
            true => line.waiting.push_front(waiter),
            false => line.waiting.push_back(waiter),
        }
        state.waits.insert(claimant, spot);
        this.in_line = true;
        Poll::Pending
    }
}

impl Drop for Locking {
    fn drop(&mut self) {
        if !self.in_line {
            return;
        }
        let woken = self.claims.state.lock().leave(self.claimant, self.lock);
        woken.into_iter().for_each(Waker::wake);
    }
}
