//! Which tables hang together, and by which columns.

use std::sync::Arc;

use keys::{Type, Value};
use txn::{TableId, Transaction};

use crate::default::default_scalar;
use crate::index::IndexTable;
use crate::modify::find_key;
use crate::scalar::Given;
use crate::schema::{ForeignKey, Target};
use crate::{Catalog, Error, Result, Schema, Table, cast};

/// The foreign keys that a table is part of.
#[derive(Debug)]
pub(crate) struct Relations {
    /// Its own.
    pub(crate) parents: Vec<Arc<Link>>,
    /// Those that refer to it.
    pub(crate) children: Vec<Arc<Link>>,
}

/// A foreign key between two tables as they are now.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) key: ForeignKey,
    pub(crate) child: Arc<Table>,
    pub(crate) parent: Arc<Table>,
    /// Where the columns stand in the parent that those of the key refer to, in their order.
    referred: Vec<usize>,
}

impl Relations {
    /// Those of a table, if there are any.
    pub(crate) fn of(catalog: &Catalog, table: &Arc<Table>) -> Result<Option<Self>> {
        if !catalog.has_foreign_keys() {
            return Ok(None);
        }
        let mut parents = Vec::new();
        for key in table.schema().foreign_keys() {
            let parent = match key.parent {
                None => Arc::clone(table),
                Some(id) => catalog.by_id(id).ok_or_else(|| lost(table, key))?,
            };
            parents.push(Arc::new(Link::new(key, table, &parent)?));
        }
        let mut children = Vec::new();
        for (child, key) in catalog.referring(table.id()) {
            children.push(Arc::new(Link::new(&key, &child, table)?));
        }
        let relations = Self { parents, children };
        let none = relations.parents.is_empty() && relations.children.is_empty();
        Ok((!none).then_some(relations))
    }
}

fn lost(table: &Table, key: &ForeignKey) -> Error {
    Error::Internal {
        what: format!(
            "foreign key `{}` of table `{}` has lost its parent",
            key.name,
            table.schema().name()
        ),
    }
}

/// Where the columns of a parent stand that a foreign key may refer to as its primary key: those that
/// the others of the key follow from. None if the key is hidden.
pub(crate) fn key_columns(schema: &Schema) -> Vec<usize> {
    if schema.visible_key().is_empty() {
        return Vec::new();
    }
    let key = schema.key_positions();
    let decides = |position: &&usize| match schema.generated_at(**position) {
        Some(generated) => !generated.follows(key),
        None => true,
    };
    key.iter().filter(decides).copied().collect()
}

/// Where the columns stand that a target of a foreign key is about, in its order.
pub(crate) fn referenced_columns(parent: &Table, target: Target) -> Option<Vec<usize>> {
    match target {
        Target::Key => Some(key_columns(parent.schema())),
        Target::Index(id) => {
            let mut indexes = parent.schema().indexes().iter();
            let index = indexes.find(|index| index.id == id)?;
            Some(index.columns.clone())
        }
    }
}

impl Link {
    pub(crate) fn new(key: &ForeignKey, child: &Arc<Table>, parent: &Arc<Table>) -> Result<Self> {
        let referred = referenced_columns(parent, key.target).ok_or_else(|| lost(child, key))?;
        Ok(Self {
            key: key.clone(),
            child: Arc::clone(child),
            parent: Arc::clone(parent),
            referred,
        })
    }

    /// Lets the commit fail if either table has another schema by then.
    pub(crate) fn expect_epochs(&self, transaction: &mut Transaction) {
        for table in [&self.child, &self.parent] {
            transaction.expect_epoch(table.id(), table.epoch());
        }
    }

    /// What a row of the child refers to, in the types of the parent as far as those have such values;
    /// nothing if one is NULL.
    pub(crate) fn referring(&self, row: Option<&[Value]>) -> Option<Vec<Value>> {
        let values = picked(row?, &self.key.columns)?;
        Some(converted(
            values,
            &kinds(self.parent.schema(), &self.referred),
        ))
    }

    /// What a row of the parent can be referred to by; nothing if a value is NULL.
    pub(crate) fn referred(&self, row: Option<&[Value]>) -> Option<Vec<Value>> {
        picked(row?, &self.referred)
    }

    /// The values of a row of the parent that children have too, whether or not they are NULL.
    pub(super) fn values_in_parent(&self, row: &[Value]) -> Vec<Value> {
        let value = |position: &usize| row.get(*position).cloned().unwrap_or(Value::Null);
        self.referred.iter().map(value).collect()
    }

    /// The values as a child has them.
    pub(super) fn as_child(&self, values: &[Value]) -> Vec<Value> {
        converted(
            values.to_vec(),
            &kinds(self.child.schema(), &self.key.columns),
        )
    }

    /// Whether there is a parent with these values.
    pub(super) fn has_parent(
        &self,
        transaction: &mut Transaction,
        values: &[Value],
    ) -> Result<bool> {
        let schema = self.parent.schema();
        let mut row = vec![Value::Null; schema.columns().len()];
        for (value, position) in values.iter().zip(&self.referred) {
            let kind = schema.columns().get(*position).map(|column| column.kind);
            if !kind.is_some_and(|kind| value.type_matches(kind)) {
                return Ok(false);
            }
            if let Some(place) = row.get_mut(*position) {
                place.clone_from(value);
            }
        }
        match self.key.target {
            Target::Key => {
                schema.generate(&mut row, &[])?;
                find_key(transaction, &self.parent, &row)
            }
            Target::Index(id) => {
                let index = self.index(id)?;
                Ok(index.find(transaction, &self.parent, &row)?.is_some())
            }
        }
    }

    fn index(&self, id: TableId) -> Result<&IndexTable> {
        let mut indexes = self.parent.indexes().iter();
        let found = indexes.find(|index| index.id == id);
        found
            .map(AsRef::as_ref)
            .ok_or_else(|| lost(&self.child, &self.key))
    }

    /// A row of the child that refers to other values; to none if there are none.
    pub(super) fn with_values(&self, row: &[Value], values: &[Value]) -> Result<Vec<Value>> {
        let mut row = row.to_vec();
        let values = values.iter().cloned().chain(std::iter::repeat(Value::Null));
        for (position, value) in self.key.columns.iter().zip(values) {
            self.set(&mut row, *position, value)?;
        }
        self.completed(row)
    }

    /// A row of the child that refers to what its defaults say.
    pub(super) fn with_defaults(&self, row: &[Value]) -> Result<Vec<Value>> {
        let mut row = row.to_vec();
        for position in &self.key.columns {
            let column = self.child.schema().columns().get(*position);
            let Some(default) = column.map(default_scalar).transpose()? else {
                continue;
            };
            self.set(&mut row, *position, default.value(Given::at(0))?)?;
        }
        self.completed(row)
    }

    fn set(&self, row: &mut [Value], position: usize, value: Value) -> Result<()> {
        let column = self.child.schema().columns().get(position);
        if let (Some(place), Some(column)) = (row.get_mut(position), column) {
            *place = cast(value, column.kind)?;
        }
        Ok(())
    }

    fn completed(&self, mut row: Vec<Value>) -> Result<Vec<Value>> {
        let schema = self.child.schema();
        schema.fit(&mut row)?;
        schema.generate(&mut row, &[])?;
        Ok(row)
    }

    /// The values with the names of their columns, in PostgreSQL's words.
    pub(super) fn shown(&self, values: &[Value], by_child: bool) -> String {
        let (schema, columns) = match by_child {
            true => (self.child.schema(), &self.key.columns),
            false => (self.parent.schema(), &self.referred),
        };
        let names: Vec<&str> = columns.iter().map(|at| schema.name_at(*at)).collect();
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        format!("Key ({})=({})", names.join(", "), values.join(", "))
    }
}

/// The values at these positions, unless one of them is NULL.
fn picked(row: &[Value], positions: &[usize]) -> Option<Vec<Value>> {
    let values = positions.iter().map(|position| {
        let value = row.get(*position)?;
        (!value.is_null()).then(|| value.clone())
    });
    values.collect()
}

fn kinds(schema: &Schema, positions: &[usize]) -> Vec<Type> {
    let columns = positions.iter().filter_map(|at| schema.columns().get(*at));
    columns.map(|column| column.kind).collect()
}

/// The values in other types, and as they are where those have no such value.
fn converted(values: Vec<Value>, kinds: &[Type]) -> Vec<Value> {
    let pairs = values.into_iter().zip(kinds);
    let converted = pairs.map(|(value, kind)| cast(value.clone(), *kind).unwrap_or(value));
    converted.collect()
}
