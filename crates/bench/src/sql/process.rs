//! What the operating system tells about a server: processor time and memory of all its processes.

use std::fs;
use std::time::Duration;

/// A tick of the processor times in `/proc`.
const TICK: Duration = Duration::from_millis(10);

const KIB_PER_MIB: f64 = 1_024.0;

/// Processor time that a process, its children and those it has buried took.
///
/// A child that ends moves its time into its parent's account, so that the sum goes on growing.
pub(crate) fn cpu(id: u32) -> Duration {
    let ticks: u32 = family(id).map(|process| process.ticks).sum();
    TICK * ticks
}

/// The most memory that a process ever held.
pub(crate) fn peak_mib(id: u32) -> f64 {
    status(id, "VmHWM:") / KIB_PER_MIB
}

/// The memory that a process and its children hold now: what each has for itself, and what they
/// share as seen by the one that has touched most of it.
pub(crate) fn family_mib(id: u32) -> f64 {
    let (mut own, mut shared) = (0.0, 0.0_f64);
    for Member { id, .. } in family(id) {
        own += status(id, "RssAnon:");
        shared = shared.max(status(id, "RssShmem:"));
    }
    (own + shared) / KIB_PER_MIB
}

struct Member {
    id: u32,
    parent: u32,
    /// Its own, and those of the children that it has waited for.
    ticks: u32,
}

fn family(id: u32) -> impl Iterator<Item = Member> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let members = ids.filter_map(member);
    members.filter(move |member| member.id == id || member.parent == id)
}

fn member(id: u32) -> Option<Member> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in parentheses may hold blanks. Behind it: the state, the parent, nine others, and
    // the times of the process and of its children, both in user and system.
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let times = fields.skip(9).take(4);
    let ticks = times.filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
    Some(Member { id, parent, ticks })
}

/// A line of a process's status, in KiB; nothing if the process is gone.
fn status(id: u32, name: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_time_and_memory() {
        let id = std::process::id();
        let before = cpu(id);
        let mut sum = 0_u64;
        while cpu(id) == before {
            sum = (0..1_000_000).fold(sum, |sum, n| sum.wrapping_mul(31) ^ n);
        }
        assert!(cpu(id) > before, "{sum}");
        assert!(peak_mib(id) > 0.5);
        assert!(family_mib(id) > 0.0 && family_mib(id) <= peak_mib(id) * 4.0);
    }
}
