//! Time and chance, through the door: [`Clock`] and [`Random`], real and simulated.
//!
//! Nothing below `db` may read a clock or draw chance in any other way; that is why one seed
//! replays one history.
//!
//! ```text
//!             in production     in tests and the simulator
//!   Clock     SystemClock       SimulatedClock   stands still until advanced
//!   Random    SystemRandom      SeededRandom     the same seed, the same numbers
//! ```
//!
//! Both sources of chance are SplitMix64: a counter that steps by the golden ratio, and a mixing
//! function over it. The counter is one atomic word, so threads share a source without a lock. The
//! numbers are for spreading and sampling, never for secrets.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use nix::time::{ClockId, clock_gettime};

/// What time it is.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Microseconds since 1970-01-01 UTC. May jump when an administrator sets the clock.
    fn now_us(&self) -> u64;

    /// Time since some fixed instant; never goes back. For measuring how long something took.
    fn monotonic(&self) -> Duration;

    /// Time that the thread which asks has worked: while others had its processor it stands still. Only
    /// what lies between two looks on one thread means something. A clock that is made up has one time.
    fn worked(&self) -> Duration {
        self.monotonic()
    }

    /// Rows were gone over. A clock that is made up may let that take time; a real one knows by itself.
    fn passed_rows(&self, _rows: u64) {}
}

/// A source of chance.
pub trait Random: Send + Sync + fmt::Debug {
    /// Sixty-four random bits.
    fn next_u64(&self) -> u64;

    /// A number below `bound`, which must not be zero.
    fn below(&self, bound: u64) -> u64 {
        assert!(bound > 0, "a number below zero was asked for");
        // Multiply-shift: uniform enough for every bound far below 2^64, and never out of range.
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(wide >> 64).expect("the upper half of a 128-bit product fits 64 bits")
    }
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time begins now.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the door that time comes in by"
    )]
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the door that time comes in by"
    )]
    fn now_us(&self) -> u64 {
        // A machine whose clock stands before 1970 is taken to stand at 1970.
        let since_epoch = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn worked(&self) -> Duration {
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
            .map_or_else(|_| self.monotonic(), Duration::from)
    }
}

/// A clock that stands still until it is told to move.
#[derive(Debug)]
pub struct SimulatedClock {
    start_us: u64,
    elapsed_ns: AtomicU64,
    /// How far the time of day was set back in all.
    set_back_us: AtomicU64,
}

impl SimulatedClock {
    /// A clock that shows `start_us` microseconds since 1970-01-01 UTC.
    pub fn new(start_us: u64) -> Self {
        Self {
            start_us,
            elapsed_ns: AtomicU64::new(0),
            set_back_us: AtomicU64::new(0),
        }
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let by_ns = u64::try_from(by.as_nanos()).expect("a simulation ends within five centuries");
        self.elapsed_ns.fetch_add(by_ns, Ordering::SeqCst);
    }

    /// Sets the time of day back, as an administrator might. Monotonic time goes on as before.
    pub fn set_back(&self, by: Duration) {
        let by_us = u64::try_from(by.as_micros()).expect("nobody sets a clock back by ages");
        self.set_back_us.fetch_add(by_us, Ordering::SeqCst);
    }
}

impl Clock for SimulatedClock {
    fn now_us(&self) -> u64 {
        let forward_us = self.start_us + self.elapsed_ns.load(Ordering::SeqCst) / 1_000;
        forward_us.saturating_sub(self.set_back_us.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.elapsed_ns.load(Ordering::SeqCst))
    }
}

/// Chance that the operating system seeded.
#[derive(Debug)]
pub struct SystemRandom {
    numbers: SplitMix,
}

impl SystemRandom {
    /// A source with a fresh seed.
    pub fn new() -> Self {
        // The standard library seeds its hash tables from the system; hashing with a fresh one
        // is the portable way to that seed.
        Self {
            numbers: SplitMix::new(RandomState::new().hash_one(0_u64)),
        }
    }
}

impl Default for SystemRandom {
    fn default() -> Self {
        Self::new()
    }
}

impl Random for SystemRandom {
    fn next_u64(&self) -> u64 {
        self.numbers.next()
    }
}

/// Chance that a seed decides.
#[derive(Debug)]
pub struct SeededRandom {
    numbers: SplitMix,
}

impl SeededRandom {
    /// The source that `seed` names.
    pub fn new(seed: u64) -> Self {
        Self {
            numbers: SplitMix::new(seed),
        }
    }
}

impl Random for SeededRandom {
    fn next_u64(&self) -> u64 {
        self.numbers.next()
    }
}

#[derive(Debug)]
struct SplitMix {
    counter: AtomicU64,
}

impl SplitMix {
    /// 2^64 divided by the golden ratio, made odd: steps that visit every word once.
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

    fn new(seed: u64) -> Self {
        Self {
            counter: AtomicU64::new(seed),
        }
    }

    fn next(&self) -> u64 {
        let counter = self.counter.fetch_add(Self::STEP, Ordering::Relaxed);
        let mut word = counter.wrapping_add(Self::STEP);
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_every_number() {
        let random = SeededRandom::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        // The published SplitMix64 test vector for this seed.
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn below_stays_below_and_reaches_every_number() {
        let random = SeededRandom::new(7);
        let mut seen = [0_u32; 10];
        for _ in 0..1_000 {
            seen[usize::try_from(random.below(10)).unwrap()] += 1;
        }
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }

    #[test]
    fn two_system_sources_differ() {
        assert_ne!(
            SystemRandom::new().next_u64(),
            SystemRandom::new().next_u64()
        );
    }

    #[test]
    fn a_simulated_clock_moves_only_when_advanced() {
        let clock = SimulatedClock::new(1_700_000_000_000_000);
        assert_eq!(clock.now_us(), 1_700_000_000_000_000);
        clock.advance(Duration::from_millis(1_500));
        assert_eq!(clock.now_us(), 1_700_000_001_500_000);
        assert_eq!(clock.monotonic(), Duration::from_millis(1_500));
    }

    #[test]
    fn a_clock_that_is_set_back_measures_on() {
        let clock = SimulatedClock::new(5_000);
        clock.advance(Duration::from_micros(300));
        clock.set_back(Duration::from_micros(1_000));
        assert_eq!(clock.now_us(), 4_300);
        assert_eq!(clock.monotonic(), Duration::from_micros(300));
    }

    #[test]
    fn the_system_clock_shows_this_century() {
        let clock = SystemClock::new();
        assert!(clock.now_us() > 1_700_000_000_000_000);
        let before = clock.monotonic();
        assert!(clock.monotonic() >= before);
        let worked = clock.worked();
        assert!(clock.worked() >= worked);
    }
}
