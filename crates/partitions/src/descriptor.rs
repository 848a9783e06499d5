//! The [`Descriptor`]: which keys a partition holds, and where; never changed, only replaced.
//!
//! ```text
//!   key, in the metadata space of the META engine
//!   ┌──────┬───────────┬───────────────┐
//!   │ 0x02 │ table: 8  │ partition: 8  │
//!   └──────┴───────────┴───────────────┘
//!   value
//!   ┌─────────┬──────┬────────────┬─────────┬────────────┬──────────────────┬───────────────────┐
//!   │ version │ kind │ generation │ engine  │ created_us │ lower            │ 0, or 1 and upper │
//!   │ 1       │ 0    │ 8          │ 8       │ 8          │ length: 4, bytes │ length: 4, bytes  │
//!   └─────────┴──────┴────────────┴─────────┴────────────┴──────────────────┴───────────────────┘
//! ```
//!
//! `kind` is the room for stripes: a range served by several partitions with rows dealt out by
//! hash takes the next kind and puts its fields behind the upper bound. A program that meets a
//! kind or a version it does not know says so and changes nothing.

use bytes::Bytes;
use storage::{EngineId, KeyRange};

use crate::record::{Fields, push_bytes};
use crate::spaces::DESCRIPTOR_PREFIX;
use crate::{PartitionId, Result, TableId};

const VERSION: u8 = 1;
const KIND_PLAIN: u8 = 0;
const UPPER_NONE: u8 = 0;
const UPPER_SOME: u8 = 1;

/// What a partition is, as the map on disk says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Its own number.
    pub id: PartitionId,
    /// The table it is part of.
    pub table: TableId,
    /// The keys it holds.
    pub range: KeyRange,
    /// How many changes led here: one more than the partitions it was made of.
    pub generation: u64,
    /// The engine its rows, history, intents and counters lie in.
    pub engine: EngineId,
    /// When it was made, in microseconds since 1970.
    pub created_us: u64,
    /// How rows of the range find their partition.
    pub kind: Kind,
}

/// How the rows of a key range find their partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The partition holds every row of its range.
    Plain,
}

impl Descriptor {
    /// The key of the record.
    pub fn key(&self) -> Bytes {
        descriptor_key(self.table, self.id)
    }

    /// The value of the record.
    pub fn encode(&self) -> Bytes {
        let mut record = vec![VERSION];
        record.push(match self.kind {
            Kind::Plain => KIND_PLAIN,
        });
        record.extend_from_slice(&self.generation.to_be_bytes());
        record.extend_from_slice(&self.engine.0.to_be_bytes());
        record.extend_from_slice(&self.created_us.to_be_bytes());
        push_bytes(&mut record, &self.range.lower);
        match &self.range.upper {
            None => record.push(UPPER_NONE),
            Some(upper) => {
                record.push(UPPER_SOME);
                push_bytes(&mut record, upper);
            }
        }
        record.into()
    }

    /// Reads a record back.
    pub fn decode(key: &[u8], value: &[u8]) -> Result<Self> {
        let (table, id) = decode_key(key)?;
        let name = || format!("the descriptor of {id} of {table}");
        let mut fields = Fields::new(value, &name);
        let version = fields.byte("the version")?;
        if version != VERSION {
            return Err(fields.damaged(&format!("version {version}, this program reads {VERSION}")));
        }
        let kind = match fields.byte("the kind")? {
            KIND_PLAIN => Kind::Plain,
            other => return Err(fields.damaged(&format!("kind {other} is not known"))),
        };
        let generation = fields.number("the generation")?;
        let engine = EngineId(fields.number("the engine")?);
        let created_us = fields.number("the time of creation")?;
        let lower = Bytes::copy_from_slice(fields.bytes("the lower bound")?);
        let upper = match fields.byte("the mark of the upper bound")? {
            UPPER_NONE => None,
            UPPER_SOME => Some(Bytes::copy_from_slice(fields.bytes("the upper bound")?)),
            other => return Err(fields.damaged(&format!("upper bound marked {other}"))),
        };
        let range = KeyRange { lower, upper };
        if range.is_empty() {
            return Err(fields.damaged("the upper bound is not above the lower one"));
        }
        fields.finish()?;
        Ok(Self {
            id,
            table,
            range,
            generation,
            engine,
            created_us,
            kind,
        })
    }
}

/// The key of a partition's descriptor.
pub(crate) fn descriptor_key(table: TableId, id: PartitionId) -> Bytes {
    let mut key = vec![DESCRIPTOR_PREFIX];
    key.extend_from_slice(&table.0.to_be_bytes());
    key.extend_from_slice(&id.0.to_be_bytes());
    key.into()
}

fn decode_key(key: &[u8]) -> Result<(TableId, PartitionId)> {
    let name = || format!("a descriptor's key {key:02x?}");
    let mut fields = Fields::new(key, &name);
    let prefix = fields.byte("the prefix")?;
    if prefix != DESCRIPTOR_PREFIX {
        return Err(fields.damaged(&format!("the prefix is {prefix:#04x}")));
    }
    let table = TableId(fields.number("the table")?);
    let id = PartitionId(fields.number("the partition")?);
    fields.finish()?;
    Ok((table, id))
}
