//! `evenkeel advise`: reads a trace, prints which key a table should have, and draws why.
//!
//! The trace is a file, or what a server or a directory of data has recorded. With one of those a key can
//! also be tried out.

mod verify;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use advisor::trace::Reader;
use advisor::{Advice, Options, advise_on};
use clap::ValueEnum;
use db::Database;

use crate::record;
use crate::serve::DATA_DEFAULT;

/// The exit code when there is no advice: a trace that cannot be read, or is too short.
const NO_ADVICE: u8 = 2;
/// The name under which standard input is read.
const STDIN: &str = "-";
/// The factors that a load may be judged at.
const LOAD_MIN: f64 = 0.001;
const LOAD_MAX: f64 = 1e9;

/// What `evenkeel advise` is asked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The table
    #[arg(value_name = "TABLE")]
    table: String,
    /// The trace that was recorded; - is standard input. Without one it is fetched
    #[arg(long, value_name = "FILE")]
    trace: Option<String>,
    /// The directory of the data that was recorded in, which no server has open
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT, conflicts_with = "trace")]
    data: PathBuf,
    /// The server to ask instead, such as postgres://ada@127.0.0.1:5433/boats
    #[arg(long, value_name = "URL", conflicts_with_all = ["data", "trace"])]
    url: Option<String>,
    /// Try out the best key in a scratch database, or the one of this rank or name
    #[arg(
        long,
        value_name = "KEY",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "trace"
    )]
    verify: Option<String>,
    /// A file with CREATE TABLE, for columns that the trace does not name
    #[arg(long, value_name = "FILE")]
    schema: Option<String>,
    /// How the advice is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Draw the recorded heat under the present and the best key into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
    /// Draw the same picture as PNG, for places that show no SVG
    #[arg(long, value_name = "FILE")]
    png: Option<String>,
    /// Judge keys at so many times the recorded load [default: enough for several partitions]
    #[arg(long, value_name = "TIMES", value_parser = load)]
    load: Option<f64>,
    /// Draw chance from another seed; the same one gives the same advice
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// How advice is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// One JSON object
    Json,
}

fn load(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(load) if (LOAD_MIN..=LOAD_MAX).contains(&load) => Ok(load),
        _ => Err(format!("it is a number from {LOAD_MIN} to {LOAD_MAX:e}")),
    }
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    match answer(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = io::stderr().write_fmt(format_args!("error: {message}\n"));
            ExitCode::from(NO_ADVICE)
        }
    }
}

/// Where a trace comes from.
enum Source<'a> {
    File(&'a str),
    Server(&'a str),
    Data(Arc<Database>),
}

impl<'a> Source<'a> {
    fn of(args: &'a Args) -> Result<Self, String> {
        Ok(match (&args.trace, &args.url) {
            (Some(path), _) => Self::File(path),
            (None, Some(url)) => Self::Server(url),
            (None, None) => {
                let opened = record::opened(&args.data);
                Self::Data(opened.map_err(|error| error.to_string())?)
            }
        })
    }

    fn trace(&self) -> Result<Box<dyn BufRead>, String> {
        let mut lines = Vec::new();
        match self {
            Self::File(STDIN) => return Ok(Box::new(io::stdin().lock())),
            Self::File(path) => {
                let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
                return Ok(Box::new(BufReader::new(file)));
            }
            Self::Server(url) => {
                record::remote(url, &mut lines).map_err(|error| error.to_string())?;
            }
            Self::Data(database) => {
                let exported = database.export_trace(&mut lines);
                exported.map_err(|error| error.to_string())?;
            }
        }
        Ok(Box::new(Cursor::new(lines)))
    }
}

fn answer(args: &Args) -> Result<(), String> {
    let source = Source::of(args)?;
    let advice = advice(args, &source)?;
    tell(args, &advice)?;
    match &args.verify {
        Some(wanted) => print(&verify::page(args, &source, &advice, wanted)?),
        None => Ok(()),
    }
}

fn advice(args: &Args, source: &Source<'_>) -> Result<Advice, String> {
    let mut options = Options {
        load: args.load,
        ..Options::default()
    };
    options.seed = args.seed.unwrap_or(options.seed);
    if let Some(path) = &args.schema {
        let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let columns = advisor::advise::columns(&text, &args.table);
        options.columns = columns.map_err(|error| format!("{path}: {error}"))?;
    }
    let mut reader = Reader::new(source.trace()?).map_err(|error| error.to_string())?;
    let advice = advise_on(&mut reader, &args.table, &options);
    advice.map_err(|error| {
        let flaws = reader.flaws();
        let first = flaws.first.first();
        let first = first.map(|flaw| format!("line {}: {}", flaw.line, flaw.reason));
        match first {
            Some(first) => format!(
                "{error}\n{} lines of the trace could not be used, the first is {first}",
                flaws.lines
            ),
            None => error.to_string(),
        }
    })
}

fn tell(args: &Args, advice: &Advice) -> Result<(), String> {
    let write = |path: &str, picture: &[u8]| {
        fs::write(path, picture).map_err(|error| format!("{path}: {error}"))
    };
    if let Some(path) = &args.svg {
        write(path, advice.svg().as_bytes())?;
    }
    if let Some(path) = &args.png {
        write(path, &advice.png())?;
    }
    let page = match args.format {
        Format::Text => advice.text(),
        Format::Json => advice.json() + "\n",
    };
    print(&page)
}

fn print(page: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    let printed = out.write_all(page.as_bytes()).and_then(|()| out.flush());
    match printed {
        // Whoever reads may have seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| error.to_string()),
    }
}
