//! Chores of the project, called as `cargo xtask COMMAND`.

use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

const HELP: &str = "\
usage: cargo xtask COMMAND

  golden [ARG...]  run the tests with UPDATE_GOLDEN=1, so that golden files are rewritten;
                   ARG goes to cargo test, as in `cargo xtask golden -p keys`
  help             print this

Review rewritten golden files as a diff: `git diff -- '*/golden/*'`.
The tidy checks are a test: `cargo test -p xtask`.
";

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    let command = args.next().unwrap_or_else(|| "help".into());
    match command.to_str() {
        Some("golden") => golden(args.collect()),
        Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("unknown command `{}`\n\n{HELP}", command.display());
            ExitCode::from(2)
        }
    }
}

/// Runs every test even after a failure: a golden file behind a failing one is rewritten too.
fn golden(mut args: Vec<OsString>) -> ExitCode {
    if args.is_empty() {
        args.push("--workspace".into());
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--no-fail-fast"])
        .args(args)
        .env("UPDATE_GOLDEN", "1")
        .current_dir(xtask::root())
        .status();
    match status {
        Ok(status) if status.success() => {
            println!("golden files are rewritten: review them as a diff");
            ExitCode::SUCCESS
        }
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("start cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
