//! Listeners for the service: one for tests, one for long-running sandboxes, and one for SMTP.

pub mod http;
pub mod smtp;
pub mod tls;
#[cfg(feature = "wiremock")]
pub mod wiremock;
