//! The story of the documents from end to end: work is recorded, the advisor ranks keys and says why, and
//! a key that is tried out does what was predicted.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use db::{Database, Prepared, Reply, Session, Value};
use storage::env::{Clock, Random, SeededRandom};
use storage::{MemoryEngine, MemoryMedium};

use crate::database::{opened, run};

/// Time between two transactions.
const PAUSE_US: u64 = 100_000;
/// What passes between two looks at the clock.
const LOOK_NS: u64 = 20_000;
/// What going over a row takes.
const ROW_NS: u64 = 1_000;

/// A clock that goes on when it is told to, and a little each time that something is timed and for each
/// row that is gone over meanwhile.
#[derive(Debug, Default)]
struct StoryClock {
    told_us: AtomicU64,
    spent_ns: AtomicU64,
}

impl Clock for StoryClock {
    fn now_us(&self) -> u64 {
        1_704_067_200_000_000 + self.told_us.load(Ordering::SeqCst)
    }

    fn monotonic(&self) -> Duration {
        let spent_ns = self.spent_ns.fetch_add(LOOK_NS, Ordering::SeqCst);
        Duration::from_micros(self.told_us.load(Ordering::SeqCst)) + Duration::from_nanos(spent_ns)
    }

    fn passed_rows(&self, rows: u64) {
        self.spent_ns.fetch_add(rows * ROW_NS, Ordering::SeqCst);
    }
}

struct Story {
    db: Arc<Database>,
    clock: Arc<StoryClock>,
    medium: Arc<MemoryMedium>,
    session: Session,
    prepared: HashMap<String, Prepared>,
    number: u64,
}

fn open(medium: &Arc<MemoryMedium>, clock: &Arc<StoryClock>) -> Arc<Database> {
    let medium = Arc::clone(medium);
    let db = opened(
        move || Arc::new(MemoryEngine::open(&medium)),
        |options| {
            options.clock = Arc::clone(clock) as Arc<_>;
            options.random = Arc::new(SeededRandom::new(3));
        },
    );
    db.unwrap()
}

impl Story {
    async fn new(create: &str) -> Self {
        let clock = Arc::new(StoryClock::default());
        let medium = Arc::new(MemoryMedium::new());
        let db = open(&medium, &clock);
        let mut session = Session::new(Arc::clone(&db));
        run(&mut session, create).await.unwrap();
        Self {
            db,
            clock,
            medium,
            session,
            prepared: HashMap::new(),
            number: 0,
        }
    }

    fn restart(self) -> Self {
        let Self {
            db,
            clock,
            medium,
            session,
            prepared,
            number,
        } = self;
        drop((db, session, prepared));
        let db = open(&medium, &clock);
        Self {
            session: Session::new(Arc::clone(&db)),
            db,
            clock,
            medium,
            prepared: HashMap::new(),
            number,
        }
    }

    /// Runs a transaction of one statement, and then time passes.
    async fn ask(&mut self, text: &str, parameters: &[Value]) -> Vec<Vec<Value>> {
        if !self.prepared.contains_key(text) {
            let kinds: Vec<_> = parameters.iter().map(Value::value_type).collect();
            let statement = self.session.parse(text).unwrap().remove(0);
            let prepared = self.session.prepare(statement, &kinds).await.unwrap();
            self.prepared.insert(text.to_owned(), prepared);
        }
        let mut found = Vec::new();
        let reply = self.session.execute(&self.prepared[text], parameters);
        if let Reply::Rows(mut rows) = reply.await.unwrap() {
            while let Some(more) = rows.next().await {
                found.extend(more.unwrap());
            }
        }
        self.clock.told_us.fetch_add(PAUSE_US, Ordering::SeqCst);
        self.number += 1;
        if self.number.is_multiple_of(10) {
            self.db.write_trace();
        }
        found
    }

    /// Runs statements that nobody records.
    async fn tell(&mut self, text: &str) -> Result<Vec<Vec<Value>>, db::Error> {
        run(&mut self.session, text).await
    }

    async fn advise(&mut self) -> Vec<Advised> {
        let rows = self.tell("ADVISE TABLE work").await.unwrap();
        rows.iter()
            .map(|row| Advised {
                name: row[1].to_string(),
                current: row[2] == Value::Bool(true),
                best: row[3] == Value::Bool(true),
                why: row[12].to_string(),
                statements: row[14].to_string(),
            })
            .collect()
    }

    /// Tries a key out: by figure what was predicted, and what was measured.
    async fn verify(&mut self, which: &str) -> BTreeMap<String, (f64, f64)> {
        let text = format!("ADVISE TABLE work VERIFY {which}");
        let rows = self.tell(&text).await.unwrap();
        let number = |value: &Value| match value {
            Value::Double(number) => *number,
            other => panic!("{other} is no figure"),
        };
        let figures = rows.iter().map(|row| {
            let (predicted, measured) = (number(&row[2]), number(&row[3]));
            (row[1].to_string(), (predicted, measured))
        });
        figures.collect()
    }
}

/// A key as ADVISE TABLE shows it.
#[derive(Debug)]
struct Advised {
    name: String,
    current: bool,
    best: bool,
    why: String,
    statements: String,
}

fn place(keys: &[Advised], name: &str) -> usize {
    let place = keys.iter().position(|one| one.name == name);
    place.unwrap_or_else(|| panic!("{name} is not among {keys:?}"))
}

/// The best that the table does not have.
fn best(keys: &[Advised]) -> &Advised {
    keys.iter().find(|one| one.best && !one.current).unwrap()
}

/// How far measurements may lie from the prediction.
const OFF_MAX: f64 = 0.1;

fn assert_near(figures: &BTreeMap<String, (f64, f64)>) {
    for name in ["peak share", "partitions per read", "rows per read"] {
        let (predicted, measured) = figures[name];
        let off = (measured - predicted).abs() / predicted;
        assert!(
            off <= OFF_MAX,
            "{name}: predicted {predicted}, measured {measured}"
        );
    }
}

const EVENTS: &str = "CREATE TABLE work (`timestamp` Timestamp NOT NULL, userid Uint64 NOT NULL, \
                      what Utf8, PRIMARY KEY (`timestamp`, userid))";

/// Users make events, and one in twenty transactions reads those of one user. `user` draws the next.
async fn events(count: u32, user: fn(&SeededRandom) -> u64) -> Story {
    let mut story = Story::new(EVENTS).await;
    let random = SeededRandom::new(11);
    more_events(&mut story, count, || user(&random)).await;
    story
}

async fn more_events(story: &mut Story, count: u32, user: impl Fn() -> u64) {
    let insert = "INSERT INTO work (`timestamp`, userid, what) VALUES ($1, $2, 'seen')";
    let read = "SELECT * FROM work WHERE userid = $1";
    for number in 1..=count {
        let user = Value::Uint64(user());
        if number % 20 == 0 {
            story.ask(read, &[user]).await;
        } else {
            let at = Value::Timestamp(i64::try_from(story.clock.now_us()).unwrap());
            story.ask(insert, &[at, user]).await;
        }
    }
}

#[tokio::test]
async fn events_of_users_go_by_user_and_do_what_was_predicted() {
    let mut story = events(3_000, |random| random.below(500)).await;
    // Nobody works meanwhile, and that is no part of the work.
    let hour_us = 3_600_000_000;
    story.clock.told_us.fetch_add(hour_us, Ordering::SeqCst);
    let keys = story.advise().await;
    let now = place(&keys, "(timestamp, userid)");
    assert!(keys[now].current);
    assert!(keys[now].why.contains("growing tail"), "{}", keys[now].why);
    for name in ["(userid, timestamp)", "(hash(userid), userid, timestamp)"] {
        let place = place(&keys, name);
        assert!(place < now, "{keys:?}");
        let why = &keys[place].why;
        assert!(why.contains("the busiest partition does"), "{why}");
        assert_near(&story.verify(&format!("KEY '{name}'")).await);
    }
    let rank = story.verify(&format!("KEY {}", now + 1)).await;
    assert_eq!(rank["peak share"], (1.0, 1.0));
    assert_eq!(rank["splits"], (0.0, 0.0));
    assert_eq!(rank["transactions"], (3_000.0, 3_000.0));

    // Nothing of the trials is left, and the live table is as it was.
    let tables = story
        .tell("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'");
    assert_eq!(tables.await.unwrap(), [[Value::from("work")]]);
    let rank = story
        .tell("ADVISE TABLE work VERIFY KEY 99")
        .await
        .unwrap_err();
    assert_eq!(rank.sqlstate(), "22023");
    assert!(rank.to_string().contains("none of rank 99"), "{rank}");
    let key = story.tell("ADVISE TABLE work VERIFY KEY '(what)'").await;
    assert!(
        key.unwrap_err()
            .to_string()
            .contains("it has (userid, timestamp)")
    );
}

#[tokio::test]
async fn a_few_users_who_dominate_want_buckets() {
    let user = |random: &SeededRandom| match random.below(10) {
        0..=7 => random.below(3),
        _ => 3 + random.below(500),
    };
    let mut story = events(3_000, user).await;
    let keys = story.advise().await;
    let best = best(&keys);
    let name = &best.name;
    assert!(name.contains('%') || name.contains("buckets"), "{name}");
    assert!(best.statements.contains("CREATE TABLE"), "{best:?}");
    let figures = story.verify("").await;
    let (predicted, measured) = figures["peak share"];
    assert!(predicted < 0.3 && measured < 0.3, "{figures:?}");
}

#[tokio::test]
async fn orders_by_a_number_that_is_counted_want_a_hash() {
    let create = "CREATE TABLE work (order_id Serial8 NOT NULL, customer_id Uint64, \
                  PRIMARY KEY (order_id))";
    let mut story = Story::new(create).await;
    let random = SeededRandom::new(5);
    let insert = "INSERT INTO work (customer_id) VALUES ($1)";
    let read = "SELECT * FROM work WHERE order_id = $1";
    for number in 1..=3_000_i64 {
        let order = i64::try_from(random.below(1000)).unwrap() * number / 1000;
        match number % 4 {
            0 => story.ask(read, &[Value::Int64(order.max(1))]).await,
            _ => story.ask(insert, &[Value::Uint64(random.below(100))]).await,
        };
    }
    let keys = story.advise().await;
    let best = best(&keys);
    assert_eq!(best.name, "(hash(order_id), order_id)");
    let hash = "Uint64 GENERATED ALWAYS AS (Digest::NumericHash(order_id)) STORED";
    assert!(best.statements.contains(hash), "{}", best.statements);
    assert_near(&story.verify("").await);
}

#[tokio::test]
async fn advice_that_was_followed_stays_with_what_was_measured_since() {
    let mut story = events(600, |random| random.below(50)).await;
    let keys = story.advise().await;
    let best = place(&keys, "(userid, timestamp)");
    let statements = keys[best].statements.clone();
    let shown = "SELECT Key, AppliedTime IS NULL, PeakShare, MeasuredPeakShare, \
                 MeasuredSinglePartitionShare, MeasuredPartitionsPerRead, MeasuredRowsPerRead, \
                 MeasuredReads FROM sys.advice WHERE AppliedTime IS NOT NULL";
    assert!(story.tell(shown).await.unwrap().is_empty());
    // It stays over a restart, also before anybody follows it.
    let mut story = story.restart();
    story.tell(&statements).await.unwrap();
    let applied = story.tell(shown).await.unwrap();
    assert_eq!(applied.len(), 1, "{applied:?}");
    assert_eq!(applied[0][0], Value::from("(userid, timestamp)"));
    assert_eq!(applied[0][7], Value::Uint64(0));

    let random = SeededRandom::new(12);
    for _ in 0..3 {
        more_events(&mut story, 200, || random.below(50)).await;
        story.db.write_trace();
        story.tell(shown).await.unwrap();
    }
    // Later advice does not push it out.
    let keys = story.advise().await;
    assert!(keys[place(&keys, "(userid, timestamp)")].current);
    let before = story.tell(shown).await.unwrap();
    let mut story = story.restart();
    let after = story.tell(shown).await.unwrap();
    assert_eq!(before, after);
    let [row] = after.as_slice() else {
        panic!("{after:?}");
    };
    assert_eq!(
        row[3..6],
        [Value::Double(1.0), Value::Double(1.0), Value::Double(1.0)]
    );
    let Value::Double(rows) = row[6] else {
        panic!("{row:?}");
    };
    assert!((5.0..=40.0).contains(&rows), "{rows}");
    assert!(row[7] > Value::Uint64(10), "{row:?}");
}
