//! The states of a job's batches, derived from the journal.
//!
//! ```text
//! fresh → maybe { first attempt, hash } → done | partial | rejected | unknown
//!   ↑        │
//!   └────────┘ NOT_SENT: no attempt was uncertain, and the service processed none
//! ```
//!
//! Each email of a split batch passes through the same states; the batch stays `maybe` until its result records the outcomes of all of them.
//!
//! The same transitions apply during a run and when a journal is replayed. Sequences that a correct writer can't produce are tolerated if they can't
//! hide that a batch was sent; otherwise they are damage:
//!
//! | record | fresh | maybe | terminal |
//! |---|---|---|---|
//! | INTENT | → maybe | same hash and size: keeps the earliest first attempt; otherwise damage | damage |
//! | ATTEMPT | damage | ignored | ignored |
//! | RESULT, PARTIAL, REJECTED, UNKNOWN | damage | → terminal | ignored: the first one wins |
//! | NOT_SENT | ignored | → fresh, unless it is split | ignored |
//! | SPLIT | damage | its emails are sent one by one from here on | ignored |
//! | EMAIL_INTENT, EMAIL_RESULT | damage | if it is split, the email → maybe, terminal or fresh; otherwise damage | ignored |
//!
//! Also damage: a first record other than JOB, a JOB with another job's ID, a batch that isn't in the plan, a RESULT or PARTIAL whose number of
//! emails differs from its INTENT, a FINISHED whose counts differ from the records before it.

mod decision;
#[cfg(feature = "nats")]
mod email_intent;
#[cfg(test)]
mod model_check;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

pub(crate) use self::decision::{AttemptResult, Decision, Next, decide};
use crate::{
    clock,
    counts::Counts,
    error::Result,
    journal::{BodyHash, Contradiction, EmailOutcome, Job, Record, UnixMillis},
    plan::Plan,
};

/// The state of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BatchState {
    /// Certainly not sent.
    Fresh,
    /// Possibly sent.
    Maybe {
        /// The time of the first attempt.
        first_attempt: UnixMillis,
        /// The hash of the request body.
        hash: BodyHash,
    },
    /// All emails were accepted.
    Done,
    /// Some emails were accepted.
    Partial,
    /// Rejected.
    Rejected,
    /// The outcome can't be determined. Never sent again automatically.
    Unknown,
}

impl BatchState {
    /// Returns whether the state is final.
    pub(crate) fn is_terminal(self) -> bool {
        !matches!(self, Self::Fresh | Self::Maybe { .. })
    }
}

/// A batch about to be settled by an attempt's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Situation {
    /// The batch's index in the plan.
    pub(crate) batch: u32,
    /// The number of emails in the batch.
    pub(crate) emails: u16,
    /// The time since the first attempt, or `None` if the clock makes it impossible to know.
    pub(crate) age: Option<Duration>,
    /// Whether the outcome of an earlier attempt is uncertain. An earlier process's attempt always is.
    pub(crate) earlier_uncertain: bool,
}

impl Situation {
    /// Returns whether the service certainly still remembers the batch's key.
    fn can_be_resent(&self) -> bool {
        clock::can_be_resent(self.age)
    }

    /// Returns the record that ends the batch because it can't be resent. `last` is the result of this process's last attempt.
    pub(crate) fn expiry_record(&self, last: Option<&str>) -> Record {
        let mut reason = match self.age {
            Some(_) => "the first attempt was more than 23 hours ago",
            None => "the clock is behind the journal, so the age of the first attempt is unknown",
        }
        .to_owned();
        if let Some(last) = last {
            reason.push_str("; last result: ");
            reason.push_str(last);
        }
        Record::Unknown { batch: self.batch, reason: reason.into() }
    }
}

/// What to do before an attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BeforeAttempt {
    /// Journal this [`Record::Intent`]; send the batch when it is durable.
    Start(Record),
    /// Send the batch; its intent is journaled.
    Resend,
    /// Don't send the batch; journal this [`Record::Unknown`].
    Settle(Record),
    /// Don't send the batch; it has a terminal state.
    Ended,
}

/// The states of a job's batches: 32 bytes per batch.
#[derive(Clone, Debug)]
pub(crate) struct BatchStates {
    slots: Vec<Slot>,
    job: Option<Job>,
    newest: UnixMillis,
    rate: Option<f64>,
    counts: Counts,
    terminal: u32,
    /// The unsent emails of batches that a canceled job had split.
    unsent: u64,
    finished: bool,
    /// The open batches whose emails are sent one by one.
    splits: BTreeMap<u32, Split>,
}

/// A batch whose emails are sent one by one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Split {
    emails: Vec<EmailState>,
    /// The index of the email that is attempted.
    current: usize,
}

/// The state of an email of a split batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EmailState {
    Fresh,
    Maybe(Attempted),
    Settled(EmailOutcome),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Attempted {
    pub(crate) first: UnixMillis,
    uncertain: bool,
    age_unknown: bool,
}

impl EmailState {
    /// Returns the outcome if the email isn't attempted again.
    fn abandoned(&self) -> EmailOutcome {
        match self {
            Self::Fresh => EmailOutcome::Unsent,
            Self::Maybe(_) => EmailOutcome::Unknown,
            Self::Settled(outcome) => outcome.clone(),
        }
    }
}

impl Split {
    /// Returns the attempts of the current email; `None` if it has none.
    fn attempted(&self) -> Option<Attempted> {
        match self.emails.get(self.current) {
            Some(EmailState::Maybe(attempted)) => Some(*attempted),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Slot {
    first_attempt: UnixMillis,
    hash: BodyHash,
    emails: u16,
    phase: Phase,
    /// An attempt's outcome was uncertain.
    uncertain: bool,
    /// The clock was behind the journal when the job was resumed.
    age_unknown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Fresh,
    Maybe,
    Done,
    Partial,
    Rejected,
    Unknown,
}

const FRESH: Slot = Slot {
    first_attempt: UnixMillis(0),
    hash: [0; 16],
    emails: 0,
    phase: Phase::Fresh,
    uncertain: false,
    age_unknown: false,
};

impl BatchStates {
    /// Creates the states of a job without a journal: all batches are unsent.
    pub(crate) fn new(batches: u32) -> Self {
        Self {
            slots: vec![FRESH; batches as usize],
            job: None,
            newest: UnixMillis(0),
            rate: None,
            counts: Counts::default(),
            terminal: 0,
            unsent: 0,
            finished: false,
            splits: BTreeMap::new(),
        }
    }

    /// Applies a record: when replaying the journal and, during a run, after each record was journaled.
    ///
    /// # Errors
    ///
    /// If the record contradicts earlier records, and the table in the module documentation doesn't tolerate the contradiction.
    pub(crate) fn apply(&mut self, record: &Record) -> Result<(), Contradiction> {
        if self.job.is_none() && !matches!(record, Record::Job(_)) {
            return Err(Contradiction("the first record isn't a JOB"));
        }
        match record {
            Record::Job(job) => {
                if self.job.as_ref().is_some_and(|first| first.id != job.id) {
                    return Err(Contradiction("a record of another job"));
                }
                self.newest = self.newest.max(job.started);
                self.job = Some(job.clone());
            }
            Record::Intent { batch, emails, at, hash } => {
                let slot = self.slot(*batch)?;
                match slot.phase {
                    Phase::Fresh => {
                        *slot = Slot {
                            first_attempt: *at,
                            hash: *hash,
                            emails: *emails,
                            phase: Phase::Maybe,
                            ..FRESH
                        };
                    }
                    Phase::Maybe if (slot.hash, slot.emails) == (*hash, *emails) => {
                        slot.first_attempt = slot.first_attempt.min(*at);
                    }
                    Phase::Maybe => return Err(Contradiction("a second INTENT with other content")),
                    _ => return Err(Contradiction("an INTENT after the end of its batch")),
                }
                self.newest = self.newest.max(*at);
            }
            Record::Attempt { batch, at } => {
                if self.slot(*batch)?.phase == Phase::Fresh {
                    return Err(Contradiction("an ATTEMPT without an INTENT"));
                }
                self.newest = self.newest.max(*at);
            }
            Record::NotSent { batch } => {
                let is_split = self.is_split(*batch);
                let slot = self.slot(*batch)?;
                if slot.phase == Phase::Maybe && !is_split {
                    *slot = FRESH;
                }
            }
            Record::Split { batch } => {
                let slot = *self.slot(*batch)?;
                match slot.phase {
                    Phase::Fresh => return Err(Contradiction("a SPLIT without an INTENT")),
                    Phase::Maybe => {
                        let emails = vec![EmailState::Fresh; slot.emails.into()];
                        self.splits.entry(*batch).or_insert(Split { emails, current: 0 });
                    }
                    _ => {}
                }
            }
            Record::EmailIntent { batch, email, at } => {
                let attempted = Attempted { first: *at, uncertain: false, age_unknown: false };
                match self.email(*batch, *email)? {
                    Some(state @ EmailState::Fresh) => *state = EmailState::Maybe(attempted),
                    Some(EmailState::Maybe(earlier)) => earlier.first = earlier.first.min(*at),
                    Some(EmailState::Settled(_)) => {
                        return Err(Contradiction("an EMAIL_INTENT after the end of its email"));
                    }
                    None => {}
                }
                self.newest = self.newest.max(*at);
            }
            Record::EmailResult { batch, email, outcome } => {
                if let Some(state) = self.email(*batch, *email)? {
                    *state = outcome.clone().map_or(EmailState::Fresh, EmailState::Settled);
                }
            }
            Record::Result { batch, ids } => {
                self.finish_batch(*batch, Phase::Done, Some(ids.len()), |counts, emails| {
                    counts.sent += emails;
                })?;
            }
            Record::Partial { batch, emails } => {
                let mut unsent = 0;
                self.finish_batch(*batch, Phase::Partial, Some(emails.len()), |counts, _| {
                    for email in emails {
                        *match email {
                            EmailOutcome::Accepted(_) => &mut counts.sent,
                            EmailOutcome::Rejected(_) => &mut counts.rejected,
                            EmailOutcome::Unknown => &mut counts.unknown,
                            EmailOutcome::Unsent => &mut unsent,
                        } += 1;
                    }
                })?;
                self.unsent += unsent;
            }
            Record::Rejected { batch, .. } => {
                self.finish_batch(*batch, Phase::Rejected, None, |counts, emails| counts.rejected += emails)?;
            }
            Record::Unknown { batch, .. } => {
                self.finish_batch(*batch, Phase::Unknown, None, |counts, emails| counts.unknown += emails)?;
            }
            Record::Rate(rate) if rate.is_finite() && *rate > 0.0 => self.rate = Some(*rate),
            Record::Rate(_) => {}
            Record::Finished(counts) => {
                if *counts != self.counts || self.terminal as usize != self.slots.len() {
                    return Err(Contradiction("a FINISHED that differs from the records before it"));
                }
                self.finished = true;
            }
        }
        Ok(())
    }

    fn slot(&mut self, batch: u32) -> Result<&mut Slot, Contradiction> {
        self.slots.get_mut(batch as usize).ok_or(Contradiction("a batch that the plan doesn't have"))
    }

    /// Returns the state of an email of a split batch; `None` if the batch has ended.
    fn email(&mut self, batch: u32, email: u16) -> Result<Option<&mut EmailState>, Contradiction> {
        if !matches!(self.slot(batch)?.phase, Phase::Fresh | Phase::Maybe) {
            return Ok(None);
        }
        let split = self.splits.get_mut(&batch);
        let state = split.and_then(|split| split.emails.get_mut(usize::from(email)));
        state.map(Some).ok_or(Contradiction("an email that isn't one of a split batch"))
    }

    fn finish_batch(
        &mut self,
        batch: u32,
        phase: Phase,
        outcomes: Option<usize>,
        count: impl FnOnce(&mut Counts, u64),
    ) -> Result<(), Contradiction> {
        let slot = self.slot(batch)?;
        match slot.phase {
            Phase::Fresh => return Err(Contradiction("an outcome without an INTENT")),
            Phase::Maybe => {}
            _ => return Ok(()),
        }
        let emails = slot.emails;
        if outcomes.is_some_and(|outcomes| outcomes != usize::from(emails)) {
            return Err(Contradiction("another number of emails than in the INTENT"));
        }
        slot.phase = phase;
        self.terminal += 1;
        self.splits.remove(&batch);
        count(&mut self.counts, emails.into());
        Ok(())
    }

    /// Prepares the states for a run once the journal has been replayed, and returns the run's start time.
    ///
    /// Every open attempt belongs to an earlier process, so its outcome is uncertain. If the wall clock is behind the newest record by more than the
    /// tolerance, the ages of these attempts are unknown, and they won't be resent.
    pub(crate) fn resume(&mut self, wall: UnixMillis) -> UnixMillis {
        let age_unknown = self.newest.age(wall).is_none();
        for slot in self.slots.iter_mut().filter(|slot| slot.phase == Phase::Maybe) {
            slot.uncertain = true;
            slot.age_unknown |= age_unknown;
        }
        for email in self.splits.values_mut().flat_map(|split| &mut split.emails) {
            if let EmailState::Maybe(attempted) = email {
                attempted.uncertain = true;
                attempted.age_unknown |= age_unknown;
            }
        }
        self.newest.max(wall)
    }

    /// Settles the batches in flight of a canceled job, since no later run repeats them. Returns the records that do so; they aren't journaled, and
    /// don't complete the job.
    pub(crate) fn abandon(&mut self) -> Result<Vec<Record>, Contradiction> {
        let settle = |batch| match self.splits.get(&batch) {
            Some(split) => {
                Record::Partial { batch, emails: split.emails.iter().map(EmailState::abandoned).collect() }
            }
            None => Record::Unknown {
                batch,
                reason: "the job was canceled while the request was in flight".into(),
            },
        };
        let records: Vec<_> = self.maybe().map(settle).collect();
        let terminal = self.terminal;
        records.iter().try_for_each(|record| self.apply(record))?;
        self.terminal = terminal;
        Ok(records)
    }

    /// Returns what to do before an attempt, first or later, of a batch with this body, or of its current email if it is split.
    ///
    /// # Panics
    ///
    /// If the batch isn't in the plan.
    pub(crate) fn before_attempt(
        &self,
        batch: u32,
        emails: u16,
        hash: BodyHash,
        now: UnixMillis,
    ) -> BeforeAttempt {
        let slot = &self.slots[batch as usize];
        match slot.phase {
            Phase::Fresh => BeforeAttempt::Start(Record::Intent { batch, emails, at: now, hash }),
            Phase::Maybe if (slot.hash, slot.emails) != (hash, emails) => {
                let reason = "the content differs from that of the first attempt".into();
                BeforeAttempt::Settle(Record::Unknown { batch, reason })
            }
            Phase::Maybe
                if let Some(split) = self.splits.get(&batch).filter(|split| split.attempted().is_none()) =>
            {
                let email = u16::try_from(split.current).unwrap_or(u16::MAX);
                BeforeAttempt::Start(Record::EmailIntent { batch, email, at: now })
            }
            Phase::Maybe => {
                let situation = self.situation(batch, now);
                // If no attempt was uncertain, nothing was sent, and the key's age doesn't matter.
                if situation.can_be_resent() || !situation.earlier_uncertain {
                    BeforeAttempt::Resend
                } else {
                    BeforeAttempt::Settle(situation.expiry_record(None))
                }
            }
            _ => BeforeAttempt::Ended,
        }
    }

    /// Records that the outcome of an attempt is uncertain.
    ///
    /// # Panics
    ///
    /// If the batch isn't in the plan.
    pub(crate) fn set_uncertain(&mut self, batch: u32) {
        match self.splits.get_mut(&batch) {
            Some(Split { emails, current }) => {
                if let Some(EmailState::Maybe(attempted)) = emails.get_mut(*current) {
                    attempted.uncertain = true;
                }
            }
            None => self.slots[batch as usize].uncertain = true,
        }
    }

    /// Returns whether a batch's emails are sent one by one.
    pub(crate) fn is_split(&self, batch: u32) -> bool {
        self.splits.contains_key(&batch)
    }

    /// Returns the states of the emails of a split batch; none if it isn't split.
    #[cfg(feature = "nats")]
    pub(crate) fn emails(&self, batch: u32) -> &[EmailState] {
        self.splits.get(&batch).map_or(&[], |split| &split.emails)
    }

    /// Selects the email of a split batch that is attempted next. Returns its outcome if it has one.
    pub(crate) fn select_email(&mut self, batch: u32, email: usize) -> Option<&EmailOutcome> {
        let split = self.splits.get_mut(&batch)?;
        split.current = email;
        match split.emails.get(email)? {
            EmailState::Settled(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Returns what is known about the attempts of a batch, or of its current email if it is split.
    pub(crate) fn situation(&self, batch: u32, now: UnixMillis) -> Situation {
        let Slot { first_attempt: first, uncertain, age_unknown, emails, .. } = self.slots[batch as usize];
        let whole = Attempted { first, uncertain, age_unknown };
        let unsent = Attempted { first: now, uncertain: false, age_unknown: false };
        let split = self.splits.get(&batch).map(|split| split.attempted().unwrap_or(unsent));
        let Attempted { first, uncertain, age_unknown } = split.unwrap_or(whole);
        let age = if age_unknown { None } else { first.age(now) };
        Situation { batch, emails, age, earlier_uncertain: uncertain }
    }

    /// Returns a batch's state, or `None` if the batch isn't in the plan.
    pub(crate) fn state(&self, batch: u32) -> Option<BatchState> {
        let slot = self.slots.get(batch as usize)?;
        Some(match slot.phase {
            Phase::Fresh => BatchState::Fresh,
            Phase::Maybe => BatchState::Maybe { first_attempt: slot.first_attempt, hash: slot.hash },
            Phase::Done => BatchState::Done,
            Phase::Partial => BatchState::Partial,
            Phase::Rejected => BatchState::Rejected,
            Phase::Unknown => BatchState::Unknown,
        })
    }

    /// Returns the batches that may have been sent. A resumed run starts with them, while the service still remembers their keys.
    pub(crate) fn maybe(&self) -> impl Iterator<Item = u32> {
        self.in_phase(Phase::Maybe)
    }

    /// Returns the batches that weren't sent.
    pub(crate) fn unsent_batches(&self) -> impl Iterator<Item = u32> {
        self.in_phase(Phase::Fresh)
    }

    fn in_phase(&self, phase: Phase) -> impl Iterator<Item = u32> {
        (0..).zip(&self.slots).filter(move |(_, slot)| slot.phase == phase).map(|(batch, _)| batch)
    }

    /// Returns the counts of the batches with a terminal state; `remaining` is 0.
    pub(crate) fn settled_counts(&self) -> Counts {
        self.counts
    }

    /// Returns the counts of all batches, and checks that they add up to the plan's emails. Blocks.
    pub(crate) fn counts(&self, plan: &Plan) -> Result<Counts> {
        let remaining = plan.count_emails(|batch| self.is_open(batch))? + self.unsent;
        let counts = Counts { remaining, ..self.counts };
        counts.check(plan.counts().valid)?;
        Ok(counts)
    }

    /// Counts the emails of the batches that may have been sent. Blocks.
    pub(crate) fn in_flight(&self, plan: &Plan) -> Result<u64> {
        plan.count_emails(|batch| matches!(self.state(batch), Some(BatchState::Maybe { .. })))
    }

    /// Returns whether a batch has no terminal state yet.
    pub(crate) fn is_open(&self, batch: u32) -> bool {
        self.state(batch).is_some_and(|state| !state.is_terminal())
    }

    /// Returns whether every batch has a terminal state.
    pub(crate) fn is_complete(&self) -> bool {
        self.terminal as usize == self.slots.len()
    }

    /// Returns whether the journal contains the record that ends the job.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns the last process that ran the job.
    pub(crate) fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// Returns the last journaled request rate, in requests per second.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate
    }
}
