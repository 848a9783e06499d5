//! The real server process and real clients: drivers, psql, and those who send garbage.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod bytes_by_hand;
mod copy;
mod declared;
mod driver;
mod even;
mod even_keys;
mod explain;
mod http;
mod key_findings;
mod limits;
mod locks;
mod pipeline;
mod process;
mod psql;
mod recalled;
mod record;
mod settings;
mod shell;
mod stall;
mod statement_stats;
mod system;
mod values;
mod yql;
