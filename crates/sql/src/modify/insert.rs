//! INSERT, UPSERT, REPLACE, and UPDATE or DELETE with ON.

use std::sync::Arc;

use keys::{Type, Value, format_key};
use syntax::statement::Insert;
use syntax::{Mode, ast};
use txn::{Bytes, Reader, Transaction};

use super::{Returning, Written};
use crate::constant::{Given, constant, note_parameter};
use crate::execute::Answer;
use crate::names::{column_name, table_name, tree_name};
use crate::query::ResultColumn;
use crate::{Error, Executor, Result, Schema, Table, cast};

/// The parameters of the statement, and what it answers with.
pub(crate) async fn describe_insert(
    executor: &Executor,
    reader: Reader,
    insert: &Insert,
) -> Result<(Vec<Option<Type>>, Option<Arc<[ResultColumn]>>)> {
    let target = Target::new(executor, insert)?;
    let returning = Returning::new(&target.table, insert.returning.as_deref())?;
    let columns = returning.map(|returning| returning.columns);
    let Some(source) = &insert.source else {
        return Ok((Vec::new(), columns));
    };
    let Some(rows) = values(source) else {
        let planned = executor.plan(reader, source).await?;
        return Ok((planned.parameters()?, columns));
    };
    let mut kinds: Vec<Option<Type>> = Vec::new();
    let columns_of = target.schema().columns();
    for row in rows {
        for (expr, position) in row.content.iter().zip(&target.positions) {
            if let Some(column) = columns_of.get(*position) {
                note_parameter(&mut kinds, expr, column.kind);
            }
        }
    }
    if let Some(ast::OnConflictAction::DoUpdate(update)) =
        insert.on_conflict.as_ref().map(|clause| &clause.action)
    {
        for assignment in &update.assignments {
            let position = target.assigned(assignment)?;
            if let Some(column) = columns_of.get(position) {
                note_parameter(&mut kinds, &assignment.value, column.kind);
            }
        }
    }
    Ok((kinds, columns))
}

/// Runs the statement.
pub(crate) async fn insert(
    executor: &Executor,
    transaction: &mut Transaction,
    insert: &Insert,
    parameters: &[Value],
) -> Result<Answer> {
    let target = Target::new(executor, insert)?;
    let rows = target
        .rows(executor, transaction.reader(), insert, parameters)
        .await?;
    let returning = Returning::new(&target.table, insert.returning.as_deref())?;
    let command = match insert.mode {
        Mode::UpdateOn => "UPDATE",
        Mode::DeleteOn => "DELETE",
        _ => "INSERT",
    };
    let mut answer = Written::new(command, returning);
    let given = executor.given(parameters);
    for row in rows {
        if let Some(row) = target.write(transaction, insert, row, given)? {
            answer.add(row);
        }
    }
    Ok(answer.finish())
}

/// The table written to, and which of its columns are given.
struct Target {
    table: Arc<Table>,
    positions: Vec<usize>,
}

impl Target {
    fn new(executor: &Executor, insert: &Insert) -> Result<Self> {
        let table = executor.catalog().get(&table_name(&insert.table)?)?;
        let schema = table.schema();
        let mut positions: Vec<usize> = Vec::new();
        for column in &insert.columns {
            let position = schema.column_position(&column_name(column))?;
            if positions.contains(&position) {
                let reason = format!("column `{}` is named twice", column.value);
                return Err(Error::Schema {
                    table: schema.name().to_owned(),
                    reason,
                });
            }
            positions.push(position);
        }
        if insert.columns.is_empty() {
            positions = (0..schema.columns().len()).collect();
        }
        Ok(Self { table, positions })
    }

    fn schema(&self) -> &Schema {
        self.table.schema()
    }

    /// The given values of each row, in the types of their columns.
    async fn rows(
        &self,
        executor: &Executor,
        reader: Reader,
        insert: &Insert,
        parameters: &[Value],
    ) -> Result<Vec<Vec<Value>>> {
        let Some(source) = &insert.source else {
            return Ok(vec![Vec::new()]);
        };
        if let Some(rows) = values(source)
            && let Some(rows) = self.constants(rows, executor.given(parameters))?
        {
            return Ok(rows);
        }
        let mut answer = executor.select(reader, source, parameters).await?;
        let mut rows = Vec::new();
        while let Some(more) = answer.next().await {
            for row in more? {
                self.check_count(row.len())?;
                let mut given = Vec::with_capacity(row.len());
                for (value, position) in row.into_iter().zip(&self.positions) {
                    let kind = self
                        .schema()
                        .columns()
                        .get(*position)
                        .map(|column| column.kind);
                    given.push(kind.map_or(Ok(Value::Null), |kind| cast(value, kind))?);
                }
                rows.push(given);
            }
        }
        Ok(rows)
    }

    /// The rows of VALUES, if all of them are constants.
    fn constants(
        &self,
        rows: &[ast::Parens<Vec<ast::Expr>>],
        given: Given<'_>,
    ) -> Result<Option<Vec<Vec<Value>>>> {
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            self.check_count(row.content.len())?;
            let mut values = Vec::with_capacity(row.content.len());
            for (expr, position) in row.content.iter().zip(&self.positions) {
                let kind = self
                    .schema()
                    .columns()
                    .get(*position)
                    .map(|column| column.kind);
                match constant(expr, kind, given)? {
                    Some(value) => values.push(value),
                    None => return Ok(None),
                }
            }
            found.push(values);
        }
        Ok(Some(found))
    }

    fn check_count(&self, given: usize) -> Result<()> {
        if given == self.positions.len() {
            return Ok(());
        }
        let table = self.schema().name().to_owned();
        let expected = self.positions.len();
        Err(Error::ValueCount {
            table,
            what: "columns to fill",
            expected,
            given,
        })
    }

    /// Writes one row as the statement's mode says. Answers with the row if one was written.
    fn write(
        &self,
        transaction: &mut Transaction,
        insert: &Insert,
        named: Vec<Value>,
        given: Given<'_>,
    ) -> Result<Option<Vec<Value>>> {
        let schema = self.schema();
        let mut row = vec![Value::Null; schema.columns().len()];
        for (value, position) in named.iter().zip(&self.positions) {
            if let Some(place) = row.get_mut(*position) {
                *place = value.clone();
            }
        }
        let key = schema.encode_key(&schema.key_of(&row))?;
        let whole = self.positions.len() == schema.columns().len();
        let reads = match insert.mode {
            Mode::Insert | Mode::UpdateOn => true,
            Mode::Upsert => !whole,
            Mode::Replace | Mode::DeleteOn => false,
        };
        let old = match reads {
            true => transaction.get(self.table.id(), &key)?,
            false => None,
        };
        let old = old.map(|bytes| schema.decode(&key, &bytes)).transpose()?;
        match (insert.mode, old) {
            (Mode::DeleteOn, _) => {
                transaction.delete(self.table.id(), key)?;
                return Ok(Some(row));
            }
            (Mode::UpdateOn, None) => return Ok(None),
            (Mode::Insert, Some(old)) => match &insert.on_conflict {
                None => return Err(exists(&self.table, &key)),
                Some(clause) => match self.resolve(clause, old, &row, given)? {
                    Some(merged) => row = merged,
                    None => return Ok(None),
                },
            },
            (Mode::Upsert | Mode::UpdateOn, Some(old)) => row = self.merge(old, named),
            _ => {}
        }
        let (key, bytes) = schema.encode(&row)?;
        transaction.put(self.table.id(), key, bytes)?;
        Ok(Some(row))
    }

    /// The old row with the given columns overwritten.
    fn merge(&self, mut old: Vec<Value>, given: Vec<Value>) -> Vec<Value> {
        for (value, position) in given.into_iter().zip(&self.positions) {
            if let Some(place) = old.get_mut(*position) {
                *place = value;
            }
        }
        old
    }

    /// The column that an assignment of ON CONFLICT is for.
    fn assigned(&self, assignment: &ast::Assignment) -> Result<usize> {
        let ast::AssignmentTarget::ColumnName(name) = &assignment.target else {
            let what = "DO UPDATE with SET (a, b) = …".to_owned();
            return Err(Error::Unsupported { what });
        };
        let name = name.0.last().and_then(|part| part.as_ident());
        self.schema()
            .column_position(&name.map(tree_name).unwrap_or_default())
    }

    /// What ON CONFLICT makes of the old row and the one that was to be inserted.
    fn resolve(
        &self,
        clause: &ast::OnConflict,
        old: Vec<Value>,
        excluded: &[Value],
        given: Given<'_>,
    ) -> Result<Option<Vec<Value>>> {
        let ast::OnConflictAction::DoUpdate(update) = &clause.action else {
            return Ok(None);
        };
        let unsupported = |what: &str| Error::Unsupported {
            what: format!("DO UPDATE with {what}"),
        };
        if update.selection.is_some() {
            return Err(unsupported("WHERE"));
        }
        let mut row = old.clone();
        for assignment in &update.assignments {
            let position = self.assigned(assignment)?;
            let column = self.schema().columns().get(position);
            let value = match &assignment.value {
                ast::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                    [of, column] if tree_name(of) == "excluded" => {
                        let from = self.schema().column_position(&tree_name(column))?;
                        excluded.get(from).cloned()
                    }
                    _ => None,
                },
                other => constant(other, column.map(|column| column.kind), given)?,
            };
            let value = value.ok_or_else(|| unsupported("this expression"))?;
            if let Some(place) = row.get_mut(position) {
                *place = value;
            }
        }
        Ok(Some(row))
    }
}

/// The rows of a VALUES list.
fn values(source: &ast::Query) -> Option<&[ast::Parens<Vec<ast::Expr>>]> {
    match source.body.as_ref() {
        ast::SetExpr::Values(values)
            if source.order_by.is_none() && source.limit_clause.is_none() =>
        {
            Some(&values.rows)
        }
        _ => None,
    }
}

/// The error of a row that is there already.
pub(crate) fn exists(table: &Table, key: &Bytes) -> Error {
    Error::RowExists {
        table: table.schema().name().to_owned(),
        key: format_key(key),
    }
}
