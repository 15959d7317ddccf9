//! Plans on other machines: the files that a worker needs to prepare identical requests.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use super::{BatchKind, Plan, ROWS, index, job::Job};
use crate::{
    error::{BulkError, Result},
    files,
    input::Source,
};

/// The folder of attachments in a job's folder.
const ATTACHMENTS: &str = "files";

/// A file that a worker needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortableFile {
    /// Its path in the job's folder, separated by `/`.
    pub(crate) name: String,
    /// Its location on this machine.
    pub(crate) path: PathBuf,
}

/// The size of a batch and its first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchSize {
    /// The number of its first row.
    pub(crate) first_row: u64,
    /// The number of its emails.
    pub(crate) emails: u16,
}

impl Plan {
    /// Returns the sizes of all batches, 16 bytes each.
    pub(crate) fn batch_sizes(&self) -> Result<Vec<BatchSize>> {
        let mut sizes = Vec::new();
        self.visit_batches(|_, _, first_row, emails| sizes.push(BatchSize { first_row, emails }))?;
        Ok(sizes)
    }

    /// Lists the files that a worker on another machine needs besides the description. Blocks, and reads the input if rows have attachments.
    ///
    /// # Errors
    /// [`BulkError::NotRunnable`] if an attachment is behind a symbolic link or outside its folder; [`BulkError::Io`].
    pub(crate) fn portable_files(&self) -> Result<Vec<PortableFile>> {
        let own = |name: &str, path: PathBuf| PortableFile { name: name.to_owned(), path };
        let mut portable = vec![
            own(index::NAME, self.dir.join(index::NAME)),
            own(ROWS, self.dir.join(ROWS)),
            own(Source::COPY, self.source().path),
        ];
        let folder = &self.job.input.folder;
        for path in self.attachment_paths()? {
            let name = format!("{ATTACHMENTS}/{}", portable_path(folder, &path)?);
            portable.push(PortableFile { name, path: folder.join(&path) });
        }
        // A row with a missing attachment is invalid and isn't sent.
        portable.retain(|file| file.path.exists());
        Ok(portable)
    }

    /// Returns whether the files with these BLAKE3 hashes are of a plan with the same batches. The plan of a job with the same ID in another folder
    /// differs if its earlier parts contain other rows.
    pub(crate) fn has_hashes<'a>(&self, hash_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        let own = [(index::NAME, &self.job.index.blake3), (ROWS, &self.job.index.rows)];
        own.iter().all(|(name, hash)| hash_of(name) == Some(hash))
    }

    /// Returns the job's description for other machines, without local paths.
    pub(crate) fn description(&self) -> Result<Vec<u8>> {
        let described = serde_json::to_value(&self.job).and_then(|mut description| {
            description["input"]["folder"] = "".into();
            serde_json::to_vec(&description)
        });
        described.map_err(|error| BulkError::io("read", &self.dir)(error.into()))
    }

    /// Opens a plan whose files were copied into a folder.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub(crate) fn unpack(dir: &Path, description: &[u8]) -> Result<Self> {
        let mut job = Job::parse(description, dir)?;
        let attachments = dir.join(ATTACHMENTS);
        files::create_dir(&attachments)?;
        job.input.folder = attachments;
        job.write(dir)?;
        Self::open(dir)
    }

    /// Returns the paths of all attachments, as given in the rows.
    fn attachment_paths(&self) -> Result<BTreeSet<String>> {
        let mut paths = BTreeSet::new();
        if self.job.counts.singles == 0 {
            return Ok(paths);
        }
        let context = self.context()?;
        context.visit_rows(|_, row| {
            if context.composer.kind(&row) == BatchKind::Single {
                paths.extend(row.attachments.iter().map(ToString::to_string));
            }
            Ok(true)
        })?;
        Ok(paths)
    }
}

/// Returns the path at which a worker finds the same file under the same name.
fn portable_path(folder: &Path, path: &str) -> Result<String> {
    let refused = |why: &str| {
        let message = format!("the attachment {path} {why}, so workers on other machines can't read it");
        Err(BulkError::NotRunnable(message))
    };
    let mut parts = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(part) => match part.to_str() {
                Some(part) if !part.contains(['\\', ':', '\0']) => parts.push(part.to_owned()),
                _ => return refused("has a name that some systems don't allow"),
            },
            Component::CurDir => {}
            _ => return refused("isn't a path relative to the attachments' folder"),
        }
    }
    let reading = |error| BulkError::io("read", folder.join(path))(error);
    let folder = fs::canonicalize(folder).map_err(reading)?;
    // A row with a missing attachment is invalid and isn't sent.
    let Ok(real) = fs::canonicalize(folder.join(path)) else { return Ok(parts.join("/")) };
    if real != parts.iter().fold(folder, |path, part| path.join(part)) {
        return refused("is behind a symbolic link");
    }
    Ok(parts.join("/"))
}
