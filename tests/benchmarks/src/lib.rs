//! One email, sent three ways to one peer: by the SDK, by reqwest alone, by hyper alone.
//!
//! The three do the same: write the same JSON from a typed value, add the same headers with a fresh idempotency key, send over one kept
//! connection, read the whole answer and take the id out of it. And a list of 100,000 emails, walked by the SDK and decoded by serde alone.

pub mod listing;
pub mod memory;
pub mod peer;
pub mod senders;
pub mod wire;
