//! Processes of this program that are watched: what they say, and whether they say anything.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::{Error, Result};

/// How much of what a process said in the end is kept.
const LAST_WORDS_BYTES_MAX: usize = 2_000;

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With success.
    Finished,
    /// It said nothing for too long and was killed.
    Hung,
    /// In another way, with these last words.
    Died(String),
}

/// A process, killed if it is dropped before it ended.
struct Watched(Child);

impl Drop for Watched {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `command`, tells each line of its output, and kills it if none comes for so long.
pub fn watch(
    command: &mut Command,
    silence_max: Duration,
    mut tell: impl FnMut(&str),
) -> Result<End> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = Watched(command.spawn()?);
    let (Some(out), Some(mut err)) = (child.0.stdout.take(), child.0.stderr.take()) else {
        return Err(Error::Disk("a process has no output".to_owned()));
    };
    let (send, lines) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for line in BufReader::new(out).lines().map_while(|line| line.ok()) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let last_words = scope.spawn(move || {
            let mut text = Vec::new();
            // What cannot be read was not said.
            let _ = err.read_to_end(&mut text);
            let kept = text.len().saturating_sub(LAST_WORDS_BYTES_MAX);
            String::from_utf8_lossy(text.get(kept..).unwrap_or_default()).into_owned()
        });
        let hung = loop {
            match lines.recv_timeout(silence_max) {
                Ok(line) => tell(&line),
                Err(mpsc::RecvTimeoutError::Timeout) => break true,
                Err(mpsc::RecvTimeoutError::Disconnected) => break false,
            }
        };
        if hung {
            child.0.kill()?;
        }
        let status = child.0.wait()?;
        let words = last_words.join().unwrap_or_default();
        Ok(match (hung, status.success()) {
            (true, _) => End::Hung,
            (false, true) => End::Finished,
            (false, false) => End::Died(format!("{status}: {}", words.trim())),
        })
    })
}

/// This program with a hidden word.
pub fn command(program: &Path, word: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(word);
    command
}
