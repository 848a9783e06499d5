//! `evenkeel sql`: what it prints, where, and how it exits; and the ways `serve` cannot start.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::process::Server;

fn sql(data: &Path, args: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["sql", "--data"])
        .arg(data)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    finished(child.wait_with_output().unwrap())
}

fn finished(output: Output) -> (Option<i32>, String, String) {
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), out, err)
}

#[test]
fn statements_run_from_arguments_files_and_pipes() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("db");
    let create = "CREATE TABLE boats (id Uint64 NOT NULL, name Utf8, /* evenkeel: allow \
                  KEY001 few boats */ PRIMARY KEY (id)); \
                  INSERT INTO boats (id, name) VALUES (10, 'ten'), (2, NULL)";
    let done = (
        Some(0),
        "CREATE TABLE\nINSERT 2\n".to_owned(),
        String::new(),
    );
    assert_eq!(sql(&path, &["-c", create], ""), done);

    let table = " id │ name\n────┼──────\n  2 │ NULL\n 10 │ ten\n(2 rows)\n\n";
    let read = (Some(0), table.to_owned(), String::new());
    assert_eq!(
        sql(&path, &[], "SELECT *\n -- all;\nFROM boats;\n\\q\nSELECT;"),
        read
    );
    let file = data.path().join("script.sql");
    std::fs::write(&file, "SELECT * FROM boats").unwrap();
    assert_eq!(sql(&path, &["-f", file.to_str().unwrap()], ""), read);

    let (status, out, err) = sql(&path, &[], "\\dt\n\\d boats\n");
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(
        out.contains(" boats │ id          │          1 │    2\n"),
        "{out}"
    );
    assert!(out.contains(" id     │ Uint64 │ not null │   1\n"), "{out}");
    assert!(
        out.contains("Partitions\n from │ up to │ rows │ bytes\n"),
        "{out}"
    );
}

#[test]
fn the_first_error_ends_a_script() {
    let data = tempfile::tempdir().unwrap();
    let (status, out, err) = sql(
        data.path(),
        &[],
        "SELECT 1;\nSELECT 1\nform t;\nSELECT 2;\n",
    );
    assert_eq!(status, Some(1));
    assert!(out.contains("(1 row)") && !out.contains('2'), "{out}");
    assert!(
        err.starts_with("error: ") && err.contains("LINE 2: form t;\n"),
        "{err}"
    );

    let (status, _, err) = sql(data.path(), &["-c", "\\nope"], "");
    assert_eq!(
        (status, err.as_str()),
        (Some(1), "error: unknown command `\\nope`: \\? lists them\n")
    );
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(&data.path().join("one"), &[]);
    let serve = |data: &Path| {
        let address = format!("127.0.0.1:{}", server.port);
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command
            .args(["serve", "--pg", &address, "--data"])
            .arg(data);
        finished(command.output().unwrap())
    };
    let (status, out, err) = serve(&data.path().join("two"));
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert!(
        err.starts_with(&format!(
            "error: cannot listen on 127.0.0.1:{}: ",
            server.port
        )),
        "{err}"
    );

    let (status, out, err) = serve(&data.path().join("one"));
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert!(
        err.starts_with("error: cannot open the database in "),
        "{err}"
    );

    let foreign = data.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("letter.txt"), "not ours").unwrap();
    let (status, out, err) = serve(&foreign);
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert!(
        err.starts_with("error: cannot open the database in "),
        "{err}"
    );
    assert!(foreign.join("letter.txt").exists());
}

#[test]
fn statements_run_on_a_server_too() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let url = format!("postgres://ada@127.0.0.1:{}/boats", server.port);
    let sql = |args: &[&str], input: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["sql", "--url", &url])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        finished(child.wait_with_output().unwrap())
    };
    let create = "CREATE TABLE boats (id Uint64 NOT NULL, name Utf8, /* evenkeel: allow \
                  KEY001 few boats */ PRIMARY KEY (id)); \
                  INSERT INTO boats (id, name) VALUES (10, 'ten; or so'), (2, NULL)";
    let done = "CREATE TABLE\nINSERT 2\n".to_owned();
    assert_eq!(sql(&["-c", create], ""), (Some(0), done, String::new()));
    let table = " id │ name\n────┼────────────\n  2 │ NULL\n 10 │ ten; or so\n(2 rows)\n\n";
    let read = sql(&[], "SELECT *\n -- all;\nFROM boats;\n\\q\nSELECT;");
    assert_eq!(read, (Some(0), table.to_owned(), String::new()));
    let warned = sql(&["-c", "BEGIN; BEGIN; ROLLBACK"], "");
    let warning = "warning: there is already a transaction in progress\n";
    let answers = "BEGIN\nBEGIN\nROLLBACK\n".to_owned();
    assert_eq!(warned, (Some(0), answers, warning.to_owned()));

    let (status, out, err) = sql(&[], "SELECT 1;\nSELECT 1\nform t;\nSELECT 2;\n");
    assert_eq!(status, Some(1));
    assert!(out.contains("(1 row)") && !out.contains('2'), "{out}");
    assert!(
        err.starts_with("error: ") && err.contains("LINE 2: form t\n"),
        "{err}"
    );

    let nobody = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args([
            "sql",
            "--url",
            "postgres://ada@127.0.0.1:1/boats",
            "-c",
            "SELECT 1",
        ])
        .output();
    let (status, _, err) = finished(nobody.unwrap());
    assert_eq!(status, Some(1));
    assert!(
        err.starts_with("error: cannot connect to postgres://ada@127.0.0.1:1/boats: "),
        "{err}"
    );
}
