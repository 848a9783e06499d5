//! The fields of a record, one after the other.

use keys::Type;

pub(super) fn put_count(out: &mut Vec<u8>, count: usize) {
    let count = u16::try_from(count).expect("schemas have far fewer columns and shorter names");
    out.extend_from_slice(&count.to_be_bytes());
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_count(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

pub(super) fn put_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_be_bytes());
}

pub(super) fn put_long(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("a row of one value is below 4 GiB");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// What is left of a record. Nothing is taken from one that ends too soon.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*chunk)
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn count(&mut self) -> Option<usize> {
        Some(usize::from(u16::from_be_bytes(self.chunk()?)))
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.chunk()?))
    }

    pub(super) fn text(&mut self) -> Option<String> {
        let length = self.count()?;
        String::from_utf8(self.bytes(length)?.to_vec()).ok()
    }

    pub(super) fn kind(&mut self) -> Option<Type> {
        Type::parse(&self.text()?).ok()
    }

    pub(super) fn long(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_be_bytes(self.chunk()?);
        self.bytes(usize::try_from(length).ok()?)
    }

    /// A count, and as many of what `take` takes.
    pub(super) fn list<T>(&mut self, take: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.count()?).map(|_| take(self)).collect()
    }
}
