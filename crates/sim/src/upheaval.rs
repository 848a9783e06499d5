//! What happens to the database: splits, merges, faults, crashes, and coming back.

use std::collections::{BTreeMap, BTreeSet};

use db::{Kind, Value};
use storage::{EngineId, Fault};

use crate::Setting;
use crate::error::{Checked, Wrong};
use crate::model::{Commit, Group, Row, Spot};
use crate::world::{KEYS, TABLES, World, all_spots};

#[derive(Clone, Copy, Debug)]
enum Event {
    Act,
    Begin,
    Load,
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

/// How often a database that met a fault while opening is opened again.
const OPENS_MAX: usize = 4;

impl World {
    pub(crate) fn act(&mut self) -> Checked<()> {
        match self.chance.weighed(EVENTS).unwrap_or(Event::Act) {
            Event::Act => self.let_act(),
            Event::Begin => self.begin(),
            Event::Load => self.load(),
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
        let key = self.chance.below(KEYS);
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

    fn some_fault(&self) -> Fault {
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
        let explanations = self.model.explain(&observed, at, &groups);
        let Some(first) = explanations.first() else {
            let differences = self.model.differences(&observed, at);
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
            .filter_map(|spot| observed.get(spot).map(|row| (*spot, row.clone())))
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

    /// The process dies, or the power fails, and the database is opened again.
    pub(crate) fn restart(&mut self) -> Checked<()> {
        self.end_all();
        let power = !self.peaceful && self.chance.one_in(2);
        let lost = if power {
            self.ground.power_off(&self.chance)?
        } else {
            self.ground.kill()?;
            false
        };
        self.log.say(if power {
            "the power fails"
        } else {
            "the process is killed"
        });
        self.coverage
            .add(if power { "a power failure" } else { "a kill" });
        if lost {
            self.coverage.add("a power failure that lost a tail");
        }
        self.close();
        self.come_back()?;
        self.faulted = false;
        self.resolve_life(power)
    }

    pub(crate) fn end_all(&mut self) {
        while let Some(actor) = self.actors.pop() {
            self.end_reader(actor);
        }
    }

    fn come_back(&mut self) -> Checked<()> {
        self.ground.tanks.clear_faults();
        for attempt in 0..OPENS_MAX {
            if attempt + 1 < OPENS_MAX && !self.peaceful && self.chance.one_in(4) {
                let fault = self.some_fault();
                self.log
                    .say(format!("the database will meet {fault:?} as it opens"));
                self.ground.tanks.inject_on_open(fault);
            }
            match self.open() {
                Ok(db) => {
                    self.ground.tanks.clear_faults();
                    self.set_db(db)?;
                    if self.ground.tanks.poisoned().is_empty()
                        && self.db().engines_down().is_empty()
                    {
                        self.ground.settle_in();
                        return self.ground.mark_synced();
                    }
                    self.close();
                }
                Err(error) if error.kind() == Kind::Unavailable && attempt + 1 < OPENS_MAX => {
                    self.log.say(format!("  opening: {error}"));
                    self.coverage.add("an open that met a fault");
                }
                Err(error) => return Err(Wrong(format!("the database does not open: {error}"))),
            }
            self.ground.tanks.clear_faults();
            self.ground.tanks.release();
        }
        Err(Wrong("the database opens and is not well".to_owned()))
    }

    /// Finds out what the crash left, checks the life that ended, and begins the next one.
    fn resolve_life(&mut self, power: bool) -> Checked<()> {
        let mut lists = std::mem::take(&mut self.wrecks);
        let wrecked: BTreeMap<EngineId, usize> = lists
            .iter()
            .map(|(engine, list)| (*engine, list.len()))
            .collect();
        for (engine, list) in std::mem::take(&mut self.unsynced) {
            lists.entry(engine).or_default().extend(list);
        }
        let group = |(engine, commits): (EngineId, Vec<Commit>)| {
            let safe = !power && !wrecked.contains_key(&engine);
            let kept_min = if safe { commits.len() } else { 0 };
            Group {
                engine,
                commits,
                kept_min,
            }
        };
        let groups: Vec<Group> = lists.into_iter().map(group).collect();
        let rows = self.read_all()?;
        let explanations = self.model.explain(&rows, u64::MAX, &groups);
        let Some(explanation) = explanations.into_iter().next() else {
            let differences = self.model.differences(&rows, u64::MAX);
            return Err(Wrong(format!(
                "the database came back with what it must not:{differences}\n  might be lost: {groups:?}"
            )));
        };
        for (by, happened) in &explanation.happened {
            self.settle(*by, *happened);
        }
        for (group, kept) in groups.iter().zip(&explanation.kept) {
            let lost = group.commits.len() - kept;
            if lost > 0 {
                self.log
                    .say(format!("  {} lost {lost} commits", group.engine));
                self.coverage.add("a crash that lost buffered commits");
            }
        }
        self.history.check(&self.model)?;
        self.begin_life(rows);
        self.check_partitions()
    }

    /// Every row there is.
    fn read_all(&mut self) -> Checked<BTreeMap<Spot, Row>> {
        let snapshot = self.db().snapshot();
        let mut rows = BTreeMap::new();
        for spot in all_spots() {
            let row = self.read(&snapshot, spot);
            let row = row.map_err(|error| Wrong(format!("a calm read failed: {error}")))??;
            rows.insert(spot, row);
        }
        let scanned = self.scan_all(&snapshot)?;
        if rows != scanned {
            return Err(Wrong(format!(
                "gets found {rows:?}, scans found {scanned:?}"
            )));
        }
        Ok(rows)
    }
}
