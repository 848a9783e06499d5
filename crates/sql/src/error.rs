//! What can go wrong between values and tables.

mod constraint;

pub use constraint::ConstraintError;

/// The result of a call on tables.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, named for the situation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table that does not exist.
    #[error("table `{name}` does not exist{}", did_you_mean(.nearest))]
    NoSuchTable {
        /// The name that was asked for.
        name: String,
        /// A name that looks like it.
        nearest: Option<String>,
    },
    /// A table that exists already.
    #[error("table `{name}` exists already")]
    TableExists {
        /// Its name.
        name: String,
    },
    /// A column that a table does not have.
    #[error("table `{table}` has no column `{column}`")]
    NoSuchColumn {
        /// The table.
        table: String,
        /// The column that was asked for.
        column: String,
    },
    /// A column that no table of a query has.
    #[error("column `{column}` does not exist{}", did_you_mean(.nearest))]
    UnknownColumn {
        /// The name that was asked for.
        column: String,
        /// A name that looks like it.
        nearest: Option<String>,
    },
    /// A column that a table has already.
    #[error("table `{table}` has a column `{column}` already")]
    ColumnExists {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A column that a statement fills twice.
    #[error("column `{column}` of table `{table}` is named twice")]
    ColumnTwice {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A column that something else needs.
    #[error("column `{column}` of table `{table}` cannot be dropped: {reason}")]
    ColumnInUse {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Who needs it, and what to do.
        reason: String,
    },
    /// NULL in rows of a column that is to refuse it.
    #[error("column `{column}` of table `{table}` cannot be NOT NULL: {reason}")]
    NullsThere {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// What there is, and what to do.
        reason: String,
    },
    /// An index that a table has already.
    #[error("table `{table}` has an index `{index}` already")]
    IndexExists {
        /// The table.
        table: String,
        /// The index.
        index: String,
    },
    /// An index that a table does not have.
    #[error("table `{table}` has no index `{index}`{known}")]
    NoSuchIndex {
        /// The table.
        table: String,
        /// The index that was asked for.
        index: String,
        /// Which ones it has, as the end of a sentence.
        known: String,
    },
    /// An index that no table has.
    #[error("index `{name}` does not exist")]
    UnknownIndex {
        /// The name that was asked for.
        name: String,
    },
    /// An index that several tables have.
    #[error("tables `{tables}` have an index `{name}`: say ALTER TABLE … DROP INDEX `{name}`")]
    AmbiguousIndex {
        /// The name.
        name: String,
        /// The tables.
        tables: String,
    },
    /// Rows that share the values of an index that is to be unique.
    #[error("index `{index}` of table `{table}` cannot be unique: several rows have {key}")]
    Duplicates {
        /// The table.
        table: String,
        /// The index.
        index: String,
        /// The values, as a path.
        key: String,
    },
    /// An option that does not exist, or not with this value.
    #[error("table `{table}`, option {option}: {reason}")]
    TableOption {
        /// The table.
        table: String,
        /// The option.
        option: String,
        /// What is wrong.
        reason: String,
    },
    /// A default that cannot be.
    #[error("the default of column `{column}` of table `{table}`: {reason}")]
    Default {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A sequence that does not exist.
    #[error("sequence `{name}` does not exist{}", did_you_mean(.nearest))]
    NoSuchSequence {
        /// The name that was asked for.
        name: String,
        /// A name that looks like it.
        nearest: Option<String>,
    },
    /// A sequence that exists already.
    #[error("sequence `{name}` exists already")]
    SequenceExists {
        /// Its name.
        name: String,
    },
    /// A sequence that cannot be.
    #[error("sequence `{name}`: {reason}")]
    Sequence {
        /// Its name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A sequence that something else needs.
    #[error("sequence `{name}` cannot be dropped: {reason}")]
    SequenceInUse {
        /// Its name.
        name: String,
        /// Who needs it, and what to do.
        reason: String,
    },
    /// A sequence that has no more numbers.
    #[error("sequence `{name}` has come to its end at {end}: give it other bounds, or CYCLE")]
    SequenceEnd {
        /// Its name.
        name: String,
        /// Its last number.
        end: i64,
    },
    /// A session that asks for a number before it took one.
    #[error("{what} is not known in this session yet: call nextval first")]
    NotCounted {
        /// What it asked for.
        what: String,
    },
    /// A number beyond the bounds of a sequence.
    #[error("{value} is beyond the bounds of sequence `{name}`, {min} and {max}")]
    SequenceValue {
        /// Its name.
        name: String,
        /// The number.
        value: i64,
        /// Its least number.
        min: i64,
        /// Its greatest number.
        max: i64,
    },
    /// A key at which a table cannot be split.
    #[error("table `{table}` cannot be split at {key}: {reason}")]
    SplitKey {
        /// The table.
        table: String,
        /// The key, as a path.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A schema that cannot be.
    #[error("table `{table}`: {reason}")]
    Schema {
        /// The table.
        table: String,
        /// What is wrong.
        reason: String,
    },
    /// A row or key with too few or too many values.
    #[error("table `{table}` has {expected} {what}, {given} values were given")]
    ValueCount {
        /// The table.
        table: String,
        /// What was counted.
        what: &'static str,
        /// How many there are.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// A value of another type than its column.
    #[error("column `{column}` of table `{table}` is {expected}, not {given}")]
    ValueType {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The column's type.
        expected: keys::Type,
        /// What was given.
        given: String,
    },
    /// NULL where the table forbids it.
    #[error("column `{column}` of table `{table}` is NOT NULL")]
    NullValue {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A text that is longer than its column was declared.
    #[error("value too long for column `{column}` of table `{table}`: it is a {declared}")]
    TooLong {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// What it was declared as.
        declared: keys::Declared,
    },
    /// A value for a column that always counts by itself.
    #[error(
        "column `{column}` of table `{table}` is GENERATED ALWAYS AS IDENTITY: leave it out, write \
         DEFAULT, or INSERT with OVERRIDING SYSTEM VALUE"
    )]
    IdentityValue {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A column that cannot be generated so.
    #[error("the generated column `{column}` of table `{table}`: {reason}")]
    Generated {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A value for a generated column that is not what it is worked out to be.
    #[error(
        "column `{column}` of table `{table}` is generated: here it is {expected}, not {given}; leave \
         it out, or write DEFAULT"
    )]
    GeneratedValue {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The value that was given.
        given: String,
        /// The value that it has.
        expected: String,
    },
    /// A number that the type cannot hold.
    #[error("{value} is out of range for {kind}")]
    OutOfRange {
        /// The value.
        value: String,
        /// The type.
        kind: keys::Type,
    },
    /// A value that has no meaning in the other type.
    #[error("{value} of type {from} cannot be cast to {to}")]
    CannotCast {
        /// The value.
        value: String,
        /// Its type.
        from: String,
        /// The type that was wanted.
        to: keys::Type,
    },
    /// A row with the same key is there.
    #[error("table `{table}` has a row {key} already")]
    RowExists {
        /// The table.
        table: String,
        /// The key, as a path.
        key: String,
        /// The key with its columns, in PostgreSQL's words.
        detail: String,
    },
    /// A row with the same values in a unique index is there.
    #[error("table `{table}` has a row with {key} in its unique index `{index}` already")]
    NotUnique {
        /// The table.
        table: String,
        /// The index.
        index: String,
        /// The values, as a path.
        key: String,
        /// The values with their columns, in PostgreSQL's words.
        detail: String,
    },
    /// ON CONFLICT over columns that may repeat.
    #[error(
        "table `{table}` has no primary key or unique index over ({columns}): name one of those in ON \
         CONFLICT"
    )]
    NoSuchConstraint {
        /// The table.
        table: String,
        /// The columns that were named.
        columns: String,
    },
    /// A prepared statement whose result looks different since a table changed.
    #[error("the tables of this prepared statement have changed: prepare it again")]
    Changed,
    /// A statement whose tables changed between the steps of planning and running it.
    #[error("the tables of this statement changed while it ran: run it again")]
    Redefined,
    /// More rows in one COPY than are kept in memory.
    #[error("the rows of one COPY may take {} MiB of memory: copy them in parts", limit >> 20)]
    CopyTooLarge {
        /// How many bytes they may take.
        limit: usize,
    },
    /// More rows taken by SKIP LOCKED or NOWAIT than one statement may claim.
    #[error("one statement may lock {limit} rows with SKIP LOCKED or NOWAIT: add a LIMIT")]
    TooManyTaken {
        /// How many rows it may take.
        limit: usize,
    },
    /// A value above the hard limit.
    #[error(
        "a value of column `{column}` of table `{table}` has {bytes} bytes, above the limit of {limit} bytes"
    )]
    CellTooLong {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Bytes of the value.
        bytes: usize,
        /// The limit it breaks.
        limit: usize,
    },
    /// A row in storage that does not fit its table.
    #[error("row {key} of table `{table}` is damaged ({detail}): restore it from a backup")]
    Damaged {
        /// The table.
        table: String,
        /// The key, as a path.
        key: String,
        /// What does not fit.
        detail: String,
    },
    /// A catalog record that does not decode.
    #[error("the catalog's record of {table} is damaged ({detail}): restore it from a backup")]
    DamagedRecord {
        /// The table.
        table: txn::TableId,
        /// What does not fit.
        detail: &'static str,
    },
    /// A function that does not exist.
    #[error("function `{name}` does not exist")]
    NoSuchFunction {
        /// The name that was asked for.
        name: String,
    },
    /// An operator that these types have no meaning for.
    #[error("there is no operator {left} {operator} {right}: cast one side")]
    NoSuchOperator {
        /// The operator.
        operator: String,
        /// The type on its left.
        left: keys::Type,
        /// The type on its right.
        right: keys::Type,
    },
    /// A parameter that was not given.
    #[error("there is no parameter {name}")]
    NoSuchParameter {
        /// The parameter.
        name: String,
    },
    /// A name of a text that nothing gave a meaning.
    #[error("{name} is neither declared nor defined: write DECLARE {name} AS a type before it")]
    Undeclared {
        /// The name with its dollar sign.
        name: String,
    },
    /// A parameter that was declared and not bound.
    #[error("parameter {name} has no value: prepare the statement and bind one")]
    Unbound {
        /// The parameter.
        name: String,
    },
    /// A name of a text that is used as it cannot be.
    #[error("{name}: {reason}")]
    Name {
        /// The name with its dollar sign.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A value that its parameter cannot have.
    #[error("parameter {name}: {reason}")]
    Parameter {
        /// The parameter.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// Something that is understood and not done.
    #[error("{what} is not supported yet")]
    Unsupported {
        /// What.
        what: String,
    },
    /// A change that a table with rows does not take, and a new table would.
    #[error(
        "{what} is not supported: {reason}; create a new table with it, and copy the rows by INSERT \
         INTO … SELECT … FROM `{table}`"
    )]
    NeedsNewTable {
        /// The table.
        table: String,
        /// The change.
        what: String,
        /// Why it is not done in place.
        reason: &'static str,
    },
    /// Text that is no statement.
    #[error(transparent)]
    Syntax(#[from] syntax::Error),
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A query that cannot be planned or run.
    #[error("{what}")]
    Query {
        /// What is wrong with it.
        what: String,
    },
    /// A query that is wrong in a way that PostgreSQL has a code for.
    #[error("{what}")]
    Refused {
        /// In which way.
        fault: Fault,
        /// What is wrong with it.
        what: String,
    },
    /// A query that would hold more than it may.
    #[error("the query needs more than {} MiB of memory: read fewer rows, or group by fewer values", limit_bytes / 1024 / 1024)]
    OutOfMemory {
        /// What it may hold.
        limit_bytes: usize,
    },
    /// The client asked to stop the statement.
    #[error("statement cancelled at the client's request")]
    Cancelled,
    /// The statement took longer than it may.
    #[error("statement cancelled after {ms} ms: statement_timeout allows no more")]
    TimedOut {
        /// How long it may take.
        ms: u128,
    },
    /// A fault of this program.
    #[error("internal error: {what}")]
    Internal {
        /// What happened.
        what: String,
    },
    /// A value that cannot be stored.
    #[error(transparent)]
    Keys(#[from] keys::Error),
    /// A failure of a collection.
    #[error(transparent)]
    Item(#[from] crate::collection::ItemError),
    /// What a constraint forbids.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// A failure of the transaction.
    #[error(transparent)]
    Txn(#[from] txn::Error),
}

impl Error {
    /// What is wrong with the bytes of a row, with the name of the column that it is about.
    pub(crate) fn of_row(schema: &crate::Schema, error: keys::Error) -> Self {
        let keys::Error::CellTooLong {
            column: slot,
            bytes,
            limit,
        } = error
        else {
            return error.into();
        };
        let column = schema.parts().slots.get(slot).and_then(|slot| slot.column);
        let column = column.and_then(|place| schema.columns().get(place));
        Self::CellTooLong {
            table: schema.name().to_owned(),
            column: column.map_or(String::new(), |column| column.name.clone()),
            bytes,
            limit,
        }
    }

    /// That a table has no such index, with the names of those it has.
    pub(crate) fn no_such_index(schema: &crate::Schema, index: &str) -> Self {
        let names = schema.indexes().iter().map(|index| index.name.as_str());
        let names: Vec<&str> = names.collect();
        Self::NoSuchIndex {
            table: schema.name().to_owned(),
            index: index.to_owned(),
            known: match names.as_slice() {
                [] => ", and no other".to_owned(),
                names => format!("; it has `{}`", names.join("`, `")),
            },
        }
    }
}

/// What can be wrong with a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A column that several tables have.
    Ambiguous,
    /// A column outside of its group.
    Grouping,
    /// A value of the wrong type.
    Type,
    /// A place in a list that does not exist.
    Position,
    /// Parts that do not go together.
    Syntax,
    /// A limit below zero.
    Limit,
    /// More rows than one.
    Cardinality,
    /// An operator that these types do not have.
    Operator,
    /// Text that is no value.
    Text,
    /// Something that makes sense and is not done.
    Feature,
}

fn did_you_mean(name: &Option<String>) -> String {
    name.as_ref()
        .map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}
