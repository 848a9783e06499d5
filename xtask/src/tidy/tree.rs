//! The texts under check, by path, and what is found in them.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fmt, fs, io};

/// Folders that hold no text of ours.
const FOREIGN_FOLDERS: &[&str] = &[".git", "evenkeel-data", "target"];

/// Endings of the files that rules speak about.
const ENDINGS: &[&str] = &[".rs", ".md", ".toml"];

/// Files by their path from the root, with `/` between folders.
#[derive(Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the sources, documents and manifests below a folder.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && !FOREIGN_FOLDERS.contains(&name.as_str()) {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() && ENDINGS.iter().any(|ending| name.ends_with(ending)) {
                self.insert(path, fs::read_to_string(entry.path())?);
            }
        }
        Ok(())
    }

    /// Adds a file, or replaces it.
    pub fn insert(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.files.insert(path.into(), text.into());
    }

    /// The text of a file.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// The files whose path has this ending, with their text, in order.
    pub fn ending(&self, ending: &'static str) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.ends_with(ending))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The crates of the workspace with their manifests: `crates/NAME/Cargo.toml`, in order.
    pub fn crates(&self) -> impl Iterator<Item = (&str, &str)> {
        self.ending("/Cargo.toml")
            .filter_map(|(path, text)| Some((crate_of(path)?, text)))
    }
}

/// The name of the crate that a path lies in: the folder below `crates/`.
pub(crate) fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?
        .split_once('/')
        .map(|(name, _)| name)
}

/// One thing to mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    path: String,
    line: Option<usize>,
    message: String,
}

impl Finding {
    /// A finding about a whole file.
    pub fn file(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: None,
            message: message.into(),
        }
    }

    /// A finding about a line, counted from 1.
    pub fn line(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: Some(line),
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}
