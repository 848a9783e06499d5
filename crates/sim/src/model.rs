//! The model: what the database must answer, as a few ordered maps.
//!
//! Every row ever put has a text of its own, so an answer tells which commit it came from. Writes are
//! kept as they came, patches too (`edits.rs`): what they make of a row is worked out when somebody
//! reads it, because a commit below them may be in doubt, or lost.
//!
//! ```text
//!   versions   /3 of t0    @0 nothing    @17 v4      @21 raise 8    a read at @s takes all ≤ s
//!   doubts     commit @25 wrote /3 and /9, and its outcome is not known
//!   groups     commits of one engine that were not synced when it crashed
//! ```
//!
//! **Doubts.** A commit whose outcome is open happened wholly or not at all. An answer is right if
//! some choice for each doubt explains it; when all choices that explain it agree on a doubt, the
//! doubt is settled for good.
//!
//! **Groups.** Of the unsynced commits of one engine a crash keeps the first few, in the order of
//! their timestamps: a commit that survived is proof of all before it on that engine. A doubt that
//! proves to have happened is such proof too.

use std::collections::{BTreeMap, BTreeSet};

use storage::EngineId;

use crate::edits::{Edit, Row, Writes, evaluate};

/// A row's place: the number of its table, and its key.
pub(crate) type Spot = (usize, u64);

/// The number of a transaction, unique in a simulation. 0 stands for what a life began with.
pub(crate) type Number = u64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) edit: Edit,
    pub(crate) by: Number,
}

/// A commit: who, when, what.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) by: Number,
    pub(crate) at: u64,
    pub(crate) writes: Writes,
}

/// A commit whose outcome is not known.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) commit: Commit,
    pub(crate) engines: BTreeSet<EngineId>,
}

/// Commits of one engine that a crash may have taken, in order.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) engine: EngineId,
    pub(crate) commits: Vec<Commit>,
    /// How many of them are there for certain.
    pub(crate) kept_min: usize,
}

/// What a read found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight<'s> {
    pub(crate) rows: &'s BTreeMap<Spot, Row>,
    /// Its snapshot.
    pub(crate) at: u64,
    /// What the transaction that read had written itself.
    pub(crate) own: &'s Writes,
}

impl Sight<'_> {
    /// Whether it found in a place what has to be there if `under` was committed there.
    fn agrees(&self, spot: Spot, under: Row) -> bool {
        let there = match self.own.get(&spot) {
            Some(edit) => edit.apply(under),
            None => under,
        };
        self.rows.get(&spot).is_none_or(|found| *found == there)
    }
}

/// One way in which an answer can be right.
#[derive(Clone, Debug)]
pub(crate) struct Explanation {
    /// Which of the doubts happened; those that the answer says nothing about are not named.
    pub(crate) happened: BTreeMap<Number, bool>,
    /// How many commits each group kept.
    pub(crate) kept: Vec<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Model {
    versions: BTreeMap<Spot, BTreeMap<u64, Version>>,
    pub(crate) doubts: Vec<Doubt>,
}

impl Model {
    /// A model in which these rows were there from the beginning.
    pub(crate) fn new(rows: BTreeMap<Spot, Row>) -> Self {
        let base = |row| {
            let edit = Edit::whole(row);
            BTreeMap::from([(0, Version { edit, by: 0 })])
        };
        Self {
            versions: rows
                .into_iter()
                .map(|(spot, row)| (spot, base(row)))
                .collect(),
            doubts: Vec::new(),
        }
    }

    pub(crate) fn versions(&self) -> &BTreeMap<Spot, BTreeMap<u64, Version>> {
        &self.versions
    }

    pub(crate) fn apply(&mut self, commit: &Commit) {
        for (spot, edit) in &commit.writes {
            let version = Version {
                edit: edit.clone(),
                by: commit.by,
            };
            self.versions
                .entry(*spot)
                .or_default()
                .insert(commit.at, version);
        }
    }

    /// The version of a row as of a timestamp, and when it was written.
    pub(crate) fn at(&self, spot: Spot, at: u64) -> Option<(u64, &Version)> {
        let versions = self.versions.get(&spot)?;
        versions
            .range(..=at)
            .next_back()
            .map(|(at, one)| (*at, one))
    }

    /// The row as of a timestamp.
    pub(crate) fn row(&self, spot: Spot, at: u64) -> Row {
        let versions = self.versions.get(&spot).into_iter();
        let newest_first = versions.flat_map(|versions| versions.range(..=at).rev());
        evaluate(newest_first.map(|(_, version)| &version.edit))
    }

    /// Whether an open outcome decides what lies in a place.
    pub(crate) fn is_doubtful(&self, spot: Spot) -> bool {
        let mut doubts = self.doubts.iter();
        doubts.any(|doubt| doubt.commit.writes.contains_key(&spot))
    }

    /// The row if the assumed doubts happened and the lost commits did not.
    fn supposed(&self, spot: Spot, at: u64, assumed: &[&Commit], lost: &BTreeSet<u64>) -> Row {
        let versions = self.versions.get(&spot).into_iter();
        let known = versions.flat_map(|versions| versions.range(..=at));
        let kept = known
            .filter(|(at, _)| !lost.contains(at))
            .map(|(at, version)| (*at, &version.edit));
        let supposed = assumed
            .iter()
            .filter(|one| one.at <= at)
            .filter_map(|one| one.writes.get(&spot).map(|edit| (one.at, edit)));
        let mut edits: Vec<_> = kept.chain(supposed).collect();
        edits.sort_by_key(|(at, _)| *at);
        evaluate(edits.into_iter().rev().map(|(_, edit)| edit))
    }

    /// All ways in which a read can have found what it did.
    pub(crate) fn explain(&self, sight: Sight<'_>, groups: &[Group]) -> Vec<Explanation> {
        let concerned = |doubt: &&Doubt| {
            let mut spots = doubt.commit.writes.keys();
            doubt.commit.at <= sight.at && spots.any(|spot| sight.rows.contains_key(spot))
        };
        let doubts: Vec<&Doubt> = self.doubts.iter().filter(concerned).collect();
        let mut explanations = Vec::new();
        for choice in 0..1_u64 << doubts.len() {
            let happened = |index: &usize| choice >> index & 1 == 1;
            let assumed: Vec<&Doubt> = doubts
                .iter()
                .enumerate()
                .filter(|(index, _)| happened(index))
                .map(|(_, doubt)| *doubt)
                .collect();
            if let Some(kept) = self.fits(sight, groups, &assumed) {
                let happened = doubts
                    .iter()
                    .enumerate()
                    .map(|(index, doubt)| (doubt.commit.by, happened(&index)))
                    .collect();
                explanations.push(Explanation { happened, kept });
            }
        }
        explanations
    }

    /// How many commits each group must have kept if the assumed doubts happened, or `None` if that
    /// does not explain what was observed.
    fn fits(&self, sight: Sight<'_>, groups: &[Group], assumed: &[&Doubt]) -> Option<Vec<usize>> {
        let commits: Vec<&Commit> = assumed.iter().map(|doubt| &doubt.commit).collect();
        let grouped: BTreeSet<Spot> = groups
            .iter()
            .flat_map(|group| {
                group
                    .commits
                    .iter()
                    .flat_map(|one| one.writes.keys().copied())
            })
            .collect();
        let fits = |spot: &Spot, lost: &BTreeSet<u64>| {
            sight.agrees(*spot, self.supposed(*spot, sight.at, &commits, lost))
        };
        let nothing = BTreeSet::new();
        let mut rest = sight.rows.keys().filter(|spot| !grouped.contains(spot));
        if !rest.all(|spot| fits(spot, &nothing)) {
            return None;
        }
        let mut kept = Vec::new();
        for group in groups {
            let spots: BTreeSet<&Spot> = group
                .commits
                .iter()
                .flat_map(|one| one.writes.keys())
                .collect();
            let proof = proven(group, assumed).max(group.kept_min);
            let count = (proof..=group.commits.len()).rev().find(|count| {
                let lost = group
                    .commits
                    .iter()
                    .skip(*count)
                    .map(|one| one.at)
                    .collect();
                spots.iter().all(|spot| fits(spot, &lost))
            })?;
            kept.push(count);
        }
        Some(kept)
    }

    /// What the model would have answered, where that is something else: for people to read.
    pub(crate) fn differences(&self, sight: Sight<'_>) -> String {
        let mut out = String::new();
        let Sight { rows, at, own } = sight;
        for (spot, row) in rows {
            let expected = self.row(*spot, at);
            if !sight.agrees(*spot, expected.clone()) {
                let (table, key) = spot;
                out.push_str(&format!(
                    "\n  t{table}/{key} as of @{at}: found {row:?}, the model has {expected:?}"
                ));
                if let Some(edit) = own.get(spot) {
                    out.push_str(&format!(" below its own {edit:?}"));
                }
            }
        }
        for doubt in &self.doubts {
            let Commit { by, at, writes } = &doubt.commit;
            out.push_str(&format!("\n  in doubt: T{by} at @{at} writing {writes:?}"));
        }
        out
    }

    /// Ends a doubt. Answers with the commit.
    pub(crate) fn settle(&mut self, by: Number, happened: bool) -> Option<Commit> {
        let index = self.doubts.iter().position(|one| one.commit.by == by)?;
        let commit = self.doubts.remove(index).commit;
        if happened {
            self.apply(&commit);
        }
        Some(commit)
    }
}

/// How many commits of a group the assumed doubts prove to be there.
fn proven(group: &Group, assumed: &[&Doubt]) -> usize {
    let here = assumed
        .iter()
        .filter(|one| one.engines.contains(&group.engine));
    let newest = here.map(|one| one.commit.at).max().unwrap_or(0);
    group.commits.iter().filter(|one| one.at < newest).count()
}
