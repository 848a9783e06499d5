//! What a client asks in one transaction: chosen by the seed alone, before anything is answered.

use storage::env::{Random, SeededRandom};

use super::coverage::Shape;
use super::layout::{
    CLIENTS, GENERATION_ROWS, GENERATION_TRANSACTIONS, GENERATIONS, Key, PARENTS, ROWS, SLOTS,
    Start, Table, parent,
};

/// The fewest and the most operations of a transaction.
const OPERATIONS_MIN: u64 = 2;
const OPERATIONS_MAX: u64 = 8;

/// The most operations of a transaction that is to be short.
const SHORT_OPERATIONS_MAX: u64 = 4;

/// The key of each table that transactions with a moved snapshot write to.
const HOT_SLOT: u64 = 4;

/// From which number on rows of `players` are one transaction's own.
const OWN_PLAYERS: u64 = 1 << 40;

/// Which transaction this is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) client: u64,
    pub(super) round: u64,
    pub(super) generation: u64,
    /// The number of the transaction in its generation.
    pub(super) index: u64,
}

/// How an element is appended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Append {
    /// UPDATE, by an expression that only a query works out.
    Update,
    /// The same, with RETURNING.
    Returning,
    /// INSERT … ON CONFLICT DO UPDATE … RETURNING.
    Upsert,
    /// SELECT, then UPDATE with the whole list.
    Rewrite,
    /// SELECT … FOR UPDATE, then the same.
    Locked,
    /// UPDATE of a number beside the list, which locks the row and returns the list, then the same.
    Counted,
}

/// A read of a range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan {
    pub(super) table: Table,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) limit: Option<u64>,
    pub(super) descending: bool,
    pub(super) lock: bool,
}

/// One statement of a transaction, or a few that belong together.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Read { key: Key, lock: bool },
    Append { key: Key, how: Append },
    Delete(Key),
    Scan(Scan),
    Index { tag: u64 },
    Join { from: u64, to: u64 },
    InsertChild { parent: u64 },
    DeleteParent(u64),
    InsertTeam { captain: u64 },
    InsertPlayer(u64),
    DeletePlayer(u64),
    ConstraintsImmediate,
    Savepoint,
    RollbackTo,
    Release,
}

/// A transaction that is to be run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) shape: Shape,
    pub(super) steps: Vec<Step>,
}

/// The plan of one transaction.
pub(super) fn plan(seed: u64, place: Place) -> Plan {
    // Neighbours must not draw the same numbers one step apart.
    let own = SeededRandom::new(place.unique()).next_u64();
    let mut planner = Planner {
        random: SeededRandom::new(seed ^ own),
        place,
        steps: Vec::new(),
        short: false,
    };
    let shape = Shape::drawn(planner.random.next_u64());
    planner.shape(shape);
    planner.fill();
    Plan {
        shape,
        steps: planner.steps,
    }
}

impl Place {
    /// The number of the transaction in its round, among those of its client.
    pub(super) fn in_round(self) -> u64 {
        self.generation * GENERATION_TRANSACTIONS + self.index
    }

    /// The number of the transaction among all of its client.
    pub(super) fn ordinal(self) -> u64 {
        self.round * GENERATIONS * GENERATION_TRANSACTIONS + self.in_round()
    }

    /// A number that no other transaction has.
    pub(super) fn unique(self) -> u64 {
        self.ordinal() * CLIENTS + self.client
    }
}

struct Planner {
    random: SeededRandom,
    place: Place,
    steps: Vec<Step>,
    /// Whether few operations are to follow.
    short: bool,
}

impl Planner {
    fn below(&self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn shape(&mut self, shape: Shape) {
        match shape {
            Shape::Point => {
                let key = self.key();
                self.read(key);
                self.append();
            }
            Shape::Range => {
                let scan = self.range();
                self.steps.push(Step::Scan(scan));
                self.append();
            }
            Shape::Limit => {
                let scan = self.limit();
                self.steps.push(Step::Scan(scan));
                self.append();
            }
            Shape::LimitAfterWrite => self.limit_after_write(),
            Shape::Index => {
                let key = self.key_in(Table::Lists);
                self.steps.push(Step::Index { tag: key.tag() });
                self.append();
            }
            Shape::Join => {
                let from = self.place.generation * GENERATION_ROWS;
                let half = GENERATION_ROWS / 2;
                let to = from + half + half * self.below(2);
                self.steps.push(Step::Join { from, to });
                self.append();
            }
            Shape::ForUpdate => self.for_update(),
            Shape::ForeignKey => self.foreign_key(),
            Shape::DeferredForeignKey => self.deferred_foreign_key(),
            Shape::Savepoint => self.savepoint(),
            Shape::MovedSnapshot => self.moved_snapshot(),
            // What goes on beside the clients is not theirs to ask for.
            Shape::BesideDdl | Shape::BesideSplit => {}
        }
    }

    /// Adds operations of any kind until there are as many as chance wants.
    fn fill(&mut self) {
        let room = match self.short {
            true => SHORT_OPERATIONS_MAX - OPERATIONS_MIN + 1,
            false => OPERATIONS_MAX - OPERATIONS_MIN + 1,
        };
        // Short ones more often: a long one is mostly refused.
        let wanted = OPERATIONS_MIN + self.below(room).min(self.below(room));
        while (self.steps.len() as u64) < wanted {
            match self.below(20) {
                0..=6 => self.append(),
                7..=15 => {
                    let key = self.key();
                    self.read(key);
                }
                16 => {
                    let scan = self.limit();
                    self.steps.push(Step::Scan(scan));
                }
                17 => {
                    let key = self.key_in(Table::Lists);
                    self.steps.push(Step::Index { tag: key.tag() });
                }
                _ => self.delete(),
            }
        }
    }

    fn key(&self) -> Key {
        let table = if self.below(2) == 0 {
            Table::Lists
        } else {
            Table::Notes
        };
        self.key_in(table)
    }

    fn key_in(&self, table: Table) -> Key {
        Key {
            table,
            generation: self.place.generation,
            slot: self.below(SLOTS),
        }
    }

    fn read(&mut self, key: Key) {
        self.steps.push(Step::Read { key, lock: false });
    }

    fn append(&mut self) {
        let key = self.key();
        self.append_to(key);
    }

    fn append_to(&mut self, key: Key) {
        let how = match (key.start(), self.below(8)) {
            (Start::Absent, _) | (Start::Present, 0) => Append::Upsert,
            (Start::Present, 1) => Append::Rewrite,
            (_, 2) => Append::Returning,
            (_, 3) => Append::Update,
            (_, 4 | 5) => Append::Locked,
            _ => Append::Counted,
        };
        self.steps.push(Step::Append { key, how });
    }

    /// Appends to a row that is locked for it, so that the transaction is not refused for that row. It is
    /// short, so that others need not wait long.
    fn append_locked(&mut self, key: Key) {
        self.short = true;
        let how = match self.below(4) {
            0 => Append::Upsert,
            1 => Append::Locked,
            _ => Append::Counted,
        };
        self.steps.push(Step::Append { key, how });
    }

    /// Waits for a row that others wait for too. Its list is as it is by then: the snapshot moves forward
    /// for that. Who speaks of the same parent waits for the same row.
    fn append_to_hot(&mut self, parent: u64) {
        let table = match parent % 2 {
            0 => Table::Lists,
            _ => Table::Notes,
        };
        self.append_locked(Key {
            table,
            generation: self.place.generation,
            slot: HOT_SLOT,
        });
    }

    /// A row is deleted towards the end of its generation only, so that it has a list by then.
    fn delete(&mut self) {
        let late = self.place.index * 4 >= GENERATION_TRANSACTIONS * 3;
        let key = self.key();
        if late && self.below(4) == 0 {
            let slot = SLOTS - 1;
            self.steps.push(Step::Delete(Key { slot, ..key }));
        } else {
            self.read(key);
        }
    }

    /// A range of about a quarter of a generation or more.
    fn range(&self) -> Scan {
        let key = self.key();
        let begin = self.place.generation * GENERATION_ROWS;
        let from = begin + self.below(GENERATION_ROWS / 2);
        let to = from + GENERATION_ROWS / 4 + self.below(GENERATION_ROWS / 2);
        Scan {
            table: key.table,
            from,
            to: to.min(ROWS),
            limit: None,
            descending: false,
            lock: false,
        }
    }

    /// The first or last rows of a whole generation.
    fn limit(&self) -> Scan {
        let begin = self.place.generation * GENERATION_ROWS;
        Scan {
            from: begin,
            to: begin + GENERATION_ROWS,
            limit: Some(2 + self.below(GENERATION_ROWS / 2)),
            descending: self.below(4) == 0,
            ..self.range()
        }
    }

    /// An own row that was there before, then the rows from it on, up to a limit.
    fn limit_after_write(&mut self) {
        let slot = match self.below(4) {
            0 => 0,
            1 => 1,
            2 => 3,
            _ => HOT_SLOT,
        };
        let key = Key { slot, ..self.key() };
        self.append_locked(key);
        let back = self.below(4);
        let scan = Scan {
            table: key.table,
            from: key.row() - back,
            to: (self.place.generation + 1) * GENERATION_ROWS,
            limit: Some(GENERATION_ROWS / 8 + self.below(GENERATION_ROWS / 2)),
            descending: false,
            lock: false,
        };
        self.steps.push(Step::Scan(scan));
        if self.below(2) == 0 {
            self.append();
        }
    }

    fn for_update(&mut self) {
        if self.below(3) == 0 {
            let scan = Scan {
                limit: Some(1 + self.below(GENERATION_ROWS / 8)),
                descending: false,
                lock: true,
                ..self.limit()
            };
            self.steps.push(Step::Scan(scan));
            self.append();
            return;
        }
        let key = self.key();
        self.steps.push(Step::Read { key, lock: true });
        self.append_to(key);
    }

    /// The parent, or player, that all clients speak of by now.
    fn parent(&self) -> u64 {
        let now = self.place.index * PARENTS / GENERATION_TRANSACTIONS;
        let number = now + self.below(2);
        parent(self.place.round, self.place.generation, number)
    }

    fn foreign_key(&mut self) {
        let parent = self.parent();
        match self.below(5) {
            0 => {
                self.steps.push(Step::DeleteParent(parent));
                self.append_to_hot(parent);
            }
            // Who inserts a child and then wants the hot row waits until the parent is gone.
            1 => {
                self.append_to_hot(parent);
                self.steps.push(Step::DeleteParent(parent));
            }
            2 => {
                self.steps.push(Step::InsertChild { parent });
                self.append();
            }
            _ => {
                self.steps.push(Step::InsertChild { parent });
                self.append_to_hot(parent);
            }
        }
    }

    /// A team whose captain is there, or comes, or was taken back, or never comes.
    fn deferred_foreign_key(&mut self) {
        let parent = self.parent();
        let own = OWN_PLAYERS + self.place.unique();
        let team = Step::InsertTeam { captain: own };
        match self.below(5) {
            0 => {
                self.steps.push(Step::InsertTeam { captain: parent });
                self.append_to_hot(parent);
            }
            1 => {
                self.append_to_hot(parent);
                self.steps.push(Step::DeletePlayer(parent));
            }
            2 => {
                // The check fails, and what it failed for is still there.
                self.steps.extend([team, Step::Savepoint]);
                self.steps
                    .extend([Step::ConstraintsImmediate, Step::RollbackTo]);
            }
            3 => {
                // The check passes, and then what it passed for is taken back.
                self.steps.extend([team, Step::Savepoint]);
                self.steps
                    .extend([Step::InsertPlayer(own), Step::ConstraintsImmediate]);
                self.steps.push(Step::RollbackTo);
            }
            _ => {
                self.steps.extend([team, Step::Savepoint]);
                self.steps.extend([Step::InsertPlayer(own), Step::Release]);
                return;
            }
        }
        if self.below(2) == 0 {
            self.steps.push(Step::InsertPlayer(own));
        }
    }

    fn savepoint(&mut self) {
        self.append();
        let key = self.key();
        self.steps.push(Step::Savepoint);
        self.append_to(key);
        self.read(key);
        match self.below(4) {
            0 => self.steps.push(Step::Release),
            _ => self.steps.push(Step::RollbackTo),
        }
        self.read(key);
    }

    /// A write of a new row, a read, then a write of a row that others changed meanwhile.
    fn moved_snapshot(&mut self) {
        let parent = self.parent();
        if self.below(2) == 0 {
            self.steps.push(Step::InsertChild { parent });
        } else {
            let slot = 2;
            let how = Append::Upsert;
            let key = Key { slot, ..self.key() };
            self.steps.push(Step::Append { key, how });
        }
        let key = self.key();
        self.read(key);
        self.append_to_hot(parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> impl Iterator<Item = Place> {
        (0..2_000).map(|number| Place {
            client: number % CLIENTS,
            round: number / 1_000,
            generation: number % GENERATIONS,
            index: number % GENERATION_TRANSACTIONS,
        })
    }

    #[test]
    fn a_seed_decides_what_is_asked() {
        let asked = |seed| -> Vec<String> {
            let plans = places().map(|place| plan(seed, place));
            plans.map(|plan| format!("{plan:?}")).collect()
        };
        assert_eq!(asked(7), asked(7));
        assert_ne!(asked(7), asked(8));
    }

    #[test]
    fn transactions_have_two_to_eight_operations() {
        for place in places() {
            let count = plan(1, place).steps.len() as u64;
            assert!((OPERATIONS_MIN..=OPERATIONS_MAX).contains(&count));
        }
    }
}
