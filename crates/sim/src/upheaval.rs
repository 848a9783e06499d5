//! What happens to the database: splits, merges, faults, engines that crash and are reopened.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use db::{Kind, Value};
use storage::{EngineId, Fault};

use crate::Setting;
use crate::edits::{Edit, Row, Writes};
use crate::error::{Checked, Wrong};
use crate::model::{Commit, Group, Sight, Spot};
use crate::tables::{TABLES, keys_of};
use crate::world::World;

#[derive(Clone, Copy, Debug)]
enum Event {
    Act,
    Begin,
    Load,
    Drive,
    ReadThrough,
    SetClock,
    Split,
    SplitInHalf,
    Merge,
    Housekeep,
    Count,
    Sync,
    Check,
    Fault,
    CrashEngine,
    ReopenEngine,
    Restart,
}

const EVENTS: &[(u64, Event)] = &[
    (700, Event::Act),
    (90, Event::Begin),
    (40, Event::Load),
    (45, Event::Drive),
    (10, Event::ReadThrough),
    (8, Event::SetClock),
    (18, Event::Split),
    (8, Event::SplitInHalf),
    (16, Event::Merge),
    (30, Event::Housekeep),
    (6, Event::Count),
    (3, Event::Sync),
    (10, Event::Check),
    (12, Event::Fault),
    (8, Event::CrashEngine),
    (12, Event::ReopenEngine),
    (5, Event::Restart),
];

/// How far a clock is set at a time: more than passes by itself in a history.
const CLOCK_US_MAX: u64 = 20_000;

impl World {
    pub(crate) fn act(&mut self) -> Checked<()> {
        match self.chance.weighed(EVENTS).unwrap_or(Event::Act) {
            Event::Act => self.let_act(),
            Event::Begin => self.begin(),
            Event::Load => self.load(),
            Event::Drive => self.drive(),
            Event::ReadThrough => self.read_through(self.some_table()),
            Event::SetClock => {
                self.set_clock();
                Ok(())
            }
            Event::Split => self.split(),
            Event::SplitInHalf => self.split_in_half(),
            Event::Merge => self.merge(),
            Event::Housekeep => self.housekeep(),
            Event::Count => self.count(),
            Event::Sync => self.sync(),
            Event::Check => self.check_partitions(),
            Event::Fault => self.inject(),
            Event::CrashEngine => self.crash_engine(),
            Event::ReopenEngine => self.reopen_some(),
            Event::Restart => self.restart(),
        }
    }

    /// What these engines held was written anew and synced.
    fn copied(&mut self, engines: impl IntoIterator<Item = EngineId>) -> Checked<()> {
        for engine in engines {
            self.unsynced.remove(&engine);
        }
        self.ground.mark_synced()
    }

    fn split(&mut self) -> Checked<()> {
        let table = self.chance.up_to(TABLES - 1);
        let key = self.chance.below(keys_of(table));
        let old = self.engines_of([(table, key)].iter())?;
        let what = format!("split t{table} at {key}");
        match self.db().split(&*self.table(table)?, &[Value::Uint64(key)]) {
            Ok(new) => {
                self.log.say(format!("{what}: {new:?}"));
                self.coverage.add("a split");
                self.copied(old)
            }
            Err(error) if error.kind() == Kind::Invalid => self.refuse_split(table, key, &error),
            Err(error) => self.tolerate(&what, &error),
        }
    }

    /// A split is invalid only where a partition begins already.
    fn refuse_split(&mut self, table: usize, key: u64, error: &db::Error) -> Checked<()> {
        let infos = self.db().describe(&*self.table(table)?);
        let begins = |info: &db::PartitionInfo| info.lower == format!("/{key}");
        if infos.is_ok_and(|infos| infos.iter().any(begins)) {
            return Ok(());
        }
        Err(Wrong(format!(
            "splitting t{table} at {key} is invalid: {error}"
        )))
    }

    fn split_in_half(&mut self) -> Checked<()> {
        let table = self.chance.up_to(TABLES - 1);
        let handle = self.table(table)?;
        let Ok(infos) = self.db().describe(&handle) else {
            return Ok(());
        };
        let Some(index) = infos.len().checked_sub(1) else {
            return Err(Wrong(format!("t{table} has no partitions")));
        };
        let Some(info) = infos.get(self.chance.up_to(index)) else {
            return Ok(());
        };
        let what = format!("split {} of t{table} in half", info.id);
        match self.db().split_in_half(&handle, info.id) {
            Ok(Some(new)) => {
                self.log.say(format!("{what}: {new:?}"));
                self.coverage.add("a split in half");
                self.copied([info.engine])
            }
            Ok(None) => Ok(()),
            Err(error) => self.tolerate(&what, &error),
        }
    }

    fn merge(&mut self) -> Checked<()> {
        let table = self.chance.up_to(TABLES - 1);
        let handle = self.table(table)?;
        let Ok(infos) = self.db().describe(&handle) else {
            return Ok(());
        };
        let Some(last) = infos.len().checked_sub(2) else {
            return Ok(());
        };
        let some = 2 + self.chance.up_to(1);
        let merged: Vec<_> = infos
            .iter()
            .skip(self.chance.up_to(last))
            .take(some)
            .collect();
        let ids: Vec<_> = merged.iter().map(|info| info.id).collect();
        let what = format!("merge {ids:?} of t{table}");
        match self.db().merge(&handle, &ids) {
            Ok(new) => {
                self.log.say(format!("{what}: {new:?}"));
                self.coverage.add("a merge");
                self.copied(merged.iter().map(|info| info.engine))
            }
            Err(error) => self.tolerate(&what, &error),
        }
    }

    pub(crate) fn housekeep(&mut self) -> Checked<()> {
        match self.db().housekeep() {
            Ok(collected) => {
                self.log.say(format!("housekeeping: {collected:?}"));
                if collected.tombstones > 0 {
                    self.coverage.add("a round that collected tombstones");
                }
                if collected.versions > 0 {
                    self.coverage.add("a round that collected spilled versions");
                }
                Ok(())
            }
            Err(error) => self.tolerate("housekeeping", &error),
        }
    }

    fn count(&mut self) -> Checked<()> {
        let table = self.chance.up_to(TABLES - 1);
        self.log.say(format!("count t{table}"));
        match self.db().count_partitions(&*self.table(table)?) {
            Ok(()) => self.check_partitions(),
            Err(error) => self.tolerate("counting", &error),
        }
    }

    fn sync(&mut self) -> Checked<()> {
        self.log.say("sync");
        match self.db().sync() {
            Ok(()) => {
                self.coverage.add("a sync of everything");
                self.unsynced.clear();
                self.ground.mark_synced()
            }
            Err(error) => self.tolerate("the sync", &error),
        }
    }

    pub(crate) fn some_fault(&self) -> Fault {
        let nth = 1 + self.chance.below(4);
        let faults = [
            (4, Fault::RefuseWrite { nth }),
            (4, Fault::BreakWrite { nth }),
            (1, Fault::BreakSync { nth: 1 }),
            (2, Fault::FailRead { nth }),
        ];
        self.chance
            .weighed(&faults)
            .unwrap_or(Fault::RefuseWrite { nth })
    }

    fn inject(&mut self) -> Checked<()> {
        if self.peaceful {
            return Ok(());
        }
        if let Some(engine) = self.chance.pick(&self.ground.tanks.engines()) {
            let fault = self.some_fault();
            self.log.say(format!("{engine} will meet {fault:?}"));
            self.coverage.add("a fault");
            self.ground.tanks.inject(engine, fault);
            self.faulted = true;
        }
        Ok(())
    }

    fn crash_engine(&mut self) -> Checked<()> {
        if self.peaceful || self.ground.setting != Setting::Separate {
            return Ok(());
        }
        let mut engines = self.ground.tanks.engines();
        if self.chance.one_in(2) {
            // Where there is something to lose.
            engines.retain(|id| self.unsynced.get(id).is_some_and(|list| !list.is_empty()));
        }
        engines.retain(|id| *id != EngineId::META);
        if let Some(engine) = self.chance.pick(&engines) {
            let lost = self.ground.tanks.crash(engine, &self.chance);
            self.log
                .say(format!("{engine} crashes and loses {lost} batches"));
            self.coverage.add("an engine that crashed alone");
            self.wreck(engine);
        }
        Ok(())
    }

    /// An engine crashed alone: what was not synced there may be gone.
    pub(crate) fn wreck(&mut self, engine: EngineId) {
        self.shaken = true;
        let lost = self.unsynced.remove(&engine).unwrap_or_default();
        self.wrecks.entry(engine).or_default().extend(lost);
    }

    /// The engines that have to be opened again.
    fn troubled(&self) -> BTreeSet<EngineId> {
        let mut all: BTreeSet<_> = self.wrecks.keys().copied().collect();
        all.extend(self.db().engines_down());
        all.extend(self.ground.tanks.poisoned());
        // An engine that was split or merged away is nobody's trouble.
        let standing = self.standing();
        all.retain(|id| standing.contains(id));
        all
    }

    /// The engines that the maps name.
    fn standing(&self) -> BTreeSet<EngineId> {
        let mut standing = BTreeSet::from([EngineId::META]);
        for table in self.tables.iter() {
            let infos = self.db().describe(table).unwrap_or_default();
            standing.extend(infos.iter().map(|info| info.engine));
        }
        standing
    }

    fn reopen_some(&mut self) -> Checked<()> {
        let troubled: Vec<_> = self.troubled().into_iter().collect();
        match self.chance.pick(&troubled) {
            Some(engine) => self.reopen(engine),
            None => Ok(()),
        }
    }

    fn reopen(&mut self, engine: EngineId) -> Checked<()> {
        if engine == EngineId::META {
            return self.restart();
        }
        let unlucky = !self.peaceful && self.chance.one_in(8);
        if unlucky {
            let fault = self.some_fault();
            self.log
                .say(format!("{engine} will meet {fault:?} as it opens"));
            self.ground.tanks.inject_on_open(fault);
            self.faulted = true;
        }
        self.log.say(format!("reopen {engine}"));
        self.shaken = true;
        match self.db().reopen_engine(engine) {
            Ok(()) => {
                self.coverage.add("an engine that was reopened");
                self.look_at(engine)
            }
            Err(error) => {
                self.tolerate(&format!("reopening {engine}"), &error)?;
                self.coverage.add("an engine that failed to reopen");
                // Whatever can be read meanwhile has to be right all the same.
                self.check_readable()?;
                self.restart()
            }
        }
    }

    /// Finds out what an engine that crashed alone has lost.
    fn look_at(&mut self, engine: EngineId) -> Checked<()> {
        let Some(commits) = self.wrecks.remove(&engine) else {
            // It was reopened without a crash: what it has is durable from here on.
            self.unsynced.remove(&engine);
            return Ok(());
        };
        let snapshot = self.db().snapshot();
        let at = snapshot.at().0;
        let mut observed = BTreeMap::new();
        for commit in &commits {
            for spot in commit.writes.keys() {
                match self.read(&snapshot, *spot) {
                    Ok(row) => observed.insert(*spot, row?),
                    Err(error) => {
                        self.wrecks.insert(engine, commits);
                        self.tolerate("looking at a reopened engine", &error)?;
                        return self.restart();
                    }
                };
            }
        }
        drop(snapshot);
        let group = Group {
            engine,
            commits,
            kept_min: 0,
        };
        let groups = [group];
        let sight = Sight {
            rows: &observed,
            at,
            own: &Writes::new(),
        };
        let explanations = self.model.explain(sight, &groups);
        let Some(first) = explanations.first() else {
            let differences = self.model.differences(sight);
            return Err(Wrong(format!(
                "{engine} came back with what it must not:{differences}"
            )));
        };
        let kept = first.kept.first().copied().unwrap_or(0);
        let [group] = groups;
        let lost: Vec<Commit> = group.commits.into_iter().skip(kept).collect();
        if !lost.is_empty() {
            self.log
                .say(format!("  {engine} lost {} commits", lost.len()));
            self.coverage.add("an engine that lost its tail alone");
            self.restore(&lost, &observed, at);
        }
        Ok(())
    }

    /// What an engine lost is as if somebody had put the older rows back when it was reopened.
    fn restore(&mut self, lost: &[Commit], observed: &BTreeMap<Spot, Row>, at: u64) {
        let spots = lost.iter().flat_map(|one| one.writes.keys());
        let writes = spots
            .filter_map(|spot| {
                let row = observed.get(spot)?;
                Some((*spot, Edit::whole(row.clone())))
            })
            .collect();
        let by = self.number();
        self.model.apply(&Commit { by, at, writes });
    }

    /// Ends what goes wrong: waiting faults, engines that are down, outcomes that are open.
    pub(crate) fn calm_down(&mut self) -> Checked<()> {
        self.log.say("calm");
        self.ground.tanks.clear_faults();
        let in_doubt = self
            .tables
            .iter()
            .any(|table| self.db().describe(table).is_err());
        if in_doubt || self.troubled().contains(&EngineId::META) {
            return self.restart();
        }
        for engine in self.troubled() {
            self.reopen(engine)?;
        }
        self.ground.tanks.clear_faults();
        if !self.troubled().is_empty() {
            return self.restart();
        }
        self.faulted = false;
        self.wrecks.clear();
        self.check_readable()?;
        self.drop_idle_doubts();
        self.check_partitions()
    }

    /// A doubt that full knowledge of the rows does not decide changed nothing.
    fn drop_idle_doubts(&mut self) {
        let left: Vec<_> = self.model.doubts.iter().map(|one| one.commit.by).collect();
        for by in left {
            self.settle(by, false);
        }
    }

    /// An administrator sets the clock, more often back than forward.
    pub(crate) fn set_clock(&mut self) {
        let by = Duration::from_micros(self.chance.below(CLOCK_US_MAX));
        if self.chance.one_in(3) {
            self.log.say(format!("the clock jumps forward by {by:?}"));
            self.clock.advance(by);
        } else {
            self.log.say(format!("the clock goes back by {by:?}"));
            self.coverage.add("a clock that went back");
            self.clock.set_back(by);
        }
    }
}
