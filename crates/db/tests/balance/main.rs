//! Tables that stay even: the control loop, and what the documents say of keys.

#![cfg(test)]

mod control;
#[path = "../opened/database.rs"]
mod database;
mod predicted;
mod seeds;
mod stage;
mod story;
