//! Parameters that are lists: their text, and the places in a statement that they fill.
//!
//! ```text
//!   List<T>              [1, 2, 3]   or as PostgreSQL writes arrays   {1,2,3}
//!   List<Struct<a:T,…>>  [{"a": 1, "b": "x"}, …]       a member that is Optional may be left out
//! ```
//!
//! The values become parameters of their own, after those that the text declared, so that they have
//! exactly their type and nothing is ever quoted.

use std::ops::ControlFlow;

use keys::{Type, Value};
use syntax::statement::{Declare, ParameterType};
use syntax::{Statement, ast};

use super::rows::{self, null};
use super::{AS_TABLE, build, plain, trees};
use crate::query::list_elements;
use crate::{Error, Result};

/// Values in all lists of one statement.
const VALUES_MAX: usize = 1_000_000;

/// A list that takes its place in a statement.
#[derive(Clone, Debug)]
pub(super) struct List {
    name: String,
    members: Vec<Member>,
    /// Whether an item is a row with names, and not just a value.
    rows: bool,
    items: Vec<Vec<ast::Expr>>,
}

/// A part of every item of a list.
#[derive(Clone, Debug)]
struct Member {
    name: String,
    kind: Type,
    nullable: bool,
}

impl List {
    /// The list before its values are known: one item of NULLs. `None` if it is no list.
    pub(super) fn sample(declare: &Declare) -> Option<Self> {
        let mut list = Self::empty(declare)?;
        let nulls = list.members.iter().map(|member| null(member.kind));
        list.items.push(nulls.collect());
        Some(list)
    }

    /// The list that was bound; its values are added to `all`. `None` if it is no list.
    pub(super) fn read(
        declare: &Declare,
        value: &Value,
        all: &mut Vec<Value>,
    ) -> Result<Option<Self>> {
        let Some(mut list) = Self::empty(declare) else {
            return Ok(None);
        };
        let (Value::Utf8(text) | Value::Json(text)) = value else {
            return Err(list.invalid("a list is bound as text: a JSON array"));
        };
        for item in list.parse(text)? {
            let mut cells = Vec::with_capacity(item.len());
            for (value, member) in item.into_iter().zip(&list.members) {
                if all.len() >= VALUES_MAX {
                    return Err(list.invalid(&format!(
                        "the lists of a statement hold at most {VALUES_MAX} values"
                    )));
                }
                all.push(value);
                cells.push(build::cast(build::placeholder(all.len()), member.kind));
            }
            list.items.push(cells);
        }
        Ok(Some(list))
    }

    fn empty(declare: &Declare) -> Option<Self> {
        let ParameterType::List(inner) = &declare.kind else {
            return None;
        };
        let member = |name: &str, kind: &ParameterType| {
            let (kind, nullable) = plain(kind)?;
            Some(Member {
                name: name.to_owned(),
                kind,
                nullable,
            })
        };
        let (members, rows): (Option<Vec<Member>>, bool) = match inner.as_ref() {
            ParameterType::Struct(members) => {
                let members = members.iter().map(|(name, kind)| member(name, kind));
                (members.collect(), true)
            }
            kind => (member("", kind).map(|one| vec![one]), false),
        };
        Some(Self {
            name: declare.name.value.clone(),
            members: members?,
            rows,
            items: Vec::new(),
        })
    }

    fn invalid(&self, reason: &str) -> Error {
        Error::Parameter {
            name: self.name.clone(),
            reason: reason.to_owned(),
        }
    }

    /// The items of a list as text.
    fn parse(&self, text: &str) -> Result<Vec<Vec<Value>>> {
        let trimmed = text.trim();
        if let ([member], false, true) =
            (self.members.as_slice(), self.rows, trimmed.starts_with('{'))
        {
            let items = list_elements(trimmed).ok_or_else(|| {
                self.invalid("this is no array: write {1,2} or the JSON array [1, 2]")
            })?;
            let value = |item: Option<String>| match item {
                None => self.null(member),
                Some(text) => Ok(Value::parse(member.kind, &text)?),
            };
            let items = items.into_iter().map(|item| Ok(vec![value(item)?]));
            return items.collect();
        }
        let items: Vec<serde_json::Value> = serde_json::from_str(trimmed)
            .map_err(|error| self.invalid(&format!("this is no JSON array: {error}")))?;
        items.into_iter().map(|item| self.item(item)).collect()
    }

    fn item(&self, item: serde_json::Value) -> Result<Vec<Value>> {
        if !self.rows {
            let [member] = self.members.as_slice() else {
                return Err(self.invalid("an item has no type"));
            };
            return Ok(vec![self.value(member, item)?]);
        }
        let serde_json::Value::Object(mut object) = item else {
            return Err(self.invalid("each item is an object: {\"name\": value, …}"));
        };
        let mut values = Vec::with_capacity(self.members.len());
        for member in &self.members {
            let value = object.remove(&member.name);
            values.push(self.value(member, value.unwrap_or(serde_json::Value::Null))?);
        }
        match object.keys().next() {
            Some(unknown) => Err(self.invalid(&format!("its structs have no member `{unknown}`"))),
            None => Ok(values),
        }
    }

    fn value(&self, member: &Member, json: serde_json::Value) -> Result<Value> {
        use serde_json::Value as Json;
        let text = match json {
            Json::Null => return self.null(member),
            other if member.kind == Type::Json => other.to_string(),
            Json::String(text) => text,
            Json::Bool(yes) => yes.to_string(),
            Json::Number(number) => number.to_string(),
            Json::Array(_) | Json::Object(_) => {
                return Err(self.invalid(&format!("an item in place of a {}", member.kind)));
            }
        };
        Ok(Value::parse(member.kind, &text)?)
    }

    fn null(&self, member: &Member) -> Result<Value> {
        if member.nullable {
            return Ok(Value::Null);
        }
        let of = match self.rows {
            true => format!("member `{}`", member.name),
            false => "an item".to_owned(),
        };
        let kind = member.kind;
        Err(self.invalid(&format!("{of} is {kind}, which is never NULL nor left out")))
    }

    /// The list as a table.
    fn table(&self, alias: Option<ast::TableAlias>) -> Result<ast::TableFactor> {
        if !self.rows {
            return Err(self.invalid("AS_TABLE takes a List<Struct<…>>"));
        }
        let columns = self
            .members
            .iter()
            .map(|member| (rows::column(&member.name), null(member.kind)));
        let columns: Vec<(String, ast::Expr)> = columns.collect();
        Ok(build::table_of(self.items.clone(), &columns, alias))
    }

    /// The list as what stands after IN.
    fn values(&self) -> Result<impl Iterator<Item = ast::Expr>> {
        if self.rows {
            return Err(self.invalid("IN takes a List of plain values"));
        }
        Ok(self.items.iter().flatten().cloned())
    }
}

/// Puts lists in their places, which are IN and AS_TABLE.
pub(super) fn fill(statement: &mut Statement, lists: Vec<Option<List>>) -> Result<()> {
    if lists.iter().all(Option::is_none) {
        return Ok(());
    }
    let mut filling = Fill { lists };
    trees::done(trees::visit(&mut statement.kind, &mut filling))?;
    trees::done(trees::visit(&mut statement.kind, &mut Left(&filling)))?;
    if let syntax::Kind::Insert(insert) = &mut statement.kind {
        rows::inline(insert);
    }
    Ok(())
}

struct Fill {
    lists: Vec<Option<List>>,
}

impl Fill {
    fn list(&self, expr: &ast::Expr) -> Option<&List> {
        let index = rows::number(expr)?.checked_sub(1)?;
        self.lists.get(index)?.as_ref()
    }

    fn expr(&self, expr: &mut ast::Expr) -> Result<()> {
        let ast::Expr::InList { list, negated, .. } = expr else {
            return Ok(());
        };
        if !list.iter().any(|item| self.list(item).is_some()) {
            return Ok(());
        }
        let mut items = Vec::with_capacity(list.len());
        for item in list.iter() {
            match self.list(item) {
                Some(list) => items.extend(list.values()?),
                None => items.push(item.clone()),
            }
        }
        // Nothing is in an empty list, not even NULL.
        if items.is_empty() {
            *expr = build::value(ast::Value::Boolean(*negated));
        } else {
            *list = items;
        }
        Ok(())
    }

    fn table(&self, factor: &mut ast::TableFactor) -> Result<()> {
        if let ast::TableFactor::Table {
            name,
            alias,
            args: Some(args),
            ..
        } = factor
            && let [ast::ObjectNamePart::Identifier(word)] = name.0.as_slice()
            && word.value.eq_ignore_ascii_case(AS_TABLE)
            && let Some(list) = rows::argument(args).and_then(|argument| self.list(argument))
        {
            *factor = list.table(alias.take())?;
        }
        Ok(())
    }
}

impl ast::VisitorMut for Fill {
    type Break = Box<Error>;

    fn post_visit_table_factor(
        &mut self,
        factor: &mut ast::TableFactor,
    ) -> ControlFlow<Self::Break> {
        trees::flow(self.table(factor))
    }

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Self::Break> {
        trees::flow(self.expr(expr))
    }
}

/// Finds lists that are left where no list can stand.
struct Left<'f>(&'f Fill);

impl ast::VisitorMut for Left<'_> {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Self::Break> {
        match self.0.list(expr) {
            None => ControlFlow::Continue(()),
            Some(list) => ControlFlow::Break(Box::new(Error::Unsupported {
                what: format!("the list {} outside of IN and AS_TABLE", list.name),
            })),
        }
    }
}
