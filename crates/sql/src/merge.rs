//! Ranges that are read side by side and handed on in one order.
//!
//! ```text
//!   key (bucket, ts, id)     /0   ts 1   ts 4   ts 6 …     ┐
//!                            /1   ts 2   ts 3   ts 9 …     ├─ by what follows the bucket ─►  1 2 3 4 5 6 …
//!                            /2   ts 5   ts 7   ts 8 …     ┘
//! ```
//!
//! Each bucket comes sorted by the rest of its key, and the bytes of a key sort as its values do. So the
//! least of the next rows is the next of all, told by comparing bytes; no bucket is read further than it
//! has to be to know its next row.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::VecDeque;
use std::collections::binary_heap::PeekMut;

use txn::{Bytes, Direction, KeyRange, Reader, Scan, TableId};

use crate::Result;
use crate::conditions::Bucket;

/// How many ranges are read side by side; for more of them rows are sorted.
pub(crate) const MERGED_MAX: usize = 1024;

/// Rows of several buckets on their way into one order.
pub(crate) struct Merge {
    reader: Reader,
    table: TableId,
    direction: Direction,
    /// Buckets of which nothing was read.
    fresh: Vec<Bucket>,
    streams: Vec<Stream>,
    heads: BinaryHeap<Head>,
}

/// What is left of one bucket.
struct Stream {
    ranges: VecDeque<KeyRange>,
    scan: Option<Scan>,
    prefix_bytes: usize,
}

/// The next row of a bucket.
struct Head {
    key: Bytes,
    row: Bytes,
    prefix_bytes: usize,
    stream: usize,
    direction: Direction,
}

impl Head {
    fn rest(&self) -> &[u8] {
        self.key.get(self.prefix_bytes..).unwrap_or_default()
    }
}

impl Ord for Head {
    /// The greatest is the next, as heaps have it; rows that tie come in the order of their buckets.
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.rest().cmp(other.rest());
        let order = order.then(self.stream.cmp(&other.stream));
        match self.direction {
            Direction::Ascending => order.reverse(),
            Direction::Descending => order,
        }
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl Merge {
    /// Rows of these buckets of a table or index; nothing is read yet.
    pub(crate) fn new(
        reader: Reader,
        table: TableId,
        buckets: Vec<Bucket>,
        direction: Direction,
    ) -> Self {
        Self {
            reader,
            table,
            direction,
            fresh: buckets,
            streams: Vec::new(),
            heads: BinaryHeap::new(),
        }
    }

    /// The next row in the order of what follows the buckets.
    pub(crate) fn next(&mut self) -> Result<Option<(Bytes, Bytes)>> {
        if !self.fresh.is_empty() {
            self.begin()?;
        }
        let Some(mut first) = self.heads.peek_mut() else {
            return Ok(None);
        };
        let Some(stream) = self.streams.get_mut(first.stream) else {
            return Ok(None);
        };
        let next = stream.next(&self.reader, self.table, self.direction)?;
        Ok(Some(match next {
            Some((key, row)) => {
                let key = std::mem::replace(&mut first.key, key);
                (key, std::mem::replace(&mut first.row, row))
            }
            None => {
                let Head { key, row, .. } = PeekMut::pop(first);
                (key, row)
            }
        }))
    }

    /// Looks at the first row of each bucket.
    fn begin(&mut self) -> Result<()> {
        for bucket in std::mem::take(&mut self.fresh) {
            let mut ranges = VecDeque::from(bucket.ranges);
            if self.direction == Direction::Descending {
                ranges.make_contiguous().reverse();
            }
            let mut stream = Stream {
                ranges,
                scan: None,
                prefix_bytes: bucket.prefix_bytes,
            };
            if let Some((key, row)) = stream.next(&self.reader, self.table, self.direction)? {
                self.heads.push(Head {
                    key,
                    row,
                    prefix_bytes: stream.prefix_bytes,
                    stream: self.streams.len(),
                    direction: self.direction,
                });
                self.streams.push(stream);
            }
        }
        Ok(())
    }
}

impl Stream {
    fn next(
        &mut self,
        reader: &Reader,
        table: TableId,
        direction: Direction,
    ) -> Result<Option<(Bytes, Bytes)>> {
        loop {
            let scan = match &mut self.scan {
                Some(scan) => scan,
                None => match self.ranges.pop_front() {
                    Some(range) => self.scan.insert(reader.scan(table, &range, direction)?),
                    None => return Ok(None),
                },
            };
            match scan.next() {
                Some(pair) => return Ok(Some(pair?)),
                None => self.scan = None,
            }
        }
    }
}
