//! Loads: many new rows at once, which is one transaction that reads their places as empty.

use std::collections::{BTreeMap, BTreeSet};

use db::{Durability, Kind};
use storage::{EngineId, Fault};

use crate::actions::Attempt;
use crate::actor::{Actor, Hand, Passed, values_of};
use crate::error::{Checked, Wrong};
use crate::model::Writes;
use crate::world::{INGEST_ROWS_MIN, KEYS, TABLES, World};

/// How many rows more than two a load may have.
const ROWS_MAX: u64 = 6;

impl World {
    /// Loads rows into one table, most often where there are none.
    pub(crate) fn load(&mut self) -> Checked<()> {
        let by = self.number();
        let table = self.chance.up_to(TABLES - 1);
        let snapshot = self.db().snapshot();
        let (at, home) = (snapshot.at().0, self.chance.below(KEYS));
        let rows = self.some_rows(table, home);
        if rows.is_empty() {
            return Ok(());
        }
        let handle = self.table(table)?;
        let engines = self.engines_of(rows.keys())?;
        self.disturb(&engines);
        let values: Vec<_> = rows
            .iter()
            .filter_map(|((_, key), row)| Some(values_of(*key, row.as_ref()?)))
            .rev()
            .collect();
        self.doom.arm(!self.peaceful && self.chance.one_in(3));
        let outcome = self.db().load(&handle, values);
        self.doom.arm(false);
        let what = format!("T{by} loads {rows:?}");
        if let Err(error) = &outcome
            && error.kind() == Kind::Exists
        {
            self.log.say(format!("{what}: {error}"));
            self.coverage.add("a load that met a row");
            return self.check_met(&rows, &what);
        }
        self.log.say(what);
        let mut actor = Actor {
            by,
            at,
            home: (table, home),
            hand: Hand::Reader(snapshot),
            own: BTreeMap::new(),
            savepoints: Vec::new(),
            reads: Vec::new(),
            cursors: Vec::new(),
        };
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
            self.found(&mut actor, nothing, &BTreeMap::new())?;
        }
        let attempt = Attempt {
            by,
            at,
            reads: actor.reads,
            writes: rows,
            engines,
            durability: Durability::Synced,
        };
        self.conclude(attempt, outcome)
    }

    /// One of the three writes of a load meets a fault, now and then.
    fn disturb(&mut self, engines: &BTreeSet<EngineId>) {
        if self.peaceful || !self.chance.one_in(12) {
            return;
        }
        let nth = 1 + self.chance.below(3);
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
        let careless = self.chance.one_in(4);
        let reach = if self.chance.one_in(3) {
            KEYS
        } else {
            ROWS_MAX
        };
        let mut rows = Writes::new();
        for _ in 0..2 + self.chance.below(ROWS_MAX) {
            let spot = (table, (home + self.chance.below(reach)) % KEYS);
            if careless || self.model.row(spot, u64::MAX).is_none() {
                let text = self.text();
                rows.insert(spot, Some(text));
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
        self.take_blows()?;
        match met {
            true => Ok(()),
            false => Err(Wrong(format!("{what}: it met a row, and none is there"))),
        }
    }
}
