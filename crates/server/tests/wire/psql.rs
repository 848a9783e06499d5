//! The real psql.

use std::process::Command;

use crate::process::Server;

#[test]
fn psql_runs_statements() {
    let found = Command::new("psql").arg("--version").output();
    assert!(found.is_ok(), "psql is missing: `./dev test` installs it");
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let psql = |statements: &[&str]| {
        let mut command = Command::new("psql");
        command.args([
            "-X",
            "-At",
            "-h",
            "127.0.0.1",
            "-U",
            "ada",
            "-d",
            "boats",
            "-p",
        ]);
        command.arg(server.port.to_string());
        for statement in statements {
            command.args(["-c", statement]);
        }
        let output = command.output().unwrap();
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), out, err)
    };
    let made = psql(&[
        "CREATE TABLE boats (id Uint64 NOT NULL, name Utf8, built Date, PRIMARY KEY (id))",
        "INSERT INTO boats (id, name, built) VALUES (2, 'Zwölf', NULL), (1, 'One', Date('2018-06-02'))",
        "SELECT * FROM boats; SELECT count(*) FROM boats",
    ]);
    let answers = "CREATE TABLE\nINSERT 0 2\n1|One|2018-06-02\n2|Zwölf|\n2\n";
    assert_eq!(made, (Some(0), answers.to_owned(), String::new()));

    // Statements that come as one text are one transaction.
    let (status, ..) =
        psql(&["INSERT INTO boats (id) VALUES (3); INSERT INTO boats (id) VALUES (3)"]);
    assert_eq!(status, Some(1));
    assert_eq!(psql(&["SELECT count(*) FROM boats"]).1, "2\n");

    let warned = psql(&["ROLLBACK"]);
    let warning = "WARNING:  there is no transaction in progress\n";
    assert_eq!(
        warned,
        (Some(0), "ROLLBACK\n".to_owned(), warning.to_owned())
    );

    let (status, out, err) = psql(&["SELECT id form boats"]);
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert!(
        err.starts_with("ERROR:  ") && err.contains("LINE 1: SELECT id form boats"),
        "{err}"
    );
}
