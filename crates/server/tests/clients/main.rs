//! The clients that people use, run against the real server process.
//!
//! The programs beside this file ask what PostgreSQL would answer, and say where ours differs. To
//! see that a program itself is right, run it against a PostgreSQL whose user `ada` may do
//! everything in the database `boats`: `CLIENTS_PORT=5432 cargo test --test clients`.
#![cfg(test)]

mod guide;
mod jdbc;
mod pgbench;
#[expect(dead_code, reason = "the tests of the wire use more of it")]
#[path = "../wire/process.rs"]
mod process;
mod program;
mod python;
