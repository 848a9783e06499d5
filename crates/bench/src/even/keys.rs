//! Even keys: what buckets cost a read in order, and how even hashed keys are.
//!
//! ```text
//!   bucket_merge_16    a range in the order of time     16 buckets, merged   over   a plain key
//!   peak_share_hash    ids one after another, hashed    the fullest of 64 partitions, times 64
//! ```

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use db::{Database, Picked, Prepared, RowSink, Session, Value};

use crate::measure::{Report, Stopwatch, alternate, per_second};
use crate::options::Options;
use crate::{Error, Result};

/// The least that a merge of 16 buckets may reach of a plain key.
const MERGE_FLOOR: f64 = 0.5;

/// The most that the fullest of 64 partitions may hold of an even share.
const PEAK_MAX: f64 = 1.2;

/// Partitions that share the hashes.
const PARTITIONS: f64 = 64.0;

/// Rows in a key that belong to one moment.
const IDS_A_MOMENT: i64 = 4;

/// How much is done.
#[derive(Clone, Copy, Debug)]
struct Scale {
    rows: u32,
    ids: u32,
    rounds: u32,
}

const FULL: Scale = Scale {
    rows: 400_000,
    ids: 640_000,
    rounds: 5,
};

const QUICK: Scale = Scale {
    rows: 20_000,
    ids: 200_000,
    rounds: 1,
};

/// Runs both parts.
pub(super) fn run(report: &mut Report, options: &Options) -> Result<()> {
    let scale = if options.quick { QUICK } else { FULL };
    let dir = tempfile::tempdir()?;
    let database = Arc::new(Database::open(dir.path())?);
    let mut session = Session::new(Arc::clone(&database));
    bucket_merge(report, &database, &mut session, scale)?;
    peak_share(report, &database, &mut session, scale)
}

fn bucket_merge(
    report: &mut Report,
    database: &Database,
    session: &mut Session,
    scale: Scale,
) -> Result<()> {
    for (name, hash) in [
        ("bucketed", " USING HASH WITH (bucket_count = 16)"),
        ("plain", ""),
    ] {
        define(
            session,
            &format!(
                "CREATE TABLE {name} (ts Int64 NOT NULL, id Int64 NOT NULL, v Int64, PRIMARY KEY \
                 (ts, id){hash})"
            ),
        )?;
        let table = database.table(name)?;
        let width = table.schema().columns().len();
        let row = |number: u32| {
            let number = i64::from(number);
            let mut row = vec![
                Value::Int64(number / IDS_A_MOMENT),
                Value::Int64(number % IDS_A_MOMENT),
                Value::Int64(number),
            ];
            row.resize(width, Value::Null);
            row
        };
        database.load(&table, (0..scale.rows).map(row))?;
    }
    // Once both tables are there: a definition sends what was prepared before it back to be planned.
    let mut read = |name: &str| {
        let text = format!("SELECT ts, id, v FROM {name} WHERE ts >= 0 ORDER BY ts, id");
        prepare(session, &text)
    };
    let (bucketed, plain) = (read("bucketed")?, read("plain")?);
    let session = std::cell::RefCell::new(session);
    let rate = |read: &Prepared| -> Result<f64> {
        let watch = Stopwatch::start();
        let count = count_in_order(&mut session.borrow_mut(), read)?;
        if count != scale.rows {
            return Err(Error::Wrong(format!("{count} rows came in order")));
        }
        Ok(per_second(count, watch.elapsed()))
    };
    let duel = alternate(
        "bucket_merge_16",
        scale.rounds,
        |_| rate(&bucketed),
        |_| rate(&plain),
    )?;
    report.ratio("bucket_merge_16", &duel, Some(MERGE_FLOOR));
    Ok(())
}

fn peak_share(
    report: &mut Report,
    database: &Database,
    session: &mut Session,
    scale: Scale,
) -> Result<()> {
    define(
        session,
        "CREATE TABLE orders (h Uint64 GENERATED ALWAYS AS (Digest::NumericHash(id)) STORED, id \
         Uint64 NOT NULL, PRIMARY KEY (h, id)) WITH (UNIFORM_PARTITIONS = 64)",
    )?;
    let table = database.table("orders")?;
    let row = |id: u32| [Value::Null, Value::Uint64(u64::from(id))];
    database.load(&table, (1..=scale.ids).map(row))?;
    let partitions = database.describe(&table)?;
    let rows = partitions.iter().map(|one| one.rows);
    let fullest = rows.max().and_then(|rows| u32::try_from(rows).ok());
    let share = f64::from(fullest.unwrap_or(u32::MAX)) / f64::from(scale.ids) * PARTITIONS;
    let figures = format!(
        "fullest of {} partitions, times {PARTITIONS}",
        partitions.len()
    );
    report.limit("peak_share_hash", share, PEAK_MAX, &figures);
    println!("RATIO peak_share_hash {share:.2}");
    Ok(())
}

fn define(session: &mut Session, text: &str) -> Result<()> {
    let prepared = prepare(session, text)?;
    wait(session.execute(&prepared, &[]))?;
    Ok(())
}

fn prepare(session: &mut Session, text: &str) -> Result<Prepared> {
    let missing = || Error::Usage(format!("`{text}` is no statement"));
    let statement = session.parse(text)?.into_iter().next();
    Ok(wait(session.prepare(statement.ok_or_else(missing)?, &[]))?)
}

/// Counts the rows of a read by key, as long as each comes after the one before it.
fn count_in_order(session: &mut Session, read: &Prepared) -> Result<u32> {
    let no_rows = || Error::Usage("a read by key gives rows".to_owned());
    let mut rows = session.read_at_once(read, &[]).ok_or_else(no_rows)??;
    let mut seen = InOrder::default();
    // Rows that were all taken have nothing to send any more.
    while let Some(sent) = rows.send(4_096, &mut seen) {
        if sent? == 0 {
            break;
        }
    }
    match seen.rows {
        0 => Err(no_rows()),
        rows => Ok(rows),
    }
}

#[derive(Default)]
struct InOrder {
    rows: u32,
    last: Option<i64>,
}

impl RowSink for InOrder {
    fn begin(&mut self, _values: usize) {}

    fn value(&mut self, value: Picked<'_>) {
        if let Picked::Value(Value::Int64(number)) = value {
            self.last = Some(number);
        }
    }

    fn end(&mut self) {
        // The last column counts the rows in the order of the key.
        if self.last == Some(i64::from(self.rows)) {
            self.rows += 1;
        }
    }
}

/// Waits for what needs nobody else to go on.
fn wait<T>(work: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut work = pin!(work);
    loop {
        match work.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}
