//! The types a column may have, and the names people call them by.
//!
//! Names of YQL and of PostgreSQL are both understood, whatever their case. In two places the same
//! word means different things to the two languages, and there the exact spelling decides, because
//! YQL's documents capitalise its types and PostgreSQL's do not:
//!
//! ```text
//!   written        means                        because
//!   Int8           Int8, one byte               YQL's own spelling
//!   int8, INT8     Int64, eight bytes           PostgreSQL's other name for bigint
//!   Float          Float, four bytes            YQL's own spelling
//!   float, FLOAT   Double, eight bytes          PostgreSQL's float without a precision
//! ```
//!
//! Lengths of character types (`varchar(20)`) and digits of times (`timestamp(3)`) are no part of the
//! type; a column keeps them beside it, see [`crate::declared`]. YQL's wide types (`Date32`, `Timestamp64`, …) are the
//! same as the plain ones, because ours are signed and wide to begin with. Serial types are a
//! sequence beside an integer and belong to SQL, not here.

use std::fmt;

use crate::declared::LENGTH_MAX;
use crate::error::{Error, Result};

/// Digits of the widest decimal: more would not fit 128 bits.
pub const DECIMAL_PRECISION_MAX: u8 = 38;
/// The precision of a decimal whose type names none, as in YDB.
pub const DECIMAL_PRECISION_DEFAULT: u8 = 22;
/// The scale of a decimal whose type names no precision, as in YDB.
pub const DECIMAL_SCALE_DEFAULT: u8 = 9;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// True or false.
    Bool,
    /// A signed integer of one byte.
    Int8,
    /// A signed integer of two bytes.
    Int16,
    /// A signed integer of four bytes.
    Int32,
    /// A signed integer of eight bytes.
    Int64,
    /// An unsigned integer of one byte.
    Uint8,
    /// An unsigned integer of two bytes.
    Uint16,
    /// An unsigned integer of four bytes.
    Uint32,
    /// An unsigned integer of eight bytes.
    Uint64,
    /// A binary floating-point number of four bytes.
    Float,
    /// A binary floating-point number of eight bytes.
    Double,
    /// An exact decimal number.
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point, at most the precision.
        scale: u8,
    },
    /// Text.
    Utf8,
    /// Bytes.
    String,
    /// A day, counted from 1970-01-01.
    Date,
    /// A second of UTC, counted from 1970-01-01.
    Datetime,
    /// A microsecond of UTC, counted from 1970-01-01.
    Timestamp,
    /// A span of time in microseconds.
    Interval,
    /// A UUID.
    Uuid,
    /// A JSON document, kept as its text.
    Json,
}

impl Type {
    /// Reads a type name of YQL or PostgreSQL, by the rules of the module's first page.
    pub fn parse(text: &str) -> Result<Self> {
        let written = text.trim();
        match written {
            "Int8" => return Ok(Self::Int8),
            "Float" => return Ok(Self::Float),
            _ => {}
        }
        let lower = written.to_ascii_lowercase();
        let (name, parameters) = split_parameters(&lower, written)?;
        let found = match parameters.as_slice() {
            [] => Self::plain(&name),
            [n] => Self::with_one_parameter(&name, *n, written)?,
            [precision, scale] if is_decimal(&name) => {
                Some(Self::decimal(*precision, *scale, written)?)
            }
            _ => None,
        };
        found.ok_or_else(|| Error::TypeUnknown {
            name: written.to_owned(),
        })
    }

    /// Whether a column of this type may be part of a primary key.
    pub fn is_key_type(self) -> bool {
        !matches!(self, Self::Float | Self::Double | Self::Json)
    }

    /// Whether values of this type are numbers that `+` and `<` mean something to.
    pub fn is_numeric(self) -> bool {
        self.is_integer() || matches!(self, Self::Float | Self::Double | Self::Decimal { .. })
    }

    /// Whether this is one of the eight integer types.
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            Self::Int8
                | Self::Int16
                | Self::Int32
                | Self::Int64
                | Self::Uint8
                | Self::Uint16
                | Self::Uint32
                | Self::Uint64
        )
    }

    fn plain(name: &str) -> Option<Self> {
        Some(match name {
            "bool" | "boolean" => Self::Bool,
            "tinyint" => Self::Int8,
            "int16" | "int2" | "smallint" => Self::Int16,
            "int32" | "int4" | "int" | "integer" => Self::Int32,
            "int64" | "int8" | "bigint" => Self::Int64,
            "uint8" => Self::Uint8,
            "uint16" => Self::Uint16,
            "uint32" => Self::Uint32,
            "uint64" => Self::Uint64,
            "float4" | "real" => Self::Float,
            "double" | "double precision" | "float" | "float8" => Self::Double,
            "decimal" | "numeric" | "dec" => Self::Decimal {
                precision: DECIMAL_PRECISION_DEFAULT,
                scale: DECIMAL_SCALE_DEFAULT,
            },
            "utf8" | "text" | "varchar" | "character varying" | "char" | "character" | "bpchar" => {
                Self::Utf8
            }
            "string" | "bytes" | "bytea" => Self::String,
            "date" | "date32" => Self::Date,
            "datetime" | "datetime64" => Self::Datetime,
            "timestamp"
            | "timestamp64"
            | "timestamptz"
            | "timestamp with time zone"
            | "timestamp without time zone" => Self::Timestamp,
            "interval" | "interval64" => Self::Interval,
            "uuid" => Self::Uuid,
            "json" | "jsonb" | "jsondocument" => Self::Json,
            _ => return None,
        })
    }

    fn with_one_parameter(name: &str, parameter: u32, written: &str) -> Result<Option<Self>> {
        Ok(match name {
            _ if is_decimal(name) => Some(Self::decimal(parameter, 0, written)?),
            "float" => match parameter {
                1..=24 => Some(Self::Float),
                25..=53 => Some(Self::Double),
                _ => {
                    return Err(Error::TypeInvalid {
                        name: written.to_owned(),
                        reason: "the precision of a float is 1 to 53 bits",
                    });
                }
            },
            "varchar" | "character varying" | "char" | "character" | "bpchar" => match parameter {
                1..=LENGTH_MAX => Self::plain(name),
                _ => {
                    return Err(Error::TypeInvalid {
                        name: written.to_owned(),
                        reason: "the length of a character type is 1 to 10485760",
                    });
                }
            },
            "timestamp"
            | "timestamptz"
            | "timestamp with time zone"
            | "timestamp without time zone"
            | "interval" => Self::plain(name),
            _ => None,
        })
    }

    fn decimal(precision: u32, scale: u32, written: &str) -> Result<Self> {
        let invalid = |reason| Error::TypeInvalid {
            name: written.to_owned(),
            reason,
        };
        match (u8::try_from(precision), u8::try_from(scale)) {
            (Ok(precision @ 1..=DECIMAL_PRECISION_MAX), Ok(scale)) if scale <= precision => {
                Ok(Self::Decimal { precision, scale })
            }
            (Ok(1..=DECIMAL_PRECISION_MAX), _) => {
                Err(invalid("the scale is at most the precision"))
            }
            _ => Err(invalid("the precision is 1 to 38 digits")),
        }
    }
}

fn is_decimal(name: &str) -> bool {
    matches!(name, "decimal" | "numeric" | "dec")
}

/// Takes `timestamp(3) with time zone` apart into `timestamp with time zone` and `[3]`.
pub(crate) fn split_parameters(lower: &str, written: &str) -> Result<(String, Vec<u32>)> {
    let Some((head, rest)) = lower.split_once('(') else {
        return Ok((words(lower), Vec::new()));
    };
    let invalid = || Error::TypeInvalid {
        name: written.to_owned(),
        reason: "its parameters do not parse",
    };
    let (inside, tail) = rest.split_once(')').ok_or_else(invalid)?;
    let parameters: Vec<u32> = inside
        .split(',')
        .map(|parameter| parameter.trim().parse().map_err(|_| invalid()))
        .collect::<Result<_>>()?;
    Ok((words(&format!("{head} {tail}")), parameters))
}

/// The words of a name with one space between them.
fn words(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    joined
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Bool => "Bool",
            Self::Int8 => "Int8",
            Self::Int16 => "Int16",
            Self::Int32 => "Int32",
            Self::Int64 => "Int64",
            Self::Uint8 => "Uint8",
            Self::Uint16 => "Uint16",
            Self::Uint32 => "Uint32",
            Self::Uint64 => "Uint64",
            Self::Float => "Float",
            Self::Double => "Double",
            Self::Decimal { precision, scale } => {
                return write!(f, "Decimal({precision},{scale})");
            }
            Self::Utf8 => "Utf8",
            Self::String => "String",
            Self::Date => "Date",
            Self::Datetime => "Datetime",
            Self::Timestamp => "Timestamp",
            Self::Interval => "Interval",
            Self::Uuid => "Uuid",
            Self::Json => "Json",
        };
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_decides_where_the_languages_disagree() {
        assert_eq!(Type::parse("Int8"), Ok(Type::Int8));
        assert_eq!(Type::parse("int8"), Ok(Type::Int64));
        assert_eq!(Type::parse("INT8"), Ok(Type::Int64));
        assert_eq!(Type::parse("Float"), Ok(Type::Float));
        assert_eq!(Type::parse("float"), Ok(Type::Double));
        assert_eq!(Type::parse("float(24)"), Ok(Type::Float));
        assert_eq!(Type::parse("float(25)"), Ok(Type::Double));
    }

    #[test]
    fn every_name_is_read_whatever_its_case() {
        for (name, expected) in [
            ("uint64", Type::Uint64),
            ("UINT8", Type::Uint8),
            ("BIGINT", Type::Int64),
            ("integer", Type::Int32),
            ("SmallInt", Type::Int16),
            ("Double  Precision", Type::Double),
            ("real", Type::Float),
            ("text", Type::Utf8),
            ("varchar(20)", Type::Utf8),
            ("CHARACTER VARYING (20)", Type::Utf8),
            ("bytea", Type::String),
            ("Bytes", Type::String),
            ("timestamptz", Type::Timestamp),
            ("timestamp(3) with time zone", Type::Timestamp),
            ("timestamp without time zone", Type::Timestamp),
            ("Datetime", Type::Datetime),
            ("jsonb", Type::Json),
            ("UUID", Type::Uuid),
            (
                "numeric",
                Type::Decimal {
                    precision: 22,
                    scale: 9,
                },
            ),
            (
                "numeric(10)",
                Type::Decimal {
                    precision: 10,
                    scale: 0,
                },
            ),
            (
                "Decimal(22, 9)",
                Type::Decimal {
                    precision: 22,
                    scale: 9,
                },
            ),
        ] {
            assert_eq!(Type::parse(name), Ok(expected), "{name}");
        }
    }

    #[test]
    fn the_printed_name_reads_back() {
        for kind in [
            Type::Bool,
            Type::Int8,
            Type::Int16,
            Type::Int32,
            Type::Int64,
            Type::Uint8,
            Type::Uint16,
            Type::Uint32,
            Type::Uint64,
            Type::Float,
            Type::Double,
            Type::Decimal {
                precision: 38,
                scale: 38,
            },
            Type::Utf8,
            Type::String,
            Type::Date,
            Type::Datetime,
            Type::Timestamp,
            Type::Interval,
            Type::Uuid,
            Type::Json,
        ] {
            assert_eq!(Type::parse(&kind.to_string()), Ok(kind));
        }
    }

    #[test]
    fn names_that_mean_nothing_are_refused() {
        for name in [
            "",
            "Serial",
            "bigserial",
            "point",
            "numeric(1,2,3)",
            "bigint(20)",
            "text)",
        ] {
            assert!(Type::parse(name).is_err(), "{name}");
        }
        for name in [
            "numeric(0)",
            "numeric(39)",
            "numeric(5,6)",
            "float(54)",
            "varchar(x)",
            "a(",
        ] {
            assert!(
                matches!(Type::parse(name), Err(Error::TypeInvalid { .. })),
                "{name}"
            );
        }
    }
}
