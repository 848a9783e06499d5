//! What rows must keep besides their types: CHECK and FOREIGN KEY.

use txn::TableId;

/// How many CHECKs a table may have, and how many foreign keys.
pub const CONSTRAINTS_MAX: usize = 64;

/// A condition on each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name, unique among the constraints of the table.
    pub name: String,
    /// What may not be false, as SQL over columns of the table.
    pub text: String,
}

/// Columns whose values stand in another table, its *parent*, unless one of them is NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Its name, unique among the constraints of the table.
    pub name: String,
    /// Positions of its columns, in the order of what they refer to.
    pub columns: Vec<usize>,
    /// The parent; none is the table itself.
    pub parent: Option<TableId>,
    /// What it refers to there.
    pub target: Target,
    /// What becomes of a row whose parent is deleted.
    pub on_delete: Action,
    /// What becomes of a row whose parent gets other values.
    pub on_update: Action,
    /// When it is checked.
    pub checked: Checked,
}

/// What a foreign key refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The primary key.
    Key,
    /// The columns of a unique index.
    Index(TableId),
}

/// What becomes of rows whose parent goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The statement is refused if they are still there at its end.
    NoAction,
    /// The statement is refused.
    Restrict,
    /// They go too, or follow.
    Cascade,
    /// They refer to nothing.
    SetNull,
    /// They refer to what their defaults say.
    SetDefault,
}

/// When a foreign key is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// At the end of each statement.
    Always,
    /// So too, unless SET CONSTRAINTS says otherwise.
    Immediate,
    /// At the end of the transaction, unless SET CONSTRAINTS says otherwise.
    Deferred,
}

impl Action {
    /// In the words of SQL.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoAction => "NO ACTION",
            Self::Restrict => "RESTRICT",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
            Self::SetDefault => "SET DEFAULT",
        }
    }

    /// PostgreSQL's letter, which is also what is kept.
    pub(crate) fn letter(self) -> u8 {
        match self {
            Self::NoAction => b'a',
            Self::Restrict => b'r',
            Self::Cascade => b'c',
            Self::SetNull => b'n',
            Self::SetDefault => b'd',
        }
    }

    pub(crate) fn of_letter(letter: u8) -> Option<Self> {
        let all = [
            Self::NoAction,
            Self::Restrict,
            Self::Cascade,
            Self::SetNull,
            Self::SetDefault,
        ];
        all.into_iter().find(|one| one.letter() == letter)
    }
}

impl Checked {
    /// In the words of SQL, after the rest of the constraint.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Always => "",
            Self::Immediate => " DEFERRABLE",
            Self::Deferred => " DEFERRABLE INITIALLY DEFERRED",
        }
    }

    /// What is kept.
    pub(crate) fn letter(self) -> u8 {
        match self {
            Self::Always => b'a',
            Self::Immediate => b'i',
            Self::Deferred => b'd',
        }
    }

    pub(crate) fn of_letter(letter: u8) -> Option<Self> {
        let all = [Self::Always, Self::Immediate, Self::Deferred];
        all.into_iter().find(|one| one.letter() == letter)
    }
}
