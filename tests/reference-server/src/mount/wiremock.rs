//! The mount for tests: a `wiremock` server that responds with the service.
//!
//! It handles one request at a time and can't drop a connection; a scripted fault that requires this responds with 500 and a message that
//! says so. Such tests use the [HTTP mount](crate::mount::http).

use std::sync::Arc;

use ::http::StatusCode;
use bytes::Bytes;
use wiremock::{Request, Respond, ResponseTemplate};

use crate::service::{Service, outbound};

/// Makes a `wiremock` server respond with this service.
#[derive(Clone, Debug)]
pub struct Mounted(pub Arc<Service>);

impl Respond for Mounted {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut builder = ::http::Request::builder().method(request.method.clone()).uri(target(request));
        if let Some(headers) = builder.headers_mut() {
            *headers = request.headers.clone();
        }
        let Ok(request) = builder.body(Bytes::copy_from_slice(&request.body)) else {
            return ResponseTemplate::new(StatusCode::BAD_REQUEST);
        };
        let reply = self.0.reply(request);
        if tokio::runtime::Handle::try_current().is_ok() {
            outbound::run_all(&self.0);
        }
        let wire = reply.wire();
        if wire.cut.is_some() || wire.stalled {
            return ResponseTemplate::new(StatusCode::INTERNAL_SERVER_ERROR)
                .set_body_string("This fault drops the connection, which needs the HTTP mount.");
        }
        let (parts, body) = reply.into_response().into_parts();
        let mut template = ResponseTemplate::new(parts.status).set_body_bytes(body);
        for (name, value) in &parts.headers {
            template = template.append_header(name, value);
        }
        template.set_delay(wire.delay)
    }
}

fn target(request: &Request) -> String {
    match request.url.query() {
        Some(query) => format!("{}?{query}", request.url.path()),
        None => request.url.path().to_owned(),
    }
}
