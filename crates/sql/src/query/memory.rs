//! How much memory queries may take: each one a share, and all together a whole.
//!
//! What a query holds on to (hash tables, sorts) is counted; batches in flight are not. A query past
//! its share fails and frees what it held: nothing is written to disk.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::Result as DataFusionResult;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{
    GreedyMemoryPool, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

/// What one query may hold.
pub(crate) const QUERY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What all queries together may hold.
const QUERIES_BYTES_MAX: usize = 512 * 1024 * 1024;

/// What all queries share.
pub(crate) fn runtime() -> Arc<RuntimeEnv> {
    let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    let built = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(GreedyMemoryPool::new(QUERIES_BYTES_MAX)))
        .with_disk_manager_builder(disk)
        .build_arc();
    built.expect("a runtime without a disk opens nothing that could fail")
}

/// What one query sees of it: its own share of memory.
pub(crate) fn share(runtime: &RuntimeEnv) -> Arc<RuntimeEnv> {
    let mut own = runtime.clone();
    own.memory_pool = Arc::new(Share {
        whole: Arc::clone(&runtime.memory_pool),
        used: AtomicUsize::new(0),
    });
    Arc::new(own)
}

/// One query's share of the memory.
#[derive(Debug)]
struct Share {
    whole: Arc<dyn MemoryPool>,
    used: AtomicUsize,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "share({} of {QUERY_BYTES_MAX} bytes)", self.reserved())
    }
}

impl MemoryPool for Share {
    fn name(&self) -> &str {
        "share"
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.whole.grow(reservation, additional);
        self.used.fetch_add(additional, Ordering::Relaxed);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.whole.shrink(reservation, shrink);
        self.used.fetch_sub(shrink, Ordering::Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> DataFusionResult<()> {
        let fits = |used: usize| {
            used.checked_add(additional)
                .filter(|used| *used <= QUERY_BYTES_MAX)
        };
        let taken = self
            .used
            .try_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        let refused = || {
            DataFusionError::External(Box::new(crate::Error::OutOfMemory {
                limit_bytes: QUERY_BYTES_MAX,
            }))
        };
        taken.map_err(|_| refused())?;
        self.whole.try_grow(reservation, additional).map_err(|_| {
            self.used.fetch_sub(additional, Ordering::Relaxed);
            DataFusionError::External(Box::new(crate::Error::OutOfMemory {
                limit_bytes: QUERIES_BYTES_MAX,
            }))
        })
    }

    fn reserved(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(QUERY_BYTES_MAX)
    }
}
