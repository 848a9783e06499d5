//! Patches: writes that change part of a row and read nothing.
//!
//! ```text
//!   transaction          patch "b=2" for /k                                 nothing is read
//!   commit, its turn     /k is (a=1, b=1) @7   ─► apply ─►   (a=1, b=2) @9
//! ```
//!
//! A patch waits in the transaction until the commit has its place among the others. There it meets
//! the newest version of the row, which the commit looks up in any case to keep history and counters,
//! and the two become the row that is written. Because nothing was read at the snapshot, nothing that
//! changed since can conflict: of two transactions that patch different columns of one row, both
//! stay. A transaction that reads a row it has patched reads what lies under its patches, and from
//! then on may conflict like any reader.
//!
//! What a patch means is known to the layer above, which hands in a [`Patching`].

use std::fmt;

use partitions::TableId;
use storage::Bytes;

use crate::writes::Edit;
use crate::{Error, Result};

/// Makes a row out of a row and a patch. The same for the same arguments, and quick: commits wait.
pub trait Patching: Send + Sync + fmt::Debug {
    /// What `patch` makes of `row`, or of nothing: a row, or nothing. An error is what to tell whoever
    /// commits.
    fn apply(
        &self,
        table: TableId,
        row: Option<&[u8]>,
        patch: &[u8],
    ) -> std::result::Result<Option<Bytes>, String>;
}

/// Knows of no patches.
#[derive(Debug)]
pub(crate) struct NoPatching;

impl Patching for NoPatching {
    fn apply(
        &self,
        _: TableId,
        _: Option<&[u8]>,
        _: &[u8],
    ) -> std::result::Result<Option<Bytes>, String> {
        Err("this store was opened without a way to apply patches".to_owned())
    }
}

/// What an edit makes of a row; `under` is asked for the row only if that matters.
pub(crate) fn edited(
    patching: &dyn Patching,
    table: TableId,
    key: &[u8],
    edit: Edit,
    under: impl FnOnce() -> Result<Option<Bytes>>,
) -> Result<Option<Bytes>> {
    let patches = match edit {
        Edit::Put(row) => return Ok(Some(row)),
        Edit::Delete => return Ok(None),
        Edit::Patch(patches) => patches,
    };
    let mut row = under()?;
    for patch in patches {
        let patched = patching.apply(table, row.as_deref(), &patch);
        row = patched.map_err(|cause| Error::NotPatched {
            table,
            key: Bytes::copy_from_slice(key),
            cause,
        })?;
    }
    Ok(row)
}
