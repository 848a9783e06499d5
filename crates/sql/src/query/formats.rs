//! Formats of times as PostgreSQL writes them, as those that DataFusion knows.
//!
//! ```text
//!   to_char(t, 'YYYY-MM-DD HH24:MI:SS')      to_char(t, '%Y-%m-%d %H:%M:%S')
//! ```
//!
//! Parts that are numbers may be in any case; those that are words tell by their case how the word is
//! written. What is between double quotes is itself, and so is what is no part.

/// Parts that are numbers, the longer before those that they begin with.
const NUMBERS: &[(&str, &str)] = &[
    ("iyyy", "%G"),
    ("yyyy", "%Y"),
    ("yy", "%y"),
    ("ddd", "%j"),
    ("dd", "%d"),
    ("hh24", "%H"),
    ("hh12", "%I"),
    ("hh", "%I"),
    ("iw", "%V"),
    ("id", "%u"),
    ("mm", "%m"),
    ("mi", "%M"),
    ("ms", "%3f"),
    ("us", "%6f"),
    ("ss", "%S"),
];

/// The same without zeros or blanks in front.
const BARE: &[(&str, &str)] = &[
    ("dd", "%-d"),
    ("hh24", "%-H"),
    ("hh12", "%-I"),
    ("hh", "%-I"),
    ("mm", "%-m"),
    ("mi", "%-M"),
    ("ss", "%-S"),
    ("yyyy", "%-Y"),
];

/// Parts that are words.
const WORDS: &[(&str, &str)] = &[
    ("FMMonth", "%B"),
    ("FMDay", "%A"),
    ("Mon", "%b"),
    ("Dy", "%a"),
    ("AM", "%p"),
    ("PM", "%p"),
    ("am", "%P"),
    ("pm", "%P"),
];

/// Parts that mean something in PostgreSQL and nothing here.
const OTHERS: &[&str] = &[
    "month", "mon", "day", "dy", "a.m.", "p.m.", "am", "pm", "a.d.", "b.c.", "ad", "bc", "sssss",
    "ssss", "y,yyy", "iyy", "iddd", "yyy", "iy", "ff", "tz", "of", "cc", "ww", "rm", "fm", "fx",
    "tm", "sp", "th", "y", "i", "d", "q", "w", "j",
];

/// The format of DataFusion; what it does not know if that is in it.
pub(super) fn understood(format: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        let bare = after(rest, "fm").and_then(|rest| numbered(rest, BARE));
        // A month that is filled up with blanks begins as a short one.
        let long = after(rest, "month").is_some();
        let mut words = WORDS.iter().filter(|_| !long);
        let word = words.find(|(word, _)| rest.starts_with(word));
        let found = word.map(|(word, meant)| (word.len(), *meant));
        let found = found.or(bare.map(|(length, meant)| (length + 2, meant)));
        if let Some((length, meant)) = found.or_else(|| numbered(rest, NUMBERS)) {
            out.push_str(meant);
            rest = rest.get(length..).unwrap_or_default();
            if after(rest, "th").is_some() {
                return Err("TH".to_owned());
            }
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let (text, behind) = quoted.split_once('"').unwrap_or((quoted, ""));
            out.push_str(&text.replace('%', "%%"));
            rest = behind;
        } else if let Some(other) = OTHERS.iter().find(|other| after(rest, other).is_some()) {
            return Err(rest.get(..other.len()).unwrap_or(other).to_owned());
        } else {
            match first {
                '%' => out.push_str("%%"),
                other => out.push(other),
            }
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    Ok(out)
}

/// The number that a format begins with: how long it is written, and what it means.
fn numbered(rest: &str, numbers: &[(&str, &'static str)]) -> Option<(usize, &'static str)> {
    let found = numbers.iter().find(|(part, _)| after(rest, part).is_some());
    found.map(|(part, meant)| (part.len(), *meant))
}

/// What follows a part in any case.
fn after<'r>(rest: &'r str, part: &str) -> Option<&'r str> {
    let (begin, behind) = rest.split_at_checked(part.len())?;
    begin.eq_ignore_ascii_case(part).then_some(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_translated_or_refused() {
        for (format, expected) in [
            ("YYYY-MM-DD HH24:MI:SS.MS", Ok("%Y-%m-%d %H:%M:%S.%3f")),
            ("yyyy\"T\"hh24", Ok("%YT%H")),
            ("FMDD. Mon YY, FMMonth", Ok("%-d. %b %y, %B")),
            ("HH12:MI AM", Ok("%I:%M %p")),
            ("IYYY-IW", Ok("%G-%V")),
            ("100%", Ok("100%%")),
            ("Month", Err("Month")),
            ("DDTH", Err("TH")),
            ("\"Q\"Q", Err("Q")),
        ] {
            let found = understood(format);
            let found = found.as_deref().map_err(String::as_str);
            assert_eq!(found, expected, "{format}");
        }
    }
}
