//! Schemas in the dialects the linter reads: tables, keys and indexes, each part with its place.
//!
//! [`crate::parse`] reads statements that this database runs. A linter reads more: Spanner's key after
//! the parenthesis, TiDB's words in comments, CockroachDB's buckets. It also needs less: it wants to
//! know what a column is called, what it may hold and where it stands, and never runs anything. So
//! there is a second, loose grammar here, over sqlparser's tokenizer, for the statements that shape a
//! table; the others are passed over.
//!
//! ```text
//!   text ──the dialect's tokenizer──► tokens ──at each `;`──► statements
//!     CREATE TABLE, CREATE INDEX, ALTER TABLE   read by the grammar of `create` and `alter`
//!     SELECT, INSERT, GRANT, CREATE VIEW, …     passed over
//!     anything else, as CREATE TABL             an error with its place ([`words`])
//! ```
//!
//! Lines that are no SQL, as commands of psql and the rows of COPY, are passed over too ([`foreign`]).
//!
//! The loose grammar passes over what it does not know, and would take `PRIMARY KEI (id)` for a column;
//! so what is a letter or two away from a word that matters is an error ([`misspelt`]). Queries and
//! rows of YDB and PostgreSQL are read by the strict grammar of [`crate::parse`], and what it refuses
//! is an error unless it is known to be more than this database has.
//!
//! Texts are never changed before they are read, so every place is true. TiDB's `/*T![auto_rand] … */`
//! and MySQL's `/*!50110 … */` are read as if the comment were not there ([`hints`]).

mod alter;
mod create;
mod cursor;
mod foreign;
mod hints;
mod misspelt;
mod words;

use sqlparser::dialect::{BigQueryDialect, MySqlDialect, PostgreSqlDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::dialect::EvenKeel;
use crate::error::{Error, Result};
use crate::parse::parse_tokens;
use crate::quotes;
use crate::span::{Position, Span};
use crate::statement::{Ident, Name, Statement};
use crate::tokens::{self, is_token, span_of};
use cursor::Cursor;
use words::{is_checked, shapes_table};

/// Bytes of the longest text: a dump with its rows.
pub const SCHEMA_BYTES_MAX: usize = 256 << 20;

/// Whose SQL a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// YDB's YQL.
    Ydb,
    /// PostgreSQL's.
    Postgres,
    /// CockroachDB's.
    Cockroach,
    /// Spanner's GoogleSQL.
    Spanner,
    /// MySQL's, with TiDB's additions.
    Mysql,
}

/// What was read of a text.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Each statement by itself: one that is wrong does not hide the others.
    pub definitions: Vec<Result<Definition>>,
    /// The places of all comments.
    pub comments: Vec<Span>,
}

/// One statement and its place, without the semicolon.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its place.
    pub span: Span,
    /// What it says about a table.
    pub kind: DefinitionKind,
    /// The tables whose keys its foreign keys name.
    pub refers: Vec<Name>,
}

/// What a statement says about a table.
#[derive(Clone, Debug)]
pub enum DefinitionKind {
    /// CREATE TABLE.
    Table(Box<Table>),
    /// CREATE INDEX.
    Index {
        /// The table it belongs to.
        table: Name,
        /// The index.
        index: Box<Index>,
    },
    /// ALTER TABLE.
    Alter {
        /// The table.
        table: Name,
        /// What changes, as far as a key is concerned.
        changes: Vec<Change>,
    },
    /// A statement that shapes no table.
    Other,
}

/// CREATE TABLE as written.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its name.
    pub name: Name,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Its key.
    pub key: Option<Key>,
    /// Its indexes; UNIQUE constraints are indexes too.
    pub indexes: Vec<Index>,
    /// What stands in WITH or, in MySQL's dialect, after the columns.
    pub settings: Vec<Setting>,
    /// The parentheses around the columns, and what is in them.
    pub body: Span,
    /// The last thing in these parentheses.
    pub last: Span,
    /// The parentheses of WITH, and what is in them.
    pub with: Option<Span>,
    /// The table whose rows hold this one's, in Spanner.
    pub parent: Option<Name>,
}

/// A column as written.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Its name.
    pub name: Ident,
    /// The words of its type, in lower case: `character varying`.
    pub type_name: String,
    /// What stands in the parentheses of its type.
    pub type_args: Vec<String>,
    /// Where the type stands.
    pub type_span: Span,
    /// NOT NULL or NULL, if it says so.
    pub not_null: Option<bool>,
    /// The value of rows that give none.
    pub default: Option<Text>,
    /// What it is computed from.
    pub generated: Option<Text>,
    /// How it counts by itself.
    pub counts: Option<Counts>,
    /// Where PRIMARY KEY stands, if it stands at the column.
    pub primary_key: Option<Span>,
    /// USING HASH and what follows it, if that stands at the column.
    pub hash: Option<Span>,
    /// Whether two rows may not share its value.
    pub unique: bool,
    /// All of it.
    pub span: Span,
}

/// How a column counts by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Whether the numbers are spread over their whole range: AUTO_RANDOM, BIT_REVERSED_POSITIVE.
    pub spread: bool,
    /// Where it says so.
    pub span: Span,
}

/// An expression as written.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Its text.
    pub text: String,
    /// Its words that are not quoted strings, as written and without quotes.
    pub words: Vec<String>,
    /// Where it stands.
    pub span: Span,
}

/// A primary key as written.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its columns, in order.
    pub parts: Vec<Part>,
    /// USING HASH and what follows it.
    pub hash: Option<Span>,
    /// Whether the rows lie elsewhere than under the key (NONCLUSTERED).
    pub apart: bool,
    /// Whether it stands at a column.
    pub inline: bool,
    /// The columns with their parentheses, or at a column the words PRIMARY KEY.
    pub list: Span,
    /// All of it.
    pub span: Span,
}

/// One column of a key or index.
#[derive(Clone, Debug)]
pub struct Part {
    /// The column, if it is one and no expression.
    pub column: Option<Ident>,
    /// Only the first so many characters of it.
    pub prefix: Option<u64>,
    /// All of it.
    pub text: Text,
}

/// An index as written.
#[derive(Clone, Debug)]
pub struct Index {
    /// Its name.
    pub name: Option<Ident>,
    /// Whether two rows may not share its columns.
    pub unique: bool,
    /// Its columns, in order.
    pub parts: Vec<Part>,
    /// USING HASH and what follows it.
    pub hash: Option<Span>,
    /// The columns with their parentheses.
    pub list: Span,
    /// All of it.
    pub span: Span,
}

/// An option of a table.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name, in lower case.
    pub name: String,
    /// Its value as written.
    pub value: String,
    /// Where the value stands.
    pub value_span: Span,
}

/// One change of ALTER TABLE.
#[derive(Clone, Debug)]
pub enum Change {
    /// ADD PRIMARY KEY, or another in place of the one that there is.
    Key(Key),
    /// ADD INDEX or ADD UNIQUE.
    Index(Index),
    /// ADD COLUMN, or MODIFY of one that there is.
    Column(Box<Column>),
    /// ALTER COLUMN … SET DEFAULT.
    Default(Ident, Text),
    /// ALTER COLUMN … ADD GENERATED AS IDENTITY.
    Counts(Ident, Counts),
    /// ALTER COLUMN … SET or DROP NOT NULL.
    NotNull(Ident, bool),
    /// SET (…).
    Settings(Vec<Setting>),
}

/// Reads what a text says about tables.
///
/// Where the text cannot be cut into statements any more, as at a string that is not closed, the
/// statements before that are read. Only a text that is too long fails as a whole.
///
/// ```
/// use syntax::schema::{Dialect, read};
///
/// let schema = read("CREATE TABLE t (id INT64 NOT NULL) PRIMARY KEY (id)", Dialect::Spanner)?;
/// assert!(schema.definitions.iter().all(Result::is_ok));
/// # Ok::<(), syntax::Error>(())
/// ```
pub fn read(text: &str, dialect: Dialect) -> Result<Schema> {
    let mut comments = Vec::new();
    let (tokens, broken) = tokenize(text, dialect, &mut comments)?;
    let strict = matches!(dialect, Dialect::Ydb | Dialect::Postgres);
    let yql = strict && quotes::speaks_yql(text, &tokens);
    let mut definitions: Vec<Result<Definition>> = whole(tokens, broken.is_some())
        .into_iter()
        .map(|tokens| {
            tokens::check_limits(text, &tokens)?;
            let definition = definition(text, &tokens, dialect)?;
            if strict && is_checked(&tokens) {
                check(text, tokens, (dialect, yql))?;
            }
            Ok(definition)
        })
        .collect();
    definitions.extend(broken.map(Err));
    Ok(Schema {
        definitions,
        comments,
    })
}

/// Reads queries of a dialect with the grammar of this database, which has no place for everything
/// that others have: what it cannot read is an error of that statement.
pub fn read_queries(text: &str, dialect: Dialect) -> Result<Vec<Result<Statement>>> {
    let (tokens, broken) = tokenize(text, dialect, &mut Vec::new())?;
    let yql = dialect == Dialect::Ydb || quotes::speaks_yql(text, &tokens);
    let statements = whole(tokens, broken.is_some()).into_iter();
    let statements = statements.map(|tokens| parse_tokens(text, tokens, yql));
    Ok(statements.chain(broken.map(Err)).collect())
}

/// The statements; of a text that broke off, those that ended before.
fn whole(tokens: Vec<TokenWithSpan>, broken: bool) -> Vec<Vec<TokenWithSpan>> {
    let ended = is_token(tokens.last(), &Token::SemiColon);
    let mut statements = tokens::statements(tokens);
    if broken && !ended {
        statements.pop();
    }
    statements
}

fn tokenize(
    text: &str,
    dialect: Dialect,
    comments: &mut Vec<Span>,
) -> Result<(Vec<TokenWithSpan>, Option<Error>)> {
    if text.len() > SCHEMA_BYTES_MAX {
        return Err(Error::TooLong {
            at: Position::find(text, 0),
            bytes: text.len(),
            bytes_max: SCHEMA_BYTES_MAX,
        });
    }
    let covered = foreign::cover(text, dialect);
    let text = covered.as_deref().unwrap_or(text);
    Ok(match dialect {
        Dialect::Ydb | Dialect::Postgres | Dialect::Cockroach => {
            tokens::tokenize_some(text, &EvenKeel::new(0), Some(comments))
        }
        Dialect::Spanner => tokens::tokenize_some(text, &BigQueryDialect, Some(comments)),
        Dialect::Mysql => {
            let covered = hints::cover(text);
            tokens::tokenize_some(&covered, &MySqlDialect {}, Some(comments))
        }
    })
}

/// An error if neither this database nor PostgreSQL knows a query, and nothing in it is YDB's alone.
fn check(text: &str, tokens: Vec<TokenWithSpan>, (dialect, yql): (Dialect, bool)) -> Result<()> {
    let Err(error) = parse_tokens(text, tokens.clone(), yql) else {
        return Ok(());
    };
    if dialect == Dialect::Ydb && words::is_only_yql(&tokens) {
        return Ok(());
    }
    let mut other = Parser::new(&PostgreSqlDialect {}).with_tokens_with_locations(tokens);
    match other.parse_statements() {
        Ok(statements) if statements.len() == 1 => Ok(()),
        _ => Err(error),
    }
}

fn definition(text: &str, tokens: &[TokenWithSpan], dialect: Dialect) -> Result<Definition> {
    let span = span_of(tokens);
    let mut cursor = Cursor::new(text, tokens, dialect);
    let kind = if shapes_table(tokens) {
        words::check_one(text, tokens)?;
        if cursor.accept("alter table") {
            alter::alter(&mut cursor)?
        } else {
            create::create(&mut cursor)?
        }
    } else {
        words::check(text, tokens, dialect)?;
        DefinitionKind::Other
    };
    let refers = match kind {
        DefinitionKind::Other => Vec::new(),
        _ => references(Cursor::new(text, tokens, dialect)),
    };
    Ok(Definition { span, kind, refers })
}

/// The names behind REFERENCES.
fn references(mut cursor: Cursor<'_>) -> Vec<Name> {
    let mut names = Vec::new();
    while !cursor.is_done() {
        if cursor.accept("references") {
            names.extend(cursor.name());
        } else {
            cursor.next();
        }
    }
    names
}
