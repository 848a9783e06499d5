//! What was predicted beside what was measured, as rows, with words where they differ.

use std::sync::Arc;

use advisor::advise::{Advice, Judged, peak_share};
use keys::{Type, Value};
use sql::ResultColumn;

use super::replay::{Measured, as_float, count, ratio};
use super::sample::Sample;
use super::work::Work;

/// A difference up to this share of the prediction is none.
const DIFFERENCE_MAX: f64 = 0.1;
/// With fewer transactions than this, chance has a large say.
const TXNS_FEW: usize = 1_200;
/// More of the transactions than this may not fail without being told.
const FAILED_SHARE_MAX: f64 = 0.01;

const COLUMNS: [(&str, Type); 6] = [
    ("Key", Type::Utf8),
    ("Figure", Type::Utf8),
    ("Predicted", Type::Double),
    ("Measured", Type::Double),
    ("Difference", Type::Double),
    ("Remark", Type::Utf8),
];

/// The columns of an answer.
pub(crate) fn columns() -> Arc<[ResultColumn]> {
    let columns = COLUMNS.iter();
    columns
        .map(|(name, kind)| ResultColumn::new(*name, *kind))
        .collect()
}

/// What a trial was made of, and what came of it.
pub(super) struct Outcome<'a> {
    pub(super) advice: &'a Advice,
    pub(super) judged: &'a Judged,
    pub(super) work: &'a Work,
    pub(super) sample: &'a Sample,
    pub(super) measured: &'a Measured,
}

/// One figure.
struct Figure {
    name: &'static str,
    predicted: f64,
    measured: f64,
    /// Why it is what it is, when it is not what was predicted.
    reason: &'static str,
}

impl Outcome<'_> {
    /// A row for each figure.
    pub(super) fn rows(&self) -> Vec<Vec<Value>> {
        let mut rows: Vec<Vec<Value>> = self.figures().map(|one| self.row(&one)).into();
        let runs = self.measured.runs.max(1);
        let ran = self.measured.done.saturating_sub(self.measured.failed) / runs;
        rows.push(self.made_of("transactions", self.advice.txns, ran, self.txns_told()));
        let of = usize::try_from(self.sample.of).unwrap_or(usize::MAX);
        let known = self.sample.known();
        let few = (known < of).then(|| "a sample of the table was loaded".to_owned());
        rows.push(self.made_of("rows", of, known, few));
        rows
    }

    fn figures(&self) -> [Figure; 6] {
        let (predicted, measured) = (&self.judged.figures, self.measured);
        let runs = as_float(measured.runs.max(1));
        [
            Figure {
                name: "peak share",
                predicted: predicted.grown.value,
                measured: peak_share(&measured.windows),
                reason: "the busiest partition does other work than the trace foretold: what \
                         transactions cost under this key was estimated",
            },
            Figure {
                name: "single-partition share",
                predicted: predicted.single,
                measured: ratio(measured.single, measured.txns),
                reason: "splits fell elsewhere, between rows that are used together",
            },
            Figure {
                name: "partitions per read",
                predicted: predicted.per_read.partitions,
                measured: ratio(measured.partitions, measured.reads),
                reason: "the table has another number of partitions than was predicted",
            },
            Figure {
                name: "rows per read",
                predicted: predicted.per_read.rows,
                measured: ratio(measured.rows, measured.reads),
                reason: "where rows lie that no recorded transaction touched was not known",
            },
            Figure {
                name: "splits",
                predicted: count(u64::try_from(predicted.splits).unwrap_or(u64::MAX)),
                measured: as_float(measured.splits) / runs,
                reason: "what transactions really cost, and chance, decide when a partition is split",
            },
            Figure {
                name: "key bytes",
                predicted: predicted.key_bytes,
                measured: ratio(measured.key_bytes, measured.keys),
                reason: "rows that the trace does not name have longer or shorter keys",
            },
        ]
    }

    fn row(&self, figure: &Figure) -> Vec<Value> {
        let difference = figure.difference();
        let remark = difference
            .is_none_or(|difference| difference.abs() > DIFFERENCE_MAX)
            .then(|| self.remark(figure))
            .filter(|_| figure.predicted != figure.measured);
        vec![
            Value::from(self.judged.name.as_str()),
            Value::from(figure.name),
            Value::Double(figure.predicted),
            Value::Double(figure.measured),
            difference.map_or(Value::Null, Value::Double),
            remark.map_or(Value::Null, |text| Value::Utf8(text.into())),
        ]
    }

    /// How the measurement differs, and the likeliest reason.
    fn remark(&self, figure: &Figure) -> String {
        let more = match figure.measured > figure.predicted {
            true => "more",
            false => "less",
        };
        let by = figure.difference().map_or(String::new(), |difference| {
            format!(" by {:.0} %", difference.abs() * 100.0)
        });
        let bounds = self.judged.figures.grown;
        let reason = match self.flaw() {
            _ if figure.name == "peak share"
                && (bounds.low..=bounds.high).contains(&figure.measured) =>
            {
                "it lies within the bounds of the prediction".to_owned()
            }
            Some(flaw) => flaw,
            None => figure.reason.to_owned(),
        };
        format!("{more} than predicted{by}: {reason}")
    }

    /// What makes any figure less certain.
    fn flaw(&self) -> Option<String> {
        let measured = self.measured;
        let failed = ratio(as_float(measured.failed), as_float(measured.done));
        if failed > FAILED_SHARE_MAX {
            return Some(format!(
                "{:.0} % of the transactions could not be run, because rows that they need were not \
                 there or in the way",
                failed * 100.0
            ));
        }
        if count(self.sample.of) > as_float(self.sample.known()) {
            let (known, of) = (self.sample.known(), self.sample.of);
            return Some(format!("{known} of {of} rows were loaded"));
        }
        if self.advice.txns < TXNS_FEW {
            let txns = self.advice.txns;
            return Some(format!("{txns} recorded transactions leave much to chance"));
        }
        None
    }

    /// What became of the transactions, if not all of them were run.
    fn txns_told(&self) -> Option<String> {
        let Measured {
            failed,
            left_out,
            runs,
            ..
        } = *self.measured;
        let runs = runs.max(1);
        let thinned = left_out > 0 || self.work.one_in > 1;
        let thinned = thinned.then(|| "some stood for others, to be done in time".to_owned());
        let failed = (failed > 0).then(|| format!("{} could not be run", failed.div_ceil(runs)));
        let told: Vec<String> = failed.into_iter().chain(thinned).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    fn made_of(&self, name: &str, all: usize, used: usize, told: Option<String>) -> Vec<Value> {
        vec![
            Value::from(self.judged.name.as_str()),
            Value::from(name),
            Value::Double(as_float(all)),
            Value::Double(as_float(used)),
            Value::Null,
            told.map_or(Value::Null, |text| Value::Utf8(text.into())),
        ]
    }
}

impl Figure {
    /// By how much of the prediction the measurement differs; unknown where nothing was predicted.
    fn difference(&self) -> Option<f64> {
        (self.predicted > 0.0).then(|| (self.measured - self.predicted) / self.predicted)
    }
}
