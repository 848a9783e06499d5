//! `evenkeel advise`: reads a trace, prints which key a table should have, and draws why.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitCode;

use advisor::trace::Reader;
use advisor::{Advice, Options, advise_on};
use clap::ValueEnum;

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
    /// The trace that was recorded; - is standard input
    #[arg(long, value_name = "FILE")]
    trace: String,
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
    match advice(args).and_then(|advice| tell(args, &advice)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = io::stderr().write_fmt(format_args!("error: {message}\n"));
            ExitCode::from(NO_ADVICE)
        }
    }
}

fn advice(args: &Args) -> Result<Advice, String> {
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
    let input: Box<dyn BufRead> = match args.trace.as_str() {
        STDIN => Box::new(io::stdin().lock()),
        path => {
            let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
            Box::new(BufReader::new(file))
        }
    };
    let mut reader = Reader::new(input).map_err(|error| error.to_string())?;
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
    let mut out = io::stdout().lock();
    let printed = out.write_all(page.as_bytes()).and_then(|()| out.flush());
    match printed {
        // Whoever reads may have seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| error.to_string()),
    }
}
