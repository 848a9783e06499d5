//! What a simulation says when the database did what it must not.

use crate::Setting;

/// The result of a step.
pub(crate) type Checked<T> = Result<T, Wrong>;

/// Something that must never happen, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Wrong(pub(crate) String);

/// A simulation that ended badly, with the command that replays it.
#[derive(Debug, thiserror::Error)]
#[error(
    "{what}\nthe last steps:\n{last_steps}\nreplay it with\n\n  \
     cargo run -p sim -- --seed {seed} --placement {setting} --verbose\n"
)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// Where partitions lay.
    pub setting: Setting,
    /// What was wrong.
    pub what: String,
    /// The steps that led there.
    pub last_steps: String,
}
