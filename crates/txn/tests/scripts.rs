//! Runs the scripts in `golden/`: a story a person can read, and what came of each line.
//!
//! A line that begins with `> ` is a command, the lines below it are what it printed. Rewrite them with
//! `UPDATE_GOLDEN=1` and read the difference.

#![cfg(test)]

mod scripts {
    pub(crate) mod stage;
}

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use scripts::stage::Stage;

fn run(script: &str) -> String {
    let mut stage = Stage::default();
    let mut out = String::new();
    for line in script.lines() {
        let Some(command) = line.strip_prefix("> ") else {
            if line.starts_with('#') || line.is_empty() {
                writeln!(out, "{line}").unwrap();
            }
            continue;
        };
        writeln!(out, "{line}").unwrap();
        let result = stage
            .run(command)
            .unwrap_or_else(|error| vec![format!("error: {error}")]);
        for printed in result {
            writeln!(out, "{printed}").unwrap();
        }
    }
    out
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

#[test]
fn every_script_prints_what_it_says() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = Vec::new();
    let paths = scripts();
    assert!(paths.len() >= 10, "the scripts are gone");
    for path in paths {
        let script = std::fs::read_to_string(&path).unwrap();
        let printed = run(&script);
        if update {
            std::fs::write(&path, &printed).unwrap();
        } else if printed != script {
            wrong.push(format!("{}:\n{printed}", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "these differ, now printing:\n{}",
        wrong.join("\n")
    );
}
