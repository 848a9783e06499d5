//! [`Verdict`]: what should be done with a partition, and why, as a value and as a sentence.
//!
//! The sentences go to the table of partition events, so they are written for people who ask why
//! their table was split, or why it was not.

use std::fmt;

use bytes::Bytes;

use super::{Direction, MIB};
use crate::Share;

/// What should be done with a partition, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Split it.
    Split {
        /// Where: the first key of the right side.
        key: Bytes,
        /// The share of the bytes thought to go left.
        left_bytes: Share,
        /// The share of the load thought to go left.
        left_load: Share,
        /// Why.
        reason: SplitReason,
    },
    /// Join it with the neighbours of the same decision.
    Merge {
        /// Their bytes together.
        bytes: u64,
        /// What they may be at most.
        bytes_max: u64,
        /// Their peak loads together.
        peak: Share,
        /// What they may be at most.
        peak_max: Share,
    },
    /// It is too busy because of one key.
    HotKey {
        /// The key.
        key: Bytes,
        /// Its share of the load.
        share: Share,
    },
    /// It is too busy because new keys all land at one end.
    Tail {
        /// Which end.
        direction: Direction,
        /// The share of the writes that land there.
        share: Share,
    },
    /// It is too busy with scans that any balanced cut would cross.
    ScanBound {
        /// The share of the load in scans that the best such cut would cross.
        share: Share,
    },
    /// It is too busy with transactions that any balanced cut would tear.
    TxnBound {
        /// The share of the load in transactions that the best such cut would tear.
        share: Share,
    },
    /// Leave it.
    Cool {
        /// Why.
        reason: CoolReason,
    },
}

/// Why a partition is split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitReason {
    /// It is too large.
    Size {
        /// How large.
        bytes: u64,
        /// From where on it is split.
        bytes_max: u64,
    },
    /// It is too busy.
    Load {
        /// How busy.
        load: Share,
        /// For how long, in microseconds.
        lasting_us: u64,
        /// From where on it is split.
        load_max: Share,
        /// The share of the load in transactions that become multi-partition.
        torn_txns: Share,
        /// The share of the load in scans that are cut.
        cut_scans: Share,
    },
}

/// Why a partition is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoolReason {
    /// Neither large nor busy.
    Quiet,
    /// Busy, but load does not split this table.
    LoadOff {
        /// How busy.
        load: Share,
    },
    /// Busy, but not for long enough yet.
    Brief {
        /// How busy.
        load: Share,
        /// For how long, in microseconds.
        lasting_us: u64,
    },
    /// Busy, but too few transactions were sampled to tell where.
    FewSamples {
        /// How many.
        samples: usize,
    },
    /// Busy, but nothing balances, and for no reason that has a name.
    NoLoadCut,
    /// Large, but its bytes were not measured yet.
    NoHistogram,
    /// Large, but no cut leaves a quarter on each side.
    NoSizeCut,
    /// To be split, but the table has as many partitions as it may.
    AtMost {
        /// How many.
        partitions: usize,
    },
}

impl Verdict {
    /// The reason as one word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Split { reason, .. } => match reason {
                SplitReason::Size { .. } => "Size",
                SplitReason::Load { .. } => "Load",
            },
            Self::Merge { .. } => "Cool",
            Self::HotKey { .. } => "HotKey",
            Self::Tail { .. } => "Tail",
            Self::ScanBound { .. } => "ScanBound",
            Self::TxnBound { .. } => "TxnBound",
            Self::Cool { reason } => match reason {
                CoolReason::Quiet => "Quiet",
                CoolReason::LoadOff { .. } => "LoadOff",
                CoolReason::Brief { .. } => "Brief",
                CoolReason::FewSamples { .. } => "FewSamples",
                CoolReason::NoLoadCut => "NoLoadCut",
                CoolReason::NoHistogram => "NoHistogram",
                CoolReason::NoSizeCut => "NoSizeCut",
                CoolReason::AtMost { .. } => "AtMost",
            },
        }
    }

    /// Whether it leaves a partition alone that is too large or too busy, for a reason that will not
    /// go away by waiting.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Split { .. } | Self::Merge { .. } => false,
            Self::HotKey { .. }
            | Self::Tail { .. }
            | Self::ScanBound { .. }
            | Self::TxnBound { .. } => true,
            Self::Cool { reason } => match reason {
                CoolReason::Quiet
                | CoolReason::Brief { .. }
                | CoolReason::FewSamples { .. }
                | CoolReason::NoHistogram => false,
                CoolReason::LoadOff { .. }
                | CoolReason::NoLoadCut
                | CoolReason::NoSizeCut
                | CoolReason::AtMost { .. } => true,
            },
        }
    }

    /// The key it is about.
    pub fn key(&self) -> Option<&Bytes> {
        match self {
            Self::Split { key, .. } | Self::HotKey { key, .. } => Some(key),
            _ => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Split {
                key,
                left_bytes,
                left_load,
                reason,
            } => {
                write!(f, "split at {} by {reason}", keys::format_key(key))?;
                match reason {
                    SplitReason::Size { .. } => write!(f, "; {left_bytes} of the bytes go left"),
                    SplitReason::Load { .. } => write!(f, "; {left_load} of the load goes left"),
                }
            }
            Self::Merge {
                bytes,
                bytes_max,
                peak,
                peak_max,
            } => write!(
                f,
                "merge: {} together is within {}, peak load {peak} is within {peak_max}",
                Size(*bytes),
                Size(*bytes_max)
            ),
            Self::HotKey { key, share } => write!(
                f,
                "hot key {}: {share} of the load is this one key, which no split divides",
                keys::format_key(key)
            ),
            Self::Tail { direction, share } => {
                let side = match direction {
                    Direction::Up => "above",
                    Direction::Down => "below",
                };
                write!(
                    f,
                    "growing tail: {share} of the writes land {side} every key before them, \
                     and would after any split"
                )
            }
            Self::ScanBound { share } => write!(
                f,
                "scan bound: every balanced split would cut scans that are {share} of the load \
                 or more"
            ),
            Self::TxnBound { share } => write!(
                f,
                "transaction bound: every balanced split would tear transactions that are {share} \
                 of the load or more"
            ),
            Self::Cool { reason } => write!(f, "cool: {reason}"),
        }
    }
}

impl fmt::Display for SplitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { bytes, bytes_max } => {
                write!(f, "size: {} has reached {}", Size(*bytes), Size(*bytes_max))
            }
            Self::Load {
                load,
                lasting_us,
                load_max,
                torn_txns,
                cut_scans,
            } => write!(
                f,
                "load: {load} of a core for {} has reached {load_max}; {torn_txns} of the load is \
                 in transactions it makes multi-partition, {cut_scans} in scans it cuts",
                Seconds(*lasting_us)
            ),
        }
    }
}

impl fmt::Display for CoolReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quiet => f.write_str("neither large nor busy"),
            Self::LoadOff { load } => {
                write!(
                    f,
                    "{load} of a core is busy, but load does not split this table"
                )
            }
            Self::Brief { load, lasting_us } => {
                write!(
                    f,
                    "{load} of a core is busy, only for {} so far",
                    Seconds(*lasting_us)
                )
            }
            Self::FewSamples { samples } => {
                write!(
                    f,
                    "busy, but {samples} sampled transactions are too few to tell where"
                )
            }
            Self::NoLoadCut => f.write_str("busy, but no split would balance the load"),
            Self::NoHistogram => f.write_str("large, but its bytes are not measured yet"),
            Self::NoSizeCut => f.write_str("large, but no split leaves a quarter on each side"),
            Self::AtMost { partitions } => {
                write!(
                    f,
                    "to be split, but the table may have only {partitions} partitions"
                )
            }
        }
    }
}

/// Bytes in the unit that suits them.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes < 10 * 1024 => write!(f, "{bytes} bytes"),
            bytes if bytes < 10 * MIB => write!(f, "{} KiB", bytes / 1024),
            bytes => write!(f, "{} MiB", bytes / MIB),
        }
    }
}

/// Microseconds in whole seconds.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0 / 1_000_000)
    }
}
