//! [`candidates`]: the keys that are worth a replay.
//!
//! ```text
//!   the key that is                               always the first
//!   its columns in another order                  and with a column before them that reads name
//!   hash of the first column, or of all           before the best of these
//!   buckets of the rest behind the first          one user's rows over several places
//!   4 … 64 buckets before all                     PRIMARY KEY … USING HASH
//!   a random id                                   as even as can be, and nothing lies together
//! ```
//!
//! A key must tell rows apart: each of these holds all columns of the key that is, or of another
//! list that is known to be unique. A column that the recorded rows do not say cannot be judged, and
//! is in none.

use keys::Type;

use super::key::{Key, Part};
use super::plan::function_for;
use super::workload::Workload;

/// The most keys that are replayed.
pub const CANDIDATES_MAX: usize = 24;
/// The most orders of columns.
const ORDERS_MAX: usize = 8;
/// Orders that get hashes and buckets as well.
const ORDERS_HASHED_MAX: usize = 3;
/// A column that so small a share of the operations names is in no key for it.
const NAMED_MIN: f64 = 0.05;
/// The numbers of buckets that are tried.
const BUCKETS: [u32; 5] = [4, 8, 16, 32, 64];
/// The numbers of buckets behind the first column.
const INNER_BUCKETS: [u32; 2] = [8, 32];
/// Lists of so many columns are tried in every order.
const PERMUTED_MAX: usize = 3;

/// The keys to replay, the one that is first.
pub(crate) fn candidates(workload: &Workload) -> Vec<Key> {
    let mut found = vec![Key::of(&workload.table)];
    let orders = orders(workload);
    let mut add = |parts: Vec<Part>| {
        let key = Key { parts };
        if found.len() < CANDIDATES_MAX && !found.contains(&key) {
            found.push(key);
        }
    };
    for order in &orders {
        add(plain(order).collect());
    }
    let hashed: Vec<&Vec<u16>> = orders.iter().take(ORDERS_HASHED_MAX).collect();
    for order in &hashed {
        if let Some(first) = order.first() {
            let hash = hash_part(workload, &[*first]);
            add([hash].into_iter().chain(plain(order)).collect());
        }
    }
    if let Some(order) = hashed.first().filter(|order| order.len() > 1) {
        let hash = hash_part(workload, order);
        add([hash].into_iter().chain(plain(order)).collect());
    }
    for count in INNER_BUCKETS {
        for order in &hashed {
            if let Some((first, rest)) = order.split_first().filter(|(_, rest)| !rest.is_empty()) {
                let parts = [Part::Column(*first), bucket_part(rest, count)];
                add(parts.into_iter().chain(plain(order).skip(1)).collect());
            }
        }
    }
    let unique = unique_lists(workload);
    if let Some(columns) = unique.first() {
        add(vec![Part::Random {
            columns: columns.clone(),
        }]);
    }
    for count in BUCKETS {
        for order in hashed.iter().take(2) {
            let bucket = bucket_part(order, count);
            add([bucket].into_iter().chain(plain(order)).collect());
        }
    }
    found
}

fn plain(order: &[u16]) -> impl Iterator<Item = Part> {
    order.iter().copied().map(Part::Column)
}

/// Lists of columns that no two rows agree in, that of the key first. Hashes add nothing to them.
pub(crate) fn unique_lists(workload: &Workload) -> Vec<Vec<u16>> {
    let table = &workload.table;
    let key: Vec<u16> = Key::of(table).columns().collect();
    let named = table.unique.iter().map(|names| {
        let columns = names.iter().map(|name| table.column(name));
        columns.collect::<Option<Vec<u16>>>().unwrap_or_default()
    });
    let usable = |columns: &Vec<u16>| {
        !columns.is_empty() && columns.iter().all(|column| is_usable(workload, *column))
    };
    let mut lists: Vec<Vec<u16>> = vec![key];
    lists.extend(named.filter(usable));
    lists
}

/// Whether a column may be in a key: its values are known, and rows have them.
fn is_usable(workload: &Workload, column: u16) -> bool {
    let place = usize::from(column);
    let kept = workload.values.place(column).is_some();
    let usage = workload.usage.columns.get(place);
    let plain = workload.table.columns.get(place);
    kept && usage.is_some_and(super::workload::ColumnUsage::is_known)
        && plain.is_some_and(|column| column.generated.is_none())
}

/// Orders of columns, those first that answer most of what is asked.
fn orders(workload: &Workload) -> Vec<Vec<u16>> {
    let named = |column: u16| {
        let usage = workload.usage.columns.get(usize::from(column));
        usage.copied().unwrap_or_default()
    };
    let enough = NAMED_MIN * workload.usage.looks;
    let mut by_eq: Vec<u16> = (0..u16::try_from(workload.table.columns.len()).unwrap_or(u16::MAX))
        .filter(|column| is_usable(workload, *column))
        .filter(|column| named(*column).eq > enough)
        .collect();
    by_eq.sort_by(|one, two| named(*two).eq.total_cmp(&named(*one).eq));
    let mut orders: Vec<Vec<u16>> = Vec::new();
    let mut add = |order: Vec<u16>| {
        if orders.len() < ORDERS_MAX && !orders.contains(&order) {
            orders.push(order);
        }
    };
    let lists = unique_lists(workload);
    for list in &lists {
        // The columns of equality first, then those of ranges, then the rest.
        let mut rest = list.clone();
        rest.sort_by(|one, two| {
            let of = |column: u16| (named(column).range + named(column).order) * 1.0;
            let by_eq = named(*two).eq.total_cmp(&named(*one).eq);
            by_eq.then(of(*two).total_cmp(&of(*one)))
        });
        add(rest.clone());
        for column in by_eq.iter().filter(|column| !list.contains(column)).take(2) {
            let order = [*column].into_iter().chain(rest.iter().copied());
            add(order.collect());
        }
    }
    for list in &lists {
        if list.len() <= PERMUTED_MAX {
            for order in permutations(list) {
                add(order);
            }
        } else {
            add(list.clone());
        }
    }
    orders
}

/// Every order of a short list.
fn permutations(list: &[u16]) -> Vec<Vec<u16>> {
    let Some((first, rest)) = list.split_first() else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for shorter in permutations(rest) {
        for place in 0..=shorter.len() {
            let mut order = shorter.clone();
            order.insert(place, *first);
            all.push(order);
        }
    }
    all
}

fn kinds(workload: &Workload, columns: &[u16]) -> Vec<Type> {
    let kind = |column: &u16| workload.table.columns.get(usize::from(*column));
    columns
        .iter()
        .filter_map(|column| kind(column).map(|one| one.kind))
        .collect()
}

fn hash_part(workload: &Workload, columns: &[u16]) -> Part {
    Part::Hash {
        columns: columns.to_vec(),
        function: function_for(&kinds(workload, columns)),
    }
}

fn bucket_part(columns: &[u16], count: u32) -> Part {
    Part::Bucket {
        columns: columns.to_vec(),
        function: super::key::Function::Values,
        count,
        kind: Type::Uint32,
    }
}
