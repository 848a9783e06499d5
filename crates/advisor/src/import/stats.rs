//! The view pg_stat_statements: statements without values, and how often they were run.
//!
//! Each becomes some transactions of one statement that stand for all its calls, spread over an hour.
//! Their values are drawn ([`super::drawn`]): evenly, so of a trace like this one can learn how many
//! partitions a key makes statements touch, and nothing of values that are more frequent than others.

use std::io::BufRead;

use super::csv::{Record, Records};
use super::drawn::Drawn;
use super::gather::{Gather, Said};
use crate::{Error, Result};

/// Transactions that stand for the calls of one statement at most.
const TURNS_MAX: u64 = 50;
/// How long the recording is taken to have been.
const HOUR_US: u64 = 3_600_000_000;
/// When it is taken to have begun: 2024-01-01.
const FROM_US: u64 = 1_704_067_200_000_000;

pub(super) fn read(input: impl BufRead, gather: &mut Gather) -> Result<()> {
    let mut records = Records::new(input);
    let names = records.next()?.map_or(Vec::new(), |record| record.fields);
    let place = |name: &str| names.iter().position(|one| one.trim() == name);
    let (Some(query), Some(calls)) = (place("query"), place("calls")) else {
        let reason = "its first line does not name the columns query and calls: COPY (SELECT * \
                      FROM pg_stat_statements) TO STDOUT (FORMAT csv, HEADER)";
        return Err(Error::NotALog {
            reason: reason.to_owned(),
        });
    };
    let rows = place("rows");
    let time = place("total_exec_time").or_else(|| place("total_time"));
    while let Some(record) = records.next()? {
        gather.report.lines += 1;
        let field = |at: usize| record.fields.get(at).map(String::as_str);
        let (Some(text), Some(Ok(calls))) = (field(query), field(calls).map(str::parse::<u64>))
        else {
            let reason = "it has no query, or no number of calls";
            gather.report.flaw(record.line, reason);
            continue;
        };
        let total_ms: Option<f64> = time.and_then(field).and_then(|ms| ms.parse().ok());
        let rows: Option<u64> = rows.and_then(field).and_then(|rows| rows.parse().ok());
        take(gather, &record, (text, calls), (total_ms, rows));
    }
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and times of a statement, told to a few digits"
)]
fn take(
    gather: &mut Gather,
    record: &Record,
    (text, calls): (&str, u64),
    (total_ms, rows): (Option<f64>, Option<u64>),
) {
    if calls == 0 {
        return;
    }
    let turns = calls.min(TURNS_MAX);
    let weight = calls as f64 / turns as f64;
    let mean_us = total_ms.map(|ms| (ms * 1_000.0 / calls as f64).max(0.0) as u64);
    let rows = rows.map(|rows| rows.div_ceil(calls));
    // Statements do not all come at the same moments.
    let apart_us = HOUR_US / turns;
    let first_us = record.line.wrapping_mul(0x9e37_79b9) % apart_us;
    for turn in 0..turns {
        let at_us = FROM_US + first_us + turn * apart_us;
        let drawn = Drawn::new(record.line << 16 | turn, at_us, rows);
        let said = Said {
            line: record.line,
            session: "",
            at_us,
            text,
            busy_us: mean_us,
            rows,
        };
        if !gather.weighed(&said, &drawn, weight) {
            return;
        }
    }
}
