//! The advice of the documents, given by the advisor. `golden/advise/` holds what it says; rewrite it
//! with `UPDATE_GOLDEN=1` and read the difference.

use std::path::Path;
use std::{env, fs};

use advisor::trace::Trace;
use advisor::{Advice, Options, advise};
use partitions::Random;

use crate::tables::{events, orders};

fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden/advise")
        .join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "now it is:\n{text}");
}

fn told(trace: &Trace, table: &str, name: &str) -> Advice {
    let advice = advise(trace, table, &Options::default()).unwrap();
    golden(name, &advice.text());
    advice
}

fn place(advice: &Advice, name: &str) -> usize {
    let names: Vec<&str> = advice.keys.iter().map(|one| one.name.as_str()).collect();
    let place = names.iter().position(|one| *one == name);
    place.unwrap_or_else(|| panic!("{name} is not among {names:?}"))
}

#[test]
fn events_go_by_user_and_not_by_time() {
    let trace = events(300, |random| random.below(500));
    let advice = told(&trace, "events", "events.txt");
    let now = place(&advice, "(ts, userid)");
    assert!(advice.keys[now].is_current);
    assert!(place(&advice, "(userid, ts)") < now);
    assert!(place(&advice, "(hash(userid), userid, ts)") < now);
    assert_eq!(advice.best().next().unwrap().name, "(userid, ts)");
    assert_eq!(advice.keys[now].figures.refusal_name, Some("Tail"));
}

#[test]
fn a_few_users_who_dominate_want_buckets() {
    let trace = events(300, |random| match random.below(10) {
        0..=7 => random.below(3),
        _ => 3 + random.below(500),
    });
    let advice = told(&trace, "events", "dominant_users.txt");
    let best = advice.best().next().unwrap();
    assert!(
        best.name.contains("%") || best.name.contains("buckets"),
        "{}",
        best.name
    );
}

#[test]
fn counted_orders_want_a_hash() {
    let trace = orders(300, false);
    let advice = told(&trace, "orders", "orders.txt");
    let best = advice.best().next().unwrap();
    assert_eq!(best.name, "(hash(order_id), order_id)");
    assert!(best.ddl.create.contains("Digest::NumericHash(order_id)"));
}

#[test]
fn counted_orders_that_are_listed_want_buckets() {
    let trace = orders(300, true);
    let advice = told(&trace, "orders", "orders_listed.txt");
    assert!(advice.best().any(|one| one.name.contains("buckets")));
}
