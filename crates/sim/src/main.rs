//! Replays the history of a seed: `cargo run -p sim -- --seed 7 --placement separate --verbose`.

use std::process::ExitCode;

use sim::{Coverage, Setting, run};

const USAGE: &str =
    "usage: sim --seed N [--seeds COUNT] [--placement shared|separate|disk] [--verbose]";

struct Args {
    seed: u64,
    seeds: u64,
    settings: Vec<Setting>,
    verbose: bool,
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let (mut seed, mut seeds, mut verbose) = (None, 1, false);
    let mut settings = vec![Setting::Shared, Setting::Separate];
    while let Some(word) = words.next() {
        let mut next = || {
            words
                .next()
                .ok_or_else(|| format!("{word} needs a value\n{USAGE}"))
        };
        let number = |text: String| {
            text.parse::<u64>()
                .map_err(|error| format!("{text}: {error}"))
        };
        match word.as_str() {
            "--seed" => seed = Some(number(next()?)?),
            "--seeds" => seeds = number(next()?)?,
            "--placement" => settings = vec![next()?.parse()?],
            "--verbose" => verbose = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let seed = seed.ok_or(USAGE)?;
    Ok(Args {
        seed,
        seeds,
        settings,
        verbose,
    })
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let mut coverage = Coverage::default();
    let mut failures = 0_u64;
    for seed in args.seed..args.seed.saturating_add(args.seeds) {
        for setting in &args.settings {
            match run(seed, *setting, args.verbose) {
                Ok(report) => coverage.merge(&report.coverage),
                Err(failure) => {
                    failures += 1;
                    eprintln!("seed {seed} on {setting}: {failure}");
                }
            }
        }
    }
    println!("{coverage}");
    match failures {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
