//! Who uses which space of an engine, and which first byte inside the metadata space.
//!
//! ```text
//!   space         key                            value                    written by
//!   ────────────  ─────────────────────────────  ───────────────────────  ──────────
//!   0  meta       ┌────────┬──────────────────┐
//!                 │ prefix │ rest             │   version byte, fields   see below
//!                 └────────┴──────────────────┘
//!   1  history    ┌──────────┬────────┬───────┐
//!                 │ table: 8 │ key    │ …     │   a replaced version     txn
//!                 └──────────┴────────┴───────┘
//!   2  intents    ┌──────────┬────────┬───────┐
//!                 │ table: 8 │ key    │ …     │   a prepared write       txn
//!                 └──────────┴────────┴───────┘
//!   3 … 15        kept free
//!   16 + table    the bare encoded key           the newest version       txn
//! ```
//!
//! The table number before a history or intent key is big-endian, so the entries of one key range
//! of one table are one range there too: [`prefixed_range`]. That is what lets a split carry them
//! to another engine without knowing what they mean.
//!
//! Inside the metadata space:
//!
//! ```text
//!   prefix  rest of the key          record                          on engine      owner
//!   ──────  ───────────────────────  ──────────────────────────────  ─────────────  ──────────
//!   0x01    —                        the next unused number          META           partitions
//!   0x02    table: 8  partition: 8   descriptor of a partition       META           partitions
//!   0x03    partition: 8             counters of a partition         its partition  partitions
//!   0x04    engine: 8                an engine no partition uses     META           partitions
//!   0x05    number: 8                what happened to partitions     META           partitions
//!   0x10    table: 8                 what a table's columns are      META           sql
//!   0x11    the name                 a setting of the database       META           db
//!   0x20    transaction: 8           fate of a commit over engines   its primary    txn
//!   0x21    stamp: 8                 what is written beside a load   its partition  txn
//! ```
//!
//! A record that is not listed here does not exist; a new kind takes a new prefix in this file.

use bytes::Bytes;
use storage::{KeyRange, SpaceId};

use crate::TableId;

/// Metadata records, told apart by their first byte.
pub const META_SPACE: SpaceId = SpaceId(0);
/// Versions that a newer one replaced and that a snapshot may still need.
pub const HISTORY_SPACE: SpaceId = SpaceId(1);
/// Writes prepared by a commit over several engines.
pub const INTENT_SPACE: SpaceId = SpaceId(2);
/// The first space number that belongs to a table.
pub const TABLE_SPACE_FIRST: u64 = 16;

/// Prefix of the record with the next unused number.
pub const NEXT_ID_PREFIX: u8 = 0x01;
/// Prefix of partition descriptors.
pub const DESCRIPTOR_PREFIX: u8 = 0x02;
/// Prefix of partition counters.
pub const COUNTERS_PREFIX: u8 = 0x03;
/// Prefix of the list of engines that no partition uses.
pub const UNUSED_ENGINE_PREFIX: u8 = 0x04;
/// Prefix of partition events.
pub const EVENT_PREFIX: u8 = 0x05;
/// Prefix of the catalog's records, laid out by `sql`.
pub const CATALOG_PREFIX: u8 = 0x10;
/// Prefix of the settings of the whole database.
pub const SETTING_PREFIX: u8 = 0x11;
/// Prefix of transaction records, laid out by `txn`.
pub const TRANSACTION_PREFIX: u8 = 0x20;
/// Prefix of what transactions write besides the rows that they load, laid out by `txn`.
pub const LOAD_PREFIX: u8 = 0x21;

/// The space with the newest versions of a table's rows.
pub fn table_space(table: TableId) -> SpaceId {
    let number = table.0.checked_add(TABLE_SPACE_FIRST);
    SpaceId(number.expect("table numbers are handed out one by one and stay far below 2^64"))
}

/// The table whose rows lie in a space, if it is a table's.
pub fn space_table(space: SpaceId) -> Option<TableId> {
    space.0.checked_sub(TABLE_SPACE_FIRST).map(TableId)
}

/// Where the history and the intents of a key range of a table lie, in their own spaces.
pub fn prefixed_range(table: TableId, range: &KeyRange) -> KeyRange {
    let upper = match &range.upper {
        Some(upper) => prefixed_key(table, upper),
        None => Bytes::copy_from_slice(&table.0.saturating_add(1).to_be_bytes()),
    };
    KeyRange {
        lower: prefixed_key(table, &range.lower),
        upper: Some(upper),
    }
}

/// The first bytes of every history or intent key of `key`.
pub fn prefixed_key(table: TableId, key: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(8 + key.len());
    bytes.extend_from_slice(&table.0.to_be_bytes());
    bytes.extend_from_slice(key);
    bytes.into()
}

/// Every record of one kind in the metadata space.
pub fn prefix_range(prefix: u8) -> KeyRange {
    let upper = prefix
        .checked_add(1)
        .map(|next| Bytes::copy_from_slice(&[next]));
    KeyRange {
        lower: Bytes::copy_from_slice(&[prefix]),
        upper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_of_one_table_never_overlaps_the_next_tables() {
        let one = prefixed_range(TableId(7), &KeyRange::all());
        let two = prefixed_range(TableId(8), &KeyRange::all());
        assert!(!one.overlaps(&two));
        assert!(one.contains(&prefixed_key(TableId(7), &[0xff; 40])));
        assert!(two.contains(&prefixed_key(TableId(8), b"")));
    }

    #[test]
    fn a_space_and_its_table_name_each_other() {
        assert_eq!(space_table(table_space(TableId(3))), Some(TableId(3)));
        assert_eq!(space_table(INTENT_SPACE), None);
    }
}
