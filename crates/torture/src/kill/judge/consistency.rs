//! What has to hold whatever was acknowledged: indexes equal their table, partitions tile it, and counters
//! equal a recount.

use std::collections::{BTreeMap, BTreeSet};

use super::super::findings::Finding;
use super::super::observed::{Key, Observed, Partition};

/// Differences of one index that are named.
const NAMED_MAX: usize = 3;

/// Rows that are in an index and not in the table, and the other way round.
pub(super) fn indexes(observed: &Observed) -> Vec<Finding> {
    let rows = |column: fn(&super::Entry) -> i64| {
        let rows = observed.entries.iter();
        rows.map(move |row| vec![column(row), row.lane, row.client, row.n])
    };
    let mut findings = index("by_tag", rows(|row| row.tag).collect(), &observed.by_tag);
    findings.extend(index(
        "by_ticket",
        rows(|row| row.ticket).collect(),
        &observed.by_ticket,
    ));
    findings
}

fn index(name: &str, table: BTreeSet<Key>, found: &[Key]) -> Vec<Finding> {
    let index: BTreeSet<Key> = found.iter().cloned().collect();
    let mut findings = Vec::new();
    if index.len() != found.len() {
        let twice = found.len() - index.len();
        findings.push(Finding::Anomaly(format!(
            "{twice} entries of {name} come twice"
        )));
    }
    let only_index: Vec<_> = index.difference(&table).collect();
    let only_table: Vec<_> = table.difference(&index).collect();
    for (keys, where_not) in [
        (only_index, "in the index and not in the table"),
        (only_table, "in the table and not in the index"),
    ] {
        if !keys.is_empty() {
            let some = &keys.iter().take(NAMED_MAX).collect::<Vec<_>>();
            let text = format!(
                "{name}: {} rows are {where_not}, such as {some:?}",
                keys.len()
            );
            findings.push(Finding::Anomaly(text));
        }
    }
    findings
}

/// Gaps and overlaps of partitions, and counters that are not what a recount finds.
pub(super) fn partitions(observed: &Observed) -> Vec<Finding> {
    let mut keys = BTreeMap::<&str, Vec<Key>>::new();
    let entries = observed.entries.iter();
    keys.insert(
        "entries",
        entries
            .map(|row| vec![row.lane, row.client, row.n])
            .collect(),
    );
    keys.insert("entries/by_tag/indexImplTable", observed.by_tag.clone());
    keys.insert(
        "entries/by_ticket/indexImplTable",
        observed.by_ticket.clone(),
    );
    keys.insert(
        "accounts",
        observed.accounts.iter().map(|(id, _)| vec![*id]).collect(),
    );
    keys.insert(
        "progress",
        observed
            .progress
            .iter()
            .map(|row| vec![row.client])
            .collect(),
    );
    keys.insert(
        "loads",
        observed.loads.iter().map(|(n, _)| vec![*n]).collect(),
    );
    let mut findings = Vec::new();
    for (path, keys) in keys {
        let of_path = observed.partitions.iter().filter(|one| one.path == path);
        let of_path: Vec<&Partition> = of_path.collect();
        findings.extend(tiling(path, &of_path));
        findings.extend(of_path.iter().filter_map(|one| count(one, &keys)));
    }
    findings
}

fn tiling(path: &str, partitions: &[&Partition]) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Where the next partition has to begin; none after one without an end.
    let mut end = Some(Key::new());
    for one in partitions {
        if end.as_ref() != Some(&one.lower) {
            let text = format!(
                "partitions of {path}: one begins at {:?} where {end:?} ended",
                one.lower
            );
            findings.push(Finding::Anomaly(text));
        }
        if one.upper.as_ref().is_some_and(|upper| *upper <= one.lower) {
            let text = format!(
                "partitions of {path}: one from {:?} ends at {:?}",
                one.lower, one.upper
            );
            findings.push(Finding::Anomaly(text));
        }
        end.clone_from(&one.upper);
    }
    if let Some(end) = end {
        let text = format!("partitions of {path}: none has the keys from {end:?} on");
        findings.push(Finding::Anomaly(text));
    }
    findings
}

fn count(one: &Partition, keys: &[Key]) -> Option<Finding> {
    let inside =
        |key: &&Key| **key >= one.lower && one.upper.as_ref().is_none_or(|upper| *key < upper);
    let counted = keys.iter().filter(inside).count();
    let Partition {
        path,
        lower,
        upper,
        rows,
        exact,
    } = one;
    if !exact {
        let text =
            format!("the partition of {path} from {lower:?} to {upper:?} is still an estimate");
        return Some(Finding::Anomaly(text));
    }
    let same = i64::try_from(counted) == Ok(*rows);
    (!same).then(|| {
        Finding::Anomaly(format!(
            "the partition of {path} from {lower:?} to {upper:?} counts {rows} rows and has {counted}"
        ))
    })
}
