//! Token store errors.

use std::error::Error as StdError;

/// An error of a token store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process or task holds the lock.
    #[error("the login is in use{}", .holder.as_ref().map(|holder| format!(" by {holder}")).unwrap_or_default())]
    Busy {
        /// The holder, if known, such as `process 4711 (idempost emails list), for 12 s`.
        holder: Option<String>,
    },
    /// The stored data is not a valid record. It is unchanged.
    #[error("the stored login can't be read: {reason}")]
    Unreadable {
        /// Where and why; never a token.
        reason: String,
    },
    /// The store can't be reached or written.
    #[error("the token store is unavailable: {reason}")]
    Unavailable {
        /// The failed operation and its location.
        reason: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
}

impl StoreError {
    /// Creates an error for stored data that is invalid.
    pub fn invalid_data(reason: impl Into<String>) -> Self {
        Self::Unreadable { reason: reason.into() }
    }

    /// Creates an error for a store that can't be accessed.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), source: None }
    }

    /// Adds what happened before the failure.
    #[cfg(feature = "oauth")]
    pub(crate) fn after(self, what: &str) -> Self {
        match self {
            Self::Unavailable { reason, source } => {
                Self::Unavailable { reason: format!("{what}: {reason}"), source }
            }
            other => other,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        match self {
            Self::Unavailable { reason, .. } => Self::Unavailable { reason, source: Some(cause.into()) },
            other => other,
        }
    }
}
