//! YQL's named things: parameters, definitions and the prefix of table names.
//!
//! In YQL a text is a little program. `DECLARE` names a parameter, `$name = …` names an expression or
//! a query, `PRAGMA TablePathPrefix` says where tables are, and all of it holds for the statements
//! that follow in the same text. Nothing below this file knows of that: names are resolved here, on
//! the trees, before a statement is prepared, and what is left is what PostgreSQL would have.
//!
//! ```text
//!   PRAGMA TablePathPrefix("/shop");
//!   DECLARE $id AS Uint64;                        parameter 1 of every statement
//!   $paid = (SELECT id FROM orders WHERE paid);
//!   SELECT * FROM $paid WHERE id = $id            SELECT * FROM (SELECT id FROM `/shop/orders`
//!                                                                WHERE paid) WHERE id = $1
//! ```
//!
//! The three kinds of statements vanish from the text, so a client of PostgreSQL's extended protocol
//! can prepare declarations and one statement together: it is one statement.
//!
//! A parameter that is a list cannot be a value of a column, and PostgreSQL's protocol knows no list
//! of rows. It travels as text, and takes its place in the tree when values are bound ([`lists`]):
//!
//! ```text
//!   $1 = '[1, 2]'     id IN $ids            id IN (CAST($2 AS Uint64), CAST($3 AS Uint64))
//!   $1 = '[{"id":7}]' FROM AS_TABLE($rows)  FROM (VALUES (CAST($2 AS Uint64))) AS as_table (id)
//! ```
//!
//! Deliberately absent: lambdas, actions and everything else of YQL that computes with statements.

pub(crate) mod build;
mod lists;
mod rows;
mod size;
mod tables;
mod trees;

use std::collections::BTreeMap;
use std::sync::Arc;

use keys::{Type, Value};
use syntax::statement::{Declare, ParameterType, Pragma};
use syntax::{Kind, Statement, ast};
use txn::Reader;

use crate::{Error, Executor, Prepared, Result};
use lists::List;
use size::Size;
pub(crate) use trees::visit;

/// Definitions that one text may hold.
const DEFINITIONS_MAX: usize = 1_000;
/// Levels of expressions in one definition, those of the names it uses included.
const DEPTH_MAX: usize = 512;
/// Expressions that definitions may add to a text: they can double with each that uses another twice.
const EXPRESSIONS_MAX: usize = 100_000;
/// Parameters that one text may declare.
const PARAMETERS_MAX: usize = 1_000;

/// Statements without names, and what to tell the client.
#[derive(Debug)]
pub struct Resolved {
    /// The statements that are left.
    pub statements: Vec<Statement>,
    /// What was read and changes nothing.
    pub notices: Vec<String>,
}

/// Resolves the names of a text in its statements.
pub fn resolve(text: &str, mut statements: Vec<Statement>) -> Result<Resolved> {
    crate::operators::plain(text, &mut statements);
    let mut resolved = Resolved {
        statements: Vec::with_capacity(statements.len()),
        notices: Vec::new(),
    };
    if may_name(text, &statements) {
        return syntax::deep(|| resolve_all(statements, resolved));
    }
    resolved.statements = statements;
    for statement in &mut resolved.statements {
        if let Kind::Insert(insert) = &mut statement.kind {
            trees::name_columns(insert, &Names::default());
        }
    }
    Ok(resolved)
}

fn resolve_all(statements: Vec<Statement>, mut resolved: Resolved) -> Result<Resolved> {
    let mut names = Names::default();
    let mut users = Vec::new();
    for mut statement in statements {
        match statement.kind {
            Kind::Declare(declare) => names.declare(declare)?,
            Kind::Define(define) => names.define(define.name.value, *define.value)?,
            Kind::Pragma(pragma) => names.pragma(&pragma, &mut resolved.notices),
            _ => {
                users.push(trees::resolve(&mut statement.kind, &mut names)?);
                resolved.statements.push(statement);
            }
        }
    }
    names.check_numbers()?;
    // A client binds all that is declared to the only statement, whether that uses it or not.
    let alone = resolved.statements.len() == 1;
    for (statement, uses) in resolved.statements.iter_mut().zip(users) {
        if uses || alone {
            statement.declared.clone_from(&names.declared);
        }
    }
    Ok(resolved)
}

/// Whether there can be anything to resolve: most texts have no names and are not looked through.
fn may_name(text: &str, statements: &[Statement]) -> bool {
    let speaks = |statement: &Statement| {
        matches!(
            statement.kind,
            Kind::Declare(_) | Kind::Define(_) | Kind::Pragma(_)
        )
    };
    let bytes = text.as_bytes();
    let named = |pair: &[u8]| matches!(pair, [b'$', next] if !next.is_ascii_digit());
    statements.iter().any(speaks)
        || bytes.windows(2).any(named)
        || bytes
            .windows(AS_TABLE.len())
            .any(|word| word.eq_ignore_ascii_case(AS_TABLE.as_bytes()))
}

/// The function that makes rows of a list.
const AS_TABLE: &str = "as_table";

/// What a name stands for, and how many expressions that is.
struct Defined {
    value: ast::Expr,
    size: usize,
}

/// What a text has named so far.
#[derive(Default)]
struct Names {
    declared: Vec<Declare>,
    defined: BTreeMap<String, Defined>,
    /// Expressions that were put in the places of names.
    put: usize,
    prefix: Option<String>,
    /// A parameter with a number that was seen, and one with a name.
    numbered: Option<String>,
    named: Option<String>,
}

impl Names {
    fn declare(&mut self, declare: Declare) -> Result<()> {
        let name = &declare.name.value;
        let refused = |reason: &str| Error::Name {
            name: name.clone(),
            reason: reason.to_owned(),
        };
        if self.declared.iter().any(|known| known.name.value == *name) {
            return Err(refused("it is declared twice"));
        }
        if self.defined.contains_key(name) {
            return Err(refused("it is defined already, so it is no parameter"));
        }
        if self.declared.len() >= PARAMETERS_MAX {
            return Err(refused(&format!(
                "a text declares at most {PARAMETERS_MAX} parameters"
            )));
        }
        check_kind(name, &declare.kind)?;
        self.named.get_or_insert_with(|| name.clone());
        self.declared.push(declare);
        Ok(())
    }

    fn define(&mut self, name: String, value: ast::Expr) -> Result<()> {
        let refused = |reason: &str| Error::Name {
            name: name.clone(),
            reason: reason.to_owned(),
        };
        if self.declared.iter().any(|known| known.name.value == name) {
            return Err(refused(
                "it is a parameter, which cannot be defined as well",
            ));
        }
        if self.defined.len() >= DEFINITIONS_MAX {
            return Err(refused(&format!(
                "a text defines at most {DEFINITIONS_MAX} names"
            )));
        }
        let value = trees::resolve_definition(value, self)?;
        let size = Size::of(&value);
        if size.depth_max > DEPTH_MAX {
            return Err(refused("it is nested too deeply"));
        }
        let size = size.expressions;
        self.defined.insert(name, Defined { value, size });
        Ok(())
    }

    fn pragma(&mut self, pragma: &Pragma, notices: &mut Vec<String>) {
        let name: Vec<&str> = pragma
            .name
            .parts
            .iter()
            .map(|part| part.value.as_str())
            .collect();
        let name = name.join(".");
        if name.eq_ignore_ascii_case("TablePathPrefix") {
            let prefix = pragma.value.as_deref().unwrap_or_default();
            let prefix = prefix.trim_end_matches('/');
            self.prefix = (!prefix.is_empty()).then(|| prefix.to_owned());
        } else {
            notices.push(format!("PRAGMA {name} is accepted and changes nothing"));
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.declared
            .iter()
            .position(|known| known.name.value == name)
    }

    fn check_numbers(&self) -> Result<()> {
        match (&self.named, &self.numbered) {
            (Some(named), Some(numbered)) => Err(Error::Name {
                name: named.clone(),
                reason: format!(
                    "the text has {numbered} too: name all of its parameters or number them all"
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// Refuses types that no value of PostgreSQL's protocol could fill.
fn check_kind(name: &str, kind: &ParameterType) -> Result<()> {
    let unsupported = |what: &str| {
        let what = format!("{what} as the type of parameter {name}");
        Err(Error::Unsupported { what })
    };
    match kind {
        ParameterType::List(inner) => match inner.as_ref() {
            ParameterType::Struct(members) => {
                match members.iter().find(|(_, kind)| plain(kind).is_none()) {
                    Some((member, _)) => {
                        unsupported(&format!("a Struct whose `{member}` holds several values"))
                    }
                    None if members.is_empty() => unsupported("a Struct without members"),
                    None => Ok(()),
                }
            }
            inner if plain(inner).is_some() => Ok(()),
            _ => unsupported("a List of anything but plain values or structs"),
        },
        ParameterType::Struct(_) => unsupported("a Struct outside of a List"),
        ParameterType::Tuple(_) => unsupported("a Tuple"),
        ParameterType::Dict(..) => unsupported("a Dict"),
        kind if plain(kind).is_some() => Ok(()),
        _ => unsupported("an Optional of several values"),
    }
}

/// The type of a value, and whether it may be NULL; `None` for a type of several values.
fn plain(kind: &ParameterType) -> Option<(Type, bool)> {
    match kind {
        ParameterType::Plain(kind) => Some((*kind, false)),
        ParameterType::Optional(inner) => plain(inner).map(|(kind, _)| (kind, true)),
        _ => None,
    }
}

/// The type as which a parameter travels: a list is text.
fn travels_as(kind: &ParameterType) -> Type {
    plain(kind).map_or(Type::Utf8, |(kind, _)| kind)
}

impl Executor {
    /// Prepares a statement whose names were resolved: what was declared says the types.
    pub async fn prepare_resolved(
        &self,
        statement: Statement,
        reader: Reader,
        hints: &[Option<Type>],
    ) -> Result<Prepared> {
        let statement = Arc::new(statement);
        if statement.declared.is_empty() {
            return self.prepare(statement, reader, hints).await;
        }
        let kinds = statement.declared.iter();
        let kinds: Vec<Type> = kinds.map(|declare| travels_as(&declare.kind)).collect();
        let hints: Vec<Option<Type>> = kinds.iter().copied().map(Some).collect();
        let samples: Vec<_> = statement.declared.iter().map(List::sample).collect();
        let planned = samples.iter().all(Option::is_none);
        let shape = if planned {
            Arc::clone(&statement)
        } else {
            syntax::deep(|| {
                let mut shape = Statement::clone(&statement);
                lists::fill(&mut shape, samples).map(|()| Arc::new(shape))
            })?
        };
        let prepared = self.prepare(shape, reader, &hints).await?;
        prepared.declared(statement, &kinds, planned)
    }
}

/// A statement with its lists in place, and the parameters it has then. `None` if it has no lists.
pub fn bind(
    statement: &Statement,
    parameters: &[Value],
) -> Result<Option<(Statement, Vec<Value>)>> {
    if statement.declared.is_empty() {
        return Ok(None);
    }
    let mut lists = Vec::with_capacity(statement.declared.len());
    let mut all = parameters.to_vec();
    for (index, declare) in statement.declared.iter().enumerate() {
        let name = &declare.name.value;
        let value = parameters
            .get(index)
            .ok_or_else(|| Error::Unbound { name: name.clone() })?;
        if let Some((kind, false)) = plain(&declare.kind)
            && value.is_null()
        {
            let reason = format!("{kind} is never NULL: declare it AS Optional<{kind}>");
            return Err(Error::Parameter {
                name: name.clone(),
                reason,
            });
        }
        lists.push(List::read(declare, value, &mut all)?);
    }
    if lists.iter().all(Option::is_none) {
        return Ok(None);
    }
    syntax::deep(|| {
        let mut filled = statement.clone();
        filled.declared.clear();
        lists::fill(&mut filled, lists)?;
        Ok(Some((filled, all)))
    })
}
