//! No operation gets slower as unrelated records accumulate.

#![cfg(unix)]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::clock::ClockStart;
use crate::cpu_time::cpu_time;
use crate::lock::lock;
use crate::model::domain::Domain;
use crate::model::log::Entry;
use crate::model::webhook_delivery::WebhookDelivery;
use crate::service::Service;
use crate::settings::Settings;
use crate::state::tenant::Tenant;
use crate::store::ledger::Ledger;
use crate::store::table::{Record, Table};

const KEY: &str = "sb_test";
const FEW: usize = 1_000;
const MANY: usize = 8_000;
/// With `IDEMPOST_EXHAUSTIVE`.
const MOST: usize = 20_000;
/// The maximum ratio between an operation's cost among many records and among few.
const TOLERATED: f64 = 1.5;

/// A service with this number of records of every kind, most of them unrelated to the operations.
struct World {
    service: Arc<Service>,
    tenant: Arc<Tenant>,
    /// The IDs of the records that operations name.
    ids: Value,
}

/// A name for messages, method, path with `{…}` for IDs, and the body of the nth repetition.
type Operation = (&'static str, &'static str, fn(usize) -> Value);

/// An authorization request, which is stored until it is decided.
const AUTHORIZE: &str = "/oauth/authorize?response_type=code&client_id=idempost-cli&redirect_uri=http://127.0.0.1:8000/callback\
    &scope=emails:send&state=s&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";

/// A form with a file.
const IMPORT: &str =
    "--b\r\ncontent-disposition: form-data; name=\"file\"\r\n\r\nemail\nknown@example.com\n\r\n--b--";

const OPERATIONS: &[Operation] = &[
    ("POST", "/emails", |_| email()),
    (
        "POST",
        "/emails",
        |_| json!({"from": "a@known.test", "to": "c@d.test", "template": {"id": "known", "variables": {}}}),
    ),
    ("GET", "/emails/{email}", |_| Value::Null),
    ("GET", "/emails?limit=20", |_| Value::Null),
    ("GET", "/emails/metrics", |_| Value::Null),
    ("GET", "/emails/metrics?dimensions=period,domain", |_| Value::Null),
    ("GET", "/emails/metrics?dimensions=email&email_id={email}&start_date=2000-01-01", |_| Value::Null),
    ("GET", "/emails/metrics?dimensions=broadcast&broadcast_id={broadcast}&start_date=2000-01-01", |_| {
        Value::Null
    }),
    ("GET", "/emails/receiving?limit=20", |_| Value::Null),
    ("GET", "/logs?limit=20", |_| Value::Null),
    ("POST", "/templates", |n| json!({"name": "t", "alias": format!("new-{n}"), "html": "<p>x</p>"})),
    ("PATCH", "/templates/known", |_| json!({"alias": "known", "subject": "s"})),
    ("GET", "/templates/known", |_| Value::Null),
    ("GET", "/templates/{template}", |_| Value::Null),
    ("GET", "/templates?limit=20", |_| Value::Null),
    ("GET", "/templates?limit=20&before={template}", |_| Value::Null),
    ("POST", "/domains", |n| json!({"name": format!("new-{n}.test")})),
    ("GET", "/domains/{domain}", |_| Value::Null),
    ("GET", "/domains?limit=20", |_| Value::Null),
    ("POST", "/contacts", |n| {
        let email = format!("new-{n}@example.com");
        json!({"email": email, "properties": {"known": "x", "known2": "y"}, "segments": []})
    }),
    ("POST", "/contacts", |_| json!({"email": "Known@example.com", "first_name": "Ada"})),
    ("GET", "/contacts/known@example.com", |_| Value::Null),
    ("GET", "/contacts/{contact}", |_| Value::Null),
    (
        "PATCH",
        "/contacts/{contact}",
        |n| json!({"email": format!("known@EXAMPLE{}.com", if n % 2 == 0 { "" } else { "2" })}),
    ),
    ("GET", "/contacts?limit=20", |_| Value::Null),
    ("GET", "/contacts?limit=20&segment_id={segment}", |_| Value::Null),
    ("GET", "/segments/{segment}/contacts?limit=2", |_| Value::Null),
    ("GET", "/segments/{segment}/contacts?limit=1&before={contact}", |_| Value::Null),
    ("GET", "/contacts/{contact}/segments?limit=20", |_| Value::Null),
    ("GET", "/contacts/{contact}/topics?limit=20", |_| Value::Null),
    ("POST", "/contact-properties", |n| json!({"key": format!("new_{n}"), "type": "string"})),
    ("GET", "/contact-properties/{property}", |_| Value::Null),
    ("GET", "/contact-properties?limit=20", |_| Value::Null),
    ("POST", "/segments", |_| json!({"name": "s"})),
    ("GET", "/segments/{segment}", |_| Value::Null),
    ("GET", "/segments?limit=20", |_| Value::Null),
    ("GET", "/segments/metrics", |_| Value::Null),
    ("GET", "/segments/metrics?dimensions=segment&segment_id={segment}", |_| Value::Null),
    ("POST", "/topics", |_| json!({"name": "t", "default_subscription": "opt_in"})),
    ("GET", "/topics/{topic}", |_| Value::Null),
    ("GET", "/topics?limit=20", |_| Value::Null),
    ("POST", "/suppressions", |n| json!({"email": format!("new-{n}@example.com")})),
    ("POST", "/suppressions", |_| json!({"email": "Known@example.com"})),
    ("POST", "/suppressions/batch/add", |n| json!({"emails": [format!("more-{n}@example.com")]})),
    ("POST", "/suppressions/batch/remove", |n| json!({"emails": [format!("other-{n}@example.com")]})),
    ("GET", "/suppressions/known@example.com", |_| Value::Null),
    ("GET", "/suppressions/{suppression}", |_| Value::Null),
    ("GET", "/suppressions?limit=20", |_| Value::Null),
    ("GET", "/suppressions?limit=20&origin=manual", |_| Value::Null),
    ("GET", "/suppressions?limit=20&origin=complaint", |_| Value::Null),
    ("GET", "/usage", |_| Value::Null),
    ("POST", "/domains/claim", |_| json!({"name": "taken.test"})),
    ("GET", "/domains/{placeholder}/claim", |_| Value::Null),
    ("POST", "/domains/{placeholder}/claim/verify", |_| Value::Null),
    ("POST", "/contacts/imports", |_| IMPORT.into()),
    ("GET", "/contacts/imports/{import}", |_| Value::Null),
    ("GET", "/contacts/imports?limit=20", |_| Value::Null),
    ("GET", "/contacts/imports?limit=20&status=queued", |_| Value::Null),
    ("GET", "/contacts/imports?limit=20&status=failed", |_| Value::Null),
    ("POST", "/events", |n| json!({"name": format!("new.{n}")})),
    ("GET", "/events/known.event", |_| Value::Null),
    ("GET", "/events?limit=20", |_| Value::Null),
    ("POST", "/events/send", |_| json!({"event": "known.event", "email": "known@example.com"})),
    ("POST", "/events/send", |_| json!({"event": "nothing.happens", "email": "known@example.com"})),
    ("POST", "/events/send", |_| json!({"event": "nothing.happens", "email": "unknown@example.com"})),
    ("POST", "/automations", |_| automation("new.event")),
    ("GET", "/automations/{automation}", |_| Value::Null),
    ("GET", "/automations?limit=20", |_| Value::Null),
    ("GET", "/automations?limit=20&status=disabled", |_| Value::Null),
    ("GET", "/automations/{quiet}/runs?limit=20", |_| Value::Null),
    ("GET", "/automations/{quiet}/runs?limit=20&status=running,failed", |_| Value::Null),
    ("GET", "/automations/{automation}/runs?limit=20&status=completed", |_| Value::Null),
    ("POST", "/automations/{quiet}/stop", |_| Value::Null),
    ("POST", "/webhooks", |_| webhook("suppression.removed")),
    ("GET", "/webhooks/{webhook}", |_| Value::Null),
    ("GET", "/webhooks?limit=20", |_| Value::Null),
    ("GET", "/webhooks/{webhook}/events?limit=20", |_| Value::Null),
    ("POST", "/api-keys", |_| json!({"name": "k"})),
    ("GET", "/api-keys?limit=20", |_| Value::Null),
    ("GET", "/broadcasts/{broadcast}", |_| Value::Null),
    ("GET", "/broadcasts?limit=20", |_| Value::Null),
    ("GET", "/broadcasts/{broadcast}/recipients?type=sent", |_| Value::Null),
    ("GET", "/broadcasts/{broadcast}/recipients?type=clicked&email=x", |_| Value::Null),
    ("GET", "/broadcasts/{broadcast}/clicked-links", |_| Value::Null),
    ("GET", "/oauth/grants?limit=20", |_| Value::Null),
    ("GET", AUTHORIZE, |_| Value::Null),
    ("POST", "/inboxes", |n| json!({"email_address": format!("new-{n}@known.test")})),
    ("GET", "/inboxes/support@known.test", |_| Value::Null),
    ("GET", "/inboxes?limit=20", |_| Value::Null),
    ("GET", "/inboxes/{inbox}/labels", |_| Value::Null),
    ("POST", "/inboxes/{inbox}/labels", |n| json!({"name": format!("new {n}")})),
    ("GET", "/inboxes/{inbox}/threads?limit=20", |_| Value::Null),
    ("GET", "/inboxes/{inbox}/threads?limit=20&labels={label}&read=false", |_| Value::Null),
    ("GET", "/inboxes/{inbox}/threads/search?query=nothing&folders=inbox,sent", |_| Value::Null),
    ("PATCH", "/inboxes/{inbox}/threads/{thread}", |n| json!({"read": n % 2 == 0})),
    ("GET", "/inboxes/{inbox}/threads/{thread}/emails", |_| Value::Null),
    ("GET", "/inboxes/{inbox}/drafts?limit=20", |_| Value::Null),
    ("POST", "/inboxes/{inbox}/drafts", |_| json!({"text": "x"})),
    ("POST", "/inboxes/{inbox}/threads/{thread}/emails/{mail}/reply", |_| json!({"text": "x"})),
];

fn email() -> Value {
    json!({"from": "Acme <hi@known.test>", "to": "ada@example.com", "subject": "Hello", "text": "It works"})
}

fn webhook(event: &str) -> Value {
    json!({"endpoint": "http://127.0.0.1:1/", "events": [event]})
}

fn automation(event: &str) -> Value {
    let wait = json!({"key": "w", "type": "wait_for_event", "config": {"event_name": "never", "timeout": "30 days"}});
    let trigger = json!({"key": "t", "type": "trigger", "config": {"event_name": event}});
    json!({"name": "a", "status": "enabled", "steps": [trigger, wait], "connections": [{"from": "t", "to": "w"}]})
}

impl World {
    fn new(many: usize) -> Self {
        let noon: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        let settings = Settings {
            clock: ClockStart::Frozen(noon),
            beta: true,
            max_memory: 4 << 30,
            ..Settings::default()
        };
        let service = Service::new(settings);
        let tenant = service.state.tenants.tenant(KEY);
        let mut world = Self { service, tenant, ids: json!({}) };
        world.make_known();
        world.fill(many);
        world
    }

    /// Creates the records that operations name: the oldest of each kind.
    fn make_known(&mut self) {
        self.make("webhook", "/webhooks", &webhook("email.sent"));
        self.make("segment", "/segments", &json!({"name": "s"}));
        self.make("topic", "/topics", &json!({"name": "t", "default_subscription": "opt_in"}));
        self.make("suppression", "/suppressions", &json!({"email": "known@example.com"}));
        self.make("import", "/contacts/imports", &IMPORT.into());
        self.make("property", "/contact-properties", &json!({"key": "known", "type": "string"}));
        self.make("property", "/contact-properties", &json!({"key": "known2", "type": "string"}));
        let segments = json!([{"id": self.ids["segment"]}]);
        for email in ["known@example.com", "b@example.com", "c@example.com"] {
            self.make("contact", "/contacts", &json!({"email": email, "segments": segments}));
        }
        self.make(
            "template",
            "/templates",
            &json!({"name": "t", "alias": "known", "subject": "s", "html": "<p>x</p>"}),
        );
        self.send("POST", "/templates/known/publish", &Value::Null);
        self.make("domain", "/domains", &json!({"name": "known.test"}));
        let owner = self.service.state.tenants.tenant("sb_owner");
        let mut taken = Domain::clone(&*self.tenant.domain("known.test").unwrap());
        (taken.id, taken.setup.name, taken.proven) = (id(usize::MAX - 1), "taken.test".to_owned(), true);
        owner.domains.add(taken.id, taken).unwrap();
        let claim = self.send("POST", "/domains/claim", &json!({"name": "taken.test"}));
        self.ids["placeholder"] = claim["domain_id"].clone();
        self.make("event", "/events", &json!({"name": "known.event", "schema": {}}));
        self.make("quiet", "/automations", &automation("quiet.event"));
        self.send("POST", "/events/send", &json!({"event": "quiet.event", "email": "known@example.com"}));
        self.make("automation", "/automations", &automation("known.event"));
        self.send("POST", "/events/send", &json!({"event": "known.event", "email": "known@example.com"}));
        self.make("email", "/emails", &email());
        self.make("key", "/api-keys", &json!({"name": "k"}));
        let broadcast =
            json!({"segment_id": self.ids["segment"], "from": "a@known.test", "subject": "s", "html": "x"});
        self.make("broadcast", "/broadcasts", &broadcast);
        let mail = "From: a@b.test\r\nSubject: s\r\n\r\nx";
        self.service.receive(KEY, &["c@known.test"], mail).unwrap();
        self.make("inbox", "/inboxes", &json!({"email_address": "support@known.test"}));
        self.make("label", "/inboxes/{inbox}/labels", &json!({"name": "known"}));
        self.make("draft", "/inboxes/{inbox}/drafts", &json!({"text": "x"}));
        self.service.receive(KEY, &["support@known.test"], mail).unwrap();
        self.ids["thread"] = json!(self.tenant.inboxes.threads.all()[0].id);
        self.ids["mail"] = json!(self.tenant.inboxes.emails.all()[0].id);
        self.send(
            "POST",
            "/inboxes/{inbox}/threads/{thread}/labels",
            &json!({"labels": [self.ids["label"]]}),
        );
    }

    fn make(&mut self, name: &str, path: &str, body: &Value) {
        let answer = self.send("POST", path, body);
        if self.ids[name].is_null() {
            self.ids[name] = answer["id"].clone();
        }
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let (succeeded, answer) = self.answer(self.request(method, path, body));
        assert!(succeeded, "{method} {path}: {answer}");
        answer
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Request<Bytes> {
        let mut uri = path.to_owned();
        for (name, id) in self.ids.as_object().unwrap() {
            uri = uri.replace(&format!("{{{name}}}"), id.as_str().unwrap_or_default());
        }
        let mut request = Request::builder().method(Method::from_bytes(method.as_bytes()).unwrap()).uri(uri);
        let body = match body {
            Value::Null => Bytes::new(),
            Value::String(form) => {
                request = request.header("content-type", "multipart/form-data; boundary=b");
                form.clone().into()
            }
            json => json.to_string().into(),
        };
        request.header("authorization", format!("Bearer {KEY}")).body(body).unwrap()
    }

    fn answer(&self, request: Request<Bytes>) -> (bool, Value) {
        let response = self.service.handle(request);
        (response.status().as_u16() < 400, serde_json::from_slice(response.body()).unwrap_or_default())
    }

    /// Copies the first record of each kind under names that no operation uses.
    fn fill(&self, many: usize) {
        let tenant = &self.tenant;
        fill(&tenant.templates, many, |n, record| record["alias"] = format!("other-{n}").into());
        fill(&tenant.domains, many, |n, record| record["setup"]["name"] = format!("other-{n}.test").into());
        fill(&tenant.domain_claims, many, |n, record| {
            record["setup"]["name"] = format!("other-{n}.test").into();
            record["domain"] = json!(id(n));
        });
        fill(&tenant.contacts, many, |n, record| {
            record["email"] = format!("other-{n}@example.com").into();
            record["segments"] = json!([]);
        });
        fill(&tenant.contact_properties, many, |n, record| record["key"] = format!("other_{n}").into());
        fill(&tenant.segments, many, |_, _| {});
        fill(&tenant.topics, many, |_, _| {});
        let tables = &tenant.inboxes;
        let other = |_, record: &mut Value| record["inbox"] = json!(Uuid::nil());
        fill(&tables.inboxes, many, |n, record| record["address"] = format!("other-{n}@known.test").into());
        fill(&tables.labels, many, |n, record| {
            record["key"] = format!("other/{n}").into();
            other(n, record);
        });
        fill(&tables.threads, many, other);
        fill(&tables.emails, many, |n, record| {
            record["thread"] = json!(Uuid::nil());
            other(n, record);
        });
        fill(&tables.drafts, many, other);
        fill(&tenant.suppressions, many, |n, record| {
            record["email"] = format!("other-{n}@example.com").into();
        });
        fill(&tenant.contact_imports, many, |_, _| {});
        fill(&tenant.events, many, |n, record| record["name"] = format!("other.{n}").into());
        fill(&tenant.automations, many, |n, record| {
            record["definition"]["steps"][0]["action"]["Trigger"]["event_name"] = format!("other.{n}").into();
        });
        let busy = self.ids["automation"].clone();
        fill(&tenant.runs, many, |_, record| record["automation"] = busy.clone());
        fill(&tenant.broadcasts, many, |_, _| {});
        fill(&tenant.webhooks, many, |_, record| record["events"] = json!(["inbox.thread.assigned"]));
        fill(&tenant.api_keys, many, |n, record| record["token"] = format!("sb_key_{n}").into());
        fill_ledger(&mut lock(&tenant.emails), many, |n, record| {
            record["created_at"] = "2025-03-02T12:00:00Z".into();
            record["progress"]["history"] = json!([]);
            record["origin"]["broadcast"] = json!(id(n % 10));
        });
        tenant.index_emails();
        let received: Vec<_> = copies(&lock(&tenant.received), many, |_, _| {});
        for (n, mail) in received.into_iter().enumerate() {
            lock(&tenant.received).insert(id(n), mail);
        }
        self.log_in(KEY);
        for n in 0..many {
            self.log_in(&format!("sb_other_{}", n % 100));
            let request = self.request("GET", AUTHORIZE, &Value::Null);
            assert!(self.answer(request).0);
            let other = WebhookDelivery::new(
                id(n),
                Uuid::nil(),
                "email.sent",
                Timestamp::UNIX_EPOCH,
                Some(Uuid::nil()),
                Bytes::new(),
            );
            tenant.deliveries.lock().insert(other.id, Arc::new(other));
            self.log(n);
        }
    }

    /// Adds a grant of a tenant.
    fn log_in(&self, tenant: &str) {
        let state = &self.service.state;
        let client = state.oauth.client("idempost-cli").unwrap();
        let token = state.next_secret().to_string();
        state.oauth.grant(
            &client,
            tenant,
            vec!["emails:send".to_owned()],
            state.next_id(),
            token,
            state.clock.now(),
        );
    }

    fn log(&self, n: usize) {
        let entry = Entry {
            id: id(n),
            created_at: Timestamp::UNIX_EPOCH,
            endpoint: "/emails".into(),
            method: Method::GET,
            response_status: 200,
            user_agent: None,
            request_body: None,
            response_body: None,
        };
        self.service.state.tenants.log(&self.tenant, entry);
    }

    /// The minimum cost of an operation, in CPU time.
    fn cost(&self, (method, path, body): &Operation, from: usize) -> Duration {
        let costs = (from..from + 7).map(|n| {
            let request = self.request(method, path, &body(n));
            cpu_time(|| {
                let (succeeded, answer) = self.answer(request);
                assert!(succeeded, "{method} {path}: {answer}");
            })
        });
        costs.min().unwrap()
    }
}

fn id(n: usize) -> Uuid {
    Uuid::from_u128(u128::try_from(n).unwrap() + 1)
}

fn copy<T: Serialize + DeserializeOwned>(pattern: &Value, n: usize, change: impl Fn(usize, &mut Value)) -> T {
    let mut record = pattern.clone();
    record["id"] = json!(id(n));
    change(n, &mut record);
    serde_json::from_value(record).unwrap()
}

fn fill<T>(table: &Table<T>, many: usize, change: impl Fn(usize, &mut Value))
where
    T: Record + Serialize + DeserializeOwned,
{
    let pattern = serde_json::to_value(&*table.all().pop().unwrap()).unwrap();
    for n in 0..many {
        table.lock().insert(id(n), Arc::new(copy(&pattern, n, &change)));
    }
}

fn fill_ledger<T: Serialize + DeserializeOwned>(
    ledger: &mut Ledger<Arc<T>>,
    many: usize,
    change: impl Fn(usize, &mut Value),
) {
    for (n, record) in copies(ledger, many, change).into_iter().enumerate() {
        ledger.insert(id(n), record);
    }
}

/// Changed copies of the oldest record.
fn copies<T: Serialize + DeserializeOwned>(
    ledger: &Ledger<Arc<T>>,
    many: usize,
    change: impl Fn(usize, &mut Value),
) -> Vec<Arc<T>> {
    let pattern = serde_json::to_value(&**ledger.oldest_first().next().unwrap()).unwrap();
    (0..many).map(|n| Arc::new(copy(&pattern, n, &change))).collect()
}

/// Measures an operation, and reports it if its cost grows with the number of records.
fn is_slow(few: &World, many: &World, operation: &Operation, from: usize, report: &mut String) -> bool {
    let (less, more) = (few.cost(operation, from), many.cost(operation, from));
    let is_slow = more > less.mul_f64(TOLERATED);
    if is_slow {
        let (method, path, _) = operation;
        writeln!(report, "{method} {path}: {less:?}, then {more:?}").unwrap();
    }
    is_slow
}

#[test]
fn operation_cost_is_independent_of_the_number_of_records() {
    let most = if std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some() { MOST } else { MANY };
    let (few, many) = (World::new(FEW), World::new(most));
    let (mut slow, mut report): (Vec<_>, _) = (OPERATIONS.iter().collect(), String::new());
    // Noise only adds, and seldom lasts: what seems slow is measured again after all others.
    for from in [0, 10, 20] {
        report.clear();
        slow.retain(|operation| is_slow(&few, &many, operation, from, &mut report));
    }
    assert!(slow.is_empty(), "among {FEW} and {most} records:\n{report}");
}
