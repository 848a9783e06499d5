//! One page: rows side by side in one buffer.
//!
//! ```text
//!   bytes     key 0 │ row 0 │ key 1 │ key 2 │ row 2 │            row 1 is a tombstone
//!   places    ^  ^ @5        ^ – @7  ^  ^ @5
//!   heads     what follows the bytes that all keys begin with, as numbers
//! ```
//!
//! A row that is written anew stays where it is and counts as *stale* from then on: gets of the other
//! rows go on. Scans, and whoever joins pages, take only pages that are current.
//!
//! A search compares heads, which lie close together, and looks at a key only where heads are equal:
//! each look at something else would be a wait for memory. For the same reason the least and the
//! greatest head lie in the page itself, and so does how the upper bound begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use storage::{Bytes, KeyRange};

use super::budget::{Budget, Room};
use super::headed::Headed;
use crate::Timestamp;
use crate::reads::Found;
use crate::version::{Version, VersionRef};

/// How many rows a page has at most.
const PAGE_ROWS_MAX: usize = 256;

/// A page of whose rows more than one in so many is stale is not worth its place.
const STALE_ONE_IN: usize = 2;

/// After how many bytes a page is full.
const PAGE_BYTES_FULL: usize = 64 << 10;

/// A page that holds fewer rows than this is worth its place only if it closes a gap.
const PAGE_ROWS_MIN: usize = 16;

/// What a page takes besides its rows, about.
const PAGE_OVERHEAD: usize = 256;

/// Set in a row's place if there is none: the key was deleted.
const DELETED: u32 = 1 << 31;

/// All that lies between two keys.
#[derive(Debug)]
pub(crate) struct Page {
    range: KeyRange,
    /// The upper bound again.
    upper: Option<Headed>,
    bytes: Box<[u8]>,
    places: Box<[Place]>,
    /// How many bytes all keys begin with.
    common: usize,
    /// Whether not only all its keys begin so, but all that lie between the bounds.
    bounds_agree: bool,
    heads: Box<[u64]>,
    /// The least and the greatest of them.
    outer: Option<(u64, u64)>,
    /// Since the last look.
    used: AtomicBool,
    /// The rows that were written anew, a bit for each.
    stale: [AtomicU64; PAGE_ROWS_MAX / BITS],
    _room: Room,
}

/// The bits of a word of [`Page::stale`].
const BITS: usize = 64;

/// Where a key begins, where it ends and its row begins, and when that was written as storage has it.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: Timestamp,
    key: u32,
    row: u32,
}

impl Page {
    pub(super) fn new(gathered: Gathered, budget: &Arc<Budget>) -> Self {
        let Gathered {
            range,
            bytes,
            places,
        } = gathered;
        let bytes = bytes.into_boxed_slice();
        let places = places.into_boxed_slice();
        let heads_bytes = places.len() * size_of::<u64>();
        let size = bytes.len() + size_of_val(&*places) + heads_bytes + PAGE_OVERHEAD;
        // Keys between two that begin alike begin like them.
        let upper = range.upper.as_ref();
        let between = upper.map_or(0, |upper| alike(&range.lower, upper));
        let mut page = Self {
            upper: upper.cloned().map(Headed::new),
            range,
            bytes,
            places,
            common: between,
            bounds_agree: between > 0,
            heads: Box::default(),
            outer: None,
            used: AtomicBool::new(false),
            stale: Default::default(),
            _room: budget.take(size),
        };
        if let (Some(first), Some(last), 0) = (page.places.first(), page.places.last(), between) {
            page.common = alike(page.key(*first), page.key(*last));
        }
        let heads = page.places.iter();
        page.heads = heads
            .map(|place| head(page.key(*place), page.common))
            .collect();
        page.outer = page.heads.first().copied().zip(page.heads.last().copied());
        page
    }

    pub(super) fn range(&self) -> &KeyRange {
        &self.range
    }

    pub(crate) fn lower(&self) -> &Bytes {
        &self.range.lower
    }

    pub(crate) fn upper(&self) -> Option<&Bytes> {
        self.range.upper.as_ref()
    }

    /// Whether it ends behind `key`.
    pub(crate) fn reaches(&self, key: &Headed) -> bool {
        self.upper.as_ref().is_none_or(|upper| key < upper)
    }

    pub(crate) fn use_it(&self) {
        // What is written on one processor the others have to fetch again.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether somebody used it since this was asked last.
    pub(crate) fn was_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    /// How many of its keys lie below `key`, which lies between its bounds.
    pub(crate) fn below(&self, key: &[u8]) -> usize {
        let (Some(first), Some(outer)) = (self.places.first(), self.outer) else {
            return 0;
        };
        if !self.bounds_agree {
            let beginning = self.key(*first).get(..self.common).unwrap_or_default();
            match key.get(..self.common) {
                Some(same) if same == beginning => {}
                _ if key < beginning => return 0,
                _ => return self.len(),
            }
        }
        let head = head(key, self.common);
        let start = count_below(&self.heads, outer, head);
        let heads = self.heads.get(start..).unwrap_or_default();
        let alike = match heads {
            // Many are alike where keys go on with the same text.
            [one, two, ..] if *one == head && *two == head => {
                heads.partition_point(|one| *one == head)
            }
            [one, ..] if *one == head => 1,
            _ => return start,
        };
        let places = self.places.get(start..start + alike).unwrap_or_default();
        start + places.partition_point(|place| self.key(*place) < key)
    }

    /// How many keys it has.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// A key by its index, with its newest version.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<(&[u8], VersionRef<'_>)> {
        let place = *self.places.get(index)?;
        let row = (place.row & DELETED == 0).then(|| {
            let next = self.places.get(index + 1);
            let end = next.map_or(self.bytes.len(), |next| wide(next.key));
            self.slice(wide(place.row), end)
        });
        let at = place.at;
        Some((self.key(place), VersionRef { at, row }))
    }

    /// A key by its index.
    #[inline]
    pub(crate) fn key_at(&self, index: usize) -> &[u8] {
        let place = self.places.get(index);
        place.map_or(&[], |place| self.key(*place))
    }

    /// The newest version of a key between the bounds; nothing if it is stale here.
    pub(crate) fn find(&self, key: &[u8]) -> Option<Found> {
        let index = self.below(key);
        let Some((found, VersionRef { at, row })) = self.get(index) else {
            return Some(None);
        };
        if found != key {
            return Some(None);
        }
        // A copy: whoever keeps it should not keep the page.
        let row = || row.map(Bytes::copy_from_slice);
        (!self.is_stale(index)).then(|| Some(Version { at, row: row() }))
    }

    /// Notes that a key between the bounds was written anew. Answers whether the page is still worth
    /// its place: it is not if it would have to hold one key more, or if most of it is stale.
    pub(super) fn outdate(&self, key: &[u8]) -> bool {
        let index = self.below(key);
        let Some(word) = self.stale.get(index / BITS) else {
            return false;
        };
        if self.key_at(index) != key {
            return false;
        }
        // Whoever reads it has the lock that pages are found under.
        word.fetch_or(1 << (index % BITS), Ordering::Relaxed);
        self.stale_rows() * STALE_ONE_IN <= self.len()
    }

    /// Whether none of its rows is stale.
    pub(super) fn is_current(&self) -> bool {
        self.stale_rows() == 0
    }

    fn stale_rows(&self) -> usize {
        let words = self.stale.iter();
        let bits = words.map(|word| word.load(Ordering::Relaxed).count_ones());
        usize::try_from(bits.sum::<u32>()).unwrap_or(usize::MAX)
    }

    fn is_stale(&self, index: usize) -> bool {
        let word = self.stale.get(index / BITS);
        word.is_some_and(|word| word.load(Ordering::Relaxed) & (1 << (index % BITS)) != 0)
    }

    #[inline]
    fn key(&self, place: Place) -> &[u8] {
        self.slice(wide(place.key), wide(place.row & !DELETED))
    }

    #[inline]
    fn slice(&self, begin: usize, end: usize) -> &[u8] {
        self.bytes.get(begin..end).unwrap_or_default()
    }
}

/// The bytes of a key from a place on, as a number that sorts as they do; fewer than it takes are as
/// if zeros followed.
fn head(key: &[u8], from: usize) -> u64 {
    let rest = key.get(from..).unwrap_or_default();
    let bytes = rest.first_chunk().copied().unwrap_or_else(|| {
        let mut bytes = [0; size_of::<u64>()];
        for (byte, of) in bytes.iter_mut().zip(rest) {
            *byte = *of;
        }
        bytes
    });
    u64::from_be_bytes(bytes)
}

/// With how many bytes both begin.
fn alike(one: &[u8], two: &[u8]) -> usize {
    let both = one.iter().zip(two);
    both.take_while(|(one, two)| one == two).count()
}

/// How many of these, which are sorted and whose first and last are known, are below a number. Numbers
/// that are evenly spread are found by a guess.
fn count_below(heads: &[u64], (first, last): (u64, u64), head: u64) -> usize {
    if head <= first {
        return 0;
    }
    if last < head {
        return heads.len();
    }
    // Here `first < head <= last`.
    let part = u128::from(head - first) * (heads.len() as u128 - 1);
    let guess = usize::try_from(part / u128::from(last - first)).unwrap_or_default();
    let at = |index: usize| heads.get(index).copied().unwrap_or(u64::MAX);
    let (before, after) = heads.split_at_checked(guess).unwrap_or((heads, &[]));
    if at(guess) < head {
        match at(guess + 1) < head {
            true => guess + after.partition_point(|one| *one < head),
            false => guess + 1,
        }
    } else {
        match before.last().is_some_and(|one| *one < head) {
            true => guess,
            false => before.partition_point(|one| *one < head),
        }
    }
}

#[inline]
fn wide(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

/// Rows on their way to become a page.
#[derive(Debug)]
pub(crate) struct Gathered {
    range: KeyRange,
    bytes: Vec<u8>,
    places: Vec<Place>,
}

impl Gathered {
    /// Nothing yet, from `lower` on.
    pub(crate) fn new(lower: Bytes) -> Self {
        Self {
            range: KeyRange::new(lower, None),
            bytes: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Adds the next key. Answers whether the page is full.
    pub(crate) fn add(&mut self, key: &[u8], version: VersionRef<'_>) -> bool {
        let place = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(DELETED);
        let begin = place(&self.bytes);
        self.bytes.extend_from_slice(key);
        let mut row = place(&self.bytes);
        match version.row {
            Some(bytes) => self.bytes.extend_from_slice(bytes),
            None => row |= DELETED,
        }
        self.places.push(Place {
            at: version.at,
            key: begin,
            row,
        });
        self.places.len() >= PAGE_ROWS_MAX || self.bytes.len() >= PAGE_BYTES_FULL
    }

    /// What lies between the first and the last key.
    pub(super) fn range(&self) -> &KeyRange {
        &self.range
    }

    /// Takes in the rows of a page that ends where this begins, or begins where this ends. Answers
    /// whether there was room for them.
    pub(super) fn join(&mut self, page: &Page) -> bool {
        if self.places.len() + page.len() > PAGE_ROWS_MAX
            || self.bytes.len() + page.bytes.len() > PAGE_BYTES_FULL
        {
            return false;
        }
        if page.upper() == Some(&self.range.lower) {
            let (bytes, places) = (page.bytes.to_vec(), page.places.to_vec());
            let bytes = std::mem::replace(&mut self.bytes, bytes);
            let places = std::mem::replace(&mut self.places, places);
            self.append(&bytes, &places);
            self.range.lower = page.lower().clone();
        } else {
            self.append(&page.bytes, &page.places);
            self.range.upper = page.upper().cloned();
        }
        true
    }

    fn append(&mut self, bytes: &[u8], places: &[Place]) {
        let begin = u32::try_from(self.bytes.len()).unwrap_or(DELETED);
        self.bytes.extend_from_slice(bytes);
        self.places.extend(places.iter().map(|place| Place {
            at: place.at,
            key: place.key + begin,
            row: place.row + begin,
        }));
    }

    /// Whether there are enough rows for a page that closes no gap.
    pub(crate) fn is_worth_a_page(&self) -> bool {
        self.places.len() >= PAGE_ROWS_MIN
    }

    /// What was gathered, which is all that lies below `upper`.
    pub(crate) fn end(mut self, upper: Option<Bytes>) -> Self {
        self.range.upper = upper;
        self
    }
}
