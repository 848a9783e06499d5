//! What keepers of collections need besides tables and transactions: gates, layouts and schemas.

use std::sync::Arc;

use sql::Table;
use sql::collection::{Found, Gate, Ground};

use crate::{Database, Result, Snapshot};

impl Database {
    /// The gate of a container.
    pub fn container_gate(&self, container: &str) -> Arc<Gate> {
        self.catalog.gate(container)
    }

    /// Which schema holds for the items of a directory in a container's table.
    pub fn item_layout(
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

    /// Moves items that do not lie where their schema says, if somebody stopped in the middle of it.
    pub async fn finish_moving_items(&self, container: &str, root: &str) -> Result<()> {
        Ok(self.item_ground().finish_moving(container, root).await?)
    }

    /// Lets everybody look schemas of a container up again, because some were deleted with their
    /// directories.
    pub fn forget_item_schemas(&self, container: &str) {
        self.item_ground().forget_schemas(container);
    }

    fn item_ground(&self) -> Ground<'_> {
        Ground {
            store: &self.store,
            catalog: &self.catalog,
        }
    }
}
