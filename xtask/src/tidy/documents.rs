//! Rules about documents: the map names every crate, the index every decision, the README the way in.

use super::tree::{Finding, Tree};

const CODE_MAP: &str = "ARCHITECTURE.md";
const DECISIONS: &str = "docs/decisions/";
const DECISIONS_INDEX: &str = "docs/decisions/README.md";
const README: &str = "README.md";

/// What a visitor types first.
const COMMANDS: &str = "./dev run\n./dev test\n";

/// ARCHITECTURE.md has a section for each crate, under a heading that names its folder.
pub(crate) fn code_map(tree: &Tree) -> Vec<Finding> {
    let text = tree.get(CODE_MAP).unwrap_or_default();
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    tree.crates()
        .map(|(name, _)| format!("`crates/{name}`"))
        .filter(|folder| !headings.iter().any(|heading| heading.contains(folder)))
        .map(|folder| {
            let message = format!(
                "has no section for {folder}: add a heading that names it, what it is, the file to \
                 read first, and what is deliberately absent"
            );
            Finding::file(CODE_MAP, message)
        })
        .collect()
}

/// Every decision record is linked from the index beside it.
pub(crate) fn decisions(tree: &Tree) -> Vec<Finding> {
    let index = tree.get(DECISIONS_INDEX).unwrap_or_default();
    tree.ending(".md")
        .filter(|(path, _)| *path != DECISIONS_INDEX)
        .filter_map(|(path, _)| path.strip_prefix(DECISIONS))
        .filter(|file| !index.contains(&format!("]({file})")))
        .map(|file| {
            let message = format!("does not link {file}: add a line `[number](file)` for it");
            Finding::file(DECISIONS_INDEX, message)
        })
        .collect()
}

/// The README opens with the title and then, as its first block, the two commands and no other.
pub(crate) fn readme(tree: &Tree) -> Vec<Finding> {
    let text = tree.get(README).unwrap_or_default();
    if opens_with_commands(text) {
        return Vec::new();
    }
    let message = "begin with a title line, then one code block that holds `./dev run` and \
                   `./dev test`, each on its line, and nothing else";
    vec![Finding::line(README, 1, message)]
}

fn opens_with_commands(text: &str) -> bool {
    let Some((title, rest)) = text.split_once('\n') else {
        return false;
    };
    let Some(block) = rest.trim_start().strip_prefix("```") else {
        return false;
    };
    let Some((_language, commands)) = block.split_once('\n') else {
        return false;
    };
    let Some((commands, _)) = commands.split_once("```") else {
        return false;
    };
    title.starts_with("# ") && commands == COMMANDS
}
