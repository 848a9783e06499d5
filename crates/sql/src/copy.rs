//! COPY: rows that come in by the million, and the query behind those that go out.
//!
//! Rows that come in are encoded as they come and kept, key and row bytes, until the last one was
//! seen; then they are sorted and handed over in one call. So a copy that fails in the middle leaves
//! nothing, the store meets keys in their order, and a loader that wants all rows at once gets them.

use std::sync::Arc;

use keys::Value;
use syntax::statement::CopySource;
use syntax::{Ident, Kind, Name, ast};
use txn::{Bytes, Committed, Durability, Pile, Transaction, blocking};

use crate::default::default_scalar;
use crate::foreign::Changed;
use crate::modify::{exists, insert_encoded};
use crate::names::{column_name, table_name};
use crate::query::ResultColumn;
use crate::scalar::Scalar;
use crate::schema::Encoded;
use crate::{Error, Executor, Result, Table, Warning, warnings};

/// Memory that the rows of one copy may take before they are written, in bytes.
pub const COPY_BYTES_MAX: usize = 512 << 20;
/// Rows that are written before other work of the thread gets a turn.
const ROWS_A_TURN: usize = 1_000;

/// What a copy wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// How many rows.
    pub rows: u64,
    /// To how many partitions.
    pub partitions: usize,
}

/// Rows on their way into a table, as INSERT would write them.
#[derive(Debug)]
pub struct CopyTarget {
    table: Arc<Table>,
    /// Which column of the table each given value is for.
    positions: Vec<usize>,
    columns: Arc<[ResultColumn]>,
    /// What the other columns hold, by position; nothing for those that are given.
    others: Vec<Option<Scalar>>,
    rows: Pile,
    /// The last row, encoded.
    encoded: Encoded,
    warnings: Vec<Warning>,
}

impl CopyTarget {
    /// A copy into these columns of a table; none means all, in order.
    pub fn new(executor: &Executor, table: &Name, columns: &[Ident]) -> Result<Self> {
        let table = executor.catalog().relation(&table_name(table)?)?;
        let positions = positions(&table, columns)?;
        let columns = described(&table, &positions);
        let mut others = Vec::new();
        for (position, column) in table.schema().columns().iter().enumerate() {
            others.push(match positions.contains(&position) {
                true => None,
                false => Some(default_scalar(column)?),
            });
        }
        Ok(Self {
            table,
            positions,
            columns,
            others,
            rows: Pile::default(),
            encoded: Encoded::default(),
            warnings: Vec::new(),
        })
    }

    /// The name of the table.
    pub fn table(&self) -> &str {
        self.table.schema().name()
    }

    /// What its rows should be warned of.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The columns that each row has to fill.
    pub fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.columns
    }

    /// Takes one row: a value for each column, of its type. The values are taken out of `given`.
    pub fn write(&mut self, executor: &Executor, given: &mut Vec<Value>) -> Result<()> {
        let schema = self.table.schema();
        let width = schema.columns().len();
        let in_order = self.positions.len() == width && self.positions.iter().copied().eq(0..width);
        match in_order {
            true => {
                schema.fit(given)?;
                schema.generate(given, &self.positions)?;
                warnings::note(&mut self.warnings, schema, given);
                schema.encode_into(given, &mut self.encoded)?;
            }
            false => {
                let mut row = Vec::with_capacity(width);
                for other in &self.others {
                    row.push(match other {
                        Some(scalar) => scalar.value(executor.given(&[]))?,
                        None => Value::Null,
                    });
                }
                for (value, position) in given.drain(..).zip(&self.positions) {
                    if let Some(place) = row.get_mut(*position) {
                        *place = value;
                    }
                }
                schema.fit(&mut row)?;
                schema.generate(&mut row, &self.positions)?;
                if let Some(items) = self.table.collection() {
                    items.place(schema, &mut row, None)?;
                }
                warnings::note(&mut self.warnings, schema, &row);
                schema.encode_into(&row, &mut self.encoded)?;
            }
        }
        given.clear();
        let Encoded { key, row } = &self.encoded;
        self.rows.push(key, row);
        if self.rows.memory() > COPY_BYTES_MAX {
            return Err(Error::CopyTooLarge {
                limit: COPY_BYTES_MAX,
            });
        }
        Ok(())
    }

    /// Writes all rows into a transaction, or none: a key that is there already is an error.
    pub async fn insert_into(
        mut self,
        executor: &Executor,
        transaction: &mut Transaction,
    ) -> Result<u64> {
        let count = self.count();
        let related = !self.table.schema().foreign_keys().is_empty();
        transaction.expect_epoch(self.table.id(), self.table.epoch());
        if self.is_plain() {
            let rows = std::mem::take(&mut self.rows);
            let rest = transaction.insert_bulk(self.table.id(), rows);
            self.rows = rest.map_err(|error| self.named(error))?.unwrap_or_default();
        }
        let rows = self.rows.iter();
        let mut rows: Vec<(Bytes, Bytes)> = rows
            .map(|(key, row)| (Bytes::copy_from_slice(key), Bytes::copy_from_slice(row)))
            .collect();
        // Nearly sorted is the usual case, and a stable sort is quick at that.
        blocking(|| rows.sort_by(|(one, _), (two, _)| one.cmp(two)));
        let mut changed = Vec::new();
        for (number, (key, row)) in rows.into_iter().enumerate() {
            if number % ROWS_A_TURN == ROWS_A_TURN - 1 {
                tokio::task::yield_now().await;
            }
            if related {
                let row = self.table.schema().decode(&key, &row)?;
                changed.push(Changed::new(&self.table, None, Some(&row)));
            }
            insert_encoded(transaction, &self.table, key, row)?;
        }
        blocking(|| executor.settle(transaction, changed))?;
        Ok(count)
    }

    /// Whether a row is all that there is to write of it.
    fn is_plain(&self) -> bool {
        let schema = self.table.schema();
        schema.indexes().is_empty()
            && schema.foreign_keys().is_empty()
            && self.table.collection().is_none()
    }

    fn count(&self) -> u64 {
        u64::try_from(self.rows.len()).unwrap_or(u64::MAX)
    }

    /// Writes all rows as a transaction of their own, or none. Many rows are written past the
    /// journal, as files.
    pub async fn load(self, executor: &Executor) -> Result<Copied> {
        let rows = self.count();
        let committed = self.commit(executor).await?;
        Ok(Copied {
            rows,
            partitions: committed.partitions.len(),
        })
    }

    async fn commit(mut self, executor: &Executor) -> Result<Committed> {
        if !self.is_plain() || self.table.schema().moves() {
            let mut transaction = executor.store().begin();
            self.insert_into(executor, &mut transaction).await?;
            executor.settle_deferred(&mut transaction)?;
            return Ok(transaction.commit_later(Durability::Synced).await?);
        }
        let (id, epoch) = (self.table.id(), self.table.epoch());
        let rows = std::mem::take(&mut self.rows);
        let loaded = executor.store().load_in_epoch(id, epoch, rows);
        loaded.map_err(|error| self.named(error))
    }

    /// The error of a row that is there already, with the name of the table.
    fn named(&self, error: txn::Error) -> Error {
        match error {
            txn::Error::RowExists { key, .. } | txn::Error::RowTwice { key, .. } => {
                exists(&self.table, &key)
            }
            error => error.into(),
        }
    }
}

/// The query whose rows a COPY sends.
pub fn copy_query(executor: &Executor, source: &CopySource) -> Result<ast::Query> {
    let (table, columns) = match source {
        CopySource::Query(query) => return Ok(query.as_ref().clone()),
        CopySource::Table { table, columns } => (table, columns),
    };
    let found = executor.catalog().relation(&table_name(table)?)?;
    let names = described(&found, &positions(&found, columns)?);
    let broken = || Error::Internal {
        what: "our own query does not parse".to_owned(),
    };
    let parsed = syntax::parse("SELECT * FROM t ORDER BY k").map_err(|_| broken())?;
    let Some(Kind::Query(query)) = parsed.into_iter().next().map(|one| one.kind) else {
        return Err(broken());
    };
    let mut query = *query.query;
    let quoted = |name: &str| ast::Ident::with_quote('"', name);
    // Rows go out in the order of the key, however many streams read them.
    if let Some(ast::OrderByKind::Expressions(terms)) =
        query.order_by.as_mut().map(|by| &mut by.kind)
        && let Some(term) = terms.pop()
    {
        for column in found.schema().key_columns() {
            let expr = ast::Expr::Identifier(quoted(&column.name));
            terms.push(ast::OrderByExpr {
                expr,
                ..term.clone()
            });
        }
    }
    let ast::SetExpr::Select(select) = query.body.as_mut() else {
        return Err(broken());
    };
    let wanted = names
        .iter()
        .map(|column| ast::SelectItem::UnnamedExpr(ast::Expr::Identifier(quoted(&column.name))));
    select.projection = wanted.collect();
    for from in &mut select.from {
        if let ast::TableFactor::Table { name, .. } = &mut from.relation {
            *name = ast::ObjectName::from(vec![quoted(found.schema().name())]);
        }
    }
    Ok(query)
}

/// Where the named columns stand; if none is named, all of them but generated ones, as in PostgreSQL.
fn positions(table: &Table, columns: &[Ident]) -> Result<Vec<usize>> {
    let schema = table.schema();
    if columns.is_empty() {
        let generated = |position: &usize| schema.generated_at(*position).is_some();
        let given = schema.visible().filter(|position| !generated(position));
        return Ok(given.collect());
    }
    let mut positions = Vec::with_capacity(columns.len());
    for column in columns {
        let position = schema.column_position(&column_name(column))?;
        if positions.contains(&position) {
            return Err(Error::Schema {
                table: schema.name().to_owned(),
                reason: format!("column `{}` is named twice", column.value),
            });
        }
        positions.push(position);
    }
    Ok(positions)
}

fn described(table: &Table, positions: &[usize]) -> Arc<[ResultColumn]> {
    positions
        .iter()
        .filter_map(|position| ResultColumn::of(table, *position))
        .collect()
}
