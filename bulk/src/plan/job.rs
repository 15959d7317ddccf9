//! The description of a job: `job.json`.

use std::{
    fmt::Display,
    fs,
    ops::Not,
    path::{Path, PathBuf},
};

use idempost::types::RecipientGuard;
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Counts, Selection};
use crate::{
    error::{BulkError, Result},
    files,
    input::{Fingerprint, Format, RowProblem, Source},
    message::Message,
};

pub(crate) const DESCRIPTION: &str = "job.json";
/// The version of a job's files.
pub(super) const VERSION: u32 = 2;

/// A job's description. It contains no credentials.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) version: u32,
    pub(super) id: String,
    pub(super) created: Timestamp,
    /// The name under which later plans find the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// The IDs of the job's earlier parts, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) after: Vec<String>,
    pub(super) origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<String>,
    pub(super) input: JobInput,
    pub(super) message: Message,
    pub(super) options: JobOptions,
    pub(super) counts: Counts,
    pub(super) problems: Vec<RowProblem>,
    pub(super) index: JobIndex,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JobInput {
    pub(super) name: String,
    pub(super) format: Format,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delimiter: Option<u8>,
    pub(super) folder: PathBuf,
    #[serde(flatten)]
    pub(super) fingerprint: Fingerprint,
}

/// The options that change what is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobOptions {
    /// Columns to skip.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ignore_columns: Vec<String>,
    /// Plans only the first valid rows, as the first part of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u64>,
    /// Sends all emails to this address instead, without `cc` and `bcc`. The trial is a separate job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_to: Option<String>,
    /// The allowed recipients and the redirection. Another redirection makes the job a different one.
    #[serde(default, skip_serializing_if = "is_inactive")]
    pub(crate) guard: RecipientGuard,
    /// Plans only these rows of an earlier job, as a separate job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rows: Option<Selection>,
    /// The ID of the plan whose invalid rows the input contains, corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) corrects: Option<String>,
    /// The column or field that identifies rows; without one, all values do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// The hash of the list of suppressed addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) suppressed: Option<String>,
    /// Whether the account's suppression list is used.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub(crate) account_suppressions: bool,
    /// The maximum number of emails in a request, if it is below the service's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) batch_size: Option<u16>,
    /// A chosen name, which makes the job a different one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
}

fn is_inactive(guard: &RecipientGuard) -> bool {
    !guard.is_active()
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct JobIndex {
    pub(super) entries: u32,
    pub(super) blake3: String,
    /// The hash of the numbers of the rows.
    pub(super) rows: String,
    /// The hash of the list of suppressed addresses, which may include those of other parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) suppressed: Option<String>,
}

/// The start of a description: the hash of what follows the checksum.
const CHECKSUM: &[u8] = b"{\n  \"checksum\": \"";

/// Returns the hash of a file of a plan, or of a description after its checksum.
pub(super) fn checksum(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

/// Reads a file of a plan that has this hash.
pub(super) fn read_intact(path: &Path, hash: &str) -> Result<Vec<u8>> {
    let content = files::read(path)?;
    if checksum(&content) == hash { Ok(content) } else { Err(damaged(path, "its hash doesn't match")) }
}

/// Returns whether a description is as it was written. A damaged one can still be readable, as another job or without its earlier parts.
fn is_intact(text: &[u8]) -> bool {
    let found = text.strip_prefix(CHECKSUM).and_then(|text| text.split_at_checked(2 * blake3::OUT_LEN));
    found.is_some_and(|(sum, rest)| *sum == *checksum(rest).as_bytes())
}

impl Job {
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(DESCRIPTION);
        let text = files::read(&path)?;
        let job = Self::parse(&text, &path)?;
        if is_intact(&text) { Ok(job) } else { Err(damaged(&path, "its checksum doesn't match")) }
    }

    /// Parses a description. `path` is its source, for messages.
    pub(super) fn parse(text: &[u8], path: &Path) -> Result<Self> {
        let version: Version = parse_plan(text, path)?;
        if version.version != VERSION {
            let message =
                format!("the plan {} has version {}, not {VERSION}", path.display(), version.version);
            return Err(BulkError::PlanChanged(message));
        }
        parse_plan(text, path)
    }

    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        let path = dir.join(DESCRIPTION);
        let text =
            serde_json::to_vec_pretty(self).map_err(|error| BulkError::io("write", &path)(error.into()))?;
        let rest = [b"\",", &text[1..]].concat();
        files::replace(&path, &[CHECKSUM, checksum(&rest).as_bytes(), &rest].concat())
    }
}

/// Parses a file of a plan. `path` is its source, for messages.
pub(super) fn parse_plan<T: DeserializeOwned>(text: &[u8], path: &Path) -> Result<T> {
    serde_json::from_slice(text).map_err(|error| damaged(path, error))
}

/// The error for a damaged file of a plan.
fn damaged(path: &Path, why: impl Display) -> BulkError {
    BulkError::PlanChanged(format!("the plan {} is damaged: {why}", path.display()))
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// The properties that make two plans the same job. Its service and account don't: no other one may continue it.
#[derive(Serialize)]
struct Identity<'a> {
    version: u32,
    input: &'a str,
    format: Format,
    delimiter: Option<u8>,
    message: &'a Message,
    options: &'a JobOptions,
}

/// Returns a job's ID without the run number: 12 hexadecimal digits. The input's name and modification time don't matter.
pub(crate) fn job_id(
    fingerprint: &Fingerprint,
    source: &Source,
    message: &Message,
    options: &JobOptions,
) -> String {
    let identity = Identity {
        version: VERSION,
        input: &fingerprint.blake3,
        format: source.format,
        delimiter: source.delimiter,
        message,
        options,
    };
    // Maps with string keys, strings and numbers: every identity can be represented in JSON.
    let json = serde_json::to_vec(&identity).unwrap_or_default();
    blake3::hash(&json).to_hex()[..12].to_owned()
}

impl Job {
    /// Returns whether two plans have the same name, or none, and are for the same recipients.
    pub(super) fn shares_name(&self, other: &Self) -> bool {
        let line = |job: &Self| {
            let guard = &job.options.guard;
            (job.name.clone(), job.options.test_to.clone(), redirected(guard, &RECIPIENT.into()))
        };
        line(self) == line(other)
    }
}

/// A recipient that no guard allows or redirects to.
pub(super) const RECIPIENT: &str = "recipient@redirection.invalid";

/// Returns where a guard sends an email to these recipients.
pub(super) fn redirected(guard: &RecipientGuard, to: &Value) -> Value {
    let mut email = json!({ "to": to });
    // Whether the recipients are allowed doesn't matter here.
    let _ = guard.apply(&mut email);
    email["to"].take()
}

/// Returns a job's highest run number.
pub(super) fn last_run(dir: &Path, id: &str) -> Result<Option<u32>> {
    let reading = |error| BulkError::io("read", dir)(error);
    let mut last = None;
    for entry in fs::read_dir(dir).map_err(reading)? {
        let name = entry.map_err(reading)?.file_name();
        let run = name.to_str().and_then(|name| name.strip_prefix(id)?.strip_prefix('-')?.parse().ok());
        last = last.max(run);
    }
    Ok(last)
}
