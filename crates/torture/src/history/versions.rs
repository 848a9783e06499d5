//! The versions of each list, and what a single read or list shows to be wrong.

use std::collections::{HashMap, HashSet};

use super::check::{Anomaly, Class};
use super::explain;
use super::transactions::{Element, History, KeyId, Operation, Transaction, Version};
use super::writes::{Writes, kept};

/// A list that a committed transaction read, without what it had appended itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read<'h> {
    pub(super) reader: usize,
    pub(super) key: KeyId,
    pub(super) list: &'h [Element],
}

/// The lists of a history.
#[derive(Debug)]
pub(super) struct Versions<'h> {
    /// The longest list of each key that was seen: its first n elements are its version n.
    pub(super) orders: Vec<Vec<Element>>,
    /// The reads that are versions.
    pub(super) reads: Vec<Read<'h>>,
}

impl<'h> Versions<'h> {
    /// The versions, and the anomalies that need no cycle.
    pub(super) fn of(history: &'h History, writes: &'h Writes) -> (Self, Vec<Anomaly>) {
        let mut judge = Judge {
            history,
            writes,
            anomalies: Vec::new(),
        };
        let mut reads = Vec::new();
        for (reader, transaction) in history.transactions.iter().enumerate() {
            if writes.acknowledged(history, reader) {
                judge.reads_of(reader, transaction, &mut reads);
            }
        }
        let last = judge.last();
        let orders = orders(&last, &reads);
        for (key, order) in orders.iter().enumerate() {
            judge.elements(key, order, &reads);
        }
        let reads = judge.versions_only(&orders, reads);
        judge.ends(&orders, &last);
        judge.intermediate(&reads);
        judge.lost(&last);
        (Self { orders, reads }, judge.anomalies)
    }

    pub(super) fn order(&self, key: KeyId) -> &[Element] {
        self.orders.get(key).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The longest list of each key.
fn orders(last: &[&[Element]], reads: &[Read<'_>]) -> Vec<Vec<Element>> {
    let mut longest: Vec<&[Element]> = last.to_vec();
    for read in reads {
        if let Some(known) = longest.get_mut(read.key)
            && known.len() < read.list.len()
        {
            *known = read.list;
        }
    }
    longest.into_iter().map(<[Element]>::to_vec).collect()
}

struct Judge<'h> {
    history: &'h History,
    writes: &'h Writes,
    anomalies: Vec<Anomaly>,
}

impl<'h> Judge<'h> {
    fn tell(&mut self, class: Class, text: String) {
        self.anomalies.push(Anomaly { class, text });
    }

    fn name(&self, key: KeyId) -> &'h str {
        let key = self.history.keys.get(key);
        key.map_or("a key that is not known", |key| key.name.as_str())
    }

    fn describe(&self, transaction: usize) -> String {
        explain::transaction(self.history, transaction)
    }

    /// The elements of a version. An absent row is one with no elements, or with its deletion.
    fn elements_of(&mut self, key: KeyId, version: &'h Version) -> Option<&'h [Element]> {
        if let Version::List(list) = version {
            return Some(list);
        }
        let list = self.writes.absent(self.history, key);
        if list.is_none() {
            let text = format!("the row of {} is gone, and none deleted it", self.name(key));
            self.tell(Class::Lost, text);
        }
        list
    }

    /// Adds what a transaction read. Its own writes must be the end of it.
    fn reads_of(&mut self, reader: usize, transaction: &'h Transaction, reads: &mut Vec<Read<'h>>) {
        let mut own: Vec<(usize, KeyId, Element)> = Vec::new();
        for (place, operation) in transaction.operations.iter().enumerate() {
            let (key, seen) = match operation {
                Operation::Append { key, element } => {
                    own.push((place, *key, *element));
                    continue;
                }
                Operation::RollbackTo(first) => {
                    own.retain(|(place, _, _)| place < first);
                    continue;
                }
                Operation::Read { key, version } => (*key, self.elements_of(*key, version)),
                Operation::Delete { key, list, .. } => (*key, Some(list.as_slice())),
            };
            let of_key = own.iter().filter(|(_, other, _)| *other == key);
            let of_key: Vec<Element> = of_key.map(|(_, _, element)| *element).collect();
            match seen.map(|seen| seen.strip_suffix(of_key.as_slice())) {
                Some(Some(list)) => reads.push(Read { reader, key, list }),
                Some(None) => {
                    let text = format!(
                        "{} after own writes {of_key:?} saw {:?}\n  {}",
                        self.name(key),
                        seen.unwrap_or_default(),
                        self.describe(reader)
                    );
                    self.tell(Class::Internal, text);
                }
                None => {}
            }
            if let Operation::Delete { element, .. } = operation {
                own.push((place, key, *element));
            }
        }
    }

    /// The lists at the end.
    fn last(&mut self) -> Vec<&'h [Element]> {
        let history = self.history;
        let versions = history.last.iter().enumerate();
        versions
            .map(|(key, version)| self.elements_of(key, version).unwrap_or_default())
            .collect()
    }

    /// Elements that must not be in a list, and elements that are there twice.
    fn elements(&mut self, key: KeyId, list: &[Element], reads: &[Read<'h>]) {
        let mut before = HashSet::new();
        for (place, element) in list.iter().enumerate() {
            if !before.insert(*element) {
                let text = format!("{} has {element} twice: {list:?}", self.name(key));
                self.tell(Class::Duplicate, text);
            }
            let Some(write) = self.writes.get(key, *element) else {
                let text = format!("{} has {element}, which none appended", self.name(key));
                self.tell(Class::Garbage, text);
                continue;
            };
            if write.kept && self.writes.is_committed(write.writer) {
                continue;
            }
            let mut readers = reads
                .iter()
                .filter(|read| read.key == key && read.list.get(place) == Some(element));
            let reader = readers.next().map_or_else(
                || "it is there at the end".to_owned(),
                |read| format!("read by {}", self.describe(read.reader)),
            );
            let text = format!(
                "{} has {element}, which was rolled back\n  written by {}\n  {reader}",
                self.name(key),
                self.describe(write.writer)
            );
            self.tell(Class::G1a, text);
        }
    }

    /// Leaves out reads that are no version of their list, and tells of the first one of each key.
    fn versions_only(&mut self, orders: &[Vec<Element>], reads: Vec<Read<'h>>) -> Vec<Read<'h>> {
        let mut told = HashSet::new();
        let mut versions = Vec::with_capacity(reads.len());
        for read in reads {
            let order = orders.get(read.key).map(Vec::as_slice).unwrap_or_default();
            if order.starts_with(read.list) {
                versions.push(read);
                continue;
            }
            if told.insert(read.key) {
                let text = format!(
                    "{} was read as {:?} and as {order:?}\n  {}",
                    self.name(read.key),
                    read.list,
                    self.describe(read.reader)
                );
                self.tell(Class::IncompatibleOrder, text);
                self.elements(read.key, read.list, &[read]);
            }
        }
        versions
    }

    /// The list at the end must be one of the versions too.
    fn ends(&mut self, orders: &[Vec<Element>], last: &[&'h [Element]]) {
        for (key, (order, last)) in orders.iter().zip(last).enumerate() {
            if !order.starts_with(last) {
                let text = format!(
                    "{} is {last:?} at the end and was read as {order:?}",
                    self.name(key)
                );
                self.tell(Class::IncompatibleOrder, text);
            }
        }
    }

    /// Reads that end with an element after which its writer wrote another one.
    fn intermediate(&mut self, reads: &[Read<'h>]) {
        let mut told = HashSet::new();
        for read in reads {
            let Some(element) = read.list.last() else {
                continue;
            };
            let Some(write) = self.writes.get(read.key, *element) else {
                continue;
            };
            let between = write.kept && !write.last && write.writer != read.reader;
            if between && told.insert((read.key, *element)) {
                let text = format!(
                    "{} was read up to {element}, in the middle of its writer\n  written by {}\n  read by {}",
                    self.name(read.key),
                    self.describe(write.writer),
                    self.describe(read.reader)
                );
                self.tell(Class::G1b, text);
            }
        }
    }

    /// Acknowledged writes that are not there at the end.
    fn lost(&mut self, last: &[&'h [Element]]) {
        let places: HashMap<KeyId, HashSet<Element>> = last
            .iter()
            .enumerate()
            .map(|(key, list)| (key, list.iter().copied().collect()))
            .collect();
        let history = self.history;
        for (index, transaction) in history.transactions.iter().enumerate() {
            if !self.writes.acknowledged(history, index) {
                continue;
            }
            for (key, element) in kept(transaction) {
                if !places.get(&key).is_some_and(|list| list.contains(&element)) {
                    let text = format!(
                        "{} has no {element} at the end\n  written by {}",
                        self.name(key),
                        self.describe(index)
                    );
                    self.tell(Class::Lost, text);
                }
            }
        }
    }
}
