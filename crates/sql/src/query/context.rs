//! What one run of a query brings along: its reader, and how its scans share the work.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::common::Result as DataFusionResult;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::prelude::SessionConfig;
use parking_lot::Mutex;
use txn::Reader;

use super::pieces::Pieces;

/// One run of a query. It travels in the context that DataFusion hands to every part of the plan.
pub(crate) struct Run {
    reader: Reader,
    scans: Mutex<HashMap<usize, Shared>>,
}

/// The pieces of one scan, and which of its streams have begun.
struct Shared {
    pieces: Arc<Pieces>,
    begun: Vec<usize>,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

impl Run {
    pub(crate) fn new(reader: Reader) -> Self {
        Self {
            reader,
            scans: Mutex::default(),
        }
    }

    /// The run that a context belongs to.
    pub(crate) fn of(context: &TaskContext) -> DataFusionResult<Arc<Self>> {
        Self::planned(context.session_config())
    }

    /// The run that a plan is made for.
    pub(crate) fn planned(config: &SessionConfig) -> DataFusionResult<Arc<Self>> {
        config
            .get_extension::<Self>()
            .ok_or_else(|| DataFusionError::Internal("a plan that runs without its run".to_owned()))
    }

    /// Reads as the statement reads.
    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The pieces that stream `stream` of scan `scan` shares with the other streams of the scan. A
    /// stream that begins again begins a new round: a recursive query reads its tables many times.
    pub(crate) fn pieces(
        &self,
        scan: usize,
        stream: usize,
        make: impl FnOnce() -> crate::Result<Pieces>,
    ) -> crate::Result<Arc<Pieces>> {
        let mut scans = self.scans.lock();
        if let Some(shared) = scans.get_mut(&scan)
            && !shared.begun.contains(&stream)
        {
            shared.begun.push(stream);
            return Ok(Arc::clone(&shared.pieces));
        }
        let pieces = Arc::new(make()?);
        let shared = Shared {
            pieces: Arc::clone(&pieces),
            begun: vec![stream],
        };
        scans.insert(scan, shared);
        Ok(pieces)
    }
}
