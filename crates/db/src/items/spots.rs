//! Which items a request's name means, and where they may lie: the rules are those of
//! [`sql::collection::spots`], and a header of ours.
//!
//! ```text
//!   X-evenkeel-buckets: 64     johnd.20180602 ──► johnd_36.20180602      in a table without a schema
//! ```
//!
//! The header translates names, and nothing else: what it was not there for is found by its name.

use std::num::NonZeroU32;

use keys::bucket::even_item_name;
use keys::{EvenSharding, Item, ItemName, check_item_name};
use sql::collection::Strand;

use super::{Entered, Key, Place, Result};

/// An item that a name may mean.
#[derive(Debug)]
pub(super) struct Spot {
    /// Its own name.
    pub(super) name: String,
    /// Where it may lie: first where it is written.
    pub(super) keys: Vec<Key>,
}

/// The items that a name may mean, in the order in which they are looked for.
#[derive(Debug)]
pub(super) struct Spots {
    pub(super) all: Vec<Spot>,
    /// Whether a new item is the first of them, whatever it says of itself.
    fixed: bool,
}

impl Spots {
    /// All keys, in the order in which they are looked at.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.all.iter().flat_map(|spot| &spot.keys)
    }
}

impl Entered {
    /// The items that a name may mean.
    pub(super) fn spots(&self, place: &Place, buckets: Option<NonZeroU32>) -> Spots {
        let names = match self.translating(buckets) {
            Some(buckets) => {
                let mut names = vec![translated(&place.name, buckets), place.name.clone()];
                names.dedup();
                names
            }
            None => self.layout.meanings(&place.name),
        };
        Spots {
            all: names
                .into_iter()
                .map(|name| self.spot(place, name))
                .collect(),
            fixed: self.translating(buckets).is_some(),
        }
    }

    /// The item that is put under a name.
    pub(super) fn spots_to_put(
        &self,
        place: &Place,
        buckets: Option<NonZeroU32>,
        item: &Item,
    ) -> Result<Spots> {
        let name = match self.translating(buckets) {
            Some(buckets) => translated(&place.name, buckets),
            None => self.layout.own_name(&place.name, item),
        };
        check_item_name(&name)?;
        Ok(Spots {
            all: vec![self.spot(place, name)],
            fixed: true,
        })
    }

    /// Which of the items that a name may mean a new one is.
    pub(super) fn spot_of_new<'s>(
        &self,
        place: &Place,
        spots: &'s Spots,
        item: &Item,
    ) -> Option<&'s Spot> {
        let own = self.layout.own_name(&place.name, item);
        let mut all = spots.all.iter();
        match spots.fixed {
            true => all.next(),
            false => all.find(|spot| spot.name == own).or(spots.all.first()),
        }
    }

    /// Where the items of a sharding key lie, which may name one of so many buckets.
    pub(super) fn strands(
        &self,
        sharding: &str,
        buckets: Option<NonZeroU32>,
        counted: Option<NonZeroU32>,
    ) -> Vec<Strand> {
        let Some(buckets) = self.translating(buckets) else {
            return self.layout.strands(sharding, counted);
        };
        let stem = sharding;
        let all = (0..buckets.get()).map(|bucket| EvenSharding { stem, bucket }.join());
        let all = std::iter::once(sharding.to_owned()).chain(all);
        all.map(Strand::of).collect()
    }

    /// The buckets that a request names, where no schema tells.
    pub(super) fn translating(&self, buckets: Option<NonZeroU32>) -> Option<NonZeroU32> {
        buckets.filter(|_| self.found.root.is_none())
    }

    fn spot(&self, place: &Place, name: String) -> Spot {
        Spot {
            keys: self.layout.keys(&place.directory.path, &name),
            name,
        }
    }
}

fn translated(name: &str, buckets: NonZeroU32) -> String {
    let parts = ItemName::split(name);
    match parts.sorting.filter(|_| !parts.sharding.is_empty()) {
        Some(sorting) => even_item_name(parts.sharding, sorting, buckets),
        None => name.to_owned(),
    }
}
