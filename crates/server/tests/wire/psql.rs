//! The real psql.

use std::path::Path;
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

const TABLES: &str = "
    CREATE TABLE boats (id Int64 NOT NULL, name Utf8 NOT NULL, built Date, price Decimal(12,2),
        PRIMARY KEY (id));
    CREATE TABLE trips (boat Uint64 NOT NULL, at Timestamp NOT NULL, note Utf8 DEFAULT 'none'u,
        seen BigSerial, INDEX by_note GLOBAL ON (note) COVER (seen), PRIMARY KEY (boat, at));
    CREATE TABLE loose (x Json);
    INSERT INTO boats (id, name) VALUES (1, 'One');
";

/// What psql prints for commands that it makes queries of itself.
fn described(server: &Server, commands: &[&str]) -> String {
    let mut command = Command::new("psql");
    command.args(["-X", "-h", "127.0.0.1", "-U", "ada", "-d", "boats", "-p"]);
    command.arg(server.port.to_string());
    for one in commands {
        command.args(["-c", one]);
    }
    let output = command.output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(err, "", "{commands:?}");
    out
}

#[test]
fn psql_describes_tables() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    described(&server, &[TABLES]);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    for (file, commands) in [
        (
            "psql_lists.txt",
            &[r"\d", r"\dt", r"\dt+ boats", r"\di", r"\ds", r"\dn"][..],
        ),
        (
            "psql_tables.txt",
            &[r"\d boats", r"\d trips", r"\d loose", r"\d+ trips"][..],
        ),
        (
            "psql_parts.txt",
            &[r"\d trips_pkey", r"\d by_note", r"\d trips_seen_seq"][..],
        ),
    ] {
        let printed = described(&server, commands);
        let path = golden.join(file);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &printed).unwrap();
        }
        assert_eq!(printed, std::fs::read_to_string(&path).unwrap(), "{file}");
    }
}

/// Commands whose answer depends on the version of psql: they have to work, and to name something.
#[test]
fn psql_describes_the_rest() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    described(&server, &[TABLES]);
    for (command, named) in [
        (r"\l", "evenkeel"),
        (r"\du", "evenkeel"),
        (r"\dn+", "public"),
        (r"\db", "pg_default"),
        (r"\dT", "List of data types"),
        (r"\df", "List of functions"),
        (r"\dx", "List of installed extensions"),
        (r"\dp", "boats"),
        (r"\dS pg_class", "pg_class"),
        (r"\d pg_class", "relname"),
        (r"\dt pg_catalog.*", "pg_attribute"),
        (r"\d sys.partition_stats", "PartIdx"),
        (r"\dv sys.*", "partition_stats"),
        (r"\dA", "btree"),
        (r"\dD", "List of domains"),
        (r"\dc", "List of conversions"),
        (r"\dC", "List of casts"),
        (r"\dL", "List of languages"),
        (r"\dy", "List of event triggers"),
        (r"\dF", "List of text search configurations"),
    ] {
        let printed = described(&server, &[command]);
        assert!(printed.contains(named), "{command}: {printed}");
    }
}
