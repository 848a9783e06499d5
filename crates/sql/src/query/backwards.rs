//! Reads a table backwards, or its buckets side by side, where that saves a sort.
//!
//! ```text
//!   Sort [at DESC]                              Sort [at DESC]         no longer needed, and taken
//!     Filter user = 7                 becomes     Filter user = 7      away by DataFusion itself
//!       Scan in the order (user, at)                Scan backwards
//!
//!   Sort [at]                                   Sort [at]
//!     Scan in the order (bucket, at)  becomes     Scan in the order (at), buckets merged
//! ```

use std::sync::Arc;

use datafusion::common::Result as DataFusionResult;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};

use super::scan::ScanExec;

/// Turns scans around, or merges their buckets, below sorts.
#[derive(Debug, Default)]
pub(crate) struct Backwards;

impl PhysicalOptimizerRule for Backwards {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| {
            let Some(sort) = node.downcast_ref::<SortExec>() else {
                return Ok(Transformed::no(node));
            };
            let order: Vec<PhysicalSortExpr> = sort.expr().iter().cloned().collect();
            match turned(sort.input(), &order)? {
                Some(input) => {
                    let node = Arc::clone(&node).replace_children(vec![input], recompute())?;
                    Ok(Transformed::yes(node))
                }
                None => Ok(Transformed::no(node)),
            }
        })
        .data()
    }

    fn name(&self) -> &str {
        "backwards"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn recompute() -> ReplaceChildrenOptions {
    ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute)
}

/// The plan with its scan turned around, if that gives the order asked for.
fn turned(
    plan: &Arc<dyn ExecutionPlan>,
    order: &[PhysicalSortExpr],
) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        let turned = scan.reversed_for(order).or_else(|| scan.merged_for(order));
        return Ok(turned.map(|scan| Arc::new(scan) as Arc<dyn ExecutionPlan>));
    }
    let below = if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        match through(projection, order) {
            Some(order) => turned(projection.input(), &order)?,
            None => None,
        }
    } else if let Some(filter) = plan.downcast_ref::<FilterExec>()
        && filter.projection().is_none()
    {
        turned(filter.input(), order)?
    } else {
        None
    };
    below
        .map(|input| Arc::clone(plan).replace_children(vec![input], recompute()))
        .transpose()
}

/// The order in the columns that a projection reads.
fn through(
    projection: &ProjectionExec,
    order: &[PhysicalSortExpr],
) -> Option<Vec<PhysicalSortExpr>> {
    let term = |term: &PhysicalSortExpr| {
        let column = term.expr.downcast_ref::<Column>()?;
        let source = &projection.expr().get(column.index())?.expr;
        source.downcast_ref::<Column>()?;
        Some(PhysicalSortExpr::new(Arc::clone(source), term.options))
    };
    order.iter().map(term).collect()
}
