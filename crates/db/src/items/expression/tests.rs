//! Expressions as a person can read them, and what holds for every text.
//!
//! `golden/items/expressions.txt` is a list of commands, each with what it gives below it:
//!
//! ```text
//!   item UPDATE       begins with an empty item and updates it
//!   system UPDATE     what the server knows about the item
//!   where CONDITION   true, false or an error
//!   set UPDATE        the item after it
//!   value EXPRESSION  its value
//! ```

use std::fmt::Write;
use std::path::Path;

use keys::{Attribute, Item, ItemView};
use proptest::prelude::*;

use super::evaluate::evaluate;
use super::value::Value;
use super::{Condition, DEPTH_MAX, LIST_MAX, OPERATORS_MAX, Plain, Update};
use crate::items::expression::error::{Error, Result};

#[test]
fn expressions_give_what_the_golden_file_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/items/expressions.txt");
    let written = std::fs::read_to_string(&path).unwrap();
    let found = conversation(&written);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        found, written,
        "expressions.txt differs: rewrite it with UPDATE_GOLDEN=1 if that is meant"
    );
}

fn conversation(written: &str) -> String {
    let (mut item, mut system) = (Item::new(), Item::new());
    let mut found = String::new();
    for line in written.lines().filter(|line| !line.starts_with("  ")) {
        writeln!(found, "{line}").unwrap();
        let (command, text) = line.split_once(' ').unwrap_or((line, ""));
        let answer = match command {
            "item" => {
                (item, system) = (Item::new(), Item::new());
                update(&mut item, &system, text).map(|()| None)
            }
            "system" => {
                let text = text.replace("__", "sys");
                let mut named = Item::new();
                let answer = update(&mut named, &system, &text);
                system = named
                    .into_iter()
                    .map(|(name, value)| (name.replace("sys", "__"), value))
                    .collect();
                answer.map(|()| None)
            }
            "where" => Condition::parse(text)
                .and_then(|condition| condition.holds(&(&item, &system)))
                .map(|holds| Some(holds.to_string())),
            "set" => update(&mut item, &system, text).map(|()| Some(shown(&item))),
            "value" => value(text, &item).map(|value| Some(value.to_string())),
            "" | "#" => Ok(None),
            _ => panic!("no such command: {line}"),
        };
        match answer {
            Ok(Some(answer)) => writeln!(found, "  {answer}").unwrap(),
            Ok(None) => {}
            Err(error) => writeln!(found, "  error: {error}").unwrap(),
        }
    }
    found
}

fn update(item: &mut Item, system: &Item, text: &str) -> Result<()> {
    Update::parse(text)?.apply(item, system)
}

fn value(text: &str, item: &Item) -> Result<Value> {
    let condition = Condition::parse(text)?;
    Ok(evaluate(&condition.root.unwrap(), &Plain(item))?)
}

fn shown(item: &Item) -> String {
    if item.is_empty() {
        return "(no attributes)".to_owned();
    }
    let attributes: Vec<String> = item
        .iter()
        .map(|(name, attribute)| format!("{name} = {}", Value::from(attribute.clone())))
        .collect();
    attributes.join("; ")
}

fn holds(text: &str) -> Result<bool> {
    Condition::parse(text)?.holds(&Item::new())
}

#[test]
fn limits_are_exact() {
    let sum = |operators: usize| format!("0{} == 0", "+0".repeat(operators - 1));
    assert_eq!(holds(&sum(OPERATORS_MAX)), Ok(true));
    let limit = OPERATORS_MAX;
    assert_eq!(
        holds(&sum(OPERATORS_MAX + 1)),
        Err(Error::OperatorsTooMany { limit })
    );

    let list = |values: usize| format!("1 in ({}1)", "0,".repeat(values - 1));
    assert_eq!(holds(&list(LIST_MAX)), Ok(true));
    assert_eq!(
        holds(&list(LIST_MAX + 1)).unwrap_err().to_string(),
        "expression, character 6: expected a list of 1 to 1024 values, found one of 1025"
    );

    let padded = |bytes: usize| format!("1==1{}", " ".repeat(bytes - 4));
    assert_eq!(holds(&padded(65_536)), Ok(true));
    assert_eq!(
        holds(&padded(65_537)).unwrap_err().to_string(),
        "expression of 65537 bytes is above the limit of 65536 bytes"
    );

    let nested = |depth: usize| format!("{}true{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(holds(&nested(DEPTH_MAX)), Ok(true));
    assert_eq!(
        holds(&nested(DEPTH_MAX + 1)).unwrap_err().to_string(),
        "expression, character 52: nested deeper than 50 levels"
    );
}

#[test]
fn nothing_nests_deeper_than_the_stack() {
    for opening in [
        "(",
        "not ",
        "-",
        "~",
        "a[",
        "a[0..",
        "min(",
        "if_else(1, 2, ",
        "1 in (",
        "a or b and c == d | e ^ f & g << h + i * (",
    ] {
        let text = opening.repeat(4000 / opening.len());
        assert!(
            matches!(Condition::parse(&text), Err(Error::TooDeep { .. })),
            "{opening}"
        );
    }
    let brackets = format!("a{}", "[0]".repeat(100));
    assert!(matches!(
        Condition::parse(&brackets),
        Err(Error::TooDeep { .. })
    ));
    // As deep as operators and parentheses allow together, and every level of binding in between.
    let step = "0 or 1 and 0 == 0 | 0 ^ 0 & 0 << 0 + 1 * (";
    let deep = format!("{}1{}", step.repeat(DEPTH_MAX), ")".repeat(DEPTH_MAX));
    assert!(holds(&deep).is_ok());
    let printed = Condition::parse(&deep).unwrap().to_string();
    assert_eq!(Condition::parse(&printed).unwrap().to_string(), printed);
}

#[test]
fn a_failed_update_changes_nothing() {
    let mut item = Item::new();
    update(&mut item, &Item::new(), "a = 1; b = 2").unwrap();
    let before = item.clone();
    let error = update(&mut item, &Item::new(), "a = 5; remove b; c = missing + 1").unwrap_err();
    assert_eq!(
        error.to_string(),
        "expression, character 22: `missing` does not exist in the item"
    );
    assert_eq!(item, before);
}

#[test]
fn conditions_read_stored_items_in_place() {
    let bytes = some_item().encode().unwrap();
    let view = ItemView::new(&bytes).unwrap();
    let condition = Condition::parse("a == 5 and arr[1] == 0 and not exists(c)").unwrap();
    assert_eq!(condition.holds(&view), Ok(true));
    let known = Item::from_iter([("c".to_owned(), Attribute::Bool(true))]);
    assert_eq!(condition.holds(&(view, &known)), Ok(false));
    // The value of `b` is damaged, and only a condition that asks for it notices.
    let at = bytes.windows(4).position(|four| four == b"text").unwrap();
    let mut damaged = bytes;
    damaged[at] = 0xff;
    let view = ItemView::new(&damaged).unwrap();
    assert_eq!(condition.holds(&view), Ok(true));
    let condition = Condition::parse("b == 'text'").unwrap();
    assert!(matches!(condition.holds(&view), Err(Error::Keys(_))));
}

#[test]
fn texts_cannot_be_doubled_without_end() {
    let text = format!("a = 'x'; {}", "a = a + a; ".repeat(100));
    let error = update(&mut Item::new(), &Item::new(), &text).unwrap_err();
    assert!(
        error.to_string().contains("fits in no attribute"),
        "{error}"
    );
    let text = format!("a = init_array(1000, 'int'); {}", "a = a + a; ".repeat(100));
    let error = update(&mut Item::new(), &Item::new(), &text).unwrap_err();
    assert!(
        error.to_string().contains("fits in no attribute"),
        "{error}"
    );
}

/// Texts that are often expressions and always nearly so.
fn any_text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "a",
        "b",
        "arr",
        "`set`",
        "flag",
        "1",
        "0",
        "2.5",
        "1e300",
        "-",
        "+",
        "*",
        "/",
        "(",
        ")",
        "[",
        "]",
        "..",
        ",",
        ";",
        "=",
        "==",
        "!=",
        "<",
        ">=",
        "and",
        "OR",
        "not",
        "in",
        "in (",
        "'x'",
        "\"y\"",
        "true",
        "5:7",
        "min(",
        "max(",
        "exists(",
        "if_else(",
        "init_array(3, 'int')",
        "blob('AA==')",
        "~",
        "&",
        "|",
        "^",
        "<<",
        ">>",
        "inf",
        "nan",
        "set",
        "remove",
        "delete(",
        "find(",
        "sum(",
        "arr[",
        "a",
        "1",
        ")",
        ")",
        "'",
        "é",
        "9223372036854775807",
    ]);
    prop::collection::vec(words, 0..30).prop_map(|words| words.join(" "))
}

/// Expressions, whole ones.
fn any_expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a",
        "b",
        "arr",
        "flag",
        "`not`",
        "`x-y`",
        "0",
        "1",
        "-7",
        "2.5",
        "-0.0",
        "1e300",
        "'x'",
        "\"it's\"",
        "true",
        "False",
        "5:7",
        "-5:7",
        "inf",
        "-inf",
        "nan",
        "maxdbl",
        "-9223372036854775808",
        "9223372036854775808",
        "-(5)",
        "- -5",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(5, 40, 4, |inner| {
        let operator = prop::sample::select(vec![
            "+", "-", "*", "/", "==", "!=", "<", ">", "<=", ">=", "and", "or", "&", "|", "^", "<<",
            ">>",
        ]);
        let call = prop::sample::select(vec!["min", "max", "starts", "psum", "find", "contains"]);
        let sign = prop::sample::select(vec!["-", "+", "~", "not "]);
        prop_oneof![
            (inner.clone(), operator, inner.clone())
                .prop_map(|(a, o, b)| format!("({a}) {o} ({b})")),
            (call, inner.clone(), inner.clone()).prop_map(|(f, a, b)| format!("{f}({a}, {b})")),
            (sign, inner.clone()).prop_map(|(sign, a)| format!("{sign}({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) in ({b}, 1)")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("arr[{a}..{b}]")),
        ]
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the double was an integer of 64 bits"
)]
fn exact(double: f64) -> i128 {
    double as i128
}

fn some_item() -> Item {
    let mut item = Item::new();
    let text = "a = 5; b = 'text'; arr = init_array(3, 'int'); flag = true; t = 5:7";
    update(&mut item, &Item::new(), text).unwrap();
    item.set("x-y", Attribute::Double(1.5));
    item
}

proptest! {
    #[test]
    fn no_text_panics(text in ".*", nearly in any_text()) {
        for text in [text, nearly] {
            if let Ok(condition) = Condition::parse(&text) {
                let _ = condition.holds(&some_item());
            }
            if let Ok(update) = Update::parse(&text) {
                let _ = update.apply(&mut some_item(), &Item::new());
            }
        }
    }

    #[test]
    fn what_is_printed_reads_back_the_same(expression in any_expression()) {
        let condition = Condition::parse(&expression).unwrap();
        let printed = condition.to_string();
        let again = Condition::parse(&printed).unwrap();
        prop_assert_eq!(again.to_string(), printed);
        let (again, first) = (again.holds(&some_item()), condition.holds(&some_item()));
        prop_assert_eq!(again.ok(), first.ok());

        let update = Update::parse(&format!("set c = {expression}; remove `b`")).unwrap();
        let printed = update.to_string();
        let again = Update::parse(&printed).unwrap();
        prop_assert_eq!(again.to_string(), printed);
    }

    #[test]
    fn integers_and_doubles_compare_exactly(integer in any::<i64>(), near in -3..=3_i64) {
        let double = integer.saturating_add(near) as f64;
        let text = keys::attribute::format_double(double);
        let exact = i128::from(integer).cmp(&exact(double));
        for (operator, expected) in [
            ("==", exact.is_eq()),
            ("!=", exact.is_ne()),
            ("<", exact.is_lt()),
            (">=", exact.is_ge()),
        ] {
            prop_assert_eq!(holds(&format!("{integer} {operator} {text}")), Ok(expected));
        }
    }
}
