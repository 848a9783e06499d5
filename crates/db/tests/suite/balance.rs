//! Tables that stay even: the control loop, and what the documents say of keys.

mod control;
mod predicted;
mod seeds;
mod stage;
mod story;
