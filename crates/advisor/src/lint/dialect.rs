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
    ("charset", Dialect::Mysql, 3),
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
    ("locality", Dialect::Cockroach, 2),
];

/// Words before the name of a character set, which is no type: `DEFAULT CHARSET=utf8`.
const CHARSETS: &[&str] = &["charset", "collate", "encoding", "names", "set"];

/// The dialect that a text is most likely written in: PostgreSQL's if nothing says otherwise.
pub fn guess(text: &str) -> Dialect {
    let bare = without_strings(text);
    let lower = bare.to_ascii_lowercase();
    let mut scores = [0_usize; 5];
    let mut add = |dialect: Dialect, points: usize| {
        if let Some(score) = scores.get_mut(place(dialect)) {
            *score += points;
        }
    };
    add_words(&bare, &mut add);
    let squeezed: String = lower.split_whitespace().collect();
    let key_behind = squeezed.contains(")primarykey(");
    for (is_there, dialect, points) in [
        (lower.contains('`'), Dialect::Mysql, 1),
        (lower.contains('`'), Dialect::Ydb, 1),
        (lower.contains("string("), Dialect::Spanner, 6),
        (key_behind, Dialect::Spanner, 6),
        // YDB has this type too, and its keys stand among the columns.
        (!key_behind && lower.contains("int64"), Dialect::Ydb, 4),
        (lower.contains("using hash"), Dialect::Cockroach, 4),
        (lower.contains(":::"), Dialect::Cockroach, 6),
        (lower.contains("crdb_internal"), Dialect::Cockroach, 6),
        (
            lower.contains("index") && lower.contains(" global "),
            Dialect::Ydb,
            3,
        ),
    ] {
        if is_there {
            add(dialect, points);
        }
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

/// What the words of a text say.
fn add_words(text: &str, add: &mut impl FnMut(Dialect, usize)) {
    let words = text.split(|char: char| !(char.is_ascii_alphanumeric() || char == '_'));
    let mut before = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        // YDB's String is written so, and CockroachDB's in capitals or without any.
        match word {
            "String" => add(Dialect::Ydb, 2),
            "STRING" | "string" => add(Dialect::Cockroach, 2),
            _ => {}
        }
        let word = word.to_ascii_lowercase();
        let signs = SIGNS.iter().filter(|(sign, ..)| *sign == word);
        for (_, dialect, points) in signs.filter(|_| !CHARSETS.contains(&before.as_str())) {
            add(*dialect, *points);
        }
        before = word;
    }
}

/// The text without its strings and comments, apart from those that MySQL and TiDB read. A string
/// that no quote ends on its line ends with it.
fn without_strings(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hint = rest.starts_with("/*!") || rest.starts_with("/*T!");
        let end = if rest.starts_with("--") {
            rest.find('\n')
        } else if rest.starts_with("/*") && !hint {
            rest.find("*/").map(|at| at + 2)
        } else if first == '\'' {
            let close = rest.char_indices().skip(1);
            let mut close = close.filter(|(_, char)| matches!(char, '\'' | '\n'));
            close.next().map(|(at, _)| at + 1)
        } else {
            bare.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        };
        bare.push(' ');
        rest = rest.get(end.unwrap_or(rest.len())..).unwrap_or_default();
    }
    bare
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
            // What dumps say about characters, and what strings and comments say about anything.
            (
                "SET client_encoding = 'UTF8'; -- Uint64\n/* Utf8 */ CREATE TABLE t (id bigint)",
                Dialect::Postgres,
            ),
            (
                "/*!40101 SET NAMES utf8 */; CREATE TABLE `t` (`a` int) ENGINE=MyISAM DEFAULT CHARSET=utf8",
                Dialect::Mysql,
            ),
            (
                "CREATE TABLE t (id Int64 NOT NULL, s String, PRIMARY KEY (id))",
                Dialect::Ydb,
            ),
            (
                "CREATE TABLE t (id UUID DEFAULT gen_random_uuid(), s STRING NOT NULL, PRIMARY KEY (id))",
                Dialect::Cockroach,
            ),
        ] {
            assert_eq!(guess(text), dialect, "{text}");
        }
    }
}
