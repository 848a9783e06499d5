//! What speaks for a key and what gets worse, in sentences.

use super::judge::{Figures, PerRead};
use super::key::{Key, Part};
use super::workload::Workload;
use crate::trace::Statement;

/// Statements that are named at most.
const STATEMENTS_TOLD_MAX: usize = 4;
/// What grows by less than this is not worth a word.
const NOTICED: f64 = 1.2;

/// What speaks for a key, compared with the one that is; of that one, what it suffers from.
pub(super) fn why(
    workload: &Workload,
    own: &Figures,
    now: &Figures,
    is_current: bool,
) -> Vec<String> {
    let mut said = Vec::new();
    if is_current {
        said.extend(own.refusal.clone());
        return said;
    }
    if own.ceiling > NOTICED {
        said.push(format!(
            "the busiest partition does {} of the work instead of {}, and the table can carry {:.1} \
             times as much",
            percent(own.grown.value),
            percent(now.grown.value),
            own.ceiling
        ));
    }
    for (statement, new, old) in reads(workload, own, now) {
        if is_more(old.rows, new.rows, 1.0) {
            said.push(told(statement, "row", new.rows, old.rows));
        }
        if is_more(old.partitions, new.partitions, 0.1) {
            said.push(told(statement, "partition", new.partitions, old.partitions));
        }
    }
    if own.single > now.single + 0.02 {
        said.push(format!(
            "{} of the transactions touch one partition instead of {}",
            percent(own.single),
            percent(now.single)
        ));
    }
    said
}

/// What gets worse.
pub(super) fn worse(workload: &Workload, own: &Figures, now: &Figures, key: &Key) -> Vec<String> {
    let mut said = Vec::new();
    if own.ceiling < 1.0 / NOTICED {
        said.push(format!(
            "the table can carry only {:.2} times as much",
            own.ceiling
        ));
    }
    for (statement, new, old) in reads(workload, own, now) {
        if is_more(new.rows, old.rows, 1.0) {
            let index = match new.rows > 10.0 * old.rows.max(1.0) {
                true => "; an index would help",
                false => "",
            };
            let rows = told(statement, "row", new.rows, old.rows);
            said.push(format!("{rows}{index}"));
        }
        if is_more(new.partitions, old.partitions, 0.1) {
            said.push(told(statement, "partition", new.partitions, old.partitions));
        }
    }
    if own.single < now.single - 0.02 {
        said.push(format!(
            "{} of the transactions touch one partition instead of {}",
            percent(own.single),
            percent(now.single)
        ));
    }
    if own.key_bytes > now.key_bytes + 0.5 {
        said.push(format!(
            "a key has {:.0} bytes instead of {:.0}",
            own.key_bytes, now.key_bytes
        ));
    }
    if key
        .parts
        .iter()
        .any(|part| matches!(part, Part::Random { .. }))
    {
        said.push("rows are found by the new id only, or by an index".to_owned());
    }
    said
}

/// The reads with what they go over under both keys.
fn reads<'w>(
    workload: &'w Workload,
    own: &Figures,
    now: &Figures,
) -> Vec<(&'w Statement, PerRead, PerRead)> {
    let pairs = own.statements.iter().zip(&now.statements);
    let both = workload.statements.iter().zip(pairs);
    both.filter_map(|(statement, (new, old))| Some((statement, (*new)?, (*old)?)))
        .take(STATEMENTS_TOLD_MAX)
        .collect()
}

/// Whether one number is noticeably more than another.
fn is_more(one: f64, two: f64, least: f64) -> bool {
    one > two * NOTICED + least
}

fn told(statement: &Statement, thing: &str, new: f64, old: f64) -> String {
    let text = shortened(&statement.text);
    format!(
        "`{text}` goes over {} instead of {}",
        many(new, thing),
        few(old)
    )
}

/// A number of things, with a digit after the point where that says something.
pub(super) fn many(number: f64, thing: &str) -> String {
    let plural = if (number - 1.0).abs() < 0.05 { "" } else { "s" };
    format!("{} {thing}{plural}", few(number))
}

/// A number to as many digits as matter.
pub(super) fn few(number: f64) -> String {
    if number >= 10.0 || (number - number.round()).abs() < 0.05 {
        format!("{number:.0}")
    } else {
        format!("{number:.1}")
    }
}

/// A share as percents.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent < 9.95 && percent > 0.05 {
        true => format!("{percent:.1} %"),
        false => format!("{percent:.0} %"),
    }
}

/// A statement on one line, not too long.
pub(super) fn shortened(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 72;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
