//! What keeping tables even costs: measuring heat, keys that spread, splitting and merging under load.
//!
//! Each figure is one line with `RATIO name number` and what it may be at most or must be at least.

mod heat;
mod keys;
mod live;

use crate::Result;
use crate::options::{Options, Part, run_parts};

/// What the list of benches says.
pub(crate) const ABOUT: &str =
    "what heat, spread keys, splitting and merging cost [--quick] [--only PART] [--server PATH]";

/// How much is done.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Pairs of turns when heat is measured.
    pairs: u32,
    /// How long requests go on while partitions change.
    live_seconds: u64,
}

const FULL: Scale = Scale {
    pairs: 400,
    live_seconds: 60,
};

const QUICK: Scale = Scale {
    pairs: 40,
    live_seconds: 10,
};

/// How much is done of what was asked for.
fn scale(options: &Options) -> Scale {
    if options.quick { QUICK } else { FULL }
}

const PARTS: [(&str, Part); 3] = [
    ("heat", heat::run),
    ("keys", keys::run),
    ("live", live::run),
];

/// Runs the bench, and answers whether every target was met.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    run_parts(arguments, &PARTS)
}
