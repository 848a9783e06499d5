//! Even keys: what buckets cost a read in order, and how even hashed keys are.
//!
//! ```text
//!   bucket_merge_16    a thousand rows in the order of time    16 buckets, merged   over   a plain key
//!   peak_share_hash    ids one after another, hashed           the fullest of 64 partitions, times 64
//! ```
//!
//! The merge is measured as clients see it, by pgbench over the wire: what it costs is to be weighed
//! against what a read costs, not against how fast memory is.

use std::fs;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use db::{Database, Prepared, Session, Value};

use crate::measure::{Report, alternate};
use crate::options::Options;
use crate::sql::client::{self, Load, Mode};
use crate::sql::server::Server;
use crate::{Error, Result};

/// The least that a merge of 16 buckets may reach of a plain key.
const MERGE_FLOOR: f64 = 0.5;

/// The most that the fullest of 64 partitions may hold of an even share.
const PEAK_MAX: f64 = 1.2;

/// Partitions that share the hashes.
const PARTITIONS: f64 = 64.0;

/// Rows in a key that belong to one moment.
const IDS_A_MOMENT: u32 = 4;

/// How many rows a read takes.
const READ_ROWS: u32 = 1_000;

const CLIENTS: u32 = 8;

/// How much is done.
#[derive(Clone, Copy, Debug)]
struct Scale {
    rows: u32,
    ids: u32,
    rounds: u32,
    seconds: u32,
}

const FULL: Scale = Scale {
    rows: 400_000,
    ids: 640_000,
    rounds: 5,
    seconds: 3,
};

const QUICK: Scale = Scale {
    rows: 20_000,
    ids: 200_000,
    rounds: 1,
    seconds: 1,
};

/// Runs both parts.
pub(super) fn run(report: &mut Report, options: &Options) -> Result<()> {
    let scale = if options.quick { QUICK } else { FULL };
    bucket_merge(report, options, scale)?;
    let dir = tempfile::tempdir()?;
    let database = Arc::new(Database::open(dir.path())?);
    let mut session = Session::new(Arc::clone(&database));
    peak_share(report, &database, &mut session, scale)
}

fn bucket_merge(report: &mut Report, options: &Options, scale: Scale) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let server = Server::ours(&options.server, dir.path())?;
    let (ids, last) = (IDS_A_MOMENT, scale.rows - 1);
    let moments = READ_ROWS / IDS_A_MOMENT;
    let read = |table: &str, from: &str| {
        format!(
            "SELECT ts, id, v FROM {table} WHERE ts >= {from} AND ts < {from} + {moments} \
             ORDER BY ts, id;"
        )
    };
    let mut answers = Vec::new();
    for (table, hash) in [
        ("bucketed", " USING HASH WITH (bucket_count = 16)"),
        ("plain", ""),
    ] {
        let columns = "ts Int64 NOT NULL, id Int64 NOT NULL, v Int64";
        let create = format!("CREATE TABLE {table} ({columns}, PRIMARY KEY (ts, id){hash})");
        let rows = format!("SELECT g / {ids}, g % {ids}, g FROM generate_series(0, {last}) g");
        client::ask(&server, &create)?;
        client::ask(&server, &format!("INSERT INTO {table} {rows}"))?;
        answers.push(client::ask(&server, &read(table, "7"))?);
        let most = scale.rows / IDS_A_MOMENT - moments;
        let script = format!("\\set from random(0, {most})\n{}\n", read(table, ":from"));
        fs::write(dir.path().join(table), script)?;
    }
    let rows = answers.first().map_or(0, |answer| answer.lines().count());
    if !matches!(answers.as_slice(), [one, two] if one == two) || rows != 1_000 {
        return Err(Error::Wrong(format!("the two keys differ in {rows} rows")));
    }
    let server = std::cell::RefCell::new(server);
    let rate = |table: &str| -> Result<f64> {
        let script = dir.path().join(table).display().to_string();
        let load = Load {
            script: &["-f", &script],
            variables: &[],
            clients: CLIENTS,
            mode: Mode::Prepared,
            seconds: scale.seconds,
            isolation: None,
        };
        let run = client::pgbench(&mut server.borrow_mut(), load)?;
        Ok(run.per_second * f64::from(READ_ROWS))
    };
    let duel = alternate(
        "bucket_merge_16",
        scale.rounds,
        |_| rate("bucketed"),
        |_| rate("plain"),
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
