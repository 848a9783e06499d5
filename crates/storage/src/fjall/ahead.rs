//! Zeros ahead of the journal's end, so that a sync finds its blocks in place.
//!
//! fjall makes a journal 64 MiB long with nothing in it. The file system gives it a block when a record
//! first reaches there, and the sync of that record then waits for the block's entry in the file's
//! index too: a second write to another place of the disk. Zeros are written ahead a piece at a time,
//! which pays for many blocks at once, and the syncs of the records wait for nothing but themselves.
//!
//! ```text
//!      records            zeros          nothing yet
//!   ├──────────────┼──────────────────┼───────────────── … ┤ 64 MiB
//!                  └ end_max          └ zeroed
//! ```
//!
//! **Zeros never fall on a record.** Where the journal ends is fjall's secret, so it is bounded from
//! above: every batch adds the most that it can take, and its lock is held until the batch is
//! written. Zeros begin where an earlier piece of them ended, or a margin past the bound in a journal
//! that was not seen before. Outside the lock fjall only flushes what it has buffered, less than the
//! margin. A journal that fjall changes to in the meantime is met with the next piece; until then, its
//! blocks come one by one.
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

/// What one batch takes beside its records.
pub(super) const BATCH_BYTES_MAX: u64 = 64;

/// What one record takes beside its key and value.
const RECORD_BYTES_MAX: u64 = 64;

/// More than fjall buffers.
const MARGIN_BYTES: u64 = 64 << 10;

/// How much is written at a time.
const PIECE_BYTES: u64 = 1 << 20;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The most that an operation takes in a journal, compressed in vain or not at all.
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
    pub(super) fn new(engine: PathBuf, replayed: Option<(u64, PathBuf)>) -> Self {
        Self {
            engine,
            left_alone: replayed.map(|(number, _)| number),
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
            let start = self.zeroed.max(self.end_max + MARGIN_BYTES);
            if let Some((number, file)) = &self.journal
                && write_zeros(file, start).is_err()
            {
                self.left_alone = Some(*number);
                self.journal = None;
            }
            self.zeroed = start + PIECE_BYTES;
        }
        self.end_max += bytes_max;
        self.unseen += bytes_max;
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
        self.journal = None;
        if Some(number) == self.left_alone {
            return;
        }
        match File::options().write(true).open(path) {
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

/// Writes a piece, as far as the file goes.
fn write_zeros(file: &File, start: u64) -> io::Result<()> {
    let end = (start + PIECE_BYTES).min(file.metadata()?.len());
    let mut position = start;
    while position < end {
        let left = usize::try_from(end - position).unwrap_or(ZEROS.len());
        let zeros = ZEROS.get(..left).unwrap_or(&ZEROS);
        file.write_all_at(zeros, position)?;
        position += u64::try_from(zeros.len()).expect("a piece of zeros is small");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
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
        fn zeros_never_fall_on_a_record(steps in prop::collection::vec(step(), 1..60)) {
            let folder = tempfile::tempdir().unwrap();
            let mut ahead = Ahead::new(folder.path().to_path_buf(), None);
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

    #[test]
    fn blocks_are_there_before_the_records() {
        let folder = tempfile::tempdir().unwrap();
        let mut ahead = Ahead::new(folder.path().to_path_buf(), None);
        let file = create(folder.path(), 1);
        ahead.make_room(100);
        let blocks = std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap());
        assert_eq!(blocks * 512, PIECE_BYTES);
        let appended = create(folder.path(), 2);
        let mut ahead = Ahead::new(folder.path().to_path_buf(), Some((2, PathBuf::new())));
        ahead.make_room(100);
        let blocks = std::os::unix::fs::MetadataExt::blocks(&appended.metadata().unwrap());
        assert_eq!(blocks, 0);
    }
}
