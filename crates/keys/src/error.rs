//! Everything that can be wrong with a type name, a value, a key, a path, a row, an item or a digest
//! call.

use crate::types::Type;

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What was wrong, in words that name the thing and the limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A type name that is neither YQL's nor PostgreSQL's.
    #[error("unknown type `{name}`")]
    TypeUnknown {
        /// The name as written.
        name: String,
    },
    /// A known type with parameters it cannot have.
    #[error("type `{name}`: {reason}")]
    TypeInvalid {
        /// The type as written.
        name: String,
        /// What is wrong with its parameters.
        reason: &'static str,
    },
    /// Text that does not denote a value of the wanted type.
    #[error("`{text}` is no value of type {kind}: {reason}")]
    TextInvalid {
        /// The type that was wanted.
        kind: Type,
        /// The text as given, cut when it is long.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A value of a type that no key column can have.
    #[error("type {kind} cannot be part of a key: choose an integer, text, date or UUID column")]
    KeyTypeRefused {
        /// The refused type.
        kind: Type,
    },
    /// A key above the hard limit.
    #[error("key of {bytes} bytes is above the limit of {limit} bytes")]
    KeyTooLong {
        /// Bytes of the encoded key.
        bytes: usize,
        /// The limit it breaks.
        limit: usize,
    },
    /// A key with more columns than a table may have in its key.
    #[error("key of {columns} columns is above the limit of {limit} columns")]
    KeyColumnsTooMany {
        /// Columns in the key.
        columns: usize,
        /// The limit it breaks.
        limit: usize,
    },
    /// Bytes that no key encodes to.
    #[error("undecodable key at byte {offset}: {reason}")]
    KeyUndecodable {
        /// Where the column that cannot be read begins.
        offset: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A key path that does not parse.
    #[error("key path `{path}`: {reason}")]
    PathInvalid {
        /// The path as written.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A row with more columns than a table may have.
    #[error("row of {columns} columns is above the limit of {limit} columns")]
    RowColumnsTooMany {
        /// Columns in the row.
        columns: usize,
        /// The limit it breaks.
        limit: usize,
    },
    /// One value of a row above the hard limit.
    #[error("column {column} of the row has {bytes} bytes, above the limit of {limit} bytes")]
    CellTooLong {
        /// Which column of the row, counted from zero.
        column: usize,
        /// Bytes of the value.
        bytes: usize,
        /// The limit it breaks.
        limit: usize,
    },
    /// A row written in a format that this version does not know.
    #[error("row format {found} is not known, only format {known} is")]
    RowVersionUnknown {
        /// The version found.
        found: u8,
        /// The version that is understood.
        known: u8,
    },
    /// Bytes that no row encodes to.
    #[error("undecodable row: {reason}")]
    RowUndecodable {
        /// What is wrong with them.
        reason: &'static str,
    },
    /// One value of a row that is not of the column's type.
    #[error("undecodable value of {bytes} bytes for type {kind}: {reason}")]
    CellUndecodable {
        /// The type of the column.
        kind: Type,
        /// Bytes of the value.
        bytes: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Text that is no number of an attribute.
    #[error("`{text}` is no number: write an integer, a decimal number, inf or nan")]
    NumberInvalid {
        /// The text as given, cut when it is long.
        text: String,
    },
    /// A number that no double comes near.
    #[error(
        "`{text}` is beyond the doubles, which end at 1.7976931348623157e308: write inf if infinity is meant"
    )]
    NumberTooLarge {
        /// The text as given, cut when it is long.
        text: String,
    },
    /// Text that is no time of an attribute.
    #[error("`{text}` is no time: {reason}")]
    TimeInvalid {
        /// The text as given, cut when it is long.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Bytes that are no array.
    #[error("no array of numbers: {reason}")]
    ArrayInvalid {
        /// What is wrong with them.
        reason: &'static str,
    },
    /// A name that no attribute can have.
    #[error("attribute name `{name}`: {reason}")]
    AttributeNameInvalid {
        /// The name, cut when it is long.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A name that no item can have.
    #[error("item name `{name}`: {reason}")]
    ItemNameInvalid {
        /// The name, cut when it is long.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// One attribute above the limit of its kind.
    #[error("attribute `{name}` is {kind} of {bytes} bytes, above the limit of {limit} bytes")]
    AttributeTooLong {
        /// The attribute.
        name: String,
        /// What it is.
        kind: &'static str,
        /// Bytes of its value.
        bytes: usize,
        /// The limit it breaks.
        limit: usize,
    },
    /// The attributes of an item above the limit of all together.
    #[error("item of {bytes} bytes is above the limit of {limit} bytes")]
    ItemTooLong {
        /// Bytes of all names and values.
        bytes: usize,
        /// The limit they break.
        limit: usize,
    },
    /// An item with more attributes than one may have.
    #[error("item of {attributes} attributes is above the limit of {limit} attributes")]
    ItemAttributesTooMany {
        /// Attributes of the item.
        attributes: usize,
        /// The limit it breaks.
        limit: usize,
    },
    /// An item written in a format that this version does not know.
    #[error("item format {found} is not known, only format {known} is")]
    ItemVersionUnknown {
        /// The version found.
        found: u8,
        /// The version that is understood.
        known: u8,
    },
    /// Bytes that no item encodes to.
    #[error("undecodable item: {reason}")]
    ItemUndecodable {
        /// What is wrong with them.
        reason: &'static str,
    },
    /// A digest function that does not exist.
    #[error("unknown function `{name}`: no such digest")]
    DigestUnknown {
        /// The name as written.
        name: String,
    },
    /// A digest function called with too few or too many arguments.
    #[error("Digest::{name} takes {least} to {most} arguments and was given {found}")]
    DigestArgumentCount {
        /// The function.
        name: &'static str,
        /// Arguments given.
        found: usize,
        /// Arguments it needs.
        least: usize,
        /// Arguments it can take.
        most: usize,
    },
    /// A digest function called with a value it cannot take.
    #[error("Digest::{name}, argument {position}: {reason}")]
    DigestArgument {
        /// The function.
        name: &'static str,
        /// Which argument, counted from one.
        position: usize,
        /// What is wanted.
        reason: &'static str,
    },
}
