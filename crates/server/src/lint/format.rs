//! Findings as text, JSON lines, SARIF and annotations of GitHub.

use std::fmt::Write;

use advisor::lint::{CODES, Error, Finding, Position, Severity, explain, render};
use serde_json::{Value, json};

use super::{Checked, Format};

/// The code under which statements that cannot be read are told.
const SYNTAX: &str = "SYNTAX";

type Denied<'a> = &'a dyn Fn(&Finding) -> bool;

/// Everything that is printed.
pub(crate) fn page(format: Format, checked: &[Checked], denied: Denied<'_>) -> String {
    match format {
        Format::Text => text(checked),
        Format::Json => json_lines(checked, denied),
        Format::Sarif => sarif(checked),
        Format::Github => github(checked, denied),
    }
}

fn text(checked: &[Checked]) -> String {
    let mut page = String::new();
    // Of what could not be read nobody knows whether there is something to find.
    if checked.is_empty() {
        return page;
    }
    for one in checked {
        for error in &one.errors {
            page.push_str(&render::error(&one.path, &one.text, error));
            page.push('\n');
        }
        for finding in &one.findings {
            page.push_str(&render::finding(&one.path, &one.text, finding));
            page.push('\n');
        }
    }
    let findings = || checked.iter().flat_map(|one| &one.findings);
    let count = |severity| {
        findings()
            .filter(|found| found.severity == severity)
            .count()
    };
    let skipped: usize = checked.iter().map(|one| one.errors.len()).sum();
    let mut parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .filter(|severity| count(*severity) > 0)
        .map(|severity| counted(count(severity), severity.as_str()))
        .collect();
    if skipped > 0 {
        parts.push(format!("{} skipped", counted(skipped, "statement")));
    }
    if parts.is_empty() {
        parts.push("nothing found".to_owned());
    }
    // Writing to a string cannot fail.
    let _ = writeln!(page, "{}", parts.join(", "));
    if let Some(code) = findings().map(|found| found.code).min() {
        let _ = writeln!(page, "`evenkeel lint --explain {code}` tells more");
    }
    page
}

fn counted(count: usize, word: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {word}{plural}")
}

/// The place of a span, as lines and columns from 1; the end is one past the last character.
struct Place {
    start: Position,
    end: Position,
}

fn place(text: &str, finding: &Finding) -> Place {
    Place {
        start: Position::find(text, finding.span.start),
        end: Position::find(text, finding.span.end),
    }
}

/// What is wrong with a statement, without the place.
fn reason(error: &Error) -> String {
    let said = error.to_string();
    let place = format!("{}: ", error.position());
    said.strip_prefix(&place).unwrap_or(&said).to_owned()
}

fn json_lines(checked: &[Checked], denied: Denied<'_>) -> String {
    let mut page = String::new();
    for one in checked {
        for error in &one.errors {
            let at = error.position();
            let line = json!({
                "file": one.path, "code": SYNTAX, "severity": "error", "denied": true,
                "message": reason(error), "line": at.line, "column": at.column, "offset": at.offset,
            });
            let _ = writeln!(page, "{line}");
        }
        for finding in &one.findings {
            let place = place(&one.text, finding);
            let edits: Vec<Value> = finding
                .edits
                .iter()
                .map(|edit| json!({ "start": edit.span.start, "end": edit.span.end, "text": edit.text }))
                .collect();
            let line = json!({
                "file": one.path, "code": finding.code, "severity": finding.severity.as_str(),
                "denied": denied(finding), "table": finding.table, "message": finding.message,
                "label": finding.label, "why": finding.why, "help": finding.help,
                "line": place.start.line, "column": place.start.column,
                "end_line": place.end.line, "end_column": place.end.column,
                "offset": finding.span.start, "rewritten": finding.rewritten, "edits": edits,
            });
            let _ = writeln!(page, "{line}");
        }
    }
    page
}

fn sarif(checked: &[Checked]) -> String {
    let rules: Vec<Value> = CODES
        .iter()
        .map(|(code, page)| {
            json!({
                "id": code,
                "shortDescription": { "text": explain::title(code) },
                "help": { "text": page, "markdown": page },
            })
        })
        .chain([json!({
            "id": SYNTAX, "shortDescription": { "text": "a statement that cannot be read" },
        })])
        .collect();
    let results: Vec<Value> = checked.iter().flat_map(sarif_results).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "evenkeel", "version": env!("CARGO_PKG_VERSION"), "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn sarif_results(one: &Checked) -> Vec<Value> {
    let located = |region: Value| {
        json!([{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&one.path) }, "region": region,
        } }])
    };
    let errors = one.errors.iter().map(|error| {
        let at = error.position();
        json!({
            "ruleId": SYNTAX, "level": "error", "message": { "text": reason(error) },
            "locations": located(json!({ "startLine": at.line, "startColumn": at.column })),
        })
    });
    let findings = one.findings.iter().map(|finding| {
        let place = place(&one.text, finding);
        json!({
            "ruleId": finding.code, "level": finding.severity.as_str(),
            "message": { "text": paragraph(finding) },
            "locations": located(json!({
                "startLine": place.start.line, "startColumn": place.start.column,
                "endLine": place.end.line, "endColumn": place.end.column,
            })),
        })
    });
    errors.chain(findings).collect()
}

/// A path as a relative reference: what has a meaning in one is written by its bytes.
fn uri(path: &str) -> String {
    let mut reference = String::new();
    for byte in path.bytes() {
        let char = char::from(byte);
        if char.is_ascii_alphanumeric() || "-._~/".contains(char) {
            reference.push(char);
        } else {
            let _ = write!(reference, "%{byte:02X}");
        }
    }
    reference
}

/// All that a finding says, in lines.
fn paragraph(finding: &Finding) -> String {
    let mut text = format!(
        "{}\nwhy: {}\nhelp: {}",
        finding.message, finding.why, finding.help
    );
    if let Some(rewritten) = &finding.rewritten {
        text.push('\n');
        text.push_str(rewritten);
    }
    text
}

fn github(checked: &[Checked], denied: Denied<'_>) -> String {
    let mut page = String::new();
    for one in checked {
        let file = property(&one.path);
        for error in &one.errors {
            let at = error.position();
            let _ = writeln!(
                page,
                "::error file={file},line={},col={},title={SYNTAX}::{}",
                at.line,
                at.column,
                data(&reason(error))
            );
        }
        for finding in &one.findings {
            let place = place(&one.text, finding);
            let level = match finding.severity {
                _ if denied(finding) => "error",
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "notice",
            };
            let _ = writeln!(
                page,
                "::{level} file={file},line={},col={},endLine={},endColumn={},title={}::{}",
                place.start.line,
                place.start.column,
                place.end.line,
                place.end.column,
                finding.code,
                data(&paragraph(finding))
            );
        }
    }
    page
}

/// A message as GitHub's commands carry it.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// The value of a property as GitHub's commands carry it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
