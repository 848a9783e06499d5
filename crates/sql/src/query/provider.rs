//! Our tables as DataFusion sees them.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as DataFusionResult;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use txn::{Direction, KeyRange, Reader};

use super::columns::{Wanted, arrow_schema};
use super::ranges;
use crate::{Error, Result, Table};

/// How many rows one batch of columns holds.
const BATCH_ROWS: usize = 4096;

/// A table at a reader's snapshot.
pub(crate) struct ReadTable {
    table: Arc<Table>,
    reader: Reader,
    schema: SchemaRef,
}

impl ReadTable {
    pub(crate) fn new(table: Arc<Table>, reader: Reader) -> Self {
        let schema = arrow_schema(table.schema());
        Self {
            table,
            reader,
            schema,
        }
    }

    /// The ranges to read, one for each stream.
    fn tiles(&self, filters: &[Expr]) -> Result<Vec<KeyRange>> {
        let mut tiles = Vec::new();
        for range in ranges::conditions(self.table.schema(), filters).ranges()? {
            if !range.is_empty() {
                tiles.extend(self.reader.tiles(self.table.id(), &range)?);
            }
        }
        Ok(tiles)
    }

    /// Rows come in the order of the key, as far as its columns are among the wanted ones.
    fn ordering(&self, positions: &[usize], schema: &SchemaRef) -> Option<LexOrdering> {
        let options = SortOptions {
            descending: false,
            nulls_first: true,
        };
        let mut sorted = Vec::new();
        for key in self.table.schema().key_positions() {
            let Some(index) = positions.iter().position(|position| position == key) else {
                break;
            };
            let name = schema.field(index).name();
            let column = Arc::new(PhysicalColumn::new(name, index));
            sorted.push(PhysicalSortExpr::new(column, options));
        }
        LexOrdering::new(sorted)
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
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let positions = projection
            .cloned()
            .unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let schema: SchemaRef = Arc::new(self.schema.project(&positions)?);
        let wanted = Arc::new(Wanted::new(
            self.table.schema(),
            &positions,
            Arc::clone(&schema),
        ));
        let mut streams: Vec<Arc<dyn PartitionStream>> = Vec::new();
        for range in self.tiles(filters).map_err(external)? {
            streams.push(Arc::new(Tile {
                table: Arc::clone(&self.table),
                reader: self.reader.clone(),
                wanted: Arc::clone(&wanted),
                range,
                limit,
            }));
        }
        if streams.is_empty() {
            let none = datafusion::physical_plan::empty::EmptyExec::new(schema);
            return Ok(Arc::new(none));
        }
        let ordering = self.ordering(&positions, &schema);
        Ok(Arc::new(StreamingTableExec::try_new(
            schema, streams, None, ordering, false, limit,
        )?))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        // Ranges may hold rows that do not qualify, so the filter stays as well.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}

/// One range of a table, read as a stream.
struct Tile {
    table: Arc<Table>,
    reader: Reader,
    wanted: Arc<Wanted>,
    range: KeyRange,
    limit: Option<usize>,
}

impl fmt::Debug for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tile")
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl PartitionStream for Tile {
    fn schema(&self) -> &SchemaRef {
        self.wanted.schema()
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(self.wanted.schema());
        let batches = Batches {
            table: Arc::clone(&self.table),
            wanted: Arc::clone(&self.wanted),
            scan: self
                .reader
                .scan(self.table.id(), &self.range, Direction::Ascending)
                .map_err(Error::from)
                .map_err(Some),
            left: self.limit.unwrap_or(usize::MAX),
        };
        Box::pin(RecordBatchStreamAdapter::new(
            schema,
            futures::stream::iter(batches),
        ))
    }
}

/// Batches of columns, decoded as they are asked for.
struct Batches {
    table: Arc<Table>,
    wanted: Arc<Wanted>,
    /// An error is told once and ends the stream.
    scan: std::result::Result<txn::Scan, Option<Error>>,
    left: usize,
}

impl Batches {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let scan = match &mut self.scan {
            Ok(scan) => scan,
            Err(error) => return error.take().map_or(Ok(None), Err),
        };
        let rows_max = BATCH_ROWS.min(self.left);
        let mut batch = self.wanted.batch(rows_max);
        while batch.rows() < rows_max {
            let Some(pair) = scan.next() else { break };
            let (key, row) = pair?;
            batch.push(self.table.schema(), &key, &row)?;
        }
        self.left -= batch.rows();
        if batch.rows() == 0 {
            Ok(None)
        } else {
            batch.finish().map(Some)
        }
    }
}

impl Iterator for Batches {
    type Item = DataFusionResult<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_batch() {
            Ok(batch) => batch.map(Ok),
            Err(error) => {
                self.scan = Err(None);
                Some(Err(external(error)))
            }
        }
    }
}

/// An error of ours on its way through DataFusion.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
