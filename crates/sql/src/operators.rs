//! `a OPERATOR(pg_catalog.=) b` as `a = b`, once the tree says how strongly it binds.

use std::ops::ControlFlow;

use syntax::Statement;
use syntax::ast::{BinaryOperator, Expr, VisitorMut};

/// Makes the operators of statements plain, if their text spells any out.
pub(crate) fn plain(text: &str, statements: &mut [Statement]) {
    const WORD: &str = "operator";
    let mut windows = text.as_bytes().windows(WORD.len());
    if windows.any(|part| part.eq_ignore_ascii_case(WORD.as_bytes())) {
        for statement in statements {
            let _ = syntax::deep(|| crate::named::visit(&mut statement.kind, &mut Plain));
        }
    }
}

struct Plain;

impl VisitorMut for Plain {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::BinaryOp { op, .. }
        | Expr::AnyOp { compare_op: op, .. }
        | Expr::AllOp { compare_op: op, .. } = expr
            && let BinaryOperator::PGCustomBinaryOperator(parts) = op
            && let Some(plain) = parts.last().and_then(|sign| operator(sign))
        {
            *op = plain;
        }
        ControlFlow::Continue(())
    }
}

fn operator(sign: &str) -> Option<BinaryOperator> {
    Some(match sign {
        "=" => BinaryOperator::Eq,
        "<>" | "!=" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "%" => BinaryOperator::Modulo,
        "||" => BinaryOperator::StringConcat,
        "~" => BinaryOperator::PGRegexMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "~~*" => BinaryOperator::PGILikeMatch,
        "!~~*" => BinaryOperator::PGNotILikeMatch,
        _ => return None,
    })
}
