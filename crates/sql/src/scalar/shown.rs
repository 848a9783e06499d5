//! Expressions as a person would write them.

use std::fmt;

use keys::{Declared, Type, Value};

use super::{Comparison, Function, Scalar};
use crate::Schema;

/// An expression over the columns of a table, to be printed.
pub(crate) struct Shown<'s> {
    scalar: &'s Scalar,
    schema: &'s Schema,
}

impl Scalar {
    /// The expression for people; `schema` names its columns.
    pub(crate) fn shown<'s>(&'s self, schema: &'s Schema) -> Shown<'s> {
        let scalar = self;
        Shown { scalar, schema }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |position: usize| {
            let column = self.schema.columns().get(position);
            column.map_or("?", |column| column.name.as_str())
        };
        let of = |scalar| self.inner(scalar);
        match self.scalar {
            Scalar::Value(value) => literal(f, value),
            Scalar::Parameter(index, _) => write!(f, "${}", index + 1),
            Scalar::Column(position, _) => f.write_str(name(*position)),
            Scalar::Excluded(position, _) => write!(f, "excluded.{}", name(*position)),
            Scalar::Cast(inner, kind) => write!(f, "CAST({} AS {kind})", of(inner)),
            Scalar::Arithmetic(op, left, right) => {
                write!(f, "({} {op} {})", of(left), of(right))
            }
            Scalar::Compare(comparison, left, right) => {
                write!(f, "{} {} {}", of(left), sign(*comparison), of(right))
            }
            Scalar::And(parts) => self.list(f, parts, " AND "),
            Scalar::Or(parts) => self.list(f, parts, " OR "),
            Scalar::Not(inner) => write!(f, "NOT ({})", of(inner)),
            Scalar::IsNull(inner) => write!(f, "{} IS NULL", of(inner)),
            Scalar::Distinct(left, right) => {
                write!(f, "{} IS DISTINCT FROM {}", of(left), of(right))
            }
            Scalar::Call(function, arguments) => {
                f.write_str(function.name())?;
                self.list(f, arguments, ", ")
            }
        }
    }
}

impl<'s> Shown<'s> {
    fn inner(&self, scalar: &'s Scalar) -> Self {
        let schema = self.schema;
        Self { scalar, schema }
    }

    fn list(&self, f: &mut fmt::Formatter<'_>, parts: &[Scalar], word: &str) -> fmt::Result {
        f.write_str("(")?;
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                f.write_str(word)?;
            }
            let schema = self.schema;
            let part = Shown {
                scalar: part,
                schema,
            };
            write!(f, "{part}")?;
        }
        f.write_str(")")
    }
}

impl Function {
    fn name(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::RandomUuid => "gen_random_uuid",
            Self::Hash => "Hash",
            Self::Digest(function) => function.name,
            Self::Coalesce => "coalesce",
            Self::Greatest => "greatest",
            Self::Least => "least",
            Self::NextValue => "nextval",
            Self::SetValue => "setval",
            Self::Cut(Declared::Char(_)) => "char",
            Self::Cut(Declared::Timestamp(_)) => "timestamp",
            Self::Cut(Declared::Instant(_)) => "timestamptz",
            Self::Cut(_) => "varchar",
            Self::CurrentValue => "currval",
            Self::LastValue => "lastval",
        }
    }
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

fn literal(f: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    match value.value_type() {
        None => f.write_str("NULL"),
        Some(kind) if kind.is_numeric() || kind == Type::Bool => write!(f, "{value}"),
        Some(_) => write!(f, "'{}'", value.to_string().replace('\'', "''")),
    }
}
