//! A server at the other end: statements over PostgreSQL's protocol, answers in text.
//!
//! The driver tells how many rows a command wrote, not its tag, and not where the transaction stands.
//! Both follow from the words a statement begins with.

use std::future::poll_fn;
use std::io::Write;
use std::pin::pin;
use std::sync::Arc;

use db::TransactionState;
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio_postgres::error::ErrorPosition;
use tokio_postgres::{AsyncMessage, Client, NoTls, SimpleQueryMessage, SimpleQueryRow};

use super::grid::{Align, Grid};
use super::{ROWS_MEASURED_MAX, said, script};
use crate::{Error, Result};

/// Messages from the server that are kept until they are shown.
const NOTICES_MAX: usize = 100;

/// A connection to a server.
pub(super) struct Remote {
    client: Client,
    notices: Arc<Mutex<Vec<String>>>,
    pub(super) state: TransactionState,
}

impl Remote {
    /// Connects to the server at a URL or a list of `name=value`.
    pub(super) fn connect(runtime: &Runtime, url: &str) -> Result<Self> {
        let cannot = |source| Error::Connect {
            url: url.to_owned(),
            source,
        };
        let connected = runtime.block_on(tokio_postgres::connect(url, NoTls));
        let (client, mut connection) = connected.map_err(cannot)?;
        let notices = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&notices);
        runtime.spawn(async move {
            // Whoever asks next is told when the connection is gone.
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notice(notice) = message {
                    let mut heard = heard.lock();
                    if heard.len() < NOTICES_MAX {
                        let (detail, hint) = (notice.detail(), notice.hint());
                        heard.push(said(notice.message(), detail, hint));
                    }
                }
            }
        });
        Ok(Self {
            client,
            notices,
            state: TransactionState::Idle,
        })
    }

    /// Messages since the last call.
    pub(super) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock())
    }

    /// Runs one statement and draws its answer.
    pub(super) async fn run(&mut self, statement: &str, out: &mut impl Write) -> Result<()> {
        let done = self.draw(statement, out).await;
        let (first, second) = script::first_words(statement);
        self.state = match (first.as_str(), &done, self.state) {
            (_, Err(_), TransactionState::Idle) => TransactionState::Idle,
            (_, Err(_), _) => TransactionState::Failed,
            ("BEGIN" | "START", Ok(()), _) => TransactionState::Open,
            ("COMMIT" | "END" | "ABORT", Ok(()), _) => TransactionState::Idle,
            ("ROLLBACK", Ok(()), _) if second != "TO" => TransactionState::Idle,
            ("ROLLBACK", Ok(()), _) => TransactionState::Open,
            (_, Ok(()), state) => state,
        };
        done
    }

    async fn draw(&self, statement: &str, out: &mut impl Write) -> Result<()> {
        let answer = self.client.simple_query_raw(statement).await;
        let mut answer = pin!(answer.map_err(|error| told(&error, statement))?);
        let mut grid = None;
        while let Some(message) = answer.next().await {
            match message.map_err(|error| told(&error, statement))? {
                SimpleQueryMessage::RowDescription(columns) => {
                    let names = columns.iter().map(|column| column.name().to_owned());
                    grid = Some(Grid::new(names.map(|name| (name, Align::ByValues))));
                }
                SimpleQueryMessage::Row(row) => {
                    if let Some(grid) = &mut grid {
                        grid.push(cells(&row), out, ROWS_MEASURED_MAX)?;
                    }
                }
                SimpleQueryMessage::CommandComplete(count) => match grid.take() {
                    Some(mut grid) => {
                        grid.finish(out)?;
                        let plural = if count == 1 { "" } else { "s" };
                        writeln!(out, "({count} row{plural})\n")?;
                    }
                    None => writeln!(out, "{}", tag(statement, count))?,
                },
                _ => {}
            }
        }
        Ok(())
    }

    /// The rows of a query of our own, as text.
    pub(super) async fn rows(&self, query: &str) -> Result<Vec<Vec<String>>> {
        let answer = self.client.simple_query(query).await;
        let messages = answer.map_err(|error| told(&error, query))?;
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(cells(&row).collect()),
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Asks the server to stop the statement that runs.
    pub(super) fn canceller(&self) -> tokio_postgres::CancelToken {
        self.client.cancel_token()
    }
}

fn cells(row: &SimpleQueryRow) -> impl Iterator<Item = String> {
    (0..row.len()).map(|at| row.get(at).unwrap_or("NULL").to_owned())
}

/// What the server said, with the line it is about.
fn told(error: &tokio_postgres::Error, statement: &str) -> Error {
    let Some(said) = error.as_db_error() else {
        return Error::Server {
            message: error.to_string(),
        };
    };
    let place = match said.position() {
        Some(ErrorPosition::Original(position)) => {
            let position = usize::try_from(*position).unwrap_or(usize::MAX);
            format!("\n{}", script::place(statement, position))
        }
        _ => String::new(),
    };
    Error::Server {
        message: format!("{}{place}", said.message()),
    }
}

/// What a command is called when it is done.
fn tag(statement: &str, count: u64) -> String {
    let (first, second) = script::first_words(statement);
    match first.as_str() {
        "INSERT" | "UPSERT" | "REPLACE" => format!("INSERT {count}"),
        "UPDATE" | "DELETE" | "COPY" => format!("{first} {count}"),
        "CREATE" | "ALTER" | "DROP" | "TRUNCATE" => format!("{first} {second}"),
        "START" => "BEGIN".to_owned(),
        "END" => "COMMIT".to_owned(),
        "ABORT" => "ROLLBACK".to_owned(),
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_follow_from_the_first_words() {
        assert_eq!(tag("-- new\nupsert into t (a) values (1)", 1), "INSERT 1");
        assert_eq!(tag("create table t (a int)", 0), "CREATE TABLE");
        assert_eq!(tag("/* x */ commit", 0), "COMMIT");
        assert_eq!(tag("", 0), "");
    }
}
