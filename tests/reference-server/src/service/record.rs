//! Logs exchanges and adds the headers of every response.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, header};
use jiff::Timestamp;
use uuid::Uuid;

use crate::clock::Reading;
use crate::lock::read;
use crate::model::log::{Entry, recordable_body};
use crate::reply::Reply;
use crate::service::Service;
use crate::state::event_bus::BusEventKind;
use crate::state::ratelimit::Allowance;
use crate::state::requests::KeptRequest;
use crate::state::tenant::Tenant;
use crate::store::packed_headers::PackedHeaders;
use crate::wire::problem::HEADERS;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

impl Service {
    pub(super) fn log(&self, tenant: &Arc<Tenant>, request: &Request<Bytes>, response: &Response<Bytes>) {
        let user_agent = request.headers().get(header::USER_AGENT);
        let entry = Entry {
            id: self.state.next_request_id(),
            created_at: tenant.clock.now(),
            endpoint: request.uri().path().to_owned(),
            method: request.method().clone(),
            response_status: response.status().as_u16(),
            request_body: recordable_body(request.uri().path(), request.body()),
            response_body: recordable_body(request.uri().path(), response.body()),
            user_agent: user_agent.map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned()),
        };
        self.state.tenants.log(tenant, entry);
    }

    /// Adds the headers that every response has, by the clock of its account. A scripted response's own headers take precedence.
    pub(super) fn finish_headers(
        &self,
        response: &mut Response<Bytes>,
        allowance: Allowance,
        clock: Reading,
    ) {
        let headers = response.headers_mut();
        headers.reserve(HEADERS);
        let mut id = Uuid::encode_buffer();
        let id = self.state.next_request_id().hyphenated().encode_lower(&mut id);
        allowance.add_headers(headers);
        if let Ok(id) = HeaderValue::from_str(id) {
            headers.entry(X_REQUEST_ID).or_insert(id);
        }
        // If the clock shows the system's time, the mount adds the header.
        if !clock.is_system_time()
            && let Ok(date) =
                HeaderValue::try_from(clock.now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
        {
            headers.entry(header::DATE).or_insert(date);
        }
    }

    /// Records an exchange that started at `started`. `now` is the current time of its account.
    pub(super) fn record(
        &self,
        request: &Request<Bytes>,
        account: Option<String>,
        reply: &Reply,
        started: Instant,
        now: Timestamp,
    ) {
        let (response, delay) = (&reply.response, reply.wire().delay);
        let recorded = KeptRequest {
            number: 0,
            received_at: now,
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().map(str::to_owned),
            account,
            headers: PackedHeaders::new(request.headers()),
            body: request.body().clone(),
            duration: started.elapsed(),
            delay,
            status: response.status(),
            answer_headers: PackedHeaders::new(response.headers()),
            answer_body: response.body().clone(),
            bodies_dropped: false,
        };
        let listeners = read(&self.request_listeners).clone();
        if !listeners.is_empty() {
            let recorded = recorded.to_recorded();
            for listener in listeners {
                // The request is answered; a panicking listener must not change that.
                let _ = catch_unwind(AssertUnwindSafe(|| listener(&recorded)));
            }
        }
        self.state.tenants.requests.record(recorded);
        // Subscribers determine the tenant; a rejected request may have none.
        self.state.event_bus.publish_to_all(BusEventKind::Request);
    }
}
