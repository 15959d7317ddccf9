//! Listeners for the service: one for tests, and one for long-running sandboxes and faults on the wire.

pub mod http;
#[cfg(feature = "wiremock")]
pub mod wiremock;
