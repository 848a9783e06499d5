//! The rules of the repository that a machine can keep, as functions over its text.

use std::path::Path;

pub mod tidy;

/// The folder of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
}
