//! Queries that stand for one value and speak of the row around them.
//!
//! ```text
//!   SELECT (SELECT name FROM users WHERE users.id = t.owner) FROM t
//!   SELECT (SELECT only(array_agg(name)) FROM users WHERE users.id = t.owner) FROM t
//! ```
//!
//! DataFusion makes joins of them if it sees that there is one row at most, which an aggregate says. More
//! rows than one are refused when they come, as in PostgreSQL.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result as DataFusionResult};
use datafusion::error::DataFusionError;
use datafusion::functions_aggregate::expr_fn::array_agg;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Subquery, Volatility,
};

use super::provider::external;
use crate::{Error, Fault};

/// The plan with aggregates in such queries.
pub(super) fn aggregated(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    let done = plan.transform_down_with_subqueries(|node| {
        node.map_expressions(|expr| {
            expr.transform(|expr| match expr {
                Expr::ScalarSubquery(query) if may_repeat(&query) => {
                    single(query).map(|one| Transformed::yes(Expr::ScalarSubquery(one)))
                }
                other => Ok(Transformed::no(other)),
            })
        })
    });
    done.map(|done| done.data)
}

/// Whether nothing says that a query which speaks of the row around it has one row at most.
fn may_repeat(query: &Subquery) -> bool {
    let mut plan = query.subquery.as_ref();
    if query.outer_ref_columns.is_empty() || plan.max_rows().is_some_and(|rows| rows <= 1) {
        return false;
    }
    loop {
        plan = match plan {
            LogicalPlan::Projection(node) => &node.input,
            LogicalPlan::SubqueryAlias(node) => &node.input,
            LogicalPlan::Sort(node) => &node.input,
            LogicalPlan::Filter(node) => &node.input,
            LogicalPlan::Aggregate(_) | LogicalPlan::Limit(_) => return false,
            _ => return true,
        };
    }
}

fn single(query: Subquery) -> DataFusionResult<Subquery> {
    let Some(column) = query.subquery.schema().iter().next().map(Column::from) else {
        return Ok(query);
    };
    let name = column.name.clone();
    let gathered = array_agg(Expr::Column(column));
    let gathered_name = Column::from_name(gathered.schema_name().to_string());
    let only = ScalarFunction::new_udf(
        Arc::new(ScalarUDF::new_from_impl(Only::new())),
        vec![Expr::Column(gathered_name)],
    );
    let plan = LogicalPlanBuilder::from(Arc::unwrap_or_clone(query.subquery))
        .aggregate(Vec::<Expr>::new(), [gathered])?
        .project([Expr::ScalarFunction(only).alias(name)])?
        .build()?;
    Ok(Subquery {
        subquery: Arc::new(plan),
        outer_ref_columns: query.outer_ref_columns,
        spans: query.spans,
    })
}

/// The only element of a list; NULL if there is none.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Only {
    signature: Signature,
}

impl Only {
    fn new() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Only {
    fn name(&self) -> &'static str {
        "only"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> DataFusionResult<DataType> {
        match kinds {
            [DataType::List(item)] => Ok(item.data_type().clone()),
            _ => Err(DataFusionError::Internal("only() takes a list".to_owned())),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let Some(list) = args.args.first() else {
            return Err(DataFusionError::Internal("only() takes a list".to_owned()));
        };
        let lists = list.to_array(args.number_rows)?;
        let lists = lists.as_list::<i32>();
        let mut places = Vec::with_capacity(lists.len());
        for (row, offset) in lists.value_offsets().iter().take(lists.len()).enumerate() {
            places.push(match lists.value_length(row) {
                _ if lists.is_null(row) => None,
                0 => None,
                1 => u64::try_from(*offset).ok(),
                _ => {
                    return Err(external(Error::Refused {
                        fault: Fault::Cardinality,
                        what: "a subquery that stands for a value gave more than one row"
                            .to_owned(),
                    }));
                }
            });
        }
        let values = take(lists.values(), &UInt64Array::from(places), None)?;
        Ok(ColumnarValue::Array(values))
    }
}
