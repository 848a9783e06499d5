//! [`Ddl`]: the statements that give a table another key.
//!
//! A key cannot be changed in place: rows lie where their key says. So a second table is made, the
//! rows are copied, and the names are exchanged. Hashes and buckets are generated columns: those who
//! write do not name them, and those who read by what they are made of need not.

use super::key::{Function, Key, Part, column_name};
use crate::trace::{Column, Index, Table};

/// How to get a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ddl {
    /// The table with this key.
    pub create: String,
    /// The way there: statements to run after `create`, in this order.
    pub migrate: Vec<String>,
}

impl Ddl {
    /// For a key of a table.
    pub fn new(table: &Table, key: &Key) -> Self {
        let new = format!("{}_rekeyed", table.name);
        let names: Vec<String> = plain(table).map(|column| quoted(&column.name)).collect();
        let names = names.join(", ");
        let mut ddl = Self {
            create: create(table, key, &new),
            migrate: vec![
                format!(
                    "INSERT INTO {} ({names}) SELECT {names} FROM {};",
                    quoted(&new),
                    quoted(&table.name)
                ),
                format!("DROP TABLE {};", quoted(&table.name)),
                format!(
                    "ALTER TABLE {} RENAME TO {};",
                    quoted(&new),
                    quoted(&table.name)
                ),
            ],
        };
        let named = table.indexes.iter().filter(|index| !index.name.is_empty());
        ddl.migrate.extend(named.map(|one| index(table, one)));
        ddl
    }
}

/// The statement that makes an index anew.
fn index(table: &Table, index: &Index) -> String {
    let list = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        names.join(", ")
    };
    let unique = if index.unique { "UNIQUE " } else { "" };
    let cover = match index.cover.as_slice() {
        [] => String::new(),
        cover => format!(" INCLUDE ({})", list(cover)),
    };
    format!(
        "CREATE {unique}INDEX {} ON {} ({}){cover};",
        quoted(&index.name),
        quoted(&table.name),
        list(&index.columns)
    )
}

/// The columns that rows bring with them.
fn plain(table: &Table) -> impl Iterator<Item = &Column> {
    table
        .columns
        .iter()
        .filter(|column| column.generated.is_none())
}

fn create(table: &Table, key: &Key, name: &str) -> String {
    let mut lines = Vec::new();
    let (buckets, parts) = match key.parts.split_first() {
        Some((Part::Bucket { count, columns, .. }, rest)) if is_plain(rest, columns) => {
            (Some(*count), rest)
        }
        _ => (None, key.parts.as_slice()),
    };
    let mut names: Vec<String> = Vec::new();
    for part in parts {
        let (name, line) = part_line(table, part, &names);
        lines.extend(line);
        names.push(name);
    }
    for column in plain(table) {
        lines.push(column_line(column));
    }
    let quoted_names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    let using = match buckets {
        Some(count) => format!(" USING HASH WITH (bucket_count = {count})"),
        None => String::new(),
    };
    lines.push(format!("PRIMARY KEY ({}){using}", quoted_names.join(", ")));
    format!(
        "CREATE TABLE {} (\n    {}\n){};",
        quoted(name),
        lines.join(",\n    "),
        options(table)
    )
}

/// Whether these are plain columns, and the hashed ones.
fn is_plain(parts: &[Part], hashed: &[u16]) -> bool {
    let columns: Option<Vec<u16>> = parts
        .iter()
        .map(|part| match part {
            Part::Column(column) => Some(*column),
            _ => None,
        })
        .collect();
    columns.as_deref() == Some(hashed)
}

/// The name of a key's column, and its line if the table does not have it.
fn part_line(table: &Table, part: &Part, taken: &[String]) -> (String, Option<String>) {
    let free = |wanted: String| {
        let mut name = wanted;
        while taken.contains(&name) || plain(table).any(|column| column.name == name) {
            name.push('_');
        }
        name
    };
    let stem = |columns: &[u16]| {
        let name = columns
            .first()
            .map_or("row", |one| column_name(table, *one));
        name.strip_suffix("_id")
            .or_else(|| name.strip_suffix("id"))
            .filter(|stem| !stem.is_empty())
            .unwrap_or(name)
            .to_owned()
    };
    match part {
        Part::Column(column) => (column_name(table, *column).to_owned(), None),
        Part::Hash { columns, function } => {
            let stem = match columns.len() {
                1 => stem(columns),
                _ => "row".to_owned(),
            };
            let name = free(format!("{stem}_hash"));
            let line = format!(
                "{} Uint64 GENERATED ALWAYS AS ({}) STORED",
                quoted(&name),
                call(table, columns, *function)
            );
            (name, Some(line))
        }
        Part::Bucket {
            columns,
            function,
            count,
            kind,
        } => {
            let name = free(format!("{}_bucket", stem(columns)));
            let line = format!(
                "{} {kind} GENERATED ALWAYS AS ({} % {count}) STORED",
                quoted(&name),
                call(table, columns, *function)
            );
            (name, Some(line))
        }
        Part::Random { .. } => {
            let name = free("row_id".to_owned());
            let line = format!("{} Uuid NOT NULL DEFAULT gen_random_uuid()", quoted(&name));
            (name, Some(line))
        }
    }
}

fn call(table: &Table, columns: &[u16], function: Function) -> String {
    let names: Vec<String> = columns
        .iter()
        .map(|column| quoted(column_name(table, *column)))
        .collect();
    let function = match function {
        Function::Numeric => "Digest::NumericHash",
        Function::Values => "Hash",
    };
    format!("{function}({})", names.join(", "))
}

fn column_line(column: &Column) -> String {
    let null = if column.not_null { " NOT NULL" } else { "" };
    let counted = match column.counted {
        true => " GENERATED BY DEFAULT AS IDENTITY",
        false => "",
    };
    format!("{} {}{null}{counted}", quoted(&column.name), column.kind)
}

/// The options of the table that say when it splits.
fn options(table: &Table) -> String {
    let usual = partitions::decide::Settings::default();
    let settings = &table.settings;
    let mut options = Vec::new();
    if settings.by_size != usual.by_size {
        options.push("AUTO_PARTITIONING_BY_SIZE = DISABLED".to_owned());
    }
    if settings.by_load != usual.by_load {
        options.push("AUTO_PARTITIONING_BY_LOAD = DISABLED".to_owned());
    }
    if settings.partition_size_mib != usual.partition_size_mib {
        options.push(format!(
            "AUTO_PARTITIONING_PARTITION_SIZE_MB = {}",
            settings.partition_size_mib
        ));
    }
    if settings.partitions_min != usual.partitions_min {
        options.push(format!(
            "AUTO_PARTITIONING_MIN_PARTITIONS_COUNT = {}",
            settings.partitions_min
        ));
    }
    if let Some(most) = settings.partitions_max {
        options.push(format!("AUTO_PARTITIONING_MAX_PARTITIONS_COUNT = {most}"));
    }
    match options.is_empty() {
        true => String::new(),
        false => format!(" WITH ({})", options.join(", ")),
    }
}

/// A name as it can stand in SQL.
fn quoted(name: &str) -> String {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit())
        && name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
    match plain && !RESERVED.contains(&name) {
        true => name.to_owned(),
        false => format!("`{}`", name.replace('`', "``")),
    }
}

/// Words that are likely names of columns and are no names to a parser.
const RESERVED: [&str; 14] = [
    "all", "by", "desc", "end", "from", "group", "key", "limit", "offset", "order", "primary",
    "select", "table", "user",
];
