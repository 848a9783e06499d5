//! Our tables as DataFusion sees them while it plans.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Constraint, Constraints, Result as DataFusionResult};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use txn::{Reader, TableId};

use super::columns::arrow_schema;
use super::context::Run;
use super::ranges::Filters;
use super::scan::{Expected, ScanExec};
use super::through::{Asked, Through};
use crate::foreign::key_columns;
use crate::{Error, Result, Table};

/// A scan that is expected to find fewer rows than this is planned as one stream. DataFusion deals the rows
/// of one stream out to all processors, and to do so reads them all, whatever limit stands above: so this
/// is no more than one of its batches.
pub(crate) const SMALL_ROWS: usize = 8_192;

/// What a condition on a key column is taken to leave of the rows: one in so many.
const FIXED_LEAVES: usize = 100;
const BOUND_LEAVES: usize = 4;

/// By how much a table that is not small has to grow until its plan is not the right one any more.
const GROWN_FACTOR: usize = 8;

/// How many rows a scan was expected to find when it was planned, to tell later whether it still fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    table: TableId,
    /// What its conditions are taken to leave of the table: one row in so many.
    leaves: usize,
    /// About how many rows there will be.
    pub(crate) rows: usize,
}

impl Growth {
    /// `None` for a scan that finds one row, however large the table is.
    fn new(table: &Table, reader: &Reader, filters: &Filters) -> Result<Option<Self>> {
        let keys = filters.key_columns();
        let fixed = (0..keys).take_while(|place| filters.fixes(*place)).count();
        if fixed == keys {
            return Ok(None);
        }
        let bound = if filters.binds(fixed) {
            BOUND_LEAVES
        } else {
            1
        };
        let leaves = (0..fixed).fold(bound, |all, _| all.saturating_mul(FIXED_LEAVES));
        let mut growth = Self {
            table: table.id(),
            leaves,
            rows: 0,
        };
        growth.rows = growth.now(reader)?;
        Ok(Some(growth))
    }

    /// About how many rows there would be now.
    fn now(&self, reader: &Reader) -> Result<usize> {
        let rows = usize::try_from(reader.rows(self.table)?).unwrap_or(usize::MAX);
        Ok(rows.div_ceil(self.leaves))
    }

    /// Whether the table has become too large for the plan.
    pub(crate) fn outgrown(&self, reader: &Reader) -> Result<bool> {
        let now = self.now(reader)?;
        let small = self.rows < SMALL_ROWS;
        Ok(now >= SMALL_ROWS && (small || now / GROWN_FACTOR >= self.rows))
    }
}

/// A table. How many rows it has is told by the session that plans: a table that held a reader would
/// keep old versions of rows for as long as its plan is kept.
pub(crate) struct ReadTable {
    table: Arc<Table>,
    schema: SchemaRef,
    /// What a row is known by, so that its other columns follow from that.
    constraints: Constraints,
    /// The index that a query insists on.
    index: Option<String>,
}

impl ReadTable {
    pub(crate) fn new(table: Arc<Table>, index: Option<String>) -> Self {
        let schema = arrow_schema(table.schema());
        let key = table.schema().key_positions().to_vec();
        let mut constraints = vec![Constraint::PrimaryKey(key)];
        let deciding = key_columns(table.schema());
        if !deciding.is_empty() {
            constraints.push(Constraint::PrimaryKey(deciding));
        }
        Self {
            constraints: Constraints::new_unverified(constraints),
            table,
            schema,
            index,
        }
    }

    /// The table.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    fn expected(&self, reader: &Reader, filters: &Filters, streams: usize) -> Result<Expected> {
        let growth = Growth::new(&self.table, reader, filters)?;
        let rows = growth.as_ref().map_or(1, |growth| growth.rows);
        Ok(Expected {
            streams: if rows < SMALL_ROWS { 1 } else { streams },
            growth,
            limit: None,
        })
    }
}

impl fmt::Debug for ReadTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadTable")
            .field("name", &self.table.schema().name())
            .finish()
    }
}

#[async_trait::async_trait]
impl TableProvider for ReadTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
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
        let asked = Asked {
            positions: &positions,
            schema: &schema,
            filters,
            properties: session.execution_props(),
            hint: self.index.as_deref(),
        };
        let key = self.table.schema().key_positions();
        let by_key = Filters::new(self.table.schema(), key, filters, asked.properties);
        let through = Through::choose(&self.table, &asked, &by_key);
        let streams = session.config().target_partitions();
        let narrowest = through.as_ref().map_or(&by_key, |one| &one.filters);
        let run = Run::planned(session.config())?;
        let expected = self.expected(run.reader(), narrowest, streams);
        let mut expected = expected.map_err(external)?;
        expected.limit = limit;
        let table = Arc::clone(&self.table);
        let scan = ScanExec::new(table, positions, schema, by_key, expected);
        Ok(Arc::new(scan.through(through)))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        // Ranges may hold rows that do not qualify, so the filter stays as well.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}

/// An error of ours on its way through DataFusion.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
