//! KEY014: a key that begins with the hour, day or month, so that the hot spot moves and stays.

use syntax::schema::Dialect;

use crate::lint::finding::Severity;
use crate::lint::model::Table;
use crate::lint::nature::is_time_cut;
use crate::lint::{Finding, Source};

use super::growing::{lead_with_other, use_hash};

pub(crate) fn key014(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    let with_parent = table.written.parent.is_some();
    let cut = table.orders.iter().filter_map(|order| {
        let first = order.parts.first()?;
        let judged = order.hash.is_none() && !(with_parent && order.is_key());
        (judged && is_time_cut(table, first)).then_some((order, first))
    });
    cut.map(|(order, first)| {
        let name = &first.text.text;
        let message = format!(
            "the {} of `{}` begins with `{name}`, a stretch of time that all new rows share",
            order.title(),
            table.name
        );
        let moved = lead_with_other(source.text, table, order);
        let (help, edits) = match moved {
            Some((other, edits)) => (
                format!("begin with `{other}`, and keep `{name}` behind it"),
                edits,
            ),
            None if table.dialect == Dialect::Cockroach => (
                "spread the rows over buckets, which CockroachDB computes and keeps by itself"
                    .to_owned(),
                vec![use_hash(order)],
            ),
            None => (
                format!(
                    "begin with a column that has many values within one `{name}`, or with a \
                         hash of one"
                ),
                Vec::new(),
            ),
        };
        Finding::new(
            "KEY014",
            Severity::Warning,
            &table.name,
            first.text.span,
            message,
        )
        .label("the same for all rows of the moment")
        .why(
            "all inserts of one stretch of time go to one partition, those of the next to \
                 another: the peak share \
                 is 1.0 at any moment, though it looks even over a month",
        )
        .help(help)
        .edits(edits)
    })
    .collect()
}
