//! Crashes of the whole database: the process dies or the power fails, and it is opened again.

use std::collections::BTreeMap;

use db::Kind;
use storage::EngineId;

use crate::edits::{Row, Writes};
use crate::error::{Checked, Wrong};
use crate::foreign::check_references;
use crate::model::{Commit, Group, Sight, Spot};
use crate::tables::all_spots;
use crate::world::World;

/// How often a database that met a fault while opening is opened again.
const OPENS_MAX: usize = 4;

impl World {
    /// The process dies, or the power fails, and the database is opened again.
    pub(crate) fn restart(&mut self) -> Checked<()> {
        self.end_actors();
        self.waiting.clear();
        let counters = self.ground.tanks.counters();
        if counters.flushes > 0 {
            self.coverage.add("a life with memtables that were flushed");
        }
        if counters.compactions > 0 {
            self.coverage.add("a life with tables that were compacted");
        }
        if self.chance.one_in(4) {
            self.set_clock();
        }
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
        self.abandon_line();
        self.close();
        self.come_back()?;
        self.faulted = false;
        self.resolve_life(power)
    }

    /// Ends everybody who does not wait.
    pub(crate) fn end_actors(&mut self) {
        while let Some(actor) = self.actors.pop() {
            self.end(actor);
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
        let sight = Sight {
            rows: &rows,
            at: u64::MAX,
            own: &Writes::new(),
        };
        let explanations = self.model.explain(sight, &groups);
        let Some(explanation) = explanations.into_iter().next() else {
            let differences = self.model.differences(sight);
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
        check_references(&rows)?;
        Ok(rows)
    }
}
