//! Buckets change while others read and write: nothing is missing, nothing is there twice, nothing is lost.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use db::Kind;
use db::items::Write;
use db::items::expression::Update;

use super::*;

/// Items of each of two sharding keys, one of which looks like the other with a bucket.
const ITEMS: i64 = 150;
const KEYS: [&str; 2] = ["bob", "bob_3"];

fn names() -> Vec<String> {
    let names = KEYS.iter();
    let names = names.flat_map(|key| (0..ITEMS).map(move |t| format!("{key}.{t}")));
    names.collect()
}

/// Counts in items, one after another, until it is told to stop; how often.
async fn count(http: &Collections, done: &AtomicBool) -> i64 {
    let write = Write {
        update: Some(Update::parse("n = n + 1").unwrap()),
        ..Write::default()
    };
    let mut counted = 0;
    for name in names().iter().cycle() {
        if done.load(Ordering::Relaxed) {
            break;
        }
        http.write(&place(name), &write).await.unwrap();
        counted += 1;
    }
    counted
}

/// The same in SQL, where a change of the schema is a conflict.
async fn count_in_sql(database: Arc<Database>, done: &AtomicBool) -> i64 {
    let mut session = Session::new(database);
    let mut counted = 0;
    for t in (0..ITEMS).cycle() {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let text = format!(r#"UPDATE "users/t" SET n = n + 1 WHERE k = 'bob' AND s = '{t}'"#);
        match run(&mut session, &text).await {
            Ok(_) => counted += 1,
            Err(error) => assert_eq!(error.kind(), Kind::Conflict, "{error}"),
        }
    }
    counted
}

/// Replaces items that nobody counts in, blindly, and reads them back.
async fn replace(http: &Collections, done: &AtomicBool) -> i64 {
    let mut last = 0;
    while !done.load(Ordering::Relaxed) {
        last += 1;
        for key in KEYS {
            let write = Write {
                item: Some(item(Some(key), last)),
                ..Write::default()
            };
            let at = place(&format!("{key}.mine"));
            http.write(&at, &write).await.unwrap();
            let found = http.get(&at, None).await.unwrap();
            assert_eq!(number(&found.item().unwrap()), last);
        }
    }
    last
}

/// Reads by name, by sharding key and in SQL; each finds each.
async fn read(database: Arc<Database>, http: &Collections, done: &AtomicBool) {
    let mut session = Session::new(database);
    let expected: BTreeSet<String> = names().into_iter().collect();
    while !done.load(Ordering::Relaxed) {
        for name in expected.iter().step_by(7) {
            let found = http.get(&place(name), None).await;
            assert!(found.is_ok(), "{name}: {found:?}");
        }
        for key in KEYS {
            let scope = Scope::Sharding {
                key: key.to_owned(),
                start: None,
                end: None,
            };
            let found = scan(http, scope, Some(40)).await.unwrap();
            let names: BTreeSet<&String> = found.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), found.len(), "some are there twice");
            // Its own, the one that is replaced, and those of a bucket that the key names.
            assert!(
                found.len() > expected.len() / KEYS.len(),
                "{key}: {}",
                found.len()
            );
        }
        match scan(http, Scope::Whole, None).await {
            Ok(found) => assert_eq!(found.len(), expected.len() + KEYS.len()),
            // The page before was one of other buckets.
            Err(error) => assert!(matches!(error, Error::Invalid(_)), "{error}"),
        }
        match run(
            &mut session,
            r#"SELECT count(*), count(DISTINCT k || '.' || s) FROM "users/t""#,
        )
        .await
        {
            Ok(rows) => {
                let all = Value::Int64(ITEMS * 2 + 2);
                assert_eq!(rows, [[all.clone(), all]]);
            }
            Err(error) => assert_eq!(error.kind(), Kind::Conflict, "{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn buckets_change_under_readers_and_writers() {
    let both = Both::new();
    both.schema(64).await;
    for key in KEYS {
        for t in (0..ITEMS).map(|t| t.to_string()).chain(["mine".to_owned()]) {
            both.put(&format!("{key}.{t}"), Some(key), 0).await;
        }
    }
    let database = Arc::clone(&both.database);
    let http = Arc::new(both.http);
    let done = Arc::new(AtomicBool::new(false));
    let counting: Vec<_> = (0..2)
        .map(|_| {
            let (http, done) = (Arc::clone(&http), Arc::clone(&done));
            tokio::spawn(async move { count(&http, &done).await })
        })
        .collect();
    let in_sql = {
        let (database, done) = (Arc::clone(&database), Arc::clone(&done));
        tokio::spawn(async move { count_in_sql(database, &done).await })
    };
    let replacing = {
        let (http, done) = (Arc::clone(&http), Arc::clone(&done));
        tokio::spawn(async move { replace(&http, &done).await })
    };
    let reading = {
        let (database, http, done) = (Arc::clone(&database), Arc::clone(&http), Arc::clone(&done));
        tokio::spawn(async move { read(database, &http, &done).await })
    };
    let mut both = Both::over(database);
    for buckets in [10, 0, 64, 1, 2, 64] {
        both.schema(buckets).await;
    }
    done.store(true, Ordering::Relaxed);
    let mut counted = in_sql.await.unwrap();
    for task in counting {
        counted += task.await.unwrap();
    }
    let replaced = replacing.await.unwrap();
    reading.await.unwrap();
    let rows = both
        .sql(r#"SELECT sum(n), count(*) FROM "users/t" WHERE s <> 'mine'"#)
        .await;
    let found = both.scan(Scope::Whole).await;
    let in_http: i64 = found.iter().map(|(_, n)| n).sum();
    assert_eq!(in_http, counted + 2 * replaced);
    assert_eq!(rows[0][1], Value::Int64(ITEMS * 2));
    assert_eq!(rows[0][0].to_string(), counted.to_string());
    for name in names() {
        assert!(both.get(&name).await.is_some(), "{name}");
    }
}
