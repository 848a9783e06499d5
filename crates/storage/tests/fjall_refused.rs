//! Data directories that cannot be opened here: read-only, of another user, or on a full disk. The
//! message names the path and what to do, and nothing is changed.
//!
//! What an administrator does to a machine is done in a child with a mount namespace, or as another user;
//! where the machine allows neither, the test is passed over.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use storage::{Batch, Durability, Engine, Error, FjallEngine, FjallOptions, Result, SpaceId};

const SPACE: SpaceId = SpaceId(1);
const ROWS: u64 = 2_000;

/// Names the directory, for the child.
const DIRECTORY: &str = "EVENKEEL_TEST_REFUSED";

/// A shell line that makes `$0` a small file system and runs the rest there.
const TMPFS: &str = "mount -t tmpfs -o size=16m tmpfs \"$0\" && exec \"$@\"";

/// Ways to get a mount namespace: as root, and as anyone.
const UNSHARE: [&[&str]; 2] = [
    &["unshare", "--mount", "sh", "-c", TMPFS],
    &[
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        TMPFS,
    ],
];

/// A user and a group that own nothing.
const NOBODY: u32 = 65_534;
const SETPRIV: [&[&str]; 1] = [&[
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "sh",
    "-c",
    "exec \"$@\"",
]];

/// Runs a test again in a child that is started in one of these ways, or the claim in that child.
fn in_a_child(test: &str, directory: &Path, ways: &[&[&str]], claim: impl FnOnce(&Path)) {
    if let Some(path) = std::env::var_os(DIRECTORY) {
        claim(&PathBuf::from(path));
        return;
    }
    let program = std::env::current_exe().unwrap();
    let run = |way: &[&str], arguments: &[&str]| -> Option<Output> {
        let (first, rest) = way.split_first()?;
        let mut command = Command::new(first);
        command
            .args(rest)
            .arg(directory)
            .arg(&program)
            .args(arguments);
        command.env(DIRECTORY, directory).output().ok()
    };
    let works = |way: &&&[&str]| run(way, &["--list"]).is_some_and(|tried| tried.status.success());
    let Some(way) = ways.iter().find(works) else {
        println!("passed over: this machine does not allow it");
        return;
    };
    let output = run(way, &["--exact", test, "--nocapture"]).unwrap();
    let reported = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && reported.contains("1 passed"),
        "{reported}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{reported}");
}

/// With memtables so small that rows are flushed.
fn open(path: &Path) -> Result<FjallEngine> {
    let options = FjallOptions {
        memtable_bytes_max: 256 << 10,
        ..FjallOptions::default()
    };
    FjallEngine::open(path, options)
}

fn make(path: &Path) {
    let engine = open(path).unwrap();
    engine.create_space(SPACE).unwrap();
    for number in 0..ROWS {
        let mut batch = Batch::new();
        batch.put(SPACE, number.to_be_bytes().to_vec(), vec![1; 1_000]);
        engine.write(batch, Durability::Synced).unwrap();
    }
}

fn assert_rows(engine: &FjallEngine) {
    for number in 0..ROWS {
        let found = engine.get(SPACE, &number.to_be_bytes()).unwrap();
        assert_eq!(found.unwrap().len(), 1_000, "row {number}");
    }
}

/// Every file below a directory, with its length and when it was changed.
fn files(path: &Path) -> Vec<(PathBuf, u64, i64, i64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::metadata(&path).unwrap();
        if about.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path, about.len(), about.mtime(), about.mtime_nsec()));
        }
    }
    found.sort();
    found
}

/// Opens a directory in vain, and checks the words and that nothing was changed.
fn assert_refused(path: &Path, words: &[&str]) {
    let before = files(path);
    let error = open(path).unwrap_err().to_string();
    for word in words.iter().chain(&[path.to_str().unwrap()]) {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
    assert_eq!(files(path), before);
}

fn mount(path: &Path, options: &str) {
    let mut command = Command::new("mount");
    let done = command.args(["-o", options]).arg(path).status();
    assert!(done.unwrap().success());
}

#[test]
fn a_read_only_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    in_a_child(
        "a_read_only_directory_is_refused",
        directory.path(),
        &UNSHARE,
        |path| {
            let words = ["Read-only file system", "mount the file system for writing"];
            mount(path, "remount,ro");
            assert_refused(path, &words);
            mount(path, "remount,rw");
            make(path);
            mount(path, "remount,ro");
            assert_refused(path, &words);
            mount(path, "remount,rw");
            assert_rows(&open(path).unwrap());
        },
    );
}

/// Fills a file system but for so many bytes. It goes with the file that is answered.
fn fill(path: &Path, free: usize) -> PathBuf {
    let taken = path.join("lost+found");
    let mut file = File::create(&taken).unwrap();
    for size in [1 << 20, 4 << 10, 1] {
        loop {
            match file.write_all(&vec![1; size]) {
                Ok(()) => {}
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::StorageFull);
                    break;
                }
            }
        }
    }
    let length = file.metadata().unwrap().len();
    file.set_len(length - u64::try_from(free).unwrap()).unwrap();
    taken
}

const FREE: [usize; 7] = [
    0,
    4 << 10,
    16 << 10,
    64 << 10,
    128 << 10,
    256 << 10,
    1 << 20,
];

#[test]
fn a_first_start_without_room_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    in_a_child(
        "a_first_start_without_room_leaves_nothing",
        directory.path(),
        &UNSHARE,
        |path| {
            let mut refused = 0;
            for free in FREE {
                let taken = fill(path, free);
                match open(path) {
                    Ok(_) => println!("{free} bytes are enough"),
                    Err(error) => {
                        println!("{free} bytes free: {error}");
                        assert!(matches!(error, Error::DiskFull { .. }), "{error}");
                        assert!(
                            error.to_string().contains(path.to_str().unwrap()),
                            "{error}"
                        );
                        refused += 1;
                    }
                }
                fs::remove_file(taken).unwrap();
                let left = files(path);
                let is_marker = |path: &Path| path.ends_with("EVENKEEL");
                if refused > 0 && !path.join("engine").exists() {
                    assert!(left.iter().all(|(path, ..)| is_marker(path)), "{left:?}");
                }
            }
            assert!(refused > 0);
            make(path);
            assert_rows(&open(path).unwrap());
        },
    );
}

#[test]
fn a_later_start_without_room_keeps_every_row() {
    let directory = tempfile::tempdir().unwrap();
    in_a_child(
        "a_later_start_without_room_keeps_every_row",
        directory.path(),
        &UNSHARE,
        |path| {
            make(path);
            for free in FREE {
                let taken = fill(path, free);
                match open(path) {
                    Ok(engine) => assert_rows(&engine),
                    Err(error) => {
                        println!("{free} bytes free: {error}");
                        assert!(matches!(error, Error::DiskFull { .. }), "{error}");
                        assert!(
                            error.to_string().contains(path.to_str().unwrap()),
                            "{error}"
                        );
                    }
                }
                fs::remove_file(taken).unwrap();
                assert_rows(&open(path).unwrap());
            }
            let _taken = fill(path, 0);
            let engine = open(path).unwrap();
            assert_rows(&engine);
            engine.drop_space(SPACE).unwrap();
        },
    );
}

/// Takes the permission of everyone below a directory but its owner.
fn restrict(path: &Path, mode: u32) {
    for (file, ..) in files(path) {
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }
}

const DENIED: [&str; 2] = [
    "Permission denied",
    "run evenkeel as the user that owns the data directory",
];

#[test]
fn a_directory_of_another_user_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    if std::env::var_os(DIRECTORY).is_none() {
        make(&data);
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
    for (mode, data_mode) in [(0o600, 0o755), (0o644, 0o755), (0o644, 0o700)] {
        if std::env::var_os(DIRECTORY).is_none() {
            restrict(&data, mode);
            fs::set_permissions(&data, fs::Permissions::from_mode(data_mode)).unwrap();
        }
        let before = data.exists().then(|| files(&data));
        in_a_child(
            "a_directory_of_another_user_is_refused",
            &data,
            &SETPRIV,
            |path| {
                let error = open(path).unwrap_err().to_string();
                for word in DENIED.iter().chain(&[path.to_str().unwrap()]) {
                    assert!(error.contains(word), "no `{word}` in: {error}");
                }
            },
        );
        if let Some(before) = before {
            assert_eq!(files(&data), before);
        }
    }
}

/// Somebody ran it as root once: the directory is ours, some files in it are not.
#[test]
fn files_of_another_user_in_it_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    if std::env::var_os(DIRECTORY).is_none() {
        make(&data);
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let hidden = data.join("engine/keyspaces/0");
        fs::set_permissions(hidden, fs::Permissions::from_mode(0o700)).unwrap();
        // Only root may, and only root is put in another user's place.
        let _ = chown(&data, Some(NOBODY), Some(NOBODY));
    }
    in_a_child(
        "files_of_another_user_in_it_are_named",
        &data,
        &SETPRIV,
        |path| {
            let error = open(path).unwrap_err().to_string();
            for word in DENIED {
                assert!(error.contains(word), "no `{word}` in: {error}");
            }
        },
    );
}

#[test]
fn a_file_in_the_way_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "a file").unwrap();
    for (path, advice) in [
        (file.clone(), "choose an empty or new directory"),
        (file.join("below"), "choose another directory"),
    ] {
        let error = open(&path).unwrap_err().to_string();
        for words in [advice, path.to_str().unwrap()] {
            assert!(error.contains(words), "no `{words}` in: {error}");
        }
    }
    assert_eq!(fs::read(file).unwrap(), b"a file");
}
