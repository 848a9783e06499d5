//! Turns: what makes many rows of few lets others work in between.
//!
//! ```text
//!   Aggregate count(*)              Aggregate
//!     Filter a.n + b.n = -1           Filter           asks until it has rows to hand on
//!       CrossJoin           becomes     Turns          pauses every now and then
//!         Scan a                          CrossJoin    always has more, and asks nobody for it
//!         Scan b                            Turns
//!                                             Scan a   pauses after each batch by itself
//!                                           Turns
//!                                             Scan b
//! ```
//!
//! A task that never pauses keeps its thread for itself, and cannot be ended either. Scans pause by
//! themselves. Everything else works on what scans read, batch by batch, except joins: they make as many
//! rows as they like of one batch, and what stands above them may want none of these.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result as DataFusionResult;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::SchedulingType;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::{FutureExt, Stream, StreamExt};

/// How many rows pass between two pauses.
const ROWS_A_TURN: usize = 8_192;

/// What a batch counts for at least: small ones take time too.
const BATCH_ROWS_MIN: usize = 128;

/// Puts pauses around whatever makes more rows than it is given.
#[derive(Debug, Default)]
pub(crate) struct TakeTurns;

impl PhysicalOptimizerRule for TakeTurns {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let joins = node.children().len() > 1;
            if !joins && !node.is::<UnnestExec>() {
                return Ok(Transformed::no(node));
            }
            let children = node.children().into_iter().map(turns).collect();
            let node = node.replace_children(children, recompute())?;
            Ok(Transformed::yes(turns(&node)))
        })
        .data()
    }

    fn name(&self) -> &str {
        "take_turns"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn recompute() -> ReplaceChildrenOptions {
    ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute)
}

/// The same with pauses.
fn turns(plan: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    match plan.is::<TurnsExec>() {
        true => Arc::clone(plan),
        false => Arc::new(TurnsExec::new(Arc::clone(plan))),
    }
}

/// Hands rows on, with pauses.
#[derive(Debug)]
struct TurnsExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl TurnsExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::clone(input.properties())
            .with_scheduling_type(SchedulingType::Cooperative);
        Self {
            input,
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for TurnsExec {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turns")
    }
}

impl ExecutionPlan for TurnsExec {
    fn name(&self) -> &'static str {
        "Turns"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::new(input))),
            _ => Err(DataFusionError::Internal(
                "what takes turns has one child".to_owned(),
            )),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, recompute())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        Ok(Box::pin(Turns {
            batches: self.input.execute(partition, context)?,
            rows: 0,
            pause: None,
        }))
    }
}

/// Batches with pauses between them.
struct Turns {
    batches: SendableRecordBatchStream,
    /// How many rows have passed since the last pause.
    rows: usize,
    /// A turn for others.
    pause: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Stream for Turns {
    type Item = DataFusionResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.poll_unpin(context));
            self.pause = None;
        }
        let batch = std::task::ready!(self.batches.poll_next_unpin(context));
        if let Some(Ok(batch)) = &batch {
            self.rows += batch.num_rows().max(BATCH_ROWS_MIN);
        }
        if self.rows >= ROWS_A_TURN {
            self.rows = 0;
            self.pause = Some(Box::pin(tokio::task::yield_now()));
        }
        Poll::Ready(batch)
    }
}

impl RecordBatchStream for Turns {
    fn schema(&self) -> SchemaRef {
        self.batches.schema()
    }
}
