//! Collections over a database in memory.

mod directories;
mod objects;
mod recorded;
mod scans;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{Database, Value};
use keys::{Attribute, Item};

use super::expression::{Condition, Update};
use super::*;

fn collections() -> Collections {
    Collections::new(Arc::new(Database::memory().unwrap()))
}

fn place(path: &str) -> Place {
    Place::parse(path).unwrap()
}

fn directory(path: &str) -> Directory {
    Directory::parse(path).unwrap()
}

fn item(attributes: &[(&str, i64)]) -> Item {
    let attributes = attributes.iter();
    attributes
        .map(|(name, value)| ((*name).to_owned(), Attribute::Integer(*value)))
        .collect()
}

fn put(attributes: &[(&str, i64)]) -> Write {
    Write {
        item: Some(item(attributes)),
        ..Write::default()
    }
}

fn update(text: &str) -> Write {
    Write {
        update: Some(Update::parse(text).unwrap()),
        ..Write::default()
    }
}

fn only_if(mut write: Write, condition: &str) -> Write {
    write.condition = Some(Condition::parse(condition).unwrap());
    write
}

fn ask(scope: Scope) -> Ask {
    Ask {
        scope,
        filter: None,
        limit: None,
        marker: None,
        buckets: None,
    }
}

fn sharding(key: &str, start: Option<&str>, end: Option<&str>) -> Scope {
    Scope::Sharding {
        key: key.to_owned(),
        start: start.map(str::to_owned),
        end: end.map(str::to_owned),
    }
}

async fn attributes(collections: &Collections, path: &str) -> Item {
    let record = collections.get(&place(path), None).await.unwrap();
    record.item().unwrap()
}

/// The names of all pages; each but the last has items.
async fn names(collections: &Collections, path: &str, mut ask: Ask) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        let page = collections.scan(&directory(path), &ask).await.unwrap();
        assert!(!page.records.is_empty() || page.marker.is_none());
        names.extend(page.records.into_iter().map(|record| record.name));
        if page.marker.is_none() {
            return names;
        }
        ask.marker = page.marker;
    }
}

#[tokio::test]
async fn items_are_put_changed_and_deleted() {
    let collections = collections();
    let at = place("/users/cars/blue.1");
    let missing = collections.get(&at, None).await.unwrap_err();
    assert!(matches!(missing, Error::NotFound));

    collections.write(&at, &put(&[("a", 1)])).await.unwrap();
    collections.write(&at, &update("b = a + 1")).await.unwrap();
    assert_eq!(
        attributes(&collections, "/users/cars/blue.1").await,
        item(&[("a", 1), ("b", 2)])
    );

    let merge = Write {
        mode: Mode::Merge,
        ..put(&[("a", 5)])
    };
    collections.write(&at, &merge).await.unwrap();
    assert_eq!(
        attributes(&collections, "/users/cars/blue.1").await,
        item(&[("a", 5), ("b", 2)])
    );
    let create = Write {
        mode: Mode::CreateOnly,
        ..put(&[("a", 6)])
    };
    let exists = collections.write(&at, &create).await.unwrap_err();
    assert!(matches!(exists, Error::ItemExists));
    collections.write(&at, &put(&[("c", 1)])).await.unwrap();
    assert_eq!(
        attributes(&collections, "/users/cars/blue.1").await,
        item(&[("c", 1)])
    );

    collections.delete(&at, None).await.unwrap();
    let gone = collections.delete(&at, None).await.unwrap_err();
    assert!(matches!(gone, Error::NotFound));
    let kept = collections.directory(&directory("/users/cars/")).await;
    assert!(kept.unwrap().key.is_of_directory());
    assert_eq!(collections.containers(), ["users"]);
}

#[tokio::test]
async fn conditions_decide_and_verifiers_are_conditions() {
    let collections = collections();
    let at = place("/users/counters/one");
    let refused = only_if(put(&[("a", 1)]), "a == 0");
    let refused = collections.write(&at, &refused).await.unwrap_err();
    assert!(matches!(refused, Error::ConditionFalse));

    let changed = collections.write(&at, &put(&[("a", 1)])).await.unwrap();
    let mine = only_if(update("a = a + 1"), &verifier(changed));
    let later = collections.write(&at, &mine).await.unwrap();
    assert!(later > changed);
    let stale = collections.write(&at, &mine).await.unwrap_err();
    assert!(matches!(stale, Error::ConditionFalse));

    let alternate = Write {
        alternate: Some(Update::parse("a = -1").unwrap()),
        ..only_if(update("a = a + 1"), "a > 100")
    };
    collections.write(&at, &alternate).await.unwrap();
    assert_eq!(
        attributes(&collections, "/users/counters/one").await,
        item(&[("a", -1)])
    );
    // An update without statements makes an item, and leaves one that is there.
    collections
        .write(&place("/users/counters/two"), &update(""))
        .await
        .unwrap();
    let kept = collections.write(&at, &update("")).await.unwrap();
    assert_eq!(collections.get(&at, None).await.unwrap().changed_ns, kept);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn counters_that_meet_lose_nothing() {
    let collections = Arc::new(collections());
    let tasks = (0..8).map(|_| {
        let collections = Arc::clone(&collections);
        tokio::spawn(async move {
            for _ in 0..50 {
                let write = update("n = if_not_exists(n, 0) + 1");
                collections.write(&place("/users/n"), &write).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(
        attributes(&collections, "/users/n").await,
        item(&[("n", 400)])
    );
}

#[tokio::test]
async fn distributed_tables_are_read_by_the_original_key() {
    let collections = collections();
    let schema = br#"{"key": "k", "sortingKey": "s", "hashingBucketNum": 64, "fields": []}"#;
    collections
        .write(&place("/users/t/johnd.20170101"), &put(&[("old", 1)]))
        .await
        .unwrap();
    let schema_place = place("/users/t/.#schema");
    collections
        .put_object(&schema_place, schema.to_vec())
        .await
        .unwrap();
    let days = [
        "20180602", "20180101", "20180701", "20180102", "20180601", "20180202",
    ];
    for day in days {
        let at = place(&format!("/users/t/johnd.{day}"));
        collections.write(&at, &put(&[("d", 1)])).await.unwrap();
    }
    let bucket = keys::bucket::even_bucket("20170101", keys::bucket::BUCKETS_DEFAULT);
    let oldest = format!("johnd_{bucket}.20170101");
    let all = [
        oldest.as_str(),
        "johnd_25.20180101",
        "johnd_3.20180102",
        "johnd_2.20180202",
        "johnd_62.20180601",
        "johnd_36.20180602",
        "johnd_39.20180701",
    ];
    for limit in [1, 2, 100] {
        let paged = Ask {
            limit: Some(limit),
            ..ask(sharding("johnd", None, None))
        };
        assert_eq!(names(&collections, "/users/t/", paged).await, all);
    }
    let range = ask(sharding("johnd", Some("20180102"), Some("20180602")));
    assert_eq!(names(&collections, "/users/t/", range).await, all[2..5]);
    let by_hand = ask(sharding("johnd_36", None, None));
    assert_eq!(
        names(&collections, "/users/t/", by_hand).await,
        ["johnd_36.20180602"]
    );
    for name in ["johnd.20180602", "johnd_36.20180602", "johnd.20170101"] {
        let found = collections
            .get(&place(&format!("/users/t/{name}")), None)
            .await;
        assert!(found.is_ok(), "{name}");
    }
    // What was there before it was distributed lies in its bucket since.
    let old = place("/users/t/johnd.20170101");
    collections
        .write(&old, &update("old = old + 1"))
        .await
        .unwrap();
    assert_eq!(collections.get(&old, None).await.unwrap().name, oldest);
    collections.write(&old, &put(&[])).await.unwrap();
    let found = names(
        &collections,
        "/users/t/",
        ask(sharding("johnd", None, None)),
    )
    .await;
    assert_eq!(found.len(), 7);
    collections.delete(&old, None).await.unwrap();
    assert!(collections.get(&old, None).await.is_err());
}

#[tokio::test]
async fn sorting_keys_that_are_numbers_lie_in_their_order() {
    let collections = collections();
    for i in [9, 100, 20, -5, 1] {
        for path in ["t", "t/year=2018", "other"] {
            let at = place(&format!("/users/{path}/k.{i}"));
            collections.write(&at, &put(&[("i", i)])).await.unwrap();
        }
    }
    let all = || ask(sharding("k", None, None));
    let as_text = ["k.-5", "k.1", "k.100", "k.20", "k.9"];
    let as_numbers = ["k.-5", "k.1", "k.9", "k.20", "k.100"];
    assert_eq!(names(&collections, "/users/t/", all()).await, as_text);
    let schema = br#"{"key": "k", "sortingKey": "s",
                      "fields": [{"name": "s", "type": "long", "nullable": false}]}"#;
    let schema_place = place("/users/t/.#schema");
    collections
        .put_object(&schema_place, schema.to_vec())
        .await
        .unwrap();
    for path in ["/users/t/", "/users/t/year=2018/"] {
        assert_eq!(names(&collections, path, all()).await, as_numbers, "{path}");
        let range = ask(sharding("k", Some("5"), Some("100")));
        assert_eq!(names(&collections, path, range).await, ["k.9", "k.20"]);
    }
    assert_eq!(names(&collections, "/users/other/", all()).await, as_text);
    collections
        .write(&place("/users/t/k.15"), &put(&[]))
        .await
        .unwrap();
    assert_eq!(
        collections
            .get(&place("/users/t/k.100"), None)
            .await
            .unwrap()
            .name,
        "k.100"
    );
    let words = ask(sharding("k", Some("a"), None));
    let refused = collections
        .scan(&directory("/users/t/"), &words)
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`a` is no whole number, which the sorting keys of this table are"
    );
    collections.delete(&schema_place, None).await.unwrap();
    let found = names(&collections, "/users/t/", all()).await;
    assert_eq!(found, ["k.-5", "k.1", "k.100", "k.15", "k.20", "k.9"]);
}

#[tokio::test]
async fn rows_that_a_crash_left_behind_are_moved_later() {
    let database = Arc::new(Database::memory().unwrap());
    let collections = Collections::new(Arc::clone(&database));
    for i in [9, 100, 20] {
        let at = place(&format!("/users/t/k.{i}"));
        collections.write(&at, &put(&[])).await.unwrap();
    }
    // The first of three steps, as the process would leave it.
    let schema = br#"{"sortingKey": "s", "fields": [{"name": "s", "type": "long"}]}"#;
    let table = database.table("v3io/users").unwrap();
    let mut transaction = database.begin();
    for (name, data) in [(".#schema", Some(schema.to_vec())), (".#moving", None)] {
        let record = Record {
            key: Key::of_name("t/", name, keys::Order::Text),
            name: name.to_owned(),
            attributes: Item::new().encode().unwrap(),
            data,
            created_ns: 0,
            changed_ns: 0,
            rest: Vec::new(),
        };
        transaction
            .replace(&table, &record.into_row(table.schema()))
            .unwrap();
    }
    transaction.commit().unwrap();
    let again = Collections::new(database);
    let found = names(&again, "/users/t/", ask(sharding("k", None, None))).await;
    assert_eq!(found, ["k.9", "k.20", "k.100"]);
    assert!(again.get(&place("/users/t/k.100"), None).await.is_ok());
    assert!(again.get(&place("/users/t/.#moving"), None).await.is_err());
}
