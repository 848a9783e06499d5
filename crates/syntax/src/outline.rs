//! What texts have in common that differ in their literals only, and those literals.
//!
//! ```text
//!   SELECT v FROM t WHERE id = 7 AND kind = 'a';
//!   SELECT v FROM t WHERE id = $1 AND kind = $2        the shape
//!                              7             'a'       the literals
//! ```
//!
//! Clients that do not prepare send the same few statements again and again, with other values written
//! into them. The shape is a statement by itself: whoever has read it once need not read the next text
//! that has it. One look at each byte finds it, which takes a hundredth of the time of reading a tree.
//!
//! The look knows where literals begin and end and nothing else, so it is timid: whatever might not
//! mean what it seems to mean (comments, `$`, suffixes, strings with a letter in front) has no outline.
//! That a literal can be a parameter where it stands, as it cannot in `varchar(3)`, is found out by
//! reading the shape.

use std::borrow::Cow;
use std::fmt::Write as _;

/// How long a text with an outline may be.
pub const OUTLINED_BYTES_MAX: usize = 4 << 10;

/// Statements that are run often, by their first words.
const FIRST_WORDS: [&str; 6] = ["select", "insert", "update", "delete", "upsert", "replace"];

/// Behind these a minus before digits is a sign; elsewhere it may subtract.
pub(crate) const BEFORE_SIGN: &[u8] = b"=<>(,+-*/%|";

/// A text as its shape and its literals.
#[derive(Debug, PartialEq, Eq)]
pub struct Outline<'t> {
    /// The text with `$1`, `$2`, … in place of its literals.
    pub shape: String,
    /// The literals, in their order.
    pub literals: Vec<Literal<'t>>,
}

/// A literal that is written without a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal<'t> {
    /// Digits, perhaps with a sign, a point and an exponent.
    Number(&'t str),
    /// What stands between quotes.
    Text(Cow<'t, str>),
}

/// The outline of a text that is one statement with literals; `None` if it is anything else, or if it is
/// not certain what its literals are.
pub fn outline(text: &str) -> Option<Outline<'_>> {
    let text = text.trim();
    let text = text.strip_suffix(';').map_or(text, str::trim_end);
    let first = text.find(|letter: char| !letter.is_ascii_alphabetic());
    let first = text.get(..first.unwrap_or(text.len()))?;
    let often = |word: &&str| first.eq_ignore_ascii_case(word);
    if text.len() > OUTLINED_BYTES_MAX || !FIRST_WORDS.iter().any(often) {
        return None;
    }
    let mut look = Look {
        text,
        at: 0,
        before: b' ',
        outline: Outline {
            shape: String::with_capacity(text.len() + 16),
            literals: Vec::new(),
        },
    };
    while look.at < text.len() {
        look.step()?;
    }
    Some(look.outline).filter(|outline| !outline.literals.is_empty())
}

/// A look along a text.
struct Look<'t> {
    text: &'t str,
    at: usize,
    /// The last byte that was no space.
    before: u8,
    outline: Outline<'t>,
}

impl<'t> Look<'t> {
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(b' ')
    }

    /// Takes a word, a name in quotes, a literal or a sign.
    fn step(&mut self) -> Option<()> {
        let start = self.at;
        let (this, next) = (self.byte(start), self.byte(start + 1));
        match this {
            b'\'' => self.string(),
            b'0'..=b'9' => self.number(start),
            b'-' if next.is_ascii_digit() && BEFORE_SIGN.contains(&self.before) => {
                // Signs that touch may be one operator.
                let touched = start.checked_sub(1).map_or(b' ', |last| self.byte(last));
                if !(touched.is_ascii_whitespace() || matches!(touched, b'(' | b',')) {
                    return None;
                }
                self.at += 1;
                self.number(start)
            }
            b'"' | b'`' => {
                let end = self.text.get(start + 1..)?.find(char::from(this))?;
                self.copy_to(start + end + 2)
            }
            _ if in_word(this) => {
                let mut end = start + 1;
                while in_word(self.byte(end)) {
                    end += 1;
                }
                // `E'…'`, `DATE'…'` and the like are no plain strings.
                match self.byte(end) {
                    b'\'' => None,
                    _ => self.copy_to(end),
                }
            }
            // `::` is a cast, and a colon alone is something else.
            b':' if next == b':' => self.copy_to(start + 2),
            b'-' if next == b'-' => None,
            b'/' if next == b'*' => None,
            b'.' if next.is_ascii_digit() => None,
            b'$' | b'?' | b':' | b';' | b'@' | b'#' | b'&' | b'\\' | b'^' | b'{' | b'[' => None,
            _ => self.copy_to(start + 1),
        }
    }

    /// Keeps what stands before this place.
    fn copy_to(&mut self, end: usize) -> Option<()> {
        let part = self.text.get(self.at..end)?;
        self.outline.shape.push_str(part);
        if let Some(last) = part.bytes().rfind(|byte| !byte.is_ascii_whitespace()) {
            self.before = last;
        }
        self.at = end;
        Some(())
    }

    /// Takes a number whose digits begin here, and whose sign or digits began at `start`.
    fn number(&mut self, start: usize) -> Option<()> {
        self.digits();
        if self.byte(self.at) == b'.' {
            self.at += 1;
            self.digits();
        }
        if matches!(self.byte(self.at), b'e' | b'E') {
            self.at += 1;
            if matches!(self.byte(self.at), b'+' | b'-') {
                self.at += 1;
            }
            if !self.byte(self.at).is_ascii_digit() {
                return None;
            }
            self.digits();
        }
        let next = self.byte(self.at);
        if in_word(next) || next == b'.' || next == b'\'' {
            return None;
        }
        let digits = self.text.get(start..self.at)?;
        self.lift(Literal::Number(digits))
    }

    fn digits(&mut self) {
        while self.byte(self.at).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// Takes a string; a quote in it is doubled.
    fn string(&mut self) -> Option<()> {
        let start = self.at + 1;
        let mut end = start;
        let mut doubled = false;
        loop {
            end += self.text.get(end..)?.find('\'')?;
            if self.byte(end + 1) != b'\'' {
                break;
            }
            doubled = true;
            end += 2;
        }
        self.at = end + 1;
        if in_word(self.byte(self.at)) {
            return None;
        }
        let written = self.text.get(start..end)?;
        self.lift(Literal::Text(match doubled {
            true => Cow::Owned(written.replace("''", "'")),
            false => Cow::Borrowed(written),
        }))
    }

    fn lift(&mut self, literal: Literal<'t>) -> Option<()> {
        self.outline.literals.push(literal);
        let number = self.outline.literals.len();
        self.before = b'0';
        write!(self.outline.shape, "${number}").ok()
    }
}

/// Whether a byte belongs to a word; those of letters outside of ASCII do.
fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The shape and the literals on one line.
    fn shown(text: &str) -> String {
        let Some(Outline { shape, literals }) = outline(text) else {
            return "none".to_owned();
        };
        let literals = literals.iter().map(|literal| match literal {
            Literal::Number(digits) => (*digits).to_owned(),
            Literal::Text(text) => format!("'{text}'"),
        });
        let literals: Vec<_> = literals.collect();
        format!("{shape} | {}", literals.join(" "))
    }

    #[test]
    fn literals_are_lifted_out() {
        for (text, outline) in [
            (
                " SELECT v FROM t WHERE id=7 ;",
                "SELECT v FROM t WHERE id=$1 | 7",
            ),
            (
                "INSERT INTO t1 VALUES (-1, 'it''s', 2.5e-3),(+4,'', .5)",
                "none",
            ),
            (
                "INSERT INTO t1 VALUES (-1, 'it''s', 2.5e-3),(+4,'')",
                "INSERT INTO t1 VALUES ($1, $2, $3),(+$4,$5) | -1 'it's' 2.5e-3 4 ''",
            ),
            (
                "select a -1, b - -2 from t",
                "select a -$1, b - $2 from t | 1 -2",
            ),
            (
                "UPDATE \"T 1\" SET n = n + -5",
                "UPDATE \"T 1\" SET n = n + $1 | -5",
            ),
            (
                "SELECT `a 1`, 3 FROM `b'2`",
                "SELECT `a 1`, $1 FROM `b'2` | 3",
            ),
            ("select 'ä'::text, 'é'", "select $1::text, $2 | 'ä' 'é'"),
            ("SELECT 'a\\b'", "SELECT $1 | 'a\\b'"),
        ] {
            assert_eq!(shown(text), outline, "{text}");
        }
    }

    #[test]
    fn what_is_not_certain_has_no_outline() {
        for text in [
            "",
            "COMMIT",
            "SELECT a FROM t",
            "SELECT 1; SELECT 2",
            "SELECT 1 -- one",
            "SELECT /* one */ 1",
            "SELECT $1",
            "SELECT $x",
            "SELECT 1ul",
            "SELECT 1.2.3",
            "SELECT 0x10",
            "SELECT 1e",
            "SELECT 'a'u",
            "SELECT E'a'",
            "SELECT 'open",
            "SELECT \"open",
            "SELECT ARRAY[1]",
            "SELECT x'00'",
            "CREATE TABLE t (id int)",
            "SELECT :name",
            "SELECT a FROM t WHERE a=-1",
        ] {
            assert_eq!(shown(text), "none", "{text}");
        }
        let long = format!("SELECT '{}'", "x".repeat(OUTLINED_BYTES_MAX));
        assert_eq!(shown(&long), "none");
    }

    /// A text with its literals put back is the text.
    fn restored(outline: &Outline<'_>) -> String {
        let mut text = String::new();
        let mut rest = outline.shape.as_str();
        for (at, literal) in outline.literals.iter().enumerate() {
            let (before, after) = rest.split_once(&format!("${}", at + 1)).unwrap();
            text.push_str(before);
            match literal {
                Literal::Number(digits) => text.push_str(digits),
                Literal::Text(written) => {
                    text.push_str(&format!("'{}'", written.replace('\'', "''")));
                }
            }
            rest = after;
        }
        text + rest
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "(?i:select) [a-z0-9 '\"`.,()=<>+*/%|eä:;$-]{0,40}") {
            if let Some(outline) = outline(&text) {
                let trimmed = text.trim();
                let trimmed = trimmed.strip_suffix(';').map_or(trimmed, str::trim_end);
                prop_assert_eq!(restored(&outline), trimmed);
            }
        }

        #[test]
        fn a_shape_has_the_fingerprint_of_its_texts(
            text in "select [a-z]( ?(=|,|-|[+]|<| and |[(]|[)]) ?(-?[0-9]{1,3}([.][0-9])?|'[a-z]*'|[a-z]|\"[a-z]\")){0,6}"
        ) {
            let Some(outline) = outline(&text) else { return Ok(()) };
            let (_, of_text) = crate::fingerprint(&text);
            let (_, of_shape) = crate::fingerprint(&outline.shape);
            prop_assert_eq!(of_text, of_shape);
        }
    }
}
