//! Encodings as a person can read them; `UPDATE_GOLDEN=1` rewrites the files.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fmt::Write;
use std::path::Path;

use keys::{
    Decimal, RowView, Type, Value, encode_key, encode_row, format_key, prefix_upper_bound,
    separator,
};

fn check(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        found, expected,
        "{name} differs: rewrite it with UPDATE_GOLDEN=1 if that is meant"
    );
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse(kind: Type, text: &str) -> Value {
    Value::parse(kind, text).unwrap()
}

fn decimal(text: &str) -> Value {
    parse(
        Type::Decimal {
            precision: 22,
            scale: 2,
        },
        text,
    )
}

/// Keys in their order: every line of the file must be above the one before.
fn sorted_keys() -> Vec<Vec<Value>> {
    let uuid = |text| parse(Type::Uuid, text);
    vec![
        vec![],
        vec![Value::Null],
        vec![Value::Null, Value::Null],
        vec![Value::Null, Value::from("a")],
        vec![Value::Bool(false)],
        vec![Value::Bool(true)],
        vec![Value::Int8(-128)],
        vec![Value::Int8(127)],
        vec![Value::Int16(-1)],
        vec![Value::Int32(0)],
        vec![Value::Int64(i64::MIN)],
        vec![Value::Int64(-1)],
        vec![Value::Int64(0)],
        vec![Value::Int64(1001)],
        vec![Value::Int64(1001), Value::from("item")],
        vec![Value::Int64(i64::MAX)],
        vec![Value::Uint8(127)],
        vec![Value::Uint8(128)],
        vec![Value::Uint16(513)],
        vec![Value::Uint32(7)],
        vec![Value::Uint64(u64::MAX)],
        vec![decimal("-12.50")],
        vec![decimal("0")],
        vec![decimal("0.01")],
        vec![Value::Decimal(Decimal::new(1, 9).unwrap())],
        vec![Value::from("")],
        vec![Value::from(""), Value::from("")],
        vec![Value::from("\0")],
        vec![Value::from("50% / <day>")],
        vec![Value::from("NULL")],
        vec![Value::from("a")],
        vec![Value::from("a"), Value::Int64(1)],
        vec![Value::from("a\0")],
        vec![Value::from("a\0b")],
        vec![Value::from("ab")],
        vec![Value::from("orders"), Value::Int64(1001)],
        vec![Value::from("é")],
        vec![Value::from(&b""[..])],
        vec![Value::from(&b"\0"[..])],
        vec![Value::from(&b"\x0a\xff"[..])],
        vec![Value::from(&b"\xff"[..])],
        vec![parse(Type::Date, "1969-12-31")],
        vec![parse(Type::Date, "2026-01-31")],
        vec![parse(Type::Datetime, "2026-01-31T12:00:00Z")],
        vec![parse(Type::Timestamp, "-0044-03-15T12:00:00Z")],
        vec![parse(Type::Timestamp, "2026-01-31 14:00:00.25+02:00")],
        vec![parse(Type::Interval, "-1 day")],
        vec![parse(Type::Interval, "P1DT2H3M4.5S")],
        vec![uuid("00000000-0000-7001-8000-000000000000")],
        vec![uuid("00000001-0000-7000-8000-000000000000")],
        vec![uuid("01000000-0000-7000-8000-000000000000")],
    ]
}

#[test]
fn keys_encode_as_recorded_and_in_order() {
    let mut text = String::from("# path and encoding, in ascending order\n");
    let mut previous: Option<Vec<u8>> = None;
    for values in sorted_keys() {
        let key = encode_key(&values).unwrap();
        assert!(previous.is_none_or(|previous| previous < key), "{values:?}");
        writeln!(
            text,
            "{}",
            format!("{:<44} {}", format_key(&key), hex(&key)).trim_end()
        )
        .unwrap();
        previous = Some(key);
    }
    let bound = prefix_upper_bound(&encode_key(&[Value::Int64(1001)]).unwrap());
    writeln!(text, "\n# bounds and bytes that are no key").unwrap();
    let truncated = encode_key(&[Value::Int64(7), Value::from("cut")]).unwrap();
    for key in [
        &[0xff][..],
        &bound,
        &truncated[..11],
        &[0x38],
        &[0x99, 0x01],
        &[0x60, 0xff, 0, 1],
    ] {
        writeln!(text, "{:<44} {}", format_key(key), hex(key)).unwrap();
    }
    check("keys.txt", &text);
}

#[test]
fn separators_are_as_short_as_recorded() {
    let key = |values: &[Value]| encode_key(values).unwrap();
    let user = |id: i64, item: &str| key(&[Value::Int64(id), Value::from(item)]);
    let mut text = String::from("# lower < separator <= upper\n");
    for (a, b) in [
        (user(1, "a"), user(2, "a")),
        (user(1, "a"), user(1, "b")),
        (key(&[]), user(1, "b")),
        (key(&[Value::Int64(1)]), user(1, "b")),
        (key(&[Value::Null, Value::Null]), user(1, "b")),
        (user(1, "a"), vec![0x99, 0x01]),
    ] {
        let cut = format_key(&separator(&a, &b).unwrap());
        writeln!(
            text,
            "{:<20} < {:<20} <= {}",
            format_key(&a),
            cut,
            format_key(&b)
        )
        .unwrap();
    }
    assert_eq!(separator(&user(1, "a"), &user(1, "a")), None);
    check("separators.txt", &text);
}

#[test]
fn rows_encode_as_recorded() {
    let mut text = String::from("# values and encoding\n");
    for values in [
        vec![],
        vec![Value::Null],
        vec![Value::Int32(7), Value::Null, Value::from("hi")],
        vec![
            Value::Bool(true),
            Value::Uint8(255),
            Value::Int64(-2),
            Value::Double(0.5),
        ],
        vec![
            Value::Float(-0.0),
            decimal("-12.50"),
            Value::Json("{}".into()),
        ],
        vec![Value::Null; 9],
        vec![Value::from(vec![0xab; 256])],
    ] {
        let row = encode_row(&values).unwrap();
        let shown: Vec<String> = values.iter().map(ToString::to_string).collect();
        let shown = shown.join(", ").replace(&"ab".repeat(256), "ab… 256 times");
        let bytes = hex(&row).replace(&"ab".repeat(256), "ab… 256 times");
        writeln!(text, "({shown})\n    {bytes}").unwrap();
    }
    writeln!(text, "\n# bytes that are no row").unwrap();
    for row in [
        &[][..],
        &[0x11],
        &[0x21, 0],
        &[0x13, 0],
        &[0x11, 201],
        &[0x11, 1, 0],
        &[0x11, 1, 0, 2, 7],
        &[0x11, 0, 9],
    ] {
        writeln!(text, "{:<12} {}", hex(row), RowView::new(row).unwrap_err()).unwrap();
    }
    let crossed = [0x11, 3, 0, 4, 2, 4, 1, 2, 3, 4];
    let view = RowView::new(&crossed).unwrap();
    writeln!(text, "{:<12} {}", hex(&crossed), view.cell(1).unwrap_err()).unwrap();
    writeln!(
        text,
        "{:<12} {}",
        hex(&crossed),
        view.column(0, Type::Int8).unwrap_err()
    )
    .unwrap();
    check("rows.txt", &text);
}

#[test]
fn text_reads_as_recorded() {
    let wide = Type::Decimal {
        precision: 5,
        scale: 2,
    };
    let mut text = String::from("# type, text as written, and the value it means\n");
    for (kind, written) in [
        (Type::Bool, "T"),
        (Type::Bool, "maybe"),
        (Type::Int8, " -128 "),
        (Type::Int8, "128"),
        (Type::Uint64, "-1"),
        (Type::Double, "1e300"),
        (Type::Double, "-inf"),
        (Type::Double, "nan"),
        (Type::Float, "0.1"),
        (Type::Double, "123456789012345678"),
        (wide, "1.005"),
        (wide, "-1.005"),
        (wide, "999.995"),
        (wide, "1e2"),
        (wide, "1.5e-5"),
        (wide, "0e999999999"),
        (wide, "1.2.3"),
        (Type::Json, "{\"a\": [1, null]}"),
        (Type::Json, "{a: 1}"),
        (Type::String, "plain"),
        (Type::String, "\\x0AfF"),
        (Type::String, "\\x0"),
        (Type::Date, "2024-02-29"),
        (Type::Date, "2023-02-29"),
        (Type::Date, "0000-01-01"),
        (Type::Date, "+12026-01-01"),
        (Type::Date, "2026-1-1"),
        (Type::Datetime, "2026-01-31"),
        (Type::Datetime, "1969-12-31 23:59:59.9"),
        (Type::Timestamp, "2026-01-31T12:00:00.1234567Z"),
        (Type::Timestamp, "2026-01-31 12:00:00-05"),
        (Type::Timestamp, "2026-01-31 12:00+0530"),
        (Type::Timestamp, "2026-01-31 24:00:00"),
        (Type::Timestamp, "999999-01-01"),
        (Type::Interval, "PT0S"),
        (Type::Interval, "P1W"),
        (Type::Interval, "1 day 02:03:04.5"),
        (Type::Interval, "2 days 0:00:07.000009"),
        (Type::Interval, "-1 days +02:03:04"),
        (Type::Interval, "2 days, 100:30"),
        (Type::Interval, "-90 min"),
        (Type::Interval, "250 milliseconds"),
        (Type::Interval, "1 month"),
        (Type::Interval, "P"),
        (Type::Interval, "P1DT"),
        (Type::Uuid, "{0189C2A0-7B1E-7C3D-8F00-0123456789AB}"),
        (Type::Uuid, "0189c2a07b1e7c3d8f000123456789ab"),
        (Type::Uuid, "0189c2a0-7b1e7c3d-8f00-0123-456789ab"),
    ] {
        let outcome = match Value::parse(kind, written) {
            Ok(value) => value.to_string(),
            Err(error) => format!("error: {error}"),
        };
        writeln!(text, "{:<14} {written:<40} {outcome}", kind.to_string()).unwrap();
    }
    check("text.txt", &text);
}

#[test]
fn paths_that_make_no_sense_are_refused() {
    let types = [Type::Utf8, Type::Int64, Type::String];
    for (path, message) in [
        ("orders", "key path `orders`: it begins with a slash"),
        (
            "/a/1/x''/b",
            "key path `/a/1/x''/b`: the key has fewer columns",
        ),
        ("//1", "key path `//1`: a value does not parse"),
        ("/%2", "key path `/%2`: a value does not parse"),
        ("/a<b>", "key path `/a<b>`: a value does not parse"),
        (
            "/a/one",
            "`one` is no value of type Int64: write a whole number in its range",
        ),
        ("/a/1/0aff", "key path `/a/1/0aff`: a value does not parse"),
    ] {
        assert_eq!(
            keys::parse_key(&types, path).unwrap_err().to_string(),
            message
        );
    }
}
