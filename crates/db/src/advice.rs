//! Advice about keys: what was recorded, replayed under other keys, and what came of it.
//!
//! ```text
//!   ADVISE TABLE t ─► errand ─► background: trace ─► advisor::advise ─► rows, also in sys.advice
//!                                                                        │ somebody follows it
//!   every minute: has the table a key that was advised? ─► applied ─► measured from then on
//! ```
//!
//! A replay takes a while, so it is an errand for the background, and nobody else waits for it. The
//! advisor never acts, and neither does this: the statements that would change the key are in the
//! answer. Whoever runs them says nothing about it; it shows, because the table of that name has the
//! key then.
//!
//! The last advice on each table, and all that was followed, is kept in the database.

mod applied;
mod kept;

use std::collections::BTreeMap;
use std::sync::Arc;

use advisor::advise::{Advice, Judged, Key, Options, Part, TXNS_MIN, advise_on};
use advisor::trace::Reader;
use keys::{Type, Value};
use parking_lot::Mutex;
use sql::ResultColumn;
use syntax::statement::Verify;
use txn::Store;

use self::applied::Applied;
pub(crate) use self::applied::Gauges;
use self::kept::Kept;
use crate::Result;
use crate::record::{Ground, Recorder, described};

/// Tables whose last advice is kept.
const KEPT_MAX: usize = 200;
/// Advice on one table that was followed, of which the oldest goes.
const APPLIED_MAX: usize = 20;
/// How often what was followed is measured, and how soon at most when somebody asks.
const MEASURED_US: u64 = 60_000_000;
const ASKED_US: u64 = 10_000_000;
/// What the records in the database are called, before the name of the table.
const RECORD: &str = "advice:";
/// The place of the key, and of whether the table had it, in an answer.
const KEY: usize = 1;
const CURRENT: usize = 2;

/// What an answer shows of each key.
const COLUMNS: [(&str, Type); 15] = [
    ("Rank", Type::Uint64),
    ("Key", Type::Utf8),
    ("Current", Type::Bool),
    ("Best", Type::Bool),
    ("PeakShare", Type::Double),
    ("PeakShareLower", Type::Double),
    ("PeakShareUpper", Type::Double),
    ("Ceiling", Type::Double),
    ("SinglePartitionShare", Type::Double),
    ("PartitionsPerRead", Type::Double),
    ("RowsPerRead", Type::Double),
    ("KeyBytes", Type::Double),
    ("Why", Type::Utf8),
    ("Worse", Type::Utf8),
    ("Statements", Type::Utf8),
];

/// The columns of an answer.
pub(crate) fn columns() -> Arc<[ResultColumn]> {
    let columns = COLUMNS.iter();
    columns
        .map(|(name, kind)| ResultColumn::new(*name, *kind))
        .collect()
}

/// The last advice about each table, and what was followed.
#[derive(Debug, Default)]
pub(crate) struct Advices {
    kept: Mutex<BTreeMap<String, Kept>>,
    /// When it was looked last whether advice was followed.
    looked_us: Mutex<u64>,
}

impl Advices {
    /// What was kept the last time the database was open.
    pub(crate) fn load(store: &Store) -> Result<Self> {
        let kinds = COLUMNS.map(|(_, kind)| kind);
        let mut kept = BTreeMap::new();
        for (name, text) in store.settings()? {
            let table = name.strip_prefix(RECORD);
            if let Some((table, one)) = table.zip(Kept::decode(&text, &kinds)) {
                kept.insert(table.to_owned(), one);
            }
        }
        Ok(Self {
            kept: Mutex::new(kept),
            looked_us: Mutex::default(),
        })
    }

    /// Advises on a table, by what is recorded.
    pub(crate) fn advise(
        &self,
        recorder: &Recorder,
        ground: Ground<'_>,
        table: &str,
    ) -> Result<Vec<Vec<Value>>> {
        let (advice, _) = self.judge(recorder, ground, table)?;
        Ok(rows(&advice))
    }

    /// The same, with the lines of the trace that it was made of.
    pub(crate) fn judge(
        &self,
        recorder: &Recorder,
        ground: Ground<'_>,
        table: &str,
    ) -> Result<(Advice, Vec<u8>)> {
        let mut lines = Vec::new();
        recorder.export(ground, &mut lines)?;
        let mut reader = Reader::new(lines.as_slice())?;
        let advice = match advise_on(&mut reader, table, &Options::default()) {
            // Nothing of it is in the trace.
            Err(advisor::Error::NoSuchTable { table, .. }) => Err(advisor::Error::TooFew {
                table,
                found: 0,
                needed: TXNS_MIN,
            }),
            other => other,
        };
        let advice = advice?;
        let mut kept = self.kept.lock();
        if kept.len() < KEPT_MAX || kept.contains_key(table) {
            let one = kept.entry(table.to_owned()).or_default();
            one.at_us = ground.store.now_us();
            one.rows = rows(&advice);
            save(ground.store, table, one)?;
        }
        Ok((advice, lines))
    }

    /// How the key of this rank was written in the last advice on a table.
    pub(crate) fn name_at(&self, table: &str, key: &Verify) -> Option<String> {
        let Verify::Rank(rank) = key else { return None };
        let kept = self.kept.lock();
        let mut rows = kept.get(table)?.rows.iter();
        let row = rows.find(|row| row.first() == Some(&Value::Uint64(*rank)))?;
        row.get(KEY).map(Value::to_string)
    }

    /// Looks once a minute whether advice was followed, and measures what was; `at_once` does so now.
    pub(crate) fn look(&self, gauges: Gauges<'_>, at_once: bool) {
        let now_us = gauges.ground.store.now_us();
        let rest_us = if at_once { 0 } else { MEASURED_US };
        let mut looked_us = self.looked_us.lock();
        if now_us.saturating_sub(*looked_us) < rest_us {
            return;
        }
        *looked_us = now_us;
        for (name, kept) in &mut *self.kept.lock() {
            // It may be on the way from one key to another.
            let Ok(table) = gauges.ground.catalog.get(name) else {
                continue;
            };
            let found = kept.find_applied(gauges.ground, &table, now_us);
            let measured = kept.measure(gauges, &table, now_us);
            if found || measured {
                // What cannot be written now is written at the next look.
                let _ = save(gauges.ground.store, name, kept);
            }
        }
    }

    /// The rows of `sys.advice`.
    pub(crate) fn rows(&self, gauges: Gauges<'_>) -> Vec<Vec<Value>> {
        self.look(gauges, true);
        let mut all = Vec::new();
        for (table, kept) in &*self.kept.lock() {
            let mut show = |at_us: u64, row: &[Value], applied: Option<&Applied>| {
                let mut whole = vec![Value::from(table.as_str()), time(at_us)];
                whole.extend(row.iter().cloned());
                match applied {
                    Some(applied) => {
                        whole.push(time(applied.applied_us));
                        whole.extend(applied.sums.values());
                    }
                    None => whole.extend([const { Value::Null }; 6]),
                }
                all.push(whole);
            };
            let is_of = |applied: &Applied, row: &[Value]| {
                applied.advised_us == kept.at_us && applied.row.get(KEY) == row.get(KEY)
            };
            for row in &kept.rows {
                let applied = kept.applied.iter().rev().find(|one| is_of(one, row));
                show(kept.at_us, row, applied);
            }
            for one in &kept.applied {
                if !kept.rows.iter().any(|row| is_of(one, row)) {
                    show(one.advised_us, &one.row, Some(one));
                }
            }
        }
        all
    }
}

impl Kept {
    /// Whether the table has a key now that was advised and that it did not have.
    fn find_applied(&mut self, ground: Ground<'_>, table: &sql::Table, now_us: u64) -> bool {
        if self.applied.iter().any(|one| one.table == table.id().0) {
            return false;
        }
        let Some(described) = described(ground, table) else {
            return false;
        };
        let names = names(table, &described);
        let is_it = |row: &&Vec<Value>| {
            row.get(KEY).is_some_and(|key| names.contains(key))
                && row.get(CURRENT) == Some(&Value::Bool(false))
        };
        let Some(row) = self.rows.iter().find(is_it) else {
            return false;
        };
        if self.applied.len() >= APPLIED_MAX {
            self.applied.remove(0);
        }
        self.applied.push(Applied {
            advised_us: self.at_us,
            applied_us: now_us,
            table: table.id().0,
            row: row.clone(),
            ..Applied::default()
        });
        true
    }

    /// Measures what the table does under the key that was followed, if it still has it.
    fn measure(&mut self, gauges: Gauges<'_>, table: &sql::Table, now_us: u64) -> bool {
        let mut applied = self.applied.iter_mut();
        let Some(one) = applied.find(|one| one.table == table.id().0) else {
            return false;
        };
        let seen_us = one.seen.at_us;
        if seen_us.is_some_and(|seen_us| now_us.saturating_sub(seen_us) < ASKED_US) {
            return false;
        }
        let before = one.sums;
        one.measure(gauges, table, now_us);
        one.sums != before
    }
}

/// What advice may call the key of a table: a random id has a name of its own once it is a column.
fn names(table: &sql::Table, described: &advisor::trace::Table) -> Vec<Value> {
    let mut keys = vec![Key::of(described)];
    let mut columns = table.schema().key_columns();
    if let (Some(only), None) = (columns.next(), columns.next())
        && only.kind == Type::Uuid
        && let Some(default) = only.default.as_deref()
        && default.to_lowercase().starts_with("gen_random_uuid(")
    {
        let columns = Vec::new();
        let parts = vec![Part::Random { columns }];
        keys.push(Key { parts });
    }
    let name = |key: &Key| Value::Utf8(key.name(described).into());
    keys.iter().map(name).collect()
}

/// Keeps it in the database.
fn save(store: &Store, table: &str, kept: &Kept) -> Result<()> {
    let name = format!("{RECORD}{table}");
    Ok(store.set_setting(&name, Some(&kept.encode()))?)
}

fn time(at_us: u64) -> Value {
    Value::Timestamp(i64::try_from(at_us).unwrap_or(i64::MAX))
}

fn rows(advice: &Advice) -> Vec<Vec<Value>> {
    let ranked = (0..).zip(&advice.keys);
    ranked
        .map(|(place, judged)| row(place, judged, advice.best.contains(&place)))
        .collect()
}

fn row(place: usize, judged: &Judged, best: bool) -> Vec<Value> {
    let figures = &judged.figures;
    let text = |text: String| Value::Utf8(text.into());
    let rank = u64::try_from(place).unwrap_or(u64::MAX).saturating_add(1);
    let mut statements = vec![judged.ddl.create.clone()];
    statements.extend(judged.ddl.migrate.iter().cloned());
    vec![
        Value::Uint64(rank),
        text(judged.name.clone()),
        Value::Bool(judged.is_current),
        Value::Bool(best),
        Value::Double(figures.grown.value),
        Value::Double(figures.grown.low),
        Value::Double(figures.grown.high),
        Value::Double(figures.ceiling),
        Value::Double(figures.single),
        Value::Double(figures.per_read.partitions),
        Value::Double(figures.per_read.rows),
        Value::Double(figures.key_bytes),
        text(judged.why.join("; ")),
        text(judged.worse.join("; ")),
        match judged.is_current {
            true => Value::Null,
            false => text(statements.join("\n")),
        },
    ]
}
