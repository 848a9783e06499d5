//! Two hundred seeds, each on both placements, and ten on disk.
//!
//! Each test runs a share of the seeds and then checks that everything a history can hold has
//! happened in it: a simulator that has become harmless fails.

#![expect(clippy::panic, reason = "a test that cannot go on fails")]

use sim::{Coverage, Setting, run};

/// What must happen in any share of the seeds.
const ALWAYS: &[&str] = &[
    "a call that was told to come later",
    "a clock that went back",
    "a commit",
    "a commit refused for a row that was gone",
    "a commit refused for another of its group",
    "a commit that could not be tried",
    "a commit that was refused",
    "a commit whose outcome was open",
    "a crash that lost buffered commits",
    "a crash with commits in line",
    "a fault",
    "a group of several commits",
    "a group with an outcome that was open",
    "a kill",
    "a load past the journal",
    "a load past the journal whose outcome was open",
    "a load that met a row",
    "a merge",
    "a parent that had to stay",
    "a parent that went with its children",
    "a patch",
    "a power failure",
    "a power failure that lost a tail",
    "a read below an own patch",
    "a read of a replaced version",
    "a read of a replaced version that spilled",
    "a rollback to a savepoint",
    "a round that collected spilled versions",
    "a round that collected tombstones",
    "a row lock that came too late",
    "a row lock that was given up",
    "a row lock whose waiter was dropped",
    "a row that had to be there",
    "a scan that paused or stopped early",
    "a snapshot that moved forward",
    "a split",
    "a split in half",
    "a sync of everything",
    "a visit that stopped early behind an own row",
    "a wait for a row lock",
    "a wait in a circle",
    "an open outcome that proved to be a commit",
    "an open outcome that proved to be nothing",
    "an open that met a fault",
    "exact counters compared",
];

/// What must happen besides with an engine for each partition.
const SEPARATELY: &[&str] = &[
    "a commit across engines",
    "a coordinator that died having applied",
    "a coordinator that died having decided",
    "a coordinator that died having prepared",
    "a load as a transaction",
    "a load as a transaction whose outcome was open",
    "a snapshot refused for a reopened engine",
    "an engine that crashed alone",
    "an engine that crashed within a commit",
    "an engine that failed to reopen",
    "an engine that lost its tail alone",
    "an engine that was reopened",
];

fn run_all(seeds: std::ops::Range<u64>, setting: Setting) -> Coverage {
    let mut coverage = Coverage::default();
    for seed in seeds {
        match run(seed, setting, false) {
            Ok(report) => coverage.merge(&report.coverage),
            Err(failure) => panic!("{failure}"),
        }
    }
    println!("{setting}\n{coverage}");
    coverage
}

fn check(coverage: &Coverage, events: &[&str]) {
    for event in events {
        assert!(
            coverage.count(event) > 0,
            "this never happened: {event}\n{coverage}"
        );
    }
    let commits = coverage.count("a commit");
    let tried = commits + coverage.count("a commit that was refused");
    assert!(commits * 2 > tried, "most commits are refused\n{coverage}");
}

#[test]
fn a_shared_engine_first_half() {
    check(&run_all(0..100, Setting::Shared), ALWAYS);
}

#[test]
fn a_shared_engine_second_half() {
    check(&run_all(100..200, Setting::Shared), ALWAYS);
}

#[test]
fn separate_engines_first_half() {
    let coverage = run_all(0..100, Setting::Separate);
    check(&coverage, ALWAYS);
    check(&coverage, SEPARATELY);
}

#[test]
fn separate_engines_second_half() {
    let coverage = run_all(100..200, Setting::Separate);
    check(&coverage, ALWAYS);
    check(&coverage, SEPARATELY);
}

#[test]
fn an_engine_on_disk() {
    let coverage = run_all(0..10, Setting::Disk);
    let events = [
        "a clock that went back",
        "a commit",
        "a crash with commits in line",
        "a group of several commits",
        "a patch",
        "a snapshot that moved forward",
        "a split",
        "a merge",
        "a kill",
        "a load past the journal",
        "a load past the journal whose outcome was open",
        "a load that met a row",
        "a power failure that lost a tail",
        "a life with memtables that were flushed",
        "a life with tables that were compacted",
    ];
    check(&coverage, &events);
}

#[test]
fn one_seed_is_one_history() {
    for setting in [Setting::Shared, Setting::Separate] {
        for seed in 0..5 {
            let [one, two] = [(); 2].map(|()| run(seed, setting, false).ok());
            assert!(
                one.is_some() && one == two,
                "seed {seed} on {setting} has two histories"
            );
        }
    }
}
