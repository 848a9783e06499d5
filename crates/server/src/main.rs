//! The `evenkeel` program: its command line.
//!
//! There is nothing to serve yet, and the help says so: it names only what works. A command comes
//! into the help together with the code that does it.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

/// EvenKeel, a database of sorted, range-partitioned tables that keeps its load even.
///
/// This build has no server and no commands yet. The database works inside a Rust program, through
/// the library crate `db`.
#[derive(Parser)]
#[command(name = "evenkeel", version, verbatim_doc_comment)]
struct Args {}

fn main() -> ExitCode {
    let Args {} = Args::parse();
    match Args::command().print_long_help() {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the help has closed the pipe: there is nobody left to tell.
        Err(_) => ExitCode::FAILURE,
    }
}
