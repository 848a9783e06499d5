//! What is in a data directory, whose it is, and that nothing else is overwritten.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;

use storage::{Engine, Error, FjallEngine, FjallOptions, SpaceId};

fn open(path: &Path) -> storage::Result<FjallEngine> {
    FjallEngine::open(path, FjallOptions::default())
}

/// Every file below a directory, with its content.
fn content(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(content(&path));
        } else {
            files.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn a_missing_or_empty_directory_becomes_ours() {
    let directory = tempfile::tempdir().unwrap();
    for path in [
        directory.path().join("deep/below"),
        directory.path().join("empty"),
    ] {
        if path.ends_with("empty") {
            fs::create_dir(&path).unwrap();
            fs::create_dir(path.join("lost+found")).unwrap();
        }
        open(&path).unwrap().create_space(SpaceId(1)).unwrap();
        assert_eq!(
            fs::read_to_string(path.join("EVENKEEL")).unwrap(),
            "evenkeel 1\n"
        );
        assert_eq!(open(&path).unwrap().spaces().unwrap(), [SpaceId(1)]);
    }
}

#[test]
fn an_empty_database_takes_little_disk() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = open(directory.path()).unwrap().disk_bytes().unwrap();
    assert!(bytes < 1 << 20, "{bytes}");
}

#[test]
fn a_crash_while_making_a_directory_is_made_good() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("EVENKEEL.new"), "even").unwrap();
    open(directory.path()).unwrap();
    fs::remove_file(directory.path().join("RESERVE")).unwrap();
    fs::rename(
        directory.path().join("engine"),
        directory.path().join("engine.new"),
    )
    .unwrap();
    fs::remove_file(directory.path().join("engine.new/version")).unwrap();
    assert_eq!(open(directory.path()).unwrap().spaces().unwrap(), []);
    assert!(!directory.path().join("engine.new").exists());
    // An engine is put in its place before it has a journal.
    fs::remove_file(directory.path().join("engine/1.jnl")).unwrap();
    assert_eq!(open(directory.path()).unwrap().spaces().unwrap(), []);
}

#[test]
fn a_directory_of_something_else_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["PG_VERSION", "base", "global", "pg_wal", "postgresql.conf"] {
        fs::write(directory.path().join(name), name).unwrap();
    }
    let before = content(directory.path());
    let error = open(directory.path()).unwrap_err();
    let path = directory.path().display();
    assert_eq!(
        error.to_string(),
        format!(
            "{path} is not an EvenKeel data directory (it holds PG_VERSION, base, global and 2 \
             more): choose an empty or new directory"
        )
    );
    let error = open(&directory.path().join("PG_VERSION")).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    assert_eq!(content(directory.path()), before);
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path()).unwrap();
    fs::write(directory.path().join("EVENKEEL"), "evenkeel 2\n").unwrap();
    let before = content(directory.path());
    let error = open(directory.path()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::NewerFormat {
                found: 2,
                supported: 1,
                ..
            }
        ),
        "{error}"
    );
    assert!(
        error.to_string().contains("EVENKEEL has format version 2"),
        "{error}"
    );
    assert_eq!(content(directory.path()), before);
}

#[test]
fn an_unreadable_marker_is_damage() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path()).unwrap();
    let marker = directory.path().join("EVENKEEL");
    for bytes in [
        b"".as_slice(),
        b"evenkeel",
        b"evenkeel x\n",
        b"evenkeel 0\n",
        b"\xff\xff",
    ] {
        fs::write(&marker, bytes).unwrap();
        let error = open(directory.path()).unwrap_err();
        assert!(
            matches!(&error, Error::Damaged { path, .. } if *path == marker),
            "{error}"
        );
        assert_eq!(fs::read(&marker).unwrap(), bytes);
    }
}

#[test]
fn a_directory_in_use_is_locked_until_the_last_snapshot_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(directory.path()).unwrap();
    let view = engine.snapshot().unwrap();
    let locked = || matches!(open(directory.path()), Err(Error::Locked { path }) if path == directory.path());
    assert!(locked());
    drop(engine);
    assert!(locked());
    drop(view);
    open(directory.path()).unwrap();
}

#[test]
fn a_directory_that_lost_a_part_is_damaged_and_left_alone() {
    for part in ["version", "1.jnl", "keyspaces/0/current", "keyspaces/0"] {
        let directory = tempfile::tempdir().unwrap();
        open(directory.path())
            .unwrap()
            .create_space(SpaceId(1))
            .unwrap();
        let path = directory.path().join("engine").join(part);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        let before = content(directory.path());
        let error = open(directory.path()).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{part}: {error}");
        assert_eq!(content(directory.path()), before, "{part}");
    }
}
