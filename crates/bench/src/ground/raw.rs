//! The engine by itself: fjall with the settings our engine gives it, keys and rows as bytes.
//!
//! No versions, no partitions, no counters, no types: this is what the layers above are compared
//! with.

use std::hint::black_box;
use std::path::Path;

use fjall::config::CompressionPolicy;
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use storage::FjallOptions;

use super::rows;
use crate::{Error, Result};

/// A key and a row.
pub(crate) type RawRow = (Vec<u8>, Vec<u8>);

/// One keyspace of one fjall database.
pub(crate) struct Raw {
    database: Database,
    keyspace: Keyspace,
}

impl Raw {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let database = open_database(path)?;
        let keyspace = database.keyspace("rows", || {
            let compression = CompressionPolicy::new([
                CompressionType::None,
                CompressionType::None,
                CompressionType::Lz4,
            ]);
            KeyspaceCreateOptions::default()
                .max_memtable_size(FjallOptions::default().memtable_bytes_max)
                .data_block_compression_policy(compression)
        })?;
        Ok(Self { database, keyspace })
    }

    /// Reads rows by key, and answers how many there were.
    pub(crate) fn get_all<'k>(&self, keys: impl IntoIterator<Item = &'k Vec<u8>>) -> Result<u32> {
        let mut found = 0;
        for key in keys {
            found += u32::from(black_box(self.keyspace.get(key)?).is_some());
        }
        Ok(found)
    }

    /// Reads all rows in key order, and answers how many there were.
    pub(crate) fn scan(&self) -> Result<u32> {
        let mut found = 0;
        for pair in self.keyspace.iter() {
            black_box(pair.into_inner()?);
            found += 1;
        }
        Ok(found)
    }

    /// Writes rows as one batch.
    pub(crate) fn write(&self, rows: Vec<RawRow>, persist: PersistMode) -> Result<()> {
        let mut batch = self.database.batch().durability(Some(persist));
        for (key, row) in rows {
            batch.insert(&self.keyspace, key, row);
        }
        Ok(batch.commit()?)
    }

    /// Writes rows that come in key order as tables of their own.
    pub(crate) fn ingest(&self, rows: Vec<RawRow>) -> Result<()> {
        let mut ingestion = self.keyspace.start_ingestion()?;
        for (key, row) in rows {
            ingestion.write(key, row)?;
        }
        Ok(ingestion.finish()?)
    }
}

fn open_database(path: &Path) -> Result<Database> {
    let options = FjallOptions::default();
    Ok(Database::builder(path)
        .cache_size(options.cache_bytes_max)
        .max_journaling_size(options.journal_bytes_max)
        .open()?)
}

/// Brings every tree below a closed database into the same shape: one sorted run, nothing in memory.
/// How many tables a get has to look into depends on when the last memtable happened to fill up;
/// without this, one side may be lucky.
pub(crate) fn compact(path: &Path) -> Result<()> {
    let database = open_database(path)?;
    for name in database.list_keyspace_names() {
        let keyspace = database.keyspace(&name, KeyspaceCreateOptions::default)?;
        keyspace.rotate_memtable_and_wait()?;
        keyspace.major_compact()?;
    }
    Ok(())
}

/// The bytes of rows by number.
pub(crate) fn encode(numbers: &[u32]) -> Result<Vec<RawRow>> {
    let encode = |number: &u32| rows::row_bytes(*number, rows::NOTE_WORDS_SMALL);
    numbers.iter().map(encode).collect()
}

/// Checks that a pass found what it had to.
pub(crate) fn expect(what: &str, expected: u32, found: u32) -> Result<()> {
    if expected == found {
        Ok(())
    } else {
        Err(Error::Wrong(format!(
            "{what} found {found} rows of {expected}"
        )))
    }
}
