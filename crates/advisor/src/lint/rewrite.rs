//! Changes of a text that mend a key, each a few edits at true places.

use super::model::{Order, OrderKind, Table};
use super::{Edit, Span};
use syntax::Ident;

/// The statements that edits touch, as they are afterwards.
pub(crate) fn rewritten(text: &str, statements: &[Span], edits: &[Edit]) -> Option<String> {
    let touched = statements
        .iter()
        .filter(|statement| edits.iter().any(|edit| holds(**statement, edit.span)));
    let texts: Vec<String> = touched
        .map(|statement| {
            let own: Vec<&Edit> = edits
                .iter()
                .filter(|edit| holds(*statement, edit.span))
                .collect();
            let mut whole = apply(text, *statement, &own);
            // A statement of a dump may end within what other databases take for a comment.
            if whole.matches("/*").count() > whole.matches("*/").count() {
                whole.push_str(" */");
            }
            format!("{whole};")
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn holds(statement: Span, inner: Span) -> bool {
    statement.start <= inner.start && inner.end <= statement.end
}

/// A stretch of the text after edits within it, of which none may overlap another.
pub(crate) fn apply(text: &str, stretch: Span, edits: &[&Edit]) -> String {
    let mut sorted = edits.to_vec();
    sorted.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut result = String::new();
    let mut at = stretch.start;
    for edit in sorted {
        result.push_str(text.get(at..edit.span.start).unwrap_or_default());
        result.push_str(&edit.text);
        at = edit.span.end.max(at);
    }
    result.push_str(text.get(at..stretch.end).unwrap_or_default());
    result
}

pub(crate) fn insert(at: usize, text: impl Into<String>) -> Edit {
    replace(Span::new(at, at), text)
}

pub(crate) fn replace(span: Span, text: impl Into<String>) -> Edit {
    Edit {
        span,
        text: text.into(),
    }
}

/// A name with the quotes that another is written in.
pub(crate) fn quoted_as(name: &Ident, value: &str) -> String {
    match name.quote {
        Some(quote) => format!("{quote}{value}{quote}"),
        None => value.to_owned(),
    }
}

/// The name of a table as it is written.
pub(crate) fn table_name(table: &Table) -> String {
    let parts = table.written.name.parts.iter();
    let parts: Vec<String> = parts.map(|part| quoted_as(part, &part.value)).collect();
    parts.join(".")
}

/// What stands between two elements of the table: a new line with the same blanks before it, or a blank.
fn gap(text: &str, table: &Table) -> String {
    let first = table
        .written
        .columns
        .first()
        .map(|column| column.span.start);
    let before = first.and_then(|start| text.get(table.written.body.start + 1..start));
    match before {
        Some(before) if !before.is_empty() && before.trim().is_empty() => before.to_owned(),
        _ => " ".to_owned(),
    }
}

/// Puts a new column before all others.
pub(crate) fn add_column(text: &str, table: &Table, definition: &str) -> Vec<Edit> {
    let first = table.written.columns.first();
    let edit = first.map(|column| {
        insert(
            column.span.start,
            format!("{definition},{}", gap(text, table)),
        )
    });
    edit.into_iter().collect()
}

/// Makes an order begin with other columns, as they are to be written.
pub(crate) fn set_parts(text: &str, table: &Table, order: &Order, parts: &[String]) -> Vec<Edit> {
    let list = format!("({})", parts.join(", "));
    if order.kind != OrderKind::InlineKey {
        return vec![replace(order.list, list)];
    }
    // PRIMARY KEY leaves its column, with the blanks before it, and stands after the columns.
    let before = text.get(..order.list.start).unwrap_or_default();
    let start = before.trim_end().len();
    let end = order.hash.map_or(order.list.end, |hash| hash.end);
    vec![
        replace(Span::new(start, end), ""),
        insert(
            table.written.last.end,
            format!(",{}PRIMARY KEY {list}", gap(text, table)),
        ),
    ]
}

/// The parts of an order as they are written.
pub(crate) fn parts(order: &Order) -> Vec<String> {
    order
        .parts
        .iter()
        .map(|part| part.text.text.clone())
        .collect()
}

/// Sets an option in WITH, or writes WITH behind the statement.
pub(crate) fn set_option(table: &Table, name: &str, value: &str) -> Edit {
    let known = table.setting(&name.to_ascii_lowercase());
    match (known, table.written.with) {
        (Some(setting), _) => replace(setting.value_span, value),
        (None, Some(with)) => {
            let empty = table.settings.is_empty();
            let comma = if empty { "" } else { ", " };
            insert(
                with.end.saturating_sub(1),
                format!("{comma}{name} = {value}"),
            )
        }
        (None, None) => insert(table.written.body.end, format!(" WITH ({name} = {value})")),
    }
}
