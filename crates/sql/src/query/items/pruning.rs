//! Which directories of a collection filters on partition attributes leave out unseen.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result as DataFusionResult, ScalarValue};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{ColumnarValue, Expr};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use keys::{Type, Value};

use crate::Table;
use crate::collection::{Collection, Source, partition_value};
use crate::query::columns::{data_type, field, scalar};
use crate::query::provider::external;

/// Filters on partition attributes alone, which leave directories out unseen.
pub(super) struct Pruning {
    filters: Vec<PartitionFilter>,
    /// The partition attributes, outermost first.
    columns: Vec<(String, Type)>,
    schema: SchemaRef,
}

struct PartitionFilter {
    filter: Arc<dyn PhysicalExpr>,
    /// What it looks at.
    columns: BTreeSet<String>,
}

impl Pruning {
    pub(super) fn new(
        table: &Table,
        items: &Collection,
        filters: &[Expr],
        properties: &ExecutionProps,
    ) -> Self {
        let columns = table.schema().columns().iter().zip(&items.sources);
        let columns = columns.filter(|(_, source)| matches!(source, Source::Partition(_)));
        let columns: Vec<(String, Type)> = columns
            .map(|(column, _)| (column.name.clone(), column.kind))
            .collect();
        let fields = columns.iter().map(|(name, kind)| field(name, *kind, true));
        let schema: SchemaRef = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let compiled = |filter: &Expr| compile(filter, &schema, properties);
        let filters = match columns.is_empty() {
            true => Vec::new(),
            false => filters.iter().filter_map(compiled).collect(),
        };
        Self {
            filters,
            columns,
            schema,
        }
    }

    /// Whether something in or below a directory may qualify, as far as its path tells. What it does
    /// not tell is NULL for items of the directory itself, which is `whole` then.
    pub(super) fn keeps(&self, parts: &[(&str, &str)], whole: bool) -> bool {
        let known = |column: &String| whole || parts.iter().any(|(name, _)| name == column);
        let mut filters = self.filters.iter();
        filters.all(|one| !one.columns.iter().all(known) || self.holds(one, parts).unwrap_or(true))
    }

    fn holds(&self, one: &PartitionFilter, parts: &[(&str, &str)]) -> DataFusionResult<bool> {
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, kind) in &self.columns {
            let part = parts.iter().find(|(name, _)| name == column);
            let value = part.map_or(Value::Null, |(_, text)| partition_value(text, *kind));
            let value = scalar(&value).map_err(external)?;
            let typed = data_type(*kind);
            arrays.push(value.cast_to(&typed)?.to_array()?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let schema = Arc::clone(&self.schema);
        let row = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        let value = match one.filter.evaluate(&row)? {
            ColumnarValue::Scalar(value) => value,
            ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0)?,
        };
        // What is unknown does not qualify.
        Ok(matches!(value, ScalarValue::Boolean(Some(true))))
    }
}

/// A filter that looks at partition attributes and nothing else.
fn compile(
    filter: &Expr,
    schema: &SchemaRef,
    properties: &ExecutionProps,
) -> Option<PartitionFilter> {
    let mut columns = BTreeSet::new();
    let mut alone = true;
    let walked = filter.apply(|part| {
        match part {
            Expr::Column(column) => {
                alone &= schema.field_with_name(&column.name).is_ok();
                columns.insert(column.name.clone());
            }
            Expr::OuterReferenceColumn(..)
            | Expr::ScalarSubquery(_)
            | Expr::Exists(_)
            | Expr::InSubquery(_) => alone = false,
            other => alone &= !other.is_volatile_node(),
        }
        Ok(TreeNodeRecursion::Continue)
    });
    if walked.is_err() || !alone || columns.is_empty() {
        return None;
    }
    let plain = unqualified(filter.clone())?;
    let fields = DFSchema::try_from(schema.as_ref().clone()).ok()?;
    let context = PhysicalPlanningContext::default();
    let filter = create_physical_expr(&plain, &fields, properties, &context).ok()?;
    Some(PartitionFilter { filter, columns })
}

/// The same with columns by their bare names.
fn unqualified(filter: Expr) -> Option<Expr> {
    let bare = filter.transform(|part| {
        Ok(match part {
            Expr::Column(column) if column.relation.is_some() => {
                Transformed::yes(Expr::Column(Column::new_unqualified(column.name)))
            }
            other => Transformed::no(other),
        })
    });
    bare.ok().map(|bare| bare.data)
}
