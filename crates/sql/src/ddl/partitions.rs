//! SPLIT and MERGE by hand.

use syntax::table::{Merge, SplitKey};
use txn::{PartitionId, Share};

use super::{Ground, key_values};
use crate::{Error, Result, Table};

/// Lets partitions begin at these keys: at all of them, or at none if one is wrong.
pub(super) fn split(ground: Ground<'_>, table: &Table, keys: &[SplitKey]) -> Result<()> {
    let schema = table.schema();
    let map = ground.store.map(table.id())?;
    let mut cuts: Vec<Vec<u8>> = Vec::with_capacity(keys.len());
    for key in keys {
        let at = schema
            .encode_key_prefix(&key_values(schema, &key.values)?)?
            .to_vec();
        let wrong = |reason: &str| Error::SplitKey {
            table: schema.name().to_owned(),
            key: keys::format_key(&at),
            reason: reason.to_owned(),
        };
        if cuts.last().is_some_and(|last| *last >= at) {
            return Err(wrong("the keys must ascend"));
        }
        if map.route(&at).descriptor.range.lower == at {
            return Err(wrong("a partition begins there already"));
        }
        cuts.push(at);
    }
    for at in &cuts {
        let map = ground.store.map(table.id())?;
        let partition = &map.route(at).descriptor;
        // The loop in the background may have had the same idea meanwhile.
        if partition.range.lower != *at {
            ground
                .store
                .split(table.id(), partition.id, at, Share::HALF)?;
        }
    }
    Ok(())
}

/// Merges partitions with their neighbours.
pub(super) fn merge(ground: Ground<'_>, table: &Table, merge: &Merge) -> Result<()> {
    let schema = table.schema();
    match merge {
        Merge::Ids(ids) => {
            let ids: Vec<_> = ids.iter().copied().map(PartitionId).collect();
            ground.store.merge(table.id(), &ids)?;
        }
        Merge::At(keys) => {
            for key in keys {
                let at = schema.encode_key_prefix(&key_values(schema, &key.values)?)?;
                let map = ground.store.map(table.id())?;
                let partitions = map.partitions();
                let mut pairs = partitions.iter().zip(partitions.iter().skip(1));
                let pair = pairs.find(|(_, right)| right.descriptor.range.lower == at);
                let no_bound = || Error::Schema {
                    table: schema.name().to_owned(),
                    reason: format!("no partition begins at {}", keys::format_key(&at)),
                };
                let (left, right) = pair.ok_or_else(no_bound)?;
                let ids = [left.descriptor.id, right.descriptor.id];
                ground.store.merge(table.id(), &ids)?;
            }
        }
        Merge::All => {
            let map = ground.store.map(table.id())?;
            let least = usize::try_from(schema.options().partitions_min()).unwrap_or(usize::MAX);
            let ids = map.partitions().iter().map(|one| one.descriptor.id);
            let ids: Vec<_> = ids
                .take((map.partitions().len() + 1).saturating_sub(least))
                .collect();
            if ids.len() > 1 {
                ground.store.merge(table.id(), &ids)?;
            }
        }
    }
    Ok(())
}
