//! COPY: what it asks for, and rows that come in.
//!
//! ```text
//!   prepared ─► copy ─┬─► Out: rows and the form to send them in
//!                     └─► In: columns and the form they come in ─► write, write, … ─► finish_copy
//!                                                                        dropped: nothing happened
//! ```
//!
//! How bytes become rows is for the front end; the form says what it was asked to expect. A COPY
//! outside of BEGIN and COMMIT is one transaction.

use std::sync::Arc;

use keys::Value;
use sql::{AnswerRows, Copied, CopyTarget, Prepared, ResultColumn, copy_query};
use syntax::Ident;
use syntax::ast;
use syntax::statement::{self, CopyOption, CopySource, CopyValue};

use super::tally::{Run, Touched};
use super::{Asks, ReplyRows, Session, SessionError, TransactionState};
use crate::latency::Timer;
use crate::{Database, Error, Result};

/// A COPY that has begun.
pub enum Copy {
    /// Rows are to come in.
    In(CopyIn, CopyForm),
    /// Rows are to go out.
    Out(ReplyRows, CopyForm),
}

impl Copy {
    /// Whether a statement is a COPY, for [`Session::copy`] to begin.
    pub fn is_asked_for(prepared: &Prepared) -> bool {
        matches!(prepared.statement().kind, Asks::Copy(_))
    }
}

/// The same, before it is timed.
enum Begun {
    In(CopyIn, CopyForm),
    Out(AnswerRows, CopyForm, Touched),
}

/// Rows on their way into a table. Dropping it leaves the table as it is.
pub struct CopyIn {
    target: CopyTarget,
    database: Arc<Database>,
    /// Counts the run: as failed unless [`Session::finish_copy`] says otherwise.
    timer: Option<Timer>,
}

impl CopyIn {
    /// The name of the table.
    pub fn table(&self) -> &str {
        self.target.table()
    }

    /// The columns that each row has to fill.
    pub fn columns(&self) -> &Arc<[ResultColumn]> {
        self.target.columns()
    }

    /// Takes one row: a value for each column, of its type. The values are taken out of `row`.
    pub fn write(&mut self, row: &mut Vec<Value>) -> Result<()> {
        let run = self.timer.as_ref().and_then(Timer::run_so_far);
        if let Some(seen) = run.and_then(Run::seen) {
            seen.row(self.target.columns(), row);
        }
        Ok(self.target.write(self.database.executor(), row)?)
    }
}

/// How rows are written as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// Lines with a delimiter and backslashes.
    Text,
    /// Lines with a delimiter and quotes.
    Csv,
    /// PostgreSQL's binary form.
    Binary,
}

/// What the first line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyHeader {
    /// A row like the others.
    None,
    /// The names of the columns, which are overlooked on the way in.
    Names,
    /// The names of the columns, which have to be the right ones.
    Match,
}

/// The form of a copy's bytes. Of the columns, those are listed by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyForm {
    /// Text, CSV or binary.
    pub format: CopyFormat,
    /// What stands between two fields.
    pub delimiter: u8,
    /// What stands for NULL.
    pub null: String,
    /// What the first line is.
    pub header: CopyHeader,
    /// What stands around a field of CSV that needs it.
    pub quote: u8,
    /// What stands before a quote inside of a field.
    pub escape: u8,
    /// Columns that are quoted on the way out whether or not they need it.
    pub force_quote: Vec<bool>,
    /// Columns whose quoted text is NULL if it is the text of NULL.
    pub force_null: Vec<bool>,
    /// Columns whose text is never NULL.
    pub force_not_null: Vec<bool>,
}

impl Session {
    /// Begins what a COPY asks for; `None` if the statement is another.
    pub async fn copy(&mut self, prepared: &Prepared) -> Result<Option<Copy>> {
        let Asks::Copy(copy) = &prepared.statement().kind else {
            return Ok(None);
        };
        let started_ns = self.database.latencies.now_ns();
        let mut begun = Box::pin(self.begin_copy(copy)).await;
        if let Err(error) = &begun
            && Box::pin(self.settle(error)).await?
        {
            begun = Box::pin(self.begin_copy(copy)).await;
        }
        let mut timer = self.timer(prepared, &[], started_ns);
        match begun {
            Ok(Begun::In(mut rows, form)) => {
                rows.timer = Some(timer);
                Ok(Some(Copy::In(rows, form)))
            }
            Ok(Begun::Out(rows, form, touched)) => {
                if let Some(run) = timer.run() {
                    run.begun(touched);
                }
                let rows = ReplyRows::from(rows).timed(None, timer);
                Ok(Some(Copy::Out(rows, form)))
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Refuses a COPY before it begins: once it has, drivers are in the middle of sending rows.
    pub(super) fn check_copy(&self, copy: &statement::Copy) -> Result<()> {
        if !matches!(
            copy.target,
            ast::CopyTarget::Stdin | ast::CopyTarget::Stdout
        ) {
            let what = "COPY with a file or program of the server (use STDIN or STDOUT)".to_owned();
            return Err(sql::Error::Unsupported { what }.into());
        }
        if self.state() == TransactionState::Failed {
            return Err(SessionError::Failed.into());
        }
        match &copy.source {
            CopySource::Table { table, columns } => {
                let read_only = self.transaction.as_ref().is_some_and(|open| open.read_only);
                if copy.from && read_only {
                    return Err(SessionError::ReadOnly.into());
                }
                let target = CopyTarget::new(self.database.executor(), table, columns)?;
                form(copy, target.columns())?;
            }
            CopySource::Query(_) => {}
        }
        Ok(())
    }

    async fn begin_copy(&mut self, copy: &statement::Copy) -> Result<Begun> {
        self.check_copy(copy)?;
        let database = Arc::clone(&self.database);
        let executor = database.executor();
        if let CopySource::Table { table, columns } = &copy.source
            && copy.from
        {
            let target = CopyTarget::new(executor, table, columns)?;
            let form = form(copy, target.columns())?;
            let database = Arc::clone(&database);
            let timer = None;
            let rows = CopyIn {
                target,
                database,
                timer,
            };
            return Ok(Begun::In(rows, form));
        }
        let query = copy_query(executor, &copy.source)?;
        let reader = match &self.transaction {
            Some(open) => open.inner.reader(),
            None => database.store.view().reader(),
        };
        if self.transaction.is_some() {
            reader.count_anew();
        }
        let touched = Touched::by(&reader);
        // However many rows there are, they are never all in memory.
        let rows = executor.stream(reader, &query).await?;
        let form = form(copy, rows.columns())?;
        Ok(Begun::Out(rows, form, touched))
    }

    /// Writes the rows that came in, and tells how many there were.
    pub async fn finish_copy(&mut self, mut copy: CopyIn) -> Result<u64> {
        for (code, text) in copy.target.warnings() {
            self.warn(code, text);
        }
        let written = self.write_copy(copy.target).await;
        if let Err(error) = &written {
            // The rows are gone, and go in when they come again.
            Box::pin(self.settle(error)).await?;
        }
        if let (Ok(copied), Some(run)) = (&written, copy.timer.as_mut().and_then(Timer::run)) {
            run.begun(Touched::Known(copied.partitions));
            run.add(usize::try_from(copied.rows).ok());
        }
        written
            .map(|copied| copied.rows)
            .map_err(|error| self.failed(error))
    }

    async fn write_copy(&mut self, target: CopyTarget) -> Result<Copied> {
        let Some(open) = &mut self.transaction else {
            self.executor.forget_deferred();
            return Ok(target.load(&self.executor).await?);
        };
        open.inner.reader().count_anew();
        let rows = target.insert_into(&self.executor, &mut open.inner).await?;
        let partitions = open.inner.reader().touches().count();
        Ok(Copied { rows, partitions })
    }
}

/// What the options of a statement ask for.
fn form(copy: &statement::Copy, columns: &[ResultColumn]) -> Result<CopyForm> {
    let mut format = CopyFormat::Text;
    for option in copy.options.iter().filter(|option| option.name == "format") {
        format = match text(option)?.to_ascii_lowercase().as_str() {
            "text" => CopyFormat::Text,
            "csv" => CopyFormat::Csv,
            "binary" => CopyFormat::Binary,
            _ => return Err(refused("FORMAT is text, csv or binary")),
        };
    }
    let csv = format == CopyFormat::Csv;
    let mut form = CopyForm {
        format,
        delimiter: if csv { b',' } else { b'\t' },
        null: if csv { String::new() } else { "\\N".to_owned() },
        header: CopyHeader::None,
        quote: b'"',
        escape: b'"',
        force_quote: vec![false; columns.len()],
        force_null: vec![false; columns.len()],
        force_not_null: vec![false; columns.len()],
    };
    let mut escape = None;
    for option in &copy.options {
        match option.name.as_str() {
            "format" => {}
            // Nothing here is faster for it.
            "freeze" => _ = switch(option)?,
            "delimiter" => form.delimiter = character(option)?,
            "null" => form.null = text(option)?.to_owned(),
            "header" => form.header = header(option, copy.from)?,
            "encoding" => encoding(text(option)?)?,
            "quote" if csv => form.quote = character(option)?,
            "escape" if csv => escape = Some(character(option)?),
            "force_quote" if csv => chosen(option, columns, &mut form.force_quote)?,
            "force_null" if csv => chosen(option, columns, &mut form.force_null)?,
            "force_not_null" if csv => chosen(option, columns, &mut form.force_not_null)?,
            "quote" | "escape" | "force_quote" | "force_null" | "force_not_null" => {
                let name = option.name.to_uppercase();
                return Err(refused(&format!("{name} is for FORMAT csv only")));
            }
            other => return Err(refused(&format!("COPY has no option {other}"))),
        }
    }
    form.escape = escape.unwrap_or(form.quote);
    check(form)
}

/// Refuses a form that could not be read back.
fn check(form: CopyForm) -> Result<CopyForm> {
    let given = |name| form_differs(&form, name);
    if form.format == CopyFormat::Binary {
        let plain = ["delimiter", "null", "header"]
            .into_iter()
            .find(|name| given(name));
        return match plain {
            Some(name) => Err(refused(&format!(
                "{} is not for FORMAT binary",
                name.to_uppercase()
            ))),
            None => Ok(form),
        };
    }
    let meaning = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let text = form.format == CopyFormat::Text;
    let reason = if !form.delimiter.is_ascii() || matches!(form.delimiter, b'\n' | b'\r' | 0) {
        "DELIMITER is one character of one byte, and no end of line"
    } else if text && (meaning(form.delimiter) || matches!(form.delimiter, b'\\' | b'.')) {
        "DELIMITER cannot be a backslash, a point, a lower-case letter or a digit"
    } else if form.null.contains(['\n', '\r']) {
        "NULL cannot hold an end of line"
    } else if form.null.as_bytes().contains(&form.delimiter) {
        "NULL cannot hold the delimiter"
    } else if !text && form.quote == form.delimiter {
        "DELIMITER and QUOTE have to differ"
    } else if !text && form.null.as_bytes().contains(&form.quote) {
        "NULL cannot hold the quote"
    } else {
        return Ok(form);
    };
    Err(refused(reason))
}

/// Whether something of a binary form was asked for that only lines have.
fn form_differs(form: &CopyForm, name: &str) -> bool {
    match name {
        "delimiter" => form.delimiter != b'\t',
        "null" => form.null != "\\N",
        _ => form.header != CopyHeader::None,
    }
}

fn text(option: &CopyOption) -> Result<&str> {
    match &option.value {
        CopyValue::Text(text) => Ok(text),
        _ => Err(refused(&format!(
            "{} needs a value",
            option.name.to_uppercase()
        ))),
    }
}

fn character(option: &CopyOption) -> Result<u8> {
    match text(option)?.as_bytes() {
        [one] if one.is_ascii() => Ok(*one),
        _ => Err(refused(&format!(
            "{} is one character of one byte",
            option.name.to_uppercase()
        ))),
    }
}

fn switch(option: &CopyOption) -> Result<bool> {
    let CopyValue::Text(text) = &option.value else {
        return Ok(true);
    };
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(refused(&format!(
            "{} is on or off",
            option.name.to_uppercase()
        ))),
    }
}

fn header(option: &CopyOption, from: bool) -> Result<CopyHeader> {
    if matches!(&option.value, CopyValue::Text(text) if text.eq_ignore_ascii_case("match")) {
        return match from {
            true => Ok(CopyHeader::Match),
            false => Err(refused("HEADER match is for COPY FROM only")),
        };
    }
    Ok(match switch(option)? {
        true => CopyHeader::Names,
        false => CopyHeader::None,
    })
}

fn encoding(name: &str) -> Result<()> {
    match name.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "utf8" | "unicode" | "sqlascii" => Ok(()),
        _ => Err(refused(
            "ENCODING is UTF8: text in other encodings is not read",
        )),
    }
}

/// Marks the columns that an option names.
fn chosen(option: &CopyOption, columns: &[ResultColumn], marks: &mut [bool]) -> Result<()> {
    let named = match &option.value {
        CopyValue::All => {
            marks.fill(true);
            return Ok(());
        }
        CopyValue::Columns(named) => named,
        _ => {
            return Err(refused(&format!(
                "{} needs columns",
                option.name.to_uppercase()
            )));
        }
    };
    for ident in named {
        let is_it = |column: &ResultColumn| is_named(column, ident);
        let position = columns.iter().position(is_it);
        let mark = position.and_then(|position| marks.get_mut(position));
        let no_such = || {
            Error::from(sql::Error::UnknownColumn {
                column: ident.value.clone(),
                nearest: None,
            })
        };
        *mark.ok_or_else(no_such)? = true;
    }
    Ok(())
}

fn is_named(column: &ResultColumn, ident: &Ident) -> bool {
    match ident.quote {
        Some(_) => column.name == ident.value,
        None => column.name == ident.value.to_lowercase(),
    }
}

fn refused(reason: &str) -> Error {
    SessionError::CopyOption {
        reason: reason.to_owned(),
    }
    .into()
}
