//! Judgements of made-up observations: a sound one, and one for each thing that can be wrong.

use super::super::observed::Partition;
use super::super::workload::{Transfer, WRITERS, load_rows};
use super::*;

/// Batches of each client that were acknowledged: some are deleted, some have their second tags.
const BATCHES: i64 = BATCHES_KEPT + 7;
const TRANSFERS: i64 = 3;
/// A number that the sequence has not given.
const FRESH_TICKET: i64 = 1_000_000;
const TRANSFER: Transfer = Transfer {
    from: 5,
    to: 6,
    amount: 2,
};

/// What was acknowledged, and what a server shows that has exactly that.
struct World {
    writers: Vec<Acknowledged>,
    loads: Loads,
    observed: Observed,
}

impl World {
    fn findings(&self) -> Vec<Finding> {
        judge(&self.writers, &self.loads, &self.observed)
    }

    /// Lets a client have done its next batch, unacknowledged.
    fn do_next_batch(&mut self) {
        self.writers[1].in_flight = Some(InFlight::Batch);
        self.observed.progress[1].batches += 1;
        let done = self.observed.progress[1].batches;
        self.observed
            .entries
            .retain(|row| row.client != 1 || batches_kept(done).contains(&batch_of(row.n)));
        for row in self
            .observed
            .entries
            .iter_mut()
            .filter(|row| row.client == 1)
        {
            row.tag = tag(1, row.n, done);
        }
        let fresh = batch_rows(done).zip(FRESH_TICKET + 1..);
        let fresh = fresh.map(|(n, ticket)| entry(1, n, done, ticket));
        self.observed.entries.extend(fresh);
        self.index();
    }

    /// Makes indexes and counters what the rows say.
    fn index(&mut self) {
        let observed = &mut self.observed;
        let rows = observed.entries.iter();
        let keyed = |first: i64, row: &Entry| vec![first, row.lane, row.client, row.n];
        observed.by_tag = rows.clone().map(|row| keyed(row.tag, row)).collect();
        observed.by_ticket = rows.map(|row| keyed(row.ticket, row)).collect();
        let entries = &observed.entries;
        let rows = |low: i64, high: i64| {
            let inside = entries.iter().filter(|row| (low..high).contains(&row.lane));
            i64::try_from(inside.count()).unwrap()
        };
        let all = rows(0, i64::MAX);
        observed.partitions = vec![
            partition("entries", None, Some(3), rows(0, 3)),
            partition("entries", Some(3), Some(6), rows(3, 6)),
            partition("entries", Some(6), None, rows(6, i64::MAX)),
            partition("entries/by_tag/indexImplTable", None, None, all),
            partition("entries/by_ticket/indexImplTable", None, None, all),
            partition("accounts", None, None, ACCOUNTS),
            partition("progress", None, None, WRITERS),
            partition(
                "loads",
                None,
                None,
                observed.loads.len().try_into().unwrap(),
            ),
        ];
    }
}

fn partition(path: &str, lower: Option<i64>, upper: Option<i64>, rows: i64) -> Partition {
    Partition {
        path: path.to_owned(),
        lower: lower.into_iter().collect(),
        upper: upper.map(|upper| vec![upper]),
        rows,
        exact: true,
    }
}

fn entry(client: i64, n: i64, done: i64, ticket: i64) -> Entry {
    Entry {
        lane: lane(n),
        client,
        n,
        tag: tag(client, n, done),
        ticket,
        filler: filler(client, n),
    }
}

fn sound() -> World {
    let mut entries = Vec::new();
    let mut writers = Vec::new();
    let mut tickets = 1..;
    for client in 0..WRITERS {
        let rows = batches_kept(BATCHES).flat_map(batch_rows).zip(&mut tickets);
        let rows: Vec<_> = rows.collect();
        entries.extend(
            rows.iter()
                .map(|(n, ticket)| entry(client, *n, BATCHES, *ticket)),
        );
        writers.push(Acknowledged {
            client,
            batches: BATCHES,
            transfers: TRANSFERS,
            net: BTreeMap::from([(client, -10), (client + 10, 10)]),
            tickets: rows.into_iter().collect(),
            in_flight: None,
        });
    }
    let progress = |client| Progress {
        client,
        batches: BATCHES,
        transfers: TRANSFERS,
    };
    let balance = |id| match id {
        0..WRITERS => BALANCE - 10,
        id if (10..10 + WRITERS).contains(&id) => BALANCE + 10,
        _ => BALANCE,
    };
    let loads = Loads {
        emptied: 2,
        loaded: 4,
        in_flight: None,
    };
    let loaded = (3..=4).flat_map(load_rows);
    let mut world = World {
        writers,
        loads,
        observed: Observed {
            entries,
            progress: (0..WRITERS).map(progress).collect(),
            accounts: (0..ACCOUNTS).map(|id| (id, balance(id))).collect(),
            loads: loaded.map(|n| (n, load_value(n))).collect(),
            ..Observed::default()
        },
    };
    world.index();
    world
}

/// Changes a sound world, and expects one finding with this text; `true` if it is to be a loss.
fn expect(lost: bool, text: &str, change: impl FnOnce(&mut World)) {
    let mut world = sound();
    change(&mut world);
    let findings = world.findings();
    let [one] = findings.as_slice() else {
        panic!("one finding was expected: {findings:#?}");
    };
    assert_eq!(matches!(one, Finding::Lost(_)), lost, "{one}");
    assert!(one.to_string().contains(text), "{one}");
}

#[test]
fn what_was_acknowledged_is_sound() {
    assert_eq!(sound().findings(), []);
}

#[test]
fn what_was_in_flight_may_be_there_or_not() {
    let mut world = sound();
    world.writers[1].in_flight = Some(InFlight::Batch);
    world.writers[2].in_flight = Some(InFlight::Transfer(TRANSFER));
    world.loads.in_flight = Some(LoadInFlight::Copy);
    assert_eq!(world.findings(), []);

    world.do_next_batch();
    world.observed.progress[2].transfers += 1;
    world.observed.accounts[5].1 -= 2;
    world.observed.accounts[6].1 += 2;
    let next = load_rows(5).map(|n| (n, load_value(n)));
    world.observed.loads.extend(next);
    world.index();
    assert_eq!(world.findings(), []);

    let mut world = sound();
    world.loads.in_flight = Some(LoadInFlight::Truncate);
    assert_eq!(world.findings(), []);
    world.observed.loads.clear();
    world.index();
    assert_eq!(world.findings(), []);
}

#[test]
fn an_acknowledged_batch_that_is_missing_is_lost() {
    expect(
        true,
        "batch 55 of client 2, acknowledged: 0 of 64",
        |world| {
            let gone = |row: &Entry| row.client != 2 || batch_of(row.n) != BATCHES;
            world.observed.entries.retain(gone);
            world.index();
        },
    );
    expect(
        true,
        "batch 50 of client 0, acknowledged: 63 of 64",
        |world| {
            let n = batch_rows(50).start;
            world
                .observed
                .entries
                .retain(|row| row.client != 0 || row.n != n);
            world.index();
        },
    );
    expect(
        true,
        "transfers of client 3: 3 was acknowledged, found up to 2",
        |world| {
            world.observed.progress[3].transfers -= 1;
        },
    );
}

#[test]
fn an_acknowledged_update_or_deletion_that_is_missing_is_lost() {
    let n = batch_rows(BATCHES - RETAG_AGE).start;
    expect(
        true,
        "batch 55 of client 1, acknowledged: row 3328 has the tag",
        |world| {
            let own = |row: &&mut Entry| row.client == 1 && row.n == n;
            world.observed.entries.iter_mut().find(own).unwrap().tag -= TAGS;
            world.index();
        },
    );
    expect(
        true,
        "batch 55 of client 1, acknowledged: 1 rows are to be deleted",
        |world| {
            let n = batch_rows(BATCHES - BATCHES_KEPT).start;
            world
                .observed
                .entries
                .push(entry(1, n, BATCHES, FRESH_TICKET));
            world.index();
        },
    );
}

#[test]
fn a_transaction_in_flight_that_is_there_in_part_is_halved() {
    expect(false, "batch 56 of client 1, halved: 63 of 64", |world| {
        world.do_next_batch();
        world.observed.entries.pop();
        world.index();
    });
    expect(
        false,
        "batch 56 of client 1, halved: 1 rows are inserted",
        |world| {
            world.writers[1].in_flight = Some(InFlight::Batch);
            let n = batch_rows(BATCHES + 1).start;
            world
                .observed
                .entries
                .push(entry(1, n, BATCHES, FRESH_TICKET));
            world.index();
        },
    );
    expect(false, "9999 of 10000 rows of load 5", |world| {
        world.loads.in_flight = Some(LoadInFlight::Copy);
        let next = load_rows(5).skip(1).map(|n| (n, load_value(n)));
        world.observed.loads.extend(next);
        world.index();
    });
}

#[test]
fn a_transfer_that_is_halved_shows_in_the_bank() {
    let mut world = sound();
    world.writers[2].in_flight = Some(InFlight::Transfer(TRANSFER));
    world.observed.accounts[5].1 -= 2;
    let findings = world.findings();
    let said: Vec<_> = findings.iter().map(Finding::to_string).collect();
    assert_eq!(
        said,
        [
            "ANOMALY: the bank has 63998 and began with 64000",
            "ANOMALY: account 5: 1000 by what was acknowledged, 998 found",
        ]
    );
}

#[test]
fn what_was_never_sent_or_comes_twice_is_an_anomaly() {
    expect(
        false,
        "batches of client 1: found up to 56, sent up to 55",
        |world| {
            world.do_next_batch();
            world.writers[1].in_flight = None;
        },
    );
    expect(false, "row 3519 of client 3 is there twice", |world| {
        let mut last = world.observed.entries.last().unwrap().clone();
        last.ticket = FRESH_TICKET;
        world.writers[3].tickets.clear();
        world.observed.entries.push(last);
        world.index();
        world.observed.by_tag.pop();
        world.observed.partitions[3].rows -= 1;
    });
    expect(false, "loaded row 20000 is there twice", |world| {
        let first = world.observed.loads[0];
        world.observed.loads.push(first);
        world.index();
    });
}

#[test]
fn a_load_that_is_missing_or_back_is_told() {
    expect(true, "load 4 was acknowledged", |world| {
        world
            .observed
            .loads
            .retain(|(n, _)| *n < load_rows(4).start);
        world.index();
    });
    expect(false, "10000 rows of load 2 are there", |world| {
        let back = load_rows(2).map(|n| (n, load_value(n)));
        world.observed.loads.extend(back);
        world.index();
    });
}

#[test]
fn a_ticket_that_was_given_twice_is_told() {
    expect(false, "ticket 1 was given twice", |world| {
        world.writers[3].tickets.clear();
        world.observed.entries.last_mut().unwrap().ticket = 1;
        world.index();
    });
    expect(false, "acknowledged, 1000000 found", |world| {
        world.observed.entries[0].ticket = FRESH_TICKET;
        world.index();
    });
}

#[test]
fn an_index_that_differs_from_its_table_is_told_both_ways() {
    // The counter of an index is held against its rows: it goes with them here.
    expect(
        false,
        "by_tag: 1 rows are in the table and not in the index",
        |world| {
            world.observed.by_tag.pop();
            world.observed.partitions[3].rows -= 1;
        },
    );
    expect(
        false,
        "by_ticket: 1 rows are in the index and not in the table",
        |world| {
            world.observed.by_ticket.push(vec![1, 2, 3, 4]);
            world.observed.partitions[4].rows += 1;
        },
    );
}

#[test]
fn a_counter_that_differs_from_a_recount_is_told() {
    expect(false, "from [3] to Some([6]) counts", |world| {
        world.observed.partitions[1].rows += 1;
    });
    expect(false, "from [6] to None is still an estimate", |world| {
        world.observed.partitions[2].exact = false;
    });
}

#[test]
fn gaps_and_overlaps_of_partitions_are_told() {
    let mut bounds = Vec::new();
    for (partition, upper) in [(0, Some(2)), (0, Some(4)), (1, None), (2, Some(9))] {
        let mut world = sound();
        world.observed.partitions[partition].upper = upper.map(|upper| vec![upper]);
        let findings = world.findings();
        let tiling = findings
            .iter()
            .find(|one| one.to_string().contains("partitions of entries"));
        bounds.push(tiling.expect("a finding about the bounds").to_string());
    }
    assert_eq!(
        bounds,
        [
            "ANOMALY: partitions of entries: one begins at [3] where Some([2]) ended",
            "ANOMALY: partitions of entries: one begins at [3] where Some([4]) ended",
            "ANOMALY: partitions of entries: one begins at [6] where None ended",
            "ANOMALY: partitions of entries: none has the keys from [9] on",
        ]
    );
}
