//! Zeros ahead of the journal's end, so that a sync finds its blocks in place.
//!
//! fjall makes a journal 64 MiB long with nothing in it, and writes past that length while no memtable
//! is full. The file system gives the file a block when a record first reaches there, and past the
//! length every record makes it longer. The sync of such a record waits for the file's entry in the
//! index of files too: a second write to another place of the disk. Zeros are written ahead a piece at
//! a time, which pays for many blocks at once, and the syncs of the records wait for nothing but
//! themselves.
//!
//! ```text
//!      records            zeros          nothing yet
//!   ├──────────────┼──────────────────┼───────────────── … ┤ 64 MiB, or where the zeros end past it
//!                  └ end_max          └ zeroed
//! ```
//!
//! **Zeros never fall on a record.** Where the journal ends is fjall's secret, so it is bounded from
//! above: every batch adds the most that it can take, and its lock is held until the batch is
//! written. Zeros begin where an earlier piece of them ended, or a margin past the bound in a journal
//! that was not seen before. Outside the lock fjall only flushes what it has buffered, less than the
//! margin. A journal that fjall changes to in the meantime is met behind the batch.
//!
//! That bound rests on what fjall does today. So the place is read before it is written: where there is
//! a byte that is not zero, nothing is written there, then or ever. And it can be switched off
//! ([`super::FjallOptions::journal_zeros`]).
//!
//! A journal that was there when the engine was opened is appended to and has no room ahead. One that
//! cannot be extended is left as it is: this saves time and promises nothing.

use std::fs::File;
use std::io;
use std::mem;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::journal;
use crate::Operation;

/// What one batch takes beside its records: a head and an end of 13 bytes each.
pub(super) const BATCH_BYTES_MAX: u64 = 32;

/// What one record takes beside its key and value: a head of 21 bytes.
const RECORD_BYTES_MAX: u64 = 24;

/// More than fjall buffers.
const MARGIN_BYTES: u64 = 64 << 10;

/// How much is written at a time.
const PIECE_BYTES: u64 = 1 << 20;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The most that an operation takes in a journal. Values of 4 KiB and more are compressed, in vain
/// perhaps, which adds 16 bytes and less than a hundredth.
pub(super) fn record_bytes_max(operation: &Operation) -> u64 {
    let bytes = match operation {
        Operation::Put(_, key, value) => key.len() + value.len(),
        Operation::Remove(_, key) => key.len(),
    };
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX / 4);
    bytes + bytes / 64 + RECORD_BYTES_MAX
}

/// How far the journal is prepared.
#[derive(Debug)]
pub(super) struct Ahead {
    engine: PathBuf,
    /// Whether zeros are written at all.
    zeros: bool,
    /// The newest journal, as of the last look.
    newest: u64,
    /// Where the one after it will be.
    next: PathBuf,
    /// A journal that gets no zeros: fjall appends to it, or it could not be extended.
    left_alone: Option<u64>,
    journal: Option<(u64, File)>,
    /// No record of the journal lies past this position.
    end_max: u64,
    /// Nothing is to be done before the end may come near this position.
    zeroed: u64,
    /// What batches took since the folder was last looked at.
    unseen: u64,
}

impl Ahead {
    /// Begins with an engine that was just opened, and had a journal before or not.
    pub(super) fn new(engine: PathBuf, replayed: Option<u64>, zeros: bool) -> Self {
        let newest = replayed.unwrap_or_default();
        Self {
            next: journal::path(&engine, newest + 1),
            engine,
            zeros,
            newest,
            left_alone: replayed,
            journal: None,
            end_max: 0,
            zeroed: 0,
            unseen: 0,
        }
    }

    /// Prepares for a batch of at most so many bytes, which the caller writes before it calls again.
    pub(super) fn make_room(&mut self, bytes_max: u64) {
        if self.end_max + bytes_max + MARGIN_BYTES > self.zeroed {
            self.look();
        }
        if self.end_max + bytes_max + MARGIN_BYTES > self.zeroed {
            let start = self.zeroed.max(self.end_max + MARGIN_BYTES);
            if let Some((number, file)) = &self.journal {
                match write_zeros(file, start) {
                    Ok(true) => {}
                    Ok(false) => {
                        self.zeros = false;
                        self.journal = None;
                    }
                    Err(_) => {
                        self.left_alone = Some(*number);
                        self.journal = None;
                    }
                }
            }
            self.zeroed = start + PIECE_BYTES;
        }
        self.end_max += bytes_max;
        self.unseen += bytes_max;
    }

    /// The number of the journal that the batch lies in which room was made for, now that it is written.
    ///
    /// fjall changes the journal between two batches, at any time: a newer one holds this batch or none.
    pub(super) fn written(&mut self) -> u64 {
        let before = self.newest;
        if self.next.exists() {
            self.look();
        }
        (before + 1..=self.newest)
            .rev()
            .find(|&number| journal::is_begun(&self.engine, number))
            .unwrap_or(before)
    }

    /// Finds the journal that is the newest now.
    fn look(&mut self) {
        let Ok(newest) = journal::newest(&self.engine) else {
            return;
        };
        let unseen = mem::take(&mut self.unseen);
        let known = self.journal.as_ref().map(|(number, _)| *number);
        let Some((number, path)) = newest.filter(|(number, _)| Some(*number) != known) else {
            return;
        };
        self.newest = number;
        self.next = journal::path(&self.engine, number + 1);
        self.journal = None;
        if !self.zeros || Some(number) == self.left_alone {
            return;
        }
        match File::options().read(true).write(true).open(path) {
            Ok(file) => {
                self.journal = Some((number, file));
                // Made since the last look, it holds no more than what was written since.
                self.end_max = unseen;
                self.zeroed = 0;
            }
            Err(_) => self.left_alone = Some(number),
        }
    }
}

/// Writes a piece. A file that ends before becomes as long as that. Answers whether there was nothing
/// but zeros before.
fn write_zeros(file: &File, start: u64) -> io::Result<bool> {
    let end = start + PIECE_BYTES;
    let mut found = vec![0; ZEROS.len()];
    let mut position = start;
    while position < end {
        let left = usize::try_from(end - position).unwrap_or(ZEROS.len());
        let zeros = ZEROS.get(..left).unwrap_or(&ZEROS);
        let count = file.read_at(&mut found, position)?;
        if found.iter().take(count).any(|&byte| byte != 0) {
            return Ok(false);
        }
        let zeros = match count {
            // Behind the end of the file.
            0 => zeros,
            _ => zeros.get(..count).unwrap_or(zeros),
        };
        file.write_all_at(zeros, position)?;
        position += u64::try_from(zeros.len()).expect("a piece of zeros is small");
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fjall::FjallEngine;
    use crate::{Batch, Durability, Engine, FjallOptions, SpaceId};
    use proptest::prelude::*;

    /// What fjall does with its journals.
    #[derive(Clone, Debug)]
    enum Step {
        /// A batch takes so much of the most that it can.
        Write {
            bytes: u16,
            most: u32,
            buffered: u16,
        },
        Change,
    }

    fn step() -> impl Strategy<Value = Step> {
        let write = (any::<u16>(), 0_u32..2_000_000, 0_u16..8_192);
        prop_oneof![
            9 => write.prop_map(|(bytes, most, buffered)| Step::Write {
                bytes,
                most: most.max(bytes.into()),
                buffered: buffered.min(bytes),
            }),
            1 => Just(Step::Change),
        ]
    }

    fn create(folder: &std::path::Path, number: u64) -> File {
        let file = File::create_new(folder.join(format!("{number}.jnl"))).unwrap();
        file.set_len(8 << 20).unwrap();
        file
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn zeros_never_fall_on_a_record(
            steps in prop::collection::vec(step(), 1..60),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut ahead = Ahead::new(folder.path().to_path_buf(), None, true);
            let mut journals = vec![(create(folder.path(), 1), 0_u64)];
            let mut buffered: u64 = 0;
            for step in steps {
                let number = u64::try_from(journals.len()).unwrap();
                let (file, end) = journals.last_mut().unwrap();
                match step {
                    Step::Write { bytes, most, buffered: left } => {
                        ahead.make_room(most.into());
                        let (bytes, left) = (u64::from(bytes), u64::from(left));
                        // What the last batch left is written with this one, and some of it stays.
                        let flushed = buffered + bytes - left;
                        let record = vec![1; usize::try_from(flushed).unwrap()];
                        file.write_all_at(&record, *end).unwrap();
                        *end += flushed;
                        buffered = left;
                        ahead.written();
                    }
                    Step::Change => {
                        let record = vec![1; usize::try_from(buffered).unwrap()];
                        file.write_all_at(&record, *end).unwrap();
                        *end += mem::take(&mut buffered);
                        journals.push((create(folder.path(), number + 1), 0));
                    }
                }
            }
            for (number, (_, end)) in (1..).zip(&journals) {
                let content = std::fs::read(folder.path().join(format!("{number}.jnl"))).unwrap();
                let records = &content[..usize::try_from(*end).unwrap()];
                prop_assert!(records.iter().all(|&byte| byte == 1), "journal {number}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        /// fjall's own journal ends before the bound, or zeros could fall on its records.
        #[test]
        fn batches_take_no_more_than_is_thought(
            batches in prop::collection::vec(
                prop::collection::vec((1_usize..200, 0_usize..9_000, any::<bool>()), 1..20),
                1..8,
            ),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let engine = FjallEngine::open(folder.path(), FjallOptions::default()).unwrap();
            engine.create_space(SpaceId(1)).unwrap();
            let mut words = 0_u64..;
            let mut chance = || xxhash_rust::xxh3::xxh3_64(&words.next().unwrap().to_le_bytes());
            for sizes in batches {
                let mut batch = Batch::default();
                for (key, value, put) in sizes {
                    // Chance cannot be compressed.
                    let mut bytes = Vec::new();
                    while bytes.len() < key + value {
                        bytes.extend(chance().to_le_bytes());
                    }
                    let value = bytes.split_off(key);
                    match put {
                        true => batch.put(SpaceId(1), bytes, value),
                        false => batch.remove(SpaceId(1), bytes),
                    }
                }
                engine.write(batch, Durability::Synced).unwrap();
            }
            let (_, journal) = journal::newest(&engine.core.path).unwrap().unwrap();
            let end_max = engine.core.ahead.lock().end_max;
            let mut content = vec![0; usize::try_from(end_max + MARGIN_BYTES).unwrap()];
            File::open(journal).unwrap().read_exact_at(&mut content, 0).unwrap();
            let end = content.iter().rposition(|&byte| byte != 0).unwrap() + 1;
            prop_assert!(u64::try_from(end).unwrap() <= end_max, "{end} past {end_max}");
        }
    }

    #[test]
    fn a_batch_lies_in_the_newest_journal_that_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut ahead = Ahead::new(folder.path().to_path_buf(), None, true);
        let write = |number, at| {
            let file = File::options()
                .write(true)
                .open(folder.path().join(format!("{number}.jnl")));
            file.unwrap().write_all_at(b"\x01 a batch", at).unwrap();
        };
        create(folder.path(), 1);
        ahead.make_room(100);
        write(1, 0);
        assert_eq!(ahead.written(), 1);
        ahead.make_room(100);
        write(1, 100);
        create(folder.path(), 2);
        assert_eq!(ahead.written(), 1, "the journal was changed behind it");
        ahead.make_room(100);
        create(folder.path(), 3);
        write(3, 0);
        create(folder.path(), 4);
        assert_eq!(
            ahead.written(),
            3,
            "the journal was changed before and behind it"
        );
        ahead.make_room(100);
        write(4, 0);
        assert_eq!(ahead.written(), 4);
    }

    /// Wherever the bound may be wrong one day, no byte is overwritten.
    #[test]
    fn a_byte_that_is_there_ends_the_zeros_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let mut ahead = Ahead::new(folder.path().to_path_buf(), None, true);
        let file = create(folder.path(), 1);
        let place = MARGIN_BYTES + PIECE_BYTES / 2;
        file.write_all_at(b"a record past the bound", place)
            .unwrap();
        for _ in 0..40 {
            ahead.make_room(PIECE_BYTES / 8);
        }
        let mut found = [0; 23];
        file.read_exact_at(&mut found, place).unwrap();
        assert_eq!(&found, b"a record past the bound");
        assert!(!ahead.zeros && ahead.journal.is_none());
        let later = create(folder.path(), 2);
        ahead.make_room(100);
        let blocks = std::os::unix::fs::MetadataExt::blocks(&later.metadata().unwrap());
        assert_eq!(blocks, 0, "nor anywhere else");
    }

    #[test]
    fn a_journal_becomes_longer_ahead_of_its_records() {
        let folder = tempfile::tempdir().unwrap();
        let mut ahead = Ahead::new(folder.path().to_path_buf(), None, true);
        let file = create(folder.path(), 1);
        let length = file.metadata().unwrap().len();
        let mut end = 0;
        while end < 2 * length {
            ahead.make_room(100_000);
            end += 100_000;
            assert!(file.metadata().unwrap().len() >= end);
        }
    }

    #[test]
    fn blocks_are_there_before_the_records() {
        let folder = tempfile::tempdir().unwrap();
        let mut ahead = Ahead::new(folder.path().to_path_buf(), None, true);
        let file = create(folder.path(), 1);
        ahead.make_room(100);
        let blocks = std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap());
        assert_eq!(blocks * 512, PIECE_BYTES);
        let appended = create(folder.path(), 2);
        let mut ahead = Ahead::new(folder.path().to_path_buf(), Some(2), true);
        ahead.make_room(100);
        let blocks = std::os::unix::fs::MetadataExt::blocks(&appended.metadata().unwrap());
        assert_eq!(blocks, 0);
    }
}
