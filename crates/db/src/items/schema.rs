//! Gates, layouts and schemas of collections, as `sql::collection` keeps them.

use std::sync::Arc;

use sql::Table;
use sql::collection::{Found, Gate, Ground};

use crate::{Database, Result, Snapshot};

impl Database {
    /// The gate of a container.
    pub(crate) fn container_gate(&self, container: &str) -> Arc<Gate> {
        self.catalog.gate(container)
    }

    /// Which schema holds for the items of a directory in a container's table.
    pub(crate) fn item_layout(
        &self,
        snapshot: &Snapshot,
        table: &Arc<Table>,
        path: &str,
    ) -> Result<Found> {
        Ok(sql::collection::layout_of(table, snapshot.reader(), path)?)
    }

    /// Puts the schema of a directory, or deletes it, and moves its items if they are in another order
    /// then. When it was changed; nothing if there was none to delete.
    pub async fn set_item_schema(
        &self,
        container: &str,
        path: &str,
        schema: Option<Vec<u8>>,
    ) -> Result<Option<i64>> {
        Ok(self
            .item_ground()
            .set_schema(container, path, schema)
            .await?)
    }

    /// Moves items that must be where their schema says before anybody can use them.
    pub(crate) async fn finish_moving_items(&self, container: &str, root: &str) -> Result<()> {
        Ok(self.item_ground().finish_moving(container, root).await?)
    }

    /// Moves items that are still in former buckets.
    pub(crate) async fn finish_spreading_items(&self, container: &str, root: &str) -> Result<()> {
        Ok(self.item_ground().finish_spreading(container, root).await?)
    }

    /// The table that hides a directory from SQL, if there is one.
    pub(crate) fn hides_directory(&self, container: &str, path: &str) -> Option<String> {
        sql::collection::hides(&self.catalog, container, path)
    }

    /// Lets everybody look schemas of a container up again, because some were deleted with their
    /// directories.
    pub(crate) fn forget_item_schemas(&self, container: &str) {
        self.item_ground().forget_schemas(container);
    }

    fn item_ground(&self) -> Ground<'_> {
        Ground {
            store: &self.store,
            catalog: &self.catalog,
        }
    }
}
