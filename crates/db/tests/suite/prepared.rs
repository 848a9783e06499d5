//! What a client learns of a statement before it runs it, and parameters wherever they may stand.

use std::sync::Arc;

use db::{Database, Declared, Prepared, Reply, Session, Type, Value};

async fn prepare(session: &mut Session, text: &str) -> Prepared {
    let statement = session.parse(text).unwrap().remove(0);
    session.prepare(statement, &[]).await.unwrap()
}

async fn rows(session: &mut Session, text: &str, parameters: &[Value]) -> Vec<Vec<Value>> {
    let prepared = prepare(session, text).await;
    let mut all = Vec::new();
    if let Reply::Rows(mut rows) = session.execute(&prepared, parameters).await.unwrap() {
        while let Some(more) = rows.next().await {
            all.extend(more.unwrap());
        }
    }
    all
}

#[tokio::test]
async fn statements_that_return_rows_say_so_beforehand() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let session = &mut session;
    rows(
        session,
        "CREATE TABLE t (a Int64, b Utf8, PRIMARY KEY (a))",
        &[],
    )
    .await;
    for (text, names) in [
        ("INSERT INTO t VALUES (1, 'x') RETURNING b", Some(vec!["b"])),
        (
            "UPDATE t SET b = $1 WHERE a = $2 RETURNING *",
            Some(vec!["a", "b"]),
        ),
        (
            "DELETE FROM t WHERE a = $1 RETURNING a AS gone",
            Some(vec!["gone"]),
        ),
        ("DELETE FROM t", None),
    ] {
        let prepared = prepare(session, text).await;
        let told = prepared.columns();
        let told = told.map(|all| all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>());
        assert_eq!(told, names, "{text}");
    }
    let update = prepare(session, "UPDATE t SET b = $1 WHERE a = $2").await;
    assert_eq!(update.parameters(), [Type::Utf8, Type::Int64]);
}

const CREATE_DECLARED: &str =
    "CREATE TABLE t (a bigint PRIMARY KEY, b varchar(9), c timestamp, d jsonb)";
const USUAL: Declared = Declared::Usual;
const NAME: Declared = Declared::Varchar(Some(9));
const TIME: Declared = Declared::Timestamp(None);
const JSON: Declared = Declared::Jsonb;

/// Queries, and for each of their columns what it was declared as and its number in the table.
const COLUMNS: &[(&str, &[(Declared, i16)])] = &[
    ("SELECT b, c FROM t WHERE a = 1", &[(NAME, 2), (TIME, 3)]),
    (
        "SELECT * FROM t WHERE a > 1",
        &[(USUAL, 1), (NAME, 2), (TIME, 3), (JSON, 4)],
    ),
    ("SELECT t.d AS x FROM t ORDER BY b", &[(JSON, 4)]),
    (
        "SELECT x FROM (SELECT c AS x FROM t) s GROUP BY x",
        &[(TIME, 3)],
    ),
    (
        "SELECT u.b, t.a FROM t LEFT JOIN t u ON u.a = t.a",
        &[(NAME, 2), (USUAL, 1)],
    ),
    ("WITH w AS (SELECT b FROM t) SELECT b FROM w", &[(NAME, 2)]),
    (
        "SELECT -a, max(c), b || 'x' FROM t GROUP BY a, b",
        &[(USUAL, 0), (TIME, 0), (USUAL, 0)],
    ),
    (
        "SELECT b::text, c::timestamptz, c::timestamp FROM t",
        &[(USUAL, 0), (USUAL, 0), (TIME, 0)],
    ),
    (
        "SELECT 'x'::varchar(9), 'x'::text",
        &[(NAME, 0), (USUAL, 0)],
    ),
    ("SELECT b FROM t UNION ALL SELECT b FROM t", &[(NAME, 0)]),
    (
        "SELECT lag(c) OVER (ORDER BY a), d -> 'x', d ->> 'x' FROM t",
        &[(TIME, 0), (JSON, 0), (USUAL, 0)],
    ),
    (
        "INSERT INTO t (a) VALUES (1) RETURNING b, c AS x, a + 1",
        &[(NAME, 2), (TIME, 3), (USUAL, 0)],
    ),
    ("SELECT relname FROM pg_class", &[(USUAL, 0)]),
];

#[tokio::test]
async fn columns_say_what_they_were_declared_as_and_where_they_come_from() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let session = &mut session;
    rows(session, CREATE_DECLARED, &[]).await;
    let table = rows(session, "SELECT oid FROM pg_class WHERE relname = 't'", &[]).await;
    for (text, expected) in COLUMNS {
        for fast in ["on", "off"] {
            rows(session, &format!("SET enable_fast_path = {fast}"), &[]).await;
            let prepared = prepare(session, text).await;
            let mut told = Vec::new();
            for one in prepared.columns().unwrap().iter() {
                told.push((one.declared, one.origin.map_or(0, |origin| origin.column)));
                if let Some(origin) = one.origin {
                    assert_eq!(Value::Uint32(origin.table), table[0][0], "{text}");
                }
            }
            assert_eq!(told, *expected, "{text}");
        }
    }
}

#[tokio::test]
async fn parameters_are_declared_as_what_they_meet() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let session = &mut session;
    rows(session, CREATE_DECLARED, &[]).await;
    for (text, expected) in [
        (
            "INSERT INTO t VALUES ($1, $2, $3, $4)",
            vec![USUAL, NAME, TIME, JSON],
        ),
        ("UPSERT INTO t (d, a) VALUES ($2, $1)", vec![USUAL, JSON]),
        ("UPDATE t SET c = $1 WHERE a = $2", vec![TIME, USUAL]),
        (
            "UPDATE t SET b = lower($2) WHERE c BETWEEN $1 AND now()",
            vec![TIME, USUAL],
        ),
        (
            "DELETE FROM t WHERE c < $1 AND b IN ($2, 'x')",
            vec![TIME, NAME],
        ),
        (
            "SELECT a FROM t WHERE $1 = t.c AND a = $2",
            vec![TIME, USUAL],
        ),
        ("SELECT a FROM t x WHERE x.c > $1 ORDER BY b", vec![TIME]),
        (
            "SELECT $1::timestamp, $2::jsonb, $3::timestamptz",
            vec![TIME, JSON, USUAL],
        ),
        (
            "INSERT INTO t (a, c) VALUES ($1, $2) ON CONFLICT (a) DO UPDATE SET c = $3",
            vec![USUAL, TIME, TIME],
        ),
    ] {
        let prepared = prepare(session, text).await;
        let places = 0..prepared.parameters().len();
        let told: Vec<_> = places
            .map(|place| prepared.parameter_declared(place))
            .collect();
        assert_eq!(told, expected, "{text}");
    }
}

#[tokio::test]
async fn a_conflict_is_resolved_with_parameters_and_the_time_of_now() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let session = &mut session;
    rows(
        session,
        "CREATE TABLE t (a Int64, b Utf8, at Timestamp, PRIMARY KEY (a))",
        &[],
    )
    .await;
    rows(session, "INSERT INTO t (a, b) VALUES (1, 'old')", &[]).await;
    let text = "INSERT INTO t (a, b) VALUES ($1, 'new') \
                ON CONFLICT (a) DO UPDATE SET b = $2, at = now() RETURNING b, at";
    let told = prepare(session, text).await;
    assert_eq!(told.parameters(), [Type::Int64, Type::Utf8]);
    let parameters = [Value::Int64(1), Value::from("given")];
    let found = rows(session, text, &parameters).await;
    let [row] = found.as_slice() else {
        panic!("one row, not {found:?}")
    };
    let [b, Value::Timestamp(at)] = row.as_slice() else {
        panic!("{row:?}")
    };
    assert_eq!(*b, Value::from("given"));
    let year_2020_us = 1_577_836_800_000_000;
    assert!(*at > year_2020_us, "now is {at} µs");
}

async fn stated(
    session: &mut Session,
    text: &str,
    hints: &[Option<Type>],
    parameters: &[Value],
) -> (Prepared, Vec<Vec<Value>>) {
    let statement = session.parse(text).unwrap().remove(0);
    let prepared = session.prepare(statement, hints).await.unwrap();
    let mut all = Vec::new();
    if let Reply::Rows(mut rows) = session.execute(&prepared, parameters).await.unwrap() {
        while let Some(more) = rows.next().await {
            all.extend(more.unwrap());
        }
    }
    (prepared, all)
}

#[tokio::test]
async fn parameters_in_values_take_the_type_of_the_other_rows() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let session = &mut session;
    let create = "CREATE TABLE boats (id serial PRIMARY KEY, name text, length real, built date, \
                  price numeric(10, 2), afloat boolean)";
    rows(session, create, &[]).await;
    let insert = "INSERT INTO boats (name, length, built, price, afloat) \
        SELECT p0::VARCHAR, p1::FLOAT, p2::DATE, p3::NUMERIC(10, 2), p4::BOOLEAN \
        FROM (VALUES ($1::VARCHAR, $2, $3::DATE, $4, $5, 0), ($6::VARCHAR, $7, $8::DATE, $9, $10, 1)) \
        AS imp_sen(p0, p1, p2, p3, p4, sen_counter) ORDER BY sen_counter RETURNING name, length, price";
    let mut hints = vec![None; 10];
    hints[6] = Some(Type::Double);
    hints[9] = Some(Type::Bool);
    let parameters = [
        Value::from("a"),
        Value::Null,
        Value::Null,
        Value::from("1234.5"),
        Value::Null,
        Value::from("b"),
        Value::Double(2.5),
        Value::from("2024-02-29"),
        Value::Null,
        Value::Bool(true),
    ];
    let (_, found) = stated(session, insert, &hints, &parameters).await;
    let price = Value::parse(
        Type::Decimal {
            precision: 10,
            scale: 2,
        },
        "1234.5",
    )
    .unwrap();
    assert_eq!(
        found,
        [
            [Value::from("a"), Value::Null, price],
            [Value::from("b"), Value::Float(2.5), Value::Null],
        ]
    );
    let text = "SELECT x FROM (VALUES ($1), (2), (NULL)) AS v (x)";
    let (told, found) = stated(session, text, &[], &[Value::Int32(7)]).await;
    assert_eq!(told.parameters(), [Type::Int32]);
    assert_eq!(found, [[Value::Int32(7)], [Value::Int32(2)], [Value::Null]]);
    let (told, _) = stated(session, "VALUES ($1)", &[], &[Value::from("x")]).await;
    assert_eq!(told.parameters(), [Type::Utf8]);
}

#[tokio::test]
async fn a_parameter_is_answered_in_the_type_that_the_client_stated() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let session = &mut session;
    for text in ["SELECT $1", "SELECT x FROM (SELECT $1 AS x) AS q"] {
        let given = [Value::Int64(5)];
        let (told, found) = stated(session, text, &[Some(Type::Int64)], &given).await;
        let columns = told.columns().unwrap();
        assert_eq!(columns[0].kind, Type::Int64, "{text}");
        assert_eq!(found, [given], "{text}");
    }
}

#[tokio::test]
async fn a_parameter_of_a_digest_is_a_whole_number() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let session = &mut session;
    let create = "CREATE TABLE t (h Uint64, u Uint64, PRIMARY KEY (h, u))";
    rows(session, create, &[]).await;
    let upsert = "UPSERT INTO t VALUES (Digest::NumericHash($1), $1)";
    let prepared = prepare(session, upsert).await;
    assert_eq!(prepared.parameters(), [Type::Uint64]);
    rows(session, upsert, &[Value::Uint64(1001)]).await;
    let found = "SELECT u FROM t WHERE h = Digest::NumericHash($1) AND u = $1";
    let found = rows(session, found, &[Value::Uint64(1001)]).await;
    assert_eq!(found, [[Value::Uint64(1001)]]);
}
