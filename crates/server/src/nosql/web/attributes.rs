//! Which attributes of an item are asked for, and the JSON of those.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keys::Attribute;
use keys::attribute::{SYSTEM_ATTRIBUTES, format_double, is_system_attribute};

use db::items::{Record, Result};

/// The attributes that an answer should have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// All of the item's own.
    own: bool,
    /// These, of the item's own unless all are wanted, and of the server's.
    names: Vec<String>,
}

impl Wanted {
    /// Reads a list: names, `*` for the item's own, and `**` for all that there are.
    ///
    /// A client that means `**` sends `*,*`.
    pub(super) fn parse(list: &str) -> Self {
        let entries: Vec<&str> = list.split(',').map(str::trim).collect();
        let stars = entries.iter().filter(|entry| **entry == "*").count();
        let all = entries.contains(&"**") || stars > 1;
        let own = all || stars > 0;
        let mut names: Vec<String> = match all {
            true => SYSTEM_ATTRIBUTES
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            false => {
                let named = entries
                    .into_iter()
                    .filter(|name| !matches!(*name, "" | "*"));
                named.map(str::to_owned).collect()
            }
        };
        names.sort_unstable();
        names.dedup();
        Self { own, names }
    }

    /// As a scan means it: with its own attributes an item tells its name.
    pub(super) fn with_name(mut self) -> Self {
        let name = "__name".to_owned();
        if self.own && !self.names.contains(&name) {
            self.names.push(name);
        }
        self
    }

    /// Writes what is wanted of a record, as a JSON object.
    pub(super) fn write(&self, out: &mut Vec<u8>, record: &Record) -> Result<()> {
        let view = record.view()?;
        let mut separator: &[u8] = b"{";
        let mut one = |out: &mut Vec<u8>, name: &str, attribute: &Attribute| {
            out.extend_from_slice(separator);
            separator = b",";
            write_text(out, name);
            out.push(b':');
            write_attribute(out, attribute);
        };
        for name in &self.names {
            let found = match is_system_attribute(name) {
                true => record.system_attribute(name),
                false if self.own => None,
                false => view.get(name)?,
            };
            if let Some(attribute) = found {
                one(out, name, &attribute);
            }
        }
        for i in 0..if self.own { view.len() } else { 0 } {
            one(out, view.name(i)?, &view.attribute(i)?);
        }
        if separator == b"{" {
            out.push(b'{');
        }
        out.push(b'}');
        Ok(())
    }
}

fn write_attribute(out: &mut Vec<u8>, attribute: &Attribute) {
    let (kind, text) = match attribute {
        Attribute::Bool(bool) => {
            let bool: &[u8] = if *bool { b"true" } else { b"false" };
            out.extend_from_slice(b"{\"BOOL\":");
            out.extend_from_slice(bool);
            out.push(b'}');
            return;
        }
        Attribute::Integer(integer) => ("N", integer.to_string()),
        Attribute::Double(double) => ("N", format_double(*double)),
        Attribute::Text(text) => {
            out.extend_from_slice(b"{\"S\":");
            write_text(out, text);
            out.push(b'}');
            return;
        }
        Attribute::Bytes(bytes) => ("B", STANDARD.encode(bytes)),
        Attribute::Time(time) => ("TS", time.to_string()),
    };
    // Digits, signs and Base64 need no escapes.
    for piece in ["{\"", kind, "\":\"", &text, "\"}"] {
        out.extend_from_slice(piece.as_bytes());
    }
}

pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("bytes take everything, and a text is JSON");
}

#[cfg(test)]
mod tests {
    use keys::{Item, Time};
    use serde_json::Value as Json;

    use super::*;
    use crate::nosql::json::item_to_json;
    use db::items::record::Key;

    fn record(item: &Item) -> Record {
        Record {
            key: Key {
                path: String::new(),
                sharding: "n\"1".to_owned(),
                sorting: None,
            },
            name: "n\"1".to_owned(),
            attributes: item.encode().unwrap(),
            data: None,
            created_ns: 5,
            changed_ns: 7_000_000_008,
            rest: Vec::new(),
        }
    }

    fn written(wanted: &Wanted, record: &Record) -> Json {
        let mut out = Vec::new();
        wanted.write(&mut out, record).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn attributes_are_written_as_the_json_that_is_read() {
        let item: Item = [
            ("i", Attribute::Integer(-5)),
            ("d", Attribute::Double(1.0)),
            ("nan", Attribute::Double(f64::NAN)),
            ("s", Attribute::Text("a\"\\\n\u{1}é".to_owned())),
            ("b", Attribute::Bytes(vec![0, 255])),
            ("t", Attribute::Bool(true)),
            ("at", Attribute::Time(Time::new(1, 2).unwrap())),
        ]
        .into_iter()
        .map(|(name, attribute)| (name.to_owned(), attribute))
        .collect();
        let own = written(&Wanted::parse("*"), &record(&item));
        assert_eq!(own, Json::Object(item_to_json(&item)));
    }

    #[test]
    fn what_is_wanted_is_there() {
        let item: Item = [("a", 1), ("b", 2)]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Attribute::Integer(value)))
            .collect();
        let record = record(&item);
        let names = |wanted: Wanted| {
            let json = written(&wanted, &record);
            let names: Vec<&str> = json
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            names.join(" ")
        };
        assert_eq!(names(Wanted::parse("*")), "a b");
        assert_eq!(names(Wanted::parse("*").with_name()), "__name a b");
        assert_eq!(names(Wanted::parse("b,__mtime_secs,b,c")), "__mtime_secs b");
        assert_eq!(names(Wanted::parse("c").with_name()), "");
        assert_eq!(names(Wanted::parse("*,__size,a")), "__size a b");
        assert_eq!(Wanted::parse("**"), Wanted::parse("*,*"));
        assert!(names(Wanted::parse("**")).starts_with("__atime_nsecs __atime_secs"));
    }
}
