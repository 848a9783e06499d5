//! What a transaction writes besides the rows that it loads, kept until it is certain.
//!
//! The rows appear in one instant and a batch is written in one instant, but not both in the same. So
//! the batch is put down as a record first, and made again from it if a crash comes in between:
//!
//! ```text
//!   record │ rows appear │ batch, without the record     a crash before   │  nothing happened
//!     1    │      2      │      3                        between 2 and 3  │  the batch is made again
//! ```
//!
//! Whether the rows appeared is seen from the first of them: nothing but the load has its stamp.
//!
//! ```text
//!   META space    0x21 │ stamp 8 BE  →  │ version 1 │ table 8 │ first key │ operation │ …
//!   operation     │ kind 1 │ space 8 │ key │ value, unless it is a removal │
//!   key, value    │ length 4 │ bytes │
//! ```

use partitions::TableId;
use partitions::spaces::{LOAD_PREFIX, META_SPACE, prefix_range, table_space};
use storage::{Batch, Bytes, Direction, Durability, Operation, SpaceId};

use crate::engines::Slot;
use crate::version::Version;
use crate::{Error, Result, Store, Timestamp};

const VERSION: u8 = 1;
const KIND_PUT: u8 = 0;
const KIND_REMOVE: u8 = 1;

/// Operations that belong to a load.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) table: TableId,
    /// The first key of the load.
    pub(super) first: Bytes,
    pub(super) operations: Vec<Operation>,
}

impl Pending {
    /// Where the record lies in the META space.
    pub(super) fn key(stamp: Timestamp) -> Bytes {
        let mut key = vec![LOAD_PREFIX];
        key.extend_from_slice(&stamp.0.to_be_bytes());
        key.into()
    }

    pub(super) fn encode(&self) -> Bytes {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.table.0.to_be_bytes());
        put(&mut out, &self.first);
        for operation in &self.operations {
            let (kind, space, key, value) = match operation {
                Operation::Put(space, key, value) => (KIND_PUT, space, key, Some(value)),
                Operation::Remove(space, key) => (KIND_REMOVE, space, key, None),
            };
            out.push(kind);
            out.extend_from_slice(&space.0.to_be_bytes());
            put(&mut out, key);
            if let Some(value) = value {
                put(&mut out, value);
            }
        }
        out.into()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&VERSION, rest) = bytes.split_first()? else {
            return None;
        };
        let (table, mut rest) = rest.split_first_chunk::<8>()?;
        let first = take(&mut rest)?;
        let mut operations = Vec::new();
        while let Some((kind, after)) = rest.split_first() {
            let (space, after) = after.split_first_chunk::<8>()?;
            let space = SpaceId(u64::from_be_bytes(*space));
            rest = after;
            let key = take(&mut rest)?;
            operations.push(match *kind {
                KIND_PUT => Operation::Put(space, key, take(&mut rest)?),
                KIND_REMOVE => Operation::Remove(space, key),
                _ => return None,
            });
        }
        Some(Self {
            table: TableId(u64::from_be_bytes(*table)),
            first,
            operations,
        })
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("keys and rows are shorter than 4 GiB");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

fn take(rest: &mut &[u8]) -> Option<Bytes> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (bytes, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(Bytes::copy_from_slice(bytes))
}

impl Store {
    /// Finishes the loads that a crash left between their rows and the rest, and forgets those whose
    /// rows never appeared. To be called before anything else is done with an engine.
    pub(crate) fn finish_loads(&self, slot: &Slot) -> Result<()> {
        let record = || "what a transaction writes besides a load".to_owned();
        let damaged = || Error::DamagedRecord { what: record() };
        let snapshot = slot.snapshot()?;
        let spaces = slot.engine.spaces()?;
        let range = prefix_range(LOAD_PREFIX);
        for pair in snapshot.scan(META_SPACE, &range, Direction::Ascending)? {
            let (place, bytes) = pair?;
            let stamp = place.get(1..).and_then(|stamp| stamp.try_into().ok());
            let stamp = Timestamp(u64::from_be_bytes(stamp.ok_or_else(damaged)?));
            let pending = Pending::decode(&bytes).ok_or_else(damaged)?;
            self.timestamps.observe(stamp.recorded(record)?);
            let space = table_space(pending.table);
            let found = match spaces.contains(&space) {
                true => slot.get(space, &pending.first)?,
                false => None,
            };
            let found = found.map(|bytes| Version::decode(pending.table, &pending.first, bytes));
            let mut batch = Batch::new();
            batch.remove(META_SPACE, place);
            if found
                .transpose()?
                .is_some_and(|version| version.at == stamp)
            {
                for operation in pending.operations {
                    match operation {
                        Operation::Put(space, key, value) => batch.put(space, key, value),
                        Operation::Remove(space, key) => batch.remove(space, key),
                    }
                }
            }
            slot.engine.write(batch, Durability::Synced)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some_bytes() -> impl Strategy<Value = Bytes> {
        proptest::collection::vec(any::<u8>(), 0..20).prop_map(Bytes::from)
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let put = (any::<u64>(), some_bytes(), some_bytes());
        prop_oneof![
            put.prop_map(|(space, key, value)| Operation::Put(SpaceId(space), key, value)),
            (any::<u64>(), some_bytes())
                .prop_map(|(space, key)| Operation::Remove(SpaceId(space), key)),
        ]
    }

    proptest! {
        #[test]
        fn records_come_back(
            table: u64,
            first in some_bytes(),
            operations in proptest::collection::vec(operation(), 0..6),
        ) {
            let pending = Pending { table: TableId(table), first, operations };
            prop_assert_eq!(Pending::decode(&pending.encode()), Some(pending));
        }

        #[test]
        fn foreign_bytes_never_panic(mut bytes: Vec<u8>) {
            let _ = Pending::decode(&bytes);
            bytes.insert(0, VERSION);
            let _ = Pending::decode(&bytes);
        }
    }
}
