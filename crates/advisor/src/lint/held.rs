//! Keys that other tables hold too: a foreign key names them, or Spanner interleaves rows by them.
//!
//! Such a key is not rewritten in one place. What is wrong is told, and the help says who would have
//! to follow.

use super::model::{Order, Table};
use super::{Dialect, Edit, Finding, Source, Span};

/// One table whose foreign key names another.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// The finding without its edits if another table would not fit the key any more.
pub(crate) fn leave(source: &Source<'_>, table: &Table, finding: Finding) -> Finding {
    let Some(key) = table.key() else {
        return finding;
    };
    let child = source.tables.iter().find(|child| {
        let parent = child.written.parent.as_ref();
        let name = parent.and_then(|name| name.parts.last());
        name.is_some_and(|name| name.value.eq_ignore_ascii_case(&table.name))
    });
    let reference = source.references.iter().find(|reference| {
        reference.to.eq_ignore_ascii_case(&table.name) && table.dialect != Dialect::Ydb
    });
    let changes_key = finding.edits.iter().any(|edit| meet(edit, key.list));
    let holder = match (child, reference) {
        (Some(child), _) if changes_key || changes_type(table, key, &finding) => &child.name,
        (_, Some(reference))
            if changes_key && adds_column(table, &finding)
                || changes_type(table, key, &finding) =>
        {
            &reference.from
        }
        _ => return finding,
    };
    let help = format!(
        "{}; `{holder}` holds this key too and has to follow, so that is left to you",
        finding.help
    );
    finding.help(help).edits(Vec::new())
}

/// Whether an edit changes something in a stretch of the text.
fn meet(edit: &Edit, stretch: Span) -> bool {
    edit.span.start < stretch.end && stretch.start < edit.span.end
}

fn adds_column(table: &Table, finding: &Finding) -> bool {
    let first = table.written.columns.first();
    let start = first.map(|column| column.span.start);
    let mut edits = finding.edits.iter();
    edits.any(|edit| Some(edit.span.start) == start && edit.span.start == edit.span.end)
}

fn changes_type(table: &Table, key: &Order, finding: &Finding) -> bool {
    let mut columns = key.parts.iter().filter_map(|part| table.column_of(part));
    columns.any(|column| {
        let mut edits = finding.edits.iter();
        edits.any(|edit| meet(edit, column.written.type_span))
    })
}
