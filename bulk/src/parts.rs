//! The parts of a job: plans under one name, created as the input grew or changed.
//!
//! # Why a row is delivered only once even if its input changes
//!
//! A part owns its rows: it has a copy of them and delivers each at most once, whatever happens to the input. A later part only includes rows that no
//! earlier part [holds](Held::Taken): rows with new keys, rows that the service rejected in an earlier part, and rows that a canceled part didn't
//! send and never will. A retry also includes rows of unknown outcome, deliberately. A plan that was never started holds nothing; the job's next plan,
//! new or reopened, replaces it. Planning holds a lock, so no two parts can include the same rows, and a part can only start while its folder exists.
//!
//! A row's outcome is the one in the last part that includes it.
//!
//! Pausing or canceling any part applies to the whole job, so a later part never runs without the earlier ones that it relies on.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};

use crate::{
    counts::Counts,
    differences::Differences,
    error::{BulkError, Result},
    files, folder,
    input::Input,
    journal::{EmailOutcome, FileStorage, Record},
    lock::{self, JobLock},
    message::Message,
    plan::{
        BatchKind, ChangedRows, DESCRIPTION, Draft, EarlierRows, Held, KnownRows, Plan, PlanOptions, RowKey,
        Selection,
    },
    schedule,
    state::{BatchState, BatchStates},
};

/// Which rows a new part of the job sends again, under new idempotency keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// The rows that the service rejected.
    Rejected,
    /// The rows of unknown outcome. Rows that had in fact been sent are then delivered twice.
    Unknown,
}

/// The lock held while planning a job in a folder.
const LOCK: &str = ".planning.lock";

/// An earlier part, or a plan that may become one.
struct Part {
    plan: Plan,
    states: BatchStates,
    outcomes: HashMap<u32, Vec<EmailOutcome>>,
    /// Whether its unsent rows will never be sent.
    canceled: bool,
    /// Whether a process is running it.
    held: bool,
    started: bool,
}

impl Part {
    fn read(plan: Plan) -> Result<Self> {
        let dir = plan.dir();
        let distributed = folder::is_distributed(dir);
        let canceled = folder::is_abandoned(dir);
        let held = lock::is_held(dir)?;
        let (mut states, mut outcomes) = (BatchStates::new(plan.batches()), HashMap::new());
        let mut keep = |record: &Record| {
            if let Record::Partial { batch, emails } = record {
                outcomes.entry(*batch).or_insert_with(|| emails.clone());
            }
        };
        folder::read_journal(dir, |record| {
            keep(&record);
            states.apply(&record)
        })?;
        if canceled && !held {
            states.abandon()?.iter().for_each(keep);
        }
        let started = held || distributed || canceled || dir.join(folder::JOURNAL).exists();
        Ok(Self { plan, states, outcomes, canceled, held, started })
    }

    /// Returns whether the part holds an email of a batch, and why not.
    fn email_state(&self, batch: u32, email: usize) -> Held {
        match self.states.state(batch) {
            Some(BatchState::Fresh | BatchState::Maybe { .. }) if !self.canceled => Held::Pending,
            Some(BatchState::Fresh) => Held::Unsent,
            Some(BatchState::Rejected) => Held::Rejected,
            // A request in flight of a canceled part isn't repeated.
            Some(BatchState::Unknown | BatchState::Maybe { .. }) => Held::Unknown,
            Some(BatchState::Partial) => match self.outcomes.get(&batch).and_then(|emails| emails.get(email))
            {
                Some(EmailOutcome::Rejected(_)) => Held::Rejected,
                Some(EmailOutcome::Unknown) => Held::Unknown,
                Some(EmailOutcome::Unsent) => Held::Unsent,
                _ => Held::Taken,
            },
            _ => Held::Taken,
        }
    }

    /// Visits all rows: number, key by this definition, unless the row has none, and state.
    fn visit_rows(
        &self,
        key: Option<&str>,
        mut visit: impl FnMut(u64, Option<RowKey>, Held) -> Result<()>,
    ) -> Result<()> {
        // The rows of batches are in order, and so are single emails.
        let (mut batches, mut singles) = (Vec::new(), Vec::new());
        self.plan.visit_batches(|batch, kind, _, count| match kind {
            BatchKind::Batch => batches.push((batch, usize::from(count))),
            BatchKind::Single => singles.push(batch),
        })?;
        let (mut batches, mut singles) = (batches.into_iter(), singles.into_iter());
        let (mut open, mut email) = (None, 0);
        self.plan.visit_rows(key, |row, kind, key| {
            let held = match kind {
                BatchKind::Single => singles.next().map(|batch| self.email_state(batch, 0)),
                BatchKind::Batch => {
                    if open.is_none_or(|(_, count)| email == count) {
                        (open, email) = (batches.next(), 0);
                    }
                    email += 1;
                    open.map(|(batch, _)| self.email_state(batch, email - 1))
                }
            };
            visit(row, key, held.unwrap_or(Held::Taken))
        })
    }

    /// Returns the rejected and unknown rows that a later part includes.
    fn retried_rows(&self, later: &[Self]) -> Result<Selection> {
        let mut rows = Vec::new();
        let Counts { rejected, unknown, .. } = self.counts()?;
        if rejected + unknown == 0 {
            return Ok(Selection::default());
        }
        // By their definition of keys, since each needs a pass over this part's rows.
        let mut retries = BTreeMap::<_, EarlierRows>::new();
        for part in later.iter().filter(|part| part.plan.counts().retried() > 0) {
            let key = part.plan.key();
            let new = || EarlierRows::new(files::parent(part.plan.dir()));
            let included = retries.entry(key).or_insert_with(new);
            part.visit_rows(key, |_, identity, held| match identity {
                Some(identity) if !part.releases(held) => included.add(identity, held),
                _ => Ok(()),
            })?;
        }
        for (key, included) in retries {
            let mut included = included.finish()?;
            self.visit_rows(key, |row, key, held| {
                let is_open = matches!(held, Held::Rejected | Held::Unknown);
                if let Some(key) = key.filter(|_| is_open)
                    && included.find(&key.identity)?.is_some()
                {
                    rows.push(row);
                }
                Ok(())
            })?;
        }
        Ok(Selection::new(rows))
    }

    /// Returns whether rows in this state keep the outcome of the earlier part: a canceled retry hasn't sent them.
    fn releases(&self, held: Held) -> bool {
        held == Held::Unsent && self.plan.is_retry()
    }

    fn counts(&self) -> Result<Counts> {
        let mut counts = self.states.counts(&self.plan)?;
        if self.canceled && self.releases(Held::Unsent) {
            let unsent = counts.remaining - self.states.in_flight(&self.plan)?;
            let is_rejected = self.plan.counts().retried_rejected > 0;
            *if is_rejected { &mut counts.rejected } else { &mut counts.unknown } += unsent;
            counts.remaining -= unsent;
        }
        Ok(counts)
    }

    fn is_complete(&self) -> bool {
        self.states.is_complete()
    }

    /// Returns whether it still has rows to send.
    fn is_open(&self) -> bool {
        !self.canceled && !self.is_complete()
    }
}

/// Plans a job, or opens its plan. Blocks.
///
/// # Errors
/// [`BulkError::Differs`] if a job of the same name has different rows or another message, and the options don't say what to do;
/// [`BulkError::BeyondLimit`] if the job has unsent rows that the plan's limit excludes.
pub(crate) fn plan(input: Input, message: &Message, options: &PlanOptions, dir: &Path) -> Result<Plan> {
    let mut draft = Draft::new(input, message, options, dir)?;
    let _lock = files::lock(&dir.join(LOCK))?;
    let changed = options.changed;
    let parts = match (draft.find_existing()?, &options.job.corrects) {
        (Some(plan), _) => {
            let parts = all_parts(&plan)?;
            check_service(&draft, &parts)?;
            let is_released = options.add && folder::is_canceled(plan.dir());
            let is_elsewhere = draft.check_service(&plan).is_err();
            let is_unstarted = parts.iter().any(|part| !part.started && part.plan.id() == plan.id());
            let is_outdated = is_unstarted && !plan.is_current()?;
            if !is_released && !is_elsewhere && !is_outdated && !has_later_part(&parts, &plan, options) {
                return remove_unstarted(&parts, plan);
            }
            parts
        }
        (None, Some(id)) => {
            let plan = Plan::read(&dir.join(id))?;
            let parts = all_parts(&plan)?;
            if !parts.iter().any(|part| part.started && part.plan.id() == id) {
                return Err(BulkError::NotStarted { job: id.clone() });
            }
            parts
        }
        // Without a name, a new run is a separate job.
        (None, None) if options.again && draft.name().is_none() => Vec::new(),
        (None, None) => draft.latest()?.map(with_earlier).transpose()?.unwrap_or_default(),
    };
    if let Some(part) = parts.last() {
        draft.follow(&part.plan);
    }
    let (parts, unstarted): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.started);
    let fields = parts.last().map(|part| draft.differences(&part.plan)).unwrap_or_default();
    let unfinished = parts.iter().any(|part| !part.is_complete());
    // A different message makes a different mailing; different options for the same message don't.
    let is_same_mailing = parts.last().is_some_and(|part| draft.has_message_of(&part.plan));
    let is_another = options.again || parts.is_empty() || !(options.add || unfinished || is_same_mailing);
    if is_another {
        let plan = draft.write(&mut KnownRows::default(), changed)?.publish(Vec::new())?;
        return remove_unstarted(&unstarted, plan);
    }
    check_service(&draft, &parts)?;
    // A trial of the first rows is the first part of the whole job.
    let is_limited = fields.is_empty() && parts.iter().all(|part| draft.has_input_of(&part.plan));
    if options.add || unfinished || is_limited {
        keep_schedule(&mut draft, &parts)?;
    }
    let mut known = known_rows(&parts, &draft, false)?;
    let latest = parts.last().map(|part| part.plan.id().to_owned()).unwrap_or_default();
    let name = draft.name().unwrap_or(&latest).to_owned();
    let written = draft.write(&mut known, changed)?;
    let counts = written.counts();
    let is_canceled = parts.last().is_some_and(|part| part.canceled);
    let is_separate = !unfinished && counts.known + written.changed == 0;
    let needs_choice = if options.add {
        written.changed > 0 && changed == ChangedRows::Reject
    } else {
        let has_new_rows = counts.valid + counts.invalid + counts.suppressed + counts.skipped > 0;
        let is_same = fields.is_empty() && !has_new_rows && known.missing_count() == 0 && !is_canceled;
        !is_separate && !is_limited && !is_same
    };
    if needs_choice {
        let open = parts.iter().filter(|part| part.is_open());
        let remaining = open.map(|part| part.counts().map(|counts| counts.remaining)).sum::<Result<_>>()?;
        return Err(BulkError::Differs(Box::new(Differences {
            name,
            job: latest,
            remaining,
            fields,
            known: counts.known,
            new: counts.valid + counts.skipped,
            changed: written.changed,
            first_changed: written.first_changed,
            missing: known.missing_count(),
        })));
    }
    if let (Some(limit), 1..) = (options.job.limit, known.pending()) {
        return Err(BulkError::BeyondLimit { job: latest, rows: known.pending(), limit });
    }
    if counts.valid + counts.invalid + counts.suppressed == 0 && !is_canceled {
        return remove_unstarted(&unstarted, Plan::open(&dir.join(latest))?);
    }
    let separate = is_separate && !options.add;
    let after =
        if separate { Vec::new() } else { parts.iter().map(|part| part.plan.id().to_owned()).collect() };
    remove_unstarted(&unstarted, written.publish(after)?)
}

/// Returns the rows that the parts hold, by the draft's definition of keys.
fn known_rows(parts: &[Part], draft: &Draft, with_unknown: bool) -> Result<KnownRows> {
    let mut known = EarlierRows::new(draft.dir());
    for (n, part) in parts.iter().enumerate() {
        check_stopped(&part.plan, part.canceled && part.held)?;
        part.plan.verify()?;
        let retried = part.retried_rows(&parts[n + 1..])?;
        part.visit_rows(draft.key(), |row, key, held| match (key, held) {
            (Some(_), _) if retried.contains(row) => Ok(()),
            (Some(key), Held::Unknown) if !with_unknown => known.add(key, Held::Taken),
            (Some(key), held) => known.add(key, held),
            (None, _) => Ok(()),
        })?;
    }
    known.finish()
}

/// Makes the requests of a new part as small as the schedule that the job keeps requires.
fn keep_schedule(draft: &mut Draft, parts: &[Part]) -> Result<()> {
    let kept = parts.last().map(|part| schedule::load(&part.plan)).transpose()?.flatten();
    if let Some(cap) = kept.and_then(|schedule| schedule.smallest_cap()) {
        draft.limit_requests(cap);
    }
    Ok(())
}

/// Checks that no process still finishes the requests in flight of a canceled part.
fn check_stopped(part: &Plan, is_finishing: bool) -> Result<()> {
    if !is_finishing {
        return Ok(());
    }
    let message = format!("job {} was canceled but is still running; wait until it has stopped", part.id());
    Err(BulkError::NotRunnable(message))
}

/// Plans parts with the rejected or unknown rows of a plan's job: one for each part that contains such rows, with its message. Returns the last one,
/// which runs the others first, or an unfinished part with such rows; `None` if no row is left. Blocks.
pub(crate) fn retry(of: &Plan, retry: Retry) -> Result<Option<Plan>> {
    let unknown = retry == Retry::Unknown;
    let _lock = files::lock(&files::parent(of.dir()).join(LOCK))?;
    let (mut parts, mut unstarted): (Vec<_>, Vec<_>) =
        all_parts(of)?.into_iter().partition(|part| part.started);
    let is_retried = |plan: &Plan| {
        let counts = plan.counts();
        if unknown { counts.retried_unknown > 0 } else { counts.retried_rejected > 0 }
    };
    if let Some(open) = parts.iter().rfind(|part| part.is_open() && is_retried(&part.plan)) {
        return Plan::open(open.plan.dir()).map(Some);
    }
    let wanted = if unknown { Held::Unknown } else { Held::Rejected };
    let mut last = None;
    // A row's newest version is retried.
    for n in (0..parts.len()).rev() {
        let part = &parts[n];
        let retried = part.retried_rows(&parts[n + 1..])?;
        let mut rows = Vec::new();
        part.visit_rows(part.plan.key(), |row, _, held| {
            if held == wanted && !retried.contains(row) {
                rows.push(row);
            }
            Ok(())
        })?;
        if rows.is_empty() {
            continue;
        }
        let mut draft = part.plan.draft_part(Selection::new(rows))?;
        for part in &parts {
            draft.follow(&part.plan);
            draft.suppress_as(&part.plan)?;
        }
        keep_schedule(&mut draft, &parts)?;
        let mut known = known_rows(&parts, &draft, unknown)?;
        let written = draft.write(&mut known, ChangedRows::Send)?;
        if written.counts().valid == 0 {
            continue;
        }
        let plan = written.publish(parts.iter().map(|part| part.plan.id().to_owned()).collect())?;
        let plan = remove_unstarted(&std::mem::take(&mut unstarted), plan)?;
        parts.push(Part::read(Plan::read(plan.dir())?)?);
        last = Some(plan);
    }
    Ok(last)
}

/// Removes a plan, and those that it runs first, unless they were started. Blocks.
pub(crate) fn discard(plan: &Plan) -> Result<()> {
    let _lock = files::lock(&files::parent(plan.dir()).join(LOCK))?;
    for part in with_earlier(Plan::read(plan.dir())?)?.iter().filter(|part| !part.started) {
        remove(&part.plan)?;
    }
    Ok(())
}

/// A part of a job, for the outcomes of its rows.
pub(crate) struct PartRows {
    pub(crate) plan: Plan,
    /// The rows whose outcome is that in a later part.
    pub(crate) retried: Selection,
    /// Whether its requests in flight are never repeated.
    pub(crate) canceled: bool,
    /// Whether a process is running it.
    pub(crate) held: bool,
}

impl PartRows {
    /// Checks that no process still finishes the requests in flight of the canceled part.
    pub(crate) fn check_stopped(&self) -> Result<()> {
        check_stopped(&self.plan, self.canceled && self.held)
    }
}

/// Returns the parts that a plan's counts include, oldest first.
pub(crate) fn with_rows(plan: &Plan) -> Result<Vec<PartRows>> {
    let parts = with_earlier(Plan::read(plan.dir())?)?;
    let retried =
        (1..=parts.len()).map(|n| parts[n - 1].retried_rows(&parts[n..])).collect::<Result<Vec<_>>>()?;
    let rows = parts.into_iter().zip(retried);
    let rows =
        rows.map(|(Part { plan, canceled, held, .. }, retried)| PartRows { plan, retried, canceled, held });
    Ok(rows.collect())
}

/// Returns whether a part after this plan of the same input is unfinished: running the plan alone would send none of that part's rows. With a limit,
/// the plan's own rows are enough, and a retry is continued only when rows are added.
fn has_later_part(parts: &[Part], plan: &Plan, options: &PlanOptions) -> bool {
    let mut later = parts.iter().skip_while(|part| part.plan.id() != plan.id()).skip(1);
    let is_wanted = |part: &Part| options.add || !part.plan.is_retry() && !part.plan.is_correction();
    options.job.limit.is_none() && later.any(|part| part.started && part.is_open() && is_wanted(part))
}

/// Checks that the started parts of a job are for the draft's service: its requests under another base URL would be new ones.
fn check_service(draft: &Draft, parts: &[Part]) -> Result<()> {
    let mut started = parts.iter().filter(|part| part.started);
    Ok(started.try_for_each(|part| draft.check_service(&part.plan))?)
}

/// Reads all parts of a plan's job, oldest first.
fn all_parts(plan: &Plan) -> Result<Vec<Part>> {
    let latest = plan.later_parts()?.all()?.pop();
    with_earlier(latest.map_or_else(|| Plan::read(plan.dir()), Ok)?)
}

/// Reads a plan and its earlier parts, oldest first.
fn with_earlier(plan: Plan) -> Result<Vec<Part>> {
    let mut parts = earlier_parts(&plan)?;
    parts.push(Part::read(plan)?);
    Ok(parts)
}

/// Reads the parts before a plan.
fn earlier_parts(plan: &Plan) -> Result<Vec<Part>> {
    let earlier = plan.part_dirs().filter(|dir| dir != plan.dir());
    earlier.map(|dir| Part::read(Plan::read(&dir)?)).collect()
}

/// Removes the plans that were never started, which this one replaces.
fn remove_unstarted(parts: &[Part], plan: Plan) -> Result<Plan> {
    let is_own = |id: &str| plan.id() == id || plan.earlier_parts().iter().any(|earlier| earlier == id);
    for part in parts.iter().filter(|part| !part.started && !is_own(part.plan.id())) {
        remove(&part.plan)?;
    }
    Ok(plan)
}

/// Removes the folder of a plan that isn't running.
pub(crate) fn remove(plan: &Plan) -> Result<()> {
    remove_locked(plan, JobLock::acquire(plan.dir())?)
}

fn remove_locked(plan: &Plan, lock: JobLock) -> Result<()> {
    let dir = plan.dir();
    // Without its description, the folder no longer counts as a job, even if the removal is interrupted.
    files::remove(&dir.join(DESCRIPTION))?;
    drop(lock);
    fs::remove_dir_all(dir).map_err(BulkError::io("remove", dir))
}

/// Removes the folders of a plan and its earlier parts.
///
/// # Errors
/// A process is running one of them, workers send it, or the plan has later parts, which would send its rows again. Nothing is removed then.
pub(crate) fn delete(plan: &Plan) -> Result<()> {
    let parts = plan.part_dirs().map(|dir| Plan::read(&dir)).collect::<Result<Vec<_>>>()?;
    for part in parts.iter().filter(|part| folder::is_distributed(part.dir())) {
        if !Part::read(Plan::read(part.dir())?)?.is_complete() {
            let message = format!("workers are sending job {}; finish or cancel it first", part.id());
            return Err(BulkError::NotRunnable(message));
        }
    }
    if let Some(latest) = plan.later_parts()?.plans.last() {
        let message = format!("job {} has later parts; delete job {} instead", plan.id(), latest.id());
        return Err(BulkError::NotRunnable(message));
    }
    let locks = parts.iter().map(|part| JobLock::acquire(part.dir())).collect::<Result<Vec<_>>>()?;
    parts.iter().zip(locks).try_for_each(|(part, lock)| {
        part.retire_id()?;
        remove_locked(part, lock)
    })
}

/// Marks a plan and the earlier parts that still have rows to send as started, so that no later plan replaces them. Returns these parts.
///
/// # Errors
/// Another plan has replaced it, or workers send one of them.
pub(crate) fn mark_started(plan: &Plan) -> Result<Vec<Plan>> {
    let _lock = files::lock(&files::parent(plan.dir()).join(LOCK))?;
    folder::check_exists(plan)?;
    let unfinished = unfinished_parts(plan)?;
    if let Some(part) = unfinished.iter().chain([plan]).find(|part| folder::is_distributed(part.dir())) {
        return Err(BulkError::NotRunnable(format!(
            "job {} is distributed over a queue; resume it with `--queue`",
            part.id()
        )));
    }
    for part in unfinished.iter().chain([plan]) {
        FileStorage::open(&part.dir().join(folder::JOURNAL))?;
    }
    Ok(unfinished)
}

/// Returns the earlier parts that still have rows to send.
pub(crate) fn unfinished_parts(plan: &Plan) -> Result<Vec<Plan>> {
    Ok(earlier_parts(plan)?.into_iter().filter(Part::is_open).map(|part| part.plan).collect())
}

/// Returns the other parts of a plan's job that still have rows to send, including plans that were never started. A damaged plan can't be run.
pub(crate) fn other_open_parts(plan: &Plan) -> Result<Vec<Plan>> {
    let later = plan.later_parts()?.plans.into_iter().map(Part::read).collect::<Result<Vec<_>>>()?;
    let parts = earlier_parts(plan)?.into_iter().chain(later).filter(Part::is_open);
    Ok(parts.map(|part| part.plan).collect())
}

/// The progress of a job in all of its parts.
pub(crate) struct Totals {
    pub(crate) counts: Counts,
    pub(crate) in_flight: u64,
    /// Whether a process is running a part.
    pub(crate) running: bool,
    /// Whether every row has an outcome.
    pub(crate) complete: bool,
    pub(crate) started: bool,
}

impl Totals {
    /// Returns whether no request of the job may have been sent.
    pub(crate) fn is_unsent(&self) -> bool {
        let Counts { sent, rejected, unknown, .. } = self.counts;
        sent + rejected + unknown + self.in_flight == 0
    }
}

/// Sums the progress of a plan and its earlier parts.
pub(crate) fn totals(plan: &Plan) -> Result<Totals> {
    let own = Part::read(Plan::read(plan.dir())?)?;
    let earlier = earlier_parts(plan)?;
    let parts = || earlier.iter().chain([&own]);
    let counts = own.counts()?.combine(&sum_counts(&earlier, plan, own.canceled)?);
    Ok(Totals {
        counts,
        in_flight: parts().map(|part| part.states.in_flight(&part.plan)).sum::<Result<_>>()?,
        running: parts().any(|part| part.held),
        complete: own.is_complete() && counts.remaining == 0,
        started: own.states.job().is_some() || !plan.earlier_parts().is_empty(),
    })
}

/// Sums the counts of the parts before a plan, except rows that the plan or a later part retried.
pub(crate) fn counts_before(plan: &Plan) -> Result<Counts> {
    sum_counts(&earlier_parts(plan)?, plan, folder::is_abandoned(plan.dir()))
}

fn sum_counts(earlier: &[Part], plan: &Plan, canceled: bool) -> Result<Counts> {
    let mut sum = Counts::default();
    for part in earlier {
        let mut counts = part.counts()?;
        // What an earlier part was canceled before sending isn't left to send.
        if part.canceled && !canceled {
            counts.remaining = 0;
        }
        sum = sum.combine(&counts);
    }
    for planned in earlier.iter().map(|part| part.plan.counts()).chain([plan.counts()]) {
        sum.rejected = sum.rejected.saturating_sub(planned.retried_rejected);
        sum.unknown = sum.unknown.saturating_sub(planned.retried_unknown);
        if canceled {
            sum.remaining = sum.remaining.saturating_sub(planned.retried_unsent);
        }
    }
    Ok(sum)
}
