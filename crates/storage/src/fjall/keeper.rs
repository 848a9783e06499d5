//! The keeper: a thread that seals memtables, sees failures of fjall's own threads, and lets the engine
//! come back.
//!
//! Everything in a memtable is on disk in the journal before it is sealed, and no batch is on its way
//! meanwhile. fjall turns what is sealed into a table at any moment from then on; had it rows that a loss
//! of power can still take from the journal, half of a batch could survive.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ::fjall::compaction::Leveled;
use ::fjall::{AbstractTree, Database, Keyspace, PersistMode};
use hashbrown::HashMap;

use super::core::{Core, Opening, find};
use super::failure;
use super::memtables::{Limits, Memtable, decide};
use crate::env::Clock;
use crate::{Result, SpaceId};

/// Between two looks while nothing is written, and while flushes are under way.
const REST: Duration = Duration::from_millis(500);
const REST_BUSY: Duration = Duration::from_millis(5);

/// How long a space may have too many runs while fjall compacts nothing.
const CROWDED_MAX: Duration = Duration::from_secs(1);

/// How many spaces are flattened between two looks.
const FLATTEN_MAX: usize = 16;

/// How long flushes may make no progress before the engine is given up.
const STUCK_MAX: Duration = Duration::from_secs(120);

/// The thread, until it is dropped.
#[derive(Debug)]
pub(super) struct Keeper {
    core: Arc<Core>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(super) fn start(core: &Arc<Core>) -> Result<Self> {
        let kept = Arc::clone(core);
        let thread = std::thread::Builder::new()
            .name("engine-keeper".to_owned())
            .spawn(move || run(&kept))
            .map_err(|error| failure::translate_io("start a thread for", &core.path, error))?;
        Ok(Self {
            core: Arc::clone(core),
            thread: Some(thread),
        })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.core.pressure.ask_to_end();
        if let Some(thread) = self.thread.take() {
            // A panic in there was printed when it happened.
            let _ = thread.join();
        }
    }
}

fn run(core: &Core) {
    let mut watch = Watch::new();
    let mut rest = REST_BUSY;
    while core.pressure.rest(rest) {
        let looked = catch_unwind(AssertUnwindSafe(|| watch.look(core)));
        let Ok(busy) = looked else {
            // Writers wait for the keeper: without it they are refused.
            core.fail_stuck("its maintenance thread panicked: restart the server".to_owned());
            return;
        };
        rest = if busy { REST_BUSY } else { REST };
    }
}

/// What was seen of one space.
#[derive(Debug, Default)]
struct Seen {
    /// Bytes written by all when its oldest row that can be sealed was first seen.
    since: Option<u64>,
    /// The sizes of memtables that were sealed, the oldest first.
    sealed: VecDeque<u64>,
    /// Since when it has too many runs.
    crowded: Option<Duration>,
}

/// What the keeper remembers between two looks.
struct Watch {
    opening: u64,
    spaces: HashMap<SpaceId, Seen>,
    /// Bytes that were written since the engine was opened.
    written: u64,
    flushes: u64,
    /// When flushes went on last, and when the reserve was looked after, by the engine's clock.
    progress: Duration,
    reserve: Duration,
}

impl Watch {
    fn new() -> Self {
        Self {
            opening: 0,
            spaces: HashMap::new(),
            written: 0,
            flushes: 0,
            progress: Duration::ZERO,
            reserve: Duration::ZERO,
        }
    }

    /// Does what is to be done. Answers whether more will be soon.
    fn look(&mut self, core: &Core) -> bool {
        if core.is_down() {
            // Who writes meanwhile is told why it fails.
            let _ = core.recover();
            return true;
        }
        let looked = self.look_at(core);
        match looked {
            Ok(busy) => busy,
            Err(error) => {
                core.fail(&error, None);
                let _ = core.recover();
                true
            }
        }
    }

    fn look_at(&mut self, core: &Core) -> Result<bool> {
        let number = core.openings.load(std::sync::atomic::Ordering::Acquire);
        if std::mem::replace(&mut self.opening, number) != number {
            self.spaces.clear();
            self.progress = core.clock.monotonic();
        }
        self.written += core.pressure.begin_look();
        let opening = core.opening.load_full();
        let Some(database) = &opening.database else {
            return Ok(true);
        };
        // Nothing is to be written out; this tells whether fjall's threads failed.
        core.change("flush or compact", || database.persist(PersistMode::Buffer))?;
        let memtables = self.measure(&opening);
        let limits = Limits {
            one: core.options.memtable_bytes_max,
            all: core.options.memtables_bytes_max,
            age: match core.pressure.seals_all() {
                true => 0,
                false => core.options.journal_bytes_max / 2,
            },
        };
        let decision = decide(&memtables, limits);
        let held = memtables.iter().map(|one| one.active + one.sealed.0).sum();
        core.pressure.end_look(held, decision.stall);
        for space in &decision.seal {
            self.seal(core, *space)?;
        }
        for space in &decision.compact {
            self.compact(&opening, *space, core)?;
        }
        if decision.flatten > 0 {
            flatten(&opening, decision.flatten, core)?;
        }
        let busy =
            decision.stall || decision.flatten > 0 || memtables.iter().any(|one| one.sealed.1 > 0);
        drop(opening);
        self.watch_progress(core, busy);
        if core.clock.monotonic() > self.reserve + REST {
            self.reserve = core.clock.monotonic();
            core.room.keep_reserve(held);
        }
        Ok(busy || !decision.seal.is_empty())
    }

    fn measure(&mut self, opening: &Opening) -> Vec<Memtable> {
        self.spaces
            .retain(|space, _| opening.spaces.contains_key(space));
        let written = self.written;
        let measured = opening.spaces.iter().map(|(&space, keyspace)| {
            let seen = self.spaces.entry(space).or_default();
            let active = keyspace.tree.active_memtable().size();
            let since = (active > 0).then(|| seen.since.unwrap_or(written));
            seen.since = since;
            let count = keyspace.sealed_memtable_count();
            while seen.sealed.len() > count {
                seen.sealed.pop_front();
            }
            Memtable {
                space,
                active,
                sealed: (seen.sealed.iter().sum(), count),
                runs: keyspace.tree.l0_run_count(),
                age: since.map_or(0, |since| written - since),
            }
        });
        measured.collect()
    }

    /// Seals the memtable of a space, for fjall's threads to make a table of.
    fn seal(&mut self, core: &Core, space: SpaceId) -> Result<()> {
        let _order = core.order.write();
        core.check()?;
        let opening = core.opening.load();
        let (Some(database), Ok(keyspace)) = (&opening.database, find(&opening.spaces, space))
        else {
            return Ok(());
        };
        core.persist(database)?;
        let size = keyspace.tree.active_memtable().size();
        core.change("seal a memtable of", || keyspace.rotate_memtable())?;
        let seen = self.spaces.entry(space).or_default();
        seen.since = None;
        seen.sealed.push_back(size);
        Ok(())
    }

    /// Compacts a space that nothing else compacts.
    fn compact(&mut self, opening: &Opening, space: SpaceId, core: &Core) -> Result<()> {
        let Some(database) = &opening.database else {
            return Ok(());
        };
        let keyspace: &Keyspace = find(&opening.spaces, space)?;
        let seen = self.spaces.entry(space).or_default();
        let crowded = *seen.crowded.get_or_insert_with(|| core.clock.monotonic());
        if core.clock.monotonic() < crowded + CROWDED_MAX || database.active_compactions() > 0 {
            return Ok(());
        }
        seen.crowded = None;
        let strategy = keyspace.config.compaction_strategy.clone();
        let horizon = horizon(database);
        core.change("compact", || {
            Ok(keyspace.tree.compact(strategy, horizon)?)
        })
    }

    /// Gives the engine up when flushes are under way and none comes to its end.
    fn watch_progress(&mut self, core: &Core, busy: bool) {
        let flushes = core.counted().flushes;
        if !busy || flushes != self.flushes {
            self.flushes = flushes;
            self.progress = core.clock.monotonic();
        }
        if core.clock.monotonic() > self.progress + STUCK_MAX {
            let seconds = STUCK_MAX.as_secs();
            core.fail_stuck(format!(
                "no memtable became a table in {seconds} s; the disk may hang: restart the server"
            ));
        }
    }
}

/// What no snapshot needs any more.
fn horizon(database: &Database) -> u64 {
    database.supervisor.snapshot_tracker.get_seqno_safe_to_gc()
}

/// Merges the first level of some spaces into the next, the smallest ones first.
fn flatten(opening: &Opening, count: usize, core: &Core) -> Result<()> {
    let Some(database) = &opening.database else {
        return Ok(());
    };
    let mut spaces: Vec<&Keyspace> = opening
        .spaces
        .values()
        .filter(|keyspace| keyspace.tree.l0_run_count() > 0)
        .collect();
    spaces.sort_by_cached_key(|keyspace| keyspace.disk_space());
    for keyspace in spaces.into_iter().take(count.min(FLATTEN_MAX)) {
        let strategy = Arc::new(Leveled::default().with_l0_threshold(1));
        let horizon = horizon(database);
        core.change("compact", || {
            Ok(keyspace.tree.compact(strategy, horizon)?)
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::fjall::FjallEngine;
    use crate::{Batch, Durability, Engine, Error, FjallOptions, SpaceId};

    /// Writers wait while memtables are full, and nothing would end that without the keeper.
    #[test]
    fn writers_that_wait_are_refused_when_the_engine_is_stuck() {
        let folder = tempfile::tempdir().unwrap();
        let engine = FjallEngine::open(folder.path(), FjallOptions::default()).unwrap();
        engine.create_space(SpaceId(1)).unwrap();
        engine.core.pressure.ask_to_end();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                loop {
                    engine.core.pressure.end_look(0, true);
                    let mut batch = Batch::new();
                    batch.put(SpaceId(1), "key", "value");
                    match engine.write(batch, Durability::Buffered) {
                        Ok(()) => {}
                        Err(error) => return error,
                    }
                }
            });
            engine.core.fail_stuck("the test says so".to_owned());
            let error = writer.join().unwrap();
            assert!(
                matches!(&error, Error::Poisoned { cause } if cause == "the test says so"),
                "{error}"
            );
        });
        assert!(engine.get(SpaceId(1), b"key").is_ok(), "reads go on");
    }
}
