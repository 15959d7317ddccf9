//! The records of the journal and their payloads.
//!
//! Decoding is total: any bytes yield a record or `None`, without a panic and without an allocation larger than the payload allows. Integers are
//! little-endian; a text is a `u16` length followed by UTF-8, truncated to [`MAX_TEXT`] bytes when written.

use std::{borrow::Cow, time::Duration};

use super::{SentId, UnixMillis};
use crate::counts::Counts;

/// The maximum length of a text in the journal, in bytes: a reason, an error message, an ID that isn't a UUID.
pub(crate) const MAX_TEXT: usize = 1024;

/// The hash of a batch's request body.
pub(crate) use crate::plan::BodyHash;

/// A record of the journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Record {
    /// A process starts to run the job. The first record, repeated at each resumption.
    Job(Job),
    /// The first attempt of a batch is about to start. It is durable before the request leaves. A repetition corrects the time.
    Intent {
        /// The batch's index in the plan.
        batch: u32,
        /// The number of emails in the batch.
        emails: u16,
        /// The time of the first attempt.
        at: UnixMillis,
        /// The hash of the request body.
        hash: BodyHash,
    },
    /// Another attempt of an open batch is about to start, or its outcome follows, on a later day than its intent. Only jobs with a schedule have this
    /// record.
    Attempt {
        /// The batch's index in the plan.
        batch: u32,
        /// The time.
        at: UnixMillis,
    },
    /// The service accepted every email of the batch.
    Result {
        /// The batch's index in the plan.
        batch: u32,
        /// The ID of each email.
        ids: Vec<SentId>,
    },
    /// The service accepted the batch in part.
    Partial {
        /// The batch's index in the plan.
        batch: u32,
        /// The outcome of each email.
        emails: Vec<EmailOutcome>,
    },
    /// The intent is void: the service certainly processed nothing.
    NotSent {
        /// The batch's index in the plan.
        batch: u32,
    },
    /// It can't be determined whether the service accepted the batch.
    Unknown {
        /// The batch's index in the plan.
        batch: u32,
        /// The reason.
        reason: Box<str>,
    },
    /// The service rejected the batch.
    Rejected {
        /// The batch's index in the plan.
        batch: u32,
        /// The HTTP status.
        status: u16,
        /// The service's message.
        message: Box<str>,
    },
    /// The service rejected the batch, so its emails are sent one by one, each under its own key.
    Split {
        /// The batch's index in the plan.
        batch: u32,
    },
    /// The first attempt of an email of a split batch is about to start. It is durable before the request leaves.
    EmailIntent {
        /// The batch's index in the plan.
        batch: u32,
        /// The email's index in the batch.
        email: u16,
        /// The time of the first attempt.
        at: UnixMillis,
    },
    /// The outcome of an email of a split batch; `None` if the service certainly processed none of its attempts, which makes it unsent again.
    EmailResult {
        /// The batch's index in the plan.
        batch: u32,
        /// The email's index in the batch.
        email: u16,
        /// The outcome.
        outcome: Option<EmailOutcome>,
    },
    /// The request rate, in requests per second. The next run starts with it.
    Rate(f64),
    /// Every batch has a terminal state.
    Finished(Counts),
}

/// A process that runs the job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Job {
    /// The job's ID.
    pub(crate) id: Box<str>,
    /// When the process started to run the job.
    pub(crate) started: UnixMillis,
}

/// The outcome of one email in a partially accepted batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EmailOutcome {
    /// The service accepted the email.
    Accepted(SentId),
    /// The service rejected the email, with this message.
    Rejected(Box<str>),
    /// The response doesn't say which.
    Unknown,
    /// Certainly not sent: its split batch belongs to a canceled job.
    Unsent,
}

impl EmailOutcome {
    pub(crate) fn is_rejected(&self) -> bool {
        matches!(self, Self::Rejected(_))
    }
}

const UUID: u8 = 0;
const TEXT_ID: u8 = 1;
const ERROR: u8 = 2;
const NO_ANSWER: u8 = 3;
const UNSENT: u8 = 4;

impl Record {
    /// Returns the batch that the record is about.
    pub(crate) fn batch(&self) -> Option<u32> {
        match self {
            Self::Job(_) | Self::Rate(_) | Self::Finished(_) => None,
            Self::Intent { batch, .. }
            | Self::Attempt { batch, .. }
            | Self::Result { batch, .. }
            | Self::Partial { batch, .. }
            | Self::NotSent { batch }
            | Self::Unknown { batch, .. }
            | Self::Rejected { batch, .. }
            | Self::EmailIntent { batch, .. }
            | Self::EmailResult { batch, .. }
            | Self::Split { batch } => Some(*batch),
        }
    }

    /// Returns the record of a first attempt with an earlier time.
    pub(crate) fn dated_back(&self, by: Duration) -> Cow<'_, Self> {
        match *self {
            Self::Intent { batch, emails, at, hash } => {
                Cow::Owned(Self::Intent { batch, emails, at: at.saturating_sub(by), hash })
            }
            Self::EmailIntent { batch, email, at } => {
                Cow::Owned(Self::EmailIntent { batch, email, at: at.saturating_sub(by) })
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// Returns the batch whose result this record is.
    pub(crate) fn settles(&self) -> Option<u32> {
        let is_result = matches!(
            self,
            Self::Result { .. } | Self::Partial { .. } | Self::Rejected { .. } | Self::Unknown { .. }
        );
        self.batch().filter(|_| is_result)
    }

    /// Returns the IDs of the emails that the service accepted.
    pub(crate) fn accepted(&self) -> impl Iterator<Item = &SentId> {
        let (ids, emails) = match self {
            Self::Result { ids, .. } => (ids.as_slice(), &[][..]),
            Self::Partial { emails, .. } => (&[][..], emails.as_slice()),
            _ => (&[][..], &[][..]),
        };
        ids.iter().chain(emails.iter().filter_map(|email| match email {
            EmailOutcome::Accepted(id) => Some(id),
            _ => None,
        }))
    }

    /// Returns the record's type in the journal.
    pub(super) fn kind(&self) -> u8 {
        match self {
            Self::Job(_) => 1,
            Self::Intent { .. } => 2,
            Self::Result { .. } => 3,
            Self::Partial { .. } => 4,
            Self::NotSent { .. } => 5,
            Self::Unknown { .. } => 6,
            Self::Rejected { .. } => 7,
            Self::Rate(_) => 8,
            Self::Finished(_) => 9,
            Self::Split { .. } => 10,
            Self::Attempt { .. } => 11,
            Self::EmailIntent { .. } => 12,
            Self::EmailResult { .. } => 13,
        }
    }

    /// Returns the type and the payload, as stored in a queue.
    #[cfg(feature = "nats")]
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![self.kind()];
        self.encode(&mut out);
        out
    }

    /// Decodes the output of [`to_bytes`](Self::to_bytes).
    #[cfg(feature = "nats")]
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&kind, payload) = bytes.split_first()?;
        Self::decode(kind, payload)
    }

    /// Appends the payload to `out`.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Job(job) => {
                out.extend(job.started.0.to_le_bytes());
                put_text(out, &job.id);
            }
            Self::Intent { batch, emails, at, hash } => {
                out.extend(batch.to_le_bytes());
                out.extend(emails.to_le_bytes());
                out.extend(at.0.to_le_bytes());
                out.extend(hash);
            }
            Self::Attempt { batch, at } => {
                out.extend(batch.to_le_bytes());
                out.extend(at.0.to_le_bytes());
            }
            Self::Result { batch, ids } => {
                out.extend(batch.to_le_bytes());
                for id in ids {
                    put_id(out, id);
                }
            }
            Self::Partial { batch, emails } => {
                out.extend(batch.to_le_bytes());
                for email in emails {
                    put_outcome(out, email);
                }
            }
            Self::EmailIntent { batch, email, at } => {
                out.extend(batch.to_le_bytes());
                out.extend(email.to_le_bytes());
                out.extend(at.0.to_le_bytes());
            }
            Self::EmailResult { batch, email, outcome } => {
                out.extend(batch.to_le_bytes());
                out.extend(email.to_le_bytes());
                if let Some(outcome) = outcome {
                    put_outcome(out, outcome);
                }
            }
            Self::NotSent { batch } | Self::Split { batch } => out.extend(batch.to_le_bytes()),
            Self::Unknown { batch, reason } => {
                out.extend(batch.to_le_bytes());
                put_text(out, reason);
            }
            Self::Rejected { batch, status, message } => {
                out.extend(batch.to_le_bytes());
                out.extend(status.to_le_bytes());
                put_text(out, message);
            }
            Self::Rate(rate) => out.extend(rate.to_le_bytes()),
            Self::Finished(Counts { sent, rejected, unknown, remaining }) => {
                for count in [sent, rejected, unknown, remaining] {
                    out.extend(count.to_le_bytes());
                }
            }
        }
    }

    /// Decodes a payload. Returns `None` if the type is unknown or the payload isn't exactly one record of that type.
    pub(super) fn decode(kind: u8, payload: &[u8]) -> Option<Self> {
        let mut fields = Fields(payload);
        let record = match kind {
            1 => {
                let started = UnixMillis(fields.u64()?);
                Self::Job(Job { id: fields.text()?.into(), started })
            }
            2 => Self::Intent {
                batch: fields.u32()?,
                emails: fields.u16()?,
                at: UnixMillis(fields.u64()?),
                hash: fields.array()?,
            },
            3 => {
                let (batch, mut ids) = (fields.u32()?, Vec::with_capacity(fields.0.len() / 17));
                while !fields.0.is_empty() {
                    let EmailOutcome::Accepted(id) = fields.outcome()? else { return None };
                    ids.push(id);
                }
                Self::Result { batch, ids }
            }
            4 => {
                let (batch, mut emails) = (fields.u32()?, Vec::new());
                while !fields.0.is_empty() {
                    emails.push(fields.outcome()?);
                }
                Self::Partial { batch, emails }
            }
            5 => Self::NotSent { batch: fields.u32()? },
            6 => Self::Unknown { batch: fields.u32()?, reason: fields.text()?.into() },
            7 => {
                let (batch, status) = (fields.u32()?, fields.u16()?);
                Self::Rejected { batch, status, message: fields.text()?.into() }
            }
            8 => Self::Rate(f64::from_le_bytes(fields.array()?)),
            9 => Self::Finished(Counts {
                sent: fields.u64()?,
                rejected: fields.u64()?,
                unknown: fields.u64()?,
                remaining: fields.u64()?,
            }),
            10 => Self::Split { batch: fields.u32()? },
            11 => Self::Attempt { batch: fields.u32()?, at: UnixMillis(fields.u64()?) },
            12 => Self::EmailIntent {
                batch: fields.u32()?,
                email: fields.u16()?,
                at: UnixMillis(fields.u64()?),
            },
            13 => {
                let (batch, email) = (fields.u32()?, fields.u16()?);
                let outcome = if fields.0.is_empty() { None } else { Some(fields.outcome()?) };
                Self::EmailResult { batch, email, outcome }
            }
            _ => return None,
        };
        fields.0.is_empty().then_some(record)
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    let text = &text[..text.floor_char_boundary(MAX_TEXT)];
    let len = u16::try_from(text.len()).unwrap_or_default();
    out.extend(len.to_le_bytes());
    out.extend(text.as_bytes());
}

fn put_outcome(out: &mut Vec<u8>, outcome: &EmailOutcome) {
    match outcome {
        EmailOutcome::Accepted(id) => put_id(out, id),
        EmailOutcome::Rejected(message) => {
            out.push(ERROR);
            put_text(out, message);
        }
        EmailOutcome::Unknown => out.push(NO_ANSWER),
        EmailOutcome::Unsent => out.push(UNSENT),
    }
}

fn put_id(out: &mut Vec<u8>, id: &SentId) {
    match id {
        SentId::Uuid(uuid) => {
            out.push(UUID);
            out.extend(uuid.as_bytes());
        }
        SentId::Text(id) => {
            out.push(TEXT_ID);
            put_text(out, id);
        }
    }
}

/// The part of a payload that hasn't been decoded yet.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<&'a str> {
        let len = self.u16()?;
        std::str::from_utf8(self.bytes(len.into())?).ok()
    }

    fn outcome(&mut self) -> Option<EmailOutcome> {
        Some(match self.array()? {
            [UUID] => EmailOutcome::Accepted(SentId::Uuid(uuid::Uuid::from_bytes(self.array()?))),
            [TEXT_ID] => EmailOutcome::Accepted(SentId::Text(self.text()?.into())),
            [ERROR] => EmailOutcome::Rejected(self.text()?.into()),
            [NO_ANSWER] => EmailOutcome::Unknown,
            [UNSENT] => EmailOutcome::Unsent,
            _ => return None,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn text() -> impl Strategy<Value = Box<str>> {
        "\\PC{0,40}".prop_map(Into::into)
    }

    fn id() -> impl Strategy<Value = SentId> {
        prop_oneof![
            any::<[u8; 16]>().prop_map(|bytes| SentId::Uuid(uuid::Uuid::from_bytes(bytes))),
            text().prop_map(SentId::Text)
        ]
    }

    fn outcome() -> impl Strategy<Value = EmailOutcome> {
        prop_oneof![
            id().prop_map(EmailOutcome::Accepted),
            text().prop_map(EmailOutcome::Rejected),
            Just(EmailOutcome::Unknown),
            Just(EmailOutcome::Unsent)
        ]
    }

    /// Any record whose texts aren't truncated.
    pub(in crate::journal) fn any_record() -> impl Strategy<Value = Record> {
        prop_oneof![
            (text(), any::<u64>())
                .prop_map(|(id, started)| { Record::Job(Job { id, started: UnixMillis(started) }) }),
            (any::<u32>(), any::<u16>(), any::<u64>(), any::<[u8; 16]>()).prop_map(
                |(batch, emails, at, hash)| Record::Intent { batch, emails, at: UnixMillis(at), hash }
            ),
            (any::<u32>(), vec(id(), 0..9)).prop_map(|(batch, ids)| Record::Result { batch, ids }),
            (any::<u32>(), vec(outcome(), 0..9))
                .prop_map(|(batch, emails)| Record::Partial { batch, emails }),
            any::<u32>().prop_map(|batch| Record::NotSent { batch }),
            any::<u32>().prop_map(|batch| Record::Split { batch }),
            (any::<u32>(), any::<u16>(), any::<u64>())
                .prop_map(|(batch, email, at)| { Record::EmailIntent { batch, email, at: UnixMillis(at) } }),
            (any::<u32>(), any::<u16>(), proptest::option::of(outcome()))
                .prop_map(|(batch, email, outcome)| Record::EmailResult { batch, email, outcome }),
            (any::<u32>(), any::<u64>())
                .prop_map(|(batch, at)| Record::Attempt { batch, at: UnixMillis(at) }),
            (any::<u32>(), text()).prop_map(|(batch, reason)| Record::Unknown { batch, reason }),
            (any::<u32>(), any::<u16>(), text()).prop_map(|(batch, status, message)| Record::Rejected {
                batch,
                status,
                message
            }),
            (0.0..1e6).prop_map(Record::Rate),
            any::<[u64; 4]>().prop_map(|[sent, rejected, unknown, remaining]| {
                Record::Finished(Counts { sent, rejected, unknown, remaining })
            }),
        ]
    }

    fn encode(record: &Record) -> Vec<u8> {
        let mut payload = Vec::new();
        record.encode(&mut payload);
        payload
    }

    proptest! {
        #[test]
        fn every_record_decodes_to_itself(record in any_record()) {
            prop_assert_eq!(Record::decode(record.kind(), &encode(&record)), Some(record));
        }

        #[test]
        fn decoding_arbitrary_bytes_never_panics(kind in 0_u8..12, payload in vec(any::<u8>(), 0..200)) {
            // A payload has exactly one encoding, so no part of it is ignored.
            if let Some(record) = Record::decode(kind, &payload) {
                prop_assert_eq!(record.kind(), kind);
                prop_assert_eq!(encode(&record), payload);
            }
        }

        #[test]
        fn decoding_a_mutated_payload_never_panics(
            record in any_record(),
            kind in 0_u8..12,
            changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut payload = encode(&record);
            payload.truncate(cut.index(payload.len() + 1));
            for (at, byte) in changes {
                if !payload.is_empty() {
                    let at = at.index(payload.len());
                    payload[at] = byte;
                }
            }
            let _ = Record::decode(kind, &payload);
            let _ = Record::decode(record.kind(), &payload);
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let message = "é".repeat(MAX_TEXT).into();
        let record = Record::Rejected { batch: 1, status: 422, message };
        let Some(Record::Rejected { message, .. }) = Record::decode(7, &encode(&record)) else { panic!() };
        assert_eq!(*message, "é".repeat(MAX_TEXT / 2));

        let message = format!("a{}", "é".repeat(MAX_TEXT)).into();
        let record = Record::Rejected { batch: 1, status: 422, message };
        assert_eq!(encode(&record).len(), 4 + 2 + 2 + MAX_TEXT - 1);
    }
}
