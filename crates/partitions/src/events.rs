//! [`Events`]: every split, every merge, and every time that a partition could not be helped.
//!
//! ```text
//!   12:00:05   split     3 → 8, 9    Load      split at /m by load: 81 % of a core …
//!   12:00:25   refused   9           Tail      growing tail: 100 % of the writes …    41 times,
//!                                                                                     last 12:03:50
//! ```
//!
//! A refusal that stays as it is is one event, counted: the same partition, the same reason, the same
//! key. The oldest events go when there are too many.
//!
//! Events of a change are written with the change, in one batch; a refusal is written when it is
//! first seen, so after a restart its count begins at one again.
//!
//! ```text
//!   key, in the metadata space of the META engine
//!   ┌──────┬───────────┐
//!   │ 0x05 │ number: 8 │
//!   └──────┴───────────┘
//!   value
//!   ┌─────────┬──────┬───────┬───────┬─────────────────┬──────────────────┬──────────────────┐
//!   │ version │ kind │ time  │ table │ old partitions, │ reason, detail   │ 0, or 1 and key  │
//!   │ 1       │ 1    │ us: 8 │ 8     │ new partitions  │ length: 4, bytes │ length: 4, bytes │
//!   └─────────┴──────┴───────┴───────┴─────────────────┴──────────────────┴──────────────────┘
//!   partitions: count: 8, then a number: 8 for each
//! ```

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use crate::decide::Verdict;
use crate::record::{Fields, push_bytes};
use crate::spaces::EVENT_PREFIX;
use crate::{PartitionId, Result, TableId};

/// How many events are kept.
pub const EVENTS_MAX: usize = 4096;

/// Most partitions that one event may name; a record that claims more is damaged.
const PARTITIONS_NAMED_MAX: u64 = 65_536;

const VERSION: u8 = 1;
const KEY_NONE: u8 = 0;
const KEY_SOME: u8 = 1;

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A partition became two.
    Split,
    /// Neighbours became one.
    Merge,
    /// A partition is too large or too hot, and nothing was done about it.
    Refused,
}

impl EventKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Split => "Split",
            Self::Merge => "Merge",
            Self::Refused => "Refused",
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Split => 1,
            Self::Merge => 2,
            Self::Refused => 3,
        }
    }

    fn of_code(code: u8) -> Option<Self> {
        [Self::Split, Self::Merge, Self::Refused]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

/// Something that happened to partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Counts up; later events have higher numbers.
    pub number: u64,
    /// When it happened, or was first seen, in microseconds since 1970.
    pub at_us: u64,
    /// When it was last seen.
    pub last_us: u64,
    /// How often it was seen.
    pub count: u64,
    /// What happened, and why.
    pub news: News,
}

/// What happened, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// What happened.
    pub kind: EventKind,
    /// To which table.
    pub table: TableId,
    /// The partitions before; of a refusal, the one that stays.
    pub old: Vec<PartitionId>,
    /// The partitions made of them.
    pub new: Vec<PartitionId>,
    /// Why, as one word: `Size`, `Load`, `ByHand`, `HotKey`, `Tail`, ….
    pub reason: Cow<'static, str>,
    /// Why, as a sentence.
    pub detail: String,
    /// The key it is about: where a split was made, or the one that is hot.
    pub key: Option<Bytes>,
}

/// Why partitions are changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// As one word.
    pub reason: Cow<'static, str>,
    /// As a sentence.
    pub detail: String,
}

impl Cause {
    /// Somebody asked for it.
    pub fn by_hand() -> Self {
        Self {
            reason: "ByHand".into(),
            detail: "asked for".to_owned(),
        }
    }
}

impl From<&Verdict> for Cause {
    fn from(verdict: &Verdict) -> Self {
        Self {
            reason: verdict.name().into(),
            detail: verdict.to_string(),
        }
    }
}

impl News {
    fn encode(&self, at_us: u64) -> Bytes {
        let mut record = vec![VERSION, self.kind.code()];
        record.extend_from_slice(&at_us.to_be_bytes());
        record.extend_from_slice(&self.table.0.to_be_bytes());
        for list in [&self.old, &self.new] {
            let count = u64::try_from(list.len()).unwrap_or(u64::MAX);
            record.extend_from_slice(&count.to_be_bytes());
            for id in list {
                record.extend_from_slice(&id.0.to_be_bytes());
            }
        }
        push_bytes(&mut record, self.reason.as_bytes());
        push_bytes(&mut record, self.detail.as_bytes());
        match &self.key {
            None => record.push(KEY_NONE),
            Some(key) => {
                record.push(KEY_SOME);
                push_bytes(&mut record, key);
            }
        }
        record.into()
    }
}

/// An event as it lies in the metadata space: its key and its value.
pub type EventRecord = (Bytes, Bytes);

/// The newest events, oldest first.
#[derive(Debug, Default)]
pub struct Events {
    list: VecDeque<Event>,
    next: u64,
    /// How often each thing happened since the program began.
    counts: BTreeMap<(EventKind, Cow<'static, str>), u64>,
}

impl Events {
    /// Takes an event that was read from disk; they come in the order of their keys.
    pub fn adopt(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let event = decode(key, value)?;
        self.next = self.next.max(event.number.saturating_add(1));
        self.list.push_back(event);
        Ok(())
    }

    /// Whether the news are a refusal that is known already.
    pub fn is_known(&self, news: &News) -> bool {
        self.list.iter().any(|one| one.is_again(news))
    }

    /// What is to be written for the next event: its record, and the keys of those that go.
    pub(crate) fn records(&self, now_us: u64, news: &News) -> (EventRecord, Vec<Bytes>) {
        let too_many = (self.list.len() + 1).saturating_sub(EVENTS_MAX);
        let gone = self.list.iter().take(too_many);
        let gone = gone.map(|event| event_key(event.number)).collect();
        ((event_key(self.next), news.encode(now_us)), gone)
    }

    /// Adds an event, or counts a refusal that is known already.
    pub fn add(&mut self, now_us: u64, news: News) {
        let kept = (news.kind, news.reason.clone());
        *self.counts.entry(kept).or_default() += 1;
        if let Some(known) = self.list.iter_mut().rev().find(|one| one.is_again(&news)) {
            known.count += 1;
            known.last_us = now_us;
            known.news.detail = news.detail;
            return;
        }
        self.list.push_back(Event {
            number: self.next,
            at_us: now_us,
            last_us: now_us,
            count: 1,
            news,
        });
        self.next += 1;
        while self.list.len() > EVENTS_MAX {
            self.list.pop_front();
        }
    }

    /// The events, oldest first.
    pub fn all(&self) -> impl Iterator<Item = &Event> {
        self.list.iter()
    }

    /// How often each kind of thing happened, for each reason, since the program began.
    pub fn counts(&self) -> impl Iterator<Item = (EventKind, &str, u64)> {
        let counts = self.counts.iter();
        counts.map(|((kind, reason), count)| (*kind, reason.as_ref(), *count))
    }
}

impl Event {
    /// Whether the news are the refusal that this is.
    fn is_again(&self, news: &News) -> bool {
        self.news.kind == EventKind::Refused
            && self.news.kind == news.kind
            && self.news.old == news.old
            && self.news.reason == news.reason
            && self.news.key == news.key
    }
}

fn event_key(number: u64) -> Bytes {
    let mut key = vec![EVENT_PREFIX];
    key.extend_from_slice(&number.to_be_bytes());
    key.into()
}

fn decode(key: &[u8], value: &[u8]) -> Result<Event> {
    let name = || format!("the partition event {key:02x?}");
    let mut fields = Fields::new(key, &name);
    fields.byte("the prefix")?;
    let number = fields.number("the number")?;
    fields.finish()?;
    let mut fields = Fields::new(value, &name);
    let version = fields.byte("the version")?;
    if version != VERSION {
        return Err(fields.damaged(&format!("version {version}, this program reads {VERSION}")));
    }
    let code = fields.byte("the kind")?;
    let kind = EventKind::of_code(code)
        .ok_or_else(|| fields.damaged(&format!("kind {code} is not known")))?;
    let at_us = fields.number("the time")?;
    let table = TableId(fields.number("the table")?);
    let old = partitions(&mut fields)?;
    let new = partitions(&mut fields)?;
    let reason = text(&mut fields, "the reason")?;
    let detail = text(&mut fields, "the detail")?;
    let key = match fields.byte("the mark of the key")? {
        KEY_NONE => None,
        _ => Some(Bytes::copy_from_slice(fields.bytes("the key")?)),
    };
    fields.finish()?;
    let news = News {
        kind,
        table,
        old,
        new,
        reason: reason.into(),
        detail,
        key,
    };
    Ok(Event {
        number,
        at_us,
        last_us: at_us,
        count: 1,
        news,
    })
}

fn partitions(fields: &mut Fields<'_>) -> Result<Vec<PartitionId>> {
    let count = fields.number("the number of partitions")?;
    if count > PARTITIONS_NAMED_MAX {
        return Err(fields.damaged(&format!("{count} partitions")));
    }
    (0..count)
        .map(|_| fields.number("a partition").map(PartitionId))
        .collect()
}

fn text(fields: &mut Fields<'_>, field: &str) -> Result<String> {
    let bytes = fields.bytes(field)?.to_vec();
    String::from_utf8(bytes).map_err(|_| fields.damaged(&format!("{field} is no text")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(partition: u64, reason: &'static str) -> News {
        News {
            kind: EventKind::Refused,
            table: TableId(1),
            old: vec![PartitionId(partition)],
            new: Vec::new(),
            reason: reason.into(),
            detail: "why".to_owned(),
            key: None,
        }
    }

    #[test]
    fn an_unchanged_refusal_is_one_event() {
        let mut events = Events::default();
        events.add(1, refusal(7, "Tail"));
        events.add(2, refusal(8, "Tail"));
        for now_us in 3..10 {
            assert!(events.is_known(&refusal(7, "Tail")));
            events.add(now_us, refusal(7, "Tail"));
        }
        assert!(!events.is_known(&refusal(7, "HotKey")));
        events.add(10, refusal(7, "HotKey"));
        let first = events.all().next().unwrap();
        assert_eq!((first.at_us, first.last_us, first.count), (1, 9, 8));
        assert_eq!(events.all().count(), 3);
        let tails = (EventKind::Refused, "Tail", 9);
        assert!(events.counts().any(|one| one == tails));
    }

    #[test]
    fn the_oldest_go_and_their_records_with_them() {
        let mut events = Events::default();
        let mut removed = 0;
        for partition in 0..5000 {
            removed += events.records(1, &refusal(partition, "Tail")).1.len();
            events.add(1, refusal(partition, "Tail"));
        }
        assert_eq!(
            (events.all().count(), removed),
            (EVENTS_MAX, 5000 - EVENTS_MAX)
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            old: Vec<u64>, new: Vec<u64>, detail: String, key: Option<Vec<u8>>
        ) {
            let ids = |list: Vec<u64>| list.into_iter().map(PartitionId).collect();
            let news = News {
                kind: EventKind::Split,
                old: ids(old),
                new: ids(new),
                detail,
                key: key.map(Bytes::from),
                ..refusal(1, "Load")
            };
            let mut events = Events::default();
            let ((at, record), _) = events.records(5, &news);
            events.add(5, news);
            let mut read = Events::default();
            read.adopt(&at, &record).unwrap();
            prop_assert_eq!(read.all().collect::<Vec<_>>(), events.all().collect::<Vec<_>>());
            prop_assert_eq!(read.next, events.next);
        }

        #[test]
        fn any_bytes_are_read_or_refused(value: Vec<u8>) {
            let _ = Events::default().adopt(&event_key(3), &value);
        }
    }
}
