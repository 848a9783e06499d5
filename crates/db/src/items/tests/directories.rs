//! Directories: what is in them, and what they keep while items in them go.

use super::super::record::CHANGED_NS;
use super::*;

/// How often a directory is changed while items in it are deleted.
const CHANGES: i64 = 400;

#[tokio::test]
async fn directories_are_listed_and_deleted() {
    let collections = collections();
    for path in ["a/x", "a/b/y", "a/b/c/z", "a/d/w", "ab/v", "u"] {
        let at = place(&format!("/users/{path}"));
        collections.put_object(&at, b"data".to_vec()).await.unwrap();
    }
    let list = async |prefix: &str, limit| {
        let mut ask = ListingAsk {
            prefix: prefix.to_owned(),
            limit,
            ..ListingAsk::default()
        };
        let mut found = Vec::new();
        loop {
            let listing = collections.list("users", &ask).await.unwrap();
            found.extend(listing.directories);
            found.extend(listing.entries.into_iter().map(|entry| entry.path));
            if listing.marker.is_none() {
                return found.join(" ");
            }
            ask.marker = listing.marker;
        }
    };
    for limit in [None, Some(1)] {
        assert_eq!(list("", limit).await, "a/ ab/ u");
        assert_eq!(list("a/", limit).await, "a/b/ a/d/ a/x");
        assert_eq!(list("a", limit).await, "a/b/ a/d/ a/x");
        assert_eq!(list("a/b", limit).await, "a/b/c/ a/b/y");
        assert_eq!(list("a/d/", limit).await, "a/d/w");
    }
    collections
        .append(&place("/users/u"), b" and more")
        .await
        .unwrap();
    let record = collections.get(&place("/users/u"), None).await.unwrap();
    assert_eq!(record.data.as_deref(), Some(b"data and more".as_slice()));

    collections
        .delete_directory(&directory("/users/a/b/"))
        .await
        .unwrap();
    let again = collections
        .delete_directory(&directory("/users/a/b/"))
        .await;
    assert!(matches!(again, Err(Error::NotFound)));
    assert_eq!(list("a/", None).await, "a/d/ a/x");
    collections.remove_container("users").await.unwrap();
    assert!(collections.containers().is_empty());
}

/// The record of a directory of container `users`.
fn record(collections: &Collections, path: &str) -> Record {
    let table = collections.database.table("v3io/users").unwrap();
    let key = Key::of_directory(path).values();
    let row = collections.database.snapshot().get(&table, &key).unwrap();
    Record::from_row(row.unwrap()).unwrap()
}

/// Counts in the attributes of a directory; others are not waited for.
fn count(collections: &Collections, path: &str) {
    let table = collections.database.table("v3io/users").unwrap();
    let key = Key::of_directory(path).values();
    loop {
        let mut transaction = collections.database.begin();
        let row = transaction.get(&table, &key).unwrap().unwrap();
        let mut record = Record::from_row(row).unwrap();
        let number = match record.item().unwrap().get("n") {
            Some(Attribute::Integer(number)) => *number,
            _ => 0,
        };
        record.attributes = item(&[("n", number + 1)]).encode().unwrap();
        let row = record.into_row(table.schema());
        transaction.replace(&table, &row).unwrap();
        match transaction.commit() {
            Ok(_) => return,
            Err(error) => assert_eq!(error.kind(), Kind::Conflict, "{error}"),
        }
    }
}

#[test]
fn what_others_change_of_a_directory_stays_while_its_items_go() {
    let collections = Arc::new(collections());
    let alone = || {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    };
    let at = |number: i64| place(&format!("/users/cars/{number}"));
    alone().block_on(async {
        for number in 0..CHANGES {
            let put = put(&[("a", number)]);
            collections.write(&at(number), &put).await.unwrap();
        }
    });
    let before = record(&collections, "cars/");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..CHANGES {
                count(&collections, "cars/");
            }
        });
        let collections = &collections;
        for half in 0..2 {
            scope.spawn(move || {
                alone().block_on(async {
                    for number in (0..CHANGES).filter(|number| number % 2 == half) {
                        collections.delete(&at(number), None).await.unwrap();
                    }
                });
            });
        }
    });
    let after = record(&collections, "cars/");
    assert_eq!(after.item().unwrap(), item(&[("n", CHANGES)]));
    assert!(after.changed_ns > before.changed_ns);
    assert_eq!(after.created_ns, before.created_ns);
}

#[tokio::test]
async fn a_directory_changes_with_each_item_that_goes_and_nobody_waits() {
    let collections = collections();
    let at = |name: &str| place(&format!("/users/cars/{name}"));
    for name in ["a", "b", "c"] {
        collections.write(&at(name), &put(&[])).await.unwrap();
    }
    let mut changed = record(&collections, "cars/").changed_ns;
    for name in ["a", "b"] {
        collections.delete(&at(name), None).await.unwrap();
        let now = record(&collections, "cars/").changed_ns;
        assert!(now > changed, "{now} {changed}");
        changed = now;
    }
    // Two at once, the later moment first: both commit, and time does not go back.
    let table = collections.database.table("v3io/users").unwrap();
    let key = Key::of_directory("cars/").values();
    let later = |by: i64| (CHANGED_NS, changed + by);
    let (mut one, mut other) = (collections.database.begin(), collections.database.begin());
    one.raise(&table, &key, later(500)).unwrap();
    other.raise(&table, &key, later(1_000)).unwrap();
    other.commit().unwrap();
    one.commit().unwrap();
    assert_eq!(record(&collections, "cars/").changed_ns, changed + 1_001);

    // Who makes a directory at the same moment leaves it as it is.
    let mut other = collections.database.begin();
    let mut made = record(&collections, "cars/");
    made.created_ns = 1;
    let row = made.into_row(table.schema());
    other.ensure(&table, &row).unwrap();
    other.commit().unwrap();
    assert!(record(&collections, "cars/").created_ns > 1);

    // A directory that is gone does not come back.
    let mut late = collections.database.begin();
    late.raise(&table, &key, later(2_000)).unwrap();
    collections
        .delete_directory(&directory("/users/cars/"))
        .await
        .unwrap();
    late.commit().unwrap();
    let row = collections.database.snapshot().get(&table, &key).unwrap();
    assert_eq!(row, None);
}
