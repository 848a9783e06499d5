//! Stalls: how long `SELECT 1` takes while others do what takes long.
//!
//! ```text
//!   two definitions   ALTER TABLE … ADD CONSTRAINT … CHECK, over 1.5 M rows each ┐
//!   a load            COPY of rows                                               ├─ all at once
//!   an index          CREATE INDEX over 1.5 M rows                               ┘
//!   a client          SELECT 1, one after another, until all of them are done
//! ```

use std::fmt::Write;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::SinkExt;
use futures::future::{join, try_join_all};
use tempfile::TempDir;

use crate::measure::{Report, Sample, Stopwatch, grouped, millis};
use crate::options::Options;
use crate::sql::server::Server;
use crate::{Error, Result};

/// What the list of benches says.
pub(crate) const ABOUT: &str =
    "how long SELECT 1 takes beside definitions, a load and an index [--quick] [--server PATH]";

/// The longest that ninety-nine of a hundred may take, in milliseconds.
const P99_MS_MAX: f64 = 50.0;

/// So many answers make a percentile.
const SAMPLES_MIN: usize = 1_000;

/// How long a client rests between two looks.
const REST: Duration = Duration::from_millis(2);

/// Rows that are sent to COPY at a time.
const COPY_ROWS: u32 = 10_000;

/// Runs the bench, and answers whether no client waited for long.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    let options = Options::read(arguments)?;
    let rows = if options.quick { 100_000 } else { 1_500_000 };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut report = Report::default();
    if let Err(error) = runtime.block_on(measure(&mut report, &options, rows)) {
        report.broken("stall", &error);
    }
    Ok(report.passed())
}

async fn measure(report: &mut Report, options: &Options, rows: u32) -> Result<()> {
    let dir = TempDir::new()?;
    let server = Server::ours(&options.server, dir.path())?;
    let setup = server.connect().await?;
    for table in ["one", "two", "three", "four"] {
        let columns = "id bigint PRIMARY KEY, a bigint NOT NULL, b text";
        let create = format!("CREATE TABLE {table} ({columns})");
        setup.batch_execute(&create).await?;
        if table != "four" {
            copy(&server, table, rows).await?;
        }
    }
    let alone = look(&server, |looks| looks < SAMPLES_MIN).await?;
    report.say(&format!("alone: {}", show(&alone)));

    let over = AtomicBool::new(false);
    let watch = Stopwatch::start();
    let work = async {
        let done = pin!(all_at_once(&server, rows)).await;
        over.store(true, Ordering::Release);
        done
    };
    let (looks, done) = join(look(&server, |_| !over.load(Ordering::Acquire)), work).await;
    let looks = looks?;
    let took = watch.elapsed();
    done?;
    let said = format!(
        "SELECT 1 {}; {} rows each, {:.0} s",
        show(&looks),
        grouped(rows.into()),
        took.as_secs_f64()
    );
    report.limit("stall_p99_ms", at(&looks, 0.99), P99_MS_MAX, &said);
    if !options.quick {
        report.must(
            "stall_samples",
            looks.len() >= SAMPLES_MIN,
            "at least 1,000",
        );
    }
    Ok(())
}

/// The definitions, the load and the index.
async fn all_at_once(server: &Server, rows: u32) -> Result<()> {
    let check = "CHECK (a >= 0 AND sqrt(abs(a)::double precision) >= 0)";
    let texts = [
        format!("ALTER TABLE one ADD CONSTRAINT positive {check}"),
        format!("ALTER TABLE two ADD CONSTRAINT positive {check}"),
        "CREATE INDEX by_a ON three (a)".to_owned(),
    ];
    let definitions = try_join_all(texts.iter().map(|text| async move {
        let client = server.connect().await?;
        client.batch_execute(text).await?;
        Ok::<_, Error>(())
    }));
    let (defined, copied) = join(definitions, copy(server, "four", rows)).await;
    defined?;
    copied
}

async fn copy(server: &Server, table: &str, rows: u32) -> Result<()> {
    let client = server.connect().await?;
    let into = format!("COPY {table} FROM STDIN");
    let sink = client.copy_in::<_, bytes::Bytes>(&into).await?;
    let mut sink = pin!(sink);
    for first in (0..rows).step_by(usize::try_from(COPY_ROWS).unwrap_or(1)) {
        let mut text = String::new();
        for n in first..(first + COPY_ROWS).min(rows) {
            // A string takes any text.
            let _ = writeln!(
                text,
                "{n}\t{}\trow number {n} of a table that is wide",
                n % 1_000
            );
        }
        sink.send(text.into()).await?;
    }
    sink.close().await?;
    Ok(())
}

/// Asks again and again, and answers with the milliseconds that each answer took, least first.
async fn look(server: &Server, goes_on: impl Fn(usize) -> bool) -> Result<Vec<f64>> {
    let client = server.connect().await?;
    let mut looks = Sample::default();
    let mut count = 0;
    while goes_on(count) {
        let watch = Stopwatch::start();
        client.query_one("SELECT 1", &[]).await?;
        looks.add(millis(watch.elapsed()));
        count += 1;
        tokio::time::sleep(REST).await;
    }
    Ok(looks.into_sorted())
}

/// The number below which this part of all lies.
fn at(looks: &[f64], part: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a part of a length lies within it"
    )]
    let index = (looks.len() as f64 * part) as usize;
    looks.get(index).copied().unwrap_or(f64::NAN)
}

fn show(looks: &[f64]) -> String {
    let [half, most, longest] = [0.5, 0.99, 1.0].map(|part| match part {
        1.0 => looks.last().copied().unwrap_or(f64::NAN),
        part => at(looks, part),
    });
    format!(
        "{} samples, median {half:.2} ms, p99 {most:.1} ms, longest {longest:.1} ms",
        looks.len()
    )
}
