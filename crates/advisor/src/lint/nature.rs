//! What the values of a column are like: growing, spread, few, skewed; as far as a schema tells.
//!
//! Types, defaults and expressions are facts. Names are guesses, taken only where a type says too
//! little: YDB has no word for a number that the application counts up.

use super::model::{Class, Column, Order, Table};
use syntax::schema::{Dialect, Part, Text};

/// Why the values of a column grow with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// The database counts.
    Counter,
    /// It is a time or date.
    Time,
    /// It is a UUID or word that begins with the time.
    TimeFirst,
    /// Its name says that it is a time, kept as a number.
    TimeNumber,
    /// Its name says that it is the number of the row, which the application may count up.
    OwnNumber,
}

impl Growth {
    /// Whether it is read from a name alone.
    pub(crate) fn is_guess(self) -> bool {
        matches!(self, Self::TimeNumber | Self::OwnNumber)
    }

    /// What it is, after the name of the column.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Counter => "counts up",
            Self::Time => "is a time and only grows",
            Self::TimeFirst => "begins with the time it was made and so only grows",
            Self::TimeNumber => "looks like a time kept as a number and so only grows",
            Self::OwnNumber => "looks like a number that is counted up",
        }
    }
}

/// Functions whose numbers come one after another.
const COUNTERS: &[&str] = &["nextval", "unique_rowid"];
/// Functions that make UUIDs and words which begin with the time.
const TIME_FIRST: &[&str] = &[
    "uuidv7",
    "uuid_v7",
    "uuid7",
    "uuid_generate_v7",
    "gen_random_uuid_v7",
    "generate_uuid_v7",
    "newv7",
    "uuid_generate_v1",
    "uuid_generate_v1mc",
    "gen_ulid",
    "gen_random_ulid",
    "generate_ulid",
    "ulid",
    "ksuid",
    "gen_ksuid",
];
/// Functions that tell the time.
const CLOCKS: &[&str] = &[
    "now",
    "current_timestamp",
    "localtimestamp",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "unix_timestamp",
    "current_date",
    "pending_commit_timestamp",
    "currentutctimestamp",
    "currentutcdatetime",
];
/// Functions whose values are anywhere in their range.
const RANDOM: &[&str] = &[
    "gen_random_uuid",
    "uuid_generate_v4",
    "generate_uuid",
    "uuid_v4",
    "uuidv4",
    "random",
    "rand",
    "newv4",
    "get_next_sequence_value",
];
/// Functions that mix their input.
const HASHES: &[&str] = &[
    "hash",
    "hashtext",
    "hashtextextended",
    "hashint4",
    "hashint8",
    "hashint8extended",
    "md5",
    "sha1",
    "sha2",
    "sha256",
    "sha512",
    "crc32",
    "crc32c",
    "crc32ieee",
    "fnv32",
    "fnv32a",
    "fnv64",
    "fnv64a",
    "farm_fingerprint",
    "murmurhash",
    "cityhash",
    "cityhash64",
    "inthash64",
    "xxh3",
    "numerichash",
    "digest",
    "bit_reverse",
    "reverse",
];
/// Functions that cut a time down to its hour, day or month.
const TIME_CUTS: &[&str] = &[
    "date_trunc",
    "date_bin",
    "time_bucket",
    "timestamp_trunc",
    "datetime_trunc",
    "trunc",
    "extract",
    "date",
    "date_format",
    "to_char",
    "to_days",
    "year",
    "month",
    "day",
    "hour",
    "dayofyear",
    "week",
    "yearweek",
    "format_timestamp",
    "format_date",
    "floor",
    "div",
    "startofday",
    "startofweek",
    "startofmonth",
    "unix_seconds",
    "experimental_strftime",
];
const TIME_NAMES: &[&str] = &[
    "ts",
    "timestamp",
    "time",
    "datetime",
    "epoch",
    "created",
    "updated",
    "at",
    "when",
];
const TIME_ENDINGS: &[&str] = &["_at", "_ts", "_time", "_timestamp", "_epoch", "_ms", "_us"];
const BUCKET_NAMES: &[&str] = &[
    "day",
    "hour",
    "week",
    "month",
    "minute",
    "year",
    "yyyymm",
    "yyyymmdd",
    "year_month",
    "time_bucket",
    "date_bucket",
    "ts_bucket",
    "bucket_time",
    "bucket_ts",
    "bucket_date",
    "event_date",
    "date_key",
    "partition_date",
];
const BUCKET_ENDINGS: &[&str] = &["_day", "_hour", "_week", "_month", "_minute", "_yyyymmdd"];
const FEW_NAMES: &[&str] = &[
    "status",
    "state",
    "type",
    "kind",
    "category",
    "gender",
    "sex",
    "country",
    "country_code",
    "region",
    "region_code",
    "currency",
    "level",
    "priority",
    "severity",
    "active",
    "enabled",
    "deleted",
    "env",
    "environment",
    "zone",
    "language",
    "lang",
    "locale",
    "channel",
    "platform",
    "stage",
];
const FEW_BEGINNINGS: &[&str] = &["is_", "has_"];
const FEW_ENDINGS: &[&str] = &["_status", "_state", "_type", "_kind", "_flag"];
const SKEWED_NAMES: &[&str] = &[
    "tenant",
    "org",
    "organization",
    "organisation",
    "company",
    "workspace",
    "project",
    "merchant",
    "shop",
    "store",
    "app",
    "site",
    "source",
];
pub(crate) const SPREAD_NAMES: &[&str] = &["bucket", "shard", "salt"];

fn lower(column: &Column) -> String {
    column.written.name.value.to_ascii_lowercase()
}

fn named(name: &str, names: &[&str], endings: &[&str]) -> bool {
    names.contains(&name) || endings.iter().any(|ending| name.ends_with(ending))
}

pub(crate) fn calls(text: &Text, functions: &[&str]) -> bool {
    text.words
        .iter()
        .any(|word| functions.contains(&word.to_ascii_lowercase().as_str()))
}

/// Why a column grows with time, if it does.
pub(crate) fn growth(table: &Table, column: &Column) -> Option<Growth> {
    let (written, name) = (&column.written, lower(column));
    if written.generated.is_some() {
        return None;
    }
    if let Some(counts) = written.counts {
        return (!counts.spread).then_some(Growth::Counter);
    }
    if written.type_name.contains("serial") {
        return Some(Growth::Counter);
    }
    if let Some(default) = &written.default {
        if calls(default, COUNTERS) {
            return Some(Growth::Counter);
        }
        if calls(default, TIME_FIRST) {
            return Some(Growth::TimeFirst);
        }
        // MySQL swaps the parts of a UUID so that its time comes first.
        if calls(default, &["uuid_to_bin"]) && default.text.contains("1)") {
            return Some(Growth::TimeFirst);
        }
        if calls(default, CLOCKS) {
            return Some(Growth::Time);
        }
        if calls(default, RANDOM) || calls(default, &["uuid"]) {
            return None;
        }
    }
    if is_time_first_name(&name) && !(table.dialect == Dialect::Ydb && column.class == Class::Uuid)
    {
        return Some(Growth::TimeFirst);
    }
    match column.class {
        Class::Time | Class::Date if !name.contains("birth") => Some(Growth::Time),
        Class::Int if named(&name, TIME_NAMES, TIME_ENDINGS) => Some(Growth::TimeNumber),
        Class::Int if is_own_number(&table.name, &name) => Some(Growth::OwnNumber),
        _ => None,
    }
}

/// Whether a name says that a UUID or word begins with the time.
pub(crate) fn is_time_first_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["uuidv7", "uuid_v7", "uuid7", "ulid", "ksuid"]
        .iter()
        .any(|word| {
            name == *word
                || name.ends_with(&format!("_{word}"))
                || name.starts_with(&format!("{word}_"))
        })
}

/// Whether a column is the number of the table's own rows: `id`, or `order_id` of `orders`.
fn is_own_number(table: &str, column: &str) -> bool {
    const OWN: &[&str] = &[
        "id",
        "seq",
        "seqno",
        "seq_no",
        "sequence",
        "sequence_number",
        "number",
        "no",
        "offset",
        "counter",
    ];
    if OWN.contains(&column) {
        return true;
    }
    let table = table
        .rsplit('/')
        .next()
        .unwrap_or(table)
        .to_ascii_lowercase();
    let singular = table.strip_suffix("ies").map(|stem| format!("{stem}y"));
    let singular = singular
        .or_else(|| table.strip_suffix('s').map(str::to_owned))
        .unwrap_or_else(|| table.clone());
    let stem = ["_id", "id", "_no", "_number", "_seq"]
        .iter()
        .find_map(|ending| column.strip_suffix(ending));
    stem.is_some_and(|stem| stem == singular || stem == table)
}

/// Whether a column has few different values.
pub(crate) fn is_few(column: &Column) -> bool {
    let name = lower(column);
    match column.class {
        Class::Bool | Class::Enum => true,
        _ if column.written.generated.is_some() || is_spread_name(&name) => false,
        Class::Byte => true,
        Class::Text if column.bytes_max.is_some_and(|bytes| bytes <= 8) => true,
        Class::Text | Class::Int | Class::Bytes => {
            named(&name, FEW_NAMES, FEW_ENDINGS)
                || FEW_BEGINNINGS
                    .iter()
                    .any(|beginning| name.starts_with(beginning))
        }
        _ => false,
    }
}

/// Whether a column is likely to have a few values that most rows share.
pub(crate) fn is_skewed(column: &Column) -> bool {
    let name = lower(column);
    let stem = name.strip_suffix("_id").or_else(|| name.strip_suffix("id"));
    SKEWED_NAMES.contains(&stem.unwrap_or(&name))
}

/// Whether a name says that a column is there to spread rows.
pub(crate) fn is_spread_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if BUCKET_NAMES.contains(&name.as_str()) {
        return false;
    }
    name.ends_with("hash")
        || name.starts_with("hash")
        || name
            .split('_')
            .any(|word| SPREAD_NAMES.contains(&word) || word == "hash")
}

/// Whether an expression mixes what it is computed from, or takes it modulo something.
pub(crate) fn is_mixing(text: &Text) -> bool {
    calls(text, HASHES) || calls(text, &["mod"]) || text.text.contains('%')
}

/// Whether an expression hashes.
pub(crate) fn is_hash(text: &Text) -> bool {
    calls(text, HASHES)
}

/// The columns of the table that an expression is computed from.
pub(crate) fn sources<'t>(table: &'t Table, text: &Text) -> Vec<&'t Column> {
    let mut found: Vec<&Column> = Vec::new();
    for column in text.words.iter().filter_map(|word| table.column(word)) {
        let known = |other: &&Column| other.written.name.value == column.written.name.value;
        if !found.iter().any(known) {
            found.push(column);
        }
    }
    found
}

/// What the first part of a key or index is computed by, if it is: in place, or at the column.
pub(crate) fn computed<'t>(table: &'t Table, part: &'t Part) -> Option<&'t Text> {
    match &part.column {
        Some(_) => table.column_of(part)?.written.generated.as_ref(),
        None => Some(&part.text),
    }
}

/// Whether a column is the hour, day or month of a time.
pub(crate) fn is_time_cut(table: &Table, part: &Part) -> bool {
    if let Some(text) = computed(table, part) {
        let timed = sources(table, text)
            .iter()
            .any(|column| growth(table, column).is_some_and(|growth| growth != Growth::OwnNumber));
        return timed && !is_mixing(text) && (calls(text, TIME_CUTS) || text.text.contains('/'));
    }
    table.column_of(part).is_some_and(|column| {
        let fits = matches!(
            column.class,
            Class::Int | Class::Byte | Class::Text | Class::Bytes | Class::Date | Class::Time
        );
        fits && named(&lower(column), BUCKET_NAMES, BUCKET_ENDINGS)
    })
}

/// Whether the rows of an order are spread over its whole range by its first part.
pub(crate) fn is_spread(table: &Table, order: &Order) -> bool {
    if order.hash.is_some() {
        return true;
    }
    let Some(first) = order.parts.first() else {
        return false;
    };
    if let Some(text) = computed(table, first) {
        return is_mixing(text);
    }
    table.column_of(first).is_some_and(|column| {
        is_spread_name(&lower(column)) || is_random(column) && growth(table, column).is_none()
    })
}

/// Whether the values of a column are anywhere in their range.
pub(crate) fn is_random(column: &Column) -> bool {
    let written = &column.written;
    written.counts.is_some_and(|counts| counts.spread)
        || written
            .default
            .as_ref()
            .is_some_and(|default| calls(default, RANDOM))
        || column.class == Class::Uuid && !is_time_first_name(&lower(column))
}

/// Whether a name says that a column holds a number or a time.
pub(crate) fn is_number_or_time_name(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "date", "day", "month", "year", "number", "num", "seq", "seqno", "sequence", "version",
        "amount", "price", "count", "age", "rank", "score", "position", "offset", "line",
    ];
    const ENDINGS: &[&str] = &[
        "_date", "_no", "_num", "_number", "_day", "_month", "_year", "_seq", "_count", "_version",
    ];
    let name = name.to_ascii_lowercase();
    named(&name, NAMES, ENDINGS) || named(&name, TIME_NAMES, TIME_ENDINGS)
}

/// Whether a name says that a column holds large content.
pub(crate) fn is_content_name(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "body",
        "content",
        "contents",
        "payload",
        "blob",
        "file",
        "image",
        "photo",
        "picture",
        "video",
        "audio",
        "attachment",
        "document",
        "html",
        "raw",
        "raw_data",
        "data",
        "archive",
    ];
    const ENDINGS: &[&str] = &[
        "_body",
        "_content",
        "_payload",
        "_blob",
        "_file",
        "_image",
        "_html",
        "_data",
        "_document",
    ];
    named(&name.to_ascii_lowercase(), NAMES, ENDINGS)
}
