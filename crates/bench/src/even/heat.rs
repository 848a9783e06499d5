//! What measuring heat and recording cost: the same statements on two databases, one of which does
//! neither.
//!
//! ```text
//!   of ten statements   nine  SELECT v FROM t WHERE id = $1
//!                       one   UPDATE t SET v = v + 1 WHERE id = $1, not synced
//! ```
//!
//! No network and no sync: whatever else a request takes makes the share of heat smaller. The two take
//! turns of some milliseconds, because machines differ from themselves by more than heat costs.

use std::path::Path;
use std::sync::Arc;

use db::{Database, Prepared, Reply, Session, Value};
use storage::{Engine, FjallEngine, FjallOptions, SharedPlacement};

use super::scale;
use crate::measure::{Report, Stopwatch, grouped, in_pairs, per_second, settle};
use crate::options::Options;
use crate::{Error, Result};

/// Heat and the recorder may cost three of a hundred.
const FLOOR: f64 = 0.97;

const ROWS: u32 = 100_000;
const LOAD_ROWS: usize = 1_000;
/// Statements of a turn.
const TURN_STATEMENTS: u32 = 5_000;
/// Steps over the rows in an order that looks like none.
const STRIDE: u32 = 7_919;

/// A database, and the statements.
struct Side {
    runtime: tokio::runtime::Runtime,
    session: Session,
    select: Prepared,
    update: Prepared,
}

impl Side {
    fn open(dir: &Path, heat: bool) -> Result<Self> {
        let dir = dir.to_owned();
        let trace = dir.join("trace");
        let open = move || -> storage::Result<Arc<dyn Engine>> {
            Ok(Arc::new(FjallEngine::open(&dir, FjallOptions::default())?))
        };
        let mut options = db::Options::new(Arc::new(SharedPlacement::new(open)));
        options.heat = heat;
        options.trace = Some(trace);
        let database = Arc::new(Database::open_with(options)?);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut session = Session::new(Arc::clone(&database));
        let mut prepare = |text: &str| -> Result<Prepared> {
            let statement = session.parse(text)?.pop();
            let statement =
                statement.ok_or_else(|| Error::Wrong(format!("no statement: {text}")))?;
            Ok(runtime.block_on(session.prepare(statement, &[]))?)
        };
        let create = prepare("CREATE TABLE t (id bigint PRIMARY KEY, v bigint)")?;
        let buffered = prepare("SET synchronous_commit = off")?;
        let record = prepare(&format!("ALTER SYSTEM SET record = {heat}"))?;
        for one in [create, buffered, record] {
            runtime.block_on(session.execute(&one, &[]))?;
        }
        // So the setting holds.
        database.write_trace();
        let table = database.table("t")?;
        let rows: Vec<_> = (0..i64::from(ROWS))
            .map(|id| [Value::Int64(id), Value::Int64(0)])
            .collect();
        for some in rows.chunks(LOAD_ROWS) {
            database.load(&table, some)?;
        }
        let mut prepare = |text: &str| -> Result<Prepared> {
            let statement = session.parse(text)?.pop();
            let statement =
                statement.ok_or_else(|| Error::Wrong(format!("no statement: {text}")))?;
            Ok(runtime.block_on(session.prepare(statement, &[]))?)
        };
        let select = prepare("SELECT v FROM t WHERE id = $1")?;
        let update = prepare("UPDATE t SET v = v + 1 WHERE id = $1")?;
        Ok(Self {
            runtime,
            session,
            select,
            update,
        })
    }

    /// Runs so many statements, and answers how many a second.
    fn run(&mut self, statements: u32, round: u32) -> Result<f64> {
        let Self {
            runtime,
            session,
            select,
            update,
        } = self;
        let watch = Stopwatch::start();
        runtime.block_on(async {
            for number in 0..statements {
                let id = number.wrapping_mul(STRIDE).wrapping_add(round) % ROWS;
                let id = [Value::Int64(i64::from(id))];
                if number.is_multiple_of(10) {
                    session.execute(update, &id).await?;
                    continue;
                }
                let mut rows = match session.read_at_once(select, &id) {
                    Some(rows) => rows?,
                    None => match session.execute(select, &id).await? {
                        Reply::Rows(rows) => rows,
                        Reply::Done { .. } => return Err(Error::Wrong("no rows".to_owned())),
                    },
                };
                let found = rows.next().await.transpose()?;
                if found.is_none_or(|found| found.len() != 1) {
                    return Err(Error::Wrong("a row is missing".to_owned()));
                }
            }
            Ok::<(), Error>(())
        })?;
        Ok(per_second(statements, watch.elapsed()))
    }
}

pub(super) fn run(report: &mut Report, options: &Options) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("bench-heat-").tempdir()?;
    let mut with = Side::open(&dir.path().join("with"), true)?;
    let mut without = Side::open(&dir.path().join("without"), false)?;
    for side in [&mut with, &mut without] {
        side.run(ROWS, 0)?;
    }
    settle();
    let (duel, ratios) = in_pairs(
        scale(options).pairs,
        |pair| with.run(TURN_STATEMENTS, pair),
        |pair| without.run(TURN_STATEMENTS, pair),
    )?;
    let figures = format!(
        "the median of {} pairs of turns; {}/s with heat and recorder, {}/s without",
        scale(options).pairs,
        grouped(duel.ours.median()),
        grouped(duel.raw.median())
    );
    report.against("heat_overhead", ratios.median(), Some(FLOOR), &figures);
    Ok(())
}
