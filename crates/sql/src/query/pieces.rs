//! The pieces of a scan, and the streams that read them.
//!
//! ```text
//!   key range        ├──────┼──────┼──────┼──────┼──────┤
//!   stream 0          piece 0        piece 2  piece 3        takes the next piece when it is done
//!   stream 1                 piece 1                piece 4
//! ```
//!
//! Every stream takes the next piece in the order of the scan, so each stream comes in key order by
//! itself, whoever is faster. Pieces begin where partitions begin; a range that lies in few partitions
//! and holds many rows is cut further, so that both cores have work.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result as DataFusionResult;
use datafusion::execution::RecordBatchStream;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use futures::{FutureExt, Stream};
use parking_lot::Mutex;
use txn::{Direction, KeyRange, Reader, TableId};

use super::decode::Wanted;
use super::provider::external;
use super::through::Through;
use crate::conditions::Conditions;
use crate::merge::Merge;
use crate::{Result, Table};

/// How many rows the first batch of a stream holds: whoever wants few rows should not wait for many.
const FIRST_BATCH_ROWS: usize = 256;

/// How many rows one batch holds at most. It is also how long others wait for a turn.
const BATCH_ROWS_MAX: usize = 4096;

/// A range with fewer rows than this is read by one stream.
const CUT_ROWS_MIN: u64 = 16_384;

/// About how many rows a piece should hold.
const PIECE_ROWS: u64 = 131_072;

/// Into how many pieces one partition's range is cut at most.
const CUTS_MAX: u64 = 32;

/// The pieces of a scan that nobody has begun.
#[derive(Debug)]
pub(crate) struct Pieces {
    left: Mutex<VecDeque<KeyRange>>,
}

impl Pieces {
    /// The pieces of what `conditions` ask for, to be read by `streams` streams.
    pub(crate) fn new(
        table: TableId,
        conditions: &Conditions,
        reader: &Reader,
        direction: Direction,
        streams: usize,
    ) -> Result<Self> {
        let mut left = VecDeque::new();
        let mut ranges = conditions.ranges()?;
        ranges.retain(|range| !range.is_empty());
        let cut = streams > 1 && ranges.len() < streams;
        for range in ranges {
            for tile in reader.extent(table, &range)?.tiles {
                if cut && tile.rows >= CUT_ROWS_MIN {
                    let pieces = (tile.rows / PIECE_ROWS).clamp(2, CUTS_MAX);
                    let pieces = usize::try_from(pieces).unwrap_or(streams);
                    left.extend(reader.cut(table, &tile.range, pieces)?);
                } else {
                    left.push_back(tile.range);
                }
            }
        }
        if direction == Direction::Descending {
            left.make_contiguous().reverse();
        }
        Ok(Self {
            left: Mutex::new(left),
        })
    }

    /// None: what is read is known otherwise.
    pub(crate) fn none() -> Self {
        Self {
            left: Mutex::default(),
        }
    }

    fn next(&self) -> Option<KeyRange> {
        self.left.lock().pop_front()
    }
}

/// One stream of a scan: batches of columns, decoded as they are asked for.
pub(crate) struct Batches {
    pub(crate) table: Arc<Table>,
    pub(crate) wanted: Arc<Wanted>,
    pub(crate) reader: Reader,
    pub(crate) direction: Direction,
    pub(crate) through: Option<Arc<Through>>,
    pub(crate) pieces: Arc<Pieces>,
    /// How many rows are still wanted.
    pub(crate) left: usize,
    scan: Option<txn::Scan>,
    merge: Option<Merge>,
    batch_rows: usize,
    /// A turn for others after each batch.
    pause: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    effort: Effort,
}

/// What a stream counts while it reads.
pub(crate) struct Effort {
    pub(super) rows: Count,
    pub(super) time: Time,
}

impl Effort {
    /// Counts for one stream of a scan.
    pub(crate) fn new(metrics: &ExecutionPlanMetricsSet, stream: usize) -> Self {
        Self {
            rows: MetricBuilder::new(metrics).output_rows(stream),
            time: MetricBuilder::new(metrics).elapsed_compute(stream),
        }
    }
}

/// What a stream reads.
pub(crate) struct Source {
    /// Ranges that are merged, instead of the pieces.
    pub(crate) merge: Option<Merge>,
    pub(crate) table: Arc<Table>,
    pub(crate) wanted: Arc<Wanted>,
    pub(crate) reader: Reader,
    pub(crate) direction: Direction,
    /// The index that the pieces are of.
    pub(crate) through: Option<Arc<Through>>,
    pub(crate) effort: Effort,
}

impl Batches {
    pub(crate) fn new(source: Source, pieces: Arc<Pieces>, limit: Option<usize>) -> Self {
        Self {
            table: source.table,
            wanted: source.wanted,
            reader: source.reader,
            direction: source.direction,
            through: source.through,
            pieces,
            left: limit.unwrap_or(usize::MAX),
            scan: None,
            merge: source.merge,
            batch_rows: FIRST_BATCH_ROWS,
            pause: None,
            effort: source.effort,
        }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let rows_max = self.batch_rows.min(self.left);
        self.batch_rows = (self.batch_rows * 4).min(BATCH_ROWS_MAX);
        if rows_max == 0 {
            return Ok(None);
        }
        let through = self.through.as_deref();
        let mut batch = match through {
            Some(through) => through.batch(&self.wanted, rows_max),
            None => self.wanted.batch(rows_max),
        };
        let schema = self.table.schema();
        let id = through.map_or(self.table.id(), |through| through.index.id);
        if let Some(merge) = &mut self.merge {
            merge.visit(rows_max, |key, row| batch.push(schema, (key, row)))?;
            if batch.rows() < rows_max {
                self.merge = None;
            }
        }
        while batch.rows() < rows_max {
            let scan = match &mut self.scan {
                Some(scan) => scan,
                None => match self.pieces.next() {
                    Some(range) => {
                        let scan = self.reader.scan(id, &range, self.direction)?;
                        self.scan.insert(scan)
                    }
                    None => break,
                },
            };
            scan.visit(rows_max - batch.rows(), |key, row| match through {
                None => batch.push(schema, (key, row)),
                Some(index) => index.push(&mut batch, &self.table, &self.reader, (key, row)),
            })?;
            if batch.rows() < rows_max {
                self.scan = None;
            }
        }
        if let Some(scan) = &mut self.scan {
            scan.tell();
        }
        self.left -= batch.rows();
        if batch.rows() == 0 {
            self.scan = None;
            return Ok(None);
        }
        batch.finish(schema).map(Some)
    }
}

impl Stream for Batches {
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
        if let Ok(Some(batch)) = &batch {
            self.effort.rows.add(batch.num_rows());
        }
        match &batch {
            // A long scan would otherwise keep its thread from everyone else's short statements.
            Ok(Some(batch)) if batch.num_rows() == BATCH_ROWS_MAX => {
                self.pause = Some(Box::pin(tokio::task::yield_now()));
            }
            Ok(_) => {}
            Err(_) => {
                self.left = 0;
                self.scan = None;
            }
        }
        Poll::Ready(batch.map_err(external).transpose())
    }
}

impl RecordBatchStream for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.wanted.schema())
    }
}
