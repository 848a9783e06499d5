//! The command line of the benches that start a server.

use std::path::{Path, PathBuf};

use crate::measure::Report;
use crate::{Error, Result};

/// What a bench was asked for.
pub(crate) struct Options {
    /// Whether it is to be over soon.
    pub(crate) quick: bool,
    /// The one part that is run.
    pub(crate) only: Option<String>,
    /// The program that is measured.
    pub(crate) server: PathBuf,
    /// The program that the web API is measured beside.
    pub(crate) dynalite: PathBuf,
}

/// One part of a bench, which reports what it measures.
pub(crate) type Part = fn(&mut Report, &Options) -> Result<()>;

/// Runs the parts that are asked for, one after another, and answers whether every target was met. A
/// part that breaks is told, and the others run all the same.
pub(crate) fn run_parts(arguments: &[String], parts: &[(&str, Part)]) -> Result<bool> {
    let options = Options::read(arguments)?;
    let mut report = Report::default();
    for (name, part) in options.chosen(parts, |(name, _)| name)? {
        eprintln!("{name}");
        if let Err(error) = part(&mut report, &options) {
            report.broken(name, &error);
        }
    }
    Ok(report.passed())
}

impl Options {
    /// Reads them.
    pub(crate) fn read(arguments: &[String]) -> Result<Self> {
        let own = std::env::current_exe()?;
        let target = own.parent().and_then(Path::parent);
        let dynalite = target.map(|target| target.join("dynalite/node_modules/.bin/dynalite"));
        let mut options = Self {
            quick: false,
            only: None,
            server: own.with_file_name("evenkeel"),
            dynalite: dynalite.unwrap_or_default(),
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || {
                let missing = || Error::Usage(format!("`{argument}` needs a value"));
                rest.next().cloned().ok_or_else(missing)
            };
            match argument.as_str() {
                "--quick" => options.quick = true,
                "--only" => options.only = Some(value()?),
                "--server" => options.server = value()?.into(),
                "--dynalite" => options.dynalite = value()?.into(),
                other => return Err(Error::Usage(format!("unknown option `{other}`"))),
            }
        }
        Ok(options)
    }

    /// Which of a bench's parts are run; `--only` has to name one of them.
    pub(crate) fn chosen<'p, P>(
        &self,
        parts: &'p [P],
        name: impl Fn(&P) -> &str,
    ) -> Result<Vec<&'p P>> {
        let Some(only) = self.only.as_deref() else {
            return Ok(parts.iter().collect());
        };
        let chosen: Vec<&P> = parts.iter().filter(|part| name(part) == only).collect();
        if chosen.is_empty() {
            let names: Vec<&str> = parts.iter().map(name).collect();
            let names = names.join(", ");
            return Err(Error::Usage(format!("--only takes one of: {names}")));
        }
        Ok(chosen)
    }
}
