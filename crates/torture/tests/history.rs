//! A short run of the kind `history` against the program that the workspace builds.

#![cfg(test)]

use std::path::PathBuf;
use std::time::Duration;

use torture::Options;
use torture::history::{Shape, torture};

/// How long clients go on.
const DURATION: Duration = Duration::from_secs(15);

/// The program `evenkeel`, which lies beside the folder of the tests.
fn server() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().and_then(|deps| deps.parent()).unwrap();
    let server = folder.join("evenkeel");
    assert!(
        server.exists(),
        "{} is not there: build it with `cargo build --package server`",
        server.display()
    );
    server
}

#[test]
fn what_many_clients_see_has_an_order() {
    let report = torture(&Options {
        duration: DURATION,
        seed: 1,
        server: server(),
        keep: None,
    })
    .unwrap();
    println!("{}", report.coverage);
    for anomaly in &report.examples {
        println!("{}: {}", anomaly.class, anomaly.text);
    }
    assert!(report.anomalies.is_empty(), "{:?}", report.anomalies);
    assert!(report.unexpected.is_empty(), "{:?}", report.unexpected);
    for shape in Shape::ALL {
        let count = report.coverage.of_shape(shape);
        assert!(count > 0, "no transaction was of the shape `{shape}`");
    }
    assert!(report.coverage.multi_partition > 0);
    assert!(report.coverage.refused.contains_key("40001"));
}
