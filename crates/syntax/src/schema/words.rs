//! The words that statements begin with: of those that shape tables, of those that are passed over, and
//! the rest, which are mistakes.
//!
//! `CREATE TABL t (…)` is not a statement that shapes no table: somebody misspelt it, and whoever passes
//! it over has not looked at the table. So what follows CREATE, ALTER and DROP must be known too.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::Dialect;
use crate::error::{Error, Result};
use crate::span::{Position, Span};
use crate::tokens::{bare_word, is_word, span_of};

/// How many letters may be wrong in a word that is guessed at.
const WRONG_LETTERS_MAX: usize = 2;

/// Statements that shape no table, by their first word.
const PASSED_OVER: &[&str] = &[
    "abort",
    "alter",
    "analyze",
    "assert",
    "backup",
    "batch",
    "begin",
    "call",
    "cancel",
    "checkpoint",
    "close",
    "cluster",
    "comment",
    "commit",
    "configure",
    "copy",
    "create",
    "deallocate",
    "declare",
    "define",
    "delete",
    "desc",
    "describe",
    "discard",
    "do",
    "drop",
    "end",
    "evaluate",
    "execute",
    "explain",
    "export",
    "fetch",
    "flush",
    "from",
    "grant",
    "graph",
    "import",
    "insert",
    "inspect",
    "kill",
    "listen",
    "load",
    "lock",
    "merge",
    "move",
    "notify",
    "optimize",
    "pause",
    "pragma",
    "prepare",
    "process",
    "reassign",
    "reduce",
    "refresh",
    "reindex",
    "release",
    "rename",
    "replace",
    "reset",
    "restore",
    "resume",
    "return",
    "revoke",
    "rollback",
    "savepoint",
    "security",
    "select",
    "set",
    "show",
    "split",
    "start",
    "table",
    "truncate",
    "unlisten",
    "unlock",
    "update",
    "upsert",
    "use",
    "vacuum",
    "values",
    "with",
];

/// Those of MySQL and TiDB besides; what bodies of routines are made of is among them, which end a
/// statement at each semicolon where nobody says DELIMITER.
const PASSED_OVER_MYSQL: &[&str] = &[
    "admin",
    "binlog",
    "cache",
    "case",
    "change",
    "check",
    "checksum",
    "clone",
    "delimiter",
    "else",
    "elseif",
    "flashback",
    "get",
    "handler",
    "help",
    "if",
    "install",
    "iterate",
    "leave",
    "loop",
    "open",
    "plan",
    "purge",
    "query",
    "recover",
    "repair",
    "repeat",
    "resignal",
    "shutdown",
    "signal",
    "stop",
    "trace",
    "uninstall",
    "until",
    "while",
    "xa",
];

/// Statements of which the strict grammar knows all that there is.
const CHECKED: &[&str] = &["select", "insert", "upsert", "replace", "update", "delete"];

/// What may stand between CREATE and TABLE or INDEX.
const CREATE_WORDS: &[&str] = &[
    "or",
    "replace",
    "unique",
    "null_filtered",
    "global",
    "local",
    "temporary",
    "temp",
    "unlogged",
];

/// What CREATE, ALTER and DROP are about besides tables and indexes, by the first word of it.
const KINDS: &[&str] = &[
    "access",
    "aggregate",
    "algorithm",
    "assertion",
    "async",
    "backup",
    "binding",
    "cast",
    "change",
    "changefeed",
    "collation",
    "collection",
    "column",
    "columnar",
    "constraint",
    "conversion",
    "database",
    "default",
    "definer",
    "domain",
    "event",
    "extension",
    "external",
    "foreign",
    "fulltext",
    "function",
    "functions",
    "graph",
    "group",
    "instance",
    "inverted",
    "job",
    "language",
    "large",
    "locality",
    "logfile",
    "logical",
    "materialized",
    "model",
    "object",
    "online",
    "operator",
    "owned",
    "partition",
    "placement",
    "policy",
    "prepare",
    "privilege",
    "procedural",
    "procedure",
    "property",
    "proto",
    "publication",
    "range",
    "recursive",
    "resource",
    "role",
    "rollup",
    "routine",
    "row",
    "rule",
    "schedule",
    "schema",
    "search",
    "secret",
    "sequence",
    "server",
    "session",
    "spatial",
    "sql",
    "statistics",
    "stats",
    "streaming",
    "subscription",
    "synonym",
    "system",
    "tables",
    "tablespace",
    "tablestore",
    "tenant",
    "text",
    "topic",
    "transfer",
    "transform",
    "trigger",
    "trusted",
    "type",
    "undo",
    "user",
    "vector",
    "view",
    "virtual",
    "workload",
];

fn words(tokens: &[TokenWithSpan], most: usize) -> Vec<String> {
    let words = tokens.iter().map_while(|token| bare_word(&token.token));
    let words = words.take(most).map(|word| word.value.to_ascii_lowercase());
    words.collect()
}

fn first_word(tokens: &[TokenWithSpan]) -> Option<String> {
    words(tokens, 1).pop()
}

/// Whether the strict grammar is to read a statement too.
pub(super) fn is_checked(tokens: &[TokenWithSpan]) -> bool {
    first_word(tokens).is_some_and(|word| CHECKED.contains(&word.as_str()))
}

/// Whether a query has a form that YDB has and neither this database nor PostgreSQL: a lambda, a call
/// of what a call gives, columns left out, rows made of lists, windows of time.
pub(super) fn is_only_yql(tokens: &[TokenWithSpan]) -> bool {
    const WORDS: &[&str] = &["flatten", "without", "hop", "process", "reduce", "sample"];
    let pairs = tokens.iter().zip(tokens.iter().skip(1));
    let mut forms = pairs.map(|(token, next)| {
        let follows = next.token == Token::LParen;
        token.token == Token::Arrow && next.token == Token::LBrace
            || token.token == Token::RParen && follows
            || WORDS.iter().any(|word| is_word(Some(token), word))
    });
    forms.any(|found| found)
}

/// An error if a second statement begins within one that shapes a table: a semicolon is missing.
pub(super) fn check_one(text: &str, tokens: &[TokenWithSpan]) -> Result<()> {
    const BEGINNINGS: &[[&str; 2]] = &[
        ["create", "table"],
        ["create", "index"],
        ["create", "unique"],
        ["alter", "table"],
        ["insert", "into"],
    ];
    let pairs = tokens.iter().zip(tokens.iter().skip(1)).enumerate();
    for (at, (first, second)) in pairs.skip(1) {
        let begins =
            |[one, other]: &[&str; 2]| is_word(Some(first), one) && is_word(Some(second), other);
        if BEGINNINGS.iter().any(begins) {
            return Err(unexpected(
                text,
                tokens,
                at,
                "`;` before the next statement".to_owned(),
            ));
        }
    }
    Ok(())
}

/// Whether a statement makes or alters a table or index.
pub(super) fn shapes_table(tokens: &[TokenWithSpan]) -> bool {
    let words = words(tokens, 6);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.split_first() {
        Some((&"alter", [second, ..])) => *second == "table",
        Some((&"create", rest)) => rest
            .iter()
            .find(|word| !CREATE_WORDS.contains(word))
            .is_some_and(|word| matches!(*word, "table" | "index")),
        _ => false,
    }
}

/// An error unless a statement that shapes no table is one that somebody knows.
pub(super) fn check(text: &str, tokens: &[TokenWithSpan], dialect: Dialect) -> Result<()> {
    let words = words(tokens, 6);
    let Some(first) = words.first() else {
        // `$x = …` names something in YQL, and a query may begin with a parenthesis.
        return Ok(());
    };
    let is_known = PASSED_OVER.contains(&first.as_str())
        || dialect == Dialect::Mysql && PASSED_OVER_MYSQL.contains(&first.as_str());
    if !is_known {
        let near = nearest(first, PASSED_OVER);
        let expected = near.map_or_else(|| "a statement".to_owned(), str::to_uppercase);
        return Err(unexpected(text, tokens, 0, expected));
    }
    if !matches!(first.as_str(), "create" | "alter" | "drop") {
        return Ok(());
    }
    let about = words.iter().enumerate().skip(1);
    let mut about = about.skip_while(|(_, word)| CREATE_WORDS.contains(&word.as_str()));
    let (at, word) = match about.next() {
        Some((at, word)) => (at, word.as_str()),
        None => (words.len(), ""),
    };
    // Both are shaped by statements of their own, but DROP TABLE is none of them.
    let shaped = ["table", "index"];
    if shaped.contains(&word) || KINDS.contains(&word) {
        return Ok(());
    }
    let near = nearest(word, &shaped);
    let near = near.or_else(|| nearest(word, CREATE_WORDS));
    let near = near.or_else(|| nearest(word, KINDS));
    let expected = match near {
        Some(near) => near.to_uppercase(),
        None => format!("what to {}, such as TABLE or INDEX", first.to_uppercase()),
    };
    Err(unexpected(text, tokens, at, expected))
}

fn unexpected(text: &str, tokens: &[TokenWithSpan], at: usize, expected: String) -> Error {
    let token = tokens.get(at).map(|token| Span::from(token.span));
    let (start, found) = match token {
        Some(span) => (span.start, format!("`{}`", span.slice(text))),
        None => (span_of(tokens).end, "the end of the statement".to_owned()),
    };
    Error::Unexpected {
        at: Position::find(text, start),
        expected,
        found,
    }
}

/// The known word that one was most likely meant to be; of two that are as near, the one as long.
pub(super) fn nearest(word: &str, known: &[&'static str]) -> Option<&'static str> {
    let wrong = |known: &str| (wrong_letters(word, known), word.len().abs_diff(known.len()));
    let near = known.iter().copied().min_by_key(|known| wrong(known))?;
    // A short word is all wrong soon.
    let most = WRONG_LETTERS_MAX.min(word.len() / 2);
    (wrong(near).0 <= most).then_some(near)
}

/// How many letters must be put in, left out or changed to make one word the other.
fn wrong_letters(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut before = at;
        let mut left = at + 1;
        for (cell, meant) in row.iter_mut().skip(1).zip(other.chars()) {
            let changed = before + usize::from(letter != meant);
            before = *cell;
            left = changed.min(*cell + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_guessed_by_their_letters() {
        for (one, other, wrong) in [
            ("table", "table", 0),
            ("tabl", "table", 1),
            ("tabel", "table", 2),
            ("", "table", 5),
            ("table", "", 5),
            ("index", "table", 5),
        ] {
            assert_eq!(wrong_letters(one, other), wrong, "{one} {other}");
        }
        assert_eq!(nearest("tabl", &["index", "table"]), Some("table"));
        assert_eq!(nearest("dorp", &["do", "drop"]), Some("drop"));
        assert_eq!(nearest("x", &["or"]), None);
    }
}
