//! The NoSQL web API as its clients see it: requests written by hand to the real server process.
#![cfg(test)]

mod client;
mod crash;
mod items;
mod large_objects;
mod listings;
mod objects;
#[expect(dead_code, reason = "the tests of the wire use more of it")]
#[path = "../wire/process.rs"]
mod process;
mod recorded;
mod refusals;
mod scans;
mod seed;
mod sql;
