//! A disk that is full: a clear error, poison, and everything acknowledged is there afterwards.
//!
//! The claims run in a child process. Where the system lets us have a small file system of our own
//! (`unshare` and a `tmpfs`), that is filled to the brim. Elsewhere the child may not write files past
//! a size (`ulimit -f`), which fails writes at the same places with another error.

#![cfg(test)]
#![cfg(target_os = "linux")]
use std::path::{Path, PathBuf};
use std::process::Command;

use storage::env::{Random, SeededRandom};
use storage::{Batch, Durability, Engine, Error, FjallEngine, FjallOptions, SpaceId};

const SPACE: SpaceId = SpaceId(1);

/// Names the directory to fill, for the child.
const DIRECTORY: &str = "EVENKEEL_TEST_FULL_DISK";

/// A shell line that makes `$0` a small file system and runs the rest there.
const TMPFS: &str = "mount -t tmpfs -o size=16m tmpfs \"$0\" && exec \"$@\"";

/// A shell line that runs the rest with files of at most 80 or 160 MiB (shells differ in what a block
/// is), and an error instead of a signal for longer ones. A journal begins with 64 MiB.
const LIMIT: &str = "trap '' XFSZ; ulimit -f 163840; exec \"$@\"";

const VALUE_WORDS: usize = 8_192;

fn shell(line: &str, directory: &Path, rest: &[&str]) -> Command {
    let mut command = if line == TMPFS {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh"]);
        command
    } else {
        Command::new("sh")
    };
    command
        .args(["-c", line])
        .arg(directory)
        .args(rest)
        .env(DIRECTORY, directory);
    command
}

#[test]
fn a_full_disk_is_told_and_loses_nothing_acknowledged() {
    match std::env::var_os(DIRECTORY) {
        Some(path) => fill_the_disk(&PathBuf::from(path)),
        None => run_where_it_does_no_harm(),
    }
}

/// Runs this test again in a child that has a small disk.
fn run_where_it_does_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let own = shell(TMPFS, directory.path(), &["true"]).output();
    let line = if own.is_ok_and(|output| output.status.success()) {
        TMPFS
    } else {
        LIMIT
    };
    println!("filling the disk with: {line}");
    let test = std::env::current_exe().unwrap();
    let child = [
        "--exact",
        "a_full_disk_is_told_and_loses_nothing_acknowledged",
        "--nocapture",
    ];
    let rest = [[test.to_str().unwrap()].as_slice(), &child].concat();
    let output = shell(line, directory.path(), &rest).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("the disk was full"),
        "{told}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn fill_the_disk(path: &Path) {
    let options = FjallOptions {
        memtable_bytes_max: 1 << 30,
        ..FjallOptions::default()
    };
    let engine = FjallEngine::open(path, options.clone()).unwrap();
    engine.create_space(SPACE).unwrap();
    let random = SeededRandom::new(1);
    let put = |engine: &FjallEngine, number: u64| {
        let mut batch = Batch::new();
        let words = (0..VALUE_WORDS).flat_map(|_| random.next_u64().to_le_bytes());
        batch.put(SPACE, format!("{number:09}"), words.collect::<Vec<u8>>());
        engine.write(batch, Durability::Synced)
    };
    let mut acknowledged = 0;
    let error = loop {
        match put(&engine, acknowledged) {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 10_000, "the disk does not fill");
    };
    let full = matches!(&error, Error::DiskFull { .. })
        || matches!(&error, Error::Io { source, .. }
            if source.kind() == std::io::ErrorKind::FileTooLarge);
    assert!(full, "{error}");
    let cause = error.to_string();
    for _ in 0..3 {
        let error = put(&engine, acknowledged).unwrap_err();
        assert!(
            matches!(&error, Error::Poisoned { cause: told } if *told == cause),
            "{error}"
        );
    }
    assert!(matches!(engine.sync().unwrap_err(), Error::Poisoned { .. }));
    let last = format!("{:09}", acknowledged - 1);
    assert!(
        engine.get(SPACE, last.as_bytes()).unwrap().is_some(),
        "reads go on"
    );
    drop(engine);
    let engine = FjallEngine::open(path, options).unwrap();
    for number in 0..acknowledged {
        let found = engine
            .get(SPACE, format!("{number:09}").as_bytes())
            .unwrap();
        assert!(found.is_some(), "row {number} of {acknowledged} is lost");
    }
    println!("the disk was full after {acknowledged} rows: {cause}");
}
