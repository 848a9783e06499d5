//! The command line of the real binary: what it prints, where, and how it exits.

use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs};

#[test]
fn version_names_the_program_and_its_version() {
    let output = evenkeel(&["--version"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output.stdout),
        format!("evenkeel {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn help_is_the_golden_one() {
    let output = evenkeel(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
    golden("help.txt", &text(&output.stdout));
}

#[test]
fn no_argument_prints_the_help() {
    let bare = evenkeel(&[]);
    assert_eq!(bare.status.code(), Some(0));
    assert_eq!(text(&bare.stdout), text(&evenkeel(&["--help"]).stdout));
}

#[test]
fn an_unknown_argument_exits_with_2_and_is_named() {
    let all: String = ["frobnicate", "--data", "-x"]
        .map(|argument| {
            let output = evenkeel(&[argument]);
            assert_eq!(
                output.status.code(),
                Some(2),
                "exit code of `evenkeel {argument}`"
            );
            assert_eq!(text(&output.stdout), "", "errors go to stderr");
            format!("> evenkeel {argument}\n{}\n", text(&output.stderr))
        })
        .concat();
    golden("unknown_argument.txt", &all);
}

fn evenkeel(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(args)
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program prints UTF-8")
}

/// Compares with a golden file, or writes it when UPDATE_GOLDEN is set.
fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, actual).expect("the golden file is writable");
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        actual, expected,
        "run `cargo xtask golden -p server` and review the diff"
    );
}
