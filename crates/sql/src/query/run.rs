//! Planning and running a query.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::common::{Result as DataFusionResult, SchemaError};
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::execution::{SendableRecordBatchStream, SessionState};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionConfig;
use datafusion::scalar::ScalarValue;
use datafusion::sql::parser::Statement as DataFusionStatement;
use futures::StreamExt;
use keys::{Type, Value};
use syntax::ast;
use txn::Reader;

use super::columns::{TYPE_KEY, append, builder, data_type};
use super::names::{CATALOG, Names, SCHEMA};
use super::{functions, hidden, results};
use crate::catalog::nearest;
use crate::names::tree_name;
use crate::{Catalog, Error, Result};

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Type,
}

/// DataFusion, set up once.
#[derive(Debug)]
pub(crate) struct Queries {
    state: SessionState,
}

/// A query that was planned for one reader.
#[derive(Debug)]
pub(crate) struct PlannedQuery {
    state: SessionState,
    plan: LogicalPlan,
    names: Vec<Option<String>>,
}

/// The rows of a running query.
pub(crate) struct QueryRows {
    columns: Arc<[ResultColumn]>,
    batches: SendableRecordBatchStream,
}

impl Queries {
    pub(crate) fn new() -> Self {
        let mut config = SessionConfig::new().with_default_catalog_and_schema(CATALOG, SCHEMA);
        config = config
            .with_create_default_catalog_and_schema(false)
            .with_information_schema(false);
        // NULL sorts first in keys, and so everywhere.
        config.options_mut().sql_parser.default_null_ordering = "nulls_min".to_owned();
        let mut builder = SessionStateBuilder::new()
            .with_config(config)
            .with_default_features();
        builder = builder.with_type_planner(Arc::new(Types));
        let functions = builder.scalar_functions().get_or_insert_default();
        functions.extend(functions::all());
        Self {
            state: builder.build(),
        }
    }

    /// Plans a query over the tables as the reader sees them.
    pub(crate) async fn plan(
        &self,
        catalog: &Arc<Catalog>,
        reader: Reader,
        query: &ast::Query,
    ) -> Result<PlannedQuery> {
        let tables = Arc::new(Names::new(Arc::clone(catalog), reader));
        let mut state = SessionStateBuilder::new_from_existing(self.state.clone())
            .with_catalog_list(tables)
            .build();
        // Fixes what `now()` answers throughout the query.
        state.mark_start_execution();
        let names = result_names(query);
        let mut query = query.clone();
        hidden::hide(catalog, &mut query);
        let statement = ast::Statement::Query(Box::new(query));
        let statement = DataFusionStatement::Statement(Box::new(statement));
        let plan = state.statement_to_plan(statement).await.map_err(ours)?;
        Ok(PlannedQuery { state, plan, names })
    }
}

impl PlannedQuery {
    /// What the result looks like.
    pub(crate) fn columns(&self) -> Arc<[ResultColumn]> {
        columns(self.plan.schema().fields().iter(), &self.names)
    }

    /// The types of the parameters `$1`, `$2`, …, as far as the query tells.
    pub(crate) fn parameters(&self) -> Result<Vec<Option<Type>>> {
        let fields = self.plan.get_parameter_fields().map_err(ours)?;
        let mut kinds = Vec::new();
        for (name, field) in fields {
            let Some(number) = name.strip_prefix('$').and_then(|n| n.parse::<usize>().ok()) else {
                continue;
            };
            let index = number.saturating_sub(1);
            if kinds.len() <= index {
                kinds.resize(index + 1, None);
            }
            if let Some(place) = kinds.get_mut(index) {
                *place = field.map(|field| results::kind_of(&field));
            }
        }
        Ok(kinds)
    }

    /// Runs it with these parameters.
    pub(crate) async fn run(self, parameters: &[Value]) -> Result<QueryRows> {
        let Self {
            state,
            mut plan,
            names,
        } = self;
        if !parameters.is_empty() {
            let values = parameters.iter().map(scalar).collect::<Result<Vec<_>>>()?;
            plan = plan.with_param_values(values).map_err(ours)?;
        }
        let physical = state.create_physical_plan(&plan).await.map_err(ours)?;
        let batches = execute_stream(physical, state.task_ctx()).map_err(ours)?;
        let columns = columns(batches.schema().fields().iter(), &names);
        Ok(QueryRows { columns, batches })
    }
}

impl QueryRows {
    /// What the rows look like.
    pub(crate) fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.columns
    }

    /// Some more rows; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<Vec<Vec<Value>>>> {
        let batch = self.batches.next().await?;
        Some(batch.map_err(ours).and_then(|batch| results::rows(&batch)))
    }
}

fn columns<'f>(
    fields: impl Iterator<Item = &'f FieldRef>,
    names: &[Option<String>],
) -> Arc<[ResultColumn]> {
    let column = |(index, field): (usize, &FieldRef)| ResultColumn {
        name: names
            .get(index)
            .cloned()
            .flatten()
            .unwrap_or_else(|| field.name().clone()),
        kind: results::kind_of(field),
    };
    fields.enumerate().map(column).collect()
}

/// What PostgreSQL calls the columns that a query gives no name: a function's own name, or `?column?`.
fn result_names(query: &ast::Query) -> Vec<Option<String>> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return Vec::new();
    };
    let mut names = Vec::with_capacity(select.projection.len());
    for item in &select.projection {
        names.push(match item {
            ast::SelectItem::UnnamedExpr(expr) => result_name(expr),
            ast::SelectItem::ExprWithAlias { .. } => None,
            // How many columns a wildcard stands for is not known here.
            _ => return Vec::new(),
        });
    }
    names
}

pub(crate) fn result_name(expr: &ast::Expr) -> Option<String> {
    match expr {
        ast::Expr::Identifier(name) => Some(tree_name(name)),
        ast::Expr::CompoundIdentifier(parts) => parts.last().map(tree_name),
        ast::Expr::Nested(inner) | ast::Expr::Cast { expr: inner, .. } => result_name(inner),
        ast::Expr::Function(function) => {
            let name = function.name.0.last().and_then(|part| part.as_ident());
            name.map(tree_name)
        }
        _ => Some("?column?".to_owned()),
    }
}

/// A value as DataFusion's.
fn scalar(value: &Value) -> Result<ScalarValue> {
    let Some(kind) = value.value_type() else {
        return Ok(ScalarValue::Null);
    };
    let mut builder = builder(kind, 1);
    append(builder.as_mut(), kind, value)?;
    ScalarValue::try_from_array(&builder.finish(), 0).map_err(ours)
}

/// An error of DataFusion's as one of ours: ours that travelled through it, or its own words.
fn ours(error: DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(error) => *error,
            Err(other) => Error::Query {
                what: other.to_string(),
            },
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => ours(*inner),
        DataFusionError::Shared(inner) => Error::Query {
            what: inner.to_string(),
        },
        DataFusionError::ArrowError(inner, _) => arrow(&inner.to_string()),
        DataFusionError::SchemaError(inner, _) => match inner.as_ref() {
            SchemaError::FieldNotFound {
                field,
                valid_fields,
            } => Error::UnknownColumn {
                column: field.flat_name(),
                nearest: nearest(&field.name, valid_fields.iter().map(|one| &one.name)).cloned(),
            },
            other => Error::Query {
                what: other.to_string(),
            },
        },
        other => planning(&other.strip_backtrace()),
    }
}

/// DataFusion's words without its prefixes, and what PostgreSQL has a code of its own for.
fn planning(words: &str) -> Error {
    let prefixes = [
        "Error during planning: ",
        "Execution error: ",
        "This feature is not implemented: ",
    ];
    let what = prefixes
        .iter()
        .find_map(|prefix| words.strip_prefix(prefix))
        .unwrap_or(words);
    if let Some(rest) = what.strip_prefix("Invalid function '") {
        let name = rest.split('\'').next().unwrap_or_default().to_owned();
        return Error::NoSuchFunction { name };
    }
    Error::Query {
        what: what.to_owned(),
    }
}

fn arrow(what: &str) -> Error {
    if what.contains("Divide by zero") {
        return Error::DivisionByZero;
    }
    Error::Query {
        what: what.to_owned(),
    }
}

/// YQL's names of types in a cast.
#[derive(Debug)]
struct Types;

impl TypePlanner for Types {
    fn plan_type_field(&self, sql_type: &ast::DataType) -> DataFusionResult<Option<FieldRef>> {
        let kind = syntax::cast_type(sql_type);
        Ok(kind.map(|kind| {
            let field = Field::new("", data_type(kind), true);
            let name = (TYPE_KEY.to_owned(), kind.to_string());
            Arc::new(field.with_metadata([name].into()))
        }))
    }
}
