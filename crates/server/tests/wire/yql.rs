//! Texts of YQL over PostgreSQL's protocol: declarations and a statement prepared together.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::process::Server;

#[tokio::test]
async fn declarations_and_one_statement_are_prepared_together() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let create =
        "CREATE TABLE orders (id Uint64 NOT NULL, customer Int64, note Utf8, PRIMARY KEY (id));
        INSERT INTO orders VALUES (1, 10, 'first'), (2, 11, 'second'), (3, 10, 'third')";
    client.batch_execute(create).await.unwrap();

    let read = "DECLARE $id AS Uint64; SELECT note FROM orders WHERE id = $id";
    let read = client.prepare_typed(read, &[Type::INT8]).await.unwrap();
    assert_eq!(read.params(), [Type::INT8]);
    for (id, note) in [(1_i64, "first"), (3, "third")] {
        let row = client.query_one(&read, &[&id]).await.unwrap();
        assert_eq!(row.get::<_, &str>(0), note);
    }

    // A declaration says the type where nothing else does, and a definition is no parameter.
    let several = "--!syntax_v1
        PRAGMA AnsiInForEmptyOrNullableItemsCollections;
        DECLARE $customer AS Int64;
        DECLARE $tail AS Optional<Utf8>;
        $mine = (SELECT id, note FROM orders WHERE customer = $customer);
        SELECT note || COALESCE($tail, \"!\") AS note, $customer AS c FROM $mine ORDER BY note";
    let several = client.prepare(several).await.unwrap();
    assert_eq!(several.params(), [Type::INT8, Type::TEXT]);
    let rows = client
        .query(&several, &[&10_i64, &None::<&str>])
        .await
        .unwrap();
    let notes: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(notes, ["first!", "third!"]);
    assert_eq!(rows[0].get::<_, i64>(1), 10);
    let rows = client
        .query(&several, &[&11_i64, &Some("?")])
        .await
        .unwrap();
    assert_eq!(rows[0].get::<_, &str>(0), "second?");
    let error = client
        .query(&several, &[&None::<i64>, &None::<&str>])
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::INVALID_PARAMETER_VALUE));

    let two = "DECLARE $id AS Int64; SELECT $id; SELECT $id";
    let error = client.prepare(two).await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::SYNTAX_ERROR));
}

#[tokio::test]
async fn lists_travel_as_text() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let create =
        "CREATE TABLE orders (id Uint64 NOT NULL, note Utf8, at Timestamp, PRIMARY KEY (id))";
    client.batch_execute(create).await.unwrap();

    let write = "DECLARE $rows AS List<Struct<id:Uint64,note:Utf8?,at:Timestamp?>>;
        UPSERT INTO orders SELECT * FROM AS_TABLE($rows)";
    let write = client.prepare(write).await.unwrap();
    assert_eq!(write.params(), [Type::TEXT]);
    let rows = r#"[{"id": 1, "note": "a"}, {"id": 2, "at": "2026-01-01T00:00:00Z"}, {"id": 3}]"#;
    assert_eq!(client.execute(&write, &[&rows]).await.unwrap(), 3);
    assert_eq!(client.execute(&write, &[&"[]"]).await.unwrap(), 0);
    let error = client.execute(&write, &[&"[{}]"]).await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::INVALID_PARAMETER_VALUE));

    let join = "DECLARE $rows AS List<Struct<id:Uint64,extra:Int64>>;
        SELECT note, r.extra FROM AS_TABLE($rows) AS r JOIN orders AS o ON o.id = r.id";
    let join = client.prepare(join).await.unwrap();
    let row = client
        .query_one(
            &join,
            &[&r#"[{"id": 1, "extra": 7}, {"id": 9, "extra": 8}]"#],
        )
        .await
        .unwrap();
    assert_eq!((row.get::<_, &str>(0), row.get::<_, i64>(1)), ("a", 7));

    // Every type finds its way, through the planner as well.
    let every = "DECLARE $rows AS List<Struct<a:Uuid,b:Interval,c:Decimal(22,9),d:Json,e:Date,f:String,g:Bool>>;
        SELECT CAST(a AS Utf8), CAST(b AS Utf8), CAST(c AS Utf8), CAST(d AS Utf8), CAST(e AS Utf8), f, g
        FROM AS_TABLE($rows) AS r WHERE r.g";
    let rows = r#"[{"a": "0189c2a0-7b1e-7c3d-8f00-0123456789ab", "b": "PT1H", "c": 1.5, "d": {"x": [1]},
        "e": "2026-01-31", "f": "bytes", "g": true}]"#;
    let row = client.query_one(every, &[&rows]).await.unwrap();
    let texts: Vec<&str> = (0..5).map(|at| row.get(at)).collect();
    let uuid = "0189c2a0-7b1e-7c3d-8f00-0123456789ab";
    assert_eq!(
        texts,
        [uuid, "PT1H", "1.500000000", r#"{"x":[1]}"#, "2026-01-31"]
    );
    assert_eq!(row.get::<_, &[u8]>(5), b"bytes");
    assert!(row.get::<_, bool>(6));

    let read = "DECLARE $ids AS List<Uint64>; SELECT CAST(id AS Int64) FROM orders WHERE id IN $ids ORDER BY id";
    let read = client.prepare(read).await.unwrap();
    for (list, found) in [
        ("[3, 1, 9]", vec![1, 3]),
        ("{2,3}", vec![2, 3]),
        ("[]", vec![]),
    ] {
        let rows = client.query(&read, &[&list]).await.unwrap();
        let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(ids, found, "{list}");
    }
}

#[tokio::test]
async fn parameters_without_values_are_missed_by_name() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    for text in ["DECLARE $id AS Uint64; SELECT $id", "SELECT $id"] {
        let error = client.simple_query(text).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code(), &SqlState::UNDEFINED_PARAMETER);
        assert!(error.message().contains("$id"), "{}", error.message());
    }
    let text = "PRAGMA SimpleColumns; $n = 20; SELECT $n + 1";
    let answer = client.simple_query(text).await.unwrap();
    let found = answer.iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    assert_eq!(found, Some("21"));
}
