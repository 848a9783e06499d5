//! What a front end has to know of a statement besides running it.

use syntax::Statement;
use syntax::statement::{Kind as Asks, Motion};

use crate::session::folded;

/// What a statement asks of a cursor that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorAsk {
    /// The cursor, which may be something that only a front end knows.
    pub name: String,
    /// What becomes of it.
    pub motion: CursorMotion,
}

/// Where a cursor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorMotion {
    /// FETCH, forward over that many rows; `None` is any other way.
    Fetch(Option<u64>),
    /// MOVE, the same without rows to answer.
    Move(Option<u64>),
    /// CLOSE.
    Close,
}

/// What a statement asks of a cursor: FETCH, MOVE and CLOSE with a name.
pub fn cursor_ask(statement: &Statement) -> Option<CursorAsk> {
    let (name, motion) = match &statement.kind {
        Asks::Fetch(fetch) => {
            let rows = match fetch.motion {
                Motion::By(rows) => u64::try_from(rows).ok(),
                Motion::Jump(_) | Motion::To(_) => None,
            };
            let motion = match fetch.quiet {
                true => CursorMotion::Move(rows),
                false => CursorMotion::Fetch(rows),
            };
            (&fetch.name, motion)
        }
        Asks::CloseCursor(Some(name)) => (name, CursorMotion::Close),
        _ => return None,
    };
    Some(CursorAsk {
        name: folded(name),
        motion,
    })
}
