//! Attributes as the JSON of the web API: each value in an object that names its type.
//!
//! ```text
//!   {"N": "1"}  {"N": "1.5"}      number, always as text; "1" is an integer, "1.0" a double
//!   {"S": "x"}                    text
//!   {"BOOL": true}                bool
//!   {"B": "AQI="}                 bytes in Base64, arrays among them
//!   {"TS": "1536000000:5"}        time
//! ```

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keys::attribute::format_double;
use keys::{Attribute, Item, Time};
use serde_json::{Map, Value};

use crate::nosql::error::{Error, Result};

const TYPED: &str = "an object with one of N, S, B, BOOL and TS";

/// Reads the attributes of an item.
pub fn item_from_json(attributes: &Map<String, Value>) -> Result<Item> {
    attributes
        .iter()
        .map(|(name, value)| Ok((name.clone(), attribute_from_json(name, value)?)))
        .collect()
}

/// Reads one typed attribute; its name is for messages.
pub fn attribute_from_json(name: &str, value: &Value) -> Result<Attribute> {
    let unexpected = |expected, found: &Value| Error::AttributeJson {
        name: name.to_owned(),
        expected,
        found: shown(found),
    };
    let mut members = value.as_object().into_iter().flatten();
    let (Some((kind, inner)), None) = (members.next(), members.next()) else {
        return Err(unexpected(TYPED, value));
    };
    let text = |expected| inner.as_str().ok_or_else(|| unexpected(expected, inner));
    let unfit = |source| Error::AttributeValue {
        name: name.to_owned(),
        source,
    };
    match kind.as_str() {
        "N" => Attribute::parse_number(text("a number as a string in N")?).map_err(unfit),
        "S" => Ok(Attribute::Text(text("a string in S")?.to_owned())),
        "BOOL" => inner
            .as_bool()
            .map(Attribute::Bool)
            .ok_or_else(|| unexpected("true or false in BOOL", inner)),
        "B" => STANDARD
            .decode(text("a Base64 string in B")?)
            .map(Attribute::Bytes)
            .map_err(|_| unexpected("a Base64 string in B", inner)),
        "TS" => Time::parse(text("seconds:nanoseconds as a string in TS")?)
            .map(Attribute::Time)
            .map_err(unfit),
        _ => Err(unexpected(TYPED, value)),
    }
}

/// An item as its typed attributes.
pub fn item_to_json(item: &Item) -> Map<String, Value> {
    item.iter()
        .map(|(name, attribute)| (name.to_owned(), attribute_to_json(attribute)))
        .collect()
}

/// One attribute as an object that names its type.
pub fn attribute_to_json(attribute: &Attribute) -> Value {
    let (kind, value) = match attribute {
        Attribute::Integer(integer) => ("N", Value::String(integer.to_string())),
        Attribute::Double(double) => ("N", Value::String(format_double(*double))),
        Attribute::Text(text) => ("S", Value::String(text.clone())),
        Attribute::Bytes(bytes) => ("B", Value::String(STANDARD.encode(bytes))),
        Attribute::Bool(bool) => ("BOOL", Value::Bool(*bool)),
        Attribute::Time(time) => ("TS", Value::String(time.to_string())),
    };
    Value::Object(Map::from_iter([(kind.to_owned(), value)]))
}

/// JSON for a message, cut when it is long.
fn shown(value: &Value) -> String {
    const CHARS_MAX: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use keys::Array;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_type_comes_back_as_it_was() {
        for (typed, attribute) in [
            (json!({"N": "1"}), Attribute::Integer(1)),
            (json!({"N": "1.5"}), Attribute::Double(1.5)),
            (json!({"N": "1.0"}), Attribute::Double(1.0)),
            (json!({"N": "1e300"}), Attribute::Double(1e300)),
            (json!({"N": "inf"}), Attribute::Double(f64::INFINITY)),
            (json!({"S": "x"}), Attribute::Text("x".to_owned())),
            (json!({"BOOL": true}), Attribute::Bool(true)),
            (json!({"B": "AQI="}), Attribute::Bytes(vec![1, 2])),
            (json!({"B": ""}), Attribute::Bytes(vec![])),
            (
                json!({"TS": "1536000000:677999973"}),
                Attribute::Time(Time::new(1_536_000_000, 677_999_973).unwrap()),
            ),
        ] {
            assert_eq!(attribute_from_json("a", &typed).unwrap(), attribute);
            assert_eq!(attribute_to_json(&attribute), typed);
        }
    }

    #[test]
    fn numbers_of_other_clients_are_read() {
        let number = |text: &str| attribute_from_json("a", &json!({"N": text})).unwrap();
        assert_eq!(number("1.5E+00"), Attribute::Double(1.5));
        assert_eq!(number("5E+00"), Attribute::Double(5.0));
        assert_eq!(number("1e+300"), Attribute::Double(1e300));
    }

    #[test]
    fn arrays_travel_as_bytes() {
        let typed = json!({"B": "MEGrAAEAAAAQAAAAAwEAAAEAAAAAAAAAAgAAAAAAAAA="});
        let attribute = attribute_from_json("a", &typed).unwrap();
        assert_eq!(attribute.array(), Some(Array::Integers(vec![1, 2])));
        assert_eq!(attribute_to_json(&attribute), typed);
    }

    #[test]
    fn errors_name_the_attribute_what_was_there_and_what_is_expected() {
        let long = json!("x".repeat(100));
        for (typed, message) in [
            (
                json!(1),
                "expected an object with one of N, S, B, BOOL and TS, found 1",
            ),
            (
                json!({}),
                "expected an object with one of N, S, B, BOOL and TS, found {}",
            ),
            (
                json!({"N": "1", "S": "x"}),
                r#"expected an object with one of N, S, B, BOOL and TS, found {"N":"1","S":"x"}"#,
            ),
            (
                json!({"L": []}),
                r#"expected an object with one of N, S, B, BOOL and TS, found {"L":[]}"#,
            ),
            (
                json!({"N": 1}),
                "expected a number as a string in N, found 1",
            ),
            (
                json!({"N": "one"}),
                "`one` is no number: write an integer, a decimal number, inf or nan",
            ),
            (json!({"S": null}), "expected a string in S, found null"),
            (
                json!({"BOOL": "true"}),
                "expected true or false in BOOL, found \"true\"",
            ),
            (
                json!({"B": "*"}),
                "expected a Base64 string in B, found \"*\"",
            ),
            (
                json!({"TS": "5"}),
                "`5` is no time: write seconds, a colon and nanoseconds",
            ),
            (
                json!({"BOOL": long}),
                &format!(
                    "expected true or false in BOOL, found \"{}…",
                    "x".repeat(59)
                ),
            ),
        ] {
            let error = attribute_from_json("a", &typed).unwrap_err().to_string();
            assert_eq!(error, format!("attribute `a`: {message}"));
        }
    }

    proptest! {
        #[test]
        fn doubles_and_bytes_come_back(bits in any::<u64>(), bytes in any::<Vec<u8>>()) {
            let double = f64::from_bits(bits);
            let json = attribute_to_json(&Attribute::Double(double));
            let Ok(Attribute::Double(back)) = attribute_from_json("a", &json) else {
                return Err(TestCaseError::fail(json.to_string()));
            };
            prop_assert!(back.to_bits() == bits || back.is_nan() && double.is_nan());
            let mut item = Item::new();
            item.set("b", Attribute::Bytes(bytes));
            prop_assert_eq!(item_from_json(&item_to_json(&item)).unwrap(), item);
        }
    }
}
