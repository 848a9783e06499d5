//! Engines that lie, in small ways, to a judge that has to notice.

use storage::{EngineCounters, MemoryEngine, Pair, Result, Scan, Snapshot};

use super::*;

/// How an engine lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// A scan downwards leaves out a row.
    ShortBackwards,
    /// Both scans leave out a row that a get shows.
    ShortScans,
    /// A get does not find a row.
    NoGet,
    /// A get shows something else.
    OtherValue,
    /// A get finds what is not there.
    MadeUp,
    /// A space is not listed.
    NoSpace,
}

#[derive(Debug)]
struct Lying {
    engine: MemoryEngine,
    lie: Lie,
}

struct LyingView {
    view: Box<dyn Snapshot>,
    lie: Lie,
}

fn lie(lie: Lie, key: &[u8], value: Option<Bytes>) -> Option<Bytes> {
    match lie {
        Lie::NoGet if key == b"head" => None,
        Lie::OtherValue if key == b"head" => Some(Bytes::from("0")),
        Lie::MadeUp if key.ends_with(b"!") => Some(Bytes::from("0")),
        _ => value,
    }
}

impl Snapshot for LyingView {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>> {
        self.view.get(space, key)
    }

    fn scan(&self, space: SpaceId, range: &KeyRange, direction: Direction) -> Result<Scan> {
        let scan = self.view.scan(space, range, direction)?;
        let short = match self.lie {
            Lie::ShortBackwards => direction == Direction::Descending,
            Lie::ShortScans => true,
            _ => false,
        };
        Ok(Box::new(scan.filter(move |pair| {
            !short || !matches!(pair, Ok((key, _)) if key.as_ref() == b"head")
        })))
    }
}

impl Engine for Lying {
    fn get(&self, space: SpaceId, key: &[u8]) -> Result<Option<Bytes>> {
        Ok(lie(self.lie, key, self.engine.get(space, key)?))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(LyingView {
            view: self.engine.snapshot()?,
            lie: self.lie,
        }))
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<()> {
        self.engine.write(batch, durability)
    }

    fn sync(&self) -> Result<()> {
        self.engine.sync()
    }

    fn ingest_when(
        &self,
        space: SpaceId,
        rows: &mut dyn Iterator<Item = Pair>,
        ready: &mut dyn FnMut() -> bool,
    ) -> Result<Option<u64>> {
        self.engine.ingest_when(space, rows, ready)
    }

    fn create_space(&self, space: SpaceId) -> Result<()> {
        self.engine.create_space(space)
    }

    fn drop_space(&self, space: SpaceId) -> Result<()> {
        self.engine.drop_space(space)
    }

    fn spaces(&self) -> Result<Vec<SpaceId>> {
        let mut spaces = self.engine.spaces()?;
        if self.lie == Lie::NoSpace {
            spaces.pop();
        }
        Ok(spaces)
    }

    fn disk_bytes(&self) -> Result<u64> {
        self.engine.disk_bytes()
    }

    fn counters(&self) -> EngineCounters {
        self.engine.counters()
    }
}

const STEPS: usize = 70;

/// The verdict on an engine that took some steps, or only a part of the last one.
fn verdict(lie: Lie, taken: &[Step], window: Window) -> std::result::Result<usize, Fault> {
    let engine = Lying {
        engine: MemoryEngine::new(),
        lie,
    };
    for step in taken {
        take(&engine, step).unwrap();
    }
    let plan = Plan::new(5, STEPS);
    let found = read(&engine, 1).map_err(|unread| unread.fault("it cannot be read"))?;
    place(&plan, &found, window)
}

fn all() -> (Vec<Step>, Window) {
    let window = Window {
        low: STEPS,
        high: STEPS,
    };
    (Plan::new(5, STEPS).steps, window)
}

#[test]
fn an_honest_engine_is_right() {
    let (steps, window) = all();
    assert!(verdict(Lie::None, &steps, window).is_ok());
}

#[test]
fn answers_that_contradict_each_other_are_wrong() {
    let (steps, window) = all();
    for lie in [
        Lie::ShortBackwards,
        Lie::ShortScans,
        Lie::NoGet,
        Lie::OtherValue,
        Lie::MadeUp,
        Lie::NoSpace,
    ] {
        let verdict = verdict(lie, &steps, window);
        assert!(
            matches!(verdict, Err(Fault::Wrong(_))),
            "{lie:?}: {verdict:?}"
        );
    }
}

#[test]
fn an_earlier_state_is_lost_and_a_later_one_is_wrong() {
    let (steps, _) = all();
    let (low, high) = (STEPS - 10, STEPS - 5);
    let window = Window { low, high };
    assert!(verdict(Lie::None, &steps[..low], window).is_ok());
    assert!(verdict(Lie::None, &steps[..high], window).is_ok());
    let early = verdict(Lie::None, &steps[..low - 10], window);
    assert!(matches!(early, Err(Fault::Lost(_))), "{early:?}");
    let late = verdict(Lie::None, &steps, window);
    assert!(matches!(late, Err(Fault::Wrong(_))), "{late:?}");
}

#[test]
fn half_of_a_batch_and_a_gap_are_wrong() {
    let (steps, window) = all();
    let batches: Vec<usize> = (0..STEPS)
        .filter(|place| matches!(&steps[*place], Step::Batch(..)))
        .collect();
    let last = *batches.last().unwrap();
    let mut half = steps[..=last].to_vec();
    let Step::Batch(changes, _) = &mut half[last] else {
        panic!("it is a batch");
    };
    changes.remove(0);
    let any = Window {
        low: 0,
        high: window.high,
    };
    let found = verdict(Lie::None, &half, any);
    assert!(matches!(found, Err(Fault::Wrong(_))), "{found:?}");
    let mut gap = steps[..=last].to_vec();
    gap.remove(batches[batches.len() - 2]);
    let found = verdict(Lie::None, &gap, any);
    assert!(matches!(found, Err(Fault::Wrong(_))), "{found:?}");
}
