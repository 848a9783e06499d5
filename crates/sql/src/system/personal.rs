//! Functions that answer differently for each client: who it is, and what it has set.

use std::ops::ControlFlow;

use syntax::ast::{
    Expr, Function, Ident, Query, Select, SelectItem, SetExpr, Value, VisitMut, VisitorMut,
};
use syntax::{Kind, Statement};

use super::rewrite::{arguments, last_name};

/// Who a client is and what it has set.
#[derive(Clone, Copy)]
pub struct Personal<'s> {
    /// Its user.
    pub user: &'s str,
    /// The name it gave the database.
    pub database: &'s str,
    /// Its settings.
    pub settings: &'s dyn Fn(&str) -> Option<String>,
}

/// What became of a statement that was made a client's own.
#[derive(Debug, Default)]
pub struct Personalised {
    /// Whether anything in it is true for this client only.
    pub own: bool,
    /// A setting that is asked for and that nobody knows.
    pub unknown: Option<String>,
}

/// Puts what is true for a client in place of functions like `current_user`.
pub fn personalise(statement: &mut Statement, personal: Personal<'_>) -> Personalised {
    let Kind::Query(query) = &mut statement.kind else {
        return Personalised::default();
    };
    let mut binder = Binder {
        personal,
        done: Personalised::default(),
    };
    let _ = syntax::deep(|| VisitMut::visit(&mut query.query, &mut binder));
    binder.done
}

/// The settings that a query changes by `set_config('name', 'value', …)`.
pub fn configured(query: &Query) -> Vec<(String, String)> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Vec::new();
    };
    if !select.from.is_empty() {
        return Vec::new();
    }
    let calls = select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(Expr::Function(function))
        | SelectItem::ExprWithAlias {
            expr: Expr::Function(function),
            ..
        } if last_name(&function.name)? == "set_config" => {
            let arguments = arguments(function);
            let [name, value, ..] = arguments.as_slice() else {
                return None;
            };
            Some((text(name)?.to_lowercase(), text(value)?))
        }
        _ => None,
    });
    calls.collect()
}

/// How many seconds a query is to wait, if it is `SELECT pg_sleep(seconds)`.
pub fn sleeps(query: &Query) -> Option<Expr> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let [
        SelectItem::UnnamedExpr(Expr::Function(function))
        | SelectItem::ExprWithAlias {
            expr: Expr::Function(function),
            ..
        },
    ] = select.projection.as_slice()
    else {
        return None;
    };
    if !select.from.is_empty() || last_name(&function.name)? != "pg_sleep" {
        return None;
    }
    match arguments(function).as_slice() {
        [seconds] => Some((*seconds).clone()),
        _ => None,
    }
}

fn text(expr: &Expr) -> Option<String> {
    syntax::literal_text(expr).map(|(_, text)| text)
}

struct Binder<'s> {
    personal: Personal<'s>,
    done: Personalised,
}

impl Binder<'_> {
    /// The answer of a function, if it is one of these.
    fn answer(&self, function: &Function) -> Option<Value> {
        let name = last_name(&function.name)?;
        let found = match name.as_str() {
            "current_user" | "session_user" | "user" | "current_role" => {
                self.personal.user.to_owned()
            }
            "current_database" | "current_catalog" => self.personal.database.to_owned(),
            "current_setting" => self.setting(function)?.ok()?,
            _ => return None,
        };
        Some(Value::SingleQuotedString(found))
    }

    /// The setting that a call of `current_setting` asks for, or its name if there is none.
    fn setting(&self, function: &Function) -> Option<Result<String, String>> {
        let name = text(arguments(function).first()?)?.to_lowercase();
        Some((self.personal.settings)(&name).ok_or(name))
    }
}

/// Whether a call of `current_setting` takes NULL for a setting that there is not.
fn accepts_none(function: &Function) -> bool {
    let is_true = |expr: &Expr| {
        matches!(expr, Expr::Value(value) if value.value == Value::Boolean(true))
            || text(expr).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    };
    arguments(function).get(1).is_some_and(is_true)
}

impl VisitorMut for Binder<'_> {
    type Break = ();

    /// Keeps the names of the columns that are such a function.
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(Expr::Function(function)) = item
                && self.answer(function).is_some()
                && let Some(name) = last_name(&function.name)
            {
                *item = SelectItem::ExprWithAlias {
                    expr: Expr::Function(function.clone()),
                    alias: Ident::new(name),
                };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        if let Some(answer) = self.answer(function) {
            *expr = Expr::Value(answer.into());
            self.done.own = true;
        } else if last_name(&function.name).as_deref() == Some("current_setting")
            && let Some(Err(name)) = self.setting(function)
            && !accepts_none(function)
        {
            self.done.unknown = Some(name);
        }
        ControlFlow::Continue(())
    }
}
