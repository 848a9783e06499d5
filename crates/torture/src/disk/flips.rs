//! Damage: bytes on the medium that are not what was written, and what the engine makes of them.
//!
//! ```text
//!   closed     the directory after the engine was closed       ┐  one bit, some bytes or a page of a
//!   ended      the directory of a process that was ended       ├─ file are changed, it is cut short, it
//!              at some moment                                  ┘  is gone, or two have changed places
//! ```
//!
//! Right is an error that names the place, or every answer as if nothing had happened.
//!
//! **What the engine does not tell.** A last record of the newest journal that was not synced looks the
//! same whether its write was torn or it was damaged later, and so does a journal that is cut short there
//! from one that never was longer. Where only that is damaged, the steps that only lay there may be gone
//! without a word. And nothing binds a whole file to its place: files of one kind that change places, and
//! an older journal that is gone, may go unseen. These are counted by themselves.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use storage::env::{Random, SeededRandom};

use super::content::{Content, PAGE_BYTES};
use super::crash::{Loss, crash, pick};
use super::judge::{self, Unread, Window};
use super::life::Life;
use super::log::Kind;
use super::plan::{apply as apply_step, fingerprint};
use super::subject::Progress;
use super::tree::Tree;
use super::worker::{Job, say, words};
use crate::Result;

/// Directories of one life that are damaged again and again.
const BASES: usize = 8;

/// Every so many keys are read by themselves.
const GET_EVERY: usize = 9;

/// A directory that will be damaged.
struct Base {
    tree: Tree,
    window: Window,
    name: &'static str,
    /// The last step that went to a journal, if it was the newest one.
    tail: Option<Tail>,
}

/// The last step that went to a journal.
struct Tail {
    journal: String,
    /// Where it begins.
    from: u64,
    /// How the rows look without it.
    print: u64,
}

impl Tail {
    /// Whether damage leaves nothing good behind it.
    fn is_hit(&self, path: &str, damage: &Damage) -> bool {
        self.journal == path && (matches!(damage, Damage::Short(_)) || damage.place() >= self.from)
    }
}

/// What is done to a directory.
#[derive(Debug)]
enum Damage {
    Bit(u64, u32),
    Bytes(u64, Vec<u8>),
    Page(u64),
    Short(u64),
    Gone,
    Swapped(String),
}

impl Damage {
    fn name(&self) -> &'static str {
        match self {
            Self::Bit(..) => "bit",
            Self::Bytes(..) => "bytes",
            Self::Page(_) => "page",
            Self::Short(_) => "short",
            Self::Gone => "gone",
            Self::Swapped(_) => "swapped",
        }
    }

    /// Where it begins.
    fn place(&self) -> u64 {
        match self {
            Self::Bit(place, _) | Self::Bytes(place, _) | Self::Short(place) => *place,
            Self::Page(number) => number * PAGE_BYTES,
            Self::Gone | Self::Swapped(_) => 0,
        }
    }
}

/// Judges the flips of a job.
pub fn work(job: &Job, life: &Life) -> Result<()> {
    let bases = bases(life);
    for number in job.first + job.skip..job.first + job.count {
        say(&format!("begin {number}"))?;
        let random = SeededRandom::new(
            SeededRandom::new(life.seeds.seed ^ 0xF11F).next_u64()
                ^ number.wrapping_mul(0xD1B5_4A33),
        );
        let Some(base) = pick(&bases, &random) else {
            return Ok(());
        };
        let Some((path, damage)) = draw(&base.tree, &random) else {
            continue;
        };
        let mut tree = base.tree.clone();
        apply(&mut tree, &path, &damage);
        let place = job.scratch.join(format!("flip-{number}"));
        tree.write(&place)?;
        let verdict = judge(&place, life, base.window);
        fs::remove_dir_all(&place)?;
        let kind = format!("{} {} {}", class(&path), damage.name(), base.name);
        let told = format!("{number} {kind}");
        let at = format!("({path} {})", damage.place());
        let hit = base
            .tail
            .as_ref()
            .filter(|tail| tail.is_hit(&path, &damage));
        let whole = match damage {
            Damage::Swapped(_) => true,
            Damage::Gone => class(&path) == "journal" && Some(&path) != newest(&base.tree),
            _ => false,
        };
        say(&match verdict {
            Verdict::Behind(..) | Verdict::Wrong(_) | Verdict::Odd(..) if whole => {
                format!("limit {told}")
            }
            Verdict::Right => format!("ok {told} harmless"),
            Verdict::Refused => format!("ok {told} refused"),
            Verdict::Behind(..) if hit.is_some() => format!("limit {told}"),
            Verdict::Odd(..) if hit.is_some() && matches!(damage, Damage::Short(_)) => {
                format!("limit {told}")
            }
            Verdict::Odd(print, _) if hit.is_some_and(|tail| tail.print == print) => {
                format!("limit {told}")
            }
            Verdict::Behind(text) => format!("lost {told}: {at} {text}"),
            Verdict::Wrong(text) | Verdict::Odd(_, text) => format!("wrong {told}: {at} {text}"),
        })?;
    }
    Ok(())
}

/// The directories: which ones depends on nothing but the life, so that any flip can be judged again.
fn bases(life: &Life) -> Vec<Base> {
    let random = SeededRandom::new(life.seeds.seed ^ life.seeds.number.rotate_left(24));
    let acknowledged: Vec<usize> = life
        .records
        .iter()
        .enumerate()
        .filter(|(_, record)| record.kind == Kind::Mark && record.data.starts_with(b"ack"))
        .map(|(place, _)| place + 1)
        .collect();
    let mut places: Vec<usize> = (1..BASES)
        .filter_map(|_| pick(&acknowledged, &random).copied())
        .collect();
    places.push(life.records.len());
    places.sort_unstable();
    let mut bases = Vec::new();
    life.replay(&places, |index, medium, progress| {
        let place = places.get(index).copied().unwrap_or_default();
        let mut tree = crash(medium, Loss::Ended, &random);
        tree.trim();
        tree.file(super::RESERVE, Content::default());
        bases.push(Base {
            tree,
            window: life.window(Loss::Ended, progress),
            name: if progress.closed { "closed" } else { "ended" },
            tail: tail(life, place, medium),
        });
    });
    bases
}

fn tail(life: &Life, place: usize, medium: &super::medium::Medium) -> Option<Tail> {
    let records = life.records.get(..place)?;
    let (mut number, mut step) = (0, None);
    let mut last = None;
    for record in records {
        match record.kind {
            Kind::Mark if record.data.starts_with(b"begin") => {
                let mut progress = Progress::default();
                progress.read(&record.data);
                number = progress.begun;
                step = None;
            }
            Kind::Write if !record.is_zeros() && !record.is_elided() => {
                let path = medium.path_of(record.ino);
                if let Some(path) = path.filter(|path| path.ends_with(".jnl")) {
                    last = Some((path, *step.get_or_insert(record.offset), number));
                }
            }
            _ => {}
        }
    }
    let (journal, from, number) = last?;
    let mut rows = life.plan.contents(number.saturating_sub(1));
    let mut progress = Progress::from(life.seeds.window);
    for record in records.iter().filter(|record| record.kind == Kind::Mark) {
        progress.read(&record.data);
    }
    if progress.durable >= number {
        // The note beside the journal knows of it.
        return None;
    }
    for step in life
        .plan
        .steps
        .get(number..progress.done)
        .unwrap_or_default()
    {
        apply_step(step, &mut rows);
    }
    Some(Tail {
        journal,
        from,
        print: fingerprint(&rows),
    })
}

/// The newest journal of a directory.
fn newest(tree: &Tree) -> Option<&String> {
    let number = |path: &&String| -> u64 {
        let name = path.rsplit('/').next().unwrap_or_default();
        name.trim_end_matches(".jnl").parse().unwrap_or_default()
    };
    let journals = tree.entries.keys().filter(|path| path.ends_with(".jnl"));
    journals.max_by_key(number)
}

/// Of what kind a file is.
pub fn class(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name {
        "current" => "current",
        "EVENKEEL" => "marker",
        "lock" => "lock",
        "RESERVE" => "reserve",
        "version" => "version",
        _ if name.ends_with(".jnl") => "journal",
        _ if path.contains("/tables/") => "table",
        _ if name.starts_with('v') => "manifest",
        _ => "other",
    }
}

const CLASSES: [&str; 12] = [
    "journal", "journal", "journal", "table", "table", "table", "manifest", "manifest", "current",
    "marker", "version", "lock",
];

fn draw(tree: &Tree, random: &SeededRandom) -> Option<(String, Damage)> {
    let wanted = *pick(&CLASSES, random)?;
    let wanted = if random.below(40) == 0 {
        "other"
    } else {
        wanted
    };
    let files: Vec<(&String, &Content)> = tree
        .files()
        .filter(|(path, _)| class(path) == wanted)
        .collect();
    let (path, content) = *pick(&files, random)?;
    // Behind what is used there are a few zeros, which may be damaged as well.
    let used = (content.used() + 64).min(content.length).max(1);
    let at = random.below(used);
    let damage = match random.below(20) {
        0..11 => Damage::Bit(at, u32::try_from(random.below(8)).unwrap_or_default()),
        11..14 => {
            let count = 1 + random.below(24);
            let bytes = (0..count).map(|_| random.next_u64().to_le_bytes()[0]);
            Damage::Bytes(at, bytes.collect())
        }
        14..16 => Damage::Page(at / PAGE_BYTES),
        16..18 => Damage::Short(at),
        18 => Damage::Gone,
        _ => {
            let (other, _) = *pick(&files, random)?;
            Damage::Swapped(other.clone())
        }
    };
    Some((path.clone(), damage))
}

fn apply(tree: &mut Tree, path: &str, damage: &Damage) {
    if matches!(damage, Damage::Gone) {
        tree.entries.remove(path);
        return;
    }
    if let Damage::Swapped(other) = damage {
        let one = tree.entries.get(path).cloned().flatten();
        let two = tree.entries.get(other).cloned().flatten();
        if let (Some(one), Some(two)) = (one, two) {
            tree.file(path, two);
            tree.file(other, one);
        }
        return;
    }
    let Some(Some(content)) = tree.entries.get_mut(path) else {
        return;
    };
    let length = content.length;
    match damage {
        Damage::Bit(at, bit) => {
            let byte = content.byte(*at) ^ (1 << bit);
            content.write(*at, &[byte]);
        }
        Damage::Bytes(at, bytes) => content.write(*at, bytes),
        Damage::Page(number) => content.set_page(*number, None),
        Damage::Short(at) => content.resize(*at),
        Damage::Gone | Damage::Swapped(_) => {}
    }
    if !matches!(damage, Damage::Short(_)) {
        content.resize(length);
    }
}

enum Verdict {
    Right,
    Refused,
    Behind(String),
    Wrong(String),
    /// Rows of this fingerprint, which no state has.
    Odd(u64, String),
}

fn judge(place: &Path, life: &Life, window: Window) -> Verdict {
    let read = || {
        let engine = judge::open(place)?;
        judge::read(&engine, GET_EVERY)
    };
    let found = match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(found)) => found,
        Ok(Err(Unread::Refused(error))) => {
            let text = error.to_string();
            let named = text.contains(&*place.to_string_lossy());
            return match named {
                true => Verdict::Refused,
                false => Verdict::Wrong(format!("an error that names no place: {text}")),
            };
        }
        Ok(Err(Unread::Contradiction(text))) => return Verdict::Wrong(text),
        Err(panic) => return Verdict::Wrong(format!("a panic: {}", words(&panic))),
    };
    let plan = &life.plan;
    match judge::place(plan, &found, window) {
        Ok(_) => Verdict::Right,
        Err(judge::Fault::Lost(text) | judge::Fault::Wrong(text)) => {
            let print = fingerprint(&found);
            match plan.find(0, window.low, print) {
                Some(state) => Verdict::Behind(format!(
                    "without a word it is in state {state} instead of {}",
                    window.low
                )),
                None => Verdict::Odd(print, format!("without a word {text}")),
            }
        }
    }
}
