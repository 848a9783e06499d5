//! CREATE TABLE and its like: from statements to schemas.

use keys::Value;
use syntax::table::{ColumnType, CreateTable, KeyPartKind, OptionValue, TableOption};

use crate::names::{column_name, table_name};
use crate::scalar::constant;
use crate::{Column, Error, Result, Schema};

/// How many partitions a table may start with.
const UNIFORM_PARTITIONS_MAX: u64 = 4096;

/// A table as a statement describes it, and the keys at which its partitions begin.
pub(crate) fn table(create: &CreateTable) -> Result<(Schema, Vec<Vec<Value>>)> {
    let name = table_name(&create.name)?;
    let unsupported = |what: String| Error::Unsupported { what };
    let mut columns = Vec::with_capacity(create.columns.len());
    for column in &create.columns {
        let ColumnType::Plain(kind) = column.kind else {
            return Err(unsupported(format!(
                "the type of column `{}`",
                column.name.value
            )));
        };
        if column.default.is_some() || column.generated.is_some() || column.identity.is_some() {
            return Err(unsupported(format!(
                "the default of column `{}`",
                column.name.value
            )));
        }
        let mut made = Column::new(column_name(&column.name), kind);
        made.not_null = column.not_null.is_some();
        columns.push(made);
    }
    if let Some(index) = create.indexes.first() {
        let named = index.name.as_ref().map_or("", |name| name.value.as_str());
        return Err(unsupported(format!("the index {named}")));
    }
    if !create.constraints.is_empty() {
        return Err(unsupported(
            "a constraint other than PRIMARY KEY and NOT NULL".to_owned(),
        ));
    }
    let mut key = Vec::new();
    for part in create.primary_key.iter().flat_map(|key| &key.columns) {
        match &part.kind {
            KeyPartKind::Column(column) if !part.descending => key.push(column_name(column)),
            _ => {
                return Err(unsupported(
                    "an expression or DESC in the primary key".to_owned(),
                ));
            }
        }
    }
    if create
        .primary_key
        .as_ref()
        .is_some_and(|key| key.hash.is_some())
    {
        return Err(unsupported("USING HASH".to_owned()));
    }
    let key: Vec<&str> = key.iter().map(String::as_str).collect();
    let schema = Schema::new(name, columns, &key)?;
    let split_keys = split_keys(&schema, &create.options)?;
    Ok((schema, split_keys))
}

fn split_keys(schema: &Schema, options: &[TableOption]) -> Result<Vec<Vec<Value>>> {
    let mut split_keys = Vec::new();
    for option in options {
        let name = option.name.value.to_uppercase();
        match (name.as_str(), &option.value) {
            ("PARTITION_AT_KEYS", OptionValue::Keys(keys)) => {
                for key in keys {
                    split_keys.push(key_values(schema, key)?);
                }
            }
            ("UNIFORM_PARTITIONS", OptionValue::Number(count)) => {
                split_keys = uniform_keys(schema, *count)?;
            }
            // The rest concerns the control loop, and where one machine has nothing to choose.
            ("STORE", _) | ("READ_REPLICAS_SETTINGS", _) | ("KEY_BLOOM_FILTER", _) => {}
            (name, _) if name.starts_with("AUTO_PARTITIONING_") => {}
            _ => {
                let reason = format!("there is no option {name}, or not with this value");
                return Err(Error::Schema {
                    table: schema.name().to_owned(),
                    reason,
                });
            }
        }
    }
    Ok(split_keys)
}

/// The values of a key, or of its first columns.
pub(crate) fn key_values(schema: &Schema, exprs: &[syntax::ast::Expr]) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(exprs.len());
    for (expr, column) in exprs.iter().zip(schema.key_columns()) {
        let value = constant(expr, column.kind, 0)?;
        let unclear = || Error::Unsupported {
            what: format!("{expr} as part of a key"),
        };
        values.push(value.ok_or_else(unclear)?);
    }
    if exprs.len() > values.len() {
        let (expected, given) = (schema.key_positions().len(), exprs.len());
        let table = schema.name().to_owned();
        return Err(Error::ValueCount {
            table,
            what: "key columns",
            expected,
            given,
        });
    }
    Ok(values)
}

/// Keys that cut the first column's numbers into equal parts.
fn uniform_keys(schema: &Schema, count: u64) -> Result<Vec<Vec<Value>>> {
    let fault = |reason: String| Error::Schema {
        table: schema.name().to_owned(),
        reason,
    };
    if count == 0 || count > UNIFORM_PARTITIONS_MAX {
        let limit = UNIFORM_PARTITIONS_MAX;
        return Err(fault(format!(
            "UNIFORM_PARTITIONS is 1 to {limit}, not {count}"
        )));
    }
    let first = schema.key_columns().next().map(|column| column.kind);
    let wide = |part: u64| u128::from(part) * (u128::from(u64::MAX) + 1) / u128::from(count);
    let key = |part: u64| -> Option<Value> {
        match first? {
            keys::Type::Uint64 => Some(Value::Uint64(u64::try_from(wide(part)).ok()?)),
            keys::Type::Uint32 => Some(Value::Uint32(u32::try_from(wide(part) >> 32).ok()?)),
            _ => None,
        }
    };
    let keys: Option<Vec<Vec<Value>>> = (1..count).map(|part| Some(vec![key(part)?])).collect();
    let reason = "UNIFORM_PARTITIONS needs Uint64 or Uint32 as the first key column";
    keys.ok_or_else(|| fault(reason.to_owned()))
}
