//! Why a webhook request fails verification.

use std::time::Duration;

/// Why a webhook request fails verification. Respond with 401 and don't process it.
///
/// Each message says which header, which rule and what was found; none says what the right signature would have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerificationError {
    /// A header is not there. Where there is none at all, it is `svix-id`.
    #[error("`{header}` is required (found none)")]
    Missing {
        /// Its name.
        header: &'static str,
    },
    /// A header is there and empty.
    #[error("`{header}` must not be empty (found nothing)")]
    Empty {
        /// Its name.
        header: &'static str,
    },
    /// A header is repeated, so that the signed one is ambiguous.
    #[error("`{header}` must be there once (found {count} of them)")]
    Repeated {
        /// Its name.
        header: &'static str,
        /// How often it is there.
        count: usize,
    },
    /// A header holds something else than visible ASCII characters.
    #[error("`{header}` is ASCII text (found other bytes)")]
    NotText {
        /// Its name.
        header: &'static str,
    },
    /// Headers of both families are there, and they don't say the same.
    #[error(
        "the headers are `svix-…` or `webhook-…`, or both alike (found `{svix}` and another or no `{webhook}`)"
    )]
    Mixed {
        /// The first header of the one family that differs.
        svix: &'static str,
        /// Its counterpart in the other.
        webhook: &'static str,
    },
    /// The time is not a number of seconds.
    #[error("`{header}` is whole seconds since 1970 (found {found:?})")]
    Timestamp {
        /// The header's name.
        header: &'static str,
        /// What it holds, shortened.
        found: String,
    },
    /// It was signed too long ago: somebody may have kept it, and sends it again.
    #[error("`{header}` is at most {} s ago (found {} s ago)", tolerance.as_secs(), age.as_secs())]
    TooOld {
        /// The header's name.
        header: &'static str,
        /// How long ago it was signed.
        age: Duration,
        /// How long ago it may have been.
        tolerance: Duration,
    },
    /// It was signed in the future: one of the two clocks is wrong.
    #[error("`{header}` is at most {} s ahead (found {} s ahead)", tolerance.as_secs(), ahead.as_secs())]
    TooNew {
        /// The header's name.
        header: &'static str,
        /// How far ahead it was signed.
        ahead: Duration,
        /// How far ahead it may have been.
        tolerance: Duration,
    },
    /// There are more signatures than any rotation of secrets makes.
    #[error("`{header}` holds at most {most} signatures (found {count})")]
    TooManySignatures {
        /// The header's name.
        header: &'static str,
        /// How many it holds.
        count: usize,
        /// How many it may hold.
        most: usize,
    },
    /// None of the signatures is of a version that this client knows.
    #[error("`{header}` holds a signature of version 1: `v1,` and Base64 of 32 bytes (found {found:?})")]
    NoSignature {
        /// The header's name.
        header: &'static str,
        /// What it holds, shortened.
        found: String,
    },
    /// No signature fits: the body was changed on its way (or read and written again), or the secret is another one.
    #[error(
        "no signature fits the body and the secret (found {found} in `{header}`, secrets tried: {secrets})"
    )]
    WrongSignature {
        /// The header's name.
        header: &'static str,
        /// How many signatures of version 1 it holds.
        found: usize,
        /// How many secrets there are.
        secrets: usize,
    },
}
