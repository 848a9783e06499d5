//! Laws of generated and bucketed keys: whatever is asked, they answer as a plain key does.

use std::sync::Arc;

use db::{Database, Options, Reply, Session, Value};
use proptest::prelude::*;
use storage::{MemoryEngine, MemoryMedium, SharedPlacement};

/// Runs one statement and gathers its rows.
async fn rows(session: &mut Session, text: &str, parameters: &[Value]) -> Vec<Vec<Value>> {
    let statement = session.parse(text).unwrap().remove(0);
    let prepared = session.prepare(statement, &[]).await.unwrap();
    let mut all = Vec::new();
    match session.execute(&prepared, parameters).await {
        Ok(Reply::Rows(mut rows)) => {
            while let Some(more) = rows.next().await {
                all.extend(more.unwrap());
            }
        }
        Ok(Reply::Done { .. }) => {}
        Err(error) => panic!("{text}: {error}"),
    }
    all
}

/// The same rows in a plain key, in buckets, behind a hash, and in named buckets after a column.
const TABLES: [(&str, &str); 4] = [
    (
        "plain",
        "CREATE TABLE plain (a Int64 NOT NULL, b Int64 NOT NULL, c Int64, PRIMARY KEY (a, b))",
    ),
    (
        "bucketed",
        "CREATE TABLE bucketed (a Int64 NOT NULL, b Int64 NOT NULL, c Int64, PRIMARY KEY (a, b) USING HASH WITH (bucket_count = 5)) WITH (UNIFORM_PARTITIONS = 3)",
    ),
    (
        "hashed",
        "CREATE TABLE hashed (h Uint64 GENERATED ALWAYS AS (Digest::NumericHash(a)) STORED, a Int64 NOT NULL, b Int64 NOT NULL, c Int64, PRIMARY KEY (h, a, b)) WITH (UNIFORM_PARTITIONS = 4)",
    ),
    (
        "inner_buckets",
        "CREATE TABLE inner_buckets (k Int64 GENERATED ALWAYS AS (b % 3) STORED, a Int64 NOT NULL, b Int64 NOT NULL, c Int64, PRIMARY KEY (a, k, b))",
    ),
];

#[derive(Clone, Debug)]
struct Asked {
    filter: String,
    descending: bool,
    limit: usize,
}

fn condition() -> impl Strategy<Value = String> {
    let column = prop_oneof![Just("a"), Just("b"), Just("c")];
    let value = -2_i64..6;
    prop_oneof![
        (column.clone(), value.clone()).prop_map(|(c, v)| format!("{c} = {v}")),
        (column.clone(), value.clone()).prop_map(|(c, v)| format!("{c} >= {v}")),
        (column.clone(), value.clone()).prop_map(|(c, v)| format!("{c} < {v}")),
        (column.clone(), value.clone(), value.clone())
            .prop_map(|(c, v, w)| format!("{c} IN ({v}, {w})")),
        (column.clone(), value.clone(), value)
            .prop_map(|(c, v, w)| format!("{c} BETWEEN {v} AND {w}")),
        column.prop_map(|c| format!("{c} IS NULL")),
    ]
}

fn asked() -> impl Strategy<Value = Asked> {
    let filter = proptest::collection::vec(condition(), 0..4);
    (filter, any::<bool>(), 1_usize..12).prop_map(|(filter, descending, limit)| Asked {
        filter: match filter.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", filter.join(" AND ")),
        },
        descending,
        limit,
    })
}

async fn same_answers(written: Vec<(i64, i64, i64)>, questions: Vec<Asked>) {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let session = &mut session;
    for (table, create) in TABLES {
        rows(session, create, &[]).await;
        for (a, b, c) in &written {
            let c = match c {
                0 => "NULL".to_owned(),
                c => c.to_string(),
            };
            let upsert = format!("UPSERT INTO {table} (a, b, c) VALUES ({a}, {b}, {c})");
            rows(session, &upsert, &[]).await;
        }
    }
    for Asked {
        filter,
        descending,
        limit,
    } in questions
    {
        let way = if descending { " DESC" } else { "" };
        let rest = format!("{filter} ORDER BY a{way}, b{way} LIMIT {limit}");
        for fast in ["on", "off"] {
            rows(session, &format!("SET enable_fast_path = {fast}"), &[]).await;
            let plain = format!("SELECT a, b, c FROM plain{rest}");
            let expected = rows(session, &plain, &[]).await;
            for (table, _) in TABLES {
                let text = format!("SELECT a, b, c FROM {table}{rest}");
                assert_eq!(
                    rows(session, &text, &[]).await,
                    expected,
                    "{text}, fast {fast}"
                );
            }
        }
        rows(session, "SET enable_fast_path = on", &[]).await;
    }
}

fn run(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_kind_of_key_answers_as_a_plain_one(
        written in proptest::collection::vec((-1_i64..5, -1_i64..5, 0_i64..4), 0..30),
        questions in proptest::collection::vec(asked(), 1..12),
    ) {
        run(same_answers(written, questions));
    }
}

/// Texts that begin alike for longer than a glance tells, with bytes that keys must escape.
fn text() -> impl Strategy<Value = String> {
    let tail = proptest::collection::vec(prop_oneof![Just('\u{1}'), Just('b'), Just('é')], 0..5);
    (0_usize..25, tail).prop_map(|(same, tail)| {
        let mut text = "a".repeat(same);
        text.extend(tail);
        text
    })
}

async fn same_order(texts: Vec<String>, buckets: usize) {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let session = &mut session;
    let hash = format!(" USING HASH WITH (bucket_count = {buckets})");
    for (table, hash) in [("plain", ""), ("bucketed", hash.as_str())] {
        let create = format!("CREATE TABLE {table} (t Utf8 NOT NULL, PRIMARY KEY (t){hash})");
        rows(session, &create, &[]).await;
        let upsert = format!("UPSERT INTO {table} (t) VALUES ($1)");
        for text in &texts {
            rows(session, &upsert, &[Value::Utf8(text.as_str().into())]).await;
        }
    }
    for way in ["", " DESC"] {
        for fast in ["on", "off"] {
            rows(session, &format!("SET enable_fast_path = {fast}"), &[]).await;
            let read = |table| format!("SELECT t FROM {table} WHERE t >= '' ORDER BY t{way}");
            let expected = rows(session, &read("plain"), &[]).await;
            assert_eq!(rows(session, &read("bucketed"), &[]).await, expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_number_of_buckets_merges_into_the_order_of_the_key(
        texts in proptest::collection::vec(text(), 0..60),
        buckets in 2_usize..20,
    ) {
        run(same_order(texts, buckets));
    }
}

#[test]
fn parameters_lead_to_the_place_of_a_generated_key() {
    run(async {
        let mut session = Session::new(Arc::new(Database::memory().unwrap()));
        let session = &mut session;
        let (_, create) = TABLES[2];
        rows(session, create, &[]).await;
        for a in 0..20_i64 {
            let text = "INSERT INTO hashed (a, b, c) VALUES ($1, $2, $3)";
            rows(session, text, &[a, a * 2, a * 3].map(Value::Int64)).await;
        }
        let text = "SELECT c FROM hashed WHERE a = $1 AND b = $2";
        let statement = session.parse(text).unwrap().remove(0);
        let prepared = session.prepare(statement, &[]).await.unwrap();
        for fast in ["on", "off"] {
            rows(session, &format!("SET enable_fast_path = {fast}"), &[]).await;
            for a in 0..20_i64 {
                let given = [a, a * 2].map(Value::Int64);
                let Ok(Reply::Rows(mut found)) = session.execute(&prepared, &given).await else {
                    panic!("a query answers with rows");
                };
                let found = found.next().await.unwrap().unwrap();
                assert_eq!(found, [[Value::Int64(a * 3)]]);
            }
        }
        let explained = rows(session, "EXPLAIN SELECT c FROM hashed WHERE a = 3", &[]).await;
        let text = format!("{explained:?}");
        assert!(text.contains("Partitions: 1 of 4"), "{text}");
    });
}

#[test]
fn a_merge_with_a_limit_reads_at_most_one_row_ahead_of_each_bucket() {
    run(async {
        let database = Arc::new(Database::memory().unwrap());
        let mut session = Session::new(Arc::clone(&database));
        let session = &mut session;
        rows(session, TABLES[1].1, &[]).await;
        for a in 0..400_i64 {
            let text = "INSERT INTO bucketed (a, b) VALUES ($1, 0)";
            rows(session, text, &[Value::Int64(a)]).await;
        }
        let before = rows_read(session).await;
        let text = "SELECT a FROM bucketed WHERE a >= 100 ORDER BY a LIMIT 10";
        let found = rows(session, text, &[]).await;
        let expected: Vec<Vec<Value>> = (100..110).map(|a| vec![Value::Int64(a)]).collect();
        assert_eq!(found, expected);
        let read = rows_read(session).await - before;
        // One of the five buckets stands on the last row that was asked for.
        assert!((10..=10 + 4).contains(&read), "{read} rows were read");
    });
}

/// How many rows of ranges were read of the table with buckets so far.
async fn rows_read(session: &mut Session) -> u64 {
    let text = "SELECT sum(RangeReadRows) FROM `.sys/partition_stats` WHERE Path LIKE '%bucketed'";
    let found = rows(session, text, &[]).await;
    found[0][0].to_string().parse().unwrap()
}

/// A database that outlives being closed, and does nothing by itself.
fn quiet(medium: &MemoryMedium) -> Arc<Database> {
    let medium = medium.clone();
    let open = move || -> storage::Result<Arc<dyn storage::Engine>> {
        Ok(Arc::new(MemoryEngine::open(&medium)))
    };
    let mut options = Options::new(Arc::new(SharedPlacement::new(open)));
    options.background = false;
    Arc::new(Database::open_with(options).unwrap())
}

/// More rows than one round moves.
const MOVED_ROWS: i64 = 20_000;

/// Whether rows are found, refused, changed and sorted as they should, whatever bucket they lie in.
/// `round` is a number of rows nobody else uses.
async fn works(session: &mut Session, round: i64) {
    for fast in ["on", "off"] {
        rows(session, &format!("SET enable_fast_path = {fast}"), &[]).await;
        for id in [0, 7, 9_999, MOVED_ROWS - 1] {
            let text = format!("SELECT v FROM t WHERE id = {id}");
            assert_eq!(rows(session, &text, &[]).await, [[Value::Int64(id * 2)]]);
        }
        let text = "SELECT id FROM t WHERE id >= 100 AND id < 5000 ORDER BY id LIMIT 2000";
        let found = rows(session, text, &[]).await;
        let expected: Vec<Vec<Value>> = (100..2100).map(|id| vec![Value::Int64(id)]).collect();
        assert_eq!(found, expected);
        let text = "SELECT count(*), sum(v) FROM t WHERE id >= 0";
        let sum = (MOVED_ROWS - 1) * MOVED_ROWS;
        let expected = [MOVED_ROWS, sum]
            .map(Value::Int64)
            .map(|one| one.to_string());
        let found = rows(session, text, &[]).await;
        let found: Vec<String> = found[0].iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }
    rows(session, "SET enable_fast_path = on", &[]).await;
    // A key that is there is there, wherever it lies.
    let id = 300 + round;
    let insert = format!("INSERT INTO t VALUES ({id}, 1)");
    let statement = session.parse(&insert).unwrap().remove(0);
    let prepared = session.prepare(statement, &[]).await.unwrap();
    let Err(refused) = session.execute(&prepared, &[]).await else {
        panic!("row {id} is there twice");
    };
    assert_eq!(refused.sqlstate(), "23505");
    let text = format!("INSERT INTO t VALUES ({id}, 1) ON CONFLICT (id) DO UPDATE SET v = t.v + 1");
    rows(session, &text, &[]).await;
    let text = format!("UPSERT INTO t (id, v) VALUES ({}, -1)", id + 10);
    rows(session, &text, &[]).await;
    let text = format!("REPLACE INTO t (id, v) VALUES ({}, -2)", id + 20);
    rows(session, &text, &[]).await;
    let text = format!("UPDATE t SET v = -3 WHERE id = {}", id + 30);
    rows(session, &text, &[]).await;
    let text = format!("DELETE FROM t WHERE id = {}", id + 40);
    rows(session, &text, &[]).await;
    let text = "SELECT id, v FROM t WHERE v < 0 OR v % 2 = 1 ORDER BY id";
    let found = rows(session, text, &[]).await;
    let expected = [
        [id, id * 2 + 1],
        [id + 10, -1],
        [id + 20, -2],
        [id + 30, -3],
    ];
    assert_eq!(found, expected.map(|row| row.map(Value::Int64)));
    // All as it was.
    for other in [id, id + 10, id + 20, id + 30, id + 40] {
        let text = format!("UPSERT INTO t (id, v) VALUES ({other}, {})", other * 2);
        rows(session, &text, &[]).await;
    }
}

/// What the view of moves shows.
async fn moves(session: &mut Session) -> Vec<Vec<String>> {
    let text = "SELECT Path, Buckets, RowsDone, RowsTotal FROM `.sys/bucket_moves`";
    let found = rows(session, text, &[]).await;
    let shown = |row: &Vec<Value>| row.iter().map(ToString::to_string).collect();
    found.iter().map(shown).collect()
}

#[test]
fn the_number_of_buckets_changes_while_rows_are_read_and_written() {
    run(async {
        let medium = MemoryMedium::new();
        let database = quiet(&medium);
        let mut session = Session::new(Arc::clone(&database));
        let create = "CREATE TABLE t (id Int64 NOT NULL, v Int64, PRIMARY KEY (id) USING HASH WITH (bucket_count = 4))";
        rows(&mut session, create, &[]).await;
        let table = database.table("t").unwrap();
        let row = |id: i64| [Value::Int64(id), Value::Int64(id * 2), Value::Null];
        database.load(&table, (0..MOVED_ROWS).map(row)).unwrap();
        assert!(moves(&mut session).await.is_empty());

        rows(&mut session, "ALTER TABLE t SET (bucket_count = 7)", &[]).await;
        works(&mut session, 0).await;
        let total = MOVED_ROWS.to_string();
        assert_eq!(moves(&mut session).await, [["t", "7", "0", total.as_str()]]);
        assert!(database.move_rows().unwrap() > 0);
        works(&mut session, 1).await;
        let shown = moves(&mut session).await;
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(
            !["0", total.as_str()].contains(&shown[0][2].as_str()),
            "{shown:?}"
        );

        // A crash in the middle: the rest is moved when the database is open again.
        drop((session, database));
        let database = quiet(&medium);
        let mut session = Session::new(Arc::clone(&database));
        works(&mut session, 2).await;
        // A reader from before the last move sees what it saw, and holds up the end.
        let mut old = Session::new(Arc::clone(&database));
        rows(&mut old, "BEGIN READ ONLY", &[]).await;
        rows(&mut old, "SELECT v FROM t WHERE id = 5", &[]).await;
        for _ in 0..10 {
            database.move_rows().unwrap();
        }
        works(&mut session, 3).await;
        for id in 0..50 {
            let text = format!("SELECT v FROM t WHERE id = {id}");
            assert_eq!(rows(&mut old, &text, &[]).await, [[Value::Int64(id * 2)]]);
        }
        assert_eq!(moves(&mut session).await.len(), 1);
        rows(&mut old, "COMMIT", &[]).await;
        drop(old);
        database.move_rows().unwrap();
        assert!(moves(&mut session).await.is_empty());
        works(&mut session, 4).await;
        let explained = rows(&mut session, "EXPLAIN SELECT v FROM t WHERE id = 5", &[]).await;
        assert!(
            format!("{explained:?}").contains("Point Lookup"),
            "{explained:?}"
        );
        let spread = "SELECT count(DISTINCT _bucket), max(_bucket) FROM t";
        let spread = rows(&mut session, spread, &[]).await;
        assert_eq!(spread, [[Value::Int64(7), Value::Uint32(6)]]);
    });
}

#[test]
fn moves_and_writers_of_the_same_rows_lose_nothing() {
    run(async {
        let database = quiet(&MemoryMedium::new());
        let mut session = Session::new(Arc::clone(&database));
        let session = &mut session;
        let create = "CREATE TABLE t (id Int64 NOT NULL, v Int64, PRIMARY KEY (id) USING HASH WITH (bucket_count = 2), INDEX by_v GLOBAL UNIQUE ON (v))";
        rows(session, create, &[]).await;
        for id in 0..200_i64 {
            let given = [id, id + 1000].map(Value::Int64);
            rows(session, "INSERT INTO t VALUES ($1, $2)", &given).await;
        }
        rows(session, "ALTER TABLE t SET (bucket_count = 9)", &[]).await;
        // A transaction that began before the move and writes what is moved has to try again, or the
        // move has: nobody wins twice.
        let table = database.table("t").unwrap();
        let mut open = Session::new(Arc::clone(&database));
        rows(&mut open, "BEGIN", &[]).await;
        rows(&mut open, "UPDATE t SET v = v + 10000 WHERE id < 20", &[]).await;
        database.move_rows().unwrap();
        let commit = open.parse("COMMIT").unwrap().remove(0);
        let commit = open.prepare(commit, &[]).await.unwrap();
        let committed = open.execute(&commit, &[]).await.is_ok();
        drop(open);
        while !database.table("t").unwrap().schema().writes_unseen()
            && database.move_rows().unwrap() > 0
        {}
        database.move_rows().unwrap();
        assert!(!committed, "a commit over rows that were moved under it");
        let found = rows(session, "SELECT id, v FROM t ORDER BY id", &[]).await;
        let expected: Vec<Vec<Value>> = (0..200_i64)
            .map(|id| [id, id + 1000].map(Value::Int64).to_vec())
            .collect();
        assert_eq!(found, expected);
        let by_index = rows(session, "SELECT id FROM t WHERE v = 1005", &[]).await;
        assert_eq!(by_index, [[Value::Int64(5)]]);
        assert_eq!(database.describe(&table).unwrap()[0].rows, 200);
        assert_eq!(
            database.describe_index(&table, "by_v").unwrap()[0].rows,
            200
        );
    });
}
