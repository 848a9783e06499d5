//! Paths of directories in a container, and the partitions among them.
//!
//! ```text
//!   taxis/year=2018/month=5/        the root is ``, all others end with a slash
//!         ╰───┬───╯ ╰──┬──╯
//!         partitions of the table `taxis/`: attribute=value
//! ```

/// The directory above, and the last part of the path; nothing is above the root.
pub fn parent(path: &str) -> Option<(&str, &str)> {
    let bare = path.strip_suffix('/')?;
    let split = bare.rfind('/').map_or(0, |slash| slash + 1);
    bare.split_at_checked(split)
}

/// The least path that is above every path below this one.
pub fn above(path: &str) -> Option<String> {
    // '0' is the character after '/'.
    path.strip_suffix('/').map(|bare| format!("{bare}0"))
}

/// The attributes that a directory below a table stands for, outermost first; nothing if it is no
/// partition of the table. The table itself stands for none.
pub fn partition<'p>(root: &str, path: &'p str) -> Option<Vec<(&'p str, &'p str)>> {
    let below = path.strip_prefix(root)?;
    let segments = below.split_terminator('/');
    segments.map(attribute).collect()
}

/// The attribute and value that one part of a path stands for.
pub fn attribute(segment: &str) -> Option<(&str, &str)> {
    let (name, value) = segment.split_once('=')?;
    (!name.is_empty()).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_and_bounds_of_directories() {
        assert_eq!(parent(""), None);
        assert_eq!(parent("a/"), Some(("", "a")));
        assert_eq!(parent("a/year=2018/"), Some(("a/", "year=2018")));
        assert_eq!(above("a/b/").as_deref(), Some("a/b0"));
        assert_eq!(above(""), None);
    }

    #[test]
    fn partitions_are_told_from_other_directories() {
        assert_eq!(partition("a/", "a/"), Some(vec![]));
        assert_eq!(
            partition("a/", "a/year=2018/month=5/"),
            Some(vec![("year", "2018"), ("month", "5")])
        );
        assert_eq!(partition("", "x=/"), Some(vec![("x", "")]));
        assert_eq!(partition("a/", "a/old/year=2018/"), None);
        assert_eq!(partition("a/", "a/=1/"), None);
        assert_eq!(partition("a/", "b/"), None);
    }
}
