//! `-- evenkeel: allow KEY003 reason`: findings that a comment of the statement exempts.

use super::{Finding, Source};

/// Whether a comment of the finding's statement allows it.
pub(crate) fn is_allowed(source: &Source<'_>, finding: &Finding) -> bool {
    let Some(statement) = source.statement(finding.span.start) else {
        return false;
    };
    // Comments before the statement belong to it, up to the one before that.
    let before = source
        .statements
        .iter()
        .map(|span| span.end)
        .filter(|end| *end <= statement.start)
        .max();
    let same_line = |from: usize, to: usize| {
        let between = source.text.get(from..to);
        between.is_some_and(|between| !between.contains('\n'))
    };
    let own = source.comments.iter().filter(|comment| {
        let at = comment.start;
        let after_previous =
            at >= statement.start || before.is_none_or(|end| at >= end && !same_line(end, at));
        after_previous && (at <= statement.end || same_line(statement.end, at))
    });
    own.into_iter()
        .any(|comment| allows(comment.slice(source.text), finding.code))
}

/// Whether a comment speaks to this program.
pub(crate) fn is_for_us(comment: &str) -> bool {
    comment.contains("evenkeel:")
}

/// Whether a comment names the code after `evenkeel: allow`.
fn allows(comment: &str, code: &str) -> bool {
    let Some((_, rest)) = comment.split_once("evenkeel:") else {
        return false;
    };
    let Some(rest) = rest.trim_start().strip_prefix("allow") else {
        return false;
    };
    rest.split(|char: char| char.is_whitespace() || char == ',')
        .filter(|word| !word.is_empty())
        .take_while(|word| word.len() == code.len() && word.starts_with("KEY"))
        .any(|word| word == code)
}

#[cfg(test)]
mod tests {
    use super::allows;

    #[test]
    fn codes_stand_before_the_reason() {
        assert!(allows("-- evenkeel: allow KEY003 old clients", "KEY003"));
        assert!(allows("/* evenkeel: allow KEY001, KEY003 */", "KEY003"));
        assert!(!allows("-- evenkeel: allow KEY001 not KEY003", "KEY003"));
        assert!(!allows("-- allow KEY003", "KEY003"));
    }
}
