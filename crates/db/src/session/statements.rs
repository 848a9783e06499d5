//! PREPARE, EXECUTE and DEALLOCATE: statements that are kept by name, in SQL's own words.
//!
//! Protocols have prepared statements of their own. DEALLOCATE is meant for both kinds, so a front
//! end asks afterwards which names were given.

use keys::{Type, Value};
use sql::Prepared;
use syntax::ast;
use syntax::{cast_type, literal, literal_text};

use super::{Reply, Session, SessionError, done};
use crate::{Error, Result};

/// Statements that one session may keep by name.
const NAMED_MAX: usize = 10_000;

/// Bytes of their texts.
const NAMED_BYTES_MAX: usize = 64 << 20;

/// A statement that is kept by name.
#[derive(Debug)]
pub(super) struct Named {
    prepared: Prepared,
    /// How long its text is.
    bytes: usize,
}

impl Session {
    /// The statement that an EXECUTE names; `None` if the statement is another.
    pub(super) fn named(&self, statement: &ast::Statement) -> Result<Option<&Prepared>> {
        let ast::Statement::Execute {
            name: Some(name),
            immediate: false,
            ..
        } = statement
        else {
            return Ok(None);
        };
        let name = name.0.last().and_then(|part| part.as_ident());
        let name = name.map(folded).unwrap_or_default();
        match self.named.get(&name) {
            Some(named) => Ok(Some(&named.prepared)),
            None => Err(SessionError::NoStatement { name }.into()),
        }
    }

    /// What an EXECUTE runs, and with which values; `None` if the statement is another or fails.
    pub(super) fn executed(&self, statement: &ast::Statement) -> Option<(Prepared, Vec<Value>)> {
        let prepared = self.named(statement).ok()??;
        let ast::Statement::Execute { parameters, .. } = statement else {
            return None;
        };
        let values = values(parameters, prepared.parameters()).ok()?;
        Some((prepared.clone(), values))
    }

    /// Runs PREPARE, EXECUTE or DEALLOCATE; `None` if the statement is another.
    pub(super) async fn by_name(&mut self, statement: &ast::Statement) -> Result<Option<Reply>> {
        match statement {
            ast::Statement::Prepare {
                name,
                data_types,
                statement,
            } => {
                let name = folded(name);
                if self.named.contains_key(&name) {
                    return Err(SessionError::StatementExists { name }.into());
                }
                if self.named.len() >= NAMED_MAX {
                    return Err(SessionError::TooManyStatements { limit: NAMED_MAX }.into());
                }
                let hints: Vec<_> = data_types.iter().map(cast_type).collect();
                let text = statement.to_string();
                let bytes = text.len();
                let held: usize = self.named.values().map(|one| one.bytes).sum();
                if held + bytes > NAMED_BYTES_MAX {
                    let limit = NAMED_BYTES_MAX;
                    return Err(SessionError::StatementsTooLong { limit }.into());
                }
                let parsed = self.parse(&text)?.into_iter().next();
                let parsed = parsed.ok_or(SessionError::NoStatement { name: name.clone() })?;
                let prepared = Box::pin(self.prepare(parsed, &hints)).await?;
                self.named.insert(name, Named { prepared, bytes });
                done("PREPARE").map(Some)
            }
            ast::Statement::Execute { parameters, .. } => {
                let Some(prepared) = self.named(statement)?.cloned() else {
                    return Ok(None);
                };
                let values = values(parameters, prepared.parameters())?;
                let reply = Box::pin(self.dispatch(&prepared, &values)).await?;
                Ok(Some(reply))
            }
            ast::Statement::Deallocate { name, .. } => {
                if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all") {
                    self.named.clear();
                    return done("DEALLOCATE ALL").map(Some);
                }
                let name = folded(name);
                if self.named.remove(&name).is_none() {
                    self.deallocated.push(name);
                }
                done("DEALLOCATE").map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Names that DEALLOCATE was given since the last call and that are none of PREPARE's.
    pub fn take_deallocated(&mut self) -> Vec<String> {
        std::mem::take(&mut self.deallocated)
    }
}

/// The values of an EXECUTE, which are literals.
fn values(given: &[ast::Expr], wanted: &[Type]) -> Result<Vec<Value>> {
    if given.len() != wanted.len() {
        let (expected, given) = (wanted.len(), given.len());
        return Err(SessionError::ParameterCount { expected, given }.into());
    }
    let value = |(expr, wanted): (&ast::Expr, &Type)| -> Result<Value> {
        if matches!(expr, ast::Expr::Value(value) if value.value == ast::Value::Null) {
            return Ok(Value::Null);
        }
        let unsupported = || sql::Error::Unsupported {
            what: "an expression as parameter of EXECUTE".to_owned(),
        };
        let (stated, text) = literal_text(expr).ok_or_else(unsupported)?;
        let value = match literal(expr) {
            // One with a type is as long and as fine as that says.
            Some(value) => value,
            None => Value::parse(stated.unwrap_or(*wanted), &text).map_err(Error::from)?,
        };
        Ok(sql::cast(value, *wanted)?)
    };
    given.iter().zip(wanted).map(value).collect()
}

/// A name without quotes means its lower-case spelling.
fn folded(name: &ast::Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}
