//! What texts become: golden files, laws, and inputs meant to hurt.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

#[path = "suite/golden.rs"]
mod golden;
#[path = "suite/hostile.rs"]
mod hostile;
#[path = "suite/laws.rs"]
mod laws;
#[path = "suite/print.rs"]
mod print;
