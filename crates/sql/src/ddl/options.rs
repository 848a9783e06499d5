//! Options as statements set and reset them: their names, and the values they take.

use syntax::table::{OptionValue, TableOption};

use crate::names::column_name;
use crate::options::{
    PARTITION_SIZE_MB_MAX, PARTITIONS_MAX, READ_REPLICAS_MAX, ReadReplicas, TableOptions, Ttl,
};
use crate::{Error, Result, Schema};

/// Options of PostgreSQL's that clients send and that mean nothing here.
const IGNORED: &[&str] = &[
    "FILLFACTOR",
    "OIDS",
    "PARALLEL_WORKERS",
    "TOAST_TUPLE_TARGET",
];

/// Sets options of a table. `new` is whether the table is being made.
pub(super) fn apply(
    schema: &Schema,
    options: &mut TableOptions,
    written: &[&TableOption],
    new: bool,
) -> Result<()> {
    for option in written {
        set(schema, options, option, new).map_err(|reason| fault(schema, option, reason))?;
    }
    let said = |name: &str| {
        let mut written = written.iter();
        written.find(|option| option.name.value.eq_ignore_ascii_case(name))
    };
    if options.by_size == Some(false)
        && let Some(size) = said("AUTO_PARTITIONING_PARTITION_SIZE_MB")
    {
        let reason = "it has no meaning with AUTO_PARTITIONING_BY_SIZE = DISABLED";
        return Err(fault(schema, size, reason.to_owned()));
    }
    Ok(())
}

/// Puts an option back to what it is without a word.
pub(super) fn reset(schema: &Schema, options: &mut TableOptions, name: &str) -> Result<()> {
    let name = name.to_uppercase();
    match name.as_str() {
        "AUTO_PARTITIONING_BY_SIZE" => options.by_size = None,
        "AUTO_PARTITIONING_PARTITION_SIZE_MB" => options.partition_size_mb = None,
        "AUTO_PARTITIONING_BY_LOAD" => options.by_load = None,
        "AUTO_PARTITIONING_MIN_PARTITIONS_COUNT" => options.min_partitions_count = None,
        "AUTO_PARTITIONING_MAX_PARTITIONS_COUNT" => options.max_partitions_count = None,
        "READ_REPLICAS_SETTINGS" => options.read_replicas = None,
        "KEY_BLOOM_FILTER" => options.key_bloom_filter = None,
        "TTL" => options.ttl = None,
        other if is_ignored(other) => {}
        _ => {
            return Err(Error::TableOption {
                table: schema.name().to_owned(),
                option: name,
                reason: "there is no such option to reset".to_owned(),
            });
        }
    }
    Ok(())
}

fn fault(schema: &Schema, option: &TableOption, reason: String) -> Error {
    Error::TableOption {
        table: schema.name().to_owned(),
        option: option.name.value.to_uppercase(),
        reason,
    }
}

fn is_ignored(name: &str) -> bool {
    IGNORED.contains(&name) || name.starts_with("AUTOVACUUM_")
}

/// Sets one option, or says why not.
fn set(
    schema: &Schema,
    options: &mut TableOptions,
    option: &TableOption,
    new: bool,
) -> std::result::Result<(), String> {
    let name = option.name.value.to_uppercase();
    let value = &option.value;
    match name.as_str() {
        "AUTO_PARTITIONING_BY_SIZE" => options.by_size = Some(switch(value)?),
        "AUTO_PARTITIONING_BY_LOAD" => options.by_load = Some(switch(value)?),
        "AUTO_PARTITIONING_PARTITION_SIZE_MB" => {
            options.partition_size_mb = Some(number(value, PARTITION_SIZE_MB_MAX)?);
        }
        "AUTO_PARTITIONING_MIN_PARTITIONS_COUNT" => {
            options.min_partitions_count = Some(number(value, PARTITIONS_MAX)?);
        }
        "AUTO_PARTITIONING_MAX_PARTITIONS_COUNT" => {
            options.max_partitions_count = Some(number(value, PARTITIONS_MAX)?);
        }
        "READ_REPLICAS_SETTINGS" => options.read_replicas = replicas(value)?,
        "KEY_BLOOM_FILTER" => options.key_bloom_filter = Some(switch(value)?),
        "TTL" => options.ttl = Some(ttl(schema, value)?),
        "STORE" if new => match value {
            OptionValue::Word(word) if word.eq_ignore_ascii_case("row") => {
                options.store_row = true;
            }
            _ => return Err("rows are all that is stored: ROW".to_owned()),
        },
        "STORE" | "UNIFORM_PARTITIONS" | "PARTITION_AT_KEYS" if !new => {
            return Err("it is chosen when a table is made".to_owned());
        }
        "UNIFORM_PARTITIONS" => return Err("it takes a whole number".to_owned()),
        "PARTITION_AT_KEYS" => return Err("it takes a list of keys".to_owned()),
        other if is_ignored(other) => {}
        _ => return Err("there is no such option".to_owned()),
    }
    Ok(())
}

fn switch(value: &OptionValue) -> std::result::Result<bool, String> {
    match value {
        OptionValue::Enabled(enabled) => Ok(*enabled),
        _ => Err("it takes ENABLED or DISABLED".to_owned()),
    }
}

fn number(value: &OptionValue, most: u64) -> std::result::Result<u64, String> {
    match value {
        OptionValue::Number(number) if (1..=most).contains(number) => Ok(*number),
        OptionValue::Number(number) => Err(format!("it takes 1 to {most}, not {number}")),
        _ => Err(format!("it takes a whole number from 1 to {most}")),
    }
}

fn replicas(value: &OptionValue) -> std::result::Result<Option<ReadReplicas>, String> {
    let reason =
        || format!("it takes 'PER_AZ:n' or 'ANY_AZ:n' with n from 0 to {READ_REPLICAS_MAX}");
    let OptionValue::Text(text) = value else {
        return Err(reason());
    };
    let (zone, count) = text.split_once(':').ok_or_else(reason)?;
    let per_zone = match zone.trim().to_uppercase().as_str() {
        "PER_AZ" => true,
        "ANY_AZ" => false,
        _ => return Err(reason()),
    };
    let count: u8 = count.trim().parse().map_err(|_| reason())?;
    match count {
        0 => Ok(None),
        count if count <= READ_REPLICAS_MAX => Ok(Some(ReadReplicas { per_zone, count })),
        _ => Err(reason()),
    }
}

fn ttl(schema: &Schema, value: &OptionValue) -> std::result::Result<Ttl, String> {
    let OptionValue::Ttl(ttl) = value else {
        return Err("it takes Interval('PT1H') ON column".to_owned());
    };
    let name = column_name(&ttl.column);
    let column = schema
        .position(&name)
        .ok_or_else(|| format!("the table has no column `{name}`"))?;
    Ok(Ttl {
        column,
        after_us: ttl.after_us,
        unit: ttl.unit,
    })
}
