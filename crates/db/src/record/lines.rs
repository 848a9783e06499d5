//! From recorded transactions to the lines of a trace.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use advisor::trace::{Column, Header, Index, Kind, Op, Row, Spent, Statement, Table, Txn, Writer};
use advisor::work::{self, ROWS_MAX, Touch};
use keys::Value;
use parking_lot::Mutex;
use sql::{Few, Origin, ResultColumn, STATEMENTS_MAX};

use super::Ground;
use super::segments::Segments;
use super::spending::Spending;
use super::take::{Asked, Outcome, Part, Ran, Take};
use crate::balance::settings;
use crate::policy::Policy;

/// The program that records.
pub(super) const MADE_BY: &str = concat!("evenkeel ", env!("CARGO_PKG_VERSION"));

/// Bytes of lines that are made before they are appended.
const TRAY_BYTES_MAX: usize = 64 << 10;

/// What was written, and what goes on being written.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) segments: Segments,
    open: Option<Open>,
    /// The tables as they were at some generation of the catalog.
    tables: Vec<Table>,
    generation: Option<u64>,
    /// The tables that statements read, by their fingerprints.
    reads: HashMap<u64, u32>,
    spending: Spending,
}

/// The newest segment.
#[derive(Debug)]
struct Open {
    writer: Writer<Tray>,
    tray: Tray,
    from_us: u64,
    tables: BTreeSet<u32>,
    /// The numbers of statements, by fingerprint, table and kind.
    statements: HashMap<(u64, u32, &'static str), u32>,
}

/// Lines on their way to the segment.
#[derive(Clone, Debug, Default)]
struct Tray(Arc<Mutex<Vec<u8>>>);

impl Write for Tray {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An op, and the statement that it is of.
struct Done<'t> {
    fingerprint: u64,
    text: &'t str,
    touch: Touch<'t>,
}

impl Lines {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self {
            segments: Segments::new(folder),
            open: None,
            tables: Vec::new(),
            generation: None,
            reads: HashMap::new(),
            spending: Spending::default(),
        }
    }

    /// Writes transactions.
    pub(super) fn add(&mut self, ground: Ground<'_>, takes: Vec<Take>) -> io::Result<()> {
        let policy = ground.policy.get();
        let bytes_max = policy.record_size_mb << 20;
        let generation = ground.catalog.generation();
        let full = self.segments.is_full(bytes_max);
        if self.generation != Some(generation) || full {
            let before = std::mem::replace(&mut self.tables, tables(ground, &policy));
            self.generation = Some(generation);
            let changed = |open: &Open| {
                !open
                    .tables
                    .iter()
                    .all(|id| same(*id, &before, &self.tables))
            };
            // A segment has one idea of each table.
            if full || self.open.as_ref().is_some_and(changed) {
                self.segments.close();
                self.open = None;
            }
        }
        let find = |name: &str| self.tables.iter().find(|table| table.name == name);
        for take in &takes {
            let parts = take.parts.iter();
            let done: Vec<Done<'_>> = parts
                .flat_map(|part| match part {
                    Part::Ran(ran) => done(ran, take.alone, &find),
                    Part::Asked(asked) => answered(asked, &find),
                })
                .collect();
            if done.is_empty() {
                continue;
            }
            note_reads(&mut self.reads, &done);
            let open = match &mut self.open {
                Some(open) => open,
                none => {
                    self.segments.begin();
                    none.insert(Open::new(take.began_us)?)
                }
            };
            open.add(take, done)?;
            if open.tray.0.lock().len() >= TRAY_BYTES_MAX {
                let lines = open.taken();
                self.segments.append(&lines, bytes_max)?;
                if self.segments.is_full(bytes_max) {
                    self.segments.close();
                    self.open = None;
                }
            }
        }
        match &mut self.open {
            Some(open) => {
                open.note_spent(ground, &mut self.spending)?;
                self.segments.append(&open.taken(), bytes_max)
            }
            None => Ok(()),
        }
    }

    /// The statements that were seen to read a table and nothing else, by their fingerprints.
    pub(super) fn reads_of(&self, table: u32) -> Vec<u64> {
        let own = self.reads.iter().filter(|(_, read)| **read == table);
        own.map(|(fingerprint, _)| *fingerprint).collect()
    }

    /// The tables as they are now.
    pub(super) fn current(ground: Ground<'_>) -> Vec<Table> {
        tables(ground, &ground.policy.get())
    }
}

impl Open {
    fn new(from_us: u64) -> io::Result<Self> {
        let tray = Tray::default();
        let header = Header {
            made_by: MADE_BY.to_owned(),
            from_us,
            to_us: from_us,
            ..Header::default()
        };
        Ok(Self {
            writer: Writer::new(tray.clone(), &header)?,
            tray,
            from_us,
            tables: BTreeSet::new(),
            statements: HashMap::new(),
        })
    }

    /// Writes what the tables of the segment were busy with since this was written last.
    fn note_spent(&mut self, ground: Ground<'_>, spending: &mut Spending) -> io::Result<()> {
        for table in ground.catalog.all().iter() {
            let number = Origin::table_number(table);
            let Some(number) = number.filter(|number| self.tables.contains(number)) else {
                continue;
            };
            // One that was dropped meanwhile is busy with nothing.
            if let Ok(map) = ground.store.map(table.id()) {
                let spent = spending.since_last(number, map.partitions());
                if spent != Spent::default() {
                    self.writer.spent(number, &spent)?;
                }
            }
        }
        Ok(())
    }

    /// The lines that were not appended yet.
    fn taken(&self) -> Vec<u8> {
        std::mem::take(&mut *self.tray.0.lock())
    }

    fn add(&mut self, take: &Take, done: Vec<Done<'_>>) -> io::Result<()> {
        let mut ops = Vec::with_capacity(done.len());
        for one in done {
            let Touch { table, kind, op } = one.touch;
            if self.tables.insert(table.id) {
                self.writer.table(table)?;
            }
            let next = u32::try_from(self.statements.len()).unwrap_or(u32::MAX);
            let key = (one.fingerprint, table.id, kind.name());
            let mut id = self.statements.get(&key).copied();
            if id.is_none() {
                self.writer.statement(&Statement {
                    id: next,
                    fingerprint: format!("{:016x}", one.fingerprint),
                    text: one.text.to_owned(),
                    table: table.id,
                    kind,
                })?;
                self.statements.insert(key, next);
                id = Some(next);
            }
            ops.extend(id.map(|statement| Op { statement, ..op }));
        }
        self.writer.txn(&Txn {
            at_us: take.ended_us.saturating_sub(self.from_us),
            weight: as_float(take.weight),
            ops,
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "weights are estimates, and exact up to 2^53"
)]
fn as_float(weight: u64) -> f64 {
    weight as f64
}

/// Remembers which tables statements read.
fn note_reads(reads: &mut HashMap<u64, u32>, done: &[Done<'_>]) {
    if reads.len() > STATEMENTS_MAX {
        reads.clear();
    }
    for one in done {
        let same = done
            .iter()
            .filter(|other| other.fingerprint == one.fingerprint);
        if same.count() == 1 && one.touch.kind == Kind::Read {
            reads.insert(one.fingerprint, one.touch.table.id);
        }
    }
}

/// What a statement did, with the rows that were seen.
fn done<'t>(ran: &'t Ran, alone: bool, find: &dyn Fn(&str) -> Option<&'t Table>) -> Vec<Done<'t>> {
    let outcome = ran.seen.outcome();
    let Some(tally) = ran.prepared.tally().filter(|_| !outcome.failed) else {
        return Vec::new();
    };
    let kind = &ran.prepared.statement().kind;
    let mut touches = work::touches(kind, &ran.parameters.as_slice(), find);
    let writes = touches.iter().any(|touch| touch.kind.writes());
    let count = u64::try_from(touches.len()).unwrap_or(u64::MAX).max(1);
    for touch in &mut touches {
        // A statement that commits by itself has waited for the disk.
        if !(alone && writes) {
            touch.op.busy_us = Some(outcome.took_ns / 1_000 / count);
        }
        if !touch.kind.writes() {
            touch.op.rows_read = outcome.rows_read.map(|rows| rows / count);
        }
        fill(touch, &outcome);
    }
    let done = touches.into_iter().map(|touch| Done {
        fingerprint: tally.fingerprint(),
        text: tally.text(),
        touch,
    });
    done.collect()
}

/// What a request did.
fn answered<'t>(asked: &'t Asked, find: &dyn Fn(&str) -> Option<&'t Table>) -> Vec<Done<'t>> {
    // Dropped meanwhile.
    let Some(table) = find(&asked.table) else {
        return Vec::new();
    };
    let ops = asked.ops.iter().map(|(kind, op)| Touch {
        table,
        kind: *kind,
        op: op.clone(),
    });
    let done = ops.map(|touch| Done {
        fingerprint: asked.tally.fingerprint(),
        text: asked.tally.text(),
        touch,
    });
    done.collect()
}

/// Adds the rows that were seen to what the statement says.
fn fill(touch: &mut Touch<'_>, outcome: &Outcome) {
    let Touch { table, kind, op } = touch;
    let from_here = outcome.columns.iter().flat_map(|columns| columns.iter());
    let mut from_here = from_here.filter_map(|column| column.origin);
    let shown = from_here.any(|origin| origin.table == table.id);
    let (rows, total) = match &outcome.columns {
        _ if kind.writes() && outcome.written.seen() > 0 => {
            let kept = kept(&outcome.written);
            let rows = kept.into_iter().map(|row| work::kept_row(table, row));
            (rows.flatten().collect(), outcome.written.seen())
        }
        Some(columns) if shown => {
            let kept = kept(&outcome.rows).into_iter();
            let rows = kept.map(|row| by_origin(table.id, columns, row));
            (rows.collect::<Vec<Row>>(), outcome.rows.seen())
        }
        None if outcome.count == 0 && !matches!(kind, Kind::Insert) => {
            op.found = Some(0);
            return;
        }
        _ => return,
    };
    let all = u64::try_from(rows.len()).is_ok_and(|kept| kept == total);
    op.rows = rows;
    // No rows and no number would mean that nobody knows.
    op.found = (!all || total == 0).then_some(total);
}

fn kept(rows: &Few<Vec<Value>>) -> Vec<Vec<Value>> {
    work::spread(rows.clone().into_kept(), ROWS_MAX)
}

/// The values of a row that come from a table.
fn by_origin(table: u32, columns: &[ResultColumn], row: Vec<Value>) -> Row {
    let own = columns.iter().zip(row).filter_map(|(column, value)| {
        let origin = column.origin.filter(|origin| origin.table == table)?;
        let place = u16::try_from(origin.column).ok()?.checked_sub(1)?;
        let kept = column.kind.is_key_type() && work::is_kept(&value);
        kept.then_some((place, value))
    });
    own.collect()
}

/// Whether a table has the same name, columns and key in both lists.
fn same(id: u32, before: &[Table], after: &[Table]) -> bool {
    let of = |tables: &[Table]| {
        let table = tables.iter().find(|table| table.id == id)?;
        Some((table.name.clone(), table.columns.clone(), table.key.clone()))
    };
    of(before).is_some() && of(before) == of(after)
}

/// All tables, as a trace describes them.
fn tables(ground: Ground<'_>, policy: &Policy) -> Vec<Table> {
    let all = ground.catalog.all();
    all.iter()
        .filter_map(|table| described(ground, table, policy))
        .collect()
}

/// A table, as a trace describes it; nothing if it was dropped meanwhile.
pub(super) fn described(ground: Ground<'_>, table: &sql::Table, policy: &Policy) -> Option<Table> {
    let schema = table.schema();
    let columns = schema.columns();
    let name = |position: &usize| columns.get(*position).map(|column| column.name.clone());
    let unique = schema.indexes().iter().filter(|index| index.unique);
    // Dropped meanwhile.
    let map = ground.store.map(table.id()).ok()?;
    let totals = map
        .partitions()
        .iter()
        .map(|one| one.counters.counts().totals());
    let (rows, bytes) = totals.fold((0, 0), |(rows, bytes), one| {
        (rows + one.rows, bytes + one.bytes)
    });
    Some(Table {
        id: Origin::table_number(table)?,
        name: schema.name().to_owned(),
        columns: columns.iter().map(column).collect(),
        key: schema.key_columns().map(|one| one.name.clone()).collect(),
        unique: unique
            .map(|index| index.columns.iter().filter_map(name).collect())
            .collect(),
        indexes: schema
            .indexes()
            .iter()
            .filter(|index| index.ready)
            .map(|index| Index {
                name: index.name.clone(),
                columns: index.columns.iter().filter_map(name).collect(),
                cover: index.cover.iter().filter_map(name).collect(),
                unique: index.unique,
            })
            .collect(),
        rows,
        bytes,
        partitions: u64::try_from(map.partitions().len()).unwrap_or(u64::MAX),
        spent: None,
        settings: settings(schema.options(), policy),
        check_interval_s: policy.check_interval_s,
    })
}

fn column(column: &sql::Column) -> Column {
    let drawn = column.default.as_deref();
    let drawn = drawn.is_some_and(|default| default.to_lowercase().starts_with("nextval("));
    Column {
        name: column.name.clone(),
        kind: column.kind,
        not_null: column.not_null,
        generated: column.generated.clone(),
        counted: column.identity.is_some() || drawn,
    }
}
