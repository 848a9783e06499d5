//! Where plans lie between runs: so many of each statement, and so many of all statements.
//!
//! ```text
//!   by use        1 ─► plan of A     5 ─► plan of B     7 ─► plan of A      the oldest goes first
//!   by statement  A ─► 1, 7          B ─► 5                                 the newest is taken first
//! ```
//!
//! A session may prepare any number of statements and there may be any number of sessions, so what they
//! keep is bounded together. A statement whose plan was forgotten makes a new one when it runs.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;

/// How many idle plans one statement keeps.
const EACH_MAX: usize = 4;

/// Idle plans of all statements.
#[derive(Debug)]
pub(super) struct Shelf<P> {
    most: usize,
    lying: Mutex<Lying<P>>,
}

/// A statement that may have plans on the shelf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Owner(u64);

#[derive(Debug)]
struct Lying<P> {
    /// The last number that was given to a statement or a use.
    last: u64,
    by_use: BTreeMap<u64, (Owner, P)>,
    by_owner: HashMap<Owner, Vec<u64>>,
}

impl<P> Shelf<P> {
    /// Room for `most` plans.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            lying: Mutex::new(Lying {
                last: 0,
                by_use: BTreeMap::new(),
                by_owner: HashMap::new(),
            }),
        }
    }

    /// A statement that has nothing on the shelf yet.
    pub(super) fn owner(&self) -> Owner {
        Owner(self.lying.lock().number())
    }

    /// Takes the plan of a statement that was used last.
    pub(super) fn take(&self, owner: Owner) -> Option<P> {
        let mut lying = self.lying.lock();
        let used = lying.by_owner.get_mut(&owner)?.pop()?;
        lying.tidy(owner);
        lying.by_use.remove(&used).map(|(_, plan)| plan)
    }

    /// Puts a plan that was just used on the shelf, if its statement has not enough of them.
    pub(super) fn put(&self, owner: Owner, plan: P) {
        let mut lying = self.lying.lock();
        if lying.count(owner) >= EACH_MAX {
            return;
        }
        let used = lying.number();
        lying.by_use.insert(used, (owner, plan));
        lying.by_owner.entry(owner).or_default().push(used);
        let oldest = match lying.by_use.len() > self.most {
            true => lying.by_use.pop_first(),
            false => None,
        };
        if let Some((used, (owner, _))) = &oldest {
            if let Some(uses) = lying.by_owner.get_mut(owner) {
                uses.retain(|one| one != used);
            }
            lying.tidy(*owner);
        }
        // A large plan takes a while to drop, and others need not wait for that.
        drop(lying);
        drop(oldest);
    }

    /// Drops the plans of a statement that is gone.
    pub(super) fn forget(&self, owner: Owner) {
        let mut lying = self.lying.lock();
        let uses = lying.by_owner.remove(&owner).unwrap_or_default();
        let plans: Vec<_> = uses.iter().map(|used| lying.by_use.remove(used)).collect();
        drop(lying);
        drop(plans);
    }

    /// How many plans of a statement lie here.
    #[cfg(test)]
    pub(super) fn count(&self, owner: Owner) -> usize {
        self.lying.lock().count(owner)
    }
}

impl<P> Lying<P> {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn count(&self, owner: Owner) -> usize {
        self.by_owner.get(&owner).map_or(0, Vec::len)
    }

    /// Statements without plans take no room.
    fn tidy(&mut self, owner: Owner) {
        if self.count(owner) == 0 {
            self.by_owner.remove(&owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_that_was_used_longest_ago_goes_first() {
        let shelf = Shelf::new(3);
        let [a, b] = [shelf.owner(), shelf.owner()];
        shelf.put(a, "a1");
        shelf.put(b, "b1");
        shelf.put(a, "a2");
        assert_eq!(shelf.take(a), Some("a2"));
        shelf.put(a, "a2");
        shelf.put(b, "b2");
        assert_eq!((shelf.count(a), shelf.count(b)), (1, 2));
        assert_eq!(shelf.take(a), Some("a2"));
        assert_eq!(shelf.take(a), None);
        shelf.forget(b);
        assert_eq!(shelf.take(b), None);
        let lying = shelf.lying.lock();
        assert!(lying.by_use.is_empty() && lying.by_owner.is_empty());
    }

    #[test]
    fn a_statement_keeps_few() {
        let shelf = Shelf::new(100);
        let owner = shelf.owner();
        (0..10).for_each(|plan| shelf.put(owner, plan));
        assert_eq!(shelf.count(owner), EACH_MAX);
        assert_eq!(shelf.take(owner), Some(3));
    }
}
