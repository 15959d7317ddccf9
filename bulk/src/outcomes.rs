//! The outcome of every row, read from the plans and the journals of a job's parts.
//!
//! A journal is read in one pass, and the rows of a batch are read again as its outcome appears, so memory grows only with the number of batches.

use serde::Serialize;

use crate::{
    error::Result,
    folder,
    journal::{EmailOutcome, Record, SentId},
    key::idempotency_key,
    parts::{self, PartRows},
    plan::Plan,
    state::{BatchState, BatchStates},
};

/// The outcome of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The service accepted the row.
    Sent {
        /// The email's ID.
        id: String,
    },
    /// The service rejected the row.
    Rejected {
        /// The HTTP status of the response.
        status: u16,
        /// The service's message.
        reason: String,
    },
    /// It can't be determined whether the service accepted the row.
    Unknown {
        /// The reason.
        reason: String,
    },
}

/// A row and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RowOutcome {
    /// The row's number, from 1; the header isn't counted.
    pub row: u64,
    /// The recipients, separated by `; `.
    pub recipient: String,
    /// The recipients.
    #[serde(skip)]
    pub(crate) to: Vec<String>,
    /// The subject as it is sent; `None` if a stored template contains it.
    #[serde(skip)]
    pub(crate) subject: Option<String>,
    /// The ID of the job's part that contains the row. The batch and the row's number are that part's.
    pub part: String,
    /// The index of the batch that contains the row, from 0.
    pub batch: u32,
    /// The idempotency key of the batch.
    pub key: String,
    /// The time of the batch's first attempt, in milliseconds since the Unix epoch.
    pub first_attempt: u64,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Calls `visit` with the outcome of every row of a job and its earlier parts that has one, part by part, in the order in which the outcomes became
/// known.
pub(crate) fn visit(plan: &Plan, visit: impl FnMut(RowOutcome) -> Result<()>) -> Result<()> {
    visit_parts(&parts::with_rows(plan)?, true, visit)
}

/// Like [`visit`], for parts that were read before, with or without the batches that were sent completely.
pub(crate) fn visit_parts(
    parts: &[PartRows],
    with_sent: bool,
    mut visit: impl FnMut(RowOutcome) -> Result<()>,
) -> Result<()> {
    // A process that still runs a canceled part finishes its requests in flight.
    parts.iter().try_for_each(|part| visit_part(part, with_sent, part.canceled && !part.held, &mut visit))
}

/// Like [`visit`], without the batches that were sent completely; for the report of a run that has ended, although it still holds the job's lock.
pub(crate) fn visit_unsent(plan: &Plan, mut visit: impl FnMut(RowOutcome) -> Result<()>) -> Result<()> {
    parts::with_rows(plan)?.iter().try_for_each(|part| visit_part(part, false, part.canceled, &mut visit))
}

fn visit_part(
    part: &PartRows,
    with_sent: bool,
    abandoned: bool,
    visit: &mut impl FnMut(RowOutcome) -> Result<()>,
) -> Result<()> {
    let PartRows { plan, retried, .. } = part;
    let mut preparer = plan.preparer()?;
    let mut visit_batch = |batch: u32, state: Option<BatchState>, record: &Record| {
        let Some(BatchState::Maybe { first_attempt, hash }) = state else { return Ok(()) };
        let key = idempotency_key(plan.id(), batch, &hash);
        let rows = preparer.rows_of(batch)?.into_iter().enumerate();
        rows.filter(|(_, row)| !retried.contains(row.row)).try_for_each(|(i, row)| {
            let Some(outcome) = row_outcome(record, i) else { return Ok(()) };
            visit(RowOutcome {
                row: row.row,
                recipient: row.to.join("; "),
                to: row.to,
                subject: row.subject,
                part: plan.id().to_owned(),
                batch,
                key: key.clone(),
                first_attempt: first_attempt.0,
                outcome,
            })
        })
    };
    let mut states = BatchStates::new(plan.batches());
    let mut failure = None;
    folder::read_journal(plan.dir(), |record| {
        let is_wanted = with_sent || !matches!(record, Record::Result { .. });
        let batch = record.settles().filter(|_| is_wanted).map(|batch| (batch, states.state(batch)));
        states.apply(&record)?;
        if let (Some((batch, state)), None) = (batch, &failure) {
            failure = visit_batch(batch, state, &record).err();
        }
        Ok(())
    })?;
    failure.map_or(Ok(()), Err)?;
    if abandoned {
        let open: Vec<_> = states.maybe().map(|batch| (batch, states.state(batch))).collect();
        for ((batch, state), record) in open.into_iter().zip(states.abandon()?) {
            visit_batch(batch, state, &record)?;
        }
    }
    Ok(())
}

/// Returns the HTTP status and the message of a rejected email: from its own response if it was sent alone, otherwise from the 200 response to its
/// batch.
fn split_rejection(message: &str) -> (u16, &str) {
    let own = message.strip_prefix("HTTP ").and_then(|rest| rest.split_once(": "));
    own.and_then(|(status, reason)| Some((status.parse().ok()?, reason))).unwrap_or((200, message))
}

/// Returns the outcome of an email in a batch; `None` if it wasn't sent.
fn row_outcome(record: &Record, email: usize) -> Option<Outcome> {
    Some(match record {
        Record::Result { ids, .. } => {
            Outcome::Sent { id: ids.get(email).map_or_else(String::new, SentId::to_string) }
        }
        Record::Rejected { status, message, .. } => {
            Outcome::Rejected { status: *status, reason: message.to_string() }
        }
        Record::Partial { emails, .. } => match emails.get(email) {
            Some(EmailOutcome::Accepted(id)) => Outcome::Sent { id: id.to_string() },
            Some(EmailOutcome::Rejected(message)) => {
                let (status, reason) = split_rejection(message);
                Outcome::Rejected { status, reason: reason.to_owned() }
            }
            Some(EmailOutcome::Unsent) => return None,
            Some(EmailOutcome::Unknown) | None => Outcome::Unknown {
                reason: "the responses don't show whether the email was accepted".to_owned(),
            },
        },
        Record::Unknown { reason, .. } => Outcome::Unknown { reason: reason.to_string() },
        _ => Outcome::Unknown { reason: String::new() },
    })
}
