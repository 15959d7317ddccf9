//! The state of a job that all workers follow.

use std::{fs::File, io, path::Path};

use serde::{Deserialize, Serialize};

use super::{CellKey, QueueError, Result, Storage};
use crate::account::JobAccount;

/// A job's control record. It is written only by the coordinator and by the commands that pause or cancel a job; every write replaces exactly the
/// version that was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// What workers should do.
    pub state: ControlState,
    /// Why a worker paused the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of batches.
    pub batches: u32,
    /// The batches before this one were added to the queue in the first round.
    pub added: u32,
    /// The latest round, increased whenever lost batches are added again.
    pub round: u32,
    /// Identifies the job's data in the queue. It changes when the coordinator restores lost data, so that references to the lost data can't be
    /// mistaken for references to the restored data.
    pub generation: String,
    /// If data was lost: when a batch without an intent may have been attempted, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub possibly_attempted: Option<u64>,
    /// The job's account, which a worker checks before it takes a batch.
    pub account: JobAccount,
    /// The name under which workers share a rate limit.
    pub rate_scope: String,
    /// The job's priority.
    #[serde(default)]
    pub priority: Priority,
    /// The limit on requests per second set by the job's owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rps: Option<f64>,
    /// The files that workers need.
    pub files: Vec<JobFile>,
}

/// What a job's workers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ControlState {
    /// They send.
    Running,
    /// They finish requests in flight and wait.
    Paused,
    /// They finish requests in flight and leave the job.
    Canceled,
    /// Every batch has a result.
    Finished,
}

/// A job's priority in the queue. Workers share their time equally among the jobs of the highest priority that have something to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Priority {
    /// After all others.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Before all others.
    High,
}

/// A job that needs workers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningJob {
    /// The job's ID.
    pub id: String,
    /// The job's priority.
    pub priority: Priority,
}

/// A file of a job in the queue's object store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFile {
    /// The file's path in the job's folder.
    pub name: String,
    /// The file's size in bytes.
    pub size: u64,
    /// The BLAKE3 hash of the content, in hexadecimal.
    pub blake3: String,
}

/// Reads the control record of a job, with its revision.
pub(crate) async fn load_control(storage: &impl Storage) -> Result<Option<(Control, u64)>> {
    let Some(cell) = storage.load(CellKey::Control).await? else { return Ok(None) };
    let control = serde_json::from_slice(&cell.value)
        .map_err(|_| QueueError::job(storage.job(), "its control record is unreadable"))?;
    Ok(Some((control, cell.revision)))
}

/// Replaces the version of a control record that was read. Returns the new revision, or `None` if another process replaced it first.
pub(crate) async fn store_control(
    storage: &impl Storage,
    control: &Control,
    expected: Option<u64>,
) -> Result<Option<u64>> {
    let value = serde_json::to_vec(control).map_err(QueueError::unavailable("write the control record"))?;
    storage.store(CellKey::Control, value.into(), expected).await
}

/// Pauses, resumes or cancels a job for all its workers. They finish requests in flight. A job that is canceled or finished can't be changed.
///
/// # Errors
/// [`QueueError::Job`] if the queue doesn't know the job, or the job is canceled or finished.
pub async fn set_state(storage: &impl Storage, state: ControlState) -> Result<()> {
    loop {
        let refused = |problem: &str| Err(QueueError::job(storage.job(), problem));
        let Some((mut control, revision)) = load_control(storage).await? else {
            return refused("it isn't in the queue");
        };
        match control.state {
            ControlState::Finished => return refused("it is finished"),
            ControlState::Canceled if state != ControlState::Canceled => return refused("it was canceled"),
            current if current == state => return Ok(()),
            _ => control.state = state,
        }
        if store_control(storage, &control, Some(revision)).await?.is_some() {
            return Ok(());
        }
    }
}

/// Pauses a running job for all its workers, for a reason that its coordinator reports.
pub(crate) async fn pause(storage: &impl Storage, reason: &str) -> Result<()> {
    while let Some((mut control, revision)) = load_control(storage).await? {
        if control.state != ControlState::Running {
            break;
        }
        (control.state, control.reason) = (ControlState::Paused, Some(reason.to_owned()));
        if store_control(storage, &control, Some(revision)).await?.is_some() {
            break;
        }
    }
    Ok(())
}

impl JobFile {
    /// Describes a file on this machine. Blocks while it reads the file.
    pub(crate) fn from_path(name: &str, path: &Path) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let size = io::copy(&mut File::open(path)?, &mut hasher)?;
        Ok(Self { name: name.to_owned(), size, blake3: hasher.finalize().to_hex().to_string() })
    }

    /// Returns whether the name is a path that stays in the job's folder. Names come from the queue, so they aren't trusted.
    pub(crate) fn has_safe_name(&self) -> bool {
        let plain =
            |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', ':', '\0']);
        self.name.split('/').all(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_that_leaves_the_folder_is_unsafe() {
        let safe =
            |name: &str| JobFile { name: name.to_owned(), size: 0, blake3: String::new() }.has_safe_name();
        assert!(safe("plan.idx") && safe("files/1.pdf"));
        for name in ["", "/etc/passwd", "../x", "files/../../x", "files//x", "C:x", "a\\b", "./x"] {
            assert!(!safe(name), "{name}");
        }
    }
}
