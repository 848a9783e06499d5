//! KEY013: in YDB the order of UUIDs is not that of their text, nor of their time.

use syntax::schema::Dialect;

use crate::lint::finding::Severity;
use crate::lint::model::{Class, Table};
use crate::lint::nature::is_time_first_name;
use crate::lint::{Finding, Source};

pub(crate) fn key013(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    if table.dialect != Dialect::Ydb || source.ours {
        return Vec::new();
    }
    let Some(key) = table.key() else {
        return Vec::new();
    };
    let parts = key.parts.iter().enumerate();
    let trapped =
        parts.filter_map(|(place, part)| {
            let column = table.column_of(part)?;
            let name = &column.written.name.value;
            let timed = is_time_first_name(name);
            // A random UUID that leads a key is found by equality, and its order means nothing anyway.
            let judged = column.class == Class::Uuid && (timed || place > 0);
            judged.then(|| {
            let (severity, message, why) = if timed {
                (
                    Severity::Warning,
                    format!("`{name}` in the key of `{}` is a UUID by time, which YDB does not \
                             keep by time", table.name),
                    "YDB compares a UUID by bytes that begin with the low half of the clock: all \
                     inserts of 65 seconds go \
                     to one partition and those of the next 65 to another, so the peak share is \
                     1.0 and reading in key \
                     order is not reading in time order",
                )
            } else {
                (
                    Severity::Note,
                    format!("rows of `{}` that share the columns before `{name}` are not sorted \
                             by its text", table.name),
                    "YDB compares UUIDs by their bytes in Microsoft's layout: ranges, pages and \
                     ORDER BY over the key come \
                     in another order than PostgreSQL, drivers and people sort the text",
                )
            };
            Finding::new("KEY013", severity, &table.name, part.text.span, message)
                .label("not in the order of its text")
                .why(why)
                .help(
                    "use a random UUID where only equality matters; where time matters put a \
                     Timestamp before it: \
                     (…, created_at, id)",
                )
        })
        });
    trapped.collect()
}
