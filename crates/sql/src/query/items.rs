//! Collections for DataFusion: which ranges of the container's table hold the items that are asked for,
//! and their attributes as columns.
//!
//! ```text
//!   WHERE year = 2018 AND driver = 'johnd' AND day BETWEEN '20180601' AND '20180630'
//!         ╰────┬────╯     ╰──────┬───────╯     ╰──────────────┬────────────────────╯
//!   directories: taxis/year=2018/   one sharding key          from one sorting key to another
//!   are left out unseen             (or one in each bucket)
//! ```
//!
//! A plan over a collection is made for one run, so it knows all values and holds its ranges.

mod pruning;
mod ranges;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::arrow::array::{ArrayBuilder, ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as DataFusionResult;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::DataFusionError;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::{FutureExt, Stream};
use txn::{KeyRange, Scan};

use self::ranges::{Ranges, ranges};
use super::columns::{append, arrow_schema, builder};
use super::context::Run;
use super::explain::Reads;
use super::pieces::Effort;
use super::provider::external;
use crate::access::Access;
use crate::collection::{Collection, Names, Stored};
use crate::{Result, Table};

/// How many items one batch holds at most.
const BATCH_ROWS: usize = 1024;

/// A collection.
#[derive(Debug)]
pub(crate) struct ItemsTable {
    table: Arc<Table>,
    items: Arc<Collection>,
    schema: SchemaRef,
}

impl ItemsTable {
    /// The collection that a table is, if it is one.
    pub(crate) fn new(table: &Arc<Table>) -> Option<Self> {
        Some(Self {
            items: Arc::clone(table.collection()?),
            schema: arrow_schema(table.schema()),
            table: Arc::clone(table),
        })
    }
}

#[async_trait::async_trait]
impl TableProvider for ItemsTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let positions = projection
            .cloned()
            .unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let schema: SchemaRef = Arc::new(self.schema.project(&positions)?);
        let run = Run::planned(session.config())?;
        let check = self.items.check(run.reader(), &self.items.path);
        check.map_err(external)?;
        let stored = Stored::new(&self.items.base, run.reader().clone());
        let found = ranges(&self.table, &stored, filters, session.execution_props());
        let Ranges { ranges, access } = found.map_err(external)?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let properties = properties.with_scheduling_type(SchedulingType::Cooperative);
        Ok(Arc::new(ItemsExec {
            table: Arc::clone(&self.table),
            items: Arc::clone(&self.items),
            positions: positions.into(),
            schema,
            ranges: ranges.into(),
            access,
            limit,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        // Ranges may hold items that do not qualify, so the filter stays as well.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}

/// Reads items.
pub(crate) struct ItemsExec {
    table: Arc<Table>,
    items: Arc<Collection>,
    positions: Arc<[usize]>,
    schema: SchemaRef,
    ranges: Arc<[KeyRange]>,
    access: Access,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ItemsExec {
    /// How the items are found.
    pub(crate) fn access(&self) -> Access {
        self.access.clone()
    }

    /// What is read of them.
    pub(crate) fn reads(&self) -> Reads {
        let fields = self.schema.fields().iter();
        let names: Vec<&str> = fields.map(|field| field.name().as_str()).collect();
        Reads {
            columns: names.join(", "),
            backwards: false,
            limit: self.limit,
        }
    }
}

impl fmt::Debug for ItemsExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemsExec")
            .field("collection", &self.items.name)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for ItemsExec {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Items: collection={}", self.items.name)
    }
}

impl ExecutionPlan for ItemsExec {
    fn name(&self) -> &'static str {
        "Items"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        match children.is_empty() {
            true => Ok(self),
            false => Err(DataFusionError::Internal(
                "a scan of items has no children".to_owned(),
            )),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let run = Run::of(&context)?;
        Ok(Box::pin(ItemBatches {
            table: Arc::clone(&self.table),
            items: Arc::clone(&self.items),
            positions: Arc::clone(&self.positions),
            schema: Arc::clone(&self.schema),
            stored: Stored::new(&self.items.base, run.reader().clone()),
            names: self.items.names(run.reader().clone()),
            ranges: Arc::clone(&self.ranges),
            next: 0,
            scan: None,
            left: self.limit.unwrap_or(usize::MAX),
            pause: None,
            effort: Effort::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Items on their way, decoded as they are asked for.
struct ItemBatches {
    table: Arc<Table>,
    items: Arc<Collection>,
    positions: Arc<[usize]>,
    schema: SchemaRef,
    stored: Stored,
    names: Names,
    ranges: Arc<[KeyRange]>,
    /// The range that is read after this one.
    next: usize,
    scan: Option<Scan>,
    /// How many items are still wanted.
    left: usize,
    /// A turn for others after each batch.
    pause: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    effort: Effort,
}

impl ItemBatches {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let schema = self.table.schema();
        let columns = self.positions.iter();
        let kinds: Vec<_> = columns
            .filter_map(|position| Some(schema.columns().get(*position)?.kind))
            .collect();
        let kinds_of = kinds.iter();
        let mut builders: Vec<_> = kinds_of.map(|kind| builder(*kind, BATCH_ROWS)).collect();
        let (mut rows, most) = (0, self.left.min(BATCH_ROWS));
        while rows < most {
            let Some(scan) = &mut self.scan else {
                let Some(range) = self.ranges.get(self.next) else {
                    break;
                };
                self.next += 1;
                self.scan = Some(self.stored.scan(range)?);
                continue;
            };
            let Some((key, row)) = scan.next().transpose()? else {
                self.scan = None;
                continue;
            };
            let record = self.stored.record(&key, &row)?;
            if !Collection::is_item(&record) {
                continue;
            }
            let found = (&record, &mut self.names);
            let values = self.items.values(schema, found, &self.positions)?;
            for ((builder, kind), value) in builders.iter_mut().zip(&kinds).zip(&values) {
                append(builder.as_mut(), *kind, value)?;
            }
            rows += 1;
        }
        self.left -= rows;
        if rows == 0 {
            return Ok(None);
        }
        let columns = builders.iter_mut();
        let columns: Vec<ArrayRef> = columns.map(|builder| builder.finish()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns, &options);
        batch.map(Some).map_err(|error| crate::Error::Internal {
            what: format!("items do not make a batch: {error}"),
        })
    }
}

impl Stream for ItemBatches {
    type Item = DataFusionResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.poll_unpin(context));
            self.pause = None;
        }
        let time = self.effort.time.clone();
        let timer = time.timer();
        let batch = self.next_batch();
        timer.done();
        match &batch {
            Ok(Some(batch)) => {
                self.effort.rows.add(batch.num_rows());
                // A long scan would otherwise keep its thread from everyone else's short statements.
                self.pause = Some(Box::pin(tokio::task::yield_now()));
            }
            Ok(None) => {}
            Err(_) => self.left = 0,
        }
        Poll::Ready(batch.map_err(external).transpose())
    }
}

impl RecordBatchStream for ItemBatches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
