//! Findings as a compiler prints them.
//!
//! ```text
//!   warning[KEY001]: the primary key of `orders` begins with `order_id`, which …
//!     --> schema.sql:2:5
//!      |
//!    5 |     PRIMARY KEY (order_id)
//!      |                  ^^^^^^^^ counts up
//!      |
//!      = why: all inserts go to the last partition: …
//!      = help: …
//!      |
//!      |  CREATE TABLE orders ( …
//! ```

use std::fmt::Write;

use super::{Error, Finding, Position, Span};

/// Columns that a tab stands for in what is printed.
const TAB: &str = "    ";

/// A finding as text.
pub fn finding(path: &str, text: &str, finding: &Finding) -> String {
    let mut page = String::new();
    let at = Position::find(text, finding.span.start);
    let margin = digits(at.line);
    // Writing to a string cannot fail.
    let _ = writeln!(
        page,
        "{}[{}]: {}",
        finding.severity, finding.code, finding.message
    );
    let _ = writeln!(page, "{margin}--> {path}:{}:{}", at.line, at.column);
    excerpt(&mut page, text, finding.span, &finding.label);
    for (title, said) in [("why", &finding.why), ("help", &finding.help)] {
        if !said.is_empty() {
            let _ = writeln!(page, "{margin} = {title}: {said}");
        }
    }
    if let Some(rewritten) = &finding.rewritten {
        let _ = writeln!(page, "{margin} |");
        for line in rewritten.lines() {
            let _ = writeln!(page, "{}", format!("{margin} |  {line}").trim_end());
        }
    }
    page
}

/// A text that cannot be read, as text.
pub fn error(path: &str, text: &str, error: &Error) -> String {
    let mut page = String::new();
    let at = error.position();
    let said = error.to_string();
    // The place is printed in its own line.
    let message = said.strip_prefix(&format!("{at}: ")).unwrap_or(&said);
    let _ = writeln!(page, "error: {message}");
    let _ = writeln!(
        page,
        "{}--> {path}:{}:{}",
        digits(at.line),
        at.line,
        at.column
    );
    let rest = text.get(at.offset..).unwrap_or_default();
    let word = rest.find(|char: char| !(char.is_alphanumeric() || char == '_'));
    let length = word.unwrap_or(rest.len()).max(1);
    excerpt(
        &mut page,
        text,
        Span::new(at.offset, at.offset + length),
        "this statement is skipped",
    );
    page
}

/// As many blanks as a line number has digits.
fn digits(line: usize) -> String {
    " ".repeat(line.to_string().len())
}

/// The line of a place with the place underlined; of several lines the first.
fn excerpt(page: &mut String, text: &str, span: Span, label: &str) {
    let at = Position::find(text, span.start);
    let before = text.get(..at.offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(line_start..).unwrap_or_default();
    let line = line.lines().next().unwrap_or_default();
    let indent = text.get(line_start..at.offset).unwrap_or_default();
    let end = span.end.min(line_start + line.len()).max(at.offset);
    let marked = text.get(at.offset..end).unwrap_or_default();
    let margin = digits(at.line);
    let width = |part: &str| part.replace('\t', TAB).chars().count();
    let _ = writeln!(page, "{margin} |");
    let _ = writeln!(page, "{} | {}", at.line, line.replace('\t', TAB).trim_end());
    let carets = "^".repeat(width(marked).max(1));
    let under = format!("{margin} | {}{carets} {label}", " ".repeat(width(indent)));
    let _ = writeln!(page, "{}", under.trim_end());
    let _ = writeln!(page, "{margin} |");
}
