//! How DataFusion finds our tables by name.

use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::error::DataFusionError;

use super::items::ItemsTable;
use super::provider::ReadTable;
use super::views;
use crate::Catalog;
use crate::collection::TABLE_PREFIX;
use crate::names::COLLECTIONS;
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
        match name {
            CATALOG => Some(Arc::new(self.clone())),
            COLLECTIONS => Some(Arc::new(Containers(self.clone()))),
            _ => None,
        }
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
        match self.catalog.relation(name) {
            Ok(table) => {
                if let Some(items) = ItemsTable::new(&table) {
                    return Ok(Some(Arc::new(items)));
                }
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
        self.catalog.relation(views::parts(name).0).is_ok()
    }
}

/// The catalog of collections, whose schemas are containers.
#[derive(Debug)]
struct Containers(Names);

impl CatalogProvider for Containers {
    fn schema_names(&self) -> Vec<String> {
        let tables = self.0.table_names().into_iter();
        let containers =
            tables.filter_map(|name| Some(name.strip_prefix(TABLE_PREFIX)?.to_owned()));
        containers.collect()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let container = Container {
            names: self.0.clone(),
            container: name.to_owned(),
        };
        Some(Arc::new(container))
    }
}

/// The collections of one container.
#[derive(Debug)]
struct Container {
    names: Names,
    container: String,
}

impl Container {
    fn full(&self, name: &str) -> String {
        let path = name.trim_matches('/');
        format!("{TABLE_PREFIX}{}/{path}", self.container)
    }
}

#[async_trait::async_trait]
impl SchemaProvider for Container {
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let table = self.names.catalog.relation(&self.full(name));
        let table = table.map_err(super::provider::external)?;
        match ItemsTable::new(&table) {
            Some(items) => Ok(Some(Arc::new(items))),
            None => Ok(Some(Arc::new(ReadTable::new(table, None)))),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        self.names.catalog.relation(&self.full(name)).is_ok()
    }
}
