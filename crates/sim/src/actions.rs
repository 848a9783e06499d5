//! What transactions and snapshots do.

use std::collections::{BTreeMap, BTreeSet};

use db::{Direction, Durability, Kind, Value};
use storage::EngineId;

use crate::actor::{Actor, Cursor, Hand, Passed, text_of, values_of};
use crate::doom::Blow;
use crate::error::{Checked, Wrong};
use crate::history::{Read, Record, check_reads};
use crate::model::{Commit, Doubt, Number, Row, Spot, Writes};
use crate::world::{ACTORS_MAX, KEYS, TABLES, World};

#[derive(Clone, Copy, Debug)]
enum Deed {
    Get,
    OpenScan,
    AdvanceScan,
    DropScan,
    Insert,
    Replace,
    Delete,
    Savepoint,
    Rollback,
    Commit,
    Abort,
}

const DEEDS: &[(u64, Deed)] = &[
    (20, Deed::Get),
    (9, Deed::OpenScan),
    (14, Deed::AdvanceScan),
    (3, Deed::DropScan),
    (9, Deed::Insert),
    (16, Deed::Replace),
    (9, Deed::Delete),
    (3, Deed::Savepoint),
    (3, Deed::Rollback),
    (16, Deed::Commit),
    (2, Deed::Abort),
];

/// A reader is kept for long: few of its steps end it.
const READER_DEEDS: &[(u64, Deed)] = &[
    (20, Deed::Get),
    (8, Deed::OpenScan),
    (14, Deed::AdvanceScan),
    (3, Deed::DropScan),
    (2, Deed::Abort),
];

/// A transaction that tried to commit.
pub(crate) struct Attempt {
    pub(crate) by: Number,
    /// Its snapshot.
    pub(crate) at: u64,
    pub(crate) reads: Vec<Read>,
    pub(crate) writes: Writes,
    pub(crate) engines: BTreeSet<EngineId>,
    pub(crate) durability: Durability,
}

/// How far from its home a transaction usually goes.
const NEAR: u64 = 4;

impl World {
    /// Begins a transaction or takes a snapshot.
    pub(crate) fn begin(&mut self) -> Checked<()> {
        if self.actors.len() >= ACTORS_MAX {
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
        let home = (self.chance.up_to(TABLES - 1), self.chance.below(KEYS));
        self.actors.push(Actor {
            by,
            at,
            home,
            hand,
            own: BTreeMap::new(),
            savepoints: Vec::new(),
            reads: Vec::new(),
            cursors: Vec::new(),
        });
        Ok(())
    }

    /// One of those that are open does something.
    pub(crate) fn let_act(&mut self) -> Checked<()> {
        let Some(last) = self.actors.len().checked_sub(1) else {
            return self.begin();
        };
        let mut actor = self.actors.swap_remove(self.chance.up_to(last));
        let deeds = match actor.hand {
            Hand::Writer(_) => DEEDS,
            Hand::Reader(_) => READER_DEEDS,
        };
        let deed = self.chance.weighed(deeds).unwrap_or(Deed::Get);
        let spot = self.some_spot(&actor);
        match deed {
            Deed::Get => self.get(&mut actor, spot)?,
            Deed::OpenScan => self.open_scan(&mut actor)?,
            Deed::AdvanceScan => self.advance_scan(&mut actor)?,
            Deed::DropScan => drop(actor.cursors.pop()),
            Deed::Insert => self.insert(&mut actor, spot)?,
            Deed::Replace | Deed::Delete => {
                self.write(&mut actor, spot, matches!(deed, Deed::Replace))?
            }
            Deed::Savepoint => self.savepoint(&mut actor),
            Deed::Rollback => self.rollback(&mut actor)?,
            Deed::Commit => return self.commit(actor),
            Deed::Abort => {
                self.end_reader(actor);
                return Ok(());
            }
        }
        self.actors.push(actor);
        Ok(())
    }

    /// Most stay near home, so that many commits concern one partition.
    fn some_spot(&self, actor: &Actor) -> Spot {
        if self.chance.one_in(4) {
            let table = self.chance.up_to(TABLES - 1);
            return (table, self.chance.below(KEYS));
        }
        let (table, home) = actor.home;
        (table, (home + self.chance.below(NEAR)) % KEYS)
    }

    /// Checks rows that an actor found and remembers that it read them. Places that it wrote itself
    /// are checked against that.
    pub(crate) fn found(
        &mut self,
        actor: &mut Actor,
        mut passed: Passed,
        own: &BTreeMap<Spot, Row>,
    ) -> Checked<()> {
        for (spot, row) in own {
            if let Some(found) = passed.remove(spot)
                && found != *row
            {
                let by = actor.by;
                return Err(Wrong(format!(
                    "T{by} wrote {row:?} at {spot:?} and found {found:?}"
                )));
            }
        }
        let wrecked: Vec<_> = self.wrecked_spots();
        passed.retain(|spot, _| !wrecked.contains(spot));
        self.observe(&passed, actor.at)?;
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
            actor.reads.push(Read { spot, seen });
        }
        Ok(())
    }

    /// Places whose newest row nobody can know until their engine was looked at.
    pub(crate) fn wrecked_spots(&self) -> Vec<Spot> {
        let commits = self.wrecks.values().flatten();
        commits.flat_map(|one| one.writes.keys().copied()).collect()
    }

    fn get(&mut self, actor: &mut Actor, spot: Spot) -> Checked<()> {
        let (table, key) = spot;
        let by = actor.by;
        match actor.get(&self.table(table)?, key) {
            Ok(row) => {
                let row = row.map(|row| text_of(&row)).transpose()?;
                let row = row.map(|(_, text)| text);
                self.log.say(format!("T{by} gets t{table}/{key}: {row:?}"));
                let own = actor.own.clone();
                self.found(actor, Passed::from([(spot, row)]), &own)
            }
            Err(error) => self.tolerate(&format!("T{by} gets t{table}/{key}"), &error),
        }
    }

    fn open_scan(&mut self, actor: &mut Actor) -> Checked<()> {
        let table = self.chance.up_to(TABLES - 1);
        let ends = [self.chance.below(KEYS + 1), self.chance.below(KEYS + 1)];
        let keys = if self.chance.one_in(4) {
            (0, KEYS)
        } else {
            (
                ends.into_iter().min().unwrap_or(0),
                ends.into_iter().max().unwrap_or(KEYS),
            )
        };
        let direction = if self.chance.one_in(2) {
            Direction::Ascending
        } else {
            Direction::Descending
        };
        let what = format!(
            "T{} scans t{table}/{}..{} {direction:?}",
            actor.by, keys.0, keys.1
        );
        match actor.scan(&self.table(table)?, keys, direction) {
            Ok(rows) => {
                self.log.say(what);
                let own = actor.own.clone();
                actor.cursors.push(Cursor {
                    rows,
                    table,
                    rest: keys,
                    direction,
                    own,
                });
                Ok(())
            }
            Err(error) => self.tolerate(&what, &error),
        }
    }

    fn advance_scan(&mut self, actor: &mut Actor) -> Checked<()> {
        let Some(mut cursor) = actor.cursors.pop() else {
            return Ok(());
        };
        let all = self.chance.one_in(2);
        let mut steps = if all {
            usize::MAX
        } else {
            1 + self.chance.up_to(4)
        };
        let by = actor.by;
        while steps > 0 {
            steps -= 1;
            match cursor.advance() {
                Ok(passed) => {
                    let (passed, ended) = passed?;
                    let rows: Vec<_> = passed.iter().filter(|(_, row)| row.is_some()).collect();
                    self.log
                        .say(format!("T{by} scans on: {rows:?}, end {ended}"));
                    self.found(actor, passed, &cursor.own)?;
                    if ended {
                        return Ok(());
                    }
                }
                // A scan that began before an engine was reopened goes down with its old life.
                Err(error) if self.shaken && error.kind() == Kind::Unavailable => {
                    self.log.say(format!("T{by} scans on: {error}"));
                    return Ok(());
                }
                Err(error) => return self.tolerate(&format!("T{by} scans on"), &error),
            }
        }
        self.coverage.add("a scan that paused or stopped early");
        actor.cursors.push(cursor);
        Ok(())
    }

    pub(crate) fn text(&mut self) -> String {
        let value = self.number();
        format!("v{value}{}", "+".repeat(self.chance.up_to(30)))
    }

    fn insert(&mut self, actor: &mut Actor, spot: Spot) -> Checked<()> {
        let (table, key) = spot;
        let handle = self.table(table)?;
        let text = self.text();
        let Hand::Writer(txn) = &mut actor.hand else {
            return Ok(());
        };
        let what = format!("T{} inserts {text} at t{table}/{key}", actor.by);
        match txn.insert(&handle, &values_of(key, &text)) {
            Ok(()) => {
                self.log.say(what);
                let own = actor.own.clone();
                self.found(actor, Passed::from([(spot, None)]), &own)?;
                actor.own.insert(spot, Some(text));
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

    fn write(&mut self, actor: &mut Actor, spot: Spot, replace: bool) -> Checked<()> {
        let (table, key) = spot;
        let handle = self.table(table)?;
        let row = replace.then(|| self.text());
        let Hand::Writer(txn) = &mut actor.hand else {
            return Ok(());
        };
        self.log
            .say(format!("T{} writes {row:?} at t{table}/{key}", actor.by));
        let done = match &row {
            Some(text) => txn.replace(&handle, &values_of(key, text)),
            None => txn.delete(&handle, &[Value::Uint64(key)]),
        };
        actor.own.insert(spot, row);
        done.map_err(|error| Wrong(format!("a buffered write failed: {error}")))
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
    pub(crate) fn end_reader(&mut self, actor: Actor) {
        self.log.say(format!("T{} ends without a commit", actor.by));
        if let Hand::Reader(_) = actor.hand {
            self.history.add(Record {
                by: actor.by,
                at: actor.at,
                wrote: false,
                reads: actor.reads,
            });
        }
    }

    fn commit(&mut self, actor: Actor) -> Checked<()> {
        let Actor {
            by,
            at,
            hand,
            own,
            reads,
            cursors,
            ..
        } = actor;
        let Hand::Writer(txn) = hand else {
            return Ok(());
        };
        drop(cursors);
        let durability = if self.chance.one_in(3) {
            Durability::Synced
        } else {
            Durability::Buffered
        };
        let engines = self.engines_of(own.keys())?;
        self.doom.arm(!self.peaceful && self.chance.one_in(3));
        let outcome = txn.commit_with(durability);
        self.doom.arm(false);
        let attempt = Attempt {
            by,
            at,
            reads,
            writes: own,
            engines,
            durability,
        };
        self.conclude(attempt, outcome)
    }

    /// Notes what became of an attempt to commit.
    pub(crate) fn conclude(
        &mut self,
        attempt: Attempt,
        outcome: db::Result<db::Committed>,
    ) -> Checked<()> {
        let Attempt {
            by,
            at,
            reads,
            writes,
            engines,
            durability,
        } = attempt;
        let ended = match outcome {
            Ok(committed) => {
                let at = committed.at.0;
                self.log.say(format!(
                    "T{by} committed at @{at}, {durability:?}, on {engines:?}"
                ));
                let record = Record {
                    by,
                    at,
                    wrote: !writes.is_empty(),
                    reads,
                };
                self.committed(record, Commit { by, at, writes }, durability)
            }
            Err(error) => match error.unknown_commit() {
                Some(when) => {
                    self.log
                        .say(format!("T{by} commits, {durability:?}: {error}"));
                    self.coverage.add("a commit whose outcome was open");
                    self.doubtful_reads.insert(by, (at, reads));
                    let at = when.0;
                    let commit = Commit { by, at, writes };
                    self.model.doubts.push(Doubt { commit, engines });
                    Ok(())
                }
                None => self.refused(by, &error),
            },
        };
        self.take_blows()?;
        ended
    }

    fn refused(&mut self, by: u64, error: &db::Error) -> Checked<()> {
        // What the commit met may be what a blow just did.
        self.take_blows()?;
        if error.kind() == Kind::Conflict {
            self.log.say(format!("T{by} commits: {error}"));
            self.coverage.add("a commit that was refused");
            return Ok(());
        }
        self.coverage.add("a commit that could not be tried");
        self.tolerate(&format!("T{by} commits"), error)
    }

    fn committed(&mut self, record: Record, commit: Commit, durability: Durability) -> Checked<()> {
        self.coverage.add("a commit");
        let Commit { at, writes, .. } = &commit;
        if writes.is_empty() {
            self.history.add(record);
            return Ok(());
        }
        if *at <= self.last_commit {
            let last = self.last_commit;
            return Err(Wrong(format!(
                "a commit at @{at} came after one at @{last}"
            )));
        }
        self.last_commit = *at;
        let engines = self.engines_of(writes.keys())?;
        if engines.len() > 1 {
            self.coverage.add("a commit across engines");
        }
        // A commit across engines is synced on each of them, whatever was asked for.
        let synced = durability == Durability::Synced || engines.len() > 1;
        for engine in engines {
            let list = self.unsynced.entry(engine).or_default();
            if synced {
                list.clear();
            } else {
                list.push(commit.clone());
            }
        }
        if synced {
            self.ground.mark_synced()?;
        }
        self.model.apply(&commit);
        check_reads(&record, &self.model)?;
        self.history.add(record);
        Ok(())
    }

    /// Notes what went wrong between the steps of a commit.
    pub(crate) fn take_blows(&mut self) -> Checked<()> {
        for blow in self.doom.take_blows() {
            self.log.say(format!("  meanwhile: {blow:?}"));
            match blow {
                Blow::Died(step) => {
                    // What it left is settled when somebody comes across it.
                    self.faulted = true;
                    self.coverage.add(match step {
                        db::Step::Prepared => "a coordinator that died having prepared",
                        db::Step::Decided => "a coordinator that died having decided",
                        db::Step::Applied => "a coordinator that died having applied",
                    });
                }
                Blow::Crashed(engine, _) => {
                    self.coverage.add("an engine that crashed within a commit");
                    self.wreck(engine);
                }
            }
        }
        Ok(())
    }
}
