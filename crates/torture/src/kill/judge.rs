//! The judge of a restart: what is there against what was acknowledged. Pure.
//!
//! ```text
//!   acknowledged to client 2   batches 1 … 117, and 118 was in flight
//!   progress says              117: batch 118 must have left nothing   118: all of it must be there
//!   entries must be            the rows of the last 48 batches, those of the last two with their first tags
//! ```

mod consistency;

use std::collections::{BTreeMap, BTreeSet};

use super::findings::Finding;
use super::loader::{LoadInFlight, Loads};
use super::observed::{Entry, Observed, Progress};
use super::workload::{
    ACCOUNTS, BALANCE, BATCH_ROWS, BATCHES_KEPT, LOAD_ROWS, RETAG_AGE, TAGS, batch_of, batch_rows,
    batches_kept, filler, lane, load_value, tag,
};
use super::writer::{Acknowledged, InFlight};

/// Everything that is wrong.
pub(super) fn judge(writers: &[Acknowledged], loads: &Loads, observed: &Observed) -> Vec<Finding> {
    let mut findings = observed.findings.clone();
    for writer in writers {
        let found = progress_of(writer, &observed.progress);
        findings.extend(progress(writer, found));
        // Without a row in `progress` the rest is held against what was acknowledged.
        let done = found.map_or(writer.batches, |found| found.batches);
        findings.extend(entries(writer, done, &observed.entries));
    }
    findings.extend(tickets(&observed.entries));
    findings.extend(accounts(writers, observed));
    findings.extend(loaded(loads, &observed.loads));
    findings.extend(consistency::indexes(observed));
    findings.extend(consistency::partitions(observed));
    findings
}

/// What `progress` says of a writer, if that is one row.
pub(super) fn progress_of(writer: &Acknowledged, rows: &[Progress]) -> Option<Progress> {
    let mut own = rows.iter().filter(|row| row.client == writer.client);
    own.next().copied().filter(|_| own.next().is_none())
}

/// The loads that have rows.
pub(super) fn loads_found(rows: &[(i64, i64)]) -> Vec<i64> {
    let found: BTreeSet<_> = rows
        .iter()
        .map(|(n, _)| n.div_euclid(LOAD_ROWS) + 1)
        .collect();
    found.into_iter().collect()
}

fn progress(writer: &Acknowledged, found: Option<Progress>) -> Vec<Finding> {
    let client = writer.client;
    let Some(found) = found else {
        let text = format!("progress has not one row of client {client}");
        return vec![Finding::Anomaly(text)];
    };
    let batch_in_flight = matches!(writer.in_flight, Some(InFlight::Batch));
    let transfer_in_flight = matches!(writer.in_flight, Some(InFlight::Transfer(_)));
    let counts = [
        ("batches", writer.batches, batch_in_flight, found.batches),
        (
            "transfers",
            writer.transfers,
            transfer_in_flight,
            found.transfers,
        ),
    ];
    let mut findings = Vec::new();
    for (what, acknowledged, in_flight, found) in counts {
        let most = acknowledged + i64::from(in_flight);
        if found < acknowledged {
            findings.extend((found..acknowledged).map(|one| {
                let number = one + 1;
                Finding::Lost(format!(
                    "{what} of client {client}: {number} was acknowledged, found up to {found}"
                ))
            }));
        } else if found > most {
            findings.push(Finding::Anomaly(format!(
                "{what} of client {client}: found up to {found}, sent up to {most}"
            )));
        }
    }
    findings
}

/// A transaction of a writer that is not there as a whole: lost if it was acknowledged.
fn broken(writer: &Acknowledged, batch: i64, what: &str) -> Finding {
    let client = writer.client;
    match batch <= writer.batches {
        true => Finding::Lost(format!(
            "batch {batch} of client {client}, acknowledged: {what}"
        )),
        false => Finding::Anomaly(format!("batch {batch} of client {client}, halved: {what}")),
    }
}

fn entries(writer: &Acknowledged, done: i64, all: &[Entry]) -> Vec<Finding> {
    let client = writer.client;
    let mut rows = BTreeMap::new();
    let mut findings = Vec::new();
    for row in all.iter().filter(|row| row.client == client) {
        if rows.insert(row.n, row).is_some() {
            let text = format!("row {} of client {client} is there twice", row.n);
            findings.push(Finding::Anomaly(text));
        }
    }
    for batch in batches_kept(done) {
        let there = batch_rows(batch).filter(|n| rows.contains_key(n)).count();
        if i64::try_from(there) != Ok(BATCH_ROWS) {
            let what = format!("{there} of {BATCH_ROWS} inserted rows are there");
            findings.push(broken(writer, batch, &what));
        }
    }
    let kept = batches_kept(done);
    let mut odd = BTreeMap::<(i64, &str), Vec<i64>>::new();
    for (n, row) in rows {
        let batch = batch_of(n);
        if batch > done {
            odd.entry((batch, "inserted, and the transaction is not there"))
                .or_default()
                .push(n);
        } else if !kept.contains(&batch) {
            let deleting = batch + BATCHES_KEPT;
            odd.entry((deleting, "to be deleted, and there"))
                .or_default()
                .push(n);
        } else {
            findings.extend(values(writer, done, row));
        }
    }
    for ((batch, what), numbers) in odd {
        let what = format!(
            "{} rows are {what}, from {:?} on",
            numbers.len(),
            numbers.first()
        );
        findings.push(broken(writer, batch, &what));
    }
    findings
}

fn values(writer: &Acknowledged, done: i64, row: &Entry) -> Vec<Finding> {
    let Entry { client, n, .. } = *row;
    let mut findings = Vec::new();
    let expected = tag(client, n, done);
    if row.tag == expected - TAGS {
        let what = format!("row {n} has the tag {} and was to get {expected}", row.tag);
        findings.push(broken(writer, batch_of(n) + RETAG_AGE, &what));
    } else if row.tag != expected {
        let text = format!(
            "row {n} of client {client}: tag {expected} expected, {} found",
            row.tag
        );
        findings.push(Finding::Anomaly(text));
    }
    let ticket = writer
        .tickets
        .get(&n)
        .filter(|ticket| **ticket != row.ticket);
    if let Some(ticket) = ticket {
        let found = row.ticket;
        let text =
            format!("row {n} of client {client}: ticket {ticket} acknowledged, {found} found");
        findings.push(Finding::Anomaly(text));
    }
    if row.lane != lane(n) || row.filler != filler(client, n) {
        let text = format!("row {n} of client {client} was never written so: {row:?}");
        findings.push(Finding::Anomaly(text));
    }
    findings
}

fn tickets(entries: &[Entry]) -> Vec<Finding> {
    let mut given = BTreeMap::new();
    let mut findings = Vec::new();
    for row in entries {
        if let Some((client, n)) = given.insert(row.ticket, (row.client, row.n)) {
            findings.push(Finding::Anomaly(format!(
                "ticket {} was given twice: to row {n} of client {client} and row {} of client {}",
                row.ticket, row.n, row.client
            )));
        }
    }
    findings
}

fn accounts(writers: &[Acknowledged], observed: &Observed) -> Vec<Finding> {
    let mut expected: BTreeMap<i64, i64> = (0..ACCOUNTS).map(|id| (id, BALANCE)).collect();
    let mut add = |id: i64, amount: i64| *expected.entry(id).or_default() += amount;
    for writer in writers {
        writer.net.iter().for_each(|(id, amount)| add(*id, *amount));
        let found = progress_of(writer, &observed.progress);
        let more = found.is_some_and(|found| found.transfers > writer.transfers);
        if let (true, Some(InFlight::Transfer(transfer))) = (more, writer.in_flight) {
            add(transfer.from, -transfer.amount);
            add(transfer.to, transfer.amount);
        }
    }
    let mut findings = Vec::new();
    let (total, sum) = (
        ACCOUNTS * BALANCE,
        observed
            .accounts
            .iter()
            .map(|(_, balance)| balance)
            .sum::<i64>(),
    );
    if sum != total {
        let text = format!("the bank has {sum} and began with {total}");
        findings.push(Finding::Anomaly(text));
    }
    let mut found = BTreeMap::new();
    for (id, balance) in &observed.accounts {
        if found.insert(*id, *balance).is_some() {
            findings.push(Finding::Anomaly(format!("account {id} is there twice")));
        }
    }
    let ids: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    for id in ids {
        let (expected, found) = (expected.get(id), found.get(id));
        if expected != found {
            let [expected, found] = [expected, found]
                .map(|balance| balance.map_or("none".to_owned(), ToString::to_string));
            let text = format!("account {id}: {expected} by what was acknowledged, {found} found");
            findings.push(Finding::Anomaly(text));
        }
    }
    findings
}

fn loaded(loads: &Loads, rows: &[(i64, i64)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = BTreeMap::<i64, BTreeSet<i64>>::new();
    for (n, value) in rows {
        if !found
            .entry(n.div_euclid(LOAD_ROWS) + 1)
            .or_default()
            .insert(*n)
        {
            findings.push(Finding::Anomaly(format!("loaded row {n} is there twice")));
        }
        if *value != load_value(*n) {
            let text = format!("loaded row {n}: {} expected, {value} found", load_value(*n));
            findings.push(Finding::Anomaly(text));
        }
    }
    let emptied = loads.in_flight == Some(LoadInFlight::Truncate) && found.is_empty();
    let acknowledged = loads.emptied + 1..=loads.loaded;
    if !emptied {
        for load in acknowledged
            .clone()
            .filter(|load| !found.contains_key(load))
        {
            let text = format!("load {load} was acknowledged, and none of its rows is there");
            findings.push(Finding::Lost(text));
        }
    }
    for (load, numbers) in &found {
        let copying = loads.in_flight == Some(LoadInFlight::Copy) && *load == loads.loaded + 1;
        let (count, known) = (numbers.len(), acknowledged.contains(load));
        if !known && !copying {
            let text =
                format!("{count} rows of load {load} are there, which was emptied or never sent");
            findings.push(Finding::Anomaly(text));
        } else if i64::try_from(count) != Ok(LOAD_ROWS) {
            let text = format!("{count} of {LOAD_ROWS} rows of load {load} are there");
            findings.push(if known {
                Finding::Lost(text)
            } else {
                Finding::Anomaly(text)
            });
        }
    }
    findings
}

#[cfg(test)]
mod tests;
