//! What a type may hold: types of all dialects as a few classes, with a bound in bytes.

use syntax::schema::Dialect;

/// What kind of values a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is its kind")]
pub enum Class {
    Bool,
    /// A whole number of one byte.
    Byte,
    Int,
    Float,
    Decimal,
    Text,
    Bytes,
    Json,
    Date,
    /// A date with a time.
    Time,
    Uuid,
    /// One of a list of words.
    Enum,
    Other,
}

/// Bytes that a character may take.
const CHAR_BYTES_MAX: u64 = 4;

/// The class of a type.
pub(crate) fn class(dialect: Dialect, name: &str, args: &[String]) -> Class {
    let name = name.strip_prefix("optional ").unwrap_or(name);
    if name.ends_with("[]") || name.starts_with("array") {
        return Class::Other;
    }
    let first = name.split(' ').next().unwrap_or_default();
    let one = args.first().is_some_and(|arg| arg == "1");
    match first {
        "bool" | "boolean" => Class::Bool,
        "bit" | "tinyint" if one => Class::Bool,
        "tinyint" | "int8" | "uint8" if first != "int8" || dialect == Dialect::Ydb => Class::Byte,
        "int" | "integer" | "bigint" | "smallint" | "mediumint" | "int2" | "int4" | "int8"
        | "int16" | "int32" | "int64" | "uint16" | "uint32" | "uint64" | "serial" | "bigserial"
        | "smallserial" | "serial2" | "serial4" | "serial8" | "oid" | "year" => Class::Int,
        "float" | "float4" | "float8" | "float32" | "float64" | "double" | "real" => Class::Float,
        "decimal" | "numeric" | "dec" | "bignumeric" => Class::Decimal,
        "string" if dialect == Dialect::Ydb => Class::Bytes,
        "string" | "utf8" | "text" | "varchar" | "char" | "character" | "nvarchar" | "nchar"
        | "citext" | "tinytext" | "mediumtext" | "longtext" | "name" | "bpchar" => Class::Text,
        "bytea" | "bytes" | "blob" | "binary" | "varbinary" | "tinyblob" | "mediumblob"
        | "longblob" => Class::Bytes,
        "json" | "jsonb" | "jsondocument" | "yson" => Class::Json,
        "date" | "date32" => Class::Date,
        "timestamp" | "timestamptz" | "timestamp64" | "datetime" | "datetime64" | "tzdatetime"
        | "tztimestamp" => Class::Time,
        "uuid" => Class::Uuid,
        "enum" | "set" => Class::Enum,
        _ => Class::Other,
    }
}

/// The bytes of the longest value of a type, unless nothing bounds it.
pub(crate) fn bytes_max(
    dialect: Dialect,
    class: Class,
    name: &str,
    args: &[String],
) -> Option<u64> {
    let length = args.first().and_then(|arg| arg.parse::<u64>().ok());
    let first = name.split(' ').next().unwrap_or_default();
    let bare_char = matches!(first, "char" | "nchar" | "binary" | "bpchar")
        || first == "character" && !name.contains("varying");
    match (class, first) {
        (_, "tinytext" | "tinyblob") => Some(255),
        (Class::Text | Class::Bytes, "text" | "blob") if dialect == Dialect::Mysql => Some(65_535),
        (_, "mediumtext" | "mediumblob") => Some((1 << 24) - 1),
        (_, "longtext" | "longblob") => Some((1 << 32) - 1),
        (Class::Text, _) if length.is_none() && bare_char => Some(CHAR_BYTES_MAX),
        (Class::Text, _) => length.map(|length| length.saturating_mul(CHAR_BYTES_MAX)),
        (Class::Bytes, _) => length,
        (Class::Json | Class::Other, _) => None,
        _ => Some(16),
    }
}
