//! The parts of a schema: columns, the slots of stored rows, indexes, owned sequences.

use keys::{Declared, Type, Value};
use txn::TableId;

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, unique in the table.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// What PostgreSQL calls its type, if that is not the usual name for it.
    pub declared: Declared,
    /// Whether NULL is refused.
    pub not_null: bool,
    /// What it has in rows that do not say: an expression, as SQL.
    pub default: Option<String>,
    /// Whether it was declared to count by itself, and who may give it another value. The sequence is
    /// its default.
    pub identity: Option<Identity>,
    /// What it is worked out from, if it is: an expression over other columns, as SQL.
    pub generated: Option<String>,
    /// What older rows may still have been worked out from, until all of them are moved.
    pub former: Option<String>,
    /// Whether `*` leaves it out, and INSERT without a list of columns too.
    pub hidden: bool,
}

impl Column {
    /// A column that may be NULL.
    pub fn new(name: impl Into<String>, kind: Type) -> Self {
        Self {
            name: name.into(),
            kind,
            declared: Declared::Usual,
            not_null: false,
            default: None,
            identity: None,
            generated: None,
            former: None,
            hidden: false,
        }
    }

    /// The same column, refusing NULL.
    #[must_use]
    pub fn not_null(mut self) -> Self {
        self.not_null = true;
        self
    }

    /// The same column, declared so.
    #[must_use]
    pub fn declared(mut self, declared: Declared) -> Self {
        self.declared = declared;
        self
    }

    /// Its type for people, as it was declared.
    pub fn type_name(&self) -> String {
        match self.declared {
            Declared::Usual => self.kind.to_string(),
            declared => declared.to_string(),
        }
    }

    /// The same column with a default.
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }

    /// The same column, worked out from others by this expression.
    #[must_use]
    pub fn generated(mut self, expression: impl Into<String>) -> Self {
        self.generated = Some(expression.into());
        self
    }

    /// The same column, hidden.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }
}

/// GENERATED … AS IDENTITY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A value that a statement gives is refused.
    Always,
    /// A value that a statement gives is taken.
    ByDefault,
}

/// One place of a stored row. A column outside of the key has one for as long as the table lives,
/// also after it was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The position of its column; none if that was dropped.
    pub(crate) column: Option<usize>,
    /// The type of what lies there.
    pub(crate) kind: Type,
    /// What rows have there that are older than the column.
    pub(crate) missing: Value,
}

/// A secondary index. Its entries lie in a table of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name, unique in the table.
    pub name: String,
    /// The table of its entries.
    pub id: TableId,
    /// Whether two rows may not share its columns.
    pub unique: bool,
    /// Positions of its columns, in order.
    pub columns: Vec<usize>,
    /// Positions of the columns it holds besides its own and the key's.
    pub cover: Vec<usize>,
    /// Whether it holds an entry for every row, so that it can be read.
    pub ready: bool,
}

/// A sequence that goes with a column: it is dropped with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) sequence: TableId,
    pub(crate) column: usize,
}
