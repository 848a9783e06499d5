//! Tables that stay even: the control loop, and what the documents say of keys.

#![cfg(test)]

mod control;
mod seeds;
mod stage;
