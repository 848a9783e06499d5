//! KEY002: a key that begins with a column of few values. KEY009: the same with a time behind it.

use crate::lint::finding::Severity;
use crate::lint::model::{Class, Column, Order, OrderKind, Table};
use crate::lint::nature::{Growth, growth, is_few, is_skewed};
use crate::lint::{Finding, Source};

use super::growing::lead_with_other;

pub(crate) fn key002(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    let led = table.orders.iter().filter_map(|order| {
        let (first, column) = lead(table, order)?;
        // A key of one such column is that of a small table.
        let whole =
            order.parts.len() == 1 && !matches!(order.kind, OrderKind::Index { unique: false, .. });
        (is_few(column) && !grows_next(table, order) && !whole).then_some((order, first, column))
    });
    led.map(|(order, first, column)| {
        let name = &column.written.name.value;
        let severity = if order.is_key() {
            Severity::Warning
        } else {
            Severity::Note
        };
        let message = format!(
            "the {} of `{}` begins with `{name}`, which has few values",
            order.title(),
            table.name
        );
        let moved = lead_with_other(source.text, table, order);
        let help = match &moved {
            Some((other, _)) => format!(
                "begin with `{other}`; a filter on `{name}` alone may deserve an index of its own"
            ),
            None => "begin with a column that has many values".to_owned(),
        };
        Finding::new("KEY002", severity, &table.name, first, message)
            .label(values(column))
            .why(share(column))
            .help(help)
            .edits(moved.map(|(_, edits)| edits).unwrap_or_default())
    })
    .collect()
}

pub(crate) fn key009(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    let led = table.orders.iter().filter_map(|order| {
        let (first, column) = lead(table, order)?;
        let judged = is_few(column) || is_skewed(column);
        (judged && grows_next(table, order)).then_some((order, first, column))
    });
    led.map(|(order, first, column)| {
        let name = &column.written.name.value;
        let few = is_few(column);
        let severity = if few && order.is_key() {
            Severity::Warning
        } else {
            Severity::Note
        };
        let likeness = if few {
            "has few values"
        } else {
            "is likely to have a few values that \
                                                           most rows share"
        };
        let message = format!(
            "the {} of `{}` has a growing column behind `{name}`, which {likeness}",
            order.title(),
            table.name
        );
        let why = if few {
            format!(
                "each value of `{name}` has one growing end, and all inserts go to these: {}",
                share(column)
            )
        } else {
            format!(
                "all inserts of one `{name}` go to one partition: the largest `{name}` sets the \
                 ceiling, and its \
                 share of the inserts is the peak share of that partition, whatever splits"
            )
        };
        let moved = if few {
            lead_with_other(source.text, table, order)
        } else {
            None
        };
        let help = match &moved {
            Some((other, _)) => format!("begin with `{other}`"),
            None => format!(
                "put a small bucket before `{name}`, a hash of the row's own id modulo 4 to {}, \
                 if one value takes \
                 more than a partition can",
                super::growing::BUCKETS
            ),
        };
        Finding::new("KEY009", severity, &table.name, first, message)
            .label(if few {
                values(column)
            } else {
                "a few values take most rows".to_owned()
            })
            .why(why)
            .help(help)
            .edits(moved.map(|(_, edits)| edits).unwrap_or_default())
    })
    .collect()
}

fn lead<'t>(table: &'t Table, order: &'t Order) -> Option<(crate::lint::Span, &'t Column)> {
    let first = order.parts.first()?;
    let with_parent = order.is_key() && table.written.parent.is_some();
    if order.hash.is_some() || with_parent {
        return None;
    }
    Some((first.text.span, table.column_of(first)?))
}

fn grows_next(table: &Table, order: &Order) -> bool {
    let second = order.parts.get(1).and_then(|part| table.column_of(part));
    second
        .and_then(|column| growth(table, column))
        .is_some_and(|growth| growth != Growth::OwnNumber)
}

/// How many values a column may have, as far as its type tells.
fn count(column: &Column) -> Option<usize> {
    match column.class {
        Class::Bool => Some(2),
        Class::Enum => Some(column.written.type_args.len().max(1)),
        Class::Byte => Some(256),
        _ => None,
    }
}

fn values(column: &Column) -> String {
    match count(column) {
        Some(count) => format!("at most {count} values"),
        None => "its name says that it has few values".to_owned(),
    }
}

fn share(column: &Column) -> String {
    match count(column) {
        // The number is small: a list that someone wrote out.
        Some(count) if count <= 64 => {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            format!(
                "at most {count} places take the writes: peak share at least {:.2}, however many \
                 partitions there are",
                1.0 / f64::from(count)
            )
        }
        _ => "as many places take the writes as there are values: the most common one sets the \
              peak share, \
              however many partitions there are"
            .to_owned(),
    }
}
