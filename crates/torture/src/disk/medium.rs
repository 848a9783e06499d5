//! The directory as the log leaves it: what the system shows, and what of it is on the medium.
//!
//! ```text
//!   file     durable ── pending writes and lengths ──► live        a sync empties what is pending
//!   folder   durable ── pending changes of names   ──► live        a sync of the folder does
//! ```
//!
//! **What a sync of a name makes durable.** POSIX promises nothing but what is synced itself: a file's
//! bytes, a folder's names. All file systems of Linux keep more, or a synced file could not be found:
//!
//! ```text
//!   any of them       the folders on the way to what is synced, and its own name (ext4, xfs, btrfs, f2fs)
//!   with a journal    every change of names before the last one that has to do with what is synced;
//!                     before the sync itself, if a file was synced whose length had changed
//! ```
//!
//! A sync that fails leaves the pages clean that could not be written, as Linux does: they stay
//! *doubtful*, on the medium or not, until they are written anew, and no later sync helps them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::content::{Content, PAGE_BYTES, Page};
use super::log::{Kind, Record};

/// A change of a file's bytes.
#[derive(Clone, Debug)]
pub enum Edit {
    /// Bytes at an offset.
    Write(u64, Arc<[u8]>),
    /// Zeros from an offset on.
    Zeros(u64, u64),
    /// A new length.
    Resize(u64),
}

impl Edit {
    /// Does it to a file.
    pub fn apply(&self, content: &mut Content) {
        match self {
            Self::Write(offset, bytes) => content.write(*offset, bytes),
            Self::Zeros(offset, length) => content.write_zeros(*offset, *length),
            Self::Resize(length) => content.resize(*length),
        }
    }

    /// The pages that it makes dirty, the last one not included.
    fn pages(&self) -> std::ops::Range<u64> {
        let (from, length) = match self {
            Self::Write(offset, bytes) => (*offset, super::content::size(bytes)),
            Self::Zeros(offset, length) => (*offset, *length),
            Self::Resize(_) => (0, 0),
        };
        from / PAGE_BYTES..(from + length).div_ceil(PAGE_BYTES)
    }
}

/// A file or folder, whatever its names are.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// What the system shows.
    pub live: Content,
    /// What was synced.
    pub durable: Content,
    /// What was changed since.
    pub pending: Vec<Edit>,
    /// Pages that a failed sync left behind: on the medium like this, or as they were.
    pub doubtful: BTreeMap<u64, Option<Page>>,
    /// The names in a folder that the system shows.
    pub names: BTreeMap<String, usize>,
    /// The names that were synced.
    pub durable_names: BTreeMap<String, usize>,
}

/// A change of names that happens as a whole: one of a new file, two of a rename.
#[derive(Clone, Debug)]
pub struct Renaming {
    /// In which folder which name stands for what from now on.
    pub changes: Vec<(usize, String, Option<usize>)>,
    /// What it is about.
    pub node: usize,
    /// Whether a file system with a journal has it on the medium.
    pub journaled: bool,
}

impl Renaming {
    fn new(node: usize, changes: Vec<(usize, String, Option<usize>)>) -> Self {
        Self {
            changes,
            node,
            journaled: false,
        }
    }

    fn touches(&self, folder: usize) -> bool {
        self.changes.iter().any(|(one, _, _)| *one == folder)
    }

    /// Whether it cannot be there without `earlier`.
    pub fn needs(&self, earlier: &Self) -> bool {
        self.node == earlier.node
            || self.changes.iter().any(|(folder, name, _)| {
                let mut others = earlier.changes.iter();
                others.any(|(other, same, _)| other == folder && same == name)
            })
    }
}

/// The directory at one instant.
#[derive(Clone, Debug)]
pub struct Medium {
    nodes: Vec<Node>,
    by_ino: HashMap<u64, usize>,
    /// Changes of names that were not synced, in order.
    pub renamings: Vec<Renaming>,
}

/// The directory itself.
pub const ROOT: usize = 0;

impl Medium {
    /// An empty directory.
    pub fn new() -> Self {
        let root = Node {
            is_folder: true,
            ..Node::default()
        };
        Self {
            nodes: vec![root],
            by_ino: HashMap::new(),
            renamings: Vec::new(),
        }
    }

    /// A file or folder.
    pub fn node(&self, number: usize) -> Option<&Node> {
        self.nodes.get(number)
    }

    fn node_mut(&mut self, number: usize) -> Option<&mut Node> {
        self.nodes.get_mut(number)
    }

    /// Puts a file or folder there, with all that leads to it, durably.
    pub fn place(&mut self, path: &str, content: Option<Content>) {
        let mut folder = ROOT;
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let is_file = names.peek().is_none() && content.is_some();
            let known = self.node(folder).and_then(|node| node.names.get(name));
            let next = match known {
                Some(known) => *known,
                None => self.add(!is_file),
            };
            if let Some(node) = self.node_mut(folder) {
                node.names.insert(name.to_owned(), next);
                node.durable_names.insert(name.to_owned(), next);
            }
            folder = next;
        }
        if let (Some(content), Some(node)) = (content, self.node_mut(folder)) {
            node.live = content.clone();
            node.durable = content;
        }
    }

    fn add(&mut self, is_folder: bool) -> usize {
        self.nodes.push(Node {
            is_folder,
            ..Node::default()
        });
        self.nodes.len() - 1
    }

    /// The folder that holds a path, and the name in it.
    fn parent<'a>(&self, path: &'a str) -> Option<(usize, &'a str)> {
        match path.rsplit_once('/') {
            Some((folder, name)) => Some((self.find(folder)?, name)),
            None => Some((ROOT, path)),
        }
    }

    /// What the system shows at a path.
    pub fn find(&self, path: &str) -> Option<usize> {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.into_iter().try_fold(ROOT, |folder, name| {
            self.node(folder)?.names.get(name).copied()
        })
    }

    /// Where the system shows a file.
    pub fn path_of(&self, ino: u64) -> Option<String> {
        let wanted = *self.by_ino.get(&ino)?;
        let mut folders = vec![(ROOT, String::new())];
        while let Some((folder, path)) = folders.pop() {
            for (name, number) in &self.node(folder)?.names {
                let path = format!("{path}/{name}");
                if *number == wanted {
                    return path.get(1..).map(str::to_owned);
                }
                if self.node(*number).is_some_and(|node| node.is_folder) {
                    folders.push((*number, path));
                }
            }
        }
        None
    }

    /// Does what a call did.
    pub fn replay(&mut self, record: &Record) {
        if record.error != 0 {
            if record.kind == Kind::Sync {
                self.sync_failed(record.ino);
            }
            return;
        }
        match record.kind {
            Kind::Open => self.open(record),
            Kind::Write if record.is_elided() => {
                self.edit(record.ino, Edit::Resize(record.offset + record.length));
            }
            Kind::Write if record.is_zeros() => {
                self.edit(record.ino, Edit::Zeros(record.offset, record.length));
            }
            Kind::Write => {
                let data = Arc::clone(&record.data);
                self.edit(record.ino, Edit::Write(record.offset, data));
            }
            Kind::Truncate => self.edit(record.ino, Edit::Resize(record.length)),
            Kind::Allocate => self.allocate(record),
            Kind::Sync => self.sync(record.ino),
            Kind::MakeFolder => {
                let node = self.add(true);
                self.by_ino.insert(record.ino, node);
                self.link(&record.path, node);
            }
            Kind::Rename => self.rename(&record.path, &record.path2),
            Kind::Link => {
                if let Some(node) = self.find(&record.path) {
                    self.link(&record.path2, node);
                }
            }
            Kind::Unlink | Kind::RemoveFolder => self.unlink(&record.path),
            Kind::Mark | Kind::Read => {}
        }
    }

    fn open(&mut self, record: &Record) {
        if record.created() {
            let node = self.add(false);
            self.by_ino.insert(record.ino, node);
            self.link(&record.path, node);
            return;
        }
        if let Some(node) = self.find(&record.path) {
            self.by_ino.insert(record.ino, node);
        }
        if record.emptied() {
            self.edit(record.ino, Edit::Resize(0));
        }
    }

    fn edit(&mut self, ino: u64, edit: Edit) {
        let Some(node) = self
            .by_ino
            .get(&ino)
            .and_then(|node| self.nodes.get_mut(*node))
        else {
            return;
        };
        edit.apply(&mut node.live);
        node.pending.push(edit);
    }

    fn allocate(&mut self, record: &Record) {
        let end = record.offset + record.length;
        let node = self
            .by_ino
            .get(&record.ino)
            .and_then(|node| self.node(*node));
        if node.is_some_and(|node| node.live.length < end) {
            self.edit(record.ino, Edit::Resize(end));
        }
    }

    fn sync(&mut self, ino: u64) {
        let Some(number) = self.by_ino.get(&ino).copied() else {
            return;
        };
        let Some(node) = self.nodes.get_mut(number) else {
            return;
        };
        let longer = !node.is_folder && node.live.length != node.durable.length;
        let before = std::mem::replace(&mut node.durable, node.live.clone());
        for edit in node.pending.drain(..) {
            for page in edit.pages() {
                node.doubtful.remove(&page);
            }
        }
        for page in node.doubtful.keys() {
            node.durable.set_page(*page, before.page(*page).cloned());
        }
        let concerns = |one: &Renaming| longer || one.node == number || one.touches(number);
        if let Some(last) = self.renamings.iter().rposition(concerns) {
            let earlier = self.renamings.iter_mut().take(last + 1);
            earlier.for_each(|renaming| renaming.journaled = true);
        }
        self.sync_names(number);
    }

    fn sync_failed(&mut self, ino: u64) {
        let node = self.by_ino.get(&ino).copied();
        let Some(node) = node.and_then(|node| self.nodes.get_mut(node)) else {
            return;
        };
        let edits = std::mem::take(&mut node.pending);
        for page in edits.iter().flat_map(Edit::pages) {
            let page_now = node.live.page(page).cloned();
            node.doubtful.insert(page, page_now);
        }
        // The length is kept for the next sync.
        let resizes = edits
            .into_iter()
            .filter(|edit| matches!(edit, Edit::Resize(_)));
        node.pending = resizes.collect();
        node.pending.push(Edit::Resize(node.live.length));
    }

    /// Makes names durable: those in a folder, those that lead to what is synced, and what they need.
    fn sync_names(&mut self, synced: usize) {
        let mut way = vec![synced];
        let mut there = vec![false; self.renamings.len()];
        for place in (0..there.len()).rev() {
            let Some(renaming) = self.renamings.get(place) else {
                continue;
            };
            let leads = way.contains(&renaming.node)
                && renaming.changes.iter().any(|(_, _, node)| node.is_some());
            if leads {
                way.extend(renaming.changes.iter().map(|(folder, _, _)| *folder));
            }
            let mut later = self.renamings.iter().zip(&there).skip(place + 1);
            let needed = later.any(|(later, there)| *there && later.needs(renaming));
            if let Some(flag) = there.get_mut(place) {
                *flag = needed || leads || renaming.touches(synced);
            }
        }
        let renamings = std::mem::take(&mut self.renamings);
        for (renaming, there) in renamings.into_iter().zip(there) {
            if there {
                self.make_durable(&renaming);
            } else {
                self.renamings.push(renaming);
            }
        }
    }

    /// Puts a change of names on the medium.
    pub fn make_durable(&mut self, renaming: &Renaming) {
        for (folder, name, node) in &renaming.changes {
            if let Some(folder) = self.node_mut(*folder) {
                match node {
                    Some(node) => folder.durable_names.insert(name.clone(), *node),
                    None => folder.durable_names.remove(name),
                };
            }
        }
    }

    fn link(&mut self, path: &str, node: usize) {
        let Some((folder, name)) = self.parent(path) else {
            return;
        };
        let changes = vec![(folder, name.to_owned(), Some(node))];
        self.rename_as(Renaming::new(node, changes));
    }

    fn unlink(&mut self, path: &str) {
        let (Some((folder, name)), Some(node)) = (self.parent(path), self.find(path)) else {
            return;
        };
        let changes = vec![(folder, name.to_owned(), None)];
        self.rename_as(Renaming::new(node, changes));
    }

    fn rename(&mut self, from: &str, to: &str) {
        let (Some(old), Some(new), Some(node)) =
            (self.parent(from), self.parent(to), self.find(from))
        else {
            return;
        };
        let changes = vec![
            (old.0, old.1.to_owned(), None),
            (new.0, new.1.to_owned(), Some(node)),
        ];
        self.rename_as(Renaming::new(node, changes));
    }

    fn rename_as(&mut self, renaming: Renaming) {
        for (folder, name, node) in &renaming.changes {
            if let Some(folder) = self.node_mut(*folder) {
                match node {
                    Some(node) => folder.names.insert(name.clone(), *node),
                    None => folder.names.remove(name),
                };
            }
        }
        self.renamings.push(renaming);
    }
}

impl Default for Medium {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use storage::env::SeededRandom;

    use super::*;
    use crate::disk::crash::{Loss, crash};

    fn record(kind: Kind, path: &str, ino: u64) -> Record {
        Record {
            kind,
            flags: 0,
            error: 0,
            ino,
            offset: 0,
            length: 0,
            site: 1,
            path: path.to_owned(),
            path2: String::new(),
            data: Arc::from([]),
        }
    }

    fn create(path: &str, ino: u64) -> Record {
        Record {
            flags: 1,
            ..record(Kind::Open, path, ino)
        }
    }

    fn write(ino: u64, offset: u64, byte: u8) -> Record {
        Record {
            offset,
            length: PAGE_BYTES,
            data: vec![byte; 4_096].into(),
            ..record(Kind::Write, "", ino)
        }
    }

    fn sync(ino: u64) -> Record {
        record(Kind::Sync, "", ino)
    }

    fn failed(record: Record) -> Record {
        Record { error: 5, ..record }
    }

    /// The first bytes of the pages of a file in many crash states.
    fn survivors(records: &[Record], path: &str) -> Vec<Option<Vec<u8>>> {
        let mut medium = Medium::new();
        for record in records {
            medium.replay(record);
        }
        let mut states: Vec<_> = (0..400)
            .map(|seed| {
                let tree = crash(&medium, Loss::Loose, &SeededRandom::new(seed));
                let content = tree.entries.get(path)?.clone()?;
                let pages = content.length.div_ceil(PAGE_BYTES);
                Some(
                    (0..pages)
                        .map(|page| content.byte(page * PAGE_BYTES))
                        .collect(),
                )
            })
            .collect();
        states.sort();
        states.dedup();
        states
    }

    #[test]
    fn what_is_synced_is_there() {
        let records = [create("a", 2), write(2, 0, 7), sync(2), write(2, 4_096, 8)];
        let states = survivors(&records, "a");
        let first = |state: &Option<Vec<u8>>| state.as_ref().is_some_and(|pages| pages[0] == 7);
        assert!(states.iter().all(first), "{states:?}");
        assert!(states.contains(&Some(vec![7])));
        assert!(states.contains(&Some(vec![7, 8])));
        assert!(states.contains(&Some(vec![7, 0])));
    }

    #[test]
    fn a_later_page_may_be_there_without_an_earlier_one() {
        let records = [create("a", 2), sync(2), write(2, 0, 7), write(2, 4_096, 8)];
        let states = survivors(&records, "a");
        for state in [vec![], vec![7], vec![7, 8], vec![0, 8]] {
            assert!(states.contains(&Some(state)), "{states:?}");
        }
    }

    #[test]
    fn a_sync_that_failed_is_not_helped_by_the_next_one() {
        let mut records = vec![create("a", 2), write(2, 0, 7), failed(sync(2)), sync(2)];
        let states = survivors(&records, "a");
        assert_eq!(states, [Some(vec![0]), Some(vec![7])]);
        records.extend([write(2, 0, 7), sync(2)]);
        assert_eq!(survivors(&records, "a"), [Some(vec![7])]);
    }

    #[test]
    fn names_are_lost_until_their_folder_is_synced() {
        let rename = Record {
            path2: "b".to_owned(),
            ..record(Kind::Rename, "a", 0)
        };
        let root = record(Kind::Open, "", 1);
        let mut records = vec![root, create("a", 2), write(2, 0, 7), sync(2), rename];
        assert!(survivors(&records, "b").contains(&None));
        records.push(sync(1));
        assert_eq!(survivors(&records, "b"), [Some(vec![7])]);
        assert_eq!(survivors(&records, "a"), [None]);
        records.push(record(Kind::Unlink, "b", 0));
        let states = survivors(&records, "b");
        assert_eq!(states, [None, Some(vec![7])]);
    }
}
