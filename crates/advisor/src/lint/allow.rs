//! `-- evenkeel: allow KEY003 reason`: findings that a comment of the statement exempts.

use super::{CODES, Dialect, Finding, Source, Span};

/// The codes that the comments of each of these statements of a text exempt.
pub fn allowed(text: &str, statements: &[Span]) -> Vec<Vec<&'static str>> {
    // Text that cannot be read has no comments either.
    let read = syntax::schema::read(text, Dialect::Ydb);
    let mut comments = read.map(|schema| schema.comments).unwrap_or_default();
    comments.retain(|comment| is_for_us(comment.slice(text)));
    let ends: Vec<usize> = statements.iter().map(|span| span.end).collect();
    let of = |statement: &Span| {
        let own: Vec<_> = own_comments(text, &comments, *statement, &ends).collect();
        let allows = |code: &&str| own.iter().any(|span| allows(span.slice(text), code));
        CODES.iter().map(|(code, _)| *code).filter(allows).collect()
    };
    statements.iter().map(of).collect()
}

/// Whether a comment of the finding's statement allows it.
pub(crate) fn is_allowed(source: &Source<'_>, finding: &Finding) -> bool {
    let Some(statement) = source.statement(finding.span.start) else {
        return false;
    };
    let ends: Vec<usize> = source.statements.iter().map(|span| span.end).collect();
    own_comments(source.text, &source.comments, statement, &ends)
        .any(|comment| allows(comment.slice(source.text), finding.code))
}

/// The comments of a statement, of those that there are; `ends` are the ends of all statements.
fn own_comments<'c>(
    text: &'c str,
    comments: &'c [Span],
    statement: Span,
    ends: &[usize],
) -> impl Iterator<Item = Span> + 'c {
    // Comments before the statement belong to it, up to the one before that.
    let before = ends.iter().copied().filter(|end| *end <= statement.start);
    let before = before.max();
    let same_line = move |from: usize, to: usize| {
        let between = text.get(from..to);
        between.is_some_and(|between| !between.contains('\n'))
    };
    let own = move |comment: &Span| {
        let at = comment.start;
        let after_previous =
            at >= statement.start || before.is_none_or(|end| at >= end && !same_line(end, at));
        after_previous && (at <= statement.end || same_line(statement.end, at))
    };
    comments.iter().copied().filter(own)
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
