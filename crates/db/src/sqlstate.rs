//! PostgreSQL's codes for our errors, finer than the kinds: clients tell them apart by code. And the
//! names that programs look for in an error, so that they need not read its text.

use sql::ConstraintError;
use sql::collection::ItemError;

use crate::place::{self, Thing};
use crate::session::SessionError;
use crate::verify::VerifyError;
use crate::{Error, Kind};

impl Error {
    /// The SQLSTATE that PostgreSQL would answer with.
    pub fn sqlstate(&self) -> &'static str {
        let source = self.inner();
        let code = if let Some(error) = source.downcast_ref::<sql::Error>() {
            of_sql(error)
        } else if let Some(error) = source.downcast_ref::<txn::Error>() {
            of_txn(error)
        } else if let Some(error) = source.downcast_ref::<storage::Error>() {
            of_storage(error)
        } else if let Some(error) = source.downcast_ref::<keys::Error>() {
            of_keys(error)
        } else if let Some(advisor::Error::TooFew { .. }) = source.downcast_ref() {
            Some("55000")
        } else if let Some(error) = source.downcast_ref::<VerifyError>() {
            Some(error.sqlstate())
        } else {
            source
                .downcast_ref::<SessionError>()
                .map(SessionError::sqlstate)
        };
        code.unwrap_or_else(|| of_kind(self.kind()))
    }

    /// Where in the statement the error is, in bytes from 0.
    pub fn position(&self) -> Option<usize> {
        match self.inner().downcast_ref::<sql::Error>()? {
            sql::Error::Syntax(error) => Some(error.position().offset),
            _ => None,
        }
    }

    /// Where in the text the error is, in bytes from 0, also if it knows only a name: that of a table or
    /// column that is not there.
    pub fn position_in(&self, text: &str) -> Option<usize> {
        if let Some(position) = self.position() {
            return Some(position);
        }
        let (thing, name) = match self.inner().downcast_ref::<sql::Error>()? {
            sql::Error::NoSuchTable { name, .. } => (Thing::Table, name),
            sql::Error::NoSuchColumn { column, .. } | sql::Error::UnknownColumn { column, .. } => {
                (Thing::Column, column)
            }
            _ => return None,
        };
        place::find(text, self.statement(), thing, name).or_else(|| only(text, name))
    }

    /// Whether a prepared statement only has to be prepared again, because its tables changed.
    pub fn is_stale(&self) -> bool {
        let source = self.inner().downcast_ref::<sql::Error>();
        matches!(source, Some(sql::Error::Changed))
    }

    /// The table that a row was refused by.
    pub fn table(&self) -> Option<&str> {
        match self.inner().downcast_ref::<sql::Error>()? {
            sql::Error::RowExists { table, .. }
            | sql::Error::NotUnique { table, .. }
            | sql::Error::NullsThere { table, .. }
            | sql::Error::NullValue { table, .. } => Some(table),
            sql::Error::Constraint(
                ConstraintError::Unchecked { table, .. }
                | ConstraintError::RowsUnchecked { table, .. }
                | ConstraintError::NoParent { table, .. }
                | ConstraintError::StillReferenced { table, .. },
            ) => Some(table),
            _ => None,
        }
    }

    /// The column that refused NULL.
    pub fn column(&self) -> Option<&str> {
        match self.inner().downcast_ref::<sql::Error>()? {
            sql::Error::NullsThere { column, .. } | sql::Error::NullValue { column, .. } => {
                Some(column)
            }
            _ => None,
        }
    }

    /// The constraint that refused a row: a unique index, or the primary key as PostgreSQL names it.
    pub fn constraint(&self) -> Option<String> {
        match self.inner().downcast_ref::<sql::Error>()? {
            sql::Error::RowExists { table, .. } => Some(format!("{table}_pkey")),
            sql::Error::NotUnique { index, .. } => Some(index.clone()),
            sql::Error::Constraint(error) => match error {
                ConstraintError::Unchecked { check, .. }
                | ConstraintError::RowsUnchecked { check, .. } => Some(check.clone()),
                ConstraintError::NoParent { foreign_key, .. }
                | ConstraintError::StillReferenced { foreign_key, .. } => Some(foreign_key.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// More about it, in PostgreSQL's words.
    pub fn detail(&self) -> Option<&str> {
        match self.inner().downcast_ref::<sql::Error>()? {
            sql::Error::RowExists { detail, .. } | sql::Error::NotUnique { detail, .. } => {
                Some(detail)
            }
            sql::Error::Constraint(
                ConstraintError::Unchecked { detail, .. }
                | ConstraintError::NoParent { detail, .. }
                | ConstraintError::StillReferenced { detail, .. },
            ) => Some(detail),
            _ => None,
        }
    }
}

/// Where a name stands that the trees of its statement do not know, if it stands in the text once.
fn only(text: &str, name: &str) -> Option<usize> {
    let name = name.rsplit('.').next().filter(|name| !name.is_empty())?;
    let lower = text.to_ascii_lowercase();
    let within = |one: char| one.is_alphanumeric() || one == '_';
    let whole = |(at, _): &(usize, &str)| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text
            .get(at + name.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(within) && !after.is_some_and(within)
    };
    let wanted = name.to_ascii_lowercase();
    let mut found = lower.match_indices(&wanted).filter(whole);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

fn of_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Invalid => "22000",
        Kind::NotFound => "42P01",
        Kind::Exists => "42710",
        Kind::Conflict => "40001",
        Kind::Unavailable => "57P03",
        Kind::Corrupt => "XX001",
        Kind::Internal => "XX000",
    }
}

fn of_sql(error: &sql::Error) -> Option<&'static str> {
    Some(match error {
        sql::Error::NoSuchTable { .. } => "42P01",
        sql::Error::TableExists { .. } => "42P07",
        sql::Error::NoSuchColumn { .. } | sql::Error::UnknownColumn { .. } => "42703",
        sql::Error::Schema { .. } => "42P16",
        sql::Error::SplitKey { .. } => "22023",
        sql::Error::ColumnExists { .. } | sql::Error::ColumnTwice { .. } => "42701",
        sql::Error::ColumnInUse { .. } | sql::Error::SequenceInUse { .. } => "2BP01",
        sql::Error::NullsThere { .. } => "23502",
        sql::Error::NoSuchIndex { .. } | sql::Error::UnknownIndex { .. } => "42704",
        sql::Error::AmbiguousIndex { .. } => "42P09",
        sql::Error::TableOption { .. } | sql::Error::Sequence { .. } => "22023",
        sql::Error::Default { .. } => "42601",
        sql::Error::NoSuchSequence { .. } => "42P01",
        sql::Error::SequenceExists { .. } | sql::Error::IndexExists { .. } => "42P07",
        sql::Error::SequenceEnd { .. } => "2200H",
        sql::Error::Redefined => "40001",
        sql::Error::Cancelled | sql::Error::TimedOut { .. } => "57014",
        sql::Error::NotCounted { .. } => "55000",
        sql::Error::SequenceValue { .. } => "22003",
        sql::Error::ValueCount { .. } => "42601",
        sql::Error::ValueType { .. } => "42804",
        sql::Error::NullValue { .. } => "23502",
        sql::Error::TooLong { .. } => "22001",
        sql::Error::IdentityValue { .. } | sql::Error::GeneratedValue { .. } => "428C9",
        sql::Error::Generated { .. } => "42P17",
        sql::Error::RowExists { .. }
        | sql::Error::NotUnique { .. }
        | sql::Error::Duplicates { .. } => "23505",
        sql::Error::OutOfRange { .. } => "22003",
        sql::Error::CannotCast { .. } => "42846",
        sql::Error::DivisionByZero => "22012",
        sql::Error::NoSuchFunction { .. } | sql::Error::NoSuchOperator { .. } => "42883",
        sql::Error::NoSuchParameter { .. }
        | sql::Error::Undeclared { .. }
        | sql::Error::Unbound { .. } => "42P02",
        sql::Error::Name { .. } => "42601",
        sql::Error::Parameter { .. } => "22023",
        sql::Error::Unsupported { .. } | sql::Error::NeedsNewTable { .. } | sql::Error::Changed => {
            "0A000"
        }
        sql::Error::NoSuchConstraint { .. } => "42P10",
        sql::Error::CopyTooLarge { .. }
        | sql::Error::TooManyTaken { .. }
        | sql::Error::CellTooLong { .. } => "54000",
        sql::Error::Syntax(syntax::Error::TooLong { .. }) => "54000",
        sql::Error::Syntax(syntax::Error::TooDeep { .. }) => "54001",
        sql::Error::Syntax(_) => "42601",
        sql::Error::Query { .. } => "42000",
        sql::Error::OutOfMemory { .. } => "53200",
        sql::Error::Refused { fault, .. } => of_fault(*fault),
        sql::Error::Keys(error) => return of_keys(error),
        sql::Error::Item(error) => of_item(error),
        sql::Error::Constraint(error) => return of_constraint(error),
        sql::Error::Txn(error) => return of_txn(error),
        _ => return None,
    })
}

fn of_constraint(error: &ConstraintError) -> Option<&'static str> {
    Some(match error {
        ConstraintError::BadCheck { .. } => "42P17",
        ConstraintError::Unchecked { .. } | ConstraintError::RowsUnchecked { .. } => "23514",
        ConstraintError::BadForeignKey { .. } => "42830",
        ConstraintError::NoParent { .. } | ConstraintError::StillReferenced { .. } => "23503",
        ConstraintError::Referenced { .. } => "2BP01",
        ConstraintError::Exists { .. } => "42710",
        ConstraintError::Unknown { .. } | ConstraintError::NotFound { .. } => "42704",
        ConstraintError::NotDeferrable { .. } => "42809",
        _ => return None,
    })
}

fn of_storage(error: &storage::Error) -> Option<&'static str> {
    match error {
        storage::Error::DiskFull { .. } => Some("53100"),
        storage::Error::Io { .. } => Some("58030"),
        _ => None,
    }
}

fn of_txn(error: &txn::Error) -> Option<&'static str> {
    match error {
        txn::Error::Storage(error) | txn::Error::Partitions(partitions::Error::Storage(error)) => {
            of_storage(error)
        }
        txn::Error::NotWritten { cause } => of_storage(cause),
        txn::Error::Held { .. } | txn::Error::LockHeld { .. } => Some("55P03"),
        txn::Error::Deadlock { .. } => Some("40P01"),
        txn::Error::TooManyLocks { .. } => Some("53200"),
        _ => None,
    }
}

fn of_item(error: &ItemError) -> &'static str {
    match error {
        ItemError::Changing { .. } => "40001",
        ItemError::Kept { .. } => "428C9",
        ItemError::NameTaken { .. } | ItemError::Hidden { .. } => "42P07",
        ItemError::Container { .. } | ItemError::NoContainer { .. } => "42809",
        ItemError::Columns | ItemError::NoSchema { .. } => "55000",
        _ => "22023",
    }
}

fn of_fault(fault: sql::Fault) -> &'static str {
    match fault {
        sql::Fault::Ambiguous => "42702",
        sql::Fault::Grouping => "42803",
        sql::Fault::Type => "42804",
        sql::Fault::Position => "42P10",
        sql::Fault::Syntax => "42601",
        sql::Fault::Limit => "2201W",
        sql::Fault::Cardinality => "21000",
        sql::Fault::Operator => "42883",
        sql::Fault::Text => "22P02",
        sql::Fault::Feature => "0A000",
    }
}

fn of_keys(error: &keys::Error) -> Option<&'static str> {
    match error {
        keys::Error::TextInvalid { kind, text, .. } => Some(match kind {
            keys::Type::Date | keys::Type::Datetime | keys::Type::Timestamp if written(text) => {
                "22008"
            }
            keys::Type::Date
            | keys::Type::Datetime
            | keys::Type::Timestamp
            | keys::Type::Interval => "22007",
            _ => "22P02",
        }),
        keys::Error::TypeUnknown { .. } | keys::Error::TypeInvalid { .. } => Some("42704"),
        keys::Error::KeyTooLong { .. } => Some("54000"),
        _ => None,
    }
}

/// Whether a text is written as a day is, so that only the day itself does not exist.
fn written(text: &str) -> bool {
    let day = text.trim().split(['T', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = day.split('-').collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|one| one.is_ascii_digit());
    let time = text
        .bytes()
        .all(|one| one.is_ascii_digit() || b"-:. +TZ".contains(&one));
    parts.len() == 3 && parts.iter().all(digits) && time
}
