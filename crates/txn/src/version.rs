//! How one version of a row lies in storage.
//!
//! ```text
//!   table space     key                  │ ts 8 BE │ kind 1 │ row …      the newest version
//!   HISTORY space   table 8 BE │ key │ !ts 8 BE  →  │ until 8 BE │ row … an older one that spilled
//! ```
//!
//! The newest committed version lies under the bare key, so a point read is one get. `kind` is 0 for
//! a row and 1 for a tombstone. An older version was current from its own timestamp up to, not
//! including, `until`; the timestamp is inverted so that the newest of a key comes first. A row that
//! was loaded carries a stamp in place of its commit's timestamp ([`crate::load`]).

use bytes::BytesMut;
use partitions::TableId;
use partitions::spaces::prefixed_key;
use storage::{Buf, Bytes};

use crate::{Error, Result, Timestamp};

const HEADER_BYTES: usize = 9;
const KIND_ROW: u8 = 0;
const KIND_TOMBSTONE: u8 = 1;
const TIMESTAMP_BYTES: usize = 8;

/// One version of a row: when it was committed, and the row unless it was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) at: Timestamp,
    pub(crate) row: Option<Bytes>,
}

impl Version {
    /// The bytes under the bare key.
    pub(crate) fn encode(&self) -> Bytes {
        let row = self.row.as_deref().unwrap_or_default();
        let mut out = Vec::with_capacity(HEADER_BYTES + row.len());
        out.extend_from_slice(&self.at.0.to_be_bytes());
        out.push(if self.row.is_some() {
            KIND_ROW
        } else {
            KIND_TOMBSTONE
        });
        out.extend_from_slice(row);
        out.into()
    }

    /// Appends the bytes under the bare key, of a version that is a row.
    pub(crate) fn put_row(out: &mut BytesMut, at: Timestamp, row: &[u8]) {
        out.reserve(HEADER_BYTES + row.len());
        out.extend_from_slice(&at.0.to_be_bytes());
        out.extend_from_slice(&[KIND_ROW]);
        out.extend_from_slice(row);
    }

    /// Reads the bytes under the bare key; the row shares them.
    pub(crate) fn decode(table: TableId, key: &[u8], mut bytes: Bytes) -> Result<Self> {
        let VersionRef { at, row } = VersionRef::decode(table, key, &bytes)?;
        let row = row.is_some().then(|| {
            bytes.advance(HEADER_BYTES);
            bytes
        });
        Ok(Self { at, row })
    }
}

/// A [`Version`] that lies somewhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VersionRef<'b> {
    pub(crate) at: Timestamp,
    pub(crate) row: Option<&'b [u8]>,
}

impl<'b> VersionRef<'b> {
    /// Reads the bytes under the bare key.
    #[inline]
    pub(crate) fn decode(table: TableId, key: &[u8], bytes: &'b [u8]) -> Result<Self> {
        let damaged = |detail: &str| Error::Damaged {
            what: "row",
            table,
            key: Bytes::copy_from_slice(key),
            detail: detail.to_owned(),
        };
        let Some((header, row)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(damaged("shorter than its header"));
        };
        let [at @ .., kind] = *header;
        let at = Timestamp(u64::from_be_bytes(at));
        let row = match kind {
            KIND_ROW => Some(row),
            KIND_TOMBSTONE => None,
            _ => return Err(damaged("a version kind that this program does not know")),
        };
        Ok(Self { at, row })
    }
}

/// The inverse of [`prefixed_key`].
pub(crate) fn split_table_key(bytes: &Bytes) -> Option<(TableId, Bytes)> {
    let (table, _) = bytes.split_first_chunk::<8>()?;
    Some((TableId(u64::from_be_bytes(*table)), bytes.slice(8..)))
}

/// A version that was replaced: current from `version.at` up to, not including, `until`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) at: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) row: Bytes,
}

impl Replaced {
    /// The key and value in the HISTORY space.
    pub(crate) fn encode(&self, table: TableId, key: &[u8]) -> (Bytes, Bytes) {
        let mut place = Vec::from(prefixed_key(table, key));
        place.extend_from_slice(&(!self.at.0).to_be_bytes());
        let mut value = Vec::with_capacity(TIMESTAMP_BYTES + self.row.len());
        value.extend_from_slice(&self.until.0.to_be_bytes());
        value.extend_from_slice(&self.row);
        (place.into(), value.into())
    }

    /// Reads a HISTORY pair back, with the table and key it belongs to.
    pub(crate) fn decode(place: &Bytes, value: &Bytes) -> Option<(TableId, Bytes, Self)> {
        let (table, rest) = split_table_key(place)?;
        let (_, inverted) = rest.split_last_chunk::<8>()?;
        let (until, _) = value.split_first_chunk::<8>()?;
        let replaced = Self {
            at: Timestamp(!u64::from_be_bytes(*inverted)),
            until: Timestamp(u64::from_be_bytes(*until)),
            row: value.slice(TIMESTAMP_BYTES..),
        };
        Some((table, rest.slice(..rest.len() - TIMESTAMP_BYTES), replaced))
    }

    /// The key under which the version committed at `at` would lie.
    pub(crate) fn place(table: TableId, key: &[u8], at: Timestamp) -> Bytes {
        let mut place = Vec::from(prefixed_key(table, key));
        place.extend_from_slice(&(!at.0).to_be_bytes());
        place.into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn versions_come_back(at: u64, row: Option<Vec<u8>>) {
            let version = Version { at: Timestamp(at), row: row.map(Bytes::from) };
            prop_assert_eq!(Version::decode(TableId(1), b"k", version.encode()).unwrap(), version);
        }

        #[test]
        fn replaced_versions_come_back(at: u64, until: u64, table: u64, key: Vec<u8>, row: Vec<u8>) {
            let replaced =
                Replaced { at: Timestamp(at), until: Timestamp(until), row: row.into() };
            let (place, value) = replaced.encode(TableId(table), &key);
            let back = Replaced::decode(&place, &value).unwrap();
            prop_assert_eq!(back, (TableId(table), Bytes::from(key), replaced));
        }

        #[test]
        fn foreign_bytes_never_panic(bytes: Vec<u8>, value: Vec<u8>) {
            let bytes = Bytes::from(bytes);
            let _ = Version::decode(TableId(1), b"k", bytes.clone());
            let _ = Replaced::decode(&bytes, &Bytes::from(value));
        }
    }
}
