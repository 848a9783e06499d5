//! What a run covered: the shapes of its transactions, and how they ended.

use std::collections::BTreeMap;
use std::fmt;

/// The least share of transactions that each shape must have, in percent.
const SHAPE_PERCENT_MIN: u64 = 3;

/// The least share of transactions that commit to several partitions, in percent.
const MULTI_PARTITION_PERCENT_MIN: u64 = 10;

/// The least share of transactions that the server refuses because others changed what they read, in
/// percent.
const CONFLICT_PERCENT_MIN: u64 = 5;

/// SQLSTATE of a transaction that is to be run again.
const SERIALIZATION_FAILURE: &str = "40001";

/// What a transaction is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// Reads and appends by key.
    Point,
    /// A read of a range.
    Range,
    /// The first or last rows of a range.
    Limit,
    /// The first rows of a range, one of them written before by the same transaction.
    LimitAfterWrite,
    /// A read by an index.
    Index,
    /// A join of three tables.
    Join,
    /// Rows that are locked before they are written.
    ForUpdate,
    /// A child is inserted, or a parent is deleted with its children.
    ForeignKey,
    /// The same, checked at COMMIT or when SET CONSTRAINTS says so.
    DeferredForeignKey,
    /// Writes that are taken back.
    Savepoint,
    /// A write of a row that was changed after the snapshot was taken.
    MovedSnapshot,
    /// A table or an index was changed meanwhile.
    BesideDdl,
    /// A partition was split or merged meanwhile.
    BesideSplit,
}

impl Shape {
    /// All shapes; the last two are about what went on beside the transaction.
    pub const ALL: [Self; 13] = [
        Self::Point,
        Self::Range,
        Self::Limit,
        Self::LimitAfterWrite,
        Self::Index,
        Self::Join,
        Self::ForUpdate,
        Self::ForeignKey,
        Self::DeferredForeignKey,
        Self::Savepoint,
        Self::MovedSnapshot,
        Self::BesideDdl,
        Self::BesideSplit,
    ];

    /// The shape that a random number stands for, among those that clients ask for.
    pub(super) fn drawn(number: u64) -> Self {
        let count = Self::ALL.len() as u64 - 2;
        let mut drawn = Self::ALL.into_iter().zip(0..count);
        let found = drawn.find(|(_, place)| *place == number % count);
        found.map_or(Self::Point, |(shape, _)| shape)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Point => "point",
            Self::Range => "range",
            Self::Limit => "limit",
            Self::LimitAfterWrite => "limit after write",
            Self::Index => "index",
            Self::Join => "join",
            Self::ForUpdate => "for update",
            Self::ForeignKey => "foreign key",
            Self::DeferredForeignKey => "deferred foreign key",
            Self::Savepoint => "savepoint",
            Self::MovedSnapshot => "moved snapshot",
            Self::BesideDdl => "beside ddl",
            Self::BesideSplit => "beside split",
        })
    }
}

/// Counts of transactions.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// How many ended.
    pub transactions: u64,
    /// How many of them did not commit.
    pub aborted: u64,
    /// How many committed writes to several partitions.
    pub multi_partition: u64,
    /// How many were of each shape.
    pub shapes: BTreeMap<Shape, u64>,
    /// How many the server refused, by SQLSTATE.
    pub refused: BTreeMap<String, u64>,
}

impl Coverage {
    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.aborted += other.aborted;
        self.multi_partition += other.multi_partition;
        for (shape, count) in &other.shapes {
            *self.shapes.entry(*shape).or_default() += count;
        }
        for (code, count) in &other.refused {
            *self.refused.entry(code.clone()).or_default() += count;
        }
    }

    /// How many were of a shape.
    pub fn of_shape(&self, shape: Shape) -> u64 {
        self.shapes.get(&shape).copied().unwrap_or_default()
    }

    /// What a long run should have covered and did not.
    pub fn missing(&self) -> Vec<String> {
        let conflicts = self.refused.get(SERIALIZATION_FAILURE).copied();
        let mut wanted = vec![
            (
                "multi-partition commits".to_owned(),
                self.multi_partition,
                MULTI_PARTITION_PERCENT_MIN,
            ),
            (
                format!("refused with {SERIALIZATION_FAILURE}"),
                conflicts.unwrap_or_default(),
                CONFLICT_PERCENT_MIN,
            ),
        ];
        for shape in Shape::ALL {
            wanted.push((shape.to_string(), self.of_shape(shape), SHAPE_PERCENT_MIN));
        }
        let short = wanted
            .into_iter()
            .filter(|(_, count, percent)| count * 100 < self.transactions * percent);
        short
            .map(|(what, count, percent)| {
                format!(
                    "{what}: {count} of {}, which is less than {percent} %",
                    self.transactions
                )
            })
            .collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |what: &dyn fmt::Display, count: u64| {
            let tenths = (count * 1_000).checked_div(self.transactions);
            let tenths = tenths.unwrap_or_default();
            let (whole, rest) = (tenths / 10, tenths % 10);
            writeln!(f, "  {what:<24} {count:>9}  {whole:>3}.{rest} %")
        };
        for shape in Shape::ALL {
            line(&shape, self.of_shape(shape))?;
        }
        line(&"multi-partition commits", self.multi_partition)?;
        for (code, count) in &self.refused {
            line(&format!("refused with {code}"), *count)?;
        }
        Ok(())
    }
}
