//! The leaf of every plan: [`ScanExec`], a table read by key.
//!
//! A plan is made once and run many times, so it holds no reader, no key range and no value: those
//! come with each run ([`Run`]). How many streams there are is fixed by the plan; what each of them
//! reads is found when the first one begins ([`Pieces`]).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result as DataFusionResult, Statistics};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{
    EquivalenceProperties, Partitioning, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan,
    PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};
use txn::{Direction, Reader};

use super::context::Run;
use super::decode::Wanted;
use super::explain::Reads;
use super::pieces::{Batches, Effort, Pieces, Source};
use super::provider::{Growth, external};
use super::ranges::Filters;
use super::through::Through;
use crate::access::{Access, AccessKind, Target};
use crate::conditions::Conditions;
use crate::merge::{MERGED_MAX, Merge};
use crate::{Result, Table};

/// Numbers the scans, so that the streams of one find each other in a run.
static SCANS: AtomicUsize = AtomicUsize::new(0);

/// Reads a table.
#[derive(Clone)]
pub(crate) struct ScanExec {
    id: usize,
    table: Arc<Table>,
    /// Positions of the wanted columns in the table.
    positions: Arc<[usize]>,
    wanted: Arc<Wanted>,
    filters: Arc<Filters>,
    /// The index that snapshots which see all of it are read by.
    through: Option<Arc<Through>>,
    direction: Direction,
    /// Up to which key column ranges are told apart, to be read side by side and merged.
    merged: Option<usize>,
    limit: Option<usize>,
    /// How many rows the planner was told to expect, unless it is one.
    growth: Option<Growth>,
    properties: Arc<PlanProperties>,
    /// What its streams counted.
    metrics: ExecutionPlanMetricsSet,
}

impl ScanExec {
    pub(crate) fn new(
        table: Arc<Table>,
        positions: Vec<usize>,
        schema: SchemaRef,
        filters: Filters,
        expected: Expected,
    ) -> Self {
        let wanted = Wanted::new(table.schema(), &positions, Arc::clone(&schema));
        let mut scan = Self {
            id: SCANS.fetch_add(1, Ordering::Relaxed),
            table,
            positions: positions.into(),
            wanted: Arc::new(wanted),
            filters: Arc::new(filters),
            through: None,
            direction: Direction::Ascending,
            merged: None,
            limit: expected.limit,
            growth: expected.growth,
            properties: Arc::new(PlanProperties::new(
                EquivalenceProperties::new(schema),
                Partitioning::UnknownPartitioning(expected.streams),
                EmissionType::Incremental,
                Boundedness::Bounded,
            )),
            metrics: ExecutionPlanMetricsSet::new(),
        };
        scan.set_direction(Direction::Ascending);
        scan
    }

    /// The same scan, through an index.
    pub(crate) fn through(mut self, through: Option<Through>) -> Self {
        self.through = through.map(Arc::new);
        self.set_direction(self.direction);
        self
    }

    /// The index that this reader reads by.
    fn through_for(&self, reader: &Reader) -> Option<&Arc<Through>> {
        let through = self.through.as_ref();
        through.filter(|through| through.serves(reader))
    }

    /// How many rows it was planned for, if that tells when to plan anew.
    pub(crate) fn growth(&self) -> Option<Growth> {
        self.growth
    }

    fn streams(&self) -> usize {
        self.properties.partitioning.partition_count()
    }

    fn set_direction(&mut self, direction: Direction) {
        self.set_order(direction, self.streams());
    }

    fn set_order(&mut self, direction: Direction, streams: usize) {
        self.direction = direction;
        let schema = self.wanted.schema();
        let ordering = self.key_order();
        let equivalence = EquivalenceProperties::new_with_orderings(Arc::clone(schema), [ordering]);
        let properties = PlanProperties::new(
            equivalence,
            Partitioning::UnknownPartitioning(streams),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        self.properties = Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative));
    }

    /// Rows come in the order of the key, as far as its columns are among the wanted ones. NULL is the
    /// least key.
    fn key_order(&self) -> Vec<PhysicalSortExpr> {
        let descending = self.direction == Direction::Descending;
        let options = SortOptions {
            descending,
            nulls_first: !descending,
        };
        let mut sorted = Vec::new();
        if self.through.is_some() {
            return sorted;
        }
        let keys = self.table.schema().key_positions().iter().enumerate();
        for (place, key) in keys.skip(self.merged.map_or(0, |merged| merged + 1)) {
            let wanted = self.positions.iter().position(|position| position == key);
            match wanted {
                Some(index) => {
                    let name = self.wanted.schema().field(index).name();
                    let column = Arc::new(PhysicalColumn::new(name, index));
                    sorted.push(PhysicalSortExpr::new(column, options));
                }
                // A column with one value does not disturb the order of those after it.
                None if self.filters.fixes(place) => {}
                None => break,
            }
        }
        sorted
    }

    /// The same scan from the last key to the first, if that gives the order asked for.
    pub(crate) fn reversed_for(&self, order: &[PhysicalSortExpr]) -> Option<Self> {
        if self.through.is_some() || self.merged.is_some() {
            return None;
        }
        let mut keys = self.table.schema().key_positions().iter().enumerate();
        for term in order {
            if !term.options.descending || term.options.nulls_first {
                return None;
            }
            let column = term.expr.downcast_ref::<PhysicalColumn>()?;
            let position = self.positions.get(column.index())?;
            let next = keys.find(|(place, key)| *key == position || !self.filters.fixes(*place));
            next.filter(|(_, key)| *key == position)?;
        }
        let mut reversed = self.clone();
        reversed.id = SCANS.fetch_add(1, Ordering::Relaxed);
        reversed.set_direction(Direction::Descending);
        Some(reversed)
    }

    /// The same scan with ranges side by side, if merging them gives the order asked for.
    pub(crate) fn merged_for(&self, order: &[PhysicalSortExpr]) -> Option<Self> {
        let descending = order.first()?.options.descending;
        let same = |term: &PhysicalSortExpr| {
            term.options.descending == descending && term.options.nulls_first != descending
        };
        let taken = self.through.is_some() || self.merged.is_some();
        if taken || !order.iter().all(same) {
            return None;
        }
        let width = self.table.schema().key_positions().len();
        let after = (0..width).find(|after| self.follows(order, *after))?;
        let streams = self.filters.mergeable(after)?;
        if after == 0 || streams > MERGED_MAX {
            return None;
        }
        let mut merged = self.clone();
        merged.id = SCANS.fetch_add(1, Ordering::Relaxed);
        merged.merged = Some(after - 1);
        let direction = match descending {
            true => Direction::Descending,
            false => Direction::Ascending,
        };
        merged.set_order(direction, 1);
        Some(merged)
    }

    /// Whether the key from one of its columns on comes in the order asked for.
    fn follows(&self, order: &[PhysicalSortExpr], after: usize) -> bool {
        let mut keys = self.table.schema().key_positions().iter().enumerate();
        let mut keys = keys.by_ref().skip(after);
        order.iter().all(|term| {
            let column = term.expr.downcast_ref::<PhysicalColumn>();
            let position = column.and_then(|column| self.positions.get(column.index()));
            let Some(position) = position else {
                return false;
            };
            let next = keys.find(|(place, key)| *key == position || !self.filters.fixes(*place));
            next.is_some_and(|(_, key)| key == position)
        })
    }

    /// What is asked of the keys that are read.
    fn conditions(&self) -> Conditions {
        match self.merged {
            Some(column) => self.filters.merged(column),
            None => self.filters.conditions(),
        }
    }

    /// How the rows are found, with the values of a run, or with none.
    pub(crate) fn access(&self, reader: &Reader, bound: bool) -> Result<Access> {
        if let Some(through) = self.through_for(reader)
            && bound
        {
            let target = Target::index(&self.table, &through.index);
            return Access::new(target, &through.filters.conditions(), reader);
        }
        let target = Target::table(&self.table);
        if bound || !self.filters.binds(0) {
            return Access::new(target, &self.conditions(), reader);
        }
        let mut keys = 0..self.table.schema().key_positions().len();
        let kind = match keys.all(|place| self.filters.fixes(place)) {
            true => AccessKind::Points,
            false => AccessKind::Ranges,
        };
        Access::open(target, kind, reader)
    }

    /// What is read, and which way.
    pub(crate) fn reads(&self) -> Reads {
        Reads {
            columns: self.columns(),
            backwards: self.direction == Direction::Descending,
            limit: self.limit,
        }
    }

    fn merge(&self, run: &Run) -> Result<Merge> {
        let buckets = self.conditions().buckets()?;
        let reader = run.reader().clone();
        Ok(Merge::new(reader, self.table.id(), buckets, self.direction))
    }

    fn pieces(&self, run: &Run) -> Result<Pieces> {
        let reader = run.reader();
        if self.merged.is_some() {
            return Ok(Pieces::none());
        }
        // Whoever wants few rows is served by one stream before a cut would be found.
        let few = self.limit.is_some_and(|limit| limit <= FEW_ROWS);
        let streams = if few { 1 } else { self.streams() };
        let (id, filters) = match self.through_for(reader) {
            Some(through) => (through.index.id, &through.filters),
            None => (self.table.id(), self.filters.as_ref()),
        };
        let conditions = filters.conditions();
        Pieces::new(id, &conditions, reader, self.direction, streams)
    }

    fn columns(&self) -> String {
        let fields = self.wanted.schema().fields().iter();
        let names: Vec<&str> = fields.map(|field| field.name().as_str()).collect();
        names.join(", ")
    }
}

/// How many rows count as few.
const FEW_ROWS: usize = 4096;

/// What the planner knows of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// How many streams to give.
    pub(crate) streams: usize,
    /// How many rows there will be, unless it is one.
    pub(crate) growth: Option<Growth>,
    /// How many rows are wanted at most.
    pub(crate) limit: Option<usize>,
}

impl fmt::Debug for ScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanExec")
            .field("table", &self.table.schema().name())
            .finish_non_exhaustive()
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Scan: table={}, columns=[{}]",
            self.table.schema().name(),
            self.columns()
        )?;
        if let Some(through) = &self.through {
            write!(f, ", index={}", through.index.name)?;
        }
        if self.direction == Direction::Descending {
            write!(f, ", backwards")?;
        }
        if self.merged.is_some() {
            write!(f, ", merged")?;
        }
        match self.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &'static str {
        "Scan"
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
                "a scan has no children".to_owned(),
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
        let pieces = run
            .pieces(self.id, partition, || self.pieces(&run))
            .map_err(external)?;
        let merge = match self.merged {
            Some(_) => Some(self.merge(&run).map_err(external)?),
            None => None,
        };
        let source = Source {
            merge,
            table: Arc::clone(&self.table),
            wanted: Arc::clone(&self.wanted),
            reader: run.reader().clone(),
            direction: self.direction,
            through: self.through_for(run.reader()).cloned(),
            effort: Effort::new(&self.metrics, partition),
        };
        Ok(Box::pin(Batches::new(source, pieces, self.limit)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn reset_state(self: Arc<Self>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let mut scan = Self::clone(&self);
        scan.metrics = ExecutionPlanMetricsSet::new();
        Ok(Arc::new(scan))
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        asked: &StatisticsArgs,
    ) -> DataFusionResult<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(self.wanted.schema());
        let share = asked.partition().map_or(1, |_| self.streams());
        let rows = self.growth.map_or(1, |growth| growth.rows);
        statistics.num_rows = Precision::Inexact(rows.div_ceil(share));
        Ok(Arc::new(statistics))
    }

    fn child_stats_requests(&self, _partition: Option<usize>) -> Vec<ChildStats> {
        Vec::new()
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let mut scan = self.clone();
        scan.limit = limit;
        Some(Arc::new(scan))
    }
}
