//! How large a tree is.

use std::ops::ControlFlow;

use syntax::ast;

/// The size of an expression.
#[derive(Default)]
pub(super) struct Size {
    /// Expressions in it, itself included.
    pub(super) expressions: usize,
    /// The levels of the deepest.
    pub(super) depth_max: usize,
    depth: usize,
}

impl Size {
    pub(super) fn of(expr: &ast::Expr) -> Self {
        let mut size = Self::default();
        // Nothing in it breaks off.
        let _: ControlFlow<()> = ast::Visit::visit(expr, &mut size);
        size
    }
}

impl ast::Visitor for Size {
    type Break = ();

    fn pre_visit_expr(&mut self, _: &ast::Expr) -> ControlFlow<()> {
        self.expressions += 1;
        self.depth += 1;
        self.depth_max = self.depth_max.max(self.depth);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &ast::Expr) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}
