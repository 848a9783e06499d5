//! `evenkeel lint` as a person or a build runs it: what it prints in each format, and how it exits.

#![cfg(test)]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const EVENTS: &str = "CREATE TABLE events (\n    at timestamptz NOT NULL,\n    userid bigint NOT \
                      NULL,\n    \
                      what varchar(40),\n    PRIMARY KEY (at, userid)\n);\n";
const USERS: &str =
    "CREATE TABLE users (name varchar(40) PRIMARY KEY, email varchar(40) UNIQUE);\n";
const GUESSED: &str = "CREATE TABLE orders (order_id bigint PRIMARY KEY);\n";

/// A directory with files in it.
struct Files(TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(TempDir::new().expect("a directory can be made"));
        for (name, text) in files {
            fs::write(folder.path(name), text).expect("a file can be written");
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is readable")
    }

    fn lint(&self, args: &[&str]) -> Output {
        self.lint_with(args, "")
    }

    fn lint_with(&self, args: &[&str], input: &str) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .arg("lint")
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        // A run that reads no input may be over already.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("the binary ends")
    }
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the program prints UTF-8")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn errors_are_denied_and_the_rest_is_when_asked() {
    let files = Files::new(&[
        ("events.sql", EVENTS),
        ("users.sql", USERS),
        ("orders.sql", GUESSED),
    ]);
    for (args, expected) in [
        (&["events.sql"][..], 1),
        (&["users.sql"], 0),
        (&["users.sql", "events.sql"], 1),
        (&["orders.sql"], 0),
        (&["orders.sql", "--deny", "warnings"], 1),
        (&["users.sql", "--deny", "warnings"], 0),
        (&["users.sql", "--deny", "KEY003"], 1),
        (&["users.sql", "--deny", "notes"], 1),
        (&["events.sql", "--allow", "KEY001"], 0),
        (&["users.sql", "--deny", "KEY099"], 2),
        (&["nowhere.sql"], 2),
        (&[], 2),
    ] {
        let output = files.lint(args);
        assert_eq!(code(&output), Some(expected), "{args:?}: {}", out(&output));
    }
}

#[test]
fn text_shows_the_place_and_the_rewritten_statement() {
    let files = Files::new(&[("events.sql", EVENTS)]);
    let page = out(&files.lint(&["events.sql"]));
    for part in [
        "error[KEY001]: the primary key of `events` begins with `at`",
        " --> events.sql:5:18\n",
        "5 |     PRIMARY KEY (at, userid)\n  |                  ^^ ",
        "  |      PRIMARY KEY (userid, at)\n",
        "1 error\n",
    ] {
        assert!(page.contains(part), "{part:?} is missing in\n{page}");
    }
}

#[test]
fn json_is_one_object_a_line() {
    let files = Files::new(&[(
        "all.sql",
        &format!("{EVENTS}{USERS}CREAT TABLE x (y int);\n"),
    )]);
    let output = files.lint(&["--format", "json", "all.sql"]);
    assert_eq!(code(&output), Some(2));
    let lines: Vec<Value> = out(&output)
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    let codes: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["code"].as_str())
        .collect();
    assert_eq!(codes, ["SYNTAX", "KEY001", "KEY003"]);
    assert_eq!(lines[0]["line"], 8);
    assert_eq!(
        (
            &lines[1]["line"],
            &lines[1]["column"],
            &lines[1]["end_column"]
        ),
        (&5.into(), &18.into(), &20.into())
    );
    assert_eq!(lines[1]["denied"], true);
    assert_eq!(lines[1]["edits"][0]["text"], "(userid, at)");
    assert_eq!(lines[2]["severity"], "note");
}

#[test]
fn sarif_names_rules_and_regions() {
    let files = Files::new(&[("events.sql", EVENTS)]);
    let log: Value = serde_json::from_str(&out(&files.lint(&["--format", "sarif", "events.sql"])))
        .expect("SARIF is JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(
        run["tool"]["driver"]["rules"].as_array().map(Vec::len),
        Some(15)
    );
    let result = &run["results"][0];
    assert_eq!(
        (&result["ruleId"], &result["level"]),
        (&"KEY001".into(), &"error".into())
    );
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "events.sql");
    assert_eq!(place["region"]["startLine"], 5);
}

#[test]
fn github_gets_commands_of_one_line() {
    let files = Files::new(&[("events.sql", EVENTS), ("users.sql", USERS)]);
    let page = out(&files.lint(&["--format", "github", "events.sql", "users.sql"]));
    let lines: Vec<&str> = page.lines().collect();
    assert_eq!(lines.len(), 2, "{page}");
    assert!(lines[0].starts_with(
        "::error file=events.sql,line=5,col=18,endLine=5,endColumn=20,title=KEY001::"
    ));
    assert!(lines[1].starts_with("::notice file=users.sql,line=1,"));
}

#[test]
fn odd_names_of_files_are_written_as_each_format_wants_them() {
    let name = "größe, 1:100%.sql";
    let files = Files::new(&[(name, EVENTS)]);
    let log: Value = serde_json::from_str(&out(&files.lint(&["--format", "sarif", name])))
        .expect("SARIF is JSON");
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(
        place["artifactLocation"]["uri"],
        "gr%C3%B6%C3%9Fe%2C%201%3A100%25.sql"
    );
    let page = out(&files.lint(&["--format", "github", name]));
    assert!(
        page.starts_with("::error file=größe%2C 1%3A100%25.sql,line=5,"),
        "{page}"
    );
}

#[test]
fn a_statement_that_cannot_be_read_is_told_and_the_rest_is_checked() {
    let files = Files::new(&[(
        "all.sql",
        &format!("CREATE TABLE t (id int,, PRIMARY KEI (id));\n{EVENTS}"),
    )]);
    let output = files.lint(&["all.sql"]);
    assert_eq!(code(&output), Some(2));
    let page = out(&output);
    assert!(page.contains(" --> all.sql:1:24\n"), "{page}");
    assert!(page.contains("error[KEY001]"), "{page}");
    assert!(page.contains("1 error, 1 statement skipped"), "{page}");
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_nothing_is_said_of_what_it_holds() {
    let files = Files::new(&[("good.sql", "CREATE TABLE t (id bigserial PRIMARY KEY);")]);
    fs::write(files.path("bytes.sql"), b"-- a\n-- caf\xe9\n").expect("a file can be written");
    for unreadable in ["missing.sql", "bytes.sql"] {
        let alone = files.lint(&[unreadable]);
        assert_eq!(code(&alone), Some(2));
        assert_eq!(out(&alone), "");
        let said = String::from_utf8_lossy(&alone.stderr).into_owned();
        assert!(said.contains(unreadable), "{said}");
        let line = said.contains(": line 2 is not UTF-8: convert the file");
        assert_eq!(line, unreadable == "bytes.sql", "{said}");
        let beside = files.lint(&[unreadable, "good.sql"]);
        assert_eq!(code(&beside), Some(2));
        assert!(out(&beside).contains("error[KEY001]"));
    }
}

#[test]
fn fix_writes_the_file_once_and_for_all() {
    let all = format!("-- kept\n{EVENTS}{USERS}{GUESSED}");
    let files = Files::new(&[("all.sql", &all)]);
    let output = files.lint(&["--fix", "--allow", "KEY003", "all.sql"]);
    assert_eq!(code(&output), Some(0), "{}", out(&output));
    let fixed = files.read("all.sql");
    assert!(
        fixed.starts_with("-- kept\nCREATE TABLE events ("),
        "{fixed}"
    );
    assert!(fixed.contains("PRIMARY KEY (userid, at)"), "{fixed}");
    assert!(
        fixed.contains(USERS),
        "what is allowed is left alone: {fixed}"
    );
    assert!(
        fixed.contains("PRIMARY KEY (order_bucket, order_id)"),
        "{fixed}"
    );
    assert_eq!(code(&files.lint(&["--deny", "KEY001", "all.sql"])), Some(0));
    files.lint(&["--fix", "--allow", "KEY003", "all.sql"]);
    assert_eq!(files.read("all.sql"), fixed);
}

#[test]
fn standard_input_is_read_and_its_fix_printed() {
    let files = Files::new(&[]);
    assert_eq!(code(&files.lint_with(&["-"], EVENTS)), Some(1));
    let output = files.lint_with(&["--fix", "-"], EVENTS);
    assert_eq!(out(&output), EVENTS.replace("(at, userid)", "(userid, at)"));
    assert_eq!(code(&output), Some(0));
}

#[test]
fn queries_are_checked_against_the_keys() {
    let queries =
        "SELECT * FROM events WHERE at > now();\nSELECT * FROM events WHERE userid = $1;\n";
    let files = Files::new(&[("events.sql", EVENTS), ("queries.sql", queries)]);
    let output = files.lint(&[
        "--queries",
        "queries.sql",
        "--allow",
        "KEY001",
        "--deny",
        "KEY008",
        "events.sql",
    ]);
    assert_eq!(code(&output), Some(1));
    let page = out(&output);
    assert!(
        page.contains("warning[KEY008]") && page.contains(" --> queries.sql:2:15\n"),
        "{page}"
    );
    assert_eq!(page.matches("KEY008]").count(), 1, "{page}");
}

#[test]
fn explain_prints_the_page() {
    let files = Files::new(&[]);
    let output = files.lint(&["--explain", "key014"]);
    assert_eq!(code(&output), Some(0));
    assert!(out(&output).starts_with("# KEY014: a time bucket that leads the key\n"));
}

#[test]
fn a_thousand_tables_take_no_time_worth_naming() {
    let schema: String = (0..1000)
        .map(|number| EVENTS.replace("events", &format!("events_{number}")))
        .collect();
    let files = Files::new(&[("all.sql", &schema)]);
    let page = out(&files.lint(&["--format", "json", "all.sql"]));
    assert_eq!(page.lines().count(), 1000);
}
