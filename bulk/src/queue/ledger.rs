//! The intents and results of a job, shared by all workers.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Result, wire};

/// A worker's intent to send a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The time of the first attempt whose outcome is uncertain or still open, in milliseconds since the Unix epoch by the queue's clock.
    pub first_attempt: u64,
    /// The hash of the exact body, as used in the idempotency key.
    #[serde(with = "wire::hash")]
    pub hash: [u8; 16],
    /// Whether an attempt may have been executed.
    pub state: IntentState,
    /// What is known about each email of a [split](IntentState::Split) batch. If empty, each may have been sent since the first attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emails: Vec<EmailIntent>,
    /// The number of requests for the batch before the one that this version announces.
    pub requests: u32,
    /// The ID of the attempt that wrote this version, by which a worker recognizes its own record after a lost response.
    pub attempt: String,
}

/// Whether the service may have executed an attempt of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentState {
    /// An attempt is in flight, or its outcome is uncertain.
    Open,
    /// The service rejected the batch, so its emails are sent one by one.
    Split,
    /// No attempt was executed.
    NotSent,
}

/// What is known about an email of a split batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmailIntent {
    /// No attempt was executed.
    NotSent,
    /// An attempt is in flight, or its outcome is uncertain. The value is the time of the first one, as in [`Intent::first_attempt`].
    Open(u64),
    /// The service accepted it under this ID.
    Accepted(String),
    /// The service rejected it with this message.
    Rejected(String),
    /// Its outcome can't be determined.
    Unknown,
}

impl EmailIntent {
    /// Combines what two records say about an email: an outcome is final, and the earliest attempt counts.
    pub(crate) fn merge(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Open(one), Self::Open(other)) => Self::Open(*one.min(other)),
            (Self::NotSent | Self::Open(_), other) if *other != Self::NotSent => other.clone(),
            _ => self.clone(),
        }
    }
}

impl Intent {
    /// Returns what is known about the emails of a split batch of this size.
    pub(crate) fn known_emails(&self, emails: u16) -> Vec<EmailIntent> {
        match self.state {
            IntentState::Split if self.emails.len() == usize::from(emails) => self.emails.clone(),
            IntentState::Split => vec![EmailIntent::Open(self.first_attempt); emails.into()],
            IntentState::Open | IntentState::NotSent => Vec::new(),
        }
    }
}

/// An intent stored in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIntent {
    /// The intent.
    pub intent: Intent,
    /// The version, which only increases.
    pub revision: u64,
}

/// The result of recording an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntentResult {
    /// The intent is durable at this revision.
    Recorded(u64),
    /// The ledger has a different version than expected: another worker has, or had, the batch.
    Conflict(StoredIntent),
}

/// A record of a batch, with its position in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The batch.
    pub batch: u32,
    /// The position, which only increases.
    pub position: u64,
    /// The record.
    pub payload: Bytes,
}

/// The durable source of truth about a job's batches.
pub trait Ledger: Send + Sync + 'static {
    /// Returns the queue's time since the Unix epoch. Ages of intents are measured only with this clock, since the workers' clocks differ.
    fn now(&self) -> impl Future<Output = Result<Duration>> + Send;

    /// Records an intent: creates it if `expected` is `None`, and otherwise replaces the version with this revision.
    fn record_intent(
        &self,
        batch: u32,
        intent: &Intent,
        expected: Option<u64>,
    ) -> impl Future<Output = Result<IntentResult>> + Send;

    /// Returns the intent of a batch.
    fn intent(&self, batch: u32) -> impl Future<Output = Result<Option<StoredIntent>>> + Send;

    /// Records the result of a batch, if it is the first one. Returns whether it was.
    fn record_result(&self, batch: u32, result: Bytes) -> impl Future<Output = Result<bool>> + Send;

    /// Returns the result of a batch.
    fn result(&self, batch: u32) -> impl Future<Output = Result<Option<Bytes>>> + Send;

    /// Returns up to `limit` intents after a position, in order.
    fn intents(&self, behind: u64, limit: usize) -> impl Future<Output = Result<Vec<Entry>>> + Send;

    /// Returns up to `limit` results after a position, in order.
    fn results(&self, behind: u64, limit: usize) -> impl Future<Output = Result<Vec<Entry>>> + Send;
}

#[cfg(test)]
mod tests {
    use super::{EmailIntent::*, *};

    #[test]
    fn two_records_of_an_email_make_none_of_its_attempts_later_or_unsent() {
        let accepted = || Accepted("a".to_owned());
        for (one, other, merged) in [
            (NotSent, NotSent, NotSent),
            (NotSent, Open(2), Open(2)),
            (Open(1), Open(2), Open(1)),
            (Open(1), accepted(), accepted()),
            (NotSent, Unknown, Unknown),
        ] {
            assert_eq!([one.merge(&other), other.merge(&one)], [merged.clone(), merged]);
        }
    }

    #[test]
    fn a_split_without_emails_may_have_sent_each_of_them() {
        let text = r#"{"first_attempt":5,"hash":"07070707070707070707070707070707","state":"split","requests":1,"attempt":"a"}"#;
        let intent: Intent = serde_json::from_str(text).unwrap();
        assert_eq!(intent.known_emails(2), [Open(5), Open(5)]);
        assert_eq!(serde_json::to_string(&intent).unwrap(), text);
    }
}
