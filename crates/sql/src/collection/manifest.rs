//! The manifest of a large object: the parts that its bytes lie in, in the place of the bytes.
//!
//! ```text
//!   row     path … name  attributes  data = manifest                      committed last
//!                                     │
//!   parts                             ├── upload 7f3a…  0  1  2  3        written before, elsewhere
//!                                     └── upload 09c1…  0                 appended later
//!
//!   manifest, integers big-endian
//!   ┌───────┬───────┬──────┬─────────────────────────┬──────────────────────────────────────────┐
//!   │ MAGIC │ bytes │ runs │ of each: upload │ parts │ of each part: number │ bytes │ checksum  │
//!   │   16  │   8   │   4  │           16    │   4   │                 4    │   4   │    8      │
//!   └───────┴───────┴──────┴─────────────────────────┴──────────────────────────────────────────┘
//! ```
//!
//! A run is parts of one upload that follow each other. The parts are the object's bytes from the first
//! to the last; none is empty.
//!
//! The magic is sixteen random bytes. An object whose own bytes begin with them is never kept in the row,
//! so a row that begins with them is a manifest. They also stand for this form: another would have others.

use super::error::{ItemError, Result};

const MAGIC: [u8; 16] = [
    0x70, 0x57, 0xd0, 0x1c, 0x4f, 0xac, 0x14, 0x9e, 0x30, 0x94, 0x38, 0x48, 0x3d, 0x73, 0x47, 0x1b,
];

/// A part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The upload that brought it.
    pub upload: u128,
    /// Its number in the upload.
    pub number: u32,
    /// Its length in bytes.
    pub bytes: u32,
    /// The checksum of its bytes.
    pub checksum: u64,
}

/// The parts of an object, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The parts.
    pub parts: Vec<Part>,
}

impl Manifest {
    /// Whether the data of a row is a manifest.
    pub fn is(data: &[u8]) -> bool {
        data.starts_with(&MAGIC)
    }

    /// Bytes of the object that these data are the manifest of.
    pub fn size_of(data: &[u8]) -> Option<u64> {
        let (size, _) = data.strip_prefix(&MAGIC)?.split_first_chunk()?;
        Some(u64::from_be_bytes(*size))
    }

    /// Bytes of the object.
    pub fn size(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.bytes)).sum()
    }

    /// The uploads that it names parts of, each once.
    pub fn uploads(&self) -> Vec<u128> {
        let mut uploads: Vec<u128> = self.parts.iter().map(|part| part.upload).collect();
        uploads.sort_unstable();
        uploads.dedup();
        uploads
    }

    /// The manifest as the data of a row.
    pub fn encode(&self) -> Vec<u8> {
        let runs: Vec<&[Part]> = self
            .parts
            .chunk_by(|one, next| one.upload == next.upload)
            .collect();
        let mut data = MAGIC.to_vec();
        data.extend(self.size().to_be_bytes());
        data.extend(count(runs.len()));
        for run in runs {
            let upload = run.first().map_or(0, |part| part.upload);
            data.extend(upload.to_be_bytes());
            data.extend(count(run.len()));
        }
        for part in &self.parts {
            data.extend(part.number.to_be_bytes());
            data.extend(part.bytes.to_be_bytes());
            data.extend(part.checksum.to_be_bytes());
        }
        data
    }

    /// The manifest that the data of a row are.
    pub fn decode(data: &[u8]) -> Result<Self> {
        let mut reader = Reader(data);
        if reader.take()? != MAGIC {
            return Err(ItemError::Manifest("it does not begin as one"));
        }
        let size = u64::from_be_bytes(reader.take()?);
        let runs = u32::from_be_bytes(reader.take()?);
        let mut lengths = Vec::new();
        for _ in 0..runs {
            let upload = u128::from_be_bytes(reader.take()?);
            lengths.push((upload, u32::from_be_bytes(reader.take()?)));
        }
        let mut parts = Vec::new();
        for (upload, length) in lengths {
            for _ in 0..length {
                parts.push(Part {
                    upload,
                    number: u32::from_be_bytes(reader.take()?),
                    bytes: u32::from_be_bytes(reader.take()?),
                    checksum: u64::from_be_bytes(reader.take()?),
                });
            }
        }
        let manifest = Self { parts };
        if !reader.0.is_empty() {
            return Err(ItemError::Manifest("it goes on behind its end"));
        }
        if manifest.size() != size || manifest.parts.iter().any(|part| part.bytes == 0) {
            return Err(ItemError::Manifest("its lengths contradict each other"));
        }
        Ok(manifest)
    }
}

/// A number of runs or parts. An object has far fewer than there are numbers.
fn count(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes()
}

/// Bytes that are taken from the front.
struct Reader<'d>(&'d [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.0.split_first_chunk::<N>();
        let (taken, rest) = taken.ok_or(ItemError::Manifest("it ends too early"))?;
        self.0 = rest;
        Ok(*taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts() -> impl Strategy<Value = Vec<Part>> {
        let part = (0_u128..3, any::<u32>(), 1_u32..5_000_000, any::<u64>());
        let part = part.prop_map(|(upload, number, bytes, checksum)| Part {
            upload: upload.wrapping_sub(1),
            number,
            bytes,
            checksum,
        });
        prop::collection::vec(part, 0..40)
    }

    #[test]
    fn bytes_of_a_manifest_lie_on_disks() {
        let part = |upload, number| Part {
            upload,
            number,
            bytes: 0x0102,
            checksum: 0x0a0b,
        };
        let manifest = Manifest {
            parts: vec![part(7, 0), part(7, 1), part(9, 0)],
        };
        let data = manifest.encode();
        let expected = [
            &MAGIC[..],
            &[0, 0, 0, 0, 0, 0, 3, 6, 0, 0, 0, 2],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 2],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1],
            &[0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 10, 11],
            &[0, 0, 0, 1, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 10, 11],
            &[0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 10, 11],
        ];
        assert_eq!(data, expected.concat());
        assert_eq!(manifest.uploads(), [7, 9]);
        assert_eq!(Manifest::size_of(&data), Some(3 * 0x0102));
        assert_eq!(Manifest::size_of(b"0123456789"), None);
        assert_eq!(Manifest::size_of(&MAGIC), None);
    }

    proptest! {
        #[test]
        fn manifests_are_read_as_they_were_written(parts in parts()) {
            let manifest = Manifest { parts };
            let data = manifest.encode();
            prop_assert!(Manifest::is(&data));
            prop_assert_eq!(Manifest::size_of(&data), Some(manifest.size()));
            prop_assert_eq!(Manifest::decode(&data).unwrap(), manifest);
        }

        #[test]
        fn what_is_cut_or_longer_is_refused(parts in parts(), cut in any::<prop::sample::Index>()) {
            let data = Manifest { parts }.encode();
            prop_assert!(Manifest::decode(&data[..cut.index(data.len())]).is_err());
            prop_assert!(Manifest::decode(&[&data[..], &[0]].concat()).is_err());
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let data = [&MAGIC[..], &bytes].concat();
            let _ = (Manifest::decode(&data), Manifest::decode(&bytes), Manifest::size_of(&data));
        }
    }
}
