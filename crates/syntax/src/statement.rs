//! The statements there are, with the places of their parts.
//!
//! Expressions and queries are sqlparser's own ([`crate::ast`]), because the planner above reads
//! them as they are. Statements are ours: they hold exactly what this database can be asked, YQL's
//! parts beside PostgreSQL's, and each name a linter may point at carries its [`Span`].
//!
//! [`Kind::Other`] is what sqlparser reads and this database has no word for (CREATE VIEW, GRANT, …):
//! whoever runs statements refuses it by name, whoever lints them skips it.

use std::sync::Arc;

use crate::ast;
use crate::span::Span;
use crate::table::{AlterTable, CreateTable, Index};

/// One statement and its place in the text, without the semicolon.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The bytes it was read from.
    pub span: Span,
    /// What it asks.
    pub kind: Kind,
    /// What `$1`, `$2`, … are, if the text around the statement declared them by name. The parser
    /// leaves declarations where they stand; whoever resolves names fills this in.
    pub declared: Vec<Declare>,
    /// What all its runs share, with the number of that: [`crate::fingerprint`]. The parser, which
    /// does not need it, leaves it out; whoever counts runs fills this in.
    pub fingerprint: Option<(u64, Arc<str>)>,
    /// Codes of findings that a comment beside it exempts. The parser skips comments; whoever judges
    /// tables fills this in.
    pub allowed: Vec<&'static str>,
}

impl Statement {
    pub(crate) fn new(span: Span, kind: Kind) -> Self {
        Self {
            span,
            kind,
            declared: Vec::new(),
            fingerprint: None,
            allowed: Vec::new(),
        }
    }
}

/// What a statement asks.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is named for its statement")]
pub enum Kind {
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    DropTable(Drop),
    Truncate(Truncate),
    CreateIndex(Box<CreateIndex>),
    RenameIndex(Box<RenameIndex>),
    DropIndex(Drop),
    CreateSequence(Box<CreateSequence>),
    AlterSequence(Box<AlterSequence>),
    DropSequence(Drop),
    Insert(Box<Insert>),
    Update(Box<ast::Update>),
    Delete(Box<ast::Delete>),
    Query(Query),
    Copy(Box<Copy>),
    Begin(TransactionModes),
    Commit { chain: bool },
    Rollback { chain: bool },
    Savepoint(Ident),
    Release(Ident),
    RollbackTo(Ident),
    Set(Set),
    Show(Show),
    Reset(Reset),
    Discard(ast::DiscardObject),
    Explain(Explain),
    DeclareCursor(Box<DeclareCursor>),
    Fetch(Fetch),
    CloseCursor(Option<Ident>),
    Declare(Declare),
    Define(Define),
    Pragma(Pragma),
    Call(Box<ast::Function>),
    Vacuum(Vacuum),
    Advise(Advise),
    Other(Box<ast::Statement>),
}

/// ADVISE TABLE: which key a table should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advise {
    /// The table.
    pub table: Name,
    /// VERIFY: one of the keys is tried out.
    pub verify: Option<Verify>,
}

/// Which of the keys that were judged is tried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verify {
    /// The best.
    Best,
    /// KEY and its rank, from 1.
    Rank(u64),
    /// KEY and how it is written, such as `'(userid, ts)'`.
    Key(String),
}

/// One word of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ident {
    /// The word without its quotes.
    pub value: String,
    /// The quote around it: `"`, a backtick, or none.
    pub quote: Option<char>,
    /// Its place, quotes included.
    pub span: Span,
}

/// A name of one or more parts: `orders`, `public.orders`, or a path in backticks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name {
    /// The parts between the dots.
    pub parts: Vec<Ident>,
    /// The place of all of them.
    pub span: Span,
}

/// An expression and its place; sqlparser's own places have gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The expression.
    pub expr: ast::Expr,
    /// Its place.
    pub span: Span,
}

/// DROP TABLE, DROP INDEX, DROP SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    /// What is dropped.
    pub names: Vec<Name>,
    /// Whether a name that is not there is no error.
    pub if_exists: bool,
    /// Whether what depends on it goes with it.
    pub cascade: bool,
}

/// TRUNCATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    /// The tables to empty.
    pub names: Vec<Name>,
    /// Whether their sequences start over.
    pub restart_identity: bool,
    /// Whether tables that depend on them are emptied too.
    pub cascade: bool,
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// The table it belongs to.
    pub table: Name,
    /// The index itself.
    pub index: Index,
    /// Whether an index of that name that exists is no error.
    pub if_not_exists: bool,
    /// Whether CONCURRENTLY was asked for; building is online in any case.
    pub concurrently: bool,
    /// The method after USING, in lower case.
    pub method: Option<String>,
    /// The condition of a partial index.
    pub predicate: Option<ast::Expr>,
}

/// CREATE SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    /// Its name.
    pub name: Name,
    /// Whether a sequence of that name that exists is no error.
    pub if_not_exists: bool,
    /// What it counts, and how.
    pub options: SequenceOptions,
}

/// ALTER INDEX … RENAME TO.
#[derive(Clone, Debug, PartialEq)]
pub struct RenameIndex {
    /// Its name.
    pub name: Name,
    /// Whether an index that is not there is no error.
    pub if_exists: bool,
    /// Its new name.
    pub to: Ident,
}

/// ALTER SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequence {
    /// Its name.
    pub name: Name,
    /// Whether a sequence that is not there is no error.
    pub if_exists: bool,
    /// What changes.
    pub options: SequenceOptions,
    /// Its new name.
    pub rename_to: Option<Name>,
}

/// What a sequence counts, and how; nothing where the statement says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SequenceOptions {
    /// The type of its values.
    pub kind: Option<keys::Type>,
    /// The step.
    pub increment: Option<i64>,
    /// The least value; `Some(None)` is NO MINVALUE.
    pub min: Option<Option<i64>>,
    /// The greatest value; `Some(None)` is NO MAXVALUE.
    pub max: Option<Option<i64>>,
    /// The first value.
    pub start: Option<i64>,
    /// RESTART: at the value, or at the start.
    pub restart: Option<Option<i64>>,
    /// Values taken at a time.
    pub cache: Option<i64>,
    /// Whether it begins again after the last value.
    pub cycle: Option<bool>,
    /// The column it goes with; `Some(None)` is OWNED BY NONE.
    pub owned_by: Option<Option<Name>>,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// INSERT: a key that exists is an error.
    Insert,
    /// UPSERT: the named columns of a row that exists are overwritten, the others kept.
    Upsert,
    /// REPLACE: the whole row is overwritten, columns that are not named get their default.
    Replace,
    /// UPDATE … ON: rows that exist are changed by key, others are left out.
    UpdateOn,
    /// DELETE … ON: rows are deleted by key.
    DeleteOn,
}

/// INSERT, UPSERT, REPLACE, and UPDATE or DELETE with ON.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// How rows are written.
    pub mode: Mode,
    /// The table.
    pub table: Name,
    /// Its other name within the statement.
    pub alias: Option<Ident>,
    /// The columns named; none means all, in order.
    pub columns: Vec<Ident>,
    /// Whether columns that always count by themselves take what is given (OVERRIDING SYSTEM VALUE).
    pub overriding: bool,
    /// The rows: VALUES or a query; `None` is DEFAULT VALUES.
    pub source: Option<Box<ast::Query>>,
    /// What happens to rows that exist.
    pub on_conflict: Option<ast::OnConflict>,
    /// What to answer of each row written.
    pub returning: Option<Vec<ast::SelectItem>>,
}

/// SELECT, VALUES, TABLE and WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Whether the rows are computed and not sent (DISCARD SELECT).
    pub discard: bool,
    /// The query.
    pub query: Box<ast::Query>,
}

/// COPY.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// What is read or written.
    pub source: CopySource,
    /// Whether rows come in (FROM) or go out (TO).
    pub from: bool,
    /// The other end.
    pub target: ast::CopyTarget,
    /// The options, older spellings (`COPY t FROM STDIN CSV HEADER`) included.
    pub options: Vec<CopyOption>,
}

/// An option of COPY.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyOption {
    /// Its name, in lower case.
    pub name: String,
    /// Its value.
    pub value: CopyValue,
}

/// The value of an option of COPY.
#[derive(Clone, Debug, PartialEq)]
pub enum CopyValue {
    /// None, which means yes.
    None,
    /// A word, a number or a string.
    Text(String),
    /// Columns in parentheses.
    Columns(Vec<Ident>),
    /// `*`: every column.
    All,
}

/// What COPY reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub enum CopySource {
    /// A table and the columns named, none meaning all.
    Table {
        /// The table.
        table: Name,
        /// Its columns.
        columns: Vec<Ident>,
    },
    /// A query, which can only be copied out.
    Query(Box<ast::Query>),
}

/// What a transaction was asked to be; nothing where the statement says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransactionModes {
    /// The isolation level.
    pub isolation: Option<ast::TransactionIsolationLevel>,
    /// READ ONLY or READ WRITE.
    pub read_only: Option<bool>,
    /// DEFERRABLE or NOT DEFERRABLE.
    pub deferrable: Option<bool>,
}

/// SET.
#[derive(Clone, Debug, PartialEq)]
pub enum Set {
    /// A setting of the session, or with LOCAL of the transaction.
    Variable {
        /// Whether it ends with the transaction.
        local: bool,
        /// The setting, in lower case unless quoted.
        name: String,
        /// Its value or values as text; `None` is DEFAULT.
        value: Option<Vec<String>>,
    },
    /// ALTER SYSTEM SET or RESET: a setting of the whole database, or with RESET ALL each of them.
    System {
        /// The setting, in lower case unless quoted; `None` is ALL.
        name: Option<String>,
        /// Its value or values as text; `None` is DEFAULT.
        value: Option<Vec<String>>,
    },
    /// SET CONSTRAINTS: when foreign keys that can wait are checked.
    Constraints {
        /// The constraints; none means ALL.
        names: Vec<Name>,
        /// Whether they wait for the end of the transaction.
        deferred: bool,
    },
    /// SET TRANSACTION, or with `session` SET SESSION CHARACTERISTICS AS TRANSACTION.
    Transaction {
        /// Whether later transactions are meant, and not this one.
        session: bool,
        /// The modes.
        modes: TransactionModes,
    },
}

/// SHOW.
#[derive(Clone, Debug, PartialEq)]
pub enum Show {
    /// A setting, or a list such as `tables` or `all`: the words in lower case.
    Variable(String),
    /// The statement that would create the table.
    CreateTable(Name),
}

/// RESET.
#[derive(Clone, Debug, PartialEq)]
pub enum Reset {
    /// Every setting.
    All,
    /// One setting, in lower case unless quoted.
    Variable(String),
}

/// The form of an explained plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExplainFormat {
    /// Lines for people.
    #[default]
    Text,
    /// JSON for programs.
    Json,
}

/// EXPLAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    /// Whether the statement is run as well.
    pub analyze: bool,
    /// Whether more detail is wanted.
    pub verbose: bool,
    /// The form of the answer.
    pub format: ExplainFormat,
    /// The statement to explain.
    pub statement: Box<Statement>,
}

/// DECLARE … CURSOR.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursor {
    /// Its name.
    pub name: Ident,
    /// Whether rows are to come in binary.
    pub binary: bool,
    /// Whether it can go back.
    pub scroll: bool,
    /// Whether it outlives its transaction.
    pub hold: bool,
    /// Whose rows it goes over.
    pub query: Box<ast::Query>,
}

/// FETCH and MOVE.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    /// The cursor.
    pub name: Ident,
    /// Where it goes.
    pub motion: Motion,
    /// Whether no rows are wanted (MOVE).
    pub quiet: bool,
}

/// Where a cursor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// Over this many rows, each of which is answered; back if it is below zero.
    By(i64),
    /// To the row that stands this far away.
    Jump(i64),
    /// To a row by its number from one, or from the last if it is below zero.
    To(i64),
}

/// `DECLARE $name AS Type`.
#[derive(Clone, Debug, PartialEq)]
pub struct Declare {
    /// The parameter with its dollar sign.
    pub name: Ident,
    /// Its type.
    pub kind: ParameterType,
}

/// The type of a parameter, which unlike a column may hold several values.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterType {
    /// A value.
    Plain(keys::Type),
    /// A value or NULL.
    Optional(Box<Self>),
    /// Any number of values of one type.
    List(Box<Self>),
    /// Values by name, as the columns of a row.
    Struct(Vec<(String, Self)>),
    /// Values by place.
    Tuple(Vec<Self>),
    /// Values by key.
    Dict(Box<Self>, Box<Self>),
}

/// `$name = expression`: a name for an expression or a query, within the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Define {
    /// The name with its dollar sign.
    pub name: Ident,
    /// What it stands for; a query is a subquery expression.
    pub value: Box<ast::Expr>,
}

/// `PRAGMA name = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pragma {
    /// Its name.
    pub name: Name,
    /// Its value as text, if it has one.
    pub value: Option<String>,
}

/// VACUUM and ANALYZE, which this database has no need of and clients send.
#[derive(Clone, Debug, PartialEq)]
pub struct Vacuum {
    /// Whether it is VACUUM, and not ANALYZE alone.
    pub vacuum: bool,
    /// Whether statistics were asked for.
    pub analyze: bool,
    /// The tables; none means all.
    pub names: Vec<Name>,
}
