//! Any names, in tables of any number of buckets, which change: each item that was put is found by its own
//! name, by every name that it is shown under, by its original key, by scans and by SQL, exactly once.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use db::items::Write;
use db::items::expression::Update;
use keys::ItemName;
use keys::bucket::even_item_name;
use proptest::prelude::*;

use super::*;

/// How an item is written.
#[derive(Clone, Copy, Debug)]
enum How {
    /// Under its own name, which it says of itself.
    Own,
    /// The same, and it says nothing.
    Bare,
    /// Under the name with its bucket.
    Alias,
    /// By UPSERT.
    Sql,
}

#[derive(Clone, Debug)]
enum Step {
    Put(String, String, How),
    /// A name without a sorting key.
    Plain(String),
    /// Of the items that are there, the one so far down the list.
    Update(usize, How),
    Delete(usize, How),
    Schema(&'static str, u32),
}

fn key() -> impl Strategy<Value = String> {
    let alike = prop::sample::select(vec![
        "bob",
        "bob_36",
        "bob_36_36",
        "bob_0",
        "bob_1",
        "bob_1_1",
        "bob_64",
        "bob_10",
        "bob_",
        "_",
        "_3",
        "__1",
        "é_7",
        "7",
        "7_1",
        "bob'",
        "bob 1",
    ]);
    prop_oneof![
        4 => alike.prop_map(str::to_owned),
        1 => "[a-b_0-9é]{1,6}",
        // With its bucket it is too long for a name.
        1 => Just("x".repeat(250)),
    ]
}

fn sorting() -> impl Strategy<Value = String> {
    let some = prop::sample::select(vec![
        "20180602", "20180701", "", "1", "7", "007", "a.b", "x_3", ".", "_1", "ü",
    ]);
    prop_oneof![3 => some.prop_map(str::to_owned), 1 => "[a-b.0-9_]{0,4}"]
}

fn how() -> impl Strategy<Value = How> {
    prop::sample::select(vec![How::Own, How::Bare, How::Alias, How::Sql])
}

fn schema() -> impl Strategy<Value = (&'static str, u32)> {
    let kinds = prop::sample::select(vec!["string", "string", "string", "long", "timestamp"]);
    (kinds, prop::sample::select(vec![0, 1, 2, 10, 64]))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (key(), sorting(), how()).prop_map(|(key, sorting, how)| Step::Put(key, sorting, how)),
        1 => key().prop_map(Step::Plain),
        2 => (any::<usize>(), how()).prop_map(|(at, how)| Step::Update(at, how)),
        1 => (any::<usize>(), how()).prop_map(|(at, how)| Step::Delete(at, how)),
        2 => schema().prop_map(|(kind, buckets)| Step::Schema(kind, buckets)),
    ]
}

/// What should be there.
struct Model {
    both: Both,
    /// By own name.
    items: BTreeMap<String, i64>,
    kind: &'static str,
    buckets: Option<NonZeroU32>,
    /// The buckets that there ever were.
    past: Vec<NonZeroU32>,
    next: i64,
}

/// The name of an item with its bucket.
fn alias(own: &str, buckets: NonZeroU32) -> Option<String> {
    let ItemName { sharding, sorting } = ItemName::split(own);
    let alias = even_item_name(sharding, sorting?, buckets);
    keys::check_item_name(&alias).is_ok().then_some(alias)
}

impl Model {
    async fn apply(&mut self, step: Step) {
        self.next += 1;
        let n = self.next;
        match step {
            Step::Put(key, sorting, how) => {
                let own = format!("{key}.{sorting}");
                if keys::check_item_name(&own).is_ok() {
                    self.put(&key, &own, how).await;
                    self.items.insert(own, n);
                }
            }
            Step::Plain(name) => {
                self.both.put(&name, None, n).await;
                self.items.insert(name, n);
            }
            Step::Update(at, how) => {
                if let Some(own) = self.own(at) {
                    self.update(&own, how).await;
                    self.items.insert(own, n);
                }
            }
            Step::Delete(at, how) => {
                if let Some(own) = self.own(at) {
                    self.delete(&own, how).await;
                    self.items.remove(&own);
                }
            }
            Step::Schema(kind, buckets) => {
                self.both.schema_of(kind, buckets).await;
                self.kind = kind;
                self.past.extend(self.buckets);
                self.buckets = NonZeroU32::new(buckets);
                self.check().await;
            }
        }
    }

    fn own(&self, at: usize) -> Option<String> {
        let count = self.items.len().max(1);
        self.items.keys().nth(at % count).cloned()
    }

    /// A name that means the item and no other.
    fn called(&self, own: &str, how: How) -> String {
        let buckets = self.buckets.filter(|_| matches!(how, How::Alias));
        let alias = buckets.and_then(|buckets| alias(own, buckets));
        let alias = alias.filter(|alias| !self.items.contains_key(alias));
        alias.unwrap_or_else(|| own.to_owned())
    }

    async fn put(&mut self, key: &str, own: &str, how: How) {
        let n = self.next;
        let sorting = ItemName::split(own).sorting.unwrap_or_default();
        match (how, self.buckets) {
            (How::Sql, _) if self.kind == "string" => {
                let (key, sorting) = (quoted(key), quoted(sorting));
                let put =
                    format!(r#"UPSERT INTO "users/t" (k, s, n) VALUES ({key}, {sorting}, {n})"#);
                self.both.sql(&put).await;
            }
            (How::Alias, Some(buckets)) if alias(own, buckets).is_some() => {
                let alias = alias(own, buckets).unwrap();
                self.both.put(&alias, Some(key), n).await;
            }
            (How::Bare, _) => self.both.put(own, None, n).await,
            _ => self.both.put(own, Some(key), n).await,
        }
    }

    async fn update(&mut self, own: &str, how: How) {
        let n = self.next;
        if let (How::Sql, Some(found)) = (how, self.found_by(own)) {
            let update = format!(r#"UPDATE "users/t" SET n = {n} WHERE {found}"#);
            self.both.sql(&update).await;
            return;
        }
        let write = Write {
            update: Some(Update::parse(&format!("n = {n}")).unwrap()),
            ..Write::default()
        };
        let at = place(&self.called(own, how));
        self.both.http.write(&at, &write).await.unwrap();
    }

    async fn delete(&mut self, own: &str, how: How) {
        if let (How::Sql, Some(found)) = (how, self.found_by(own)) {
            let delete = format!(r#"DELETE FROM "users/t" WHERE {found}"#);
            self.both.sql(&delete).await;
            return;
        }
        let at = place(&self.called(own, how));
        self.both.http.delete(&at, None).await.unwrap();
    }

    /// What is true of its columns in SQL and of no other item's, if sorting keys are texts.
    fn found_by(&self, own: &str) -> Option<String> {
        let ItemName { sharding, sorting } = ItemName::split(own);
        let sorting = match sorting {
            Some(sorting) => format!("= {}", quoted(sorting)),
            None => "IS NULL".to_owned(),
        };
        let found = format!("k = {} AND s {sorting}", quoted(sharding));
        (self.kind == "string").then_some(found)
    }

    /// Each item is found in every way.
    async fn check(&mut self) {
        let mut all: Vec<i64> = self.items.values().copied().collect();
        all.sort_unstable();
        let numbers = |found: &[(String, i64)]| {
            let mut numbers: Vec<i64> = found.iter().map(|(_, n)| *n).collect();
            numbers.sort_unstable();
            numbers
        };
        let whole = self.both.scan(Scope::Whole).await;
        assert_eq!(numbers(&whole), all, "{whole:?}");
        let mut segments = self.both.scan(Scope::Segment(0, 2)).await;
        segments.extend(self.both.scan(Scope::Segment(1, 2)).await);
        assert_eq!(numbers(&segments), all);
        let below = self.both.scan(Scope::Below(None)).await;
        assert_eq!(numbers(&below), all);
        let rows = self.both.sql(r#"SELECT __name, n FROM "users/t""#).await;
        let rows: Vec<(String, i64)> = rows
            .into_iter()
            .map(|row| match row.as_slice() {
                [Value::Utf8(name), Value::Int64(n)] => (name.to_string(), *n),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(numbers(&rows), all, "{rows:?}");
        for (shown, n) in whole.into_iter().chain(rows) {
            assert_eq!(self.both.get(&shown).await, Some(n), "shown as {shown}");
        }
        for (own, n) in self.items.clone() {
            self.check_item(&own, n).await;
        }
        self.check_loop().await;
    }

    async fn check_item(&mut self, own: &str, n: i64) {
        assert_eq!(self.both.get(own).await, Some(n), "{own}");
        for buckets in self.past.iter().chain(&self.buckets) {
            if let Some(alias) = alias(own, *buckets).filter(|one| !self.items.contains_key(one)) {
                assert_eq!(self.both.get(&alias).await, Some(n), "{own} as {alias}");
            }
        }
        if let Some(found) = self.found_by(own) {
            let rows = format!(r#"SELECT n FROM "users/t" WHERE {found}"#);
            assert_eq!(self.both.sql(&rows).await, [[Value::Int64(n)]], "{found}");
        }
        let key = ItemName::split(own).sharding;
        let found = self.both.sharding(key).await;
        let of_key = self.of_key(key);
        for n in &of_key {
            let times = found.iter().filter(|(_, one)| one == n).count();
            assert_eq!(times, 1, "{key}: {found:?}");
        }
        // And those of one bucket, if the key looks like one.
        let others = found.iter().filter(|(_, n)| !of_key.contains(n));
        let stem = key.rsplit_once('_').map_or("", |(stem, _)| stem);
        let of_stem = self.of_key(stem);
        for (name, n) in others {
            assert!(
                self.buckets.is_some() && of_stem.contains(n),
                "{key}: {name}"
            );
        }
    }

    /// The numbers of the items of a sharding key.
    fn of_key(&self, key: &str) -> Vec<i64> {
        let items = self.items.iter();
        let items = items.filter(|(own, _)| ItemName::split(own).sharding == key);
        items.map(|(_, n)| *n).collect()
    }

    /// A loop over the buckets of a sharding key, as documents have it.
    async fn check_loop(&self) {
        let spread = self.items.keys().find(|own| own.contains('.'));
        let (Some(buckets), Some(own)) = (self.buckets, spread) else {
            return;
        };
        let stem = ItemName::split(own).sharding;
        let mut found = Vec::new();
        for bucket in 1..=buckets.get() {
            found.extend(self.both.sharding(&format!("{stem}_{bucket}")).await);
        }
        for (own, n) in &self.items {
            if own
                .strip_prefix(stem)
                .is_some_and(|rest| rest.starts_with('.'))
            {
                let times = found.iter().filter(|(_, one)| one == n).count();
                assert_eq!(times, 1, "{own}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_item_is_found_in_every_way(
        (kind, buckets) in schema(),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let mut model = Model {
                both: Both::new(),
                items: BTreeMap::new(),
                kind,
                buckets: None,
                past: Vec::new(),
                next: 0,
            };
            model.apply(Step::Schema(kind, buckets)).await;
            for step in steps {
                model.apply(step).await;
            }
            model.check().await;
        });
    }
}
