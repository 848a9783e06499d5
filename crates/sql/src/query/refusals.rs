//! DataFusion's errors as ours, with what PostgreSQL has a code of its own for told apart.
//!
//! Most of its errors are words only, so words are what is looked at. The golden files hold them: a new
//! version of DataFusion that says it otherwise shows there.

use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Column, SchemaError};
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
        DataFusionError::NotImplemented(what) if what.starts_with(NO_PHYSICAL) => planning(&what),
        DataFusionError::NotImplemented(what) => Error::Unsupported {
            what: first_line(&what).trim_end_matches(NOT_YET).to_owned(),
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
        } if unknown_table(field, valid_fields).is_some() => Error::NoSuchTable {
            name: unknown_table(field, valid_fields).unwrap_or_default(),
            nearest: None,
        },
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

/// The table that a column is said to be of, if the query does not read it.
fn unknown_table(field: &Column, valid: &[Column]) -> Option<String> {
    let table = field.relation.as_ref()?.table();
    let known = valid.iter().any(|one| {
        one.relation
            .as_ref()
            .is_some_and(|other| other.table() == table)
    });
    (!known).then(|| table.to_owned())
}

fn arrow(error: &ArrowError) -> Error {
    match error {
        ArrowError::DivideByZero => Error::DivisionByZero,
        ArrowError::CastError(what) => casting(what),
        // Rows that are not what their plan says are our fault.
        ArrowError::InvalidArgumentError(what) if what.starts_with("column types must match") => {
            Error::Internal { what: what.clone() }
        }
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

/// How DataFusion says that it cannot run a subquery.
const NO_PHYSICAL: &str = "Physical plan does not support logical expression";

/// How some of its refusals end, and ours do.
const NOT_YET: &str = " is not supported yet";

/// Beginnings of what DataFusion says, and what is wrong then.
const BEGINNINGS: [(&str, Fault, &str); 14] = [
    (
        "Column in SELECT must be in GROUP BY",
        Fault::Grouping,
        "a column of SELECT is neither in GROUP BY nor in an aggregate function",
    ),
    (
        "Column in HAVING must be in GROUP BY",
        Fault::Grouping,
        "a column of HAVING is neither in GROUP BY nor in an aggregate function",
    ),
    (
        "Column in ORDER BY must be in GROUP BY",
        Fault::Grouping,
        "a column of ORDER BY is neither in GROUP BY nor in an aggregate function",
    ),
    (
        "Aggregate functions are not allowed",
        Fault::Grouping,
        "WHERE cannot use an aggregate function: write it in HAVING",
    ),
    (
        "Cannot create filter with non-boolean",
        Fault::Type,
        "a condition is true or false, and this one is neither",
    ),
    (
        "Expected LIMIT to be",
        Fault::Type,
        "LIMIT and OFFSET are whole numbers",
    ),
    (
        "Order by column out of bounds",
        Fault::Position,
        "ORDER BY names a column by a number that SELECT does not have",
    ),
    (
        "Cannot find column with position",
        Fault::Position,
        "GROUP BY names a column by a number that SELECT does not have",
    ),
    (
        "SELECT DISTINCT ON expressions",
        Fault::Position,
        "ORDER BY has to begin with the columns of DISTINCT ON",
    ),
    (
        "UNION queries have different",
        Fault::Syntax,
        "both sides of UNION need the same number of columns",
    ),
    (
        "Too many columns!",
        Fault::Syntax,
        "a subquery of IN gives one column, this one gives more",
    ),
    (
        "LIMIT must be >= 0",
        Fault::Limit,
        "LIMIT must not be negative",
    ),
    (
        "OFFSET must be >=",
        Fault::Limit,
        "OFFSET must not be negative",
    ),
    (
        "Scalar subquery returned more than one row",
        Fault::Cardinality,
        "a subquery that stands for a value gave more than one row",
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
    if what.starts_with(NO_PHYSICAL) {
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
    for (beginning, fault, sentence) in BEGINNINGS {
        if what.starts_with(beginning) {
            let named = grouped_column(what).filter(|_| fault == Fault::Grouping);
            return refused(fault, named.unwrap_or_else(|| sentence.to_owned()));
        }
    }
    query(first_line(what).to_owned())
}

fn first_line(what: &str) -> &str {
    what.lines().next().unwrap_or_default()
}

/// Which column it is that is outside of its group.
fn grouped_column(what: &str) -> Option<String> {
    let (_, rest) = what.split_once("column \"")?;
    let (column, _) = rest.split_once('"')?;
    Some(format!(
        "column `{column}` is neither in GROUP BY nor in an aggregate function"
    ))
}
