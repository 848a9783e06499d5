//! How DataFusion finds our tables by name.

use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::error::DataFusionError;

use super::provider::ReadTable;
use super::views;
use crate::Catalog;
use crate::system::SystemTables;

/// The one catalog there is.
pub(crate) const CATALOG: &str = "evenkeel";

/// The schema in which tables are found without naming it.
pub(crate) const SCHEMA: &str = "public";

/// Functions that give rows.
const TABLE_FUNCTIONS: [&str; 3] = ["generate_series", "range", "unnest"];

/// All tables.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    catalog: Arc<Catalog>,
    system: SystemTables,
}

impl Names {
    pub(crate) fn new(catalog: Arc<Catalog>, system: SystemTables) -> Self {
        Self { catalog, system }
    }
}

impl CatalogProviderList for Names {
    fn register_catalog(
        &self,
        _name: String,
        _catalog: Arc<dyn CatalogProvider>,
    ) -> Option<Arc<dyn CatalogProvider>> {
        None
    }

    fn catalog_names(&self) -> Vec<String> {
        vec![CATALOG.to_owned()]
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        (name == CATALOG).then(|| Arc::new(self.clone()) as Arc<dyn CatalogProvider>)
    }
}

impl CatalogProvider for Names {
    fn schema_names(&self) -> Vec<String> {
        vec![SCHEMA.to_owned()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        match name {
            SCHEMA => Some(Arc::new(self.clone())),
            other => self.system.schema(other),
        }
    }
}

#[async_trait::async_trait]
impl SchemaProvider for Names {
    fn table_names(&self) -> Vec<String> {
        self.catalog
            .all()
            .iter()
            .map(|table| table.schema().name().to_owned())
            .collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let (name, index) = views::parts(name);
        match self.catalog.get(name) {
            Ok(table) => {
                let index = index.map(str::to_owned);
                Ok(Some(Arc::new(ReadTable::new(table, index))))
            }
            Err(error) => match self.system.unnamed(name)? {
                Some(table) => Ok(Some(table)),
                // Asked about before its arguments are looked at.
                None if TABLE_FUNCTIONS.contains(&name) => Ok(None),
                None => Err(super::provider::external(error)),
            },
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        self.catalog.get(views::parts(name).0).is_ok()
    }
}
