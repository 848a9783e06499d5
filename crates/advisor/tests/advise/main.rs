//! Advice: the stories of the documents end to end, and laws that hold for any trace.

#![cfg(test)]

mod laws;
mod pictures;
mod stories;
mod tables;
