//! What is in a directory: names of directories below it, and the objects and items themselves.
//!
//! Directories are found by skipping from one to the next in the order of paths, so a directory with
//! a million items costs one look. They come first, then the records in the order they lie in.

use std::sync::Arc;

use crate::{Direction, Range, Snapshot, Table, Value};

use super::error::{Error, Result};
use super::marker::Marker;
use super::record::{Record, sharding_prefix, sorting_value};
use super::{Collections, Directory, Layout, Names, has_rows, is_kept, path};

/// Entries of one listing.
const ENTRIES_MAX: usize = 1000;

/// What is asked about a directory.
#[derive(Clone, Debug, Default)]
pub struct ListingAsk {
    /// What paths begin with: a directory, and perhaps the beginning of a name.
    pub prefix: String,
    /// Whether only directories are wanted.
    pub only_directories: bool,
    /// How many entries at most.
    pub limit: Option<usize>,
    /// Where the listing before ended.
    pub marker: Option<String>,
}

/// What is told of an item or object.
#[derive(Debug)]
pub struct Entry {
    /// Its directory and name.
    pub path: String,
    /// Bytes of its data.
    pub size: usize,
    /// When it was made, in nanoseconds since 1970.
    pub created_ns: i64,
    /// When it was changed last.
    pub changed_ns: i64,
}

/// What is in a directory.
#[derive(Debug, Default)]
pub struct Listing {
    /// Directories right below, as paths in the container.
    pub directories: Vec<String>,
    /// Items and objects in it.
    pub entries: Vec<Entry>,
    /// Where the next listing begins, if this is not the last.
    pub marker: Option<String>,
}

const DIRECTORIES: &str = "listing|directories|";
const RECORDS: &str = "listing|records|";

impl Collections {
    /// Lists what is below a prefix, up to the next slash.
    pub async fn list(&self, container: &str, ask: &ListingAsk) -> Result<Listing> {
        let root = Directory {
            container: container.to_owned(),
            path: String::new(),
        };
        let entered = self.enter(&root).await?;
        let prefix = ask.prefix.trim_start_matches('/');
        let (path, _) = split_prefix(&self.database.snapshot(), &entered.table, prefix)?;
        drop(entered);
        let entered = self.enter(&Directory { path, ..root }).await?;
        let snapshot = self.database.snapshot();
        let table = &entered.table;
        let (path, beginning) = split_prefix(&snapshot, table, prefix)?;
        let search = Search {
            layout: Arc::clone(&entered.layout),
            snapshot: &snapshot,
            table,
            path: &path,
            beginning: &beginning,
            limit: ask.limit.unwrap_or(ENTRIES_MAX).clamp(1, ENTRIES_MAX),
        };
        let marker = ask.marker.as_deref().filter(|marker| !marker.is_empty());
        let after = marker.map(|marker| search.decode(marker)).transpose()?;
        let mut listing = Listing::default();
        let among_records = matches!(&after, Some((RECORDS, _)));
        if !among_records {
            search.directories(after.as_ref().map(|(_, after)| after), &mut listing)?;
        }
        if !ask.only_directories && listing.marker.is_none() {
            let after = after.as_ref().filter(|_| among_records);
            search.records(after.map(|(_, after)| after), &mut listing)?;
        }
        if !path.is_empty() && marker.is_none() && !has_rows(&snapshot, table, &path)? {
            return Err(Error::NotFound);
        }
        Ok(listing)
    }
}

/// The directory that a prefix names, and what names in it begin with.
fn split_prefix(snapshot: &Snapshot, table: &Arc<Table>, prefix: &str) -> Result<(String, String)> {
    if prefix.is_empty() || prefix.ends_with('/') {
        return Ok((prefix.to_owned(), String::new()));
    }
    let whole = format!("{prefix}/");
    if has_rows(snapshot, table, &whole)? {
        return Ok((whole, String::new()));
    }
    let split = prefix.rfind('/').map_or(0, |slash| slash + 1);
    let (path, beginning) = prefix.split_at_checked(split).unwrap_or((prefix, ""));
    Ok((path.to_owned(), beginning.to_owned()))
}

struct Search<'a> {
    snapshot: &'a Snapshot,
    table: &'a Arc<Table>,
    path: &'a str,
    beginning: &'a str,
    limit: usize,
    layout: Arc<Layout>,
}

impl Search<'_> {
    fn described(&self, kind: &str) -> String {
        format!("{kind}{}{}", self.path, self.beginning)
    }

    fn decode(&self, marker: &str) -> Result<(&'static str, Marker)> {
        if let Ok(marker) = Marker::decode(marker, &self.described(DIRECTORIES)) {
            return Ok((DIRECTORIES, marker));
        }
        Ok((RECORDS, Marker::decode(marker, &self.described(RECORDS))?))
    }

    fn directories(&self, after: Option<&Marker>, listing: &mut Listing) -> Result<()> {
        // Paths below this one are longer than it.
        let mut from = format!("{}\u{1}", self.path);
        if !self.beginning.is_empty() {
            from = format!("{}{}", self.path, self.beginning);
        }
        if let Some(after) = after {
            from = path::above(&after.sharding).unwrap_or(from);
        }
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
            let found = Record::from_row(row)?.key.path;
            let below = found.strip_prefix(self.path).unwrap_or_default();
            let Some((segment, _)) = below.split_once('/') else {
                return Ok(());
            };
            if !segment.starts_with(self.beginning) {
                return Ok(());
            }
            let directory = format!("{}{segment}/", self.path);
            from = path::above(&directory).unwrap_or_default();
            if listing.directories.len() == self.limit {
                listing.marker = Some(self.after_directory(listing));
                return Ok(());
            }
            listing.directories.push(directory);
        }
    }

    /// The marker of a listing that ends with a directory.
    fn after_directory(&self, listing: &Listing) -> String {
        let last = Marker {
            sharding: listing.directories.last().cloned().unwrap_or_default(),
            sorting: None,
        };
        last.encode(&self.described(DIRECTORIES))
    }

    fn names(&self) -> Names {
        let layout = Arc::clone(&self.layout);
        Names::new(self.table, self.snapshot.reader(), self.path, layout)
    }

    fn records(&self, after: Option<&Marker>, listing: &mut Listing) -> Result<()> {
        let path = [Value::Utf8(self.path.into())];
        let range = match after {
            Some(after) => {
                let [path, slice, sharding] = sharding_prefix(self.path, &after.sharding);
                let sorting = sorting_value(after.sorting.as_deref());
                Range::from(&[path, slice, sharding, sorting])
            }
            None => Range::from(&path),
        };
        let range = range.through(&path);
        let mut last: Option<Marker> = None;
        let mut names = self.names();
        for row in self
            .snapshot
            .scan(self.table, &range, Direction::Ascending)?
        {
            let record = Record::from_row(row?)?;
            let marker = Marker {
                sharding: record.key.sharding.clone(),
                sorting: record.key.sorting.clone(),
            };
            let is_first = Some(&marker) == after;
            let is_ours = record.key.is_of_directory() || is_kept(&record.name);
            if is_first || is_ours {
                continue;
            }
            let record = names.show(record).map_err(crate::Error::from)?;
            if !record.name.starts_with(self.beginning) {
                continue;
            }
            if listing.directories.len() + listing.entries.len() >= self.limit {
                listing.marker = Some(match last {
                    Some(last) => last.encode(&self.described(RECORDS)),
                    None => self.after_directory(listing),
                });
                return Ok(());
            }
            last = Some(marker);
            listing.entries.push(Entry {
                path: format!("{}{}", self.path, record.name),
                size: record.size(),
                created_ns: record.created_ns,
                changed_ns: record.changed_ns,
            });
        }
        Ok(())
    }
}
