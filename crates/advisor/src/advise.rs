//! Which key a table should have, judged by replaying what was really done to it.
//!
//! ```text
//!   trace ──Builder──► Workload ──candidates──► keys, at most 24
//!                                    │
//!                                    ▼  each twice: at the load of the recording, and at a load
//!                                 replay   that needs many partitions
//!                                    │
//!                                    ▼
//!                    figures ──front──► the two or three that nothing beats ──► DDL, what gets worse
//! ```
//!
//! There is no score. A key is beaten when another is better in something that matters and worse in
//! nothing: in what the busiest partition has to do, in the share of transactions that one partition
//! can commit alone, in the partitions and the rows that a read goes over. Among keys that are equal
//! in all of these the plainer one wins.
//!
//! Below [`TXNS_MIN`] recorded transactions there is no ranking, only the number that is needed.

mod candidates;
mod content;
mod ddl;
mod front;
mod heat;
mod indexes;
mod json;
mod judge;
mod key;
#[cfg(test)]
mod laws;
mod number;
mod picture;
mod plan;
mod png;
mod rates;
mod reasons;
mod replay;
mod schema;
mod svg;
mod text;
mod timeline;
mod values;
mod workload;

pub use candidates::CANDIDATES_MAX;
pub use ddl::Ddl;
pub use heat::{COLUMNS, HeatMap, ROWS};
pub use judge::{Figures, Interval, Judged, PerRead};
pub use key::{Function, Key, Part};
pub use replay::{Window, peak_interval, peak_share};
pub use schema::columns;
pub use timeline::Timeline;

use std::io::BufRead;

use crate::trace::{Column, Flaws, Reader, Statement, Table, Trace};
use crate::{Error, Result};
use judge::Judge;
use picture::Picture;
use workload::{Builder, Workload};

/// Fewer recorded transactions on a table than this give no ranking: the share of a partition would
/// be known to worse than five percent of all, nine times of ten.
pub const TXNS_MIN: usize = 300;

/// The seed of everything that is drawn.
const SEED_USUAL: u64 = 7;

/// What may be chosen about advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The load to judge keys at, as a factor on that of the recording. `None` chooses one that
    /// takes many partitions.
    pub load: Option<f64>,
    /// The seed of everything that is drawn: the same trace, options and seed give the same advice.
    pub seed: u64,
    /// What a schema says about the columns, see [`columns`].
    pub columns: Vec<Column>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            load: None,
            seed: SEED_USUAL,
            columns: Vec::new(),
        }
    }
}

/// Advice about the key of one table.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The table.
    pub table: Table,
    /// The statements on it.
    pub statements: Vec<Statement>,
    /// Recorded transactions that touch it, and how many they stand for.
    pub txns: usize,
    /// How many transactions they stand for.
    pub txns_weight: f64,
    /// When the work was done.
    pub timeline: Timeline,
    /// The length of the windows of [`Figures::recorded`]: those count whose middle is in the second half
    /// of the work. Whoever measures the same work takes the same, and [`peak_share`].
    pub window_us: u64,
    /// The load of the recording, in cores.
    pub cores: f64,
    /// The load that keys are judged at, in cores, unless the recording had more.
    pub judged_cores: f64,
    /// The keys, the best first.
    pub keys: Vec<Judged>,
    /// The places of the two or three among them that nothing beats, the best first. The key that
    /// the table has may be one of them.
    pub best: Vec<usize>,
    /// What of the trace could not be used.
    pub flaws: Flaws,
}

/// Advises on the key of a table of a trace.
pub fn advise(trace: &Trace, table: &str, options: &Options) -> Result<Advice> {
    let mut builder = Builder::new(table, &options.columns);
    builder.learn(&trace.tables, &trace.statements);
    for txn in &trace.txns {
        builder.add(txn);
    }
    let workload = builder.finish(&trace.header, &trace.tables);
    let workload = workload.ok_or_else(|| no_such_table(table, &trace.tables))?;
    judge(workload, trace.flaws.clone(), options)
}

/// Advises on the key of a table of a trace that is read meanwhile and not kept.
pub fn advise_on(
    reader: &mut Reader<impl BufRead>,
    table: &str,
    options: &Options,
) -> Result<Advice> {
    let mut builder = Builder::new(table, &options.columns);
    while let Some(txn) = reader.next_txn()? {
        builder.learn(reader.tables(), reader.statements());
        builder.add(&txn);
    }
    builder.learn(reader.tables(), reader.statements());
    let workload = builder.finish(reader.header(), reader.tables());
    let workload = workload.ok_or_else(|| no_such_table(table, reader.tables()))?;
    judge(workload, reader.flaws().clone(), options)
}

fn judge(workload: Workload, flaws: Flaws, options: &Options) -> Result<Advice> {
    if workload.table.key.is_empty() {
        return Err(Error::NoKey {
            table: workload.table.name,
        });
    }
    if workload.txns.len() < TXNS_MIN {
        return Err(Error::TooFew {
            table: workload.table.name,
            found: workload.txns.len(),
            needed: TXNS_MIN,
        });
    }
    let advice = Judge::new(workload, options).advice();
    Ok(Advice { flaws, ..advice })
}

fn no_such_table(name: &str, tables: &[Table]) -> Error {
    Error::NoSuchTable {
        table: name.to_owned(),
        known: tables.iter().map(|table| table.name.clone()).collect(),
    }
}

impl Advice {
    /// The key that the table has.
    pub fn current(&self) -> Option<&Judged> {
        self.keys.iter().find(|judged| judged.is_current)
    }

    /// The keys that nothing beats, the best first.
    pub fn best(&self) -> impl Iterator<Item = &Judged> {
        self.best.iter().filter_map(|place| self.keys.get(*place))
    }

    /// For people.
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// For programs: one object.
    pub fn json(&self) -> String {
        json::render(self)
    }

    /// The heat of the recording under the key that is and under the best, side by side.
    pub fn svg(&self) -> String {
        svg::render(&Picture::new(self))
    }

    /// The same picture as pixels, in a file of the form PNG.
    pub fn png(&self) -> Vec<u8> {
        png::render(&Picture::new(self))
    }
}
