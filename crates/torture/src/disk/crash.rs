//! What a medium may hold when power is cut.
//!
//! ```text
//!   names   Ended     as the system showed them: only the process ended
//!           Ordered   changes up to one that is drawn: a file system with a journal
//!           Loose     any changes, each with those that it needs: one without
//!   bytes   of each file that has pending changes, one of
//!             none, all, the first few with the last of them torn at a sector,
//!             or each page at an instant of its own, with the length of another one
//! ```
//!
//! A file that became shorter lost the bytes behind that length if its new length is on the medium, and
//! if it is not, nothing that was written behind it later can be there either: its blocks were not yet
//! part of the file.

use storage::env::{Random, SeededRandom};

use super::content::{Content, PAGE_BYTES, Page, size};
use super::medium::{Edit, Medium, Node, ROOT};
use super::tree::Tree;

/// What disks write as a whole at least.
const SECTOR_BYTES: u64 = 512;

/// How names and bytes were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// Only the process ended.
    Ended,
    /// Changes of names were lost in order.
    Ordered,
    /// Changes of names were lost in any order.
    Loose,
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ended, Self::Ordered, Self::Loose];

    /// What it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Ordered => "ordered",
            Self::Loose => "loose",
        }
    }
}

/// The files that are left.
pub fn crash(medium: &Medium, loss: Loss, random: &SeededRandom) -> Tree {
    let mut tree = Tree::default();
    if loss == Loss::Ended {
        show(medium, ROOT, "", &mut tree);
        return tree;
    }
    let mut left = medium.clone();
    let renamings = std::mem::take(&mut left.renamings);
    let count = size_of(renamings.len());
    let mut there = vec![false; renamings.len()];
    if loss == Loss::Ordered {
        let least = renamings.iter().take_while(|one| one.journaled).count();
        let kept = random.below(count - size_of(least) + 1);
        let kept = least + usize::try_from(kept).unwrap_or_default();
        there.iter_mut().take(kept).for_each(|flag| *flag = true);
    } else {
        let lucky = random.below(4) + 1;
        for (place, renaming) in renamings.iter().enumerate().rev() {
            let needed = renamings
                .iter()
                .zip(&there)
                .skip(place + 1)
                .any(|(later, later_there)| *later_there && later.needs(renaming));
            if let Some(flag) = there.get_mut(place) {
                *flag = needed || random.below(5) < lucky;
            }
        }
    }
    for (renaming, there) in renamings.iter().zip(there) {
        if there {
            left.make_durable(renaming);
        }
    }
    let kind = random.below(6);
    leave(&left, (ROOT, ""), kind, random, &mut tree);
    tree
}

fn size_of(count: usize) -> u64 {
    u64::try_from(count).expect("memory is smaller than 64 bits count")
}

/// What the system shows.
fn show(medium: &Medium, folder: usize, path: &str, tree: &mut Tree) {
    let Some(node) = medium.node(folder) else {
        return;
    };
    for (name, number) in &node.names {
        let Some(node) = medium.node(*number) else {
            continue;
        };
        let path = join(path, name);
        if node.is_folder {
            tree.folder(&path);
            show(medium, *number, &path, tree);
        } else {
            tree.file(&path, node.live.clone());
        }
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// What is on the medium.
fn leave(
    medium: &Medium,
    (folder, path): (usize, &str),
    kind: u64,
    random: &SeededRandom,
    tree: &mut Tree,
) {
    let Some(node) = medium.node(folder) else {
        return;
    };
    for (name, number) in &node.durable_names {
        let Some(node) = medium.node(*number) else {
            continue;
        };
        let path = join(path, name);
        if node.is_folder {
            tree.folder(&path);
            leave(medium, (*number, &path), kind, random, tree);
        } else {
            tree.file(&path, survive(node, kind, random));
        }
    }
}

/// What is left of a file. Most states treat all files alike, the others each file by itself.
fn survive(node: &Node, kind: u64, random: &SeededRandom) -> Content {
    let mut content = doubt(node, random);
    let kind = if kind == 5 { random.below(5) } else { kind };
    match kind {
        0 => content,
        1 => {
            for edit in &node.pending {
                edit.apply(&mut content);
            }
            content
        }
        2 => tear(node, content, random),
        _ => scatter(node, content, random),
    }
}

/// The synced bytes, with each doubtful page as it was or as it should have become.
fn doubt(node: &Node, random: &SeededRandom) -> Content {
    let mut content = node.durable.clone();
    for (number, page) in &node.doubtful {
        if random.below(2) == 0 {
            content.set_page(*number, page.clone());
        }
    }
    content
}

/// The first few changes, the last one in part.
fn tear(node: &Node, mut content: Content, random: &SeededRandom) -> Content {
    let kept = random.below(size_of(node.pending.len()) + 1);
    let kept = usize::try_from(kept).unwrap_or_default();
    for edit in node.pending.iter().take(kept) {
        edit.apply(&mut content);
    }
    if let Some(Edit::Write(offset, bytes)) = node.pending.get(kept) {
        let end = offset + size(bytes);
        let sectors = end / SECTOR_BYTES - offset / SECTOR_BYTES;
        let cut = (offset / SECTOR_BYTES + random.below(sectors + 1)) * SECTOR_BYTES;
        let length = usize::try_from(cut.saturating_sub(*offset)).unwrap_or_default();
        if let Some(head) = bytes.get(..length)
            && !head.is_empty()
        {
            content.write(*offset, head);
        }
        // The length may have come first.
        if content.length < end && random.below(2) == 0 {
            content.resize(end);
        }
    }
    content
}

/// Every page at an instant of its own.
fn scatter(node: &Node, durable: Content, random: &SeededRandom) -> Content {
    let mut versions = vec![durable];
    let mut shorter = vec![0];
    for edit in &node.pending {
        let Some(last) = versions.last() else {
            break;
        };
        let mut next = last.clone();
        edit.apply(&mut next);
        if next.length < last.length {
            shorter.push(versions.len());
        }
        versions.push(next);
    }
    // The last time that it became shorter on the medium; what came after the next one is not there.
    let epoch = pick(&shorter, random).copied().unwrap_or_default();
    let end = shorter.iter().find(|place| **place > epoch);
    let end = end.copied().unwrap_or(versions.len());
    let mut bounds: Vec<&Content> = versions
        .get(epoch..end)
        .unwrap_or_default()
        .iter()
        .collect();
    let Some(first) = bounds.first().copied() else {
        return Content::default();
    };
    // Bytes from before that are where they were, as far as the file reached then.
    let early = versions.get(..epoch).unwrap_or_default().iter();
    let length = pick(&bounds, random).map_or(0, |version| version.length);
    let mut numbers: Vec<u64> = bounds
        .iter()
        .flat_map(|version| version.pages().keys().copied())
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut content = first.clone();
    let whole = first.length / PAGE_BYTES;
    let old: Vec<&Content> = early.collect();
    bounds.dedup_by(|one, two| one == two);
    let late = random.below(4);
    for number in numbers {
        let from_old = number < whole && !old.is_empty() && random.below(4) == 0;
        let source = if from_old { &old } else { &bounds };
        let version = match late {
            0 => source.last(),
            _ => pick(source, random),
        };
        let page = version.and_then(|version| version.page(number));
        let page = match random.below(8) {
            0 => mix(content.page(number), page, random),
            _ => page.cloned(),
        };
        content.set_page(number, page);
    }
    content.resize(length);
    content
}

/// A page of which only some sectors were written.
fn mix(old: Option<&Page>, new: Option<&Page>, random: &SeededRandom) -> Option<Page> {
    let mut content = Content::default();
    let chosen = random.next_u64();
    for sector in 0..PAGE_BYTES / SECTOR_BYTES {
        let page = if chosen >> sector & 1 == 0 { old } else { new };
        let from = usize::try_from(sector * SECTOR_BYTES).unwrap_or_default();
        let to = usize::try_from((sector + 1) * SECTOR_BYTES).unwrap_or_default();
        if let Some(bytes) = page.and_then(|page| page.get(from..to)) {
            content.write(sector * SECTOR_BYTES, bytes);
        }
    }
    content.page(0).cloned()
}

/// One of a list.
pub fn pick<'a, T>(list: &'a [T], random: &SeededRandom) -> Option<&'a T> {
    if list.is_empty() {
        return None;
    }
    list.get(usize::try_from(random.below(size_of(list.len()))).ok()?)
}
