//! What the advisor predicts, beside what the database does: the same transactions once as a trace, and
//! once for real on a simulated clock, with real partitions.

use std::sync::Arc;

use advisor::advise::{Window, peak_share};
use advisor::trace::{Column, Header, Kind, Op, Statement, Table, Trace, Txn};
use advisor::{Options, advise};
use db::{PartitionInfo, Value};
use keys::Type;
use partitions::HeatTotals;
use storage::env::{Random, SeededRandom};

use super::stage::Stage;

const ROUNDS: u64 = 36;
const ROUND_S: u64 = 5;
const TXNS: u64 = 240;
/// What the clock of the stage lets a write and a read take.
const WRITE_US: u64 = 30_000;
const READ_US: u64 = 10_000;
/// How often each work is done, with other chances: one in eight of so few transactions is timed, so
/// chance decides when a partition counts as busy.
const TIMES: u64 = 5;
/// Nine of ten predictions are off by less than this share of what is measured, and none by more than
/// that.
const OFF_MOSTLY: f64 = 0.10;
const OFF_MAX: f64 = 0.25;

/// Draws whose row comes next; the second is its number.
type Draw = fn(&SeededRandom, u64) -> u64;

struct Work {
    name: &'static str,
    /// Whether the number comes first in the key.
    grows: bool,
    draw: Draw,
}

const WORKS: [Work; 6] = [
    Work {
        name: "uniform",
        grows: false,
        draw: |random, _| random.below(1000),
    },
    Work {
        name: "low numbers more often",
        grows: false,
        draw: |random, _| random.below(random.below(1000) + 1),
    },
    Work {
        name: "one user makes a third",
        grows: false,
        draw: |random, _| match random.below(3) {
            0 => 500,
            _ => random.below(1000),
        },
    },
    Work {
        name: "ten tenants, one of them large",
        grows: false,
        draw: |random, _| match random.below(2) {
            0 => 3000 + random.below(400),
            _ => random.below(10) * 1000 + random.below(50),
        },
    },
    Work {
        name: "growing",
        grows: true,
        draw: |random, _| random.below(1000),
    },
    Work {
        name: "users come one after the other",
        grows: false,
        draw: |random, number| number / 20 + random.below(300),
    },
];

/// A trace of nothing yet.
fn blank(work: &Work) -> Trace {
    let column = |name: &str| Column {
        name: name.to_owned(),
        kind: Type::Uint64,
        not_null: true,
        generated: None,
        counted: false,
    };
    let key = if work.grows { ["n", "u"] } else { ["u", "n"] };
    let statement = |id, kind| Statement {
        id,
        fingerprint: String::new(),
        text: String::new(),
        table: 1,
        kind,
    };
    Trace {
        header: Header {
            to_us: ROUNDS * ROUND_S * 1_000_000,
            ..Header::default()
        },
        tables: vec![Table {
            id: 1,
            name: "t".to_owned(),
            columns: vec![column("u"), column("n")],
            key: key.map(str::to_owned).to_vec(),
            check_interval_s: ROUND_S,
            ..Table::default()
        }],
        statements: vec![statement(1, Kind::Insert), statement(2, Kind::Read)],
        ..Trace::default()
    }
}

/// A table that is worked on for real.
struct Real {
    stage: Stage,
    table: Arc<db::Table>,
    grows: bool,
}

impl Real {
    async fn new(work: &Work, seed: u64) -> Self {
        let stage = Stage::with_seed(seed);
        let key = if work.grows { "n, u" } else { "u, n" };
        let create =
            format!("CREATE TABLE t (u Uint64 NOT NULL, n Uint64 NOT NULL, PRIMARY KEY ({key}))");
        stage.ask(&create).await.unwrap();
        let table = stage.db.table("t").unwrap();
        stage.round(ROUND_S);
        Self {
            stage,
            table,
            grows: work.grows,
        }
    }

    fn read(&self, [user, number]: [Value; 2]) -> Op {
        let eq = [(0, vec![user.clone()]), (1, vec![number.clone()])];
        let key = match self.grows {
            true => [number, user],
            false => [user, number],
        };
        self.stage.db.snapshot().get(&self.table, &key).unwrap();
        Op {
            statement: 2,
            eq: eq.to_vec(),
            found: Some(1),
            rows_read: Some(1),
            busy_us: Some(READ_US),
            ..Op::default()
        }
    }

    fn insert(&self, row: [Value; 2]) -> Op {
        let mut txn = self.stage.db.begin();
        txn.insert(&self.table, &row).unwrap();
        txn.commit().unwrap();
        Op {
            statement: 1,
            rows: vec![(0..).zip(row).collect()],
            // An insert looks first whether the row is there.
            busy_us: Some(WRITE_US + READ_US),
            ..Op::default()
        }
    }

    /// The heat since an earlier look.
    fn window(&self, before: &[PartitionInfo]) -> Window {
        let mut window = Window::default();
        for partition in &self.stage.db.describe(&self.table).unwrap() {
            let old = before.iter().find(|one| one.id == partition.id);
            let old = old.map_or(HeatTotals::default(), |one| one.heat);
            let since = partition.heat.since(&old);
            let busy = since.writes * WRITE_US + since.reads * READ_US;
            let busy_us = f64::from(u32::try_from(busy).unwrap());
            window.busy_us += busy_us;
            window.peak_us = window.peak_us.max(busy_us);
        }
        window
    }
}

/// Runs the work for real; answers with its trace, the heat of each round, and the partitions.
async fn run(work: &Work, seed: u64) -> (Trace, Vec<Window>, usize) {
    let real = Real::new(work, seed).await;
    let random = SeededRandom::new(seed);
    let mut trace = blank(work);
    let mut known: Vec<(u64, u64)> = Vec::new();
    let mut windows = Vec::new();
    for round in 0..ROUNDS {
        let before = real.stage.db.describe(&real.table).unwrap();
        for number in round * TXNS..(round + 1) * TXNS {
            let op = if number % 3 == 2 {
                let place = random.below(u64::try_from(known.len()).unwrap());
                let (user, number) = known[usize::try_from(place).unwrap()];
                real.read([Value::Uint64(user), Value::Uint64(number)])
            } else {
                let user = (work.draw)(&random, number);
                known.push((user, number));
                real.insert([Value::Uint64(user), Value::Uint64(number)])
            };
            trace.txns.push(Txn {
                at_us: number * ROUND_S * 1_000_000 / TXNS,
                weight: 1.0,
                ops: vec![op],
            });
        }
        windows.push(real.window(&before));
        real.stage.round(ROUND_S);
    }
    (trace, windows, real.stage.partitions("t"))
}

#[tokio::test]
async fn the_database_does_what_the_advisor_predicts() {
    let mut told = String::new();
    let (mut all, mut near, mut far) = (0, 0, 0);
    for work in &WORKS {
        for seed in 1..=TIMES {
            let (trace, windows, partitions) = run(work, seed).await;
            let settled = windows.split_at(windows.len() / 2).1;
            let measured = peak_share(settled);
            let advice = advise(&trace, "t", &Options::default()).unwrap();
            let figures = &advice.current().unwrap().figures;
            let predicted = figures.recorded.value;
            let off = (predicted - measured).abs() / measured;
            all += 1;
            near += usize::from(off <= OFF_MOSTLY);
            far += usize::from(off > OFF_MAX);
            told += &format!(
                "{}: predicted {predicted:.3} in {} partitions, measured {measured:.3} in \
                 {partitions}\n",
                work.name, figures.recorded_partitions
            );
        }
    }
    assert_eq!(all, 30);
    assert!(far == 0 && near >= 27, "{near} of {all} are near\n{told}");
}
