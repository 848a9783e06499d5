//! What a transaction writes, and what that makes of rows.
//!
//! ```text
//!                  on nothing     on v1#3
//!   Put v2#0       v2#0           v2#0
//!   Delete         nothing        nothing
//!   Ensure v2#0    v2#0           v1#3            patches: applied when the commit has its turn,
//!   Raise 7        nothing        v1#7            to whatever is there then
//!   Raise 2        nothing        v1#4
//! ```

use std::collections::BTreeMap;
use std::fmt;

use crate::model::Spot;

/// A row without its key: a text of its own, and a number that patches raise.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Cells {
    pub(crate) text: String,
    pub(crate) number: i64,
}

impl fmt::Debug for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.text, self.number)
    }
}

/// What lies in a place: a row, or nothing.
pub(crate) type Row = Option<Cells>;

/// What a transaction wrote, by place.
pub(crate) type Writes = BTreeMap<Spot, Edit>;

/// A write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    Put(Cells),
    Delete,
    /// Patches in the order they came.
    Patch(Vec<Patch>),
}

/// A write that reads nothing and depends on what is there when it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Patch {
    /// A row unless there is one.
    Ensure(Cells),
    /// The row's number, if there is a row, becomes this or one more than it was.
    Raise(i64),
}

impl Edit {
    /// The write that leaves a row, or nothing.
    pub(crate) fn whole(row: Row) -> Self {
        row.map_or(Self::Delete, Self::Put)
    }

    /// Whether what was there before does not matter.
    pub(crate) fn is_whole(&self) -> bool {
        !matches!(self, Self::Patch(_))
    }

    /// What it makes of a row.
    pub(crate) fn apply(&self, under: Row) -> Row {
        match self {
            Self::Put(cells) => Some(cells.clone()),
            Self::Delete => None,
            Self::Patch(patches) => patches.iter().fold(under, |row, patch| patch.apply(row)),
        }
    }
}

impl Patch {
    fn apply(&self, under: Row) -> Row {
        match (self, under) {
            (Self::Ensure(cells), None) => Some(cells.clone()),
            (Self::Ensure(_), there) => there,
            (Self::Raise(_), None) => None,
            (Self::Raise(number), Some(mut cells)) => {
                cells.number = (*number).max(cells.number.saturating_add(1));
                Some(cells)
            }
        }
    }
}

/// Adds a patch to what a transaction wrote in a place.
pub(crate) fn add_patch(writes: &mut Writes, spot: Spot, patch: Patch) {
    let edit = match writes.remove(&spot) {
        None => Edit::Patch(vec![patch]),
        Some(Edit::Patch(mut patches)) => {
            patches.push(patch);
            Edit::Patch(patches)
        }
        Some(whole) => Edit::whole(patch.apply(whole.apply(None))),
    };
    writes.insert(spot, edit);
}

/// What writes of one place leave there; the newest comes first.
pub(crate) fn evaluate<'e>(newest_first: impl Iterator<Item = &'e Edit>) -> Row {
    let mut edits = Vec::new();
    for edit in newest_first {
        edits.push(edit);
        if edit.is_whole() {
            break;
        }
    }
    let oldest_first = edits.into_iter().rev();
    oldest_first.fold(None, |row, edit| edit.apply(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str, number: i64) -> Cells {
        let text = text.to_owned();
        Cells { text, number }
    }

    #[test]
    fn patches_depend_on_what_is_there() {
        let patches = |patches: &[Patch]| Edit::Patch(patches.to_vec());
        let raise = patches(&[Patch::Raise(7), Patch::Raise(2)]);
        assert_eq!(raise.apply(None), None);
        assert_eq!(raise.apply(Some(cells("a", 3))), Some(cells("a", 8)));
        let ensure = patches(&[Patch::Ensure(cells("b", 0)), Patch::Raise(1)]);
        assert_eq!(ensure.apply(None), Some(cells("b", 1)));
        let put = Edit::Put(cells("a", 3));
        let row = evaluate([&raise, &ensure, &put, &Edit::Delete].into_iter());
        assert_eq!(row, Some(cells("a", 8)));
    }

    #[test]
    fn a_patch_of_an_own_row_makes_another() {
        let spot = (0, 1);
        let mut writes = Writes::from([(spot, Edit::Delete)]);
        add_patch(&mut writes, spot, Patch::Ensure(cells("b", 0)));
        add_patch(&mut writes, spot, Patch::Raise(5));
        assert_eq!(writes.get(&spot), Some(&Edit::Put(cells("b", 5))));
    }
}
