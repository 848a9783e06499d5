//! Putting a new table in the place of an old one: TRUNCATE, and changes that rewrite every row.

use std::sync::Arc;

use keys::{Value, format_key};
use txn::{Bytes, Direction, KeyRange, Pile, Store, TableId, Timestamp};

use super::change::renumber;
use super::{Change, Table};
use crate::record::{self, Record};
use crate::schema::{Encoded, Parts};
use crate::{Error, Result, Schema};

/// How much memory rows may take on their way when a table is rewritten.
const PILE_BYTES_MAX: usize = 64 << 20;

/// A table that waits to take the place of another.
struct Successor {
    old: Arc<Table>,
    new: Arc<Table>,
}

impl Change<'_> {
    /// Empties tables, all in one instant. They keep their partitions.
    pub(crate) fn empty(&self, tables: &[Arc<Table>]) -> Result<()> {
        let mut made = Vec::new();
        let outcome = self.empty_successors(tables, &mut made);
        let successors = outcome.inspect_err(|_| self.discard(made.iter().copied()))?;
        self.switch(&successors, made, || Ok(()))
    }

    fn empty_successors(
        &self,
        tables: &[Arc<Table>],
        made: &mut Vec<TableId>,
    ) -> Result<Vec<Successor>> {
        let mut emptied = Vec::new();
        let mut numbers = Vec::new();
        for table in tables {
            let before = table.schema.indexes().iter().map(|index| index.id);
            let before: Vec<TableId> = std::iter::once(table.id).chain(before).collect();
            let (id, parts) = self.empty_successor(table, made)?;
            let after = parts.indexes.iter().map(|index| index.id);
            numbers.extend(before.into_iter().zip(std::iter::once(id).chain(after)));
            emptied.push((table, id, parts));
        }
        let mut successors = Vec::new();
        for (old, id, mut parts) in emptied {
            // Those that refer to each other go on doing so.
            renumber(&mut parts, &numbers);
            let (schema, epoch) = (Schema::from_parts(parts)?, old.epoch + 1);
            let new = Table::new(id, schema, epoch, None, Timestamp::default())?;
            successors.push(Successor {
                old: Arc::clone(old),
                new: Arc::new(new),
            });
        }
        Ok(successors)
    }

    /// An empty table with the partitions of another, and what its schema is made of.
    fn empty_successor(&self, table: &Table, made: &mut Vec<TableId>) -> Result<(TableId, Parts)> {
        let id = TableId(self.store.fresh_id_from_reserve()?);
        let building = record::encode(&Record::Building);
        let bounds = bounds(self.store, table.id)?;
        self.store.create_table(id, &bounds, building)?;
        made.push(id);
        let mut parts = table.schema.parts().clone();
        for index in &mut parts.indexes {
            let entries = TableId(self.store.fresh_id_from_reserve()?);
            index.id = self.make_index(entries, id, &index.name)?;
            // It has an entry for each of no rows.
            index.ready = true;
            made.push(index.id);
        }
        Ok((id, parts))
    }

    /// Writes every row of a table anew, under another schema without indexes. `convert` makes the new
    /// values of a row from the old ones.
    pub(crate) fn rewrite(
        &self,
        store: &Arc<Store>,
        table: &Arc<Table>,
        schema: Schema,
        convert: impl Fn(Vec<Value>) -> Vec<Value>,
    ) -> Result<()> {
        let id = TableId(self.store.fresh_id()?);
        let building = record::encode(&Record::Building);
        self.store.create_table(id, &[], building)?;
        let epoch = table.epoch + 1;
        let since = Timestamp::default();
        let new = Arc::new(Table::new(id, schema, epoch, None, since)?);
        let fill = || fill(store, table, &new, convert);
        let successor = Successor {
            old: Arc::clone(table),
            new: Arc::clone(&new),
        };
        self.switch(&[successor], vec![id], fill)
    }

    /// Lets the new tables take the places of the old ones. From the moment that `fill` begins nobody
    /// can write to the old ones; if it fails they stay.
    fn switch(
        &self,
        successors: &[Successor],
        made: Vec<TableId>,
        fill: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        for Successor { old, new } in successors {
            self.store.set_epoch(old.id, new.epoch);
            self.store.set_epoch(new.id, new.epoch);
        }
        let records = successors.iter().flat_map(|Successor { old, new }| {
            let record = record::encode(&Record::Table(Box::new(new.schema.clone())));
            [(new.id, Some(record)), (old.id, None)]
        });
        let switched = fill().and_then(|()| Ok(self.store.set_records(records)?));
        if let Err(error) = switched {
            for Successor { old, .. } in successors {
                self.store.set_epoch(old.id, old.epoch);
            }
            self.discard(made);
            return Err(error);
        }
        let retired = successors.iter().flat_map(|Successor { old, .. }| {
            let indexes = old.schema.indexes().iter().map(|index| index.id);
            std::iter::once(old.id).chain(indexes)
        });
        self.store.retire_tables(retired);
        let shown = successors.iter();
        self.put(shown.map(|one| (one.old.schema.name(), &one.new)));
        for Successor { old, .. } in successors {
            let indexes = old.schema.indexes().iter().map(|index| index.id);
            self.discard(std::iter::once(old.id).chain(indexes));
        }
        Ok(())
    }
}

/// The keys at which the partitions of a table begin, besides the first.
fn bounds(store: &Store, table: TableId) -> Result<Vec<Bytes>> {
    let map = store.map(table)?;
    let partitions = map.partitions().iter().skip(1);
    Ok(partitions
        .map(|one| one.descriptor.range.lower.clone())
        .collect())
}

/// Copies rows into a table that nobody else knows of, and makes them durable.
fn fill(
    store: &Arc<Store>,
    from: &Table,
    to: &Table,
    convert: impl Fn(Vec<Value>) -> Vec<Value>,
) -> Result<()> {
    let mut pile = Pile::default();
    let mut encoded = Encoded::default();
    for pair in store
        .view()
        .scan(from.id, &KeyRange::all(), Direction::Ascending)?
    {
        let (key, row) = pair?;
        let values = convert(from.schema.decode(&key, &row)?);
        to.schema.encode_into(&values, &mut encoded)?;
        pile.push(&encoded.key, &encoded.row);
        if pile.memory() > PILE_BYTES_MAX {
            load(store, to, std::mem::take(&mut pile))?;
        }
    }
    load(store, to, pile)?;
    Ok(store.sync()?)
}

fn load(store: &Arc<Store>, to: &Table, rows: Pile) -> Result<()> {
    match store.load_in_epoch(to.id, to.epoch, rows) {
        Err(txn::Error::RowExists { key, .. } | txn::Error::RowTwice { key, .. }) => {
            Err(Error::RowExists {
                table: to.schema.name().to_owned(),
                key: format_key(&key),
                detail: to.schema.taken(&key),
            })
        }
        outcome => outcome.map(|_| ()).map_err(Error::from),
    }
}
