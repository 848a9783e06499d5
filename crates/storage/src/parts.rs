//! Parts of large objects: bytes that are too many for a row, kept beside the engine.
//!
//! ```text
//!   upload 7f3a…   part 0   part 1   part 2   …     each written once, and never changed
//!
//!   FileParts      <folder>/7f3a…/00000000  00000001  00000002      a file each, a folder an upload
//!   MemoryParts    a map, gone with the process
//! ```
//!
//! An upload is what one writer brings. Its parts are there when they are finished, and durable when
//! the upload is settled; only then may a row name them. A store of parts does not know which of them
//! a row names: whoever does removes the others.
//!
//! A part is read whole. Its length and [`Checksum`] stand in the row that names it.

mod files;
mod memory;

use std::fmt;

use bytes::Bytes;
use xxhash_rust::xxh3::Xxh3;

use crate::Result;

pub use files::FileParts;
pub use memory::MemoryParts;

/// Bytes of the longest part.
pub const PART_BYTES_MAX: usize = 1 << 20;

/// What one writer brings: a number that no other upload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UploadId(pub u128);

impl fmt::Display for UploadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A part of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId {
    /// Its upload.
    pub upload: UploadId,
    /// Its number in the upload.
    pub number: u32,
}

impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{:08}", self.upload, self.number)
    }
}

/// A store of parts.
pub trait Parts: Send + Sync + fmt::Debug {
    /// Begins a part that is not there yet.
    fn begin(&self, part: PartId) -> Result<Box<dyn PartSink>>;

    /// Makes all finished parts of an upload durable.
    fn settle(&self, upload: UploadId) -> Result<()>;

    /// A part, or nothing if it is not there. One that is longer than [`PART_BYTES_MAX`] is cut a byte
    /// behind that.
    fn get(&self, part: PartId) -> Result<Option<Bytes>>;

    /// Removes a part, if it is there.
    fn remove(&self, part: PartId) -> Result<()>;

    /// Removes all that there is of an upload.
    fn remove_upload(&self, upload: UploadId) -> Result<()>;

    /// The uploads of which there is anything, in any order.
    fn uploads(&self) -> Result<Vec<UploadId>>;

    /// The numbers of an upload's parts, also of those that were begun and not finished, in any order.
    fn numbers(&self, upload: UploadId) -> Result<Vec<u32>>;
}

/// A part that is being written. Dropped before it is finished, it may be there in part.
pub trait PartSink: Send + fmt::Debug {
    /// Adds bytes to its end.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Ends it.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The checksum of a part, taken while its bytes come: XXH3 with 64 bits.
#[derive(Clone, Default)]
pub struct Checksum(Xxh3);

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checksum({:016x})", self.value())
    }
}

impl Checksum {
    /// The checksum of these bytes.
    pub fn of(bytes: &[u8]) -> u64 {
        xxhash_rust::xxh3::xxh3_64(bytes)
    }

    /// Takes more bytes in.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all bytes so far.
    pub fn value(&self) -> u64 {
        self.0.digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(upload: u128, number: u32) -> PartId {
        PartId {
            upload: UploadId(upload),
            number,
        }
    }

    fn put(parts: &dyn Parts, part: PartId, pieces: &[&[u8]]) {
        let mut sink = parts.begin(part).unwrap();
        for piece in pieces {
            sink.write(piece).unwrap();
        }
        sink.finish().unwrap();
    }

    fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
        list.sort();
        list
    }

    /// What every store of parts does.
    fn keeps_the_contract(parts: &dyn Parts) {
        assert_eq!(parts.uploads().unwrap(), []);
        assert_eq!(parts.numbers(UploadId(9)).unwrap(), []);
        assert_eq!(parts.get(part(9, 0)).unwrap(), None);
        put(parts, part(1, 0), &[b"ab", b"", b"c"]);
        put(parts, part(1, 7), &[]);
        put(parts, part(u128::MAX, 3), &[&[5; PART_BYTES_MAX]]);
        assert!(parts.begin(part(1, 0)).is_err(), "a part is written once");
        parts.settle(UploadId(1)).unwrap();
        parts.settle(UploadId(u128::MAX)).unwrap();
        assert_eq!(parts.get(part(1, 0)).unwrap().unwrap(), "abc");
        assert_eq!(parts.get(part(1, 7)).unwrap().unwrap(), "");
        let long = parts.get(part(u128::MAX, 3)).unwrap().unwrap();
        assert_eq!(long.len(), PART_BYTES_MAX);
        assert_eq!(
            sorted(parts.uploads().unwrap()),
            [UploadId(1), UploadId(u128::MAX)]
        );
        assert_eq!(sorted(parts.numbers(UploadId(1)).unwrap()), [0, 7]);

        parts.remove(part(1, 0)).unwrap();
        parts.remove(part(1, 0)).unwrap();
        assert_eq!(parts.get(part(1, 0)).unwrap(), None);
        assert_eq!(parts.numbers(UploadId(1)).unwrap(), [7]);
        parts.remove_upload(UploadId(1)).unwrap();
        parts.remove_upload(UploadId(1)).unwrap();
        assert_eq!(parts.uploads().unwrap(), [UploadId(u128::MAX)]);
        parts.remove_upload(UploadId(u128::MAX)).unwrap();
        assert_eq!(parts.uploads().unwrap(), []);
        drop(parts.begin(part(2, 0)).unwrap());
        parts.remove_upload(UploadId(2)).unwrap();
        assert_eq!(parts.uploads().unwrap(), []);
    }

    #[test]
    fn every_store_keeps_the_contract() {
        keeps_the_contract(&MemoryParts::default());
        let folder = tempfile::tempdir().unwrap();
        keeps_the_contract(&FileParts::new(folder.path().join("objects")));
    }

    #[test]
    fn parts_in_files_are_there_in_the_next_process_and_strangers_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let objects = folder.path().join("objects");
        let parts = FileParts::new(objects.clone());
        put(&parts, part(1, 0), &[b"abc"]);
        parts.settle(UploadId(1)).unwrap();
        std::fs::create_dir(objects.join("notes")).unwrap();
        std::fs::write(objects.join("README"), "mine").unwrap();
        std::fs::write(objects.join(UploadId(1).to_string()).join("x"), "mine").unwrap();
        let parts = FileParts::new(objects.clone());
        assert_eq!(parts.uploads().unwrap(), [UploadId(1)]);
        assert_eq!(parts.numbers(UploadId(1)).unwrap(), [0]);
        assert_eq!(parts.get(part(1, 0)).unwrap().unwrap(), "abc");
        // A file of unexpected length takes no more memory than a part.
        let file = objects.join(part(1, 0).to_string());
        std::fs::write(file, vec![1; PART_BYTES_MAX * 2]).unwrap();
        let cut = parts.get(part(1, 0)).unwrap().unwrap();
        assert_eq!(cut.len(), PART_BYTES_MAX + 1);
        assert!(objects.join("README").exists() && objects.join("notes").exists());
    }

    #[test]
    fn a_checksum_is_the_same_in_pieces() {
        let mut checksum = Checksum::default();
        for piece in [&b"hel"[..], b"", b"lo"] {
            checksum.update(piece);
        }
        assert_eq!(checksum.value(), Checksum::of(b"hello"));
        assert_ne!(checksum.value(), Checksum::of(b"hellp"));
        // It lies on disks.
        assert_eq!(Checksum::of(b""), 0x2d06_8005_38d3_94c2);
    }
}
