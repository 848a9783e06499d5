//! The checker of histories: every kind of anomaly is found in a small history that has it.
//!
//! ```text
//!   T1: append x 1, read y []             committed, unless `aborted` or `unknown` is said
//!   T2 aborted @1-3: read x [1]           from second 1 to 3; unless said, all are open at once
//!   T3: append x 2, rollback to 0         writes from operation 0 on are taken back
//!   T4: delete d [1] 9, read d absent     keys from d on have rows at first; 9 stands for the deletion
//!   end: x [1 2], d absent                what is there at the end; unless said, nothing
//! ```

#![cfg(test)]

use std::time::Duration;

use torture::history::check::{Class, check};
use torture::history::transactions::{
    Element, History, Key, KeyId, Name, Operation, Outcome, Transaction, Version,
};

/// The keys of all histories: the last one has a row at first, which may be deleted.
const KEYS: [&str; 4] = ["x", "y", "z", "d"];

fn key(word: &str) -> KeyId {
    KEYS.iter().position(|key| *key == word).unwrap()
}

fn list(text: &str) -> Version {
    if text == "absent" {
        return Version::Absent;
    }
    let inner = text.strip_prefix('[').unwrap().strip_suffix(']').unwrap();
    Version::List(elements(inner))
}

fn elements(text: &str) -> Vec<Element> {
    let words = text.split_whitespace();
    words.map(|word| word.parse().unwrap()).collect()
}

fn operation(text: &str) -> Operation {
    let (verb, rest) = text.split_once(' ').unwrap();
    let (word, rest) = rest.split_once(' ').unwrap();
    match verb {
        "append" => Operation::Append {
            key: key(word),
            element: rest.parse().unwrap(),
        },
        "read" => Operation::Read {
            key: key(word),
            version: list(rest),
        },
        "delete" => {
            let (before, element) = rest.rsplit_once(' ').unwrap();
            let Version::List(list) = list(before) else {
                panic!("`{text}` deletes nothing");
            };
            Operation::Delete {
                key: key(word),
                list,
                element: element.parse().unwrap(),
            }
        }
        "rollback" => Operation::RollbackTo(rest.parse().unwrap()),
        _ => panic!("`{text}` is no operation"),
    }
}

fn transaction(ordinal: u64, head: &str, body: &str) -> Transaction {
    let mut outcome = Outcome::Committed;
    let (mut began, mut ended) = (Duration::ZERO, Duration::from_secs(100));
    for word in head.split_whitespace().skip(1) {
        match word {
            "aborted" => outcome = Outcome::Aborted,
            "unknown" => outcome = Outcome::Unknown,
            times => {
                let (from, to) = times.strip_prefix('@').unwrap().split_once('-').unwrap();
                began = Duration::from_secs(from.parse().unwrap());
                ended = Duration::from_secs(to.parse().unwrap());
            }
        }
    }
    Transaction {
        name: Name { client: 0, ordinal },
        began,
        ended,
        outcome,
        operations: body.split(',').map(|part| operation(part.trim())).collect(),
    }
}

fn history(text: &str) -> History {
    let keys = KEYS.iter().map(|name| Key {
        name: (*name).to_owned(),
        deletable: *name == "d",
    });
    let mut last = vec![Version::Absent; 3];
    last.push(Version::List(Vec::new()));
    let mut history = History {
        keys: keys.collect(),
        transactions: Vec::new(),
        last,
    };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (head, body) = line.split_once(':').unwrap();
        if head.trim() == "end" {
            for part in body.split(',') {
                let (word, version) = part.trim().split_once(' ').unwrap();
                history.last[key(word)] = list(version);
            }
        } else {
            let ordinal = history.transactions.len() as u64 + 1;
            let transaction = transaction(ordinal, head, body);
            history.transactions.push(transaction);
        }
    }
    history
}

/// The classes of what is found, each once.
fn classes(text: &str) -> Vec<Class> {
    let mut classes: Vec<Class> = check(&history(text)).iter().map(|one| one.class).collect();
    classes.sort();
    classes.dedup();
    classes
}

#[test]
fn a_serial_history_is_right() {
    let found = check(&history(
        "T1 @0-1: append x 1, read x [1], read y []
         T2 @2-3: read x [1], append y 2, append x 3
         T3 @4-5: read x [1 3], read y [2], append x 4, rollback to 2, read x [1 3], append z 5
         T4 aborted @4-5: append y 6
         T5 unknown @5-6: append y 7
         T6 unknown @5-6: append y 8
         T7 @6-7: append d 9, delete d [9] 10, read d absent
         T8 @8-9: read d absent, read y [2 8], read z [5]
         end: x [1 3], y [2 8], z [5], d absent",
    ));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn transactions_may_overlap() {
    let found = check(&history(
        "T1 @0-9: read x [], append y 1
         T2 @0-5: append x 2, read y []
         T3 @1-9: read x [2], read y []
         end: x [2], y [1]",
    ));
    let classes: Vec<Class> = found.iter().map(|one| one.class).collect();
    assert_eq!(
        classes,
        [Class::G2],
        "write skew is found, and nothing else"
    );
    let found = check(&history(
        "T1 @0-9: read x [], append y 1
         T2 @0-5: append x 2, read z []
         T3 @1-9: read x [2], read y [1]
         end: x [2], y [1]",
    ));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn g0_writes_in_a_circle() {
    let found = classes(
        "T1: append x 1, append y 2
         T2: append x 3, append y 4
         end: x [1 3], y [4 2]",
    );
    assert_eq!(found, [Class::G0]);
}

#[test]
fn g0_an_own_list_that_another_breaks_into() {
    let found = classes(
        "T1: append x 1, append x 2
         T2: append x 3
         end: x [1 3 2]",
    );
    assert_eq!(found, [Class::G0]);
}

#[test]
fn g1a_reads_of_what_was_rolled_back() {
    let found = classes(
        "T1 aborted: append x 1
         T2: read x [1]",
    );
    assert_eq!(found, [Class::G1a]);
    let found = classes(
        "T1: append x 1, rollback to 0
         end: x [1]",
    );
    assert_eq!(found, [Class::G1a]);
    let found = classes(
        "T1 aborted: delete d [] 1
         T2: read d absent",
    );
    assert_eq!(found, [Class::G1a]);
}

#[test]
fn g1b_reads_of_what_was_not_finished() {
    let found = classes(
        "T1: append x 1, append x 2
         T2: read x [1]
         end: x [1 2]",
    );
    // Whoever read between the two writes is also before and after their transaction.
    assert!(found.contains(&Class::G1b), "{found:?}");
}

#[test]
fn g1c_reads_in_a_circle() {
    let found = classes(
        "T1: append x 1, read y [2]
         T2: append y 2, read x [1]
         end: x [1], y [2]",
    );
    assert_eq!(found, [Class::G1c]);
}

#[test]
fn g2_write_skew() {
    let found = check(&history(
        "T1: read x [], append y 1
         T2: read y [], append x 2
         end: x [2], y [1]",
    ));
    let [anomaly] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(anomaly.class, Class::G2);
    let told = "a cycle of 2
  T1 is client 0 transaction 1, 0.000000 s to 100.000000 s: read x []; append y 1;
  T2 is client 0 transaction 2, 0.000000 s to 100.000000 s: read y []; append x 2;
  T1 is before T2: T1 read x without 2, which T2 wrote
  T2 is before T1: T2 read y without 1, which T1 wrote";
    assert_eq!(anomaly.text, told);
}

#[test]
fn g2_a_phantom_and_a_deletion() {
    let found = classes(
        "T1: read x absent, append d 1, delete d [1] 2
         T2: read d [], append x 3
         end: x [3], d absent",
    );
    assert_eq!(found, [Class::G2]);
}

#[test]
fn g2_a_lost_update() {
    let found = classes(
        "T1: read x [], append x 1
         T2: read x [], append x 2
         end: x [1 2]",
    );
    assert_eq!(found, [Class::G2]);
}

#[test]
fn g2_a_read_that_is_not_repeatable() {
    let found = classes(
        "T1: read x [], read x [1]
         T2: append x 1
         end: x [1]",
    );
    assert_eq!(found, [Class::G2]);
}

#[test]
fn g2_a_long_circle() {
    let found = classes(
        "T1: read x [], append y 1
         T2: read y [], append z 2
         T3: read z [], append x 3
         end: x [3], y [1], z [2]",
    );
    assert_eq!(found, [Class::G2]);
}

#[test]
fn stale_what_was_acknowledged_is_not_seen() {
    let found = check(&history(
        "T1 @0-1: append x 1
         T2 @2-3: append y 2
         T3 @4-5: read x [], read y []
         end: x [1], y [2]",
    ));
    let [anomaly] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(anomaly.class, Class::Stale);
    assert!(
        anomaly.text.contains("was acknowledged before"),
        "{}",
        anomaly.text
    );
}

#[test]
fn lost_writes_and_rows() {
    assert_eq!(classes("T1: append x 1"), [Class::Lost]);
    let found = classes(
        "T1: append x 1
         T2: read x [1]
         end: x []",
    );
    assert_eq!(found, [Class::Lost]);
    assert_eq!(classes("T1: delete d [] 1"), [Class::Lost]);
    assert_eq!(classes("T1: read d absent"), [Class::Lost]);
}

#[test]
fn duplicates_in_a_list() {
    let found = classes(
        "T1: append x 1
         end: x [1 1]",
    );
    assert_eq!(found, [Class::Duplicate]);
}

#[test]
fn orders_that_do_not_agree() {
    let found = classes(
        "T1: append x 1
         T2: append x 2
         T3: read x [2 1]
         end: x [1 2]",
    );
    assert_eq!(found, [Class::IncompatibleOrder]);
}

#[test]
fn own_writes_that_are_not_seen() {
    let found = classes(
        "T1: append x 1, read x []
         end: x [1]",
    );
    assert_eq!(found, [Class::Internal]);
    let found = classes(
        "T1: append x 1, append x 2, rollback to 1, read x [1 2]
         end: x [1]",
    );
    assert!(found.contains(&Class::Internal), "{found:?}");
}

#[test]
fn garbage_that_none_appended() {
    assert_eq!(classes("end: x [7]"), [Class::Garbage]);
}

#[test]
fn an_unknown_outcome_that_was_seen_is_a_commit() {
    let found = classes(
        "T1 unknown: read x [], append y 1
         T2: read y [1], append x 2
         end: x [2], y [1]",
    );
    assert_eq!(found, []);
    let found = classes(
        "T1 unknown: append x 1, append y 2
         T2: read x [1], read y []
         end: x [1], y [2]",
    );
    assert_eq!(found, [Class::G2]);
}

/// Many transactions are judged in a moment: lists are short, and the search goes over each edge once.
#[test]
fn many_transactions_are_judged_quickly() {
    let mut history = history("end: x []");
    for ordinal in 0..20_000 {
        let key = history.keys.len();
        if ordinal % 50 == 0 {
            history.keys.push(Key {
                name: format!("k{ordinal}"),
                deletable: false,
            });
            history.last.push(Version::List(Vec::new()));
        }
        let key = if ordinal % 50 == 0 { key } else { key - 1 };
        let Version::List(list) = &mut history.last[key] else {
            panic!("lists are there");
        };
        let before = list.clone();
        let element = Element::try_from(ordinal).unwrap();
        list.push(element);
        history.transactions.push(Transaction {
            name: Name { client: 0, ordinal },
            began: Duration::from_secs(ordinal * 2),
            ended: Duration::from_secs(ordinal * 2 + 3),
            outcome: Outcome::Committed,
            operations: vec![
                Operation::Read {
                    key,
                    version: Version::List(before),
                },
                Operation::Append { key, element },
            ],
        });
    }
    assert!(check(&history).is_empty());
}
