//! The one error that leaves the database, and the seven kinds a caller can act on.

use std::fmt;

/// The result of a database call.
pub type Result<T> = std::result::Result<T, Error>;

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request is wrong: change it.
    Invalid,
    /// What was asked for is not there.
    NotFound,
    /// What was to be made is there already.
    Exists,
    /// Another transaction came first: run this one again.
    Conflict,
    /// It may work later.
    Unavailable,
    /// Stored bytes are damaged: restore a backup.
    Corrupt,
    /// A fault of this program: report it.
    Internal,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not found",
            Self::Exists => "exists",
            Self::Conflict => "conflict",
            Self::Unavailable => "unavailable",
            Self::Corrupt => "corrupt",
            Self::Internal => "internal",
        })
    }
}

/// A failed call: what happened and where, in words, and its [`Kind`].
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    source: Box<dyn std::error::Error + Send + Sync>,
    /// The statement that it is about, as a part of its text.
    statement: Option<syntax::Span>,
}

impl Error {
    /// What the caller can do about it.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// When a commit took place if it did, for one whose outcome this error leaves open: it happened
    /// wholly or not at all, and reading its rows again tells which. `None` if nothing happened.
    pub fn unknown_commit(&self) -> Option<txn::Timestamp> {
        match self.source.downcast_ref::<txn::Error>() {
            Some(txn::Error::Unknown { at, .. }) => Some(*at),
            _ => None,
        }
    }

    /// Whether nothing was done because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        self.sqlstate() == "53100"
    }

    /// The row that another transaction changed first, if that is what it is about.
    pub(crate) fn conflict(&self) -> Option<(txn::TableId, &txn::Bytes)> {
        let of_sql = self.source.downcast_ref::<sql::Error>();
        let error = match of_sql {
            Some(sql::Error::Txn(error)) => Some(error),
            _ => self.source.downcast_ref::<txn::Error>(),
        };
        match error {
            Some(txn::Error::Conflict { table, key, .. }) => Some((*table, key)),
            _ => None,
        }
    }

    /// The container whose items are on their way to where their schema says, and the directory of those
    /// that must be there first, if that is what it is about.
    pub(crate) fn changing(&self) -> Option<(&str, Option<&str>)> {
        use sql::collection::ItemError::Changing;
        match self.source.downcast_ref::<sql::Error>() {
            Some(sql::Error::Item(Changing {
                container, moving, ..
            })) => Some((container, moving.as_deref())),
            _ => None,
        }
    }

    pub(crate) fn inner(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        self.source.as_ref()
    }

    pub(crate) fn new(kind: Kind, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self {
            kind,
            source: Box::new(source),
            statement: None,
        }
    }

    /// The same about the statement that stands there in its text.
    pub(crate) fn of(mut self, statement: syntax::Span) -> Self {
        self.statement = Some(statement);
        self
    }

    pub(crate) fn statement(&self) -> Option<syntax::Span> {
        self.statement
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.source()
    }
}

impl From<sql::Error> for Error {
    fn from(error: sql::Error) -> Self {
        Self::new(sql_kind(&error), error)
    }
}

impl From<txn::Error> for Error {
    fn from(error: txn::Error) -> Self {
        Self::new(txn_kind(&error), error)
    }
}

impl From<storage::Error> for Error {
    fn from(error: storage::Error) -> Self {
        Self::new(storage_kind(&error), error)
    }
}

impl From<advisor::Error> for Error {
    fn from(error: advisor::Error) -> Self {
        let kind = match &error {
            advisor::Error::Io(_) | advisor::Error::TooFew { .. } => Kind::Unavailable,
            _ => Kind::Invalid,
        };
        Self::new(kind, error)
    }
}

impl From<keys::Error> for Error {
    fn from(error: keys::Error) -> Self {
        Self::new(Kind::Invalid, error)
    }
}

fn sql_kind(error: &sql::Error) -> Kind {
    match error {
        sql::Error::NoSuchTable { .. }
        | sql::Error::NoSuchColumn { .. }
        | sql::Error::UnknownColumn { .. }
        | sql::Error::NoSuchIndex { .. }
        | sql::Error::UnknownIndex { .. }
        | sql::Error::NoSuchSequence { .. }
        | sql::Error::NoSuchFunction { .. }
        | sql::Error::NoSuchOperator { .. } => Kind::NotFound,
        sql::Error::TableExists { .. }
        | sql::Error::ColumnExists { .. }
        | sql::Error::IndexExists { .. }
        | sql::Error::SequenceExists { .. }
        | sql::Error::NotUnique { .. }
        | sql::Error::Duplicates { .. }
        | sql::Error::RowExists { .. } => Kind::Exists,
        sql::Error::Schema { .. }
        | sql::Error::SplitKey { .. }
        | sql::Error::AmbiguousIndex { .. }
        | sql::Error::ColumnInUse { .. }
        | sql::Error::ColumnTwice { .. }
        | sql::Error::NullsThere { .. }
        | sql::Error::TableOption { .. }
        | sql::Error::Default { .. }
        | sql::Error::Sequence { .. }
        | sql::Error::SequenceInUse { .. }
        | sql::Error::SequenceEnd { .. }
        | sql::Error::NotCounted { .. }
        | sql::Error::SequenceValue { .. }
        | sql::Error::ValueCount { .. }
        | sql::Error::ValueType { .. }
        | sql::Error::NullValue { .. }
        | sql::Error::TooLong { .. }
        | sql::Error::IdentityValue { .. }
        | sql::Error::OutOfRange { .. }
        | sql::Error::CannotCast { .. }
        | sql::Error::NoSuchConstraint { .. }
        | sql::Error::Changed
        | sql::Error::NoSuchParameter { .. }
        | sql::Error::Undeclared { .. }
        | sql::Error::Unbound { .. }
        | sql::Error::Name { .. }
        | sql::Error::Parameter { .. }
        | sql::Error::Unsupported { .. }
        | sql::Error::NeedsNewTable { .. }
        | sql::Error::Syntax(_)
        | sql::Error::DivisionByZero
        | sql::Error::CopyTooLarge { .. }
        | sql::Error::TooManyTaken { .. }
        | sql::Error::CellTooLong { .. }
        | sql::Error::Query { .. }
        | sql::Error::OutOfMemory { .. }
        | sql::Error::Cancelled
        | sql::Error::TimedOut { .. }
        | sql::Error::Refused { .. }
        | sql::Error::Keys(_) => Kind::Invalid,
        sql::Error::Damaged { .. } | sql::Error::DamagedRecord { .. } => Kind::Corrupt,
        sql::Error::Txn(error) => txn_kind(error),
        sql::Error::Redefined => Kind::Conflict,
        sql::Error::Item(error) => item_kind(error),
        sql::Error::Constraint(error) => constraint_kind(error),
        _ => Kind::Internal,
    }
}

fn item_kind(error: &sql::collection::ItemError) -> Kind {
    match error {
        sql::collection::ItemError::Changing { .. } => Kind::Conflict,
        sql::collection::ItemError::NameTaken { .. }
        | sql::collection::ItemError::Hidden { .. } => Kind::Exists,
        _ => Kind::Invalid,
    }
}

fn constraint_kind(error: &sql::ConstraintError) -> Kind {
    match error {
        sql::ConstraintError::Unknown { .. } | sql::ConstraintError::NotFound { .. } => {
            Kind::NotFound
        }
        sql::ConstraintError::Exists { .. } => Kind::Exists,
        _ => Kind::Invalid,
    }
}

fn txn_kind(error: &txn::Error) -> Kind {
    match error {
        txn::Error::Conflict { .. }
        | txn::Error::Altered { .. }
        | txn::Error::TooOld { .. }
        | txn::Error::Reopened { .. }
        | txn::Error::Deadlock { .. }
        | txn::Error::GivenUp { .. } => Kind::Conflict,
        txn::Error::EngineDown { .. }
        | txn::Error::Unknown { .. }
        | txn::Error::Held { .. }
        | txn::Error::LockHeld { .. }
        | txn::Error::Busy { .. } => Kind::Unavailable,
        txn::Error::RowExists { .. } | txn::Error::RowTwice { .. } => Kind::Exists,
        txn::Error::TooLarge { .. }
        | txn::Error::NotPatched { .. }
        | txn::Error::LoadTooLarge { .. }
        | txn::Error::KeyLength { .. }
        | txn::Error::TooManyLocks { .. }
        | txn::Error::Ended
        | txn::Error::NoSuchSavepoint => Kind::Invalid,
        txn::Error::Damaged { .. } | txn::Error::DamagedRecord { .. } => Kind::Corrupt,
        txn::Error::Partitions(error) => partitions_kind(error),
        txn::Error::Storage(error) => storage_kind(error),
        txn::Error::NotWritten { cause } => storage_kind(cause),
        _ => Kind::Internal,
    }
}

fn partitions_kind(error: &partitions::Error) -> Kind {
    match error {
        partitions::Error::NoSuchTable(_) | partitions::Error::NoSuchPartition { .. } => {
            Kind::NotFound
        }
        partitions::Error::TableExists(_) => Kind::Exists,
        partitions::Error::SplitOutside { .. }
        | partitions::Error::SplitKeysOrder { .. }
        | partitions::Error::TooManyPartitions { .. }
        | partitions::Error::NotNeighbours { .. } => Kind::Invalid,
        partitions::Error::InDoubt { .. } => Kind::Unavailable,
        partitions::Error::Corrupt { .. } => Kind::Corrupt,
        partitions::Error::Storage(error) => storage_kind(error),
        _ => Kind::Internal,
    }
}

fn storage_kind(error: &storage::Error) -> Kind {
    match error {
        storage::Error::Foreign { .. }
        | storage::Error::NewerFormat { .. }
        | storage::Error::KeyTooLong { .. } => Kind::Invalid,
        storage::Error::Poisoned { .. }
        | storage::Error::Locked { .. }
        | storage::Error::DiskFull { .. }
        | storage::Error::Unknown { .. }
        | storage::Error::Io { .. } => Kind::Unavailable,
        storage::Error::Damaged { .. } => Kind::Corrupt,
        storage::Error::Interrupted { .. } => Kind::Conflict,
        // The space of a table that was dropped while somebody read it.
        storage::Error::NoSuchSpace(_) => Kind::NotFound,
        _ => Kind::Internal,
    }
}
