//! What statements that change tables leave behind: for late writers, after a reopening, and after a
//! crash at every write.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use db::{Database, Direction, Error, Options, Range, Session, Value};
use storage::{
    Engine, EngineId, Fault, FaultyEngine, KeyRange, MemoryEngine, MemoryMedium, Placement,
    SeparatePlacement, SpaceId,
};

use crate::database::{ask, opened, run};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
}

fn open_over(engine: Arc<dyn Engine>) -> Result<Arc<Database>, Error> {
    opened(move || Arc::clone(&engine), |_| {})
}

fn open(medium: &MemoryMedium) -> Arc<Database> {
    open_over(Arc::new(MemoryEngine::open(medium))).unwrap()
}

#[tokio::test]
async fn a_writer_with_the_old_schema_has_to_retry() {
    let changes = [
        "ALTER TABLE t ADD COLUMN c Int32 NOT NULL DEFAULT 5",
        "ALTER TABLE t DROP COLUMN b",
        "ALTER TABLE t ALTER COLUMN b SET NOT NULL",
        "ALTER TABLE t DROP INDEX i",
        "TRUNCATE t",
    ];
    let writes = [
        "INSERT INTO t VALUES (1, NULL)",
        "UPSERT INTO t (a) VALUES (1)",
        "REPLACE INTO t VALUES (1, 2)",
        "DELETE FROM t WHERE a = 9",
        "UPDATE t SET b = 5 WHERE a = 0; UPSERT INTO u VALUES (1)",
    ];
    let db = open(&MemoryMedium::new());
    for change in changes {
        for write in writes {
            ask(&db, "DROP TABLE IF EXISTS t, u").await.unwrap();
            let made = "CREATE TABLE t (a Int32, b Int32, INDEX i GLOBAL ON (a), PRIMARY KEY (a)); \
                        CREATE TABLE u (a Int32, PRIMARY KEY (a)); \
                        INSERT INTO t VALUES (0, 0), (9, 9)";
            ask(&db, made).await.unwrap();
            let mut late = Session::new(Arc::clone(&db));
            run(&mut late, "BEGIN").await.unwrap();
            run(&mut late, write).await.unwrap();
            ask(&db, change).await.unwrap();
            let refused = run(&mut late, "COMMIT").await.unwrap_err();
            assert_eq!(refused.sqlstate(), "40001", "{change}, {write}: {refused}");
        }
    }
}

/// The keys of the rows that have NULL in their second column.
fn nulls(db: &Database) -> Vec<Value> {
    let table = db.table("t").unwrap();
    let rows = db
        .snapshot()
        .scan(&table, &Range::all(), Direction::Ascending);
    let rows = rows.unwrap().map(Result::unwrap);
    rows.filter(|row| row[1].is_null())
        .map(|row| row[0].clone())
        .collect()
}

#[test]
fn no_row_slips_past_not_null_while_it_is_set() {
    let db = open(&MemoryMedium::new());
    let run = |text: &str| runtime().block_on(ask(&db, text));
    run("CREATE TABLE t (a Int32, b Int32, PRIMARY KEY (a))").unwrap();
    let (done, refused) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (db, done, refused) = (&db, &done, &refused);
            scope.spawn(move || {
                for n in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    let table = db.table("t").unwrap();
                    let b = if n % 50 == 0 {
                        Value::Null
                    } else {
                        Value::Int32(n)
                    };
                    let mut txn = db.begin();
                    let row = [Value::Int32(writer * 1000 + n % 100), b];
                    let written = txn.replace(&table, &row).and_then(|()| txn.commit());
                    if let Err(error) = written {
                        assert!(matches!(error.sqlstate(), "23502" | "40001"), "{error}");
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let mut strict = 0;
        for _ in 0..100_000 {
            if strict >= 5 && refused.load(Ordering::Relaxed) > 0 {
                break;
            }
            let table = db.table("t").unwrap();
            let mut txn = db.begin();
            for key in nulls(&db) {
                txn.delete(&table, &[key]).unwrap();
            }
            txn.commit().unwrap();
            match run("ALTER TABLE t ALTER COLUMN b SET NOT NULL") {
                Err(error) => assert_eq!(error.sqlstate(), "23502", "{error}"),
                Ok(_) => {
                    strict += 1;
                    assert_eq!(nulls(&db), []);
                    run("ALTER TABLE t ALTER COLUMN b DROP NOT NULL").unwrap();
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(strict >= 5);
    });
    assert!(refused.into_inner() > 0);
}

#[tokio::test]
async fn a_change_that_concerns_no_row_disturbs_no_writer() {
    let changes = [
        "ALTER TABLE t RENAME COLUMN b TO c",
        "ALTER TABLE t RENAME TO u",
        "ALTER TABLE t ALTER COLUMN b SET DEFAULT 5",
        "ALTER TABLE t SET (AUTO_PARTITIONING_BY_LOAD = DISABLED)",
    ];
    for change in changes {
        let db = open(&MemoryMedium::new());
        let made = "CREATE TABLE t (a Int32, b Int32, PRIMARY KEY (a))";
        ask(&db, made).await.unwrap();
        let mut late = Session::new(Arc::clone(&db));
        run(&mut late, "BEGIN; INSERT INTO t VALUES (1, 2)")
            .await
            .unwrap();
        ask(&db, change).await.unwrap();
        run(&mut late, "COMMIT").await.unwrap();
    }
}

#[tokio::test]
async fn what_is_known_of_tables_survives_a_reopening() {
    let medium = MemoryMedium::new();
    let db = open(&medium);
    let made = "
        CREATE TABLE t (id serial, gone text, price numeric(8, 2) DEFAULT 1.5, at Timestamp DEFAULT now(),
            INDEX by_price GLOBAL UNIQUE ON (price) COVER (at), PRIMARY KEY (id))
            WITH (AUTO_PARTITIONING_MIN_PARTITIONS_COUNT = 3, TTL = Interval('PT1H') ON at);
        CREATE TABLE keyless (a int);
        INSERT INTO t (gone) VALUES ('x');
        INSERT INTO keyless VALUES (1), (2);
        ALTER TABLE t DROP COLUMN gone, ADD COLUMN note text DEFAULT 'none';
        ALTER TABLE t RENAME TO renamed";
    ask(&db, made).await.unwrap();
    let before = db.table("renamed").unwrap();
    drop(db);

    let db = open(&medium);
    let after = db.table("renamed").unwrap();
    assert_eq!(after.schema(), before.schema());
    assert_eq!(after.schema().options().partitions_min(), 3);
    assert_eq!(after.schema().indexes().len(), 1);
    let rows = ask(&db, "SELECT id, price, note FROM renamed")
        .await
        .unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0][0], Value::Int32(1));
    assert_eq!(rows[0][2], Value::from("none"));
    ask(&db, "INSERT INTO renamed (price) VALUES (2)")
        .await
        .unwrap();
    let rows = ask(&db, "SELECT * FROM keyless ORDER BY a").await.unwrap();
    assert_eq!(rows, [[Value::Int32(1)], [Value::Int32(2)]]);
}

#[tokio::test]
async fn what_show_create_table_says_makes_the_table() {
    let db = open(&MemoryMedium::new());
    let made = [
        "CREATE TABLE t (id serial, gone int, \"Odd `name\" text DEFAULT 'it''s', at timestamptz
            NOT NULL DEFAULT now(), price numeric(8, 2) UNIQUE, n Uint32, b bytea DEFAULT 'xy',
            INDEX by_n GLOBAL UNIQUE ON (n, at) COVER (price), PRIMARY KEY (id, at))
            WITH (AUTO_PARTITIONING_BY_LOAD = DISABLED, AUTO_PARTITIONING_MIN_PARTITIONS_COUNT = 5,
            READ_REPLICAS_SETTINGS = 'ANY_AZ:2', STORE = ROW, KEY_BLOOM_FILTER = ENABLED,
            AUTO_PARTITIONING_PARTITION_SIZE_MB = 7, TTL = Interval('P1DT2H') ON n AS MILLISECONDS)",
        "CREATE TABLE t (\"Key\" Uint64 DEFAULT 5ul, d date DEFAULT Date('2020-02-03'), PRIMARY KEY (\"Key\"))",
        "CREATE TABLE t (a int, u uuid DEFAULT gen_random_uuid(), j json DEFAULT '{\"a\": 1}')
            WITH (TTL = Interval('PT5S') ON a AS SECONDS)",
    ];
    for made in made {
        ask(&db, made).await.unwrap();
        let shown = ask(&db, "SHOW CREATE TABLE t").await.unwrap();
        let before = db.table("t").unwrap();
        let [_, _, Value::Utf8(text)] = &shown[0][..] else {
            panic!("it showed {shown:?}");
        };
        ask(&db, &format!("DROP TABLE t; {text}")).await.unwrap();
        let after = db.table("t").unwrap();
        assert_eq!(after.schema().columns(), before.schema().columns());
        assert_eq!(after.schema().options(), before.schema().options());
        assert_eq!(ask(&db, "SHOW CREATE TABLE t").await.unwrap(), shown);
        ask(&db, "DROP TABLE t").await.unwrap();
    }
}

#[test]
fn a_sequence_gives_nobody_a_number_that_another_has() {
    let db = open(&MemoryMedium::new());
    let ids = Mutex::new(Vec::new());
    runtime().block_on(async {
        ask(&db, "CREATE TABLE t (id bigserial PRIMARY KEY, n int)")
            .await
            .unwrap();
    });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                runtime().block_on(async {
                    for _ in 0..50 {
                        let insert = "INSERT INTO t (n) VALUES (1), (2) RETURNING id";
                        let rows = ask(&db, insert).await.unwrap();
                        ids.lock().unwrap().extend(rows.into_iter().flatten());
                    }
                });
            });
        }
    });
    let mut ids = ids.into_inner().unwrap();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 400);
}

#[tokio::test]
async fn a_sequence_never_repeats_a_number_over_reopenings_and_crashes() {
    let medium = MemoryMedium::new();
    ask(
        &open(&medium),
        "CREATE TABLE t (id bigserial PRIMARY KEY, n int)",
    )
    .await
    .unwrap();
    let mut last = 0;
    for round in 0..20_usize {
        let db = open(&medium);
        for _ in 0..=round * 7 {
            let rows = ask(&db, "INSERT INTO t (n) VALUES (1) RETURNING id")
                .await
                .unwrap();
            let Value::Int64(id) = rows[0][0] else {
                panic!("a number is {rows:?}");
            };
            assert!(id > last, "{id} after {last}");
            last = id;
        }
        drop(db);
        medium.crash(0);
    }
}

/// What can be seen of a database: its tables, their rows, and how many spaces the engine has.
fn state(db: &Database, engine: &dyn Engine) -> String {
    let mut seen = Vec::new();
    for table in db.tables() {
        let schema = table.schema();
        let columns: Vec<_> = schema
            .columns()
            .iter()
            .map(|one| (&one.name, one.not_null))
            .collect();
        let indexes: Vec<_> = schema.indexes().iter().map(|one| &one.name).collect();
        let rows = db
            .snapshot()
            .scan(&table, &Range::all(), Direction::Ascending);
        let rows = rows.unwrap().count();
        let name = schema.name();
        seen.push(format!("{name} {columns:?} {indexes:?} {rows} rows"));
    }
    let spaces: Vec<SpaceId> = engine.spaces().unwrap();
    seen.push(format!("{} spaces", spaces.len()));
    seen.join("\n")
}

const SETUP: &str = "
    CREATE TABLE a (id serial PRIMARY KEY, x int UNIQUE, y text, INDEX by_y GLOBAL ON (y));
    CREATE TABLE b (id int, v text);
    INSERT INTO a (x) VALUES (1), (2);
    INSERT INTO b VALUES (1, 'x'), (2, 'y')";

/// Runs a statement with a fault at one of its writes and opens the database again. Says what is there
/// then, and whether the engine was broken.
async fn crash_at(statement: &str, fault: Option<Fault>) -> (String, bool) {
    let medium = MemoryMedium::new();
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::open(&medium));
    let faulty = FaultyEngine::new(Arc::clone(&engine));
    let db = open_over(Arc::new(faulty.clone())).unwrap();
    ask(&db, SETUP).await.unwrap();
    if let Some(fault) = fault {
        faulty.inject(fault);
    }
    let outcome = ask(&db, statement).await;
    faulty.clear_faults();
    let broken = faulty.is_poisoned();
    if outcome.is_err() && !broken && db.engines_down().is_empty() {
        // A statement that failed and changed nothing leaves tables that can be written.
        let mut txn = db.begin();
        let [a, b] = ["a", "b"].map(|name| db.table(name).unwrap());
        txn.delete(&a, &[Value::Int32(99)]).unwrap();
        txn.delete(&b, &[Value::Uuid([0; 16])]).unwrap();
        txn.commit().unwrap();
    }
    drop(db);
    let db = open_over(Arc::clone(&engine)).unwrap();
    (state(&db, engine.as_ref()), broken)
}

#[tokio::test]
async fn a_crash_at_any_write_leaves_all_of_a_statement_or_nothing() {
    let statements = [
        "CREATE TABLE c (id serial PRIMARY KEY, n bigserial, x int UNIQUE, INDEX i GLOBAL ON (n))",
        "ALTER TABLE a ADD COLUMN z int DEFAULT 3, DROP COLUMN y CASCADE",
        "ALTER TABLE b ADD PRIMARY KEY (id)",
        "TRUNCATE a, b",
        "DROP TABLE a",
        "CREATE SEQUENCE s OWNED BY b.v",
    ];
    let (before, _) = crash_at("SHOW timezone", None).await;
    for statement in statements {
        let (after, _) = crash_at(statement, None).await;
        assert_ne!(before, after, "{statement}");
        let mut outcomes = [0, 0];
        for nth in 1.. {
            let (broke, broken) = crash_at(statement, Some(Fault::BreakWrite { nth })).await;
            let (refused, _) = crash_at(statement, Some(Fault::RefuseWrite { nth })).await;
            for found in [broke, refused] {
                assert!(
                    found == before || found == after,
                    "{statement}, write {nth}: {found}"
                );
                outcomes[usize::from(found == after)] += 1;
            }
            if !broken {
                break;
            }
        }
        assert!(
            outcomes[0] > 0 && outcomes[1] > 2,
            "{statement}: {outcomes:?}"
        );
    }
}

/// An engine for each partition, of which the n-th to be opened from now cannot be.
#[derive(Debug)]
struct Refusing {
    inner: SeparatePlacement,
    nth: AtomicU64,
}

impl Placement for Refusing {
    fn open(&self, id: EngineId) -> storage::Result<Arc<dyn Engine>> {
        match self.nth.fetch_sub(1, Ordering::SeqCst) {
            1 => Err(storage::Error::Poisoned {
                cause: "as asked".to_owned(),
            }),
            _ => self.inner.open(id),
        }
    }

    fn assign(&self, fresh: u64) -> EngineId {
        self.inner.assign(fresh)
    }

    fn copy(
        &self,
        from: EngineId,
        to: EngineId,
        parts: &[(SpaceId, KeyRange)],
    ) -> storage::Result<()> {
        self.inner.copy(from, to, parts)
    }

    fn discard(&self, id: EngineId) -> storage::Result<()> {
        self.inner.discard(id)
    }
}

#[test]
fn a_table_that_could_not_be_made_is_not_there_after_a_reopening() {
    let make = "CREATE TABLE t (a Int32, PRIMARY KEY (a))";
    for nth in 1.. {
        let media: Arc<Mutex<BTreeMap<EngineId, MemoryMedium>>> = Arc::default();
        let placement = || {
            let media = Arc::clone(&media);
            let open = move |id| -> storage::Result<Arc<dyn Engine>> {
                let mut media = media.lock().unwrap();
                Ok(Arc::new(MemoryEngine::open(media.entry(id).or_default())))
            };
            Arc::new(Refusing {
                inner: SeparatePlacement::new(open, |_| Ok(())),
                nth: AtomicU64::new(0),
            })
        };
        let open = |placement: &Arc<Refusing>| {
            let mut options = Options::new(Arc::clone(placement) as _);
            options.background = false;
            Arc::new(Database::open_with(options).unwrap())
        };
        let refusing = placement();
        let db = open(&refusing);
        refusing.nth.store(nth, Ordering::SeqCst);
        let made = runtime().block_on(ask(&db, make));
        drop(db);
        if made.is_ok() {
            assert!(nth > 2, "no engine was refused");
            return;
        }
        let db = open(&placement());
        assert!(db.tables().is_empty(), "{nth}");
        runtime().block_on(ask(&db, make)).unwrap();
    }
}
