//! A sandbox per input, with a frozen clock and repeatable IDs.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use idempost_sandbox::{ClockStart, Service, Settings};
use serde_json::Value;

/// The API key of every request.
pub(crate) const KEY: &str = "sb_fuzz";

/// A sandbox.
pub(crate) struct Sandbox {
    pub(crate) service: Arc<Service>,
}

/// Settings without a network and without randomness.
pub(crate) fn settings() -> Settings {
    let now = UNIX_EPOCH + Duration::from_hours(492_348);
    Settings {
        seed: Some(1),
        fetch_attachments: false,
        fetch_remote: false,
        beta: true,
        max_memory: 64 << 20,
        clock: ClockStart::Frozen(now.try_into().expect("the year is 2026")),
        ..Settings::default()
    }
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { service: idempost_sandbox::service(settings()) }
    }

    /// Handles a request with the key. A failure of the service violates every property.
    pub(crate) fn send(&self, request: Request<Bytes>) -> Response<Bytes> {
        let described = format!("{} {}", request.method(), request.uri());
        let response = self.service.handle(request);
        let status = response.status();
        assert!(
            !status.is_server_error(),
            "{described}: {status} {}",
            String::from_utf8_lossy(response.body())
        );
        response
    }

    /// Handles a request with this body, as JSON if there is one.
    pub(crate) fn call(&self, method: &str, path: &str, body: Bytes) -> Response<Bytes> {
        let request =
            Request::builder().method(method).uri(path).header("authorization", format!("Bearer {KEY}"));
        self.send(request.body(body).expect("the method and the path are valid"))
    }

    /// The body of a successful `GET`.
    pub(crate) fn get(&self, path: &str) -> Bytes {
        let response = self.call("GET", path, Bytes::new());
        assert!(response.status() == StatusCode::OK, "{path}: {}", String::from_utf8_lossy(response.body()));
        response.into_body()
    }

    /// The JSON of a successful `GET`.
    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&self.get(path)).expect("the response is JSON")
    }
}
