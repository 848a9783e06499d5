//! A short run of the kind `disk`, and proof that its judge sees a medium that breaks its word.

#![cfg(test)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use storage::env::{Random, SeededRandom, SystemRandom};
use torture::disk::children::End;
use torture::disk::crash::{Loss, crash};
use torture::disk::judge::{self, Fault, Window};
use torture::disk::life::{Life, Orders, Recorder, Seeds};
use torture::disk::log::Kind;
use torture::{Options, disk};

/// Enough for one round of everything.
const DURATION: Duration = Duration::from_secs(5);

/// Crash states of a medium that breaks its word, one of which must be found out at least.
const BROKEN_STATES: u64 = 12;

fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_torture").into()
}

#[test]
fn mistreated_disks_are_survived_or_told() {
    let options = Options {
        duration: DURATION,
        seed: SystemRandom::new().below(1 << 32),
        server: PathBuf::new(),
        keep: None,
    };
    println!("seed {}", options.seed);
    let tally = disk::torture(&options, &program()).unwrap();
    println!("{tally}");
    assert!(tally.states > 0 && tally.flips > 0 && tally.faults > 0);
    assert!(tally.is_sound(), "the lines above say what is wrong");
}

/// A short life without faults.
fn lived(folder: &Path) -> Life {
    let recorder = Recorder::build(folder, &program()).unwrap();
    let place = folder.join("life");
    let seeds = Seeds {
        seed: 7,
        steps: 60,
        count: 60,
        window: Window { low: 0, high: 0 },
        number: 0,
    };
    let end = Life::record(&place, seeds, &recorder, &Orders::default()).unwrap();
    assert_eq!(end, End::Finished);
    Life::load(&place).unwrap()
}

/// Judges some crash states near the end of a life; the answer is how many are wrong.
fn wrong(life: &Life, folder: &Path, loss: Loss) -> u64 {
    let random = SeededRandom::new(1);
    let count = u64::try_from(life.records.len()).unwrap();
    let mut places: Vec<usize> = (0..BROKEN_STATES)
        .map(|_| usize::try_from(count / 3 + random.below(count * 2 / 3)).unwrap())
        .collect();
    places.sort_unstable();
    let mut wrong = 0;
    life.replay(&places, |index, medium, progress| {
        let place = folder.join(format!("state-{index}"));
        crash(medium, loss, &random).write(&place).unwrap();
        let window = life.window(loss, progress);
        match judge::judge(&place, &life.plan, window) {
            Ok(_) => {}
            Err(Fault::Lost(text) | Fault::Wrong(text)) => {
                println!("found: {text}");
                wrong += 1;
            }
        }
    });
    wrong
}

#[test]
fn a_medium_that_keeps_its_word_is_right_whenever_the_process_ends() {
    let folder = tempfile::tempdir().unwrap();
    let life = lived(folder.path());
    assert_eq!(wrong(&life, folder.path(), Loss::Ended), 0);
}

#[test]
fn a_medium_that_forgets_its_syncs_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = lived(folder.path());
    life.records.retain(|record| record.kind != Kind::Sync);
    assert!(wrong(&life, folder.path(), Loss::Ordered) > 0);
}

#[test]
fn a_medium_that_loses_a_write_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut life = lived(folder.path());
    let mut writes = 0;
    life.records.retain(|record| {
        writes += u64::from(record.kind == Kind::Write && !record.data.is_empty());
        record.kind != Kind::Write || writes % 20 != 10
    });
    assert!(wrong(&life, folder.path(), Loss::Ended) > 0);
}
