//! Doors to the same service: one for tests, one for a sandbox that runs for days, and one for mail that comes in.

pub mod http;
pub mod smtp;
#[cfg(feature = "wiremock")]
pub mod wiremock;
