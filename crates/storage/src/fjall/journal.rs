//! The journal check: a torn end is cut off, damage before the end is refused.
//!
//! fjall replays its journal when it opens, and it takes the first record that it cannot read for the
//! end. That is right after a crash, when the last records were on their way to the disk. It is wrong
//! when a bit of an old record flipped: the records after it were acknowledged, and would be dropped
//! without a word. So we read the journal before fjall does, and tell the two apart.
//!
//! ```text
//!   a batch, integers little-endian
//!   ┌────┬───────────┬───────────┐ ┌─ count times ───────────────────────────────┐ ┌────┬──────────┬─────────┐
//!   │ 01 │ count u32 │ seqno u64 │ │ item, or clear                              │ │ 03 │ xxh3 u64 │ F J L 3 │
//!   └────┴───────────┴───────────┘ └─────────────────────────────────────────────┘ └────┴──────────┴─────────┘
//!                                   the checksum covers these bytes ─┘
//!   item
//!   ┌────┬─────────┬────────────────┬───────────┬────────┬──────────┬───────────┬─────┬────────┐
//!   │ 02 │ kind u8 │ compression u8 │ space u64 │ k u16  │ size u32 │ v u32     │ key │ value  │
//!   └────┴─────────┴────────────────┴───────────┴────────┴──────────┴───────────┴─────┴────────┘
//!                                                 └ bytes of the key    └ bytes of the value as stored
//!   clear
//!   ┌────┬───────────┐
//!   │ 04 │ space u64 │      a journal is made long and full of zeros, which follow the last batch
//!   └────┴───────────┘
//! ```
//!
//! From the last good batch onwards:
//!
//! ```text
//!   zeros only                               the end
//!   bytes, but no good batch after them      a torn end: cut off
//!   bytes, a page of zeros, a good batch     a torn end: the disk wrote the later page first
//!   bytes, then a good batch                 damage: refused
//!   any bytes, in a journal that is sealed   damage: it was synced before the next one was begun
//! ```
//!
//! fjall's checksum leaves out the sequence number, so a flipped bit there goes unseen. And the last
//! record that was synced and a torn end look alike when that very record is damaged; no
//! journal without a second copy can tell.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::failure::translate_io;
use crate::{Error, Result};

/// What disks and file systems write as a whole.
const PAGE_BYTES: usize = 4_096;

/// How much of a journal is read at a time.
const CHUNK_BYTES: usize = 1 << 16;

const TRAILER: &[u8] = b"FJL\x03";

/// Checks that the journals lost nothing but a torn end, which is cut off.
///
/// The caller holds the lock of the directory.
pub(super) fn check(engine: &Path) -> Result<()> {
    let mut journals = find_journals(engine)?;
    let Some((_, active)) = journals.pop() else {
        if !has_spaces(engine)? {
            return Ok(());
        }
        let detail = "its journal is missing".into();
        return Err(Error::Damaged {
            path: engine.to_path_buf(),
            detail,
        });
    };
    for (_, sealed) in journals {
        if let Verdict::Torn { at } | Verdict::Damaged { at } = inspect(&read_journal(&sealed)?) {
            return Err(damaged(sealed, at));
        }
    }
    match inspect(&read_journal(&active)?) {
        Verdict::Whole => Ok(()),
        Verdict::Torn { at } => cut_off(&active, at),
        Verdict::Damaged { at } => Err(damaged(active, at)),
    }
}

fn damaged(path: PathBuf, at: usize) -> Error {
    Error::Damaged {
        path,
        detail: format!("the record at byte {at} is not what was written"),
    }
}

/// Removes the journal of an engine that nothing was written to.
///
/// fjall appends to a journal that it finds, and makes one ahead of its records only when it finds
/// none. An engine without spaces is whole without a journal.
pub(super) fn remove_empty(engine: &Path) -> Result<()> {
    for (_, path) in find_journals(engine)? {
        fs::remove_file(&path).map_err(|error| translate_io("remove", &path, error))?;
    }
    Ok(())
}

/// The number of the newest journal, and where it lies.
pub(super) fn newest(engine: &Path) -> Result<Option<(u64, PathBuf)>> {
    Ok(find_journals(engine)?.pop())
}

/// Whether there is any space beside fjall's own, in which it keeps their names.
fn has_spaces(engine: &Path) -> Result<bool> {
    let folder = engine.join("keyspaces");
    let entries = fs::read_dir(&folder).map_err(|error| translate_io("list", &folder, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| translate_io("list", &folder, error))?;
        if entry.file_name() != "0" {
            return Ok(true);
        }
    }
    Ok(false)
}

fn find_journals(engine: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut journals: Vec<(u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(engine).map_err(|error| translate_io("list", engine, error))? {
        let path = entry
            .map_err(|error| translate_io("list", engine, error))?
            .path();
        if path.extension().is_none_or(|extension| extension != "jnl") {
            continue;
        }
        let number = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .map(str::parse);
        let Some(Ok(number)) = number else {
            return Err(Error::Damaged {
                path,
                detail: "its name is no journal's".into(),
            });
        };
        journals.push((number, path));
    }
    journals.sort();
    Ok(journals)
}

/// The content of a journal without the zeros at its end, which are never in memory.
fn read_journal(path: &Path) -> Result<Vec<u8>> {
    let failed = |error| translate_io("read", path, error);
    let mut file = File::open(path).map_err(failed)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut content = Vec::new();
    let mut zeros = 0;
    loop {
        let count = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        let read = chunk.get(..count).expect("a read fills at most the chunk");
        // Journals are made with megabytes of zeros ahead; adding them up goes many at a time.
        let used = match read.iter().fold(0, |all, byte| all | byte) {
            0 => 0,
            _ => read
                .iter()
                .rposition(|&byte| byte != 0)
                .map_or(0, |last| last + 1),
        };
        if used > 0 {
            content.resize(content.len() + zeros, 0);
            content.extend_from_slice(read.get(..used).expect("a position lies in the chunk"));
            zeros = 0;
        }
        zeros += count - used;
    }
    Ok(content)
}

fn cut_off(path: &Path, at: usize) -> Result<()> {
    let length = u64::try_from(at).expect("a position in a file fits 64 bits");
    let file = OpenOptions::new().write(true).open(path);
    let cut = file.and_then(|file| {
        file.set_len(length)?;
        file.sync_all()
    });
    cut.map_err(|error| translate_io("cut the torn end off", path, error))
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Whole,
    /// Nothing good follows the byte, or a hole does.
    Torn {
        at: usize,
    },
    /// Something good follows what is bad at the byte.
    Damaged {
        at: usize,
    },
}

fn inspect(content: &[u8]) -> Verdict {
    let mut rest = content;
    while let Some(after) = skip_batch(rest) {
        rest = after;
    }
    let at = content.len() - rest.len();
    if rest.is_empty() {
        return Verdict::Whole;
    }
    let next = (1..rest.len()).find(|&next| rest.get(next..).and_then(skip_batch).is_some());
    match next {
        Some(next) if !has_hole(content, at, at + next) => Verdict::Damaged { at },
        _ => Verdict::Torn { at },
    }
}

/// Whether a whole page between two positions was never written.
fn has_hole(content: &[u8], from: usize, to: usize) -> bool {
    let first = from.next_multiple_of(PAGE_BYTES);
    let pages = content
        .get(first..to)
        .unwrap_or_default()
        .chunks_exact(PAGE_BYTES);
    pages
        .into_iter()
        .any(|page| page.iter().all(|&byte| byte == 0))
}

/// What follows the batch that `content` begins with, if it does and its checksum is right.
fn skip_batch(content: &[u8]) -> Option<&[u8]> {
    let (&[1], rest) = content.split_first_chunk()? else {
        return None;
    };
    let (count, rest) = rest.split_first_chunk()?;
    let (_seqno, items) = rest.split_first_chunk::<8>()?;
    let mut rest = items;
    for _ in 0..u32::from_le_bytes(*count) {
        rest = skip_item(rest)?;
    }
    let covered = items.get(..items.len() - rest.len())?;
    let (&[3], rest) = rest.split_first_chunk()? else {
        return None;
    };
    let (checksum, rest) = rest.split_first_chunk()?;
    let rest = rest.strip_prefix(TRAILER)?;
    let mut hasher = Xxh3::new();
    hasher.update(covered);
    (hasher.digest() == u64::from_le_bytes(*checksum)).then_some(rest)
}

fn skip_item(content: &[u8]) -> Option<&[u8]> {
    let (tag, rest) = content.split_first()?;
    match tag {
        2 => {
            let (_kind_compression_space, rest) = rest.split_first_chunk::<10>()?;
            let (key, rest) = rest.split_first_chunk()?;
            let (_size, rest) = rest.split_first_chunk::<4>()?;
            let (value, rest) = rest.split_first_chunk()?;
            let rest = rest.get(usize::from(u16::from_le_bytes(*key))..)?;
            rest.get(usize::try_from(u32::from_le_bytes(*value)).ok()?..)
        }
        4 => Some(rest.split_first_chunk::<8>()?.1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(value: &[u8]) -> Vec<u8> {
        let mut items = vec![2, 0, 0];
        items.extend(1_u64.to_le_bytes());
        items.extend(1_u16.to_le_bytes());
        let length = u32::try_from(value.len()).unwrap().to_le_bytes();
        items.extend([length, length].concat());
        items.push(b'k');
        items.extend(value);
        let mut hasher = Xxh3::new();
        hasher.update(&items);
        let mut bytes = vec![1];
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(7_u64.to_le_bytes());
        bytes.extend(items);
        bytes.push(3);
        bytes.extend(hasher.digest().to_le_bytes());
        bytes.extend(TRAILER);
        bytes
    }

    #[test]
    fn whole_batches_are_whole() {
        assert_eq!(inspect(&[]), Verdict::Whole);
        assert_eq!(
            inspect(&[batch(b"one"), batch(b""), batch(b"three")].concat()),
            Verdict::Whole
        );
    }

    #[test]
    fn any_cut_tears_the_last_batch() {
        let (first, last) = (batch(b"one"), batch(b"two"));
        let both = [first.clone(), last].concat();
        for cut in first.len() + 1..both.len() {
            assert_eq!(
                inspect(&both[..cut]),
                Verdict::Torn { at: first.len() },
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn any_flipped_bit_before_a_good_batch_is_damage() {
        let (first, second) = (batch(b"one"), batch(b"two"));
        let all = [first.clone(), second.clone(), batch(b"three")].concat();
        // The sequence number, behind five bytes, is the only field that no checksum covers.
        let offsets = (0..second.len()).filter(|offset| !(5..13).contains(offset));
        for offset in offsets {
            for bit in 0..8 {
                let mut bytes = all.clone();
                bytes[first.len() + offset] ^= 1 << bit;
                let expected = Verdict::Damaged { at: first.len() };
                assert_eq!(inspect(&bytes), expected, "bit {bit} of byte {offset}");
            }
        }
    }

    #[test]
    fn a_hole_before_a_good_batch_is_torn() {
        let (first, second) = (batch(b"one"), batch(&vec![9; 3 * PAGE_BYTES]));
        let mut bytes = [first.clone(), second, batch(b"three")].concat();
        bytes[PAGE_BYTES..2 * PAGE_BYTES].fill(0);
        assert_eq!(inspect(&bytes), Verdict::Torn { at: first.len() });
    }
}
