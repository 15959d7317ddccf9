//! Job files in the object store.

use std::{io, path::Path, time::Duration};

use async_nats::jetstream::object_store::{ObjectMetadata, ObjectStore};
use tokio::{
    fs::{self, File},
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use super::{FILES, NatsJob, streams};
use crate::queue::{JobFile, QueueError, Result};

/// How long the server may take to send the next part of a file.
const STALLED: Duration = Duration::from_secs(30);
/// The size of the parts in which a file is stored and read.
const PART: usize = 128 * 1024;

impl NatsJob {
    pub(super) async fn upload_file(&self, file: &JobFile, from: &Path) -> Result<()> {
        let action = "upload a file of the job";
        let store = self.file_store(action).await?;
        let name = self.object(file);
        // The hash is part of the name, so an existing object has the same content, and is complete: its description is stored last.
        if store.info(&name).await.is_ok_and(|info| !info.deleted && info.size as u64 == file.size) {
            return Ok(());
        }
        let mut source = File::open(from).await.map_err(local(file, "couldn't be read"))?;
        let part = PART.min(self.queue.client.server_info().max_payload / 2);
        let metadata = ObjectMetadata { name, chunk_size: Some(part), ..ObjectMetadata::default() };
        store.put(metadata, &mut source).await.map(drop).map_err(QueueError::unavailable(action))
    }

    pub(super) async fn download_file(&self, file: &JobFile, to: &Path) -> Result<()> {
        if !file.has_safe_name() {
            return Err(invalid(file, "its name points outside the job's folder".to_owned()));
        }
        if matches_on_disk(file, to).await {
            return Ok(());
        }
        let folder = to.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).await.map_err(local(file, "couldn't be written"))?;
        let partial = tempfile::Builder::new()
            .prefix(".partial-")
            .tempfile_in(folder)
            .map_err(local(file, "couldn't be written"))?;
        let handle = partial.as_file().try_clone().map_err(local(file, "couldn't be written"))?;
        let mut target = File::from_std(handle);
        let hash = self.copy(file, &mut target).await?;
        target.flush().await.map_err(local(file, "couldn't be written"))?;
        if hash != file.blake3 {
            return Err(invalid(file, "the queue's copy doesn't match its hash".to_owned()));
        }
        partial.persist(to).map(drop).map_err(|error| local(file, "couldn't be written")(error.error))
    }

    /// Copies the object and returns its hash.
    async fn copy(&self, file: &JobFile, target: &mut File) -> Result<String> {
        let action = "download a file of the job";
        let mut hasher = blake3::Hasher::new();
        if file.size > 0 {
            let store = self.file_store(action).await?;
            let mut object = store.get(self.object(file)).await.map_err(QueueError::unavailable(action))?;
            let mut part = vec![0; PART];
            loop {
                let read = timeout(STALLED, object.read(&mut part))
                    .await
                    .map_err(QueueError::unavailable(action))?
                    .map_err(QueueError::unavailable(action))?;
                if read == 0 {
                    break;
                }
                hasher.update(&part[..read]);
                target.write_all(&part[..read]).await.map_err(local(file, "couldn't be written"))?;
            }
        }
        Ok(hasher.finalize().to_hex().to_string())
    }

    pub(super) async fn delete_files(&self) -> Result<()> {
        use futures_util::TryStreamExt;

        let action = "remove the files of the job";
        if !streams::exists(self.context(), &format!("OBJ_{FILES}")).await? {
            return Ok(());
        }
        let store = self.file_store(action).await?;
        let prefix = format!("{}/", self.job);
        let mut list = store.list().await.map_err(QueueError::unavailable(action))?;
        let mut names = Vec::new();
        while let Some(info) = list.try_next().await.map_err(QueueError::unavailable(action))? {
            if info.name.starts_with(&prefix) {
                names.push(info.name);
            }
        }
        for name in names {
            store.delete(&name).await.map_err(QueueError::unavailable(action))?;
        }
        Ok(())
    }

    async fn file_store(&self, action: &'static str) -> Result<ObjectStore> {
        self.context().get_object_store(FILES).await.map_err(QueueError::unavailable(action))
    }

    fn object(&self, file: &JobFile) -> String {
        format!("{}/{}-{}", self.job, file.name, file.blake3)
    }
}

/// Returns whether the file already exists, from an earlier start of a worker on this machine.
async fn matches_on_disk(file: &JobFile, path: &Path) -> bool {
    let path = path.to_owned();
    let found = tokio::task::spawn_blocking(move || JobFile::from_path("", &path));
    matches!(found.await, Ok(Ok(found)) if found.blake3 == file.blake3)
}

fn local(file: &JobFile, problem: &'static str) -> impl FnOnce(io::Error) -> QueueError {
    move |error| invalid(file, format!("{problem}: {error}"))
}

fn invalid(file: &JobFile, problem: String) -> QueueError {
    QueueError::File { file: file.name.clone(), problem }
}
