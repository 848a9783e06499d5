//! The advice of the documents this database is built from, retold: the same events under four primary
//! keys, on a simulated clock, with the real transactions and the real decider. `seeds.txt` beside
//! this file is what came out; rewrite it with `UPDATE_GOLDEN=1` and read the difference.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use db::{Database, PartitionInfo, Table, Value};
use keys::digest::numeric_hash;
use storage::env::{Random, SeededRandom};

use super::stage::Stage;
use crate::database::ask;

/// Events that come in between two rounds of the control loop, and how long that is.
const EVENTS: u64 = 200;
const ROUND_S: u64 = 5;
const ROUNDS: u64 = 24;
/// Users who make them.
const USERS: u64 = 50;
/// One of them.
const USER: u64 = 7;

/// A way to key the events.
struct Key {
    name: &'static str,
    about: &'static str,
    columns: &'static str,
    key: &'static str,
    /// What comes before time, user and event in a row.
    hash: Option<fn(u64, u64) -> u64>,
    /// Whether the hash of a user is known when the user is.
    bound: bool,
}

const KEYS: [Key; 4] = [
    Key {
        name: "by_time",
        about: "New events all land above every one before them: however often the last partition is \
                split,\nthe next events go to the last again. By load it is not split at all, and the \
                verdict says why.",
        columns: "",
        key: "timestamp, userid",
        hash: None,
        bound: false,
    },
    Key {
        name: "by_user",
        about: "The same columns the other way round: events spread over the users, and those of one \
                user lie\ntogether, sorted by time.",
        columns: "",
        key: "userid, timestamp",
        hash: None,
        bound: false,
    },
    Key {
        name: "by_user_hash",
        about: "A hash of the user first: users with neighbouring numbers are far apart, and the events \
                of one\nuser still lie together. Who reads them names the hash as well.",
        columns: "userhash Uint64 NOT NULL, ",
        key: "userhash, userid, timestamp",
        hash: Some(|_, user| numeric_hash(user)),
        bound: true,
    },
    Key {
        name: "by_event_hash",
        about: "A hash of time and user first: as even as can be, and the events of one user are \
                everywhere.",
        columns: "eventhash Uint64 NOT NULL, ",
        key: "eventhash, timestamp, userid",
        hash: Some(|time, user| numeric_hash(time.wrapping_mul(31).wrapping_add(user))),
        bound: false,
    },
];

/// What one partition did in the last round.
fn inserts(before: &[PartitionInfo], now: &PartitionInfo) -> u64 {
    let known = before.iter().find(|one| one.id == now.id);
    now.heat.writes - known.map_or(0, |one| one.heat.writes)
}

/// One round of events, all of them later than those before.
fn arrive(db: &Database, table: &Arc<Table>, key: &Key, round: u64, random: &SeededRandom) {
    let text = Value::from("x".repeat(700).as_str());
    for number in 0..EVENTS {
        let time = round * EVENTS + number;
        let user = random.below(USERS);
        let stamp = i64::try_from(1_704_067_200_000_000 + time * 10_000).unwrap();
        let hash = key.hash.map(|hash| Value::Uint64(hash(time, user)));
        let rest = [Value::Timestamp(stamp), Value::Uint64(user), text.clone()];
        let row: Vec<_> = hash.into_iter().chain(rest).collect();
        let mut txn = db.begin();
        txn.insert(table, &row).unwrap();
        txn.commit().unwrap();
    }
}

async fn tell(key: &Key, out: &mut String) {
    let stage = Stage::new();
    let db = &stage.db;
    let Key { name, columns, .. } = key;
    let create = format!(
        "CREATE TABLE {name} ({columns}timestamp Timestamp NOT NULL, userid Uint64 NOT NULL, \
         userevent text, PRIMARY KEY ({})) WITH (AUTO_PARTITIONING_PARTITION_SIZE_MB = 1)",
        key.key
    );
    ask(db, &create).await.unwrap();
    let table = db.table(name).unwrap();
    let random = SeededRandom::new(11);
    stage.round(1);
    let mut before = Vec::new();
    for round in 0..ROUNDS {
        stage.round(ROUND_S);
        before = db.describe(&table).unwrap();
        arrive(db, &table, key, round, &random);
    }
    writeln!(out, "PRIMARY KEY ({})\n\n{}\n", key.key, key.about).unwrap();
    partitions(db, &table, &before, out);
    verdicts(db, out).await;
    read(db, &table, key, out).await;
    out.push('\n');
}

fn partitions(db: &Database, table: &Table, before: &[PartitionInfo], out: &mut String) {
    let now = db.describe(table).unwrap();
    let counts: Vec<_> = now.iter().map(|one| inserts(before, one)).collect();
    writeln!(out, "  partition   events of the last {ROUND_S} s").unwrap();
    for (index, count) in counts.iter().enumerate() {
        let bar = "■".repeat(usize::try_from(count / 5).unwrap());
        let line = format!("  {:>9}   {count:>3} {bar}", index + 1);
        writeln!(out, "{}", line.trim_end()).unwrap();
    }
    let peak = counts.iter().max().unwrap() * 100 / EVENTS;
    writeln!(out, "  the busiest partition gets {peak} % of them\n").unwrap();
}

async fn verdicts(db: &Arc<Database>, out: &mut String) {
    let query = "SELECT Kind, Reason, count(*) FROM sys.partition_events GROUP BY Kind, Reason \
                 ORDER BY Kind, Reason";
    for row in ask(db, query).await.unwrap() {
        let [kind, reason, count] = row.as_slice() else {
            panic!("three columns");
        };
        writeln!(out, "  {kind} {reason}: {count}").unwrap();
    }
    let query = "SELECT Detail FROM sys.partition_events WHERE Kind = 'Refused' ORDER BY EventId DESC \
                 LIMIT 1";
    for row in ask(db, query).await.unwrap() {
        writeln!(out, "  verdict on the hottest: {}", row[0]).unwrap();
    }
}

/// Reads one user's events, and tells what that took.
async fn read(db: &Arc<Database>, table: &Table, key: &Key, out: &mut String) {
    let bound = match key.bound {
        true => format!("userhash = {} AND ", numeric_hash(USER)),
        false => String::new(),
    };
    let query = format!(
        "SELECT timestamp, userevent FROM {} WHERE {bound}userid = {USER}",
        key.name
    );
    let before = db.describe(table).unwrap();
    let found = ask(db, &query).await.unwrap().len();
    let now = db.describe(table).unwrap();
    let scanned = |one: &PartitionInfo| one.heat.scanned_rows;
    let reads = |one: &PartitionInfo| one.heat.scans + one.heat.reads;
    let pairs = || before.iter().zip(&now);
    let touched = pairs().filter(|(old, new)| reads(old) < reads(new)).count();
    let rows: u64 = pairs().map(|(old, new)| scanned(new) - scanned(old)).sum();
    writeln!(
        out,
        "  the events of user {USER}: {found} found in {touched} of {} partitions, {rows} rows scanned",
        now.len()
    )
    .unwrap();
}

#[tokio::test]
async fn the_documents_are_right_about_keys() {
    let mut told = String::from(
        "# The same events under four primary keys\n\n50 users make 40 events a second for two \
         minutes. Partitions split at 1 MiB, and by load.\n\n",
    );
    for key in &KEYS {
        tell(key, &mut told).await;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/balance/seeds.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &told).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(told, expected, "now it is:\n{told}");
}
