//! Who may use whom: our crates stand on a ladder, and some crates of others have one owner.

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::{self, Dependency, Kind};
use super::tree::{Finding, Tree, crate_of};

/// Our crates, bottom up, with those that each may use.
const LADDER: &[(&str, &[&str])] = &[
    ("keys", &[]),
    ("storage", &[]),
    ("syntax", &["keys"]),
    ("partitions", &["keys", "storage"]),
    ("txn", &["keys", "partitions", "storage"]),
    ("sql", &["keys", "syntax", "txn"]),
    ("advisor", &["keys", "syntax", "partitions"]),
    (
        "db",
        &[
            "keys",
            "storage",
            "syntax",
            "partitions",
            "txn",
            "sql",
            "advisor",
        ],
    ),
    ("server", &["db", "keys", "advisor"]),
    ("sim", &["db", "keys", "storage", "advisor"]),
    ("bench", &["db", "keys", "storage", "advisor"]),
    ("torture", &["storage"]),
];

/// Crates that are tests as a whole, and are never shipped: their own tests may use anything.
const NOT_SHIPPED: &[&str] = &["sim", "bench", "torture"];

/// Crates of others that only some of ours may name, each with its family (`arrow` is also
/// `arrow-array`), so that no type of theirs spreads through the layers.
const OWNED: &[(&str, &[&str])] = &[
    ("sqlparser", &["syntax"]),
    ("datafusion", &["sql"]),
    ("arrow", &["sql"]),
    ("fjall", &["storage", "bench"]),
];

/// A crate uses only what its rung allows; its tests may reach further down, never up.
pub(crate) fn ladder(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let renamed = workspace_packages(tree);
    for (name, text) in tree.crates() {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(allowed) = may_use(name) else {
            let message = "stands on no rung: add it to LADDER in xtask/src/tidy/ladder.rs, with a \
                           decision record in docs/decisions/";
            findings.push(Finding::file(path, message));
            continue;
        };
        for dependency in manifest::dependencies(text) {
            let used = package_of(&dependency, &renamed);
            let ours = may_use(used).is_some() && used != name;
            if ours && !is_allowed(name, used, dependency.kind) {
                let message = edge_message(name, used, allowed, dependency.kind);
                findings.push(Finding::line(&path, dependency.line, message));
            }
        }
    }
    findings
}

fn edge_message(name: &str, used: &str, allowed: &[&str], kind: Kind) -> String {
    let what = if kind == Kind::Tests { "tests of " } else { "" };
    let rule = match (kind, allowed) {
        (Kind::Tests, _) => "tests reach further down, never up".to_owned(),
        (_, []) => "it may use no crate of ours".to_owned(),
        (_, allowed) => format!("it may use {}", allowed.join(", ")),
    };
    format!(
        "{what}`{name}` may not use `{used}` ({rule}): move the code to the crate that may, or \
         propose the edge as a decision record"
    )
}

fn is_allowed(name: &str, used: &str, kind: Kind) -> bool {
    match kind {
        Kind::Tests => NOT_SHIPPED.contains(&name) || below(name).contains(used),
        Kind::Normal | Kind::Workspace => may_use(name).is_some_and(|all| all.contains(&used)),
    }
}

fn may_use(name: &str) -> Option<&'static [&'static str]> {
    LADDER
        .iter()
        .find(|(rung, _)| *rung == name)
        .map(|(_, allowed)| *allowed)
}

/// Everything that a crate stands on, at any depth.
fn below(name: &str) -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    let mut open: Vec<&'static str> = may_use(name).unwrap_or_default().to_vec();
    while let Some(next) = open.pop() {
        if all.insert(next) {
            open.extend(may_use(next).unwrap_or_default());
        }
    }
    all
}

/// Some crates of others are named by their owners only, in manifests and in code.
pub(crate) fn outside_names(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let renamed = workspace_packages(tree);
    for (name, text) in tree.crates() {
        for dependency in manifest::dependencies(text) {
            let package = package_of(&dependency, &renamed);
            let Some((family, owners)) = owners_of(package) else {
                continue;
            };
            if !owners.contains(&name) {
                let path = format!("crates/{name}/Cargo.toml");
                let message = owned_message(family, owners);
                findings.push(Finding::line(path, dependency.line, message));
            }
        }
    }
    for (path, text) in tree.ending(".rs") {
        let name = crate_of(path).unwrap_or("xtask");
        for (index, line) in text.lines().enumerate() {
            for (family, owners) in OWNED {
                if !owners.contains(&name) && code_names(line, family) {
                    let message = owned_message(family, owners);
                    findings.push(Finding::line(path, index + 1, message));
                }
            }
        }
    }
    findings
}

fn owned_message(family: &str, owners: &[&str]) -> String {
    let first = owners.first().copied().unwrap_or_default();
    let owners = owners.join(" and ");
    format!(
        "only {owners} may name `{family}`: have `{first}` offer what you need in its own words"
    )
}

fn owners_of(package: &str) -> Option<(&'static str, &'static [&'static str])> {
    OWNED.iter().copied().find(|(family, _)| {
        package
            .strip_prefix(family)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

/// Whether a path in a line of code starts with a crate of the family.
fn code_names(line: &str, family: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.match_indices("::").any(|(at, _)| {
        let before = code.get(..at).unwrap_or_default();
        let start = before
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |last| last + 1);
        let (outer, first) = before.split_at_checked(start).unwrap_or_default();
        let in_family = first
            .strip_prefix(family)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
        in_family && !outer.ends_with("::")
    })
}

/// The packages of the workspace's table that go by another name.
fn workspace_packages(tree: &Tree) -> BTreeMap<String, String> {
    manifest::dependencies(tree.get("Cargo.toml").unwrap_or_default())
        .into_iter()
        .filter(|dependency| dependency.kind == Kind::Workspace)
        .filter_map(|dependency| Some((dependency.name, dependency.package?)))
        .collect()
}

fn package_of<'a>(dependency: &'a Dependency, renamed: &'a BTreeMap<String, String>) -> &'a str {
    let own = dependency
        .package
        .as_ref()
        .or_else(|| renamed.get(&dependency.name));
    own.unwrap_or(&dependency.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rung_uses_only_rungs_below_it() {
        let mut seen = BTreeSet::new();
        for (name, allowed) in LADDER {
            assert!(
                allowed.iter().all(|used| seen.contains(used)),
                "{name} uses a rung above it"
            );
            seen.insert(name);
        }
    }
}
