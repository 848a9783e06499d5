//! Texts and what they become, as a person can read them; `UPDATE_GOLDEN=1` rewrites the files.
//!
//! A file is a list of cases, each a text, a line `---`, and what the text becomes up to a blank
//! line. Lines that begin with `#` say what a case shows.

use std::path::{Path, PathBuf};

use syntax::fingerprint;

use super::print::print;

fn golden_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files
}

/// The texts of a golden file.
pub(crate) fn texts(written: &str) -> Vec<String> {
    let mut texts = Vec::new();
    rewrite(written, |text| {
        texts.push(text.to_owned());
        String::new()
    });
    texts
}

/// Every text of every golden file.
pub(crate) fn all_texts() -> Vec<String> {
    golden_files()
        .iter()
        .flat_map(|file| texts(&std::fs::read_to_string(file).unwrap()))
        .collect()
}

/// The file with the answer after each `---` replaced.
fn rewrite(written: &str, mut answer: impl FnMut(&str) -> String) -> String {
    let mut out = String::new();
    let mut text = String::new();
    let mut in_answer = false;
    for line in written.lines() {
        if in_answer {
            in_answer = !line.is_empty();
            if !in_answer {
                out.push('\n');
            }
        } else if line == "---" {
            out.push_str("---\n");
            out.push_str(&answer(text.trim_end()));
            text.clear();
            in_answer = true;
        } else {
            out.push_str(line);
            out.push('\n');
            let aside = line.starts_with('#') || line.is_empty() && text.is_empty();
            if !aside {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    out
}

#[test]
fn texts_become_what_the_golden_files_show() {
    let mut differing = Vec::new();
    for file in golden_files() {
        let written = std::fs::read_to_string(&file).unwrap();
        let by_name = file.file_stem().is_some_and(|name| name == "fingerprints");
        let found = rewrite(&written, |text| {
            if by_name {
                let (number, folded) = fingerprint(text);
                format!("{number:016x} {folded}\n")
            } else {
                print(text)
            }
        });
        if found != written {
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                std::fs::write(&file, &found).unwrap();
            }
            let place = found.lines().zip(written.lines()).position(|(a, b)| a != b);
            differing.push(format!("{}:{}", file.display(), place.unwrap_or(0) + 1));
        }
    }
    assert!(
        differing.is_empty() || std::env::var_os("UPDATE_GOLDEN").is_some(),
        "these differ: rewrite them with UPDATE_GOLDEN=1 if that is meant: {differing:#?}"
    );
}

#[test]
fn every_golden_file_has_cases() {
    let files = golden_files();
    assert!(
        files.len() > 10,
        "only {} golden files were found",
        files.len()
    );
    for file in files {
        let written = std::fs::read_to_string(&file).unwrap();
        assert!(
            !texts(&written).is_empty(),
            "{} has no case",
            file.display()
        );
    }
}

/// Files other than `errors` hold texts that are accepted: a golden diff must not hide a refusal.
#[test]
fn only_the_file_of_errors_has_errors() {
    for file in golden_files() {
        if file
            .file_stem()
            .is_some_and(|name| name == "errors" || name == "fingerprints")
        {
            continue;
        }
        for text in texts(&std::fs::read_to_string(&file).unwrap()) {
            if let Err(error) = syntax::parse(&text) {
                panic!("{}: {error}\n{text}", file.display());
            }
        }
    }
}
