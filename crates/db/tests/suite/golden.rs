//! Runs the conversations in `golden/*.slt`: statements, and what the database answered.
//!
//! A line that begins with `> ` begins a statement, lines that begin with `. ` go on with it, and what
//! follows is the answer. Every query is run twice, by the fast path if it takes it and by DataFusion,
//! and both must answer alike; only what locks or unlocks is run once. Of notices only the first line is shown, unless a comment of the script
//! is [`IN_FULL`]. Rewrite the answers with `UPDATE_GOLDEN=1` and read the difference.

mod recalled;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use db::{Database, Declared, Error, Prepared, Reply, Session, Statement, Value};

use recalled::Recalls;

/// The comment of a script that shows all there is to a notice.
const IN_FULL: &str = "# notices in full";

/// What a client would see of one statement.
async fn answer(session: &mut Session, statement: Statement) -> Result<String, Error> {
    let prepared = session.prepare(statement, &[]).await?;
    answer_prepared(session, &prepared, &[]).await
}

async fn answer_prepared(
    session: &mut Session,
    prepared: &Prepared,
    values: &[Value],
) -> Result<String, Error> {
    let mut out = String::new();
    match session.execute(prepared, values).await? {
        Reply::Done {
            command,
            rows: None,
        } => writeln!(out, "{command}").unwrap(),
        Reply::Done {
            command,
            rows: Some(rows),
        } => writeln!(out, "{command} {rows}").unwrap(),
        Reply::Rows(mut rows) => {
            let columns = rows
                .columns()
                .iter()
                .map(|one| format!("{} {}", one.name, type_name(one)));
            writeln!(out, "{}", columns.collect::<Vec<_>>().join(" | ")).unwrap();
            while let Some(more) = rows.next().await {
                for row in more? {
                    let values: Vec<_> = row.iter().map(|one| timeless(&one.to_string())).collect();
                    writeln!(out, "  {}", values.join(" | ")).unwrap();
                }
            }
        }
    }
    out += &notices(session);
    Ok(out)
}

/// The type of a column as it was declared.
fn type_name(column: &db::ResultColumn) -> String {
    match column.declared {
        Declared::Usual | Declared::Numeric => column.kind.to_string(),
        declared => declared.to_string(),
    }
}

/// How long a statement took is different each time.
fn timeless(text: &str) -> String {
    let number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let times = ["Execution Time", "Own Time"];
    let masked = |line: &str| match times.iter().find(|time| line.contains(**time)) {
        None => line.to_owned(),
        Some(named) => {
            let (before, time) = line.split_once(named).unwrap_or_default();
            let name = time.split(number).next().unwrap_or_default();
            let unit = time.rsplit(number).next().unwrap_or_default();
            format!("{before}{named}{name}…{unit}")
        }
    };
    let lines: Vec<_> = text.split('\n').map(masked).collect();
    lines.join("\n")
}

fn notices(session: &mut Session) -> String {
    let line = |notice: db::Notice| {
        let mut lines = format!("notice {}: {}\n", notice.code, notice.text);
        for (title, more) in [("detail", notice.detail), ("hint", notice.hint)] {
            let more = more.unwrap_or_default();
            let more = more.lines().enumerate();
            lines.extend(more.map(|(at, line)| match at {
                0 => format!("notice   {title}: {line}\n"),
                _ => format!("notice     {line}\n"),
            }));
        }
        lines
    };
    session.take_notices().into_iter().map(line).collect()
}

/// Without what stands behind the first lines of notices.
fn shortened(played: String, script: &str) -> String {
    if script.lines().any(|line| line == IN_FULL) {
        return played;
    }
    let lines = played.lines().filter(|line| !line.starts_with("notice   "));
    lines.map(|line| format!("{line}\n")).collect()
}

fn refusal(error: &Error) -> String {
    let place = error
        .position()
        .map_or(String::new(), |at| format!(" at byte {at}"));
    format!("error {}{place}: {error}\n", error.sqlstate())
}

/// Rows without an ORDER BY may come in any order, and some notices come once only.
fn sorted(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.starts_with("notice "));
    let mut lines: Vec<_> = lines.collect();
    lines.sort_unstable();
    lines
}

async fn set_fast_path(session: &mut Session, value: &str) {
    let set = session
        .parse(&format!("SET enable_fast_path = {value}"))
        .unwrap();
    for statement in set {
        answer(session, statement).await.unwrap();
    }
}

fn is_query(statement: &str) -> bool {
    let upper = statement.to_uppercase();
    upper.starts_with("SELECT") && !upper.contains("ADVISORY")
}

fn assert_alike(text: &str, fast: &str, planned: Result<String, Error>) {
    let planned = planned.unwrap_or_else(|error| refusal(&error));
    assert_eq!(
        sorted(fast),
        sorted(&planned),
        "the two executors disagree on {text}"
    );
}

async fn run(session: &mut Session, text: &str) -> String {
    let statements = match session.parse(text) {
        Ok(statements) => statements,
        Err(error) => return refusal(&error),
    };
    let mut out = notices(session);
    for statement in statements {
        let query = is_query(&text[statement.span.start..statement.span.end]);
        let outcome = answer(session, statement.clone()).await;
        if query && let Ok(fast) = &outcome {
            set_fast_path(session, "off").await;
            let planned = answer(session, statement).await;
            set_fast_path(session, "on").await;
            assert_alike(text, fast, planned);
        }
        out += &outcome.unwrap_or_else(|error| refusal(&error));
    }
    out
}

/// Plays a script.
async fn play(script: &str, recalls: &mut Recalls) -> String {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    let mut out = String::new();
    let mut lines = script.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("> ") else {
            if line.starts_with('#') || line.is_empty() {
                writeln!(out, "{line}").unwrap();
            }
            continue;
        };
        writeln!(out, "{line}").unwrap();
        let mut text = first.to_owned();
        while let Some(more) = lines.next_if(|next| next.starts_with(". ") || *next == ".") {
            writeln!(out, "{more}").unwrap();
            text.push('\n');
            text.push_str(more.strip_prefix(". ").unwrap_or_default());
        }
        out += &match recalls.run(&mut session, &text).await {
            Some(played) => played,
            None => run(&mut session, &text).await,
        };
    }
    out
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "slt"))
        .collect();
    paths.sort();
    paths
}

#[tokio::test]
async fn every_conversation_goes_as_written() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let paths = scripts();
    assert!(paths.len() >= 8, "the conversations are gone");
    let mut wrong = Vec::new();
    for path in paths {
        let script = std::fs::read_to_string(&path).unwrap();
        let played = shortened(play(&script, &mut Recalls::Never).await, &script);
        if update {
            std::fs::write(&path, &played).unwrap();
        } else if played != script {
            wrong.push(format!("{}:\n{played}", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "these differ, now answering:\n{}",
        wrong.join("\n")
    );
}
