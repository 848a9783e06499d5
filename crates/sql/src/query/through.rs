//! Reading a table through one of its indexes.
//!
//! ```text
//!   WHERE city = 'Oslo'     by_city /Oslo/…  ─┬─ holds all that is wanted ──────────────► rows
//!                                             └─ the table's row under the entry's key ─► rows
//! ```
//!
//! A plan serves snapshots of any age, and an index only those that see all its entries: an older one
//! reads the table by its key. So rows that may come through an index come in no promised order.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::Expr;
use txn::Reader;

use super::decode::{Batch, Wanted};
use super::ranges::Filters;
use crate::index::IndexTable;
use crate::{Result, Table};

/// An index to read through.
#[derive(Clone, Debug)]
pub(crate) struct Through {
    pub(crate) index: Arc<IndexTable>,
    /// What is asked of the index's key.
    pub(crate) filters: Filters,
    /// The wanted columns in its entries, if they hold all of them.
    pub(crate) held: Option<Arc<Wanted>>,
}

/// What a query asks of a table.
pub(crate) struct Asked<'a> {
    /// The positions of the wanted columns, and what they look like.
    pub(crate) positions: &'a [usize],
    pub(crate) schema: &'a SchemaRef,
    pub(crate) filters: &'a [Expr],
    pub(crate) properties: &'a ExecutionProps,
    /// The index that the query insists on.
    pub(crate) hint: Option<&'a str>,
}

impl Through {
    /// The index that binds the most columns, if it binds more than the key does by `by_key`. One
    /// that only narrows a range must hold all that is wanted: to fetch every row of a wide range
    /// by its key takes longer than to read them all.
    pub(crate) fn choose(table: &Table, asked: &Asked<'_>, by_key: &Filters) -> Option<Self> {
        let mut best: Option<Self> = None;
        for index in table.indexes().iter().filter(|index| index.ready) {
            let hinted = asked.hint == Some(index.name.as_str());
            if asked.hint.is_some() && !hinted {
                continue;
            }
            let (filters, properties) = (asked.filters, asked.properties);
            let filters = Filters::new(table.schema(), &index.key, filters, properties);
            let known = best.as_ref().map_or(by_key, |best| &best.filters);
            let held = index.covers(asked.positions.iter().copied());
            let narrows = filters.bound() > known.bound() && (held || filters.bound() >= 2);
            if !hinted && !narrows {
                continue;
            }
            best = Some(Self {
                held: held.then(|| Arc::new(held_columns(index, asked))),
                index: Arc::clone(index),
                filters,
            });
        }
        best
    }

    /// Whether the reader sees all its entries.
    pub(crate) fn serves(&self, reader: &Reader) -> bool {
        reader.at() >= self.index.since
    }

    /// An empty batch to push rows into.
    pub(crate) fn batch<'w>(&'w self, wanted: &'w Wanted, rows: usize) -> Batch<'w> {
        self.held.as_deref().unwrap_or(wanted).batch(rows)
    }

    /// Adds the row of an entry.
    pub(crate) fn push(
        &self,
        batch: &mut Batch<'_>,
        table: &Table,
        reader: &Reader,
        entry: (&[u8], &[u8]),
    ) -> Result<()> {
        if self.held.is_some() {
            return batch.push(self.index.schema(), entry);
        }
        let (key, row) = self.index.fetch(table, reader, entry.0, entry.1)?;
        batch.push(table.schema(), (&key, &row))
    }
}

fn held_columns(index: &IndexTable, asked: &Asked<'_>) -> Wanted {
    let positions = asked.positions.iter();
    let places: Vec<usize> = positions
        .filter_map(|position| index.place(*position))
        .collect();
    Wanted::new(index.schema(), &places, Arc::clone(asked.schema))
}
