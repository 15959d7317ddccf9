//! Plans: what a job sends, fixed and validated before anything is sent.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use idempost::{Email, problem::Problem};
use tempfile::TempDir;

mod builder;
mod composer;
mod context;
mod counts;
mod duplicates;
mod index;
mod invalid_rows;
mod job;
mod options;
#[cfg(feature = "nats")]
mod portable;
mod prepared;
mod preparer;
mod selection;

pub use counts::Counts;
pub(crate) use job::job_id;
pub(crate) use options::PlanOptions;
#[cfg(feature = "nats")]
pub(crate) use portable::{BatchSize, PortableFile};
pub(crate) use prepared::{BatchKind, Prepared, PreparedRow, Rendered};
pub(crate) use preparer::Preparer;
pub(crate) use selection::Selection;

use context::Context;
use job::{Job, JobIndex, JobInput, JobOptions};

use crate::{
    error::{BulkError, Result},
    files,
    input::{Fingerprint, Input, RowProblem, Source},
    message::Message,
};

/// The prefix of the folder of a plan that isn't complete.
const TEMPORARY: &str = ".planning-";

/// A validated job: which rows are sent in which request.
///
/// A plan is a folder with `job.json` (the description), `plan.idx` (16 bytes per request), `invalid.csv` (if rows are invalid) and `input`
/// (if the input can't be read in place). The folder is private to its owner and has no credential.
#[derive(Debug)]
pub struct Plan {
    dir: PathBuf,
    job: Job,
}

/// A rendered email of a plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PreviewEmail {
    /// The number of the row, from 1.
    pub row: u64,
    /// The email, without the files to attach.
    pub email: Email,
    /// The paths of the files to attach, as the row has them.
    pub attachments: Vec<String>,
}

/// Validates every row and writes a plan into a new folder of `dir`; nothing is sent.
///
/// The same input, message, options and origin give the same job: its existing plan is opened instead, unless `options.again` is set. The
/// call blocks: it reads the input twice, once for its hash.
///
/// Invalid rows aren't an error here: see [`Plan::counts`] and [`Plan::problems`].
///
/// # Errors
/// [`BulkError::Input`] with the problems of the message, or those of the input as a whole; [`BulkError::Io`]; [`BulkError::PlanChanged`]
/// if the input changes meanwhile.
pub(crate) fn plan(input: Input, message: &Message, options: &PlanOptions, dir: &Path) -> Result<Plan> {
    let mut problems = message.check().err().unwrap_or_default();
    problems.extend(options.problems());
    if !problems.is_empty() {
        return Err(BulkError::Input(problems));
    }
    files::create_dir(dir)?;
    files::remove_abandoned(TEMPORARY, dir);
    // The plan appears under its own name only when it is complete.
    let temporary = files::temporary_dir(TEMPORARY, dir)?;
    let mut source = Source::locate(input, temporary.path())?;
    if let Some(folder) = &options.attachments {
        folder.clone_into(&mut source.folder);
    }
    let reading = |error| BulkError::io("read", &source.path)(error);
    let file = source.open()?;
    let fingerprint = Fingerprint::of(&file).map_err(reading)?;
    let base = job_id(&fingerprint, &source, message, options);
    let run = job::last_run(dir, &base)?;
    if let (Some(run), false) = (run, options.again) {
        return Plan::open_again(&dir.join(format!("{base}-{run}")), &source, &fingerprint);
    }
    let context = Context::new(source.clone(), message, &JobOptions::from(options))?;
    let built = builder::build(&context, temporary.path(), options.limit)?;
    if !fingerprint.matches(&file.metadata().map_err(reading)?) {
        return Err(BulkError::PlanChanged(format!("{} changed while it was planned", source.name)));
    }
    // Windows renames no folder that has an open file.
    drop(file);
    let input = JobInput {
        path: (!source.spooled).then(|| source.path.clone()),
        name: source.name,
        format: source.format,
        delimiter: source.delimiter,
        folder: source.folder,
        fingerprint,
    };
    let job = Job {
        version: job::VERSION,
        id: String::new(),
        created: jiff::Timestamp::now().to_string(),
        origin: options.origin.clone(),
        profile: options.profile.clone(),
        input,
        template_hash: message.template_hash().to_hex().to_string(),
        message: message.clone(),
        options: JobOptions::from(options),
        counts: built.counts,
        problems: built.problems,
        index: JobIndex { entries: built.entries, blake3: built.index_hash.to_hex().to_string() },
    };
    publish(temporary, job, dir, &base, run.unwrap_or_default() + 1, options.again)
}

/// Moves a complete plan to its folder, as the run `first`. If another process has planned this run in the meantime, opens that plan instead, or
/// with `again` takes the next run.
fn publish(
    temporary: TempDir,
    mut job: Job,
    dir: &Path,
    base: &str,
    first: u32,
    again: bool,
) -> Result<Plan> {
    for run in first.. {
        job.id = format!("{base}-{run}");
        let target = dir.join(&job.id);
        job.write(temporary.path())?;
        // Windows would deny the access to an existing folder, like that to one in use.
        let free = || if target.exists() { Err(ErrorKind::AlreadyExists.into()) } else { Ok(()) };
        match files::until_free(|| free().and_then(|()| fs::rename(temporary.path(), &target))) {
            Ok(()) => {
                let _ = temporary.keep();
                files::sync_dir(dir)?;
                return Ok(Plan { dir: target, job });
            }
            Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty) => {
                if !again {
                    return Plan::open(&target);
                }
            }
            Err(error) => return Err(BulkError::io("write", dir)(error)),
        }
    }
    Err(BulkError::NotRunnable("the job has too many runs".to_owned()))
}

impl Plan {
    /// Opens a plan by its folder.
    ///
    /// # Errors
    /// [`BulkError::PlanChanged`] if the input changed or the plan is damaged, [`BulkError::Io`] if a file can't be read.
    pub fn open(dir: &Path) -> Result<Self> {
        let plan = Self::read(dir)?;
        index::verify(dir, &plan.job.index)?;
        let source = plan.source();
        let file = source.open()?;
        context::verify_input(&source, &file, &plan.job.input.fingerprint)?;
        Ok(plan)
    }

    /// Reads a plan without its input, which may have changed or be gone.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        Ok(Self { dir: dir.to_owned(), job: Job::read(dir)? })
    }

    /// Plans another job of some rows of this one, beside it.
    pub(crate) fn again_with(&self, rows: Selection) -> Result<Self> {
        let source = self.source();
        let mut input = Input::file(&source.path).format(source.format);
        input = source.delimiter.into_iter().fold(input, Input::delimiter);
        let options = PlanOptions {
            ignore_columns: self.job.options.ignore_columns.clone(),
            test_to: self.job.options.test_to.clone(),
            guard: self.job.options.guard.clone(),
            attachments: Some(source.folder),
            origin: self.job.origin.clone(),
            profile: self.job.profile.clone(),
            rows: Some(rows),
            ..PlanOptions::default()
        };
        plan(input, &self.job.message, &options, files::parent(&self.dir))
    }

    /// Opens the plan of an input with the same content, which may have another path or another time now.
    fn open_again(dir: &Path, source: &Source, fingerprint: &Fingerprint) -> Result<Self> {
        let mut job = Job::read(dir)?;
        if let (Some(path), false) = (&mut job.input.path, source.spooled)
            && (*path != source.path || job.input.fingerprint != *fingerprint)
        {
            source.path.clone_into(path);
            source.name.clone_into(&mut job.input.name);
            source.folder.clone_into(&mut job.input.folder);
            fingerprint.clone_into(&mut job.input.fingerprint);
            job.write(dir)?;
        }
        Self::open(dir)
    }

    /// Returns the job's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the job's ID: 12 hexadecimal digits that identify input, message, options and origin, and the number of the run.
    pub fn id(&self) -> &str {
        &self.job.id
    }

    /// Returns the base URL of the service that the plan was made for.
    pub fn origin(&self) -> &str {
        &self.job.origin
    }

    /// Returns the name of the profile that the plan was made with.
    pub fn profile(&self) -> Option<&str> {
        self.job.profile.as_deref()
    }

    /// Returns the time of planning, in RFC 3339.
    pub fn created(&self) -> &str {
        &self.job.created
    }

    /// Returns the name of the input, for messages.
    pub fn input_name(&self) -> &str {
        &self.job.input.name
    }

    /// Returns the message.
    pub fn message(&self) -> &Message {
        &self.job.message
    }

    /// Returns the counts of rows, emails and requests.
    pub fn counts(&self) -> &Counts {
        &self.job.counts
    }

    /// Returns the first 20 problems of invalid rows; [`Counts::problems`] counts all.
    pub fn problems(&self) -> &[RowProblem] {
        &self.job.problems
    }

    /// Returns the path of `invalid.csv`, the invalid rows with their problems; `None` if all rows are valid.
    pub fn invalid_rows(&self) -> Option<PathBuf> {
        (self.job.counts.invalid > 0).then(|| self.dir.join(invalid_rows::NAME))
    }

    /// Returns the number of requests: batches and single emails.
    pub fn batches(&self) -> u32 {
        self.job.index.entries
    }

    /// Renders the first `n` valid rows.
    ///
    /// # Errors
    /// [`BulkError::Io`] or [`BulkError::PlanChanged`].
    pub fn preview(&self, n: usize) -> Result<Vec<PreviewEmail>> {
        preparer::preview(&self.context()?, n)
    }

    /// Sums the emails of the wanted requests, as the plan has them.
    pub(crate) fn count_emails(&self, wanted: impl Fn(u32) -> bool) -> Result<u64> {
        index::count_emails(&self.dir, self.job.index.entries, wanted)
    }

    /// Creates a preparer, with file handles of its own.
    pub(crate) fn preparer(&self) -> Result<Preparer> {
        Preparer::new(self.context()?, &self.dir, &self.job)
    }

    fn source(&self) -> Source {
        let input = &self.job.input;
        Source {
            path: input.path.clone().unwrap_or_else(|| self.dir.join(Source::SPOOLED)),
            name: input.name.clone(),
            format: input.format,
            delimiter: input.delimiter,
            folder: input.folder.clone(),
            spooled: input.path.is_none(),
        }
    }

    fn context(&self) -> Result<Context> {
        let Job { message, options, .. } = &self.job;
        Context::new(self.source(), message, options)
    }
}

fn problem(code: &'static str, message: impl Into<String>) -> Problem {
    Problem::new("", code, message)
}

#[cfg(test)]
mod tests;
