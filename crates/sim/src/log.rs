//! The steps of a simulation in words: all of them on request, the last ones after a failure.

use std::collections::VecDeque;

/// How many lines a failure shows.
const LINES_MAX: usize = 40;

/// What was done so far.
#[derive(Debug, Default)]
pub(crate) struct Log {
    verbose: bool,
    last: VecDeque<String>,
    digest: u64,
}

impl Log {
    pub(crate) fn new(verbose: bool) -> Self {
        Self {
            verbose,
            ..Self::default()
        }
    }

    pub(crate) fn say(&mut self, line: impl Into<String>) {
        let line = line.into();
        if self.verbose {
            println!("{line}");
        }
        for byte in line.bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        self.last.push_back(line);
        if self.last.len() > LINES_MAX {
            self.last.pop_front();
        }
    }

    /// A number that two runs share only if all their steps were the same.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    pub(crate) fn last_steps(&self) -> String {
        let lines: Vec<_> = self.last.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}
