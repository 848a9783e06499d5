//! What a commit across engines writes down before and while it is decided.
//!
//! ```text
//!   INTENT space of each engine      table 8 BE │ key  →  │ version 1 │ txn 8 │ primary 8 │ kind 1 │ row …
//!   META space of the primary        0x20 │ txn 8 BE   →  │ version 1 │ state 1 │ commit ts 8 │
//! ```
//!
//! `kind` is 0 for a row and 1 for a deletion; `state` is 1 for committed and 2 for rolled back.

use std::fmt;

use partitions::TableId;
use partitions::spaces::TRANSACTION_PREFIX;
use storage::{Bytes, EngineId};

use crate::{Error, Result, Timestamp};

const VERSION: u8 = 1;
const KIND_ROW: u8 = 0;
const KIND_DELETION: u8 = 1;
const STATE_COMMITTED: u8 = 1;
const STATE_ROLLED_BACK: u8 = 2;
const INTENT_HEADER_BYTES: usize = 18;

/// The name of a commit across engines; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TxnId(pub(crate) u64);

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transaction {}", self.0)
    }
}

/// Who left an intent: the transaction, and the engine where its fate is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    pub(crate) txn: TxnId,
    pub(crate) primary: EngineId,
}

/// A write that may or may not come to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Intent {
    pub(crate) owner: Owner,
    pub(crate) row: Option<Bytes>,
}

impl Intent {
    pub(crate) fn encode(&self) -> Bytes {
        let row = self.row.as_deref().unwrap_or_default();
        let mut out = Vec::with_capacity(INTENT_HEADER_BYTES + row.len());
        out.push(VERSION);
        out.extend_from_slice(&self.owner.txn.0.to_be_bytes());
        out.extend_from_slice(&self.owner.primary.0.to_be_bytes());
        out.push(if self.row.is_some() {
            KIND_ROW
        } else {
            KIND_DELETION
        });
        out.extend_from_slice(row);
        out.into()
    }

    pub(crate) fn decode(table: TableId, key: &Bytes, bytes: &Bytes) -> Result<Self> {
        let parsed = (|| {
            let (version, rest) = bytes.split_first()?;
            let (txn, rest) = rest.split_first_chunk::<8>()?;
            let (primary, rest) = rest.split_first_chunk::<8>()?;
            let owner = Owner {
                txn: TxnId(u64::from_be_bytes(*txn)),
                primary: EngineId(u64::from_be_bytes(*primary)),
            };
            let row = match (version, rest.first()?) {
                (&VERSION, &KIND_ROW) => Some(bytes.slice(INTENT_HEADER_BYTES..)),
                (&VERSION, &KIND_DELETION) => None,
                _ => return None,
            };
            Some(Self { owner, row })
        })();
        parsed.ok_or_else(|| Error::Damaged {
            what: "intent",
            table,
            key: key.clone(),
            detail: "it does not decode".to_owned(),
        })
    }
}

/// What became of a commit across engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Committed(Timestamp),
    RolledBack,
}

impl Fate {
    /// Where the record lies in the META space of the primary engine.
    pub(crate) fn key(txn: TxnId) -> Bytes {
        let mut key = vec![TRANSACTION_PREFIX];
        key.extend_from_slice(&txn.0.to_be_bytes());
        key.into()
    }

    pub(crate) fn encode(self) -> Bytes {
        let (state, at) = match self {
            Self::Committed(at) => (STATE_COMMITTED, at),
            Self::RolledBack => (STATE_ROLLED_BACK, Timestamp::default()),
        };
        let mut out = vec![VERSION, state];
        out.extend_from_slice(&at.0.to_be_bytes());
        out.into()
    }

    pub(crate) fn decode(txn: TxnId, bytes: &[u8]) -> Result<Self> {
        let parsed = match bytes.split_first_chunk::<2>() {
            Some((&[VERSION, STATE_COMMITTED], at)) => <[u8; 8]>::try_from(at)
                .ok()
                .map(|at| Self::Committed(Timestamp(u64::from_be_bytes(at)))),
            Some((&[VERSION, STATE_ROLLED_BACK], _)) => Some(Self::RolledBack),
            _ => None,
        };
        parsed.ok_or_else(|| Error::DamagedRecord {
            what: format!("the record of {txn}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn intents_come_back(txn: u64, primary: u64, row: Option<Vec<u8>>) {
            let owner = Owner { txn: TxnId(txn), primary: EngineId(primary) };
            let intent = Intent { owner, row: row.map(Bytes::from) };
            let back = Intent::decode(TableId(1), &Bytes::new(), &intent.encode()).unwrap();
            prop_assert_eq!(back, intent);
        }

        #[test]
        fn foreign_bytes_never_panic(bytes: Vec<u8>) {
            let _ = Fate::decode(TxnId(1), &bytes);
            let _ = Intent::decode(TableId(1), &Bytes::new(), &Bytes::from(bytes));
        }
    }

    #[test]
    fn fates_come_back() {
        for fate in [Fate::RolledBack, Fate::Committed(Timestamp(77))] {
            assert_eq!(Fate::decode(TxnId(3), &fate.encode()).unwrap(), fate);
        }
        let error = Fate::decode(TxnId(3), b"??").unwrap_err().to_string();
        assert!(error.contains("the record of transaction 3"), "{error}");
    }
}
