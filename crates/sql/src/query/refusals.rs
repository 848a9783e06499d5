//! DataFusion's errors as ours, with what PostgreSQL has a code of its own for told apart.
//!
//! Most of its errors are words only, so words are what is looked at. The golden files hold them: a new
//! version of DataFusion that says it otherwise shows there.

use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use keys::Type;

use crate::catalog::nearest;
use crate::{Error, Fault};

/// An error of DataFusion's as one of ours: ours that travelled through it, or its own words.
pub(crate) fn ours(error: DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(error) => *error,
            Err(other) => match other.downcast::<DataFusionError>() {
                Ok(error) => ours(*error),
                Err(other) => query(other.to_string()),
            },
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => ours(*inner),
        DataFusionError::Shared(inner) => match std::sync::Arc::try_unwrap(inner) {
            Ok(error) => ours(error),
            Err(shared) => copied(&shared),
        },
        DataFusionError::ArrowError(inner, _) => match *inner {
            ArrowError::ExternalError(inner) => ours(DataFusionError::External(inner)),
            other => arrow(&other),
        },
        DataFusionError::SchemaError(inner, _) => schema(&inner),
        DataFusionError::ResourcesExhausted(_) => Error::OutOfMemory {
            limit_bytes: super::memory::QUERY_BYTES_MAX,
        },
        DataFusionError::NotImplemented(what) => Error::Unsupported {
            what: first_line(&what).to_owned(),
        },
        other => planning(&other.strip_backtrace()),
    }
}

/// An error that several parts of a plan were told.
fn copied(error: &DataFusionError) -> Error {
    let inner = match error {
        DataFusionError::External(inner) => inner.downcast_ref::<Error>(),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
            return copied(inner);
        }
        DataFusionError::Shared(inner) => return copied(inner),
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::ExternalError(inner) => inner.downcast_ref::<Error>(),
            other => return arrow(other),
        },
        DataFusionError::SchemaError(inner, _) => return schema(inner),
        other => return planning(&other.strip_backtrace()),
    };
    match inner {
        Some(Error::DivisionByZero) => Error::DivisionByZero,
        Some(Error::OutOfRange { value, kind }) => Error::OutOfRange {
            value: value.clone(),
            kind: *kind,
        },
        Some(Error::CannotCast { value, from, to }) => Error::CannotCast {
            value: value.clone(),
            from: from.clone(),
            to: *to,
        },
        Some(Error::OutOfMemory { limit_bytes }) => Error::OutOfMemory {
            limit_bytes: *limit_bytes,
        },
        Some(Error::Keys(error)) => Error::Keys(error.clone()),
        _ => query(error.strip_backtrace()),
    }
}

fn query(what: String) -> Error {
    Error::Query { what }
}

fn refused(fault: Fault, what: String) -> Error {
    Error::Refused { fault, what }
}

fn schema(error: &SchemaError) -> Error {
    match error {
        SchemaError::FieldNotFound {
            field,
            valid_fields,
        } => Error::UnknownColumn {
            column: field.flat_name(),
            nearest: nearest(&field.name, valid_fields.iter().map(|one| &one.name)).cloned(),
        },
        SchemaError::AmbiguousReference { field } => {
            let name = &field.name;
            let what = format!("column `{name}` is in several tables: write `table.{name}`");
            refused(Fault::Ambiguous, what)
        }
        other => query(other.to_string()),
    }
}

fn arrow(error: &ArrowError) -> Error {
    match error {
        ArrowError::DivideByZero => Error::DivisionByZero,
        ArrowError::CastError(what) => casting(what),
        other => planning(&other.to_string()),
    }
}

/// A failed cast of Arrow's.
fn casting(what: &str) -> Error {
    let value = what
        .strip_prefix("Can't cast value ")
        .and_then(|rest| rest.split_once(" to type "));
    if let Some((value, kind)) = value
        && let Some(kind) = type_named(kind)
    {
        return Error::OutOfRange {
            value: value.to_owned(),
            kind,
        };
    }
    let text = what
        .strip_prefix("Cannot cast string '")
        .and_then(|rest| rest.split_once("' to value of "));
    if let Some((text, kind)) = text
        && let Some(kind) = kind.strip_suffix(" type").and_then(type_named)
    {
        let reason = "it cannot be read as one";
        return Error::Keys(keys::Error::TextInvalid {
            kind,
            text: text.to_owned(),
            reason,
        });
    }
    refused(Fault::Text, what.to_owned())
}

/// Our type for one of Arrow's, by the name that it prints.
fn type_named(name: &str) -> Option<Type> {
    let kinds = [
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
        Type::Date,
        Type::Bool,
    ];
    let arrow = |kind: &Type| -> DataType { super::columns::data_type(*kind) };
    kinds
        .into_iter()
        .find(|kind| arrow(kind).to_string() == name)
}

/// Beginnings of what DataFusion says, and what is wrong then.
const BEGINNINGS: [(&str, Fault); 14] = [
    ("Column in SELECT must be in GROUP BY", Fault::Grouping),
    ("Column in HAVING must be in GROUP BY", Fault::Grouping),
    ("Column in ORDER BY must be in GROUP BY", Fault::Grouping),
    ("Aggregate functions are not allowed", Fault::Grouping),
    ("Cannot create filter with non-boolean", Fault::Type),
    ("Expected LIMIT to be", Fault::Type),
    ("Order by column out of bounds", Fault::Position),
    ("Cannot find column with position", Fault::Position),
    ("SELECT DISTINCT ON expressions", Fault::Position),
    ("UNION queries have different", Fault::Syntax),
    ("Too many columns!", Fault::Syntax),
    ("LIMIT must be >= 0", Fault::Limit),
    ("OFFSET must be >=", Fault::Limit),
    (
        "Scalar subquery returned more than one row",
        Fault::Cardinality,
    ),
];

/// DataFusion's words without its prefixes, and what PostgreSQL has a code of its own for.
fn planning(words: &str) -> Error {
    let prefixes = [
        "Error during planning: ",
        "Execution error: ",
        "Internal error: ",
        "type_coercion\ncaused by\n",
    ];
    let mut what = words;
    while let Some(rest) = prefixes.iter().find_map(|prefix| what.strip_prefix(prefix)) {
        what = rest;
    }
    if let Some(rest) = what.strip_prefix("Invalid function '") {
        let name = rest.split('\'').next().unwrap_or_default().to_owned();
        return Error::NoSuchFunction { name };
    }
    if let Some((_, rest)) = what.split_once("given name and argument types '") {
        let name = rest.split('\'').next().unwrap_or_default().to_owned();
        return Error::NoSuchFunction { name };
    }
    if let Some(name) = what
        .strip_prefix("table '")
        .and_then(|rest| rest.strip_suffix("' not found"))
    {
        let name = name.strip_prefix("evenkeel.").unwrap_or(name);
        return Error::NoSuchTable {
            name: name.strip_prefix("public.").unwrap_or(name).to_owned(),
            nearest: None,
        };
    }
    if what.starts_with("Physical plan does not support logical expression") {
        let what = "a correlated subquery of this form".to_owned();
        return Error::Unsupported { what };
    }
    if what.starts_with("Cannot coerce arithmetic") || what.contains("common type to coerce") {
        return refused(Fault::Operator, first_line(what).to_owned());
    }
    if what.starts_with("Unary operator '-'") {
        let what = "minus needs a number with a sign: cast it first".to_owned();
        return refused(Fault::Operator, what);
    }
    for (beginning, fault) in BEGINNINGS {
        if what.starts_with(beginning) {
            return refused(fault, short(what, fault));
        }
    }
    query(first_line(what).to_owned())
}

fn first_line(what: &str) -> &str {
    what.lines().next().unwrap_or_default()
}

/// The part that helps.
fn short(what: &str, fault: Fault) -> String {
    let line = first_line(what);
    if fault == Fault::Grouping
        && let Some((_, rest)) = line.split_once("column \"")
        && let Some((column, _)) = rest.split_once('"')
    {
        return format!("column `{column}` is neither in GROUP BY nor in an aggregate function");
    }
    line.to_owned()
}
