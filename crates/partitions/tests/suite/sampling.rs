//! Laws of the reservoir: fair estimates, fading, and whole footprints.

use partitions::{Access, AccessKind, Footprint, Samples};
use storage::env::SeededRandom;

use crate::maps::key;

#[test]
fn samples_estimate_the_load_of_a_group_within_a_tenth() {
    let random = SeededRandom::new(3);
    let mut samples = Samples::new();
    for txn in 0..50_000_u64 {
        // One in ten transactions is heavy: key 1 makes 10 * 1 of 10 * 1 + 9 * 1 parts.
        let (number, cost) = if txn % 10 == 0 { (1, 90) } else { (2, 10) };
        let access = Access {
            kind: AccessKind::Read,
            key: key(number),
            upper: None,
            cost,
        };
        let footprint = Footprint {
            txn,
            multi_partition: false,
            accesses: vec![access],
        };
        samples.offer(footprint, 0, &random);
    }
    let kept = samples.in_order(0);
    assert_eq!(kept.len(), partitions::samples::SAMPLES_MAX);
    assert!(
        kept.windows(2)
            .all(|pair| pair[0].footprint.txn < pair[1].footprint.txn)
    );
    let total: f64 = kept.iter().map(|sample| sample.weight).sum();
    let heavy = kept
        .iter()
        .filter(|sample| sample.footprint.accesses[0].cost == 90);
    let heavy: f64 = heavy.map(|sample| sample.weight).sum();
    assert!((total / 900_000.0 - 1.0).abs() < 0.15, "{total}");
    assert!((heavy / total - 0.5).abs() < 0.1, "{heavy} of {total}");
}

#[test]
fn samples_fade_with_their_half_life() {
    let random = SeededRandom::new(3);
    let mut samples = Samples::new();
    let footprint = |txn, number| {
        let access = Access {
            kind: AccessKind::Read,
            key: key(number),
            upper: None,
            cost: 8,
        };
        Footprint {
            txn,
            multi_partition: false,
            accesses: vec![access],
        }
    };
    samples.offer(footprint(1, 1), 0, &random);
    samples.offer(
        footprint(2, 2),
        2 * partitions::samples::HALF_LIFE_US,
        &random,
    );
    let kept = samples.in_order(2 * partitions::samples::HALF_LIFE_US);
    let weights: Vec<f64> = kept.iter().map(|sample| sample.weight.round()).collect();
    assert_eq!(weights, [2.0, 8.0]);
}

#[test]
fn a_large_footprint_keeps_its_extremes_and_its_cost() {
    let accesses = (0..200_u8).map(|number| Access {
        kind: AccessKind::Write,
        key: key(number.wrapping_mul(83)),
        upper: None,
        cost: 2,
    });
    let accesses: Vec<Access> = accesses.collect();
    let (lowest, highest) = (
        accesses.iter().map(|a| &a.key).min(),
        accesses.iter().map(|a| &a.key).max(),
    );
    let mut samples = Samples::new();
    let footprint = Footprint {
        txn: 1,
        multi_partition: false,
        accesses: accesses.clone(),
    };
    samples.offer(footprint, 0, &SeededRandom::new(1));
    let kept = samples.in_order(0);
    let kept = &kept[0].footprint.accesses;
    assert!(kept.len() <= partitions::samples::ACCESSES_MAX);
    assert_eq!(kept.iter().map(|one| &one.key).min(), lowest);
    assert_eq!(kept.iter().map(|one| &one.key).max(), highest);
    assert_eq!(kept.iter().map(|one| one.cost).sum::<u32>(), 400);
}
