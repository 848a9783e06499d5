//! Lines of TiDB's log that are its general log.

/// What a line says.
pub(super) struct Said {
    pub(super) at_us: u64,
    pub(super) session: String,
    /// The statement, if it is a line of the general log.
    pub(super) text: Option<String>,
}

/// What a line says if it begins as TiDB's do.
pub(super) fn said(line: &str) -> Option<Said> {
    let (time, rest) = line.strip_prefix('[')?.split_once(']')?;
    // 2024/05/01 12:00:00.123 +00:00
    let [day, clock, zone] = time.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let at_us = super::moment(&format!("{}T{clock}{zone}", day.replace('/', "-")))?;
    let session = rest.split_once("[conn=").map_or("", |(_, rest)| rest);
    let session = session.split(']').next().unwrap_or_default();
    Some(Said {
        at_us,
        session: session.to_owned(),
        text: statement(rest).filter(|_| rest.contains("[GENERAL_LOG]")),
    })
}

fn statement(rest: &str) -> Option<String> {
    let (_, sql) = rest.split_once("[sql=")?;
    let sql = sql.trim_end().strip_suffix(']')?;
    let quoted = sql.strip_prefix('"').and_then(|sql| sql.strip_suffix('"'));
    Some(with_arguments(
        &quoted.map_or_else(|| sql.to_owned(), unquoted),
    ))
}

fn unquoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            _ => out.push(char),
        }
    }
    out
}

/// `… WHERE id = ? [arguments: (7, "x")]` with the arguments in their places.
fn with_arguments(text: &str) -> String {
    let Some((statement, given)) = text.rsplit_once(" [arguments: ") else {
        return text.to_owned();
    };
    let given = given.trim_end().trim_end_matches(']');
    let inner = given
        .strip_prefix('(')
        .and_then(|given| given.strip_suffix(')'));
    let mut given = arguments(inner.unwrap_or(given)).into_iter();
    let mut out = String::with_capacity(text.len());
    let mut quote: Option<char> = None;
    for char in statement.chars() {
        match (quote, char) {
            (None, '?') => out.push_str(given.next().unwrap_or("?")),
            (None, '\'' | '"' | '`') => {
                quote = Some(char);
                out.push(char);
            }
            _ => {
                quote = quote.filter(|open| *open != char);
                out.push(char);
            }
        }
    }
    out
}

/// What stands between commas that are in no string.
fn arguments(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    for (at, char) in text.char_indices() {
        match char {
            '"' => quoted = !quoted,
            ',' if !quoted => {
                found.extend(text.get(start..at).map(str::trim));
                start = at + 1;
            }
            _ => {}
        }
    }
    found.extend(text.get(start..).map(str::trim));
    found
}
