//! The idempost sandbox: the reference server with a user interface, for tests in any language.
//!
//! It extends the service of [`idempost_reference_server`] with the inbox page, the mail check, Mailpit's API, SMTP, and state that survives a
//! restart. `idempost sandbox serve` is designed to run for days. Rust tests that need none of that can depend on the reference server alone, which
//! compiles in half the time.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let server = idempost_sandbox::start(idempost_sandbox::Settings::default()).await;
//! // A browser finds the inbox page at this address.
//! println!("{}/_/", server.base_url());
//! # });
//! ```
//!
//! # Modules
//!
//! | module, bottom to top | contents |
//! |---|---|
//! | [`check`] | the mail check: mail client support, links, size, leftover placeholders |
//! | `inbox` | the inbox page and its data; Mailpit's API |
//! | `routes` | the routes of the sandbox |
//! | [`persistence`] | state that survives a restart |
//! | [`tls`], [`smtp`] | the SMTP listener |

pub mod check;
mod inbox;
pub mod persistence;
mod routes;
pub mod smtp;
pub mod tls;

#[cfg(test)]
#[path = "../../tests/reference-server/src/cpu_time.rs"]
mod cpu_time;

use std::sync::Arc;

pub use idempost_reference_server::{
    AllowList, CapturedMail, Clock, ClockStart, Compat, FetchError, FetchJob, Fetched, NotReceived,
    OAuthClient, Outgoing, Posted, RecordedRequest, ReferenceServer, Relay, RelayError, Service, Settings,
    WebhookPost, faults, mount,
};

/// Creates a sandbox with an empty state.
pub fn service(settings: Settings) -> Arc<Service> {
    Service::with_routes(settings, &routes::ROUTES)
}

/// Starts a sandbox with an empty state on 127.0.0.1, using `hyper`. It stops when the returned value is dropped.
///
/// # Panics
/// If no socket can be bound on 127.0.0.1.
pub async fn start(settings: Settings) -> ReferenceServer {
    ReferenceServer::start_http_service(service(settings)).await
}
