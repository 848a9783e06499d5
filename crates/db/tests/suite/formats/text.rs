//! A data directory as text: every file with its length and those of its bytes that are not zero.
//!
//! ```text
//!   file EVENKEEL 11
//!   │    └ path   └ length
//!   00000000 6576656e6b65656c20310a                   |evenkeel 1.|
//!   └ offset └ up to 32 bytes                         └ as ASCII, for the reader
//! ```
//!
//! Lines of zeros are left out, and so is the content of `RESERVE`, which means nothing.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const LINE_BYTES: usize = 32;

/// A file whose content is not kept.
const RESERVE: &str = "RESERVE";

/// Writes a directory down.
pub(crate) fn describe(root: &Path) -> String {
    let mut paths = Vec::new();
    collect(root, &mut paths, Path::new(""));
    paths.sort();
    paths.iter().map(|path| describe_file(root, path)).collect()
}

fn collect(root: &Path, paths: &mut Vec<String>, below: &Path) {
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => collect(root, paths, &path),
            false => paths.push(path.to_str().unwrap().to_owned()),
        }
    }
}

fn describe_file(root: &Path, path: &str) -> String {
    let content = fs::read(root.join(path)).unwrap();
    let mut text = format!("file {path} {}\n", content.len());
    let lines = content.chunks(LINE_BYTES).enumerate();
    for (number, line) in lines.filter(|_| path != RESERVE) {
        if line.iter().any(|&byte| byte != 0) {
            let hex = line.iter().fold(String::new(), |mut hex, byte| {
                write!(hex, "{byte:02x}").unwrap();
                hex
            });
            let shown = |&byte: &u8| match byte {
                b' '..=b'~' => char::from(byte),
                _ => '.',
            };
            let ascii: String = line.iter().map(shown).collect();
            writeln!(text, "{:08x} {hex:64} |{ascii}|", number * LINE_BYTES).unwrap();
        }
    }
    text
}

/// Makes the files of a text again, of those whose paths are `wanted`.
pub(crate) fn materialize(text: &str, root: &Path, wanted: impl Fn(&str) -> bool) {
    let mut file = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(named) = line.strip_prefix("file ") {
            let (path, length) = named.rsplit_once(' ').unwrap();
            file = wanted(path).then(|| make_file(&root.join(path), length.parse().unwrap()));
        } else if let Some(file) = &file {
            let (offset, rest) = line.split_once(' ').unwrap();
            let (hex, _) = rest.split_once(' ').unwrap();
            let offset = u64::from_str_radix(offset, 16).unwrap();
            file.write_all_at(&bytes_of(hex), offset).unwrap();
        }
    }
}

fn make_file(path: &Path, length: u64) -> File {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = File::create_new(path).unwrap();
    file.set_len(length).unwrap();
    file
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digit = |place: usize| u8::from_str_radix(&hex[place..place + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}
