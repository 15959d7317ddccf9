//! Plans: what a job sends, fixed and validated before anything is sent.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use idempost::{Email, problem::limits::EMAILS_PER_BATCH, types::RecipientGuard};
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

mod builder;
mod composer;
mod context;
mod counts;
mod hashes;
mod index;
mod invalid_rows;
mod job;
mod known_rows;
mod options;
#[cfg(feature = "nats")]
mod portable;
mod prepared;
mod preparer;
mod row_key;
mod selection;

pub use counts::Counts;
pub(crate) use job::{DESCRIPTION, job_id};
pub(crate) use known_rows::{EarlierRows, Held, KnownRows};
pub use options::ChangedRows;
pub(crate) use options::PlanOptions;
#[cfg(feature = "nats")]
pub(crate) use portable::{BatchSize, PortableFile};
pub(crate) use prepared::{BatchKind, BodyHash, PlannedRow, Prepared, PreparedRow, Rendered};
pub(crate) use preparer::Preparer;
pub(crate) use row_key::{RowKey, address_hash, normalize_address};
pub(crate) use selection::Selection;

use context::Context;
use job::{Job, JobIndex, JobInput, JobOptions, RECIPIENT, checksum, parse_plan, read_intact, redirected};
use prepared::body_hash;

use crate::{
    account::{self, AccountError},
    error::{BulkError, Result},
    files,
    input::{Input, RowProblem, Source},
    message::Message,
};

/// The prefix of the folder of an incomplete plan.
const TEMPORARY: &str = ".planning-";
/// The prefix of an empty folder that takes the place of a deleted job for a day: as long as the service may remember the job's idempotency keys, no
/// other job gets its ID.
const DELETED: &str = ".deleted-";
/// The numbers of the rows that a plan sends.
const ROWS: &str = "plan.rows";
/// The rows that are skipped on purpose.
const SKIPPED: &str = "skipped.csv";
/// The hashes of the suppressed addresses.
const SUPPRESSED: &str = "suppressed";
/// The minimum time between two plans of a job.
const STEP: SignedDuration = SignedDuration::from_millis(1);

/// A validated job: which rows are sent in which request.
///
/// A plan is a folder with `job.json` (the description), `input` (a copy of the rows), `plan.rows` (the rows to send), `plan.idx` (32 bytes per
/// request, including the hash of its body), `invalid.csv` (if rows are invalid), `skipped.csv` (if rows are skipped on purpose) and `suppressed` (16
/// bytes per suppressed address). The folder is private to its owner and contains no credentials.
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
    /// The email, without its attachments.
    pub email: Email,
    /// The paths of the attachments, as given in the row.
    pub attachments: Vec<String>,
}

/// A plan that hasn't been written yet: its input is copied and identified.
pub(crate) struct Draft {
    temporary: TempDir,
    dir: PathBuf,
    context: Context,
    job: Job,
    base: String,
    again: bool,
    options: PlanOptions,
}

impl Draft {
    /// Copies the input. Blocks.
    ///
    /// # Errors
    /// [`BulkError::Input`] with the problems of the message or of the input as a whole; [`BulkError::Io`].
    pub(crate) fn new(input: Input, message: &Message, options: &PlanOptions, dir: &Path) -> Result<Self> {
        let mut problems = message.check().err().unwrap_or_default();
        problems.extend(options.problems());
        if !problems.is_empty() {
            return Err(BulkError::Input(problems));
        }
        files::create_dir(dir)?;
        files::remove_stale(TEMPORARY, dir);
        files::remove_stale(DELETED, dir);
        // The plan gets its final name only when it is complete.
        let temporary = files::temporary_dir(TEMPORARY, dir)?;
        let name = options.job.name.clone().or_else(|| input.job_name());
        let mut source = Source::copy(input, temporary.path(), options.max_size())?;
        if let Some(folder) = &options.attachments {
            folder.clone_into(&mut source.folder);
        }
        let fingerprint = source.fingerprint()?;
        let stored = options.stored();
        let base = job_id(&fingerprint, &source, message, &stored);
        let context = Context::new(source.clone(), message, &stored)?;
        let Source { name: input_name, format, delimiter, folder, .. } = source;
        let job = Job {
            version: job::VERSION,
            id: String::new(),
            created: Timestamp::now(),
            name,
            after: Vec::new(),
            origin: options.origin.clone(),
            profile: options.profile.clone(),
            input: JobInput { name: input_name, format, delimiter, folder, fingerprint },
            message: message.clone(),
            options: stored,
            counts: Counts::default(),
            problems: Vec::new(),
            index: JobIndex::default(),
        };
        let (again, options) = (options.again, options.clone());
        Ok(Self { temporary, dir: dir.to_owned(), context, job, base, again, options })
    }

    /// Opens the plan of the same input, message and options, if there is one.
    pub(crate) fn find_existing(&self) -> Result<Option<Plan>> {
        let (Some(run), false) = (job::last_run(&self.dir, &self.base)?, self.again) else { return Ok(None) };
        let dir = self.dir.join(format!("{}-{run}", self.base));
        let mut job = Job::read(&dir)?;
        if job.input.folder != self.job.input.folder {
            // The input was moved together with its attachments.
            self.job.input.folder.clone_into(&mut job.input.folder);
            job.write(&dir)?;
        }
        Plan::open(&dir).map(Some)
    }

    /// Returns the latest plan of the same job: with the same name and recipients. Without a name, it also has the same rows and message.
    pub(crate) fn latest(&self) -> Result<Option<Plan>> {
        let is_same = |plan: &Plan| self.has_input_of(plan) && self.has_message_of(plan);
        let found = find_plans(&self.dir, |plan| {
            plan.job.shares_name(&self.job) && (self.name().is_some() || is_same(plan))
        })?;
        Ok(found.all()?.pop())
    }

    /// Dates this plan after another one, even if the clock was set back or both were drafted at the same time: the latest plan of a job knows all
    /// of its parts.
    pub(crate) fn follow(&mut self, earlier: &Plan) {
        let next = earlier.created().checked_add(STEP).unwrap_or(Timestamp::MAX);
        self.job.created = self.job.created.max(next);
    }

    /// Returns the folder of jobs.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the name of the job.
    pub(crate) fn name(&self) -> Option<&str> {
        self.job.name.as_deref()
    }

    /// Adds the suppressed addresses of another plan.
    pub(crate) fn suppress_as(&mut self, other: &Plan) -> Result<()> {
        if let Some(hash) = &other.job.index.suppressed {
            let list = Arc::make_mut(&mut self.options.suppressed);
            list.extend_from_slice(read_intact(&other.dir.join(SUPPRESSED), hash)?.as_chunks().0);
            list.sort_unstable();
        }
        Ok(())
    }

    /// Limits the number of emails in a request, if it isn't smaller already.
    pub(crate) fn limit_requests(&mut self, emails: u64) {
        let Ok(emails) = u16::try_from(emails) else { return };
        let smallest = self.job.options.batch_size.map_or(emails, |size| size.min(emails));
        for options in [&mut self.job.options, &mut self.options.job] {
            options.batch_size = Some(smallest).filter(|size| usize::from(*size) < EMAILS_PER_BATCH);
        }
    }

    /// Lists the differences from a plan other than the rows and the size of requests.
    pub(crate) fn differences(&self, other: &Plan) -> Vec<String> {
        let fields = |job: &Job| {
            let ignored = (None, None, None, None, None);
            let mut options = job.options.clone();
            (options.limit, options.rows, options.corrects, options.name, options.batch_size) = ignored;
            [serde_json::to_value(&job.message), serde_json::to_value(options)].map(Result::unwrap_or_default)
        };
        let mut names = Vec::new();
        for (own, others) in fields(&self.job).iter().zip(&fields(&other.job)) {
            let keys = own.as_object().into_iter().chain(others.as_object()).flat_map(serde_json::Map::keys);
            names.extend(keys.filter(|key| own.get(key) != others.get(key)).cloned());
        }
        names.sort();
        names.dedup();
        names
    }

    /// Checks that a started plan is for the same service.
    pub(crate) fn check_service(&self, other: &Plan) -> Result<(), AccountError> {
        let (own, job) = (&self.job, &other.job);
        account::check_service((&job.origin, job.profile.as_deref()), (&own.origin, own.profile.as_deref()))
    }

    /// Returns whether a plan has the same message.
    pub(crate) fn has_message_of(&self, other: &Plan) -> bool {
        self.job.message == other.job.message
    }

    /// Returns whether a plan has the same input.
    pub(crate) fn has_input_of(&self, other: &Plan) -> bool {
        self.job.input.fingerprint == other.job.input.fingerprint
    }

    /// Returns the column or field that identifies rows.
    pub(crate) fn key(&self) -> Option<&str> {
        self.job.options.key.as_deref()
    }

    /// Validates every row and writes the plan; nothing is sent. Invalid rows aren't an error: see [`Plan::counts`].
    pub(crate) fn write(mut self, known: &mut KnownRows, changed: ChangedRows) -> Result<Written> {
        let mut suppressed = None;
        if !self.options.suppressed.is_empty() {
            let list = self.options.suppressed.concat();
            files::replace(&self.temporary.path().join(SUPPRESSED), &list)?;
            suppressed = Some(checksum(&list));
        }
        let built = builder::build(&self.context, self.temporary.path(), &self.options, known, changed)?;
        self.job.counts = built.counts;
        self.job.problems = built.problems;
        let path = self.temporary.path().join(ROWS);
        files::replace_json(&path, &built.rows)?;
        let (blake3, rows) = (built.index_hash.to_hex().to_string(), checksum(&files::read(&path)?));
        self.job.index = JobIndex { entries: built.entries, blake3, rows, suppressed };
        let (changed, first_changed) = built.changed;
        Ok(Written { draft: self, changed, first_changed })
    }
}

/// A complete plan that hasn't been moved to its final folder yet.
pub(crate) struct Written {
    draft: Draft,
    /// The number of rows that may be corrected versions of an earlier part's rows.
    pub(crate) changed: u64,
    /// The first changed rows, with their recipients.
    pub(crate) first_changed: Vec<(u64, String)>,
}

impl Written {
    pub(crate) fn counts(&self) -> &Counts {
        &self.draft.job.counts
    }

    /// Moves the plan to its final folder, as a part after these ones. If another process has planned the same job in the meantime, opens that plan
    /// instead, or uses the next run number if another run is wanted.
    pub(crate) fn publish(self, after: Vec<String>) -> Result<Plan> {
        let Draft { temporary, dir, mut job, base, again, .. } = self.draft;
        let again = again || !after.is_empty();
        job.after = after;
        let deleted = job::last_run(&dir, &format!("{DELETED}{base}"))?;
        for run in job::last_run(&dir, &base)?.max(deleted).unwrap_or_default() + 1.. {
            job.id = format!("{base}-{run}");
            let target = dir.join(&job.id);
            job.write(temporary.path())?;
            // Windows would deny access to an existing folder just as to one in use.
            let free = || if target.exists() { Err(ErrorKind::AlreadyExists.into()) } else { Ok(()) };
            match files::retry_until_free(|| free().and_then(|()| fs::rename(temporary.path(), &target))) {
                Ok(()) => {
                    let _ = temporary.keep();
                    files::sync_dir(&dir)?;
                    return Ok(Plan { dir: target, job });
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty) =>
                {
                    if !again {
                        return Plan::open(&target);
                    }
                }
                Err(error) => return Err(BulkError::io("write", &dir)(error)),
            }
        }
        Err(BulkError::NotRunnable("the job has too many runs".to_owned()))
    }
}

/// The plans that were searched for.
pub(crate) struct Found {
    /// The readable ones, oldest first.
    pub(crate) plans: Vec<Plan>,
    /// A damaged plan or one of another version, which may be one of them.
    damaged: Option<String>,
}

impl Found {
    /// Returns the plans.
    ///
    /// # Errors
    /// [`BulkError::PlanChanged`] if there may be others.
    pub(crate) fn all(self) -> Result<Vec<Plan>> {
        let Some(why) = self.damaged else { return Ok(self.plans) };
        let advice = "it may be part of this job: restore the file or move its folder elsewhere";
        Err(BulkError::PlanChanged(format!("{why}; {advice}")))
    }
}

/// Searches the plans in a folder.
fn find_plans(dir: &Path, matches: impl Fn(&Plan) -> bool) -> Result<Found> {
    let mut found = Found { plans: Vec::new(), damaged: None };
    for entry in fs::read_dir(dir).map_err(BulkError::io("read", dir))?.flatten() {
        match Plan::read(&entry.path()) {
            Ok(plan) if matches(&plan) => found.plans.push(plan),
            Err(BulkError::PlanChanged(why)) => found.damaged = Some(why),
            // Another job or file, or a plan that is being written or removed.
            Ok(_) | Err(_) => {}
        }
    }
    found.plans.sort_by_key(|plan| plan.job.created);
    Ok(found)
}

/// Plans a job without earlier parts, or opens its plan.
#[cfg(test)]
pub(crate) fn plan(input: Input, message: &Message, options: &PlanOptions, dir: &Path) -> Result<Plan> {
    let draft = Draft::new(input, message, options, dir)?;
    match draft.find_existing()? {
        Some(plan) => Ok(plan),
        None => draft.write(&mut KnownRows::default(), options.changed)?.publish(Vec::new()),
    }
}

impl Plan {
    /// Opens a plan by its folder.
    ///
    /// # Errors
    /// [`BulkError::PlanChanged`] if the input changed or the plan is damaged, [`BulkError::Io`] if a file can't be read.
    pub fn open(dir: &Path) -> Result<Self> {
        let plan = Self::read(dir)?;
        plan.verify()?;
        Ok(plan)
    }

    /// Checks that the plan and its copy of the input are as they were written.
    pub(crate) fn verify(&self) -> Result<()> {
        index::verify(&self.dir, &self.job.index)?;
        self.rows()?;
        let source = self.source();
        if source.fingerprint()? == self.job.input.fingerprint {
            return Ok(());
        }
        Err(BulkError::PlanChanged(format!("the copy of the input {} is damaged", source.path.display())))
    }

    /// Reads a plan without checking its rows.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        Ok(Self { dir: dir.to_owned(), job: Job::read(dir)? })
    }

    /// Drafts another part with some rows of this plan.
    pub(crate) fn draft_part(&self, rows: Selection) -> Result<Draft> {
        let source = self.source();
        let mut input = Input::file(&source.path).format(source.format);
        input = source.delimiter.into_iter().fold(input, Input::delimiter);
        let options = PlanOptions {
            job: JobOptions {
                rows: Some(rows),
                name: self.job.name.clone(),
                limit: None,
                corrects: None,
                ..self.job.options.clone()
            },
            attachments: Some(source.folder),
            origin: self.job.origin.clone(),
            profile: self.job.profile.clone(),
            max_size: u64::MAX - 1,
            ..PlanOptions::default()
        };
        let mut draft = Draft::new(input, &self.job.message, &options, files::parent(&self.dir))?;
        source.name.clone_into(&mut draft.job.input.name);
        // None of the rows was on these lists. Without them, the job's next plan would seem to have different options.
        draft.job.options.suppressed.clone_from(&self.job.options.suppressed);
        draft.job.options.account_suppressions = self.job.options.account_suppressions;
        Ok(draft)
    }

    /// Returns the column or field that identifies rows.
    pub(crate) fn key(&self) -> Option<&str> {
        self.job.options.key.as_deref()
    }

    /// Visits all rows: number, kind, and key by this definition, unless the row has none.
    ///
    /// # Errors
    /// [`BulkError::Input`] if the input doesn't have that key.
    pub(crate) fn visit_rows(
        &self,
        key: Option<&str>,
        mut visit: impl FnMut(u64, BatchKind, Option<RowKey>) -> Result<()>,
    ) -> Result<()> {
        let options = JobOptions { key: key.map(str::to_owned), ..self.job.options.clone() };
        let context = self.context_for(&options)?;
        context.visit_rows(|record, row| {
            let key = RowKey::new(record, row.email.fields().to, &context.layout);
            visit(row.position.row, context.composer.kind(&row), key).map(|()| true)
        })
    }

    /// Searches the later parts of the plan's job.
    pub(crate) fn later_parts(&self) -> Result<Found> {
        find_plans(files::parent(&self.dir), |plan| plan.job.after.contains(&self.job.id))
    }

    /// Returns the job's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Keeps the ID of a plan whose folder is removed from being used again as long as the service may remember its idempotency keys.
    pub(crate) fn retire_id(&self) -> Result<()> {
        files::create_dir(&files::parent(&self.dir).join(format!("{DELETED}{}", self.job.id)))
    }

    /// Returns the job's ID: 12 hexadecimal digits that identify the input, message and options, followed by the run number.
    pub fn id(&self) -> &str {
        &self.job.id
    }

    /// Returns the job's name: the chosen one, or the name of its input. Rows from an application have none by default.
    pub fn name(&self) -> Option<&str> {
        self.job.name.as_deref()
    }

    /// Returns the IDs of the job's earlier parts, oldest first; each is a plan in the same folder as this one.
    pub fn earlier_parts(&self) -> &[String] {
        &self.job.after
    }

    /// Returns the folders of the job's earlier parts and of this one, oldest first. A missing folder was deleted by its owner.
    pub(crate) fn part_dirs(&self) -> impl Iterator<Item = PathBuf> {
        self.earlier_dirs().filter(|dir| dir.exists()).chain([self.dir.clone()])
    }

    /// Returns the folders of the job's earlier parts, oldest first, including those that were deleted.
    pub(crate) fn earlier_dirs(&self) -> impl DoubleEndedIterator<Item = PathBuf> {
        self.earlier_parts().iter().map(|id| self.dir.with_file_name(id))
    }

    /// Runs file operations on the plan off the async threads.
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let plan = Arc::clone(self);
        files::blocking(move || work(&plan)).await
    }

    /// Returns whether the plan retries rows of an earlier part.
    pub(crate) fn is_retry(&self) -> bool {
        self.job.options.rows.is_some()
    }

    /// Returns whether the plan has the corrected rows of an earlier part.
    pub(crate) fn is_correction(&self) -> bool {
        self.job.options.corrects.is_some()
    }

    /// Checks that a client's guard redirects emails only as the job does: otherwise rows would count as sent without reaching their recipients.
    pub(crate) fn check_redirection(&self, guard: &RecipientGuard) -> Result<()> {
        let planned = redirected(&self.job.options.guard, &RECIPIENT.into());
        let sent = redirected(guard, &planned);
        if sent == planned {
            return Ok(());
        }
        Err(BulkError::NotRunnable(format!(
            "job {} was planned without the redirection to {}; run it without, or plan a new job",
            self.id(),
            sent[0].as_str().unwrap_or_default()
        )))
    }

    /// Returns the base URL of the service that the plan was made for.
    pub fn origin(&self) -> &str {
        &self.job.origin
    }

    /// Returns the name of the profile that the plan was made with.
    pub fn profile(&self) -> Option<&str> {
        self.job.profile.as_deref()
    }

    /// Returns the time of planning, in RFC 3339 format.
    pub fn created_at(&self) -> String {
        self.job.created.to_string()
    }

    pub(crate) fn created(&self) -> Timestamp {
        self.job.created
    }

    #[cfg(test)]
    pub(crate) fn redate(&self, created: &str) {
        let mut job = Job::read(&self.dir).unwrap();
        job.created = created.parse().unwrap();
        job.write(&self.dir).unwrap();
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

    /// Returns the path of `invalid.csv`, which lists the invalid rows and their problems; `None` if all rows are valid.
    pub fn invalid_rows(&self) -> Option<PathBuf> {
        (self.job.counts.invalid > 0).then(|| self.dir.join(invalid_rows::NAME))
    }

    /// Returns the path of `skipped.csv`, which lists the skipped valid rows and the reasons; `None` if there are none.
    pub fn skipped_rows(&self) -> Option<PathBuf> {
        let Counts { repeated, skipped, suppressed, .. } = self.job.counts;
        (repeated + skipped + suppressed > 0).then(|| self.dir.join(SKIPPED))
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

    /// Sums the emails of the requests selected by `wanted`.
    pub(crate) fn count_emails(&self, wanted: impl Fn(u32) -> bool) -> Result<u64> {
        let mut emails = 0;
        self.visit_batches(|batch, _, _, count| emails += if wanted(batch) { u64::from(count) } else { 0 })?;
        Ok(emails)
    }

    /// Visits all requests: index, kind, first row, and number of emails.
    pub(crate) fn visit_batches(&self, mut visit: impl FnMut(u32, BatchKind, u64, u16)) -> Result<()> {
        index::visit(&self.dir, self.job.index.entries, |batch, entry| {
            visit(batch, entry.kind, entry.row, entry.count);
        })
    }

    /// Returns a function that reads a request's number of emails and body hash.
    pub(crate) fn requests(&self) -> Result<impl FnMut(u32) -> Result<(u16, BodyHash)>> {
        let mut index = index::Index::open(&self.dir, self.job.index.entries)?;
        Ok(move |batch| index.get(batch).map(|entry| (entry.count, entry.hash)))
    }

    /// Returns whether planning the same input again would prepare the same requests: no attachment has changed, or appeared where one was missing.
    pub(crate) fn is_current(&self) -> Result<bool> {
        if self.problems().iter().any(|problem| problem.column.as_deref() == Some("attachment")) {
            return Ok(false);
        }
        let mut preparer = self.preparer()?;
        for batch in 0..self.batches() {
            match preparer.prepare(batch) {
                Err(BulkError::PlanChanged(_)) => return Ok(false),
                result => drop(result?),
            }
        }
        Ok(true)
    }

    /// Creates a preparer with its own file handles.
    pub(crate) fn preparer(&self) -> Result<Preparer> {
        Preparer::new(self.context()?, &self.dir, self.job.index.entries)
    }

    fn source(&self) -> Source {
        let JobInput { name, format, delimiter, folder, .. } = &self.job.input;
        let (name, folder) = (name.clone(), folder.clone());
        Source { path: self.dir.join(Source::COPY), name, format: *format, delimiter: *delimiter, folder }
    }

    fn context(&self) -> Result<Context> {
        self.context_for(&self.job.options)
    }

    /// Returns a context that reads the plan's own rows with these options.
    fn context_for(&self, options: &JobOptions) -> Result<Context> {
        let mut context = Context::new(self.source(), &self.job.message, options)?;
        context.selection = Some(self.rows()?);
        Ok(context)
    }

    /// Reads the numbers of the rows to send.
    fn rows(&self) -> Result<Selection> {
        let path = self.dir.join(ROWS);
        parse_plan(&read_intact(&path, &self.job.index.rows)?, &path)
    }
}

#[cfg(test)]
mod tests;
