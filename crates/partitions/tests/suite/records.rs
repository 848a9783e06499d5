//! Laws of records and counters: they read back, damage is an error, and deltas add up.

use bytes::Bytes;
use partitions::spaces::DESCRIPTOR_PREFIX;
use partitions::{Counters, Counts, Delta, Descriptor, Kind, PartitionId, Share, TableId, Totals};
use proptest::prelude::*;
use storage::{EngineId, KeyRange};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_descriptor_reads_back_and_a_damaged_one_never_panics(
        lower in any::<Vec<u8>>(),
        upper in proptest::option::of(any::<Vec<u8>>()),
        numbers in any::<[u64; 5]>(),
        damage in any::<(prop::sample::Index, u8)>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let range = KeyRange { lower: lower.into(), upper: upper.map(Bytes::from) };
        prop_assume!(!range.is_empty());
        let [id, table, generation, engine, created_us] = numbers;
        let descriptor = Descriptor {
            id: PartitionId(id), table: TableId(table), range, generation,
            engine: EngineId(engine), created_us, kind: Kind::Plain,
        };
        let (key, value) = (descriptor.key(), descriptor.encode());
        prop_assert_eq!(&Descriptor::decode(&key, &value).unwrap(), &descriptor);
        let cut = cut.index(value.len());
        prop_assert!(Descriptor::decode(&key, &value[..cut]).is_err());
        let mut damaged = value.to_vec();
        let at = damage.0.index(damaged.len());
        damaged[at] ^= damage.1;
        let _ = Descriptor::decode(&key, &damaged).map(|read| assert_eq!(read.encode(), damaged));
    }

    #[test]
    fn arbitrary_bytes_are_an_error_that_names_the_record(bytes in any::<Vec<u8>>()) {
        let id = PartitionId(9);
        let decoded = Counts::decode(id, &bytes).map(|counts| counts.encode());
        match decoded {
            Ok(encoded) => prop_assert_eq!(encoded, bytes.clone()),
            Err(error) => prop_assert!(error.to_string().starts_with("the counters of partition 9")),
        }
        let descriptor = [DESCRIPTOR_PREFIX, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9];
        if let Err(error) = Descriptor::decode(&descriptor, &bytes) {
            let expected = "the descriptor of partition 9 of table 1 is damaged";
            prop_assert!(error.to_string().starts_with(expected), "{}", error);
        }
        let _ = Descriptor::decode(&bytes, &bytes).map(|read| assert_eq!(read.key(), bytes));
    }

    #[test]
    fn counters_add_up_through_splits_recounts_and_records(
        deltas in proptest::collection::vec((-50..100_i64, -500..1000_i64, 0..3_i64), 1..30),
        split_after in any::<prop::sample::Index>(),
    ) {
        let counters = Counters::new(Counts::empty());
        let mut truth = Totals { rows: 10_000, bytes: 100_000, tombstones: 5 };
        counters.apply(&Delta { rows: 10_000, bytes: 100_000, tombstones: 5, commit: 1 });
        let at = split_after.index(deltas.len());
        let mut counters = counters;
        let mut base = truth;
        for (number, (rows, bytes, tombstones)) in deltas.into_iter().enumerate() {
            if number == at {
                // Everything happens to lie left of the split; the estimate says a third.
                let (left, _) = counters.counts().split(Share::percent(33));
                counters = Counters::new(left);
                base = truth;
            }
            let commit = u64::try_from(number).unwrap() + 2;
            counters.apply(&Delta { rows, bytes, tombstones, commit });
            truth.rows = truth.rows.checked_add_signed(rows).unwrap();
            truth.bytes = truth.bytes.checked_add_signed(bytes).unwrap();
            truth.tombstones = truth.tombstones.checked_add_signed(tombstones).unwrap();
            let counts = counters.counts();
            prop_assert_eq!(Counts::decode(PartitionId(1), &counts.encode()).unwrap(), counts);
        }
        let since = counters.counts().count_since();
        prop_assert!(!counters.counts().exact());
        prop_assert!(!counters.set_exact(since + 1, base), "a count nobody asked for");
        prop_assert!(counters.set_exact(since, base));
        prop_assert_eq!(counters.counts().totals(), truth);
    }
}

#[test]
fn a_recount_after_a_crash_begins_at_the_last_commit() {
    let (left, _) = {
        let counters = Counters::new(Counts::empty());
        counters.apply(&Delta {
            rows: 10,
            bytes: 100,
            tombstones: 0,
            commit: 5,
        });
        counters.counts().split(Share::HALF)
    };
    let counters = Counters::new(left);
    counters.apply(&Delta {
        rows: 3,
        bytes: 30,
        tombstones: 0,
        commit: 8,
    });
    let record = counters.counts().encode();

    let reloaded = Counters::new(Counts::decode(PartitionId(2), &record).unwrap());
    assert!(!reloaded.counts().exact());
    let late = reloaded.counts().count_since();
    let since = reloaded.begin_recount();
    assert_eq!((late, since), (5, 8));
    reloaded.apply(&Delta {
        rows: 1,
        bytes: 10,
        tombstones: 0,
        commit: 9,
    });
    assert!(
        !reloaded.set_exact(late, Totals::default()),
        "the count of the dead process"
    );
    assert!(reloaded.set_exact(
        since,
        Totals {
            rows: 9,
            bytes: 90,
            tombstones: 0
        }
    ));
    assert_eq!(
        reloaded.counts().totals(),
        Totals {
            rows: 10,
            bytes: 100,
            tombstones: 0
        }
    );
}

#[test]
fn merging_exact_counters_is_exact_and_one_estimate_makes_an_estimate() {
    let counts = |rows| {
        let counters = Counters::new(Counts::empty());
        counters.apply(&Delta {
            rows,
            bytes: rows,
            tombstones: 1,
            commit: 3,
        });
        counters.counts()
    };
    let merged = Counts::merge([counts(3), counts(4)]);
    assert!(merged.exact());
    assert_eq!(
        merged.totals(),
        Totals {
            rows: 7,
            bytes: 7,
            tombstones: 2
        }
    );
    let (left, _) = counts(4).split(Share::HALF);
    assert!(!Counts::merge([counts(3), left]).exact());
    assert!(
        Counts::empty().split(Share::HALF).0.exact(),
        "halves of nothing are counted"
    );
}
