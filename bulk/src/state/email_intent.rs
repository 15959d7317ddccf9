//! What the queue's ledger records about an email of a split batch, and its state here.

use super::EmailState;
use crate::{
    journal::{EmailOutcome, MAX_TEXT},
    queue::EmailIntent,
};

impl EmailIntent {
    /// Returns the email's outcome, if it has one.
    pub(crate) fn outcome(&self) -> Option<EmailOutcome> {
        match self {
            Self::NotSent | Self::Open(_) => None,
            Self::Accepted(id) => Some(EmailOutcome::Accepted(id.as_str().into())),
            Self::Rejected(message) => Some(EmailOutcome::Rejected(message.as_str().into())),
            Self::Unknown => Some(EmailOutcome::Unknown),
        }
    }
}

impl From<&EmailOutcome> for EmailIntent {
    fn from(outcome: &EmailOutcome) -> Self {
        match outcome {
            EmailOutcome::Accepted(id) => Self::Accepted(id.to_string()),
            EmailOutcome::Rejected(message) => {
                Self::Rejected(message[..message.floor_char_boundary(MAX_TEXT)].to_owned())
            }
            EmailOutcome::Unknown => Self::Unknown,
            EmailOutcome::Unsent => Self::NotSent,
        }
    }
}

impl From<&EmailState> for EmailIntent {
    fn from(state: &EmailState) -> Self {
        match state {
            EmailState::Fresh => Self::NotSent,
            EmailState::Maybe(attempted) => Self::Open(attempted.first.0),
            EmailState::Settled(outcome) => outcome.into(),
        }
    }
}
