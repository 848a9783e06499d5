//! A database on disk whose process is killed again and again keeps all it acknowledged.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use db::{Database, Direction, Range, Value};
use sim::torture::{COUNTERS, COUNTERS_TABLE, ENTRIES_TABLE, number};
use storage::env::{Random, SystemRandom};

const ROUNDS: usize = 6;

/// A round is killed after at most this many acknowledgements.
const LINES_MAX: u64 = 400;

/// What was acknowledged: counter and number, and the thread that did it.
type Acknowledged = BTreeMap<(u64, u64), u64>;

/// Lets the victim count until it has acknowledged so many, kills it, and reads what else it said.
fn torture(path: &Path, lines: u64, acknowledged: &mut Acknowledged) {
    let mut victim = Command::new(env!("CARGO_BIN_EXE_torture"))
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(victim.stdout.take().unwrap()).lines();
    let mut heed = |line: String| {
        let words: Option<Vec<u64>> = line.split(' ').map(|word| word.parse().ok()).collect();
        // The kill may have cut the last line short.
        if let Some([counter, n, thread]) = words.as_deref() {
            let before = acknowledged.insert((*counter, *n), *thread);
            assert_eq!(before, None, "{counter} reached {n} twice");
        }
    };
    for line in said.by_ref().take(usize::try_from(lines).unwrap()) {
        heed(line.unwrap());
    }
    victim.kill().unwrap();
    for line in said {
        heed(line.unwrap());
    }
    victim.wait().unwrap();
}

/// Checks the tables against each other and against what was acknowledged.
fn judge(path: &Path, acknowledged: &Acknowledged) {
    let database = Database::open(path).unwrap();
    let snapshot = database.snapshot();
    let (Ok(counters), Ok(entries)) = (
        database.table(COUNTERS_TABLE),
        database.table(ENTRIES_TABLE),
    ) else {
        assert!(acknowledged.is_empty(), "the tables are gone");
        return;
    };
    for counter in 0..COUNTERS {
        let key = [Value::Uint64(counter)];
        let row = snapshot.get(&counters, &key).unwrap();
        let reached = row.map_or(0, |row| number(&row, 1));
        let rows = snapshot.scan(&entries, &Range::prefix(&key), Direction::Ascending);
        let rows: Vec<_> = rows.unwrap().map(|row| row.unwrap()).collect();
        let numbers: Vec<u64> = rows.iter().map(|row| number(row, 1)).collect();
        assert_eq!(
            numbers,
            (1..=reached).collect::<Vec<_>>(),
            "entries of {counter}"
        );
        let of_counter = acknowledged.range((counter, 0)..(counter + 1, 0));
        for ((_, n), thread) in of_counter {
            let row = rows.get(usize::try_from(*n).unwrap() - 1);
            let kept = row.map(|row| number(row, 2));
            assert_eq!(
                kept,
                Some(*thread),
                "{counter} reached {n}, acknowledged to {thread}"
            );
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_by_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let random = SystemRandom::new();
    let mut acknowledged = Acknowledged::new();
    for _ in 0..ROUNDS {
        torture(directory.path(), random.below(LINES_MAX), &mut acknowledged);
        judge(directory.path(), &acknowledged);
    }
    assert!(
        !acknowledged.is_empty(),
        "the victim did nothing in {ROUNDS} rounds"
    );
}
