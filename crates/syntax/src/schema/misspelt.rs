//! Words at a column, a constraint or a change that somebody most likely misspelt.
//!
//! Five databases have more words than anyone lists, so what is not known is passed over. But a word
//! that is a letter or two away from one that matters (`id bigint PRIMRY KEY`) would be passed over as
//! well, and the key with it. Only such words are errors.

use sqlparser::tokenizer::Token;

use super::cursor::Cursor;
use super::words::nearest;
use crate::error::Result;

/// Words of columns and constraints that say something about a key.
const THAT_MATTER: &[&str] = &[
    "auto_increment",
    "auto_random",
    "check",
    "constraint",
    "default",
    "foreign",
    "generated",
    "identity",
    "null",
    "primary",
    "references",
    "unique",
];

/// Words that look like one of them and are none.
const ALIKE: &[&str] = &["full", "nulls", "uniques", "defaults"];

/// Words that a change of ALTER TABLE begins with, in any dialect.
const CHANGES: &[&str] = &[
    "add",
    "algorithm",
    "all",
    "alter",
    "analyze",
    "attach",
    "attributes",
    "cache",
    "change",
    "character",
    "check",
    "cluster",
    "coalesce",
    "comment",
    "compact",
    "configure",
    "convert",
    "default",
    "detach",
    "disable",
    "discard",
    "drop",
    "enable",
    "exchange",
    "experimental_audit",
    "experimental_relocate",
    "first",
    "force",
    "import",
    "in",
    "inherit",
    "inject",
    "last",
    "lock",
    "merge",
    "modify",
    "no",
    "nocache",
    "not",
    "of",
    "optimize",
    "order",
    "owner",
    "partition",
    "placement",
    "rebuild",
    "relocate",
    "remove",
    "rename",
    "reorganize",
    "repair",
    "replica",
    "reset",
    "scatter",
    "secondary_load",
    "secondary_unload",
    "set",
    "split",
    "truncate",
    "unsplit",
    "upgrade",
    "validate",
    "with",
    "without",
];

/// An error if the next word is likely one that matters, misspelt.
pub(super) fn check(cursor: &Cursor<'_>) -> Result<()> {
    let Some(word) = cursor.word(0) else {
        return Ok(());
    };
    let known = THAT_MATTER.contains(&word.as_str()) || ALIKE.contains(&word.as_str());
    match nearest(&word, THAT_MATTER) {
        Some(meant) if !known => Err(cursor.unexpected(&meant.to_ascii_uppercase())),
        _ => Ok(()),
    }
}

/// An error unless a change begins here. MySQL's options are changes too: `ENGINE = InnoDB`.
pub(super) fn check_change(cursor: &Cursor<'_>) -> Result<()> {
    let option = cursor
        .peek(1)
        .is_some_and(|next| matches!(next.token, Token::Eq | Token::Number(..)));
    match cursor.word(0) {
        Some(word) if CHANGES.contains(&word.as_str()) || option => Ok(()),
        Some(word) => {
            let meant = nearest(&word, CHANGES).map(str::to_uppercase);
            let meant = meant.unwrap_or_else(|| "a change, such as ADD or ALTER".to_owned());
            Err(cursor.unexpected(&meant))
        }
        // The table may be followed by a star, for those that inherit from it.
        None if cursor.is_token(&Token::Mul) => Ok(()),
        None => Err(cursor.unexpected("a change, such as ADD or ALTER")),
    }
}
