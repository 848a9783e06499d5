//! `evenkeel sql`: statements from the command line, a file, a pipe or a terminal.
//!
//! ```text
//!   -c, -f, a pipe ──┐                      ┌─► tables, counts     on standard output
//!                    ├─► lines ─► statements ├─► notices            on standard error
//!   a terminal ──────┘     │                └─► errors             where they end the run
//!   (history, names        └─► \commands
//!    completed by Tab)
//! ```
//!
//! It opens the data directory itself, so no server may have it open, or it talks to the server at a
//! URL. At a terminal an error ends the statement; anywhere else it ends the run, and the exit code is
//! 1.

mod command;
mod grid;
mod remote;
mod script;
mod terminal;

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use db::{Database, Reply, ReplyRows, Session, TransactionState};
use keys::Value;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use self::grid::{Align, Grid};
use self::remote::Remote;
use crate::serve::STACK_BYTES;
use crate::{Error, Result, serve};

/// Rows that are looked at to find how wide columns are; later ones are drawn as wide as they come.
const ROWS_MEASURED_MAX: usize = 1_000;

/// Where the tables are.
#[derive(Clone, Copy, Debug)]
pub enum Place<'p> {
    /// In a directory that no server has open.
    Data(&'p Path),
    /// Behind the server at a URL.
    Url(&'p str),
}

/// Runs `evenkeel sql`.
pub fn run(place: Place<'_>, commands: &[String], files: &[PathBuf]) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()?;
    let peer = match place {
        Place::Data(data) => Peer::local(serve::open(data)?),
        Place::Url(url) => Peer::Remote(Remote::connect(&runtime, url)?),
    };
    let mut shell = Shell {
        runtime,
        peer,
        out: io::stdout(),
        timing: false,
        interruptible: false,
    };
    if !commands.is_empty() || !files.is_empty() {
        for command in commands {
            shell.read(command.as_bytes())?;
        }
        for path in files {
            let failed = |source| Error::File {
                path: path.clone(),
                source,
            };
            shell.read(fs::read(path).map_err(failed)?.as_slice())?;
        }
        return Ok(());
    }
    match io::stdin().is_terminal() {
        true => terminal::talk(&mut shell),
        false => shell.read(io::stdin().lock()).map(|_| ()),
    }
}

/// What comes after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next line.
    Line,
    /// The end.
    Quit,
}

/// A conversation in text.
pub(crate) struct Shell<W> {
    runtime: Runtime,
    peer: Peer,
    out: W,
    /// Whether to say how long each statement took.
    timing: bool,
    /// Whether Ctrl-C stops a statement instead of the program.
    interruptible: bool,
}

/// Who answers.
enum Peer {
    /// The database itself.
    Local {
        database: Arc<Database>,
        session: Box<Session>,
    },
    /// A server.
    Remote(Remote),
}

impl Peer {
    fn local(database: Arc<Database>) -> Self {
        let session = Box::new(Session::new(Arc::clone(&database)));
        Self::Local { database, session }
    }

    fn state(&self) -> TransactionState {
        match self {
            Self::Local { session, .. } => session.state(),
            Self::Remote(remote) => remote.state,
        }
    }

    fn take_notices(&mut self) -> Vec<String> {
        match self {
            Self::Local { session, .. } => {
                let notices = session.take_notices().into_iter();
                notices
                    .map(|notice| {
                        said(
                            &notice.text,
                            notice.detail.as_deref(),
                            notice.hint.as_deref(),
                        )
                    })
                    .collect()
            }
            Self::Remote(remote) => remote.take_notices(),
        }
    }
}

impl<W: Write> Shell<W> {
    /// Runs a whole text, up to its end or the first error.
    fn read(&mut self, text: impl BufRead) -> Result<Next> {
        let mut pending = String::new();
        for line in text.lines() {
            if self.line(&mut pending, &line?)? == Next::Quit {
                return Ok(Next::Quit);
            }
        }
        self.statements(&pending).map(|()| Next::Line)
    }

    /// Takes one more line: a command, or a part of a statement that runs when it is whole.
    fn line(&mut self, pending: &mut String, line: &str) -> Result<Next> {
        if script::is_blank(pending) && line.trim_start().starts_with('\\') {
            return self.command(line.trim());
        }
        pending.push_str(line);
        pending.push('\n');
        if !script::is_whole(pending) {
            return Ok(Next::Line);
        }
        let text = std::mem::take(pending);
        self.statements(&text).map(|()| Next::Line)
    }

    /// Runs a text of whole statements; an error in one, or in reading them, fails the open
    /// transaction.
    fn statements(&mut self, text: &str) -> Result<()> {
        let done = self.try_statements(text);
        if done.is_err()
            && let Peer::Local { session, .. } = &mut self.peer
        {
            session.fail();
        }
        done
    }

    fn try_statements(&mut self, text: &str) -> Result<()> {
        if script::is_blank(text) {
            return Ok(());
        }
        let Peer::Local { session, .. } = &mut self.peer else {
            for statement in script::statements(text) {
                self.timed(|shell| shell.remote_statement(statement))?;
            }
            return Ok(());
        };
        let parsed = session.parse(text);
        for statement in parsed.map_err(|error| located(error, text))? {
            match self.timed(|shell| shell.statement(statement)) {
                Err(Error::Database(error)) => return Err(located(error, text)),
                other => other?,
            }
        }
        Ok(())
    }

    /// Does something, and says what there is to say about it besides its answer.
    fn timed(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let started = Instant::now();
        let outcome = work(self);
        for notice in self.peer.take_notices() {
            writeln!(io::stderr(), "warning: {notice}")?;
        }
        outcome?;
        if self.timing {
            let ms = started.elapsed().as_secs_f64() * 1e3;
            writeln!(self.out, "Time: {ms:.3} ms")?;
        }
        Ok(())
    }

    fn remote_statement(&mut self, statement: &str) -> Result<()> {
        let Self {
            runtime, peer, out, ..
        } = self;
        let Peer::Remote(remote) = peer else {
            return Ok(());
        };
        let interruptible = self.interruptible;
        let canceller = remote.canceller();
        runtime.block_on(async {
            let mut work = std::pin::pin!(remote.run(statement, out));
            tokio::select! {
                done = &mut work => return done,
                _ = tokio::signal::ctrl_c(), if interruptible => {}
            }
            // It ends with the server's word that it was cancelled, or because it was done anyway.
            let _ = canceller.cancel_query(tokio_postgres::NoTls).await;
            work.await
        })
    }

    fn statement(&mut self, statement: db::Statement) -> Result<()> {
        let Self {
            runtime,
            peer,
            out,
            interruptible,
            ..
        } = self;
        let Peer::Local { session, .. } = peer else {
            return Ok(());
        };
        let interruptible = *interruptible;
        runtime.block_on(async {
            let work = async {
                let prepared = session.prepare(statement, &[]).await?;
                if !prepared.parameters().is_empty() && prepared.explained().is_none() {
                    return Err(Error::ParameterUnbound);
                }
                match session.execute(&prepared, &[]).await? {
                    Reply::Rows(rows) => draw(rows, out).await,
                    Reply::Done {
                        command,
                        rows: None,
                    } => Ok(writeln!(out, "{command}")?),
                    Reply::Done {
                        command,
                        rows: Some(rows),
                    } => Ok(writeln!(out, "{command} {rows}")?),
                }
            };
            tokio::select! {
                done = work => done,
                _ = tokio::signal::ctrl_c(), if interruptible => Err(Error::Cancelled),
            }
        })
    }

    /// What to ask with: it shows whether a transaction is open.
    fn prompt(&self, pending: &str) -> &'static str {
        match (self.peer.state(), script::is_blank(pending)) {
            (TransactionState::Idle, true) => "evenkeel=> ",
            (TransactionState::Open, true) => "evenkeel=*> ",
            (TransactionState::Failed, true) => "evenkeel=!> ",
            (_, false) => "evenkeel-> ",
        }
    }
}

/// Draws the rows of an answer and counts them.
async fn draw(mut rows: ReplyRows, out: &mut impl Write) -> Result<()> {
    let aligns = rows
        .columns()
        .iter()
        .map(|column| match column.kind.is_numeric() {
            true => Align::Right,
            false => Align::Left,
        });
    let names = rows.columns().iter().map(|column| column.name.clone());
    let mut grid = Grid::new(names.zip(aligns));
    let mut count = 0_u64;
    while let Some(batch) = rows.next().await {
        for row in batch? {
            count += 1;
            grid.push(row.iter().map(shown), out, ROWS_MEASURED_MAX)?;
        }
    }
    grid.finish(out)?;
    let plural = if count == 1 { "" } else { "s" };
    Ok(writeln!(out, "({count} row{plural})\n")?)
}

/// A notice with why it matters and what to do, where it says so.
fn said(text: &str, detail: Option<&str>, hint: Option<&str>) -> String {
    let mut said = text.to_owned();
    for (title, more) in [("detail", detail), ("hint", hint)] {
        said.extend(more.map(|more| format!("\n  {title}: {}", more.replace('\n', "\n    "))));
    }
    said
}

fn shown(value: &Value) -> String {
    value.to_string()
}

/// An error with the line it is about and a mark under the place.
fn located(error: db::Error, text: &str) -> Error {
    match Error::in_text(error, text) {
        Error::At { position, source } => Error::Statement {
            place: script::place(text, position),
            source,
        },
        other => other,
    }
}
