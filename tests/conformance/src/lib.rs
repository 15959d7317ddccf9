//! What both sides of the service are checked with: the contract, a bench to try them on, a peer that misbehaves,
//! a person at a consent page, the endpoint of a webhook, and the layers of a crate.
//!
//! Nothing here is part of the product. The tests themselves are in `tests/`.

pub mod bench;
pub mod contract;
pub mod layers;
pub mod peer;
pub mod person;
pub mod sink;
