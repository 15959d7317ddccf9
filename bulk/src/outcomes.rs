//! The outcome of every row, read from the plan and the journal.
//!
//! The journal is read in one pass, and batches are rendered again as their outcomes appear, so memory doesn't grow with the number of rows.

use std::collections::HashMap;

use serde::Serialize;

use crate::{
    error::Result,
    folder::{self, JOURNAL},
    journal::{self, BodyHash, EmailOutcome, Record, SentId, UnixMillis},
    key::idempotency_key,
    lock,
    plan::{Plan, Prepared},
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
    /// The first recipient.
    pub recipient: String,
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

/// Calls `visit` with the outcome of every row that has one, in the order in which the outcomes became known.
pub(crate) fn visit(plan: &Plan, visit: impl FnMut(RowOutcome) -> Result<()>) -> Result<()> {
    let abandoned = folder::is_abandoned(plan.dir()) && !lock::is_held(plan.dir())?;
    visit_ended(plan, abandoned, visit)
}

/// Visits the outcomes of a job that isn't running. If it is abandoned, the requests in flight have an unknown outcome.
pub(crate) fn visit_ended(
    plan: &Plan,
    abandoned: bool,
    mut visit: impl FnMut(RowOutcome) -> Result<()>,
) -> Result<()> {
    let mut preparer = plan.preparer()?;
    // The first attempts of batches without an outcome so far: at most the number of requests in flight, plus the batches left by interrupted runs.
    let mut open = HashMap::<u32, (UnixMillis, BodyHash)>::new();
    let mut failure = None;
    let mut settle = |(batch, at, hash): (u32, UnixMillis, BodyHash), record: &Record| {
        let prepared = preparer.prepare(batch)?;
        let key = idempotency_key(plan.id(), batch, &hash);
        row_outcomes(prepared, record).try_for_each(|(row, recipient, outcome)| {
            visit(RowOutcome { row, recipient, batch, key: key.clone(), first_attempt: at.0, outcome })
        })
    };
    journal::read(&plan.dir().join(JOURNAL), |record| {
        let outcomes = match &record {
            Record::Intent { batch, at, hash, .. } => {
                open.entry(*batch).or_insert((*at, *hash));
                return Ok(());
            }
            Record::NotSent { batch } => {
                open.remove(batch);
                return Ok(());
            }
            Record::Result { batch, .. }
            | Record::Partial { batch, .. }
            | Record::Rejected { batch, .. }
            | Record::Unknown { batch, .. } => open.remove(batch).map(|(at, hash)| (*batch, at, hash)),
            Record::Job(_) | Record::Split { .. } | Record::Rate(_) | Record::Finished(_) => None,
        };
        if let (Some(batch), None) = (outcomes, &failure) {
            failure = settle(batch, &record).err();
        }
        Ok(())
    })?;
    failure.map_or(Ok(()), Err)?;
    if abandoned {
        let mut open: Vec<_> = open.into_iter().map(|(batch, (at, hash))| (batch, at, hash)).collect();
        open.sort_unstable();
        for left in open {
            let reason = "the job was canceled while the request was in flight".into();
            settle(left, &Record::Unknown { batch: left.0, reason })?;
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

/// Assigns the outcome of a batch to its rows.
fn row_outcomes(prepared: Prepared, record: &Record) -> impl Iterator<Item = (u64, String, Outcome)> {
    prepared.rows.into_iter().enumerate().map(move |(i, row)| {
        let outcome = match record {
            Record::Result { ids, .. } => {
                Outcome::Sent { id: ids.get(i).map_or_else(String::new, SentId::to_string) }
            }
            Record::Rejected { status, message, .. } => {
                Outcome::Rejected { status: *status, reason: message.to_string() }
            }
            Record::Partial { emails, .. } => match emails.get(i) {
                Some(EmailOutcome::Accepted(id)) => Outcome::Sent { id: id.to_string() },
                Some(EmailOutcome::Rejected(message)) => {
                    let (status, reason) = split_rejection(message);
                    Outcome::Rejected { status, reason: reason.to_owned() }
                }
                _ => Outcome::Unknown {
                    reason: "the response can't be matched to the emails of the batch".to_owned(),
                },
            },
            Record::Unknown { reason, .. } => Outcome::Unknown { reason: reason.to_string() },
            _ => Outcome::Unknown { reason: String::new() },
        };
        (row.row, row.recipient, outcome)
    })
}
