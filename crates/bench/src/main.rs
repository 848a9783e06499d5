//! Side-by-side measurements with peers: `bench NAME`, and without a name the list of them.

mod advisor;
mod error;
mod even;
mod fair;
mod ground;
mod measure;
mod nosql;
mod options;
mod sql;
mod stall;

use std::process::ExitCode;

use error::{Error, Result};

/// A bench: its name, what it measures, and how it is run.
struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<bool>,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "advisor",
        about: advisor::ABOUT,
        run: advisor::run,
    },
    Bench {
        name: "even",
        about: even::ABOUT,
        run: even::run,
    },
    Bench {
        name: "fair",
        about: fair::ABOUT,
        run: fair::run,
    },
    Bench {
        name: "ground",
        about: ground::ABOUT,
        run: ground::run,
    },
    Bench {
        name: "nosql",
        about: nosql::ABOUT,
        run: nosql::run,
    },
    Bench {
        name: "sql",
        about: sql::ABOUT,
        run: sql::run,
    },
    Bench {
        name: "stall",
        about: stall::ABOUT,
        run: stall::run,
    },
];

/// The exit code for a command line that makes no sense.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        println!("usage: bench NAME [OPTION...]\n");
        for bench in BENCHES {
            println!("{:<8} {}", bench.name, bench.about);
        }
        return ExitCode::SUCCESS;
    };
    let outcome = match BENCHES.iter().find(|bench| bench.name == name) {
        Some(bench) => (bench.run)(rest),
        None => match ground::run_child(name, rest) {
            Some(outcome) => outcome.map(|()| true),
            None => Err(Error::Usage(format!(
                "there is no bench `{name}`; run without a name to see the list"
            ))),
        },
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(Error::Usage(message)) => {
            eprintln!("{message}");
            ExitCode::from(EXIT_USAGE)
        }
        Err(error) => {
            eprintln!("the bench could not finish: {error}");
            ExitCode::FAILURE
        }
    }
}
