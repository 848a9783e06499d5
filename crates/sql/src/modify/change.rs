//! UPDATE and DELETE.

use std::collections::HashSet;
use std::sync::Arc;

use keys::{Declared, Type, Value};
use syntax::ast;
use txn::{Direction, Transaction};

use super::found::Found;
use super::returning::{Returning, Written};
use super::{Run, delete_row, replace_row};
use crate::default::{default_scalar, is_default};
use crate::execute::Answer;
use crate::fast::{Keys, Path};
use crate::foreign::Relations;
use crate::names::{tree_name, tree_table_name};
use crate::query::ResultColumn;
use crate::scalar::{Given, Scalar, Scope};
use crate::{Catalog, Error, Executor, Identity, Result, Schema, Table, cast};

/// An UPDATE or DELETE that is ready to run.
#[derive(Debug)]
pub(crate) struct ChangePlan {
    pub(crate) table: Arc<Table>,
    /// What an UPDATE assigns; `None` is DELETE.
    assigned: Option<Vec<Assigned>>,
    /// How rows are found without DataFusion.
    pub(crate) path: Option<Path>,
    /// Which row is locked before DataFusion finds it, to work out values that we cannot.
    locked: Option<Path>,
    /// How DataFusion finds them.
    found: Found,
    pub(crate) returning: Option<Returning>,
    /// Whether foreign keys are about what it changes.
    related: bool,
}

/// A new value of a column.
#[derive(Debug)]
struct Assigned {
    position: usize,
    /// The value, if it is one of our expressions.
    value: Option<Scalar>,
    /// Whether it is the column's default, which no query can tell.
    default: bool,
}

/// The parts of the statement that matter here.
struct Parts<'s> {
    table: Arc<Table>,
    alias: Option<String>,
    target: &'s ast::TableWithJoins,
    others: Vec<ast::TableWithJoins>,
    assignments: Option<&'s [ast::Assignment]>,
    selection: Option<&'s ast::Expr>,
    returning: Option<&'s [ast::SelectItem]>,
}

impl ChangePlan {
    /// UPDATE, and the types of its parameters as far as they are known here.
    pub(crate) fn update(
        catalog: &Catalog,
        update: &ast::Update,
        hints: &[Option<Type>],
    ) -> Result<(Self, Vec<Option<Type>>)> {
        let refused = update.output.is_some()
            || update.or.is_some()
            || update.limit.is_some()
            || !update.order_by.is_empty();
        if refused {
            return Err(unsupported("UPDATE with ORDER BY or LIMIT"));
        }
        let others = match &update.from {
            None => Vec::new(),
            Some(
                ast::UpdateTableFromKind::BeforeSet(from)
                | ast::UpdateTableFromKind::AfterSet(from),
            ) => from.clone(),
        };
        let (table, alias) = target(catalog, &update.table)?;
        let parts = Parts {
            table,
            alias,
            target: &update.table,
            others,
            assignments: Some(&update.assignments),
            selection: update.selection.as_ref(),
            returning: update.returning.as_deref(),
        };
        Self::new(catalog, &parts, hints)
    }

    /// DELETE, and the types of its parameters as far as they are known here.
    pub(crate) fn delete(
        catalog: &Catalog,
        delete: &ast::Delete,
        hints: &[Option<Type>],
    ) -> Result<(Self, Vec<Option<Type>>)> {
        if delete.limit.is_some() || !delete.order_by.is_empty() {
            return Err(unsupported("DELETE with ORDER BY or LIMIT"));
        }
        let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
            &delete.from;
        let [from] = from.as_slice() else {
            return Err(unsupported("DELETE from several tables"));
        };
        let (table, alias) = target(catalog, from)?;
        let parts = Parts {
            table,
            alias,
            target: from,
            others: delete.using.clone().unwrap_or_default(),
            assignments: None,
            selection: delete.selection.as_ref(),
            returning: delete.returning.as_deref(),
        };
        Self::new(catalog, &parts, hints)
    }

    /// The same, of rows that no foreign key is about any more.
    pub(crate) fn unrelated(self) -> Self {
        Self {
            related: false,
            ..self
        }
    }

    fn new(
        catalog: &Catalog,
        parts: &Parts<'_>,
        hints: &[Option<Type>],
    ) -> Result<(Self, Vec<Option<Type>>)> {
        let table = Arc::clone(&parts.table);
        let schema = table.schema();
        let mut scope = Scope::new(schema, parts.alias.clone(), hints);
        let mut assigned = Vec::new();
        for assignment in parts.assignments.unwrap_or_default() {
            let position = assigned_column(schema, assignment)?;
            refuse_twice(schema, &assigned, position)?;
            if !is_default(&assignment.value) {
                refuse_always(schema, position)?;
            }
            let value = new_value(schema, position, &assignment.value, &mut scope)?;
            assigned.push(Assigned {
                position,
                value,
                default: is_default(&assignment.value),
            });
        }
        let path = match table.collection().is_none() && parts.others.is_empty() {
            true => Path::choose(&table, parts.selection, &mut scope, None, None)?,
            false => None,
        };
        let (path, locked) = match assigned.iter().all(|one| one.value.is_some()) {
            true => (path, None),
            false => (None, path),
        };
        let returning = Returning::new(&table, parts.returning, &mut scope)?;
        let found = Found::new(
            schema,
            parts.target,
            &parts.others,
            parts.selection,
            parts.assignments.unwrap_or_default(),
        )?;
        let parameters = std::mem::take(&mut scope.parameters);
        let plan = Self {
            table: Arc::clone(&table),
            assigned: parts.assignments.map(|_| assigned),
            path,
            locked,
            found,
            returning,
            related: Relations::of(catalog, &table)?.is_some(),
        };
        Ok((plan, parameters))
    }

    /// The columns that an UPDATE assigns; `None` is DELETE.
    pub(crate) fn assigned(&self) -> Option<Vec<usize>> {
        let assigned = self.assigned.as_ref()?.iter();
        let mut positions: Vec<usize> = assigned.map(|one| one.position).collect();
        // Generated columns change with what they are worked out from.
        let generated = self.table.schema().generated().iter();
        let moved = generated.filter(|one| {
            let mut inputs = one.inputs.iter();
            inputs.any(|input| positions.contains(input)) && !positions.contains(&one.position)
        });
        let moved: Vec<usize> = moved.map(|one| one.position).collect();
        positions.extend(moved);
        Some(positions)
    }

    /// The query that finds the rows by DataFusion.
    pub(crate) fn found(&self) -> &ast::Query {
        &self.found.query
    }

    /// The query that finds the rows, unless they are found by key.
    pub(crate) fn query(&self) -> Option<&ast::Query> {
        self.path.is_none().then_some(&self.found.query)
    }

    pub(crate) fn columns(&self) -> Option<Arc<[ResultColumn]>> {
        let returning = self.returning.as_ref();
        returning.map(|returning| Arc::clone(&returning.columns))
    }

    /// Runs the statement.
    pub(crate) async fn run(
        &self,
        executor: &Executor,
        transaction: &mut Transaction,
        run: Run<'_>,
    ) -> Result<Answer> {
        let given = executor.given(run.parameters);
        transaction.expect_epoch(self.table.id(), self.table.epoch());
        let pairs = match self.path.as_ref().filter(|_| run.fast) {
            Some(path) => self.by_key(path, transaction, given).await?,
            None => None,
        };
        let pairs = match pairs {
            Some(pairs) => pairs,
            None => {
                if let Some(path) = &self.locked
                    && let Some(keys) = path.keys(transaction.snapshot(), given)?
                {
                    self.lock(path, &keys, transaction).await?;
                }
                Box::pin(self.by_query(executor, transaction, run)).await?
            }
        };
        let command = match self.assigned {
            Some(_) => "UPDATE",
            None => "DELETE",
        };
        let mut answer = Written::new(command, self.returning.as_ref(), self.related);
        for (old, new) in pairs {
            match new {
                Some(new) => {
                    executor.warn_of_row(self.table.schema(), &new);
                    replace_row(transaction, &self.table, Some(&old), &new)?;
                    answer.note(&self.table, Some(&old), Some(&new));
                    answer.add_written(transaction, &self.table, &new, given)?;
                }
                None => {
                    delete_row(transaction, &self.table, &old)?;
                    answer.note(&self.table, Some(&old), None);
                    answer.add(&old, given)?;
                }
            }
        }
        answer.settle(executor, transaction)?;
        Ok(answer.finish())
    }

    /// Locks the row of a point.
    async fn lock(&self, path: &Path, keys: &Keys, transaction: &mut Transaction) -> Result<()> {
        if let (Keys::Point(key), None) = (keys, &path.index) {
            transaction.claim(self.table.id(), key).await?;
        }
        Ok(())
    }

    /// The rows and what becomes of them, found by key. `None` if these parameters take DataFusion.
    async fn by_key(
        &self,
        path: &Path,
        transaction: &mut Transaction,
        given: Given<'_>,
    ) -> Result<Option<Vec<Pair>>> {
        let Some(keys) = path.keys(transaction.snapshot(), given)? else {
            return Ok(None);
        };
        self.lock(path, &keys, transaction).await?;
        let mut rows = path.read(keys, transaction.reader(), Direction::Ascending);
        let mut pairs = Vec::new();
        while let Some(old) = rows.next(path, given)? {
            let given = given.with_row(&old);
            let new = self.new_row(&old, |assigned| match &assigned.value {
                Some(value) => value.value(given),
                None => Ok(Value::Null),
            })?;
            pairs.push((old, new));
        }
        Ok(Some(pairs))
    }

    /// The same, found by DataFusion: all columns of the table, then the new values.
    async fn by_query(
        &self,
        executor: &Executor,
        transaction: &Transaction,
        run: Run<'_>,
    ) -> Result<Vec<Pair>> {
        let schema = self.table.schema();
        let given = executor.given(run.parameters);
        let rows = self.found.rows(executor, transaction, run);
        let mut pairs = Vec::new();
        // A join may find a row several times; it is changed once.
        let mut seen = HashSet::new();
        for mut old in rows.await? {
            let mut values = old.split_off(schema.columns().len()).into_iter();
            if self.found.joined && !seen.insert(schema.encode_key(&schema.key_of(&old))?) {
                continue;
            }
            let new = self.new_row(&old, |assigned| {
                let value = values.next().unwrap_or(Value::Null);
                match &assigned.value {
                    Some(default) if assigned.default => default.value(given),
                    _ => Ok(value),
                }
            })?;
            pairs.push((old, new));
        }
        Ok(pairs)
    }

    /// The row with its new values.
    fn new_row(
        &self,
        old: &[Value],
        mut value: impl FnMut(&Assigned) -> Result<Value>,
    ) -> Result<Option<Vec<Value>>> {
        let Some(assigned) = &self.assigned else {
            return Ok(None);
        };
        let mut new = old.to_vec();
        for one in assigned {
            let value = value(one)?;
            let column = self.table.schema().columns().get(one.position);
            if let (Some(place), Some(column)) = (new.get_mut(one.position), column) {
                *place = cast(value, column.kind)?;
            }
        }
        let schema = self.table.schema();
        schema.fit(&mut new)?;
        if !schema.generated().is_empty() {
            let assigned = assigned.iter().map(|one| one.position);
            schema.generate(&mut new, &assigned.collect::<Vec<_>>())?;
        }
        if let Some(items) = self.table.collection() {
            items.place(schema, &mut new, Some(old))?;
        }
        Ok(Some(new))
    }
}

/// A row, and what it becomes.
type Pair = (Vec<Value>, Option<Vec<Value>>);

/// The value that an assignment gives, if it is one of our expressions.
pub(super) fn new_value(
    schema: &Schema,
    position: usize,
    expr: &ast::Expr,
    scope: &mut Scope<'_>,
) -> Result<Option<Scalar>> {
    let Some(column) = schema.columns().get(position) else {
        return Ok(None);
    };
    if is_default(expr) {
        return default_scalar(column).map(Some);
    }
    if let (Declared::Timestamp(_), Some((None, text))) =
        (column.declared, syntax::literal_text(expr))
        && text.contains(':')
    {
        let value = written_text(&text, column.kind, column.declared)?;
        return Ok(Some(Scalar::Value(value)));
    }
    scope.assign(expr, column.kind)
}

/// A text that is assigned to a column as it is written.
pub(crate) fn written_text(text: &str, kind: Type, declared: Declared) -> Result<Value> {
    let text = match declared {
        // A zone in a text says nothing about a time without one.
        Declared::Timestamp(_) if text.contains(':') => declared.cut(text),
        _ => text,
    };
    cast(Value::from(text), kind)
}

/// An error if the column is assigned already.
fn refuse_twice(schema: &Schema, assigned: &[Assigned], position: usize) -> Result<()> {
    let column = schema.columns().get(position);
    match column.filter(|_| assigned.iter().any(|one| one.position == position)) {
        Some(column) => Err(Error::ColumnTwice {
            table: schema.name().to_owned(),
            column: column.name.clone(),
        }),
        None => Ok(()),
    }
}

/// An error if the column always counts by itself.
pub(super) fn refuse_always(schema: &Schema, position: usize) -> Result<()> {
    match schema.columns().get(position) {
        Some(column) if column.identity == Some(Identity::Always) => Err(Error::IdentityValue {
            table: schema.name().to_owned(),
            column: column.name.clone(),
        }),
        _ => Ok(()),
    }
}

/// The column that an assignment is for.
pub(super) fn assigned_column(schema: &Schema, assignment: &ast::Assignment) -> Result<usize> {
    // Those to several columns were taken apart when they were read.
    let ast::AssignmentTarget::ColumnName(name) = &assignment.target else {
        return Err(unsupported("SET of several columns in such a statement"));
    };
    let name = name.0.last().and_then(|part| part.as_ident());
    schema.column_position(&name.map(tree_name).unwrap_or_default())
}

fn target(catalog: &Catalog, from: &ast::TableWithJoins) -> Result<(Arc<Table>, Option<String>)> {
    match &from.relation {
        ast::TableFactor::Table { name, alias, .. } if from.joins.is_empty() => {
            let alias = alias.as_ref().map(|alias| tree_name(&alias.name));
            Ok((catalog.relation(&tree_table_name(name)?)?, alias))
        }
        _ => Err(unsupported("a statement that changes a join")),
    }
}

fn unsupported(what: &str) -> Error {
    Error::Unsupported {
        what: what.to_owned(),
    }
}
