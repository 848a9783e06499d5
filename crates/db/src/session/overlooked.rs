//! Statements that have nothing to do here, and that clients send all the same.
//!
//! ```text
//!   VACUUM [t]                          old versions of rows are collected in the background, always
//!   ANALYZE [t]                         plans are made from keys and partitions, not from statistics
//!   LISTEN, NOTIFY, UNLISTEN            nobody is told of anything
//!   SET ROLE NONE, SET SESSION AUTHORIZATION DEFAULT     there is one role
//! ```
//!
//! They are answered with PostgreSQL's tag. What would be a mistake there is one here: a table that does not
//! exist, or VACUUM inside of a transaction.

use syntax::ast::{self, SetSessionAuthorizationParamKind, Statement};
use syntax::statement::Vacuum;

use super::{Reply, Session, SessionError, done};
use crate::Result;

impl Session {
    /// VACUUM and ANALYZE.
    pub(super) fn vacuum(&self, vacuum: &Vacuum) -> Result<Reply> {
        let inside = self.transaction.as_ref().is_some_and(|open| !open.block);
        if vacuum.vacuum && inside {
            return Err(SessionError::Vacuum.into());
        }
        for name in &vacuum.names {
            self.executor.check_relation(name)?;
        }
        done(if vacuum.vacuum { "VACUUM" } else { "ANALYZE" })
    }
}

/// The command of such a statement, if it is one that says no more.
pub(super) fn overlooked(statement: &Statement) -> Option<&'static str> {
    Some(match statement {
        Statement::LISTEN { .. } => "LISTEN",
        Statement::UNLISTEN { .. } => "UNLISTEN",
        Statement::NOTIFY { .. } => "NOTIFY",
        Statement::Set(ast::Set::SetRole {
            role_name: None, ..
        }) => "SET",
        Statement::Set(ast::Set::SetSessionAuthorization(of))
            if matches!(of.kind, SetSessionAuthorizationParamKind::Default) =>
        {
            "SET"
        }
        _ => return None,
    })
}
