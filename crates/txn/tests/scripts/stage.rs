//! The stage on which a script plays: a store, its engines, named transactions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keys::{Value, encode_key, format_key};
use parking_lot::Mutex;
use partitions::{PartitionId, Share, TableId};
use storage::env::{Clock, SeededRandom, SimulatedClock};
use storage::{
    Bytes, Direction, Durability, EngineId, Fault, FaultyEngine, KeyRange, MemoryEngine,
    MemoryMedium, SeparatePlacement, SharedPlacement,
};
use txn::{
    Fatality, Options, Patching, Savepoint, Step, Store, Timestamp, Timestamps, Transaction,
};

const TABLE: TableId = TableId(1);

/// A load of one row is an ordinary transaction.
const INGEST_ROWS_MIN: usize = 2;

type Failure = Box<dyn std::error::Error>;

/// Timestamps 1, 2, 3, … so that scripts are readable.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Timestamps for Counting {
    fn next(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn observe(&self, seen: Timestamp) {
        self.0.fetch_max(seen.0, Ordering::SeqCst);
    }
}

/// Kills the coordinator at the n-th time it comes to a step.
#[derive(Debug, Default)]
struct Doom(Mutex<Option<(Step, u64)>>);

impl Fatality for Doom {
    fn survives(&self, step: Step) -> bool {
        let mut doom = self.0.lock();
        match &mut *doom {
            Some((at, left)) if *at == step => {
                *left -= 1;
                let survives = *left > 0;
                if !survives {
                    *doom = None;
                }
                survives
            }
            _ => true,
        }
    }
}

/// Joins patches to rows; a row may be no longer than ten bytes.
#[derive(Debug)]
struct Joining;

impl Patching for Joining {
    fn apply(&self, _: TableId, row: Option<&[u8]>, patch: &[u8]) -> Result<Option<Bytes>, String> {
        let joined = [row.unwrap_or_default(), patch].concat();
        match joined.len() {
            0..=10 => Ok(Some(joined.into())),
            _ => Err("it would be too long".to_owned()),
        }
    }
}

#[derive(Default)]
pub(crate) struct Stage {
    media: Arc<Mutex<BTreeMap<EngineId, MemoryMedium>>>,
    engines: Arc<Mutex<BTreeMap<EngineId, FaultyEngine>>>,
    separate: bool,
    doom: Arc<Doom>,
    history_bytes_max: Option<usize>,
    store: Option<Arc<Store>>,
    open: BTreeMap<String, Transaction>,
    savepoints: BTreeMap<(String, String), Savepoint>,
}

fn key(text: &str) -> Bytes {
    encode_key(&[Value::Utf8(text.into())]).unwrap().into()
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn range(words: &[&str]) -> KeyRange {
    let lower = words.first().map_or(Bytes::new(), |lower| key(lower));
    KeyRange {
        lower,
        upper: words.get(1).map(|upper| key(upper)),
    }
}

impl Stage {
    pub(crate) fn run(&mut self, command: &str) -> Result<Vec<String>, Failure> {
        let words: Vec<_> = command.split_whitespace().collect();
        match words.as_slice() {
            ["store", placement, splits @ ..] => self.make_store(placement, splits),
            ["history", "bytes", max] => {
                self.history_bytes_max = Some(max.parse()?);
                Ok(vec![])
            }
            ["restart"] => {
                self.open.clear();
                self.open_store()?;
                Ok(vec![])
            }
            ["doom", step, nth] => {
                let step = match *step {
                    "prepared" => Step::Prepared,
                    "decided" => Step::Decided,
                    _ => Step::Applied,
                };
                *self.doom.0.lock() = Some((step, nth.parse()?));
                Ok(vec![])
            }
            ["crash", "engine", engine] => {
                self.medium(EngineId(engine.parse()?)).crash(0);
                Ok(vec![])
            }
            ["fault", "engine", engine, fault, nth] => {
                let nth = nth.parse()?;
                let fault = match *fault {
                    "refuse-write" => Fault::RefuseWrite { nth },
                    _ => Fault::BreakWrite { nth },
                };
                self.engines.lock()[&EngineId(engine.parse()?)].inject(fault);
                Ok(vec![])
            }
            ["reopen", "engine", engine] => {
                self.store().reopen(EngineId(engine.parse()?))?;
                Ok(vec![])
            }
            ["set", name, value] => self.set(name, Some(value)),
            ["unset", name] => self.set(name, None),
            ["load", pairs @ ..] => self.load(pairs),
            ["rows"] => self.rows(),
            ["partitions"] => Ok(self.partitions()),
            ["measure"] => self.measure(),
            ["collect"] => Ok(vec![format!("{:?}", self.store().collect()?)]),
            ["split", "at", at] => self.split(at),
            ["merge"] => {
                let ids: Vec<PartitionId> = self.ids();
                self.store().merge(TABLE, &ids)?;
                Ok(self.partitions())
            }
            [name, rest @ ..] => self.act(name, rest),
            [] => Ok(vec![]),
        }
    }

    fn store(&self) -> &Arc<Store> {
        self.store.as_ref().expect("a script begins with `store`")
    }

    fn medium(&self, id: EngineId) -> MemoryMedium {
        self.media.lock().entry(id).or_default().clone()
    }

    fn make_store(&mut self, placement: &str, splits: &[&str]) -> Result<Vec<String>, Failure> {
        self.separate = placement == "separate";
        self.open_store()?;
        let splits: Vec<_> = splits.iter().map(|split| key(split)).collect();
        self.store().create_table(TABLE, &splits, Bytes::new())?;
        Ok(vec![])
    }

    fn open_store(&mut self) -> Result<(), Failure> {
        self.store = None;
        let media = Arc::clone(&self.media);
        let engines = Arc::clone(&self.engines);
        let open = move |id| -> storage::Result<Arc<dyn storage::Engine>> {
            let medium = media.lock().entry(id).or_default().clone();
            let engine = FaultyEngine::new(Arc::new(MemoryEngine::open(&medium)));
            engines.lock().insert(id, engine.clone());
            Ok(Arc::new(engine))
        };
        let placement: Arc<dyn storage::Placement> = if self.separate {
            Arc::new(SeparatePlacement::new(open, |_| Ok(())))
        } else {
            Arc::new(SharedPlacement::new(move || open(EngineId::META)))
        };
        let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::new(0));
        let mut options = Options::new(placement, clock, Arc::new(SeededRandom::new(1)));
        options.timestamps = Some(Arc::new(Counting::default()));
        options.fatality = Arc::clone(&self.doom) as Arc<dyn Fatality>;
        options.patching = Arc::new(Joining);
        options.ingest_rows_min = INGEST_ROWS_MIN;
        if let Some(max) = self.history_bytes_max {
            options.history_bytes_max = max;
        }
        self.store = Some(Store::open(options)?);
        Ok(())
    }

    fn set(&self, name: &str, value: Option<&str>) -> Result<Vec<String>, Failure> {
        let mut txn = self.store().begin();
        match value {
            Some(value) => txn.put(TABLE, key(name), Bytes::copy_from_slice(value.as_bytes()))?,
            None => txn.delete(TABLE, key(name))?,
        }
        let committed = txn.commit(Durability::Synced)?;
        Ok(vec![format!("committed {}", committed.at)])
    }

    fn load(&self, pairs: &[&str]) -> Result<Vec<String>, Failure> {
        let pairs = pairs.iter().filter_map(|pair| pair.split_once('='));
        let rows = pairs.map(|(name, value)| (key(name), Bytes::copy_from_slice(value.as_bytes())));
        let committed = self.store().load(TABLE, rows)?;
        let (at, partitions) = (committed.at, committed.partitions.len());
        Ok(vec![format!("loaded {at} into {partitions} partitions")])
    }

    fn rows(&self) -> Result<Vec<String>, Failure> {
        let view = self.store().view();
        let rows = view.scan(TABLE, &KeyRange::all(), Direction::Ascending)?;
        let mut line = format!("{}:", view.at());
        for pair in rows {
            let (key, row) = pair?;
            line += &format!(" {}={}", format_key(&key), text(&row));
        }
        Ok(vec![line])
    }

    fn ids(&self) -> Vec<PartitionId> {
        let map = self.store().map(TABLE).unwrap();
        map.partitions()
            .iter()
            .map(|one| one.descriptor.id)
            .collect()
    }

    fn partitions(&self) -> Vec<String> {
        let map = self.store().map(TABLE).unwrap();
        let show = |one: &Arc<partitions::Partition>| {
            let d = &one.descriptor;
            let counts = one.counters.counts();
            let totals = counts.totals();
            format!(
                "{} on {} from {}: {}{} rows, {} bytes, {} tombstones",
                d.id,
                d.engine,
                format_key(&d.range.lower),
                if counts.exact() { "" } else { "about " },
                totals.rows,
                totals.bytes,
                totals.tombstones
            )
        };
        map.partitions().iter().map(show).collect()
    }

    fn measure(&self) -> Result<Vec<String>, Failure> {
        for id in self.ids() {
            self.store().measure(TABLE, id)?;
        }
        Ok(self.partitions())
    }

    fn split(&self, at: &str) -> Result<Vec<String>, Failure> {
        let at = key(at);
        let partition = self.store().map(TABLE)?.route(&at).descriptor.id;
        self.store().split(TABLE, partition, &at, Share::HALF)?;
        Ok(self.partitions())
    }

    /// A line of one transaction.
    fn act(&mut self, name: &str, words: &[&str]) -> Result<Vec<String>, Failure> {
        if let ["begin"] = words {
            let txn = self.store().begin();
            let line = format!("{name} reads at {}", txn.snapshot());
            self.open.insert(name.to_owned(), txn);
            return Ok(vec![line]);
        }
        if let ["commit" | "abort"] = words {
            let txn = self.open.remove(name).ok_or("no such transaction")?;
            if words == ["abort"] {
                return Ok(vec![]);
            }
            let done = txn.commit(Durability::Synced)?;
            return Ok(vec![format!("{name} committed {}", done.at)]);
        }
        let txn = self.open.get_mut(name).ok_or("no such transaction")?;
        match words {
            ["get", of] => {
                let row = txn.get(TABLE, &key(of))?;
                Ok(vec![row.as_ref().map_or("nothing".to_owned(), text)])
            }
            ["put", of, value] => {
                txn.put(TABLE, key(of), Bytes::copy_from_slice(value.as_bytes()))?;
                Ok(vec![])
            }
            ["patch", of, patch] => {
                txn.patch(TABLE, key(of), Bytes::copy_from_slice(patch.as_bytes()))?;
                Ok(vec![])
            }
            ["delete", of] => {
                txn.delete(TABLE, key(of))?;
                Ok(vec![])
            }
            ["scan", bounds @ ..] => {
                let rows = txn.scan(TABLE, &range(bounds), Direction::Ascending)?;
                show(rows, usize::MAX)
            }
            ["scan-back", bounds @ ..] => {
                let rows = txn.scan(TABLE, &range(bounds), Direction::Descending)?;
                show(rows, usize::MAX)
            }
            ["first", count, bounds @ ..] => {
                let rows = txn.scan(TABLE, &range(bounds), Direction::Ascending)?;
                show(rows, count.parse()?)
            }
            ["savepoint", mark] => {
                let savepoint = txn.savepoint();
                self.savepoints
                    .insert((name.to_owned(), (*mark).to_owned()), savepoint);
                Ok(vec![])
            }
            ["rollback", mark] => {
                let savepoint = self.savepoints[&(name.to_owned(), (*mark).to_owned())];
                txn.rollback_to(savepoint)?;
                Ok(vec![])
            }
            _ => Err("not a command".into()),
        }
    }
}

fn show(rows: txn::Scan, most: usize) -> Result<Vec<String>, Failure> {
    let mut shown = Vec::new();
    for pair in rows.take(most) {
        let (key, row) = pair?;
        shown.push(format!("{}={}", format_key(&key), text(&row)));
    }
    Ok(vec![if shown.is_empty() {
        "nothing".to_owned()
    } else {
        shown.join(" ")
    }])
}
