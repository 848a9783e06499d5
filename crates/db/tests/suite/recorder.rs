//! What the recorder keeps of the transactions of sessions.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use advisor::trace::{Kind, Op, Table, Trace};
use db::{Copy, Database, Options, Reply, Session, Value};
use storage::env::{Clock, SeededRandom};
use storage::{MemoryEngine, MemoryMedium, SharedPlacement};

/// Time that goes on when it is told to.
#[derive(Debug, Default)]
struct Told(AtomicU64);

impl Clock for Told {
    fn now_us(&self) -> u64 {
        1_700_000_000_000_000 + self.0.load(Ordering::Relaxed)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

fn database(clock: &Arc<Told>) -> Arc<Database> {
    opened(clock, &Arc::default(), None)
}

fn opened(clock: &Arc<Told>, medium: &Arc<MemoryMedium>, trace: Option<PathBuf>) -> Arc<Database> {
    let medium = Arc::clone(medium);
    let open = move || -> storage::Result<Arc<dyn storage::Engine>> {
        Ok(Arc::new(MemoryEngine::open(&medium)))
    };
    let mut options = Options::new(Arc::new(SharedPlacement::new(open)));
    options.clock = Arc::clone(clock) as Arc<dyn Clock>;
    options.random = Arc::new(SeededRandom::new(7));
    options.background = false;
    options.trace = trace;
    Arc::new(Database::open_with(options).unwrap())
}

async fn run(session: &mut Session, text: &str, parameters: &[Value]) {
    let kinds: Vec<_> = parameters.iter().map(Value::value_type).collect();
    for statement in session.parse(text).unwrap() {
        let prepared = session.prepare(statement, &kinds).await.unwrap();
        if let Some(rows) = session.read_at_once(&prepared, parameters) {
            let mut rows = rows.unwrap();
            while let Some(batch) = rows.next().await {
                batch.unwrap();
            }
            continue;
        }
        match session.execute(&prepared, parameters).await.unwrap() {
            Reply::Done { .. } => {}
            Reply::Rows(mut rows) => {
                while let Some(batch) = rows.next().await {
                    batch.unwrap();
                }
            }
        }
    }
}

fn exported(database: &Database) -> Trace {
    let mut text = Vec::new();
    database.export_trace(&mut text).unwrap();
    let trace = Trace::read(text.as_slice()).unwrap();
    assert_eq!(trace.flaws, Default::default());
    trace
}

fn table<'t>(trace: &'t Trace, op: &Op) -> (&'t Table, Kind, &'t str) {
    let statement = trace.statements.iter().find(|one| one.id == op.statement);
    let statement = statement.unwrap();
    let table = trace.tables.iter().find(|one| one.id == statement.table);
    (table.unwrap(), statement.kind, &statement.text)
}

/// An op as a person would write it down.
fn told(trace: &Trace, op: &Op) -> String {
    let (table, kind, _) = table(trace, op);
    let name = |column: u16| table.columns[usize::from(column)].name.as_str();
    let mut told = format!("{} {}", kind.name(), table.name);
    for (column, values) in &op.eq {
        let values: Vec<_> = values.iter().map(Value::to_string).collect();
        told += &format!(" {}={}", name(*column), values.join("|"));
    }
    for (sign, bounds) in [(">=", &op.low), ("<=", &op.high)] {
        for (column, value) in bounds {
            told += &format!(" {}{sign}{value}", name(*column));
        }
    }
    for order in &op.order {
        let down = if order.descending { " desc" } else { "" };
        told += &format!(" by {}{down}", name(order.column));
    }
    told += &op
        .limit
        .map_or(String::new(), |limit| format!(" limit {limit}"));
    for row in &op.rows {
        let values = row
            .iter()
            .map(|(column, value)| format!("{}:{value}", name(*column)));
        told += &format!(" ({})", values.collect::<Vec<_>>().join(" "));
    }
    told += &op
        .found
        .map_or(String::new(), |found| format!(" found {found}"));
    told + &op
        .rows_read
        .map_or(String::new(), |rows| format!(" of {rows}"))
}

fn all_told(trace: &Trace) -> Vec<String> {
    let ops = |txn: &advisor::trace::Txn| {
        let ops: Vec<_> = txn.ops.iter().map(|op| told(trace, op)).collect();
        format!("{} × {}", txn.weight, ops.join("; "))
    };
    trace.txns.iter().map(ops).collect()
}

const CREATE: &str = "CREATE TABLE events (ts Int64 NOT NULL, userid Uint64 NOT NULL, city Utf8, \
                      score Double, PRIMARY KEY (ts, userid))";

#[tokio::test]
async fn statements_are_kept_with_what_they_bind_and_the_rows_they_touch() {
    let clock = Arc::new(Told::default());
    let database = database(&clock);
    let mut session = Session::new(Arc::clone(&database));
    run(&mut session, CREATE, &[]).await;
    let insert = "INSERT INTO events (ts, userid, city, score) VALUES ($1, $2, 'Oslo', 0.5)";
    run(&mut session, insert, &[Value::Int64(10), Value::Uint64(7)]).await;
    let two = "INSERT INTO events (userid, ts) VALUES (8, 20), (9, 30)";
    run(&mut session, two, &[]).await;
    let by_key = "SELECT city FROM events WHERE ts = $1 AND userid = $2";
    run(&mut session, by_key, &[Value::Int64(10), Value::Uint64(7)]).await;
    let planned = "SELECT ts, city FROM events WHERE userid = $1 ORDER BY ts DESC LIMIT 5";
    run(&mut session, planned, &[Value::Uint64(7)]).await;
    let update = "UPDATE events SET score = 1.0 WHERE ts BETWEEN 5 AND 25";
    run(&mut session, update, &[]).await;
    let whole = "BEGIN; DELETE FROM events WHERE ts = 20 AND userid = 8; \
                 SELECT count(*) FROM events WHERE userid IN (7, 9); COMMIT";
    run(&mut session, whole, &[]).await;
    // What is taken back, or touches no rows, is not there.
    let undone = "BEGIN; DELETE FROM events; ROLLBACK; SELECT 1; SHOW timezone";
    run(&mut session, undone, &[]).await;

    let trace = exported(&database);
    let expected = [
        "1 × insert events (ts:10 userid:7 city:Oslo)",
        "1 × insert events (ts:20 userid:8 city:NULL) (ts:30 userid:9 city:NULL)",
        "1 × read events ts=10 userid=7 (city:Oslo) of 1",
        "1 × read events userid=7 by ts desc limit 5 (ts:10 city:Oslo) of 3",
        "1 × update events ts>=5 ts<=25 (ts:10 userid:7 city:Oslo) (ts:20 userid:8 city:NULL)",
        "1 × delete events ts=20 userid=8 (ts:20 userid:8 city:NULL); read events userid=7|9 of 3",
    ];
    assert_eq!(all_told(&trace), expected);
    let events = trace.table("events").unwrap();
    assert_eq!((events.rows, events.partitions), (2, 1));
    assert_eq!(events.key, ["ts", "userid"]);
    assert_eq!(trace.header.transactions_kept, 6);
}

#[tokio::test]
async fn what_execute_and_cursors_do_is_kept_too() {
    let clock = Arc::new(Told::default());
    let database = database(&clock);
    let mut session = Session::new(Arc::clone(&database));
    run(&mut session, CREATE, &[]).await;
    let prepare = "PREPARE put AS INSERT INTO events (ts, userid, city) VALUES ($1, $2, $3); \
                   PREPARE of_user AS SELECT ts FROM events WHERE userid = $1; \
                   PREPARE zone AS SELECT 1";
    run(&mut session, prepare, &[]).await;
    run(&mut session, "EXECUTE put (1, 7, 'Oslo')", &[]).await;
    // Others of its kind have no turn so soon, and what has no rows is none.
    run(
        &mut session,
        "EXECUTE put (2, 7, 'Oslo'); EXECUTE zone",
        &[],
    )
    .await;
    run(&mut session, "EXECUTE of_user (7)", &[]).await;
    let failing = "EXECUTE of_user ('x')";
    clock.0.fetch_add(1_000_000, Ordering::Relaxed);
    let failing = session.parse(failing).unwrap().remove(0);
    let failing = session.prepare(failing, &[]).await.unwrap();
    assert!(session.execute(&failing, &[]).await.is_err());
    let whole = "BEGIN; EXECUTE put (3, 8, NULL); \
                 DECLARE c CURSOR FOR SELECT ts, city FROM events WHERE userid = 7 ORDER BY ts; \
                 FETCH 1 FROM c; MOVE 1 FROM c; FETCH 5 FROM c; \
                 DECLARE s SCROLL CURSOR FOR SELECT userid FROM events WHERE ts >= 2; \
                 FETCH LAST FROM s; COMMIT";
    run(&mut session, whole, &[]).await;
    let held = "DECLARE h CURSOR WITH HOLD FOR SELECT userid FROM events WHERE ts = 3; CLOSE h";
    run(&mut session, held, &[]).await;
    // What is taken back is not there, whoever ran it.
    let undone = "BEGIN; EXECUTE put (9, 9, NULL); ROLLBACK";
    run(&mut session, undone, &[]).await;

    let trace = exported(&database);
    let expected = [
        "1 × insert events (ts:1 userid:7 city:Oslo)",
        "1 × read events userid=7 (ts:1) (ts:2) of 2",
        "2 × insert events (ts:3 userid:8 city:NULL); \
         read events userid=7 by ts (ts:1 city:Oslo); \
         read events ts>=2 (userid:7) (userid:8)",
        "1 × read events ts=3 (userid:8)",
    ];
    assert_eq!(all_told(&trace), expected);
    let texts: Vec<_> = trace.txns[2]
        .ops
        .iter()
        .map(|op| table(&trace, op).2)
        .collect();
    assert!(texts[0].starts_with("INSERT INTO events"), "{texts:?}");
    assert!(texts[1].starts_with("DECLARE"), "{texts:?}");
}

#[tokio::test]
async fn a_transaction_stands_for_those_that_had_no_turn() {
    let clock = Arc::new(Told::default());
    let database = database(&clock);
    let mut session = Session::new(Arc::clone(&database));
    run(&mut session, CREATE, &[]).await;
    let often = "SELECT city FROM events WHERE ts = $1 AND userid = 7";
    let seldom = "SELECT count(*) FROM events WHERE city = 'Oslo'";
    for number in 0..10_000_i64 {
        clock.0.fetch_add(100, Ordering::Relaxed);
        run(&mut session, often, &[Value::Int64(number)]).await;
        if number % 2_500 == 17 {
            run(&mut session, seldom, &[]).await;
        }
        if number % 5_000 == 0 {
            database.write_trace();
        }
    }
    let trace = exported(&database);
    let of = |text: &str| {
        let ops = trace.txns.iter().filter(|txn| {
            let [op] = txn.ops.as_slice() else {
                panic!("{txn:?}");
            };
            table(&trace, op).2.contains(text)
        });
        let weights: Vec<f64> = ops.map(|txn| txn.weight).collect();
        (weights.len(), weights.iter().sum::<f64>())
    };
    // A second of one statement has about twenty turns; the other was always alone.
    let (turns, stood) = of("userid");
    assert!((15..=25).contains(&turns), "{turns}");
    assert!((9_000.0..=10_000.0).contains(&stood), "{stood}");
    assert_eq!(of("count"), (4, 4.0));
    let ended = trace.header.to_us - trace.header.from_us;
    assert!(trace.txns.iter().all(|txn| txn.at_us <= ended));
}

#[tokio::test]
async fn copies_are_kept_with_some_of_their_rows_and_tables_as_they_are_now() {
    let clock = Arc::new(Told::default());
    let database = database(&clock);
    let mut session = Session::new(Arc::clone(&database));
    run(&mut session, CREATE, &[]).await;
    let copy = "COPY events (userid, ts) FROM STDIN";
    let statement = session.parse(copy).unwrap().remove(0);
    let prepared = session.prepare(statement, &[]).await.unwrap();
    let Some(Copy::In(mut rows, _)) = session.copy(&prepared).await.unwrap() else {
        panic!("rows come in");
    };
    for number in 0..1_000_u64 {
        let ts = i64::try_from(number).unwrap();
        let mut row = vec![Value::Uint64(number % 10), Value::Int64(ts)];
        rows.write(&mut row).unwrap();
    }
    assert_eq!(session.finish_copy(rows).await.unwrap(), 1_000);
    let trace = exported(&database);
    let [txn] = trace.txns.as_slice() else {
        panic!("{:?}", trace.txns);
    };
    let [op] = txn.ops.as_slice() else {
        panic!("{txn:?}");
    };
    assert_eq!(table(&trace, op).1, Kind::Insert);
    assert_eq!((op.found, op.rows.len()), (Some(1_000), 32));
    assert_eq!(op.rows[0], [(0, Value::Int64(0)), (1, Value::Uint64(0))]);

    // A column goes and another comes: what was said of the others is still there.
    let alter = "ALTER TABLE events DROP COLUMN city, ADD COLUMN town Utf8";
    run(&mut session, alter, &[]).await;
    run(
        &mut session,
        "UPSERT INTO events (ts, userid, town) VALUES (1, 1, 'Bergen')",
        &[],
    )
    .await;
    let trace = exported(&database);
    let told = all_told(&trace);
    assert_eq!(told[1], "1 × upsert events (ts:1 userid:1 town:Bergen)");
    assert_eq!(trace.txns[0].ops[0].rows.len(), 32);
    assert_eq!(trace.tables.len(), 1);

    run(&mut session, "ALTER SYSTEM SET record = off", &[]).await;
    database.write_trace();
    run(&mut session, "DELETE FROM events", &[]).await;
    assert_eq!(exported(&database).txns.len(), 2);
}

/// The rows that a statement answers with.
#[tokio::test]
async fn what_partitions_spent_is_kept_over_splits_and_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(Told::default());
    let medium = Arc::default();
    let insert = "INSERT INTO t (id) VALUES ($1)";
    let mut wanted = 0;
    for start in 0..2 {
        let database = opened(&clock, &medium, Some(folder.path().join("trace")));
        let mut session = Session::new(Arc::clone(&database));
        if start == 0 {
            run(&mut session, "CREATE TABLE t (id Int64 PRIMARY KEY)", &[]).await;
        }
        for number in 0..20 {
            clock.0.fetch_add(1_000_000, Ordering::Relaxed);
            run(&mut session, insert, &[Value::Int64(100 * start + number)]).await;
            database.write_trace();
            wanted += 1;
            if number == 9 {
                let split = format!("ALTER TABLE t SPLIT AT ({})", 100 * start + 5);
                run(&mut session, &split, &[]).await;
            }
        }
        let trace = exported(&database);
        let spent = trace.tables[0].spent.unwrap();
        assert_eq!((spent.writes, spent.gets), (wanted, wanted));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_ends_the_reading_and_what_was_read_is_counted_at_once() {
    // One stream of rows, and two of which the first rows of each are enough.
    for count in [10_000, 40_000] {
        let clock = Arc::new(Told::default());
        let database = database(&clock);
        let mut session = Session::new(Arc::clone(&database));
        let create = "CREATE TABLE t (id Int64 PRIMARY KEY, v Int64)";
        run(&mut session, create, &[]).await;
        let fill =
            format!("INSERT INTO t SELECT i, i % 10 FROM generate_series(1, {count}) AS s (i)");
        run(&mut session, &fill, &[]).await;
        let read = "SELECT id FROM t WHERE v = $1 ORDER BY id DESC LIMIT 10";
        for v in 0..20 {
            clock.0.fetch_add(1_000_000, Ordering::Relaxed);
            run(&mut session, read, &[Value::Int64(v % 10)]).await;
            database.write_trace();
        }
        let trace = exported(&database);
        let reads = trace.txns.iter().flat_map(|txn| &txn.ops);
        let reads: Vec<_> = reads.filter(|op| op.limit == Some(10)).collect();
        assert_eq!(reads.len(), 20);
        for op in reads {
            // The tenth lies in the first hundred; rows are read by the batch.
            let rows = op.rows_read.unwrap();
            assert!((100..2_000).contains(&rows), "{rows} of {count}");
        }
    }
}

async fn rows(session: &mut Session, text: &str) -> Result<Vec<Vec<Value>>, db::Error> {
    let statement = session.parse(text)?.remove(0);
    let prepared = session.prepare(statement, &[]).await?;
    let Reply::Rows(mut rows) = session.execute(&prepared, &[]).await? else {
        panic!("{text} answers with rows");
    };
    let mut all = Vec::new();
    while let Some(batch) = rows.next().await {
        all.extend(batch?);
    }
    Ok(all)
}

/// Events are written in the order of time and read by user: the key is the wrong way round.
async fn use_events(session: &mut Session, database: &Database, clock: &Told) {
    let insert = "INSERT INTO events (ts, userid) VALUES ($1, $2)";
    let read = "SELECT ts FROM events WHERE userid = $1 ORDER BY ts DESC LIMIT 10";
    for number in 0..600_u64 {
        clock.0.fetch_add(100_000, Ordering::Relaxed);
        let ts = Value::Int64(i64::try_from(number).unwrap());
        let user = Value::Uint64(number.wrapping_mul(0x9e37_79b9) % 100);
        run(session, insert, &[ts, user.clone()]).await;
        if number % 4 == 0 {
            run(session, read, &[user]).await;
        }
        if number % 10 == 0 {
            database.write_trace();
        }
    }
}

#[tokio::test]
async fn advice_comes_from_what_was_recorded_and_is_kept() {
    let clock = Arc::new(Told::default());
    let database = database(&clock);
    let mut session = Session::new(Arc::clone(&database));
    run(&mut session, CREATE, &[]).await;
    let advise = "ADVISE TABLE events";
    let few = rows(&mut session, advise).await.unwrap_err();
    assert_eq!(few.sqlstate(), "55000");
    assert!(few.to_string().contains("0 recorded transactions"), "{few}");
    let nothing = rows(&mut session, "ADVISE TABLE nothing")
        .await
        .unwrap_err();
    assert_eq!(nothing.sqlstate(), "42P01");

    use_events(&mut session, &database, &clock).await;
    let advice = rows(&mut session, advise).await.unwrap();
    let (key, current, best) = (1, 2, 3);
    let is = |row: &[Value], place: usize| row[place] == Value::Bool(true);
    let now = advice.iter().find(|row| is(row, current)).unwrap();
    assert_eq!(now[key].to_string(), "(ts, userid)");
    let better = |row: &&Vec<Value>| is(row, best) && !is(row, current);
    let first = advice.iter().find(better).unwrap();
    assert!(first[key].to_string().contains("userid"), "{first:?}");
    let statements = first.last().unwrap().to_string();
    assert!(statements.starts_with("CREATE TABLE"), "{statements}");
    let kept = "SELECT Key FROM sys.advice WHERE Path = 'events' ORDER BY Rank";
    let kept = rows(&mut session, kept).await.unwrap();
    let keys: Vec<_> = advice.iter().map(|row| row[key].clone()).collect();
    assert_eq!(kept.concat(), keys);
}

#[tokio::test]
async fn every_advised_key_is_found_when_somebody_follows_it() {
    let clock = Arc::new(Told::default());
    let database = database(&clock);
    let mut session = Session::new(Arc::clone(&database));
    run(&mut session, CREATE, &[]).await;
    use_events(&mut session, &database, &clock).await;
    let advice = "SELECT Key, Statements FROM sys.advice WHERE Statements IS NOT NULL";
    rows(&mut session, "ADVISE TABLE events").await.unwrap();
    let keys = rows(&mut session, advice).await.unwrap();
    let followed = "SELECT Key FROM sys.advice WHERE AppliedTime IS NOT NULL";
    for row in &keys {
        let before = rows(&mut session, followed).await.unwrap().concat();
        run(&mut session, &row[1].to_string(), &[]).await;
        let after = rows(&mut session, followed).await.unwrap().concat();
        let new: Vec<_> = after.iter().filter(|key| !before.contains(key)).collect();
        assert_eq!(new, [&row[0]], "{}", row[1]);
    }
    assert!(keys.iter().any(|row| row[0] == Value::from("(random id)")));
}

/// Rows of places are written and read, by key and by index, each statement a transaction.
async fn use_places(session: &mut Session, database: &Database, clock: &Told) {
    let mixed = |number: u64| number.wrapping_mul(0x9e37_79b9) % 400;
    for number in 0..120_u64 {
        let id = Value::Uint64(mixed(number));
        let city = Value::Utf8(format!("city {number}").as_str().into());
        let other = Value::Utf8(format!("town {number}").as_str().into());
        let id_only = std::slice::from_ref(&id);
        let statements: [(&str, &[Value]); 6] = [
            (
                "UPSERT INTO places (id, city, score) VALUES ($1, $2, 0)",
                &[id.clone(), city.clone()],
            ),
            ("SELECT score FROM places WHERE id = $1", id_only),
            (
                "SELECT score FROM places WHERE city = $1",
                std::slice::from_ref(&city),
            ),
            (
                "SELECT id FROM places WHERE city = $1",
                std::slice::from_ref(&city),
            ),
            ("UPDATE places SET score = 1 WHERE id = $1", id_only),
            (
                "UPDATE places SET city = $2 WHERE id = $1",
                &[id.clone(), other],
            ),
        ];
        for (text, parameters) in statements {
            run(session, text, parameters).await;
        }
        clock.0.fetch_add(200_000, Ordering::Relaxed);
        database.write_trace();
    }
}

/// What the database has counted of these statements: text, calls, partitions of one, and the share of
/// those that touched one partition.
async fn counted(session: &mut Session) -> Vec<(String, f64, f64, f64)> {
    let stats = "SELECT Text, Calls, MeanPartitions, SinglePartitionShare FROM sys.statement_stats \
                 WHERE Text LIKE '%places%' AND MeanPartitions IS NOT NULL";
    let counted = rows(session, stats).await.unwrap();
    let number = |value: &Value| value.to_string().parse::<f64>().unwrap();
    counted
        .iter()
        .map(|row| {
            let [calls, partitions, single] = [1, 2, 3].map(|at| number(&row[at]));
            (row[0].to_string(), calls, partitions, single)
        })
        .collect()
}

#[tokio::test]
async fn what_indexes_add_is_predicted_as_the_database_counts_it() {
    let clock = Arc::new(Told::default());
    let database = database(&clock);
    let mut session = Session::new(Arc::clone(&database));
    let create = "CREATE TABLE places (id Uint64 NOT NULL, city Utf8, score Int64, \
                  INDEX by_city GLOBAL ON (city), PRIMARY KEY (id)) \
                  WITH (PARTITION_AT_KEYS = (100, 200, 300))";
    run(&mut session, create, &[]).await;
    use_places(&mut session, &database, &clock).await;
    let counted = counted(&mut session).await;
    assert_eq!(counted.len(), 6, "{counted:?}");
    let calls: f64 = counted.iter().map(|(_, calls, ..)| calls).sum();
    let single: f64 = counted
        .iter()
        .map(|(_, calls, _, single)| calls * single)
        .sum();
    let single = single / calls;

    let trace = exported(&database);
    let [index] = trace.table("places").unwrap().indexes.as_slice() else {
        panic!("{:?}", trace.tables);
    };
    assert_eq!(
        (index.name.as_str(), index.columns.as_slice()),
        ("by_city", &["city".to_owned()][..])
    );
    let advice = advisor::advise(&trace, "places", &advisor::Options::default()).unwrap();
    let now = advice.current().unwrap();
    assert!(
        (now.figures.single - single).abs() < 0.02,
        "{} {single}",
        now.figures.single
    );
    let mut reads = 0;
    for (statement, predicted) in advice.statements.iter().zip(&now.figures.statements) {
        let Some(predicted) = predicted else { continue };
        let real = counted.iter().find(|(text, ..)| *text == statement.text);
        let (_, _, partitions, _) = real.unwrap_or_else(|| panic!("{statement:?} in {counted:?}"));
        assert!(
            (predicted.partitions - partitions).abs() < 0.05,
            "{}: {} and {partitions}",
            statement.text,
            predicted.partitions
        );
        reads += 1;
    }
    assert_eq!(reads, 3);
    // Whoever moves the table takes the index along.
    let other = advice.keys.iter().find(|one| !one.is_current).unwrap();
    assert_eq!(
        other.ddl.migrate.last().unwrap(),
        "CREATE INDEX by_city ON places (city);"
    );
}
