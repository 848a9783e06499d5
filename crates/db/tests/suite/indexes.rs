//! Indexes while others write, after a crash, and how little a read by one reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use db::{Database, Error, Kind, Session, Value};
use storage::{Engine, Fault, FaultyEngine, MemoryEngine, MemoryMedium};

use crate::database::{ask, opened, run};

const ROWS: i64 = 3000;
const WRITERS: i64 = 3;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
}

fn open_over(engine: Arc<dyn Engine>) -> Arc<Database> {
    opened(move || Arc::clone(&engine), |_| {}).unwrap()
}

async fn fill(db: &Arc<Database>) {
    let rows: Vec<_> = (0..ROWS)
        .map(|row| format!("({row}, {}, {row})", row % 50))
        .collect();
    let text = format!(
        "CREATE TABLE t (id Int64, kind Int64, n Int64, PRIMARY KEY (id)); \
         UPSERT INTO t VALUES {}",
        rows.join(",")
    );
    ask(db, &text).await.unwrap();
}

/// Writes one row after the other until it is told to stop, and whatever is refused again.
async fn write(db: Arc<Database>, writer: i64, stop: &AtomicBool) -> usize {
    let mut session = Session::new(db);
    let mut written = 0;
    while !stop.load(Ordering::Acquire) || written < 30 {
        let step = i64::try_from(written).unwrap();
        let (old, new) = ((writer + step * 37) % ROWS, ROWS + writer + step * WRITERS);
        let text = match step % 4 {
            0 => format!("INSERT INTO t VALUES ({new}, {}, {new})", new % 60),
            1 => format!("UPDATE t SET kind = kind + 1 WHERE id = {old}"),
            2 => format!("DELETE FROM t WHERE id = {old}"),
            _ => format!("UPSERT INTO t (id, kind) VALUES ({old}, {})", step % 70),
        };
        match run(&mut session, &text).await {
            Ok(_) => written += 1,
            Err(error) => assert_eq!(error.kind(), Kind::Conflict, "{error}"),
        }
    }
    written
}

/// What the index says of each kind must be what the table says.
async fn assert_agrees(db: &Arc<Database>, index: &str) {
    let all = "SELECT kind, id, n FROM t ORDER BY kind, id";
    let rows = ask(db, all).await.unwrap();
    assert!(!rows.is_empty());
    let mut by_index = Vec::new();
    for kind in 0..200 {
        let one = format!("SELECT kind, id, n FROM t VIEW {index} WHERE kind = {kind} ORDER BY id");
        by_index.extend(ask(db, &one).await.unwrap());
    }
    assert_eq!(by_index, rows);
    let table = db.table("t").unwrap();
    let parts = db.describe_index(&table, index).unwrap();
    let entries: u64 = parts.iter().map(|one| one.rows).sum();
    assert_eq!(entries, u64::try_from(rows.len()).unwrap());
}

#[test]
fn an_index_that_is_built_while_others_write_agrees_with_the_table() {
    let db = Arc::new(Database::memory().unwrap());
    runtime().block_on(fill(&db));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (db, stop) = (Arc::clone(&db), &stop);
                scope.spawn(move || runtime().block_on(write(db, writer, stop)))
            })
            .collect();
        runtime().block_on(async {
            ask(&db, "CREATE INDEX i ON t (kind)").await.unwrap();
            ask(&db, "CREATE INDEX j ON t (kind) INCLUDE (n)")
                .await
                .unwrap();
        });
        stop.store(true, Ordering::Release);
        for writer in writers {
            assert!(writer.join().unwrap() >= 30);
        }
    });
    runtime().block_on(async {
        assert_agrees(&db, "i").await;
        assert_agrees(&db, "j").await;
    });
    assert_eq!(db.building(), []);
}

#[tokio::test]
async fn a_building_that_nobody_waits_for_leaves_nothing() {
    let db = Arc::new(Database::memory().unwrap());
    fill(&db).await;
    let mut session = Session::new(Arc::clone(&db));
    let mut building = Box::pin(run(&mut session, "CREATE INDEX i ON t (kind)"));
    while db.building().is_empty() {
        assert!(poll_once(&mut building).await.is_none());
    }
    let table = db.table("t").unwrap();
    assert_eq!(table.schema().indexes().len(), 1);
    assert!(!table.schema().indexes()[0].ready);
    assert_eq!(db.building()[0].rows_total, 3000);
    let shown = "SELECT Path, IndexName, RowsDone < 3000, RowsTotal FROM `.sys/index_builds`";
    let build = [
        Value::from("t"),
        Value::from("i"),
        Value::Bool(true),
        Value::Uint64(3000),
    ];
    assert_eq!(ask(&db, shown).await.unwrap(), [build]);
    drop(building);
    assert!(ask(&db, shown).await.unwrap().is_empty());
    assert_eq!(db.table("t").unwrap().schema().indexes(), []);
    assert_eq!(db.building(), []);
}

/// Polls a future once.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test]
async fn a_snapshot_from_before_an_index_does_not_use_it() {
    let db = Arc::new(Database::memory().unwrap());
    fill(&db).await;
    let mut early = Session::new(Arc::clone(&db));
    run(&mut early, "BEGIN; SELECT 1").await.unwrap();
    ask(
        &db,
        "DELETE FROM t WHERE id = 7; CREATE INDEX i ON t (kind)",
    )
    .await
    .unwrap();
    let asked = "SELECT id FROM t WHERE kind = 7 AND id < 10";
    let seen = run(&mut early, asked).await.unwrap();
    assert_eq!(seen, [[Value::Int64(7)]]);
    let through = "SELECT id FROM t VIEW i WHERE kind = 7 AND id < 10";
    assert_eq!(run(&mut early, through).await.unwrap(), [[Value::Int64(7)]]);
    assert!(ask(&db, through).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_crash_at_any_write_of_a_building_leaves_the_index_whole_or_not_at_all() {
    let mut seen = [0, 0];
    for nth in 1.. {
        let medium = MemoryMedium::new();
        let engine = FaultyEngine::new(Arc::new(MemoryEngine::open(&medium)));
        let db = open_over(Arc::new(engine.clone()));
        fill(&db).await;
        engine.inject(Fault::BreakWrite { nth });
        let built = ask(&db, "CREATE INDEX i ON t (kind)").await.is_ok();
        drop(db);
        let db = open_over(Arc::new(MemoryEngine::open(&medium)));
        let table = db.table("t").unwrap();
        let there = !table.schema().indexes().is_empty();
        seen[usize::from(there)] += 1;
        if there {
            assert_agrees(&db, "i").await;
        } else {
            ask(&db, "CREATE UNIQUE INDEX i ON t (n)").await.unwrap();
        }
        if built {
            assert!(there);
            break;
        }
    }
    assert!(seen[0] > 3 && seen[1] > 0, "{seen:?}");
}

/// How many entries of index i and rows of its table were gone over.
fn read_so_far(db: &Database) -> [u64; 2] {
    let table = db.table("t").unwrap();
    let entries = db.describe_index(&table, "i").unwrap();
    let rows = db.describe(&table).unwrap();
    [entries, rows].map(|parts| {
        let heat = parts.iter().map(|one| one.heat);
        heat.map(|heat| heat.scanned_rows + heat.reads).sum()
    })
}

#[tokio::test]
async fn a_statement_by_an_index_reads_what_it_asks_for() {
    let db = Arc::new(Database::memory().unwrap());
    fill(&db).await;
    ask(
        &db,
        "CREATE INDEX i ON t (kind, n); CREATE INDEX j ON t (n)",
    )
    .await
    .unwrap();
    let mut session = Session::new(Arc::clone(&db));
    let mut before = read_so_far(&db);
    // Entries and rows that are read: 60 rows have each kind, and index i holds id, kind and n.
    for (text, entries, rows) in [
        ("SELECT id FROM t WHERE kind = 7", 60, 0),
        ("SELECT sum(id) FROM t WHERE kind = 7", 60, 0),
        ("SELECT sum(id) FROM t WHERE kind = 7 AND n < 107", 2, 0),
        ("SELECT max(id) FROM t WHERE kind IN (7, 8)", 120, 0),
        ("SELECT id FROM t WHERE kind = 7 AND n = 57", 1, 0),
        ("SELECT kind + 1 FROM t WHERE n = 57", 0, 1),
        ("SELECT kind FROM t VIEW j WHERE n = 57", 0, 1),
        ("SELECT count(*) FROM t VIEW i", 3000, 0),
        ("UPDATE t SET kind = 1 WHERE n = 70", 0, 1),
        ("SELECT kind FROM t WHERE id = 70 AND kind + 0 = 1", 0, 1),
    ] {
        run(&mut session, text).await.unwrap();
        let now = read_so_far(&db);
        let read = [now[0] - before[0], now[1] - before[1]];
        before = now;
        assert_eq!(read, [entries, rows], "{text}");
    }
}

#[test]
fn a_unique_index_is_built_only_if_no_value_repeats() {
    for round in 0..4 {
        let db = Arc::new(Database::memory().unwrap());
        runtime().block_on(fill(&db));
        let indexes = std::thread::scope(|scope| {
            let twin = scope.spawn(|| {
                let (id, n) = (ROWS + 1, 700 * round);
                let text = format!("INSERT INTO t VALUES ({id}, 0, {n})");
                runtime().block_on(async {
                    loop {
                        match ask(&db, &text).await {
                            Err(error) if error.kind() == Kind::Conflict => {}
                            other => break other.map(|_| ()),
                        }
                    }
                })
            });
            let built = runtime().block_on(ask(&db, "CREATE UNIQUE INDEX u ON t (n)"));
            let twin = twin.join().unwrap();
            assert_ne!(built.is_ok(), twin.is_ok(), "one of them must be refused");
            for refused in [built.err(), twin.err()].into_iter().flatten() {
                assert_eq!(refused.sqlstate(), "23505");
            }
            db.table("t").unwrap().schema().indexes().len()
        });
        let rows = runtime().block_on(ask(&db, "SELECT count(*), count(DISTINCT n) FROM t"));
        let rows = rows.unwrap();
        assert_eq!(rows[0][0] == rows[0][1], indexes == 1);
    }
}

#[tokio::test]
async fn rows_that_are_written_without_sql_have_their_entries() {
    let db = Arc::new(Database::memory().unwrap());
    fill(&db).await;
    ask(
        &db,
        "CREATE INDEX i ON t (kind); CREATE UNIQUE INDEX u ON t (n)",
    )
    .await
    .unwrap();
    let table = db.table("t").unwrap();
    let row = |id, kind, n| [id, kind, n].map(Value::Int64);
    let mut txn = db.begin();
    txn.insert(&table, &row(5000, 1, 5000)).unwrap();
    txn.replace(&table, &row(1, 150, 1)).unwrap();
    txn.delete(&table, &[Value::Int64(2)]).unwrap();
    txn.delete(&table, &[Value::Int64(-1)]).unwrap();
    txn.commit().unwrap();
    let more = [row(5001, 2, 5001), row(5002, 2, 5002)];
    db.load(&table, &more).unwrap();
    let twin = db.load(&table, [row(5003, 2, 5001)]).unwrap_err();
    assert_eq!(twin.sqlstate(), "23505");
    assert_agrees(&db, "i").await;
}

#[tokio::test]
async fn a_table_may_change_while_an_index_is_built() {
    for (change, outcome) in [
        ("TRUNCATE t", None),
        ("ALTER TABLE t ADD COLUMN c Int64 DEFAULT 5", None),
        (
            "ALTER TABLE t RENAME COLUMN n TO m; ALTER TABLE t RENAME COLUMN m TO n",
            None,
        ),
        (
            "ALTER TABLE t RENAME INDEX i TO j; ALTER TABLE t RENAME INDEX j TO i",
            None,
        ),
        ("CREATE INDEX k ON t (n)", None),
        ("DROP INDEX i", Some("42704")),
        ("DROP TABLE t", Some("42P01")),
    ] {
        let db = Arc::new(Database::memory().unwrap());
        fill(&db).await;
        let mut session = Session::new(Arc::clone(&db));
        let mut building = Box::pin(run(&mut session, "CREATE INDEX i ON t (kind)"));
        while db.building().is_empty() {
            assert!(poll_once(&mut building).await.is_none());
        }
        ask(&db, change).await.unwrap();
        let built = building.await;
        let refused = built.as_ref().err().map(Error::sqlstate);
        assert_eq!(refused, outcome, "{change}: {built:?}");
        if outcome.is_none() {
            let row = "INSERT INTO t (id, kind, n) VALUES (-1, 3, 3)";
            ask(&db, row).await.unwrap();
            assert_agrees(&db, "i").await;
        }
        assert_eq!(db.building(), []);
    }
}
