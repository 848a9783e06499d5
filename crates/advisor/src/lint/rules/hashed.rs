//! KEY006: a hash whose source is not in the key, or that the application must compute by hand.
//! KEY007: a hash of the whole key, so that rows of one user lose their order and place.

use syntax::schema::{Dialect, Part};

use crate::lint::finding::Severity;
use crate::lint::model::{Class, Column, Order, Table};
use crate::lint::nature::{
    SPREAD_NAMES, calls, computed, growth, is_few, is_hash, is_mixing, is_spread_name, sources,
};
use crate::lint::rewrite::{insert, parts, replace, set_parts};
use crate::lint::{Edit, Finding, Source, Span};

use super::growing::quoted;

pub(crate) fn key006(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    let Some(key) = table.key() else {
        return Vec::new();
    };
    let Some(first) = key.parts.first() else {
        return Vec::new();
    };
    let finding = match computed(table, first) {
        Some(text) if is_mixing(text) => {
            let missing: Vec<&Column> = sources(table, text)
                .into_iter()
                .filter(|column| !has(key, column))
                .collect();
            (!missing.is_empty()).then(|| without_source(source.text, table, key, &missing))
        }
        Some(_) => None,
        None => plain(source.text, table, key, first),
    };
    finding.into_iter().collect()
}

fn has(key: &Order, column: &Column) -> bool {
    let name = &column.written.name.value;
    key.names()
        .iter()
        .any(|other| other.eq_ignore_ascii_case(name))
}

fn without_source(text: &str, table: &Table, key: &Order, missing: &[&Column]) -> Finding {
    let first = key
        .parts
        .first()
        .map(|part| part.text.span)
        .unwrap_or_default();
    let names: Vec<String> = missing
        .iter()
        .map(|column| format!("`{}`", column.written.name.value))
        .collect();
    let names = names.join(", ");
    let message = format!(
        "the key of `{}` begins with a hash of {names}, which the key does not hold",
        table.name
    );
    let mut all = parts(key);
    all.extend(missing.iter().map(|column| quoted(column)));
    Finding::new("KEY006", Severity::Warning, &table.name, first, message)
        .label("a hash without its source")
        .why(
            "two sources with one hash are one row: the second INSERT fails and an UPSERT \
             overwrites the first; of 64-bit \
             hashes 5 billion make a collision as likely as not, of 16 buckets the 17th row does \
             for certain",
        )
        .help(format!("put {names} behind the hash"))
        .edits(set_parts(text, table, key, &all))
}

/// A leading column that is called a hash or bucket and that nothing computes.
fn plain(text: &str, table: &Table, key: &Order, first: &Part) -> Option<Finding> {
    let column = table.column_of(first)?;
    let name = column.written.name.value.as_str();
    if !is_spread_name(name) || column.written.counts.is_some() {
        return None;
    }
    let origin = match stem(name) {
        // What it is a hash of is elsewhere, as of a file or of a token that nobody keeps.
        Some(stem) => named_after(table, &stem)?,
        // A bucket of whatever stands behind it, if anything does.
        None => table.column_of(key.parts.get(1)?)?,
    };
    if !has(key, origin) {
        return Some(without_source(text, table, key, &[origin]));
    }
    if table.dialect == Dialect::Ydb || column.written.default.is_some() {
        return None;
    }
    let message = format!(
        "the application must compute `{name}` of `{}` by hand",
        table.name
    );
    Some(
        Finding::new(
            "KEY006",
            Severity::Warning,
            &table.name,
            column.written.span,
            message,
        )
        .label("nothing computes it")
        .why(
            "a writer that computes it otherwise, or leaves it out, makes rows that lookups \
                 miss; every reader has to \
                 repeat the formula",
        )
        .help("let the database compute it")
        .edits(compute(table, column, origin)),
    )
}

/// What the name of a hash says it is a hash of: `order` of `order_hash`; nothing of `bucket_no`.
fn stem(name: &str) -> Option<String> {
    const OWN: &[&str] = &["id", "key", "no", "num", "number", "value", "code", "of"];
    let name = name.to_ascii_lowercase();
    let words = name.split('_').filter(|word| {
        let is_own = SPREAD_NAMES.contains(word) || *word == "hash" || OWN.contains(word);
        !is_own && !word.is_empty()
    });
    let stem = words.collect::<Vec<_>>().join("_");
    let stem = ["hash", "bucket", "shard"]
        .iter()
        .find_map(|ending| stem.strip_suffix(ending))
        .or_else(|| stem.strip_prefix("hash"))
        .unwrap_or(&stem);
    (!stem.is_empty()).then(|| stem.to_owned())
}

/// The column that a hash is named after: `order_id` of `order`.
fn named_after<'t>(table: &'t Table, stem: &str) -> Option<&'t Column> {
    ["_id", "id", "", "_uuid"]
        .iter()
        .find_map(|ending| table.column(&format!("{stem}{ending}")))
}

/// Makes a column that the database computes from another.
fn compute(table: &Table, column: &Column, source: &Column) -> Vec<Edit> {
    let name = quoted(source);
    let written = &column.written;
    let (at, text) = match (table.dialect, source.class) {
        (Dialect::Postgres, Class::Int) => (
            written.span.end,
            format!(" GENERATED ALWAYS AS (hashint8({name})) STORED"),
        ),
        (Dialect::Postgres, Class::Text) => (
            written.span.end,
            format!(" GENERATED ALWAYS AS (hashtext({name})) STORED"),
        ),
        (Dialect::Postgres, Class::Uuid) => (
            written.span.end,
            format!(" GENERATED ALWAYS AS (uuid_hash({name})) STORED"),
        ),
        (Dialect::Cockroach, _) => (
            written.span.end,
            format!(" AS (fnv32({name}::STRING)) STORED"),
        ),
        (Dialect::Spanner, _) => (
            written.span.end,
            format!(" AS (FARM_FINGERPRINT(CAST({name} AS STRING))) STORED"),
        ),
        (Dialect::Mysql, _) => (written.type_span.end, format!(" AS (CRC32({name})) STORED")),
        _ => return Vec::new(),
    };
    vec![insert(at, text)]
}

pub(crate) fn key007(source: &Source<'_>, table: &Table) -> Vec<Finding> {
    let Some(key) = table.key() else {
        return Vec::new();
    };
    let Some(first) = key.parts.first() else {
        return Vec::new();
    };
    let finding = match key.hash {
        Some(hash) => hashed_by_database(source.text, table, key, hash),
        None => hashed_by_column(source.text, table, first),
    };
    finding.into_iter().collect()
}

/// USING HASH over a key that is spread by its first column already.
fn hashed_by_database(text: &str, table: &Table, key: &Order, hash: Span) -> Option<Finding> {
    let first = table.column_of(key.parts.first()?)?;
    if key.parts.len() < 2 || growth(table, first).is_some() || is_few(first) {
        return None;
    }
    let before = text.get(..hash.start)?.trim_end().len();
    let name = &first.written.name.value;
    let message = format!(
        "the whole key of `{}` is hashed, though it begins with `{name}`, which spreads it",
        table.name
    );
    Some(
        lost(table, hash, message, name)
            .help("leave USING HASH out: it is for keys that begin with what grows")
            .edits(vec![replace(Span::new(before, hash.end), "")]),
    )
}

/// A hash of several columns, of which one grows and another does not.
fn hashed_by_column(text: &str, table: &Table, first: &Part) -> Option<Finding> {
    let formula = computed(table, first)?;
    let columns = sources(table, formula);
    if !is_hash(formula) || columns.len() < 2 {
        return None;
    }
    let (growing, kept): (Vec<&Column>, Vec<&Column>) = columns
        .into_iter()
        .partition(|column| growth(table, column).is_some());
    let kept_first = kept.first()?;
    if growing.is_empty() {
        return None;
    }
    let name = &kept_first.written.name.value;
    let message = format!(
        "the key of `{}` begins with a hash of `{name}` and of what grows",
        table.name
    );
    let written = formula.span.slice(text);
    let narrowed = growing.iter().fold(written.to_owned(), |formula, column| {
        let column = quoted(column);
        formula
            .replacen(&format!("{column}, "), "", 1)
            .replacen(&format!(", {column}"), "", 1)
    });
    // Some functions take as many columns as their name says.
    let changed = narrowed != written && !calls(formula, &["farmhashfingerprint2"]);
    Some(
        lost(table, first.text.span, message, name)
            .help(format!(
                "hash `{name}` alone, and keep the rest behind it in its order"
            ))
            .edits(if changed {
                vec![replace(formula.span, narrowed)]
            } else {
                Vec::new()
            }),
    )
}

fn lost(table: &Table, span: Span, message: String, name: &str) -> Finding {
    Finding::new("KEY007", Severity::Note, &table.name, span, message)
        .label(format!("rows of one `{name}` lie anywhere"))
        .why(format!(
            "rows of one `{name}` lie in every partition, in no order: reading them takes all N \
             partitions instead of 1, \
             and a transaction over them is a multi-partition one"
        ))
}
