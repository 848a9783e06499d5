//! A disk that is full: a clear error, nothing acknowledged lost, and writes that come back by themselves.
//!
//! The claims run in a child process, in a mount namespace with a small file system of their own
//! (`unshare` and a `tmpfs`). Where no such namespace is allowed they are passed over, with a message.

#![cfg(test)]
#![cfg(target_os = "linux")]
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use storage::env::{Clock, Random, SeededRandom, SystemClock};
use storage::{Batch, Durability, Engine, Error, FjallEngine, FjallOptions, Result, SpaceId};

const KEPT: SpaceId = SpaceId(1);
const DROPPED: SpaceId = SpaceId(2);

/// Names the directory to fill, for the child.
const DIRECTORY: &str = "EVENKEEL_TEST_FULL_DISK";

/// A shell line that makes `$0` a small file system and runs the rest there.
const TMPFS: &str =
    "mount -t tmpfs -o size=\"$EVENKEEL_TEST_DISK_SIZE\" tmpfs \"$0\" && exec \"$@\"";

/// Ways to get a mount namespace: as root, and as anyone.
const UNSHARE: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];

/// More than anything here takes, and less than a hang.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Runs a test again in a child that has a small disk, or the claim itself in that child.
fn on_a_small_disk(test: &str, size: &str, claim: impl FnOnce(&Path)) {
    if let Some(path) = std::env::var_os(DIRECTORY) {
        claim(&PathBuf::from(path));
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let run = |way: &[&str], rest: &[&str]| {
        Command::new("unshare")
            .args(way)
            .args(["sh", "-c", TMPFS])
            .arg(directory.path())
            .args(rest)
            .env(DIRECTORY, directory.path())
            .env("EVENKEEL_TEST_DISK_SIZE", size)
            .output()
    };
    let works = |way: &&&[&str]| run(way, &["true"]).is_ok_and(|tried| tried.status.success());
    let Some(way) = UNSHARE.iter().find(works) else {
        println!("passed over: this machine allows no mount namespace");
        return;
    };
    let program = std::env::current_exe().unwrap();
    let output = run(
        way,
        &[program.to_str().unwrap(), "--exact", test, "--nocapture"],
    )
    .unwrap();
    let reported = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && reported.contains("1 passed"),
        "{reported}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn options() -> FjallOptions {
    FjallOptions {
        memtable_bytes_max: 256 << 10,
        ..FjallOptions::default()
    }
}

fn value(number: u64) -> Vec<u8> {
    let random = SeededRandom::new(number);
    (0..1_024)
        .flat_map(|_| random.next_u64().to_le_bytes())
        .collect()
}

fn key(number: u64) -> String {
    format!("{number:09}")
}

fn put(engine: &FjallEngine, space: SpaceId, number: u64) -> Result<()> {
    let mut batch = Batch::new();
    batch.put(space, key(number), value(number));
    engine.write(batch, Durability::Synced)
}

/// Writes until the disk is full. Answers with how many rows are there then, and the error.
fn fill(engine: &FjallEngine, space: SpaceId, from: u64) -> (u64, Error) {
    for number in from..from + 20_000 {
        if let Err(error) = put(engine, space, number) {
            return (number, error);
        }
    }
    panic!("the disk does not fill");
}

/// Writes a row as soon as the engine takes one.
fn put_in_time(engine: &FjallEngine, space: SpaceId, number: u64) {
    let clock = SystemClock::new();
    while let Err(error) = put(engine, space, number) {
        assert!(
            clock.monotonic() < TIME_MAX,
            "writes do not come back: {error}"
        );
        std::thread::yield_now();
    }
}

fn assert_rows(engine: &FjallEngine, space: SpaceId, rows: impl Iterator<Item = u64>) {
    for number in rows {
        let found = engine.get(space, key(number).as_bytes()).unwrap();
        assert!(
            found.as_deref() == Some(value(number).as_slice()),
            "row {number} is lost"
        );
    }
}

fn assert_full(error: &Error) {
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("no space left"), "{error}");
}

/// A write that failed half-way, on a disk so full that it cannot be taken back yet, is told to be so.
fn assert_stopped(error: &Error) {
    let known = matches!(error, Error::DiskFull { .. } | Error::Poisoned { .. });
    assert!(known, "{error}");
    assert!(error.to_string().contains("no space left"), "{error}");
}

#[test]
fn a_full_disk_takes_deletions_and_then_writes_again() {
    on_a_small_disk(
        "a_full_disk_takes_deletions_and_then_writes_again",
        "160m",
        |path| {
            let engine = FjallEngine::open(path, options()).unwrap();
            engine.create_space(KEPT).unwrap();
            engine.create_space(DROPPED).unwrap();
            for number in 0..1_000 {
                put(&engine, KEPT, number).unwrap();
            }
            // Flushes that were under way may leave a little room once more.
            let mut rows = 0;
            for full in 0..10 {
                let (filled, error) = fill(&engine, DROPPED, rows);
                assert_full(&error);
                if full > 0 && filled == rows {
                    break;
                }
                rows = filled;
            }
            engine.sync().unwrap();
            assert_rows(&engine, KEPT, 0..1_000);
            assert_rows(&engine, DROPPED, (0..rows).step_by(7));
            // What frees space is taken although the disk is full.
            for number in 0..500 {
                let mut batch = Batch::new();
                batch.remove(KEPT, key(number));
                batch.free_space();
                engine.write(batch, Durability::Synced).unwrap();
            }
            engine.drop_space(DROPPED).unwrap();
            // What is flushed or compacted of it just then holds on to its files until that is done.
            for number in 5_000..5_500 {
                put_in_time(&engine, KEPT, number);
            }
            drop(engine);
            let engine = FjallEngine::open(path, options()).unwrap();
            assert_eq!(engine.spaces().unwrap(), [KEPT]);
            assert_rows(&engine, KEPT, (500..1_000).chain(5_000..5_500));
            assert_eq!(engine.get(KEPT, key(499).as_bytes()).unwrap(), None);
        },
    );
}

/// Takes what is left of the disk, as another program would.
fn take_the_rest(path: &Path) -> PathBuf {
    let taken = path.join("lost+found");
    let mut file = File::create(&taken).unwrap();
    for size in [1 << 20, 4 << 10, 1] {
        let piece = vec![1; size];
        loop {
            match file.write_all(&piece) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
    taken
}

/// Memtables that cannot be flushed, a journal that cannot be extended: writes fail, none hangs.
#[test]
fn a_disk_that_others_fill_stops_writes_until_there_is_room() {
    on_a_small_disk(
        "a_disk_that_others_fill_stops_writes_until_there_is_room",
        "40m",
        |path| {
            let engine = FjallEngine::open(path, options()).unwrap();
            engine.create_space(KEPT).unwrap();
            let mut rows = 0;
            for round in 0..3 {
                for _ in 0..200 {
                    put_in_time(&engine, KEPT, rows);
                    rows += 1;
                }
                let taken = take_the_rest(path);
                // Written without a look at the disk, which an ordinary write takes first.
                let mut refused = 0;
                for number in 0..2_000 {
                    let mut batch = Batch::new();
                    batch.put(KEPT, key(100_000 + number), value(number));
                    batch.free_space();
                    match engine.write(batch, Durability::Synced) {
                        Ok(()) => {}
                        Err(error) => {
                            assert_stopped(&error);
                            refused += 1;
                        }
                    }
                    if refused == 5 {
                        break;
                    }
                }
                assert_eq!(refused, 5, "round {round}: the disk is not full");
                assert_full(&put(&engine, KEPT, rows).unwrap_err());
                assert_rows(&engine, KEPT, (0..rows).step_by(13));
                fs::remove_file(taken).unwrap();
                put_in_time(&engine, KEPT, rows);
                rows += 1;
                assert_rows(&engine, KEPT, 0..rows);
            }
            drop(engine);
            let engine = FjallEngine::open(path, options()).unwrap();
            assert_rows(&engine, KEPT, 0..rows);
        },
    );
}

/// An ingestion that finds no room leaves nothing behind, and the rows come in once there is some.
#[test]
fn an_ingestion_that_does_not_fit_leaves_nothing() {
    on_a_small_disk(
        "an_ingestion_that_does_not_fit_leaves_nothing",
        "40m",
        |path| {
            let engine = FjallEngine::open(path, options()).unwrap();
            engine.create_space(KEPT).unwrap();
            engine.create_space(DROPPED).unwrap();
            put(&engine, KEPT, 1).unwrap();
            let pairs = |count| (0..count).map(|number| (key(number).into(), value(number).into()));
            let error = engine.ingest(DROPPED, &mut pairs(8_000)).unwrap_err();
            assert_full(&error);
            assert_eq!(engine.get(DROPPED, key(0).as_bytes()).unwrap(), None);
            put_in_time(&engine, KEPT, 2);
            let clock = SystemClock::new();
            while let Err(error) = engine.ingest(DROPPED, &mut pairs(1_000)) {
                assert!(
                    clock.monotonic() < TIME_MAX,
                    "there is no room again: {error}"
                );
            }
            drop(engine);
            let engine = FjallEngine::open(path, options()).unwrap();
            assert_rows(&engine, KEPT, 1..3);
            assert_rows(&engine, DROPPED, 0..1_000);
        },
    );
}
