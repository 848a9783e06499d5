//! Runs every script in `golden/` and compares what it prints with what it printed before.
//!
//! `> ` begins a command; the lines below it are its answer. Lines that begin with `#` and empty
//! lines are the story. UPDATE_GOLDEN=1 writes the answers anew.

use std::path::{Path, PathBuf};

use crate::script::Script;

#[test]
fn golden_scripts_print_what_they_printed() {
    let scripts = scripts();
    assert!(scripts.len() >= 9, "only {} scripts found", scripts.len());
    let mut changed = Vec::new();
    for path in scripts {
        let before = std::fs::read_to_string(&path).unwrap();
        let after = rerun(&before);
        if before == after {
            continue;
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &after).unwrap();
        } else {
            changed.push(format!(
                "{}:\n{}",
                path.display(),
                first_change(&before, &after)
            ));
        }
    }
    assert!(
        changed.is_empty(),
        "UPDATE_GOLDEN=1 accepts these:\n{}",
        changed.join("\n")
    );
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let entries = std::fs::read_dir(folder).expect("the golden folder is part of the crate");
    let paths = entries.map(|entry| entry.expect("the golden folder can be listed").path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some()).collect();
    paths.sort();
    paths
}

/// The script with fresh answers.
fn rerun(before: &str) -> String {
    let mut script = Script::new();
    let mut after = String::new();
    for line in before.lines() {
        let is_story = line.is_empty() || line.starts_with('#');
        if let Some(command) = line.strip_prefix("> ") {
            after.push_str(line);
            after.push('\n');
            let answer = script
                .run(command)
                .unwrap_or_else(|error| format!("error: {error}\n"));
            after.push_str(&answer);
        } else if is_story {
            after.push_str(line);
            after.push('\n');
        }
    }
    after
}

fn first_change(before: &str, after: &str) -> String {
    let pairs = before.lines().zip(after.lines()).zip(1..);
    for ((old, new), line) in pairs {
        if old != new {
            return format!("  line {line}\n  - {old}\n  + {new}");
        }
    }
    format!(
        "  {} lines became {}",
        before.lines().count(),
        after.lines().count()
    )
}
