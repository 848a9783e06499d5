//! How long an empty database takes to open, and how much memory it then holds.
//!
//! Each opening happens in a process of its own: what the bench itself holds is not counted, and
//! nothing is warm but what the operating system keeps.

use std::fs;
use std::path::Path;
use std::process::Command;

use db::Database;

use crate::measure::{Report, Sample, Stopwatch, drain, millis};
use crate::{Error, Result};

/// The name under which the bench starts itself to open a database.
pub(crate) const CHILD: &str = "child-open";

const OPENINGS: u32 = 9;
const OPEN_MS_LIMIT: f64 = 100.0;
const OPEN_RSS_MB_LIMIT: f64 = 60.0;

/// What the child does: open, and say how long it took and what it holds.
pub(crate) fn run_child(arguments: &[String]) -> Result<()> {
    let [path] = arguments else {
        return Err(Error::Usage(format!("{CHILD} PATH")));
    };
    let watch = Stopwatch::start();
    let database = Database::open(path)?;
    let took = watch.elapsed();
    println!("{:.3} {:.1}", millis(took), resident_mb()?);
    drop(database);
    Ok(())
}

fn resident_mb() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line
        .and_then(|line| line.split_whitespace().next())
        .and_then(|kilobytes| kilobytes.parse::<f64>().ok());
    kilobytes
        .map(|kilobytes| kilobytes / 1_024.0)
        .ok_or_else(|| Error::Child("the system does not tell how much memory it has".to_owned()))
}

/// Opens new directories, and then the same ones again.
pub(crate) fn judge(report: &mut Report, dir: &Path) -> Result<()> {
    drain();
    let (mut fresh, mut again) = (Openings::default(), Openings::default());
    for opening in 0..OPENINGS {
        let path = dir.join(format!("open-{opening}"));
        fresh.add(&path)?;
        again.add(&path)?;
    }
    for (name, openings, what) in [("OPEN", fresh, "a new"), ("REOPEN", again, "an existing")] {
        let Openings { ms, rss_mb } = openings;
        let how = format!(
            "ms to open {what} empty database, median of {OPENINGS} (worst {:.1})",
            ms.most()
        );
        report.limit(&format!("{name}_MS"), ms.median(), OPEN_MS_LIMIT, &how);
        let how = format!("MB resident after it, the worst of {OPENINGS}");
        report.limit(
            &format!("{name}_RSS_MB"),
            rss_mb.most(),
            OPEN_RSS_MB_LIMIT,
            &how,
        );
    }
    Ok(())
}

#[derive(Default)]
struct Openings {
    ms: Sample,
    rss_mb: Sample,
}

impl Openings {
    fn add(&mut self, path: &Path) -> Result<()> {
        let output = Command::new(std::env::current_exe()?)
            .arg(CHILD)
            .arg(path)
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<f64> = said
            .split_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect();
        let [ms, rss_mb] = numbers.as_slice() else {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(Error::Child(format!("{said}{why}")));
        };
        self.ms.add(*ms);
        self.rss_mb.add(*rss_mb);
        Ok(())
    }
}
