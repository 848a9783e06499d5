//! Rules about files of code: how they open, how long they are, what they are called.

use super::tree::{Finding, Tree};

/// Lines of a file before its tests.
const FILE_LINES_MAX: usize = 600;

/// Names that say nothing about what is inside, singular and plural.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "manager", "managers",
];

/// Every source opens with the sentence that says what it is.
pub(crate) fn first_line(tree: &Tree) -> Vec<Finding> {
    tree.ending(".rs")
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(path, _)| {
            let message = "open the file with a `//!` line: one sentence that says what it is";
            Finding::line(path, 1, message)
        })
        .collect()
}

/// A file is about one subject, and one subject fits in 600 lines.
pub(crate) fn file_length(tree: &Tree) -> Vec<Finding> {
    tree.ending(".rs")
        .map(|(path, text)| (path, lines_before_tests(text)))
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .map(|(path, lines)| {
            let message = format!(
                "{lines} lines before its tests, and {FILE_LINES_MAX} is the limit: find the second \
                 subject and give it a file of its own"
            );
            Finding::file(path, message)
        })
        .collect()
}

/// Only a module of tests ends the count: one `#[cfg(test)]` import near the top does not.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .windows(2)
        .position(|pair| matches!(pair, ["#[cfg(test)]", next] if next.starts_with("mod ")))
        .unwrap_or(lines.len())
}

/// Files and modules are called after what they hold, and `foo.rs` lies beside `foo/`.
pub(crate) fn file_names(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs") {
        if path.ends_with("/mod.rs") {
            let message = "put `foo.rs` beside the folder `foo/`, in place of `foo/mod.rs`";
            findings.push(Finding::file(path, message));
        }
        for part in path.split('/') {
            if let Some(word) = empty_word(part.trim_end_matches(".rs")) {
                findings.push(Finding::file(path, empty_name_message(word)));
            }
        }
        for (index, line) in text.lines().enumerate() {
            if let Some(word) = module_of(line).and_then(empty_word) {
                findings.push(Finding::line(path, index + 1, empty_name_message(word)));
            }
        }
    }
    findings
}

fn empty_name_message(word: &str) -> String {
    format!("`{word}` says nothing about what is inside: call it after what it holds")
}

fn empty_word(name: &str) -> Option<&str> {
    name.split(['_', '-'])
        .find(|word| EMPTY_NAMES.contains(word))
}

/// The module that a line of code declares, with or without a body.
fn module_of(line: &str) -> Option<&str> {
    let (visibility, rest) = line.split_once("mod ")?;
    let visibility = visibility.trim();
    if !visibility.is_empty() && !visibility.starts_with("pub") {
        return None;
    }
    rest.split([' ', ';', '{']).next()
}

/// Nothing is left for later inside the code. Built from halves, so as not to find itself.
pub(crate) fn unfinished(tree: &Tree) -> Vec<Finding> {
    let marks = [["todo", "!("], ["unimplemented", "!("], ["#[", "ignore"]].map(|two| two.concat());
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs") {
        for (index, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for mark in marks.iter().filter(|mark| code.contains(mark.as_str())) {
                let message = format!(
                    "`{mark}` leaves work behind: do it now, or take the code out until it is done"
                );
                findings.push(Finding::line(path, index + 1, message));
            }
        }
    }
    findings
}

/// Sources and documents hold no tabs and no blanks at the end of a line.
pub(crate) fn whitespace(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs").chain(tree.ending(".md")) {
        for (index, line) in text.split('\n').enumerate() {
            if line.contains('\t') {
                findings.push(Finding::line(
                    path,
                    index + 1,
                    "replace the tab with spaces",
                ));
            } else if line.ends_with(char::is_whitespace) {
                let message = "remove the blanks at the end of the line";
                findings.push(Finding::line(path, index + 1, message));
            }
        }
    }
    findings
}
