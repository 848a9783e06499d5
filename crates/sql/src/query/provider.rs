//! Our tables as DataFusion sees them while it plans.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as DataFusionResult;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use txn::{KeyRange, Reader};

use super::columns::arrow_schema;
use super::context::Run;
use super::ranges::Filters;
use super::scan::{Expected, ScanExec};
use super::through::{Asked, Through};
use crate::{Error, Result, Table};

/// A scan that is expected to find fewer rows than this is planned as one stream. DataFusion deals the rows
/// of one stream out to all processors, and to do so reads them all, whatever limit stands above: so this
/// is no more than one of its batches.
pub(crate) const SMALL_ROWS: usize = 8_192;

/// What a condition on a key column is taken to leave of the rows: one in so many.
const FIXED_LEAVES: usize = 100;
const BOUND_LEAVES: usize = 4;

/// A table. How many rows it has is told by the session that plans: a table that held a reader would
/// keep old versions of rows for as long as its plan is kept.
pub(crate) struct ReadTable {
    table: Arc<Table>,
    schema: SchemaRef,
    /// The index that a query insists on.
    index: Option<String>,
}

impl ReadTable {
    pub(crate) fn new(table: Arc<Table>, index: Option<String>) -> Self {
        let schema = arrow_schema(table.schema());
        Self {
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
        let extent = reader.extent(self.table.id(), &KeyRange::all())?;
        let rows: u64 = extent.tiles.iter().map(|tile| tile.rows).sum();
        let mut rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let keys = filters.key_columns();
        let fixed = (0..keys).take_while(|place| filters.fixes(*place)).count();
        if fixed == keys {
            rows = 1;
        } else {
            for _ in 0..fixed {
                rows = rows.div_ceil(FIXED_LEAVES);
            }
            if filters.binds(fixed) {
                rows = rows.div_ceil(BOUND_LEAVES);
            }
        }
        Ok(Expected {
            streams: if rows < SMALL_ROWS { 1 } else { streams },
            rows,
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
