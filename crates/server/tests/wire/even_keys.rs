//! Generated keys over the wire: COPY leaves them out, and notices come beside the answer.

use std::process::Command;

use crate::process::Server;

const CREATE: &str = "CREATE TABLE hashed (h Uint64 GENERATED ALWAYS AS (Digest::NumericHash(id)) \
     STORED, id Uint64 NOT NULL, name Utf8, PRIMARY KEY (h, id)) WITH (UNIFORM_PARTITIONS = 8)";

#[test]
fn psql_copies_tables_with_generated_keys_and_sees_notices() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let psql = |statements: &[&str]| {
        let mut command = Command::new("psql");
        command.args(["-X", "-At", "-h", "127.0.0.1", "-U", "ada", "-d", "boats"]);
        command.args(["-p", &server.port.to_string()]);
        for statement in statements {
            command.args(["-c", statement]);
        }
        let output = command.output().unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let file = data.path().join("rows.txt");
    std::fs::write(&file, "1\tOne\n2\tTwo\n").unwrap();
    let copy_in = format!("\\copy hashed FROM '{}'", file.display());
    let [out, err] = psql(&[CREATE, &copy_in, "\\copy hashed TO STDOUT"]);
    assert_eq!(out, "CREATE TABLE\nCOPY 2\n1\tOne\n2\tTwo\n");
    assert_eq!(err, "");
    let [out, err] = psql(&["SELECT h FROM hashed WHERE id = 2"]);
    assert_eq!((out.as_str(), err.as_str()), ("6174653592142994962\n", ""));

    // A value that contradicts is refused, in COPY too.
    std::fs::write(&file, "7\t3\tThree\n").unwrap();
    let copy_in = format!("\\copy hashed (h, id, name) FROM '{}'", file.display());
    let [_, err] = psql(&[&copy_in]);
    assert!(
        err.contains("column `h` of table `hashed` is generated"),
        "{err}"
    );

    // Each connection hears once that a statement reads all.
    let all = "SELECT count(*) FROM hashed";
    let [out, err] = psql(&[all, all]);
    assert_eq!(out, "2\n2\n");
    let notice = "NOTICE:  this statement reads all 8 partitions of table `hashed`";
    assert_eq!(err.matches(notice).count(), 1, "{err}");
    let [_, err] = psql(&["SET evenkeel.full_scan_notice = off", all]);
    assert_eq!(err, "");

    // The bucket is hidden from \d and from COPY, and the key is what was asked for.
    let create =
        "CREATE TABLE log (ts Int64 NOT NULL, id Int64 NOT NULL, PRIMARY KEY (ts, id) USING HASH)";
    let key = "SELECT indexdef FROM pg_indexes WHERE tablename = 'log'";
    let [out, _] = psql(&[create, "\\d log", key]);
    assert!(!out.contains("_bucket"), "{out}");
    assert!(
        out.contains("log_pkey") && out.contains("(ts, id)"),
        "{out}"
    );
    let [out, _] = psql(&["\\d hashed"]);
    let shown = "generated always as (Digest::NumericHash(id)) stored";
    assert!(out.contains(shown), "{out}");
    let open = "CREATE TABLE open_key (a Int64, PRIMARY KEY (a))";
    let [_, err] = psql(&[open]);
    assert!(
        err.starts_with("NOTICE:  KEY003: the key column `a` of `open_key` may be NULL\nDETAIL:"),
        "{err}"
    );
}
