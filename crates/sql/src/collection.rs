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
//! name ([`layout`]), and so where an item lies and what it may be called ([`spots`]) and is shown as
//! ([`shown`]). It can be worked out from the items ([`infer`]), and changing it may move rows
//! ([`moving`]) from where they are on record to be ([`spread`]). With a schema the directory is a table
//! of SQL, `"users/cars"` or `v3io.users.cars`, together with its partitions ([`items`],
//! [`columns`], [`writing`]); names of tables and of collections keep out of each other's way ([`guard`]).
//! Objects that are too large for a row lie in parts elsewhere, which their rows name ([`manifest`]).
//!
//! These rules are here once, for SQL and for the web API, which `db::items` serves.

mod columns;
pub mod error;
pub mod gate;
pub(crate) mod guard;
pub mod infer;
mod items;
pub mod layout;
pub mod manifest;
pub mod moving;
pub mod path;
pub mod record;
pub mod shown;
pub mod spots;
mod spread;
pub mod stored;
mod writing;

use std::sync::Arc;

use txn::Reader;

use crate::{Catalog, Result, Table};

pub use error::ItemError;
pub use gate::Gate;
pub use infer::Inferred;
pub use layout::Layout;
pub use manifest::{Manifest, Part};
pub use moving::Ground;
pub use record::{Key, Record};
pub use shown::Names;
pub use spots::Strand;
pub use stored::{Found, announce};

pub(crate) use columns::{Source, partition_value, sorting_bounds, text};
pub(crate) use gate::Gates;
pub(crate) use items::{Collection, all, find};
pub(crate) use stored::Stored;

/// Which schema holds for the items of a directory in a container's table.
pub fn layout_of(table: &Arc<Table>, reader: Reader, path: &str) -> Result<Found> {
    Stored::new(table, reader).layout(path)
}

/// The table that hides a directory of a container from SQL, if there is one.
pub fn hides(catalog: &Catalog, container: &str, path: &str) -> Option<String> {
    guard::hides(catalog, container, path)
}

/// Whether an object is one that the server keeps to itself beside a schema.
pub fn is_kept(name: &str) -> bool {
    [spread::LAYOUT_NAME, stored::MOVING_NAME].contains(&name)
}

/// What the names of containers' tables begin with.
pub const TABLE_PREFIX: &str = "v3io/";

/// The table of a container.
pub fn table_name(container: &str) -> String {
    format!("{TABLE_PREFIX}{container}")
}
