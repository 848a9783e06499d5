//! Where something is: a container, a directory in it, and in that a name.
//!
//! ```text
//!   /users/people/adults/johnd.20180602
//!    ╰─┬─╯ ╰─────┬─────╯ ╰─────┬──────╯
//!   container  directory      name            `people/adults/`, and the root is ``
//! ```

use keys::attribute::NAME_CHARS_MAX;
use keys::check_item_name;

use super::error::{Error, Result};

/// Bytes of the longest path.
pub const PATH_BYTES_MAX: usize = 4096;

/// Characters of the longest name of a container.
pub const CONTAINER_CHARS_MAX: usize = 128;

/// Paths that HTTP answers otherwise.
const CONTAINERS_TAKEN: [&str; 2] = ["metrics", "health"];

/// Containers that clients expect to be there: the first write makes them. Others are made by a
/// request of their own, so that a name which is misspelt makes none.
const CONTAINERS_STANDARD: [&str; 3] = ["bigdata", "projects", "users"];

/// A directory of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// The container.
    pub container: String,
    /// The directory in it: empty for the root, otherwise with a slash at its end.
    pub path: String,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where the name is.
    pub directory: Directory,
    /// The name of an item or object.
    pub name: String,
}

impl Directory {
    /// The directory at a path that begins with its container; slashes that repeat are one.
    pub fn parse(path: &str) -> Result<Self> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let container = segments.next().ok_or(Error::NotFound)?.to_owned();
        let root = Self {
            container,
            path: String::new(),
        };
        root.join(segments)
    }

    /// A directory further down.
    pub fn below(&self, path: &str) -> Result<Self> {
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        self.clone().join(segments)
    }

    fn join<'a>(mut self, segments: impl Iterator<Item = &'a str>) -> Result<Self> {
        for segment in segments {
            check_item_name(segment)?;
            self.path.push_str(segment);
            self.path.push('/');
        }
        if self.path.len() > PATH_BYTES_MAX {
            return Err(Error::Invalid(format!(
                "path of {} bytes is above the limit of {PATH_BYTES_MAX} bytes",
                self.path.len()
            )));
        }
        Ok(self)
    }

    /// The place of a name in it.
    pub fn place(self, name: impl Into<String>) -> Result<Place> {
        let name = name.into();
        check_item_name(&name)?;
        Ok(Place {
            directory: self,
            name,
        })
    }
}

impl Place {
    /// The place at a path whose last part is a name.
    pub fn parse(path: &str) -> Result<Self> {
        let trimmed = path.trim_end_matches('/');
        let (before, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        Directory::parse(before)?.place(name)
    }
}

/// Whether clients expect this container to be there.
pub(super) fn is_standard(container: &str) -> bool {
    CONTAINERS_STANDARD.contains(&container)
}

/// Whether a container can have this name, and the reason if not.
pub(super) fn check_container_name(name: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    let reason = if name.len() > CONTAINER_CHARS_MAX {
        "it has 1 to 128 characters"
    } else if !name
        .bytes()
        .all(|byte| plain(byte) || byte == b'-' || byte == b'_')
    {
        "it has only small letters, digits, hyphens and underscores"
    } else if !ends.into_iter().flatten().all(|end| plain(*end)) {
        "it begins and ends with a letter or digit"
    } else if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        "it has at least one letter"
    } else if name.contains("--") || name.contains("__") {
        "hyphens and underscores do not repeat"
    } else if CONTAINERS_TAKEN.contains(&name) {
        "the server answers at this path itself"
    } else {
        return Ok(());
    };
    let shown: String = name.chars().take(NAME_CHARS_MAX / 4).collect();
    Err(Error::Invalid(format!(
        "container name `{shown}`: {reason}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_into_container_directory_and_name() {
        let place = |path: &str| {
            Place::parse(path).map(|place| {
                let Directory { container, path } = place.directory;
                format!("{container}|{path}|{}", place.name)
            })
        };
        assert_eq!(place("/users/tbl/k").unwrap(), "users|tbl/|k");
        assert_eq!(place("//users//a/b///k.1").unwrap(), "users|a/b/|k.1");
        assert_eq!(place("/users/k").unwrap(), "users||k");
        assert!(place("/users").is_err());
        assert!(place("/users/../k").is_err());
        assert!(place(&format!("/users/{}", "x".repeat(256))).is_err());
        let deep = format!("/users/{}", "d/".repeat(2100));
        assert!(Directory::parse(&deep).is_err());
        let table = Directory::parse("/users/").unwrap();
        assert_eq!(table.below("/a/b").unwrap().path, "a/b/");
    }

    #[test]
    fn names_of_containers_are_checked() {
        for name in ["users", "big-data", "a", "1a", "x_1"] {
            assert!(check_container_name(name).is_ok(), "{name}");
        }
        let long = "x".repeat(129);
        for name in [
            "", "Users", "-a", "a-", "12", "a--b", "a__b", "a.b", "metrics", &long,
        ] {
            assert!(check_container_name(name).is_err(), "{name}");
        }
    }
}
