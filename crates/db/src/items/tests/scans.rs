//! Scans: pages and their markers, what they pass over, and how many partitions they touch.

use super::*;

#[tokio::test]
async fn partitions_that_a_filter_rules_out_are_not_looked_at() {
    let collections = collections();
    for year in 2000..2010 {
        for month in 1..=4 {
            for n in 0..5 {
                let at = format!("/users/weather/year={year}/month={month}/n{n}");
                collections
                    .write(&place(&at), &put(&[("n", n)]))
                    .await
                    .unwrap();
            }
        }
    }
    let directory = place("/users/weather/x").directory;
    let looked_at = async |filter: &str| {
        let ask = Ask {
            filter: Some(Condition::parse(filter).unwrap()),
            ..ask(Scope::Below(None))
        };
        let page = collections.scan(&directory, &ask).await.unwrap();
        (page.records.len(), page.looked_at)
    };
    let (found, all) = looked_at("n >= 0").await;
    assert_eq!(found, 200);
    // Of a directory that is passed over one row is seen, and each directory has one of its own.
    let (found, seen) = looked_at("year == 2003 and month == 2").await;
    assert_eq!(found, 5);
    assert!(seen < 30, "{seen} of {all}");
    let (found, seen) = looked_at("(year == 2003 or n > 9) and n < 1").await;
    assert_eq!((found, seen), (4, all));
}

#[tokio::test]
async fn scans_come_page_by_page() {
    let collections = collections();
    let mut all = BTreeSet::new();
    for user in 0..20 {
        for day in 1..=9 {
            let name = format!("user{user}.{day}");
            let at = place(&format!("/users/days/{name}"));
            collections.write(&at, &put(&[("day", day)])).await.unwrap();
            all.insert(name);
        }
    }
    collections
        .write(&place("/users/days/below/x"), &put(&[]))
        .await
        .unwrap();
    collections
        .write(&place("/users/x"), &put(&[]))
        .await
        .unwrap();

    let limited = |scope| Ask {
        limit: Some(7),
        ..ask(scope)
    };
    let found = names(&collections, "/users/days/", limited(Scope::Whole)).await;
    assert_eq!(found.len(), all.len());
    assert_eq!(found.iter().cloned().collect::<BTreeSet<_>>(), all);
    for total in [1, 3, 64, 1024] {
        let mut parts = Vec::new();
        for segment in 0..total {
            let scope = Scope::Segment(segment, total);
            parts.extend(names(&collections, "/users/days/", limited(scope)).await);
        }
        assert_eq!(parts.len(), all.len(), "{total} segments");
        assert_eq!(parts.into_iter().collect::<BTreeSet<_>>(), all);
    }
    let range = sharding("user7", Some("3"), Some("6"));
    assert_eq!(
        names(&collections, "/users/days/", ask(range)).await,
        ["user7.3", "user7.4", "user7.5"]
    );
    let filtered = Ask {
        filter: Some(Condition::parse("day == 9 and starts(__name, 'user1')").unwrap()),
        ..limited(Scope::Whole)
    };
    assert_eq!(
        names(&collections, "/users/days/", filtered).await.len(),
        11
    );
    assert_eq!(
        names(&collections, "/users/", ask(Scope::Whole)).await,
        ["x"]
    );
}

#[tokio::test]
async fn markers_hold_across_splits_and_belong_to_their_scan() {
    let database = Arc::new(Database::memory().unwrap());
    let collections = Collections::new(Arc::clone(&database));
    for i in 0..300 {
        let at = place(&format!("/users/t/k{i}"));
        collections.write(&at, &put(&[])).await.unwrap();
    }
    let mut page_ask = Ask {
        limit: Some(10),
        ..ask(Scope::Whole)
    };
    let mut found = Vec::new();
    let table = database.table("v3io/users").unwrap();
    for slice in (0..).step_by(33) {
        let page = collections
            .scan(&directory("/users/t/"), &page_ask)
            .await
            .unwrap();
        found.extend(page.records.into_iter().map(|record| record.name));
        let Some(marker) = page.marker else { break };
        page_ask.marker = Some(marker);
        let split = [Value::Utf8("t/".into()), Value::Uint16(slice)];
        let _ = database.split(&table, &split).unwrap();
    }
    assert_eq!(found.len(), 300);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>().len(), 300);

    for (path, scope) in [
        ("/users/t/", Scope::Segment(0, 2)),
        ("/users/t/", sharding("k1", None, None)),
        ("/users/", Scope::Whole),
    ] {
        let wrong = Ask {
            marker: page_ask.marker.clone(),
            ..ask(scope)
        };
        let refused = collections
            .scan(&directory(path), &wrong)
            .await
            .unwrap_err();
        assert!(matches!(refused, Error::Invalid(_)), "{refused}");
    }
}

#[tokio::test]
async fn a_range_of_one_sharding_key_touches_one_partition() {
    let database = Arc::new(Database::memory().unwrap());
    let collections = Collections::new(Arc::clone(&database));
    for i in 0..200 {
        let at = place(&format!("/users/t/johnd.{i:03}"));
        collections.write(&at, &put(&[])).await.unwrap();
    }
    let table = database.table("v3io/users").unwrap();
    for slice in (0..1024).step_by(128) {
        let split = [Value::Utf8("t/".into()), Value::Uint16(slice)];
        database.split(&table, &split).unwrap();
    }
    let partitions: BTreeSet<_> = (0..200)
        .map(|i| {
            let key = Key::of_name("t/", &format!("johnd.{i:03}"), keys::Order::Text);
            database.partition_of(&table, &key.values()).unwrap()
        })
        .collect();
    assert_eq!(partitions.len(), 1);
    let range = sharding("johnd", Some("050"), Some("060"));
    assert_eq!(names(&collections, "/users/t/", ask(range)).await.len(), 10);
}
