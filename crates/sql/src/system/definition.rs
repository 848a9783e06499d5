//! What the system tables look like, read once from the lists beside this file.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::types;
use crate::query::TYPE_KEY;

/// The schemas of system tables, with PostgreSQL's numbers where it has the schema.
pub(crate) const PG_CATALOG: (&str, i64) = ("pg_catalog", 11);
pub(crate) const PUBLIC: (&str, i64) = ("public", 2200);
pub(crate) const INFORMATION_SCHEMA: (&str, i64) = ("information_schema", 13000);
pub(crate) const SYS: (&str, i64) = ("sys", 13001);

const LISTS: [((&str, i64), &str); 3] = [
    (PG_CATALOG, include_str!("pg_catalog.txt")),
    (INFORMATION_SCHEMA, include_str!("information_schema.txt")),
    (SYS, include_str!("sys.txt")),
];

/// A system table, without its rows.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) schema: (&'static str, i64),
    pub(crate) name: &'static str,
    pub(crate) oid: i64,
    pub(crate) view: bool,
    pub(crate) columns: Vec<Column>,
    fields: SchemaRef,
}

/// A column of a system table.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// PostgreSQL's name of its type.
    pub(crate) kind: &'static str,
    pub(crate) nullable: bool,
}

impl Definition {
    fn parse(schema: (&'static str, i64), line: &'static str) -> Option<Self> {
        let mut words = line.split_whitespace().peekable();
        let name = words.next()?;
        let oid = words.next()?.parse().ok()?;
        let view = words.next_if_eq(&"view").is_some();
        let columns = words.map(Column::parse).collect::<Option<Vec<_>>>()?;
        let fields: Vec<Field> = columns.iter().map(Column::field).collect();
        Some(Self {
            schema,
            name,
            oid,
            view,
            columns,
            fields: Arc::new(Schema::new(fields)),
        })
    }

    /// Its columns as Arrow's.
    pub(crate) fn fields(&self) -> &SchemaRef {
        &self.fields
    }
}

impl Column {
    fn parse(word: &'static str) -> Option<Self> {
        let (name, kind) = word.split_once(':')?;
        let (kind, nullable) = match kind.strip_suffix('?') {
            Some(kind) => (kind, true),
            None => (kind, false),
        };
        Some(Self {
            name,
            kind,
            nullable,
        })
    }

    fn field(&self) -> Field {
        // Outer joins and defaults make NULL of anything, so nothing promises not to be.
        let field = Field::new(self.name, data_type(self.kind), true);
        if types::is_vector(self.kind) {
            field.with_metadata([(TYPE_KEY.to_owned(), self.kind.to_owned())].into())
        } else {
            field
        }
    }

    /// PostgreSQL's number of its type.
    pub(crate) fn type_oid(&self) -> i64 {
        let name = match self.kind {
            "uint32" => "int8",
            "uint64" => "numeric",
            other => other,
        };
        types::by_name(name).map_or(types::TEXT, |found| found.oid)
    }
}

/// Arrow's type for one of PostgreSQL's. What has none travels as text, as it would on the wire.
pub(crate) fn data_type(kind: &str) -> DataType {
    let list = |inner| DataType::List(Arc::new(Field::new_list_field(inner, true)));
    match kind {
        "bool" => DataType::Boolean,
        "int2" => DataType::Int16,
        "int4" => DataType::Int32,
        "int8" => DataType::Int64,
        "oid" | "xid" => DataType::UInt32,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float4" => DataType::Float32,
        "float8" | "numeric" => DataType::Float64,
        "timestamptz" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "int2vector" | "_int2" => list(DataType::Int16),
        "oidvector" | "_oid" => list(DataType::UInt32),
        "_bool" => list(DataType::Boolean),
        "_float4" | "_float8" => list(DataType::Float64),
        other if other.starts_with('_') => list(DataType::Utf8),
        _ => DataType::Utf8,
    }
}

/// Every system table, by schema and name.
fn all() -> &'static BTreeMap<&'static str, BTreeMap<&'static str, Definition>> {
    static ALL: OnceLock<BTreeMap<&str, BTreeMap<&str, Definition>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (schema, list) in LISTS {
            for line in list.lines().filter(|line| !line.starts_with('#')) {
                let one = Definition::parse(schema, line).expect("the lists are well formed");
                all.entry(schema.0).or_default().insert(one.name, one);
            }
        }
        all
    })
}

/// The system table of this name.
pub(crate) fn find(schema: &str, name: &str) -> Option<&'static Definition> {
    all().get(schema)?.get(name)
}

/// The system tables, all of them.
pub(crate) fn each() -> impl Iterator<Item = &'static Definition> {
    all().values().flat_map(BTreeMap::values)
}

/// The name of a schema that holds system tables, as it is spelled here.
pub(crate) fn schema(name: &str) -> Option<&'static str> {
    LISTS
        .iter()
        .map(|((schema, _), _)| *schema)
        .find(|schema| *schema == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_table_and_no_number_is_there_twice() {
        let mut numbers: Vec<i64> = each().map(|one| one.oid).collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
        assert!(count > 80, "{count}");
        assert!(numbers.iter().all(|oid| *oid < 16384));
    }

    #[test]
    fn every_type_of_a_column_is_known() {
        let odd = ["anyarray", "pg_lsn", "_pg_statistic", "_regtype"];
        for one in each() {
            for column in &one.columns {
                let known = types::by_name(column.kind).is_some()
                    || column.kind.starts_with("uint")
                    || odd.contains(&column.kind);
                assert!(known, "{}.{} is {}", one.name, column.name, column.kind);
            }
        }
    }
}
