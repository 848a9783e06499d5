//! The records by which the layer above describes its tables and keeps its settings, beside the
//! partition map.

use partitions::TableId;
use partitions::spaces::{CATALOG_PREFIX, META_SPACE, SETTING_PREFIX, prefix_range};
use storage::{Batch, Bytes, Direction, Durability, EngineId};

use crate::{Error, Result, Store};

impl Store {
    /// The records of all tables.
    pub fn records(&self) -> Result<Vec<(TableId, Bytes)>> {
        let snapshot = self.engines.get(EngineId::META)?.snapshot()?;
        let mut records = Vec::new();
        let range = prefix_range(CATALOG_PREFIX);
        for pair in snapshot.scan(META_SPACE, &range, Direction::Ascending)? {
            let (key, record) = pair?;
            let damaged = || Error::DamagedRecord {
                what: "the key of a table's record".to_owned(),
            };
            let id = key
                .get(1..)
                .and_then(|id| <[u8; 8]>::try_from(id).ok())
                .ok_or_else(damaged)?;
            records.push((TableId(u64::from_be_bytes(id)), record));
        }
        Ok(records)
    }

    /// Replaces the record of a table.
    pub fn set_record(&self, table: TableId, record: Bytes) -> Result<()> {
        self.set_records([(table, Some(record))])
    }

    /// Replaces or removes records in one instant: after a crash all of them changed, or none. A
    /// table without a record is nobody's, and the layer above drops it when it finds it.
    pub fn set_records(
        &self,
        records: impl IntoIterator<Item = (TableId, Option<Bytes>)>,
    ) -> Result<()> {
        let records = records.into_iter();
        self.write_records(records.map(|(table, record)| (record_key(table), record)))
    }

    fn write_records(
        &self,
        records: impl IntoIterator<Item = (Bytes, Option<Bytes>)>,
    ) -> Result<()> {
        let mut batch = Batch::new();
        for (key, record) in records {
            match record {
                Some(record) => batch.put(META_SPACE, key, record),
                None => {
                    // A table goes.
                    batch.free_space();
                    batch.remove(META_SPACE, key);
                }
            }
        }
        let _sequencer = self.sequencer.lock();
        let meta = self.engines.get(EngineId::META)?;
        meta.check_writable()?;
        if let Err(error) = meta.engine.write(batch, Durability::Synced) {
            meta.write_failed(self.timestamps.next(), &error);
            return Err(error.into());
        }
        Ok(())
    }
}

/// The version of a setting's record: this byte, then the value as text.
const SETTING_VERSION: u8 = 1;

impl Store {
    /// The settings of the whole database that were set, by name.
    pub fn settings(&self) -> Result<Vec<(String, String)>> {
        let snapshot = self.engines.get(EngineId::META)?.snapshot()?;
        let mut settings = Vec::new();
        let range = prefix_range(SETTING_PREFIX);
        for pair in snapshot.scan(META_SPACE, &range, Direction::Ascending)? {
            let (key, record) = pair?;
            let text = |bytes: Option<&[u8]>| {
                let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
                text.map(str::to_owned).ok_or_else(|| Error::DamagedRecord {
                    what: "a setting of the database".to_owned(),
                })
            };
            let value = match record.split_first() {
                Some((&SETTING_VERSION, value)) => Some(value),
                _ => None,
            };
            settings.push((text(key.get(1..))?, text(value)?));
        }
        Ok(settings)
    }

    /// Sets a setting of the whole database durably, or removes it.
    pub fn set_setting(&self, name: &str, value: Option<&str>) -> Result<()> {
        let mut key = vec![SETTING_PREFIX];
        key.extend_from_slice(name.as_bytes());
        let record = value.map(|value| {
            let mut record = vec![SETTING_VERSION];
            record.extend_from_slice(value.as_bytes());
            record.into()
        });
        self.write_records([(key.into(), record)])
    }
}

pub(crate) fn record_key(table: TableId) -> Bytes {
    let mut key = vec![CATALOG_PREFIX];
    key.extend_from_slice(&table.0.to_be_bytes());
    key.into()
}
