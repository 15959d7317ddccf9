//! The state of a job that all workers follow.

use serde::{Deserialize, Serialize};

/// The control record of a job. Only the coordinator and the commands that pause or cancel a job write it; every write replaces exactly the
/// version that it has read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// What workers do.
    pub state: ControlState,
    /// The number of batches.
    pub batches: u32,
    /// The batches before this one have been added to the queue in the first round.
    pub added: u32,
    /// The latest round in which lost batches were added again.
    pub round: u32,
    /// Names what the queue stores for this job. It changes when the coordinator restores lost data, so that references to the lost data can't
    /// be mistaken for references to the new.
    pub generation: String,
    /// If data was lost: a batch without an intent may have been attempted at this time, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub possibly_attempted: Option<u64>,
    /// The service that the job is sent to.
    pub origin: String,
    /// The name under which the workers share a rate limit.
    pub rate_scope: String,
    /// The limit on requests per second that the job's owner set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rps: Option<f64>,
    /// The files that a worker needs.
    pub files: Vec<JobFile>,
}

/// What the workers of a job do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ControlState {
    /// They send.
    Running,
    /// They finish what is in flight and wait.
    Paused,
    /// They finish what is in flight and leave the job.
    Canceled,
    /// Every batch has a result.
    Finished,
}

/// A file of a job in the queue's object store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFile {
    /// Its path in the job's folder.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The BLAKE3 hash of its content, in hexadecimal.
    pub blake3: String,
}

impl JobFile {
    /// Returns whether the name is a path that stays in the job's folder. Names come from the queue, so they could lead anywhere.
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
