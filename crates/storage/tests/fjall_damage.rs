//! Damaged bytes come out as an error that names the place, never as a panic or as wrong data.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};

use storage::{
    Batch, Bytes, Direction, Durability, Engine, Error, FjallEngine, FjallOptions, KeyRange, Pair,
    SpaceId,
};

const SPACE: SpaceId = SpaceId(1);

fn open(path: &Path) -> storage::Result<FjallEngine> {
    FjallEngine::open(path, FjallOptions::default())
}

fn row(number: u64) -> Pair {
    let value = number
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .to_string()
        .repeat(3);
    (Bytes::from(format!("key {number:06}")), Bytes::from(value))
}

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

fn files_below(path: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The largest file below a directory.
fn largest(path: &Path) -> PathBuf {
    let mut files = Vec::new();
    files_below(path, &mut files);
    files
        .into_iter()
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap()
}

/// Reads all of a damaged directory. What comes out is either right or an error.
fn read_all(path: &Path, rows: u64) -> storage::Result<()> {
    let engine = open(path)?;
    let view = engine.snapshot()?;
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut expected: Vec<Pair> = (0..rows).map(row).collect();
        if direction == Direction::Descending {
            expected.reverse();
        }
        let found: Vec<Pair> = view
            .scan(SPACE, &KeyRange::all(), direction)?
            .collect::<storage::Result<_>>()?;
        assert!(
            found == expected,
            "a scan of {} shows wrong rows",
            path.display()
        );
    }
    for number in (0..rows).step_by(37) {
        let (key, value) = row(number);
        assert_eq!(
            engine.get(SPACE, &key)?,
            Some(value),
            "a get shows a wrong row"
        );
    }
    Ok(())
}

#[test]
fn a_flipped_bit_in_a_table_is_damage() {
    const ROWS: u64 = 3_000;
    let directory = tempfile::tempdir().unwrap();
    let original = directory.path().join("original");
    let engine = open(&original).unwrap();
    engine.create_space(SPACE).unwrap();
    engine.ingest(SPACE, &mut (0..ROWS).map(row)).unwrap();
    drop(engine);
    let table = largest(&original.join("engine/keyspaces"));
    let length = usize::try_from(fs::metadata(&table).unwrap().len()).unwrap();
    assert!(length > 100_000, "{length}");
    read_all(&original, ROWS).unwrap();

    let mut damaged = 0;
    let places: Vec<usize> = (0..length)
        .step_by(length / 100)
        .chain(length - 200..length)
        .collect();
    for &place in &places {
        let damaged_copy = directory.path().join("copy");
        copy(&original, &damaged_copy);
        let table = damaged_copy.join(table.strip_prefix(&original).unwrap());
        let mut bytes = fs::read(&table).unwrap();
        bytes[place] ^= 1 << (place % 8);
        fs::write(&table, bytes).unwrap();
        match read_all(&damaged_copy, ROWS) {
            Ok(()) => {}
            Err(error @ Error::Damaged { .. }) => {
                assert!(error.to_string().contains("engine"), "{error}");
                damaged += 1;
            }
            Err(error) => panic!("byte {place} of {length}: {error}"),
        }
        fs::remove_dir_all(&damaged_copy).unwrap();
    }
    println!("{damaged} of {} flipped bits were noticed", places.len());
    assert!(
        damaged * 10 > places.len() * 8,
        "{damaged} of {}",
        places.len()
    );
}

#[test]
fn a_flipped_bit_in_an_old_record_of_the_journal_is_damage_and_nothing_is_cut() {
    const ROWS: u64 = 40;
    let directory = tempfile::tempdir().unwrap();
    let original = directory.path().join("original");
    let engine = open(&original).unwrap();
    engine.create_space(SPACE).unwrap();
    for number in 0..ROWS {
        let (key, value) = row(number);
        let mut batch = Batch::new();
        batch.put(SPACE, key, value);
        engine.write(batch, Durability::Synced).unwrap();
    }
    drop(engine);
    let bytes = fs::read(original.join("engine/1.jnl")).unwrap();
    let used = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    let record = used / usize::try_from(ROWS).unwrap();
    for place in (record * 5)..(record * 8) {
        let damaged_copy = directory.path().join("copy");
        copy(&original, &damaged_copy);
        let journal = damaged_copy.join("engine/1.jnl");
        let mut bytes = bytes[..=used].to_vec();
        bytes[place] ^= 1 << (place % 8);
        fs::write(&journal, &bytes).unwrap();
        match read_all(&damaged_copy, ROWS) {
            Err(Error::Damaged { path, .. }) => {
                assert_eq!(path, journal);
                assert!(
                    fs::read(&journal).unwrap() == bytes,
                    "the journal was changed"
                );
            }
            other => panic!("byte {place}: {other:?}"),
        }
        fs::remove_dir_all(&damaged_copy).unwrap();
    }
}

#[test]
fn damage_is_told_with_the_file_and_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(directory.path()).unwrap();
    engine.create_space(SPACE).unwrap();
    for number in 0..3 {
        let (key, value) = row(number);
        let mut batch = Batch::new();
        batch.put(SPACE, key, value);
        engine.write(batch, Durability::Synced).unwrap();
    }
    drop(engine);
    let journal = directory.path().join("engine/1.jnl");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[20] ^= 1;
    fs::write(&journal, bytes).unwrap();
    assert_eq!(
        open(directory.path()).unwrap_err().to_string(),
        format!(
            "{} is damaged (the record at byte 0 is not what was written): restore it from a \
             backup; nothing was overwritten",
            journal.display()
        )
    );
}

/// Makes a directory with a space of some tables, and closes it. Answers with the space's folder.
fn with_tables(path: &Path) -> PathBuf {
    let engine = open(path).unwrap();
    engine.create_space(SPACE).unwrap();
    engine.ingest(SPACE, &mut (0..100).map(row)).unwrap();
    let folders = fs::read_dir(path.join("engine/keyspaces")).unwrap();
    let mut folders = folders.map(|folder| folder.unwrap().path());
    folders.find(|folder| !folder.ends_with("0")).unwrap()
}

#[test]
fn a_space_without_its_version_is_damage_and_is_not_removed() {
    let directory = tempfile::tempdir().unwrap();
    let current = with_tables(directory.path()).join("current");
    let content = fs::read(&current).unwrap();
    fs::remove_file(&current).unwrap();
    for _ in 0..2 {
        let error = open(directory.path()).unwrap_err();
        assert!(
            matches!(&error, Error::Damaged { path, .. } if *path == current),
            "{error}"
        );
    }
    fs::write(&current, content).unwrap();
    read_all(directory.path(), 100).unwrap();
}

/// A space that is being dropped has lost its version first, and is no damage.
#[test]
fn a_drop_that_was_cut_short_is_finished() {
    let directory = tempfile::tempdir().unwrap();
    let space = with_tables(directory.path());
    let kept = directory.path().join("kept");
    copy(&space, &kept);
    let engine = open(directory.path()).unwrap();
    engine.drop_space(SPACE).unwrap();
    drop(engine);
    assert!(!space.exists());
    copy(&kept, &space);
    fs::remove_file(space.join("MADE")).unwrap();
    fs::remove_file(space.join("current")).unwrap();
    let engine = open(directory.path()).unwrap();
    assert_eq!(engine.spaces().unwrap(), []);
    assert!(!space.exists());
}

#[test]
fn a_flipped_bit_of_a_version_is_damage() {
    let directory = tempfile::tempdir().unwrap();
    let space = with_tables(directory.path());
    let mut files = Vec::new();
    files_below(&space, &mut files);
    let version = files
        .into_iter()
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with('v'))
        .max();
    for file in [space.join("current"), version.unwrap()] {
        let content = fs::read(&file).unwrap();
        for bit in 0..content.len() * 8 {
            let mut flipped = content.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&file, flipped).unwrap();
            let error = open(directory.path()).unwrap_err();
            assert!(
                matches!(&error, Error::Damaged { .. }),
                "bit {bit}: {error}"
            );
        }
        fs::write(&file, content).unwrap();
    }
    read_all(directory.path(), 100).unwrap();
}
