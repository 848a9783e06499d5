//! Checks of the whole: rows, partitions, counters.

use std::collections::{BTreeMap, BTreeSet};

use db::{Direction, PartitionInfo, Range, Snapshot, Value};

use crate::Setting;
use crate::edits::{Row, Writes};
use crate::error::{Checked, Wrong};
use crate::foreign::check_references;
use crate::model::{Sight, Spot};
use crate::tables::{TABLES, all_spots, cells_of, keys_of, values_of};
use crate::world::{World, bound};

/// How many rounds of housekeeping a small database can need.
const ROUNDS_MAX: usize = 200;

impl World {
    /// One row at a snapshot.
    pub(crate) fn read(&self, snapshot: &Snapshot, spot: Spot) -> db::Result<Checked<Row>> {
        let (table, key) = spot;
        let Ok(handle) = self.table(table) else {
            return Ok(Err(Wrong(format!("there is no table {table}"))));
        };
        let row = snapshot.get(&handle, &[Value::Uint64(key)])?;
        let cells = row.map(|row| cells_of(&row)).transpose();
        Ok(cells.map(|row| row.map(|(_, cells)| cells)))
    }

    /// Every row at a snapshot, by scans in both directions.
    pub(crate) fn scan_all(&self, snapshot: &Snapshot) -> Checked<BTreeMap<Spot, Row>> {
        let wrong = |error: db::Error| Wrong(format!("a calm scan failed: {error}"));
        let mut all: BTreeMap<Spot, Row> = all_spots().map(|spot| (spot, None)).collect();
        for table in 0..TABLES {
            let handle = self.table(table)?;
            let mut found = Vec::new();
            for direction in [Direction::Ascending, Direction::Descending] {
                let rows = snapshot
                    .scan(&handle, &Range::all(), direction)
                    .map_err(wrong)?;
                let rows: Vec<_> = rows.collect::<Result<_, _>>().map_err(wrong)?;
                found.push(rows);
            }
            if let [ascending, descending] = found.as_mut_slice() {
                descending.reverse();
                if ascending != descending {
                    return Err(Wrong(format!(
                        "t{table} is {ascending:?} one way and {descending:?} the other"
                    )));
                }
            }
            for row in found.into_iter().next().unwrap_or_default() {
                let (key, cells) = cells_of(&row)?;
                all.insert((table, key), Some(cells));
            }
        }
        Ok(all)
    }

    /// Reads every place that can be read, and checks what is found.
    pub(crate) fn check_readable(&mut self) -> Checked<()> {
        let rows = self.look_at_spots(all_spots())?;
        check_references(&rows)
    }

    /// Reads places at one new snapshot, as far as they can be read, and checks what is found.
    pub(crate) fn look_at_spots(
        &mut self,
        spots: impl Iterator<Item = Spot>,
    ) -> Checked<BTreeMap<Spot, Row>> {
        let snapshot = self.db().snapshot();
        let wrecked = self.wrecked_spots();
        let mut all = BTreeMap::new();
        for spot in spots {
            match self.read(&snapshot, spot) {
                Ok(row) if !wrecked.contains(&spot) => {
                    let row = row?;
                    self.observe(Sight {
                        rows: &BTreeMap::from([(spot, row.clone())]),
                        at: snapshot.at().0,
                        own: &Writes::new(),
                    })?;
                    all.insert(spot, row);
                }
                Ok(_) => {}
                Err(error) => self.tolerate("looking around", &error)?,
            }
        }
        Ok(all)
    }

    /// Checks that partitions tile each table, and that counters which claim to be exact are.
    pub(crate) fn check_partitions(&mut self) -> Checked<()> {
        let mut engines = BTreeSet::new();
        for table in 0..TABLES {
            let infos = match self.db().describe(&*self.table(table)?) {
                Ok(infos) => infos,
                Err(error) => return self.tolerate("describing a table", &error),
            };
            check_tiling(table, &infos)?;
            for info in &infos {
                if self.ground.setting == Setting::Separate && !engines.insert(info.engine) {
                    return Err(Wrong(format!("{} holds two partitions", info.engine)));
                }
                if !self.is_disturbed() && info.exact {
                    self.check_counters(table, info)?;
                    self.coverage.add("exact counters compared");
                }
            }
        }
        Ok(())
    }

    fn check_counters(&self, table: usize, info: &PartitionInfo) -> Checked<()> {
        let lower = bound(&info.lower)?;
        let upper = info.upper.as_deref().map_or(Ok(u64::MAX), bound)?;
        let schema_of = self.table(table)?;
        let schema = schema_of.schema();
        let wrong = |error: &dyn std::fmt::Display| Wrong(error.to_string());
        let (mut rows, mut bytes, mut gone) = (0, 0, 0);
        for key in (0..keys_of(table)).filter(|key| lower <= *key && *key < upper) {
            match self.model.row((table, key), u64::MAX) {
                Some(cells) => {
                    let (key, row) = schema
                        .encode(&values_of(key, &cells))
                        .map_err(|error| wrong(&error))?;
                    rows += 1;
                    bytes += key.len() + row.len();
                }
                None => gone += 1,
            }
        }
        let key = schema
            .encode_key(&[Value::Uint64(0)])
            .map_err(|error| wrong(&error))?;
        let tombstones = usize::try_from(info.tombstones).map_err(|error| wrong(&error))?;
        let bytes = u64::try_from(bytes + tombstones * key.len()).map_err(|error| wrong(&error))?;
        if (info.rows, info.bytes) == (rows, bytes) && info.tombstones <= gone {
            return Ok(());
        }
        Err(Wrong(format!(
            "t{table} has {rows} rows, {bytes} bytes and at most {gone} tombstones in {info:?}"
        )))
    }

    /// The end: everything is closed, collected, counted and compared, before a restart and after.
    pub(crate) fn finish(&mut self) -> Checked<()> {
        self.calm_down()?;
        self.drive()?;
        self.calm_down()?;
        self.end_actors();
        self.end_waits()?;
        self.tidy_up()?;
        self.restart()?;
        self.tidy_up()
    }

    /// With nobody reading and nothing wrong, housekeeping leaves rows and nothing else.
    fn tidy_up(&mut self) -> Checked<()> {
        for table in 0..TABLES {
            let counted = self.db().count_partitions(&*self.table(table)?);
            counted.map_err(|error| Wrong(format!("a calm count failed: {error}")))?;
        }
        for _ in 0..ROUNDS_MAX {
            let round = self.db().housekeep();
            let round = round.map_err(|error| Wrong(format!("calm housekeeping: {error}")))?;
            self.log.say(format!("housekeeping: {round:?}"));
            if !round.more && round.tombstones == 0 && round.versions == 0 {
                break;
            }
        }
        self.check_partitions()?;
        for table in 0..TABLES {
            let infos = self.db().describe(&*self.table(table)?);
            for info in infos.map_err(|error| Wrong(error.to_string()))? {
                if !info.exact || info.tombstones > 0 {
                    return Err(Wrong(format!("nothing is left to do, and yet: {info:?}")));
                }
            }
        }
        self.check_readable()
    }
}

fn check_tiling(table: usize, infos: &[PartitionInfo]) -> Checked<()> {
    let mut lower = Some("/".to_owned());
    for info in infos {
        if lower.as_ref() != Some(&info.lower) {
            return Err(Wrong(format!("t{table} is not tiled: {infos:?}")));
        }
        lower.clone_from(&info.upper);
    }
    match lower {
        None => Ok(()),
        Some(end) => Err(Wrong(format!("the partitions of t{table} end at {end}"))),
    }
}
