//! `evenkeel record`: what the recorder has kept, and what the logs of other databases say, as a trace.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use advisor::import::{self, Format, Imported};
use advisor::lint::Dialect;
use clap::ValueEnum;
use db::Database;
use futures::TryStreamExt;
use tokio_postgres::NoTls;

use crate::serve::DATA_DEFAULT;
use crate::{Error, Result, serve};

/// All lines, in their order.
const LINES: &str = "SELECT Line FROM sys.trace ORDER BY Number";

/// What `evenkeel record` is asked.
#[derive(Debug, clap::Subcommand)]
pub enum Record {
    /// Print what was recorded, as a trace: JSON lines for `evenkeel advise`
    Export {
        /// The directory of the data, which no server has open
        #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT)]
        data: PathBuf,
        /// The server to ask instead, such as postgres://ada@127.0.0.1:5433/boats
        #[arg(long, value_name = "URL", conflicts_with = "data")]
        url: Option<String>,
    },
    /// Make a trace of another database's log, to choose keys before any data moves
    ///
    /// PostgreSQL logs what is needed with log_statement = all or log_min_duration_statement = 0, and
    /// log_destination = csvlog or jsonlog; MySQL with general_log = ON. The view pg_stat_statements
    /// has no values and no transactions: values are drawn evenly, which tells how many partitions
    /// statements would touch and not which values are hot.
    Import {
        /// What FILE is
        #[arg(long, value_name = "FORMAT")]
        format: LogFormat,
        /// The file; - is standard input
        #[arg(value_name = "FILE")]
        file: String,
        /// A file with the CREATE TABLE statements of the tables
        #[arg(long, value_name = "FILE")]
        schema: PathBuf,
        /// Whose SQL the schema is: ydb, postgres, cockroach, spanner, mysql, tidb [default: guessed]
        #[arg(long, value_name = "NAME", value_parser = crate::lint::dialect)]
        dialect: Option<Dialect>,
    },
}

/// What a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// CSV of the view, with a first line of names
    #[value(name = "pg_stat_statements")]
    PgStatStatements,
    /// PostgreSQL's csvlog
    Csvlog,
    /// PostgreSQL's jsonlog
    Jsonlog,
    /// MySQL's general log
    Mysql,
}

/// Runs the command.
pub fn run(record: &Record) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match record {
        Record::Export { url: Some(url), .. } => remote(url, &mut out)?,
        Record::Export { data, .. } => opened(data)?.export_trace(&mut out)?,
        Record::Import {
            format,
            file,
            schema,
            dialect,
        } => {
            let text = read(schema)?;
            let (tables, complaints) = import::tables(&text, *dialect);
            for complaint in complaints {
                complain(&format!("{}: {complaint}", schema.display()));
            }
            let imported = match file.as_str() {
                "-" => import::import((*format).into(), io::stdin().lock(), tables)?,
                path => {
                    let file = fs::File::open(path).map_err(|source| Error::File {
                        path: path.into(),
                        source,
                    })?;
                    import::import((*format).into(), io::BufReader::new(file), tables)?
                }
            };
            imported.trace.write(&mut out)?;
            tell(&imported);
        }
    }
    Ok(out.flush()?)
}

/// Says on standard error what became of a log.
fn tell(imported: &Imported) {
    let Imported { trace, report } = imported;
    complain(&format!(
        "{} statements in {} transactions; {} statements on no table of the schema, {} transactions \
         that did not commit, {} lines that were not understood",
        report.statements,
        trace.txns.len(),
        report.elsewhere,
        report.unfinished,
        report.flaws
    ));
    for flaw in &report.first {
        complain(&format!("line {}: {}", flaw.line, flaw.reason));
    }
}

fn complain(message: &str) {
    let _ = io::stderr().write_fmt(format_args!("{message}\n"));
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

impl From<LogFormat> for Format {
    fn from(format: LogFormat) -> Self {
        match format {
            LogFormat::PgStatStatements => Self::PgStatStatements,
            LogFormat::Csvlog => Self::Csvlog,
            LogFormat::Jsonlog => Self::Jsonlog,
            LogFormat::Mysql => Self::Mysql,
        }
    }
}

/// Opens a directory of data that no server has open.
pub(crate) fn opened(data: &Path) -> Result<Arc<Database>> {
    if !data.exists() {
        return Err(Error::NoData {
            path: data.to_owned(),
        });
    }
    serve::open(data)
}

/// Asks a server for its trace.
pub(crate) fn remote(url: &str, out: &mut impl Write) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let connect = |source| Error::Connect {
        url: url.to_owned(),
        source,
    };
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.map_err(connect)?;
        // Whoever asks is told when the connection is gone.
        tokio::spawn(connection);
        let none: [&str; 0] = [];
        let rows = client.query_raw(LINES, none).await?;
        let mut rows = pin!(rows);
        while let Some(row) = rows.try_next().await? {
            let line: &str = row.try_get(0)?;
            writeln!(out, "{line}")?;
        }
        Ok(())
    })
}
