//! What a table is made of: columns, key, indexes, options, and how ALTER TABLE changes them.

use crate::ast;
use crate::span::Span;
use crate::statement::{Expression, Ident, Name};

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub name: Name,
    /// Whether a table of that name that exists is no error.
    pub if_not_exists: bool,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Its key, whether written at a column or after them.
    pub primary_key: Option<PrimaryKey>,
    /// Its indexes; UNIQUE constraints are indexes too.
    pub indexes: Vec<Index>,
    /// The column families, which are read and mean nothing here.
    pub families: Vec<Family>,
    /// CHECK, FOREIGN KEY and the like.
    pub constraints: Vec<Constraint>,
    /// What stands in WITH.
    pub options: Vec<TableOption>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub kind: ColumnType,
    /// What PostgreSQL calls the type, if that says more.
    pub declared: keys::Declared,
    /// Where the type stands.
    pub type_span: Span,
    /// Where NOT NULL stands, if it does, or PRIMARY KEY at the column, which says it too.
    pub not_null: Option<Span>,
    /// The value of rows that give none.
    pub default: Option<Expression>,
    /// The expression it is computed from, with the place of all of GENERATED ALWAYS AS … STORED.
    pub generated: Option<Expression>,
    /// Whether it counts by itself (GENERATED … AS IDENTITY), and whether ALWAYS so.
    pub identity: Option<Identity>,
    /// The family it belongs to.
    pub family: Option<Ident>,
    /// All of it.
    pub span: Span,
}

/// The type of a column as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A type of this database.
    Plain(keys::Type),
    /// An integer that counts by itself.
    Serial(Serial),
    /// A type of another database: enough for a linter, not for a table.
    Other(String),
}

/// The width of a column that counts by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serial {
    /// Two bytes: SmallSerial, Serial2.
    Small,
    /// Four bytes: Serial, Serial4.
    Plain,
    /// Eight bytes: BigSerial, Serial8.
    Big,
}

impl Serial {
    /// The type of the column's values.
    pub fn value_type(self) -> keys::Type {
        match self {
            Self::Small => keys::Type::Int16,
            Self::Plain => keys::Type::Int32,
            Self::Big => keys::Type::Int64,
        }
    }
}

/// GENERATED … AS IDENTITY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Whether a value given by the statement is refused.
    pub always: bool,
}

/// The primary key.
#[derive(Clone, Debug, PartialEq)]
pub struct PrimaryKey {
    /// Its columns, in order.
    pub columns: Vec<KeyPart>,
    /// Whether a hidden bucket column leads it (USING HASH).
    pub hash: Option<HashKey>,
    /// All of it.
    pub span: Span,
}

/// USING HASH [WITH (bucket_count = n)].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashKey {
    /// The number of buckets, if the statement names one.
    pub bucket_count: Option<u64>,
    /// Where it stands.
    pub span: Span,
}

/// One column of a key or index.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    /// The column or expression.
    pub kind: KeyPartKind,
    /// Whether DESC was written.
    pub descending: bool,
    /// Where it stands.
    pub span: Span,
}

/// What one column of a key or index is.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyPartKind {
    /// A column of the table.
    Column(Ident),
    /// An expression over them, such as `HASH(userid)`.
    Expression(Box<ast::Expr>),
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// Its name; a UNIQUE constraint may have none.
    pub name: Option<Ident>,
    /// Whether two rows may not share its columns.
    pub unique: bool,
    /// Whether it may lag behind the table (ASYNC).
    pub lagging: bool,
    /// Its columns, in order.
    pub columns: Vec<KeyPart>,
    /// Columns it holds beside the key (COVER, INCLUDE).
    pub cover: Vec<Ident>,
    /// What stands in its WITH.
    pub options: Vec<TableOption>,
    /// All of it.
    pub span: Span,
}

/// A column family of YQL.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Its name.
    pub name: Ident,
    /// Its settings.
    pub options: Vec<TableOption>,
}

/// A constraint that is no key and no index; a name and columns that stood at a column are in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// What it says.
    pub constraint: ast::TableConstraint,
    /// Where it stands.
    pub span: Span,
}

/// One option: `AUTO_PARTITIONING_BY_LOAD = ENABLED`.
#[derive(Clone, Debug, PartialEq)]
pub struct TableOption {
    /// Its name.
    pub name: Ident,
    /// Its value.
    pub value: OptionValue,
    /// Where the value stands.
    pub value_span: Span,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// ENABLED or DISABLED.
    Enabled(bool),
    /// A whole number.
    Number(u64),
    /// A string.
    Text(String),
    /// Any other word: ROW, on, true.
    Word(String),
    /// Keys, each a list of values: PARTITION_AT_KEYS.
    Keys(Vec<Vec<ast::Expr>>),
    /// When rows expire: TTL.
    Ttl(Ttl),
}

/// `Interval("PT1H") ON column [AS unit]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Ttl {
    /// How long a row lives after the time in the column.
    pub after_us: i64,
    /// The column with the time.
    pub column: Ident,
    /// What the column counts, when it is a number.
    pub unit: Option<TtlUnit>,
}

/// What a number in a TTL column counts since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is its unit")]
pub enum TtlUnit {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

/// ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub name: Name,
    /// Whether a table that is not there is no error.
    pub if_exists: bool,
    /// What changes, in order.
    pub actions: Vec<Alteration>,
}

/// One change of a table and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Alteration {
    /// What changes.
    pub kind: AlterationKind,
    /// Where it stands.
    pub span: Span,
}

/// One change of a table.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is named for its clause")]
pub enum AlterationKind {
    AddColumn {
        column: Box<Column>,
        if_not_exists: bool,
    },
    DropColumn {
        name: Ident,
        if_exists: bool,
        cascade: bool,
    },
    RenameColumn {
        from: Ident,
        to: Ident,
    },
    AlterColumn {
        name: Ident,
        change: ColumnChange,
    },
    AddIndex(Box<Index>),
    DropIndex(Ident),
    RenameIndex {
        from: Ident,
        to: Ident,
    },
    AlterIndex {
        name: Ident,
        options: Vec<TableOption>,
    },
    AddPrimaryKey(PrimaryKey),
    AddConstraint(Box<Constraint>),
    DropConstraint {
        name: Ident,
        if_exists: bool,
        cascade: bool,
    },
    RenameConstraint {
        from: Ident,
        to: Ident,
    },
    Set(Vec<TableOption>),
    Reset(Vec<Ident>),
    RenameTo(Name),
    SplitAt(Vec<SplitKey>),
    MergePartitions(Merge),
}

/// One key to split or merge at: a value for each leading key column.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitKey {
    /// The values.
    pub values: Vec<ast::Expr>,
    /// Where they stand, parentheses included.
    pub span: Span,
}

/// Which partitions to merge.
#[derive(Clone, Debug, PartialEq)]
pub enum Merge {
    /// All that the settings allow.
    All,
    /// The two on each side of these keys.
    At(Vec<SplitKey>),
    /// Those with these numbers, which must be neighbours.
    Ids(Vec<u64>),
}

/// One change of a column.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is named for its clause")]
pub enum ColumnChange {
    SetNotNull,
    DropNotNull,
    SetDefault(Box<Expression>),
    DropDefault,
    SetType {
        kind: ColumnType,
        declared: keys::Declared,
        span: Span,
    },
}
