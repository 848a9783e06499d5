//! The records of the directory: reading them back, which may meet any bytes, and writing them.
//!
//! ```text
//!   next id          ┌──────┐        ┌─────────┬──────┐
//!                    │ 0x01 │   ──►  │ version │ 8    │
//!                    └──────┘        └─────────┴──────┘
//!   unused engine    ┌──────┬────────────┐      ┌─────────┐
//!                    │ 0x04 │ engine: 8  │ ──►  │ version │
//!                    └──────┴────────────┘      └─────────┘
//!   event            drawn in events.rs
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use storage::{Batch, Direction, Engine, EngineId, Placement, Snapshot};

use crate::counters::counters_key;
use crate::events::{Events, News};
use crate::record::Fields;
use crate::spaces::{
    DESCRIPTOR_PREFIX, EVENT_PREFIX, META_SPACE, NEXT_ID_PREFIX, UNUSED_ENGINE_PREFIX,
    prefix_range, space_table,
};
use crate::{Counts, Descriptor, Error, Partition, Result, TableId};

const VERSION: u8 = 1;
/// The first number given out; 0 names the META engine.
const FIRST_ID: u64 = 1;

/// Every partition of every table, with its counters.
pub(super) fn read_partitions(
    view: &dyn Snapshot,
    placement: &dyn Placement,
) -> Result<BTreeMap<TableId, Vec<Arc<Partition>>>> {
    let mut tables = BTreeMap::<TableId, Vec<Arc<Partition>>>::new();
    for pair in view.scan(
        META_SPACE,
        &prefix_range(DESCRIPTOR_PREFIX),
        Direction::Ascending,
    )? {
        let (key, value) = pair?;
        let descriptor = Descriptor::decode(&key, &value)?;
        let counters = match descriptor.engine {
            EngineId::META => view.get(META_SPACE, &counters_key(descriptor.id))?,
            other => placement
                .open(other)?
                .get(META_SPACE, &counters_key(descriptor.id))?,
        };
        let missing = || format!("the counters of {}", descriptor.id);
        let counters = counters.ok_or_else(|| Error::corrupt(missing(), "there are none"))?;
        let counts = Counts::decode(descriptor.id, &counters)?;
        let partition = Arc::new(Partition::new(descriptor, counts));
        tables
            .entry(partition.descriptor.table)
            .or_default()
            .push(partition);
    }
    Ok(tables)
}

/// The number to give out next.
pub(super) fn read_next_id(view: &dyn Snapshot) -> Result<u64> {
    let Some(value) = view.get(META_SPACE, &[NEXT_ID_PREFIX])? else {
        return Ok(FIRST_ID);
    };
    let name = || "the next unused number".to_owned();
    let mut fields = Fields::new(&value, &name);
    check_version(&mut fields)?;
    let next = fields.number("the number")?;
    if next < FIRST_ID {
        return Err(fields.damaged("the number is zero"));
    }
    fields.finish()?;
    Ok(next)
}

/// A number given out twice would let two partitions share an engine and a counter.
pub(super) fn check_next_id(next: u64, partitions: &[Arc<Partition>]) -> Result<()> {
    let used = partitions
        .iter()
        .map(|one| one.descriptor.id.0.max(one.descriptor.engine.0));
    match used.max() {
        Some(used) if used >= next => Err(Error::corrupt(
            "the next unused number",
            format!("it is {next}, and {used} is in use"),
        )),
        _ => Ok(()),
    }
}

/// Sets the number to give out next.
pub(super) fn put_next_id(batch: &mut Batch, next: u64) {
    let mut value = vec![VERSION];
    value.extend_from_slice(&next.to_be_bytes());
    batch.put(META_SPACE, Bytes::copy_from_slice(&[NEXT_ID_PREFIX]), value);
}

/// What happened to partitions before this program began.
pub(super) fn read_events(view: &dyn Snapshot) -> Result<Events> {
    let mut events = Events::default();
    let range = prefix_range(EVENT_PREFIX);
    for pair in view.scan(META_SPACE, &range, Direction::Ascending)? {
        let (key, value) = pair?;
        events.adopt(&key, &value)?;
    }
    Ok(events)
}

/// Writes the next event, and removes those that are too many then.
pub(super) fn put_event(batch: &mut Batch, events: &Events, now_us: u64, news: &News) {
    let ((key, value), gone) = events.records(now_us, news);
    batch.put(META_SPACE, key, value);
    for key in gone {
        batch.remove(META_SPACE, key);
    }
}

/// The engines that no partition uses.
pub(super) fn read_unused_engines(view: &dyn Snapshot) -> Result<Vec<EngineId>> {
    let range = prefix_range(UNUSED_ENGINE_PREFIX);
    let mut engines = Vec::new();
    for pair in view.scan(META_SPACE, &range, Direction::Ascending)? {
        let (key, value) = pair?;
        let name = || format!("the record {key:02x?} of an unused engine");
        let mut fields = Fields::new(&key, &name);
        fields.byte("the prefix")?;
        let id = EngineId(fields.number("the engine")?);
        if id == EngineId::META {
            return Err(fields.damaged("it names the engine of the metadata"));
        }
        fields.finish()?;
        let mut fields = Fields::new(&value, &name);
        check_version(&mut fields)?;
        fields.finish()?;
        engines.push(id);
    }
    Ok(engines)
}

/// Lists an engine as used by no partition.
pub(super) fn put_unused_engine(batch: &mut Batch, id: EngineId) {
    batch.put(META_SPACE, unused_engine_key(id), vec![VERSION]);
}

/// Takes an engine off that list.
pub(super) fn remove_unused_engine(batch: &mut Batch, id: EngineId) {
    batch.remove(META_SPACE, unused_engine_key(id));
}

/// Drops the spaces of tables that were not quite made, or not quite dropped.
pub(super) fn drop_leftover_spaces(meta: &dyn Engine, tables: &BTreeSet<TableId>) -> Result<()> {
    for space in meta.spaces()? {
        if space_table(space).is_some_and(|table| !tables.contains(&table)) {
            meta.drop_space(space)?;
        }
    }
    Ok(())
}

fn unused_engine_key(id: EngineId) -> Bytes {
    let mut key = vec![UNUSED_ENGINE_PREFIX];
    key.extend_from_slice(&id.0.to_be_bytes());
    key.into()
}

fn check_version(fields: &mut Fields<'_>) -> Result<()> {
    match fields.byte("the version")? {
        VERSION => Ok(()),
        other => Err(fields.damaged(&format!("version {other}, this program reads {VERSION}"))),
    }
}
