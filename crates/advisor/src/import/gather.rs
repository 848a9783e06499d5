//! Statements of sessions, gathered into transactions.

use std::collections::{BTreeSet, HashMap};

use keys::{Type, Value};
use syntax::Kind as Asks;
use syntax::schema::{Dialect, read_queries};

use super::drawn::Drawn;
use super::{Imported, MADE_BY, Report};
use crate::trace::{Header, Kind, Op, Statement, Table, Trace, Txn};
use crate::work::{Given, at, touches};

/// Transactions that are kept; of more, every second goes and the others weigh twice as much.
const TXNS_MAX: usize = 200_000;
/// Sessions that may have something open at a time.
const SESSIONS_MAX: usize = 10_000;
/// Ops of one transaction.
const OPS_MAX: usize = 1_000;

/// A statement as a log says it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'s> {
    pub(super) line: u64,
    pub(super) session: &'s str,
    pub(super) at_us: u64,
    pub(super) text: &'s str,
    pub(super) busy_us: Option<u64>,
    /// How many rows it found or wrote.
    pub(super) rows: Option<u64>,
}

/// Gathers.
#[derive(Debug)]
pub(super) struct Gather {
    pub(super) report: Report,
    tables: Vec<Table>,
    dialect: Dialect,
    statements: Vec<Statement>,
    numbers: HashMap<(u64, u32, &'static str), u32>,
    /// The last number of columns that count by themselves.
    counters: HashMap<(u32, u16), u64>,
    /// How many values were drawn.
    drawn: u64,
    open: HashMap<String, Open>,
    /// With the time by the clock of the log.
    txns: Vec<Txn>,
    /// One of how many is kept, and how many there were.
    stride: u64,
    seen: u64,
}

/// A transaction that has begun.
#[derive(Debug, Default)]
struct Open {
    ops: Vec<Op>,
    failed: bool,
}

impl Gather {
    pub(super) fn new(tables: Vec<Table>, dialect: Dialect) -> Self {
        Self {
            report: Report::default(),
            tables,
            dialect,
            statements: Vec::new(),
            numbers: HashMap::new(),
            counters: HashMap::new(),
            drawn: 0,
            open: HashMap::new(),
            txns: Vec::new(),
            stride: 1,
            seen: 0,
        }
    }

    /// A statement was run.
    pub(super) fn statement(&mut self, said: &Said<'_>, parameters: &dyn Given) {
        let parsed = match read_queries(said.text, self.dialect) {
            Ok(parsed) => parsed,
            Err(error) => return self.report.flaw(said.line, error.to_string()),
        };
        for statement in parsed {
            match statement {
                Err(error) => self.report.flaw(said.line, error.to_string()),
                Ok(statement) => match &statement.kind {
                    Asks::Begin(_) => self.begin(said.session),
                    Asks::Commit { .. } => self.end(said, true),
                    Asks::Rollback { .. } => self.end(said, false),
                    kind => {
                        let text = statement.span.slice(said.text);
                        let ops = self.ops(said, (text, kind), parameters);
                        self.add(said, ops);
                    }
                },
            }
        }
    }

    /// A statement that stands for many runs, each a transaction. Answers whether it touches a table.
    pub(super) fn weighed(&mut self, said: &Said<'_>, given: &dyn Given, weight: f64) -> bool {
        let parsed = read_queries(said.text, self.dialect);
        let parsed = parsed.and_then(|all| all.into_iter().collect::<Result<Vec<_>, _>>());
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                self.report.flaw(said.line, error.to_string());
                return false;
            }
        };
        let mut all = Vec::new();
        for statement in parsed {
            let text = statement.span.slice(said.text);
            all.extend(self.ops(said, (text, &statement.kind), given));
        }
        let known = !all.is_empty();
        self.push(said.at_us, weight, all);
        known
    }

    fn begin(&mut self, session: &str) {
        if self.open.len() >= SESSIONS_MAX {
            self.report.unfinished += count(self.open.len());
            self.open.clear();
        }
        self.open.insert(session.to_owned(), Open::default());
    }

    fn end(&mut self, said: &Said<'_>, commits: bool) {
        match self.open.remove(said.session) {
            Some(open) if commits && !open.failed => self.push(said.at_us, 1.0, open.ops),
            Some(open) if open.failed || !open.ops.is_empty() => self.report.unfinished += 1,
            _ => {}
        }
    }

    /// A statement of a session failed.
    pub(super) fn failed(&mut self, session: &str) {
        if let Some(open) = self.open.get_mut(session) {
            open.failed = true;
        }
    }

    /// A session is gone, and what it had open is undone.
    pub(super) fn left(&mut self, session: &str) {
        self.report.unfinished += u64::from(self.open.remove(session).is_some());
    }

    fn add(&mut self, said: &Said<'_>, ops: Vec<Op>) {
        match self.open.get_mut(said.session) {
            Some(open) => {
                let room = OPS_MAX.saturating_sub(open.ops.len());
                open.ops.extend(ops.into_iter().take(room));
            }
            None => self.push(said.at_us, 1.0, ops),
        }
    }

    fn push(&mut self, at_us: u64, weight: f64, ops: Vec<Op>) {
        if ops.is_empty() {
            return;
        }
        self.seen += 1;
        if !self.seen.is_multiple_of(self.stride) {
            return;
        }
        if self.txns.len() >= TXNS_MAX {
            let mut even = false;
            self.txns.retain_mut(|txn| {
                even = !even;
                txn.weight *= 2.0;
                even
            });
            self.stride *= 2;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "a stride is a small power of two"
        )]
        let weight = weight * self.stride as f64;
        self.txns.push(Txn { at_us, weight, ops });
    }

    /// What a statement does to the tables.
    fn ops(&mut self, said: &Said<'_>, (text, kind): (&str, &Asks), given: &dyn Given) -> Vec<Op> {
        let find = |name: &str| {
            let exact = self.tables.iter().find(|table| table.name == name);
            let alike = |table: &&Table| table.name.eq_ignore_ascii_case(name);
            exact.or_else(|| self.tables.iter().find(alike))
        };
        let dated = Dated {
            given,
            at_us: said.at_us,
        };
        let found = touches(kind, &dated, &find).into_iter();
        let found: Vec<(u32, Kind, Op)> = found
            .map(|touch| (touch.table.id, touch.kind, touch.op))
            .collect();
        if found.is_empty() {
            self.report.elsewhere += 1;
            return Vec::new();
        }
        self.report.statements += 1;
        let (fingerprint, folded) = syntax::fingerprint(text);
        let parts = count(found.len());
        let mut ops = Vec::with_capacity(found.len());
        for (table, kind, mut op) in found {
            if matches!(kind, Kind::Insert | Kind::Upsert) {
                self.count_up(table, &mut op);
                self.make_up(table, &mut op, said.at_us);
            }
            op.statement = self.number((fingerprint, &folded), table, kind);
            op.busy_us = said.busy_us.map(|busy_us| busy_us / parts);
            if parts == 1 && op.rows.is_empty() {
                op.found = said.rows;
            }
            ops.push(op);
        }
        ops
    }

    /// Fills in the numbers that columns count by themselves.
    fn count_up(&mut self, table: u32, op: &mut Op) {
        let Some(table) = self.tables.iter().find(|one| one.id == table) else {
            return;
        };
        let counted = (0_u16..).zip(&table.columns);
        for (place, column) in counted.filter(|(_, column)| column.counted) {
            for row in &mut op.rows {
                if row.iter().all(|(other, _)| *other != place) {
                    let last = self.counters.entry((table.id, place)).or_insert(0);
                    *last += 1;
                    let value = Value::parse(column.kind, &last.to_string());
                    row.extend(value.ok().map(|value| (place, value)));
                    row.sort_by_key(|(place, _)| *place);
                }
            }
        }
    }

    /// Fills in what the database makes of columns that every row has: of a time the moment, of a UUID
    /// a random one.
    fn make_up(&mut self, table: u32, op: &mut Op, at_us: u64) {
        let Some(table) = self.tables.iter().find(|one| one.id == table) else {
            return;
        };
        let made = (0_u16..).zip(&table.columns);
        let made = made.filter(|(_, column)| column.not_null || table.key.contains(&column.name));
        for (place, column) in made {
            for row in &mut op.rows {
                if row.iter().any(|(other, _)| *other == place) {
                    continue;
                }
                let value = match column.kind {
                    Type::Uuid => {
                        self.drawn += 1;
                        Drawn::new(self.drawn, at_us, None).one(usize::from(place), Type::Uuid)
                    }
                    kind => i64::try_from(at_us).ok().and_then(|us| at(us, kind)),
                };
                row.extend(value.map(|value| (place, value)));
                row.sort_by_key(|(place, _)| *place);
            }
        }
    }

    fn number(&mut self, (fingerprint, text): (u64, &str), table: u32, kind: Kind) -> u32 {
        let next = u32::try_from(self.statements.len()).unwrap_or(u32::MAX);
        let key = (fingerprint, table, kind.name());
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.statements.push(Statement {
                id: next,
                fingerprint: format!("{fingerprint:016x}"),
                text: text.to_owned(),
                table,
                kind,
            });
        }
        number
    }

    pub(super) fn finish(mut self) -> Imported {
        self.report.unfinished += count(self.open.len());
        self.txns.sort_by_key(|txn| txn.at_us);
        let from_us = self.txns.first().map_or(0, |txn| txn.at_us);
        let to_us = self.txns.last().map_or(0, |txn| txn.at_us);
        for txn in &mut self.txns {
            txn.at_us = txn.at_us.saturating_sub(from_us);
        }
        let weights: f64 = self.txns.iter().map(|txn| txn.weight).sum();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a sum of weights is positive, and told to a few digits"
        )]
        let transactions_seen = weights.round() as u64;
        let header = Header {
            made_by: MADE_BY.to_owned(),
            from_us,
            to_us,
            transactions_seen,
            transactions_kept: count(self.txns.len()),
        };
        let used: BTreeSet<u32> = self.statements.iter().map(|one| one.table).collect();
        self.tables.retain(|table| used.contains(&table.id));
        let trace = Trace {
            header,
            tables: self.tables,
            statements: self.statements,
            txns: self.txns,
            ..Trace::default()
        };
        let report = self.report;
        Imported { trace, report }
    }
}

/// The parameters of a statement that was run at a known time.
struct Dated<'g> {
    given: &'g dyn Given,
    at_us: u64,
}

impl Given for Dated<'_> {
    fn one(&self, number: usize, kind: Type) -> Option<Value> {
        self.given.one(number, kind)
    }

    fn list(&self, number: usize, kind: Type) -> Option<Vec<Value>> {
        self.given.list(number, kind)
    }

    fn limit(&self, number: usize) -> Option<u64> {
        self.given.limit(number)
    }

    fn now_us(&self) -> Option<u64> {
        Some(self.at_us)
    }
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
