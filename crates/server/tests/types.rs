//! Values on PostgreSQL's wire: golden vectors, round trips, and bytes that mean nothing.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::{env, fs};

use bytes::BytesMut;
use keys::{Decimal, Declared, Type, Value};
use proptest::prelude::*;
use server::pg::types::{Format, decode, encode, modifier, oid, size};

const FORMATS: [Format; 2] = [Format::Text, Format::Binary];

#[test]
fn values_are_written_as_the_golden_file_shows() {
    let mut lines =
        String::from("# type, value; its oid, size and modifier; text form; binary form\n");
    for (kind, text) in SHOWN {
        let kind = Type::parse(kind).unwrap();
        let value = Value::parse(kind, text).unwrap();
        let [text, binary] = FORMATS.map(|format| {
            let mut out = BytesMut::new();
            encode(&value, format, &mut out).map(|()| out)
        });
        let text = text
            .map(|text| String::from_utf8(text.to_vec()).unwrap())
            .unwrap();
        let binary = match binary {
            Ok(binary) => hex(&binary),
            Err(error) => format!("error {}: {error}", error.sqlstate()),
        };
        let wire = format!(
            "{} {} {}",
            oid(kind),
            size(kind),
            modifier(kind, Declared::Usual)
        );
        let kind = kind.to_string();
        lines.push_str(&format!("{kind:<14} {wire:<16} {text:<41} {binary}\n"));
    }
    lines.push_str("\n# stated oid, format, bytes, wanted type; the value they mean\n");
    for (oid, format, bytes, wanted) in READ {
        let raw = unhex(bytes);
        let (format, shown) = match format {
            't' => (Format::Text, String::from_utf8_lossy(&raw).into_owned()),
            _ => (Format::Binary, (*bytes).to_owned()),
        };
        let wanted = Type::parse(wanted).unwrap();
        let meaning = match decode(&raw, format, *oid, wanted) {
            Ok(value) => value.to_string(),
            Err(error) => format!("error {}: {error}", error.sqlstate()),
        };
        lines.push_str(&format!(
            "{oid:<5} {format:?} {shown} as {wanted}: {meaning}\n"
        ));
    }
    golden("pg_types.txt", &lines);
}

/// Values whose forms the golden file shows.
const SHOWN: &[(&str, &str)] = &[
    ("Bool", "true"),
    ("Bool", "false"),
    ("Int8", "-128"),
    ("Uint8", "255"),
    ("Int16", "-2"),
    ("Uint16", "65535"),
    ("Int32", "1"),
    ("Uint32", "4294967295"),
    ("Int64", "-9223372036854775808"),
    ("Uint64", "0"),
    ("Uint64", "10000"),
    ("Uint64", "18446744073709551615"),
    ("Float", "1.5"),
    ("Double", "-Infinity"),
    ("Double", "1e300"),
    ("Decimal(22,9)", "12345.6"),
    ("Decimal(10,2)", "-0.05"),
    ("Decimal(10,1)", "0"),
    ("Decimal(10,0)", "1000000"),
    (
        "Decimal(38,38)",
        "-0.99999999999999999999999999999999999999",
    ),
    ("Utf8", "größer"),
    ("String", "\\x00ff5c"),
    ("Date", "2000-01-01"),
    ("Date", "1970-01-01"),
    ("Date", "+12026-01-31"),
    ("Date", "0000-02-29"),
    ("Datetime", "2018-06-02"),
    ("Datetime", "-0043-03-15T12:00:00Z"),
    ("Datetime", "+300000-01-01"),
    ("Timestamp", "2018-06-02"),
    ("Timestamp", "1999-12-31T23:59:59.999999Z"),
    ("Interval", "PT0S"),
    ("Interval", "P1DT2H3M4.5S"),
    ("Interval", "-P2DT0.25S"),
    ("Interval", "P1D"),
    ("Uuid", "0189c2a0-7b1e-7c3d-8f00-0123456789ab"),
    ("Json", "{\"a\": [1, null]}"),
];

/// Parameters as clients send them, in hexadecimal, and the type the statement wants.
const READ: &[(u32, char, &str, &str)] = &[
    (23, 'b', "00000007", "Uint64"),
    (23, 'b', "ffffffff", "Uint64"),
    (20, 'b', "0000000000000100", "Uint8"),
    (20, 'b', "0000000000000007", "Double"),
    (21, 'b', "0007", "Utf8"),
    (23, 'b', "0007", "Int32"),
    (16, 'b', "02", "Bool"),
    (25, 'b', "37", "Int64"),
    (25, 'b', "78", "Int64"),
    (25, 'b', "ff", "Utf8"),
    (25, 'b', "610062", "Utf8"),
    (701, 'b', "3ff8000000000000", "Decimal(5,2)"),
    (1700, 'b', "000000000000", "Uint64"),
    (1700, 'b', "0001000000000000270f", "Uint64"),
    (1700, 'b', "00010000000000002710", "Uint64"),
    (1700, 'b', "0001000040000000270f", "Uint64"),
    (1700, 'b', "00017fff000000000001", "Decimal(38,0)"),
    (1700, 'b', "00018000000000000001", "Decimal(38,0)"),
    (1700, 'b', "00020000000000010001139c", "Decimal(5,1)"),
    (1700, 'b', "00020000000000010001139c", "Utf8"),
    (1700, 'b', "00000000c0000000", "Double"),
    (1700, 'b', "00000000c0000000", "Decimal(5,1)"),
    (1700, 'b', "0000000012340000", "Decimal(5,1)"),
    (1114, 'b', "0000000000000000", "Timestamp"),
    (1184, 'b', "ffffffffffffffff", "Datetime"),
    (1184, 'b', "7fffffffffffffff", "Timestamp"),
    (1082, 'b', "00000000", "Timestamp"),
    (1082, 'b', "80000000", "Date"),
    (1186, 'b', "00000000000f42400000000100000000", "Interval"),
    (1186, 'b', "00000000000000000000000000000001", "Interval"),
    (3802, 'b', "017b7d", "Json"),
    (3802, 'b', "027b7d", "Json"),
    (1007, 'b', "00000000", "Int32"),
    (25, 't', "30303434", "Utf8"),
    (1082, 't', "303034342d30332d3135204243", "Date"),
    (1082, 't', "303030302d30332d3135204243", "Date"),
    (
        1184,
        't',
        "323031382d30362d30322030303a30303a30302b3032",
        "Timestamp",
    ),
    (1184, 't', "696e66696e697479", "Timestamp"),
    (17, 't', "5c7844456144", "String"),
    (17, 't', "615c5c625c313031", "String"),
    (17, 't', "615c39", "String"),
    (16, 't', "74", "Bool"),
    (16, 't', "6d61796265", "Bool"),
    (2950, 't', "7b7d", "Uuid"),
];

fn any_value() -> impl Strategy<Value = (Type, Value)> {
    let decimal = (any::<i128>(), 0_u8..=38).prop_map(|(unscaled, scale)| {
        let unscaled = unscaled % 10_i128.pow(38);
        let kind = Type::Decimal {
            precision: 38,
            scale,
        };
        (kind, Value::Decimal(Decimal::new(unscaled, scale).unwrap()))
    });
    let text = "[^\\x00]{0,12}";
    prop_oneof![
        any::<bool>().prop_map(|v| (Type::Bool, Value::Bool(v))),
        any::<i8>().prop_map(|v| (Type::Int8, Value::Int8(v))),
        any::<i16>().prop_map(|v| (Type::Int16, Value::Int16(v))),
        any::<i32>().prop_map(|v| (Type::Int32, Value::Int32(v))),
        any::<i64>().prop_map(|v| (Type::Int64, Value::Int64(v))),
        any::<u8>().prop_map(|v| (Type::Uint8, Value::Uint8(v))),
        any::<u16>().prop_map(|v| (Type::Uint16, Value::Uint16(v))),
        any::<u32>().prop_map(|v| (Type::Uint32, Value::Uint32(v))),
        any::<u64>().prop_map(|v| (Type::Uint64, Value::Uint64(v))),
        any::<u32>().prop_map(|v| (Type::Float, Value::Float(f32::from_bits(v)))),
        any::<u64>().prop_map(|v| (Type::Double, Value::Double(f64::from_bits(v)))),
        decimal,
        text.prop_map(|v| (Type::Utf8, Value::Utf8(v.into()))),
        any::<Vec<u8>>().prop_map(|v| (Type::String, Value::String(v.into()))),
        any::<i32>().prop_map(|v| (Type::Date, Value::Date(v))),
        any::<i64>().prop_map(|v| (Type::Datetime, Value::Datetime(v))),
        any::<i64>().prop_map(|v| (Type::Timestamp, Value::Timestamp(v))),
        any::<i64>().prop_map(|v| (Type::Interval, Value::Interval(v))),
        any::<[u8; 16]>().prop_map(|v| (Type::Uuid, Value::Uuid(v))),
        any::<i32>().prop_map(|v| (Type::Json, Value::Json(format!("[{v}]").into()))),
    ]
}

proptest! {
    #[test]
    fn what_is_written_reads_back((kind, value) in any_value()) {
        for format in FORMATS {
            let mut out = BytesMut::new();
            match encode(&value, format, &mut out) {
                Ok(()) => prop_assert_eq!(decode(&out, format, oid(kind), kind).unwrap(), value.clone()),
                // PostgreSQL's own times reach less far than ours, and only in binary.
                Err(error) => {
                    prop_assert_eq!(error.sqlstate(), "22003");
                    prop_assert_eq!(format, Format::Binary);
                    prop_assert!(matches!(kind, Type::Date | Type::Datetime | Type::Timestamp));
                }
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        bytes in any::<Vec<u8>>(),
        stated in prop::sample::select(vec![16_u32, 17, 19, 20, 21, 23, 25, 114, 700, 701, 705, 1082, 1114, 1184, 1186, 1700, 2950, 3802, 9]),
        (kind, _) in any_value(),
    ) {
        for format in FORMATS {
            match decode(&bytes, format, stated, kind) {
                Ok(value) => prop_assert!(value.type_matches(kind)),
                Err(error) => prop_assert_eq!(&error.sqlstate()[..2], "22"),
            }
        }
    }

    #[test]
    fn no_number_makes_it_panic(
        weight in any::<i16>(), sign in prop::sample::select(vec![0_u16, 0x4000, 0xC000, 1]),
        scale in any::<u16>(), digits in prop::collection::vec(0_u16..10_000, 0..20),
        (kind, _) in any_value(),
    ) {
        let count = u16::try_from(digits.len()).unwrap();
        let header = [count, u16::from_be_bytes(weight.to_be_bytes()), sign, scale];
        let bytes: Vec<u8> = header.iter().chain(&digits).flat_map(|part| part.to_be_bytes()).collect();
        match decode(&bytes, Format::Binary, 1700, kind) {
            Ok(value) => prop_assert!(value.type_matches(kind)),
            Err(error) => prop_assert_eq!(&error.sqlstate()[..2], "22"),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Compares with a golden file, or writes it when UPDATE_GOLDEN is set.
fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, actual).expect("the golden file is writable");
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        actual, expected,
        "run `cargo xtask golden -p server` and review the diff"
    );
}
