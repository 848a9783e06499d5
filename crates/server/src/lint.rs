//! `evenkeel lint`: reads schema files, prints what the advisor finds, and says by its exit code
//! whether that is acceptable.

mod format;

use std::fs;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use advisor::lint::{
    CODES, Dialect, Error, Finding, Severity, Source, dialect_named, explain, fix, guess,
};
use clap::ValueEnum;

/// The exit code when something is denied.
const DENIED: u8 = 1;
/// The exit code when something cannot be read.
const UNREADABLE: u8 = 2;
/// The name under which standard input is read.
const STDIN: &str = "-";

/// What `evenkeel lint` is asked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files with CREATE TABLE, CREATE INDEX and ALTER TABLE; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "explain")]
    files: Vec<String>,
    /// Whose SQL it is: ydb, postgres, cockroach, spanner, mysql, tidb [default: guessed]
    #[arg(long, value_name = "NAME", value_parser = dialect)]
    dialect: Option<Dialect>,
    /// How findings are printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Exit with 1 on these as well: warnings, notes, or a code such as KEY003
    #[arg(long, value_name = "WHAT", value_parser = deniable)]
    deny: Vec<String>,
    /// Say nothing about a code
    #[arg(long, value_name = "CODE", value_parser = code)]
    allow: Vec<String>,
    /// Write the rewritten statements into the files; those of standard input are printed
    #[arg(long)]
    fix: bool,
    /// A file with queries, which are checked against the keys (KEY008)
    #[arg(long, value_name = "FILE")]
    queries: Vec<String>,
    /// Print the page about a code
    #[arg(long, value_name = "CODE", value_parser = code, exclusive = true)]
    explain: Option<String>,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, as compilers do
    Text,
    /// One JSON object a line
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub's actions
    Github,
}

pub(crate) fn dialect(name: &str) -> Result<Dialect, String> {
    dialect_named(name)
        .ok_or_else(|| "known are ydb, postgres, cockroach, spanner, mysql, tidb".to_owned())
}

fn code(name: &str) -> Result<String, String> {
    let known = CODES
        .iter()
        .find(|(code, _)| code.eq_ignore_ascii_case(name));
    known
        .map(|(code, _)| (*code).to_owned())
        .ok_or_else(|| "codes are KEY001 to KEY014".to_owned())
}

fn deniable(name: &str) -> Result<String, String> {
    match name {
        "warnings" | "notes" => Ok(name.to_owned()),
        _ => code(name).map_err(|said| format!("{said}; warnings and notes are possible too")),
    }
}

/// A text with what is to be said about it.
pub(crate) struct Checked {
    /// The path as it was given.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) findings: Vec<Finding>,
    pub(crate) errors: Vec<Error>,
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    if let Some(page) = args.explain.as_deref().and_then(explain) {
        return print(page).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let mut unreadable = false;
    let mut checked = Vec::new();
    let mut queries = read_all(&args.queries, &mut unreadable);
    for file in read_all(&args.files, &mut unreadable) {
        match check(args, file, &mut queries) {
            Ok(one) => checked.push(one),
            Err(error) => {
                complain(&error.to_string());
                unreadable = true;
            }
        }
    }
    checked.extend(queries);
    let denied = |finding: &Finding| is_denied(args, finding);
    let all = || checked.iter().flat_map(|one| &one.findings);
    let page = format::page(args.format, &checked, &denied);
    // With --fix the text itself goes to standard output when it came in by standard input.
    let to_stdout = !(args.fix && args.files.iter().any(|path| path == STDIN));
    let printed = if to_stdout {
        print(&page)
    } else {
        io::stderr().write_all(page.as_bytes())
    };
    unreadable |= checked.iter().any(|one| !one.errors.is_empty());
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&error.to_string());
            ExitCode::from(UNREADABLE)
        }
        _ if unreadable => ExitCode::from(UNREADABLE),
        _ if all().any(denied) => ExitCode::from(DENIED),
        _ => ExitCode::SUCCESS,
    }
}

/// Reads files; those that cannot be read are told and left out.
fn read_all(paths: &[String], unreadable: &mut bool) -> Vec<Checked> {
    let mut texts = Vec::new();
    for path in paths {
        match read(path) {
            Ok(text) => texts.push(Checked {
                path: path.clone(),
                text,
                findings: Vec::new(),
                errors: Vec::new(),
            }),
            Err(error) => {
                complain(&format!("{path}: {error}"));
                *unreadable = true;
            }
        }
    }
    texts
}

fn read(path: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    match path {
        STDIN => io::stdin().read_to_end(&mut bytes)?,
        _ => fs::File::open(path)?.read_to_end(&mut bytes)?,
    };
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = error.as_bytes().iter().take(good);
        let line = before.filter(|byte| **byte == b'\n').count() + 1;
        let said = format!("line {line} is not UTF-8: convert the file, for example with iconv");
        io::Error::new(io::ErrorKind::InvalidData, said)
    })
}

/// Checks one file, and mends it before if that is asked.
fn check(args: &Args, file: Checked, queries: &mut [Checked]) -> io::Result<Checked> {
    let Checked { path, mut text, .. } = file;
    let wanted = |finding: &Finding| !args.allow.iter().any(|code| code == finding.code);
    let dialect = args.dialect.unwrap_or_else(|| guess(&text));
    if args.fix {
        let (fixed, mended) = fix(&text, dialect, wanted);
        if path == STDIN {
            print(&fixed)?;
        } else if mended > 0 {
            fs::write(&path, &fixed)?;
        }
        text = fixed;
    }
    let source = Source::read(&text, Some(dialect));
    let findings = source.findings().into_iter().filter(wanted).collect();
    let errors = source.errors.clone();
    for queried in queries {
        let (found, failed) = source.query_findings(&queried.text);
        queried.findings.extend(found.into_iter().filter(wanted));
        // Each file of tables reads the queries anew.
        queried.errors = failed;
    }
    Ok(Checked {
        path,
        findings,
        errors,
        text,
    })
}

fn is_denied(args: &Args, finding: &Finding) -> bool {
    finding.severity == Severity::Error
        || args.deny.iter().any(|what| match what.as_str() {
            "warnings" => finding.severity == Severity::Warning,
            "notes" => true,
            code => code == finding.code,
        })
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn complain(message: &str) {
    let _ = io::stderr().write_fmt(format_args!("error: {message}\n"));
}
