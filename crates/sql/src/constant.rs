//! Expressions whose value is known without reading a row: literals, parameters, a few functions.

use keys::digest::DigestFunction;
use keys::{Type, Value, hash_values};
use syntax::ast;

use crate::names::tree_name;
use crate::{Error, Result, cast};

/// What an expression may use besides itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'g> {
    /// The values of `$1`, `$2`, ….
    pub(crate) parameters: &'g [Value],
    /// The time of the transaction, in microseconds since 1970.
    pub(crate) now_us: i64,
}

/// The value of an expression as one of type `wanted`. `None` if it takes more than this to know.
pub(crate) fn constant(
    expr: &ast::Expr,
    wanted: Option<Type>,
    given: Given<'_>,
) -> Result<Option<Value>> {
    let Some(value) = natural(expr, wanted, given)? else {
        return Ok(None);
    };
    match wanted {
        Some(kind) => cast(value, kind).map(Some),
        None => Ok(Some(value)),
    }
}

/// The value in the type it has by itself.
fn natural(expr: &ast::Expr, wanted: Option<Type>, given: Given<'_>) -> Result<Option<Value>> {
    match expr {
        ast::Expr::Nested(inner) => constant(inner, wanted, given),
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Null => Ok(Some(Value::Null)),
            ast::Value::Boolean(yes) => Ok(Some(Value::Bool(*yes))),
            ast::Value::Placeholder(name) => parameter(name, given).map(Some),
            ast::Value::Number(digits, _) => number(digits, wanted).map(Some),
            _ => Ok(text(expr)),
        },
        ast::Expr::UnaryOp {
            op: ast::UnaryOperator::Minus,
            ..
        } => match syntax::literal_text(expr) {
            Some((None, digits)) => number(&digits, wanted).map(Some),
            Some((Some(kind), digits)) => Ok(Some(Value::parse(kind, &digits)?)),
            None => Ok(None),
        },
        ast::Expr::Cast {
            expr, data_type, ..
        } => match syntax::cast_type(data_type) {
            Some(kind) => constant(expr, Some(kind), given),
            None => Ok(None),
        },
        ast::Expr::TypedString(_) => match syntax::literal_text(expr) {
            Some((Some(kind), words)) => Ok(Some(Value::parse(kind, &words)?)),
            _ => Ok(None),
        },
        ast::Expr::Function(function) => call(function, given),
        _ => Ok(None),
    }
}

fn text(expr: &ast::Expr) -> Option<Value> {
    let (_, words) = syntax::literal_text(expr)?;
    Some(Value::Utf8(words.into()))
}

/// A number takes the type that is wanted if that is a number's, and else the narrowest it fits.
fn number(digits: &str, wanted: Option<Type>) -> Result<Value> {
    if let Some(kind) = wanted
        && (kind.is_numeric() || matches!(kind, Type::Decimal { .. }))
        && !(kind.is_integer() && digits.contains(['.', 'e', 'E']))
    {
        let out_of_range = |_| Error::OutOfRange {
            value: digits.to_owned(),
            kind,
        };
        return Value::parse(kind, digits).map_err(out_of_range);
    }
    if let Ok(small) = digits.parse::<i32>() {
        return Ok(Value::Int32(small));
    }
    if let Ok(large) = digits.parse::<i64>() {
        return Ok(Value::Int64(large));
    }
    if let Ok(large) = digits.parse::<u64>() {
        return Ok(Value::Uint64(large));
    }
    Ok(Value::parse(Type::Double, digits)?)
}

/// The value of `$n`.
fn parameter(name: &str, given: Given<'_>) -> Result<Value> {
    let number = parameter_number(name);
    let value = number.and_then(|number| given.parameters.get(number.checked_sub(1)?));
    value.cloned().ok_or_else(|| Error::NoSuchParameter {
        name: name.to_owned(),
    })
}

/// The `n` of `$n`.
fn parameter_number(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse().ok()
}

/// Notes that a value of `kind` goes where `expr` stands, if that is just a parameter.
pub(crate) fn note_parameter(kinds: &mut Vec<Option<Type>>, expr: &ast::Expr, kind: Type) {
    let ast::Expr::Value(value) = expr else {
        return;
    };
    let ast::Value::Placeholder(name) = &value.value else {
        return;
    };
    let Some(index) = parameter_number(name).and_then(|number| number.checked_sub(1)) else {
        return;
    };
    if kinds.len() <= index {
        kinds.resize(index + 1, None);
    }
    if let Some(place) = kinds.get_mut(index) {
        place.get_or_insert(kind);
    }
}

fn call(function: &ast::Function, given: Given<'_>) -> Result<Option<Value>> {
    let [name] = function.name.0.as_slice() else {
        return Ok(None);
    };
    let Some(ident) = name.as_ident() else {
        return Ok(None);
    };
    let name = tree_name(ident);
    let Some(arguments) = arguments(function, given)? else {
        return Ok(None);
    };
    match (name.as_str(), arguments.as_slice()) {
        ("now" | "current_timestamp" | "currentutctimestamp", []) => {
            Ok(Some(Value::Timestamp(given.now_us)))
        }
        ("hash", [_, ..]) => Ok(Some(Value::Uint64(hash_values(&arguments)))),
        _ if ident.value.contains("::") => match DigestFunction::find(&ident.value) {
            Some(digest) => Ok(Some(digest.call(&arguments)?)),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

fn arguments(function: &ast::Function, given: Given<'_>) -> Result<Option<Vec<Value>>> {
    let list = match &function.args {
        ast::FunctionArguments::None => return Ok(Some(Vec::new())),
        ast::FunctionArguments::List(list) => list,
        ast::FunctionArguments::Subquery(_) => return Ok(None),
    };
    let mut values = Vec::with_capacity(list.args.len());
    for argument in &list.args {
        let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = argument else {
            return Ok(None);
        };
        match constant(expr, None, given)? {
            Some(value) => values.push(value),
            None => return Ok(None),
        }
    }
    Ok(Some(values))
}
