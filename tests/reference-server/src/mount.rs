//! Doors to the same service: one for tests, one for a sandbox that runs for days, and one for mail.

pub mod http;
pub mod smtp;
pub mod tls;
#[cfg(feature = "wiremock")]
pub mod wiremock;
