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
//!
//! Which one is the least is settled as in a tournament: every match remembers who lost it, so that
//! when the winner moves on it plays again only on its way up, one match for each doubling of the
//! buckets.
//!
//! ```text
//!              winner: 0            losers      bucket 0 moves on, and meets 1, then 2
//!             ┌────┴────┐             2
//!           ┌─┴─┐     ┌─┴─┐          1 3
//!           0   1     2   3
//! ```
//!
//! Mostly the first bytes behind the bucket tell, and those are kept beside the tree as a number. Rows
//! stay where the scans show them; nothing is copied.

use std::collections::VecDeque;

use txn::{Direction, KeyRange, Reader, Scan, TableId};

use crate::Result;
use crate::conditions::Bucket;

/// How many ranges are read side by side; for more of them rows are sorted.
pub(crate) const MERGED_MAX: usize = 1024;

/// Rows of several buckets on their way into one order. It stands on a row after each
/// [`Merge::advance`] that found one.
pub(crate) struct Merge {
    reader: Reader,
    table: TableId,
    direction: Direction,
    /// Buckets of which nothing was read.
    fresh: Vec<Bucket>,
    streams: Vec<Stream>,
    /// What is known of each stream's row.
    heads: Vec<Head>,
    /// The stream that lost each match; those of the match below are at twice the place and one more.
    losers: Vec<usize>,
    /// The stream whose row it stands on.
    winner: usize,
    /// Streams that are not over.
    live: usize,
    /// How many buckets are read in turns.
    buckets: u32,
}

/// What is left of one bucket.
struct Stream {
    ranges: VecDeque<KeyRange>,
    scan: Option<Scan>,
    prefix_bytes: usize,
}

/// How a stream's row sorts, as far as its first bytes tell: the least comes first, whichever way
/// rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head(u128, u64);

impl Head {
    /// Of a stream that is over. A row may look so too.
    const OVER: Self = Self(u128::MAX, u64::MAX);

    /// Which of two rows comes first is as good as chance, so nothing here is worth a guess.
    #[inline]
    fn is_below(self, other: Self) -> bool {
        (self.0 < other.0) | ((self.0 == other.0) & (self.1 < other.1))
    }
}

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
            buckets: u32::try_from(buckets.len()).unwrap_or(u32::MAX),
            fresh: buckets,
            streams: Vec::new(),
            heads: Vec::new(),
            losers: Vec::new(),
            winner: 0,
            live: 0,
        }
    }

    /// Shows up to `most` rows in the order of what follows the buckets, and tells how many. Fewer at
    /// the end.
    pub(crate) fn visit(
        &mut self,
        most: usize,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<usize> {
        let mut shown = 0;
        while shown < most && self.advance()? {
            let (key, row) = self.row();
            each(key, row)?;
            shown += 1;
        }
        Ok(shown)
    }

    /// Moves on to the next row in the order of what follows the buckets. Answers whether there is one.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if !self.fresh.is_empty() {
            self.begin()?;
        } else if self.live > 0 {
            self.advance_stream(self.winner)?;
            self.play_again();
        }
        Ok(self.live > 0)
    }

    /// The key and the row that it stands on; nothing before the first and after the last.
    #[inline]
    pub(crate) fn row(&self) -> (&[u8], &[u8]) {
        let stream = self.streams.get(self.winner);
        stream.map_or_else(Default::default, Stream::row)
    }

    /// Looks at the first row of each bucket.
    fn begin(&mut self) -> Result<()> {
        self.live = self.fresh.len();
        self.streams.reserve(self.live);
        self.heads.reserve(self.live);
        for bucket in std::mem::take(&mut self.fresh) {
            let mut ranges = VecDeque::from(bucket.ranges);
            if self.direction == Direction::Descending {
                ranges.make_contiguous().reverse();
            }
            self.streams.push(Stream {
                ranges,
                scan: None,
                prefix_bytes: bucket.prefix_bytes,
            });
            self.heads.push(Head::OVER);
            self.advance_stream(self.streams.len() - 1)?;
        }
        self.play_all();
        Ok(())
    }

    /// Plays every match, from the streams up.
    fn play_all(&mut self) {
        let streams = self.streams.len();
        let mut winners: Vec<usize> = (0..streams).chain(0..streams).collect();
        self.losers = vec![0; streams];
        for place in (1..streams).rev() {
            let [one, two] = [2 * place, 2 * place + 1].map(|at| winners.get(at).copied());
            let (Some(mut one), Some(mut two)) = (one, two) else {
                continue;
            };
            if self.comes_before(two, one) {
                (one, two) = (two, one);
            }
            for (among, stream) in [(&mut winners, one), (&mut self.losers, two)] {
                if let Some(at) = among.get_mut(place) {
                    *at = stream;
                }
            }
        }
        self.winner = winners.get(1).copied().unwrap_or_default();
    }

    /// Plays the matches on the way up of the stream that moved on.
    #[inline]
    fn play_again(&mut self) {
        let mut place = (self.winner + self.streams.len()) / 2;
        let mut winner = self.winner;
        while let Some(loser) = self.losers.get(place).copied()
            && place > 0
        {
            let [won, lost] = match self.comes_before(loser, winner) {
                true => [loser, winner],
                false => [winner, loser],
            };
            if let Some(at) = self.losers.get_mut(place) {
                *at = lost;
            }
            winner = won;
            place /= 2;
        }
        self.winner = winner;
    }

    /// Whether the row of one stream comes before that of another; those that tie come in the order
    /// of their buckets.
    #[inline]
    fn comes_before(&self, one: usize, two: usize) -> bool {
        let [head, other] = [one, two].map(|stream| self.head(stream));
        match head == other {
            true => self.whole_comes_before(one, two),
            false => head.is_below(other),
        }
    }

    #[cold]
    fn whole_comes_before(&self, one: usize, two: usize) -> bool {
        let [first, second] = [one, two].map(|stream| self.streams.get(stream));
        let is_over = |stream: Option<&Stream>| stream.is_none_or(Stream::is_over);
        if is_over(first) || is_over(second) {
            return is_over(second);
        }
        let order = first.map(Stream::rest).cmp(&second.map(Stream::rest));
        let order = order.then(one.cmp(&two));
        match self.direction {
            Direction::Ascending => order.is_lt(),
            Direction::Descending => order.is_gt(),
        }
    }

    #[inline]
    fn head(&self, stream: usize) -> Head {
        self.heads.get(stream).copied().unwrap_or(Head::OVER)
    }

    /// Moves a stream on to its next row.
    #[inline]
    fn advance_stream(&mut self, at: usize) -> Result<()> {
        let (Some(stream), Some(head)) = (self.streams.get_mut(at), self.heads.get_mut(at)) else {
            return Ok(());
        };
        let there = stream.advance(|range| {
            let mut scan = self.reader.scan(self.table, range, self.direction)?;
            scan.in_turns(self.buckets);
            Ok(scan)
        })?;
        *head = match there {
            true => first_bytes(stream.rest(), self.direction),
            false => Head::OVER,
        };
        self.live -= usize::from(!there);
        Ok(())
    }
}

impl Stream {
    /// Moves on to the next row. Answers whether there is one.
    #[inline]
    fn advance(&mut self, open: impl Fn(&KeyRange) -> Result<Scan>) -> Result<bool> {
        loop {
            if let Some(scan) = &mut self.scan {
                if scan.advance()? {
                    return Ok(true);
                }
                self.scan = None;
            }
            let Some(range) = self.ranges.pop_front() else {
                return Ok(false);
            };
            self.scan = Some(open(&range)?);
        }
    }

    #[inline]
    fn row(&self) -> (&[u8], &[u8]) {
        self.scan.as_ref().map(Scan::row).unwrap_or_default()
    }

    /// Whether there was no next row.
    fn is_over(&self) -> bool {
        self.scan.is_none()
    }

    /// The key that it stands on, behind the bucket.
    #[inline]
    fn rest(&self) -> &[u8] {
        let key = self.scan.as_ref().map_or(&[][..], Scan::key);
        key.get(self.prefix_bytes..).unwrap_or_default()
    }
}

/// The first bytes as numbers that sort as they do: two columns of eight bytes with their tags. Fewer
/// than it takes are as if zeros followed.
#[inline]
fn first_bytes(bytes: &[u8], direction: Direction) -> Head {
    const BYTES: usize = size_of::<u128>() + size_of::<u64>();
    let first: [u8; BYTES] = bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut first = [0; BYTES];
        for (byte, of) in first.iter_mut().zip(bytes) {
            *byte = *of;
        }
        first
    });
    let (high, low) = first.split_first_chunk().expect("sixteen of them");
    let low = low.try_into().expect("and eight more");
    let (high, low) = (u128::from_be_bytes(*high), u64::from_be_bytes(low));
    match direction {
        Direction::Ascending => Head(high, low),
        Direction::Descending => Head(!high, !low),
    }
}
