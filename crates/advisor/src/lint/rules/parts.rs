//! KEY010: a spread key in one partition. KEY012: YDB's load splitting, left off or limited.

use syntax::schema::Dialect;

use crate::lint::finding::Severity;
use crate::lint::model::{Class, Table};
use crate::lint::nature::is_spread;
use crate::lint::rewrite::{insert, set_option, table_name};
use crate::lint::{Edit, Finding, Source};

/// Partitions that a rewritten table begins with.
const PARTITIONS: u64 = 8;
/// Partitions that load splitting may make where nothing is said.
const LOAD_PARTITIONS_MAX: u64 = 50;

pub(crate) fn key010(_: &Source<'_>, table: &Table) -> Vec<Finding> {
    let Some(key) = table.key() else {
        return Vec::new();
    };
    let Some(first) = key.parts.first() else {
        return Vec::new();
    };
    let pre_split: &[&str] = match table.dialect {
        Dialect::Ydb => &["uniform_partitions", "partition_at_keys"],
        Dialect::Cockroach => &["split at"],
        Dialect::Mysql => &["pre_split_regions"],
        Dialect::Postgres | Dialect::Spanner => return Vec::new(),
    };
    let begun = pre_split.iter().any(|name| table.setting(name).is_some())
        || table
            .number("auto_partitioning_min_partitions_count")
            .unwrap_or(1)
            > 1;
    // CockroachDB splits at its own buckets, and TiDB beforehand only for numbers of its own.
    let by_itself = table.dialect == Dialect::Cockroach && key.hash.is_some();
    let drawn = table
        .column_of(first)
        .is_some_and(|column| column.written.counts.is_some());
    let elsewhere = table.dialect == Dialect::Mysql && !drawn;
    if begun || by_itself || elsewhere || is_column_store(table) || !is_spread(table, key) {
        return Vec::new();
    }
    let message = format!(
        "the key of `{}` is spread, but the table begins as one partition",
        table.name
    );
    let (help, edits) = pre_split_edits(table);
    let finding = Finding::new(
        "KEY010",
        Severity::Note,
        &table.name,
        table.name_span,
        message,
    )
    .label("one partition at first")
    .why(format!(
        "until the first splits all writes go to one partition: peak share 1.0 of 1, where \
             {PARTITIONS} partitions \
             from the start give {:.3}",
        0.125
    ))
    .help(help)
    .edits(edits);
    vec![finding]
}

fn pre_split_edits(table: &Table) -> (String, Vec<Edit>) {
    let first = table.key().and_then(|key| key.parts.first());
    let column = first.and_then(|part| table.column_of(part));
    let kind = column
        .map(|column| column.written.type_name.as_str())
        .unwrap_or_default();
    let is_uuid = column.is_some_and(|column| column.class == Class::Uuid);
    match table.dialect {
        Dialect::Ydb if matches!(kind, "uint64" | "uint32") => (
            format!("begin with {PARTITIONS} equal partitions"),
            vec![set_option(
                table,
                "UNIFORM_PARTITIONS",
                &PARTITIONS.to_string(),
            )],
        ),
        Dialect::Ydb => (
            "name the bounds of its first partitions with PARTITION_AT_KEYS".to_owned(),
            Vec::new(),
        ),
        Dialect::Mysql => (
            "split it beforehand, into 2 to the power of 3 partitions".to_owned(),
            vec![insert(table.written.body.end, " PRE_SPLIT_REGIONS = 3")],
        ),
        _ if is_uuid => {
            let bounds: Vec<String> = (1..PARTITIONS)
                .map(|part| format!("('{:x}0000000-0000-0000-0000-000000000000')", part * 2))
                .collect();
            let split = format!(
                ";\nALTER TABLE {} SPLIT AT VALUES {}",
                table_name(table),
                bounds.join(", ")
            );
            (
                "split it right after it is made".to_owned(),
                vec![insert(table.statement.end, split)],
            )
        }
        _ => (
            "split it at its buckets right after it is made: ALTER TABLE … SPLIT AT VALUES …"
                .to_owned(),
            Vec::new(),
        ),
    }
}

pub(super) fn is_column_store(table: &Table) -> bool {
    table
        .setting("store")
        .is_some_and(|store| store.value.eq_ignore_ascii_case("column"))
}

pub(crate) fn key012(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    if table.dialect != Dialect::Ydb || is_column_store(table) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let by_load = table.setting("auto_partitioning_by_load");
    let on = by_load.is_some_and(|setting| setting.value.eq_ignore_ascii_case("enabled"));
    let by_default = source.ours && by_load.is_none();
    if !on && !by_default {
        let (severity, span, label) = match by_load {
            Some(setting) => (Severity::Warning, setting.value_span, "switched off"),
            None => (Severity::Note, table.name_span, "YDB leaves it off"),
        };
        let message = format!("`{}` is not split by load", table.name);
        findings.push(
            Finding::new("KEY012", severity, &table.name, span, message)
                .label(label)
                .why(
                    "a partition is split when it holds 2 GB, not when it is busy: until then a \
                     small hot table stays in \
                     one partition, on one core, peak share 1.0",
                )
                .help(match source.ours {
                    true => "let partitions split that are busy",
                    false => "let YDB split partitions that are busy",
                })
                .edits(vec![set_option(
                    table,
                    "AUTO_PARTITIONING_BY_LOAD",
                    "ENABLED",
                )]),
        );
    }
    findings.extend(limit(table));
    findings
}

/// A limit of partitions that is reached from the beginning.
fn limit(table: &Table) -> Option<Finding> {
    let setting = table.setting("auto_partitioning_max_partitions_count")?;
    let max = table.number("auto_partitioning_max_partitions_count")?;
    // One key more than bounds; a bound of several columns has parentheses of its own.
    let split_keys = table.setting("partition_at_keys").map(|keys| {
        let tuples = keys.value.matches('(').count().saturating_sub(1);
        if tuples > 0 {
            tuples + 1
        } else {
            keys.value.matches(',').count() + 2
        }
    });
    let begun = [
        table.number("auto_partitioning_min_partitions_count"),
        table.number("uniform_partitions"),
        split_keys.and_then(|count| u64::try_from(count).ok()),
        Some(1),
    ];
    let begun = begun.into_iter().flatten().max().unwrap_or(1);
    if max == 0 || max > begun {
        return None;
    }
    let higher = LOAD_PARTITIONS_MAX.max(begun.saturating_mul(5));
    let message = format!(
        "`{}` may not have more partitions than it begins with",
        table.name
    );
    let finding = Finding::new(
        "KEY012",
        Severity::Warning,
        &table.name,
        setting.value_span,
        message,
    )
    .label(format!("it begins with {begun}"))
    .why("a partition that becomes busy cannot be split any more, by load or by size up to 2 GB")
    .help("leave room above, and keep the least number at about what there is in quiet times")
    .edits(vec![set_option(
        table,
        "AUTO_PARTITIONING_MAX_PARTITIONS_COUNT",
        &higher.to_string(),
    )]);
    Some(finding)
}
