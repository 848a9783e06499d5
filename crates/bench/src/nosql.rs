//! The NoSQL bench: the server's web API beside dynalite, the store of items over HTTP that npm has.
//!
//! ```text
//!                              ┌── loopback ──► evenkeel serve    PutItem, GetItem, GetItems
//!   16 connections, one thread ┤
//!                              └── loopback ──► dynalite          PutItem, GetItem, Query
//! ```
//!
//! Both get the same items of 100 bytes, and requests come from the same load generator, which does
//! as little as it can: it writes a request, reads the answer and looks whether it is the right one.
//! Ours is durable: a put that was acknowledged is on the disk. dynalite keeps its items in LevelDB,
//! on the same disk, and does not wait for it.
//!
//! What the web API could answer at most is shown beside: the same server, asked in the same way for
//! something that needs no items.

pub(crate) mod http;
mod load;
mod peers;

use load::Kind;
use peers::Peer;

use crate::measure::{Report, Sample, grouped, settle_by};
use crate::options::Options;
use crate::{Error, Result};

/// What the list of benches says.
pub(crate) const ABOUT: &str =
    "the web API beside dynalite [--quick] [--only PART] [--server PATH] [--dynalite PATH]";

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Sharding keys, each of which has [`load::SORTING_KEYS`] items.
    pub(crate) sharding_keys: u32,
    rounds: u32,
    /// How long a turn takes.
    pub(crate) seconds: u64,
}

const FULL: Scale = Scale {
    sharding_keys: 1_000,
    rounds: 3,
    seconds: 5,
};

const QUICK: Scale = Scale {
    sharding_keys: 50,
    rounds: 1,
    seconds: 2,
};

/// What is asked for, and how many times as many such requests ours has to answer.
///
/// A put cannot be ten times as quick: it waits for the disk, and dynalite does not. Nor can a get: ten
/// times what dynalite does is more than HTTP alone.
const PARTS: [(&str, (Kind, f64)); 3] = [
    ("put_item", (Kind::Put, 3.5)),
    ("get_item", (Kind::Get, 6.5)),
    ("range_scan_10", (Kind::Scan, 10.0)),
];

/// What one side did in its turns.
#[derive(Default)]
struct Side {
    per_second: Sample,
    /// Processor time of the server for each request.
    cpu_us: Sample,
}

impl Side {
    fn show(&self, name: &str) -> String {
        let rate = &self.per_second;
        let (least, most) = (grouped(rate.least()), grouped(rate.most()));
        let cpu = self.cpu_us.median();
        format!(
            "{name} {}/s ({least}–{most}), {cpu:.1} µs CPU",
            grouped(rate.median())
        )
    }
}

/// Runs the bench, and answers whether every floor was held.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    let options = Options::read(arguments)?;
    for (what, path) in [("server", &options.server), ("dynalite", &options.dynalite)] {
        if !path.exists() {
            let path = path.display();
            return Err(Error::Usage(format!(
                "there is no {what} at {path}; `./dev bench nosql` installs both"
            )));
        }
    }
    let chosen = options.chosen(&PARTS, |(name, _)| name)?;
    let scale = if options.quick { QUICK } else { FULL };
    let dir = tempfile::Builder::new().prefix("bench-nosql-").tempdir()?;
    let peers = [
        Peer::ours(&options.server, dir.path())?,
        Peer::dynalite(&options.dynalite, dir.path())?,
    ];
    let mut report = Report::default();
    let Scale {
        sharding_keys,
        rounds,
        seconds,
    } = scale;
    report.say(&format!(
        "scale: {sharding_keys} sharding keys of {} items of 100 bytes, {} connections, medians of \
         {rounds} rounds of {seconds} s",
        load::SORTING_KEYS,
        load::CONNECTIONS
    ));
    for peer in &peers {
        load::fill(peer, scale)?;
    }
    for (name, part) in chosen {
        eprintln!("{name}");
        if let Err(error) = contest(&mut report, &peers, scale, (name, *part)) {
            report.broken(name, &error);
        }
    }
    match report.passed() {
        true => report.say("every floor is held"),
        false => report.say(&format!("missed: {}", report.missed().join(", "))),
    }
    Ok(report.passed())
}

fn contest(
    report: &mut Report,
    peers: &[Peer; 2],
    scale: Scale,
    (name, (kind, floor)): (&str, (Kind, f64)),
) -> Result<()> {
    let mut sides = [Side::default(), Side::default()];
    let mut bare = Side::default();
    let [server, _] = peers;
    for round in 0..scale.rounds {
        let mut turns: Vec<_> = peers
            .iter()
            .zip(&mut sides)
            .map(|(peer, side)| (peer, kind, side))
            .collect();
        turns.insert(1, (server, Kind::Bare, &mut bare));
        if !round.is_multiple_of(2) {
            turns.reverse();
        }
        for (peer, kind, side) in turns {
            settle_by(|| peers.iter().map(Peer::cpu).sum());
            let before = peer.cpu();
            let done = load::run(peer, kind, scale)?;
            let cpu = peer.cpu().saturating_sub(before);
            eprintln!(
                "  round {}: {} {kind:?} {}/s",
                round + 1,
                peer.name,
                grouped(done.per_second)
            );
            side.per_second.add(done.per_second);
            side.cpu_us.add(cpu.as_secs_f64() * 1e6 / done.requests);
        }
    }
    let [ours, theirs] = &sides;
    let ratio = ours.per_second.median() / theirs.per_second.median();
    let of_bare = ours.per_second.median() / bare.per_second.median();
    let figures = format!(
        "{:<60} {:<60} {of_bare:.2} of bare HTTP, {}",
        ours.show("evenkeel"),
        theirs.show("dynalite"),
        bare.show("which is")
    );
    report.against(name, ratio, Some(floor), &figures);
    Ok(())
}
