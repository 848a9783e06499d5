//! A key with how it begins beside it: [`Headed`].

use storage::Bytes;

/// A key in its order among keys. Most are told apart by how they begin, without a look at bytes that
/// lie elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Headed {
    /// The first bytes as numbers, enough for two columns of eight bytes with their tags; zeros follow
    /// a short key.
    head: (u128, u64),
    pub(super) key: Bytes,
}

impl Headed {
    pub(crate) fn new(key: Bytes) -> Self {
        const BYTES: usize = size_of::<u128>() + size_of::<u64>();
        let first: [u8; BYTES] = key.first_chunk().copied().unwrap_or_else(|| {
            let mut first = [0; BYTES];
            for (byte, of) in first.iter_mut().zip(&key) {
                *byte = *of;
            }
            first
        });
        let (high, low) = first.split_first_chunk().expect("sixteen of them");
        let low = low.try_into().expect("and eight more");
        let head = (u128::from_be_bytes(*high), u64::from_be_bytes(low));
        Self { head, key }
    }
}
