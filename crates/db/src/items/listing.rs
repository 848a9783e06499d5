//! What is in a directory: the directories right below it, and its objects and items, in the order of
//! their names.
//!
//! ```text
//!   a/            directories and objects in one order; a directory comes before
//!   a             an object of the same name
//!   b
//!
//!   marker `a`    goes on behind both of them
//!   marker `a/`   goes on behind the directory only
//! ```
//!
//! Directories are found by skipping from one to the next in the order of paths, so a directory with a
//! million items costs one look. Records lie in the order of hashes, so each page looks at all of them
//! and keeps the first that come behind the marker. No entry is hidden by one that comes or goes
//! between two pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Direction, Range, Snapshot, Table, Value};
use keys::item_name::inode_number;

use super::error::{Error, Result};
use super::record::{Key, Record};
use super::{Collections, Directory, Layout, Names, has_rows, is_kept, path, place, range_below};

/// Entries of one listing.
const ENTRIES_MAX: usize = 1000;

/// Rows that are looked at before others have a turn.
const TURN_ROWS: usize = 256;

/// What is asked about a directory.
#[derive(Clone, Debug, Default)]
pub struct ListingAsk {
    /// The path of the directory in its container; slashes that repeat are one.
    pub prefix: String,
    /// Whether only directories are wanted.
    pub only_directories: bool,
    /// How many entries at most; with none, only whether the directory is there.
    pub limit: Option<usize>,
    /// The last entry of the listing before.
    pub marker: Option<String>,
}

/// The metadata of a directory, an item or an object in a listing.
#[derive(Debug)]
pub struct Entry {
    /// Its path in the container; that of a directory ends with a slash.
    pub path: String,
    /// Bytes of its data.
    pub size: u64,
    /// When it was made, in nanoseconds since 1970.
    pub created_ns: i64,
    /// When it was changed last.
    pub changed_ns: i64,
    /// The number that clients tell it by.
    pub inode: u32,
}

/// What is in a directory.
#[derive(Debug, Default)]
pub struct Listing {
    /// Directories right below.
    pub directories: Vec<Entry>,
    /// Items and objects in it.
    pub entries: Vec<Entry>,
    /// The marker that goes on behind the last entry, if there is any entry.
    pub last: Option<String>,
    /// Whether there are more.
    pub truncated: bool,
}

impl Collections {
    /// Lists what is in a directory.
    pub async fn list(&self, container: &str, ask: &ListingAsk) -> Result<Listing> {
        let root = Directory {
            container: container.to_owned(),
            path: String::new(),
        };
        let directory = root.below(&ask.prefix)?;
        let entered = match self.enter(&directory).await {
            // It is made by the first write.
            Err(Error::NotFound) if directory.path.is_empty() && place::is_standard(container) => {
                return Ok(Listing::default());
            }
            entered => entered?,
        };
        let Directory { path, .. } = directory;
        let snapshot = self.database.snapshot();
        if !path.is_empty() && !has_rows(&snapshot, &entered.table, &path)? {
            return Err(Error::NotFound);
        }
        let mut page = Page {
            after: After::read(&path, ask.marker.as_deref().unwrap_or_default()),
            limit: ask.limit.unwrap_or(ENTRIES_MAX).min(ENTRIES_MAX),
            found: BTreeMap::new(),
        };
        let search = Search {
            snapshot: &snapshot,
            table: &entered.table,
            path: &path,
            layout: Arc::clone(&entered.layout),
        };
        if page.limit > 0 && page.after != After::Everything {
            search.directories(&mut page)?;
            if !ask.only_directories {
                search.records(&mut page).await?;
            }
        }
        search.listing(page)
    }

    /// What the server knows of a directory that is there: it was made, or something is in it.
    pub async fn directory(&self, directory: &Directory) -> Result<Record> {
        let entered = self.enter(directory).await?;
        let snapshot = self.database.snapshot();
        if let Some(own) = own_record(&snapshot, &entered.table, &directory.path)? {
            return Ok(own);
        }
        let range = range_below(&directory.path);
        let mut rows = snapshot.scan(&entered.table, &range, Direction::Ascending)?;
        match rows.next().transpose()? {
            Some(row) => {
                let first = Record::from_row(row)?;
                Record::of_directory(&directory.path, (first.created_ns, first.changed_ns))
                    .map_err(Error::from)
            }
            None if directory.path.is_empty() => {
                let now = self.now_ns();
                Ok(Record::of_directory("", (now, now))?)
            }
            None => Err(Error::NotFound),
        }
    }
}

/// The record of a directory itself. Directories that were made by the records in them, before every
/// directory on the way to a record had one, have none.
pub(super) fn own_record(
    snapshot: &Snapshot,
    table: &Arc<Table>,
    path: &str,
) -> Result<Option<Record>> {
    let row = snapshot.get(table, &Key::of_directory(path).values())?;
    Ok(row.map(Record::from_row).transpose()?)
}

/// Where an entry stands in a listing: by its name, a directory before an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    name: String,
    is_object: bool,
}

/// Behind what a listing begins.
#[derive(Debug, PartialEq, Eq)]
enum After {
    Nothing,
    Rank(Rank),
    Everything,
}

impl After {
    /// What a marker means in a directory. It is the path of an entry, which need not be there.
    fn read(directory: &str, marker: &str) -> Self {
        let segments: Vec<&str> = marker.split('/').filter(|part| !part.is_empty()).collect();
        let path = segments.join("/");
        let is_object = !marker.ends_with('/');
        match path.strip_prefix(directory) {
            Some("") => Self::Nothing,
            Some(name) => Self::Rank(Rank {
                name: name.to_owned(),
                is_object,
            }),
            None if path.as_str() < directory => Self::Nothing,
            None => Self::Everything,
        }
    }
}

/// The first entries behind a marker, and one more if there is one.
struct Page {
    after: After,
    limit: usize,
    found: BTreeMap<Rank, Entry>,
}

impl Page {
    /// Takes an entry if it belongs to the page, as far as is known.
    fn offer(&mut self, rank: Rank, entry: impl FnOnce() -> Entry) {
        if matches!(&self.after, After::Rank(after) if rank <= *after) {
            return;
        }
        let last = self.found.last_key_value();
        if self.found.len() > self.limit && last.is_some_and(|(last, _)| rank > *last) {
            return;
        }
        self.found.insert(rank, entry());
        if self.found.len() > self.limit + 1 {
            self.found.pop_last();
        }
    }
}

struct Search<'a> {
    snapshot: &'a Snapshot,
    table: &'a Arc<Table>,
    path: &'a str,
    layout: Arc<Layout>,
}

impl Search<'_> {
    fn directories(&self, page: &mut Page) -> Result<()> {
        // Paths below this one are longer than it.
        let mut from = format!("{}\u{1}", self.path);
        let end = path::above(self.path);
        loop {
            let mut range = Range::from(&[Value::Utf8(from.as_str().into())]);
            if let Some(end) = &end {
                range = range.before(&[Value::Utf8(end.as_str().into())]);
            }
            let mut rows = self
                .snapshot
                .scan(self.table, &range, Direction::Ascending)?;
            let Some(row) = rows.next().transpose()? else {
                return Ok(());
            };
            let first = Record::from_row(row)?;
            let below = first.key.path.strip_prefix(self.path).unwrap_or_default();
            let Some((name, _)) = below.split_once('/') else {
                return Ok(());
            };
            let directory = format!("{}{name}/", self.path);
            from = path::above(&directory).unwrap_or_default();
            let rank = Rank {
                name: name.to_owned(),
                is_object: false,
            };
            page.offer(rank, || Entry {
                inode: inode_number(&directory, ""),
                path: directory,
                size: 0,
                created_ns: first.created_ns,
                changed_ns: first.changed_ns,
            });
        }
    }

    fn names(&self) -> Names {
        let layout = Arc::clone(&self.layout);
        Names::new(self.table, self.snapshot.reader(), self.path, layout)
    }

    async fn records(&self, page: &mut Page) -> Result<()> {
        let range = Range::prefix(&[Value::Utf8(self.path.into())]);
        let mut names = self.names();
        let rows = self
            .snapshot
            .scan(self.table, &range, Direction::Ascending)?;
        for (looked_at, row) in rows.enumerate() {
            if looked_at % TURN_ROWS == TURN_ROWS - 1 {
                tokio::task::yield_now().await;
            }
            let record = Record::from_row(row?)?;
            if record.key.is_of_directory() || is_kept(&record.name) {
                continue;
            }
            let record = names.show(record).map_err(crate::Error::from)?;
            let rank = Rank {
                name: record.name.clone(),
                is_object: true,
            };
            page.offer(rank, || Entry {
                path: format!("{}{}", self.path, record.name),
                size: record.size(),
                created_ns: record.created_ns,
                changed_ns: record.changed_ns,
                inode: inode_number(self.path, &record.name),
            });
        }
        Ok(())
    }

    fn listing(&self, page: Page) -> Result<Listing> {
        let Page {
            limit, mut found, ..
        } = page;
        let mut listing = Listing::default();
        let mut next = None;
        if found.len() > limit {
            next = found.pop_last().map(|(rank, _)| rank);
            listing.truncated = next.is_some();
        }
        if let Some((last, _)) = found.last_key_value() {
            // An object of the same name comes next.
            let same = next.is_some_and(|next| next.name == last.name);
            let slash = if same { "/" } else { "" };
            listing.last = Some(format!("{}{}{slash}", self.path, last.name));
        }
        for (rank, mut entry) in found {
            if rank.is_object {
                listing.entries.push(entry);
                continue;
            }
            if let Some(own) = own_record(self.snapshot, self.table, &entry.path)? {
                (entry.created_ns, entry.changed_ns) = (own.created_ns, own.changed_ns);
            }
            listing.directories.push(entry);
        }
        Ok(listing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_paths_of_entries() {
        let rank = |name: &str, is_object| {
            After::Rank(Rank {
                name: name.to_owned(),
                is_object,
            })
        };
        for (directory, marker, after) in [
            ("", "", After::Nothing),
            ("a/", "", After::Nothing),
            ("a/", "a/b", rank("b", true)),
            ("a/", "/a//b/", rank("b", false)),
            ("", "b/c", rank("b/c", true)),
            ("b/", "a", After::Nothing),
            ("b/", "c", After::Everything),
            // The directory itself stands before all that is in it.
            ("b/", "b/", After::Nothing),
        ] {
            assert_eq!(
                After::read(directory, marker),
                after,
                "{directory} {marker}"
            );
        }
    }
}
