//! The names of the dialects, and which of them a text is written in.

use syntax::schema::Dialect;

/// The dialects by the names that people type.
const NAMES: &[(&str, Dialect)] = &[
    ("ydb", Dialect::Ydb),
    ("yql", Dialect::Ydb),
    ("postgres", Dialect::Postgres),
    ("postgresql", Dialect::Postgres),
    ("cockroach", Dialect::Cockroach),
    ("cockroachdb", Dialect::Cockroach),
    ("spanner", Dialect::Spanner),
    ("mysql", Dialect::Mysql),
    ("tidb", Dialect::Mysql),
];

/// The dialect of a name.
pub fn dialect_named(name: &str) -> Option<Dialect> {
    let found = NAMES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, dialect)| *dialect)
}

/// The name of a dialect.
pub fn dialect_name(dialect: Dialect) -> &'static str {
    let found = NAMES.iter().find(|(_, known)| *known == dialect);
    found.map_or("postgres", |(name, _)| name)
}

/// Words that only one dialect has, in lower case, with how much each of them says.
const SIGNS: &[(&str, Dialect, usize)] = &[
    ("auto_increment", Dialect::Mysql, 4),
    ("auto_random", Dialect::Mysql, 4),
    ("engine", Dialect::Mysql, 2),
    ("shard_row_id_bits", Dialect::Mysql, 4),
    ("unsigned", Dialect::Mysql, 3),
    ("tinyint", Dialect::Mysql, 2),
    ("mediumtext", Dialect::Mysql, 3),
    ("longtext", Dialect::Mysql, 3),
    ("longblob", Dialect::Mysql, 3),
    ("utf8mb4", Dialect::Mysql, 4),
    ("datetime", Dialect::Mysql, 1),
    ("utf8", Dialect::Ydb, 4),
    ("uint64", Dialect::Ydb, 4),
    ("uint32", Dialect::Ydb, 4),
    ("uint8", Dialect::Ydb, 4),
    ("jsondocument", Dialect::Ydb, 4),
    ("auto_partitioning_by_load", Dialect::Ydb, 4),
    ("uniform_partitions", Dialect::Ydb, 4),
    ("upsert", Dialect::Ydb, 1),
    ("int64", Dialect::Spanner, 3),
    ("float64", Dialect::Spanner, 4),
    ("interleave", Dialect::Spanner, 4),
    ("null_filtered", Dialect::Spanner, 4),
    ("allow_commit_timestamp", Dialect::Spanner, 4),
    ("unique_rowid", Dialect::Cockroach, 4),
    ("bucket_count", Dialect::Cockroach, 3),
    ("storing", Dialect::Cockroach, 2),
];

/// The dialect that a text is most likely written in: PostgreSQL's if nothing says otherwise.
pub fn guess(text: &str) -> Dialect {
    let lower = text.to_ascii_lowercase();
    let mut scores = [0_usize; 5];
    let mut add = |dialect: Dialect, points: usize| {
        if let Some(score) = scores.get_mut(place(dialect)) {
            *score += points;
        }
    };
    let words = lower.split(|char: char| !(char.is_ascii_alphanumeric() || char == '_'));
    for word in words {
        for (sign, dialect, points) in SIGNS {
            if *sign == word {
                add(*dialect, *points);
            }
        }
    }
    if lower.contains('`') {
        add(Dialect::Mysql, 1);
        add(Dialect::Ydb, 1);
    }
    if lower.contains("string(") {
        add(Dialect::Spanner, 6);
    }
    if lower.contains("using hash") {
        add(Dialect::Cockroach, 4);
    }
    if lower.contains("index") && lower.contains(" global ") {
        add(Dialect::Ydb, 3);
    }
    let squeezed: String = lower.split_whitespace().collect();
    if squeezed.contains(")primarykey(") {
        add(Dialect::Spanner, 6);
    }
    let order = [
        Dialect::Postgres,
        Dialect::Ydb,
        Dialect::Cockroach,
        Dialect::Spanner,
        Dialect::Mysql,
    ];
    let score = |dialect: Dialect| scores.get(place(dialect)).copied().unwrap_or(0);
    // Of equals the first wins.
    order
        .into_iter()
        .rev()
        .max_by_key(|dialect| score(*dialect))
        .unwrap_or(Dialect::Postgres)
}

fn place(dialect: Dialect) -> usize {
    match dialect {
        Dialect::Postgres => 0,
        Dialect::Ydb => 1,
        Dialect::Cockroach => 2,
        Dialect::Spanner => 3,
        Dialect::Mysql => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::guess;
    use syntax::schema::Dialect;

    #[test]
    fn dialects_are_known_by_their_words() {
        for (text, dialect) in [
            (
                "CREATE TABLE t (id bigserial PRIMARY KEY)",
                Dialect::Postgres,
            ),
            (
                "CREATE TABLE `a/b` (id Uint64, PRIMARY KEY (id))",
                Dialect::Ydb,
            ),
            (
                "CREATE TABLE t (id Int64 NOT NULL, s Utf8, PRIMARY KEY (id))",
                Dialect::Ydb,
            ),
            (
                "CREATE TABLE t (id INT8 DEFAULT unique_rowid())",
                Dialect::Cockroach,
            ),
            (
                "CREATE TABLE t (at TIMESTAMP, PRIMARY KEY (at) USING HASH)",
                Dialect::Cockroach,
            ),
            (
                "CREATE TABLE t (id INT64 NOT NULL) PRIMARY KEY (id)",
                Dialect::Spanner,
            ),
            (
                "CREATE TABLE t (s STRING(MAX)) PRIMARY KEY (s)",
                Dialect::Spanner,
            ),
            (
                "CREATE TABLE `t` (`id` bigint NOT NULL AUTO_INCREMENT)",
                Dialect::Mysql,
            ),
            ("SELECT 1", Dialect::Postgres),
        ] {
            assert_eq!(guess(text), dialect, "{text}");
        }
    }
}
