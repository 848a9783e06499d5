//! System tables: what clients of PostgreSQL ask about tables, and what YDB's users ask of `.sys`.
//!
//! ```text
//!   pg_catalog           what psql, drivers and their tools ask; found without naming it
//!   information_schema   what the standard has for it
//!   sys                  what only this database has: `.sys/partition_stats` in YQL, and the others
//!                        of docs/system-views.md
//! ```
//!
//! A system table is made when a query names it ([`tables`]), from the catalog and the partitions as
//! they are at that moment ([`objects`]), and is a table like others to DataFusion. What it looks
//! like is said in the lists beside these files ([`definition`]).
//!
//! Clients send PostgreSQL's own dialect with it, fixed texts that DataFusion does not plan as they
//! are. [`rewrite`] turns their constructs into plain ones before the query is planned, and
//! [`functions`] has the functions they call.
//!
//! Deliberately absent: versions. A system table shows what is there now, also inside an older
//! snapshot, because the catalog has no versions either.

mod constraints;
mod definition;
mod functions;
mod heat;
mod information;
mod objects;
mod outside;
mod partitions;
mod personal;
mod rewrite;
mod rows;
mod statements;
mod tables;
mod types;

pub(crate) use definition::find as find_table;
pub(crate) use functions::all as all_functions;
pub(crate) use objects::{quoted, table_oid};
pub(crate) use outside::Guest;
pub use outside::Outside;
pub use personal::{Personal, Personalised, configured, personalise, sleeps};
pub(crate) use rewrite::{arguments, call, last_name, plain_type, rewrite, spell};
pub(crate) use tables::SystemTables;
pub use types::postgres_type;
