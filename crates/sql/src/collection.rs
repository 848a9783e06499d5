//! Collections of items, as tables: what the NoSQL web API keeps, seen and changed by SQL.
//!
//! A container is one ordinary table, `v3io/<container>`. Its rows are items, objects and directories
//! ([`record`]), sorted so that a directory is one range of keys:
//!
//! ```text
//!   table v3io/users, sorted by (path, slice, sharding, sorting)
//!
//!   cars/     7      blue   20180601    {"driver": "blue", "day": "20180601", "km": 12}
//!   cars/     7      blue   20180602    …
//! ```
//!
//! The object `.#schema` of a directory says which attributes are columns and which of them make the
//! name ([`layout`]). It can be worked out from the items ([`infer`]), and changing it may move rows
//! ([`moving`]). With a schema the directory is a table of
//! SQL, `"users/cars"` or `v3io.users.cars`, together with its partitions ([`items`],
//! [`columns`], [`writing`]).

mod columns;
pub mod error;
pub mod gate;
pub mod infer;
mod items;
pub mod layout;
pub mod moving;
pub mod path;
pub mod record;
pub mod stored;
mod writing;

use std::sync::Arc;

use txn::Reader;

use crate::{Result, Table};

pub use error::ItemError;
pub use gate::Gate;
pub use infer::Inferred;
pub use layout::Layout;
pub use moving::Ground;
pub use record::{Key, Record};
pub use stored::Found;

pub(crate) use columns::{Source, partition_value, sorting_bounds, text};
pub(crate) use gate::Gates;
pub(crate) use items::{Collection, all, find};
pub(crate) use stored::Stored;

/// Which schema holds for the items of a directory in a container's table.
pub fn layout_of(table: &Arc<Table>, reader: Reader, path: &str) -> Result<Found> {
    Stored::new(table, reader).layout(path)
}

/// What the names of containers' tables begin with.
pub const TABLE_PREFIX: &str = "v3io/";

/// The table of a container.
pub fn table_name(container: &str) -> String {
    format!("{TABLE_PREFIX}{container}")
}
