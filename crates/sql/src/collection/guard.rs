//! What keeps tables and collections out of each other's way: names, and the tables of containers.
//!
//! ```text
//!   "users/logs"     a table of that name would hide the directory logs/ of the container users,
//!                    and a directory that is made later would be hidden by the table
//!   "v3io/users"     the table of a container: dropped with the container, over HTTP
//! ```

use std::sync::Arc;

use txn::Store;

use super::error::ItemError;
use super::items::split;
use super::record::{self, check_columns};
use super::stored::Stored;
use super::{TABLE_PREFIX, table_name};
use crate::{Catalog, Error, Result, Schema};

/// An error if a table of this name would hide a collection, or anything in a container.
pub(crate) fn check_name(catalog: &Catalog, store: &Arc<Store>, name: &str) -> Result<()> {
    let Some((container, path)) = split(name) else {
        return Ok(());
    };
    let hides = match catalog.find(&table_name(container)) {
        Some(base) if check_columns(base.schema()).is_ok() => {
            let stored = Stored::new(&base, store.view().reader());
            stored.first(&stored.below(&path)?)?.is_some()
        }
        _ => false,
    };
    // Nothing else can have a name like that.
    if hides || name.starts_with(TABLE_PREFIX) {
        return Err(Error::Item(ItemError::NameTaken {
            name: name.to_owned(),
            place: format!("/{container}/{path}"),
        }));
    }
    Ok(())
}

/// An error if a table with these columns has the name of a container and cannot be one.
pub(crate) fn check_made(schema: &Schema) -> Result<()> {
    match schema.name().starts_with(TABLE_PREFIX) && !record::is_container(schema) {
        true => Err(Error::Item(ItemError::NoContainer {
            table: schema.name().to_owned(),
        })),
        false => Ok(()),
    }
}

/// An error if a change of a table makes a container of it, or no container any more. Columns may be added,
/// and one that is broken already may be mended.
pub(crate) fn check_altered(old: &Schema, new: &Schema) -> Result<()> {
    if old.name() != new.name() {
        refuse(old, "renamed")?;
        return check_made(new);
    }
    match record::is_container(new) {
        true => Ok(()),
        false => refuse(old, "altered so that its rows are no items any more"),
    }
}

/// An error if a table is a container, which SQL does not change like this.
pub(crate) fn refuse(table: &Schema, changed: &'static str) -> Result<()> {
    let container = table.name().strip_prefix(TABLE_PREFIX);
    match container.filter(|_| record::is_container(table)) {
        Some(container) => Err(Error::Item(ItemError::Container {
            table: table.name().to_owned(),
            container: container.to_owned(),
            changed,
        })),
        None => Ok(()),
    }
}

/// The table that hides a directory from SQL, or one above it.
pub(crate) fn hides(catalog: &Catalog, container: &str, path: &str) -> Option<String> {
    let ends = path.match_indices('/').map(|(end, _)| end);
    let mut names = ends.map(|end| format!("{container}/{}", path.get(..end).unwrap_or_default()));
    names.find(|name| catalog.find(name).is_some())
}
