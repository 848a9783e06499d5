//! Laws that hold for every text: no panic, spans that fit, errors that point into the text.

use proptest::prelude::*;
use syntax::{Kind, Span, parse_each};

use super::golden::all_texts;
use super::print::print;

/// What must hold of any text whatsoever.
fn check(text: &str) {
    let printed = print(text);
    assert!(printed.is_empty() || printed.ends_with('\n'));
    let (number, folded) = syntax::fingerprint(text);
    assert_eq!(syntax::fingerprint(text), (number, folded));
    match parse_each(text) {
        Err(error) => assert!(error.position().offset <= text.len()),
        Ok(statements) => {
            let mut end = 0;
            for statement in statements {
                match statement {
                    Err(error) => assert!(error.position().offset <= text.len()),
                    Ok(statement) => {
                        fits(text, statement.span);
                        assert!(statement.span.start >= end, "statements follow one another");
                        end = statement.span.end;
                        check_names(text, &statement.kind);
                    }
                }
            }
        }
    }
}

fn fits(text: &str, span: Span) {
    assert!(span.start < span.end, "{span:?} is empty");
    assert!(
        text.get(span.start..span.end).is_some(),
        "{span:?} does not fit the text"
    );
}

fn check_names(text: &str, kind: &Kind) {
    if let Kind::CreateTable(table) = kind {
        fits(text, table.name.span);
        for column in &table.columns {
            fits(text, column.name.span);
            fits(text, column.type_span);
        }
        if let Some(key) = &table.primary_key {
            fits(text, key.span);
            key.columns.iter().for_each(|part| fits(text, part.span));
        }
        for option in &table.options {
            fits(text, option.name.span);
            fits(text, option.value_span);
        }
    }
}

/// Words and marks that statements are made of, more likely to get far than letters.
fn piece() -> impl Strategy<Value = String> {
    let words = proptest::sample::select(vec![
        "SELECT",
        "FROM",
        "WHERE",
        "UPSERT",
        "REPLACE",
        "INSERT",
        "INTO",
        "VALUES",
        "CREATE",
        "TABLE",
        "ALTER",
        "PRIMARY",
        "KEY",
        "INDEX",
        "GLOBAL",
        "ON",
        "WITH",
        "SET",
        "DECLARE",
        "$x",
        "$1",
        "AS",
        "Uint64",
        "List<Utf8>",
        "(",
        ")",
        ",",
        ";",
        "=",
        "::",
        "Digest::NumericHash(",
        "1ul",
        "'a'u",
        "\"b\"",
        "`c`",
        "`.sys/x`",
        "VIEW",
        "t",
        "a",
        ".",
        "*",
        "+",
        "SPLIT",
        "AT",
        "MERGE",
        "PARTITIONS",
        "USING",
        "HASH",
        "TTL",
        "Interval(\"PT1H\")",
        "PRAGMA",
        "EXPLAIN",
        "COPY",
        "STDIN",
        "DEFAULT",
        "NOT",
        "NULL",
        "IN",
        "GENERATED",
        "ALWAYS",
        "STORED",
        "0x1F",
        "é",
        "--!syntax_v1\n",
        "\n",
    ]);
    prop_oneof![9 => words.prop_map(str::to_owned), 1 => ".{0,4}"]
}

/// A valid text with one stretch replaced by something else.
fn mutated() -> impl Strategy<Value = String> {
    let texts = proptest::sample::select(all_texts());
    (texts, any::<prop::sample::Index>(), 0_usize..12, piece()).prop_map(
        |(text, at, length, piece)| {
            let chars: Vec<char> = text.chars().collect();
            let at = at.index(chars.len() + 1);
            let before: String = chars.iter().take(at).collect();
            let after: String = chars.iter().skip(at + length).collect();
            format!("{before}{piece}{after}")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_answered(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn words_in_any_order_are_answered(pieces in prop::collection::vec(piece(), 0..30)) {
        check(&pieces.join(" "));
    }

    #[test]
    fn mutated_statements_are_answered(text in mutated()) {
        check(&text);
    }
}

/// Places in sqlparser's trees are bytes of the text, whatever stands before them.
#[test]
fn spans_of_trees_are_bytes() {
    let text = "SELECT 1;\n/* ü */ SELECT 'é', b\nFROM \"ß\" WHERE ö = 5ul";
    let statements = syntax::parse(text).unwrap();
    let Some(Kind::Query(query)) = statements.get(1).map(|statement| &statement.kind) else {
        panic!("{statements:?}");
    };
    let Some(select) = query.query.body.as_select() else {
        panic!("{query:?}");
    };
    let items: Vec<&str> = select
        .projection
        .iter()
        .map(|item| Span::of(item).slice(text))
        .collect();
    assert_eq!(items, ["'é'", "b"]);
    let tables: Vec<&str> = select
        .from
        .iter()
        .map(|table| Span::of(table).slice(text))
        .collect();
    assert_eq!(tables, ["\"ß\""]);
    let selection = select.selection.as_ref().unwrap();
    assert_eq!(Span::of(selection).slice(text), "ö = 5ul");
}

#[test]
fn literals_with_a_type_are_values() {
    use keys::{Type, Value};
    for (text, expected) in [
        ("1001ul", Some(Value::Uint64(1001))),
        ("-7l", Some(Value::Int64(-7))),
        ("5t", Some(Value::Int8(5))),
        ("'abc'u", Some(Value::Utf8("abc".into()))),
        ("Int8('5')", Some(Value::Int8(5))),
        ("'5'::int8", Some(Value::Int64(5))),
        ("CAST('5' AS Uint32)", Some(Value::Uint32(5))),
        ("DATE '1970-01-02'", Some(Value::Date(1))),
        ("Interval(\"PT1H\")", Some(Value::Interval(3_600_000_000))),
        ("1001", None),
        ("'abc'", None),
        ("300ut", None),
        ("a::int8", None),
    ] {
        let statements = syntax::parse(&format!("$x = {text}")).unwrap();
        let Some(Kind::Define(define)) = statements.first().map(|statement| &statement.kind) else {
            panic!("{statements:?}");
        };
        assert_eq!(syntax::literal(&define.value), expected, "{text}");
        if let Some(value) = &expected {
            let (kind, _) = syntax::literal_text(&define.value).unwrap();
            assert_eq!(kind, value.value_type(), "{text}");
            assert_ne!(kind, Some(Type::Bool));
        }
    }
}

/// White space and comments between tokens change neither the statements nor the fingerprint.
#[test]
fn blanks_and_comments_change_nothing() {
    let text = "UPSERT INTO t (a, b) VALUES (1ul, \"x\") RETURNING a";
    let spaced = "UPSERT /* a */ INTO t\n(a,b)\tVALUES -- b\n (1ul , \"x\")\r\nRETURNING a ;";
    assert_eq!(print(text), print(spaced));
    assert_eq!(syntax::fingerprint(text), syntax::fingerprint(spaced));
}
