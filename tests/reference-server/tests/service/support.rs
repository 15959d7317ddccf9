//! Helpers that send requests to the service and read its responses.

use std::sync::{Arc, Barrier, LazyLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use idempost_conformance::contract::{self, Contract, Successes};
use idempost_reference_server::{CapturedMail, ClockStart, Posted, ReferenceServer, Service, Settings};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_rustls::rustls::crypto::ring;

use crate::independent_parser::IndependentParser;
use crate::response_mutants;

pub(crate) const KEY: &str = "sb_test";
/// A well-formed ID that names nothing.
pub(crate) const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";
/// The keys that a template, an email and a contact property can't use.
pub(crate) const RESERVED_KEYS: [&str; 8] = [
    "FIRST_NAME",
    "LAST_NAME",
    "EMAIL",
    "UNSUBSCRIBE_URL",
    "SERVICE_UNSUBSCRIBE_URL",
    "RESEND_UNSUBSCRIBE_URL",
    "contact",
    "this",
];

/// Whether to search more than each run can afford: `.ci/run models`.
pub(crate) fn exhaustive() -> bool {
    std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some()
}

/// Waits until a condition holds.
pub(crate) async fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_mins(1), "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Runs both at the same time.
pub(crate) fn race(one: impl FnOnce() + Send, other: impl FnOnce() + Send) {
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            one();
        });
        start.wait();
        other();
    });
}

/// The `Authorization` header of Basic authentication.
pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// A client without proxies.
pub(crate) fn http_client() -> reqwest::Client {
    // Fails only if another test has installed it.
    let _ = ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().timeout(Duration::from_mins(5)).build().unwrap()
}

pub(crate) struct Sandbox {
    pub(crate) service: Arc<Service>,
    key: String,
    /// Fails the test when the sandbox is dropped if a mail didn't match its email.
    _readers: Option<IndependentParser>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

pub(crate) struct Ask<'a> {
    sandbox: &'a Sandbox,
    method: Method,
    path: String,
    key: Option<String>,
    headers: Vec<(&'static str, String)>,
}

/// A minimal valid email.
pub(crate) fn email() -> Value {
    json!({"from": "Acme <hi@acme.test>", "to": "ada@example.com", "subject": "Hello", "text": "It works"})
}

/// The minimal email with one field replaced, also by `null`.
pub(crate) fn email_with(field: &str, value: impl Into<Value>) -> Value {
    let mut email = email();
    email[field] = value.into();
    email
}

/// The minimal email with some fields replaced; `null` removes one.
pub(crate) fn email_of(fields: &Value) -> Value {
    merged(email(), fields)
}

/// An object with some fields replaced; `null` removes one.
pub(crate) fn merged(mut object: Value, fields: &Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        if value.is_null() {
            object.as_object_mut().unwrap().remove(name);
        } else {
            object[name] = value.clone();
        }
    }
    object
}

impl Sandbox {
    /// A service with a frozen clock.
    pub(crate) fn new() -> Self {
        Self::with(&Settings::default())
    }

    pub(crate) fn with(settings: &Settings) -> Self {
        let noon: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        Self::over(idempost_sandbox::service(Settings {
            clock: ClockStart::Frozen(noon),
            ..settings.clone()
        }))
    }

    /// The service of a server.
    pub(crate) fn of(server: &ReferenceServer) -> Self {
        Self::over(Arc::clone(server.service()))
    }

    /// Wraps an existing service.
    pub(crate) fn over(service: Arc<Service>) -> Self {
        Self { _readers: Some(IndependentParser::for_service(&service)), ..Self::without_reader(service) }
    }

    /// A sandbox without the independent parser.
    pub(crate) fn unread() -> Self {
        let noon: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        let settings = Settings { clock: ClockStart::Frozen(noon), ..Settings::default() };
        Self::without_reader(idempost_sandbox::service(settings))
    }

    fn without_reader(service: Arc<Service>) -> Self {
        Self { service, key: KEY.to_owned(), _readers: None }
    }

    /// The same sandbox with the key of another account.
    pub(crate) fn account(&self, key: &str) -> Self {
        Self { key: key.to_owned(), ..Self::without_reader(Arc::clone(&self.service)) }
    }

    pub(crate) fn ask(&self, method: Method, path: impl Into<String>) -> Ask<'_> {
        Ask { sandbox: self, method, path: path.into(), key: Some(self.key.clone()), headers: Vec::new() }
    }

    pub(crate) fn get(&self, path: impl Into<String>) -> Answer {
        self.ask(Method::GET, path).send(Bytes::new())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(Method::POST, path).json(body)
    }

    pub(crate) fn patch(&self, path: impl Into<String>, body: &Value) -> Answer {
        self.ask(Method::PATCH, path).json(body)
    }

    /// A POST without a body.
    pub(crate) fn act(&self, path: impl Into<String>) -> Answer {
        self.ask(Method::POST, path).send("")
    }

    pub(crate) fn delete(&self, path: impl Into<String>) -> Answer {
        self.ask(Method::DELETE, path).send("")
    }

    /// Reads a path, or a link of the service, without a key.
    pub(crate) fn visit(&self, link: &str) -> Answer {
        let path = link.strip_prefix("http://sandbox.invalid").unwrap_or(link);
        self.ask(Method::GET, path).no_key().send("")
    }

    /// Creates a record; returns its ID.
    #[track_caller]
    pub(crate) fn created(&self, path: &str, body: &Value) -> String {
        let answer = self.post(path, body);
        assert!(answer.status.is_success(), "{path}: {}", answer.text());
        answer.id()
    }

    /// The items of a list.
    #[track_caller]
    pub(crate) fn items(&self, path: impl Into<String>) -> Vec<Value> {
        self.get(path).expect_status(200).items()
    }

    /// A text field of all items of a list.
    #[track_caller]
    pub(crate) fn column(&self, path: impl Into<String>, field: &str) -> Vec<String> {
        self.get(path).expect_status(200).column(field)
    }

    /// The IDs of a list.
    #[track_caller]
    pub(crate) fn ids(&self, path: impl Into<String>) -> Vec<String> {
        self.column(path, "id")
    }

    /// Creates a webhook for these events.
    #[track_caller]
    pub(crate) fn subscribe(&self, events: &[&str]) -> Answer {
        let webhook = json!({ "endpoint": "http://127.0.0.1:9/hook", "events": events });
        self.post("/webhooks", &webhook).expect_status(201)
    }

    /// The events that are due to webhooks; each is delivered.
    pub(crate) fn delivered(&self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(post) = self.service.next_post() {
            events.push(serde_json::from_slice(&post.body).unwrap());
            self.service.finish_post(post, Posted { status: Some(200), response: String::new() });
        }
        events
    }

    /// Publishes a new template; returns its ID.
    pub(crate) fn published(&self, template: &Value) -> String {
        let id = self.created("/templates", template);
        self.act(format!("/templates/{id}/publish")).expect_status(200);
        id
    }

    /// Records an event of a captured mail.
    pub(crate) fn trigger(&self, mail: &str, kind: &str, detail: &Value) {
        let event = json!({ "type": kind, "detail": detail });
        self.post(&format!("/_/messages/{mail}/events"), &event).expect_status(201);
    }

    /// Sends a broadcast to new contacts of a new segment with the same name, and lets the simulated outcomes pass. Its HTML has two links, the
    /// second one to unsubscribe. Returns its ID.
    pub(crate) fn broadcast(&self, name: &str, addresses: &[&str]) -> String {
        let segment = self.created("/segments", &json!({ "name": name }));
        for address in addresses {
            let contact = json!({ "email": address, "segments": [{ "id": segment }] });
            self.created("/contacts", &contact);
        }
        let html = "<a href='https://acme.test/pricing'>Pricing</a> <a href='{{{SERVICE_UNSUBSCRIBE_URL}}}'>Unsubscribe</a>";
        let message = json!({
            "segment_id": segment, "from": "news@acme.test", "subject": "s", "html": html, "name": name, "send": true,
        });
        let id = self.created("/broadcasts", &message);
        self.advance(100);
        id
    }

    /// Sends an email that must be accepted; returns its id.
    pub(crate) fn sent(&self, email: &Value) -> String {
        self.post("/emails", email).expect_status(200).id()
    }

    /// Sends an email that must be rejected; nothing may be captured.
    pub(crate) fn refused(&self, email: &Value) -> Answer {
        let before = self.mails().len();
        let answer = self.post("/emails", email);
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert_eq!(self.mails().len(), before, "a rejected email was captured");
        answer
    }

    pub(crate) fn record(&self, id: &str) -> Value {
        self.get(format!("/emails/{id}")).expect_status(200).json()
    }

    pub(crate) fn last_event(&self, id: &str) -> String {
        self.record(id)["last_event"].as_str().unwrap().to_owned()
    }

    pub(crate) fn mails(&self) -> Vec<CapturedMail> {
        self.service.mails(&self.key)
    }

    /// The only captured mail.
    pub(crate) fn mail(&self) -> CapturedMail {
        let mut mails = self.mails();
        assert_eq!(mails.len(), 1, "expected one captured mail");
        mails.remove(0)
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.service.clock().advance(Duration::from_secs(seconds));
    }
}

impl Ask<'_> {
    pub(crate) fn key(mut self, key: &str) -> Self {
        self.key = Some(key.into());
        self
    }

    pub(crate) fn no_key(mut self) -> Self {
        self.key = None;
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn json(self, body: &Value) -> Answer {
        self.send(body.to_string())
    }

    pub(crate) fn send(self, body: impl Into<Bytes>) -> Answer {
        let mut request = Request::builder().method(self.method).uri(self.path);
        if let Some(key) = self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        let request = request.body(body.into()).unwrap();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        // A scripted response may be any.
        let scripted = self.sandbox.service.faults().pending() > 0;
        let (parts, body) = self.sandbox.service.handle(request).into_parts();
        let answer = Answer { status: parts.status, headers: parts.headers, body };
        if scripted && !path.starts_with("/_") { answer } else { answer.checked(&method, &path) }
    }
}

/// The contract of the sandbox's own routes, compiled once.
fn own_routes() -> &'static Successes {
    static SUCCESSES: LazyLock<Successes> = LazyLock::new(|| {
        let service = idempost_sandbox::service(Settings::default());
        let document = service.handle(Request::get("/_/openapi.json").body(Bytes::new()).unwrap());
        Successes::compile(serde_json::from_slice(document.body()).unwrap())
    });
    &SUCCESSES
}

/// Expects a record to have every field of an item, with the same value.
#[track_caller]
pub(crate) fn expect_fields_of(item: &Value, record: &Value) {
    let fields = item.as_object().unwrap();
    assert!(!fields.is_empty(), "{item}");
    for (name, value) in fields {
        assert_eq!(record.get(name), Some(value), "{name}");
    }
}

impl Answer {
    /// Fails if this response to an operation isn't the contract's. Returns it, changed by a mutant if there is one.
    fn checked(self, method: &Method, path: &str) -> Self {
        let Self { status, headers, body } = self;
        let answer = contract::Answer { status, headers, body };
        if !response_mutants::is_active() && Contract::get().operation_id(method, path).is_some() {
            let breaches = Contract::get().breaches_of_answer(method, path, &answer);
            let text = String::from_utf8_lossy(&answer.body);
            assert!(breaches.is_empty(), "{method} {path}: {breaches:#?}\n{text}");
        }
        if status.is_success() {
            let breaches = own_routes().breaches(method, path, &answer);
            assert!(
                breaches.is_empty(),
                "{method} {path}: {breaches:#?}\n{}",
                String::from_utf8_lossy(&answer.body)
            );
        }
        let contract::Answer { status, headers, body } = response_mutants::apply(method, path, answer);
        Self { status, headers, body }
    }

    #[track_caller]
    pub(crate) fn expect_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn id(&self) -> String {
        self.json()["id"].as_str().unwrap().to_owned()
    }

    /// The items of a list.
    #[track_caller]
    pub(crate) fn items(&self) -> Vec<Value> {
        self.json()["data"].as_array().unwrap_or_else(|| panic!("{}", self.text())).clone()
    }

    /// A text field of all items of a list.
    #[track_caller]
    pub(crate) fn column(&self, field: &str) -> Vec<String> {
        self.items().iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
    }

    /// The IDs of the items of a list.
    #[track_caller]
    pub(crate) fn ids(&self) -> Vec<String> {
        self.column("id")
    }

    pub(crate) fn name(&self) -> String {
        self.json()["name"].as_str().unwrap().to_owned()
    }

    pub(crate) fn message(&self) -> String {
        self.json()["message"].as_str().unwrap().to_owned()
    }

    /// Expects an error with this status and name, whose message contains these words.
    #[track_caller]
    pub(crate) fn rejected(&self, status: u16, name: &str, words: &str) {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.name(), name, "{}", self.text());
        assert!(self.message().contains(words), "{words:?} is not in {}", self.message());
    }

    /// Expects a 422 whose message contains these words: about a missing field if they begin with `Missing`, otherwise about an invalid one.
    #[track_caller]
    pub(crate) fn invalid(&self, words: &str) {
        let name = if words.starts_with("Missing") { "missing_required_field" } else { "validation_error" };
        self.rejected(422, name, words);
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}
