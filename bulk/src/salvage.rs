//! Recovers a job whose journal is damaged.
//!
//! The new journal contains every readable record. If a result's intent is lost, it is recreated from the plan. What remains are the batches that the
//! lost records may have concerned.
//!
//! # Why nothing is sent twice
//!
//! A batch that may have been started never becomes fresh again. A fresh batch with a lost intent can be any batch without a readable record, within
//! a bound:
//!
//! - A run starts the batches that were fresh at its beginning in order, at most [`MAX_CONCURRENCY`] at a time, and only these get an intent. So when
//!   batch *k* has an intent, fewer than that many batches before *k* may still get their first one. If that many different batches have an intent
//!   after the lost range, one of them is behind *k*: all lost intents concern batches before the last of these.
//! - A range that was changed in place contained a limited number of intents, so *k* is among that many fresh batches, plus the batches that were
//!   waiting at the same time.
//!
//! Without a bound, it can be any fresh batch, and all of them become unknown: repeating the whole rest of a job immediately would ignore its
//! schedule. Within a bound, each gets an intent with the newest time before the lost range, so that its key seems older than it is; resuming then
//! repeats it or gives it up, as after a crash. If a lost record may have split a batch or sent more of its emails, or rejected rows that another part
//! of the job has sent since, a repetition isn't safe: the batch becomes unknown, and so does every batch whose time of the first attempt is lost.
//!
//! A distributed job's journal is a copy of the queue's ledger, which the coordinator reads from the start. Such batches therefore become fresh
//! there, and their outcomes come from the ledger. If the ledger is lost too, they count as attempted long ago.

use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::{
    counts::Counts,
    error::{BulkError, Result},
    files, folder,
    journal::{
        BodyHash, FileStorage, Job, Record, UnixMillis,
        damage::{self, Lost, Piece},
    },
    lock::{self, JobLock},
    parts,
    plan::Plan,
    report,
    run::MAX_CONCURRENCY,
    state::{BatchState, BatchStates},
};

const REASON: &str = "the journal was damaged, and the outcome is lost";

/// How [`Job::salvage`](crate::Job::salvage) treats a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SalvageOptions {
    truncated: bool,
    dry_run: bool,
}

impl SalvageOptions {
    setters! {
        /// Also salvages a readable journal, assuming that records are missing at its end: in an old copy, in a truncated file, or if the last records
        /// were damaged, which looks like an interrupted write. Any batch without an outcome may then have been started.
        assume_truncated = true => truncated;
        /// Changes no files.
        dry_run = true;
    }
}

/// What was salvaged from the journal of a job or of one of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvage {
    /// The ID of the job or part.
    pub job: String,
    /// The number of records kept.
    pub records: u64,
    /// The unreadable ranges of the journal: offset and length, in bytes.
    pub lost: Vec<(u64, u64)>,
    /// This part's rows by outcome.
    pub counts: Counts,
    /// The remaining rows that may have been sent. Resuming repeats them under their keys; if a key has expired, the row becomes unknown.
    pub in_flight: u64,
    /// The renamed damaged journal; `None` if nothing was changed.
    pub damaged: Option<PathBuf>,
}

/// Salvages the damaged journals of a job and its earlier parts. Blocks.
pub(crate) fn salvage(plan: &Plan, options: SalvageOptions) -> Result<Vec<Salvage>> {
    let dirs: Vec<_> = plan.part_dirs().collect();
    let salvaged = dirs.iter().filter_map(|dir| {
        let part = Plan::open(dir);
        part.and_then(|part| salvage_part(&part, options)).transpose()
    });
    let salvaged = salvaged.collect::<Result<Vec<_>>>()?;
    if !options.dry_run && !salvaged.is_empty() {
        // They contain the damaged journal's counts and rows.
        for dir in &dirs {
            files::remove(&dir.join(folder::REPORT))?;
            let part = Plan::read(dir)?;
            report::write_lists(&part, &parts::totals(&part)?.counts)?;
        }
    }
    Ok(salvaged)
}

fn salvage_part(plan: &Plan, options: SalvageOptions) -> Result<Option<Salvage>> {
    let _lock = if options.dry_run {
        lock::check_free(plan.dir())?;
        None
    } else {
        Some(JobLock::acquire(plan.dir())?)
    };
    let path = plan.dir().join(folder::JOURNAL);
    let mut states = BatchStates::new(plan.batches());
    let mut is_truncated = options.truncated;
    match folder::read_journal(plan.dir(), |record| states.apply(&record)) {
        Ok(()) if options.truncated && path.exists() => {}
        Ok(()) => return Ok(None),
        Err(BulkError::JournalDamaged { .. }) => {}
        Err(BulkError::JournalMissing { .. }) => is_truncated = true,
        Err(error) => return Err(error),
    }
    let mut salvager = Salvager::new(plan, plan.requests()?, has_retries(plan)?);
    let damaged = if path.exists() { files::read(&path)? } else { Vec::new() };
    damage::read(&damaged, |piece| match piece {
        Piece::Record(record) => salvager.record(&record),
        Piece::Lost(lost) => {
            salvager.record_loss(lost);
            Ok(())
        }
    })?;
    salvager.finish(is_truncated)?;
    let Salvager { states, journal, records, lost, .. } = salvager;
    let (in_flight, counts) = (states.in_flight(plan)?, states.counts(plan)?);
    let damaged = if options.dry_run {
        None
    } else {
        folder::forget_seen_intents(plan.dir())?;
        // Creates a missing one.
        FileStorage::open(&path)?;
        Some(replace(&path, &journal)?)
    };
    Ok(Some(Salvage { job: plan.id().to_owned(), records, lost, counts, in_flight, damaged }))
}

/// Returns whether a later part has sent rows of this one again.
fn has_retries(plan: &Plan) -> Result<bool> {
    Ok(plan.later_parts()?.plans.iter().any(|later| later.counts().retried() > 0))
}

/// Replaces the journal. The damaged one is kept beside it under the returned name; a journal exists at every moment.
fn replace(path: &Path, journal: &[u8]) -> Result<PathBuf> {
    for n in 1.. {
        let kept = path.with_file_name(format!("{}.damaged-{n}", folder::JOURNAL));
        if kept.exists() {
            continue;
        }
        // Not every file system supports hard links.
        let linked = fs::hard_link(path, &kept).or_else(|error| match error.kind() {
            ErrorKind::AlreadyExists => Err(error),
            _ => fs::copy(path, &kept).and_then(|_| fs::File::open(&kept)?.sync_all()),
        });
        linked.map_err(BulkError::io("write", &kept))?;
        files::replace(path, journal)?;
        return Ok(kept);
    }
    Err(BulkError::NotRunnable("the job has too many damaged journals".to_owned()))
}

/// Builds the new journal.
struct Salvager<'a, F> {
    plan: &'a Plan,
    request: F,
    /// Whether another part has sent rows of this one again.
    has_retries: bool,
    states: BatchStates,
    journal: Vec<u8>,
    records: u64,
    lost: Vec<(u64, u64)>,
    /// When the first process started; `None` if its record is lost.
    started: Option<UnixMillis>,
    newest: Option<UnixMillis>,
    /// No lost intent is older than this; `None` if even the records before the lost ones are missing.
    since: Option<UnixMillis>,
    /// Whether records are lost.
    is_lossy: bool,
    /// The maximum number of lost intents that haven't been restored; `None` for any number.
    intents: Option<u64>,
    /// Whether lost records may have split or rejected a batch, so that it can't be repeated.
    outcomes: bool,
    /// The open batches that lost records may have split or rejected.
    doubtful: BTreeSet<u32>,
    /// The batches with an intent since the last lost range, while there are too few to bound it.
    recent: Option<BTreeSet<u32>>,
    /// Lost intents of earlier ranges concern batches below this one.
    limit: u32,
}

impl<'a, F: FnMut(u32) -> Result<(u16, BodyHash)>> Salvager<'a, F> {
    fn new(plan: &'a Plan, request: F, has_retries: bool) -> Self {
        Self {
            plan,
            request,
            has_retries,
            states: BatchStates::new(plan.batches()),
            journal: Vec::new(),
            records: 0,
            lost: Vec::new(),
            started: None,
            newest: None,
            since: None,
            is_lossy: false,
            intents: Some(0),
            outcomes: false,
            doubtful: BTreeSet::new(),
            recent: None,
            limit: 0,
        }
    }

    fn record_loss(&mut self, Lost { offset, bytes, intents, splits }: Lost) {
        self.lost.push((offset, bytes));
        self.lose_records(intents, splits);
    }

    fn lose_records(&mut self, intents: Option<u64>, splits: bool) {
        if !std::mem::replace(&mut self.is_lossy, true) {
            self.since = self.newest;
        }
        self.intents = self.intents.zip(intents).map(|(before, more)| before + more);
        if splits || self.has_retries {
            self.outcomes = true;
            self.doubtful.extend(self.states.maybe());
        }
        if intents != Some(0) {
            self.recent = Some(BTreeSet::new());
        }
    }

    /// Handles contradicting records: bytes are missing somewhere before them.
    fn lose_unseen(&mut self) {
        self.lose_records(None, true);
        self.since = self.started;
    }

    /// Adds a readable record.
    fn record(&mut self, record: &Record) -> Result<()> {
        match record {
            Record::Job(job) => {
                if *job.id != *self.plan.id() {
                    let message = format!("the journal belongs to job {}, not {}", job.id, self.plan.id());
                    return Err(BulkError::PlanChanged(message));
                }
                if !self.is_lossy {
                    self.started.get_or_insert(job.started);
                }
                self.newest = self.newest.max(Some(job.started));
            }
            // Another one is added if it still applies.
            Record::Finished(_) => return Ok(()),
            _ => self.begin()?,
        }
        let batch = record.batch();
        let before = batch.map(|batch| self.state(batch)).transpose()?;
        match (record, batch, before) {
            (Record::Intent { at, .. }, Some(batch), _) => {
                self.doubtful.remove(&batch);
                self.newest = self.newest.max(Some(*at));
                self.bound_lost_intents(batch);
            }
            (Record::NotSent { .. }, Some(batch), _) => {
                self.doubtful.remove(&batch);
            }
            (_, Some(batch), Some(BatchState::Fresh)) => {
                self.restore_intent(batch)?;
                if self.since.is_none() && record.settles().is_none() {
                    return self.give_up(batch);
                }
            }
            _ => {}
        }
        if self.add(record)? {
            self.records += 1;
            return Ok(());
        }
        self.lose_unseen();
        batch.map_or(Ok(()), |batch| self.give_up(batch))
    }

    /// Makes sure that the journal starts with a job record.
    fn begin(&mut self) -> Result<()> {
        if self.states.job().is_none() {
            if !self.is_lossy {
                self.lose_unseen();
            }
            let started = self.since.unwrap_or_default();
            self.add(&Record::Job(Job { id: self.plan.id().into(), started }))?;
        }
        Ok(())
    }

    /// Uses a readable intent to bound the lost ones.
    fn bound_lost_intents(&mut self, batch: u32) {
        let Some(recent) = &mut self.recent else { return };
        recent.insert(batch);
        if recent.len() >= MAX_CONCURRENCY {
            self.limit = self.limit.max(recent.last().copied().unwrap_or_default());
            self.recent = None;
        }
    }

    /// Adds the intent of a batch whose other records are readable.
    fn restore_intent(&mut self, batch: u32) -> Result<()> {
        match &mut self.intents {
            Some(0) => self.lose_unseen(),
            Some(intents) => *intents -= 1,
            None => {}
        }
        self.add_intent(batch).map(drop)
    }

    /// Adds an intent as planned, and returns its number of emails.
    fn add_intent(&mut self, batch: u32) -> Result<u16> {
        let (emails, hash) = (self.request)(batch)?;
        // Without a bound, the batch has or gets an outcome, and the time is only displayed.
        let planned = || UnixMillis(self.plan.created().as_millisecond().try_into().unwrap_or(0));
        let at = self.since.unwrap_or_else(planned);
        self.add(&Record::Intent { batch, emails, at, hash })?;
        Ok(emails)
    }

    /// Marks a batch that may have been sent as unknown.
    fn give_up(&mut self, batch: u32) -> Result<()> {
        self.add(&Record::Unknown { batch, reason: REASON.into() }).map(drop)
    }

    /// Adds a record, unless it contradicts earlier ones. Returns whether it was added.
    fn add(&mut self, record: &Record) -> Result<bool> {
        if self.states.apply(record).is_err() {
            return Ok(false);
        }
        damage::write(&mut self.journal, record).map(|()| true)
    }

    fn state(&self, batch: u32) -> Result<BatchState> {
        let missing =
            || BulkError::PlanChanged(format!("the journal contains batch {batch}, which isn't in the plan"));
        self.states.state(batch).ok_or_else(missing)
    }

    /// Gives up the batches that lost records may have concerned, or makes them open.
    fn finish(&mut self, truncated: bool) -> Result<()> {
        if truncated {
            self.lose_records(None, true);
        }
        self.begin()?;
        if folder::is_distributed(self.plan.dir()) {
            for batch in std::mem::take(&mut self.doubtful) {
                self.add(&Record::NotSent { batch })?;
            }
            return Ok(());
        }
        let unbounded = match (&self.recent, self.intents) {
            // Every lost intent was restored.
            (_, Some(0)) | (None, _) => 0,
            (Some(_), Some(intents)) => {
                usize::try_from(intents).unwrap_or(usize::MAX).saturating_add(MAX_CONCURRENCY - 1)
            }
            (Some(_), None) => usize::MAX,
        };
        let limit = if self.intents == Some(0) { 0 } else { self.limit };
        let lost =
            self.states.unsent_batches().enumerate().filter(|(n, batch)| *n < unbounded || *batch < limit);
        for batch in lost.map(|(_, batch)| batch).collect::<Vec<_>>() {
            let emails = self.add_intent(batch)?;
            if self.since.is_none() || unbounded == usize::MAX || self.is_final(emails) {
                self.give_up(batch)?;
            }
        }
        let split = self.states.maybe().filter(|batch| self.states.is_split(*batch));
        for batch in split.collect::<Vec<_>>() {
            self.give_up(batch)?;
        }
        for batch in std::mem::take(&mut self.doubtful) {
            let emails = self.states.situation(batch, UnixMillis(0)).emails;
            if self.states.is_open(batch) && self.is_final(emails) {
                self.give_up(batch)?;
            }
        }
        Ok(())
    }

    /// Returns whether a batch with this many emails can't be repeated after outcomes were lost.
    fn is_final(&self, emails: u16) -> bool {
        self.outcomes && (emails > 1 || self.has_retries)
    }
}
