//! Files and folders in memory, and the same in a directory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::content::{Content, PAGE_BYTES};
use super::medium::Medium;
use crate::Result;

/// What a file system is asked for when nothing must be left out at the end of a file.
const RUN_PAGES: usize = 64;

/// Files and folders by their paths; a folder has no content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Parents come before what they hold.
    pub entries: BTreeMap<String, Option<Content>>,
}

impl Tree {
    /// Adds a folder.
    pub fn folder(&mut self, path: &str) {
        self.entries.insert(path.to_owned(), None);
    }

    /// Adds a file.
    pub fn file(&mut self, path: &str, content: Content) {
        self.entries.insert(path.to_owned(), Some(content));
    }

    /// The files.
    pub fn files(&self) -> impl Iterator<Item = (&String, &Content)> {
        let entries = self.entries.iter();
        entries.filter_map(|(path, content)| Some((path, content.as_ref()?)))
    }

    /// Makes an empty directory hold it.
    pub fn write(&self, root: &Path) -> Result<()> {
        fs::create_dir_all(root)?;
        for (path, content) in &self.entries {
            let place = root.join(path);
            match content {
                None => fs::create_dir_all(place)?,
                Some(content) => write_file(&place, content)?,
            }
        }
        Ok(())
    }

    /// What a directory holds.
    pub fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder))? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = if folder.is_empty() {
                    name
                } else {
                    format!("{folder}/{name}")
                };
                if entry.file_type()?.is_dir() {
                    tree.folder(&path);
                    folders.push(path);
                } else {
                    tree.file(&path, read_file(&entry.path())?);
                }
            }
        }
        Ok(tree)
    }

    /// A medium on which all of it is durable.
    pub fn medium(&self) -> Medium {
        let mut medium = Medium::new();
        for (path, content) in &self.entries {
            medium.place(path, content.clone());
        }
        medium
    }

    /// Makes journals end soon after what they hold: what opening an engine does in the end, and much
    /// sooner read.
    pub fn trim(&mut self) {
        for (path, content) in &mut self.entries {
            if let Some(content) = content
                && path.ends_with(".jnl")
            {
                let length = (content.used() + 4 * PAGE_BYTES).min(content.length);
                content.resize(length);
            }
        }
    }
}

fn write_file(path: &Path, content: &Content) -> Result<()> {
    let file = File::create(path)?;
    let mut run: Vec<u8> = Vec::new();
    let mut start = 0;
    for (number, page) in content.pages() {
        let at = number * PAGE_BYTES;
        let end = start + super::content::size(&run);
        if at != end || run.len() >= RUN_PAGES * page.len() {
            file.write_all_at(&run, start)?;
            run.clear();
            start = at;
        }
        run.extend_from_slice(page.as_slice());
    }
    file.write_all_at(&run, start)?;
    file.set_len(content.length)?;
    Ok(())
}

fn read_file(path: &Path) -> Result<Content> {
    let mut file = File::open(path)?;
    let mut content = Content::default();
    let mut page = vec![0; usize::try_from(PAGE_BYTES * 16).unwrap_or_default()];
    let mut at = 0;
    file.seek(SeekFrom::Start(0))?;
    loop {
        let count = file.read(&mut page)?;
        let Some(read) = page.get(..count).filter(|read| !read.is_empty()) else {
            break;
        };
        if read.iter().any(|byte| *byte != 0) {
            content.write(at, read);
        }
        at += super::content::size(read);
    }
    content.resize(at);
    Ok(content)
}
