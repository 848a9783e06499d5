//! Examples: two items are two, whatever their names look like.

use db::items::expression::{Condition, Update};
use db::items::{Mode, Write};
use keys::bucket::{BUCKETS_DEFAULT, even_bucket};

use super::*;

#[tokio::test]
async fn bob_and_bob_36_are_two_items() {
    let both = Both::new();
    both.schema(64).await;
    both.put("bob.20180602", Some("bob"), 1).await;
    assert_eq!(both.get("bob_36.20180602").await, Some(1));
    both.put("bob_36.20180602", Some("bob_36"), 2).await;
    assert_eq!(both.get("bob.20180602").await, Some(1));
    assert_eq!(both.get("bob_36.20180602").await, Some(2));
    // Each is shown under a name that means it, and the other way round.
    let found = both.scan(Scope::Whole).await;
    assert_eq!(found.len(), 2);
    for (name, n) in found {
        assert_eq!(both.get(&name).await, Some(n), "{name}");
    }
    // A program that makes the name itself means the item that it says it means.
    both.put("bob_36.20180602", Some("bob"), 3).await;
    assert_eq!(both.get("bob.20180602").await, Some(3));
    assert_eq!(both.get("bob_36.20180602").await, Some(2));
    both.http
        .delete(&place("bob_36.20180602"), None)
        .await
        .unwrap();
    assert_eq!(both.get("bob_36.20180602").await, Some(3));
    assert_eq!(
        both.scan(Scope::Whole).await,
        [("bob_36.20180602".to_owned(), 3)]
    );
}

#[tokio::test]
async fn sql_tells_them_apart_by_the_values_of_their_keys() {
    let mut both = Both::new();
    both.schema(64).await;
    both.sql(r#"UPSERT INTO "users/t" (k, s, n) VALUES ('zoe', '20180602', 1), ('zoe_36', '20180602', 2)"#)
        .await;
    let all = r#"SELECT k, n FROM "users/t" ORDER BY n"#;
    let one = |k: &str, n: i64| vec![Value::from(k), Value::Int64(n)];
    assert_eq!(both.sql(all).await, [one("zoe", 1), one("zoe_36", 2)]);
    for (k, n) in [("zoe", 1), ("zoe_36", 2)] {
        let by_key = format!(r#"SELECT k, n FROM "users/t" WHERE k = '{k}'"#);
        assert_eq!(both.sql(&by_key).await, [one(k, n)]);
        let by_both = format!(r#"SELECT k, n FROM "users/t" WHERE k = '{k}' AND s = '20180602'"#);
        assert_eq!(both.sql(&by_both).await, [one(k, n)]);
        assert_eq!(both.get(&format!("{k}.20180602")).await, Some(n));
    }
    both.sql(r#"UPSERT INTO "users/t" (k, s, n) VALUES ('zoe', '20180602', 3)"#)
        .await;
    both.sql(r#"UPDATE "users/t" SET n = 4 WHERE k = 'zoe_36'"#)
        .await;
    assert_eq!(both.sql(all).await, [one("zoe", 3), one("zoe_36", 4)]);
    // A row that gets the name that another one is shown under is another row all the same.
    both.sql(r#"DELETE FROM "users/t" WHERE k = 'zoe_36'"#)
        .await;
    both.sql(r#"UPDATE "users/t" SET k = 'zoe_36' WHERE k = 'zoe'"#)
        .await;
    assert_eq!(both.sql(all).await, [one("zoe_36", 3)]);
    assert_eq!(both.get("zoe.20180602").await, None);
}

#[tokio::test]
async fn of_four_hundred_devices_each_is_itself() {
    let mut both = Both::new();
    both.schema(64).await;
    for i in 1..=400 {
        let key = format!("dev_{i}");
        match i % 2 {
            0 => both.put(&format!("{key}.20180602"), Some(&key), i).await,
            _ => {
                let row =
                    format!(r#"UPSERT INTO "users/t" (k, s, n) VALUES ('{key}', '20180602', {i})"#);
                both.sql(&row).await;
            }
        }
    }
    for i in 1..=400 {
        assert_eq!(both.get(&format!("dev_{i}.20180602")).await, Some(i));
        let row = format!(r#"SELECT n FROM "users/t" WHERE k = 'dev_{i}'"#);
        assert_eq!(both.sql(&row).await, [[Value::Int64(i)]]);
    }
    assert_eq!(both.get("dev.20180602").await, None);
    let keys = both.sql(r#"SELECT DISTINCT k FROM "users/t""#).await;
    assert_eq!(keys.len(), 400);
}

#[tokio::test]
async fn a_loop_over_buckets_finds_all_items_from_one_and_from_zero() {
    let both = Both::new();
    both.schema(64).await;
    for n in 0..300 {
        both.put(&format!("bob.{n}"), Some("bob"), n).await;
    }
    let first = (0..300).find(|n| even_bucket(&n.to_string(), BUCKETS_DEFAULT) == 0);
    let first = first.expect("one of 300 is in bucket 0");
    assert_eq!(both.get(&format!("bob_0.{first}")).await, Some(first));
    assert_eq!(both.get(&format!("bob_64.{first}")).await, Some(first));
    for buckets in [0..64, 1..65] {
        let mut found = Vec::new();
        for bucket in buckets {
            found.extend(both.sharding(&format!("bob_{bucket}")).await);
        }
        found.sort_by_key(|(_, n)| *n);
        let found: Vec<i64> = found.into_iter().map(|(_, n)| n).collect();
        assert_eq!(found, (0..300).collect::<Vec<_>>());
    }
    assert_eq!(both.sharding("bob_65").await, []);
    assert_eq!(both.sharding("bob").await.len(), 300);
}

#[tokio::test]
async fn a_scan_of_one_bucket_goes_on_when_buckets_change() {
    let both = Both::new();
    both.schema(64).await;
    for n in 0..400 {
        both.put(&format!("bob.{n}"), Some("bob"), n).await;
        both.put(&format!("bob_3.{n}"), Some("bob_3"), 1000 + n)
            .await;
    }
    let mut ask = Ask {
        scope: Scope::Sharding {
            key: "bob_3".to_owned(),
            start: None,
            end: None,
        },
        filter: None,
        limit: Some(60),
        marker: None,
        buckets: None,
    };
    let directory = Directory::parse("/users/t/").unwrap();
    let mut found = Vec::new();
    for buckets in [10, 0, 2, 64, 10, 0, 64, 2] {
        let page = both.http.scan(&directory, &ask).await.unwrap();
        let records = page.records.iter();
        found.extend(records.map(|record| number(&record.item().unwrap())));
        ask.marker = page.marker;
        if ask.marker.is_none() {
            break;
        }
        both.schema(buckets).await;
    }
    assert!(ask.marker.is_none());
    let in_bucket = |n: &i64| even_bucket(&n.to_string(), BUCKETS_DEFAULT) == 3;
    let mut expected: Vec<i64> = (0..400).filter(in_bucket).chain(1000..1400).collect();
    assert!(expected.len() > 400);
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn updates_change_what_a_name_means() {
    let both = Both::new();
    both.schema(64).await;
    let update = |text: &str, condition: Option<&str>| Write {
        update: Some(Update::parse(text).unwrap()),
        condition: condition.map(|text| Condition::parse(text).unwrap()),
        ..Write::default()
    };
    both.put("bob.20180602", Some("bob"), 1).await;
    let at = place("bob_36.20180602");
    both.http
        .write(&at, &update("n = n + 1", None))
        .await
        .unwrap();
    assert_eq!(both.get("bob.20180602").await, Some(2));
    let shown = update("n = n + 1", Some("__name == 'bob_36.20180602'"));
    let original = place("bob.20180602");
    both.http.write(&original, &shown).await.unwrap();
    assert_eq!(both.get("bob.20180602").await, Some(3));
    // What is new is what it says it is.
    let new = update("k = 'eve'; n = 7", None);
    both.http
        .write(&place("eve_36.20180602"), &new)
        .await
        .unwrap();
    assert_eq!(both.get("eve.20180602").await, Some(7));
    let literal = update("n = 8", None);
    both.http
        .write(&place("ada_36.20180602"), &literal)
        .await
        .unwrap();
    assert_eq!(both.get("ada.20180602").await, None);
    assert_eq!(both.get("ada_36.20180602").await, Some(8));
    // Attributes that are merged say which item they are meant for, if they have its key.
    both.put("bob_36.20180602", Some("bob_36"), 10).await;
    let merge = |key: Option<&str>, n| Write {
        item: Some(item(key, n)),
        mode: Mode::Merge,
        ..Write::default()
    };
    both.http.write(&at, &merge(Some("bob"), 11)).await.unwrap();
    both.http.write(&at, &merge(None, 12)).await.unwrap();
    assert_eq!(both.get("bob.20180602").await, Some(11));
    assert_eq!(both.get("bob_36.20180602").await, Some(12));
    let new = Write {
        mode: Mode::CreateOnly,
        ..merge(Some("bob"), 13)
    };
    let exists = both.http.write(&at, &new).await.unwrap_err();
    assert!(matches!(exists, Error::ItemExists), "{exists}");
    // Files keep their names.
    let file = place("report.txt");
    both.http.put_object(&file, b"text".to_vec()).await.unwrap();
    assert_eq!(both.http.get(&file, None).await.unwrap().name, "report.txt");
}

#[tokio::test]
async fn the_header_translates_names_of_tables_without_a_schema() {
    use std::num::NonZeroU32;
    let both = Both::new();
    let buckets = NonZeroU32::new(64);
    let put = |n| Write {
        item: Some(item(Some("bob"), n)),
        buckets,
        ..Write::default()
    };
    both.put("bob.20180602", None, 1).await;
    let bob = place("bob.20180602");
    both.http.write(&bob, &put(2)).await.unwrap();
    // The item without a bucket is another one, and stays.
    assert_eq!(both.get("bob.20180602").await, Some(1));
    assert_eq!(both.get("bob_36.20180602").await, Some(2));
    let found = both.http.get(&bob, buckets).await.unwrap();
    assert_eq!(number(&found.item().unwrap()), 2);
    let other = place("bob_36.20180602");
    both.http.write(&other, &put(3)).await.unwrap();
    assert_eq!(both.get("bob_36.20180602").await, Some(2));
    assert_eq!(both.get("bob_36_36.20180602").await, Some(3));
    // A schema says it alone.
    both.schema(0).await;
    both.http.write(&bob, &put(4)).await.unwrap();
    assert_eq!(both.get("bob.20180602").await, Some(4));
}
