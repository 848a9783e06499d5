//! Objects of every size: what is put, appended and read, and that parts which nothing needs go.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sql::collection::Manifest;
use tempfile::TempDir;

use super::super::objects::{How, OBJECT_BYTES_MAX, Object};
use super::super::write::Change;
use super::*;
use crate::{Options, Session};

const MIB: usize = 1 << 20;

/// Bytes that are nowhere the same.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn long(size: usize) -> u64 {
    u64::try_from(size).unwrap()
}

fn short(size: u64) -> usize {
    usize::try_from(size).unwrap()
}

/// Brings an object in chunks.
async fn bring(collections: &Collections, at: &Place, (how, chunk): (How, usize), data: &[u8]) {
    let mut upload = collections.upload(at, how).unwrap();
    for chunk in data.chunks(chunk) {
        upload.write(chunk).unwrap();
    }
    upload.finish().await.unwrap();
}

fn all(object: Object, range: std::ops::Range<u64>) -> Result<Vec<u8>> {
    let pieces = object.pieces(range).collect::<Result<Vec<_>>>()?;
    Ok(pieces.concat())
}

async fn read(collections: &Collections, at: &Place) -> Vec<u8> {
    let object = collections.object(at).await.unwrap();
    all(object, 0..u64::MAX).unwrap()
}

async fn manifest(collections: &Collections, at: &Place) -> Option<Manifest> {
    let record = collections.get(at, None).await.unwrap();
    record.manifest().unwrap()
}

/// A database on disk that does nothing by itself, and the folder with its parts.
fn on_disk() -> (Collections, PathBuf, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let collections = open(folder.path());
    (collections, folder.path().join("objects"), folder)
}

fn open(path: &Path) -> Collections {
    let engine = path.to_owned();
    let open = move || -> storage::Result<Arc<dyn storage::Engine>> {
        let engine = storage::FjallEngine::open(&engine, storage::FjallOptions::default())?;
        Ok(Arc::new(engine))
    };
    let options = Options {
        background: false,
        objects: Some(path.join("objects")),
        ..Options::new(Arc::new(storage::SharedPlacement::new(open)))
    };
    Collections::new(Arc::new(Database::open_with(options).unwrap()))
}

/// All files with parts.
fn files(objects: &Path) -> Vec<PathBuf> {
    let list = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.collect::<Vec<_>>()
    };
    let mut files: Vec<PathBuf> = list(objects).iter().flat_map(|one| list(one)).collect();
    files.sort();
    files
}

/// What is done to the bytes of an object: how, with how many, in chunks of so many.
fn step() -> impl Strategy<Value = (How, usize, usize)> {
    let how = prop_oneof![1 => Just(How::Replace), 4 => Just(How::Append)];
    let around = |size: usize| size.saturating_sub(2)..size + 3;
    let length = prop_oneof![
        0_usize..200,
        around(64 << 10),
        around(MIB),
        around(2 * MIB),
        0..MIB,
    ];
    let chunk = prop_oneof![1_usize..3_000_000, around(64 << 10), 1000_usize..9000];
    (how, length, chunk)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn objects_are_what_was_brought(
        steps in prop::collection::vec(step(), 1..7),
        ranges in prop::collection::vec((any::<prop::sample::Index>(), 0_u64..2_000_000), 6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let collections = collections();
            let at = place("/users/files/o");
            let mut expected = Vec::new();
            for (seed, (how, length, chunk)) in (1..).zip(&steps) {
                let data = bytes(seed, *length);
                bring(&collections, &at, (*how, *chunk), &data).await;
                match how {
                    How::Replace => expected = data,
                    How::Append => expected.extend(data),
                }
                let object = collections.object(&at).await.unwrap();
                prop_assert_eq!(object.record.size(), long(expected.len()));
                prop_assert!(all(object, 0..u64::MAX).unwrap() == expected);
            }
            for (from, length) in ranges {
                let from = from.index(expected.len() + 1);
                let to = (from + short(length)).min(expected.len());
                let object = collections.object(&at).await.unwrap();
                let found = all(object, long(from)..long(from) + length).unwrap();
                prop_assert!(found == expected[from..to], "from {from}, {length} bytes");
            }
            // Large ones lie in few parts, and nothing else is left of what was before.
            let parts = manifest(&collections, &at).await.map_or(Vec::new(), |found| found.parts);
            let record = collections.get(&at, None).await.unwrap();
            prop_assert_eq!(parts.is_empty(), record.data.as_ref() == Some(&expected));
            for pair in parts.windows(2) {
                prop_assert!(u64::from(pair[0].bytes) + u64::from(pair[1].bytes) > long(MIB));
            }
            collections.database.sweep_objects().unwrap();
            prop_assert!(read(&collections, &at).await == expected);
            collections.delete(&at, None).await.unwrap();
            prop_assert_eq!(collections.database.sweep_objects().unwrap(), parts.len());
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn the_last_of_two_writers_wins_whole() {
    let (collections, objects, _folder) = on_disk();
    let at = place("/users/o");
    let (one, other) = (bytes(1, 3 * MIB), bytes(2, 2 * MIB + 5));
    let mut first = collections.upload(&at, How::Replace).unwrap();
    let mut second = collections.upload(&at, How::Replace).unwrap();
    for (mine, yours) in one.chunks(70_000).zip(other.chunks(50_000)) {
        first.write(mine).unwrap();
        second.write(yours).unwrap();
    }
    let missing = collections.object(&at).await.unwrap_err();
    assert!(matches!(missing, Error::NotFound), "{missing}");
    for rest in one.chunks(70_000).skip(other.chunks(50_000).len()) {
        first.write(rest).unwrap();
    }
    for rest in other.chunks(50_000).skip(one.chunks(70_000).len()) {
        second.write(rest).unwrap();
    }
    second.finish().await.unwrap();
    // A sweep leaves alone what is on its way.
    assert_eq!(collections.database.sweep_objects().unwrap(), 0);
    assert!(read(&collections, &at).await == other);
    first.finish().await.unwrap();
    assert!(read(&collections, &at).await == one);
    assert_eq!(collections.database.sweep_objects().unwrap(), 3);
    assert_eq!(files(&objects).len(), 3);
    assert!(read(&collections, &at).await == one);
}

#[tokio::test]
async fn appenders_at_the_same_time_all_get_through() {
    let (collections, objects, _folder) = on_disk();
    let at = place("/users/log");
    let (few, many) = (30_000, 300_000);
    let append = async |seed: u8, size: usize| {
        for _ in 0..4 {
            let data = vec![seed; size];
            bring(&collections, &at, (How::Append, 40_000), &data).await;
        }
    };
    tokio::join!(
        append(1, few),
        append(2, many),
        append(3, few),
        append(4, many)
    );
    let found = read(&collections, &at).await;
    for (seed, size) in [(1, few), (2, many), (3, few), (4, many)] {
        let of_seed = found.chunk_by(|a, b| a == b);
        let of_seed: Vec<usize> = of_seed
            .filter(|run| run[0] == seed)
            .map(<[u8]>::len)
            .collect();
        assert!(of_seed.iter().all(|run| run % size == 0), "{of_seed:?}");
        assert_eq!(of_seed.iter().sum::<usize>(), 4 * size);
    }
    collections.database.sweep_objects().unwrap();
    let parts = manifest(&collections, &at).await.unwrap().parts;
    assert_eq!(files(&objects).len(), parts.len());
}

#[tokio::test]
async fn what_is_given_up_leaves_nothing_and_shows_nothing() {
    let (collections, objects, folder) = on_disk();
    let at = place("/users/o");
    let before = bytes(1, MIB + 1);
    bring(&collections, &at, (How::Replace, MIB), &before).await;
    let mut upload = collections.upload(&at, How::Replace).unwrap();
    upload.write(&bytes(2, 3 * MIB)).unwrap();
    assert!(files(&objects).len() > 2);
    drop(upload);
    assert_eq!(collections.database.sweep_objects().unwrap(), 3);
    assert_eq!(files(&objects).len(), 2);
    assert!(read(&collections, &at).await == before);

    // A process that ends in the middle does not come to removing anything.
    let mut upload = collections.upload(&at, How::Append).unwrap();
    upload.write(&bytes(2, 3 * MIB)).unwrap();
    drop(upload);
    drop(collections);
    let collections = open(folder.path());
    assert!(files(&objects).len() > 2);
    assert!(collections.database.sweep_objects().unwrap() > 0);
    assert_eq!(files(&objects).len(), 2);
    assert!(read(&collections, &at).await == before);
}

#[tokio::test]
async fn whoever_reads_keeps_what_is_replaced_until_the_end() {
    let (collections, objects, _folder) = on_disk();
    let at = place("/users/o");
    let (before, after) = (bytes(1, 3 * MIB), bytes(2, MIB + 1));
    bring(&collections, &at, (How::Replace, MIB), &before).await;
    let mut pieces = collections.object(&at).await.unwrap().pieces(0..u64::MAX);
    let mut found = pieces.next().unwrap().unwrap().to_vec();
    bring(&collections, &at, (How::Replace, MIB), &after).await;
    assert_eq!(collections.database.sweep_objects().unwrap(), 0);
    for piece in pieces {
        found.extend_from_slice(&piece.unwrap());
    }
    assert!(found == before);
    assert_eq!(collections.database.sweep_objects().unwrap(), 3);
    assert_eq!(files(&objects).len(), 2);
    assert!(read(&collections, &at).await == after);
}

/// How often each writer replaces the object while others read it.
const ROUNDS: usize = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_readers_and_sweeps_do_not_disturb_each_other() {
    let (collections, objects, _folder) = on_disk();
    let collections = Arc::new(collections);
    let (at, log) = (place("/users/o"), place("/users/log"));
    let size = |seed: u8| MIB + usize::from(seed) * 1000;
    bring(&collections, &at, (How::Replace, MIB), &vec![9; size(9)]).await;
    bring(&collections, &log, (How::Replace, MIB), &vec![1; MIB]).await;
    let mut tasks = tokio::task::JoinSet::new();
    for seed in [1, 2, 3] {
        let (collections, at) = (Arc::clone(&collections), at.clone());
        tasks.spawn(async move {
            for _ in 0..ROUNDS {
                bring(
                    &collections,
                    &at,
                    (How::Replace, MIB),
                    &vec![seed; size(seed)],
                )
                .await;
            }
        });
    }
    for _ in 0..2 {
        let (appending, log) = (Arc::clone(&collections), log.clone());
        tasks.spawn(async move {
            for _ in 0..ROUNDS {
                bring(&appending, &log, (How::Append, MIB), &[1; 100_000]).await;
            }
        });
        let (collections, at) = (Arc::clone(&collections), at.clone());
        tasks.spawn(async move {
            for _ in 0..ROUNDS {
                let found = read(&collections, &at).await;
                assert_eq!(found.len(), size(found[0]));
                assert!(found.iter().all(|byte| *byte == found[0]), "a mix");
                collections.database.sweep_objects().unwrap();
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let found = read(&collections, &log).await;
    assert_eq!(found.len(), MIB + 2 * ROUNDS * 100_000);
    collections.database.sweep_objects().unwrap();
    let parts = async |at| manifest(&collections, at).await.unwrap().parts.len();
    assert_eq!(files(&objects).len(), parts(&at).await + parts(&log).await);
}

#[tokio::test]
async fn parts_go_with_rows_whichever_way_those_go() {
    let (collections, objects, _folder) = on_disk();
    let database = Arc::clone(&collections.database);
    let large = bytes(1, MIB + 5);
    let bring_to = async |path: &str| {
        bring(&collections, &place(path), (How::Replace, MIB), &large).await;
    };
    for path in ["a/x", "a/b/y", "c/z", "d/v", "e/w"] {
        bring_to(&format!("/users/{path}")).await;
    }
    collections.create_container("others").unwrap();
    bring_to("/others/o").await;
    assert_eq!(files(&objects).len(), 12);
    assert_eq!(database.sweep_objects().unwrap(), 0);

    // An update of attributes keeps the bytes, an item in their place does not.
    let at = place("/users/e/w");
    collections.write(&at, &update("n = 1")).await.unwrap();
    assert_eq!(database.sweep_objects().unwrap(), 0);
    assert!(read(&collections, &at).await == large);
    collections.write(&at, &put(&[("a", 1)])).await.unwrap();
    assert_eq!(database.sweep_objects().unwrap(), 2);
    collections
        .delete_directory(&directory("/users/a/"), Contents::Go)
        .await
        .unwrap();
    assert_eq!(database.sweep_objects().unwrap(), 4);
    let mut session = Session::new(Arc::clone(&database));
    let text = "DELETE FROM \"v3io/users\" WHERE path = 'c/'";
    for statement in session.parse(text).unwrap() {
        let prepared = session.prepare(statement, &[]).await.unwrap();
        session.execute(&prepared, &[]).await.unwrap();
    }
    assert_eq!(database.sweep_objects().unwrap(), 2);
    collections
        .remove_container("others", Contents::Go)
        .await
        .unwrap();
    assert_eq!(database.sweep_objects().unwrap(), 2);
    assert!(read(&collections, &place("/users/d/v")).await == large);
    assert_eq!(files(&objects).len(), 2);
}

#[tokio::test]
async fn damaged_and_missing_parts_are_told_and_never_shown() {
    let (collections, objects, _folder) = on_disk();
    let at = place("/users/dir/o");
    let data = bytes(1, 3 * MIB);
    bring(&collections, &at, (How::Replace, MIB), &data).await;
    let parts = files(&objects);
    let damage = async |expected: &str| {
        let object = collections.object(&at).await.unwrap();
        let error = all(object, 0..u64::MAX).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }));
        let words = error.to_string();
        assert!(words.contains("`/users/dir/o` is damaged"), "{words}");
        assert!(words.contains(expected), "{words}");
        // What does not lie in it is read.
        let object = collections.object(&at).await.unwrap();
        assert!(all(object, 0..long(MIB)).unwrap() == data[..MIB]);
    };
    let second = std::fs::read(&parts[1]).unwrap();
    let mut flipped = second.clone();
    flipped[MIB / 2] ^= 1;
    std::fs::write(&parts[1], &flipped).unwrap();
    damage("/00000001 has other bytes than were written").await;
    std::fs::write(&parts[1], &second[..MIB - 1]).unwrap();
    damage("has another length").await;
    std::fs::write(&parts[1], [&second[..], &second[..]].concat()).unwrap();
    damage("has another length").await;
    std::fs::remove_file(&parts[1]).unwrap();
    damage("/00000001 is gone").await;
    std::fs::write(&parts[1], &second).unwrap();
    assert!(read(&collections, &at).await == data);

    // An append that needs the last part does not go on without it.
    bring(&collections, &at, (How::Append, MIB), b"tail").await;
    let last = files(&objects)
        .into_iter()
        .find(|file| std::fs::read(file).unwrap() == b"tail")
        .unwrap();
    std::fs::write(last, b"tain").unwrap();
    let refused = collections.append(&at, b"more").await.unwrap_err();
    assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
    // It can be put again.
    bring(&collections, &at, (How::Replace, MIB), &data).await;
    assert!(read(&collections, &at).await == data);
}

#[tokio::test]
async fn bytes_that_look_like_a_manifest_are_bytes() {
    let (collections, objects, _folder) = on_disk();
    let at = place("/users/o");
    bring(&collections, &at, (How::Replace, MIB), &bytes(1, 2 * MIB)).await;
    let data = collections.get(&at, None).await.unwrap().data.unwrap();
    let copy = place("/users/copy");
    bring(&collections, &copy, (How::Replace, MIB), &data).await;
    assert!(read(&collections, &copy).await == data);
    let object = collections.object(&copy).await.unwrap();
    assert_eq!(object.record.size(), long(data.len()));
    // Also when they come in two pieces.
    collections.delete(&copy, None).await.unwrap();
    for piece in [&data[..7], &data[7..]] {
        collections.append(&copy, piece).await.unwrap();
    }
    assert!(read(&collections, &copy).await == data);
    collections.delete(&at, None).await.unwrap();
    drop(object);
    collections.database.sweep_objects().unwrap();
    assert!(read(&collections, &copy).await == data);
    assert!(!files(&objects).is_empty());
}

#[tokio::test]
async fn long_objects_in_rows_of_earlier_versions_are_read_and_grow() {
    let (collections, _, _folder) = on_disk();
    for (number, more) in [5, 100_000, 2 * MIB].into_iter().enumerate() {
        let at = place(&format!("/users/o{number}"));
        let entered = collections.enter_to_write(&at.directory).await.unwrap();
        let before = bytes(1, 5 * MIB / 2);
        let decide = |_: Option<&Record>| {
            let attributes = Item::new().encode()?;
            Ok(Change::Put(attributes, Some(before.clone())))
        };
        let put = collections.change(&entered, &at, None, decide).await;
        put.unwrap();
        assert!(read(&collections, &at).await == before);
        let more = bytes(2, more);
        bring(&collections, &at, (How::Append, MIB), &more).await;
        assert!(read(&collections, &at).await == [before, more].concat());
        assert!(manifest(&collections, &at).await.is_some());
    }
}

#[tokio::test]
async fn an_object_ends_at_its_limit() {
    let collections = collections();
    let at = place("/users/o");
    let data = bytes(1, MIB + 1);
    bring(&collections, &at, (How::Replace, MIB), &data).await;
    // As if it were ten bytes below the limit.
    let mut parts = manifest(&collections, &at).await.unwrap().parts;
    let part = parts[0];
    while parts.iter().map(|part| u64::from(part.bytes)).sum::<u64>() < OBJECT_BYTES_MAX - 10 {
        let here: u64 = parts.iter().map(|part| u64::from(part.bytes)).sum();
        let bytes = (OBJECT_BYTES_MAX - 10 - here).min(u64::from(u32::MAX));
        parts.push(sql::collection::Part {
            bytes: u32::try_from(bytes).unwrap(),
            ..part
        });
    }
    let near = Manifest { parts }.encode();
    let entered = collections.enter_to_write(&at.directory).await.unwrap();
    let decide = |_: Option<&Record>| Ok(Change::Put(Item::new().encode()?, Some(near.clone())));
    let put = collections.change(&entered, &at, None, decide).await;
    put.unwrap();
    let refused = collections.append(&at, b"12345678901").await.unwrap_err();
    assert!(
        matches!(refused, Error::TooLarge { limit, .. } if limit == OBJECT_BYTES_MAX),
        "{refused}"
    );
    collections.append(&at, b"1234567890").await.unwrap();
    let size = collections.get(&at, None).await.unwrap().size();
    assert_eq!(size, OBJECT_BYTES_MAX);
}
