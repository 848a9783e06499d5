//! The faulty engine: wraps any engine and fails on request.
//!
//! A fault is set to strike at the n-th call of its kind from now, so a test that counts its calls
//! fails at the same place every time. What each fault means to the caller:
//!
//! ```text
//!   fault          the change     this call   later writes   later reads
//!   RefuseWrite    not applied    error       go on          go on
//!   BreakWrite     applied        error       Poisoned       go on
//!   BreakSync      not known      error       Poisoned       go on
//!   FailRead       none           error       go on          go on
//! ```
//!
//! Writes are batches, ingestions, and the making and dropping of spaces. Reads are gets and the
//! pairs of scans, through snapshots too. An empty batch touches no medium and so meets no fault: it
//! only tells whether the engine takes writes. The wrapper stays poisoned for good; wrapping the
//! inner engine anew stands for opening it again.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::{
    Batch, Direction, Durability, Engine, EngineCounters, Error, KeyRange, Pair, Result, Scan,
    Snapshot, SpaceId,
};

/// A failure to come. Calls are counted from 1: `nth: 1` strikes at the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The n-th write from now fails and changes nothing; the engine goes on.
    RefuseWrite {
        /// Which write.
        nth: u64,
    },
    /// The n-th write from now is applied, and fails all the same: the engine is poisoned.
    BreakWrite {
        /// Which write.
        nth: u64,
    },
    /// The n-th call of `sync` from now fails: the engine is poisoned.
    BreakSync {
        /// Which sync.
        nth: u64,
    },
    /// The n-th read from now fails.
    FailRead {
        /// Which read.
        nth: u64,
    },
}

impl Fault {
    fn kind_and_nth(&mut self) -> (Kind, &mut u64) {
        match self {
            Self::RefuseWrite { nth } | Self::BreakWrite { nth } => (Kind::Write, nth),
            Self::BreakSync { nth } => (Kind::Sync, nth),
            Self::FailRead { nth } => (Kind::Read, nth),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RefuseWrite { .. } => "injected fault: write refused",
            Self::BreakWrite { .. } => "injected fault: write broke off",
            Self::BreakSync { .. } => "injected fault: sync broke off",
            Self::FailRead { .. } => "injected fault: read failed",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Sync,
}

/// An engine that fails on request.
#[derive(Clone, Debug)]
pub struct FaultyEngine {
    inner: Arc<dyn Engine>,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Debug, Default)]
struct Plan {
    faults: Vec<Fault>,
    poison: Option<String>,
}

impl Plan {
    /// Counts one call and answers with the fault that strikes it.
    fn strike(&mut self, kind: Kind) -> Option<Fault> {
        let mut struck = None;
        self.faults.retain_mut(|fault| {
            let (of, nth) = fault.kind_and_nth();
            if of != kind {
                return true;
            }
            *nth = nth.saturating_sub(1);
            let strikes = *nth == 0 && struck.is_none();
            if strikes {
                struck = Some(*fault);
            }
            !strikes
        });
        struck
    }

    fn check(&self) -> Result<()> {
        match &self.poison {
            Some(cause) => Err(Error::Poisoned {
                cause: cause.clone(),
            }),
            None => Ok(()),
        }
    }
}

impl FaultyEngine {
    /// Wraps an engine; without faults it behaves like that engine.
    pub fn new(inner: Arc<dyn Engine>) -> Self {
        Self {
            inner,
            plan: Arc::default(),
        }
    }

    /// Adds a fault to those that wait. Several may wait; each strikes once.
    pub fn inject(&self, fault: Fault) {
        self.plan.lock().faults.push(fault);
    }

    /// Forgets the faults that have not struck. A poisoned engine stays poisoned.
    pub fn clear_faults(&self) {
        self.plan.lock().faults.clear();
    }

    /// Whether a fault has poisoned the engine.
    pub fn is_poisoned(&self) -> bool {
        self.plan.lock().poison.is_some()
    }

    fn read<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        let struck = self.plan.lock().strike(Kind::Read);
        struck.map_or_else(read, |fault| Err(failure("read", fault)))
    }

    fn change<T>(&self, kind: Kind, change: impl FnOnce() -> Result<T>) -> Result<T> {
        // Held over the change, so that nothing is written once poison was reported.
        let mut plan = self.plan.lock();
        plan.check()?;
        let struck = plan.strike(kind);
        if let Some(fault @ (Fault::RefuseWrite { .. } | Fault::FailRead { .. })) = struck {
            return Err(failure("write to", fault));
        }
        let answer = if kind == Kind::Sync && struck.is_some() {
            None
        } else {
            Some(change())
        };
        match (struck, answer) {
            (None, Some(answer)) => answer,
            (Some(fault), _) => {
                plan.poison = Some(fault.to_string());
                Err(failure("write to", fault))
            }
            (None, None) => unreachable!("only a fault keeps a change from being made"),
        }
    }
}

fn failure(action: &'static str, fault: Fault) -> Error {
    Error::Io {
        action,
        path: "the faulty engine".into(),
        source: std::io::Error::other(fault.to_string()),
    }
}

impl Engine for FaultyEngine {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>> {
        self.read(|| self.inner.get(space, key))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(FaultySnapshot {
            inner: self.inner.snapshot()?,
            engine: self.clone(),
        }))
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<()> {
        if batch.is_empty() && durability == Durability::Buffered {
            self.plan.lock().check()?;
            return self.inner.write(batch, durability);
        }
        self.change(Kind::Write, || self.inner.write(batch, durability))
    }

    fn sync(&self) -> Result<()> {
        self.change(Kind::Sync, || self.inner.sync())
    }

    fn ingest_when(
        &self,
        space: SpaceId,
        rows: &mut dyn Iterator<Item = Pair>,
        ready: &mut dyn FnMut() -> bool,
    ) -> Result<Option<u64>> {
        self.plan.lock().check()?;
        // A fault strikes where the rows would appear, and the lock is not held while the rows are
        // drawn and `ready` is asked: both may use this very engine.
        let mut struck = None;
        let appeared = self.inner.ingest_when(space, rows, &mut || {
            if !ready() {
                return false;
            }
            let mut plan = self.plan.lock();
            struck = Some(plan.check().map(|()| plan.strike(Kind::Write)));
            !matches!(struck, Some(Err(_) | Ok(Some(Fault::RefuseWrite { .. }))))
        });
        match struck {
            None | Some(Ok(None)) => appeared,
            Some(Err(poisoned)) => Err(poisoned),
            Some(Ok(Some(fault))) => {
                if !matches!(fault, Fault::RefuseWrite { .. }) {
                    self.plan.lock().poison = Some(fault.to_string());
                }
                Err(failure("write to", fault))
            }
        }
    }

    fn create_space(&self, space: SpaceId) -> Result<()> {
        self.change(Kind::Write, || self.inner.create_space(space))
    }

    fn drop_space(&self, space: SpaceId) -> Result<()> {
        self.change(Kind::Write, || self.inner.drop_space(space))
    }

    fn spaces(&self) -> Result<Vec<SpaceId>> {
        self.inner.spaces()
    }

    fn disk_bytes(&self) -> Result<u64> {
        self.inner.disk_bytes()
    }

    fn admit(&self, bytes: u64) -> Result<()> {
        self.inner.admit(bytes)
    }

    fn counters(&self) -> EngineCounters {
        self.inner.counters()
    }
}

struct FaultySnapshot {
    inner: Box<dyn Snapshot>,
    engine: FaultyEngine,
}

impl Snapshot for FaultySnapshot {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>> {
        self.engine.read(|| self.inner.get(space, key))
    }

    fn scan(&self, space: SpaceId, range: &KeyRange, direction: Direction) -> Result<Scan> {
        let engine = self.engine.clone();
        let pairs = self.inner.scan(space, range, direction)?;
        Ok(Box::new(pairs.map(move |pair| engine.read(|| pair))))
    }
}
