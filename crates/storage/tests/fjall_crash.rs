//! What fjall holds after a crash: everything synced, and whole batches only.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use storage::{
    Batch, Bytes, Direction, Durability, Engine, Error, FjallEngine, FjallOptions, KeyRange,
    SpaceId,
};
use tempfile::TempDir;

const SPACE: SpaceId = SpaceId(1);
const OTHER: SpaceId = SpaceId(2);

fn open(path: &Path) -> FjallEngine {
    FjallEngine::open(path, FjallOptions::default()).unwrap()
}

fn write(engine: &dyn Engine, number: u64, durability: Durability) {
    let mut batch = Batch::new();
    batch.put(SPACE, format!("{number:04}"), vec![b'x'; 50]);
    batch.put(OTHER, format!("{number:04}"), number.to_string());
    engine.write(batch, durability).unwrap();
}

fn keys(engine: &dyn Engine, space: SpaceId) -> Vec<Bytes> {
    let view = engine.snapshot().unwrap();
    let scan = view
        .scan(space, &KeyRange::all(), Direction::Ascending)
        .unwrap();
    scan.map(|pair| pair.unwrap().0).collect()
}

/// How many of the batches there are, after checking that they are whole and a prefix.
fn prefix(engine: &dyn Engine) -> u64 {
    let here = keys(engine, SPACE);
    assert_eq!(here, keys(engine, OTHER), "a batch is there in part");
    let expected: Vec<String> = (0..here.len())
        .map(|number| format!("{number:04}"))
        .collect();
    assert_eq!(here, expected, "a batch is there without an earlier one");
    u64::try_from(here.len()).unwrap()
}

/// Copies a directory as it is on the disk now; a live process knows nothing of it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_that_returned() {
    let directory = tempfile::tempdir().unwrap();
    let live = directory.path().join("live");
    let engine = open(&live);
    engine.create_space(SPACE).unwrap();
    engine.create_space(OTHER).unwrap();
    for number in 0..50 {
        write(&engine, number, Durability::Buffered);
    }
    let copied = directory.path().join("copy");
    copy(&live, &copied);
    write(&engine, 50, Durability::Buffered);
    let reopened = open(&copied);
    assert_eq!(prefix(&reopened), 50);
    write(&reopened, 50, Durability::Synced);
    drop(reopened);
    assert_eq!(prefix(&open(&copied)), 51);
}

const BIG_BATCHES: u64 = 200;

/// Large batches go through several journals, with zeros written ahead of them all the time.
#[test]
fn no_record_of_several_journals_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(directory.path());
    engine.create_space(SPACE).unwrap();
    // What does not compress takes its whole length.
    let noise: Vec<u8> = std::iter::successors(Some(1_u64), |last| {
        Some(last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1))
    })
    .map(|number| number.to_be_bytes()[0])
    .take(3 << 20)
    .collect();
    let length = |number: u64| match number % 7 {
        0 => noise.len(),
        1 => 900_000,
        small => usize::try_from(small * 1_000).unwrap(),
    };
    for number in 0..BIG_BATCHES {
        let mut batch = Batch::new();
        batch.put(
            SPACE,
            format!("{number:04}"),
            noise[..length(number)].to_vec(),
        );
        engine.write(batch, Durability::Buffered).unwrap();
    }
    drop(engine);
    let reopened = open(directory.path());
    for number in 0..BIG_BATCHES {
        let value = reopened.get(SPACE, format!("{number:04}").as_bytes());
        let value = value.unwrap().unwrap();
        assert!(value == noise[..length(number)], "batch {number}");
    }
}

const BATCHES: u64 = 8;

/// The length of a journal, and the note of what was synced.
type Ended = (usize, Vec<u8>);

/// A directory with some batches, and how its journal ended before the first and after each.
static TEMPLATE: LazyLock<(TempDir, Vec<Ended>)> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let journal = directory.path().join("engine/1.jnl");
    let engine = open(directory.path());
    engine.create_space(SPACE).unwrap();
    engine.create_space(OTHER).unwrap();
    let note = directory.path().join("engine/SYNCED");
    let state = || {
        let bytes = fs::read(&journal).unwrap();
        let last = bytes.iter().rposition(|&byte| byte != 0);
        (last.map_or(0, |last| last + 1), fs::read(&note).unwrap())
    };
    let mut states = vec![state()];
    for number in 0..BATCHES {
        write(&engine, number, Durability::Synced);
        states.push(state());
    }
    drop(engine);
    let file = fs::OpenOptions::new().write(true).open(&journal).unwrap();
    file.set_len(u64::try_from(states.last().unwrap().0).unwrap())
        .unwrap();
    (directory, states)
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_torn_journal_keeps_what_was_synced_before_the_tear(
        synced in 0_usize..8,
        torn in any::<prop::sample::Index>(),
        garbage in prop::collection::vec(any::<u8>(), 0..300),
        zeros in any::<bool>(),
    ) {
        let (template, states) = &*TEMPLATE;
        let directory = tempfile::tempdir().unwrap();
        copy(template.path(), directory.path());
        let journal = directory.path().join("engine/1.jnl");
        // Cut somewhere within the batch after the synced ones, and leave rubbish behind.
        let ((from, note), (to, _)) = (&states[synced], &states[synced + 1]);
        fs::write(directory.path().join("engine/SYNCED"), note).unwrap();
        let mut bytes = fs::read(&journal).unwrap();
        let rest = bytes.split_off(from + torn.index(to - from));
        // Rubbish that happens to be what was cut off makes the batch whole.
        prop_assume!(!garbage.starts_with(&rest[..to - bytes.len()]));
        bytes.extend(&garbage);
        if zeros {
            bytes.resize(bytes.len() + 10_000, 0);
        }
        fs::write(&journal, bytes).unwrap();
        let engine = open(directory.path());
        let expected = u64::try_from(synced).unwrap();
        prop_assert_eq!(prefix(&engine), expected);
        // What is written next is there after the next crash.
        write(&engine, expected, Durability::Synced);
        drop(engine);
        prop_assert_eq!(prefix(&open(directory.path())), expected + 1);
    }
}

/// A journal that lost what was synced is damaged, wherever it ends now.
#[test]
fn an_end_that_was_synced_is_missed() {
    let (template, states) = &*TEMPLATE;
    for kept in 0..states.len() - 1 {
        let directory = tempfile::tempdir().unwrap();
        copy(template.path(), directory.path());
        let journal = directory.path().join("engine/1.jnl");
        let bytes = fs::read(&journal).unwrap();
        let cut = &bytes[..states[kept].0];
        for zeros in [0, 10_000] {
            let lost = [cut, &vec![0; zeros]].concat();
            fs::write(&journal, &lost).unwrap();
            let error = FjallEngine::open(directory.path(), FjallOptions::default()).unwrap_err();
            assert!(
                matches!(&error, Error::Damaged { path, .. } if *path == journal),
                "{error}"
            );
            assert!(
                fs::read(&journal).unwrap() == lost,
                "the journal was changed"
            );
        }
        fs::write(&journal, &bytes).unwrap();
        assert_eq!(prefix(&open(directory.path())), BATCHES);
    }
}

/// The journal check knows the records of this version, the zeros ahead know what it buffers and who
/// writes to its journal, and the keeper knows what its threads wait for. With another version, read
/// again `fjall/journal.rs`, `ahead.rs`, `memtables.rs` and `core.rs` beside its source, then change this.
#[test]
fn the_engine_is_the_one_that_was_read() {
    let lock = include_str!("../../../Cargo.lock");
    for (name, version) in [("fjall", "3.1.13"), ("lsm-tree", "3.1.10")] {
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&entry), "{name} is not {version}");
    }
}

#[test]
fn an_abandoned_ingestion_leaves_nothing_behind_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(directory.path());
    engine.create_space(SPACE).unwrap();
    engine.create_space(OTHER).unwrap();
    let before = engine.disk_bytes().unwrap();
    let rows = (0..20_000_u64).map(|number| {
        let noise = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_string();
        (Bytes::from(format!("{number:09}")), Bytes::from(noise))
    });
    let mut rows = rows.chain([(Bytes::from("0"), Bytes::new())]);
    engine.ingest(SPACE, &mut rows).unwrap_err();
    drop(engine);
    let engine = open(directory.path());
    assert_eq!(prefix(&engine), 0);
    let after = engine.disk_bytes().unwrap();
    assert!(after <= before + 65_536, "{before} bytes became {after}");
}
