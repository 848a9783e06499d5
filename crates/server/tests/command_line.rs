//! The command line of the real binary: what it prints, where, and how it exits.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
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

/// What the program says of a data directory that it refuses, in one line on stderr.
fn refused(command: &str, data: &Path) -> String {
    let data = data.to_str().expect("the path is UTF-8");
    let more: &[&str] = match command {
        "sql" => &["-c", "SELECT 1"],
        _ => &["--pg", "127.0.0.1:0", "--http", "none"],
    };
    let output = evenkeel(&[&[command, "--data", data], more].concat());
    assert_eq!(output.status.code(), Some(1), "{command} of {data}");
    assert_eq!(text(&output.stdout), "", "errors go to stderr");
    let mut words = text(&output.stderr);
    assert_eq!(words.lines().count(), 1, "{words}");
    let start = format!("error: cannot open the database in {data}: ");
    assert!(words.starts_with(&start), "{words}");
    words.split_off(start.len())
}

#[test]
fn a_data_directory_that_cannot_be_opened_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("file"), "a file").expect("there is room");
    for (name, file, content) in [
        ("foreign", "PG_VERSION", "17\n"),
        ("newer", "EVENKEEL", "evenkeel 999\n"),
        ("empty", "EVENKEEL", ""),
    ] {
        fs::create_dir(path(name)).expect("there is room");
        fs::write(path(name).join(file), content).expect("there is room");
    }
    for command in ["sql", "serve"] {
        for (name, words) in [
            ("file", "(it is a file): choose an empty or new directory"),
            (
                "foreign",
                "(it holds PG_VERSION): choose an empty or new directory",
            ),
            ("newer", "use a newer evenkeel; nothing was changed"),
            ("empty", "restore it from a backup; nothing was overwritten"),
        ] {
            let error = refused(command, &path(name));
            assert!(error.contains(words), "{error}");
        }
    }
    let entries = fs::read_dir(path("foreign")).expect("it is there");
    assert_eq!(entries.count(), 1, "nothing was added");
}

#[test]
fn a_data_directory_is_for_one_process() {
    let folder = tempfile::tempdir().expect("there is room");
    let mut server = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["serve", "--pg", "127.0.0.1:0", "--http", "none", "--data"])
        .arg(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut line = String::new();
    let lines = server.stdout.take().expect("it is piped");
    let ready = BufReader::new(lines).read_line(&mut line);
    let errors = ["sql", "serve"].map(|command| refused(command, folder.path()));
    server.kill().expect("it runs");
    server.wait().expect("it ends");
    assert!(ready.is_ok() && line.contains("serving"), "{line}");
    for error in errors {
        assert!(
            error.contains("is in use by another process: stop it"),
            "{error}"
        );
    }
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
