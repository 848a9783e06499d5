//! What holds for any trace, and what is said about a bad one.

use advisor::advise::TXNS_MIN;
use advisor::trace::{Reader, Trace};
use advisor::{Error, Options, advise, advise_on};
use partitions::Random;

use crate::tables::{events, orders};

fn written(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    trace.write(&mut out).unwrap();
    out
}

#[test]
fn the_same_trace_gives_the_same_advice_kept_or_streamed() {
    let trace = orders(30, true);
    let kept = advise(&trace, "orders", &Options::default()).unwrap();
    let bytes = written(&trace);
    let mut reader = Reader::new(bytes.as_slice()).unwrap();
    let streamed = advise_on(&mut reader, "ORDERS", &Options::default()).unwrap();
    assert_eq!(kept.text(), streamed.text());
    assert_eq!(kept.json(), streamed.json());
    assert_eq!(kept.svg(), streamed.svg());
    assert_eq!(kept.png(), streamed.png());
}

#[test]
fn figures_are_what_such_figures_can_be() {
    let trace = events(30, |random| random.below(20));
    let advice = advise(&trace, "events", &Options::default()).unwrap();
    assert_eq!(advice.keys.iter().filter(|one| one.is_current).count(), 1);
    assert!((1..=3).contains(&advice.best.len()));
    for judged in &advice.keys {
        let figures = &judged.figures;
        let name = &judged.name;
        for peak in [figures.grown, figures.recorded] {
            assert!(
                peak.low <= peak.value + 1e-9 && peak.value <= peak.high + 1e-9,
                "{name}"
            );
            assert!(peak.value > 0.0 && peak.high <= 1.0 + 1e-9, "{name}");
        }
        assert!(figures.partitions <= 1 + figures.splits, "{name}");
        assert!((0.0..=1.0).contains(&figures.single), "{name}");
        assert!(figures.per_read.partitions >= 1.0, "{name}");
        if judged.is_current {
            assert!((figures.ceiling - 1.0).abs() < 1e-9);
        }
    }
    let json: serde_json::Value = serde_json::from_str(&advice.json()).unwrap();
    assert_eq!(json["table"], "events");
    assert_eq!(json["keys"].as_array().unwrap().len(), advice.keys.len());
    let svg = advice.svg();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for words in [
        "last row",
        "first row",
        "15 s",
        "30 s",
        "now: (ts, userid)",
        "idle",
    ] {
        assert!(svg.contains(&format!(">{words}</text>")), "{words}");
    }
}

#[test]
fn reads_that_add_rows_up_go_over_as_many_as_those_that_show_them() {
    let shown = events(120, |random| random.below(100));
    let mut added = shown.clone();
    for op in added.txns.iter_mut().flat_map(|txn| &mut txn.ops) {
        op.found = None;
    }
    // The same of all rows, whatever the key is.
    let mut whole = added.clone();
    for op in whole.txns.iter_mut().flat_map(|txn| &mut txn.ops) {
        op.eq.clear();
    }
    let rows = |trace: &Trace, name: &str| {
        let advice = advise(trace, "events", &Options::default()).unwrap();
        let judged = advice.keys.iter().find(|judged| judged.name == name);
        judged.map(|judged| judged.figures.per_read.rows)
    };
    let near = |one: f64, two: f64| (one / two - 1.0).abs() < 0.1;
    for name in ["(userid, ts)", "(hash(userid), userid, ts)"] {
        let (one, two) = (rows(&shown, name).unwrap(), rows(&added, name).unwrap());
        assert!(near(one, two), "{name}: {one} shown, {two} added up");
    }
    let now = rows(&whole, "(ts, userid)").unwrap();
    let other = rows(&whole, "(hash(ts), ts, userid)").unwrap();
    assert!(near(now, other), "{now} now, {other} under another key");
}

#[test]
fn too_few_transactions_give_no_ranking() {
    let mut trace = orders(30, false);
    trace.txns.truncate(TXNS_MIN - 1);
    let error = advise(&trace, "orders", &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "299 recorded transactions touch table orders, and 300 are needed to rank its keys: record \
         for longer, or sample more"
    );
}

#[test]
fn an_unknown_table_is_named() {
    let trace = orders(1, false);
    let error = advise(&trace, "order", &Options::default()).unwrap_err();
    assert!(matches!(error, Error::NoSuchTable { .. }));
    assert_eq!(
        error.to_string(),
        "the trace has no table order; it has orders"
    );
    let error = advise(&Trace::default(), "orders", &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the trace has no table orders; it has none at all: nothing is recorded yet, and 300 \
         transactions are needed to rank the keys of a table"
    );
}

#[test]
fn broken_lines_are_told_with_the_advice() {
    let mut bytes = written(&orders(30, false));
    bytes.extend_from_slice(b"{\"txn\":{\"at_us\":1,\"ops\":[{\"s\":9}]}}\n{\"txn\":{\"at_us\":1");
    let mut reader = Reader::new(bytes.as_slice()).unwrap();
    let advice = advise_on(&mut reader, "orders", &Options::default()).unwrap();
    let text = advice.text();
    assert!(
        text.contains("2 lines of the trace could not be used:\n  line "),
        "{text}"
    );
    assert!(text.contains(": statement 9 is not there\n"), "{text}");
    assert!(text.contains("it is cut off"), "{text}");
}
