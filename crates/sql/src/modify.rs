//! INSERT, UPSERT, REPLACE, UPDATE, DELETE: rows found by reading, changed in memory, put back.
//!
//! Rows to insert are constants or come from a query. Rows to update or delete are found by a query
//! of our own making, `SELECT *, new values FROM table WHERE …`, so that any condition works and only
//! the key ranges it allows are read.

mod found;
mod insert;

use std::sync::Arc;

use keys::Value;
use syntax::ast;
use txn::Transaction;

use crate::execute::{Answer, AnswerRows};
use crate::query::ResultColumn;
use crate::{Error, Executor, Result, Table, cast, fast};

pub(crate) use found::{delete_query, update_query};
pub(crate) use insert::{describe_insert, insert};

/// UPDATE.
pub(crate) async fn update(
    executor: &Executor,
    transaction: &mut Transaction,
    update: &ast::Update,
    parameters: &[Value],
) -> Result<Answer> {
    let found = update_query(executor, update)?;
    let returning = Returning::new(&found.table, update.returning.as_deref())?;
    let rows = found.rows(executor, transaction, parameters).await?;
    let mut answer = Written::new("UPDATE", returning);
    for mut old in rows {
        let schema = found.table.schema();
        let mut new_values = old.split_off(schema.columns().len()).into_iter();
        let mut new = old.clone();
        for position in &found.assigned {
            let column = schema.columns().get(*position);
            let (Some(place), Some(value), Some(column)) =
                (new.get_mut(*position), new_values.next(), column)
            else {
                continue;
            };
            *place = cast(value, column.kind)?;
        }
        let (old_key, _) = schema.encode(&old)?;
        let (key, row) = schema.encode(&new)?;
        if key != old_key {
            if transaction.get(found.table.id(), &key)?.is_some() {
                return Err(insert::exists(&found.table, &key));
            }
            transaction.delete(found.table.id(), old_key)?;
        }
        transaction.put(found.table.id(), key, row)?;
        answer.add(new);
    }
    Ok(answer.finish())
}

/// DELETE.
pub(crate) async fn delete(
    executor: &Executor,
    transaction: &mut Transaction,
    delete: &ast::Delete,
    parameters: &[Value],
) -> Result<Answer> {
    let found = delete_query(executor, delete)?;
    let returning = Returning::new(&found.table, delete.returning.as_deref())?;
    let rows = found.rows(executor, transaction, parameters).await?;
    let mut answer = Written::new("DELETE", returning);
    for old in rows {
        let (key, _) = found.table.schema().encode(&old)?;
        transaction.delete(found.table.id(), key)?;
        answer.add(old);
    }
    Ok(answer.finish())
}

/// What RETURNING asks for.
pub(crate) struct Returning {
    positions: Vec<usize>,
    pub(crate) columns: Arc<[ResultColumn]>,
}

impl Returning {
    pub(crate) fn new(table: &Table, items: Option<&[ast::SelectItem]>) -> Result<Option<Self>> {
        let Some(items) = items else { return Ok(None) };
        let unsupported = || Error::Unsupported {
            what: "an expression after RETURNING".to_owned(),
        };
        let (positions, columns) =
            fast::projection(table.schema(), items).ok_or_else(unsupported)?;
        Ok(Some(Self { positions, columns }))
    }
}

/// Rows that a statement wrote, counted and kept if somebody wants them back.
struct Written {
    command: &'static str,
    returning: Option<Returning>,
    rows: Vec<Vec<Value>>,
    count: u64,
}

impl Written {
    fn new(command: &'static str, returning: Option<Returning>) -> Self {
        Self {
            command,
            returning,
            rows: Vec::new(),
            count: 0,
        }
    }

    fn add(&mut self, row: Vec<Value>) {
        self.count += 1;
        if let Some(Returning { positions, .. }) = &self.returning {
            let wanted = positions
                .iter()
                .filter_map(|position| row.get(*position).cloned());
            self.rows.push(wanted.collect());
        }
    }

    fn finish(self) -> Answer {
        match self.returning {
            None => Answer::Done {
                command: self.command,
                rows: Some(self.count),
            },
            Some(returning) => Answer::Rows(AnswerRows::ready(
                self.command,
                returning.columns,
                self.rows,
            )),
        }
    }
}
