//! What a value and a key are: types, ordered encoding, row encoding, digests, printing. Pure.
//!
//! Everything above this crate speaks of rows; everything below it speaks of bytes. This is where
//! the one becomes the other:
//!
//! ```text
//!   Value::Utf8("orders"), Value::Int64(1001)          what people mean     value, types
//!            │ key::encode_key                ▲
//!            ▼                                │ key::decode_key
//!   60 6f…73 00 01 │ 38 80 00 00 00 00 00 03 e9        what engines sort    key
//!            │ path::format_key               ▲
//!            ▼                                │ path::parse_key
//!   /orders/1001                                       what people read     path
//! ```
//!
//! Values that are not part of the key travel in one [`row`]. Items of the NoSQL web API, whose
//! attributes need no schema, are in [`attribute`], their names in [`item_name`] and the order of
//! those in [`item_order`]. Hashes that spread keys evenly are in [`digest`] (bit for bit those of
//! YDB) and [`bucket`] (bit for bit that of Iguazio).
//!
//! Deliberately absent: input and output, clocks, chance, and any notion of a table. A function here
//! gives the same bytes on every machine and in every year, because those bytes are on disks.

pub mod attribute;
pub mod bucket;
pub mod declared;
pub mod digest;
pub mod error;
pub mod item_name;
pub mod item_order;
pub mod key;
pub mod path;
pub mod row;
pub mod types;
pub mod value;

pub use attribute::{Array, Attribute, Item, ItemView, Time};
pub use declared::Declared;
pub use digest::hash_values;
pub use error::{Error, Result};
pub use item_name::{EvenSharding, ItemName, SLICES, check_item_name, spread_sharding};
pub use item_order::Order;
pub use key::{
    KEY_BYTES_MAX, KEY_COLUMN_BYTES_WARN, KEY_COLUMNS_MAX, KeyColumn, KeyColumns, append_key_value,
    decode_key, decode_key_prefix, encode_key, prefix_upper_bound, separator,
};
pub use path::{KeyPath, format_key, format_values, parse_bound, parse_key};
pub use row::{
    CELL_BYTES_MAX, COLUMNS_MAX, Cell, ROW_BYTES_WARN, RowView, append_row, encode_cells,
    encode_row,
};
pub use types::Type;
pub use value::{Decimal, Value};
