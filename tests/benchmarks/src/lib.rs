//! Sending one email to one peer in three ways: with the SDK, with reqwest alone, and with hyper alone.
//!
//! All three do the same: serialize a typed value to the same JSON, add the same headers with a new idempotency key, send over a kept-alive
//! connection, read the whole response and take the ID from it. And a list of 100,000 emails, streamed by the SDK and decoded by serde alone.

pub mod listing;
pub mod memory;
pub mod peer;
pub mod senders;
pub mod wire;
