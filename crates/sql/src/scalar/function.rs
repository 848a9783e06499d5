//! The functions that are worked out row by row.

use keys::digest::{Argument, DigestFunction, Output};
use keys::{Declared, Type, Value, hash_values};
use syntax::ast;

use super::{Given, Scalar, comparable, order};
use crate::names::tree_name;
use crate::{Error, Executor, Result};

/// A function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Function {
    /// `now()`: the time of the transaction.
    Now,
    /// `gen_random_uuid()`.
    RandomUuid,
    /// `Hash(…)` over any values.
    Hash,
    /// One of `Digest::…`.
    Digest(&'static DigestFunction),
    /// `coalesce(…)`: the first that is not NULL.
    Coalesce,
    /// `greatest(…)`, which passes over NULL.
    Greatest,
    /// `least(…)`, which passes over NULL.
    Least,
    /// `nextval('sequence')`.
    NextValue,
    /// `setval('sequence', value [, called])`.
    SetValue,
    /// A cast to a character type with a length, or to a time with digits.
    Cut(Declared),
    /// `currval('sequence')`.
    CurrentValue,
    /// `lastval()`.
    LastValue,
}

/// What people call the time of the statement; it stands still while a statement runs.
pub(crate) const NOW: [&str; 7] = [
    "now",
    "clock_timestamp",
    "current_timestamp",
    "currentutctimestamp",
    "localtimestamp",
    "statement_timestamp",
    "transaction_timestamp",
];

impl Function {
    /// The function that a call names.
    pub(crate) fn find(call: &ast::Function) -> Option<Self> {
        let [name] = call.name.0.as_slice() else {
            return None;
        };
        let ident = name.as_ident()?;
        if ident.value.contains("::") {
            return DigestFunction::find(&ident.value).map(Self::Digest);
        }
        Some(match tree_name(ident).as_str() {
            name if NOW.contains(&name) => Self::Now,
            "gen_random_uuid" | "uuid_generate_v4" | "randomuuid" => Self::RandomUuid,
            "hash" => Self::Hash,
            "coalesce" => Self::Coalesce,
            "greatest" => Self::Greatest,
            "least" => Self::Least,
            "nextval" => Self::NextValue,
            "setval" => Self::SetValue,
            "currval" => Self::CurrentValue,
            "lastval" => Self::LastValue,
            _ => return None,
        })
    }

    /// Whether it answers the same to the same arguments, within a statement.
    pub(super) fn is_steady(self) -> bool {
        !matches!(self, Self::RandomUuid) && !self.counts()
    }

    /// Whether it is about sequences.
    pub(crate) fn counts(self) -> bool {
        matches!(
            self,
            Self::NextValue | Self::SetValue | Self::CurrentValue | Self::LastValue
        )
    }

    /// The type of an untyped argument, if the result is to be of type `wanted`.
    pub(super) fn argument_hint(self, wanted: Option<Type>) -> Option<Type> {
        match self {
            Self::Coalesce | Self::Greatest | Self::Least => wanted,
            Self::Digest(function) => match function.arguments() {
                [Argument::Uint64, ..] => Some(Type::Uint64),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it can be called with these.
    pub(super) fn accepts(self, arguments: &[Scalar]) -> bool {
        match self {
            Self::Now | Self::LastValue => arguments.is_empty(),
            // YQL's asks for arguments, so that two calls with different ones differ.
            Self::RandomUuid => true,
            Self::Hash => !arguments.is_empty(),
            Self::NextValue | Self::CurrentValue | Self::Cut(_) => arguments.len() == 1,
            Self::SetValue => matches!(arguments.len(), 2 | 3),
            Self::Digest(_) => arguments.iter().all(|one| one.kind().is_some()),
            Self::Coalesce | Self::Greatest | Self::Least => {
                let mut kinds = arguments.iter().map(Scalar::kind);
                let first = kinds.next().flatten();
                let same = |kind: Option<Type>| kind.is_some() && kind == first;
                first.is_some_and(|kind| comparable(kind, kind)) && kinds.all(same)
            }
        }
    }

    /// The type of what it answers.
    pub(super) fn kind(self, arguments: &[Scalar]) -> Option<Type> {
        Some(match self {
            Self::Now => Type::Timestamp,
            Self::RandomUuid => Type::Uuid,
            Self::Hash => Type::Uint64,
            Self::NextValue | Self::SetValue | Self::CurrentValue | Self::LastValue => Type::Int64,
            Self::Cut(Declared::Timestamp(_) | Declared::Instant(_)) => Type::Timestamp,
            Self::Cut(_) => Type::Utf8,
            Self::Digest(function) => match function.output() {
                Output::Uint32 => Type::Uint32,
                Output::Uint64 => Type::Uint64,
                Output::Bytes | Output::Pair => Type::String,
            },
            Self::Coalesce | Self::Greatest | Self::Least => return arguments.first()?.kind(),
        })
    }

    pub(super) fn call(self, arguments: Vec<Value>, given: Given<'_>) -> Result<Value> {
        let present = |arguments: Vec<Value>| arguments.into_iter().filter(|one| !one.is_null());
        Ok(match self {
            Self::Now => Value::Timestamp(given.now_us),
            Self::RandomUuid => executor(given)?.random_uuid(),
            Self::NextValue => executor(given)?.counter().next_value(&arguments)?,
            Self::SetValue => executor(given)?.counter().set_value(&arguments)?,
            Self::Cut(declared) => {
                let value = arguments.into_iter().next();
                declared.taken(value.unwrap_or(Value::Null))
            }
            Self::CurrentValue => executor(given)?.counter().current_value(&arguments)?,
            Self::LastValue => executor(given)?.counter().last_value()?,
            Self::Hash => Value::Uint64(hash_values(&arguments)),
            Self::Digest(function) => function.call(&arguments)?,
            Self::Coalesce => present(arguments).next().unwrap_or(Value::Null),
            Self::Greatest => present(arguments).max_by(order).unwrap_or(Value::Null),
            Self::Least => present(arguments).min_by(order).unwrap_or(Value::Null),
        })
    }
}

/// What a function that is no constant needs.
fn executor(given: Given<'_>) -> Result<&Executor> {
    given.executor.ok_or_else(|| Error::Unsupported {
        what: "a function that is no constant, where a constant is wanted,".to_owned(),
    })
}
