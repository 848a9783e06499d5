//! Tables from before: names that carry the bucket, what a change of buckets left where it was, and what
//! clients distributed themselves.

use db::items::{Key, Record, Write};
use db::{Copy, Kind};

use super::*;

const SCHEMA: &str = r#"{"key": "k", "sortingKey": "s", "hashingBucketNum": 64, "fields": [
    {"name": "k", "type": "string"}, {"name": "s", "type": "string"}, {"name": "n", "type": "long"}]}"#;

/// Items of `t` as they were stored when the name was the key: name, key attribute, number.
fn older(items: &[(&str, Option<&str>, i64)]) -> Both {
    let database = Arc::new(Database::memory().unwrap());
    let schema = db::items::record::schema("v3io/users").unwrap();
    let table = database.create_table(schema, &[]).unwrap();
    let mut transaction = database.begin();
    let mut put = |name: &str, item: Item, data: Option<Vec<u8>>| {
        let record = Record {
            key: Key::of_name("t/", name, keys::Order::Text),
            name: name.to_owned(),
            attributes: item.encode().unwrap(),
            data,
            created_ns: 1,
            changed_ns: 1,
            rest: Vec::new(),
        };
        let row = record.into_row(table.schema());
        transaction.replace(&table, &row).unwrap();
    };
    put(".#schema", Item::new(), Some(SCHEMA.into()));
    for (name, key, n) in items {
        put(name, item(*key, *n), None);
    }
    transaction.commit().unwrap();
    Both::over(database)
}

const ITEMS: [(&str, Option<&str>, i64); 6] = [
    ("bob_36.20180602", Some("bob"), 1),
    ("ada_36.20180602", None, 2),
    // SQL filed it under `zoe`.
    ("zoe_36.20180602", Some("zoe_36"), 3),
    // It was there before the table was distributed.
    ("eve.20180602", None, 4),
    // These are two, whatever they say.
    ("tom.20180602", Some("tom"), 5),
    ("tom_36.20180602", Some("tom"), 6),
];

async fn check(both: &mut Both) {
    for (name, n) in [
        ("bob.20180602", 1),
        ("bob_36.20180602", 1),
        ("ada.20180602", 2),
        ("ada_36.20180602", 2),
        ("zoe_36.20180602", 3),
        ("eve.20180602", 4),
        ("eve_36.20180602", 4),
        ("tom.20180602", 5),
        ("tom_36.20180602", 6),
    ] {
        assert_eq!(both.get(name).await, Some(n), "{name}");
    }
    assert_eq!(both.get("zoe.20180602").await, None);
    let found = both.scan(Scope::Whole).await;
    assert_eq!(found.len(), ITEMS.len());
    for (name, n) in found {
        assert_eq!(both.get(&name).await, Some(n), "{name}");
    }
    let rows = both
        .sql(r#"SELECT k, n FROM "users/t" WHERE n < 5 ORDER BY n"#)
        .await;
    let keys = ["bob", "ada", "zoe_36", "eve"].map(Value::from);
    let found: Vec<Value> = rows.into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(found, keys);
}

#[tokio::test]
async fn an_older_table_is_read_over_http() {
    let mut both = older(&ITEMS);
    check(&mut both).await;
}

#[tokio::test]
async fn an_older_table_is_read_in_sql_first() {
    let mut both = older(&ITEMS);
    let one = r#"SELECT n FROM "users/t" WHERE k = 'ada'"#;
    assert_eq!(both.sql(one).await, [[Value::Int64(2)]]);
    check(&mut both).await;
}

#[tokio::test]
async fn an_older_table_is_listed_with_all_below() {
    let mut both = older(&ITEMS);
    assert_eq!(both.scan(Scope::Below(None)).await.len(), ITEMS.len());
    check(&mut both).await;
}

#[tokio::test]
async fn an_older_table_is_written_to_in_sql_first() {
    let mut both = older(&ITEMS);
    both.sql(r#"UPDATE "users/t" SET n = n WHERE n > 0"#).await;
    both.sql(r#"UPSERT INTO "users/t" (k, s, n) VALUES ('bob_36', '20180602', 7)"#)
        .await;
    assert_eq!(both.get("bob.20180602").await, Some(1));
    assert_eq!(both.get("bob_36.20180602").await, Some(7));
    both.sql(r#"DELETE FROM "users/t" WHERE k = 'bob_36'"#)
        .await;
    check(&mut both).await;
}

#[tokio::test]
async fn an_older_table_takes_copies_when_they_come_again() {
    let mut both = older(&ITEMS);
    let mut copied = Vec::new();
    for _ in 0..2 {
        let text = r#"COPY "users/t" (k, s, n) FROM STDIN"#;
        let statement = both.sql.parse(text).unwrap().pop().unwrap();
        let prepared = both.sql.prepare(statement, &[]).await.unwrap();
        let Some(Copy::In(mut rows, _)) = both.sql.copy(&prepared).await.unwrap() else {
            panic!("rows are to come in");
        };
        let mut row = vec![
            Value::from("new_36"),
            Value::from("20180602"),
            Value::Int64(9),
        ];
        rows.write(&mut row).unwrap();
        let finished = both.sql.finish_copy(rows).await;
        copied.push(finished.map_err(|error| error.kind()));
    }
    assert_eq!(copied, [Err(Kind::Conflict), Ok(1)]);
    assert_eq!(both.get("new_36.20180602").await, Some(9));
    both.http
        .delete(&place("new_36.20180602"), None)
        .await
        .unwrap();
    check(&mut both).await;
}

#[tokio::test]
async fn a_schema_that_came_after_distributed_items_finds_them() {
    let mut both = Both::new();
    both.put("bob_36.20180602", Some("bob"), 1).await;
    both.put("bob_3.20180602", Some("bob"), 2).await;
    both.schema(64).await;
    assert_eq!(both.get("bob_36.20180602").await, Some(1));
    assert_eq!(both.get("bob.20180602").await, Some(1));
    // It is in no bucket that the table has, so its name is its key.
    assert_eq!(both.get("bob_3.20180602").await, Some(2));
    let rows = both.sql(r#"SELECT k FROM "users/t" ORDER BY n"#).await;
    assert_eq!(rows, [[Value::from("bob")], [Value::from("bob_3")]]);
}

#[tokio::test]
async fn inference_leaves_names_of_clients_as_they_are() {
    for (names, buckets) in [
        // Buckets as we would choose them, and as a client did.
        (["bob_36.20180602", "ada_39.20180701"], 64),
        (["bob_1.20180602", "ada_2.20180701"], 0),
        (["bob_36.20180602", "ada_2.20180701"], 0),
    ] {
        let mut both = Both::new();
        for (name, n) in names.iter().zip(1..) {
            let (key, _) = name.split_once('_').unwrap();
            let (_, day) = name.split_once('.').unwrap();
            let mut item = item(Some(key), n);
            item.set("s", Attribute::Text(day.to_owned()));
            let write = Write {
                item: Some(item),
                ..Write::default()
            };
            both.http.write(&place(name), &write).await.unwrap();
        }
        both.sql("CALL infer_schema('users', 't')").await;
        let schema = both.http.get(&place(".#schema"), None).await.unwrap();
        let schema = String::from_utf8(schema.data.unwrap()).unwrap();
        let expected = format!(r#""hashingBucketNum":{buckets}"#);
        assert!(schema.contains(&expected), "{names:?}: {schema}");
        let mut found = both.scan(Scope::Whole).await;
        found.sort_by_key(|(_, n)| *n);
        let shown: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(shown, names);
        for (name, n) in names.iter().zip(1..) {
            assert_eq!(both.get(name).await, Some(n));
            let key = name.split_once('.').unwrap().0;
            assert_eq!(both.sharding(key).await, [((*name).to_owned(), n)]);
        }
        let rows = both.sql(r#"SELECT n FROM "users/t" ORDER BY n"#).await;
        assert_eq!(rows, [[Value::Int64(1)], [Value::Int64(2)]]);
    }
}

#[tokio::test]
async fn a_move_that_a_crash_cut_short_goes_on() {
    let both = Both::new();
    both.schema(64).await;
    for n in 0..50 {
        both.put(&format!("bob.{n}"), Some("bob"), n).await;
    }
    // Half of the rows lie in the new buckets, as the process would leave it.
    let database = &both.database;
    let table = database.table("v3io/users").unwrap();
    let rows = database.snapshot();
    let rows = rows.scan(&table, &db::Range::all(), db::Direction::Ascending);
    let records = rows
        .unwrap()
        .map(|row| Record::from_row(row.unwrap()).unwrap());
    let mut transaction = database.begin();
    let ten = std::num::NonZeroU32::new(10);
    for mut record in records {
        let before = record.key.values();
        match record.name.as_str() {
            ".#schema" => {
                let schema = SCHEMA.replace("64", "10");
                record.data = Some(schema.into_bytes());
            }
            ".#layout" => {
                let layout = br#"{"hashingBucketNum": 10, "former": 64, "past": [64]}"#;
                record.data = Some(layout.to_vec());
            }
            name if name.ends_with(['1', '3', '5', '7', '9']) => {
                record.key = Key::in_buckets("t/", name, keys::Order::Text, ten);
                transaction.delete(&table, &before).unwrap();
            }
            _ => continue,
        }
        let row = record.into_row(table.schema());
        transaction.replace(&table, &row).unwrap();
    }
    transaction.commit().unwrap();
    let mut both = Both::over(Arc::clone(database));
    for n in 0..50 {
        assert_eq!(both.get(&format!("bob.{n}")).await, Some(n));
        let row = format!(r#"SELECT n FROM "users/t" WHERE k = 'bob' AND s = '{n}'"#);
        assert_eq!(both.sql(&row).await, [[Value::Int64(n)]]);
    }
    assert_eq!(both.sharding("bob").await.len(), 50);
    let mut looped = Vec::new();
    for bucket in 1..=10 {
        looped.extend(both.sharding(&format!("bob_{bucket}")).await);
    }
    assert_eq!(looped.len(), 50);
    both.put("bob.2", Some("bob"), -2).await;
    both.http.delete(&place("bob.4"), None).await.unwrap();
    both.sql(r#"UPDATE "users/t" SET n = -6 WHERE s = '6'"#)
        .await;
    assert_eq!(both.scan(Scope::Whole).await.len(), 49);
    for (name, n) in [("bob.2", Some(-2)), ("bob.4", None), ("bob.6", Some(-6))] {
        assert_eq!(both.get(name).await, n, "{name}");
    }
    // A scan in pages has moved the rest.
    let table = both.database.table("v3io/users").unwrap();
    let layout = Key::of_name("t/", ".#layout", keys::Order::Text).values();
    let layout = both
        .database
        .snapshot()
        .get(&table, &layout)
        .unwrap()
        .unwrap();
    let layout = Record::from_row(layout).unwrap().data.unwrap();
    let layout = String::from_utf8(layout).unwrap();
    assert!(!layout.contains("former"), "{layout}");
}
