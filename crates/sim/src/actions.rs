//! What transactions and snapshots do.

use db::{Kind, Value};

use crate::actor::{Actor, Hand};
use crate::edits::{Cells, Edit, Patch, Writes, add_patch};
use crate::error::{Checked, Wrong};
use crate::history::{Read, Record};
use crate::model::{Sight, Spot};
use crate::scans::Passed;
use crate::tables::{CHILDREN, NUMBER, PARENTS, SHARES, WIDE, cells_of, children_of};
use crate::tables::{keys_of, values_of};
use crate::world::{ACTORS_MAX, World};

#[derive(Clone, Copy, Debug)]
enum Deed {
    Get,
    OpenScan,
    AdvanceScan,
    DropScan,
    Visit,
    Insert,
    Replace,
    Delete,
    Ensure,
    Raise,
    Lock,
    Savepoint,
    Rollback,
    Commit,
    Abort,
}

const DEEDS: &[(u64, Deed)] = &[
    (16, Deed::Get),
    (6, Deed::OpenScan),
    (12, Deed::AdvanceScan),
    (4, Deed::DropScan),
    (10, Deed::Visit),
    (11, Deed::Insert),
    (16, Deed::Replace),
    (10, Deed::Delete),
    (4, Deed::Ensure),
    (5, Deed::Raise),
    (14, Deed::Lock),
    (3, Deed::Savepoint),
    (3, Deed::Rollback),
    (20, Deed::Commit),
    (2, Deed::Abort),
];

/// Among parents and children much comes and goes.
const FAMILY_DEEDS: &[(u64, Deed)] = &[
    (4, Deed::Get),
    (2, Deed::AdvanceScan),
    (2, Deed::Visit),
    (16, Deed::Insert),
    (6, Deed::Replace),
    (24, Deed::Delete),
    (4, Deed::Ensure),
    (4, Deed::Raise),
    (14, Deed::Lock),
    (2, Deed::Savepoint),
    (2, Deed::Rollback),
    (18, Deed::Commit),
];

/// A reader is kept for long: few of its steps end it.
const READER_DEEDS: &[(u64, Deed)] = &[
    (20, Deed::Get),
    (8, Deed::OpenScan),
    (14, Deed::AdvanceScan),
    (5, Deed::Visit),
    (3, Deed::DropScan),
    (2, Deed::Abort),
];

/// How far from its home a transaction usually goes.
const NEAR: u64 = 4;

/// Where those begin whose home is the table with many keys: few places, so that they meet.
const WIDE_HOMES: &[u64] = &[0, 37, 80];

/// Families whose number is below this are the home of all whose home is a family.
const FAMILY_HOMES: u64 = 2;

impl World {
    /// Begins a transaction or takes a snapshot.
    pub(crate) fn begin(&mut self) -> Checked<()> {
        if self.actors.len() + self.waiting.len() >= ACTORS_MAX {
            return Ok(());
        }
        let by = self.number();
        let (hand, at) = if self.chance.one_in(5) {
            let snapshot = self.db().snapshot();
            let at = snapshot.at().0;
            (Hand::Reader(snapshot), at)
        } else {
            let txn = self.db().begin();
            let at = txn.at().0;
            (Hand::Writer(Box::new(txn)), at)
        };
        self.log.say(format!("T{by} begins at @{at}"));
        if at < self.last_commit {
            let last = self.last_commit;
            return Err(Wrong(format!(
                "a snapshot at @{at} misses the commit at @{last}"
            )));
        }
        let home = self.some_home();
        self.actors.push(Actor::new(by, at, home, hand));
        Ok(())
    }

    pub(crate) fn some_table(&self) -> usize {
        self.chance.weighed(SHARES).unwrap_or(0)
    }

    pub(crate) fn some_home(&self) -> Spot {
        match self.some_table() {
            WIDE => {
                let home = self.chance.pick(WIDE_HOMES).unwrap_or(0);
                (WIDE, home + self.chance.below(3))
            }
            PARENTS | CHILDREN => (PARENTS, self.chance.below(FAMILY_HOMES)),
            table => (table, self.chance.below(keys_of(table))),
        }
    }

    /// One of those that are open does something.
    pub(crate) fn let_act(&mut self) -> Checked<()> {
        let all = self.actors.len() + self.waiting.len();
        let Some(last) = all.checked_sub(1) else {
            return self.begin();
        };
        let index = self.chance.up_to(last);
        if let Some(waiting) = index.checked_sub(self.actors.len()) {
            return self.let_wait(waiting);
        }
        let mut actor = self.actors.swap_remove(index);
        let deeds = match actor.hand {
            Hand::Reader(_) => READER_DEEDS,
            _ if actor.home.0 == PARENTS => FAMILY_DEEDS,
            Hand::Writer(_) | Hand::Waiting => DEEDS,
        };
        let deed = self.chance.weighed(deeds).unwrap_or(Deed::Get);
        let spot = self.some_spot(&actor);
        match deed {
            Deed::Get => self.get(&mut actor, spot)?,
            Deed::OpenScan => self.open_scan(&mut actor)?,
            Deed::AdvanceScan => self.advance_scan(&mut actor)?,
            Deed::DropScan => drop(actor.cursors.pop()),
            Deed::Visit => self.visit(&mut actor)?,
            Deed::Insert => self.insert(&mut actor, spot)?,
            Deed::Replace | Deed::Delete => {
                self.write(&mut actor, spot, matches!(deed, Deed::Replace))?
            }
            Deed::Ensure => self.ensure(&mut actor, spot)?,
            Deed::Raise => self.raise(&mut actor, spot)?,
            Deed::Lock => return self.lock(actor, spot),
            Deed::Savepoint => self.savepoint(&mut actor),
            Deed::Rollback => self.rollback(&mut actor)?,
            Deed::Commit => return self.commit(actor),
            Deed::Abort => {
                self.end(actor);
                return Ok(());
            }
        }
        self.actors.push(actor);
        Ok(())
    }

    /// Most stay near home, so that many commits concern one partition; between parents and their
    /// children it is not far.
    fn some_spot(&self, actor: &Actor) -> Spot {
        if self.chance.one_in(4) {
            let table = self.some_table();
            return (table, self.chance.below(keys_of(table)));
        }
        let (table, home) = actor.home;
        match children_of(actor.home) {
            Some(_) if self.chance.one_in(3) => actor.home,
            Some((first, end)) => (CHILDREN, first + self.chance.below(end - first)),
            None => (table, (home + self.chance.below(NEAR)) % keys_of(table)),
        }
    }

    /// Checks rows that an actor found and remembers that it read them. Places that it wrote itself
    /// are checked against that.
    pub(crate) fn found(
        &mut self,
        actor: &mut Actor,
        mut passed: Passed,
        own: &Writes,
    ) -> Checked<()> {
        for (spot, edit) in own.iter().filter(|(_, edit)| edit.is_whole()) {
            let Some(found) = passed.remove(spot) else {
                continue;
            };
            if found != edit.apply(None) {
                let by = actor.by;
                return Err(Wrong(format!(
                    "T{by} wrote {edit:?} at {spot:?} and found {found:?}"
                )));
            }
        }
        let wrecked: Vec<_> = self.wrecked_spots();
        passed.retain(|spot, _| !wrecked.contains(spot));
        self.observe(Sight {
            rows: &passed,
            at: actor.at,
            own,
        })?;
        for spot in passed.into_keys() {
            let seen = self.model.at(spot, actor.at).map_or(0, |(at, _)| at);
            if self
                .model
                .at(spot, u64::MAX)
                .is_some_and(|(newest, _)| newest > seen)
            {
                self.coverage.add("a read of a replaced version");
                if self.spills_all() {
                    self.coverage
                        .add("a read of a replaced version that spilled");
                }
            }
            if own.contains_key(&spot) {
                self.coverage.add("a read below an own patch");
            }
            actor.reads.push(Read { spot, seen });
        }
        Ok(())
    }

    /// Places whose newest row nobody can know until their engine was looked at.
    pub(crate) fn wrecked_spots(&self) -> Vec<Spot> {
        let commits = self.wrecks.values().flatten();
        commits.flat_map(|one| one.writes.keys().copied()).collect()
    }

    pub(crate) fn get(&mut self, actor: &mut Actor, spot: Spot) -> Checked<()> {
        let (table, key) = spot;
        let by = actor.by;
        match actor.get(&self.table(table)?, key) {
            Ok(row) => {
                let row = row.map(|row| cells_of(&row)).transpose()?;
                let row = row.map(|(_, cells)| cells);
                self.log.say(format!("T{by} gets t{table}/{key}: {row:?}"));
                let own = actor.own.clone();
                self.found(actor, Passed::from([(spot, row)]), &own)
            }
            Err(error) => self.tolerate(&format!("T{by} gets t{table}/{key}"), &error),
        }
    }

    /// A row that is unlike all others.
    pub(crate) fn some_cells(&mut self) -> Cells {
        let value = self.number();
        let text = format!("v{value}{}", "+".repeat(self.chance.up_to(30)));
        Cells { text, number: 0 }
    }

    fn insert(&mut self, actor: &mut Actor, spot: Spot) -> Checked<()> {
        if !self.may_come(actor, spot)? {
            return Ok(());
        }
        let (table, key) = spot;
        let handle = self.table(table)?;
        let cells = self.some_cells();
        let Hand::Writer(txn) = &mut actor.hand else {
            return Ok(());
        };
        let what = format!("T{} inserts {cells:?} at t{table}/{key}", actor.by);
        match txn.insert(&handle, &values_of(key, &cells)) {
            Ok(()) => {
                self.log.say(what);
                let own = actor.own.clone();
                self.found(actor, Passed::from([(spot, None)]), &own)?;
                actor.own.insert(spot, Edit::Put(cells));
                Ok(())
            }
            Err(error) if error.kind() == Kind::Exists => {
                self.log.say(format!("{what}: there is one"));
                match actor.get(&handle, key) {
                    Ok(None) => Err(Wrong(format!("{what}: it exists, and is not there"))),
                    _ => self.get(actor, spot),
                }
            }
            Err(error) => self.tolerate(&what, &error),
        }
    }

    /// Replaces a row or deletes it, whether or not it is there.
    pub(crate) fn write(&mut self, actor: &mut Actor, spot: Spot, replace: bool) -> Checked<()> {
        let may = match replace {
            true => self.may_come(actor, spot)?,
            false => self.may_go(actor, spot)?,
        };
        if !may {
            return Ok(());
        }
        let (table, key) = spot;
        let handle = self.table(table)?;
        let row = replace.then(|| self.some_cells());
        let Hand::Writer(txn) = &mut actor.hand else {
            return Ok(());
        };
        self.log
            .say(format!("T{} writes {row:?} at t{table}/{key}", actor.by));
        let done = match &row {
            Some(cells) => txn.replace(&handle, &values_of(key, cells)),
            None => txn.delete(&handle, &[Value::Uint64(key)]),
        };
        actor.own.insert(spot, Edit::whole(row));
        done.map_err(|error| Wrong(format!("a buffered write failed: {error}")))
    }

    /// Patches a place so that there is a row.
    fn ensure(&mut self, actor: &mut Actor, spot: Spot) -> Checked<()> {
        if !self.may_come(actor, spot)? {
            return Ok(());
        }
        let (table, key) = spot;
        let handle = self.table(table)?;
        let cells = self.some_cells();
        let Hand::Writer(txn) = &mut actor.hand else {
            return Ok(());
        };
        self.log
            .say(format!("T{} ensures {cells:?} at t{table}/{key}", actor.by));
        self.coverage.add("a patch");
        let done = txn.ensure(&handle, &values_of(key, &cells));
        add_patch(&mut actor.own, spot, Patch::Ensure(cells));
        done.map_err(|error| Wrong(format!("a patch failed: {error}")))
    }

    /// Patches the number of a row, if there is one. What the actor wrote itself stays as it is.
    fn raise(&mut self, actor: &mut Actor, spot: Spot) -> Checked<()> {
        let (table, key) = spot;
        let handle = self.table(table)?;
        let number = i64::try_from(self.chance.below(20)).unwrap_or(0);
        let Hand::Writer(txn) = &mut actor.hand else {
            return Ok(());
        };
        self.log
            .say(format!("T{} raises t{table}/{key} to {number}", actor.by));
        self.coverage.add("a patch");
        let done = txn.raise(&handle, &[Value::Uint64(key)], (NUMBER, number));
        if !actor.own.contains_key(&spot) {
            add_patch(&mut actor.own, spot, Patch::Raise(number));
        }
        done.map_err(|error| Wrong(format!("a patch failed: {error}")))
    }

    fn savepoint(&mut self, actor: &mut Actor) {
        if let Hand::Writer(txn) = &mut actor.hand {
            self.log.say(format!("T{} marks a savepoint", actor.by));
            actor.savepoints.push((txn.savepoint(), actor.own.clone()));
        }
    }

    fn rollback(&mut self, actor: &mut Actor) -> Checked<()> {
        let Hand::Writer(txn) = &mut actor.hand else {
            return Ok(());
        };
        let Some(last) = actor.savepoints.len().checked_sub(1) else {
            return Ok(());
        };
        // Later savepoints are gone, this one stays.
        actor.savepoints.truncate(self.chance.up_to(last) + 1);
        if let Some((savepoint, own)) = actor.savepoints.last() {
            self.log
                .say(format!("T{} rolls back to {savepoint:?}", actor.by));
            self.coverage.add("a rollback to a savepoint");
            actor.own = own.clone();
            txn.rollback_to(*savepoint)
                .map_err(|error| Wrong(format!("a rollback failed: {error}")))?;
        }
        Ok(())
    }

    /// A snapshot counts as a transaction that read; a transaction that is dropped does not count.
    pub(crate) fn end(&mut self, actor: Actor) {
        self.log.say(format!("T{} ends without a commit", actor.by));
        if let Hand::Reader(_) = actor.hand {
            self.history.add(Record {
                by: actor.by,
                at: actor.at,
                wrote: false,
                reads: actor.reads,
                present: Vec::new(),
            });
        }
    }
}
