//! What is kept of an exchange when it is over, and the headers that every answer carries.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header};

use crate::lock::read;
use crate::model::log::{Entry, kept};
use crate::service::Service;
use crate::state::event_bus::BusEventKind;
use crate::state::faults::Wire;
use crate::state::ratelimit::Allowance;
use crate::state::requests::RecordedRequest;
use crate::state::tenant::Tenant;

impl Service {
    pub(super) fn log(&self, tenant: &Arc<Tenant>, request: &Request<Bytes>, response: &Response<Bytes>) {
        let user_agent = request.headers().get(header::USER_AGENT);
        let entry = Entry {
            id: self.state.next_request_id(),
            created_at: self.state.clock.now(),
            endpoint: request.uri().path().to_owned(),
            method: request.method().to_string(),
            response_status: response.status().as_u16(),
            request_body: kept(request.uri().path(), request.body()),
            response_body: kept(request.uri().path(), response.body()),
            user_agent: user_agent.map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned()),
        };
        self.state.tenants.log(tenant, entry);
    }

    pub(super) fn finish_headers(&self, response: &mut Response<Bytes>, allowance: Allowance) {
        // Headers of a scripted answer win over those that every answer carries.
        let own = std::mem::take(response.headers_mut());
        let headers = response.headers_mut();
        allowance.announce(headers);
        if let Ok(id) = HeaderValue::try_from(self.state.next_request_id().to_string()) {
            headers.insert("x-request-id", id);
        }
        overlay(headers, own);
    }

    /// Keeps an exchange that began at `started`.
    pub(super) fn record(&self, request: &Request<Bytes>, response: &Response<Bytes>, started: Instant) {
        let delay = response.extensions().get::<Wire>().map(|wire| wire.delay).unwrap_or_default();
        let recorded = RecordedRequest {
            number: 0,
            received_at: self.state.clock.now(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().map(str::to_owned),
            headers: request.headers().clone(),
            body: request.body().clone(),
            duration: started.elapsed(),
            delay,
            status: response.status(),
            answer_headers: response.headers().clone(),
            answer_body: response.body().clone(),
            bodies_dropped: false,
        };
        for listener in read(&self.request_listeners).clone() {
            // The request is answered; whatever a listener does changes nothing about that.
            let _ = catch_unwind(AssertUnwindSafe(|| listener(&recorded)));
        }
        self.state.tenants.requests.record(recorded);
        // Whose it was is found out by whoever looks; many a refused one was nobody's.
        self.state.event_bus.publish_to_all(BusEventKind::Request);
    }
}

fn overlay(headers: &mut HeaderMap, own: HeaderMap) {
    let mut current = None;
    for (name, value) in own {
        match name {
            Some(name) => {
                headers.insert(name.clone(), value);
                current = Some(name);
            }
            // Further values of the name before.
            None => {
                if let Some(name) = &current {
                    headers.append(name.clone(), value);
                }
            }
        }
    }
}
