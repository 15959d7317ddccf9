//! A service with a record of each kind, whose IDs are used in the paths and bodies of requests.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, StatusCode};
use idempost_conformance::contract::Answer;
use idempost_reference_server::{Service, Settings};
use serde_json::{Value, json};

use crate::operations::{Described, nameless};

/// The key of all requests.
pub(super) const KEY: &str = "sb_test";
pub(super) const FORM: &str = "multipart/form-data; boundary=b0undary";
const OWNER: &str = "sb_owner";

const MAIL: &str = concat!(
    "From: ada@example.com\r\nTo: support@seed.test\r\nSubject: Order\r\nMessage-ID: <m1@example.com>\r\nMIME-Version: 1.0\r\n",
    "Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\nContent-Type: text/plain\r\n\r\nHello\r\n",
    "--m\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=a.csv\r\n\r\na,b\r\n--m--\r\n",
);

/// A request to an operation.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub(super) method: Method,
    /// With its query.
    pub(super) path: String,
    pub(super) credential: Option<String>,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Bytes,
}

impl Probe {
    pub(super) fn new(method: Method, path: impl Into<String>) -> Self {
        let credential = Some(KEY.to_owned());
        Self { method, path: path.into(), credential, headers: Vec::new(), body: Bytes::new() }
    }

    pub(super) fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub(super) fn body(self, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..self }
    }

    pub(super) fn credential(self, credential: Option<&str>) -> Self {
        Self { credential: credential.map(str::to_owned), ..self }
    }

    /// Sets a header.
    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.into()));
        self
    }

    /// The path without its query.
    pub(super) fn bare_path(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

pub(super) struct World {
    pub(super) service: Arc<Service>,
    /// The IDs by the pattern of the path that ends with them, or by the name of a field.
    known: BTreeMap<&'static str, String>,
}

impl World {
    pub(super) fn new(settings: Settings) -> Self {
        let service = Service::new(Settings { seed: Some(0), beta: true, ..settings });
        service.clock().freeze();
        let mut world = Self { service, known: BTreeMap::new() };
        world.add_domains();
        world.add_mail();
        world.add_audience();
        world.add_content();
        world.add_inbox();
        world.add_account();
        world
    }

    pub(super) fn send(&self, probe: &Probe) -> Answer {
        send(&self.service, probe)
    }

    /// The path of an operation, with the IDs of this world's records.
    pub(super) fn path(&self, operation: &Described) -> String {
        let pattern = nameless(&operation.path);
        let mut path = String::new();
        let mut walked = String::new();
        for segment in pattern.split('/').skip(1) {
            walked = format!("{walked}/{segment}");
            let own = format!("{} {walked}", operation.id);
            let id = (segment == "{}").then(|| self.known(&own).or_else(|| self.known(&walked)));
            let id = id.map(|id| id.unwrap_or_else(|| panic!("no record for {walked}")));
            path = format!("{path}/{}", id.unwrap_or(segment));
        }
        path
    }

    /// The body with the IDs of this world's records in place of others.
    pub(super) fn adapted(&self, body: &Value, field: &str) -> Value {
        match body {
            Value::Object(fields) => {
                let adapted = fields.iter().map(|(name, value)| {
                    let name_of_id = if name == "id" { field } else { name };
                    (name.clone(), self.adapted(value, name_of_id))
                });
                Value::Object(adapted.collect())
            }
            Value::Array(items) => items.iter().map(|item| self.adapted(item, field)).collect(),
            Value::String(text) if is_id(text) || field == "template" => {
                self.known(field).map_or_else(|| body.clone(), Value::from)
            }
            _ => body.clone(),
        }
    }

    /// Deletes the contact properties.
    pub(super) fn remove_properties(&self) {
        for property in
            self.done(Method::GET, "/contact-properties", &Value::Null)["data"].as_array().unwrap()
        {
            self.done(Method::DELETE, &format!("/contact-properties/{}", id_of(property)), &Value::Null);
        }
    }

    fn known(&self, name: &str) -> Option<&str> {
        self.known.get(name).map(String::as_str)
    }

    fn know(&mut self, names: &[&'static str], id: &str) {
        self.known.extend(names.iter().map(|name| (*name, id.to_owned())));
    }

    /// Makes a request that must succeed, and returns its body.
    fn done(&self, method: Method, path: &str, body: &Value) -> Value {
        self.done_by(KEY, method, path, body)
    }

    fn done_by(&self, key: &str, method: Method, path: &str, body: &Value) -> Value {
        let answer = self.send(&Probe::new(method, path).json(body).credential(Some(key)));
        assert!(answer.status.is_success(), "{path}: {}", String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    fn created(&self, path: &str, body: &Value) -> String {
        id_of(&self.done(Method::POST, path, body))
    }

    /// The ID of the first item of a list.
    fn first(&self, path: &str) -> String {
        id_of(&self.done(Method::GET, path, &Value::Null)["data"][0])
    }

    fn add_mail(&mut self) {
        let webhook = self.created(
            "/webhooks",
            &json!({"endpoint": "http://127.0.0.1:9/hook", "events": ["email.sent", "email.received"]}),
        );
        let email = json!({
            "from": "hi@seed.test", "to": "grace@example.com", "subject": "Hello", "text": "It works",
            "attachments": [{"filename": "a.txt", "content": "YQ=="}],
        });
        let sent = self.created("/emails", &email);
        let attachment = self.first(&format!("/emails/{sent}/attachments"));
        let mut later = email;
        later["scheduled_at"] = json!("in 1 day");
        let scheduled = self.created("/emails", &later);
        let received = self.service.receive(KEY, &["ops@seed.test"], MAIL).unwrap();
        let received_attachment = self.first(&format!("/emails/receiving/{received}/attachments"));
        let event = self.first(&format!("/webhooks/{webhook}/events"));
        self.know(&["/webhooks/{}"], &webhook);
        self.know(&["/webhooks/{}/events/{}"], &event);
        self.know(&["/emails/{}"], &sent);
        self.know(&["update_email /emails/{}", "cancel_email /emails/{}"], &scheduled);
        self.know(&["/emails/{}/attachments/{}"], &attachment);
        self.know(&["/emails/receiving/{}"], &received);
        self.know(&["/emails/receiving/{}/attachments/{}"], &received_attachment);
    }

    fn add_audience(&mut self) {
        let segment = self.created("/segments", &json!({"name": "Seed"}));
        let topic = self.created("/topics", &json!({"name": "Seed", "default_subscription": "opt_in"}));
        self.created("/contact-properties", &json!({"key": "orders", "type": "number"}));
        let city = self.created("/contact-properties", &json!({"key": "city", "type": "string"}));
        let known = json!({
            "email": "grace@example.com", "segments": [{"id": segment}],
            "topics": [{"id": topic, "subscription": "opt_in"}],
        });
        let contact = self.created("/contacts", &known);
        self.created("/contacts", &json!({"email": "eve@example.com"}));
        let import = self.send(&import("email\nx@example.com\n", &[]));
        let import = id_of(&serde_json::from_slice(&import.body).unwrap());
        let suppressed = self.created("/suppressions", &json!({"email": "no@example.com"}));
        self.know(&["/segments/{}", "/audiences/{}", "/contacts/{}/segments/{}"], &segment);
        self.know(&["segment_id", "segments", "audience_id"], &segment);
        self.know(&["/topics/{}", "topic_id", "topics"], &topic);
        self.know(&["/contact-properties/{}"], &city);
        self.know(&["/contacts/{}", "/audiences/{}/contacts/{}", "contact_id"], &contact);
        self.know(&["/contacts/imports/{}"], &import);
        self.know(&["/suppressions/{}", "ids"], &suppressed);
    }

    fn add_content(&mut self) {
        let variables = json!([
            {"key": "NAME", "type": "string", "fallback_value": "friend"},
            {"key": "CREDIT", "type": "number", "fallback_value": 0},
            {"key": "PRODUCT", "type": "string", "fallback_value": "x"},
            {"key": "PLAN", "type": "string", "fallback_value": "x"},
        ]);
        for alias in ["seed", "welcome-mail"] {
            let template = json!({
                "name": alias, "alias": alias, "from": "hi@seed.test", "subject": "{{{NAME}}}",
                "html": "<p>{{{CREDIT}}} {{{PRODUCT}}} {{{PLAN}}}</p>", "variables": variables,
            });
            let id = self.created("/templates", &template);
            self.done(Method::POST, &format!("/templates/{id}/publish"), &json!({}));
            self.know(&["/templates/{}", "template"], &id);
        }
        let mut broadcast = json!({
            "segment_id": self.known["segment_id"], "from": "hi@seed.test", "subject": "News", "text": "News",
        });
        let draft = self.created("/broadcasts", &broadcast);
        let sent = self.created("/broadcasts", &broadcast);
        self.done(Method::POST, &format!("/broadcasts/{sent}/send"), &json!({}));
        broadcast["send"] = json!(true);
        broadcast["scheduled_at"] = json!("in 1 day");
        let scheduled = self.created("/broadcasts", &broadcast);
        self.know(&["/broadcasts/{}"], &draft);
        self.know(&["cancel_broadcast /broadcasts/{}"], &scheduled);
        self.know(
            &["list_broadcast_recipients /broadcasts/{}", "list_broadcast_clicked_links /broadcasts/{}"],
            &sent,
        );
        let event = self.created("/events", &json!({"name": "seed.created"}));
        let automation = json!({
            "name": "Seed", "status": "enabled",
            "steps": [
                {"key": "start", "type": "trigger", "config": {"event_name": "seed.created"}},
                {"key": "pause", "type": "delay", "config": {"duration": "1 day"}},
            ],
            "connections": [{"from": "start", "to": "pause"}],
        });
        let automation = self.created("/automations", &automation);
        self.done(
            Method::POST,
            "/events/send",
            &json!({"event": "seed.created", "email": "grace@example.com"}),
        );
        let run = self.first(&format!("/automations/{automation}/runs"));
        self.know(&["/events/{}"], &event);
        self.know(&["/automations/{}"], &automation);
        self.know(&["/automations/{}/runs/{}"], &run);
    }

    fn add_inbox(&mut self) {
        let inbox = self.created("/inboxes", &json!({"email_address": "support@seed.test", "name": "Seed"}));
        let path = format!("/inboxes/{inbox}");
        let label = self.created(&format!("{path}/labels"), &json!({"name": "Seed", "color": "#AB12EF"}));
        self.service.receive(KEY, &["support@seed.test"], MAIL).unwrap();
        let thread = self.first(&format!("{path}/threads"));
        let labels = json!({"labels": [label]});
        self.done(Method::POST, &format!("{path}/threads/{thread}/labels"), &labels);
        let email = self.first(&format!("{path}/threads/{thread}/emails"));
        let draft = json!({"to": ["ada@example.com"], "subject": "Offer", "text": "Dear Ada"});
        let draft = self.created(&format!("{path}/drafts"), &draft);
        self.know(&["/inboxes/{}"], &inbox);
        self.know(&["/inboxes/{}/labels/{}", "/inboxes/{}/threads/{}/labels/{}", "labels"], &label);
        self.know(&["/inboxes/{}/threads/{}"], &thread);
        self.know(&["/inboxes/{}/threads/{}/emails/{}"], &email);
        self.know(&["/inboxes/{}/drafts/{}"], &draft);
    }

    /// Verified domains of this account and of another one.
    fn add_domains(&mut self) {
        let verified = |key, name| {
            let capabilities = json!({"sending": "enabled", "receiving": "enabled"});
            let domain = json!({"name": name, "capabilities": capabilities});
            let domain = id_of(&self.done_by(key, Method::POST, "/domains", &domain));
            self.done_by(key, Method::POST, &format!("/domains/{domain}/verify"), &json!({}));
            domain
        };
        let domain = verified(KEY, "seed.test");
        verified(OWNER, "acme.test");
        verified(OWNER, "claimed.test");
        self.service.clock().advance(Duration::from_mins(1));
        let claim = self.done(Method::POST, "/domains/claim", &json!({"name": "claimed.test"}));
        let claimed = claim["domain_id"].as_str().unwrap().to_owned();
        self.know(&["/domains/{}", "domain_id"], &domain);
        self.know(&["get_domain_claim /domains/{}", "verify_domain_claim /domains/{}"], &claimed);
    }

    fn add_account(&mut self) {
        let key = self.created("/api-keys", &json!({"name": "Seed"}));
        let log = self.first("/logs");
        let grant = self.service.grant("idempost-cli", KEY, "full_access").grant_id;
        self.know(&["/api-keys/{}"], &key);
        self.know(&["/logs/{}"], &log);
        self.know(&["/oauth/grants/{}"], &grant);
    }
}

pub(super) fn send(service: &Service, probe: &Probe) -> Answer {
    let mut request = http::Request::builder().method(probe.method.clone()).uri(&probe.path);
    if let Some(credential) = &probe.credential {
        request = request.header("authorization", format!("Bearer {credential}"));
    }
    for (name, value) in &probe.headers {
        request = request.header(*name, value);
    }
    let (parts, body) = service.handle(request.body(probe.body.clone()).unwrap()).into_parts();
    Answer { status: parts.status, headers: parts.headers, body }
}

/// A contact import with these parts in addition to the file.
pub(super) fn import(file: &str, parts: &[(&str, String)]) -> Probe {
    let parts = parts.iter().map(|(name, text)| {
        format!("--b0undary\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
    });
    let file = format!(
        "--b0undary\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\nContent-Type: text/csv\r\n\r\n{file}\r\n--b0undary--\r\n"
    );
    let form = parts.chain([file]).collect::<String>();
    Probe::new(Method::POST, "/contacts/imports").header("content-type", FORM).body(form)
}

/// Whether a text is an ID: a UUID.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn id_of(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no ID: {value}")).to_owned()
}

/// Whether the status means success.
pub(super) fn succeeds(status: StatusCode) -> bool {
    status.is_success() || status.is_redirection()
}
