//! The dependencies that a `Cargo.toml` declares.
//!
//! Three ways to write one are read, in any `dependencies` section, those of a target too:
//!
//! ```text
//!   [dependencies]               [dependencies]                  [dependencies.keys]
//!   keys.workspace = true        old = { package = "keys" }      workspace = true
//! ```

/// What a dependency is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The crate itself, or its build script.
    Normal,
    /// Tests, examples and benches.
    Tests,
    /// Nothing yet: an entry of the workspace's table, for crates to refer to.
    Workspace,
}

/// One declared dependency.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The name that code uses.
    pub(crate) name: String,
    /// The package's own name, where the manifest gives the package another.
    pub(crate) package: Option<String>,
    /// What it is there for.
    pub(crate) kind: Kind,
    /// Where it is declared, counted from 1.
    pub(crate) line: usize,
}

/// Where a line of a manifest lies.
enum Section {
    Elsewhere,
    /// Every line declares a dependency.
    List(Kind),
    /// Every line says more about the dependency that the heading named.
    One,
}

/// Reads the declared dependencies, in order.
pub(crate) fn dependencies(text: &str) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    let mut section = Section::Elsewhere;
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(heading) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            section = section_of(heading, line_number, &mut found);
            continue;
        }
        let Some((key, _)) = line.split_once('=') else {
            continue;
        };
        match section {
            Section::Elsewhere => {}
            Section::List(kind) => {
                let name = key.split('.').next().unwrap_or_default();
                let package = package_of(line);
                found.push(Dependency {
                    name: bare(name),
                    package,
                    kind,
                    line: line_number,
                });
            }
            Section::One => {
                if let (Some(package), Some(last)) = (package_of(line), found.last_mut()) {
                    last.package = Some(package);
                }
            }
        }
    }
    found
}

fn section_of(heading: &str, line: usize, found: &mut Vec<Dependency>) -> Section {
    let (before, kind, after) =
        if let Some((before, after)) = heading.split_once("dev-dependencies") {
            (before, Kind::Tests, after)
        } else if let Some((before, after)) = heading.split_once("build-dependencies") {
            (before, Kind::Normal, after)
        } else if let Some((before, after)) = heading.split_once("dependencies") {
            let kind = if before == "workspace." {
                Kind::Workspace
            } else {
                Kind::Normal
            };
            (before, kind, after)
        } else {
            return Section::Elsewhere;
        };
    if !before.is_empty() && !before.ends_with('.') {
        return Section::Elsewhere;
    }
    let Some(name) = after.strip_prefix('.') else {
        return Section::List(kind);
    };
    found.push(Dependency {
        name: bare(name),
        package: None,
        kind,
        line,
    });
    Section::One
}

/// The `package = "…"` of a line.
fn package_of(line: &str) -> Option<String> {
    let (before, after) = line.split_once("package")?;
    if before.ends_with(|last: char| last.is_alphanumeric() || last == '-' || last == '"') {
        return None;
    }
    let quoted = after
        .trim_start()
        .strip_prefix('=')?
        .trim_start()
        .strip_prefix('"')?;
    quoted.split_once('"').map(|(name, _)| name.to_owned())
}

fn bare(name: &str) -> String {
    name.trim().trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_declare_a_dependency_is_read() {
        let text = "\
[package]
name = \"db\"
[dependencies]
keys.workspace = true          # dependencies of ours
\"bytes\" = \"1\"
old = { version = \"1\", package = \"sqlparser\" }
clap = { version = \"4\", features = [
    \"derive\",
] }
[dependencies.txn]
workspace = true
[target.'cfg(unix)'.dev-dependencies.q]
package = \"arrow\"
[build-dependencies]
cc = \"1\"
[profile.release]
lto = \"thin\"
[workspace.dependencies]
sql = { path = \"crates/sql\" }
";
        let read: Vec<_> = dependencies(text)
            .into_iter()
            .map(|d| (d.line, d.kind, d.name, d.package))
            .collect();
        let line = |line, kind, name: &str| (line, kind, name.to_owned(), None);
        let renamed = |line, kind, name: &str, package: &str| {
            (line, kind, name.to_owned(), Some(package.to_owned()))
        };
        let expected = vec![
            line(4, Kind::Normal, "keys"),
            line(5, Kind::Normal, "bytes"),
            renamed(6, Kind::Normal, "old", "sqlparser"),
            line(7, Kind::Normal, "clap"),
            line(10, Kind::Normal, "txn"),
            renamed(12, Kind::Tests, "q", "arrow"),
            line(15, Kind::Normal, "cc"),
            line(19, Kind::Workspace, "sql"),
        ];
        assert_eq!(read, expected);
    }
}
