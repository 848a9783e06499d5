//! PostgreSQL's wire protocol, version 3: what psql, drivers and ORMs speak.
//!
//! ```text
//!   bytes ─► frontend ─► messages ─► connection ─► db::Session ─► replies ─► types, backend ─► bytes
//!              │ never panics,         │                                        │
//!              │ whatever comes        │ simple: text in, all answers out       │ gathered, and written
//!                                      │ extended: parse, bind, execute         │ once at Sync or past
//!                                      │                                        │ a bound
//!   listener: who may come in, who cancels whom
//! ```
//!
//! # The life of a connection
//! [`listener`] accepts a socket and gives it a place, if one is free. `startup` refuses encryption
//! politely, reads who is there, and answers with the settings that drivers look at. From then on
//! `connection` takes one message after another. Anyone on the address may come in as anyone: there
//! are no passwords yet, and that is why the default address is reachable from this machine only.
//!
//! # Why the crate pgwire only half
//! The encoders of its replies are used. Its decoders are not, since they trust what is in a
//! message (a Bind that states more parameters than it carries makes them panic, and text that is
//! no UTF-8 is changed on the way in). Its handlers are not, since they write each small reply to the
//! socket by itself, which halves the statements per second.
//!
//! # Limits
//! Each is a constant beside the code that keeps it: connections and refusals ([`listener`]), bytes of
//! a message (`frontend`), seconds to start up (`startup`), prepared statements and portals of a
//! connection, bytes read ahead and gathered (`connection`, `channel`), bytes of a row in a copy (`copy`).

mod backend;
mod channel;
mod connection;
mod copy;
mod extended;
pub mod frontend;
pub mod listener;
mod portals;
mod simple;
mod startup;
pub mod types;
