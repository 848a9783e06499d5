//! CREATE TABLE.

use keys::{Type, Value};
use syntax::table::{CreateTable, OptionValue, TableOption};
use txn::TableId;

use super::columns::{self, NewColumn, part_names};
use super::show::quoted;
use super::{Ground, constraints, key_values, options};
use crate::catalog::NewTable;
use crate::collection::guard;
use crate::default::RANDOM_UUID;
use crate::generated::BUCKETS_MAX;
use crate::names::table_name;
use crate::schema::Parts;
use crate::{Column, Error, Result, Schema};

/// How many partitions a table may start with.
const UNIFORM_PARTITIONS_MAX: u64 = 4096;

/// The key of a table that was made without one. Random, so that new rows spread.
const HIDDEN_KEY: &str = "_rowid";

/// The column that leads a key USING HASH.
const HIDDEN_BUCKET: &str = "_bucket";

/// How many buckets a key USING HASH has if nothing is said, as in CockroachDB.
const BUCKET_COUNT: u64 = 16;

/// Makes the table that a statement describes.
pub(super) fn create(ground: Ground<'_>, create: &CreateTable) -> Result<()> {
    let change = ground.catalog.change(ground.store);
    let name = table_name(&create.name)?;
    change.check_new(&name)?;
    let mut columns = Vec::with_capacity(create.columns.len() + 1);
    let mut sequences = Vec::new();
    for written in &create.columns {
        let NewColumn { column, sequence } = columns::column(ground, &change, &name, written)?;
        if let Some(sequence) = sequence {
            sequences.push((columns.len(), sequence));
        }
        columns.push(column);
    }
    let key = key(&name, create, &mut columns)?;
    let key: Vec<&str> = key.iter().map(String::as_str).collect();
    let mut parts = Schema::new(name, columns, &key)?.parts().clone();
    for written in &create.indexes {
        let index = columns::index(&parts.name, &parts.columns, &parts.indexes, written)?;
        parts.indexes.push(index);
    }
    for (index, number) in parts.indexes.iter_mut().zip((1..=u64::MAX).rev()) {
        // Until it gets its own, foreign keys of the same statement know it by this one.
        index.id = TableId(number);
    }
    for constraint in &create.constraints {
        constraints::add(ground, &mut parts, constraint)?;
    }
    let (parts, split_keys) = with_options(parts, &create.options)?;
    let schema = Schema::from_parts(parts)?;
    guard::check_made(&schema)?;
    let mut bounds = Vec::with_capacity(split_keys.len());
    for key in &split_keys {
        bounds.push(schema.encode_key_prefix(key)?);
    }
    let parents = constraints::parents(ground, &[], schema.foreign_keys());
    change.create(NewTable {
        parents: &parents,
        schema,
        split_keys: &bounds,
        sequences,
    })?;
    Ok(())
}

/// The names of the key's columns; without any, a hidden column that is the key.
fn key(table: &str, create: &CreateTable, columns: &mut Vec<Column>) -> Result<Vec<String>> {
    let Some(key) = &create.primary_key else {
        let name = free_name(columns, HIDDEN_KEY);
        let hidden = Column::new(&name, Type::Uuid).not_null().hidden();
        columns.push(hidden.with_default(RANDOM_UUID));
        return Ok(vec![name]);
    };
    let mut names = part_names(&key.columns, "the primary key")?;
    if let Some(hash) = &key.hash {
        let count = hash.bucket_count.unwrap_or(BUCKET_COUNT);
        let bucket = bucket(table, columns, &names, count)?;
        names.insert(0, bucket.name.clone());
        columns.push(bucket);
    }
    Ok(names)
}

/// The hidden column that leads a key USING HASH.
pub(super) fn bucket(
    table: &str,
    columns: &[Column],
    key: &[String],
    count: u64,
) -> Result<Column> {
    if count == 0 || count > BUCKETS_MAX {
        return Err(Error::TableOption {
            table: table.to_owned(),
            option: "bucket_count".to_owned(),
            reason: format!("it takes 1 to {BUCKETS_MAX}, not {count}"),
        });
    }
    let name = free_name(columns, HIDDEN_BUCKET);
    let column = Column::new(name, Type::Uint32).not_null().hidden();
    Ok(column.generated(bucket_text(key, count)))
}

/// The expression of a bucket.
pub(super) fn bucket_text(key: &[String], count: u64) -> String {
    let inputs: Vec<String> = key.iter().map(|name| quoted(name)).collect();
    format!("Hash({}) % {count}", inputs.join(", "))
}

/// A name for a hidden column that no other column has.
fn free_name(columns: &[Column], wanted: &str) -> String {
    let mut name = wanted.to_owned();
    while columns.iter().any(|column| column.name == name) {
        name.insert(0, '_');
    }
    name
}

/// The table with its options, and the keys at which its partitions begin.
fn with_options(mut parts: Parts, written: &[TableOption]) -> Result<(Parts, Vec<Vec<Value>>)> {
    let schema = Schema::from_parts(parts.clone())?;
    let mut split_keys = Vec::new();
    let mut rest = Vec::new();
    for option in written {
        let name = option.name.value.to_uppercase();
        match (name.as_str(), &option.value) {
            ("PARTITION_AT_KEYS", OptionValue::Keys(keys)) => {
                for key in keys {
                    split_keys.push(key_values(&schema, key)?);
                }
            }
            ("UNIFORM_PARTITIONS", OptionValue::Number(count)) => {
                split_keys = uniform_keys(&schema, *count)?;
            }
            _ => rest.push(option),
        }
    }
    let made = !split_keys.is_empty();
    options::apply(&schema, &mut parts.options, &rest, true)?;
    // Partitions that were asked for are not merged away.
    if made && parts.options.min_partitions_count.is_none() {
        let count = u64::try_from(split_keys.len() + 1).unwrap_or(u64::MAX);
        parts.options.min_partitions_count = Some(count);
    }
    Ok((parts, split_keys))
}

/// Keys between which about as many buckets lie each.
fn bucket_keys(buckets: &[Value], count: u64) -> std::result::Result<Vec<Vec<Value>>, String> {
    let total = u64::try_from(buckets.len()).unwrap_or(u64::MAX);
    if count > total {
        return Err(format!("{count} partitions cannot share {total} buckets"));
    }
    let cut = |part: u64| {
        let at = usize::try_from(part * total / count).unwrap_or(usize::MAX);
        buckets.get(at).map(|value| vec![value.clone()])
    };
    Ok((1..count).filter_map(cut).collect())
}

/// Keys that cut the first column's numbers into equal parts.
fn uniform_keys(schema: &Schema, count: u64) -> Result<Vec<Vec<Value>>> {
    let fault = |reason: String| Error::TableOption {
        table: schema.name().to_owned(),
        option: "UNIFORM_PARTITIONS".to_owned(),
        reason,
    };
    if count == 0 || count > UNIFORM_PARTITIONS_MAX {
        let limit = UNIFORM_PARTITIONS_MAX;
        return Err(fault(format!("1 to {limit}, not {count}")));
    }
    let leading = schema.key_positions().first();
    let leading = leading.and_then(|position| schema.generated_at(*position));
    if let Some(buckets) = leading.and_then(|one| one.buckets.as_deref()) {
        return bucket_keys(buckets, count).map_err(fault);
    }
    let first = schema.key_columns().next().map(|column| column.kind);
    let wide = |part: u64| u128::from(part) * (u128::from(u64::MAX) + 1) / u128::from(count);
    let key = |part: u64| -> Option<Value> {
        match first? {
            Type::Uint64 => Some(Value::Uint64(u64::try_from(wide(part)).ok()?)),
            Type::Uint32 => Some(Value::Uint32(u32::try_from(wide(part) >> 32).ok()?)),
            _ => None,
        }
    };
    let keys: Option<Vec<Vec<Value>>> = (1..count).map(|part| Some(vec![key(part)?])).collect();
    keys.ok_or_else(|| fault("the first key column must be Uint64 or Uint32".to_owned()))
}
