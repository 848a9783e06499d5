//! Casts to types that only system tables have.
//!
//! A `regclass` is the number of a table that is printed as its name. There is no such type here, so
//! a cast becomes the number or the name, whichever is wanted where it stands: the name where it is
//! a column of the result or is cast on to text, the number elsewhere.

use syntax::ast::{
    Array, ArrayElemTypeDef, CastKind, DataType, Expr, ObjectName, Select, SelectItem, Value,
};

use super::{call, last_name, name_parts, take};
use crate::list_elements;

/// Types that stand for a number of something that has a name.
const NAMED: [&str; 5] = ["regclass", "regtype", "regnamespace", "regrole", "regproc"];
/// Types of numbers.
const NUMBERS: [&str; 4] = ["oid", "xid", "cid", "xid8"];
/// Types of text.
const TEXTS: [&str; 4] = ["name", "char", "cstring", "refcursor"];

/// Whether DataFusion has no such type.
pub(super) fn is_special(kind: &DataType) -> bool {
    match kind {
        DataType::Regclass => true,
        DataType::Custom(name, _) => {
            let parts = name_parts(name);
            parts.first().is_some_and(|first| first == "pg_catalog")
                || parts.last().is_some_and(|name| {
                    let name = name.as_str();
                    NAMED.contains(&name) || NUMBERS.contains(&name) || TEXTS.contains(&name)
                })
        }
        DataType::Array(ArrayElemTypeDef::SquareBracket(..)) => true,
        _ => false,
    }
}

/// Gives columns of the result that are such a cast the name.
pub(super) fn shown(select: &mut Select) {
    for item in &mut select.projection {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
            continue;
        };
        if let Some((kind, inner)) = named(expr) {
            *expr = call(&format!("{kind}_name"), vec![inner]);
        }
    }
}

/// Makes a cast plain.
pub(super) fn plain(expr: &mut Expr) {
    let Expr::Cast {
        expr: inner,
        data_type,
        ..
    } = expr
    else {
        return;
    };
    if let DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) = data_type {
        match literal(inner) {
            Some(list) => {
                let element = plain_type(element).unwrap_or_else(|| element.as_ref().clone());
                let written =
                    |one: Option<String>| one.map_or(Value::Null, Value::SingleQuotedString);
                let elem = list
                    .into_iter()
                    .map(|one| cast(Expr::Value(written(one).into()), element.clone()))
                    .collect();
                *expr = Expr::Array(Array { elem, named: true });
            }
            None => {
                if let Some(kind) = plain_type(element) {
                    **element = kind;
                }
            }
        }
        return;
    }
    // `x::regclass::text` is the name.
    if let Some((kind, value)) = named(inner) {
        let wanted = if is_text(data_type) { "name" } else { "oid" };
        let wanted = if kind == "regproc" { "name" } else { wanted };
        *expr = call(&format!("{kind}_{wanted}"), vec![value]);
    } else if let Some((kind, value)) = named(expr) {
        let wanted = if kind == "regproc" { "name" } else { "oid" };
        *expr = call(&format!("{kind}_{wanted}"), vec![value]);
    } else if let Expr::Cast { data_type, .. } = expr
        && let Some(kind) = plain_type(data_type)
    {
        *data_type = kind;
    }
}

/// The type and the value of a cast to a type of numbers that have names.
fn named(expr: &mut Expr) -> Option<(&'static str, Expr)> {
    let Expr::Cast {
        expr: inner,
        data_type,
        ..
    } = expr
    else {
        return None;
    };
    let kind = match data_type {
        DataType::Regclass => "regclass",
        DataType::Custom(name, _) => {
            let name = last_name(name)?;
            NAMED.into_iter().find(|known| *known == name)?
        }
        _ => return None,
    };
    Some((kind, take(inner)))
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Text | DataType::Varchar(_) | DataType::CharacterVarying(_) => true,
        DataType::Custom(name, _) => last_name(name).is_some_and(|name| {
            name == "text" || name == "varchar" || TEXTS.contains(&name.as_str())
        }),
        _ => false,
    }
}

/// The type that stands for one that is not there.
pub(crate) fn plain_type(kind: &DataType) -> Option<DataType> {
    let DataType::Custom(name, _) = kind else {
        return None;
    };
    let last = last_name(name)?;
    Some(match last.as_str() {
        name if NUMBERS.contains(&name) => DataType::BigInt(None),
        name if TEXTS.contains(&name) => DataType::Text,
        "text" | "varchar" | "bpchar" => DataType::Text,
        "bool" => DataType::Boolean,
        "int2" => DataType::SmallInt(None),
        "int4" => DataType::Int(None),
        "int8" => DataType::BigInt(None),
        "float4" => DataType::Real,
        "float8" => DataType::DoublePrecision,
        _ if name.0.len() > 1 => DataType::Custom(
            ObjectName(name.0.last().cloned().into_iter().collect()),
            Vec::new(),
        ),
        _ => return None,
    })
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type,
        array: false,
        format: None,
    }
}

/// The elements of an array that is written as text, in parentheses or not.
fn literal(expr: &Expr) -> Option<Vec<Option<String>>> {
    match expr {
        Expr::Nested(inner) => literal(inner),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => list_elements(text),
            _ => None,
        },
        _ => None,
    }
}
