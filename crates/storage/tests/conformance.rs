//! Every engine passes the one suite.

use std::sync::Arc;

use proptest::prelude::*;
use storage::conformance::{compare_with_model, run};
use storage::{
    Engine, FaultyEngine, FjallEngine, FjallOptions, MemoryEngine, MemoryMedium, SpaceId,
};

#[test]
fn memory_conforms() {
    let medium = MemoryMedium::new();
    run(&mut || Arc::new(MemoryEngine::open(&medium)));
}

#[test]
fn memory_conforms_when_each_reopening_is_a_crash() {
    let medium = MemoryMedium::new();
    // Nothing of the suite leaves a space unsynced behind that it looks at after reopening.
    run(&mut || {
        medium.crash(0);
        Arc::new(MemoryEngine::open(&medium))
    });
}

#[test]
fn fjall_conforms() {
    let directory = tempfile::tempdir().unwrap();
    run(&mut || Arc::new(FjallEngine::open(directory.path(), FjallOptions::default()).unwrap()));
}

#[test]
fn fjall_conforms_with_memtables_that_overflow() {
    let directory = tempfile::tempdir().unwrap();
    let options = FjallOptions {
        memtable_bytes_max: 1_024,
        ..FjallOptions::default()
    };
    run(&mut || Arc::new(FjallEngine::open(directory.path(), options.clone()).unwrap()));
}

#[test]
fn faulty_conforms_without_faults() {
    let medium = MemoryMedium::new();
    run(&mut || Arc::new(FaultyEngine::new(Arc::new(MemoryEngine::open(&medium)))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn memory_equals_the_model(seed: u64) {
        let medium = MemoryMedium::new();
        let mut open = || -> Arc<dyn Engine> { Arc::new(MemoryEngine::open(&medium)) };
        compare_with_model(&mut open, SpaceId(1), seed, 200);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    #[test]
    fn fjall_equals_the_model(seed: u64) {
        let directory = tempfile::tempdir().unwrap();
        let options = FjallOptions { memtable_bytes_max: 1_024, ..FjallOptions::default() };
        let mut open = || -> Arc<dyn Engine> {
            Arc::new(FjallEngine::open(directory.path(), options.clone()).unwrap())
        };
        compare_with_model(&mut open, SpaceId(1), seed, 200);
    }
}
