//! Defaults: what a column has in rows that do not say.
//!
//! A default is kept as SQL in one spelling: `now()`, `gen_random_uuid()`, `nextval('name')`, or any
//! constant expression as the parser prints it. The first and the last kind have one value for a whole
//! statement; the others have a new one for each row.

use keys::Value;
use syntax::ast;

use crate::named::build;
use crate::names::{PUBLIC, tree_name};
use crate::scalar::{NOW, Scalar, Scope, constant};
use crate::{Catalog, Column, Error, Result, cast};

/// The default of hidden keys.
pub(crate) const RANDOM_UUID: &str = "gen_random_uuid()";

/// Whether an expression is the word DEFAULT.
pub(crate) fn is_default(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Identifier(name)
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"))
}

/// What a column holds in rows that do not say.
pub(crate) fn default_scalar(column: &Column) -> Result<Scalar> {
    let Some(text) = &column.default else {
        return Ok(Scalar::Value(Value::Null));
    };
    let unclear = || Error::Internal {
        what: format!("the default `{text}` of column `{}`", column.name),
    };
    let expr = parse(text).ok_or_else(unclear)?;
    let scalar = Scope::default().assign(&expr, column.kind)?;
    scalar.ok_or_else(unclear)
}

/// The one spelling of a default, if it can be one for the column.
pub(crate) fn canonical(
    table: &str,
    column: &Column,
    expr: &ast::Expr,
    catalog: &Catalog,
) -> Result<String> {
    let fault = |reason: String| Error::Default {
        table: table.to_owned(),
        column: column.name.clone(),
        reason,
    };
    let text = match Special::of(expr) {
        Some(Special::RandomUuid) => RANDOM_UUID.to_owned(),
        Some(Special::Now) => "now()".to_owned(),
        Some(Special::Next(name)) => next_text(&name),
        None => expr.to_string(),
    };
    // What is kept must be understood again when a row needs it.
    let again = parse(&text).ok_or_else(|| fault(format!("{text} is not understood")))?;
    let sample = match Special::of(&again) {
        Some(Special::RandomUuid) => cast(Value::Uuid([0; 16]), column.kind).map(Some),
        Some(Special::Now) => cast(Value::Timestamp(0), column.kind).map(Some),
        Some(Special::Next(name)) => {
            catalog.sequence(&name)?;
            cast(Value::Int64(1), column.kind).map(Some)
        }
        None => constant(&again, column.kind, 0),
    };
    match sample {
        Ok(Some(_)) => Ok(text),
        Ok(None) => Err(fault(format!(
            "{text} cannot be worked out for a row by itself: write a constant, now(), \
             gen_random_uuid() or nextval('sequence')"
        ))),
        Err(error) => Err(error),
    }
}

/// The default that counts by a sequence.
pub(crate) fn next_text(sequence: &str) -> String {
    let plain = sequence
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let name = match plain {
        true => sequence.to_owned(),
        false => format!("\"{}\"", sequence.replace('"', "\"\"")),
    };
    format!("nextval('{}')", name.replace('\'', "''"))
}

/// The sequence that a default counts by.
pub(crate) fn sequence_of(column: &Column) -> Option<String> {
    match Special::of(&parse(column.default.as_ref()?)?)? {
        Special::Next(name) => Some(name),
        _ => None,
    }
}

/// Functions that a default may call, and that are no constants.
enum Special {
    Now,
    RandomUuid,
    Next(String),
}

impl Special {
    fn of(expr: &ast::Expr) -> Option<Self> {
        let function = match expr {
            ast::Expr::Nested(inner) => return Self::of(inner),
            ast::Expr::Function(function) => function,
            _ => return None,
        };
        let name = tree_name(function.name.0.last()?.as_ident()?);
        match name.to_lowercase().as_str() {
            name if NOW.contains(&name) => Some(Self::Now),
            "gen_random_uuid" | "uuid_generate_v4" | "randomuuid" => Some(Self::RandomUuid),
            "nextval" => Some(Self::Next(sequence_name(function)?)),
            _ => None,
        }
    }
}

/// The name in `nextval('name')`, with or without a cast to regclass.
fn sequence_name(function: &ast::Function) -> Option<String> {
    let ast::FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument))] = list.args.as_slice()
    else {
        return None;
    };
    let mut argument = argument;
    while let ast::Expr::Cast { expr, .. } | ast::Expr::Nested(expr) = argument {
        argument = expr;
    }
    let (_, text) = syntax::literal_text(argument)?;
    Some(spelled_name(&text))
}

/// A name inside of a string: `seq`, `public.seq` or `"Seq"`.
pub(crate) fn spelled_name(text: &str) -> String {
    let schema = format!("{PUBLIC}.");
    let name = text.strip_prefix(schema.as_str()).unwrap_or(text);
    let quoted = name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match quoted {
        Some(name) => name.replace("\"\"", "\""),
        None => name.to_lowercase(),
    }
}

/// Whether a default is a plain string.
pub(crate) fn is_string(text: &str) -> bool {
    matches!(parse(text), Some(ast::Expr::Value(value))
        if matches!(value.value, ast::Value::SingleQuotedString(_)))
}

/// An expression on its own.
pub(crate) fn parse(text: &str) -> Option<ast::Expr> {
    build::first_item(build::selected(text)?)
}
