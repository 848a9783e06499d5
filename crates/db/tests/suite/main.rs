//! The tests of db, in one program: it is large, as all of SQL is in it, and is linked once.

#![cfg(test)]

mod advisory_locks;
mod balance;
mod blind;
mod catalog;
mod claims;
mod database;
mod deferred_keys;
mod endings;
mod errors;
mod even_keys;
mod expiry;
mod foreign_keys;
mod formats;
mod golden;
mod indexes;
mod items;
mod jobs;
mod prepared;
mod reads_little;
mod recorder;
mod redefined;
mod retry;
mod session;
mod together;
