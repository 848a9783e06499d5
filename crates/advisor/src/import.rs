//! Traces of other databases: what their logs say of transactions, before any data moves.
//!
//! ```text
//!   csvlog, jsonlog      PostgreSQL with log_statement = all, or log_min_duration_statement = 0
//!   mysql                MySQL's and TiDB's general log
//!   pg_stat_statements   CSV of that view: shapes and counts, no values and no transactions
//!                                   │
//!                     BEGIN … COMMIT are one transaction, other statements are one each
//!                                   │
//!   schema ── tables ──► work::touches ──► ops ──► a trace
//! ```
//!
//! A log has the values that statements name and not the rows that they meet: rows are known of
//! INSERT only. Numbers that a column counts by itself are counted here, from one; times
//! that are not written out are the moment of the statement, and UUIDs are drawn. Transactions that
//! never committed are left out. What is not understood is counted, and the first few are named.

mod csv;
mod drawn;
mod gather;
mod mysql;
mod postgres;
mod schema;
mod stats;

use std::io::BufRead;

pub use schema::tables;

use crate::Result;
use crate::trace::{Flaw, Table, Trace};
use gather::Gather;

/// The program that imports.
const MADE_BY: &str = concat!("evenkeel ", env!("CARGO_PKG_VERSION"), " import");
/// Lines that were not understood and are named.
pub const FLAWS_SHOWN_MAX: usize = 5;
/// Bytes of the longest statement that is read.
const STATEMENT_BYTES_MAX: usize = 1 << 20;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The view pg_stat_statements as CSV with a first line of names.
    PgStatStatements,
    /// PostgreSQL's log_destination = csvlog.
    Csvlog,
    /// PostgreSQL's log_destination = jsonlog.
    Jsonlog,
    /// MySQL's general log as a file.
    Mysql,
}

/// A trace, and what became of the text.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The trace.
    pub trace: Trace,
    /// What was read.
    pub report: Report,
}

/// What was read, and what was not understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Lines, or records of CSV.
    pub lines: u64,
    /// Statements that touch tables of the schema.
    pub statements: u64,
    /// Statements that touch none: on other tables, or no tables at all.
    pub elsewhere: u64,
    /// Transactions that were rolled back, failed, or did not end.
    pub unfinished: u64,
    /// Lines and statements that were not understood.
    pub flaws: u64,
    /// The first of them.
    pub first: Vec<Flaw>,
}

impl Report {
    fn flaw(&mut self, line: u64, reason: impl Into<String>) {
        self.flaws += 1;
        if self.first.len() < FLAWS_SHOWN_MAX {
            let reason = reason.into();
            self.first.push(Flaw { line, reason });
        }
    }
}

/// Reads a text of this format over these tables.
pub fn import(format: Format, input: impl BufRead, tables: Vec<Table>) -> Result<Imported> {
    let dialect = match format {
        Format::Mysql => syntax::schema::Dialect::Mysql,
        _ => syntax::schema::Dialect::Postgres,
    };
    let mut gather = Gather::new(tables, dialect);
    match format {
        Format::PgStatStatements => stats::read(input, &mut gather)?,
        Format::Csvlog => postgres::read_csv(input, &mut gather)?,
        Format::Jsonlog => postgres::read_json(input, &mut gather)?,
        Format::Mysql => mysql::read(input, &mut gather)?,
    }
    Ok(gather.finish())
}
