//! The bytes of a file, a page at a time; what was never written is zero and takes no memory.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What disks and file systems write as a whole.
pub const PAGE_BYTES: u64 = 4_096;
const PAGE: usize = 4_096;

/// One page.
pub type Page = Arc<[u8; PAGE]>;

/// The bytes of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// How long it is.
    pub length: u64,
    pages: BTreeMap<u64, Page>,
}

impl Content {
    /// Writes bytes, and makes the file longer if they end past it.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let start = usize::try_from(at % PAGE_BYTES).expect("a page is small");
            let (now, later) = rest.split_at(rest.len().min(PAGE - start));
            let page = self
                .pages
                .entry(at / PAGE_BYTES)
                .or_insert_with(|| Arc::new([0; PAGE]));
            if let Some(place) = Arc::make_mut(page).get_mut(start..start + now.len()) {
                place.copy_from_slice(now);
            }
            at += size(now);
            rest = later;
        }
        self.length = self.length.max(at);
    }

    /// Writes zeros, and makes the file longer if they end past it.
    pub fn write_zeros(&mut self, offset: u64, length: u64) {
        let end = offset + length;
        self.clear(offset, end);
        self.length = self.length.max(end);
    }

    /// Makes the file longer or shorter.
    pub fn resize(&mut self, length: u64) {
        if length < self.length {
            self.clear(length, self.length.next_multiple_of(PAGE_BYTES));
        }
        self.length = length;
    }

    /// Fills a range with zeros and gives up its whole pages.
    fn clear(&mut self, from: u64, to: u64) {
        let touched: Vec<u64> = self
            .pages
            .range(from / PAGE_BYTES..to.div_ceil(PAGE_BYTES))
            .map(|(number, _)| *number)
            .collect();
        for number in touched {
            let start = from.saturating_sub(number * PAGE_BYTES);
            let end = to.saturating_sub(number * PAGE_BYTES).min(PAGE_BYTES);
            if start == 0 && end == PAGE_BYTES {
                self.pages.remove(&number);
            } else if let Some(page) = self.pages.get_mut(&number) {
                let start = usize::try_from(start).expect("a page is small");
                let end = usize::try_from(end).expect("a page is small");
                if let Some(range) = Arc::make_mut(page).get_mut(start..end) {
                    range.fill(0);
                }
            }
        }
    }

    /// The pages that are not all zero since they were made.
    pub fn pages(&self) -> &BTreeMap<u64, Page> {
        &self.pages
    }

    /// A page, if it was ever written.
    pub fn page(&self, number: u64) -> Option<&Page> {
        self.pages.get(&number)
    }

    /// Puts a page in its place, or zeros. The length stays.
    pub fn set_page(&mut self, number: u64, page: Option<Page>) {
        match page {
            Some(page) => self.pages.insert(number, page),
            None => self.pages.remove(&number),
        };
    }

    /// The position behind the last byte that is not zero.
    pub fn used(&self) -> u64 {
        let last = self.pages.iter().rev().find_map(|(number, page)| {
            let place = page.iter().rposition(|byte| *byte != 0)?;
            Some(number * PAGE_BYTES + u64::try_from(place).expect("small") + 1)
        });
        last.unwrap_or(0).min(self.length)
    }

    /// One byte, zero behind the end.
    pub fn byte(&self, offset: u64) -> u8 {
        let start = usize::try_from(offset % PAGE_BYTES).expect("a page is small");
        self.page(offset / PAGE_BYTES)
            .and_then(|page| page.get(start))
            .copied()
            .unwrap_or(0)
    }
}

/// A length as files count it.
pub fn size(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("memory is smaller than 64 bits count")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(content: &Content) -> Vec<u8> {
        (0..content.length).map(|at| content.byte(at)).collect()
    }

    #[test]
    fn it_holds_what_a_file_would() {
        let mut content = Content::default();
        let mut file: Vec<u8> = Vec::new();
        for round in 0..200_u64 {
            let offset = round * 7_919 % 20_000;
            let length = round * 104_729 % 9_000;
            let (from, to) = (
                usize::try_from(offset).unwrap(),
                usize::try_from(offset + length).unwrap(),
            );
            match round % 5 {
                0 => {
                    content.resize(offset);
                    file.resize(from, 0);
                }
                1 => {
                    content.write_zeros(offset, length);
                    file.resize(file.len().max(to), 0);
                    file[from..to].fill(0);
                }
                _ => {
                    let data = vec![u8::try_from(round).unwrap(); to - from];
                    if !data.is_empty() {
                        content.write(offset, &data);
                        file.resize(file.len().max(to), 0);
                        file[from..to].copy_from_slice(&data);
                    }
                }
            }
            assert!(bytes(&content) == file, "round {round}");
        }
    }
}
