//! The command line: `torture KIND [SECONDS] [SEED] [--server PATH] [--keep DIR]`.

use std::path::PathBuf;
use std::time::Duration;

use crate::{Error, Result};

/// How long a run takes unless said otherwise.
const SECONDS_DEFAULT: u64 = 60;

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long clients go on.
    pub duration: Duration,
    /// What every choice of the clients comes from.
    pub seed: u64,
    /// The program that is tortured.
    pub server: PathBuf,
    /// Where what a finding was found in is kept, if it is to be.
    pub keep: Option<PathBuf>,
}

impl Options {
    /// Reads what follows the kind. A seed that is not given is `chosen`.
    pub fn read(words: &[String], chosen: u64) -> Result<Self> {
        let own = std::env::current_exe()?;
        let mut options = Self {
            duration: Duration::from_secs(SECONDS_DEFAULT),
            seed: chosen,
            server: own.with_file_name("evenkeel"),
            keep: None,
        };
        let mut numbers = Vec::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "--server" => {
                    let missing = || Error::Usage("--server needs a path".to_owned());
                    options.server = rest.next().ok_or_else(missing)?.into();
                }
                "--keep" => {
                    let missing = || Error::Usage("--keep needs a path".to_owned());
                    options.keep = Some(rest.next().ok_or_else(missing)?.into());
                }
                word => {
                    let number = word.parse::<u64>();
                    numbers.push(number.map_err(|_| {
                        Error::Usage(format!("`{word}` is neither a number nor an option"))
                    })?);
                }
            }
        }
        match numbers.as_slice() {
            [] => {}
            [seconds] => options.duration = Duration::from_secs(*seconds),
            [seconds, seed] => {
                options.duration = Duration::from_secs(*seconds);
                options.seed = *seed;
            }
            _ => return Err(Error::Usage("only SECONDS and SEED are numbers".to_owned())),
        }
        Ok(options)
    }
}
