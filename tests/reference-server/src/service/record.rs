//! What is kept of an exchange when it is over, and the headers that every answer carries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, header};
use uuid::Uuid;

use super::Service;
use crate::lock::read;
use crate::news::What;
use crate::ratelimit::Allowance;
use crate::resources::logs::{Entry, kept};
use crate::state::Tenant;
use crate::state::requests::{RecordedRequest, packed};

/// How many headers a response has in most cases, with those that the server of a mount adds.
const HEADERS: usize = 8;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

impl Service {
    pub(super) fn log(&self, tenant: &Arc<Tenant>, request: &Request<Bytes>, response: &Response<Bytes>) {
        let user_agent = request.headers().get(header::USER_AGENT);
        let entry = Entry {
            id: self.request_ids.next(),
            created_at: self.clock.now(),
            endpoint: request.uri().path().to_owned(),
            method: request.method().clone(),
            response_status: response.status().as_u16(),
            request_body: kept(request.uri().path(), request.body()),
            response_body: kept(request.uri().path(), response.body()),
            user_agent: user_agent.map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned()),
        };
        self.state.log(tenant, entry);
    }

    /// Adds the headers that every response has. Those of a scripted one win over them.
    pub(super) fn finish_headers(&self, response: &mut Response<Bytes>, allowance: Allowance) {
        let headers = response.headers_mut();
        headers.reserve(HEADERS);
        let mut id = Uuid::encode_buffer();
        let id = self.request_ids.next().hyphenated().encode_lower(&mut id);
        allowance.announce(headers);
        if let Ok(id) = HeaderValue::from_str(id) {
            headers.entry(X_REQUEST_ID).or_insert(id);
        }
    }

    pub(super) fn record(&self, request: &Request<Bytes>, response: &Response<Bytes>) {
        let recorded = RecordedRequest {
            number: 0,
            received_at: self.clock.now(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().map(str::to_owned),
            headers: packed(request.headers()),
            body: request.body().clone(),
            status: response.status(),
            answer_headers: response.headers().clone(),
            answer_body: response.body().clone(),
            bodies_dropped: false,
        };
        for listener in read(&self.request_listeners).clone() {
            // The request is answered; whatever a listener does changes nothing about that.
            let _ = catch_unwind(AssertUnwindSafe(|| listener(&recorded)));
        }
        self.state.requests.record(recorded);
        // Whose it was is found out by whoever looks; many a refused one was nobody's.
        self.news.tell_all(What::Request);
    }
}
