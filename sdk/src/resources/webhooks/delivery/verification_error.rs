//! Why a webhook request fails verification.

use std::time::Duration;

/// Why a webhook request fails verification. Respond with 401 and don't process the request.
///
/// Each message states the header, the rule and the offending value; none reveals the expected signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerificationError {
    /// A header is missing; `svix-id` if all headers are missing.
    #[error("`{header}` is missing")]
    Missing {
        /// The header's name.
        header: &'static str,
    },
    /// A header is empty.
    #[error("`{header}` must not be empty")]
    Empty {
        /// The header's name.
        header: &'static str,
    },
    /// A header is repeated, so it is unclear which value was signed.
    #[error("`{header}` must occur exactly once (found {count})")]
    Repeated {
        /// The header's name.
        header: &'static str,
        /// The number of occurrences.
        count: usize,
    },
    /// A header contains characters other than visible ASCII.
    #[error("`{header}` must be visible ASCII")]
    NotText {
        /// The header's name.
        header: &'static str,
    },
    /// Headers of both families are present, but with different values.
    #[error("the `svix-…` and `webhook-…` headers must agree (`{svix}` and `{webhook}` differ)")]
    Mixed {
        /// The first header that differs.
        svix: &'static str,
        /// Its counterpart in the other family.
        webhook: &'static str,
    },
    /// The timestamp isn't a number of seconds.
    #[error("`{header}` must be whole seconds since the Unix epoch (found {found:?})")]
    Timestamp {
        /// The header's name.
        header: &'static str,
        /// The value, truncated.
        found: String,
    },
    /// The request was signed too long ago: it may be a replay attack.
    #[error("`{header}` must be at most {} s in the past (found {} s)", tolerance.as_secs(), age.as_secs())]
    TooOld {
        /// The header's name.
        header: &'static str,
        /// The time since the request was signed.
        age: Duration,
        /// The maximum age.
        tolerance: Duration,
    },
    /// The request was signed in the future: one of the two clocks is wrong.
    #[error("`{header}` must be at most {} s in the future (found {} s)", tolerance.as_secs(), ahead.as_secs())]
    TooNew {
        /// The header's name.
        header: &'static str,
        /// How far in the future it was signed.
        ahead: Duration,
        /// The maximum difference.
        tolerance: Duration,
    },
    /// The request has more signatures than a secret rotation would explain.
    #[error("`{header}` must have at most {max} signatures (found {count})")]
    TooManySignatures {
        /// The header's name.
        header: &'static str,
        /// The number of signatures.
        count: usize,
        /// The maximum number of signatures.
        max: usize,
    },
    /// No signature has a version supported by this client.
    #[error("`{header}` must have a version 1 signature: `v1,` and 32 bytes as Base64 (found {found:?})")]
    NoSignature {
        /// The header's name.
        header: &'static str,
        /// The value, truncated.
        found: String,
    },
    /// No signature matches: the body was changed (or parsed and serialized again), or it was signed with another secret.
    #[error(
        "no signature matches the body and the secret (signatures in `{header}`: {found}, secrets tried: {secrets})"
    )]
    WrongSignature {
        /// The header's name.
        header: &'static str,
        /// The number of signatures of version 1.
        found: usize,
        /// The number of secrets.
        secrets: usize,
    },
}
