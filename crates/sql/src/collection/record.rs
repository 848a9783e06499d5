//! An item or object as a row of its container's table.
//!
//! ```text
//!   key                                        the rest
//!   path    slice   sharding   sorting         name  attributes  data  created_ns  changed_ns
//!   Utf8    Uint16  Utf8       String, NULL    Utf8  String      String  Int64     Int64
//! ```
//!
//! The slice is a hash of the sharding key, so that a directory spreads over 1,024 ranges. In a table
//! with even distribution the sharding key is stored with its bucket, `johnd/36`, and the name without:
//! what an item is called is in [`super::spots`]. A directory is a row too, with no name: it is there
//! before its first item and after its last. That of the root says since when the container is there.
//! Columns that somebody adds to the table stand behind these, and are kept. The data of a large object
//! is the list of its parts, which lie elsewhere ([`super::manifest`]).

use std::num::NonZeroU32;

use keys::item_name::{inode_number, slice};
use keys::{Attribute, Item, ItemName, ItemView, Order, Type, Value};

use super::error::{ItemError, Result};
use super::manifest::Manifest;
use crate::{Column, Schema};

/// The column with the moment of the last change.
pub const CHANGED_NS: &str = "changed_ns";

/// How many columns items need.
const COLUMNS: usize = 9;

const SECOND_NS: i64 = 1_000_000_000;

/// What a file that its owner and group may change says of itself.
const MODE_OBJECT: i64 = 0o100_664;

/// What a directory says that everybody may look into.
const MODE_DIRECTORY: i64 = 0o40_775;

/// Where a record lies in its container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The directory.
    pub path: String,
    /// What decides about the slice.
    pub sharding: String,
    /// What orders the records of one sharding key.
    pub sorting: Option<Vec<u8>>,
}

/// An item or object, with what the server knows of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Where it lies.
    pub key: Key,
    /// Its own name, empty for a directory.
    pub name: String,
    /// Its attributes, encoded.
    pub attributes: Vec<u8>,
    /// The bytes of an object, or of a large one its [`Manifest`].
    pub data: Option<Vec<u8>>,
    /// When it was made, in nanoseconds since 1970.
    pub created_ns: i64,
    /// When it was changed last.
    pub changed_ns: i64,
    /// What it has in columns that were added to the table.
    pub rest: Vec<Value>,
}

/// The columns of items: name, type, and whether there is always a value.
const COLUMNS_OF_ITEMS: [(&str, Type, bool); COLUMNS] = [
    ("path", Type::Utf8, true),
    ("slice", Type::Uint16, true),
    ("sharding", Type::Utf8, true),
    ("sorting", Type::String, false),
    ("name", Type::Utf8, true),
    ("attributes", Type::String, true),
    ("data", Type::String, false),
    ("created_ns", Type::Int64, true),
    (CHANGED_NS, Type::Int64, true),
];

/// The columns of a container's table.
pub fn schema(table: &str) -> crate::Result<Schema> {
    let columns = COLUMNS_OF_ITEMS.map(|(name, kind, not_null)| {
        let mut column = Column::new(name, kind);
        column.not_null = not_null;
        column
    });
    let key = ["path", "slice", "sharding", "sorting"];
    Schema::new(table, columns.to_vec(), &key)
}

/// An error unless the rows of a table with these columns can be items.
pub fn check_columns(schema: &Schema) -> Result<()> {
    let mut columns = schema.columns().iter();
    let mut asked = COLUMNS_OF_ITEMS.iter();
    let fits = asked.all(|(name, kind, _)| {
        let column = columns.next();
        column.is_some_and(|column| column.name == *name && column.kind == *kind)
    });
    fits.then_some(()).ok_or(ItemError::Columns)
}

/// Whether a table can be a container: its columns are those of items, and so is its key.
pub(crate) fn is_container(schema: &Schema) -> bool {
    schema.key_positions() == [0, 1, 2, 3] && check_columns(schema).is_ok()
}

impl Key {
    /// Where a name lies in a directory whose sorting keys are in this order.
    pub fn of_name(path: &str, name: &str, order: Order) -> Self {
        Self::in_buckets(path, name, order, None)
    }

    /// The same where items are distributed over buckets.
    pub fn in_buckets(path: &str, name: &str, order: Order, buckets: Option<NonZeroU32>) -> Self {
        let parts = ItemName::split(name);
        // The schema itself must be found before anybody knows what it says.
        let order = match parts.sharding {
            "" => Order::Text,
            _ => order,
        };
        Self {
            path: path.to_owned(),
            sharding: buckets
                .and_then(|buckets| parts.spread_sharding(buckets))
                .unwrap_or_else(|| parts.sharding.to_owned()),
            sorting: parts.sorting.map(|sorting| order.encode(sorting)),
        }
    }

    /// Where a directory itself lies.
    pub fn of_directory(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            sharding: String::new(),
            sorting: None,
        }
    }

    /// Whether it is in a bucket, which its name then does not tell.
    pub fn is_in_bucket(&self) -> bool {
        self.sharding.contains('/')
    }

    /// Whether it is that of a directory.
    pub fn is_of_directory(&self) -> bool {
        self.sharding.is_empty() && self.sorting.is_none()
    }

    /// The values of the key's columns.
    pub fn values(&self) -> [Value; 4] {
        let [path, slice, sharding] = sharding_prefix(&self.path, &self.sharding);
        [
            path,
            slice,
            sharding,
            sorting_value(self.sorting.as_deref()),
        ]
    }
}

/// What the keys of all records of one sharding key begin with.
pub fn sharding_prefix(path: &str, sharding: &str) -> [Value; 3] {
    [
        Value::Utf8(path.into()),
        Value::Uint16(slice(sharding)),
        Value::Utf8(sharding.into()),
    ]
}

/// A sorting key as the value of its column.
pub fn sorting_value(sorting: Option<&[u8]>) -> Value {
    sorting.map_or(Value::Null, |sorting| Value::String(sorting.into()))
}

impl Record {
    /// The record of a directory that was made and changed at these moments.
    pub fn of_directory(path: &str, (created_ns, changed_ns): (i64, i64)) -> Result<Self> {
        Ok(Self {
            key: Key::of_directory(path),
            name: String::new(),
            attributes: Item::new().encode()?,
            data: None,
            created_ns,
            changed_ns,
            rest: Vec::new(),
        })
    }

    /// The record that a row is, its values in the order of the columns.
    pub fn from_row(mut row: Vec<Value>) -> Result<Self> {
        let rest = match row.len() > COLUMNS {
            true => row.split_off(COLUMNS),
            false => Vec::new(),
        };
        let row = <[Value; COLUMNS]>::try_from(row).map_err(|_| ItemError::Columns)?;
        let [
            Value::Utf8(path),
            Value::Uint16(_),
            Value::Utf8(sharding),
            sorting,
            Value::Utf8(name),
            Value::String(attributes),
            data,
            Value::Int64(created_ns),
            Value::Int64(changed_ns),
        ] = row
        else {
            return Err(ItemError::Columns);
        };
        let key = Key {
            path: path.into_string(),
            sharding: sharding.into_string(),
            sorting: bytes(sorting)?,
        };
        Ok(Self {
            key,
            name: name.into_string(),
            attributes: attributes.into_vec(),
            data: bytes(data)?,
            created_ns,
            changed_ns,
            rest,
        })
    }

    /// The row that it is in a table of these columns.
    pub fn into_row(self, schema: &Schema) -> Vec<Value> {
        let mut row = Vec::with_capacity(schema.columns().len());
        row.extend(self.key.values());
        let data = self
            .data
            .map_or(Value::Null, |data| Value::String(data.into()));
        row.extend([
            Value::Utf8(self.name.into()),
            Value::String(self.attributes.into()),
            data,
            Value::Int64(self.created_ns),
            Value::Int64(self.changed_ns),
        ]);
        row.extend(self.rest);
        row.truncate(schema.columns().len());
        for position in row.len()..schema.columns().len() {
            row.push(schema.missing(position).clone());
        }
        row
    }

    /// Its attributes, to be read one by one.
    pub fn view(&self) -> Result<ItemView<'_>> {
        Ok(ItemView::new(&self.attributes)?)
    }

    /// All its attributes.
    pub fn item(&self) -> Result<Item> {
        Ok(Item::decode(&self.attributes)?)
    }

    /// Bytes of the object.
    pub fn size(&self) -> u64 {
        let data = self.data.as_deref().unwrap_or_default();
        let own = || u64::try_from(data.len()).unwrap_or(u64::MAX);
        Manifest::size_of(data).unwrap_or_else(own)
    }

    /// The parts of a large object; nothing if its bytes lie in the row.
    pub fn manifest(&self) -> Result<Option<Manifest>> {
        let data = self.data.as_deref().unwrap_or_default();
        match Manifest::is(data) {
            true => Manifest::decode(data).map(Some),
            false => Ok(None),
        }
    }

    /// One of the attributes that the server keeps.
    pub fn system_attribute(&self, name: &str) -> Option<Attribute> {
        let (created, changed) = (self.created_ns, self.changed_ns);
        let integer = match name {
            "__name" => return Some(Attribute::Text(self.name.clone())),
            "__size" => i64::try_from(self.size()).unwrap_or(i64::MAX),
            "__mode" if self.key.is_of_directory() => MODE_DIRECTORY,
            "__mode" => MODE_OBJECT,
            "__inode_number" => i64::from(inode_number(&self.key.path, &self.name)),
            "__atime_secs" | "__mtime_secs" => changed.div_euclid(SECOND_NS),
            "__atime_nsecs" | "__mtime_nsecs" => changed.rem_euclid(SECOND_NS),
            "__ctime_secs" => created.div_euclid(SECOND_NS),
            "__ctime_nsecs" => created.rem_euclid(SECOND_NS),
            "__uid" | "__gid" | "__obj_type" | "__collection_id" => 0,
            _ => return None,
        };
        Some(Attribute::Integer(integer))
    }
}

fn bytes(value: Value) -> Result<Option<Vec<u8>>> {
    match value {
        Value::Null => Ok(None),
        Value::String(bytes) => Ok(Some(bytes.into_vec())),
        _ => Err(ItemError::Columns),
    }
}

/// What is true of a record until somebody changes it, as a condition: the verifier.
pub fn verifier(changed_ns: i64) -> String {
    format!(
        "__mtime_secs=={} and __mtime_nsecs=={}",
        changed_ns.div_euclid(SECOND_NS),
        changed_ns.rem_euclid(SECOND_NS)
    )
}
