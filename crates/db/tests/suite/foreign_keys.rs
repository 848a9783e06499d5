//! Foreign keys between transactions that meet, over restarts, and from every way that rows come in.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use db::{Database, Direction, Error, Range, Session, Table, Transaction, Value};
use proptest::prelude::*;

use crate::session::run;

const TABLES: [&str; 2] = [
    "CREATE TABLE parents (id Int64 NOT NULL, n Int64, PRIMARY KEY (id))",
    "CREATE TABLE children (id Int64 NOT NULL, parent Int64 REFERENCES parents, PRIMARY KEY (id))",
];

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(work)
}

fn with_tables(database: &Arc<Database>) {
    let mut session = Session::new(Arc::clone(database));
    for text in TABLES {
        block_on(run(&mut session, text)).unwrap();
    }
}

fn memory() -> Arc<Database> {
    let database = Arc::new(Database::memory().unwrap());
    with_tables(&database);
    database
}

fn state<T: std::fmt::Debug>(outcome: Result<T, Error>) -> &'static str {
    outcome.unwrap_err().sqlstate()
}

fn row(id: i64, other: i64) -> [Value; 2] {
    [Value::Int64(id), Value::Int64(other)]
}

/// A database with parent 1, and its tables.
fn with_a_parent() -> (Arc<Database>, Arc<Table>, Arc<Table>) {
    let database = memory();
    let [parents, children] = ["parents", "children"].map(|name| database.table(name).unwrap());
    let mut setup = database.begin();
    setup.insert(&parents, &row(1, 0)).unwrap();
    setup.commit().unwrap();
    (database, parents, children)
}

fn rows(database: &Database, table: &str) -> Vec<Vec<Value>> {
    let table = database.table(table).unwrap();
    let all = database.snapshot();
    let all = all
        .scan(&table, &Range::all(), Direction::Ascending)
        .unwrap();
    all.map(Result::unwrap).collect()
}

#[test]
fn who_changes_a_parent_does_not_disturb_those_who_refer_to_it() {
    let (database, parents, children) = with_a_parent();
    let mut child = database.begin();
    child.insert(&children, &row(10, 1)).unwrap();
    let mut update = database.begin();
    update.replace(&parents, &row(1, 5)).unwrap();
    update.commit().unwrap();
    child.commit().unwrap();
}

#[test]
fn of_a_child_that_comes_and_its_parent_that_goes_one_is_refused() {
    for child_first in [true, false] {
        let (database, parents, children) = with_a_parent();
        let mut child = database.begin();
        child.insert(&children, &row(10, 1)).unwrap();
        let mut parent = database.begin();
        parent.delete(&parents, &[Value::Int64(1)]).unwrap();
        let (first, second) = match child_first {
            true => (child, parent),
            false => (parent, child),
        };
        first.commit().unwrap();
        assert_eq!(state(second.commit()), "40001", "{child_first}");
    }
}

#[test]
fn a_writer_from_before_the_foreign_key_is_refused() {
    let database = Arc::new(Database::memory().unwrap());
    let mut session = Session::new(Arc::clone(&database));
    let bare = "CREATE TABLE children (id Int64 NOT NULL, parent Int64, PRIMARY KEY (id));
                CREATE TABLE parents (id Int64 NOT NULL, n Int64, PRIMARY KEY (id));
                INSERT INTO parents VALUES (1, 0)";
    block_on(run(&mut session, bare)).unwrap();
    let [parents, children] = ["parents", "children"].map(|name| database.table(name).unwrap());

    let mut orphan = database.begin();
    orphan.insert(&children, &row(10, 2)).unwrap();
    let mut gone = database.begin();
    gone.delete(&parents, &[Value::Int64(1)]).unwrap();
    let add = "ALTER TABLE children ADD FOREIGN KEY (parent) REFERENCES parents";
    block_on(run(&mut session, add)).unwrap();
    assert_eq!(state(orphan.commit()), "40001");
    assert_eq!(state(gone.commit()), "40001");
}

#[test]
fn constraints_are_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Arc::new(Database::open(dir.path()).unwrap());
    let database = open();
    with_tables(&database);
    let mut session = Session::new(Arc::clone(&database));
    let more = "ALTER TABLE parents ADD CHECK (n >= 0 AND sqrt(n::Double) < 10);
                INSERT INTO parents VALUES (1, 0)";
    block_on(run(&mut session, more)).unwrap();
    drop((session, database));

    let database = open();
    let mut session = Session::new(Arc::clone(&database));
    let mut refused = |text: &str| state(block_on(run(&mut session, text)));
    assert_eq!(refused("INSERT INTO parents VALUES (2, -1)"), "23514");
    assert_eq!(refused("INSERT INTO parents VALUES (2, 100)"), "23514");
    assert_eq!(refused("INSERT INTO children VALUES (10, 2)"), "23503");
    block_on(run(&mut session, "INSERT INTO children VALUES (10, 1)")).unwrap();
    let mut refused = |text: &str| state(block_on(run(&mut session, text)));
    assert_eq!(refused("DELETE FROM parents"), "23503");
}

#[test]
fn rows_of_the_library_keep_constraints_too() {
    let database = memory();
    let [parents, children] = ["parents", "children"].map(|name| database.table(name).unwrap());
    let mut txn = database.begin();
    assert_eq!(state(txn.insert(&children, &row(10, 1))), "23503");
    txn.insert(&parents, &row(1, 0)).unwrap();
    let mut txn = database.begin();
    assert_eq!(state(txn.replace(&children, &row(10, 1))), "23503");
    assert_eq!(state(database.load(&children, [row(10, 1)])), "23503");
    database.load(&parents, [row(1, 0)]).unwrap();
    database.load(&children, [row(10, 1)]).unwrap();
    let mut txn = database.begin();
    assert_eq!(state(txn.delete(&parents, &[Value::Int64(1)])), "23503");
}

/// Children without a parent, as one snapshot sees them.
fn orphans(database: &Database) -> Vec<Value> {
    let [parents, children] = ["parents", "children"].map(|name| database.table(name).unwrap());
    let snapshot = database.snapshot();
    let all = |table| snapshot.scan(table, &Range::all(), Direction::Ascending);
    let known: BTreeSet<Value> = all(&parents)
        .unwrap()
        .map(|row| row.unwrap()[0].clone())
        .collect();
    let rows = all(&children).unwrap().map(Result::unwrap);
    let lost = rows.filter(|row| !known.contains(&row[1]));
    lost.map(|row| row[0].clone()).collect()
}

#[test]
fn no_orphan_slips_in_while_a_foreign_key_is_added() {
    const ROUNDS: usize = 10;
    const TRIES_MAX: usize = 1_000;
    let database = Arc::new(Database::memory().unwrap());
    let mut session = Session::new(Arc::clone(&database));
    let bare = "CREATE TABLE parents (id Int64 NOT NULL, n Int64, PRIMARY KEY (id));
                CREATE TABLE children (id Int64 NOT NULL, parent Int64, PRIMARY KEY (id))";
    block_on(run(&mut session, bare)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..3_i64 {
            let (database, stop) = (&database, &stop);
            scope.spawn(move || {
                let mut session = Session::new(Arc::clone(database));
                let mut step = 0_i64;
                while !stop.load(Ordering::Acquire) {
                    step += 1;
                    let id = (step * 7 + writer) % 5;
                    // Most of the time there is a parent, or the key could never be added.
                    let text = match (step + writer) % 8 {
                        0 => format!("DELETE FROM parents WHERE id = {id}"),
                        1..5 => format!("UPSERT INTO parents (id, n) VALUES ({id}, {step})"),
                        _ => format!("UPSERT INTO children (id, parent) VALUES ({id}, {id})"),
                    };
                    if let Err(error) = block_on(run(&mut session, &text)) {
                        let known = ["23503", "40001"].contains(&error.sqlstate());
                        assert!(known, "{error}");
                    }
                }
            });
        }
        // Also if an assertion ends this thread.
        let _ends = Ends(&stop);
        for _ in 0..ROUNDS {
            let add =
                "ALTER TABLE children ADD CONSTRAINT c FOREIGN KEY (parent) REFERENCES parents";
            // What came while there was none has to go first, and others may come meanwhile.
            let mut tries = 0;
            while let Err(error) = block_on(run(&mut session, add)) {
                assert_eq!(error.sqlstate(), "23503", "{error}");
                tries += 1;
                assert!(tries < TRIES_MAX, "orphans come faster than they go");
                // It may conflict, and then it is tried again with the rest.
                let _ = block_on(run(&mut session, "DELETE FROM children"));
            }
            for _ in 0..5 {
                assert_eq!(orphans(&database), [], "the foreign key holds");
            }
            block_on(run(&mut session, "ALTER TABLE children DROP CONSTRAINT c")).unwrap();
        }
    });
}

/// Tells threads to end when it goes.
struct Ends<'s>(&'s AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// One step of one of three transactions.
#[derive(Clone, Copy, Debug)]
enum Step {
    Child(i64, i64),
    Parent(i64),
    Orphan(i64),
    Leave(i64),
    Commit,
    Rollback,
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let step = prop_oneof![
        4 => (0_i64..4, 0_i64..3).prop_map(|(id, parent)| Step::Child(id, parent)),
        3 => (0_i64..3).prop_map(Step::Parent),
        2 => (0_i64..3).prop_map(Step::Orphan),
        1 => (0_i64..4).prop_map(Step::Leave),
        3 => Just(Step::Commit),
        1 => Just(Step::Rollback),
    ];
    (0_usize..3, step)
}

/// Lets a transaction take a step; answers whether it goes on.
fn take(
    open: Option<Transaction>,
    step: Step,
    (database, parents, children): (&Database, &Arc<Table>, &Arc<Table>),
) -> Option<Transaction> {
    let mut txn = open.unwrap_or_else(|| database.begin());
    let outcome = match step {
        Step::Child(id, parent) => txn.replace(children, &row(id, parent)),
        Step::Parent(id) => txn.replace(parents, &row(id, 1)),
        Step::Orphan(id) => txn.delete(parents, &[Value::Int64(id)]),
        Step::Leave(id) => txn.delete(children, &[Value::Int64(id)]),
        Step::Commit => {
            if let Err(error) = txn.commit() {
                assert_eq!(error.sqlstate(), "40001", "{error}");
            }
            return None;
        }
        Step::Rollback => return None,
    };
    match outcome {
        Ok(()) => Some(txn),
        Err(error) => {
            assert_eq!(error.sqlstate(), "23503", "{error}");
            None
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_child_is_ever_without_its_parent(steps in prop::collection::vec(step(), 1..60)) {
        // One for all cases: to open and close one takes longer than a case does.
        static DATABASE: LazyLock<Arc<Database>> = LazyLock::new(memory);
        let database = &*DATABASE;
        let [parents, children] = ["parents", "children"].map(|name| database.table(name).unwrap());
        let mut empty = database.begin();
        for (name, table) in [("children", &children), ("parents", &parents)] {
            for row in rows(database, name) {
                empty.delete(table, &row[..1]).unwrap();
            }
        }
        empty.commit().unwrap();
        let mut open: [Option<Transaction>; 3] = [None, None, None];
        for (who, step) in steps {
            open[who] = take(open[who].take(), step, (database, &parents, &children));
            let known: BTreeSet<Value> = rows(database, "parents")
                .into_iter()
                .map(|row| row[0].clone())
                .collect();
            for child in rows(database, "children") {
                prop_assert!(known.contains(&child[1]), "{child:?} after {step:?}");
            }
        }
    }
}
