//! Advisory locks in a query: `SELECT pg_advisory_lock(7)` and its kin.
//!
//! A query cannot wait half way, so it is run without the calls and with what they are about behind its
//! other columns; then they are made, row by row:
//!
//! ```text
//!   SELECT name, pg_try_advisory_lock(id) AS mine FROM jobs ORDER BY 1
//!   first   SELECT name, NULL, CAST(id AS Int64) FROM jobs ORDER BY 1
//!   then    mine of each row
//! ```
//!
//! That works for columns of the outermost SELECT; anywhere else the functions are refused.

use std::sync::Arc;

use keys::{Type, Value};
use syntax::{Kind, Statement, ast};
use txn::{Lock, LockMode, LockName, LockUntil, Reader};

use crate::named::build;
use crate::names::tree_name;
use crate::query::ResultColumn;
use crate::system::{arguments, last_name};
use crate::{Error, Executor, Fault, Prepared, Result};

/// A query with calls that lock and unlock.
#[derive(Debug)]
pub struct AdvisoryPlan {
    /// The query with what the calls are about, behind its own columns.
    bare: Prepared,
    columns: Arc<[ResultColumn]>,
    calls: Vec<Call>,
}

/// What a function does with a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockCall {
    /// Waits for it.
    Take(LockUntil),
    /// Takes it, or answers that it could not.
    Try(LockUntil),
    /// Gives it back.
    Unlock,
    /// Gives all back.
    UnlockAll,
}

/// One call.
#[derive(Debug)]
struct Call {
    function: String,
    /// Its column among those of the query.
    place: usize,
    what: LockCall,
    mode: LockMode,
    /// The first column with what it is about, and how many there are.
    about: (usize, usize),
}

/// What to do with which lock, and where the answer goes.
#[derive(Clone, Copy, Debug)]
pub struct Locked {
    /// The column of the answer.
    pub place: usize,
    /// What to do.
    pub what: LockCall,
    /// With which lock; none if a call is about NULL, which does nothing.
    pub lock: Option<Lock>,
}

/// What a function of this name does, and in which mode.
fn function(name: &str) -> Option<(LockCall, LockMode)> {
    use LockUntil::{TransactionEnd, Unlocked};
    let (plain, mode) = match name.strip_suffix("_shared") {
        Some(plain) => (plain, LockMode::Shared),
        None => (name, LockMode::Exclusive),
    };
    let what = match plain {
        "pg_advisory_lock" => LockCall::Take(Unlocked),
        "pg_advisory_xact_lock" => LockCall::Take(TransactionEnd),
        "pg_try_advisory_lock" => LockCall::Try(Unlocked),
        "pg_try_advisory_xact_lock" => LockCall::Try(TransactionEnd),
        "pg_advisory_unlock" => LockCall::Unlock,
        "pg_advisory_unlock_all" if mode == LockMode::Exclusive => LockCall::UnlockAll,
        _ => return None,
    };
    Some((what, mode))
}

/// Says what a function can do that was not found where it cannot do it.
pub(crate) fn misplaced(error: Error) -> Error {
    match error {
        Error::NoSuchFunction { name } if function(&name.to_lowercase()).is_some() => {
            only_outermost(&name)
        }
        other => other,
    }
}

fn only_outermost(name: &str) -> Error {
    Error::Unsupported {
        what: format!("{name}() anywhere but as a column of the outermost SELECT"),
    }
}

impl AdvisoryPlan {
    /// The plan of a statement, if it has such calls.
    pub(crate) async fn new(
        executor: &Executor,
        statement: &Statement,
        reader: &Reader,
        hints: &[Option<Type>],
    ) -> Result<Option<Self>> {
        let mut bare = statement.clone();
        let Some((mut calls, names)) = taken_out(&mut bare)? else {
            return Ok(None);
        };
        let bare = Box::pin(executor.prepare(Arc::new(bare), reader.clone(), hints)).await?;
        let all = bare.columns().map_or(&[][..], |columns| columns.as_ref());
        let about: usize = calls.iter().map(|call| call.about.1).sum();
        let shown = all.len().saturating_sub(about);
        let mut columns: Vec<ResultColumn> = all.iter().take(shown).cloned().collect();
        for (call, name) in calls.iter_mut().zip(names) {
            call.about.0 += shown;
            let kind = match call.what {
                LockCall::Take(_) | LockCall::UnlockAll => Type::Utf8,
                LockCall::Try(_) | LockCall::Unlock => Type::Bool,
            };
            if let Some(column) = columns.get_mut(call.place) {
                *column = ResultColumn::new(&name, kind);
            }
        }
        Ok(Some(Self {
            bare,
            columns: columns.into(),
            calls,
        }))
    }

    /// That it cannot be run where nobody has locks: in a cursor, in COPY.
    pub(crate) fn refusal(&self) -> Error {
        let first = self.calls.first();
        only_outermost(first.map_or("", |call| call.function.as_str()))
    }

    /// The query without the calls.
    pub fn bare(&self) -> &Prepared {
        &self.bare
    }

    /// What its rows look like.
    pub fn columns(&self) -> &Arc<[ResultColumn]> {
        &self.columns
    }

    /// What is to be done for a row of that query, which is left with the columns that were asked for.
    pub fn calls(&self, row: &mut Vec<Value>) -> Vec<Locked> {
        let mut locked = Vec::with_capacity(self.calls.len());
        for call in &self.calls {
            let (first, count) = call.about;
            let about = row.get(first..first + count).unwrap_or_default();
            let name = match about {
                [Value::Int64(name)] => Some(LockName::One(*name)),
                [Value::Int32(first), Value::Int32(second)] => Some(LockName::Two(*first, *second)),
                _ => None,
            };
            locked.push(Locked {
                place: call.place,
                what: call.what,
                lock: name.map(|name| Lock {
                    name,
                    mode: call.mode,
                }),
            });
        }
        row.truncate(self.columns.len());
        locked
    }
}

/// Takes the calls out of a query: NULL stands in their places, what they are about behind all columns.
fn taken_out(statement: &mut Statement) -> Result<Option<(Vec<Call>, Vec<String>)>> {
    let Kind::Query(asked) = &mut statement.kind else {
        return Ok(None);
    };
    let ast::SetExpr::Select(select) = asked.query.body.as_mut() else {
        return Ok(None);
    };
    let (mut calls, mut names, mut behind) = (Vec::new(), Vec::new(), Vec::new());
    for (place, item) in select.projection.iter_mut().enumerate() {
        let (ast::SelectItem::UnnamedExpr(ast::Expr::Function(call))
        | ast::SelectItem::ExprWithAlias {
            expr: ast::Expr::Function(call),
            ..
        }) = item
        else {
            continue;
        };
        let Some(name) = last_name(&call.name) else {
            continue;
        };
        let Some((what, mode)) = function(&name) else {
            continue;
        };
        let about = arguments(call);
        let kind = match (what, about.len()) {
            (LockCall::UnlockAll, 0) | (_, 1) => Type::Int64,
            (_, 2) => Type::Int32,
            (_, count) => {
                let name = format!("{name} of {count} arguments");
                return Err(Error::NoSuchFunction { name });
            }
        };
        calls.push(Call {
            function: name.clone(),
            place,
            what,
            mode,
            about: (behind.len(), about.len()),
        });
        behind.extend(about.into_iter().map(|expr| build::cast(expr, kind)));
        let null = build::cast(build::value(ast::Value::Null), Type::Utf8);
        names.push(match item {
            ast::SelectItem::ExprWithAlias { alias, .. } => tree_name(alias),
            _ => name,
        });
        *item = ast::SelectItem::ExprWithAlias {
            expr: null,
            alias: build::quoted(&format!("call {place}")),
        };
    }
    if calls.is_empty() {
        return Ok(None);
    }
    use ast::SelectItem::{QualifiedWildcard, Wildcard};
    let mut items = select.projection.iter();
    if items.any(|item| matches!(item, Wildcard(_) | QualifiedWildcard(..))) {
        let names = calls.iter().map(|call| format!("{}()", call.function));
        let names: Vec<String> = names.collect();
        return Err(Error::Refused {
            fault: Fault::Feature,
            what: format!("{} beside *: name the columns instead", names.join(", ")),
        });
    }
    let behind = behind.into_iter().enumerate();
    let behind = behind.map(|(number, expr)| ast::SelectItem::ExprWithAlias {
        expr,
        alias: build::quoted(&format!("lock {number}")),
    });
    select.projection.extend(behind);
    asked.discard = false;
    Ok(Some((calls, names)))
}
