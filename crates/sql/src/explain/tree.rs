//! The parts of a plan as lines for people, or as JSON for programs.
//!
//! ```text
//!   Update on orders                       "Node Type": "Update", "Table": "orders",
//!     Commit: single-partition             "Commit": {"Kind": "single-partition", "Partitions": 1},
//!     -> Point Lookup on orders            "Plans": [{"Node Type": "Point Lookup", …}]
//!          Key: /7
//! ```

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value as Json;

/// Keys and ranges of one read that are shown to people; programs are told more of them.
const KEYS_MAX: usize = 4;

/// One part of a plan.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) kind: String,
    pub(super) table: Option<String>,
    pub(super) facts: Facts,
    pub(super) children: Vec<Node>,
}

/// What there is to say of a part, in order.
pub(super) type Facts = Vec<(&'static str, Fact)>;

/// One thing to say.
#[derive(Debug)]
pub(super) enum Fact {
    Text(String),
    Number(u64),
    /// Keys, and how many there are if these are the first ones only.
    Keys(Vec<String>, usize),
    /// So many of all partitions; none if the values are not there yet.
    Partitions(Option<usize>, usize),
    Commit(Commit),
    /// For programs only: people see it already.
    Hidden(String),
    Time(Duration),
}

/// How many partitions a commit takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commit {
    pub(super) min: usize,
    pub(super) max: usize,
}

impl Commit {
    fn kind(self) -> &'static str {
        match (self.min, self.max) {
            (_, 0 | 1) => "single-partition",
            (0 | 1, _) => "unknown until run",
            _ => "multi-partition",
        }
    }

    fn text(self) -> String {
        let kind = self.kind();
        match (self.min, self.max) {
            (_, 0 | 1) => kind.to_owned(),
            (min, max) if min == max => format!("{kind} ({max} partitions)"),
            (min, max) => format!("{kind} ({min} to {max} partitions)"),
        }
    }

    fn json(self) -> Vec<(String, String)> {
        let mut fields = vec![("Kind".to_owned(), quoted(self.kind()))];
        if self.min == self.max {
            fields.push(("Partitions".to_owned(), self.max.to_string()));
        } else {
            fields.push(("Partitions Min".to_owned(), self.min.to_string()));
            fields.push(("Partitions Max".to_owned(), self.max.to_string()));
        }
        fields
    }
}

impl Node {
    pub(super) fn new(kind: impl Into<String>, table: Option<&str>) -> Self {
        Self {
            kind: kind.into(),
            table: table.map(str::to_owned),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, name: &'static str, fact: Fact) {
        self.facts.push((name, fact));
    }

    pub(super) fn say(&mut self, name: &'static str, text: impl Into<String>) {
        self.add(name, Fact::Text(text.into()));
    }

    /// Its lines, and those of what is below it.
    pub(super) fn lines(&self, indent: usize, lines: &mut Vec<String>) {
        let arrow = match indent {
            0 => String::new(),
            _ => format!("{}->  ", " ".repeat(indent)),
        };
        let on = self.table.as_ref().map(|table| format!(" on {table}"));
        lines.push(format!("{arrow}{}{}", self.kind, on.unwrap_or_default()));
        let inner = arrow.len() + 2;
        for line in fact_lines(&self.facts) {
            lines.push(format!("{}{line}", " ".repeat(inner)));
        }
        for child in &self.children {
            child.lines(inner, lines);
        }
    }

    /// It and what is below it, as JSON.
    pub(super) fn json(&self, depth: usize) -> String {
        let mut fields = vec![("Node Type".to_owned(), quoted(&self.kind))];
        if let Some(table) = &self.table {
            fields.push(("Table".to_owned(), quoted(table)));
        }
        for (name, fact) in &self.facts {
            fact.fields(name, depth + 1, &mut fields);
        }
        if !self.children.is_empty() {
            let children = self.children.iter().map(|child| child.json(depth + 2));
            fields.push(("Plans".to_owned(), list(children, depth + 1)));
        }
        object(&fields, depth)
    }
}

/// Facts for people.
pub(super) fn fact_lines(facts: &Facts) -> Vec<String> {
    let line = |(name, fact): &(&str, Fact)| {
        let name = match fact {
            Fact::Keys(_, 1) => "Key",
            Fact::Keys(..) => "Keys",
            _ => name,
        };
        Some(format!("{name}: {}", fact.text()?))
    };
    facts.iter().filter_map(line).collect()
}

impl Fact {
    fn text(&self) -> Option<String> {
        Some(match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Keys(keys, total) => {
                let first: Vec<&str> = keys.iter().take(KEYS_MAX).map(String::as_str).collect();
                let mut text = first.join(", ");
                let more = total.saturating_sub(first.len());
                if more > 0 {
                    let _ = write!(text, " and {more} more");
                }
                text
            }
            Self::Partitions(Some(read), total) => format!("{read} of {total}"),
            Self::Partitions(None, total) => format!("decided when run, of {total}"),
            Self::Commit(commit) => commit.text(),
            Self::Hidden(_) => return None,
            Self::Time(time) => format!("{:.3} ms", ms(*time)),
        })
    }

    /// The same for programs.
    pub(super) fn fields(&self, name: &str, depth: usize, fields: &mut Vec<(String, String)>) {
        let mut add = |name: &str, value: String| fields.push((name.to_owned(), value));
        match self {
            Self::Text(text) | Self::Hidden(text) => add(name, quoted(text)),
            Self::Number(number) => add(name, number.to_string()),
            Self::Keys(keys, total) => {
                add(name, list(keys.iter().map(|key| quoted(key)), depth));
                if keys.len() < *total {
                    add(&format!("{name} Total"), total.to_string());
                }
            }
            Self::Partitions(read, total) => {
                let read = read.map_or("null".to_owned(), |read| read.to_string());
                add(name, read);
                add(&format!("{name} Total"), total.to_string());
            }
            Self::Commit(commit) => add(name, object(&commit.json(), depth)),
            Self::Time(time) => add(name, format!("{:.3}", ms(*time))),
        }
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// A JSON object whose fields stay in their order.
pub(super) fn object(fields: &[(String, String)], depth: usize) -> String {
    let fields = fields
        .iter()
        .map(|(name, value)| format!("{}: {value}", quoted(name)));
    between("{", fields, "}", depth)
}

/// A JSON array.
pub(super) fn list(items: impl Iterator<Item = String>, depth: usize) -> String {
    between("[", items, "]", depth)
}

fn between(open: &str, items: impl Iterator<Item = String>, close: &str, depth: usize) -> String {
    let indent = "  ".repeat(depth + 1);
    let items: Vec<String> = items.map(|item| format!("{indent}{item}")).collect();
    match items.is_empty() {
        true => format!("{open}{close}"),
        false => format!(
            "{open}\n{}\n{}{close}",
            items.join(",\n"),
            "  ".repeat(depth)
        ),
    }
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}
