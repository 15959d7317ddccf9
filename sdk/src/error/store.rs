//! Token store errors.

use std::error::Error as StdError;

/// What a store can fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else holds the lock.
    #[error("the login is in use{}", .holder.as_ref().map(|holder| format!(" by {holder}")).unwrap_or_default())]
    Busy {
        /// Who, if the store knows: `process 4711 (posthaste emails list), for 12 s`.
        holder: Option<String>,
    },
    /// What is kept can't be read as a record. It was left as it is.
    #[error("the stored login can't be read: {reason}")]
    Unreadable {
        /// Where, and what is wrong with it; never a token.
        reason: String,
    },
    /// The store can't be reached, or can't be written.
    #[error("the store of the login is not available: {reason}")]
    Unavailable {
        /// What was tried, and where.
        reason: String,
        /// The error underneath.
        #[source]
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
}

impl StoreError {
    /// What is kept is no record, and why.
    pub fn unreadable(reason: impl Into<String>) -> Self {
        Self::Unreadable { reason: reason.into() }
    }

    /// The store fails, and why.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), source: None }
    }

    /// Adds the error underneath.
    #[must_use]
    pub fn caused_by(self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        match self {
            Self::Unavailable { reason, .. } => Self::Unavailable { reason, source: Some(cause.into()) },
            other => other,
        }
    }
}
