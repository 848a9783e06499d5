//! YQL's functions and operators as DataFusion's, on a copy of the tree just before it is planned.
//!
//! Most functions of YQL have a twin under another name ([`TWINS`]). Some are forms of SQL
//! ([`form`]). The rest, and those that count from zero where SQL counts from one, are ours
//! ([`super::yql_functions`]). A function of none of the three is looked up as it is, so
//! PostgreSQL's own keep their meaning, and one that nobody knows is refused by the name that was
//! typed.

use std::ops::ControlFlow;

use keys::Type;
use syntax::ast;

use crate::Error;
use crate::named::build;

/// YQL's name, in lower case, and DataFusion's for the same function.
const TWINS: &[(&str, &str)] = &[
    ("countdistinctestimate", "approx_distinct"),
    ("endswith", "ends_with"),
    ("hyperloglog", "approx_distinct"),
    ("maxof", "greatest"),
    ("minof", "least"),
    ("some", "first_value"),
    ("startswith", "starts_with"),
    ("math::abs", "abs"),
    ("math::acos", "acos"),
    ("math::asin", "asin"),
    ("math::atan", "atan"),
    ("math::atan2", "atan2"),
    ("math::cbrt", "cbrt"),
    ("math::ceil", "ceil"),
    ("math::cos", "cos"),
    ("math::cosh", "cosh"),
    ("math::exp", "exp"),
    ("math::fabs", "abs"),
    ("math::floor", "floor"),
    ("math::isnan", "isnan"),
    ("math::log", "ln"),
    ("math::log10", "log10"),
    ("math::log2", "log2"),
    ("math::pi", "pi"),
    ("math::pow", "power"),
    ("math::sin", "sin"),
    ("math::sinh", "sinh"),
    ("math::sqrt", "sqrt"),
    ("math::tan", "tan"),
    ("math::tanh", "tanh"),
    ("math::trunc", "trunc"),
    ("string::asciitolower", "lower"),
    ("string::asciitoupper", "upper"),
    ("string::contains", "contains"),
    ("string::endswith", "ends_with"),
    ("string::hasprefix", "starts_with"),
    ("string::hassuffix", "ends_with"),
    ("string::levensteindistance", "levenshtein"),
    ("string::replaceall", "replace"),
    ("string::reverse", "reverse"),
    ("string::startswith", "starts_with"),
    ("string::strip", "btrim"),
    ("unicode::getlength", "character_length"),
    ("unicode::replaceall", "replace"),
    ("unicode::reverse", "reverse"),
    ("unicode::strip", "btrim"),
    ("unicode::tolower", "lower"),
    ("unicode::toupper", "upper"),
];

/// Gives the calls of a query the names that DataFusion knows.
pub(super) fn rewrite(query: &mut ast::Query) {
    // Nothing in it breaks off.
    let _ = syntax::deep(|| ast::VisitMut::visit(query, &mut Calls));
}

/// The error with the function's name as the query has it.
pub(super) fn as_typed(error: Error, query: &ast::Query) -> Error {
    let Error::NoSuchFunction { name } = error else {
        return error;
    };
    let mut found = Find { name, typed: None };
    let _ = ast::Visit::visit(query, &mut found);
    Error::NoSuchFunction {
        name: found.typed.unwrap_or(found.name),
    }
}

struct Calls;

impl ast::VisitorMut for Calls {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        let changed = match expr {
            ast::Expr::BinaryOp { left, op, right } => operator(left, op, right),
            ast::Expr::RLike {
                negated,
                expr,
                pattern,
                ..
            } => {
                let op = match negated {
                    true => ast::BinaryOperator::PGRegexNotMatch,
                    false => ast::BinaryOperator::PGRegexMatch,
                };
                Some(ast::Expr::BinaryOp {
                    left: expr.clone(),
                    op,
                    right: pattern.clone(),
                })
            }
            ast::Expr::Cast {
                expr, data_type, ..
            } => match syntax::cast_type(data_type) {
                Some(Type::Uuid) => Some(call("yql::touuid", [expr.as_ref().clone()])),
                Some(Type::Interval) => Some(call("yql::tointerval", [expr.as_ref().clone()])),
                _ => None,
            },
            ast::Expr::Function(function) => named(function),
            ast::Expr::Like {
                pattern,
                escape_char,
                ..
            }
            | ast::Expr::ILike {
                pattern,
                escape_char,
                ..
            } => {
                escape(pattern, escape_char);
                None
            }
            _ => None,
        };
        if let Some(changed) = changed {
            *expr = changed;
        }
        ControlFlow::Continue(())
    }
}

/// A pattern whose escapes are backslashes, which is all that DataFusion reads.
fn escape(pattern: &mut ast::Expr, escape_char: &mut Option<ast::ValueWithSpan>) {
    let Some(ast::Value::SingleQuotedString(written)) = escape_char.as_ref().map(|one| &one.value)
    else {
        return;
    };
    let mut marks = written.chars();
    let (Some(mark), None) = (marks.next(), marks.next()) else {
        return;
    };
    let Some((None, text)) = syntax::literal_text(pattern) else {
        return;
    };
    let mut escaped = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char == mark {
            escaped.push('\\');
            escaped.extend(chars.next());
        } else if char == '\\' {
            escaped.push_str("\\\\");
        } else {
            escaped.push(char);
        }
    }
    *pattern = build::value(ast::Value::SingleQuotedString(escaped));
    *escape_char = None;
}

fn operator(left: &ast::Expr, op: &ast::BinaryOperator, right: &ast::Expr) -> Option<ast::Expr> {
    match op {
        ast::BinaryOperator::Custom(sign) if sign == "??" => {
            Some(call("coalesce", [left.clone(), right.clone()]))
        }
        _ => None,
    }
}

/// A call as what DataFusion knows, if it does not know it as it is.
fn named(function: &mut ast::Function) -> Option<ast::Expr> {
    let name = call_name(function)?.to_lowercase();
    if let Some((_, twin)) = TWINS.iter().find(|(yql, _)| *yql == name) {
        function.name = object(twin);
        return None;
    }
    let changed = form(&name, &arguments(function)?)?;
    // What the call said besides its arguments stays with it.
    Some(match changed {
        ast::Expr::Function(mut new) => {
            new.filter.clone_from(&function.filter);
            new.over.clone_from(&function.over);
            ast::Expr::Function(new)
        }
        other => other,
    })
}

/// YQL's functions that SQL has a form for.
fn form(name: &str, arguments: &[ast::Expr]) -> Option<ast::Expr> {
    let one = || build::value(ast::Value::Number("1".to_owned(), false));
    match (name, arguments) {
        ("if", [when, then]) => Some(choice(when, then.clone(), None)),
        ("if", [when, then, other]) => Some(choice(when, then.clone(), Some(other.clone()))),
        ("just", [value]) => Some(ast::Expr::Nested(Box::new(value.clone()))),
        ("countif" | "count_if", [when]) => Some(call("count", [choice(when, one(), None)])),
        ("sumif" | "sum_if", [value, when]) => {
            Some(call("sum", [choice(when, value.clone(), None)]))
        }
        ("avgif" | "avg_if", [value, when]) => {
            Some(call("avg", [choice(when, value.clone(), None)]))
        }
        ("minby" | "min_by", [value, by]) => Some(first_by(value, by, true)),
        ("maxby" | "max_by", [value, by]) => Some(first_by(value, by, false)),
        ("random" | "randomnumber", [_, ..]) => Some(call("random", [])),
        ("randomuuid", _) => Some(call("yql::touuid", [call("uuid", [])])),
        ("currentutctimestamp", [_, ..]) => Some(call("now", [])),
        ("currentutcdate", [_, ..]) => Some(call("current_date", [])),
        ("currentutcdatetime", _) => Some(build::cast(call("now", []), Type::Datetime)),
        ("tobytes", [value]) => Some(build::cast(value.clone(), Type::String)),
        ("math::e", []) => Some(call("exp", [one()])),
        ("math::round", [value]) => Some(call("round", [value.clone()])),
        // YQL's precision is a power of ten, SQL's a number of digits.
        ("math::round", [value, power]) => {
            let digits = ast::Expr::UnaryOp {
                op: ast::UnaryOperator::Minus,
                expr: Box::new(ast::Expr::Nested(Box::new(power.clone()))),
            };
            Some(call("round", [value.clone(), digits]))
        }
        _ => None,
    }
}

fn choice(when: &ast::Expr, then: ast::Expr, other: Option<ast::Expr>) -> ast::Expr {
    ast::Expr::Case {
        case_token: ast::helpers::attached_token::AttachedToken::empty(),
        end_token: ast::helpers::attached_token::AttachedToken::empty(),
        operand: None,
        conditions: vec![ast::CaseWhen {
            condition: when.clone(),
            result: then,
        }],
        else_result: other.map(Box::new),
    }
}

/// The value of the row that comes first by another: `first_value(value ORDER BY by)`.
fn first_by(value: &ast::Expr, by: &ast::Expr, least: bool) -> ast::Expr {
    let mut first = call("first_value", [value.clone()]);
    if let ast::Expr::Function(function) = &mut first
        && let ast::FunctionArguments::List(list) = &mut function.args
    {
        let order = ast::OrderByExpr {
            expr: by.clone(),
            options: ast::OrderByOptions {
                asc: Some(least),
                nulls_first: Some(false),
            },
            with_fill: None,
        };
        list.clauses
            .push(ast::FunctionArgumentClause::OrderBy(vec![order]));
    }
    first
}

fn call(name: &str, arguments: impl IntoIterator<Item = ast::Expr>) -> ast::Expr {
    let argument = |expr| ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr));
    ast::Expr::Function(ast::Function {
        name: object(name),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.into_iter().map(argument).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

fn object(name: &str) -> ast::ObjectName {
    ast::ObjectName::from(vec![ast::Ident::new(name)])
}

fn call_name(function: &ast::Function) -> Option<&str> {
    match function.name.0.as_slice() {
        [ast::ObjectNamePart::Identifier(name)] => Some(&name.value),
        _ => None,
    }
}

/// The arguments of a call that has nothing but plain ones.
fn arguments(function: &ast::Function) -> Option<Vec<ast::Expr>> {
    match &function.args {
        ast::FunctionArguments::List(list)
            if list.clauses.is_empty() && list.duplicate_treatment.is_none() =>
        {
            let plain = |argument: &ast::FunctionArg| match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                _ => None,
            };
            list.args.iter().map(plain).collect()
        }
        _ => None,
    }
}

/// Finds how a function's name was typed.
struct Find {
    name: String,
    typed: Option<String>,
}

impl ast::Visitor for Find {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::Function(function) = expr
            && let Some(name) = call_name(function)
            && name.eq_ignore_ascii_case(&self.name)
        {
            self.typed = Some(name.to_owned());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
