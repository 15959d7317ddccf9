//! Shared test support: the contract, a bench, a misbehaving peer, a user at a consent page, a webhook endpoint, and the
//! layers of a crate.
//!
//! Nothing here is part of the product. The tests themselves are in `tests/`.

pub mod bench;
pub mod contract;
pub mod layers;
pub mod peer;
pub mod person;
pub mod sink;
