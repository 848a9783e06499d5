//! What an attribute may be called, and how much an attribute and an item may hold.
//!
//! The bounds are those of Iguazio's platform. Its documentation allows letters, digits and
//! underscores in names and then uses `login-date` itself, so a hyphen is taken too; in expressions
//! such a name stands in backticks.

use crate::attribute::Attribute;
use crate::attribute::item::Item;
use crate::error::{Error, Result};

/// Characters of the longest name, of an attribute and of an item.
pub const NAME_CHARS_MAX: usize = 255;
/// Bytes of the longest text in an attribute.
pub const TEXT_BYTES_MAX: usize = 61_200;
/// Bytes of the longest attribute that is not text.
pub const ATTRIBUTE_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of all the attributes of an item, names and values.
pub const ITEM_BYTES_MAX: usize = 3 * 512 * 1024;
/// Attributes of one item.
pub const ATTRIBUTES_MAX: usize = 1600;

/// Words that are no names of attributes, in whatever case.
pub const RESERVED_WORDS: [&str; 7] = ["and", "in", "not", "or", "out", "remove", "set"];

/// What every object has besides the attributes of its owner, sorted.
pub const SYSTEM_ATTRIBUTES: [&str; 15] = [
    "__atime_nsecs",
    "__atime_secs",
    "__collection_id",
    "__ctime_nsecs",
    "__ctime_secs",
    "__gid",
    "__inode_number",
    "__last_sequence_num",
    "__mode",
    "__mtime_nsecs",
    "__mtime_secs",
    "__name",
    "__obj_type",
    "__size",
    "__uid",
];

/// Whether the server keeps this attribute itself.
pub fn is_system_attribute(name: &str) -> bool {
    SYSTEM_ATTRIBUTES.binary_search(&name).is_ok()
}

/// Whether an attribute of an item can have this name, and the reason if not.
pub fn check_attribute_name(name: &str) -> Result<()> {
    let mut chars = name.chars();
    let first = chars.next();
    let reason = if name.chars().count() > NAME_CHARS_MAX {
        "a name has 1 to 255 characters"
    } else if !first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_') {
        "a name begins with a letter or an underscore"
    } else if !chars.all(|char| char.is_ascii_alphanumeric() || char == '_' || char == '-') {
        "a name has only letters, digits, underscores and hyphens"
    } else if RESERVED_WORDS
        .iter()
        .any(|word| word.eq_ignore_ascii_case(name))
    {
        "it is a reserved word: choose another name"
    } else if is_system_attribute(&name.to_ascii_lowercase()) {
        "the server keeps this attribute itself"
    } else {
        return Ok(());
    };
    Err(Error::AttributeNameInvalid {
        name: super::clip(name).to_owned(),
        reason,
    })
}

impl Item {
    /// Whether the item keeps to all bounds, and the first attribute that does not.
    pub fn check(&self) -> Result<()> {
        if self.len() > ATTRIBUTES_MAX {
            return Err(Error::ItemAttributesTooMany {
                attributes: self.len(),
                limit: ATTRIBUTES_MAX,
            });
        }
        let mut item_bytes = 0;
        for (name, attribute) in self.iter() {
            check_attribute_name(name)?;
            let bytes = attribute.bytes();
            let limit = match attribute {
                Attribute::Text(_) => TEXT_BYTES_MAX,
                _ => ATTRIBUTE_BYTES_MAX,
            };
            if bytes > limit {
                return Err(Error::AttributeTooLong {
                    name: name.to_owned(),
                    kind: attribute.kind(),
                    bytes,
                    limit,
                });
            }
            item_bytes += name.len() + bytes;
        }
        if item_bytes > ITEM_BYTES_MAX {
            return Err(Error::ItemTooLong {
                bytes: item_bytes,
                limit: ITEM_BYTES_MAX,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(attributes: &[(&str, Attribute)]) -> String {
        let item: Item = attributes
            .iter()
            .map(|(name, attribute)| ((*name).to_owned(), attribute.clone()))
            .collect();
        item.check()
            .map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn names_are_checked() {
        let long = "x".repeat(255);
        for name in [
            "a",
            "_",
            "A9_",
            "login-date",
            "idx",
            "idx-0",
            "__mine",
            "sum",
            &long,
        ] {
            assert_eq!(check_attribute_name(name), Ok(()), "{name}");
        }
        let longer = "x".repeat(256);
        for (name, reason) in [
            ("", "begins with"),
            ("9a", "begins with"),
            ("-a", "begins with"),
            ("a b", "has only"),
            ("a.b", "has only"),
            ("é", "begins with"),
            (&longer, "1 to 255"),
            ("Set", "reserved"),
            ("not", "reserved"),
            ("__Name", "keeps this attribute itself"),
            ("__name", "keeps this attribute itself"),
            ("__mtime_secs", "keeps this attribute itself"),
        ] {
            let error = check_attribute_name(name).unwrap_err().to_string();
            assert!(error.contains(reason), "{name}: {error}");
        }
        assert!(SYSTEM_ATTRIBUTES.is_sorted());
    }

    #[test]
    fn bounds_are_told_with_the_attribute() {
        let text = |bytes| Attribute::Text("x".repeat(bytes));
        let bytes = |bytes| Attribute::Bytes(vec![0; bytes]);
        assert_eq!(refusal(&[("t", text(61_200))]), "fine");
        assert_eq!(
            refusal(&[("t", text(61_201))]),
            "attribute `t` is text of 61201 bytes, above the limit of 61200 bytes"
        );
        assert_eq!(refusal(&[("b", bytes(1_048_576))]), "fine");
        assert_eq!(
            refusal(&[("b", bytes(1_048_577))]),
            "attribute `b` is bytes of 1048577 bytes, above the limit of 1048576 bytes"
        );
        assert_eq!(
            refusal(&[("b", bytes(1_000_000)), ("c", bytes(572_863))]),
            "item of 1572865 bytes is above the limit of 1572864 bytes"
        );
        assert_eq!(
            refusal(&[("b", bytes(1_000_000)), ("c", bytes(572_862))]),
            "fine"
        );
        let many: Vec<String> = (0..1601).map(|i| format!("a{i}")).collect();
        let many: Vec<(&str, Attribute)> = many
            .iter()
            .map(|name| (name.as_str(), Attribute::Bool(true)))
            .collect();
        assert_eq!(
            refusal(&many),
            "item of 1601 attributes is above the limit of 1600 attributes"
        );
        assert_eq!(refusal(&many[1..]), "fine");
    }
}
