//! Lines of schema files that are no SQL: they are covered with blanks, so that all else stays where it
//! stands.
//!
//! ```text
//!   \connect shop                     psql's own commands, each a line
//!   COPY t (id) FROM stdin;           rows up to a line with \. alone
//!   1
//!   \.
//!   DELIMITER //                      the bodies of MySQL's routines, up to the next DELIMITER
//!   CREATE TRIGGER … END //
//!   DELIMITER ;
//! ```
//!
//! So is the mark of byte order that some editors write first, and rows that are too many to be read:
//! of a dump with its data only the tables matter.

use super::Dialect;

/// The mark of byte order.
const BYTE_ORDER: char = '\u{feff}';

/// Bytes from which on a statement with rows is not read.
const ROWS_BYTES_MIN: usize = 64 << 10;

/// The text with such lines covered; nothing if there are none.
pub(crate) fn cover(text: &str, dialect: Dialect) -> Option<String> {
    let may_hold = match dialect {
        Dialect::Mysql => contains(text, "delimiter"),
        Dialect::Spanner => false,
        _ => text.contains('\\'),
    };
    if !may_hold && !text.starts_with(BYTE_ORDER) && text.len() < ROWS_BYTES_MIN {
        return None;
    }
    let mut reader = Reader {
        covered: String::with_capacity(text.len()),
        rest: text,
        statement: text,
        dialect,
    };
    if text.starts_with(BYTE_ORDER) {
        reader.blank(BYTE_ORDER.len_utf8());
    }
    while !reader.rest.is_empty() {
        reader.step();
    }
    Some(reader.covered)
}

struct Reader<'t> {
    covered: String,
    rest: &'t str,
    /// From where the statement under way begins.
    statement: &'t str,
    dialect: Dialect,
}

impl Reader<'_> {
    fn step(&mut self) {
        let line_starts =
            self.covered.trim_end_matches(' ').is_empty() || self.covered.ends_with('\n');
        if line_starts && self.covers_line() {
            return;
        }
        let Some(first) = self.rest.chars().next() else {
            return;
        };
        let mysql = self.dialect == Dialect::Mysql;
        let length = opaque(self.rest, mysql).unwrap_or(first.len_utf8());
        self.keep(length);
        if first == ';' {
            let read = self.statement.len() - self.rest.len();
            let statement = self.statement.get(..read).unwrap_or_default();
            if read > ROWS_BYTES_MIN && holds_rows(statement) {
                self.covered.truncate(self.covered.len() - read);
                self.comment(statement);
            }
            self.statement = self.rest;
            if !mysql && copies_rows(statement) {
                self.cover_rows();
            }
        }
    }

    /// Puts a comment in the place of a stretch, which is one token where blanks are as many as bytes.
    /// What opens and closes it stands where no line ends.
    fn comment(&mut self, stretch: &str) {
        let blank = |byte: &u8| if *byte == b'\n' { '\n' } else { ' ' };
        let bytes = stretch.as_bytes();
        let is_free = |pair: &[u8]| pair.iter().all(|byte| *byte != b'\n');
        let opens = bytes.windows(2).position(is_free);
        let closes = bytes.windows(2).rposition(is_free);
        let (Some(opens), Some(closes)) = (opens, closes) else {
            return self.covered.extend(bytes.iter().map(blank));
        };
        for (at, byte) in bytes.iter().enumerate() {
            self.covered.push(match at {
                _ if at == opens || at == closes + 1 => '/',
                _ if at == opens + 1 || at == closes => '*',
                _ => blank(byte),
            });
        }
    }

    /// Covers the line that begins here if it is not SQL.
    fn covers_line(&mut self) -> bool {
        let line = line(self.rest);
        let trimmed = line.trim_start_matches([' ', '\t']);
        match self.dialect {
            Dialect::Spanner => false,
            Dialect::Ydb | Dialect::Postgres | Dialect::Cockroach => {
                let mut chars = trimmed.chars();
                let meta = chars.next() == Some('\\')
                    && chars
                        .next()
                        .is_some_and(|next| next.is_ascii_alphabetic() || ".!?".contains(next));
                if meta {
                    self.blank(line.len());
                }
                meta
            }
            Dialect::Mysql => {
                let Some(delimiter) = delimiter(trimmed) else {
                    return false;
                };
                self.blank(line.len());
                if delimiter != ";" {
                    while !self.rest.is_empty() && delimiter_of(self.rest).is_none() {
                        self.blank(self::line(self.rest).len());
                    }
                }
                true
            }
        }
    }

    /// Covers rows, and the line that ends them. What stands behind the semicolon is SQL.
    fn cover_rows(&mut self) {
        self.keep(line(self.rest).len());
        let rows = self.rest;
        while !self.rest.is_empty() {
            let row = line(self.rest);
            let last = row.trim_end() == "\\.";
            self.rest = self.rest.get(row.len()..).unwrap_or_default();
            if last {
                break;
            }
        }
        let bytes = rows.len() - self.rest.len();
        let covered = rows.get(..bytes).unwrap_or_default();
        if bytes > ROWS_BYTES_MIN {
            self.comment(covered);
        } else {
            self.rest = rows;
            self.blank(bytes);
        }
        self.statement = self.rest;
    }

    fn keep(&mut self, bytes: usize) {
        let (kept, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.covered.push_str(kept);
        self.rest = rest;
    }

    fn blank(&mut self, bytes: usize) {
        let (line, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        let blanks = line.bytes().map(|byte| match byte {
            b'\n' => '\n',
            _ => ' ',
        });
        self.covered.extend(blanks);
        self.rest = rest;
    }
}

/// The line that a text begins with, its end included.
fn line(text: &str) -> &str {
    text.split_inclusive('\n').next().unwrap_or_default()
}

fn delimiter_of(text: &str) -> Option<&str> {
    delimiter(line(text).trim_start_matches([' ', '\t']))
}

/// What a line makes the end of statements.
fn delimiter(line: &str) -> Option<&str> {
    let (word, rest) = line.split_at_checked("delimiter".len())?;
    let is_it = word.eq_ignore_ascii_case("delimiter") && rest.starts_with([' ', '\t']);
    is_it.then(|| rest.trim())
}

/// Whether a statement begins with a word for new rows; comments may stand before it.
fn holds_rows(statement: &str) -> bool {
    let mut rest = statement.trim_start();
    while rest.starts_with("--") || rest.starts_with("/*") {
        let length = opaque(rest, false).unwrap_or(rest.len());
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    let word = rest.split(|char: char| !char.is_ascii_alphabetic()).next();
    word.is_some_and(|word| {
        let known = ["insert", "replace", "upsert"];
        known.iter().any(|known| word.eq_ignore_ascii_case(known))
    })
}

/// Whether a statement says that rows follow it.
fn copies_rows(statement: &str) -> bool {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let is = |word: &str, known: &str| word.trim_end_matches(';').eq_ignore_ascii_case(known);
    let from_here =
        |pair: &[&str]| matches!(pair, [from, stdin] if is(from, "from") && is(stdin, "stdin"));
    // Comments may stand before it.
    let copy = words.iter().position(|word| is(word, "copy"));
    let words = copy.and_then(|at| words.get(at..)).unwrap_or_default();
    words.windows(2).any(from_here)
}

/// The length of a string, name or comment that a text begins with.
fn opaque(text: &str, mysql: bool) -> Option<usize> {
    for (open, close) in [("--", "\n"), ("/*", "*/")] {
        if let Some(inner) = text.strip_prefix(open) {
            let end = inner.find(close).map(|at| open.len() + at + close.len());
            // The end of a line is no part of the comment on it.
            return Some(end.map_or(text.len(), |end| end - usize::from(close == "\n")));
        }
    }
    match text.chars().next()? {
        '$' => {
            let tag = text.get(1..)?.find('$')?;
            let mark = text.get(..tag + 2)?;
            let named = mark.trim_matches('$').chars();
            let is_mark = named
                .clone()
                .all(|char| char.is_alphanumeric() || char == '_');
            let inner = text.get(mark.len()..).filter(|_| is_mark)?;
            let end = inner.find(mark).map(|at| at + 2 * mark.len());
            Some(end.unwrap_or(text.len()))
        }
        quote @ ('\'' | '"' | '`') => {
            let mut escaped = false;
            for (at, char) in text.char_indices().skip(1) {
                match char {
                    _ if escaped => escaped = false,
                    '\\' if mysql && quote != '`' => escaped = true,
                    _ if char == quote => return Some(at + 1),
                    _ => {}
                }
            }
            Some(text.len())
        }
        _ => None,
    }
}

fn contains(text: &str, word: &str) -> bool {
    let mut windows = text.as_bytes().windows(word.len());
    windows.any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(text: &str, dialect: Dialect) -> String {
        let covered = cover(text, dialect).unwrap_or_else(|| text.to_owned());
        assert_eq!(covered.len(), text.len(), "{text}");
        let ends = |text: &str| text.matches('\n').count();
        assert_eq!(ends(&covered), ends(text), "{text}");
        let lines = covered.lines().filter(|line| !line.trim().is_empty());
        lines.map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn commands_of_psql_and_copied_rows_go() {
        let text = "\\restrict x\nSET a = 1;\n  \\connect shop\nCOPY t (id, \"größe\") FROM stdin;\n\
                    1\tit's ü \\N\n;CREATE TABL\n\\.\nCREATE TABLE t (a text DEFAULT '\n\\d\n');\n\
                    SELECT $f$\n\\x\n$f$, $1, $a = $b; -- it's\n\\q";
        let left = "SET a = 1;\nCOPY t (id, \"größe\") FROM stdin;\nCREATE TABLE t (a text DEFAULT '\n\\d\n');\n\
                    SELECT $f$\n\\x\n$f$, $1, $a = $b; -- it's";
        assert_eq!(covered(text, Dialect::Postgres), left);
        // A copy from a file has no rows here, and rows that never end take the rest.
        let text = "COPY t FROM '/x' WITH (DELIMITER '\\');\nSELECT 1;";
        assert_eq!(covered(text, Dialect::Postgres), text);
        assert_eq!(
            covered("copy t from STDIN ;\n\\a\n1", Dialect::Postgres),
            "copy t from STDIN ;"
        );
    }

    #[test]
    fn rows_that_are_many_go_and_what_stands_around_them_stays() {
        let rows = "(1, 'it''s; \n odd'),\n".repeat(ROWS_BYTES_MIN / 8);
        let text = format!(
            "\u{feff}CREATE TABLE a (id int);\n-- all\nINSERT INTO a VALUES {rows}(2, 'x');\n\
             CREATE TABLE b (id int);\nCOPY a FROM stdin;\n1\n{}\\.\nSELECT 1;",
            "1\tü\n".repeat(ROWS_BYTES_MIN)
        );
        let covered = cover(&text, Dialect::Postgres).unwrap_or_default();
        assert_eq!(covered.len(), text.len());
        for found in ["CREATE TABLE b", "COPY a", "SELECT 1"] {
            assert_eq!(covered.find(found), text.find(found), "{found}");
            let lines = |text: &str| text.split(found).next().map(|part| part.lines().count());
            assert_eq!(lines(&covered), lines(&text), "{found}");
        }
        let left: String = covered.split_whitespace().collect();
        assert_eq!(
            left,
            "CREATETABLEa(idint);/**/CREATETABLEb(idint);COPYaFROMstdin;/**/SELECT1;"
        );
    }

    #[test]
    fn bodies_between_delimiters_go() {
        let text = "SELECT '\nDELIMITER x\\'';\ndelimiter $$\nCREATE TRIGGER x BEGIN SET a = 1; END $$\n\
                    DELIMITER ;\nSELECT 2;";
        assert_eq!(
            covered(text, Dialect::Mysql),
            "SELECT '\nDELIMITER x\\'';\nSELECT 2;"
        );
        assert_eq!(covered("DELIMITER //\nx; y", Dialect::Mysql), "");
        assert_eq!(covered("\\d\nSELECT 1", Dialect::Spanner), "\\d\nSELECT 1");
    }
}
