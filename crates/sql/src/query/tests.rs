//! Claims about plans: that they are kept, that they read what they should, that streams share a scan.

use std::sync::Arc;

use keys::{Type, Value};
use storage::env::{SystemClock, SystemRandom};
use storage::{MemoryEngine, MemoryMedium, SharedPlacement};
use syntax::{Kind, ast};
use txn::Store;

use super::{PlanNode, PlannedQuery, Queries, Wanted};
use crate::access::AccessKind;
use crate::scalar::Given;
use crate::{Catalog, Column, Schema, Table};

struct Fixture {
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    queries: Queries,
    table: Arc<Table>,
}

impl Fixture {
    /// A table `t (a, b, v)` sorted by (a, b), cut at a = 50.
    fn new() -> Self {
        let medium = MemoryMedium::new();
        let open = move || -> storage::Result<Arc<dyn storage::Engine>> {
            Ok(Arc::new(MemoryEngine::open(&medium)))
        };
        let placement = Arc::new(SharedPlacement::new(open));
        let clock = Arc::new(SystemClock::new());
        let options = txn::Options::new(placement, clock, Arc::new(SystemRandom::new()));
        let store = Store::open(options).unwrap();
        let catalog = Arc::new(Catalog::load(&store).unwrap());
        let columns = ["a", "b", "v"].map(|name| Column::new(name, Type::Int64));
        let schema = Schema::new("t", columns.to_vec(), &["a", "b"]).unwrap();
        let bound = schema.encode_key_prefix(&[Value::Int64(50)]).unwrap();
        let table = catalog.create(&store, schema, &[bound]).unwrap();
        Self {
            queries: Queries::new(&catalog, &store, &Arc::default(), &Arc::default()),
            store,
            catalog,
            table,
        }
    }

    fn insert(&self, rows: impl Iterator<Item = (i64, i64, i64)>) {
        let mut transaction = self.store.begin();
        for (a, b, v) in rows {
            let row = [a, b, v].map(Value::Int64);
            let (key, row) = self.table.schema().encode(&row).unwrap();
            transaction.put(self.table.id(), key, row).unwrap();
        }
        transaction.commit(txn::Durability::Buffered).unwrap();
    }

    async fn prepare(&self, text: &str) -> PlannedQuery {
        let reader = self.store.view().reader();
        self.queries
            .prepare(
                &self.catalog,
                &reader,
                Wanted {
                    query: &query(text),
                    hints: &[],
                    shown: true,
                },
            )
            .await
            .unwrap()
    }

    async fn run(&self, planned: &PlannedQuery, parameters: &[i64]) -> Vec<Vec<i64>> {
        let parameters: Vec<Value> = parameters.iter().copied().map(Value::Int64).collect();
        let given = Given {
            parameters: &parameters,
            ..Given::at(0)
        };
        let reader = self.store.view().reader();
        let mut rows = planned.run(reader, given).await.unwrap();
        let mut all = Vec::new();
        while let Some(more) = rows.next().await {
            all.extend(more.unwrap());
        }
        let number = |value: &Value| match value {
            Value::Int64(number) => *number,
            other => i64::try_from(crate::cast::integer(other).unwrap()).unwrap(),
        };
        all.iter()
            .map(|row| row.iter().map(number).collect())
            .collect()
    }

    async fn scan_of(&self, text: &str, parameters: &[Value]) -> crate::access::Access {
        let planned = self.prepare(text).await;
        let given = Given {
            parameters,
            ..Given::at(0)
        };
        let reader = self.store.view().reader();
        let mut node = planned
            .explain(&reader, Some(given))
            .await
            .unwrap()
            .unwrap();
        while let Some(child) = node.children.pop() {
            node = child;
        }
        node.access.unwrap().0
    }
}

fn query(text: &str) -> ast::Query {
    let statement = syntax::parse(text).unwrap().remove(0);
    match statement.kind {
        Kind::Query(query) => *query.query,
        other => panic!("{other:?} is no query"),
    }
}

#[tokio::test]
async fn a_plan_is_kept_and_reads_what_each_run_says() {
    let fixture = Fixture::new();
    fixture.insert((0..100).map(|a| (a, 0, a * 10)));
    let planned = fixture.prepare("SELECT v + $2 FROM t WHERE a = $1").await;
    assert_eq!(fixture.run(&planned, &[7, 1]).await, [[71]]);
    assert_eq!(planned.copies(), 1);
    assert_eq!(fixture.run(&planned, &[60, 2]).await, [[602]]);
    // Rows that came after the plan are seen by runs that come after them.
    fixture.insert([(7, 1, 5)].into_iter());
    assert_eq!(fixture.run(&planned, &[7, 0]).await, [[70], [5]]);
    assert_eq!(planned.copies(), 1);
}

#[tokio::test]
async fn a_plan_on_the_shelf_holds_no_old_versions() {
    let fixture = Fixture::new();
    fixture.insert((0..100).map(|a| (a, 0, a)));
    let planned = fixture
        .prepare("SELECT x.v, count(*) FROM t x JOIN t y ON x.a = y.v WHERE x.a >= $1 GROUP BY x.v")
        .await;
    assert_eq!(fixture.run(&planned, &[99]).await, [[99, 1]]);
    assert_eq!(planned.copies(), 1);
    let before = fixture.store.horizon();
    fixture.insert([(100, 0, 100)].into_iter());
    let between = fixture.store.horizon();
    assert!(between > before, "{between:?} {before:?}");
    // Neither does one that needs values, or that was only prepared.
    let limited = fixture.prepare("SELECT a FROM t ORDER BY a LIMIT $1").await;
    assert_eq!(fixture.run(&limited, &[1]).await, [[0]]);
    let _idle = fixture.prepare("SELECT count(*) FROM t").await;
    fixture.insert([(101, 0, 101)].into_iter());
    assert!(fixture.store.horizon() > between);
}

#[tokio::test]
async fn a_plan_that_was_forgotten_is_made_again() {
    let mut fixture = Fixture::new();
    fixture.queries = Queries::with_room(
        &fixture.catalog,
        &fixture.store,
        (&Arc::default(), &Arc::default()),
        3,
    );
    fixture.insert((0..10).map(|a| (a, 0, a)));
    let planned = fixture.prepare("SELECT count(*) FROM t WHERE a < $1").await;
    assert_eq!(fixture.run(&planned, &[3]).await, [[3]]);
    let mut others = Vec::new();
    for number in 0..3 {
        let other = fixture.prepare(&format!("SELECT {number}, v FROM t")).await;
        assert_eq!(fixture.run(&other, &[]).await.len(), 10);
        others.push(other);
    }
    assert_eq!(planned.copies(), 0);
    assert!(others.iter().all(|other| other.copies() == 1));
    assert_eq!(fixture.run(&planned, &[4]).await, [[4]]);
    assert_eq!(planned.copies(), 1);
}

#[tokio::test]
async fn runs_at_the_same_time_do_not_share_a_plan() {
    let fixture = Fixture::new();
    fixture.insert((0..100).map(|a| (a, 0, a)));
    let planned = fixture.prepare("SELECT count(*) FROM t WHERE a < $1").await;
    let (one, two, three) = futures::join!(
        fixture.run(&planned, &[10]),
        fixture.run(&planned, &[60]),
        fixture.run(&planned, &[1000]),
    );
    assert_eq!([one, two, three].concat(), [[10], [60], [100]]);
    assert!(planned.copies() >= 1);
}

#[tokio::test]
async fn a_plan_that_needs_values_is_made_for_each_run() {
    let fixture = Fixture::new();
    fixture.insert((0..10).map(|a| (a, 0, a)));
    let planned = fixture.prepare("SELECT a FROM t ORDER BY a LIMIT $1").await;
    assert_eq!(fixture.run(&planned, &[2]).await, [[0], [1]]);
    assert_eq!(fixture.run(&planned, &[1]).await, [[0]]);
    assert_eq!(planned.copies(), 0);
}

#[tokio::test]
async fn joins_and_groups_run_again_as_the_first_time() {
    let fixture = Fixture::new();
    fixture.insert((0..100).map(|a| (a, 0, a % 5)));
    let text = "SELECT x.v, count(*), sum(y.a) FROM t x JOIN t y ON x.a = y.v \
                WHERE x.a >= $1 GROUP BY x.v ORDER BY 1 DESC LIMIT 2";
    let planned = fixture.prepare(text).await;
    let first = fixture.run(&planned, &[1]).await;
    assert_eq!(first, [[4, 20, 1030], [3, 20, 1010]]);
    assert_eq!(fixture.run(&planned, &[4]).await, [[4, 20, 1030]]);
    assert_eq!(fixture.run(&planned, &[1]).await, first);
    assert_eq!(planned.copies(), 1);
}

#[tokio::test]
async fn many_rows_of_one_partition_are_shared_by_streams_and_none_is_lost() {
    let fixture = Fixture::new();
    // Crowded at the end, so that a guess by bytes alone would be wrong.
    let rows = (0..40_000).map(|row| (if row < 100 { row - 1_000_000 } else { 40 }, row, 1));
    fixture.insert(rows);
    let reader = fixture.store.view().reader();
    let pieces = reader
        .cut(fixture.table.id(), &txn::KeyRange::all(), 8)
        .unwrap();
    assert!(pieces.len() > 4, "{pieces:?}");
    assert!(pieces.first().unwrap().lower.is_empty() && pieces.last().unwrap().upper.is_none());
    let joined = |pair: &[txn::KeyRange]| pair[0].upper.as_ref() == Some(&pair[1].lower);
    assert!(pieces.windows(2).all(joined));

    let planned = fixture
        .prepare("SELECT sum(v), count(*), max(b) FROM t")
        .await;
    assert_eq!(fixture.run(&planned, &[]).await, [[40_000, 40_000, 39_999]]);
    let planned = fixture.prepare("SELECT b FROM t ORDER BY a, b").await;
    let all = fixture.run(&planned, &[]).await;
    assert!(all.is_sorted() && all.len() == 40_000);
    let planned = fixture
        .prepare("SELECT b FROM t ORDER BY a DESC, b DESC")
        .await;
    let all = fixture.run(&planned, &[]).await;
    assert!(all.is_sorted_by(|one, two| one >= two) && all.len() == 40_000);
}

#[tokio::test]
async fn scans_say_how_they_find_their_rows() {
    let fixture = Fixture::new();
    fixture.insert((0..100).map(|a| (a, 0, a)));
    let access = fixture
        .scan_of("SELECT v + 1 FROM t WHERE a = 7 AND b = 1", &[])
        .await;
    assert_eq!(
        (access.kind, access.partitions),
        (AccessKind::Points, (1, 2))
    );
    assert_eq!(access.ranges, ["/7/1"]);

    let seven = [Value::Int64(7)];
    let access = fixture
        .scan_of("SELECT v FROM t WHERE a = $1 AND v > 1", &seven)
        .await;
    assert_eq!(
        (access.kind, access.partitions),
        (AccessKind::Ranges, (1, 2))
    );
    assert_eq!(access.ranges, ["/7/*"]);

    let access = fixture
        .scan_of("SELECT v FROM t WHERE a IN (3, 60) AND v > 1", &[])
        .await;
    assert_eq!((access.ranges_total, access.partitions), (2, (2, 2)));

    let access = fixture
        .scan_of("SELECT v FROM t WHERE a > 7 AND a <= 9 AND v > 0", &[])
        .await;
    assert_eq!(access.ranges, ["after /7 to /9"]);

    let access = fixture.scan_of("SELECT v FROM t WHERE b = 7", &[]).await;
    assert_eq!((access.kind, access.partitions), (AccessKind::Full, (2, 2)));
    let reason = access.reason.unwrap();
    assert_eq!(reason, "no filter binds `a`, the first key column");

    let two = [Value::Int64(1), Value::Int64(2)];
    let access = fixture
        .scan_of("SELECT v FROM t WHERE a = $1 AND a = $2 AND v = 1", &two)
        .await;
    assert_eq!(
        (access.kind, access.partitions),
        (AccessKind::Nothing, (0, 2))
    );
}

fn names(node: &PlanNode, into: &mut Vec<String>) {
    into.push(format!("{} {}", node.name, node.details));
    for child in &node.children {
        names(child, into);
    }
}

#[tokio::test]
async fn ordering_by_the_key_needs_no_sort_in_either_direction() {
    let fixture = Fixture::new();
    fixture.insert((0..100).map(|a| (a, 0, a)));
    for text in [
        "SELECT v FROM t ORDER BY a, b",
        "SELECT v FROM t ORDER BY a DESC, b DESC LIMIT 3",
        "SELECT v FROM t WHERE a = 5 AND v > 0 ORDER BY b DESC",
    ] {
        let planned = fixture.prepare(text).await;
        let given = Given {
            parameters: &[],
            ..Given::at(0)
        };
        let reader = fixture.store.view().reader();
        let tree = planned
            .explain(&reader, Some(given))
            .await
            .unwrap()
            .unwrap();
        let mut lines = Vec::new();
        names(&tree, &mut lines);
        assert!(
            !lines.iter().any(|line| line.starts_with("Sort ")),
            "{lines:?}"
        );
        let backwards = lines.iter().any(|line| line.contains("backwards"));
        assert_eq!(backwards, text.contains("DESC"), "{lines:?}");
    }
}

#[tokio::test]
async fn a_query_that_holds_too_much_is_refused() {
    let fixture = Fixture::new();
    fixture.insert((0..20).map(|a| (a, 0, a)));
    let text = "SELECT count(*) FROM (SELECT DISTINCT repeat('x', 1000000) || x.a || y.a || z.a \
                FROM t x, t y, t z) q";
    let planned = fixture.prepare(text).await;
    let given = Given {
        parameters: &[],
        ..Given::at(0)
    };
    let mut rows = planned
        .run(fixture.store.view().reader(), given)
        .await
        .unwrap();
    let error = rows.next().await.unwrap().unwrap_err();
    assert!(matches!(error, crate::Error::OutOfMemory { .. }), "{error}");
}
