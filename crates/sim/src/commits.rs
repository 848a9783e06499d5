//! Commits: the line they stand in, the groups they are written in, and what became of each.
//!
//! ```text
//!   stand in line      T4  T7  T9                    futures without a leader
//!   then one of these  the simulator drives          group  T4 T7 T9
//!                      T12 commits and leads         group  T4 T7 T9 T12
//!                      the process dies              none of them ever happened
//! ```
//!
//! Outcomes are noted in the order of the line, which is that of the timestamps: first the commits
//! that happened, then what went wrong within the group, then those that were refused or left open.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use db::{Durability, Kind, Transaction};
use storage::{EngineId, Fault};

use crate::actor::{Actor, Hand};
use crate::doom::Blow;
use crate::edits::Writes;
use crate::error::{Checked, Wrong};
use crate::history::{Read, Record, check_reads};
use crate::model::{Commit, Doubt, Number, Spot};
use crate::row_locks::Polled;
use crate::tables::is_related;
use crate::world::World;

/// How many commits stand in line at most.
const LINE_MAX: usize = 6;

/// A transaction that tried to commit.
pub(crate) struct Attempt {
    pub(crate) by: Number,
    pub(crate) reads: Vec<Read>,
    pub(crate) present: Vec<Spot>,
    pub(crate) writes: Writes,
    pub(crate) engines: BTreeSet<EngineId>,
    pub(crate) durability: Durability,
}

impl Attempt {
    fn record(&self, at: u64) -> Record {
        Record {
            by: self.by,
            at,
            wrote: !self.writes.is_empty(),
            reads: self.reads.clone(),
            // Who writes nothing has nothing that could refer to them.
            present: match self.writes.is_empty() {
                true => Vec::new(),
                false => self.present.clone(),
            },
        }
    }
}

type Outcome = db::Result<db::Committed>;

/// A commit that stands in line.
pub(crate) struct Standing {
    attempt: Attempt,
    locks: BTreeSet<Spot>,
    outcome: Polled<Outcome>,
}

/// The commits that stand in line.
pub(crate) type Line = VecDeque<Standing>;

impl World {
    /// Puts a transaction in line, or commits it at once and all in line with it.
    pub(crate) fn commit(&mut self, actor: Actor) -> Checked<()> {
        let Hand::Writer(txn) = actor.hand else {
            return Ok(());
        };
        drop(actor.cursors);
        let related = actor.own.keys().any(is_related);
        let durability = match related || self.chance.one_in(4) {
            true => Durability::Synced,
            false => Durability::Buffered,
        };
        let attempt = Attempt {
            by: actor.by,
            reads: actor.reads,
            present: actor.present,
            engines: self.engines_of(actor.own.keys())?,
            writes: actor.own,
            durability,
        };
        if self.line.len() < LINE_MAX && !self.chance.one_in(5) {
            return self.stand_in_line(attempt, txn, actor.locks);
        }
        self.look_up_engines()?;
        self.arm();
        let outcome = txn.commit_with(durability);
        self.doom.arm(false);
        let led = outcome.is_ok() && !attempt.writes.is_empty();
        let mut group = self.take_line()?;
        if led && !self.line.is_empty() {
            return Err(Wrong(format!("T{} left others in line", attempt.by)));
        }
        group.push((attempt, outcome));
        self.conclude(group)
    }

    fn stand_in_line(
        &mut self,
        attempt: Attempt,
        txn: Box<Transaction>,
        locks: BTreeSet<Spot>,
    ) -> Checked<()> {
        let mut outcome = Polled::new(txn.commit_later_with(attempt.durability));
        match outcome.poll()? {
            Some(outcome) => self.conclude(vec![(attempt, outcome)]),
            None => {
                self.log.say(format!("T{} stands in line", attempt.by));
                self.line.push_back(Standing {
                    attempt,
                    locks,
                    outcome,
                });
                Ok(())
            }
        }
    }

    /// Who in line has which rows locked.
    pub(crate) fn locks_in_line(&self) -> impl Iterator<Item = (Number, Vec<Spot>)> {
        let line = self.line.iter();
        line.map(|one| (one.attempt.by, one.locks.iter().copied().collect()))
    }

    /// Writes those who stand in line as one group, which may meet a fault.
    pub(crate) fn drive(&mut self) -> Checked<()> {
        if self.line.is_empty() {
            return Ok(());
        }
        self.look_up_engines()?;
        self.disturb_group();
        self.arm();
        self.db().drive_commits(Duration::ZERO);
        self.doom.arm(false);
        let group = self.take_line()?;
        if !self.line.is_empty() {
            return Err(Wrong("not all that stood in line were driven".to_owned()));
        }
        self.conclude(group)
    }

    /// Lets coordinators die and engines crash in what follows, now and then.
    pub(crate) fn arm(&mut self) {
        self.doom.arm(!self.peaceful && self.chance.one_in(3));
    }

    /// One of the writes of a group meets a fault, now and then.
    fn disturb_group(&mut self) {
        if self.peaceful || !self.chance.one_in(24) {
            return;
        }
        let nth = 1 + self.chance.below(2);
        let fault = match self.chance.one_in(2) {
            true => Fault::RefuseWrite { nth },
            false => Fault::BreakWrite { nth },
        };
        let engines: BTreeSet<_> = self
            .line
            .iter()
            .flat_map(|one| &one.attempt.engines)
            .collect();
        let engines: Vec<EngineId> = engines.into_iter().copied().collect();
        if let Some(engine) = self.chance.pick(&engines) {
            self.log.say(format!("{engine} will meet {fault:?}"));
            self.ground.tanks.inject(engine, fault);
            self.faulted = true;
        }
    }

    /// Partitions may have moved since they came: where their rows lie is looked up again.
    pub(crate) fn look_up_engines(&mut self) -> Checked<()> {
        let mut line = std::mem::take(&mut self.line);
        for Standing { attempt, .. } in &mut line {
            attempt.engines = self.engines_of(attempt.writes.keys())?;
        }
        self.line = line;
        Ok(())
    }

    /// Takes the outcomes of those in line who have one.
    pub(crate) fn take_line(&mut self) -> Checked<Vec<(Attempt, Outcome)>> {
        let mut group = Vec::new();
        for mut standing in std::mem::take(&mut self.line) {
            match standing.outcome.poll()? {
                Some(outcome) => group.push((standing.attempt, outcome)),
                None => self.line.push_back(standing),
            }
        }
        Ok(group)
    }

    /// The process has died: nothing can be written any more, and no client hears of those in line. They
    /// are led all the same, so that the dead database lets go of itself.
    pub(crate) fn abandon_line(&mut self) {
        if self.line.is_empty() {
            return;
        }
        self.log
            .say(format!("  {} commits stood in line", self.line.len()));
        self.coverage.add("a crash with commits in line");
        self.db().drive_commits(Duration::ZERO);
        self.line.clear();
    }

    /// Notes what became of a group of commits.
    pub(crate) fn conclude(&mut self, group: Vec<(Attempt, Outcome)>) -> Checked<()> {
        let (size, before) = (group.len(), self.last_commit);
        let mut rest = Vec::new();
        let mut committed = 0;
        for (attempt, outcome) in group {
            match outcome {
                Ok(done) => {
                    committed += usize::from(!attempt.writes.is_empty());
                    self.committed(attempt, done.at.0)?;
                }
                Err(error) => rest.push((attempt, error)),
            }
        }
        if committed > 1 {
            self.coverage.add("a group of several commits");
        }
        self.take_blows()?;
        for (attempt, error) in rest {
            match error.unknown_commit() {
                Some(when) => self.leave_open(attempt, when.0, &error, size),
                None => {
                    self.note_refusal(&attempt, before);
                    self.refused(attempt.by, &error)?;
                }
            }
        }
        Ok(())
    }

    fn leave_open(&mut self, attempt: Attempt, at: u64, error: &db::Error, size: usize) {
        let by = attempt.by;
        self.log.say(format!(
            "T{by} committed at @{at} on {:?}, or not: {error}",
            attempt.engines
        ));
        self.coverage.add("a commit whose outcome was open");
        if size > 1 {
            self.coverage.add("a group with an outcome that was open");
        }
        self.doubtful.insert(by, attempt.record(at));
        let Attempt {
            writes, engines, ..
        } = attempt;
        let commit = Commit { by, at, writes };
        self.model.doubts.push(Doubt { commit, engines });
    }

    /// Notes what stood in the way of a commit.
    fn note_refusal(&mut self, attempt: &Attempt, before: u64) {
        let gone = |spot: &Spot| self.model.row(*spot, u64::MAX).is_none();
        if attempt.present.iter().any(gone) {
            self.coverage
                .add("a commit refused for a row that was gone");
        }
        let could_before = check_reads(&attempt.record(before + 1), &self.model).is_ok();
        let cannot_now = check_reads(&attempt.record(self.last_commit + 1), &self.model).is_err();
        if could_before && cannot_now {
            self.coverage
                .add("a commit refused for another of its group");
        }
    }

    fn refused(&mut self, by: Number, error: &db::Error) -> Checked<()> {
        if error.kind() == Kind::Conflict {
            self.log.say(format!("T{by} commits: {error}"));
            self.coverage.add("a commit that was refused");
            return Ok(());
        }
        self.coverage.add("a commit that could not be tried");
        self.tolerate(&format!("T{by} commits"), error)
    }

    fn committed(&mut self, attempt: Attempt, at: u64) -> Checked<()> {
        let Attempt { by, durability, .. } = attempt;
        self.log.say(format!(
            "T{by} committed at @{at}, {durability:?}, on {:?}",
            attempt.engines
        ));
        self.coverage.add("a commit");
        let record = attempt.record(at);
        if attempt.writes.is_empty() {
            self.history.add(record);
            return Ok(());
        }
        if at <= self.last_commit {
            let last = self.last_commit;
            return Err(Wrong(format!(
                "a commit at @{at} came after one at @{last}"
            )));
        }
        self.last_commit = at;
        let writes = attempt.writes;
        let commit = Commit { by, at, writes };
        self.note_durability(&commit, durability)?;
        self.model.apply(&commit);
        check_reads(&record, &self.model)?;
        self.history.add(record);
        Ok(())
    }

    /// Notes what a crash could take of a commit.
    fn note_durability(&mut self, commit: &Commit, durability: Durability) -> Checked<()> {
        let engines = self.engines_of(commit.writes.keys())?;
        if engines.len() > 1 {
            self.coverage.add("a commit across engines");
        }
        // A commit across engines is synced on each of them, whatever was asked for.
        let synced = durability == Durability::Synced || engines.len() > 1;
        for engine in engines {
            let list = self.unsynced.entry(engine).or_default();
            match synced {
                true => list.clear(),
                false => list.push(commit.clone()),
            }
        }
        match synced {
            true => self.ground.mark_synced(),
            false => Ok(()),
        }
    }

    /// Notes what went wrong between the steps of a commit.
    pub(crate) fn take_blows(&mut self) -> Checked<()> {
        for blow in self.doom.take_blows() {
            self.log.say(format!("  meanwhile: {blow:?}"));
            match blow {
                Blow::Died(step) => {
                    // What it left is settled by the next reader of its rows.
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
