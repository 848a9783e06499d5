//! Parts of queries, and of statements that find rows as queries do, that more than one reader of them
//! looks for.

use syntax::ast::{self, Expr, JoinOperator as J};

/// Parts of one condition that are looked at.
pub(crate) const CONDITIONS_MAX: usize = 256;

/// The table that an UPDATE changes, and those that it reads besides.
pub(crate) fn of_update(update: &ast::Update) -> [&[ast::TableWithJoins]; 2] {
    let from = match &update.from {
        Some(
            ast::UpdateTableFromKind::BeforeSet(from) | ast::UpdateTableFromKind::AfterSet(from),
        ) => from.as_slice(),
        None => &[],
    };
    [std::slice::from_ref(&update.table), from]
}

/// The same of a DELETE.
pub(crate) fn of_delete(delete: &ast::Delete) -> [&[ast::TableWithJoins]; 2] {
    let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
        &delete.from;
    [from, delete.using.as_deref().unwrap_or_default()]
}

/// The condition of a join.
pub(crate) fn constraint(operator: &ast::JoinOperator) -> Option<&ast::JoinConstraint> {
    match operator {
        J::FullOuter(on) | J::Anti(on) | J::LeftAnti(on) | J::RightAnti(on) => Some(on),
        other => narrowing(other),
    }
}

/// The condition of a join whose rows all meet it, or lack one side.
pub(crate) fn narrowing(operator: &ast::JoinOperator) -> Option<&ast::JoinConstraint> {
    match operator {
        J::Join(on)
        | J::Inner(on)
        | J::Left(on)
        | J::LeftOuter(on)
        | J::Right(on)
        | J::RightOuter(on)
        | J::Semi(on)
        | J::LeftSemi(on)
        | J::RightSemi(on) => Some(on),
        _ => None,
    }
}

/// The queries that stand in an expression.
pub(crate) fn queries_in(expression: &Expr) -> Vec<&ast::Query> {
    let mut queries = Vec::new();
    let mut open = vec![expression];
    let mut left = CONDITIONS_MAX;
    while let Some(expr) = open.pop() {
        left = left.saturating_sub(1);
        if left == 0 {
            break;
        }
        match expr {
            Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => open.push(inner),
            Expr::BinaryOp { left, right, .. } => open.extend([&**right, &**left]),
            Expr::InSubquery { subquery, .. } | Expr::Exists { subquery, .. } => {
                queries.push(&**subquery);
            }
            Expr::Subquery(subquery) => queries.push(subquery),
            _ => {}
        }
    }
    queries
}
