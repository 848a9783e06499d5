//! The command line of the benches that start a server.

use std::path::PathBuf;

use crate::{Error, Result};

/// What a bench was asked for.
pub(crate) struct Options {
    /// Whether it is to be over soon.
    pub(crate) quick: bool,
    /// The one part that is run.
    pub(crate) only: Option<String>,
    /// The program that is measured.
    pub(crate) server: PathBuf,
}

impl Options {
    /// Reads them.
    pub(crate) fn read(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            quick: false,
            only: None,
            server: std::env::current_exe()?.with_file_name("evenkeel"),
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
                other => return Err(Error::Usage(format!("unknown option `{other}`"))),
            }
        }
        Ok(options)
    }
}
