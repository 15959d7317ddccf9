//! A scripted transport that checks the requests against the contract.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::Response;
pub(crate) use idempost::testing::Reply;
use idempost::{
    Client, ClientBuilder, Email,
    testing::{RecordedRequest, ScriptedTransport},
    transport::{
        BoxFuture, RequestDelivery, ResponseBody, Transport, TransportError, TransportErrorKind,
        TransportRequest,
    },
};
use idempost_conformance::contract;
use serde_json::json;

/// An email that violates no rule.
pub(crate) fn email() -> Email {
    Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("It works")
}

/// The response to an accepted email.
pub(crate) fn accepted() -> Reply {
    Reply::json(200, json!({"id": "e1"}))
}

/// A peer whose certificate isn't trusted.
pub(crate) fn untrusted() -> Reply {
    Reply::failure(RequestDelivery::NotSent, TransportErrorKind::Tls)
}

/// A body that can't be read to its end, before anything was sent.
pub(crate) fn unread() -> Reply {
    Reply::failure(RequestDelivery::NotSent, TransportErrorKind::Body)
}

/// A request that was sent and gets no response.
pub(crate) fn silent() -> Reply {
    Reply::stall(RequestDelivery::Unknown)
}

#[derive(Clone)]
pub(crate) struct Script {
    transport: ScriptedTransport,
    odd: bool,
}

/// Fails the test if a request violates the contract.
async fn judge(request: &TransportRequest) {
    let pieces: Vec<Bytes> = request.body.stream().try_collect().await.unwrap();
    let judged = contract::Request {
        method: request.method.clone(),
        path: request.url.path().trim_start_matches("/prefix").to_owned(),
        query: request.url.query().unwrap_or_default().to_owned(),
        headers: request.headers.clone(),
        body: pieces.concat().into(),
    };
    let breaches = contract::Contract::get().breaches_of_request(&judged);
    assert!(breaches.is_empty(), "{} {}: {}", judged.method, judged.path, breaches.join("; "));
}

impl Script {
    pub(crate) fn of(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { transport: ScriptedTransport::new(replies), odd: false }
    }

    /// For tests that violate the contract on purpose.
    pub(crate) fn odd(mut self) -> Self {
        self.odd = true;
        self
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder().base_url("http://127.0.0.1:9/prefix/").api_key("re_test").transport(self.clone())
    }

    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    pub(crate) fn seen(&self) -> Vec<RecordedRequest> {
        self.transport.take_requests()
    }
}

impl Transport for Script {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            if !self.odd {
                judge(&request).await;
            }
            self.transport.send(request).await
        })
    }
}
