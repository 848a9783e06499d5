//! Where the lines of a trace lie: files of a folder, or memory.
//!
//! Each segment is a trace of its own, so the oldest can go and the rest is still whole. The newest is
//! appended to and never synced: after a crash of the program it is there to its last line, after one
//! of the machine it may end in the middle, and the reader says so.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Cursor, Write};
use std::path::{Path, PathBuf};

/// How the names of segments end.
const SUFFIX: &str = ".trace.jsonl";
/// The most that is kept in memory where there is no folder.
const MEMORY_BYTES_MAX: u64 = 4 << 20;
/// Segments there are at most, however small they are.
const SEGMENTS_MAX: usize = 64;
/// A segment is full with this part of all.
const PARTS: u64 = 8;

/// The segments.
#[derive(Debug)]
pub(super) struct Segments {
    place: Place,
    /// Their numbers and bytes, the newest last.
    known: VecDeque<(u64, u64)>,
    /// Whether the newest may be appended to.
    open: bool,
}

#[derive(Debug)]
enum Place {
    Folder(PathBuf),
    Memory(VecDeque<(u64, Vec<u8>)>),
}

impl Segments {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        let Some(folder) = folder else {
            return Self {
                place: Place::Memory(VecDeque::new()),
                known: VecDeque::new(),
                open: false,
            };
        };
        // A folder that is not there yet has none.
        let mut known = listed(&folder).unwrap_or_default();
        known.make_contiguous().sort_unstable();
        Self {
            place: Place::Folder(folder),
            known,
            open: false,
        }
    }

    /// Whether the next lines need a segment of their own.
    pub(super) fn is_full(&self, bytes_max: u64) -> bool {
        let newest = self.known.back().map_or(0, |(_, bytes)| *bytes);
        !self.open || newest >= self.limit(bytes_max) / PARTS
    }

    /// Begins a segment.
    pub(super) fn begin(&mut self) {
        let number = self.known.back().map_or(0, |(number, _)| *number) + 1;
        self.known.push_back((number, 0));
        self.open = true;
    }

    /// No more goes into the newest segment.
    pub(super) fn close(&mut self) {
        self.open = false;
    }

    /// Appends lines to the newest segment, and lets the oldest go that there is no room for.
    pub(super) fn append(&mut self, lines: &[u8], bytes_max: u64) -> io::Result<()> {
        let limit = self.limit(bytes_max);
        let Some((number, bytes)) = self.known.back_mut() else {
            return Ok(());
        };
        *bytes += u64::try_from(lines.len()).unwrap_or(u64::MAX);
        match &mut self.place {
            Place::Memory(kept) => match kept.back_mut() {
                Some((newest, text)) if newest == number => text.extend_from_slice(lines),
                _ => kept.push_back((*number, lines.to_vec())),
            },
            Place::Folder(folder) => {
                fs::create_dir_all(&*folder)?;
                let mut options = OpenOptions::new();
                let mut file = options
                    .create(true)
                    .append(true)
                    .open(path(folder, *number))?;
                file.write_all(lines)?;
            }
        }
        self.shrink(limit)
    }

    fn limit(&self, bytes_max: u64) -> u64 {
        match &self.place {
            Place::Memory(_) => bytes_max.min(MEMORY_BYTES_MAX),
            Place::Folder(_) => bytes_max,
        }
    }

    fn shrink(&mut self, limit: u64) -> io::Result<()> {
        let bytes =
            |known: &VecDeque<(u64, u64)>| known.iter().map(|(_, bytes)| bytes).sum::<u64>();
        while self.known.len() > 1
            && (bytes(&self.known) > limit || self.known.len() > SEGMENTS_MAX)
        {
            let Some((oldest, _)) = self.known.pop_front() else {
                break;
            };
            match &mut self.place {
                Place::Memory(kept) => kept.retain(|(number, _)| *number != oldest),
                Place::Folder(folder) => match fs::remove_file(path(folder, oldest)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                },
            }
        }
        Ok(())
    }

    /// The numbers of the segments, the oldest first.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.known.iter().map(|(number, _)| *number)
    }

    /// The text of a segment; nothing if it has gone.
    pub(super) fn read(&self, number: u64) -> io::Result<Option<Box<dyn BufRead + '_>>> {
        match &self.place {
            Place::Memory(kept) => {
                let found = kept.iter().find(|(other, _)| *other == number);
                Ok(found.map(|(_, text)| Box::new(Cursor::new(text)) as Box<dyn BufRead>))
            }
            Place::Folder(folder) => match File::open(path(folder, number)) {
                Ok(file) => Ok(Some(Box::new(BufReader::new(file)))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            },
        }
    }
}

fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:010}{SUFFIX}"))
}

fn listed(folder: &Path) -> io::Result<VecDeque<(u64, u64)>> {
    let mut known = VecDeque::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            known.push_back((number, entry.metadata()?.len()));
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(segments: &mut Segments, rounds: usize) -> u64 {
        let mut most = 0;
        for _ in 0..rounds {
            if segments.is_full(1_000) {
                segments.close();
                segments.begin();
            }
            segments.append(&[b'x'; 50], 1_000).unwrap();
            let bytes = segments.known.iter().map(|(_, bytes)| bytes).sum();
            most = most.max(bytes);
        }
        most
    }

    fn text(segments: &Segments, number: u64) -> Option<usize> {
        let mut text = Vec::new();
        let mut reader = segments.read(number).unwrap()?;
        reader.read_to_end(&mut text).unwrap();
        Some(text.len())
    }

    #[test]
    fn the_oldest_go_and_the_sum_keeps_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        for place in [None, Some(path.clone())] {
            let mut segments = Segments::new(place);
            assert!(fill(&mut segments, 1_000) <= 1_000);
            let numbers: Vec<u64> = segments.numbers().collect();
            assert!(numbers[0] > 1);
            assert!(
                numbers
                    .iter()
                    .all(|number| text(&segments, *number) > Some(0))
            );
            assert_eq!(text(&segments, 1), None);
        }
        let on_disk: u64 = listed(&path).unwrap().iter().map(|(_, bytes)| bytes).sum();
        assert!(on_disk <= 1_000, "{on_disk}");

        let mut small = Segments::new(None);
        for _ in 0..3 * SEGMENTS_MAX {
            small.begin();
            small.append(b"x", 1_000).unwrap();
        }
        assert_eq!(small.numbers().count(), SEGMENTS_MAX);

        // The next start goes on behind them, and keeps to the same bound.
        let mut again = Segments::new(Some(path.clone()));
        let before = again.known.clone();
        assert_eq!(before, listed_in_order(&path));
        assert!(fill(&mut again, 30) <= 1_000);
        assert!(again.numbers().last() > before.back().map(|(number, _)| *number));
        assert_eq!(again.known, listed_in_order(&path));
    }

    fn listed_in_order(path: &Path) -> VecDeque<(u64, u64)> {
        let mut known = listed(path).unwrap();
        known.make_contiguous().sort_unstable();
        known
    }
}
