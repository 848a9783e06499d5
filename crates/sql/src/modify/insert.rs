//! INSERT, UPSERT, REPLACE, and UPDATE or DELETE with ON.

use std::collections::BTreeSet;
use std::sync::Arc;

use keys::{Type, Value};
use syntax::statement::Insert;
use syntax::{Mode, ast};
use txn::Transaction;

use super::change::new_value;
use super::conflict::{Conflict, Met};
use super::given::{check_generated, check_identity, follows, positions, said, values};
use super::patch::Blind;
use super::returning::{Returning, Written};
use super::rows::insert_drawn;
use super::{delete_row, find_row, insert_row, replace_row};
use crate::default::default_scalar;
use crate::execute::Answer;
use crate::foreign::Relations;
use crate::names::{column_name, table_name};
use crate::query::{PlannedQuery, ResultColumn};
use crate::scalar::{Given, Scalar, Scope};
use crate::{Catalog, Error, Executor, Result, Schema, Table, cast};

/// Up to how many rows of one statement are claimed. Whoever writes more goes at it alone, most of
/// the time.
const CLAIMED_ROWS_MAX: usize = 16;

/// An INSERT or the like that is ready to run.
#[derive(Debug)]
pub(crate) struct InsertPlan {
    pub(crate) table: Arc<Table>,
    pub(crate) mode: Mode,
    /// The columns that are given, in the order in which they are given.
    positions: Vec<usize>,
    /// What the other columns hold, by position; nothing for those that are given.
    others: Vec<Option<Scalar>>,
    /// The columns that are given, and the generated ones that follow from them alone.
    said: Vec<usize>,
    source: Source,
    conflict: Option<Conflict>,
    /// How rows are written of which nothing is read.
    blind: Option<Blind>,
    /// Whether others may be about to write the same keys: not if each is new by itself.
    contended: bool,
    /// Whether foreign keys are about its rows.
    related: bool,
    pub(crate) returning: Option<Returning>,
}

#[derive(Debug)]
enum Source {
    /// The given values of each row, which are all ours to work out.
    Rows(Vec<Vec<Scalar>>),
    /// Rows that DataFusion works out.
    Query(Box<ast::Query>),
}

/// A row to be written.
struct NewRow {
    /// The values that were given.
    given: Vec<Value>,
    /// All of its values.
    row: Vec<Value>,
}

impl InsertPlan {
    /// The statement, and the types of its parameters as far as they are known here.
    pub(crate) fn new(
        catalog: &Catalog,
        insert: &Insert,
        hints: &[Option<Type>],
    ) -> Result<(Self, Vec<Option<Type>>)> {
        let table = catalog.relation(&table_name(&insert.table)?)?;
        let schema = table.schema();
        let positions = positions(schema, insert)?;
        check_identity(schema, &positions, insert)?;
        check_generated(schema, &positions, insert.mode)?;
        let said = said(schema, &positions);
        let mut others = Vec::with_capacity(schema.columns().len());
        for (position, column) in schema.columns().iter().enumerate() {
            others.push(match positions.contains(&position) {
                true => None,
                false => Some(default_scalar(column)?),
            });
        }
        let alias = insert.alias.as_ref().map(column_name);
        let mut scope = Scope::rowless(hints);
        let source = match &insert.source {
            None => Source::Rows(vec![Vec::new()]),
            Some(query) => source(schema, &positions, query, &mut scope)?,
        };
        let mut row_scope = Scope::new(schema, alias, &scope.parameters);
        row_scope.with_excluded();
        let conflict = match &insert.on_conflict {
            None => None,
            Some(clause) => Some(Conflict::new(&table, clause, &mut row_scope)?),
        };
        let returning = Returning::new(&table, insert.returning.as_deref(), &mut row_scope)?;
        let blind = match insert.mode {
            Mode::Upsert if returning.is_none() => Blind::new(&table, &said, &positions)?,
            _ => None,
        };
        let parameters = std::mem::take(&mut row_scope.parameters);
        let always_new = |position: &usize| {
            let other = others.get(*position).and_then(Option::as_ref);
            other.is_some_and(|scalar| !scalar.is_fixed())
        };
        let plan = Self {
            contended: !schema.key_positions().iter().any(always_new),
            related: Relations::of(catalog, &table)?.is_some(),
            table: Arc::clone(&table),
            mode: insert.mode,
            positions,
            others,
            said,
            source,
            conflict,
            blind,
            returning,
        };
        Ok((plan, parameters))
    }

    /// The query that gives the rows, if they are not ours to work out.
    pub(crate) fn query(&self) -> Option<&ast::Query> {
        match &self.source {
            Source::Query(query) => Some(query),
            Source::Rows(_) => None,
        }
    }

    /// Whether DataFusion works out what becomes of rows that exist.
    pub(crate) fn is_computed(&self) -> bool {
        let conflict = self.conflict.as_ref();
        conflict.is_some_and(Conflict::is_computed)
    }

    pub(crate) fn columns(&self) -> Option<Arc<[ResultColumn]>> {
        let returning = self.returning.as_ref();
        returning.map(|returning| Arc::clone(&returning.columns))
    }

    /// The rows that would be written, with nothing in the place of values that nobody knows before;
    /// `None` if a query gives them.
    pub(crate) fn known_rows(&self, given: Given<'_>) -> Result<Option<Vec<Vec<Option<Value>>>>> {
        let Source::Rows(rows) = &self.source else {
            return Ok(None);
        };
        let known = |scalar: &Scalar| match scalar.is_fixed() {
            false => Ok(None),
            true => match scalar.value(given) {
                Err(Error::NoSuchParameter { .. }) => Ok(None),
                value => value.map(Some),
            },
        };
        let mut found = Vec::with_capacity(rows.len());
        for scalars in rows {
            let mut row = Vec::with_capacity(self.others.len());
            for other in &self.others {
                row.push(other.as_ref().map_or(Ok(None), known)?);
            }
            for (scalar, position) in scalars.iter().zip(&self.positions) {
                if let Some(place) = row.get_mut(*position) {
                    *place = known(scalar)?;
                }
            }
            self.known_generated(&mut row);
            found.push(row);
        }
        Ok(Some(found))
    }

    /// Works out the generated columns of a row as far as it is known.
    fn known_generated(&self, row: &mut [Option<Value>]) {
        for generated in self.table.schema().generated() {
            let known = |position: &usize| row.get(*position).is_some_and(Option::is_some);
            let value = match generated.inputs.iter().all(known) {
                true => {
                    let values = row.iter().cloned();
                    let values = values.map(|value| value.unwrap_or(Value::Null));
                    generated.value(&values.collect::<Vec<_>>()).ok()
                }
                false => None,
            };
            if let Some(place) = row.get_mut(generated.position) {
                *place = value;
            }
        }
    }

    /// Whether the row that is there is read before a new one is written.
    pub(crate) fn reads_first(&self) -> bool {
        let whole = self.said.len() == self.table.schema().columns().len();
        let indexed = !self.table.schema().writes_unseen();
        match self.mode {
            Mode::Insert | Mode::UpdateOn => true,
            Mode::Upsert if self.table.collection().is_some() => true,
            Mode::Upsert => indexed || !whole && self.blind.is_none(),
            Mode::Replace | Mode::DeleteOn => indexed,
        }
    }

    /// What happens to rows that exist, if the statement says.
    pub(crate) fn on_conflict(&self) -> Option<&'static str> {
        let conflict = self.conflict.as_ref()?;
        Some(match conflict.updates() {
            true => "update",
            false => "do nothing",
        })
    }

    /// Runs the statement.
    pub(crate) async fn run(
        &self,
        executor: &Executor,
        transaction: &mut Transaction,
        query: Option<&PlannedQuery>,
        parameters: &[Value],
    ) -> Result<Answer> {
        let given = executor.given(parameters);
        transaction.expect_epoch(self.table.id(), self.table.epoch());
        let command = match self.mode {
            Mode::UpdateOn => "UPDATE",
            Mode::DeleteOn => "DELETE",
            _ => "INSERT",
        };
        let mut answer = Written::new(command, self.returning.as_ref(), self.related);
        let mut planned = None;
        match &self.source {
            Source::Rows(rows) => {
                let mut new = Vec::with_capacity(rows.len());
                for scalars in rows {
                    let values = scalars.iter().map(|scalar| scalar.value(given));
                    new.push(self.new_row(values.collect::<Result<_>>()?, given)?);
                }
                if self.reads_first() && new.len() <= CLAIMED_ROWS_MAX {
                    self.claim(transaction, &new).await?;
                }
                for row in new {
                    if let Some(met) = self.write(transaction, row, given, &mut answer)? {
                        let out = (&mut answer, &mut planned);
                        Box::pin(self.settle(transaction, met, given, out)).await?;
                    }
                }
            }
            Source::Query(asked) => {
                let reader = transaction.reader();
                let mut rows = match query {
                    Some(query) => Box::pin(query.run(reader, given)).await?,
                    None => Box::pin(executor.select_planned(reader, asked, parameters)).await?,
                };
                while let Some(more) = rows.next().await {
                    for values in more? {
                        let row = self.new_row(self.cast_all(values)?, given)?;
                        if let Some(met) = self.write(transaction, row, given, &mut answer)? {
                            let out = (&mut answer, &mut planned);
                            Box::pin(self.settle(transaction, met, given, out)).await?;
                        }
                    }
                }
                executor.note_figures(&rows)?;
            }
        }
        answer.settle(executor, transaction)?;
        Ok(answer.finish())
    }

    /// The values of a query's row in the types of their columns.
    fn cast_all(&self, values: Vec<Value>) -> Result<Vec<Value>> {
        let schema = self.table.schema();
        check_count(schema, &self.positions, values.len())?;
        let mut typed = Vec::with_capacity(values.len());
        for (value, position) in values.into_iter().zip(&self.positions) {
            let column = schema.columns().get(*position);
            typed.push(column.map_or(Ok(Value::Null), |column| cast(value, column.kind))?);
        }
        Ok(typed)
    }

    /// Waits for those who are writing the same keys, or the same values in unique indexes, in an order
    /// that is the same for everybody.
    async fn claim(&self, transaction: &mut Transaction, rows: &[NewRow]) -> Result<()> {
        if let Some(items) = self.table.collection() {
            for NewRow { row, .. } in rows {
                items.claim(transaction, row).await?;
            }
            return Ok(());
        }
        let schema = self.table.schema();
        let (mut keys, mut entries) = (BTreeSet::new(), BTreeSet::new());
        for NewRow { row, .. } in rows {
            if self.contended {
                keys.insert(schema.encode_key(&schema.key_of(row))?);
            }
            for index in self.table.indexes().iter().filter(|index| index.unique) {
                let values = index.own_values(row)?;
                entries.extend(values.map(|values| (index.id, values)));
            }
        }
        for key in keys {
            transaction.claim(self.table.id(), &key).await?;
        }
        for (index, values) in entries {
            transaction.claim_prefix(index, &values).await?;
        }
        Ok(())
    }

    /// The row with these values, and the defaults of the columns that are not given.
    fn new_row(&self, values: Vec<Value>, given: Given<'_>) -> Result<NewRow> {
        let mut row = Vec::with_capacity(self.others.len());
        for other in &self.others {
            row.push(match other {
                Some(scalar) => scalar.value(given)?,
                None => Value::Null,
            });
        }
        overwrite(&mut row, &self.positions, &values);
        let schema = self.table.schema();
        schema.fit(&mut row)?;
        if !schema.generated().is_empty() {
            self.generate(&mut row, &values)?;
        }
        if let Some(items) = self.table.collection() {
            items.place(schema, &mut row, None)?;
        }
        Ok(NewRow { given: values, row })
    }

    /// Works out the generated columns of a new row.
    fn generate(&self, row: &mut [Value], given: &[Value]) -> Result<()> {
        let schema = self.table.schema();
        if matches!(self.mode, Mode::Insert | Mode::Replace) {
            return schema.generate(row, &self.positions);
        }
        // What the statement does not say may be in the row that is there.
        let checked = self.positions.iter().copied();
        let checked = checked.filter(|position| follows(schema, *position, &self.positions));
        schema.generate(row, &checked.collect::<Vec<_>>())?;
        for (position, value) in self.trusted(given) {
            overwrite(row, &[position], &[value]);
        }
        Ok(())
    }

    /// The values that are given for generated columns and cannot be checked yet.
    fn trusted(&self, values: &[Value]) -> Vec<(usize, Value)> {
        let schema = self.table.schema();
        let given = self.positions.iter().zip(values);
        let open = given.filter(|(position, value)| {
            let generated = schema.generated_at(**position).is_some();
            generated && !value.is_null() && !follows(schema, **position, &self.positions)
        });
        open.map(|(position, value)| (*position, value.clone()))
            .collect()
    }

    /// Writes one row, unless it met one of which DataFusion has to work out what it becomes.
    fn write(
        &self,
        transaction: &mut Transaction,
        new: NewRow,
        given: Given<'_>,
        answer: &mut Written<'_>,
    ) -> Result<Option<Met>> {
        let schema = self.table.schema();
        let mut row = new.row;
        if let Some(executor) = given.executor {
            executor.warn_of_row(schema, &row);
        }
        if self.mode == Mode::Insert {
            return self.insert(transaction, row, given, answer);
        }
        if let Some(blind) = &self.blind {
            let (key, new) = schema.encode(&row)?;
            transaction.patch(self.table.id(), key, blind.patch(&new))?;
            answer.add(&row, given)?;
            return Ok(None);
        }
        let old = match self.reads_first() {
            true => find_row(transaction, &self.table, &row)?,
            false => None,
        };
        match (self.mode, &old) {
            (Mode::DeleteOn, old) => {
                let old = old.as_ref().unwrap_or(&row);
                delete_row(transaction, &self.table, old)?;
                answer.note(&self.table, Some(old), None);
                answer.add(&row, given)?;
                return Ok(None);
            }
            (Mode::UpdateOn, None) => return Ok(None),
            (Mode::Upsert | Mode::UpdateOn, Some(old)) => {
                row.clone_from(old);
                overwrite(&mut row, &self.positions, &new.given);
                schema.fit(&mut row)?;
                schema.generate(&mut row, &self.positions)?;
            }
            (Mode::Upsert, None) => schema.generate(&mut row, &self.positions)?,
            _ => {}
        }
        replace_row(transaction, &self.table, old.as_deref(), &row)?;
        answer.note(&self.table, old.as_deref(), Some(&row));
        answer.add_written(transaction, &self.table, &row, given)?;
        Ok(None)
    }

    /// Writes a row where none is; ON CONFLICT says what happens otherwise.
    fn insert(
        &self,
        transaction: &mut Transaction,
        row: Vec<Value>,
        given: Given<'_>,
        answer: &mut Written<'_>,
    ) -> Result<Option<Met>> {
        let table = &self.table;
        if let Some(conflict) = &self.conflict
            && let Some(old) = conflict.find(transaction, table, &row)?
        {
            let met = Met { old, row };
            if conflict.is_computed() {
                return Ok(Some(met));
            }
            self.merge(transaction, &met, (given, &[]), answer)?;
            return Ok(None);
        }
        match table.schema().draws_key() {
            true => insert_drawn(transaction, table, &row)?,
            false => insert_row(transaction, table, &row)?,
        }
        answer.note(table, None, Some(&row));
        answer.add_written(transaction, table, &row, given)?;
        Ok(None)
    }

    /// Writes what becomes of a row that was met, once DataFusion has worked out what that is.
    async fn settle(
        &self,
        transaction: &mut Transaction,
        met: Met,
        given: Given<'_>,
        (answer, planned): (&mut Written<'_>, &mut Option<PlannedQuery>),
    ) -> Result<()> {
        let Some(conflict) = &self.conflict else {
            return Ok(());
        };
        let reader = transaction.reader();
        let values = conflict.compute(reader, &met, given, planned).await?;
        self.merge(transaction, &met, (given, &values), answer)
    }

    fn merge(
        &self,
        transaction: &mut Transaction,
        met: &Met,
        given: (Given<'_>, &[Value]),
        answer: &mut Written<'_>,
    ) -> Result<()> {
        let table = &self.table;
        if let Some(conflict) = &self.conflict
            && let Some(row) = conflict.merge(transaction, table, met, given)?
        {
            answer.note(table, Some(&met.old), Some(&row));
            answer.add_written(transaction, table, &row, given.0)?;
        }
        Ok(())
    }
}

fn overwrite(row: &mut [Value], positions: &[usize], values: &[Value]) {
    for (value, position) in values.iter().zip(positions) {
        if let Some(place) = row.get_mut(*position) {
            *place = value.clone();
        }
    }
}

/// Where the rows come from.
fn source(
    schema: &Schema,
    positions: &[usize],
    query: &ast::Query,
    scope: &mut Scope<'_>,
) -> Result<Source> {
    let by_query = || Source::Query(Box::new(query.clone()));
    let Some(rows) = values(query) else {
        return Ok(by_query());
    };
    let mut compiled = Vec::with_capacity(rows.len());
    for row in rows {
        check_count(schema, positions, row.content.len())?;
        let mut scalars = Vec::with_capacity(row.content.len());
        for (expr, position) in row.content.iter().zip(positions) {
            match new_value(schema, *position, expr, scope)? {
                Some(scalar) => scalars.push(scalar),
                None => return Ok(by_query()),
            }
        }
        compiled.push(scalars);
    }
    Ok(Source::Rows(compiled))
}

fn check_count(schema: &Schema, positions: &[usize], given: usize) -> Result<()> {
    if given == positions.len() {
        return Ok(());
    }
    Err(Error::ValueCount {
        table: schema.name().to_owned(),
        what: "columns to fill",
        expected: positions.len(),
        given,
    })
}
