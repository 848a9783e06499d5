//! Parts as files: a folder for each upload, a file for each part.
//!
//! A file is written and synced; when its upload is settled, so are the folders that lead to it. There
//! are no drafts: what a crash leaves of a part is named by no row.
//!
//! Parts are read into buffers that are used again: memory of this size that comes and goes on many
//! threads stays with each of them.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;

use super::{PART_BYTES_MAX, PartId, PartSink, Parts, UploadId};
use crate::fjall::failure::translate_io;
use crate::{Error, Result, blocking};

/// Digits of the name of an upload's folder.
const UPLOAD_DIGITS: usize = 32;

/// Idle buffers that are kept.
const IDLE_BUFFERS_MAX: usize = 8;

/// Buffers that are not in use.
type Idle = Arc<Mutex<Vec<Vec<u8>>>>;

/// Parts in the files of a folder, which is made for the first of them.
#[derive(Debug)]
pub struct FileParts {
    folder: PathBuf,
    /// Whether it is known that the folder itself survives a loss of power.
    folder_synced: AtomicBool,
    idle: Idle,
}

/// The bytes of a part that was read. Its buffer is reused once it is dropped.
struct Buffer {
    bytes: Vec<u8>,
    idle: Idle,
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_BUFFERS_MAX {
            idle.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[derive(Debug)]
struct FileSink {
    path: PathBuf,
    file: File,
}

impl FileParts {
    /// Parts in a folder; nothing is read or made yet.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            folder_synced: AtomicBool::new(false),
            idle: Idle::default(),
        }
    }

    fn folder_of(&self, upload: UploadId) -> PathBuf {
        self.folder.join(upload.to_string())
    }
}

impl Parts for FileParts {
    fn begin(&self, part: PartId) -> Result<Box<dyn PartSink>> {
        blocking(|| {
            let folder = self.folder_of(part.upload);
            fs::create_dir_all(&folder).map_err(|error| failed("create", &folder, error))?;
            let path = self.folder.join(part.to_string());
            let file = File::create_new(&path).map_err(|error| failed("create", &path, error))?;
            Ok(Box::new(FileSink { path, file }) as Box<dyn PartSink>)
        })
    }

    fn settle(&self, upload: UploadId) -> Result<()> {
        blocking(|| {
            sync_folder(&self.folder_of(upload))?;
            sync_folder(&self.folder)?;
            if !self.folder_synced.load(Ordering::Acquire) {
                if let Some(above) = self.folder.parent() {
                    sync_folder(above)?;
                }
                self.folder_synced.store(true, Ordering::Release);
            }
            Ok(())
        })
    }

    fn get(&self, part: PartId) -> Result<Option<Bytes>> {
        blocking(|| {
            let path = self.folder.join(part.to_string());
            let file = match File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => opened.map_err(|error| failed("open", &path, error))?,
            };
            let mut buffer = Buffer {
                bytes: self.idle.lock().pop().unwrap_or_default(),
                idle: Arc::clone(&self.idle),
            };
            buffer.bytes.clear();
            buffer.bytes.reserve_exact(PART_BYTES_MAX + 1);
            let most = u64::try_from(PART_BYTES_MAX + 1).unwrap_or(u64::MAX);
            let read = file.take(most).read_to_end(&mut buffer.bytes);
            read.map_err(|error| failed("read", &path, error))?;
            Ok(Some(Bytes::from_owner(buffer)))
        })
    }

    fn remove(&self, part: PartId) -> Result<()> {
        let path = self.folder.join(part.to_string());
        blocking(|| gone(&path, fs::remove_file(&path)))
    }

    fn remove_upload(&self, upload: UploadId) -> Result<()> {
        let path = self.folder_of(upload);
        blocking(|| gone(&path, fs::remove_dir_all(&path)))
    }

    fn uploads(&self) -> Result<Vec<UploadId>> {
        let names = names(&self.folder)?;
        let uploads = names.iter().filter(|name| name.len() == UPLOAD_DIGITS);
        let uploads = uploads.filter_map(|name| u128::from_str_radix(name, 16).ok());
        Ok(uploads.map(UploadId).collect())
    }

    fn numbers(&self, upload: UploadId) -> Result<Vec<u32>> {
        let names = names(&self.folder_of(upload))?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }
}

impl PartSink for FileSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        // Not in a blocking section: it goes to memory of the system, which holds little that is not on
        // disk, and would otherwise cost a change of threads for each of many small pieces.
        let written = self.file.write_all(bytes);
        written.map_err(|error| failed("write", &self.path, error))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        blocking(|| self.file.sync_all()).map_err(|error| failed("sync", &self.path, error))
    }
}

/// What a folder holds; nothing if it is not there.
fn names(folder: &Path) -> Result<Vec<String>> {
    blocking(|| {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| failed("list", folder, error))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed("list", folder, error))?;
            // What is no UTF-8 is not ours.
            names.extend(entry.file_name().into_string());
        }
        Ok(names)
    })
}

/// What is removed may be gone already.
fn gone(path: &Path, removed: io::Result<()>) -> Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, error)),
        _ => Ok(()),
    }
}

fn sync_folder(path: &Path) -> Result<()> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed("sync", path, error))
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> Error {
    translate_io(action, path, source)
}
