//! What PostgreSQL calls a type that is stored as one of ours, where that is not its usual name.
//!
//! Several types of PostgreSQL are stored alike, and clients read them differently. A column remembers
//! which of them it was declared as:
//!
//! ```text
//!   stored       travels as     declared as may be
//!   Utf8         text           varchar, varchar(n), char(n)
//!   Timestamp    timestamptz    timestamp, timestamp(p), timestamptz(p)
//!   Json         json           jsonb
//!   Decimal      numeric(p,s)   numeric, of what is computed: it has no digits of its own
//! ```
//!
//! `Timestamp` in exactly this spelling is YQL's, an instant; `timestamp` is PostgreSQL's.
//!
//! Blanks at the end of a `char(n)` mean nothing, so they are not stored, and values that are equal but
//! for them are equal as they are. Clients of PostgreSQL are sent values that are filled up with blanks,
//! as it does, by whoever speaks to them.

use std::fmt;

use crate::types::split_parameters;
use crate::{Type, Value};

/// The longest length that a character type may have, in characters.
pub const LENGTH_MAX: u32 = 10_485_760;

/// Digits after the second of the finest time.
pub const DIGITS_MAX: u8 = 6;

/// The first moment of 2000, from which PostgreSQL counts: what lies in the middle is rounded away from it.
const MIDDLE_US: i128 = 946_684_800_000_000;

/// What PostgreSQL adds to the length in a type's modifier: the size of a header.
const MODIFIER_BASE: u32 = 4;

/// PostgreSQL's type of something, if it is not the one that its storage type travels as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Declared {
    /// The usual one.
    #[default]
    Usual,
    /// `varchar`, with the most characters that it may have.
    Varchar(Option<u32>),
    /// `char(n)`, whose blanks at the end mean nothing.
    Char(Option<u32>),
    /// `timestamp`: a day and a time of day, wherever that may be, with the digits after its second.
    Timestamp(Option<u8>),
    /// `timestamptz` with so many digits after its second.
    Instant(u8),
    /// `jsonb`.
    Jsonb,
    /// `numeric` of any digits.
    Numeric,
}

/// What an assignment makes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit<'t> {
    /// It fits as it is.
    Whole,
    /// It fits without the blanks at its end.
    Cut(&'t str),
    /// It does not fit.
    TooLong,
}

impl Declared {
    /// What the name of a type declares. Names that are none declare nothing.
    pub fn parse(name: &str) -> Self {
        let written = name.trim();
        // YQL's own spelling of an instant.
        if written == "Timestamp" {
            return Self::Usual;
        }
        let Ok((name, parameters)) = split_parameters(&written.to_ascii_lowercase(), written)
        else {
            return Self::Usual;
        };
        let length = parameters.first().copied();
        match name.as_str() {
            "varchar" | "character varying" => Self::Varchar(length),
            // Without a length it is a single character; its other name has no limit.
            "char" | "character" => Self::Char(length.or(Some(1))),
            "bpchar" => Self::Char(length),
            "timestamp" | "timestamp without time zone" => Self::Timestamp(digits(length)),
            "timestamptz" | "timestamp with time zone" => {
                digits(length).map_or(Self::Usual, Self::Instant)
            }
            "jsonb" => Self::Jsonb,
            _ => Self::Usual,
        }
    }

    /// Whether something that is stored as this type may be declared so.
    pub fn fits(self, kind: Type) -> bool {
        match self {
            Self::Usual => true,
            Self::Varchar(_) | Self::Char(_) => kind == Type::Utf8,
            Self::Timestamp(_) | Self::Instant(_) => kind == Type::Timestamp,
            Self::Jsonb => kind == Type::Json,
            Self::Numeric => matches!(kind, Type::Decimal { .. }),
        }
    }

    /// The same if something that is stored as this type may be declared so.
    #[must_use]
    pub fn of(self, kind: Type) -> Self {
        if self.fits(kind) { self } else { Self::Usual }
    }

    /// PostgreSQL's number of the type; `None` for the usual one.
    pub fn oid(self) -> Option<u32> {
        match self {
            Self::Usual => None,
            Self::Varchar(_) => Some(1043),
            Self::Char(_) => Some(1042),
            Self::Timestamp(_) => Some(1114),
            Self::Instant(_) => Some(1184),
            Self::Jsonb => Some(3802),
            Self::Numeric => Some(1700),
        }
    }

    /// PostgreSQL's modifier of the type, -1 if there is none.
    pub fn modifier(self) -> i32 {
        if let Some(digits) = self.digits() {
            return i32::from(digits);
        }
        let length = self.length().and_then(|length| {
            let modifier = length.checked_add(MODIFIER_BASE)?;
            i32::try_from(modifier).ok()
        });
        length.unwrap_or(-1)
    }

    /// The most characters that a value may have.
    pub fn length(self) -> Option<u32> {
        match self {
            Self::Varchar(length) | Self::Char(length) => length,
            _ => None,
        }
    }

    /// Digits after the second that a value may have.
    pub fn digits(self) -> Option<u8> {
        match self {
            Self::Timestamp(digits) => digits,
            Self::Instant(digits) => Some(digits),
            _ => None,
        }
    }

    /// Whether an assignment has to look at values.
    pub fn limits(self) -> bool {
        matches!(self, Self::Varchar(Some(_)) | Self::Char(_)) || self.digits().is_some()
    }

    /// What something is that was computed of it: lengths and digits do not stay.
    #[must_use]
    pub fn computed(self) -> Self {
        match self {
            Self::Timestamp(_) => Self::Timestamp(None),
            Self::Jsonb => Self::Jsonb,
            // What is one of several characters of a length is of that length.
            Self::Char(length) => Self::Char(length),
            _ => Self::Usual,
        }
    }

    /// How many blanks follow a text where all values are of one length.
    pub fn blanks(self, text: &str) -> usize {
        let Self::Char(Some(length)) = self else {
            return 0;
        };
        let length = usize::try_from(length).unwrap_or_default();
        length.saturating_sub(text.chars().count())
    }

    /// Whether every value of the other is one of this as it is.
    pub fn admits(self, other: Self) -> bool {
        if let Some(digits) = self.digits() {
            return digits >= other.digits().unwrap_or(DIGITS_MAX);
        }
        match (self, other) {
            (new, _) if !new.limits() => true,
            (Self::Varchar(Some(new)), Self::Varchar(Some(old)) | Self::Char(Some(old)))
            | (Self::Char(Some(new)), Self::Char(Some(old))) => new >= old,
            (new, old) => new == old,
        }
    }

    /// What an assignment makes of a text: too many blanks are cut off, and nothing else.
    pub fn fit(self, text: &str) -> Fit<'_> {
        let trimmed = match self {
            Self::Char(_) => text.trim_end_matches(' '),
            _ => text,
        };
        let (kept, rest) = self.split(trimmed);
        match rest.trim_start_matches(' ').is_empty() {
            false => Fit::TooLong,
            true if kept.len() == text.len() => Fit::Whole,
            true => Fit::Cut(kept),
        }
    }

    /// What an explicit cast reads of a text: it is cut to its length, and a time up to its zone.
    pub fn cut(self, text: &str) -> &str {
        let (kept, _) = self.split(text);
        match self {
            Self::Char(_) => kept.trim_end_matches(' '),
            Self::Timestamp(_) => without_zone(text),
            _ => kept,
        }
    }

    /// What an explicit cast makes of a value of the type that it is stored as.
    #[must_use]
    pub fn taken(self, value: Value) -> Value {
        match value {
            Value::Utf8(text) if self.limits() => match self.cut(&text) {
                kept if kept.len() == text.len() => Value::Utf8(text),
                kept => Value::from(kept),
            },
            Value::Timestamp(us) => Value::Timestamp(self.round(us)),
            whole => whole,
        }
    }

    /// A moment in microseconds with as many digits after its second as there may be.
    pub fn round(self, us: i64) -> i64 {
        let Some(digits) = self.digits().filter(|digits| *digits < DIGITS_MAX) else {
            return us;
        };
        let unit = 10_i128.pow(u32::from(DIGITS_MAX - digits));
        let away = i128::from(us) - MIDDLE_US;
        let units = (away.abs() + unit / 2) / unit;
        // The very last moments cannot be rounded up.
        i64::try_from(units * unit * away.signum() + MIDDLE_US).unwrap_or(us)
    }

    /// As many characters as there may be, and the rest.
    fn split(self, text: &str) -> (&str, &str) {
        let length = self
            .length()
            .and_then(|length| usize::try_from(length).ok());
        let end = length
            // Bytes are never fewer than characters.
            .filter(|length| text.len() > *length)
            .and_then(|length| text.char_indices().nth(length))
            .map_or(text.len(), |(at, _)| at);
        text.split_at_checked(end).unwrap_or((text, ""))
    }
}

/// As many digits as a time may have; more than there are, are all of them, as in PostgreSQL.
fn digits(parameter: Option<u32>) -> Option<u8> {
    parameter.map(|digits| u8::try_from(digits).map_or(DIGITS_MAX, |digits| digits.min(DIGITS_MAX)))
}

/// The text of a time up to its zone, which says nothing about a time without one.
fn without_zone(text: &str) -> &str {
    // Signs before the time of day belong to the date.
    let Some(time) = text.find(':') else {
        return text;
    };
    let zone = text
        .get(time..)
        .and_then(|rest| rest.find(['+', '-', 'Z', 'z']));
    let kept = zone.and_then(|zone| text.get(..time + zone));
    kept.filter(|_| !text.trim_end().ends_with("BC"))
        .map_or(text, str::trim_end)
}

/// PostgreSQL's short name; nothing for the usual type.
impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Usual => "",
            Self::Varchar(_) => "varchar",
            Self::Char(Some(_)) => "char",
            Self::Char(None) => "bpchar",
            Self::Timestamp(_) => "timestamp",
            Self::Instant(_) => "timestamptz",
            Self::Jsonb => "jsonb",
            Self::Numeric => "numeric",
        })?;
        match self.length().or(self.digits().map(u32::from)) {
            Some(length) => write!(f, "({length})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_printed() {
        for (name, declared, printed) in [
            ("varchar(20)", Declared::Varchar(Some(20)), "varchar(20)"),
            ("CHARACTER VARYING", Declared::Varchar(None), "varchar"),
            ("char", Declared::Char(Some(1)), "char(1)"),
            ("bpchar", Declared::Char(None), "bpchar"),
            ("TIMESTAMP(3)", Declared::Timestamp(Some(3)), "timestamp(3)"),
            (
                "timestamp(0) with time zone",
                Declared::Instant(0),
                "timestamptz(0)",
            ),
            ("timestamptz(9)", Declared::Instant(6), "timestamptz(6)"),
            (
                "timestamp without time zone",
                Declared::Timestamp(None),
                "timestamp",
            ),
            ("timestamptz", Declared::Usual, ""),
            ("timestamp with time zone", Declared::Usual, ""),
            ("Timestamp", Declared::Usual, ""),
            ("JSONB", Declared::Jsonb, "jsonb"),
            ("json", Declared::Usual, ""),
            ("text", Declared::Usual, ""),
        ] {
            assert_eq!(Declared::parse(name), declared, "{name}");
            assert_eq!(declared.to_string(), printed);
            assert!(declared.fits(Type::parse(name).unwrap()), "{name}");
            if declared != Declared::Usual {
                assert_eq!(Declared::parse(printed), declared);
            }
        }
    }

    #[test]
    fn an_assignment_cuts_blanks_only_and_a_cast_cuts_all() {
        let (varchar, char) = (Declared::Varchar(Some(3)), Declared::Char(Some(3)));
        for (declared, text, fit, cut) in [
            (varchar, "äöü", Fit::Whole, "äöü"),
            (varchar, "ab   ", Fit::Cut("ab "), "ab "),
            (varchar, "abcd", Fit::TooLong, "abc"),
            (varchar, "ab  c", Fit::TooLong, "ab "),
            (char, "ab", Fit::Whole, "ab"),
            (char, "ab   ", Fit::Cut("ab"), "ab"),
            (char, "abcd", Fit::TooLong, "abc"),
            (Declared::Char(None), "abcd  ", Fit::Cut("abcd"), "abcd"),
            (Declared::Varchar(None), "abcd  ", Fit::Whole, "abcd  "),
            (
                Declared::Timestamp(None),
                "2024-02-29 12:00:00.5+02:00",
                Fit::Whole,
                "2024-02-29 12:00:00.5",
            ),
            (
                Declared::Timestamp(None),
                "2024-02-29T12:00Z",
                Fit::Whole,
                "2024-02-29T12:00",
            ),
            (
                Declared::Timestamp(None),
                "2024-02-29",
                Fit::Whole,
                "2024-02-29",
            ),
        ] {
            assert_eq!(declared.fit(text), fit, "{declared} {text:?}");
            assert_eq!(declared.cut(text), cut, "{declared} {text:?}");
        }
    }

    #[test]
    fn only_characters_of_one_length_are_filled_up() {
        for (declared, text, blanks) in [
            (Declared::Char(Some(4)), "ab", 2),
            (Declared::Char(Some(4)), "äöü", 1),
            (Declared::Char(Some(2)), "abc", 0),
            (Declared::Char(None), "ab", 0),
            (Declared::Varchar(Some(4)), "ab", 0),
            (Declared::Usual, "ab", 0),
        ] {
            assert_eq!(declared.blanks(text), blanks, "{declared} {text:?}");
        }
    }

    #[test]
    fn moments_are_rounded_away_from_the_middle() {
        let middle = i64::try_from(MIDDLE_US).unwrap();
        for (declared, us, rounded) in [
            (
                Declared::Timestamp(None),
                middle + 123_456,
                middle + 123_456,
            ),
            (
                Declared::Timestamp(Some(6)),
                middle + 123_456,
                middle + 123_456,
            ),
            (
                Declared::Timestamp(Some(3)),
                middle + 123_456,
                middle + 123_000,
            ),
            (Declared::Instant(3), middle + 123_500, middle + 124_000),
            (Declared::Instant(3), middle - 123_500, middle - 124_000),
            (Declared::Instant(0), middle - 499_999, middle),
            (Declared::Instant(0), i64::MAX, i64::MAX),
        ] {
            assert_eq!(declared.round(us), rounded, "{declared} {us}");
            assert_eq!(declared.round(rounded), rounded, "{declared} {us}");
        }
    }
}
