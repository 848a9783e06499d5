//! What the recorder keeps of requests.

use advisor::trace::{Row, Trace};

use super::*;

/// What was recorded, an op a line: kind, bounds and rows without their slices.
fn recorded(collections: &Collections) -> Vec<String> {
    let mut text = Vec::new();
    collections.database.export_trace(&mut text).unwrap();
    let trace = Trace::read(text.as_slice()).unwrap();
    assert_eq!(trace.flaws, Default::default());
    let (slice, names) = (1, ["path", "slice", "sharding", "sorting"]);
    let name = |column: u16| names[usize::from(column)];
    let shown = |row: &Row, sign: &str| {
        let values = row.iter().filter(|(column, _)| *column != slice);
        let values = values.map(|(column, value)| format!("{}{sign}{value}", name(*column)));
        values.collect::<Vec<_>>().join(" ")
    };
    let mut lines = Vec::new();
    for txn in &trace.txns {
        for (number, op) in txn.ops.iter().enumerate() {
            let statement = trace.statements.iter();
            let statement = statement.clone().find(|one| one.id == op.statement);
            let statement = statement.unwrap();
            let one = |(column, values): &(u16, Vec<Value>)| (*column, values[0].clone());
            let eq: Row = op.eq.iter().map(one).collect();
            let rows = op.rows.iter().map(|row| shown(row, ":"));
            let parts = [
                (if number == 0 { "* " } else { "  " }).to_owned() + statement.kind.name(),
                format!("[{}]", statement.text),
                shown(&eq, "="),
                shown(&op.low, ">="),
                shown(&op.high, "<="),
                op.limit
                    .map_or(String::new(), |limit| format!("limit {limit}")),
                rows.map(|row| format!("({row})"))
                    .collect::<Vec<_>>()
                    .join(" "),
                op.found
                    .map_or(String::new(), |found| format!("found {found}")),
            ];
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            lines.push(parts.collect::<Vec<_>>().join(" "));
        }
    }
    lines
}

#[tokio::test]
async fn requests_are_recorded_with_sharding_and_sorting_key() {
    let collections = collections();
    let at = place("/users/cars/year=2018/blue.1");
    collections.write(&at, &put(&[("a", 1)])).await.unwrap();
    let merge = Write {
        mode: Mode::Merge,
        ..update("a = 2")
    };
    let second = place("/users/cars/year=2018/blue.2");
    collections.write(&second, &merge).await.unwrap();
    collections.get(&at, None).await.unwrap();
    // What is refused is not there.
    let refused = only_if(put(&[("a", 1)]), "a == 7");
    let bike = place("/users/bikes/red");
    collections.write(&bike, &refused).await.unwrap_err();
    let whole = directory("/users/cars/year=2018/");
    let scope = sharding("blue", Some("1"), Some("3"));
    let page = Ask {
        limit: Some(5),
        ..ask(scope)
    };
    collections.scan(&whole, &page).await.unwrap();
    collections.delete(&at, None).await.unwrap();

    let path = "path=cars/year=2018/ sharding=blue";
    let row = "path:cars/year=2018/ sharding:blue";
    let (one, two, three) = ("\\x31", "\\x32", "\\x33");
    let expected = [
        format!("* upsert [PutItem users/cars/] {path} sorting={one} ({row} sorting:{one})"),
        format!("* update [UpdateItem users/cars/] {path} sorting={two} ({row} sorting:{two})"),
        format!("* read [GetItem users/cars/] {path} sorting={one} ({row} sorting:{one})"),
        format!(
            "* read [GetItems users/cars/] {path} sorting>={one} sorting<={three} limit 5 \
             ({row} sorting:{one}) ({row} sorting:{two})"
        ),
        format!("* delete [DeleteItem users/cars/] {path} sorting={one} ({row} sorting:{one})"),
    ];
    assert_eq!(recorded(&collections), expected);
}

#[tokio::test]
async fn the_spots_of_a_distributed_table_are_recorded_each() {
    let collections = collections();
    let schema = br#"{"key": "k", "sortingKey": "s", "hashingBucketNum": 2, "fields": []}"#;
    let schema_place = place("/users/t/.#schema");
    let put_schema = collections.put_object(&schema_place, schema.to_vec());
    put_schema.await.unwrap();
    let at = place("/users/t/a.1");
    collections.write(&at, &put(&[("n", 1)])).await.unwrap();
    collections.get(&at, None).await.unwrap();
    let missing = collections.get(&place("/users/t/b.1"), None).await;
    assert!(matches!(missing, Err(Error::NotFound)));
    let scan = ask(sharding("a", None, None));
    collections
        .scan(&directory("/users/t/"), &scan)
        .await
        .unwrap();

    let lines = recorded(&collections);
    let of = |kind: &str| lines.iter().filter(|line| line.contains(kind)).count();
    // The item, which lies in one place.
    assert_eq!((of("upsert"), of("delete")), (1, 0), "{lines:#?}");
    // One look for what is where it should be; what is nowhere had no turn so soon.
    assert_eq!(of("[GetItem "), 1, "{lines:#?}");
    // The sharding key itself and each of its buckets.
    assert_eq!(of("[GetItems "), 3, "{lines:#?}");
    let found = lines.iter().filter(|line| line.contains("found 0"));
    assert_eq!(found.count(), 2, "{lines:#?}");
}
