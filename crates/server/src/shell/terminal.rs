//! Statements typed by a person: a prompt, a history, and names completed by Tab.

use std::env;
use std::io::Write;
use std::path::PathBuf;

use db::TransactionState;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Context, Editor, Helper, Highlighter, Hinter, Validator};

use super::{Next, Shell};
use crate::{Error, Result};

/// The file in the home directory that remembers statements.
const HISTORY_FILE: &str = ".evenkeel_history";

/// Words that are completed besides the names of tables and columns.
const KEYWORDS: &[&str] = &[
    "ALTER TABLE",
    "AND",
    "BEGIN",
    "COMMIT",
    "CREATE TABLE",
    "DELETE FROM",
    "DROP TABLE",
    "EXPLAIN",
    "FROM",
    "GROUP BY",
    "INSERT INTO",
    "LIMIT",
    "NULL",
    "ORDER BY",
    "PRIMARY KEY",
    "REPLACE INTO",
    "ROLLBACK",
    "SELECT",
    "UPDATE",
    "UPSERT INTO",
    "VALUES",
    "WHERE",
];

/// Talks to a person until that person leaves.
pub(super) fn talk<W: Write>(shell: &mut Shell<W>) -> Result<()> {
    shell.interruptible = true;
    let mut editor = Editor::<Names, FileHistory>::new()?;
    editor.set_helper(Some(Names { names: Vec::new() }));
    let mut stale = true;
    let history = env::var_os("HOME").map(|home| PathBuf::from(home).join(HISTORY_FILE));
    if let Some(path) = &history {
        // The first time there is none.
        let _ = editor.load_history(path);
    }
    writeln!(
        shell.out,
        "EvenKeel {}. Type \\? for help.",
        env!("CARGO_PKG_VERSION")
    )?;
    let mut pending = String::new();
    loop {
        if std::mem::take(&mut stale)
            && let Some(helper) = editor.helper_mut()
        {
            helper.names = shell.names();
        }
        match editor.readline(shell.prompt(&pending)) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    editor.add_history_entry(line.as_str())?;
                }
                match shell.line(&mut pending, &line) {
                    // Tables may have come or gone, unless a transaction is open.
                    Ok(Next::Line) => stale = shell.peer.state() == TransactionState::Idle,
                    Ok(Next::Quit) => break,
                    Err(Error::Io(error)) => return Err(Error::Io(error)),
                    Err(error) => {
                        pending.clear();
                        writeln!(shell.out, "error: {error}")?;
                    }
                }
            }
            Err(ReadlineError::Interrupted) => pending.clear(),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(path) = &history {
        // A home that cannot be written to is no reason to fail.
        let _ = editor.save_history(path);
    }
    Ok(())
}

/// Completes the names that the database knows.
#[derive(Helper, Highlighter, Hinter, Validator)]
struct Names {
    names: Vec<String>,
}

impl Completer for Names {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..position).unwrap_or_default();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '.' | '\\');
        let start = typed.rfind(|c| !is_name(c)).map_or(0, |at| {
            at + typed
                .get(at..)
                .and_then(|rest| rest.chars().next())
                .map_or(1, char::len_utf8)
        });
        let word = typed.get(start..).unwrap_or_default();
        Ok((start, candidates(&self.names, word)))
    }
}

/// Everything that begins like `word`, whatever its case.
fn candidates(names: &[String], word: &str) -> Vec<String> {
    let lower = word.to_lowercase();
    let keywords = KEYWORDS.iter().copied();
    let all = keywords.chain(names.iter().map(String::as_str));
    let mut found: Vec<String> = all
        .filter(|name| !word.is_empty() && name.to_lowercase().starts_with(&lower))
        .map(str::to_owned)
        .collect();
    found.sort();
    found.dedup();
    found
}
