//! How a table keeps its items, as its schema says: in which order, and over how many buckets.
//!
//! The schema is the object `.#schema` in the table's directory:
//!
//! ```text
//!   {"key": "driver", "sortingKey": "day", "hashingBucketNum": 64,
//!    "fields": [{"name": "driver", "type": "string"}, {"name": "day", "type": "long"}]}
//!                                                                       ╰ order of sorting keys
//! ```
//!
//! It holds for the partitions of the table too: directories below it that are called
//! `attribute=value`. A table without one has names in the order of their texts.

use std::num::NonZeroU32;
use std::sync::Arc;

use keys::{Attribute, Item, Order, Type};
use serde_json::{Map, Value as Json};

use super::error::{ItemError, Result};

/// The name of the object that holds a table's schema.
pub const SCHEMA_NAME: &str = ".#schema";

/// The most buckets that items can be distributed over.
pub const BUCKETS_MAX: u32 = 1024;

/// What a schema says about where items lie, and what SQL calls their attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The order of sorting keys.
    pub order: Order,
    /// Over how many buckets the items of one sharding key are distributed, if they are.
    pub buckets: Option<NonZeroU32>,
    /// Over how many they were before, as long as some still lie so.
    pub former: Option<NonZeroU32>,
    /// Over how many they ever were: clients may still call items by those buckets.
    pub past: Arc<[NonZeroU32]>,
    /// The attribute with the sharding key, or with the whole name if there is no sorting key.
    pub key: Option<String>,
    /// The attribute with the sorting key.
    pub sorting_key: Option<String>,
    /// The attributes that are columns.
    pub fields: Arc<[Field]>,
}

/// An attribute that a schema names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type in SQL.
    pub kind: Type,
}

impl Field {
    fn read(field: &Json) -> Option<Self> {
        let name = field.get("name")?.as_str()?;
        let kind = match field.get("type").and_then(Json::as_str) {
            Some("long" | "integer" | "int" | "short" | "byte") => Type::Int64,
            Some("double" | "float") => Type::Double,
            Some("boolean") => Type::Bool,
            Some("timestamp") => Type::Timestamp,
            Some("blob" | "binary") => Type::String,
            _ => Type::Utf8,
        };
        let name = name.to_owned();
        Some(Self { name, kind })
    }
}

/// What a schema calls a type of SQL.
pub(crate) fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::Int64 => "long",
        Type::Double => "double",
        Type::Bool => "boolean",
        Type::Timestamp => "timestamp",
        Type::String => "blob",
        _ => "string",
    }
}

impl Layout {
    /// Reads a schema.
    pub fn parse(schema: &[u8]) -> Result<Self> {
        let invalid = |reason: &str| ItemError::Invalid(format!("{SCHEMA_NAME}: {reason}"));
        let schema: Json = serde_json::from_slice(schema)
            .map_err(|error| invalid(&format!("it is no JSON: {error}")))?;
        let schema = schema
            .as_object()
            .ok_or_else(|| invalid("it is no JSON object"))?;
        let buckets = match schema.get("hashingBucketNum") {
            None | Some(Json::Null) => None,
            Some(number) => {
                let number = number.as_u64().and_then(|number| number.try_into().ok());
                let number = number.filter(|number| *number <= BUCKETS_MAX);
                let number = number
                    .ok_or_else(|| invalid("hashingBucketNum is a whole number from 0 to 1024"))?;
                NonZeroU32::new(number)
            }
        };
        let sorting_key = text(schema, "sortingKey");
        let fields = schema.get("fields").and_then(Json::as_array);
        let fields = || fields.into_iter().flatten();
        let sorting_field = fields().find(|field| {
            sorting_key.is_some() && field.get("name").and_then(Json::as_str) == sorting_key
        });
        let kind = sorting_field.and_then(|field| field.get("type")?.as_str());
        Ok(Self {
            order: kind.map(Order::of_type).unwrap_or_default(),
            buckets,
            former: None,
            past: Arc::default(),
            // Whoever says that the name is the key names no attribute.
            key: text(schema, "key")
                .filter(|key| *key != "__name")
                .map(str::to_owned),
            sorting_key: sorting_key.map(str::to_owned),
            fields: fields().filter_map(Field::read).collect(),
        })
    }

    /// Refuses an item whose sharding key has a period, which would split its name elsewhere.
    pub fn check(&self, item: &Item) -> Result<()> {
        let attribute = self.key.as_deref().filter(|_| self.sorting_key.is_some());
        match attribute.and_then(|name| Some((name, item.get(name)?))) {
            Some((name, Attribute::Text(text))) if text.contains('.') => {
                Err(ItemError::Invalid(format!(
                    "attribute `{name}` is the sharding key and has a period in it: the leftmost \
                     period of an item's name ends its sharding key"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// A text that is not empty.
fn text<'s>(schema: &'s Map<String, Json>, name: &str) -> Option<&'s str> {
    let text = schema.get(name).and_then(Json::as_str);
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_tell_order_and_buckets() {
        let layout = Layout::parse(
            br#"{"key": "k", "sortingKey": "s", "hashingBucketNum": 64,
                 "fields": [{"name": "k", "type": "string"}, {"name": "s", "type": "long"}]}"#,
        )
        .unwrap();
        assert_eq!(layout.order, Order::Integer);
        assert_eq!(layout.buckets, NonZeroU32::new(64));
        let of_client = br#"{"hashingBucketNum": 0, "key": "k", "fields": []}"#;
        let of_client = Layout::parse(of_client).unwrap();
        assert_eq!((of_client.order, of_client.buckets), (Order::Text, None));
        assert_eq!(
            (of_client.key.as_deref(), of_client.sorting_key),
            (Some("k"), None)
        );
        for wrong in [
            "",
            "[]",
            r#"{"hashingBucketNum": -1}"#,
            r#"{"hashingBucketNum": 2000}"#,
        ] {
            assert!(Layout::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sharding_keys_have_no_period_where_names_have_a_sorting_key() {
        let item: Item = [("k".to_owned(), Attribute::Text("a.b".to_owned()))]
            .into_iter()
            .collect();
        let both = Layout::parse(br#"{"key": "k", "sortingKey": "s"}"#).unwrap();
        assert!(both.check(&item).is_err());
        let one = Layout::parse(br#"{"key": "k"}"#).unwrap();
        assert!(one.check(&item).is_ok());
    }
}
