//! One page for each code, the same as in docs/lints.

/// The codes there are, each with its page.
pub const CODES: &[(&str, &str)] = &[
    ("KEY001", include_str!("../../../../docs/lints/KEY001.md")),
    ("KEY002", include_str!("../../../../docs/lints/KEY002.md")),
    ("KEY003", include_str!("../../../../docs/lints/KEY003.md")),
    ("KEY004", include_str!("../../../../docs/lints/KEY004.md")),
    ("KEY005", include_str!("../../../../docs/lints/KEY005.md")),
    ("KEY006", include_str!("../../../../docs/lints/KEY006.md")),
    ("KEY007", include_str!("../../../../docs/lints/KEY007.md")),
    ("KEY008", include_str!("../../../../docs/lints/KEY008.md")),
    ("KEY009", include_str!("../../../../docs/lints/KEY009.md")),
    ("KEY010", include_str!("../../../../docs/lints/KEY010.md")),
    ("KEY011", include_str!("../../../../docs/lints/KEY011.md")),
    ("KEY012", include_str!("../../../../docs/lints/KEY012.md")),
    ("KEY013", include_str!("../../../../docs/lints/KEY013.md")),
    ("KEY014", include_str!("../../../../docs/lints/KEY014.md")),
];

/// The page of a code.
pub fn explain(code: &str) -> Option<&'static str> {
    let found = CODES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(code));
    found.map(|(_, page)| *page)
}

/// The heading of a code's page without the code.
pub fn title(code: &str) -> &'static str {
    let heading = explain(code).and_then(|page| page.lines().next());
    heading
        .and_then(|line| line.split_once(": "))
        .map_or("", |(_, title)| title)
}
