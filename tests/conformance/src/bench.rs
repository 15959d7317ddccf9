//! The test bench: a reference server whose requests and responses are recorded.
//!
//! Every request and every response is validated against the contract when the bench is dropped, or earlier with
//! [`Bench::judge`]. A test that violates the contract on purpose marks each such request, and fails if a marked request doesn't.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use idempost::{
    Client, ClientBuilder,
    call::{RateLimit, RetryPolicy},
};
use idempost_reference_server::{CapturedMail, RecordedRequest, ReferenceServer, Service, Settings};
use serde_json::Value;

use crate::contract::{Answer, Contract, Request};

/// The header that tells the bench what to expect. It isn't part of the contract, and is removed before validation.
const EXPECT: &str = "x-conformance";

/// The expected violation of the contract by a request or its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// The request violates the contract, and the service rejects it with a 4xx.
    Refusal,
    /// The request violates the contract, but the service accepts it.
    Tolerance,
}

impl Expect {
    fn as_str(self) -> &'static str {
        match self {
            Self::Refusal => "refusal",
            Self::Tolerance => "tolerance",
        }
    }

    fn read(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(EXPECT)?;
        [Self::Refusal, Self::Tolerance].into_iter().find(|expect| text == expect.as_str())
    }
}

/// A reference server whose requests and responses are validated.
#[derive(Debug)]
pub struct Bench {
    server: ReferenceServer,
}

/// The response to a request that was made without the client.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// All headers.
    pub headers: HeaderMap,
    /// The body; `null` if it isn't JSON.
    pub json: Value,
}

impl Reply {
    /// The error's name; empty if there is none.
    pub fn name(&self) -> &str {
        self.json["name"].as_str().unwrap_or_default()
    }

    /// The error's message; empty if there is none.
    pub fn message(&self) -> &str {
        self.json["message"].as_str().unwrap_or_default()
    }
}

impl Bench {
    /// Creates a server with its own settings for each test.
    pub async fn start() -> Self {
        Self::with(Settings { seed: Some(0), beta: true, ..Settings::default() }).await
    }

    /// Creates a server with these settings; it logs enough requests to validate them.
    pub async fn with(settings: Settings) -> Self {
        let settings = Settings { max_memory: 16 << 30, keep_request_bytes: 1 << 30, ..settings };
        Self { server: idempost_sandbox::start(settings).await }
    }

    /// The server's base URL.
    pub fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// The service itself: its clock, faults and captured emails.
    pub fn service(&self) -> &Arc<Service> {
        self.server.service()
    }

    /// The captured emails, newest first.
    pub fn mails(&self) -> Vec<CapturedMail> {
        self.service().mails(&self.server.api_key())
    }

    /// The received requests, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.service().requests()
    }

    /// A client with full access and minimal retry delays.
    ///
    /// # Panics
    ///
    /// If the settings are invalid.
    pub fn client(&self) -> Client {
        self.builder().build().expect("the settings are valid")
    }

    /// The settings of [`client`](Self::client), for modification.
    pub fn builder(&self) -> ClientBuilder {
        let retry =
            RetryPolicy::default().base_delay(Duration::from_millis(1)).max_delay(Duration::from_millis(2));
        let builder = Client::builder().base_url(self.base_url()).api_key(self.server.api_key());
        builder.rate_limit(RateLimit::Off).retry(retry)
    }

    /// A request with full access, made without the client.
    pub fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let key = format!("Bearer {}", self.server.api_key());
        http::Request::builder().method(method).uri(path).header("authorization", key)
    }

    /// Passes a request to the service.
    ///
    /// # Panics
    ///
    /// If the request is invalid.
    pub fn ask(&self, request: http::request::Builder, body: impl Into<Bytes>) -> Reply {
        let response = self.service().handle(request.body(body.into()).expect("a request"));
        let json = serde_json::from_slice(response.body()).unwrap_or_default();
        Reply { status: response.status(), headers: response.headers().clone(), json }
    }

    /// Posts JSON that satisfies the contract.
    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.ask(self.json(path), body.to_string())
    }

    /// Posts JSON that violates the contract and must be rejected.
    pub fn post_wrong(&self, path: &str, body: &Value) -> Reply {
        self.ask(self.json(path).header(EXPECT, Expect::Refusal.as_str()), body.to_string())
    }

    /// Posts JSON that violates the contract but is accepted.
    pub fn post_odd(&self, path: &str, body: &Value) -> Reply {
        self.ask(self.json(path).header(EXPECT, Expect::Tolerance.as_str()), body.to_string())
    }

    fn json(&self, path: &str) -> http::request::Builder {
        self.request(Method::POST, path).header("content-type", "application/json")
    }

    /// Validates all requests and responses so far.
    ///
    /// # Panics
    ///
    /// If one of them violates the contract, or the test's expectation.
    pub fn judge(&self) {
        let requests = self.requests();
        let full = requests.len() >= self.service().settings().keep_requests;
        assert!(!full, "more requests than the server retains: the first ones can't be validated");
        let mut report = String::new();
        for (number, exchange) in requests.iter().enumerate() {
            for breach in breaches(exchange) {
                let _ = write!(report, "\n  request {number}, {} {}: ", exchange.method, exchange.path);
                report.push_str(&breach);
            }
        }
        assert!(report.is_empty(), "the contract is violated:{report}");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // A test that has already failed has its own message.
        if !std::thread::panicking() {
            self.judge();
        }
    }
}

/// Validates the requests of another test, both those handled by the service and those answered by a scripted fault.
///
/// # Panics
///
/// If one of them violates the contract.
pub fn judge_requests(service: &Service) {
    let judged = |exchange: &&RecordedRequest| {
        let status = exchange.status;
        !exchange.bodies_dropped && (status.is_success() || status.is_server_error())
    };
    for exchange in service.requests().iter().filter(judged) {
        let breaches = Contract::get().breaches_of_request(&request_of(exchange));
        assert!(breaches.is_empty(), "{} {}: {}", exchange.method, exchange.path, breaches.join("; "));
    }
}

/// The request in the form that is validated.
fn request_of(exchange: &RecordedRequest) -> Request {
    let mut headers = exchange.headers.clone();
    headers.remove(EXPECT);
    Request {
        method: exchange.method.clone(),
        path: exchange.path.clone(),
        query: exchange.query.clone().unwrap_or_default(),
        headers,
        body: exchange.body.clone(),
    }
}

fn breaches(exchange: &RecordedRequest) -> Vec<String> {
    if exchange.bodies_dropped {
        return vec!["is too large to be judged".to_owned()];
    }
    let expected = Expect::read(&exchange.headers);
    let request = request_of(exchange);
    let answer = Answer {
        status: exchange.status,
        headers: exchange.answer_headers.clone(),
        body: exchange.answer_body.clone(),
    };
    let contract = Contract::get();
    let of_request = contract.breaches_of_request(&request);
    let of_answer = || contract.breaches_of_answer(&request.method, &request.path, &answer);
    match expected {
        // The server doesn't read a body that is too large.
        None if answer.status == StatusCode::PAYLOAD_TOO_LARGE => of_answer(),
        None => [of_request, of_answer()].concat(),
        Some(expected) if of_request.is_empty() => {
            vec![format!("keeps the contract; a test marks it as one that breaks it ({expected:?})")]
        }
        Some(Expect::Refusal) if !answer.status.is_client_error() => {
            vec![format!(
                "violates the contract, and the response is {}: {}",
                answer.status,
                of_request.join("; ")
            )]
        }
        Some(Expect::Tolerance) if !answer.status.is_success() => {
            vec![format!("was expected to be accepted, and the response is {}", answer.status)]
        }
        Some(_) => of_answer(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn least() -> Value {
        json!({ "from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "text": "It works" })
    }

    #[tokio::test]
    async fn requests_and_responses_within_the_contract_pass() {
        let bench = Bench::start().await;
        bench.post("/emails", &least());
        bench.ask(bench.request(Method::GET, "/emails?limit=1"), Bytes::new());
        bench.post_wrong("/emails", &json!({}));
        bench.judge();
    }

    #[tokio::test]
    #[should_panic(expected = r#""replyTo":"help@acme.test"} is not valid under any of the schemas"#)]
    async fn a_misspelled_field_is_reported_even_if_the_server_accepts_it() {
        let bench = Bench::start().await;
        let mut email = least();
        email["replyTo"] = json!("help@acme.test");
        assert_eq!(bench.post("/emails", &email).status, 200);
    }

    #[tokio::test]
    #[should_panic(expected = "keeps the contract; a test marks it")]
    async fn an_undeclared_request_is_reported() {
        let bench = Bench::start().await;
        bench.post_wrong("/emails", &least());
    }

    #[tokio::test]
    #[should_panic(expected = "status 418")]
    async fn a_response_outside_of_the_contract_is_reported() {
        let bench = Bench::start().await;
        bench
            .service()
            .faults()
            .add_once(idempost_reference_server::faults::Action::http_response(418, "{}"));
        bench.post("/emails", &least());
    }
}
