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
//!   anything, before what is known to be synced   damage: refused; so it is when nothing is there
//!   zeros only                                    the end
//!   bytes, but no good batch after them           a torn end: cut off
//!   bytes, a sector of zeros, a good batch        a torn end: the disk wrote the later sector first
//!   bytes, zeros up to a sector's end, …          the same, if syncs are noted: a batch is written in
//!                                                 pieces, which end anywhere in a sector
//!   bytes, then a good batch                      damage
//!   any bytes, in a journal that is sealed        damage: it was synced before the next one was begun
//! ```
//!
//! What is known to be synced is noted beside the journal ([`super::synced`]).
//!
//! fjall's checksum leaves out the number of a batch. Numbers only rise, so one that does not is damage;
//! a flipped bit that keeps the order changes nothing that can be read.
//!
//! **Written once more.** A sync that failed may have marked pages as clean that never reached the disk,
//! and another process can read them from memory and sync in vain. So what is not known to be synced is
//! written again when the journal is opened.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{Whence, lseek};
use xxhash_rust::xxh3::Xxh3;

use super::failure::translate_io;
use super::synced::Note;
use crate::{Error, Result};

/// What disks write as a whole.
const SECTOR_BYTES: usize = 512;

/// How much of a journal is read at a time.
const CHUNK_BYTES: usize = 1 << 16;

const TRAILER: &[u8] = b"FJL\x03";

/// With more spaces than this, journals are joined before fjall opens them.
const SPACES_SEALED_MAX: usize = 500;

/// Where the number of a batch lies in it.
const SEQNO: Range<usize> = 5..13;

/// What the journals of an engine end with, all of which is synced.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Checked {
    /// The highest number of a batch.
    pub(super) highest: Option<u64>,
    /// The newest journal, and the highest number there.
    pub(super) end: Option<(u64, u64)>,
}

/// Checks that the journals lost nothing but a torn end, which is cut off, and syncs what is left.
///
/// The caller holds the lock of the directory.
pub(super) fn check(engine: &Path, note: Option<Note>) -> Result<Checked> {
    let mut journals = find_journals(engine)?;
    let noted = note.unwrap_or_default();
    let newest = journals
        .pop()
        .filter(|(number, _)| *number >= noted.journal);
    let Some((number, active)) = newest else {
        if !has_spaces(engine)? {
            return Ok(Checked::default());
        }
        return Err(Error::Damaged {
            path: engine.to_path_buf(),
            detail: "its journal is missing".into(),
        });
    };
    let ordered = |number| note.is_some() && number >= noted.ordered_from;
    let mut highest = None;
    for (number, sealed) in journals {
        let inspected = inspect(&read_journal(&sealed)?, None, ordered(number));
        if let Verdict::Torn { at } | Verdict::Damaged { at } = inspected.verdict {
            return Err(damaged(sealed, at));
        }
        highest = highest.max(inspected.highest);
    }
    // A batch that was synced before this journal was begun need not lie in it.
    let synced = note.filter(|note| note.journal == number);
    let synced = synced.map(|note| note.seqno);
    let mut content = read_journal(&active)?;
    let inspected = inspect(&content, synced, ordered(number));
    match inspected.verdict {
        Verdict::Whole => {}
        Verdict::Torn { at } => {
            cut_off(&active, at)?;
            content.truncate(at);
        }
        Verdict::Damaged { at } => return Err(damaged(active, at)),
    }
    write_again(&active, &content, inspected.synced)?;
    Ok(Checked {
        highest: highest.max(inspected.highest),
        end: inspected.highest.map(|highest| (number, highest)),
    })
}

fn damaged(path: PathBuf, at: usize) -> Error {
    Error::Damaged {
        path,
        detail: format!("the record at byte {at} is not what was written"),
    }
}

/// Writes what a journal holds behind a position to the same place, and syncs it.
fn write_again(path: &Path, content: &[u8], from: usize) -> Result<()> {
    let rest = content.get(from..).unwrap_or_default();
    if rest.is_empty() {
        return Ok(());
    }
    let position = u64::try_from(from).expect("a position in a file fits 64 bits");
    let file = OpenOptions::new().write(true).open(path);
    let written = file.and_then(|file| {
        file.write_all_at(rest, position)?;
        file.sync_all()
    });
    written.map_err(|error| translate_io("write", path, error))
}

/// Makes one journal of all, for an engine with many spaces.
///
/// fjall asks its threads to flush each space that a sealed journal has rows of, before it has threads:
/// with more spaces than requests have room, it would wait for ever. What lies in the newest journal is
/// not flushed at once. A crash on the way leaves batches in two journals, with the same numbers.
pub(super) fn join(engine: &Path) -> Result<()> {
    let journals = find_journals(engine)?;
    let Some(((_, newest), older)) = journals.split_last() else {
        return Ok(());
    };
    if older.is_empty() || count_spaces(engine)? <= SPACES_SEALED_MAX {
        return Ok(());
    }
    let mut all = Vec::new();
    for (_, path) in &journals {
        all.append(&mut read_journal(path)?);
    }
    write_in_place_of(newest, &all)?;
    for (_, path) in older {
        fs::remove_file(path).map_err(|error| translate_io("remove", path, error))?;
    }
    Ok(())
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

/// Where the journal of a number lies.
pub(super) fn path(engine: &Path, number: u64) -> PathBuf {
    engine.join(format!("{number}.jnl"))
}

/// Whether a journal holds any batch, or the beginning of one.
pub(super) fn is_begun(engine: &Path, number: u64) -> bool {
    let mut first = [0];
    let read = File::open(path(engine, number)).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first != [0]
}

/// The number of the newest journal, and where it lies.
pub(super) fn newest(engine: &Path) -> Result<Option<(u64, PathBuf)>> {
    Ok(find_journals(engine)?.pop())
}

/// Whether there is any space beside fjall's own, in which it keeps their names.
fn has_spaces(engine: &Path) -> Result<bool> {
    Ok(count_spaces(engine)? > 1)
}

/// How many spaces there are, fjall's own and those that are being dropped included.
fn count_spaces(engine: &Path) -> Result<usize> {
    let folder = engine.join("keyspaces");
    let entries = fs::read_dir(&folder).map_err(|error| translate_io("list", &folder, error))?;
    Ok(entries.count())
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
        // What was never written is not read either, where the file system tells.
        let here = content.len() + zeros;
        zeros += data_after(&file, here).saturating_sub(here);
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

/// Moves to the next byte at or behind `position` that the file has a block for. Answers with where that
/// is, or with `position` if there is none or the file system does not tell.
fn data_after(file: &File, position: usize) -> usize {
    let from = i64::try_from(position).unwrap_or(i64::MAX);
    match lseek(file, from, Whence::SeekData) {
        Ok(found) => usize::try_from(found).unwrap_or(position),
        Err(Errno::ENXIO) => lseek(file, 0, Whence::SeekEnd).map_or(position, |_| position),
        Err(_) => position,
    }
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

/// Puts another file in the place of the newest journal, with what it held up to the last good batch, and
/// syncs it. Something good behind what is bad is kept, for [`check`] to refuse.
///
/// A batch whose write failed is left out: the last one, if its number is `failed` or a later one. The
/// engine that was closed has the old file open, and writes what it had buffered there in the end.
pub(super) fn replace(engine: &Path, failed: Option<u64>) -> Result<()> {
    let journals = find_journals(engine)?;
    let Some((_, newest)) = journals.last() else {
        return Ok(());
    };
    for (_, path) in journals.iter().rev() {
        let mut content = read_journal(path)?;
        let end = end_without(&content, failed);
        if end < content.len() || path == newest {
            content.truncate(end);
            write_in_place_of(path, &content)?;
        }
        // fjall may have begun another journal since, which has no batch yet.
        if end > 0 || failed.is_none() {
            break;
        }
    }
    Ok(())
}

/// Where a journal ends without a torn end and without a batch that failed.
fn end_without(content: &[u8], failed: Option<u64>) -> usize {
    let (mut start, mut end) = (0, 0);
    while let Some(after) = content.get(end..).and_then(skip_batch) {
        (start, end) = (end, content.len() - after.len());
    }
    let rest = inspect(content.get(end..).unwrap_or_default(), None, false);
    let last = content.get(start..end).and_then(seqno_of);
    match rest.verdict {
        Verdict::Damaged { .. } => content.len(),
        _ if failed.is_some() && last >= failed => start,
        _ => end,
    }
}

/// Writes a file beside another, syncs it and moves it there.
fn write_in_place_of(path: &Path, content: &[u8]) -> Result<()> {
    let draft = path.with_extension("new");
    let moved = File::create(&draft).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    });
    moved.map_err(|error| translate_io("write", path, error))
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Whole,
    /// Nothing good follows the byte, or a hole does, and nothing there is known to be synced.
    Torn {
        at: usize,
    },
    /// Something good follows what is bad at the byte, or what was synced there is missing.
    Damaged {
        at: usize,
    },
}

/// What a journal holds.
#[derive(Debug)]
struct Inspected {
    verdict: Verdict,
    /// The highest number of a batch.
    highest: Option<u64>,
    /// Up to where it is known to be synced.
    synced: usize,
}

/// Looks at all batches: one with the number `synced` or a later one has to be there, and numbers have
/// to rise if they are `ordered`.
fn inspect(content: &[u8], synced: Option<u64>, ordered: bool) -> Inspected {
    let mut inspected = Inspected {
        verdict: Verdict::Whole,
        highest: None,
        synced: 0,
    };
    let mut at = 0;
    while let Some(after) = content.get(at..).and_then(skip_batch) {
        let seqno = content.get(at..).and_then(seqno_of);
        if ordered && seqno <= inspected.highest {
            inspected.verdict = Verdict::Damaged { at };
            return inspected;
        }
        at = content.len() - after.len();
        if inspected.highest < synced {
            inspected.synced = at;
        }
        inspected.highest = inspected.highest.max(seqno);
    }
    let rest = content.get(at..).unwrap_or_default();
    inspected.verdict = if inspected.highest < synced {
        Verdict::Damaged { at }
    } else if rest.is_empty() {
        Verdict::Whole
    } else {
        let next = (1..rest.len()).find(|&next| rest.get(next..).and_then(skip_batch).is_some());
        match next {
            Some(next) if !has_hole(content, at..at + next, ordered) => Verdict::Damaged { at },
            _ => Verdict::Torn { at },
        }
    };
    inspected
}

/// The number of the batch that `content` begins with.
fn seqno_of(content: &[u8]) -> Option<u64> {
    let bytes = content.get(SEQNO)?.try_into().ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// Whether a sector of a range was not written to its end. Of the first one the part in front may have
/// been written before; of the others too, where a note bounds what may be missing.
fn has_hole(content: &[u8], range: Range<usize>, noted: bool) -> bool {
    let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
    let first = range.start.next_multiple_of(SECTOR_BYTES) - range.start;
    let Some((part, sectors)) = content
        .get(range)
        .and_then(|bytes| bytes.split_at_checked(first))
    else {
        return false;
    };
    let mut sectors = sectors.chunks_exact(SECTOR_BYTES);
    match noted {
        false => (first > 0 && is_zero(part)) || sectors.any(is_zero),
        true => part.ends_with(&[0]) || sectors.any(|sector| sector.ends_with(&[0])),
    }
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
        numbered(7, value)
    }

    fn numbered(seqno: u64, value: &[u8]) -> Vec<u8> {
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
        bytes.extend(seqno.to_le_bytes());
        bytes.extend(items);
        bytes.push(3);
        bytes.extend(hasher.digest().to_le_bytes());
        bytes.extend(TRAILER);
        bytes
    }

    /// What is found where nothing is known of syncs and orders.
    fn verdict(content: &[u8]) -> Verdict {
        inspect(content, None, false).verdict
    }

    #[test]
    fn whole_batches_are_whole() {
        assert_eq!(verdict(&[]), Verdict::Whole);
        assert_eq!(
            verdict(&[batch(b"one"), batch(b""), batch(b"three")].concat()),
            Verdict::Whole
        );
    }

    #[test]
    fn any_cut_tears_the_last_batch_unless_it_was_synced() {
        let (first, last) = (numbered(7, b"one"), numbered(9, b"two"));
        let both = [first.clone(), last].concat();
        let at = first.len();
        for cut in at + 1..both.len() {
            assert_eq!(verdict(&both[..cut]), Verdict::Torn { at }, "cut at {cut}");
            for synced in [8, 9] {
                let found = inspect(&both[..cut], Some(synced), true).verdict;
                assert_eq!(found, Verdict::Damaged { at }, "cut at {cut}");
            }
            assert_eq!(
                inspect(&both[..cut], Some(7), true).verdict,
                Verdict::Torn { at }
            );
        }
        assert_eq!(
            inspect(&first, Some(8), true).verdict,
            Verdict::Damaged { at },
            "nothing is left of what was synced"
        );
        assert_eq!(inspect(&both, Some(8), true).verdict, Verdict::Whole);
        assert_eq!(inspect(&both, Some(7), true).synced, at);
    }

    #[test]
    fn any_flipped_bit_before_a_good_batch_is_damage() {
        let (first, second) = (numbered(6, b"one"), numbered(7, b"two"));
        let all = [first.clone(), second.clone(), numbered(8, b"three")].concat();
        for offset in 0..second.len() {
            for bit in 0..8 {
                let mut bytes = all.clone();
                bytes[first.len() + offset] ^= 1 << bit;
                // A number that is too high is found out by the batch behind it.
                let found = inspect(&bytes, None, true).verdict;
                assert!(
                    matches!(found, Verdict::Damaged { at } if at >= first.len()),
                    "bit {bit} of byte {offset}: {found:?}"
                );
            }
        }
    }

    /// Zeros before a good batch: the disk may have written the later sector first, but not when both were
    /// synced.
    #[test]
    fn a_hole_before_a_good_batch_is_torn_unless_it_was_synced() {
        let (first, second) = (numbered(1, b"one"), numbered(2, &[9; 3 * SECTOR_BYTES]));
        let whole = [first.clone(), second, numbered(3, b"three")].concat();
        let at = first.len();
        let holes = [
            at..SECTOR_BYTES,
            SECTOR_BYTES..2 * SECTOR_BYTES,
            at..2 * SECTOR_BYTES,
            SECTOR_BYTES + 100..2 * SECTOR_BYTES,
            2 * SECTOR_BYTES - 1..2 * SECTOR_BYTES,
        ];
        for hole in holes {
            let mut bytes = whole.clone();
            bytes[hole].fill(0);
            assert_eq!(inspect(&bytes, Some(1), true).verdict, Verdict::Torn { at });
            for synced in [2, 3] {
                let found = inspect(&bytes, Some(synced), true).verdict;
                assert_eq!(found, Verdict::Damaged { at });
            }
        }
        let mut bytes = whole.clone();
        bytes[SECTOR_BYTES..2 * SECTOR_BYTES - 1].fill(0);
        assert_eq!(
            inspect(&bytes, Some(1), true).verdict,
            Verdict::Damaged { at },
            "every sector was written to its end"
        );
        let mut bytes = whole.clone();
        bytes[SECTOR_BYTES + 1..2 * SECTOR_BYTES].fill(0);
        assert_eq!(
            inspect(&bytes, None, false).verdict,
            Verdict::Damaged { at },
            "no sector was left out, and no note bounds what may be missing"
        );
    }

    #[test]
    fn what_is_written_again_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.jnl");
        let content = [numbered(1, b"one"), numbered(2, b"two")].concat();
        fs::write(&path, &content).unwrap();
        for from in 0..=content.len() {
            write_again(&path, &content, from).unwrap();
            assert_eq!(fs::read(&path).unwrap(), content);
        }
    }

    #[test]
    fn a_failed_batch_is_left_out_and_its_writer_has_another_file() {
        let [one, two] = [numbered(1, b"one"), numbered(2, b"two")];
        let both = [one.clone(), two.clone()].concat();
        let torn = [both.clone(), numbered(3, b"three")[..20].to_vec()].concat();
        let kept = |content: &[u8], failed| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("1.jnl");
            fs::write(&path, content).unwrap();
            let stale = OpenOptions::new().append(true).open(&path).unwrap();
            replace(folder.path(), failed).unwrap();
            (&stale).write_all(b"what was buffered").unwrap();
            fs::read(&path).unwrap()
        };
        assert_eq!(kept(&torn, None), both);
        assert_eq!(kept(&torn, Some(3)), both);
        assert_eq!(kept(&both, Some(2)), one);
        assert_eq!(kept(&both, None), both);
        let mut damaged = both.clone();
        damaged[8] ^= 1;
        damaged[30] ^= 1;
        assert_eq!(kept(&damaged, Some(2)), damaged);
    }

    #[test]
    fn journals_of_many_spaces_are_joined_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for (number, content) in [(2, "two"), (3, "three"), (10, "ten")] {
            let mut bytes = numbered(number, content.as_bytes());
            bytes.resize(100_000, 0);
            fs::write(folder.path().join(format!("{number}.jnl")), bytes).unwrap();
        }
        let spaces = |count| {
            for space in 0..count {
                fs::create_dir_all(folder.path().join(format!("keyspaces/{space}"))).unwrap();
            }
        };
        spaces(10);
        join(folder.path()).unwrap();
        assert_eq!(find_journals(folder.path()).unwrap().len(), 3);
        spaces(SPACES_SEALED_MAX + 1);
        join(folder.path()).unwrap();
        let journals = find_journals(folder.path()).unwrap();
        let [(10, path)] = journals.as_slice() else {
            panic!("{journals:?}");
        };
        let all = [
            numbered(2, b"two"),
            numbered(3, b"three"),
            numbered(10, b"ten"),
        ]
        .concat();
        assert!(read_journal(path).unwrap() == all);
    }
}
