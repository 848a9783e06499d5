//! `torture KIND [SECONDS] [SEED]`, and without a kind the list of them.

use std::process::ExitCode;

use storage::env::{Random, SystemRandom};
use torture::{Error, Options, Result};

/// A kind of torture: its name, what it does, and how it is run. The answer is whether nothing was
/// found.
struct Torture {
    name: &'static str,
    about: &'static str,
    run: fn(&Options) -> Result<bool>,
}

const KINDS: &[Torture] = &[
    Torture {
        name: "history",
        about: "many clients append to lists; a search for cycles judges what they saw",
        run: torture::history::run,
    },
    Torture {
        name: "kill",
        about: "kill -9 again and again; nothing acknowledged may be missing",
        run: torture::kill::run,
    },
    Torture {
        name: "disk",
        about: "the storage engine on disks that lose power, flip bits and fail",
        run: torture::disk::run,
    },
];

/// The exit code for a command line that makes no sense.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.split_first() {
        None => {
            println!("usage: torture KIND [SECONDS] [SEED] [--server PATH] [--keep DIR]\n");
            for kind in KINDS {
                println!("{:<8} {}", kind.name, kind.about);
            }
            Ok(true)
        }
        Some((name, rest)) => start(name, rest),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(Error::Usage(message)) => {
            eprintln!("{message}");
            ExitCode::from(EXIT_USAGE)
        }
        Err(error) => {
            eprintln!("the run could not be judged: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(name: &str, rest: &[String]) -> Result<bool> {
    match name {
        torture::disk::SUBJECT => return torture::disk::subject::run(rest),
        torture::disk::WORKER => return torture::disk::worker::run(rest),
        _ => {}
    }
    let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        return Err(Error::Usage(format!(
            "there is no kind `{name}`: {}",
            names.join(", ")
        )));
    };
    let options = Options::read(rest, SystemRandom::new().below(1 << 32))?;
    eprintln!("{name}: seed {}", options.seed);
    (kind.run)(&options)
}
