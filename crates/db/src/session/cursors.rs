//! Cursors: the rows of a query, taken by pieces with DECLARE, FETCH, MOVE and CLOSE.
//!
//! ```text
//!   DECLARE c CURSOR FOR …          rows come from the query as they are fetched, forward only
//!   DECLARE c SCROLL CURSOR FOR …   rows are kept, so that it can go back
//!   DECLARE c CURSOR WITH HOLD …    rows are kept, and outlive COMMIT
//!
//!   before the first row   1   2   3   …   last   behind it
//!   at = 0                 1   2   3       len    len + 1
//! ```
//!
//! A cursor sees the tables as they were when it was declared. It ends with its transaction, or, if
//! it is held, with the session.

use std::sync::Arc;
use std::vec;

use keys::{Type, Value};
use parking_lot::Mutex;
use sql::{AnswerRows, Prepared, ResultColumn};
use syntax::statement::Kind as Asks;
use syntax::statement::{DeclareCursor, Fetch, Motion, Query};
use syntax::{Ident, Statement};

use super::record::Followed;
use super::{Reply, ReplyRows, Session, SessionError, done};
use crate::{Error, Result, Row};

/// Cursors that one session may have.
const CURSORS_MAX: usize = 100;
/// Memory that the rows of one cursor may take where they are kept or answered at once.
const ROWS_BYTES_MAX: usize = 64 << 20;
/// What a row takes besides its values, about.
const ROW_OVERHEAD_BYTES: usize = 24;

/// The rows of a query and a place among them.
pub(super) struct Cursor {
    columns: Arc<[ResultColumn]>,
    rows: Source,
    hold: bool,
    /// Whether its transaction was committed, or there was none.
    held: bool,
    /// Where its rows are told besides, if its transaction is recorded.
    followed: Option<Followed>,
}

enum Source {
    /// Rows that are gone once they were fetched. They may move between threads and not be shared, and
    /// a session may be shared: the lock, which nobody ever waits for, says so.
    Forward(Box<Mutex<ReplyRows>>, vec::IntoIter<Row>),
    /// All of them, and where the cursor stands.
    Kept { rows: Vec<Row>, at: usize },
}

impl Session {
    /// The columns of a cursor's rows.
    pub fn cursor_columns(&self, name: &str) -> Option<&Arc<[ResultColumn]>> {
        self.cursors.get(name).map(|cursor| &cursor.columns)
    }

    /// Works out parameters and columns of a statement about a cursor.
    pub(super) async fn prepare_cursor(
        &mut self,
        statement: Statement,
        hints: &[Option<Type>],
    ) -> Result<Prepared> {
        match &statement.kind {
            Asks::DeclareCursor(cursor) => {
                let query = query_of(cursor, &statement);
                let prepared = Box::pin(self.prepare(query, hints)).await?;
                let parameters = prepared.parameters();
                Ok(Prepared::with_parameters(statement, parameters, None))
            }
            Asks::Fetch(fetch) if !fetch.quiet => {
                let name = folded(&fetch.name);
                let columns = self.cursor_columns(&name).cloned();
                let columns = columns.ok_or(SessionError::NoCursor { name })?;
                Ok(Prepared::plain(statement, Some(columns)))
            }
            _ => Ok(Prepared::plain(statement, None)),
        }
    }

    /// Runs a statement about cursors.
    pub(super) async fn run_cursor(
        &mut self,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Reply> {
        match &prepared.statement().kind {
            Asks::DeclareCursor(cursor) => self.declare(cursor, prepared, parameters).await,
            Asks::Fetch(fetch) => self.fetch(fetch, prepared).await,
            Asks::CloseCursor(name) => self.close(name.as_ref()),
            _ => {
                let what = "no statement about cursors".to_owned();
                Err(sql::Error::Internal { what }.into())
            }
        }
    }

    /// DECLARE.
    async fn declare(
        &mut self,
        cursor: &DeclareCursor,
        prepared: &Prepared,
        parameters: &[Value],
    ) -> Result<Reply> {
        let name = folded(&cursor.name);
        if self.transaction.is_none() && !cursor.hold {
            let command = "DECLARE CURSOR without HOLD";
            return Err(SessionError::NoTransaction { command }.into());
        }
        if cursor.binary {
            let what = "a BINARY cursor".to_owned();
            return Err(sql::Error::Unsupported { what }.into());
        }
        if self.cursors.contains_key(&name) {
            return Err(SessionError::CursorExists { name }.into());
        }
        if self.cursors.len() >= CURSORS_MAX {
            return Err(SessionError::TooManyCursors { limit: CURSORS_MAX }.into());
        }
        let kinds: Vec<_> = prepared.parameters().iter().copied().map(Some).collect();
        let query = query_of(cursor, prepared.statement());
        let query = Box::pin(self.prepare(query, &kinds)).await?;
        // It is counted as DECLARE, which has the text.
        let query = query.tallied(prepared.tally().cloned());
        let started_ns = self.database.latencies.now_ns();
        let mut followed = self.follow(&query, parameters, started_ns);
        let Reply::Rows(rows) = self.run(&query, parameters).await? else {
            let what = "a query without rows".to_owned();
            return Err(sql::Error::Internal { what }.into());
        };
        let columns = Arc::clone(rows.columns());
        let mut rows = Source::Forward(Box::new(Mutex::new(rows)), Vec::new().into_iter());
        if cursor.scroll || cursor.hold {
            let all = rows.forward(i64::MAX, Some(&name)).await?.0;
            rows = Source::Kept { rows: all, at: 0 };
        }
        if let Some(followed) = &mut followed {
            followed.begun();
            followed.took(self.database.latencies.now_ns() - started_ns);
        }
        let mut made = Cursor {
            columns,
            rows,
            hold: cursor.hold,
            held: self.transaction.is_none(),
            followed,
        };
        if let Source::Kept { rows, .. } = &made.rows
            && let Some(mut followed) = made.followed.take()
        {
            rows.iter().for_each(|row| followed.row(&made.columns, row));
        }
        self.cursors.insert(name, made);
        done("DECLARE CURSOR")
    }

    /// FETCH and MOVE.
    async fn fetch(&mut self, fetch: &Fetch, prepared: &Prepared) -> Result<Reply> {
        let name = folded(&fetch.name);
        let Some(cursor) = self.cursors.get_mut(&name) else {
            return Err(SessionError::NoCursor { name }.into());
        };
        if !fetch.quiet && prepared.columns() != Some(&cursor.columns) {
            return Err(sql::Error::Changed.into());
        }
        let wanted = (!fetch.quiet).then_some(name.as_str());
        let latencies = &self.database.latencies;
        let started_ns = cursor.followed.as_ref().map(|_| latencies.now_ns());
        let (rows, passed) = match (&mut cursor.rows, fetch.motion) {
            (Source::Kept { rows, at }, motion) => travel(rows, at, motion, wanted)?,
            (rows @ Source::Forward(..), Motion::By(count)) if count >= 0 => {
                rows.forward(count, wanted).await?
            }
            _ => return Err(SessionError::CursorForward { name }.into()),
        };
        if let (Some(followed), Some(started_ns)) = (&mut cursor.followed, started_ns) {
            followed.took(latencies.now_ns() - started_ns);
            rows.iter()
                .for_each(|row| followed.row(&cursor.columns, row));
        }
        if fetch.quiet {
            return Ok(Reply::Done {
                command: "MOVE",
                rows: Some(passed),
            });
        }
        let columns = Arc::clone(&cursor.columns);
        Ok(Reply::Rows(
            AnswerRows::ready("FETCH", columns, rows).into(),
        ))
    }

    /// CLOSE; no name means every cursor.
    fn close(&mut self, name: Option<&Ident>) -> Result<Reply> {
        let Some(name) = name.map(folded) else {
            self.cursors.clear();
            return done("CLOSE CURSOR ALL");
        };
        match self.cursors.remove(&name) {
            Some(_) => done("CLOSE CURSOR"),
            None => Err(SessionError::NoCursor { name }.into()),
        }
    }

    /// Ends the cursors of a transaction but those that are held.
    pub(super) fn end_cursors(&mut self, committed: bool) {
        self.cursors
            .retain(|_, cursor| cursor.held || cursor.hold && committed);
        for cursor in self.cursors.values_mut() {
            cursor.held = true;
        }
    }
}

impl Source {
    /// The next rows, and how many they are. They are not kept unless they are `wanted` for the cursor
    /// of that name.
    async fn forward(&mut self, count: i64, wanted: Option<&str>) -> Result<(Vec<Row>, u64)> {
        let Self::Forward(rows, ready) = self else {
            return Ok((Vec::new(), 0));
        };
        let count = u64::try_from(count).unwrap_or(0);
        let (mut taken, mut passed, mut bytes) = (Vec::new(), 0, 0);
        while passed < count {
            let Some(row) = ready.next() else {
                match rows.get_mut().next().await {
                    Some(batch) => *ready = batch?.into_iter(),
                    None => break,
                }
                continue;
            };
            passed += 1;
            if let Some(name) = wanted {
                bytes += bytes_of(&row);
                check_bytes(bytes, name)?;
                taken.push(row);
            }
        }
        Ok((taken, passed))
    }
}

/// Goes over rows that are kept: those that were asked for, and how many they are.
fn travel(
    rows: &[Row],
    at: &mut usize,
    motion: Motion,
    wanted: Option<&str>,
) -> Result<(Vec<Row>, u64)> {
    let behind = rows.len() + 1;
    let place = |number: i64| usize::try_from(number).map_or(0, |number| number.min(behind));
    let signed = |place: usize| i64::try_from(place).unwrap_or(i64::MAX);
    let (picked, end): (Vec<usize>, usize) = match motion {
        Motion::By(count) if count > 0 => {
            let end = place(signed(*at).saturating_add(count));
            ((*at + 1..=end).collect(), end)
        }
        Motion::By(count) if count < 0 => {
            let end = place(signed(*at).saturating_add(count));
            ((end..*at).rev().collect(), end)
        }
        Motion::By(_) => (vec![*at], *at),
        Motion::Jump(count) => {
            let end = place(signed(*at).saturating_add(count));
            (vec![end], end)
        }
        Motion::To(number) if number < 0 => {
            let end = place(signed(behind).saturating_add(number));
            (vec![end], end)
        }
        Motion::To(number) => (vec![place(number)], place(number)),
    };
    *at = end;
    let picked = picked
        .into_iter()
        .filter_map(|at| rows.get(at.checked_sub(1)?));
    let (mut taken, mut passed, mut bytes) = (Vec::new(), 0, 0);
    for row in picked {
        passed += 1;
        if let Some(name) = wanted {
            bytes += bytes_of(row);
            check_bytes(bytes, name)?;
            taken.push(row.clone());
        }
    }
    Ok((taken, passed))
}

fn check_bytes(bytes: usize, name: &str) -> Result<()> {
    if bytes > ROWS_BYTES_MAX {
        return Err(Error::from(SessionError::CursorTooLarge {
            name: name.to_owned(),
            limit: ROWS_BYTES_MAX,
        }));
    }
    Ok(())
}

fn bytes_of(row: &Row) -> usize {
    let value = |value: &Value| match value {
        Value::Utf8(text) | Value::Json(text) => text.len(),
        Value::String(bytes) => bytes.len(),
        _ => 0,
    };
    let values: usize = row.iter().map(value).sum();
    ROW_OVERHEAD_BYTES + size_of_val(row.as_slice()) + values
}

/// The query of a cursor as a statement of its own.
fn query_of(cursor: &DeclareCursor, statement: &Statement) -> Statement {
    Statement {
        span: statement.span,
        kind: Asks::Query(Query {
            discard: false,
            query: cursor.query.clone(),
        }),
        declared: statement.declared.clone(),
        fingerprint: None,
        allowed: Vec::new(),
    }
}

/// A name without quotes means its lower-case spelling.
pub(crate) fn folded(name: &Ident) -> String {
    match name.quote {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}
