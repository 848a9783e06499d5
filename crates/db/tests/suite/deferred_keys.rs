//! Deferrable foreign keys beside a model: savepoints, SET CONSTRAINTS and rows in any order, then COMMIT.

use std::collections::BTreeSet;
use std::sync::Arc;

use db::{Database, Error, Session};
use proptest::prelude::*;

use crate::session::run;

fn state<T: std::fmt::Debug>(outcome: Result<T, Error>) -> &'static str {
    outcome.unwrap_err().sqlstate()
}

/// A statement about one deferrable foreign key.
#[derive(Clone, Copy, Debug)]
enum Step {
    Parent { id: i64, there: bool },
    Child { id: i64, there: bool },
    Defer(bool),
    Savepoint,
    RollbackTo(usize),
    Release(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..3_i64, any::<bool>()).prop_map(|(id, there)| Step::Parent { id, there }),
        3 => (0..3_i64, any::<bool>()).prop_map(|(id, there)| Step::Child { id, there }),
        2 => any::<bool>().prop_map(Step::Defer),
        2 => Just(Step::Savepoint),
        2 => (0..3_usize).prop_map(Step::RollbackTo),
        1 => (0..3_usize).prop_map(Step::Release),
    ]
}

/// The rows of both tables by number, child `n` referring to parent `n`, and whether the key is deferred.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rows {
    parents: BTreeSet<i64>,
    children: BTreeSet<i64>,
    deferred: bool,
}

impl Rows {
    fn has_orphan(&self) -> bool {
        !self.children.is_subset(&self.parents)
    }

    /// What a step makes of it, besides savepoints; nothing if it is refused.
    fn after(&self, step: Step) -> Option<Self> {
        let mut rows = self.clone();
        let set = |rows: &mut BTreeSet<i64>, id, there| match there {
            true => rows.insert(id),
            false => rows.remove(&id),
        };
        match step {
            Step::Parent { id, there } => _ = set(&mut rows.parents, id, there),
            Step::Child { id, there } => _ = set(&mut rows.children, id, there),
            Step::Defer(deferred) => rows.deferred = deferred,
            Step::Savepoint | Step::RollbackTo(_) | Step::Release(_) => {}
        }
        (rows.deferred || !rows.has_orphan()).then_some(rows)
    }
}

fn text(step: Step) -> String {
    let change = |table: &str, id: i64, there: bool| match (there, table) {
        (true, "children") => format!("UPSERT INTO children VALUES ({id}, {id})"),
        (true, _) => format!("UPSERT INTO {table} VALUES ({id})"),
        (false, _) => format!("DELETE FROM {table} WHERE id = {id}"),
    };
    match step {
        Step::Parent { id, there } => change("parents", id, there),
        Step::Child { id, there } => change("children", id, there),
        Step::Defer(true) => "SET CONSTRAINTS ALL DEFERRED".to_owned(),
        Step::Defer(false) => "SET CONSTRAINTS ALL IMMEDIATE".to_owned(),
        Step::Savepoint => "SAVEPOINT s".to_owned(),
        Step::RollbackTo(_) => "ROLLBACK TO s".to_owned(),
        Step::Release(_) => "RELEASE s".to_owned(),
    }
}

/// Runs the steps as one transaction beside the model. Savepoints are named by how many there are.
async fn compare(steps: &[Step]) {
    let database = Arc::new(Database::memory().unwrap());
    let mut session = Session::new(Arc::clone(&database));
    for text in [
        "CREATE TABLE parents (id Int64 NOT NULL, PRIMARY KEY (id))",
        "CREATE TABLE children (id Int64 NOT NULL, parent Int64 REFERENCES parents
            DEFERRABLE INITIALLY DEFERRED, PRIMARY KEY (id))",
        "BEGIN",
    ] {
        run(&mut session, text).await.unwrap();
    }
    let mut savepoints: Vec<Rows> = Vec::new();
    let mut rows = Rows {
        deferred: true,
        ..Rows::default()
    };
    for step in steps {
        let mut name = savepoints.len();
        if let Step::RollbackTo(back) | Step::Release(back) = step {
            let Some(found) = savepoints.len().checked_sub(back + 1) else {
                continue;
            };
            name = found;
        }
        let words = text(*step).replace(" s", &format!(" s{name}"));
        let refused = match step {
            Step::Savepoint => {
                savepoints.push(rows.clone());
                false
            }
            Step::RollbackTo(_) => {
                rows = savepoints[name].clone();
                savepoints.truncate(name + 1);
                false
            }
            Step::Release(_) => {
                savepoints.truncate(name);
                false
            }
            _ => match rows.after(*step) {
                Some(after) => {
                    rows = after;
                    false
                }
                None => true,
            },
        };
        let outcome = run(&mut session, &words).await;
        assert_eq!(outcome.is_err(), refused, "{words}: {outcome:?}");
        if refused {
            assert_eq!(state(outcome), "23503", "{words}");
            let Some(last) = savepoints.last() else {
                return;
            };
            rows = last.clone();
            let back = format!("ROLLBACK TO s{}", savepoints.len() - 1);
            run(&mut session, &back).await.unwrap();
        }
    }
    let committed = run(&mut session, "COMMIT").await;
    assert_eq!(committed.is_err(), rows.has_orphan(), "{committed:?}");
    if committed.is_err() {
        assert_eq!(state(committed), "23503");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_deferred_key_holds_at_the_commit_whatever_savepoints_took_back(
        steps in proptest::collection::vec(step(), 1..14)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(compare(&steps));
    }
}
