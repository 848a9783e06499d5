//! Claims: who is about to change which row, so that those who would change the same one come one
//! after another instead of being refused.
//!
//! ```text
//!   row /7   T1 ◄── T2 ◄── T5        T1 has it; T2 gets it when T1 has ended, then T5
//!   row /9   T2
//! ```
//!
//! A claim decides nothing: whether a transaction commits depends on what it read and on nothing
//! else. So a claim can be left out whenever it does harm, and whoever would wait in a circle goes on
//! without one: of those in the circle the first to commit wins, and the others are refused. Locks that
//! programs name ([`locks`](crate::locks)) are waited for in the same graph.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use parking_lot::Mutex;
use partitions::TableId;
use storage::Bytes;

use crate::locks::{LockLine, LockName};

/// The rows that transactions claimed.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    pub(crate) state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    lines: HashMap<Row, Line>,
    /// The locks that programs name.
    pub(crate) locks: HashMap<LockName, LockLine>,
    /// Where each claimant that waits stands.
    pub(crate) waits: HashMap<Claimant, Spot>,
    claimants: u64,
}

type Row = (TableId, Bytes);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claimant(u64);

/// What somebody waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    Row(Row),
    Lock(LockName),
}

/// The line at one row.
#[derive(Debug)]
struct Line {
    holder: Claimant,
    waiting: VecDeque<(Claimant, Waker)>,
}

impl State {
    /// One who has claimed nothing yet.
    pub(crate) fn newcomer(&mut self) -> Claimant {
        self.claimants += 1;
        Claimant(self.claimants)
    }

    /// Whether `claimant` would wait for itself if it waited there. Who waits behind others waits for
    /// those who have it now, as those others do.
    pub(crate) fn closes_circle(&self, claimant: Claimant, spot: &Spot) -> bool {
        let own = |spot: &Spot| self.holders(spot).any(|holder| holder == claimant);
        // A lock that is shared with others can be waited for; a row has one holder.
        if let Spot::Row(_) = spot
            && own(spot)
        {
            return true;
        }
        let mut seen = vec![claimant];
        let mut open = vec![spot];
        while let Some(spot) = open.pop() {
            for holder in self.holders(spot) {
                if seen.contains(&holder) {
                    continue;
                }
                seen.push(holder);
                if let Some(next) = self.waits.get(&holder) {
                    if own(next) {
                        return true;
                    }
                    open.push(next);
                }
            }
        }
        false
    }

    /// Those who have what others wait for.
    fn holders(&self, spot: &Spot) -> impl Iterator<Item = Claimant> {
        let (row, lock) = match spot {
            Spot::Row(row) => (self.lines.get(row), None),
            Spot::Lock(name) => (None, self.locks.get(name)),
        };
        let row = row.map(|line| line.holder);
        let lock = lock.into_iter().flat_map(|line| &line.holders);
        row.into_iter().chain(lock.map(|(who, _)| *who))
    }

    /// Hands a row on to the next in line, who is to be woken.
    fn pass_on(&mut self, row: &Row) -> Option<Waker> {
        let line = self.lines.get_mut(row)?;
        match line.waiting.pop_front() {
            Some((next, waker)) => {
                line.holder = next;
                self.waits.remove(&next);
                Some(waker)
            }
            None => {
                self.lines.remove(row);
                None
            }
        }
    }
}

/// How long to wait for others. Time comes from who makes it: what it makes ends when it is over.
#[derive(Clone)]
pub struct Patience(Arc<dyn Fn() -> End + Send + Sync>);

/// Ends when somebody has waited long enough.
type End = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Patience {
    /// What `begin` makes is made when somebody begins to wait.
    pub fn new<E>(begin: impl Fn() -> E + Send + Sync + 'static) -> Self
    where
        E: Future<Output = ()> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(begin())))
    }

    pub(crate) fn begin(&self) -> End {
        (self.0)()
    }
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Patience")
    }
}

/// What one transaction has claimed. Others get it when this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    claims: Arc<Claims>,
    claimant: Claimant,
    rows: Vec<Row>,
}

impl Held {
    pub(crate) fn nothing(claims: &Arc<Claims>) -> Self {
        let claimant = claims.state.lock().newcomer();
        Self::of(claims, claimant)
    }

    /// As nothing, in the name of somebody who is known already.
    pub(crate) fn of(claims: &Arc<Claims>, claimant: Claimant) -> Self {
        Self {
            claims: Arc::clone(claims),
            claimant,
            rows: Vec::new(),
        }
    }

    /// Takes a row unless somebody else has it.
    pub(crate) fn try_claim(&mut self, table: TableId, key: &[u8]) -> bool {
        let row = (table, Bytes::copy_from_slice(key));
        match self.claims.state.lock().lines.entry(row) {
            Entry::Occupied(entry) => entry.get().holder == self.claimant,
            Entry::Vacant(entry) => {
                self.rows.push(entry.key().clone());
                entry.insert(Line {
                    holder: self.claimant,
                    waiting: VecDeque::new(),
                });
                true
            }
        }
    }

    /// Waits for a row, unless everybody would wait for everybody.
    pub(crate) fn claim(&mut self, table: TableId, key: &[u8]) -> Claiming<'_> {
        let row = (table, Bytes::copy_from_slice(key));
        Claiming {
            held: self,
            row,
            stands: Stands::Before,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for row in &self.rows {
            let next = self.claims.state.lock().pass_on(row);
            if let Some(waker) = next {
                waker.wake();
            }
        }
    }
}

/// A claim on its way. Dropping it gives the place in line back.
#[derive(Debug)]
pub(crate) struct Claiming<'h> {
    held: &'h mut Held,
    row: Row,
    stands: Stands,
}

/// Where a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    Before,
    InLine,
    After,
}

impl Future for Claiming<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let claimant = this.held.claimant;
        let mut guard = this.held.claims.state.lock();
        let state = &mut *guard;
        if this.stands == Stands::Before
            && state.lines.contains_key(&this.row)
            && state.closes_circle(claimant, &Spot::Row(this.row.clone()))
        {
            // Also the way out for a row that is claimed already.
            this.stands = Stands::After;
            return Poll::Ready(());
        }
        let line = match state.lines.entry(this.row.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Line {
                holder: claimant,
                waiting: VecDeque::new(),
            }),
        };
        if line.holder == claimant {
            drop(guard);
            this.stands = Stands::After;
            this.held.rows.push(this.row.clone());
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        match line.waiting.iter_mut().find(|(who, _)| *who == claimant) {
            Some((_, known)) => *known = waker,
            None => {
                line.waiting.push_back((claimant, waker));
                state.waits.insert(claimant, Spot::Row(this.row.clone()));
            }
        }
        this.stands = Stands::InLine;
        Poll::Pending
    }
}

impl Drop for Claiming<'_> {
    fn drop(&mut self) {
        if self.stands != Stands::InLine {
            return;
        }
        let claimant = self.held.claimant;
        let mut state = self.held.claims.state.lock();
        state.waits.remove(&claimant);
        let Some(line) = state.lines.get_mut(&self.row) else {
            return;
        };
        line.waiting.retain(|(who, _)| *who != claimant);
        // It may have been handed over before anybody looked.
        let next = match line.holder == claimant {
            true => state.pass_on(&self.row),
            false => None,
        };
        drop(state);
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    const TABLE: TableId = TableId(1);

    #[derive(Default)]
    struct Bell(AtomicUsize);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn bell() -> (Arc<Bell>, Waker) {
        let bell = Arc::new(Bell::default());
        (Arc::clone(&bell), bell.into())
    }

    fn ready(future: Pin<&mut Claiming<'_>>, waker: &Waker) -> bool {
        future.poll(&mut Context::from_waker(waker)).is_ready()
    }

    fn claimed(held: &mut Held, key: &str) -> bool {
        ready(pin!(held.claim(TABLE, key.as_bytes())), Waker::noop())
    }

    #[test]
    fn a_row_goes_from_one_to_the_next_in_the_order_they_came() {
        let claims = Arc::default();
        let [mut first, mut second, mut third] = [(); 3].map(|()| Held::nothing(&claims));
        assert!(claimed(&mut first, "a"));
        assert!(claimed(&mut first, "a"), "its own row is no obstacle");
        let [(second_bell, second_waker), (third_bell, third_waker)] = [bell(), bell()];
        {
            let mut second = pin!(second.claim(TABLE, b"a"));
            let mut third = pin!(third.claim(TABLE, b"a"));
            assert!(!ready(second.as_mut(), &second_waker));
            assert!(!ready(third.as_mut(), &third_waker));
            drop(first);
            assert_eq!(second_bell.0.load(Ordering::Relaxed), 1);
            assert!(!ready(third.as_mut(), &third_waker));
            assert!(ready(second.as_mut(), &second_waker));
        }
        assert_eq!(third_bell.0.load(Ordering::Relaxed), 0, "it left the line");
        drop(second);
        assert!(claimed(&mut third, "a"));
        drop(third);
        assert!(claims.state.lock().lines.is_empty());
    }

    #[test]
    fn who_leaves_after_the_row_was_handed_over_hands_it_on() {
        let claims = Arc::default();
        let [mut first, mut second, mut third] = [(); 3].map(|()| Held::nothing(&claims));
        assert!(claimed(&mut first, "a"));
        let (bell, waker) = bell();
        let mut waits = pin!(third.claim(TABLE, b"a"));
        {
            let mut leaves = pin!(second.claim(TABLE, b"a"));
            assert!(!ready(leaves.as_mut(), Waker::noop()));
            assert!(!ready(waits.as_mut(), &waker));
            drop(first);
        }
        assert_eq!(bell.0.load(Ordering::Relaxed), 1);
        assert!(ready(waits.as_mut(), &waker));
    }

    #[test]
    fn nobody_waits_in_a_circle() {
        let claims = Arc::default();
        let [mut first, mut second, mut third] = [(); 3].map(|()| Held::nothing(&claims));
        assert!(claimed(&mut first, "a"));
        assert!(claimed(&mut second, "b"));
        assert!(claimed(&mut third, "c"));
        let mut for_b = pin!(first.claim(TABLE, b"b"));
        let mut for_c = pin!(second.claim(TABLE, b"c"));
        assert!(!ready(for_b.as_mut(), Waker::noop()));
        assert!(!ready(for_c.as_mut(), Waker::noop()));
        assert!(claimed(&mut third, "a"), "it goes on without the claim");
        assert_eq!(third.rows.len(), 1);
        drop(third);
        assert!(ready(for_c.as_mut(), Waker::noop()));
    }

    #[test]
    fn who_does_not_want_to_wait_gets_what_is_free() {
        let claims = Arc::default();
        let [mut first, mut second] = [(); 2].map(|()| Held::nothing(&claims));
        assert!(first.try_claim(TABLE, b"a"));
        assert!(first.try_claim(TABLE, b"a"), "its own row is no obstacle");
        assert!(!second.try_claim(TABLE, b"a"));
        assert!(second.try_claim(TABLE, b"b"));
        drop(first);
        assert!(second.try_claim(TABLE, b"a"));
        drop(second);
        assert!(claims.state.lock().lines.is_empty());
    }
}
