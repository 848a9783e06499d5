//! Changing the catalog: what is written first, so that a crash leaves all of a change or nothing.
//!
//! ```text
//!   CREATE TABLE   1  tables of indexes and sequences, with records that say they are owned
//!                  2  the table and its record, which lists them                   it is there
//!   ALTER TABLE    1  the next epoch begins: writers with the old schema are refused, and with a new
//!                     foreign key those of the tables that it refers to
//!                  2  the record                                                   it is changed
//!                  3  the new schema is shown, in the new epoch
//!   ADD CONSTRAINT    the rows are validated while others write ([`super::constrain`])
//!   CREATE INDEX   1  a table for its entries, with a record that says it is owned
//!                  2  the table's record, which lists it as not ready, in the next epoch
//!                  3  entries for all rows, while others write ([`crate::index`])
//!                  4  the table's record, which lists it as ready                  it is there
//!   TRUNCATE,      1  new tables, with the record "building"
//!   rewriting      2  one batch: their records, and the old ones gone              it is replaced
//!                  3  the old tables are dropped
//!   DROP TABLE     1  the table with its record                                    it is gone
//!                  2  what it owned
//! ```
//!
//! Loading drops every table that has no record, that is "building", or that is owned and on nobody's
//! list, and strikes indexes that are not ready from the lists. A query that is at work on a table when
//! it is replaced or dropped fails; one that begins later at an older snapshot finds a replaced table
//! empty, as in PostgreSQL.

use std::sync::{Arc, Weak};

use parking_lot::MutexGuard;
use txn::{Bytes, Store, TableId, Timestamp};

use super::{Catalog, Table};
use crate::collection::guard;
use crate::record::{self, Record};
use crate::schema::{Owned, Parts, Target};
use crate::sequence::{Definition, Sequence};
use crate::{Error, Index, Result, Schema};

/// A table to be made.
pub(crate) struct NewTable<'n> {
    pub(crate) schema: Schema,
    /// Where its partitions begin, besides the first.
    pub(crate) split_keys: &'n [Bytes],
    /// Sequences of its columns, by position.
    pub(crate) sequences: Vec<(usize, Definition)>,
    /// The tables that its foreign keys refer to.
    pub(crate) parents: &'n [Arc<Table>],
}

/// The right to change the catalog.
pub(crate) struct Change<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) store: &'c Store,
    _turn: MutexGuard<'c, ()>,
}

impl<'c> Change<'c> {
    pub(super) fn new(catalog: &'c Catalog, store: &'c Store, turn: MutexGuard<'c, ()>) -> Self {
        Self {
            catalog,
            store,
            _turn: turn,
        }
    }

    /// An error if a new table may not have that name: it is taken, or would hide a collection.
    pub(crate) fn check_new(&self, name: &str) -> Result<()> {
        self.check_free(name)?;
        match self.catalog.store.get().and_then(Weak::upgrade) {
            Some(store) => guard::check_name(self.catalog, &store, name),
            None => Ok(()),
        }
    }

    /// An error if a table or sequence of that name exists.
    pub(crate) fn check_free(&self, name: &str) -> Result<()> {
        let named = self.catalog.named.read();
        if named.tables.contains_key(name) {
            let name = name.to_owned();
            return Err(Error::TableExists { name });
        }
        if named.sequences.contains_key(name) {
            let name = name.to_owned();
            return Err(Error::SequenceExists { name });
        }
        Ok(())
    }

    /// The name, or the first with a number behind it that is free.
    pub(crate) fn free_name(&self, name: &str) -> String {
        let numbered = (1_u64..).map(|number| format!("{name}{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names
            .find(|name| self.check_free(name).is_ok())
            .expect("some number is free")
    }

    /// Makes a table, its indexes (whose numbers are given here) and the sequences of its columns.
    pub(crate) fn create(&self, new: NewTable<'_>) -> Result<Arc<Table>> {
        self.check_new(new.schema.name())?;
        for (_, definition) in &new.sequences {
            self.check_free(&definition.name)?;
        }
        let mut made = Vec::new();
        let parents = new.parents;
        let outcome = self.renew(parents).and_then(|renewed| {
            let table = self.create_all(new, &mut made)?;
            Ok((table, renewed))
        });
        match outcome {
            Ok((table, renewed)) => {
                let all = std::iter::once(&table).chain(&renewed);
                self.put(all.map(|one| (one.schema.name(), one)));
                Ok(table)
            }
            Err(error) => {
                self.restore(parents);
                self.discard(made);
                Err(error)
            }
        }
    }

    /// Drops what nobody lists any more. What cannot be dropped now is dropped when the store is
    /// opened again.
    pub(crate) fn discard(&self, ids: impl IntoIterator<Item = TableId>) {
        for id in ids {
            let _ = self.store.drop_table(id);
        }
    }

    fn create_all(&self, new: NewTable<'_>, made: &mut Vec<TableId>) -> Result<Arc<Table>> {
        let NewTable {
            schema,
            split_keys,
            sequences,
            ..
        } = new;
        let id = TableId(self.store.fresh_id()?);
        let mut parts = schema.parts().clone();
        self.create_indexes(id, &mut parts, made)?;
        let mut new_sequences = Vec::new();
        for (column, mut definition) in sequences {
            definition.owned = true;
            let sequence = self.make_sequence(definition)?;
            made.push(sequence.id());
            parts.sequences.push(Owned {
                sequence: sequence.id(),
                column,
            });
            new_sequences.push(sequence);
        }
        let schema = Schema::from_parts(parts)?;
        let record = record::encode(&Record::Table(Box::new(schema.clone())));
        let epoch = 0;
        let table = Arc::new(Table::new(id, schema, epoch, None, Timestamp::default())?);
        // Also if that fails: its record may be there.
        made.push(id);
        self.store.create_table(id, split_keys, record)?;
        self.show_sequences(new_sequences);
        Ok(table)
    }

    /// Makes empty tables for the entries of all indexes of a table that is yet to come.
    fn create_indexes(
        &self,
        owner: TableId,
        parts: &mut Parts,
        made: &mut Vec<TableId>,
    ) -> Result<()> {
        let mut renumbered = Vec::new();
        for index in &mut parts.indexes {
            let before = std::mem::replace(&mut index.id, self.create_index(owner, &index.name)?);
            renumbered.push((before, index.id));
            made.push(index.id);
        }
        renumber(parts, &renumbered);
        Ok(())
    }

    /// Begins a new epoch of tables whose schemas stay, because their writers have to know of something
    /// that is about to refer to them. Nobody can write to them until what comes of this is shown, in one
    /// instant with the table that refers to them.
    pub(super) fn renew(&self, tables: &[Arc<Table>]) -> Result<Vec<Arc<Table>>> {
        let tables = tables.iter();
        let renewed = tables.map(|table| self.begin_epoch(table, table.schema.clone()));
        renewed.collect()
    }

    /// Begins a new epoch of a table, with a schema that is not shown yet.
    pub(super) fn begin_epoch(&self, table: &Table, schema: Schema) -> Result<Arc<Table>> {
        let (epoch, since) = (table.epoch + 1, Timestamp::default());
        let new = Table::new(table.id, schema, epoch, Some(table), since)?;
        self.store.set_epoch(table.id, epoch);
        Ok(Arc::new(new))
    }

    /// Lets tables be written to as before.
    pub(super) fn restore(&self, tables: &[Arc<Table>]) {
        for table in tables {
            self.store.set_epoch(table.id, table.epoch);
        }
    }

    /// Makes an empty table for the entries of an index.
    pub(crate) fn create_index(&self, owner: TableId, name: &str) -> Result<TableId> {
        let id = TableId(self.store.fresh_id()?);
        self.make_index(id, owner, name)
    }

    pub(super) fn make_index(&self, id: TableId, owner: TableId, name: &str) -> Result<TableId> {
        let name = name.to_owned();
        let record = record::encode(&Record::Index { name, owner });
        self.store.create_table(id, &[], record)?;
        Ok(id)
    }

    /// Drops a table with what belongs to it.
    pub(crate) fn remove(&self, table: &Table) -> Result<()> {
        // If only its space could not be freed it is gone all the same.
        if let Err(error) = self.store.drop_table(table.id)
            && self.store.tables().contains(&table.id)
        {
            return Err(error.into());
        }
        let Parts {
            name,
            indexes,
            sequences,
            ..
        } = table.schema.parts();
        let owned: Vec<TableId> = sequences.iter().map(|owned| owned.sequence).collect();
        self.catalog.show(|named| {
            named.tables.remove(name);
            named
                .sequences
                .retain(|_, sequence| !owned.contains(&sequence.id()));
        });
        self.discard(indexes.iter().map(|index| index.id).chain(owned));
        Ok(())
    }

    /// Gives a table another schema, which its rows meet as they are.
    pub(crate) fn alter(&self, table: &Table, schema: Schema) -> Result<Arc<Table>> {
        self.alter_since(table, schema, Timestamp::default())
    }

    /// The same, when the table gets an index that snapshots from `since` see whole.
    pub(crate) fn alter_since(
        &self,
        table: &Table,
        schema: Schema,
        since: Timestamp,
    ) -> Result<Arc<Table>> {
        let altered = self.write(table, schema, since, || Ok(()))?;
        self.put([(table.schema.name(), &altered)]);
        Ok(altered)
    }

    /// Writes another schema of a table down, which is not shown yet.
    pub(super) fn write(
        &self,
        table: &Table,
        schema: Schema,
        since: Timestamp,
        validate: impl FnOnce() -> Result<()>,
    ) -> Result<Arc<Table>> {
        if schema.name() != table.schema.name() {
            self.check_free(schema.name())?;
        }
        let matters = matters_to_writers(table.schema.parts(), schema.parts());
        let epoch = table.epoch + u64::from(matters);
        self.store.set_epoch(table.id, epoch);
        let record = record::encode(&Record::Table(Box::new(schema.clone())));
        let written = validate().and_then(|()| Ok(self.store.set_record(table.id, record)?));
        if let Err(error) = written {
            self.store.set_epoch(table.id, table.epoch);
            return Err(error);
        }
        let kept = |id: &TableId| schema.indexes().iter().any(|index| index.id == *id);
        let indexes = table.schema.indexes().iter().map(|index| index.id);
        // Before the new schema is shown, by which no writer maintains them.
        self.store.retire_tables(indexes.filter(|id| !kept(id)));
        let altered = Table::new(table.id, schema, epoch, Some(table), since)?;
        Ok(Arc::new(altered))
    }

    /// Shows tables in the place of others.
    pub(super) fn put<'t>(&self, tables: impl IntoIterator<Item = (&'t str, &'t Arc<Table>)>) {
        self.catalog.show(|named| {
            for (old_name, table) in tables {
                named.tables.remove(old_name);
                let name = table.schema.name().to_owned();
                named.tables.insert(name, Arc::clone(table));
            }
        });
    }

    /// Changes a sequence, and in the same instant what tables say of it, which no writer needs to
    /// know.
    pub(crate) fn redefine(
        &self,
        sequence: &Arc<Sequence>,
        definition: Definition,
        tables: &[(Arc<Table>, Schema)],
    ) -> Result<()> {
        definition.check()?;
        let old_name = sequence.definition().name;
        if definition.name != old_name {
            self.check_free(&definition.name)?;
        }
        let record = record::encode(&Record::Sequence(definition.clone()));
        let of_table = |(table, schema): &(Arc<Table>, Schema)| {
            let record = record::encode(&Record::Table(Box::new(schema.clone())));
            (table.id, Some(record))
        };
        let records = tables.iter().map(of_table);
        self.store
            .set_records(records.chain([(sequence.id(), Some(record))]))?;
        let name = definition.name.clone();
        sequence.redefine(definition);
        let mut altered = Vec::new();
        for (table, schema) in tables {
            let (id, epoch, since) = (table.id, table.epoch, Timestamp::default());
            let table = Table::new(id, schema.clone(), epoch, Some(table), since)?;
            altered.push(Arc::new(table));
        }
        self.catalog.show(|named| {
            named.sequences.remove(&old_name);
            named.sequences.insert(name, Arc::clone(sequence));
            for table in altered {
                let name = table.schema.name().to_owned();
                named.tables.insert(name, table);
            }
        });
        Ok(())
    }

    /// Drops a sequence that nothing names any more.
    pub(crate) fn remove_sequence(&self, sequence: &Sequence) -> Result<()> {
        self.store.drop_table(sequence.id())?;
        self.hide_sequences(&[sequence.id()]);
        Ok(())
    }

    /// Shows sequences that a table lists now.
    pub(crate) fn show_sequences(&self, sequences: Vec<Arc<Sequence>>) {
        self.catalog.show(|named| {
            for sequence in sequences {
                named.sequences.insert(sequence.definition().name, sequence);
            }
        });
    }

    /// Hides sequences that no table lists any more.
    pub(crate) fn hide_sequences(&self, ids: &[TableId]) {
        self.catalog.show(|named| {
            let sequences = &mut named.sequences;
            sequences.retain(|_, sequence| !ids.contains(&sequence.id()));
        });
    }

    /// Makes a sequence that no column has.
    pub(crate) fn create_sequence(&self, definition: Definition) -> Result<Arc<Sequence>> {
        self.check_free(&definition.name)?;
        let name = definition.name.clone();
        let sequence = self.make_sequence(definition)?;
        self.catalog.show(|named| {
            named.sequences.insert(name, Arc::clone(&sequence));
        });
        Ok(sequence)
    }

    /// Makes a sequence that is not shown yet.
    pub(crate) fn make_sequence(&self, definition: Definition) -> Result<Arc<Sequence>> {
        definition.check()?;
        let id = TableId(self.store.fresh_id()?);
        let record = record::encode(&Record::Sequence(definition.clone()));
        self.store.create_table(id, &[], record)?;
        Ok(Arc::new(Sequence::new(id, definition)))
    }
}

/// Lets foreign keys refer to tables and indexes by their new numbers.
pub(super) fn renumber(parts: &mut Parts, numbers: &[(TableId, TableId)]) {
    let new = |old: TableId| {
        let mut numbers = numbers.iter();
        numbers
            .find(|(before, _)| *before == old)
            .map_or(old, |(_, new)| *new)
    };
    for foreign in &mut parts.foreign_keys {
        foreign.parent = foreign.parent.map(new);
        if let Target::Index(index) = &mut foreign.target {
            *index = new(*index);
        }
    }
}

/// Whether rows written by one schema are not what the other would have written.
fn matters_to_writers(old: &Parts, new: &Parts) -> bool {
    let strict = |parts: &Parts| -> Vec<bool> {
        let columns = parts.columns.iter();
        columns.map(|column| column.not_null).collect()
    };
    let entries = |parts: &Parts| -> Vec<Index> {
        let indexes = parts.indexes.iter();
        let entries = indexes.map(|index| Index {
            name: String::new(),
            ready: false,
            ..index.clone()
        });
        entries.collect()
    };
    let restrained = |parts: &Parts| (parts.checks.clone(), parts.foreign_keys.clone());
    let generated = |parts: &Parts| -> Vec<Option<String>> {
        let columns = parts.columns.iter();
        columns.map(|column| column.generated.clone()).collect()
    };
    old.slots != new.slots
        || generated(old) != generated(new)
        || old.key != new.key
        || entries(old) != entries(new)
        || strict(old) != strict(new)
        || restrained(old) != restrained(new)
}
