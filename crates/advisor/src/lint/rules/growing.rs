//! KEY001: a key or index that begins with a column which grows with time.

use syntax::schema::Dialect;

use crate::lint::finding::Severity;
use crate::lint::model::{Class, Column, Order, Table};
use crate::lint::nature::{Growth, growth, is_few, is_time_cut};
use crate::lint::rewrite::{add_column, insert, parts, quoted_as, replace, set_parts};
use crate::lint::{Edit, Finding, Source};

/// Buckets that a rewritten key is spread over.
pub(crate) const BUCKETS: u64 = 16;

pub(crate) fn key001(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    let judged = table.orders.iter();
    judged
        .filter_map(|order| judge(source, table, order))
        .collect()
}

fn judge(source: &Source<'_>, table: &Table, order: &Order) -> Option<Finding> {
    let first = order.parts.first()?;
    let column = table.column_of(first)?;
    let growth = growth(table, column)?;
    // Rows of an interleaved table lie with their parent's, whose key is judged by itself.
    let with_parent = order.is_key() && table.written.parent.is_some();
    // TiDB spreads rows that do not lie under their key.
    let apart = order.apart && table.setting("shard_row_id_bits").is_some();
    let guess_for_index = !order.is_key() && growth == Growth::OwnNumber;
    if order.hash.is_some() || with_parent || apart || guess_for_index || is_time_cut(table, first)
    {
        return None;
    }
    let severity = if order.is_key() && !growth.is_guess() {
        Severity::Error
    } else {
        Severity::Warning
    };
    let name = &column.written.name.value;
    let descending = first.text.text.to_ascii_lowercase().ends_with(" desc");
    let end = if descending { "first" } else { "last" };
    let message = format!(
        "the {} of `{}` begins with `{name}`, which {}",
        order.title(),
        table.name,
        growth.describe()
    );
    let (help, edits) = mend(source, table, order, (column, growth));
    let finding = Finding::new("KEY001", severity, &table.name, first.text.span, message)
        .label("new rows all belong at one end")
        .why(format!(
            "all inserts go to the {end} partition: peak share 1.0 of N partitions; a split does \
             not \
             help, because the new {end} partition takes all of them again"
        ))
        .help(help)
        .edits(edits);
    Some(finding)
}

/// What to do, and the edits that do it.
fn mend(
    source: &Source<'_>,
    table: &Table,
    order: &Order,
    (column, growth): (&Column, Growth),
) -> (String, Vec<Edit>) {
    let text = source.text;
    if let Some((moved, edits)) = lead_with_other(text, table, order) {
        return (
            format!("begin with `{moved}`, so that rows of one moment spread over all its values"),
            edits,
        );
    }
    if table.dialect == Dialect::Cockroach {
        return (
            "spread the rows over buckets, which CockroachDB computes and keeps by itself"
                .to_owned(),
            vec![use_hash(order)],
        );
    }
    if source.ours && order.is_key() {
        let help = "spread the rows over buckets, which the database computes and keeps by itself";
        return (help.to_owned(), vec![use_hash(order)]);
    }
    if !order.is_key() {
        let help = "begin the index with a column that queries bind by equality and that has many \
                    values, \
                    or drop it if nothing reads by it";
        return (help.to_owned(), Vec::new());
    }
    spread(text, table, order, (column, growth))
}

/// Puts the first column that neither grows nor has few values before the others.
pub(crate) fn lead_with_other(
    text: &str,
    table: &Table,
    order: &Order,
) -> Option<(String, Vec<Edit>)> {
    let good = |part: &&syntax::schema::Part| {
        table.column_of(part).is_some_and(|column| {
            growth(table, column).is_none() && !is_few(column) && !is_time_cut(table, part)
        })
    };
    let found = order.parts.iter().position(|part| good(&part))?;
    let mut moved = parts(order);
    let first = moved.remove(found);
    moved.insert(0, first.clone());
    (found > 0).then(|| (first, set_parts(text, table, order, &moved)))
}

/// USING HASH behind the columns of an order.
pub(crate) fn use_hash(order: &Order) -> Edit {
    insert(
        order.list.end,
        format!(" USING HASH WITH (bucket_count = {BUCKETS})"),
    )
}

/// Puts a hash or bucket before the key, or changes how its values are made.
fn spread(
    text: &str,
    table: &Table,
    order: &Order,
    (column, growth): (&Column, Growth),
) -> (String, Vec<Edit>) {
    let written = &column.written;
    let name = &written.name.value;
    match (table.dialect, growth) {
        (Dialect::Ydb, Growth::Counter) => (
            format!(
                "make `{name}` a random UUID: an application cannot hash a number it does not \
                     know yet"
            ),
            vec![replace(written.type_span, "Uuid NOT NULL")],
        ),
        (Dialect::Mysql, Growth::Counter) if order.parts.len() == 1 => {
            let mut edits: Vec<Edit> = Vec::new();
            edits.extend(
                written
                    .counts
                    .map(|counts| replace(counts.span, "AUTO_RANDOM")),
            );
            if !written.type_name.starts_with("bigint") {
                let unsigned = written.type_name.contains("unsigned");
                let wide = if unsigned {
                    "BIGINT UNSIGNED"
                } else {
                    "BIGINT"
                };
                edits.push(replace(written.type_span, wide));
            }
            // TiDB takes AUTO_RANDOM where a table is made, not in MODIFY.
            let made = |edit: &Edit| edit.span.end <= table.statement.end;
            if !edits.iter().all(made) {
                edits.clear();
            }
            (
                format!("let TiDB draw `{name}` from its whole range"),
                edits,
            )
        }
        (_, Growth::TimeFirst) => (
            "use a random UUID (version 4), or a hash of it before it".to_owned(),
            random_default(table, column),
        ),
        _ => match bucket(table, column) {
            Some((definition, bucket)) => {
                let mut led = parts(order);
                led.insert(0, quoted_as(&written.name, &bucket));
                let mut edits = add_column(text, table, &definition);
                edits.extend(set_parts(text, table, order, &led));
                let by_whom = match table.dialect {
                    Dialect::Ydb => {
                        "; the application computes it with Digest::NumericHash, on \
                                     write and on read"
                    }
                    _ => "",
                };
                (
                    format!("begin with `{bucket}`, which spreads `{name}`{by_whom}"),
                    edits,
                )
            }
            None => (
                "begin with a column that has many values at any moment, such as the id of a user \
                 or device"
                    .to_owned(),
                Vec::new(),
            ),
        },
    }
}

/// A default that makes random UUIDs in place of the one that there is.
fn random_default(table: &Table, column: &Column) -> Vec<Edit> {
    let call = match table.dialect {
        Dialect::Postgres | Dialect::Cockroach => "gen_random_uuid()",
        Dialect::Spanner => "(GENERATE_UUID())",
        Dialect::Ydb | Dialect::Mysql => return Vec::new(),
    };
    let default = column.written.default.as_ref();
    default
        .map(|default| replace(default.span, call))
        .into_iter()
        .collect()
}

/// The definition and the name of a column that spreads another.
fn bucket(table: &Table, column: &Column) -> Option<(String, String)> {
    let name = &column.written.name.value;
    let quoted = quoted(column);
    let stem = name.strip_suffix("_id").unwrap_or(name);
    let (bucket, definition) = match (table.dialect, column.class) {
        (Dialect::Ydb, Class::Date) | (_, Class::Date) => return None,
        (Dialect::Ydb, _) => (format!("{stem}_hash"), "Uint64 NOT NULL".to_owned()),
        (Dialect::Postgres, Class::Int) => (
            format!("{stem}_bucket"),
            format!("int GENERATED ALWAYS AS ({quoted} % {BUCKETS}) STORED"),
        ),
        (Dialect::Postgres, Class::Time) => {
            let local = column.written.type_name.contains("tz")
                || column.written.type_name.contains("with time");
            let time = if local {
                format!("({quoted} AT TIME ZONE 'UTC')")
            } else {
                quoted
            };
            (
                format!("{stem}_bucket"),
                format!(
                    "int GENERATED ALWAYS AS ((extract(epoch FROM {time}) * 1000000)::bigint % \
                     {BUCKETS}) STORED"
                ),
            )
        }
        (Dialect::Spanner, Class::Int) => (
            format!("{stem}_bucket"),
            format!("INT64 NOT NULL AS (MOD({quoted}, {BUCKETS})) STORED"),
        ),
        (Dialect::Spanner, Class::Time) => (
            format!("{stem}_bucket"),
            format!("INT64 NOT NULL AS (MOD(UNIX_MICROS({quoted}), {BUCKETS})) STORED"),
        ),
        (Dialect::Mysql, Class::Int | Class::Time) => (
            format!("{stem}_bucket"),
            format!("TINYINT AS (CRC32({quoted}) % {BUCKETS}) STORED"),
        ),
        _ => return None,
    };
    if table.column(&bucket).is_some() || table.written.columns.is_empty() {
        return None;
    }
    let written = quoted_as(&column.written.name, &bucket);
    Some((format!("{written} {definition}"), bucket))
}

/// The name of a column with the quotes it is written in.
pub(crate) fn quoted(column: &Column) -> String {
    let name = &column.written.name;
    quoted_as(name, &name.value)
}
