//! The tidy checks, run on the repository and on small trees that each of them must judge rightly.
//!
//! `golden/tidy.txt` holds the small trees, one case after another:
//!
//! ```text
//!   # what the case shows
//!   check NAME                 which check runs
//!   file PATH                  a file, its text indented by four blanks
//!       text
//!   finds                      what the check says, or nothing when the tree is fine
//!       PATH:LINE: message
//! ```
//!
//! In a text `→` stands for a tab, `·` at the end of a line for a blank, and ` ×N` at the end of a
//! line repeats it N times: what one cannot see or would not scroll through is spelled out.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{env, fs};

use xtask::tidy::{CHECKS, Tree};

#[test]
fn the_repository_is_tidy() {
    let tree = Tree::read(xtask::root()).expect("the repository is readable");
    assert!(
        tree.crates().count() > 0,
        "no crates were found below {}",
        xtask::root().display()
    );
    let findings: Vec<String> = CHECKS
        .iter()
        .flat_map(|(name, check)| {
            check(&tree)
                .into_iter()
                .map(move |f| format!("{f} [{name}]"))
        })
        .collect();
    assert!(
        findings.is_empty(),
        "the repository is not tidy:\n\n  {}\n",
        findings.join("\n  ")
    );
}

#[test]
fn checks_find_what_the_golden_file_shows() {
    let path = golden_path();
    let written = fs::read_to_string(&path).expect("golden/tidy.txt is readable");
    let judged: String = cases(&written).iter().map(Case::judged).collect();
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, judged).expect("golden/tidy.txt is writable");
    } else {
        assert_eq!(
            written, judged,
            "run `cargo xtask golden -p xtask` and review the diff"
        );
    }
}

#[test]
fn every_check_is_shown_failing_and_passing() {
    let written = fs::read_to_string(golden_path()).expect("golden/tidy.txt is readable");
    let cases = cases(&written);
    let shown = |fails: bool| -> BTreeSet<&str> {
        let such = cases
            .iter()
            .filter(|case| case.findings().is_empty() != fails);
        such.map(|case| case.check.as_str()).collect()
    };
    let all: BTreeSet<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        shown(true),
        all,
        "each check needs a case in golden/tidy.txt that it refuses"
    );
    assert_eq!(
        shown(false),
        all,
        "each check needs a case in golden/tidy.txt that it lets pass"
    );
}

/// One small tree, the check that judges it, and its lines as they are written.
#[derive(Default)]
struct Case {
    check: String,
    source: String,
    files: Vec<(String, String)>,
}

impl Case {
    fn findings(&self) -> Vec<String> {
        let mut tree = Tree::default();
        for (path, text) in &self.files {
            tree.insert(path, text);
        }
        let (_, check) = CHECKS
            .iter()
            .find(|(name, _)| *name == self.check)
            .expect("golden/tidy.txt names checks that exist");
        check(&tree).iter().map(ToString::to_string).collect()
    }

    /// The case as it should be written.
    fn judged(&self) -> String {
        let findings = self.findings();
        let lines: String = findings
            .iter()
            .map(|finding| format!("    {finding}\n"))
            .collect();
        format!("{}finds\n{lines}\n", self.source)
    }
}

fn golden_path() -> PathBuf {
    xtask::root().join("xtask/golden/tidy.txt")
}

fn cases(written: &str) -> Vec<Case> {
    written.split("\n# ").map(case).collect()
}

fn case(written: &str) -> Case {
    let mut case = Case::default();
    // The split took the mark away from every case but the first.
    let title = if written.starts_with('#') { "" } else { "# " };
    case.source.push_str(title);
    for line in written.lines().take_while(|line| *line != "finds") {
        case.source.push_str(line);
        case.source.push('\n');
        if let Some(name) = line.strip_prefix("check ") {
            name.clone_into(&mut case.check);
        } else if let Some(path) = line.strip_prefix("file ") {
            case.files.push((path.to_owned(), String::new()));
        } else if let Some((_, text)) = case.files.last_mut() {
            text.push_str(&plain(line.strip_prefix("    ").unwrap_or(line)));
        }
    }
    case
}

fn plain(line: &str) -> String {
    let (line, times) = line.rsplit_once(" ×").map_or((line, 1), |(line, times)| {
        (
            line,
            times.parse().expect("a number of times stands after ×"),
        )
    });
    let line = line.replace('→', "\t");
    let line = line
        .strip_suffix('·')
        .map_or(line.clone(), |rest| format!("{rest} "));
    format!("{line}\n").repeat(times)
}
