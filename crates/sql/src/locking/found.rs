//! The queries of a statement that lock rows, found in one walk, with what stands around each.

use std::ops::ControlFlow;

use syntax::{Kind, ast};

use super::correlated::Frame;

/// A query that locks rows.
pub(super) struct Found {
    pub(super) query: ast::Query,
    /// What stands around it.
    pub(super) frame: Frame,
    /// Whether anything around it has a limit.
    pub(super) limited: bool,
}

/// Which queries are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sought {
    /// What their locks are like.
    pub(super) locks: fn(&ast::Query) -> bool,
    /// Whether the statement itself may be one.
    pub(super) whole: bool,
}

/// The queries of a statement, which lock nothing from then on.
pub(super) fn unlocked(kind: &mut Kind, sought: Sought) -> Vec<Found> {
    let mut finds = Finds {
        locks: sought.locks,
        passes: !sought.whole && matches!(kind, Kind::Query(_)),
        frames: vec![Frame::of_statement(kind)],
        found: Vec::new(),
    };
    let _ = syntax::deep(|| crate::named::visit(kind, &mut finds));
    finds.found
}

struct Finds {
    locks: fn(&ast::Query) -> bool,
    /// Whether the next query is the statement itself, which stays as it is.
    passes: bool,
    frames: Vec<Frame>,
    found: Vec<Found>,
}

impl ast::VisitorMut for Finds {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        let passes = std::mem::take(&mut self.passes);
        if !passes && (self.locks)(query) {
            self.found.push(Found {
                query: query.clone(),
                frame: self.frames.last().cloned().unwrap_or_default(),
                limited: self.frames.iter().any(|frame| frame.limited),
            });
            query.locks.clear();
        }
        self.frames.push(Frame::of_query(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut ast::Query) -> ControlFlow<()> {
        self.frames.pop();
        ControlFlow::Continue(())
    }
}
