//! Stretches of tables as they are now, kept in memory the way a scan wants them: [`Pages`].
//!
//! An engine finds the next row of a scan by merging the files and tables it may lie in, and that
//! costs more than everything that is done with the row afterwards. Rows that were scanned lately
//! mostly did not change, so they are kept, side by side, as *pages*:
//!
//! ```text
//!   keys       a     c  d      g  h  i      p          s
//!   pages      ├──── A ───┤    ├──── B ─────────┤            what lies between its bounds is known
//!   scan       ═══════════ ~~~ ══════════════════ ~~~~~~     = from a page   ~ from the engine, and
//!                                                              gathered into a page on the way
//! ```
//!
//! **What a page promises.** While it can be found it holds the newest version of every key between
//! its bounds, as the engine would give it, also those that snapshots cannot see yet. So a page is
//! read at any snapshot exactly as the engine is.
//!
//! **How that stays true.** Whoever writes rows to an engine tells afterwards which, and before
//! snapshots can see them ([`Pages::changed`]): by then such rows are stale on their pages, and pages
//! that new rows would belong to are gone. Gets go past rows that are stale, and scans past pages that
//! have any, gathering others in their place. A scan that gathers a page notes the table's epoch before
//! it opens the engine, and each change moves the epoch: a page that was gathered while something
//! changed is thrown away.
//!
//! Single rows that were written lately are at hand besides ([`Fresh`]).
//!
//! Pages belong to an engine in one of its lives, and go with it. Together they are held to a number
//! of bytes ([`Budget`]); those that nobody used since the last look go first. Tables that are hot for
//! gets come in by themselves ([`crate::warm`]).

mod budget;
mod fresh;
mod headed;
mod page;
mod touched;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;
use parking_lot::RwLock;
use partitions::TableId;
use storage::{Bytes, KeyRange};

pub(crate) use budget::Budget;
pub(crate) use fresh::Fresh;
pub(crate) use headed::Headed;
pub(crate) use page::{Gathered, Page};
use touched::Keys;
pub(crate) use touched::Touched;

use crate::reads::Found;

/// How many pages with stale rows a scan goes past in one go.
const STALE_PAGES_MAX: usize = 16;

/// How many bytes the pages of a store may take.
pub(crate) const PAGES_BYTES_MAX: usize = 160 << 20;

/// The pages of one engine.
#[derive(Debug)]
pub(crate) struct Pages {
    budget: Arc<Budget>,
    tables: RwLock<HashMap<TableId, Arc<TablePages>>>,
    /// Single rows that were written lately.
    pub(crate) fresh: Fresh,
}

/// The pages of one table in one engine.
#[derive(Debug, Default)]
pub(crate) struct TablePages {
    /// How often something changed.
    epoch: AtomicU64,
    /// By their lower bounds; no two overlap.
    pages: RwLock<BTreeMap<Headed, Arc<Page>>>,
}

/// What is known about the rows from a key on.
pub(crate) enum Known {
    /// This page holds them.
    Page(Arc<Page>),
    /// Nothing, up to where the next page begins.
    Nothing { until: Option<Bytes> },
}

impl Pages {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self {
            budget,
            tables: RwLock::default(),
            fresh: Fresh::default(),
        }
    }

    /// The pages of a table, if it was ever scanned.
    fn of(&self, table: TableId) -> Option<Arc<TablePages>> {
        self.tables.read().get(&table).cloned()
    }

    /// The newest version of a key; nothing if no page would hold it.
    pub(crate) fn get(&self, table: TableId, key: &[u8]) -> Option<Found> {
        self.tables.read().get(&table)?.get(key)
    }

    /// The pages of a table that is going to be scanned.
    pub(crate) fn of_scanned(&self, table: TableId) -> Arc<TablePages> {
        match self.of(table) {
            Some(pages) => pages,
            None => Arc::clone(self.tables.write().entry(table).or_default()),
        }
    }

    /// Rows were written to the engine, or may have been, and no snapshot sees them yet.
    pub(crate) fn changed(&self, touched: &Touched) {
        for (table, keys) in touched.tables() {
            let Some(pages) = self.of(table) else {
                continue;
            };
            match keys {
                Keys::Each(keys) => pages.forget_keys(keys),
                Keys::Hull(hull) => pages.forget_range(hull),
            }
        }
    }

    /// Forgets a table.
    pub(crate) fn drop_table(&self, table: TableId) {
        self.tables.write().remove(&table);
    }

    /// Keeps a page that was gathered from the engine opened at `epoch` or later, if nothing changed
    /// since and there is room.
    ///
    /// Reads of short ranges make short pages. Those that lie side by side become one, so that a
    /// later scan has few to look for.
    pub(crate) fn keep(&self, table: &Arc<TablePages>, epoch: u64, mut gathered: Gathered) {
        let mut joined = table.neighbours(gathered.range());
        joined.retain(|neighbour| gathered.join(neighbour));
        let page = Arc::new(Page::new(gathered, &self.budget));
        if table.insert(epoch, &page, &joined) {
            self.budget.admit(table, &page);
        }
    }
}

impl TablePages {
    /// To be asked before the engine is opened from which a page is gathered.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// What is known about the rows from `key` on.
    pub(crate) fn look(&self, key: &Bytes) -> Known {
        let sought = Headed::new(key.clone());
        let pages = self.pages.read();
        if let Some(page) = find(&pages, &sought).filter(|page| page.is_current()) {
            page.use_it();
            return Known::Page(Arc::clone(page));
        }
        let after = (Bound::Excluded(&sought), Bound::Unbounded);
        let following = pages.range::<Headed, _>(after).take(STALE_PAGES_MAX);
        let mut until = None;
        for (lower, page) in following {
            until = Some(lower.key.clone());
            if page.is_current() {
                break;
            }
        }
        Known::Nothing { until }
    }

    /// The newest version of a key; nothing if no page knows it.
    fn get(&self, key: &[u8]) -> Option<Found> {
        let sought = Headed::new(Bytes::copy_from_slice(key));
        let pages = self.pages.read();
        let page = find(&pages, &sought)?;
        page.use_it();
        page.find(key)
    }

    /// The current pages that end where a range begins, and begin where it ends.
    fn neighbours(&self, range: &KeyRange) -> Vec<Arc<Page>> {
        let pages = self.pages.read();
        let lower = Headed::new(range.lower.clone());
        let below = (Bound::Unbounded, Bound::Excluded(&lower));
        let before = pages.range::<Headed, _>(below).next_back();
        let before = before.filter(|(_, page)| page.upper() == Some(&range.lower));
        let upper = range.upper.clone().map(Headed::new);
        let after = upper.and_then(|upper| pages.get(&upper));
        let both = before.map(|(_, page)| page).into_iter().chain(after);
        both.filter(|page| page.is_current()).cloned().collect()
    }

    /// Adds a page, which holds what the joined ones do, in their place and in that of pages with stale
    /// rows; unless something changed since `epoch` or another page is in its place.
    fn insert(&self, epoch: u64, page: &Arc<Page>, joined: &[Arc<Page>]) -> bool {
        let mut pages = self.pages.write();
        // A change moves the epoch before it looks for pages, under this lock.
        if self.epoch() != epoch {
            return false;
        }
        let below = match page.upper() {
            Some(upper) => Bound::Excluded(Headed::new(upper.clone())),
            None => Bound::Unbounded,
        };
        let before = pages.range((Bound::Unbounded, below)).rev();
        let lower = Headed::new(page.lower().clone());
        let overlapping = before.take_while(|(_, other)| other.reaches(&lower));
        let replaced: Vec<_> = overlapping.collect();
        let gives_way = |(_, other): &(_, &Arc<Page>)| {
            !other.is_current() || joined.iter().any(|one| Arc::ptr_eq(one, other))
        };
        if !replaced.iter().all(gives_way) {
            return false;
        }
        let replaced: Vec<Headed> = replaced.iter().map(|(lower, _)| (*lower).clone()).collect();
        for lower in &replaced {
            pages.remove(lower);
        }
        pages.insert(lower, Arc::clone(page));
        true
    }

    /// Removes a page if it is still there.
    fn remove(&self, page: &Arc<Page>) {
        let mut pages = self.pages.write();
        let lower = Headed::new(page.lower().clone());
        let found = pages.get(&lower);
        if found.is_some_and(|found| Arc::ptr_eq(found, page)) {
            pages.remove(&lower);
        }
    }

    /// Forgets what pages hold of these keys.
    fn forget_keys(&self, keys: &[Bytes]) {
        let mut pages = self.pages.write();
        self.epoch.fetch_add(1, Ordering::AcqRel);
        for key in keys {
            if pages.is_empty() {
                break;
            }
            let found = find(&pages, &Headed::new(key.clone()));
            let gone = found.filter(|page| !page.outdate(key));
            if let Some(lower) = gone.map(|page| Headed::new(page.lower().clone())) {
                pages.remove(&lower);
            }
        }
    }

    /// Forgets the pages that overlap a range.
    fn forget_range(&self, range: &KeyRange) {
        let mut pages = self.pages.write();
        self.epoch.fetch_add(1, Ordering::AcqRel);
        pages.retain(|_, page| !page.range().overlaps(range));
    }
}

/// The page that would hold a key.
fn find<'p>(pages: &'p BTreeMap<Headed, Arc<Page>>, sought: &Headed) -> Option<&'p Arc<Page>> {
    let until = (Bound::Unbounded, Bound::Included(sought));
    let (_, page) = pages.range::<Headed, _>(until).next_back()?;
    page.reaches(sought).then_some(page)
}

#[cfg(test)]
mod tests;
