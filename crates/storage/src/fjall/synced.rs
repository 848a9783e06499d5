//! The sync note: how far the journal was synced, so that a lost end is told from a torn one.
//!
//! A record that is damaged and one that was on its way to the disk when the power went look alike. What
//! tells them apart is whether the record had been synced, and that is noted beside the journal:
//!
//! ```text
//!   SYNCED, integers little-endian
//!   ┌─────────────┬───────────┬──────────────────┬──────────┐
//!   │ journal u64 │ seqno u64 │ ordered_from u64 │ xxh3 u64 │
//!   └─────────────┴───────────┴──────────────────┴──────────┘
//!     │             └ a batch of this number or a later one was synced…
//!     │                             └ in journals from this one on, numbers only rise
//!     └ …in this journal or a newer one
//! ```
//!
//! It is written in place after each sync of the journal, so what it says is true whenever it reaches
//! the disk, and an older note stays true. A process that ends leaves the newest note; after a loss of
//! power the note may be one piece of journal behind, because it is synced once for each
//! ([`NOTE_SYNC_BYTES`]). A note that is missing or unreadable says nothing.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::failure::translate_io;
use crate::Result;

const NAME: &str = "SYNCED";

const FIELDS_BYTES: usize = 24;
const NOTE_BYTES: usize = 32;

/// How much of a journal is written between two syncs of the note.
pub(super) const NOTE_SYNC_BYTES: u64 = 1 << 20;

/// What is known to be on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) journal: u64,
    pub(super) seqno: u64,
    pub(super) ordered_from: u64,
}

impl Note {
    fn encode(self) -> [u8; NOTE_BYTES] {
        let mut bytes = [0; NOTE_BYTES];
        let (fields, checksum) = bytes.split_at_mut(FIELDS_BYTES);
        let numbers = [self.journal, self.seqno, self.ordered_from];
        for (field, number) in fields.chunks_exact_mut(8).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        checksum.copy_from_slice(&xxh3_64(fields).to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (fields, checksum) = bytes.split_at_checked(FIELDS_BYTES)?;
        if checksum != xxh3_64(fields).to_le_bytes() {
            return None;
        }
        let (journal, rest) = fields.split_first_chunk()?;
        let (seqno, rest) = rest.split_first_chunk()?;
        Some(Self {
            journal: u64::from_le_bytes(*journal),
            seqno: u64::from_le_bytes(*seqno),
            ordered_from: u64::from_le_bytes(rest.try_into().ok()?),
        })
    }
}

/// Reads the note of an engine.
pub(super) fn read(engine: &Path) -> Result<Option<Note>> {
    let path = engine.join(NAME);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Note::decode(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(translate_io("read", &path, error)),
    }
}

/// The note of an engine that is open.
#[derive(Debug)]
pub(super) struct Synced {
    file: File,
    note: Note,
    /// The last batch that was written: in which journal at least, and its number at least.
    written: (u64, u64),
    /// Bytes written since the note was synced.
    unsynced: u64,
}

impl Synced {
    /// Opens the note, or begins one for an engine that has none, whose newest journal is `newest`.
    pub(super) fn open(engine: &Path, found: Option<Note>, newest: Option<u64>) -> Result<Self> {
        let path = engine.join(NAME);
        let failed = |error| translate_io("write", &path, error);
        let options = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .clone();
        let file = options.open(&path).map_err(failed)?;
        let note = found.unwrap_or(Note {
            ordered_from: newest.map_or(0, |newest| newest + 1),
            ..Note::default()
        });
        file.write_all_at(&note.encode(), 0).map_err(failed)?;
        Ok(Self {
            file,
            note,
            written: (note.journal, note.seqno),
            unsynced: 0,
        })
    }

    /// Takes note of a batch of at most so many bytes, of this number or a later one, in this journal or
    /// a newer one.
    pub(super) fn wrote(&mut self, journal: u64, seqno: u64, bytes: u64) {
        self.written = (journal, seqno);
        self.unsynced += bytes;
    }

    /// The last batch that was written.
    pub(super) fn written(&self) -> (u64, u64) {
        self.written
    }

    /// Notes that everything up to a batch is on the disk.
    ///
    /// A note that cannot be written says less than is true, which harms nothing.
    pub(super) fn advance(&mut self, written: (u64, u64)) {
        self.written = self.written.max(written);
        if written <= (self.note.journal, self.note.seqno) {
            return;
        }
        (self.note.journal, self.note.seqno) = written;
        let _ = self.file.write_all_at(&self.note.encode(), 0);
        if self.unsynced >= NOTE_SYNC_BYTES {
            self.unsynced = 0;
            let _ = self.file.sync_data();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: Note = Note {
        journal: 3,
        seqno: 0x0102_0304_0506_0708,
        ordered_from: 2,
    };

    #[test]
    fn a_note_comes_back_and_any_flipped_bit_voids_it() {
        let bytes = NOTE.encode();
        assert_eq!(Note::decode(&bytes), Some(NOTE));
        for bit in 0..NOTE_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Note::decode(&flipped), None, "bit {bit}");
        }
        assert_eq!(Note::decode(&bytes[..NOTE_BYTES - 1]), None);
    }

    #[test]
    fn a_note_only_advances() {
        let folder = tempfile::tempdir().unwrap();
        let mut synced = Synced::open(folder.path(), None, Some(1)).unwrap();
        assert_eq!(read(folder.path()).unwrap().unwrap().ordered_from, 2);
        synced.wrote(1, 10, 100);
        synced.advance(synced.written());
        synced.advance((1, 5));
        let note = read(folder.path()).unwrap().unwrap();
        assert_eq!((note.journal, note.seqno), (1, 10));
    }
}
