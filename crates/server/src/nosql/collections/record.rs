//! An item or object as a row of its container's table.
//!
//! ```text
//!   key                                        the rest
//!   path    slice   sharding   sorting         name  attributes  data  created_ns  changed_ns
//!   Utf8    Uint16  Utf8       String, NULL    Utf8  String      String  Int64     Int64
//! ```
//!
//! The slice is a hash of the sharding key, so that a directory spreads over 1,024 ranges. A
//! directory is a row too, with no name: it is there before its first item and after its last.

use db::{Column, Row, Schema, Type, Value};
use keys::item_name::slice;
use keys::{Attribute, Item, ItemName, ItemView};

use super::error::{Error, Result};
use super::order::Order;
use crate::nosql;
use crate::nosql::expression::Attributes;

const SECOND_NS: i64 = 1_000_000_000;

/// What a file that its owner and group may change says of itself.
const MODE_OBJECT: i64 = 0o100_664;

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
    /// Its name, empty for a directory.
    pub name: String,
    /// Its attributes, encoded.
    pub attributes: Vec<u8>,
    /// The bytes of an object.
    pub data: Option<Vec<u8>>,
    /// When it was made, in nanoseconds since 1970.
    pub created_ns: i64,
    /// When it was changed last.
    pub changed_ns: i64,
}

/// The columns of a container's table.
pub(super) fn schema(table: &str) -> db::Result<Schema> {
    let columns = vec![
        Column::new("path", Type::Utf8).not_null(),
        Column::new("slice", Type::Uint16).not_null(),
        Column::new("sharding", Type::Utf8).not_null(),
        Column::new("sorting", Type::String),
        Column::new("name", Type::Utf8).not_null(),
        Column::new("attributes", Type::String).not_null(),
        Column::new("data", Type::String),
        Column::new("created_ns", Type::Int64).not_null(),
        Column::new("changed_ns", Type::Int64).not_null(),
    ];
    Ok(Schema::new(
        table,
        columns,
        &["path", "slice", "sharding", "sorting"],
    )?)
}

impl Key {
    /// Where a name lies in a directory whose sorting keys are in this order.
    pub(super) fn of_name(path: &str, name: &str, order: Order) -> Self {
        let parts = ItemName::split(name);
        // The schema itself must be found before anybody knows what it says.
        let order = match parts.sharding {
            "" => Order::Text,
            _ => order,
        };
        Self {
            path: path.to_owned(),
            sharding: parts.sharding.to_owned(),
            sorting: parts.sorting.map(|sorting| order.encode(sorting)),
        }
    }

    /// Where a directory itself lies.
    pub(super) fn of_directory(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            sharding: String::new(),
            sorting: None,
        }
    }

    pub(super) fn is_of_directory(&self) -> bool {
        self.sharding.is_empty() && self.sorting.is_none()
    }

    /// The values of the key's columns.
    pub(super) fn values(&self) -> [Value; 4] {
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
pub(super) fn sharding_prefix(path: &str, sharding: &str) -> [Value; 3] {
    [
        Value::Utf8(path.into()),
        Value::Uint16(slice(sharding)),
        Value::Utf8(sharding.into()),
    ]
}

pub(super) fn sorting_value(sorting: Option<&[u8]>) -> Value {
    sorting.map_or(Value::Null, |sorting| Value::String(sorting.into()))
}

impl Record {
    pub(super) fn from_row(row: Row) -> Result<Self> {
        let row = <[Value; 9]>::try_from(row).map_err(|_| Error::Columns)?;
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
            return Err(Error::Columns);
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
        })
    }

    pub(super) fn into_row(self) -> Row {
        let mut row = Vec::with_capacity(9);
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

    /// Bytes of its data.
    pub fn size(&self) -> usize {
        self.data.as_ref().map_or(0, Vec::len)
    }

    /// One of the attributes that the server keeps.
    pub fn system_attribute(&self, name: &str) -> Option<Attribute> {
        let (created, changed) = (self.created_ns, self.changed_ns);
        let integer = match name {
            "__name" => return Some(Attribute::Text(self.name.clone())),
            "__size" => i64::try_from(self.size()).unwrap_or(i64::MAX),
            "__mode" => MODE_OBJECT,
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

/// The attributes that the server keeps, and no others.
impl Attributes for Record {
    fn attribute(&self, name: &str) -> nosql::Result<Option<Attribute>> {
        Ok(self.system_attribute(name))
    }
}

fn bytes(value: Value) -> Result<Option<Vec<u8>>> {
    match value {
        Value::Null => Ok(None),
        Value::String(bytes) => Ok(Some(bytes.into_vec())),
        _ => Err(Error::Columns),
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
