//! Parameters that are lists.
//!
//! A list travels as its text, `{1,2}`, so for the plan such a parameter is text. Where it stands as
//! a list it is read:
//!
//! ```text
//!   id = ANY ($1::bigint[])    id = ANY (list_of_int64($1))
//!   id = ANY ($1)              is_any(id, $1): the left side says what the elements are
//!   id <> ALL ($1)             NOT is_any(id, $1)
//!   n = ANY ($1::numeric[])    is_any_number(n, $1): decimals have the digits of the other side
//!   n = ANY (ARRAY[1.5, 2])    n IN (1.5, 2), for the same reason
//!   unnest($1::numeric(8,2)[]) unnest(CAST(list_of_utf8($1) AS numeric(8,2)[]))
//! ```

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, ListArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::Result as DataFusionResult;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{
    self, ColumnarValue, ExprSchemable, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use keys::{Type, Value};
use syntax::ast::{
    self, ArrayElemTypeDef, BinaryOperator, Expr, Query, UnaryOperator, VisitMut, VisitorMut,
};

use super::columns::{append, builder, data_type};
use super::lists::elements;
use super::provider::external;
use super::{results, rewrite, typing};
use crate::scalar::spelled_out;
use crate::system::{call, plain_type};
use crate::{Error, Fault, number};

/// The function that looks for a value in a list.
const IS_ANY: &str = "is_any";

/// The same in a list of decimals, of which the value may be none.
const IS_ANY_NUMBER: &str = "is_any_number";

/// Types that a list may be of.
const ELEMENTS: [Type; 14] = [
    Type::Bool,
    Type::Int16,
    Type::Int32,
    Type::Int64,
    Type::Uint32,
    Type::Uint64,
    Type::Float,
    Type::Double,
    Type::Utf8,
    Type::String,
    Type::Uuid,
    Type::Date,
    Type::Timestamp,
    Type::Interval,
];

/// Reads parameters as lists where they stand as lists.
pub(super) fn read(query: &mut Query) -> crate::Result<()> {
    match VisitMut::visit(query, &mut Reads) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Reads;

impl VisitorMut for Reads {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Some(replaced) = replaced(expr) {
            *expr = replaced;
        } else if let Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } = expr
            && is_text(right)
            && let Some((None, text)) = syntax::literal_text(right)
        {
            return ControlFlow::Break(malformed(&text));
        }
        ControlFlow::Continue(())
    }
}

fn replaced(expr: &Expr) -> Option<Expr> {
    if let Some(plain) = spelled_out(expr) {
        return Some(plain);
    }
    match expr {
        Expr::Cast {
            expr: inner,
            data_type,
            ..
        } if is_parameter(inner) => {
            let list = |kind| call(&reader_name(kind), vec![inner.as_ref().clone()]);
            match element(data_type) {
                Some(kind) => Some(list(kind)),
                // Their digits are those of the cast.
                None => decimals(data_type).map(|_| Expr::Cast {
                    kind: ast::CastKind::Cast,
                    expr: Box::new(list(Type::Utf8)),
                    data_type: data_type.clone(),
                    array: false,
                    format: None,
                }),
            }
        }
        Expr::AnyOp {
            left,
            compare_op: BinaryOperator::Eq,
            right,
            ..
        } => any(left, right),
        Expr::AllOp {
            left,
            compare_op: BinaryOperator::NotEq,
            right,
        } => Some(Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr: Box::new(any(left, right)?),
        }),
        _ => None,
    }
}

/// Whether the left side is in a list that only it gives a type, or that is one of decimals.
fn any(left: &Expr, right: &Expr) -> Option<Expr> {
    let sought = |name: &str, list: &Expr| call(name, vec![left.clone(), list.clone()]);
    match inside(right) {
        list if is_parameter(list) => Some(sought(IS_ANY, list)),
        Expr::Cast {
            expr, data_type, ..
        } if decimals(data_type).is_some() => match inside(expr) {
            Expr::Array(list) => any_of(left, &list.elem),
            list if is_parameter(list) || is_text(list) => Some(sought(IS_ANY_NUMBER, list)),
            _ => None,
        },
        Expr::Array(list) => any_of(left, &list.elem),
        _ => None,
    }
}

/// Whether the left side is one of some numbers that are written.
fn any_of(left: &Expr, list: &[Expr]) -> Option<Expr> {
    if list.is_empty() || !list.iter().all(is_number) {
        return None;
    }
    Some(Expr::InList {
        expr: Box::new(left.clone()),
        list: list.to_vec(),
        negated: false,
    })
}

fn is_number(expr: &Expr) -> bool {
    match inside(expr) {
        Expr::UnaryOp { expr, .. } => is_number(expr),
        Expr::Value(value) => matches!(value.value, ast::Value::Number(..)),
        _ => false,
    }
}

fn is_text(expr: &Expr) -> bool {
    matches!(inside(expr), Expr::Value(value)
    if matches!(value.value, ast::Value::SingleQuotedString(_)))
}

fn inside(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

fn is_parameter(expr: &Expr) -> bool {
    matches!(inside(expr), Expr::Value(value) if matches!(value.value, ast::Value::Placeholder(_)))
}

/// What a type of lists is a list of.
pub(crate) fn element(kind: &ast::DataType) -> Option<Type> {
    let ast::DataType::Array(ArrayElemTypeDef::SquareBracket(element, None)) = kind else {
        return None;
    };
    // PostgreSQL's own numbers are of 32 bits without a sign.
    if element.to_string().to_lowercase().ends_with("oid") {
        return Some(Type::Uint32);
    }
    let plain = plain_type(element);
    let kind = match syntax::cast_type(plain.as_ref().unwrap_or(element))? {
        Type::Json => Type::Utf8,
        kind => kind,
    };
    ELEMENTS.contains(&kind).then_some(kind)
}

/// What a type of lists of decimals is a list of.
fn decimals(kind: &ast::DataType) -> Option<Type> {
    let ast::DataType::Array(ArrayElemTypeDef::SquareBracket(element, None)) = kind else {
        return None;
    };
    syntax::cast_type(element).filter(|kind| matches!(kind, Type::Decimal { .. }))
}

/// The parameters of a query that are cast to lists, by their place from 0, and what they are lists
/// of.
pub(super) fn cast_to_lists(query: &Query) -> Vec<(usize, Type)> {
    struct Finds(Vec<(usize, Type)>);
    impl ast::Visitor for Finds {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::Cast {
                expr: inner,
                data_type,
                ..
            } = expr
                && let Expr::Value(value) = inside(inner)
                && let ast::Value::Placeholder(name) = &value.value
                && let Some(number) = name.strip_prefix('$').and_then(|one| one.parse().ok())
                && let Some(kind) = element(data_type).or_else(|| decimals(data_type))
            {
                self.0.push((usize::saturating_sub(number, 1), kind));
            }
            ControlFlow::Continue(())
        }
    }
    let mut found = Finds(Vec::new());
    let _ = ast::Visit::visit(query, &mut found);
    found.0
}

/// The parameters of a plan that stand as lists beside a value, by their place from 0, and what they are
/// lists of.
pub(super) fn beside_values(plan: &LogicalPlan) -> DataFusionResult<Vec<(usize, Type)>> {
    let mut found = Vec::new();
    plan.apply_with_subqueries(|node| {
        let mut calls = Vec::new();
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let logical_expr::Expr::ScalarFunction(call) = expr
                    && call.func.name() == IS_ANY
                    && let [value, logical_expr::Expr::Placeholder(list)] = call.args.as_slice()
                    && let Some(index) = rewrite::number(&list.id)
                {
                    calls.push((index, typing::natural(value.clone())));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        if !calls.is_empty() {
            let schema = rewrite::schema_of(node)?;
            for (index, value) in calls {
                found.push((index, results::kind_of(&value.to_field(&schema)?.1)));
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// The functions that read lists.
pub(super) fn functions() -> Vec<Arc<ScalarUDF>> {
    let readers = ELEMENTS.iter().map(|kind| Reader {
        name: reader_name(*kind),
        kind: Some(*kind),
        signature: Signature::any(1, Volatility::Immutable),
    });
    let any = [IS_ANY, IS_ANY_NUMBER].map(|name| Reader {
        name: name.to_owned(),
        kind: None,
        signature: Signature::any(2, Volatility::Immutable),
    });
    let all = readers.chain(any);
    all.map(|one| Arc::new(ScalarUDF::new_from_impl(one)))
        .collect()
}

fn reader_name(kind: Type) -> String {
    format!("list_of_{}", kind.to_string().to_lowercase())
}

/// A function that reads the text of a list, into a list of a type or to look for a value in it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Reader {
    name: String,
    kind: Option<Type>,
    signature: Signature,
}

impl ScalarUDFImpl for Reader {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> DataFusionResult<DataType> {
        Ok(match self.kind {
            Some(kind) => DataType::List(item(kind)),
            None => DataType::Boolean,
        })
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let rows = call.number_rows;
        let constant = call
            .args
            .iter()
            .all(|one| matches!(one, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { rows };
        let kinds: Vec<Type> = call
            .arg_fields
            .iter()
            .map(|field| results::kind_of(field))
            .collect();
        if let (None, [values, ColumnarValue::Scalar(list)], [kind, _]) =
            (self.kind, call.args.as_slice(), kinds.as_slice())
        {
            let values = results::plain(&values.clone().into_array(rows)?, *kind);
            let list = results::plain(&list.to_array()?, Type::Utf8).map_err(external)?;
            let list = self.read_at(&list, 0, *kind).map_err(external)?;
            let answers = values.and_then(|values| sought(&values, *kind, list));
            let answers = answers.map_err(external)?;
            return Ok(match constant {
                true => ColumnarValue::Scalar(ScalarValue::try_from_array(&answers, 0)?),
                false => ColumnarValue::Array(answers),
            });
        }
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(call.args.len());
        for (argument, kind) in call.args.into_iter().zip(&kinds) {
            arrays.push(results::plain(&argument.into_array(rows)?, *kind).map_err(external)?);
        }
        let answers = match (self.kind, arrays.as_slice(), kinds.as_slice()) {
            (Some(kind), [texts], _) => lists(texts, kind).map_err(external)?,
            (None, [values, texts], [kind, _]) => {
                self.contained(values, *kind, texts).map_err(external)?
            }
            _ => return Err(external(wrong("a list takes one argument"))),
        };
        Ok(match constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&answers, 0)?),
            false => ColumnarValue::Array(answers),
        })
    }
}

impl Reader {
    /// The elements of the list at a place; none for NULL.
    fn read_at(
        &self,
        texts: &ArrayRef,
        row: usize,
        kind: Type,
    ) -> crate::Result<Option<Vec<Value>>> {
        let decimals = self.name == IS_ANY_NUMBER;
        let list = text_at(texts, row)?.map(|text| read_values(&text, kind, decimals));
        list.transpose()
    }

    fn contained(
        &self,
        values: &ArrayRef,
        kind: Type,
        texts: &ArrayRef,
    ) -> crate::Result<ArrayRef> {
        let mut answers = builder(Type::Bool, values.len());
        for row in 0..values.len() {
            let value = results::value_or_null(values, row, kind)?;
            let answer = match self.read_at(texts, row, kind)? {
                Some(list) if value != Value::Null => match list.contains(&value) {
                    false if list.contains(&Value::Null) => Value::Null,
                    found => Value::Bool(found),
                },
                _ => Value::Null,
            };
            append(answers.as_mut(), Type::Bool, &answer)?;
        }
        Ok(answers.finish())
    }
}

fn item(kind: Type) -> Arc<Field> {
    Arc::new(Field::new_list_field(data_type(kind), true))
}

fn wrong(what: &str) -> Error {
    Error::Query {
        what: what.to_owned(),
    }
}

/// The text of the list at a place; none for NULL.
fn text_at(texts: &ArrayRef, row: usize) -> crate::Result<Option<Box<str>>> {
    Ok(match results::value_or_null(texts, row, Type::Utf8)? {
        Value::Utf8(text) => Some(text),
        _ => None,
    })
}

/// The elements of a list from its text. A decimal that a value of type `kind` cannot equal is left out.
pub(crate) fn values(text: &str, kind: Type) -> crate::Result<Vec<Value>> {
    read_values(text, kind, false)
}

/// The same of a list that may be said to have decimals whatever `kind` is.
fn read_values(text: &str, kind: Type, decimals: bool) -> crate::Result<Vec<Value>> {
    let parts = elements(text).ok_or_else(|| malformed(text))?;
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        let Some(part) = part else {
            values.push(Value::Null);
            continue;
        };
        match number::exact(&part) {
            Some(exact) if number::is_exact(kind) && (decimals || !kind.is_integer()) => {
                values.extend(number::whole(&Value::Decimal(exact), kind));
            }
            _ => values.push(Value::parse(kind, spelled(kind, &part))?),
        }
    }
    Ok(values)
}

/// The error of a text that is no list.
fn malformed(text: &str) -> Error {
    Error::Refused {
        fault: Fault::Text,
        what: format!("`{text}` is no list: write {{1,2}}"),
    }
}

/// PostgreSQL's letters for truth.
fn spelled(kind: Type, part: &str) -> &str {
    match (kind, part) {
        (Type::Bool, "t") => "true",
        (Type::Bool, "f") => "false",
        (_, other) => other,
    }
}

fn lists(texts: &ArrayRef, kind: Type) -> crate::Result<ArrayRef> {
    let mut elements = builder(kind, 0);
    let mut lengths = Vec::with_capacity(texts.len());
    let mut valid = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        let list = text_at(texts, row)?.map(|text| values(&text, kind));
        let list = list.transpose()?;
        valid.push(list.is_some());
        let list = list.unwrap_or_default();
        lengths.push(list.len());
        for value in &list {
            append(elements.as_mut(), kind, value)?;
        }
    }
    let offsets = OffsetBuffer::from_lengths(lengths);
    let nulls = Some(NullBuffer::from(valid));
    let made = ListArray::try_new(item(kind), offsets, elements.finish(), nulls);
    Ok(Arc::new(made.map_err(|error| wrong(&error.to_string()))?))
}

/// Which values are in one list, which is read once.
fn sought(values: &ArrayRef, kind: Type, list: Option<Vec<Value>>) -> crate::Result<ArrayRef> {
    let list: Option<BTreeSet<Value>> = list.map(|list| list.into_iter().collect());
    let mut answers = builder(Type::Bool, values.len());
    for row in 0..values.len() {
        let value = results::value_or_null(values, row, kind)?;
        let answer = match &list {
            Some(list) if value != Value::Null => match list.contains(&value) {
                false if list.contains(&Value::Null) => Value::Null,
                found => Value::Bool(found),
            },
            _ => Value::Null,
        };
        append(answers.as_mut(), Type::Bool, &answer)?;
    }
    Ok(answers.finish())
}
