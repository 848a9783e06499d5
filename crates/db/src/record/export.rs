//! All segments as one trace.
//!
//! ```text
//!   segments ─► once for tables, statements and counts ─► the first lines
//!            └► once more for transactions, one at a time, with the numbers of the whole
//! ```
//!
//! A table is described as it is now if it is still there, and as its newest segment knew it
//! otherwise. What older segments say of columns that have gone since is left out.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use advisor::Error;
use advisor::trace::{Header, Kind, Op, Reader, Row, Statement, Table, Txn, Writer};
use keys::Value;

use super::Ground;
use super::lines::{Lines, MADE_BY};

/// What the segments say together.
#[derive(Default)]
struct Whole {
    header: Header,
    /// By name.
    tables: BTreeMap<String, Table>,
    statements: Vec<Statement>,
    /// The numbers of statements, by fingerprint, table and kind.
    numbers: HashMap<(String, u32, &'static str), u32>,
}

/// What the numbers of one segment mean in the whole.
#[derive(Default)]
struct Meaning {
    /// The number of each statement, and its columns there and here.
    statements: HashMap<u32, (u32, u32)>,
    columns: HashMap<u32, Vec<Option<u16>>>,
}

impl Lines {
    pub(super) fn export(&self, ground: Ground<'_>, out: &mut dyn Write) -> advisor::Result<()> {
        let mut whole = Whole::default();
        for table in Self::current(ground) {
            whole.tables.insert(table.name.clone(), table);
        }
        let mut numbers: Vec<u64> = self.segments.numbers().collect();
        let mut used = BTreeMap::new();
        let mut weight = 0.0_f64;
        // The newest first: it knows best what a table was like.
        for number in numbers.iter().rev() {
            let told = self.segment(*number, |reader, txns| {
                whole.take_in(reader, &mut used);
                for txn in txns {
                    weight += txn.weight;
                    whole.count(reader.header(), txn);
                }
            })?;
            whole.spend(&told);
        }
        numbers.sort_unstable();
        whole.header.made_by = MADE_BY.to_owned();
        whole.header.transactions_seen = as_count(weight);
        let now_us = ground.store.now_us();
        if numbers.is_empty() {
            whole.header.from_us = now_us;
        }
        whole.header.to_us = whole.header.to_us.max(now_us);
        let mut writer = Writer::new(out, &whole.header)?;
        for table in whole.tables.values() {
            if used.contains_key(&table.id) {
                writer.table(table)?;
            }
        }
        for statement in &whole.statements {
            writer.statement(statement)?;
        }
        for number in numbers {
            let mut failed = None;
            self.segment(number, |reader, txns| {
                let meaning = whole.meaning(reader);
                for txn in txns {
                    let txn = meaning.txn(&whole, reader.header(), txn);
                    if let Err(error) = writer.txn(&txn) {
                        failed.get_or_insert(error);
                    }
                }
            })?;
            failed.map_or(Ok(()), Err)?;
        }
        writer.finish()?;
        Ok(())
    }

    /// Reads a segment and hands its transactions on, some at a time, with what is known then. One
    /// that is no trace, because a crash left nothing of it, is passed over. The tables in the end, with
    /// what was spent on them.
    fn segment(
        &self,
        number: u64,
        mut each: impl FnMut(&Reader<Box<dyn std::io::BufRead + '_>>, &[Txn]),
    ) -> advisor::Result<Vec<Table>> {
        let Some(text) = self.segments.read(number)? else {
            return Ok(Vec::new());
        };
        let mut reader = match Reader::new(text) {
            Ok(reader) => reader,
            Err(Error::NotATrace { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        loop {
            let mut some = Vec::new();
            while some.len() < SOME
                && let Some(txn) = reader.next_txn()?
            {
                some.push(txn);
            }
            each(&reader, &some);
            if some.len() < SOME {
                return Ok(reader.into_trace(Vec::new()).tables);
            }
        }
    }
}

/// Transactions that are handed on at a time.
const SOME: usize = 1_000;

impl Whole {
    /// Takes in the tables and statements of a segment.
    fn take_in<R: std::io::BufRead>(&mut self, reader: &Reader<R>, used: &mut BTreeMap<u32, ()>) {
        let mut names = HashMap::new();
        for table in reader.tables() {
            let known = self
                .tables
                .entry(table.name.clone())
                .or_insert_with(|| Table {
                    spent: None,
                    ..table.clone()
                });
            used.insert(known.id, ());
            names.insert(table.id, known.id);
        }
        for statement in reader.statements() {
            let Some(table) = names.get(&statement.table) else {
                continue;
            };
            let key = (statement.fingerprint.clone(), *table, statement.kind.name());
            let next = u32::try_from(self.statements.len()).unwrap_or(u32::MAX);
            if let std::collections::hash_map::Entry::Vacant(free) = self.numbers.entry(key) {
                free.insert(next);
                self.statements.push(Statement {
                    id: next,
                    table: *table,
                    ..statement.clone()
                });
            }
        }
    }

    /// Adds what a segment says that was spent on its tables.
    fn spend(&mut self, told: &[Table]) {
        for table in told {
            let known = self.tables.get_mut(&table.name);
            if let (Some(known), Some(more)) = (known, table.spent) {
                known.spent = Some(known.spent.unwrap_or_default().plus(more));
            }
        }
    }

    fn count(&mut self, header: &Header, txn: &Txn) {
        let at_us = header.from_us.saturating_add(txn.at_us);
        let whole = &mut self.header;
        whole.from_us = match whole.transactions_kept {
            0 => header.from_us,
            _ => whole.from_us.min(header.from_us),
        };
        whole.to_us = whole.to_us.max(at_us);
        whole.transactions_kept += 1;
    }

    fn meaning<R: std::io::BufRead>(&self, reader: &Reader<R>) -> Meaning {
        let mut meaning = Meaning::default();
        let mut here = HashMap::new();
        for table in reader.tables() {
            let Some(known) = self.tables.get(&table.name) else {
                continue;
            };
            here.insert(table.id, known.id);
            let columns = table.columns.iter().map(|column| {
                let place = known.column(&column.name)?;
                let now = known.columns.get(usize::from(place))?;
                (now.kind == column.kind).then_some(place)
            });
            meaning.columns.insert(table.id, columns.collect());
        }
        for statement in reader.statements() {
            let number = here.get(&statement.table).and_then(|table| {
                let kind: Kind = statement.kind;
                let key = (statement.fingerprint.clone(), *table, kind.name());
                self.numbers.get(&key)
            });
            if let Some(number) = number {
                let known = (*number, statement.table);
                meaning.statements.insert(statement.id, known);
            }
        }
        meaning
    }
}

impl Meaning {
    fn txn(&self, whole: &Whole, header: &Header, txn: &Txn) -> Txn {
        let ended_us = header.from_us.saturating_add(txn.at_us);
        Txn {
            at_us: ended_us.saturating_sub(whole.header.from_us),
            weight: txn.weight,
            ops: txn.ops.iter().filter_map(|op| self.op(op)).collect(),
        }
    }

    fn op(&self, op: &Op) -> Option<Op> {
        let (statement, table) = self.statements.get(&op.statement)?;
        let columns = self.columns.get(table)?;
        let place = |column: u16| columns.get(usize::from(column)).copied().flatten();
        let values = |row: &Row| -> Row {
            let known = row.iter();
            let known = known.filter_map(|(column, value)| Some((place(*column)?, value.clone())));
            known.collect()
        };
        let eq = op.eq.iter();
        let eq = eq.filter_map(|(column, values)| Some((place(*column)?, values.clone())));
        let order = op.order.iter().map_while(|order| {
            let column = place(order.column)?;
            Some(advisor::trace::Order { column, ..*order })
        });
        Some(Op {
            statement: *statement,
            eq: eq.collect::<Vec<(u16, Vec<Value>)>>(),
            low: values(&op.low),
            high: values(&op.high),
            order: order.collect(),
            rows: op.rows.iter().map(values).collect(),
            ..op.clone()
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of weights is positive, and told to a few digits"
)]
fn as_count(weight: f64) -> u64 {
    weight.round() as u64
}
