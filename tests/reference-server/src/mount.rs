//! Two doors to the same service: one for tests, one for a sandbox that runs for days.

pub mod http;
#[cfg(feature = "wiremock")]
pub mod wiremock;
