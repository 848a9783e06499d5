//! A server under real clients, judged by what they were told.
//!
//! ```text
//!   history   many clients append to lists and read them; a search for cycles judges what they saw
//!   kill      the same server is killed again and again; what was acknowledged must be there
//!   disk      the storage engine alone, on disks that lose power, damage what they hold, and fail
//! ```
//!
//! A run is started by `./dev torture KIND SECONDS SEED`. It prints what it covered, and one line with
//! its verdict. The clients' choices come from the seed; the server has real threads and a real disk, so
//! that the same seed asks the same questions and may be answered in another order.

pub mod disk;
mod error;
pub mod history;
pub mod kill;
mod options;
mod server;

pub use error::{Error, Result};
pub use options::Options;
pub use server::Server;
