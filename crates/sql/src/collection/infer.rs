//! Working out a schema from the items that are there, as clients of the web API do.
//!
//! ```text
//!   johnd.20180601   driver = "johnd"   day = "20180601"   km = 12
//!   bbrian.20180602  driver = "bbrian"  day = "20180602"   km = 0.5   note = "late"
//!
//!   key driver, sortingKey day          what the parts of every name are
//!   km double, note string, nullable    long goes with double, and nothing else with anything else
//! ```
//!
//! Names whose sharding keys end in the bucket of their sorting keys are those of a distributed table, if
//! every one of them does: then each item keeps the name that it is shown under. Where a client
//! distributes items in another way, names are what they are, and no attribute is their key.

use std::collections::BTreeMap;

use keys::bucket::BUCKETS_DEFAULT;
use keys::{Item, ItemName, Type, Value};
use serde_json::{Map, Value as Json, json};

use super::columns::{self, kind, sorting_value};
use super::error::ItemError;
use super::items::Collection;
use super::layout::{Layout, type_name};
use super::moving::Ground;
use super::record;
use super::stored::Stored;
use super::table_name;
use crate::{Error, Result};

/// How many items are looked at.
const ITEMS_MAX: usize = 10_000;

/// What an attribute was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// Its name.
    pub name: String,
    /// What schemas call its type.
    pub kind: &'static str,
    /// Whether some items are without it.
    pub nullable: bool,
    /// What it makes of the name, if anything: `key` or `sortingKey`.
    pub part: Option<&'static str>,
}

/// Items that were looked at.
#[derive(Debug, Default)]
struct Sample {
    items: Vec<(String, Item)>,
}

/// What the parts of names are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Keys {
    key: Option<String>,
    sorting: Option<String>,
    buckets: u32,
}

impl Ground<'_> {
    /// Works out the schema of a collection and puts it; what it has for columns.
    pub async fn infer_schema(&self, container: &str, path: &str) -> Result<Vec<Inferred>> {
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        let path = segments.fold(String::new(), |path, segment| path + segment + "/");
        let (schema, found) = self.inferred(container, &path)?;
        let schema = schema.to_string().into_bytes();
        self.set_schema(container, &path, Some(schema)).await?;
        Ok(found)
    }

    fn inferred(&self, container: &str, path: &str) -> Result<(Json, Vec<Inferred>)> {
        let name = || format!("{container}/{}", path.trim_end_matches('/'));
        let missing = || Error::NoSuchTable {
            name: name(),
            nearest: None,
        };
        let table = self
            .catalog
            .find(&table_name(container))
            .ok_or_else(missing)?;
        record::check_columns(table.schema())?;
        let stored = Stored::new(&table, self.store.view().reader());
        let sample = Sample::read(&stored, path)?;
        if sample.items.is_empty() {
            return Err(Error::Item(ItemError::Invalid(format!(
                "collection `{}` has no items to work out a schema from",
                name()
            ))));
        }
        let fields = sample.fields()?;
        let known = stored.layout(path)?;
        let keys = match known.root {
            Some(root) if root == path => Keys::of(&known.layout),
            _ => match sample.keys(&fields) {
                even if even.buckets > 0 && !even.fits_all(&stored, path)? => Keys::default(),
                keys => keys,
            },
        };
        let part = |name: &str| match name {
            _ if keys.key.as_deref() == Some(name) => Some("key"),
            _ if keys.sorting.as_deref() == Some(name) => Some("sortingKey"),
            _ => None,
        };
        let found = fields.iter().map(|(name, (kind, count))| Inferred {
            name: name.clone(),
            kind: type_name(*kind),
            nullable: *count < sample.items.len(),
            part: part(name),
        });
        let found: Vec<Inferred> = found.collect();
        Ok((keys.schema(&found), found))
    }
}

/// Shows the items of a collection until that is enough.
fn visit(stored: &Stored, path: &str, mut goes_on: impl FnMut(String, Item) -> bool) -> Result<()> {
    for directory in stored.partitions(path, path, |_| true)? {
        for pair in stored.scan(&stored.directory(&directory)?)? {
            let (key, row) = pair?;
            let record = stored.record(&key, &row)?;
            if Collection::is_item(&record) {
                let item = record.item()?;
                if !goes_on(record.name, item) {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// The sharding key in front of the bucket, in the name of an item that is distributed.
fn even_key(name: &str) -> Option<&str> {
    let name = ItemName::split(name).alias(BUCKETS_DEFAULT)?;
    Some(name.sharding)
}

impl Sample {
    fn read(stored: &Stored, path: &str) -> Result<Self> {
        let mut sample = Self::default();
        visit(stored, path, |name, item| {
            sample.items.push((name, item));
            sample.items.len() < ITEMS_MAX
        })?;
        Ok(sample)
    }

    /// The type of each attribute, and how many items have it.
    fn fields(&self) -> Result<BTreeMap<String, (Type, usize)>> {
        let mut fields: BTreeMap<String, (Type, usize)> = BTreeMap::new();
        for (_, item) in &self.items {
            for (name, attribute) in item.iter() {
                let kind = kind(attribute);
                let (known, count) = fields.entry(name.to_owned()).or_insert((kind, 0));
                *count += 1;
                *known = match (*known, kind) {
                    (known, kind) if known == kind => kind,
                    (Type::Int64 | Type::Double, Type::Int64 | Type::Double) => Type::Double,
                    (known, kind) => {
                        return Err(Error::Item(ItemError::Invalid(format!(
                            "attribute `{name}` is of type {} in some items and of type {} in \
                             others: change them, or put a schema that says what it should be",
                            type_name(known),
                            type_name(kind)
                        ))));
                    }
                };
            }
        }
        Ok(fields)
    }

    /// Which attributes make the names.
    fn keys(&self, fields: &BTreeMap<String, (Type, usize)>) -> Keys {
        let everywhere = || {
            let all = fields
                .iter()
                .filter(|(_, (_, count))| *count == self.items.len());
            all.map(|(name, _)| name.as_str())
        };
        let find = |is: &dyn Fn(&str, &Item, &str) -> bool| {
            let mut names = everywhere();
            let name = names.find(|name| self.items.iter().all(|(key, item)| is(key, item, name)));
            name.map(str::to_owned)
        };
        let whole = find(&|key, item, name| says(item, name, key));
        if whole.is_some() {
            return Keys {
                key: whole,
                ..Keys::default()
            };
        }
        let sorting = find(&|key, item, name| {
            let sorting = ItemName::split(key).sorting;
            sorting.is_some_and(|sorting| sorts(item, name, sorting))
        });
        if sorting.is_none() {
            return Keys::default();
        }
        let key = find(&|key, item, name| says(item, name, ItemName::split(key).sharding));
        let even = find(&|key, item, name| {
            even_key(key).is_some_and(|sharding| says(item, name, sharding))
        });
        let buckets = match (&key, &even) {
            (None, Some(_)) => BUCKETS_DEFAULT.get(),
            _ => 0,
        };
        match key.or(even) {
            Some(key) => Keys {
                key: Some(key),
                sorting,
                buckets,
            },
            None => Keys::default(),
        }
    }
}

/// Whether the attribute of an item is this part of its name.
fn says(item: &Item, name: &str, part: &str) -> bool {
    let said = item.get(name).and_then(columns::attribute_text);
    said.as_deref() == Some(part)
}

/// The same of a sorting key, which may be written in several ways.
fn sorts(item: &Item, name: &str, part: &str) -> bool {
    let Some(found) = item.get(name) else {
        return false;
    };
    let kind = kind(found);
    let value = columns::value(found, kind);
    value != Value::Null && sorting_value(part, kind) == value
}

impl Keys {
    /// Those that a schema has already.
    fn of(layout: &Layout) -> Self {
        Self {
            key: layout.key.clone(),
            sorting: layout.sorting_key.clone(),
            buckets: layout.buckets.map_or(0, std::num::NonZeroU32::get),
        }
    }

    /// Whether the items of a distributed table have names like that, all of them.
    fn fits_all(&self, stored: &Stored, path: &str) -> Result<bool> {
        let key = self.key.as_deref().unwrap_or_default();
        let mut all = true;
        visit(stored, path, |name, item| {
            all = even_key(&name).is_some_and(|sharding| says(&item, key, sharding));
            all
        })?;
        Ok(all)
    }

    fn schema(&self, fields: &[Inferred]) -> Json {
        let mut schema = Map::new();
        let fields = fields.iter().map(
            |field| json!({"name": field.name, "type": field.kind, "nullable": field.nullable}),
        );
        schema.insert("fields".to_owned(), fields.collect());
        let key = self.key.as_deref().unwrap_or("__name");
        schema.insert("key".to_owned(), key.into());
        if let Some(sorting) = &self.sorting {
            schema.insert("sortingKey".to_owned(), sorting.as_str().into());
        }
        schema.insert("hashingBucketNum".to_owned(), self.buckets.into());
        Json::Object(schema)
    }
}

#[cfg(test)]
mod tests {
    use keys::Attribute;

    use super::*;

    fn sample(items: &[(&str, &[(&str, Attribute)])]) -> Sample {
        let items = items.iter().map(|(name, attributes)| {
            let attributes = attributes.iter().cloned();
            let item = attributes.map(|(name, value)| (name.to_owned(), value));
            ((*name).to_owned(), item.collect())
        });
        Sample {
            items: items.collect(),
        }
    }

    fn text(text: &str) -> Attribute {
        Attribute::Text(text.to_owned())
    }

    fn keys(sample: &Sample) -> (Option<String>, Option<String>, u32) {
        let keys = sample.keys(&sample.fields().unwrap());
        (keys.key, keys.sorting, keys.buckets)
    }

    #[test]
    fn names_tell_which_attributes_are_keys() {
        let compound = sample(&[
            (
                "johnd.7",
                &[("driver", text("johnd")), ("n", Attribute::Integer(7))],
            ),
            (
                "ada.008",
                &[("driver", text("ada")), ("n", Attribute::Integer(8))],
            ),
        ]);
        let (driver, day) = (Some("driver".to_owned()), Some("n".to_owned()));
        assert_eq!(keys(&compound), (driver.clone(), day, 0));
        let even = sample(&[(
            "johnd_36.20180602",
            &[("driver", text("johnd")), ("day", text("20180602"))],
        )]);
        assert_eq!(keys(&even), (driver, Some("day".to_owned()), 64));
        let whole = sample(&[("a.b", &[("id", text("a.b")), ("x", text("a"))])]);
        assert_eq!(keys(&whole), (Some("id".to_owned()), None, 0));
        let none = sample(&[("a.b", &[("x", text("c"))])]);
        assert_eq!(keys(&none), (None, None, 0));
    }

    #[test]
    fn only_numbers_go_together() {
        let mixed = [("x", Attribute::Integer(1))];
        let double = [("x", Attribute::Double(0.5))];
        let other = [("x", text("1"))];
        let fields = sample(&[("a", &mixed), ("b", &double)]).fields().unwrap();
        assert_eq!(fields["x"], (Type::Double, 2));
        let error = sample(&[("a", &mixed), ("b", &other)])
            .fields()
            .unwrap_err();
        assert!(
            error.to_string().contains("attribute `x` is of type long"),
            "{error}"
        );
    }
}
