//! Text to statements: YQL, PostgreSQL and the dialects the linter reads, with spans.
//!
//! One language is accepted: PostgreSQL's everyday SQL together with YQL's statements over row
//! tables, so that a YDB schema and a PostgreSQL driver meet the same parser. The parsing is done by
//! sqlparser; this crate surrounds it.
//!
//! ```text
//!   "UPSERT INTO t (id) VALUES (1ul);  SELECT …"
//!        │ tokens     sqlparser's tokenizer; places become bytes; statements apart; limits
//!        │ quotes     is "…" a name or a string?
//!        │ forms      a, b, FROM → a, b FROM, GROUP BY x AS k, a ?? b
//!        │ rewrite    1ul → CAST(1 AS Uint64), Digest::X( → one word, VIEW ix → index hint
//!        ▼ parse      grammars of ours over sqlparser's parser
//!   Statement { span: 0..31, kind: Insert { mode: Upsert, table: t @ 12..13, … } }
//! ```
//!
//! Texts that differ in their literals only need not be read again: [`outline()`] tells what they share.
//!
//! [`schema`] is a second, loose grammar over the same tokens, for schemas of other databases.
//!
//! Read [`quotes`] for the rule on double quotes and [`rewrite`] for what YQL's forms become in the
//! trees: both matter to whoever plans them.
//!
//! # Invariants
//!
//! - No input panics or overflows the stack: length, nesting and chains of operators are bounded
//!   before a tree exists ([`tokens`]), and every error has a place, what was found and what was
//!   expected.
//! - Every span of every tree that leaves this crate counts bytes ([`span`]).
//! - UPSERT and REPLACE stay apart; no form of YQL silently means something else.
//!
//! Deliberately absent: any knowledge of which tables, columns or functions exist. This is the only
//! crate that names sqlparser; what others need of it is [`ast`].

pub mod ast {
    //! sqlparser's trees of expressions and queries, as the planner above reads them.
    pub use sqlparser::ast::*;
    pub use sqlparser::tokenizer::{Location, Span};
}

mod dialect;
pub mod error;
pub mod fingerprint;
pub mod forms;
mod groups;
pub mod literal;
mod locks;
mod long_strings;
mod outline;
mod parse;
pub mod quotes;
mod reader;
pub mod rewrite;
pub mod schema;
pub mod span;
pub mod statement;
pub mod table;
pub mod tokens;

pub use error::{Error, Result};
pub use fingerprint::fingerprint;
pub use literal::{cast_declared, cast_type, literal, literal_text};
pub use outline::{Literal, OUTLINED_BYTES_MAX, Outline, outline};
pub use parse::{deep, parse, parse_each};
pub use rewrite::CURRENT_OF;
pub use span::{Position, Span};
pub use statement::{Ident, Kind, Mode, Name, Statement};
pub use tokens::{CHAIN_MAX, NESTING_MAX, STATEMENT_BYTES_MAX, TEXT_BYTES_MAX};
