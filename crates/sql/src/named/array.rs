//! PostgreSQL's text of an array: `{1,2,NULL,"a b"}`.

/// The items of an array, NULL as `None`. `None` if this is no array of one dimension.
pub(super) fn items(text: &str) -> Option<Vec<Option<String>>> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let mut items = Vec::new();
    let mut rest = inner.trim_start();
    if rest.is_empty() {
        return Some(items);
    }
    loop {
        let (item, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_item(quoted)?,
            None => bare_item(rest)?,
        };
        items.push(item);
        let after = after.trim_start();
        match after.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None => return after.is_empty().then_some(items),
        }
    }
}

fn quoted_item(text: &str) -> Option<(Option<String>, &str)> {
    let mut item = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((Some(item), text.get(at + 1..)?)),
            '\\' => item.push(chars.next()?.1),
            other => item.push(other),
        }
    }
    None
}

fn bare_item(text: &str) -> Option<(Option<String>, &str)> {
    let end = text.find(',').unwrap_or(text.len());
    let (item, after) = text.split_at_checked(end)?;
    let item = item.trim();
    if item.is_empty() || item.contains(['{', '}', '"']) {
        return None;
    }
    let null = item.eq_ignore_ascii_case("null");
    Some(((!null).then(|| item.to_owned()), after))
}

#[cfg(test)]
mod tests {
    use super::items;

    #[test]
    fn arrays_are_read_as_postgresql_writes_them() {
        let read = |text| {
            items(text).map(|items| {
                let shown = items.iter().map(|item| item.as_deref().unwrap_or("-"));
                shown.collect::<Vec<_>>().join("|")
            })
        };
        assert_eq!(read("{}").as_deref(), Some(""));
        assert_eq!(read(" {1, 2,NULL} ").as_deref(), Some("1|2|-"));
        assert_eq!(
            read(r#"{"a,b","c\"d","NULL"}"#).as_deref(),
            Some(r#"a,b|c"d|NULL"#)
        );
        for broken in [
            "{",
            "{1",
            "{1,}",
            "{,1}",
            "{{1},{2}}",
            r#"{"a"#,
            r#"{"a"b}"#,
            "1,2",
        ] {
            assert_eq!(read(broken), None, "{broken}");
        }
    }
}
