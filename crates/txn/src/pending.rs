//! What a group has changed so far: what its later members are checked against, and see.
//!
//! It is empty when a group begins. Its memory stays from group to group, because groups come many
//! thousand times a second.

use hashbrown::HashMap;
use partitions::TableId;
use storage::Bytes;

use crate::Timestamp;
use crate::recent::{RECENT_KEYS_MAX, Recent};
use crate::version::Version;

/// A group with more changes than this leaves no memory behind.
const KEPT_CHANGES_MAX: usize = 4096;

/// The changes of a group.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The keys that it changed.
    pub(crate) recent: Recent,
    /// Versions that are in its batches and not in the engines yet.
    pub(crate) newest: HashMap<(TableId, Bytes), Version>,
    /// All of its changes, in the order of their timestamps.
    pub(crate) changed: Vec<(TableId, Bytes, Timestamp)>,
}

impl Default for Pending {
    fn default() -> Self {
        Self {
            recent: Recent::new(RECENT_KEYS_MAX),
            newest: HashMap::new(),
            changed: Vec::new(),
        }
    }
}

impl Pending {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        if self.changed.capacity() > KEPT_CHANGES_MAX {
            *self = Self::default();
            return;
        }
        self.recent.clear();
        self.newest.clear();
        self.changed.clear();
    }
}
