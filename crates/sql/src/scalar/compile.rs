//! From the parser's trees to expressions that can be worked out.

use keys::{Type, Value};
use syntax::ast;

use super::{Comparison, Function, Scalar, comparable, spelled_out};
use crate::arithmetic::{Operation, result_type};
use crate::names::tree_name;
use crate::{Error, Result, Schema, number};

/// What names in an expression mean, and what is known of its parameters.
#[derive(Debug, Default)]
pub(crate) struct Scope<'s> {
    /// The table whose row is at hand, and the name it goes by.
    table: Option<(&'s Schema, String)>,
    /// Whether `excluded` is the row that was to be inserted.
    excluded: bool,
    /// The types of `$1`, `$2`, …, as far as they are known.
    pub(crate) parameters: Vec<Option<Type>>,
}

impl<'s> Scope<'s> {
    /// Expressions over the rows of a table, with the types of parameters that a client stated.
    pub(crate) fn new(schema: &'s Schema, alias: Option<String>, hints: &[Option<Type>]) -> Self {
        let name = alias.unwrap_or_else(|| schema.name().to_owned());
        Self {
            table: Some((schema, name)),
            excluded: false,
            parameters: hints.to_vec(),
        }
    }

    /// Expressions that no row is at hand for.
    pub(crate) fn rowless(hints: &[Option<Type>]) -> Self {
        Self {
            parameters: hints.to_vec(),
            ..Self::default()
        }
    }

    /// Lets expressions speak of the row that was to be inserted.
    pub(crate) fn with_excluded(&mut self) {
        self.excluded = true;
    }

    /// The expression as one of type `kind`, as an assignment to a column makes it.
    pub(crate) fn assign(&mut self, expr: &ast::Expr, kind: Type) -> Result<Option<Scalar>> {
        match self.compile(expr, Some(kind))? {
            Some(scalar) => scalar.cast_to(kind).map(Some),
            None => Ok(None),
        }
    }

    /// The expression, if it is one of ours. `hint` is the type that an untyped literal or parameter
    /// takes.
    pub(crate) fn compile(
        &mut self,
        expr: &ast::Expr,
        hint: Option<Type>,
    ) -> Result<Option<Scalar>> {
        Ok(match expr {
            ast::Expr::Nested(inner) => self.compile(inner, hint)?,
            ast::Expr::Value(value) => self.literal(expr, &value.value, hint)?,
            ast::Expr::TypedString(typed) => match syntax::literal_text(expr) {
                Some((Some(kind), words)) => {
                    let value = Scalar::Value(Value::parse(kind, &words)?);
                    Some(value.cut_to(syntax::cast_declared(&typed.data_type)))
                }
                _ => None,
            },
            ast::Expr::Identifier(name) => self.column(&tree_name(name)),
            ast::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [of, column] => self.qualified(&tree_name(of), &tree_name(column)),
                _ => None,
            },
            ast::Expr::Cast {
                expr,
                data_type,
                format: None,
                ..
            } => match syntax::cast_type(data_type) {
                Some(kind) => {
                    let declared = syntax::cast_declared(data_type);
                    let inner = self.assign(expr, kind)?;
                    inner.map(|inner| inner.cut_to(declared))
                }
                // The name of a table or sequence is just its text.
                None if data_type.to_string().eq_ignore_ascii_case("regclass") => {
                    self.assign(expr, Type::Utf8)?
                }
                None => None,
            },
            ast::Expr::UnaryOp { op, expr: inner } => self.unary(expr, *op, inner, hint)?,
            ast::Expr::BinaryOp { left, op, right } => self.binary(left, op, right, hint)?,
            ast::Expr::IsNull(inner) => self.is_null(inner)?,
            ast::Expr::IsNotNull(inner) => not(self.is_null(inner)?),
            ast::Expr::IsDistinctFrom(left, right) => self.distinct(left, right)?,
            ast::Expr::IsNotDistinctFrom(left, right) => not(self.distinct(left, right)?),
            ast::Expr::InList {
                expr,
                list,
                negated,
            } => negate(self.in_list(expr, list)?, *negated),
            ast::Expr::Between {
                expr,
                negated,
                low,
                high,
            } => negate(self.between(expr, low, high)?, *negated),
            ast::Expr::Function(function) => self.call(function, hint)?,
            ast::Expr::AnyOp { .. } | ast::Expr::AllOp { .. } => match spelled_out(expr) {
                Some(plain) => self.compile(&plain, hint)?,
                None => None,
            },
            _ => None,
        })
    }

    fn literal(
        &mut self,
        expr: &ast::Expr,
        value: &ast::Value,
        hint: Option<Type>,
    ) -> Result<Option<Scalar>> {
        let value = match value {
            ast::Value::Null => Value::Null,
            ast::Value::Boolean(yes) => Value::Bool(*yes),
            ast::Value::Placeholder(name) => return Ok(self.parameter(name, hint)),
            ast::Value::Number(digits, _) => numeric(digits, hint)?,
            _ => match (syntax::literal_text(expr), hint) {
                (Some((_, words)), None | Some(Type::Utf8)) => Value::Utf8(words.into()),
                (Some((_, words)), Some(kind)) => crate::cast(Value::Utf8(words.into()), kind)?,
                (None, _) => return Ok(None),
            },
        };
        Ok(Some(Scalar::Value(value)))
    }

    /// `$n`, which has the type that was stated, or that it is used as first.
    fn parameter(&mut self, name: &str, hint: Option<Type>) -> Option<Scalar> {
        let number: usize = name.strip_prefix('$')?.parse().ok()?;
        let index = number.checked_sub(1)?;
        if self.parameters.len() <= index {
            self.parameters.resize(index + 1, None);
        }
        let place = self.parameters.get_mut(index)?;
        *place = place.or(hint);
        Some(Scalar::Parameter(index, *place))
    }

    /// The place of a parameter that stands as a list, which travels as its text; `None` if it is none,
    /// or has another type.
    pub(crate) fn list(&mut self, expr: &ast::Expr) -> Option<usize> {
        match expr {
            ast::Expr::Nested(inner) => self.list(inner),
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Placeholder(name) => match self.parameter(name, Some(Type::Utf8))? {
                    Scalar::Parameter(index, Some(Type::Utf8)) => Some(index),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn column(&self, name: &str) -> Option<Scalar> {
        let (schema, _) = self.table.as_ref()?;
        let position = schema.position(name)?;
        let kind = schema.columns().get(position)?.kind;
        Some(Scalar::Column(position, kind))
    }

    fn qualified(&self, of: &str, name: &str) -> Option<Scalar> {
        let (_, known) = self.table.as_ref()?;
        let column = self.column(name)?;
        match column {
            Scalar::Column(position, kind) if self.excluded && of == "excluded" => {
                Some(Scalar::Excluded(position, kind))
            }
            column if of == known => Some(column),
            _ => None,
        }
    }

    fn unary(
        &mut self,
        whole: &ast::Expr,
        op: ast::UnaryOperator,
        inner: &ast::Expr,
        hint: Option<Type>,
    ) -> Result<Option<Scalar>> {
        match op {
            ast::UnaryOperator::Plus => self.compile(inner, hint),
            ast::UnaryOperator::Not => Ok(not(self.boolean(inner)?)),
            ast::UnaryOperator::Minus => match syntax::literal_text(whole) {
                Some((None, digits)) => Ok(Some(Scalar::Value(numeric(&digits, hint)?))),
                Some((Some(kind), digits)) => Ok(Some(Scalar::Value(Value::parse(kind, &digits)?))),
                None => {
                    let Some(inner) = self.compile(inner, hint)? else {
                        return Ok(None);
                    };
                    let Some(kind) = inner.kind().filter(|kind| kind.is_integer()) else {
                        return Ok(None);
                    };
                    let zero = crate::cast(Value::Int32(0), kind)?;
                    let zero = Box::new(Scalar::Value(zero));
                    let minus = Operation::Subtract;
                    Ok(Some(Scalar::Arithmetic(minus, zero, Box::new(inner))))
                }
            },
            _ => Ok(None),
        }
    }

    fn binary(
        &mut self,
        left: &ast::Expr,
        op: &ast::BinaryOperator,
        right: &ast::Expr,
        hint: Option<Type>,
    ) -> Result<Option<Scalar>> {
        match op {
            ast::BinaryOperator::And | ast::BinaryOperator::Or => {
                let (Some(left), Some(right)) = (self.boolean(left)?, self.boolean(right)?) else {
                    return Ok(None);
                };
                let parts = vec![left, right];
                return Ok(Some(match op {
                    ast::BinaryOperator::And => Scalar::And(parts),
                    _ => Scalar::Or(parts),
                }));
            }
            _ => {}
        }
        if let Some(comparison) = Comparison::new(op) {
            return self.compare(comparison, left, right);
        }
        let Some(op) = operation(op) else {
            return Ok(None);
        };
        let Some((left, right)) = self.pair(left, right, hint)? else {
            return Ok(None);
        };
        let known = match (left.kind(), right.kind()) {
            (Some(left), Some(right)) => result_type(op, left, right).is_some(),
            _ => false,
        };
        Ok(known.then(|| Scalar::Arithmetic(op, Box::new(left), Box::new(right))))
    }

    /// Both sides of an operator; what is untyped takes the type of the other side.
    fn pair(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        hint: Option<Type>,
    ) -> Result<Option<(Scalar, Scalar)>> {
        if untyped(left) && !untyped(right) {
            let pair = self.pair(right, left, hint)?;
            return Ok(pair.map(|(right, left)| (left, right)));
        }
        // Numbers that are written are added up as they are before the sum becomes a float.
        let floats = |kind: &Type| matches!(kind, Type::Float | Type::Double);
        let hint = hint.filter(|kind| untyped(left) && !(floats(kind) && is_number(left)));
        let Some(left) = self.compile(left, hint)? else {
            return Ok(None);
        };
        // A literal that does not fit the other side's type keeps its own.
        let right = match self.compile(right, left.kind().map(number::beside)) {
            Err(_) => self.compile(right, None)?,
            fits => fits?,
        };
        Ok(right.map(|right| (left, right)))
    }

    pub(super) fn compare(
        &mut self,
        comparison: Comparison,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<Option<Scalar>> {
        let Some((left, right)) = self.pair(left, right, None)? else {
            return Ok(None);
        };
        let known = match (left.kind(), right.kind()) {
            (Some(left), Some(right)) => comparable(left, right),
            _ => false,
        };
        Ok(known.then(|| Scalar::Compare(comparison, Box::new(left), Box::new(right))))
    }

    fn boolean(&mut self, expr: &ast::Expr) -> Result<Option<Scalar>> {
        let scalar = self.compile(expr, Some(Type::Bool))?;
        Ok(scalar.filter(|scalar| scalar.kind() == Some(Type::Bool)))
    }

    fn is_null(&mut self, inner: &ast::Expr) -> Result<Option<Scalar>> {
        let inner = self.compile(inner, None)?;
        Ok(inner.map(|inner| Scalar::IsNull(Box::new(inner))))
    }

    fn distinct(&mut self, left: &ast::Expr, right: &ast::Expr) -> Result<Option<Scalar>> {
        let Some((left, right)) = self.pair(left, right, None)? else {
            return Ok(None);
        };
        let known = match (left.kind(), right.kind()) {
            (Some(left), Some(right)) => comparable(left, right),
            _ => matches!((&left, &right), (Scalar::Column(..), Scalar::Value(_))),
        };
        Ok(known.then(|| Scalar::Distinct(Box::new(left), Box::new(right))))
    }

    fn in_list(&mut self, expr: &ast::Expr, list: &[ast::Expr]) -> Result<Option<Scalar>> {
        let mut parts = Vec::with_capacity(list.len());
        for item in list {
            match self.compare(Comparison::Equal, expr, item)? {
                Some(equal) => parts.push(equal),
                None => return Ok(None),
            }
        }
        Ok(Some(Scalar::Or(parts)))
    }

    fn between(
        &mut self,
        expr: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
    ) -> Result<Option<Scalar>> {
        let low = self.compare(Comparison::GreaterOrEqual, expr, low)?;
        let high = self.compare(Comparison::LessOrEqual, expr, high)?;
        let (Some(low), Some(high)) = (low, high) else {
            return Ok(None);
        };
        Ok(Some(Scalar::And(vec![low, high])))
    }

    fn call(&mut self, function: &ast::Function, hint: Option<Type>) -> Result<Option<Scalar>> {
        let plain = function.over.is_none()
            && function.filter.is_none()
            && function.within_group.is_empty()
            && matches!(function.parameters, ast::FunctionArguments::None);
        let Some(called) = Function::find(function).filter(|_| plain) else {
            return Ok(None);
        };
        let list = match &function.args {
            ast::FunctionArguments::None => &[],
            ast::FunctionArguments::List(list)
                if list.clauses.is_empty() && list.duplicate_treatment.is_none() =>
            {
                list.args.as_slice()
            }
            _ => return Ok(None),
        };
        let mut arguments = Vec::with_capacity(list.len());
        for argument in list {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = argument else {
                return Ok(None);
            };
            match self.compile(expr, called.argument_hint(hint))? {
                Some(argument) => arguments.push(argument),
                None => return Ok(None),
            }
        }
        Ok(called
            .accepts(&arguments)
            .then(|| Scalar::Call(called, arguments.into())))
    }
}

fn not(inner: Option<Scalar>) -> Option<Scalar> {
    inner.map(|inner| Scalar::Not(Box::new(inner)))
}

fn negate(inner: Option<Scalar>, negated: bool) -> Option<Scalar> {
    if negated { not(inner) } else { inner }
}

fn operation(op: &ast::BinaryOperator) -> Option<Operation> {
    Some(match op {
        ast::BinaryOperator::Plus => Operation::Add,
        ast::BinaryOperator::Minus => Operation::Subtract,
        ast::BinaryOperator::Multiply => Operation::Multiply,
        ast::BinaryOperator::Divide => Operation::Divide,
        ast::BinaryOperator::Modulo => Operation::Modulo,
        _ => return None,
    })
}

/// Whether an expression takes its type from where it stands.
fn untyped(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Nested(inner)
        | ast::Expr::UnaryOp {
            op: ast::UnaryOperator::Minus | ast::UnaryOperator::Plus,
            expr: inner,
        } => untyped(inner),
        ast::Expr::Value(_) => true,
        _ => false,
    }
}

/// Whether an expression is a number that is written.
fn is_number(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Nested(inner) | ast::Expr::UnaryOp { expr: inner, .. } => is_number(inner),
        ast::Expr::Value(value) => matches!(value.value, ast::Value::Number(..)),
        _ => false,
    }
}

/// A number takes the type that is wanted if that is a float's or a whole number's, and else its own:
/// a decimal keeps its digits, and is rounded only where it is assigned.
fn numeric(digits: &str, wanted: Option<Type>) -> Result<Value> {
    if let Some(kind) = wanted
        && kind.is_numeric()
        && !matches!(kind, Type::Decimal { .. })
        && !(kind.is_integer() && digits.contains(['.', 'e', 'E']))
    {
        let out_of_range = |_| Error::OutOfRange {
            value: digits.to_owned(),
            kind,
        };
        return Value::parse(kind, digits).map_err(out_of_range);
    }
    number::written(digits)
}

/// A number that is assigned to a column of type `kind` as it is written.
pub(crate) fn written_as(digits: &str, kind: Type) -> Result<Value> {
    crate::cast(numeric(digits, Some(kind))?, kind)
}

/// The parts of a filter that must all hold.
pub(crate) fn conjuncts(filter: &ast::Expr) -> Vec<&ast::Expr> {
    match filter {
        ast::Expr::Nested(inner) => conjuncts(inner),
        ast::Expr::BinaryOp {
            left,
            op: ast::BinaryOperator::And,
            right,
        } => {
            let mut parts = conjuncts(left);
            parts.extend(conjuncts(right));
            parts
        }
        other => vec![other],
    }
}
