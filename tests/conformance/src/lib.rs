//! What both sides of the service are checked with: the contract, a bench to try them on, and a peer that misbehaves.
//!
//! Nothing here is part of the product. The tests themselves are in `tests/`.

pub mod bench;
pub mod contract;
pub mod peer;
