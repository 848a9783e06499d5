//! What goes wrong, and what the caller is told: every kind of error, every limit, every directory
//! that is not ours.

use std::path::Path;
use std::sync::Arc;

use db::{Column, Database, Direction, Error, Kind, Options, Range, Schema, Table, Type, Value};
use storage::{Fault, FaultyEngine, MemoryEngine, SharedPlacement};

fn schema(name: &str) -> Schema {
    let columns = vec![
        Column::new("id", Type::Uint64).not_null(),
        Column::new("name", Type::Utf8),
        Column::new("note", Type::String),
    ];
    Schema::new(name, columns, &["id", "name"]).unwrap()
}

fn row(id: u64, name: &str) -> [Value; 3] {
    [Value::Uint64(id), Value::from(name), Value::Null]
}

fn orders() -> (Database, Arc<Table>) {
    let db = Database::memory().unwrap();
    let table = db.create_table(schema("orders"), &[]).unwrap();
    (db, table)
}

#[track_caller]
fn check<T: std::fmt::Debug>(result: Result<T, Error>, kind: Kind, words: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn a_wrong_request_says_what_is_wrong() {
    let (db, orders) = orders();
    let mut txn = db.begin();
    let uint = Value::Uint64(1);
    check(
        txn.insert(&orders, std::slice::from_ref(&uint)),
        Kind::Invalid,
        "has 3 columns, 1 values",
    );
    let text = [Value::from("1"), Value::from("a"), Value::Null];
    check(
        txn.insert(&orders, &text),
        Kind::Invalid,
        "column `id` of table `orders` is Uint64",
    );
    let null = [Value::Null, Value::from("a"), Value::Null];
    check(
        txn.insert(&orders, &null),
        Kind::Invalid,
        "column `id` of table `orders` is NOT NULL",
    );
    check(
        txn.get(&orders, std::slice::from_ref(&uint)),
        Kind::Invalid,
        "has 2 key columns, 1 values",
    );
    let three = Range::prefix(&[uint.clone(), Value::from("a"), Value::Null]);
    let scan = txn.scan(&orders, &three, Direction::Ascending);
    check(scan, Kind::Invalid, "has 2 key columns, 3 values");
}

#[test]
fn tables_are_found_made_and_refused_by_name() {
    let (db, _) = orders();
    check(db.table("order"), Kind::NotFound, "did you mean `orders`?");
    check(
        db.table("people"),
        Kind::NotFound,
        "table `people` does not exist",
    );
    check(
        db.create_table(schema("orders"), &[]),
        Kind::Exists,
        "table `orders` exists already",
    );
    check(db.drop_table("people"), Kind::NotFound, "does not exist");
    db.drop_table("orders").unwrap();
    db.create_table(schema("orders"), &[]).unwrap();
}

#[test]
fn a_dropped_table_refuses_those_who_still_hold_it() {
    let (db, orders) = orders();
    let mut txn = db.begin();
    txn.insert(&orders, &row(1, "a")).unwrap();
    db.drop_table("orders").unwrap();
    check(txn.commit(), Kind::NotFound, "does not exist");
    check(
        db.snapshot().get(&orders, &row(1, "a")[..2]),
        Kind::NotFound,
        "does not exist",
    );
}

#[test]
fn schemas_that_cannot_be_are_refused() {
    let id = || Column::new("id", Type::Uint64);
    let refused = |columns: Vec<Column>, key: &[&str], words: &str| {
        check(
            Schema::new("t", columns, key).map_err(Error::from),
            Kind::Invalid,
            words,
        );
    };
    refused(vec![id()], &[], "needs a primary key");
    refused(vec![id(), id()], &["id"], "column `id` is there twice");
    refused(vec![id()], &["id", "id"], "in the primary key twice");
    let json = Column::new("j", Type::Json);
    refused(vec![json], &["j"], "cannot be part of the primary key");
    refused(vec![Column::new("", Type::Bool)], &[""], "needs a name");
    refused(
        vec![Column::new("a\nb", Type::Bool)],
        &["a\nb"],
        "control characters",
    );
    let wide = |count: usize| {
        (0..count)
            .map(|n| Column::new(format!("c{n}"), Type::Bool))
            .collect()
    };
    refused(wide(201), &["c0"], "may have 200 columns, this one has 201");
    let names: Vec<_> = (0..21).map(|n| format!("c{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    refused(wide(21), &names, "may have 20 columns, this one has 21");
    let missing = Schema::new("t", vec![id()], &["di"]).map_err(Error::from);
    check(missing, Kind::NotFound, "table `t` has no column `di`");
}

#[test]
fn splits_and_merges_that_cannot_be_are_refused() {
    let (db, orders) = orders();
    let at = |id: u64| vec![Value::Uint64(id)];
    let unordered = db.create_table(schema("t"), &[at(2), at(1)]);
    check(unordered, Kind::Invalid, "split keys must ascend");
    db.split(&orders, &at(10)).unwrap();
    check(db.split(&orders, &at(10)), Kind::Invalid, "cannot split");
    let ids: Vec<_> = db
        .describe(&orders)
        .unwrap()
        .iter()
        .map(|one| one.id)
        .collect();
    check(
        db.merge(&orders, &ids[..1]),
        Kind::Invalid,
        "name two or more neighbours",
    );
    let turned: Vec<_> = ids.iter().rev().copied().collect();
    check(db.merge(&orders, &turned), Kind::Invalid, "in key order");
    db.merge(&orders, &ids).unwrap();
    check(
        db.merge(&orders, &ids),
        Kind::NotFound,
        "read the map again",
    );
}

#[test]
fn limits_are_stated_with_the_size() {
    let (db, orders) = orders();
    let mut txn = db.begin();
    let long = "x".repeat(70_000);
    check(
        txn.insert(&orders, &row(1, &long)),
        Kind::Invalid,
        "keys have 1 to 65519 bytes",
    );
    check(
        txn.get(&orders, &row(1, &"x".repeat(2 << 20))[..2]),
        Kind::Invalid,
        "limit of 1048576",
    );
    let cell = Value::String(vec![0; (16 << 20) + 1].into());
    let huge = [Value::Uint64(1), Value::from("a"), cell];
    check(txn.insert(&orders, &huge), Kind::Invalid, "16777216");
    let half = Value::String(vec![0; 16 << 20].into());
    for id in 0..15 {
        txn.replace(&orders, &[Value::Uint64(id), Value::Null, half.clone()])
            .unwrap();
    }
    let over = txn.replace(&orders, &[Value::Uint64(99), Value::Null, half]);
    check(
        over,
        Kind::Invalid,
        "a transaction may have 268435456 written bytes",
    );
}

#[test]
fn the_first_to_commit_wins() {
    let (db, orders) = orders();
    let mut one = db.begin();
    let mut two = db.begin();
    one.insert(&orders, &row(1, "a")).unwrap();
    two.insert(&orders, &row(1, "a")).unwrap();
    one.commit().unwrap();
    check(two.commit(), Kind::Conflict, "retry the transaction");
    check(
        db.begin().insert(&orders, &row(1, "a")),
        Kind::Exists,
        "has a row /1/a already",
    );
}

#[test]
fn a_failed_write_makes_the_database_unavailable_for_writes_only() {
    let engine = FaultyEngine::new(Arc::new(MemoryEngine::new()));
    let shared = engine.clone();
    let open =
        move || -> storage::Result<Arc<dyn storage::Engine>> { Ok(Arc::new(shared.clone())) };
    let mut options = Options::new(Arc::new(SharedPlacement::new(open)));
    options.background = false;
    let db = Database::open_with(options).unwrap();
    let orders = db.create_table(schema("orders"), &[]).unwrap();
    let insert = |id| {
        let mut txn = db.begin();
        txn.insert(&orders, &row(id, "a")).unwrap();
        txn.commit()
    };
    insert(1).unwrap();
    engine.inject(Fault::BreakWrite { nth: 1 });
    check(insert(2), Kind::Unavailable, "the outcome of the commit");
    check(insert(3), Kind::Unavailable, "has to be reopened");
    assert_eq!(
        db.snapshot().get(&orders, &row(1, "a")[..2]).unwrap(),
        Some(row(1, "a").to_vec())
    );
}

/// Every file below a folder with its bytes.
fn files(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("letters.txt"), "dear").unwrap();
    let before = files(folder.path());
    check(
        Database::open(folder.path()),
        Kind::Invalid,
        "is not an EvenKeel data directory",
    );
    assert_eq!(files(folder.path()), before);
}

#[test]
fn a_newer_format_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(Database::open(folder.path()).unwrap());
    std::fs::write(folder.path().join("EVENKEEL"), "evenkeel 999\n").unwrap();
    let before = files(folder.path());
    check(
        Database::open(folder.path()),
        Kind::Invalid,
        "has format version 999",
    );
    assert_eq!(files(folder.path()), before);
}

#[test]
fn a_directory_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let _open = Database::open(folder.path()).unwrap();
    check(
        Database::open(folder.path()),
        Kind::Unavailable,
        "in use by another process",
    );
}

#[test]
fn a_damaged_record_is_named_and_kept() {
    let engine: Arc<dyn storage::Engine> = Arc::new(MemoryEngine::new());
    let open = {
        let engine = Arc::clone(&engine);
        move || {
            let engine = Arc::clone(&engine);
            Database::open_with(Options {
                background: false,
                ..Options::new(Arc::new(SharedPlacement::new(move || {
                    Ok(Arc::clone(&engine))
                })))
            })
        }
    };
    let db = open().unwrap();
    let orders = db.create_table(schema("orders"), &[]).unwrap();
    let mut txn = db.begin();
    txn.insert(&orders, &row(1, "a")).unwrap();
    txn.commit().unwrap();
    drop(db);

    let damage = |space: u64, prefix: &[u8]| {
        let space = storage::SpaceId(space);
        let snapshot = engine.snapshot().unwrap();
        let range = storage::KeyRange::new(prefix.to_vec(), None);
        let (key, value) = snapshot
            .scan(space, &range, Direction::Ascending)
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        let put = |value: storage::Bytes| {
            let mut batch = storage::Batch::new();
            batch.put(space, key.clone(), value);
            engine.write(batch, storage::Durability::Synced).unwrap();
        };
        put("?".into());
        (key.clone(), value)
    };
    let repair = |space: u64, (key, value): (storage::Bytes, storage::Bytes)| {
        let mut batch = storage::Batch::new();
        batch.put(storage::SpaceId(space), key, value);
        engine.write(batch, storage::Durability::Synced).unwrap();
    };
    // The catalog's record, the descriptor, the counters; the row.
    for (prefix, words) in [(0x10, "catalog"), (0x02, "damaged"), (0x03, "counters")] {
        let was = damage(0, &[prefix]);
        check(open(), Kind::Corrupt, words);
        repair(0, was);
    }
    let was = damage(16 + orders.id().0, &[]);
    let db = open().unwrap();
    let orders = db.table("orders").unwrap();
    check(
        db.snapshot().get(&orders, &row(1, "a")[..2]),
        Kind::Corrupt,
        "/1/a",
    );
    let scan = db
        .snapshot()
        .scan(&orders, &Range::all(), Direction::Ascending)
        .unwrap();
    check(scan.last().unwrap(), Kind::Corrupt, "/1/a");
    drop(db);
    repair(16 + orders.id().0, was);
    let db = open().unwrap();
    let orders = db.table("orders").unwrap();
    assert!(
        db.snapshot()
            .get(&orders, &row(1, "a")[..2])
            .unwrap()
            .is_some()
    );
}
