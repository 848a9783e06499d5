//! The kind `kill`: a server that is killed again and again, and judged after each restart.
//!
//! ```text
//!   start ─► judge ─► writers, loader and disruptor ─► SIGKILL at a random moment ─► start ─► judge …
//!     └─ one start in six is killed as well, while it recovers
//!
//!   writers     batches of rows with two indexes and a sequence; transfers between accounts
//!   loader      COPY past the journal, and TRUNCATE
//!   disruptor   ALTER TABLE … SPLIT AT and MERGE PARTITIONS AT, all the time
//! ```
//!
//! # What is judged
//! Each client notes what was acknowledged, and the one transaction that it was waiting for. After a
//! restart that one is there wholly or not at all, and everything before it is there (`judge.rs`):
//!
//! - **Rows.** Each acknowledged batch, update, deletion, load and transfer is there once; of no
//!   transaction there is only a part, over partitions and over tables.
//! - **Bank.** Every account has what the acknowledged transfers leave it, so the sum is kept.
//! - **Indexes.** Reading by an index finds the rows of the table, no more and no less.
//! - **Sequences.** No number is given twice in the whole run.
//! - **Partitions.** They tile each table and index, and their counters are what a recount finds.
//!
//! Memory does not grow with the run: rows are deleted after a while, and a client keeps how far it came
//! and the tickets of the rows that are left; of the sequence, one bit for each number.
//!
//! # What is counted
//! An operation is a row that an acknowledged statement inserted, updated or deleted, or a TRUNCATE. A
//! split or a merge is a key of an acknowledged ALTER TABLE. Flushes and compactions are the server's own
//! counters, read every tenth of a second: what it did after the last look before the kill is left out.

mod client;
mod disruptor;
mod findings;
mod judge;
mod life;
mod loader;
mod metrics;
mod observed;
mod tally;
mod tickets;
mod workload;
mod writer;

use crate::{Options, Result};
use life::Run;

/// A run of this kind; `true` if nothing was found and enough was reached.
pub fn run(options: &Options) -> Result<bool> {
    let mut run = Run::begin(options)?;
    while !run.is_over() && run.round()? {}
    let (tally, sound) = run.finish();
    let missed = tally.missed(options.duration);
    for line in &missed {
        println!("not reached: {line}");
    }
    println!("{tally}");
    Ok(sound && missed.is_empty())
}
