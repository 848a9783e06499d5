//! Loads: many new rows at once, which is one transaction that reads their places as empty.

use std::collections::BTreeSet;

use db::{Durability, Kind};
use storage::{EngineId, Fault};

use crate::actor::{Actor, Hand};
use crate::commits::Attempt;
use crate::edits::{Edit, Writes};
use crate::error::{Checked, Wrong};
use crate::scans::Passed;
use crate::tables::{CHILDREN, keys_of, values_of};
use crate::world::{INGEST_ROWS_MIN, World};

/// How many places more than four are drawn for the rows of a load; most have a row already.
const DRAWN_MAX: u64 = 9;

/// How far from each other they usually lie.
const NEAR: u64 = 8;

impl World {
    /// Loads rows into one table, most often where there are none.
    pub(crate) fn load(&mut self) -> Checked<()> {
        let by = self.number();
        // Children come one by one, each with a look at its parent.
        let table = self.chance.up_to(CHILDREN - 1);
        let snapshot = self.db().snapshot();
        let (at, home) = (snapshot.at().0, self.chance.below(keys_of(table)));
        let rows = self.some_rows(table, home);
        if rows.is_empty() {
            return Ok(());
        }
        let handle = self.table(table)?;
        let engines = self.engines_of(rows.keys())?;
        self.disturb(&engines);
        let values: Vec<_> = rows
            .iter()
            .filter_map(|((_, key), edit)| Some(values_of(*key, &edit.apply(None)?)))
            .rev()
            .collect();
        self.look_up_engines()?;
        self.arm();
        let outcome = self.db().load(&handle, values);
        self.doom.arm(false);
        // A load that is an ordinary transaction leads those who stand in line.
        let line = self.take_line()?;
        let what = format!("T{by} loads {rows:?}");
        if let Err(error) = &outcome
            && error.kind() == Kind::Exists
        {
            self.log.say(format!("{what}: {error}"));
            self.coverage.add("a load that met a row");
            self.conclude(line)?;
            return self.check_met(&rows, &what);
        }
        self.log.say(what);
        let mut actor = Actor::new(by, at, (table, home), Hand::Reader(snapshot));
        let done = match &outcome {
            Ok(_) => true,
            Err(error) => error.unknown_commit().is_some(),
        };
        if done {
            let ingested = rows.len() >= INGEST_ROWS_MIN && engines.len() == 1;
            self.coverage.add(match (&outcome, ingested) {
                (Ok(_), true) => "a load past the journal",
                (Ok(_), false) => "a load as a transaction",
                (Err(_), true) => "a load past the journal whose outcome was open",
                (Err(_), false) => "a load as a transaction whose outcome was open",
            });
            if ingested {
                // The journal is synced before the rows appear, whatever the answer is then.
                self.ground.mark_synced()?;
            }
            let nothing: Passed = rows.keys().map(|spot| (*spot, None)).collect();
            self.found(&mut actor, nothing, &Writes::new())?;
        }
        let attempt = Attempt {
            by,
            reads: actor.reads,
            present: Vec::new(),
            writes: rows,
            engines,
            durability: Durability::Synced,
        };
        let mut group = line;
        group.push((attempt, outcome));
        self.conclude(group)
    }

    /// One of the three writes of a load meets a fault, now and then.
    fn disturb(&mut self, engines: &BTreeSet<EngineId>) {
        if self.peaceful || !self.chance.one_in(6) {
            return;
        }
        let nth = self.chance.pick(&[1, 2, 2, 3]).unwrap_or(1);
        let fault = if self.chance.one_in(2) {
            Fault::RefuseWrite { nth }
        } else {
            Fault::BreakWrite { nth }
        };
        if let Some(engine) = engines.first() {
            self.log.say(format!("{engine} will meet {fault:?}"));
            self.ground.tanks.inject(*engine, fault);
            self.faulted = true;
        }
    }

    fn some_rows(&mut self, table: usize, home: u64) -> Writes {
        let careless = self.chance.one_in(6);
        let keys = keys_of(table);
        let reach = if self.chance.one_in(3) { keys } else { NEAR };
        let mut rows = Writes::new();
        for _ in 0..4 + self.chance.below(DRAWN_MAX) {
            let spot = (table, (home + self.chance.below(reach)) % keys);
            if careless || self.model.row(spot, u64::MAX).is_none() {
                let cells = self.some_cells();
                rows.insert(spot, Edit::Put(cells));
            }
        }
        rows
    }

    /// A load that met a row was right to.
    fn check_met(&mut self, rows: &Writes, what: &str) -> Checked<()> {
        let open = self
            .model
            .doubts
            .iter()
            .flat_map(|one| one.commit.writes.keys());
        let mut unsure = self.wrecked_spots();
        unsure.extend(open);
        let met = rows
            .keys()
            .any(|spot| unsure.contains(spot) || self.model.row(*spot, u64::MAX).is_some());
        match met {
            true => Ok(()),
            false => Err(Wrong(format!("{what}: it met a row, and none is there"))),
        }
    }
}
