//! Logs exchanges and adds the headers of every response.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, header};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::lock::read;
use crate::model::log::{Entry, recorded};
use crate::reply::Reply;
use crate::service::Service;
use crate::state::event_bus::BusEventKind;
use crate::state::ratelimit::Allowance;
use crate::state::requests::{RecordedRequest, packed};
use crate::state::tenant::Tenant;

/// The usual number of headers of a response, with those that a mount adds.
const HEADERS: usize = 8;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

impl Service {
    pub(super) fn log(&self, tenant: &Arc<Tenant>, request: &Request<Bytes>, response: &Response<Bytes>) {
        let user_agent = request.headers().get(header::USER_AGENT);
        let entry = Entry {
            id: self.state.next_request_id(),
            created_at: self.state.clock.now(),
            endpoint: request.uri().path().to_owned(),
            method: request.method().clone(),
            response_status: response.status().as_u16(),
            request_body: recorded(request.uri().path(), request.body()),
            response_body: recorded(request.uri().path(), response.body()),
            user_agent: user_agent.map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned()),
        };
        self.state.tenants.log(tenant, entry);
    }

    /// Adds the headers that every response has. A scripted response's own headers take precedence.
    pub(super) fn finish_headers(&self, response: &mut Response<Bytes>, allowance: Allowance) {
        let headers = response.headers_mut();
        headers.reserve(HEADERS);
        let mut id = Uuid::encode_buffer();
        let id = self.state.next_request_id().hyphenated().encode_lower(&mut id);
        allowance.announce(headers);
        if let Ok(id) = HeaderValue::from_str(id) {
            headers.entry(X_REQUEST_ID).or_insert(id);
        }
        // If the clock shows the system's time, the mount adds it.
        let now = self.state.clock.now();
        if now.duration_since(Timestamp::now()).abs() >= SignedDuration::from_secs(1)
            && let Ok(date) = HeaderValue::try_from(now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
        {
            headers.entry(header::DATE).or_insert(date);
        }
    }

    /// Records an exchange that started at `started`.
    pub(super) fn record(&self, request: &Request<Bytes>, reply: &Reply, started: Instant) {
        let (response, delay) = (reply.response(), reply.delay());
        let recorded = RecordedRequest {
            number: 0,
            received_at: self.state.clock.now(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().map(str::to_owned),
            headers: packed(request.headers()),
            body: request.body().clone(),
            duration: started.elapsed(),
            delay,
            status: response.status(),
            answer_headers: response.headers().clone(),
            answer_body: response.body().clone(),
            bodies_dropped: false,
        };
        for listener in read(&self.request_listeners).clone() {
            // The request is answered; a panicking listener must not change that.
            let _ = catch_unwind(AssertUnwindSafe(|| listener(&recorded)));
        }
        self.state.tenants.requests.record(recorded);
        // Subscribers determine the tenant; a rejected request may have none.
        self.state.event_bus.publish_to_all(BusEventKind::Request);
    }
}
