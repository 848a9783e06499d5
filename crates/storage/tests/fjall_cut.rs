//! Data directories that are cut, or were copied while they were written to: what is missing is told,
//! and nothing of the rest is changed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use storage::{
    Batch, Bytes, Direction, Durability, Engine, Error, FjallEngine, FjallOptions, KeyRange, Pair,
    Result, SpaceId,
};

const SPACE: SpaceId = SpaceId(1);
const OTHER: SpaceId = SpaceId(2);

/// Rows that were ingested, and rows that were written after them.
const INGESTED: u64 = 300;
const ROWS: u64 = 340;

/// Copies that are made while rows are written, and how many rows.
const COPIES: u64 = 12;
const WRITTEN_MAX: u64 = 20_000;

fn open(path: &Path) -> Result<FjallEngine> {
    let options = FjallOptions {
        memtable_bytes_max: 32 << 10,
        ..FjallOptions::default()
    };
    FjallEngine::open(path, options)
}

fn row(number: u64) -> Pair {
    let value = number
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .to_string()
        .repeat(8);
    (Bytes::from(format!("key {number:06}")), Bytes::from(value))
}

/// Every file below a directory but the reserve, with its content.
fn content(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(content(&path));
        } else if !path.ends_with("RESERVE") {
            let bytes = fs::read(&path).unwrap();
            files.push((path, bytes));
        }
    }
    files.sort();
    files
}

/// Copies what is there when it comes by. What goes meanwhile is left out, as other programs do.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let mut entries: Vec<_> = fs::read_dir(from).unwrap().flatten().collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else if let Ok(bytes) = fs::read(entry.path()) {
            // Journals are long and empty.
            let end = bytes
                .iter()
                .rposition(|&byte| byte != 0)
                .map_or(0, |last| last + 1);
            fs::write(&target, bytes.get(..end).unwrap()).unwrap();
            let file = File::options().write(true).open(&target).unwrap();
            file.set_len(u64::try_from(bytes.len()).unwrap()).unwrap();
        }
    }
}

fn rows(engine: &FjallEngine, space: SpaceId) -> Result<Vec<Pair>> {
    let view = engine.snapshot()?;
    view.scan(space, &KeyRange::all(), Direction::Ascending)?
        .collect()
}

fn make(path: &Path) {
    let engine = open(path).unwrap();
    engine.create_space(SPACE).unwrap();
    engine.ingest(SPACE, &mut (0..INGESTED).map(row)).unwrap();
    for number in INGESTED..ROWS {
        let (key, value) = row(number);
        let mut batch = Batch::new();
        batch.put(SPACE, key, value);
        engine.write(batch, Durability::Synced).unwrap();
    }
    drop(engine);
    // What is out of date goes.
    drop(open(path).unwrap());
}

/// A file whose path ends with these words, or has them before its number.
fn found(root: &Path, name: &str) -> PathBuf {
    let files = content(root).into_iter().map(|(path, _)| path);
    let named = |path: &PathBuf| {
        path.to_str()
            .unwrap()
            .trim_end_matches(char::is_numeric)
            .ends_with(name)
    };
    files.rev().find(named).unwrap()
}

fn cut(path: &Path, name: &str, keep: impl FnOnce(usize) -> usize) {
    let path = found(path, name);
    let bytes = fs::read(&path).unwrap();
    let used = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(u64::try_from(keep(used)).unwrap()).unwrap();
}

fn remove(path: &Path, name: &str) {
    fs::remove_file(found(path, name)).unwrap();
}

type Cut = (&'static str, fn(&Path));

const CUTS: [Cut; 12] = [
    ("half of the journal", |path| {
        cut(path, ".jnl", |used| used / 2)
    }),
    ("the last byte of the journal", |path| {
        cut(path, ".jnl", |used| used - 1)
    }),
    ("all of the journal", |path| cut(path, ".jnl", |_| 0)),
    ("the journal", |path| remove(path, ".jnl")),
    ("a table", |path| remove(path, "/tables/")),
    ("half of a table", |path| {
        cut(path, "/tables/", |used| used / 2)
    }),
    ("all of a table", |path| cut(path, "/tables/", |_| 0)),
    ("current", |path| remove(path, "/current")),
    ("a version", |path| remove(path, "/v")),
    ("the engine", |path| {
        fs::remove_dir_all(path.join("engine")).unwrap()
    }),
    ("the marker", |path| remove(path, "/EVENKEEL")),
    ("the marker's content", |path| {
        fs::write(path.join("EVENKEEL"), "").unwrap()
    }),
];

#[test]
fn a_directory_that_was_cut_is_damaged_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let original = directory.path().join("original");
    make(&original);
    assert!(
        content(&original)
            .iter()
            .any(|(path, _)| path.to_str().unwrap().contains("/tables/"))
    );
    let copied = directory.path().join("copy");
    copy(&original, &copied);
    assert_eq!(
        rows(&open(&copied).unwrap(), SPACE).unwrap(),
        (0..ROWS).map(row).collect::<Vec<_>>()
    );
    for (name, cut) in CUTS {
        fs::remove_dir_all(&copied).unwrap();
        copy(&original, &copied);
        cut(&copied);
        let before = content(&copied);
        // Not by the next try either.
        for _ in 0..2 {
            let error = open(&copied).expect_err(name);
            println!("{name}: {error}");
            assert!(matches!(error, Error::Damaged { .. }), "{name}: {error}");
            assert!(
                error.to_string().contains(copied.to_str().unwrap()),
                "{name}: {error}"
            );
            let names = |files: &[(PathBuf, Vec<u8>)]| {
                files
                    .iter()
                    .map(|(path, _)| path.clone())
                    .collect::<Vec<_>>()
            };
            let after = content(&copied);
            assert_eq!(names(&after), names(&before), "{name}");
            assert!(after == before, "{name}: a file was changed");
        }
    }
}

/// Writes the same row to two spaces at a time until it is told to stop.
fn write_on(engine: &FjallEngine, stop: &AtomicBool) {
    for number in 0..WRITTEN_MAX {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let (key, value) = row(number);
        let mut batch = Batch::new();
        batch.put(SPACE, key.clone(), value.clone());
        batch.put(OTHER, key, value);
        engine.write(batch, Durability::Buffered).unwrap();
    }
}

/// What a copy holds: the rows of both spaces, or how it is damaged.
fn copied_in_use(from: &Path, to: &Path) -> Result<[Vec<Pair>; 2]> {
    copy(from, to);
    let engine = FjallEngine::open(to, FjallOptions::default())?;
    Ok([rows(&engine, SPACE)?, rows(&engine, OTHER)?])
}

/// A copy of a directory in use is no backup. As long as nothing is flushed meanwhile, it is refused or
/// shows what was there at some moment.
#[test]
fn a_directory_that_was_copied_in_use_is_right_or_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let original = directory.path().join("original");
    let engine = FjallEngine::open(&original, FjallOptions::default()).unwrap();
    for space in [SPACE, OTHER] {
        engine.create_space(space).unwrap();
    }
    let stop = AtomicBool::new(false);
    let copies: Vec<_> = std::thread::scope(|scope| {
        scope.spawn(|| write_on(&engine, &stop));
        let copies = (0..COPIES).map(|number| {
            let copy = directory.path().join(format!("copy {number}"));
            copied_in_use(&original, &copy)
        });
        let copies = copies.collect();
        stop.store(true, Ordering::Relaxed);
        copies
    });
    for (number, found) in copies.into_iter().enumerate() {
        match found {
            Ok([found, other]) => {
                let count = u64::try_from(found.len()).unwrap();
                let expected: Vec<Pair> = (0..count).map(row).collect();
                assert!(found == expected, "copy {number}: wrong rows");
                assert!(found == other, "copy {number}: half of a batch");
            }
            Err(Error::Damaged { .. }) => {}
            Err(error) => panic!("copy {number}: {error}"),
        }
    }
}
