//! Data directories of every format that there was open, are read, altered and read again.
//!
//! `1.txt` is a directory of format 1 as text (text.rs), and `1.slt` is what is asked of it: statements
//! and answers, as in `golden/*.slt`, with `> reopen` where another process opens the database and goes on.
//! `UPDATE_GOLDEN=1` rewrites the answers. `README.md` says how a directory is written down anew.

mod text;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use db::collection::record;
use db::{Database, Options, Reply, Session, Value};
use storage::{Engine, FjallEngine, FjallOptions, SharedPlacement};

use crate::session::run;

/// Set, a new directory is written down.
const MAKE: &str = "EVENKEEL_MAKE_FORMAT";

/// For the process that opens a directory: what it is to do, where, and what it is given and gives back.
const PART: &str = "EVENKEEL_TEST_PART";
const DIRECTORY: &str = "EVENKEEL_TEST_DIRECTORY";
const PAPER: &str = "EVENKEEL_TEST_PAPER";

/// Where a conversation goes on in another process.
const REOPEN: &str = "> reopen\n";

/// Files that directories of format 1 did not have at first.
const NOTES: [&str; 3] = ["RESERVE", "SYNCED", "MADE"];

fn kept(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/formats");
    folder.join(name)
}

/// What a client would see of a statement.
async fn answer(session: &mut Session, statement: &str) -> String {
    match rows(session, statement).await {
        Ok(answer) => answer,
        Err(error) => format!("error {}: {error}\n", error.sqlstate()),
    }
}

async fn rows(session: &mut Session, text: &str) -> Result<String, db::Error> {
    let mut out = String::new();
    for statement in session.parse(text)? {
        let prepared = session.prepare(statement, &[]).await?;
        match session.execute(&prepared, &[]).await? {
            Reply::Done { command, rows } => {
                let rows = rows.map(|rows| format!(" {rows}")).unwrap_or_default();
                writeln!(out, "{command}{rows}").unwrap();
            }
            Reply::Rows(mut rows) => {
                while let Some(more) = rows.next().await {
                    for row in more? {
                        let values: Vec<_> = row.iter().map(ToString::to_string).collect();
                        writeln!(out, "  {}", values.join(" | ")).unwrap();
                    }
                }
            }
        }
    }
    Ok(out)
}

/// Holds a conversation with the database in a directory, and writes it down.
async fn converse(written: &str, path: &Path) -> String {
    let mut found = String::new();
    let mut session = Session::new(Arc::new(Database::open(path).unwrap()));
    for line in written.lines() {
        if let Some(statement) = line.strip_prefix("> ") {
            writeln!(found, "{line}").unwrap();
            found += &answer(&mut session, statement).await;
        } else if line.starts_with('#') || line.is_empty() {
            writeln!(found, "{line}").unwrap();
        }
    }
    found
}

/// Opens a directory in a process of its own, which ends without closing it, and answers with what that
/// writes down.
fn in_a_process(part: &str, directory: &Path, given: &str) -> String {
    let papers = tempfile::tempdir().unwrap();
    let paper = papers.path().join("paper");
    fs::write(&paper, given).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "formats::a_part", "--nocapture"])
        .envs([
            (PART, Path::new(part)),
            (DIRECTORY, directory),
            (PAPER, &paper),
        ])
        .output()
        .unwrap();
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{reported}");
    fs::read_to_string(paper).unwrap()
}

/// What runs in a process of its own, when that is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_part() {
    let Some(part) = std::env::var_os(PART) else {
        return;
    };
    let [directory, paper] =
        [DIRECTORY, PAPER].map(|name| PathBuf::from(std::env::var_os(name).unwrap()));
    let given = fs::read_to_string(&paper).unwrap();
    let found = match part.to_str() {
        Some(FIRST) => make_tables(&directory, &given).await,
        Some(LAST) => make_rows(&directory, &given).await,
        _ => converse(&given, &directory).await,
    };
    fs::write(paper, found).unwrap();
    std::process::exit(0);
}

/// Checks that a directory of the format, with those files of it that are wanted, holds what it should.
fn check(format: u32, wanted: impl Fn(&str) -> bool) {
    let directory = tempfile::tempdir().unwrap();
    let directory_text = fs::read_to_string(kept(&format!("{format}.txt"))).unwrap();
    text::materialize(&directory_text, directory.path(), wanted);
    let place = kept(&format!("{format}.slt"));
    let written = fs::read_to_string(&place).unwrap();
    let parts = written.split(REOPEN);
    let found: Vec<_> = parts
        .map(|part| in_a_process("conversation", directory.path(), part))
        .collect();
    let found = found.join(REOPEN);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(place, found).unwrap();
        return;
    }
    assert_eq!(
        found,
        written,
        "{} differs: rewrite it with UPDATE_GOLDEN=1 if that is meant",
        place.display()
    );
}

#[test]
fn format_1_opens() {
    check(1, |_| true);
}

#[test]
fn format_1_opens_without_notes() {
    let is_note = |path: &str| NOTES.iter().any(|name| path.ends_with(name));
    check(1, |path| !is_note(path));
}

#[test]
fn the_present_format_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    drop(Database::open(directory.path()).unwrap());
    let marker = fs::read_to_string(directory.path().join("EVENKEEL")).unwrap();
    let format = marker.trim_end().strip_prefix("evenkeel ").unwrap();
    for name in [format!("{format}.txt"), format!("{format}.slt")] {
        assert!(
            kept(&name).is_file(),
            "write {name} down, as tests/suite/formats/README.md says"
        );
    }
}

#[test]
fn a_directory_comes_back_from_its_text() {
    let directory = tempfile::tempdir().unwrap();
    let written = fs::read_to_string(kept("1.txt")).unwrap();
    text::materialize(&written, directory.path(), |_| true);
    let lines = written.lines().filter(|line| !line.starts_with('#'));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    assert!(text::describe(directory.path()) == lines, "it differs");
}

/// Tables, and rows that are flushed or ingested.
const FIRST: &str = "make_tables.sql";

/// Rows that lie in the journal only.
const LAST: &str = "make_rows.sql";

/// How long flushes may take until they are counted.
const QUIET: Duration = Duration::from_secs(1);

/// The schema of a collection.
const ITEMS: &str = r#"{
    "key": "driver", "sortingKey": "day",
    "fields": [
        {"name": "driver", "type": "string"},
        {"name": "day", "type": "string"},
        {"name": "passengers", "type": "long", "nullable": true}
    ]
}"#;

/// Rows that are ingested past the journal, the first time.
fn load(database: &Database) {
    let table = database.table("loaded").unwrap();
    if table.schema().columns().len() == 2 {
        let row = |id| [Value::Int64(id), Value::Utf8(format!("loaded {id}").into())];
        database.load(&table, (1..=12).map(row)).unwrap();
    }
}

/// Opens a directory with memtables of a size, and runs a script.
async fn write(path: &Path, memtable_bytes_max: u64, script: &str) -> Arc<dyn Engine> {
    let options = FjallOptions {
        memtable_bytes_max,
        ..FjallOptions::default()
    };
    let engine: Arc<dyn Engine> = Arc::new(FjallEngine::open(path, options).unwrap());
    let given = Arc::clone(&engine);
    let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(Arc::clone(&given)) };
    let mut options = Options::new(Arc::new(SharedPlacement::new(open)));
    options.background = false;
    options.ingest_rows_min = Some(10);
    let database = Arc::new(Database::open_with(options).unwrap());
    if database.tables().is_empty() {
        let container = record::schema("v3io/users").unwrap();
        database.create_table(container, &[]).unwrap();
        let schema = database.set_item_schema("users", "rides/", Some(ITEMS.into()));
        schema.await.unwrap();
    }
    let mut session = Session::new(Arc::clone(&database));
    for statement in script.split_inclusive(";\n") {
        run(&mut session, statement).await.expect(statement);
    }
    load(&database);
    database.housekeep().unwrap();
    database.sync().unwrap();
    engine
}

async fn make_tables(path: &Path, script: &str) -> String {
    let engine = write(path, 2 << 10, script).await;
    let mut flushes = 0;
    while flushes == 0 || engine.counters().flushes != flushes {
        flushes = engine.counters().flushes;
        tokio::time::sleep(QUIET).await;
    }
    String::new()
}

async fn make_rows(path: &Path, script: &str) -> String {
    write(path, 32 << 20, script).await;
    String::new()
}

/// Writes a directory of the present format down.
#[test]
fn make() {
    let Some(format) = std::env::var_os(MAKE) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for name in [FIRST, LAST] {
        let script = fs::read_to_string(kept(name)).unwrap();
        in_a_process(name, directory.path(), &script);
    }
    let name = format!("{}.txt", format.to_str().unwrap());
    let title = "# A data directory as text; README.md says how it is made.\n";
    let described = format!("{title}{}", text::describe(directory.path()));
    fs::write(kept(&name), described).unwrap();
}
