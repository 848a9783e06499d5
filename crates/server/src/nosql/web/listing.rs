//! Listings as XML: the containers, and what is in a directory of one.

use std::fmt::Write;

use axum::response::Response;

use super::answer::{iso_date, xml};
use super::request::Asked;
use db::items::Collections;
use db::items::{Entry, Error, Listing, ListingAsk, Result};

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

/// The most entries that are asked for when nothing else is said.
const KEYS_USUAL: usize = 1000;

/// What a file that its owner and group may change says of itself.
const MODE_OBJECT: &str = "0100664";

/// What a directory says that everybody may look into.
const MODE_DIRECTORY: &str = "040775";

/// All containers; their numbers are their places in the list.
pub(super) async fn containers(collections: &Collections) -> Result<Response> {
    let mut buckets = String::new();
    for (at, name) in collections.containers().iter().enumerate() {
        let created_ns = match collections.container_created_ns(name).await {
            // It was dropped meanwhile.
            Err(Error::NotFound | Error::NoContainer) => continue,
            // A table that only looks like one.
            Err(Error::Columns) => 0,
            created_ns => created_ns?,
        };
        let parts = [
            element("Name", name),
            element("CreationDate", &iso_date(created_ns)),
            element("Id", &(at + 1).to_string()),
        ];
        buckets.push_str(&tagged("Bucket", &parts.concat()));
    }
    let buckets = tagged("Buckets", &buckets);
    let text = format!("{HEAD}{}", tagged("ListAllMyBucketsResult", &buckets));
    Ok(xml(text))
}

/// What is in a directory.
pub(super) async fn directory(collections: &Collections, asked: &Asked) -> Result<Response> {
    let directory = asked.directory()?;
    let keys_max = match asked.query("max-keys") {
        None | Some("") => None,
        Some(number) => Some(number.parse().map_err(|_| {
            Error::Invalid("`max-keys` is not a whole number from 0 on".to_owned())
        })?),
    };
    let prefix = asked.query("prefix").unwrap_or_default();
    let ask = ListingAsk {
        prefix: format!("{}{}", directory.path, prefix.trim_start_matches('/')),
        only_directories: asked.is_set("prefix-only"),
        limit: keys_max,
        marker: asked.query("marker").map(str::to_owned),
    };
    let listing = collections.list(&directory.container, &ask).await?;
    let in_full = asked.is_set("prefix-info");
    let container = &directory.container;
    let text = format_listing(container, &ask, &listing, in_full);
    Ok(xml(text))
}

fn format_listing(container: &str, ask: &ListingAsk, listing: &Listing, in_full: bool) -> String {
    let mut inside = String::new();
    for (name, value) in [
        ("Name", container),
        ("Prefix", &ask.prefix),
        ("Marker", ask.marker.as_deref().unwrap_or_default()),
        ("Delimiter", "/"),
        // Clients expect it on the last page too.
        ("NextMarker", listing.last.as_deref().unwrap_or_default()),
        ("MaxKeys", &ask.limit.unwrap_or(KEYS_USUAL).to_string()),
        ("IsTruncated", &listing.truncated.to_string()),
    ] {
        inside.push_str(&element(name, value));
    }
    for entry in &listing.entries {
        let mut parts = element("Key", &entry.path);
        parts.push_str(&element("Size", &entry.size.to_string()));
        parts.push_str(&element("LastModified", &iso_date(entry.changed_ns)));
        if in_full {
            parts.push_str(&info(entry, MODE_OBJECT));
        }
        inside.push_str(&tagged("Contents", &parts));
    }
    for directory in &listing.directories {
        let mut parts = element("Prefix", &directory.path);
        if in_full {
            let changed = iso_date(directory.changed_ns);
            parts.push_str(&element("LastModified", &changed));
            parts.push_str(&info(directory, MODE_DIRECTORY));
        }
        inside.push_str(&tagged("CommonPrefixes", &parts));
    }
    format!("{HEAD}{}", tagged("ListBucketResult", &inside))
}

/// What is told of an entry on request.
fn info(entry: &Entry, mode: &str) -> String {
    let parts = [
        ("AccessTime", iso_date(entry.changed_ns)),
        ("CreatingTime", iso_date(entry.created_ns)),
        ("Mode", mode.to_owned()),
        ("GID", "0".to_owned()),
        ("UID", "0".to_owned()),
        ("InodeNumber", entry.inode.to_string()),
    ];
    let parts = parts.map(|(name, value)| element(name, &value));
    parts.concat()
}

fn element(name: &str, text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no way to write most of these, not even escaped.
            char if char.is_control() => {
                let _ = write!(escaped, "%{:02X}", u32::from(char));
            }
            char => escaped.push(char),
        }
    }
    tagged(name, &escaped)
}

fn tagged(name: &str, inside: &str) -> String {
    format!("<{name}>{inside}</{name}>")
}
