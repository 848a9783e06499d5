//! Where an item lies, and what it may be called.
//!
//! ```text
//!   own name            where it lies, of 64 buckets     what it is called besides
//!   johnd.20180602      johnd/36     20180602            johnd_36.20180602
//!   dev_36.20180602     dev_36/36    20180602            dev_36_36.20180602
//!   johnd               johnd                            nothing: no sorting key, no bucket
//! ```
//!
//! An item is one sharding key and one sorting key: its own name, which is stored with it. In a table
//! with even distribution it lies in the bucket of its sorting key, where no item of another name can
//! lie, and its sharding key with the bucket behind it is an *alias*. Who looks for a name means the item
//! that has it for its own, and the one that it is an alias of if there is no such item.
//!
//! Who puts an item under an alias means the one that it is an alias of only if the item says so itself,
//! in the attribute that the schema calls its key. So `dev_36` is another device than `dev`.
//!
//! While items are moved to other buckets each of them lies where it belongs or where it was before.

use std::num::NonZeroU32;

use keys::bucket::even_bucket;
use keys::{EvenSharding, Item, ItemName, spread_sharding};

use super::columns;
use super::layout::Layout;
use super::record::{Key, Record};

/// Items of one stored sharding key that are among those that a sharding key means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strand {
    /// The sharding key, as it is stored.
    pub sharding: String,
    /// The bucket whose items alone are meant, of how many.
    only: Option<(u32, NonZeroU32)>,
}

impl Strand {
    /// The items of a sharding key, as it is stored.
    pub fn of(sharding: String) -> Self {
        Self {
            sharding,
            only: None,
        }
    }

    /// Whether a record with this sharding key is meant.
    pub fn has(&self, record: &Record) -> bool {
        let sorting = ItemName::split(&record.name).sorting;
        self.only.is_none_or(|(bucket, buckets)| {
            sorting.is_some_and(|sorting| even_bucket(sorting, buckets) == bucket)
        })
    }
}

impl Layout {
    /// Where the item with this own name is written.
    pub fn key(&self, path: &str, own: &str) -> Key {
        Key::in_buckets(path, own, self.order, self.buckets)
    }

    /// Where it may lie: first where it is written.
    pub fn keys(&self, path: &str, own: &str) -> Vec<Key> {
        let mut keys = vec![self.key(path, own)];
        if self.former.is_some() {
            let former = Key::in_buckets(path, own, self.order, self.former);
            keys.extend(Some(former).filter(|former| !keys.contains(former)));
        }
        keys
    }

    /// The own names of the items that a name may mean, in the order in which they are looked for.
    pub fn meanings(&self, name: &str) -> Vec<String> {
        let mut names = vec![name.to_owned()];
        if let Some(alias) = self.alias(name) {
            names.push(alias.join());
        }
        names
    }

    /// The own name of the item that is put under a name.
    pub fn own_name(&self, name: &str, item: &Item) -> String {
        let alias = self.alias(name).filter(|_| self.buckets.is_some());
        let alias = alias.filter(|alias| self.says(item, alias));
        alias.map_or_else(|| name.to_owned(), |alias| alias.join())
    }

    /// Whether an item says that this is its name, as far as one attribute tells.
    pub(super) fn says(&self, item: &Item, name: &ItemName) -> bool {
        let said = self.key.as_deref().and_then(|key| item.get(key));
        let said = said.and_then(columns::attribute_text);
        match self.sorting_key {
            Some(_) => said.as_deref() == Some(name.sharding),
            None => said == Some(name.join()),
        }
    }

    /// The name that this one is with a bucket of today or of before.
    fn alias<'n>(&self, name: &'n str) -> Option<ItemName<'n>> {
        let name = ItemName::split(name);
        let mut all = self.buckets.iter().chain(&self.former).chain(&*self.past);
        all.find_map(|buckets| name.alias(*buckets))
    }

    /// The sharding keys under which the items of one lie.
    pub(crate) fn shardings(&self, sharding: &str) -> Vec<String> {
        // What has no sorting key is in no bucket.
        let mut all = vec![sharding.to_owned()];
        all.extend(self.spread(sharding));
        all
    }

    /// Where the items of a sharding key lie, and those of one bucket if it names one of so many: those of
    /// today, or those of the moment when a scan began.
    pub fn strands(&self, sharding: &str, counted: Option<NonZeroU32>) -> Vec<Strand> {
        let own = self.shardings(sharding).into_iter();
        let mut strands: Vec<Strand> = own.map(Strand::of).collect();
        let even = counted.zip(EvenSharding::split(sharding));
        let Some((buckets, bucket, stem)) = even.and_then(|(buckets, even)| {
            let bucket = even.bucket_of(buckets)?;
            Some((buckets, bucket, even.stem))
        }) else {
            return strands;
        };
        if self.former.is_none() && self.buckets == Some(buckets) {
            strands.push(Strand::of(spread_sharding(stem, bucket)));
            return strands;
        }
        let stems = self.shardings(stem).into_iter();
        strands.extend(stems.map(|sharding| Strand {
            sharding,
            only: Some((bucket, buckets)),
        }));
        strands
    }

    fn spread(&self, sharding: &str) -> impl Iterator<Item = String> {
        let count = |buckets: Option<NonZeroU32>| buckets.map_or(0, NonZeroU32::get);
        let most = count(self.buckets).max(count(self.former));
        (0..most).map(move |bucket| spread_sharding(sharding, bucket))
    }
}

#[cfg(test)]
mod tests {
    use keys::Attribute;

    use super::*;

    fn layout(buckets: u32) -> Layout {
        let schema = format!(r#"{{"key": "k", "sortingKey": "s", "hashingBucketNum": {buckets}}}"#);
        Layout::parse(schema.as_bytes()).unwrap()
    }

    fn shardings(layout: &Layout, sharding: &str) -> Vec<String> {
        let strands = layout.strands(sharding, layout.buckets).into_iter();
        strands.map(|strand| strand.sharding).collect()
    }

    #[test]
    fn an_item_says_itself_whether_its_name_is_an_alias() {
        let named = |layout: &Layout, key: Option<&str>| {
            let key = key.map(|key| ("k".to_owned(), Attribute::Text(key.to_owned())));
            layout.own_name("bob_36.20180602", &key.into_iter().collect())
        };
        let even = layout(64);
        assert_eq!(named(&even, Some("bob")), "bob.20180602");
        for other in [None, Some("bob_36"), Some("eve")] {
            assert_eq!(named(&even, other), "bob_36.20180602");
        }
        assert_eq!(named(&layout(0), Some("bob")), "bob_36.20180602");
        assert_eq!(named(&layout(10), Some("bob")), "bob_36.20180602");
        // Clients may still count in the buckets of before.
        let mut fewer = layout(10);
        fewer.past = [NonZeroU32::new(64).unwrap()].into();
        assert_eq!(named(&fewer, Some("bob")), "bob.20180602");
        assert_eq!(fewer.meanings("bob_36.20180602").len(), 2);
    }

    #[test]
    fn items_lie_in_one_place_each() {
        let mut layout = layout(2);
        assert_eq!(layout.meanings(".#schema"), [".#schema"]);
        assert_eq!(layout.key("", ".#schema").sharding, "");
        assert_eq!(layout.key("", "a").sharding, "a");
        assert_eq!(shardings(&layout, "a"), ["a", "a/0", "a/1"]);
        assert_eq!(shardings(&layout, "a_1"), ["a_1", "a_1/0", "a_1/1", "a/1"]);
        assert_eq!(
            shardings(&layout, "a_2").last().map(String::as_str),
            Some("a/0")
        );
        assert_eq!(shardings(&layout, "a_3").len(), 3);
        layout.former = NonZeroU32::new(3);
        assert_eq!(shardings(&layout, "a").len(), 4);
        assert_eq!(shardings(&layout, "a_1").len(), 8);
        // A scan that began before counts on in the buckets of then.
        let then = layout.strands("a_3", layout.former);
        assert_eq!(then.len(), 8);
        for t in 0..20 {
            let own = format!("a.{t}");
            let [now, before] = [2, 3].map(|buckets| {
                let buckets = NonZeroU32::new(buckets).unwrap();
                spread_sharding("a", even_bucket(&t.to_string(), buckets))
            });
            let keys = layout.keys("", &own).into_iter();
            let mut expected = vec![now, before];
            expected.dedup();
            assert_eq!(keys.map(|key| key.sharding).collect::<Vec<_>>(), expected);
        }
    }
}
