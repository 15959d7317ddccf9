//! The requests that provoke the responses of one operation: its examples, and variations of them.

use std::{
    sync::{Mutex, mpsc},
    time::Duration,
};

use http::Method;
use idempost_conformance::contract::Answer;
use idempost_reference_server::{Service, Settings, faults::Action};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::world::{KEY, Probe, World, import, is_id, send, succeeds};
use crate::operations::{Described, Document};

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";
const JSON: &str = "application/json";
const TIMEOUT: Duration = Duration::from_mins(1);

/// The probes of an operation.
pub(super) struct Probes<'a> {
    pub(super) document: &'a Document,
    pub(super) operation: &'a Described,
}

impl Probes<'_> {
    /// Makes every request, and passes it to `see` with its response. Returns the valid requests that failed.
    pub(super) fn run(&self, unchanged: &World, see: &mut impl FnMut(&Probe, &Answer)) -> Vec<String> {
        let mut sends = |world: &World, probe: &Probe| {
            let answer = world.send(probe);
            see(probe, &answer);
            answer
        };
        let mut failures = Vec::new();
        self.each_valid(unchanged, |world, probe| {
            let answer = sends(world, probe);
            if !succeeds(answer.status) {
                let body = String::from_utf8_lossy(&answer.body);
                failures.push(format!(
                    "{}: its example is rejected: {} {body}",
                    self.operation.id, answer.status
                ));
            }
        });
        self.in_world(unchanged, |world| {
            for probe in self.errors(world) {
                sends(world, &probe);
            }
        });
        for (settings, repetitions) in self.unusual_settings() {
            let world = World::new(settings);
            let probe = self.valid(&world).swap_remove(0);
            // Until a limit is reached, or the state of the record has changed.
            (0..repetitions).find(|_| !succeeds(sends(&world, &probe).status));
        }
        self.special(see);
        if self.has_header("Idempotency-Key") {
            self.repeat_with_key(see);
        }
        self.fail(unchanged, see);
        failures
    }

    /// Calls `with` for each of the contract's examples, each in its own world if the operation changes it.
    fn each_valid(&self, unchanged: &World, mut with: impl FnMut(&World, &Probe)) {
        for number in 0..self.valid(unchanged).len() {
            self.in_world(unchanged, |world| with(world, &self.valid(world)[number]));
        }
    }

    /// Calls `with` for the first of the contract's examples, in its own world if the operation changes it.
    pub(super) fn first_valid(&self, unchanged: &World, with: impl FnOnce(&World, &Probe)) {
        self.in_world(unchanged, |world| with(world, &self.valid(world)[0]));
    }

    /// Calls `with` with a world that the operation may change.
    fn in_world(&self, unchanged: &World, with: impl FnOnce(&World)) {
        if self.operation.method == Method::GET {
            return with(unchanged);
        }
        let world = World::new(Settings::default());
        if self.operation.id == "create_contact_property" {
            world.remove_properties();
        }
        with(&world);
    }

    /// The requests of the contract's examples, with the IDs of this world.
    pub(super) fn valid(&self, world: &World) -> Vec<Probe> {
        let probe = self.empty(world);
        let bodies = self.document.bodies(self.operation);
        let required = bodies.iter().filter_map(|(kind, body)| self.with_body(&probe, world, kind, body));
        let required: Vec<_> = required.collect();
        if required.is_empty() { vec![probe] } else { required }
    }

    /// The request without a body.
    fn empty(&self, world: &World) -> Probe {
        let query = match &*self.operation.id {
            "authorize" => {
                let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
                form_urlencoded::Serializer::new("?".to_owned())
                    .append_pair("client_id", "idempost-cli")
                    .append_pair("response_type", "code")
                    .append_pair("redirect_uri", "http://127.0.0.1:4711/callback")
                    .append_pair("scope", "emails:send")
                    .append_pair("code_challenge", challenge)
                    .append_pair("code_challenge_method", "S256")
                    .finish()
            }
            "list_broadcast_recipients" => "?type=sent".to_owned(),
            _ => String::new(),
        };
        Probe::new(self.operation.method.clone(), world.path(self.operation) + &query)
    }

    /// The request with this body; `None` if the body needs a user at the consent page.
    fn with_body(&self, probe: &Probe, world: &World, kind: &str, body: &Value) -> Option<Probe> {
        let mut body = self.adapted(world, body);
        if self.operation.id == "exchange_token" {
            body.get("refresh_token")?;
            body["refresh_token"] =
                world.service.grant("idempost-cli", KEY, "full_access").refresh_token.into();
        }
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let fields = || body.as_object().unwrap().iter().map(|(name, value)| (name.as_str(), text(value)));
        Some(match kind {
            JSON => probe.clone().json(&body),
            "multipart/form-data" => {
                let parts: Vec<_> = fields().filter(|(name, _)| *name != "file").collect();
                import(&text(&body["file"]), &parts)
            }
            _ => {
                let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields()).finish();
                probe.clone().header("content-type", kind).body(form)
            }
        })
    }

    /// The body with the IDs of this world. Those outside of a named field are the path's: `/topics`.
    fn adapted(&self, world: &World, body: &Value) -> Value {
        world.adapted(body, self.operation.path.rsplit('/').next().unwrap_or_default())
    }

    fn has_header(&self, name: &str) -> bool {
        let parameters = self.document.parameters(self.operation);
        parameters.iter().any(|parameter| parameter.location == "header" && parameter.name == name)
    }

    /// The requests that violate a rule.
    fn errors(&self, world: &World) -> Vec<Probe> {
        let valid = self.valid(world);
        let mut probes = Vec::new();
        let secured = !self.document.security(self.operation).is_empty();
        for id in [UNKNOWN_ID, "17", "x@y"] {
            probes.extend(self.with_ids(&valid[0], id));
        }
        for parameter in self.document.parameters(self.operation).iter().filter(|one| one.location == "query")
        {
            for value in ["", "0", "\0"] {
                probes.push(with_query(&valid[0], &parameter.name, Some(value)));
            }
            probes.push(with_query(&valid[0], &parameter.name, None));
        }
        for (kind, body) in self.document.bodies(self.operation) {
            for body in variations(&self.adapted(world, &body)) {
                if kind == JSON {
                    probes.push(valid[0].clone().json(&body));
                } else if let Some(probe) = body
                    .get("file")
                    .or(body.get("client_id"))
                    .and_then(|_| self.with_body(&valid[0], world, &kind, &body))
                {
                    probes.push(probe);
                }
            }
            for text in ["", "{", "a=1", "a=1&a=2"] {
                probes.push(valid[0].clone().body(text));
            }
        }
        if self.has_header("Idempotency-Key") {
            probes.push(valid[0].clone().header("idempotency-key", ""));
        }
        probes.extend(credentials(world, &valid[0]));
        probes.push(valid[0].clone().header("host", "elsewhere.test"));
        if !secured {
            probes.push(valid[0].clone().header("origin", "https://elsewhere.test"));
            probes.push(valid[0].clone().header("content-type", "text/plain"));
        }
        probes
    }

    /// The requests with this ID in place of each other ID.
    fn with_ids(&self, probe: &Probe, id: &str) -> Vec<Probe> {
        let (path, query) = probe.path.split_once('?').unwrap_or((&probe.path, ""));
        let pattern: Vec<_> = self.operation.path.split('/').collect();
        let places = (0..pattern.len()).filter(|place| pattern[*place].starts_with('{'));
        let replaced = |place: usize| {
            let mut segments: Vec<_> = path.split('/').collect();
            segments[place] = id;
            let path = segments.join("/");
            Probe { path: if query.is_empty() { path } else { format!("{path}?{query}") }, ..probe.clone() }
        };
        places.map(replaced).collect()
    }

    /// Settings under which the service rejects a valid request, and how often it is made.
    fn unusual_settings(&self) -> Vec<(Settings, usize)> {
        let mut all = Vec::new();
        if self.operation.method != Method::GET {
            all.push((Settings { keep_records: 5, ..Settings::default() }, 6));
        }
        if self.document.bodies(self.operation).iter().any(|(_, body)| body.to_string().contains("\"from\""))
        {
            all.push((Settings { strict_domains: true, ..Settings::default() }, 1));
        }
        if self.has_header("Idempotency-Key") {
            // The world's own emails are part of the quota.
            all.push((Settings { daily_quota: Some(6), ..Settings::default() }, 8));
            all.push((Settings { monthly_quota: Some(6), ..Settings::default() }, 8));
        }
        all
    }

    /// Requests that only some operations reject, in some cases only after another request.
    fn special(&self, see: &mut impl FnMut(&Probe, &Answer)) {
        let world = || World::new(Settings::default());
        let mut with_body = |body: Value| {
            let world = world();
            let probe = self.valid(&world).swap_remove(0).json(&body);
            see(&probe, &world.send(&probe));
        };
        match &*self.operation.id {
            "send_email" => with_body(json!({
                "from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "text": "It works",
                "attachments": [{"filename": "a"}],
            })),
            "update_contact" | "update_audience_contact" => with_body(json!({"email": "eve@example.com"})),
            "authorize" => {
                let password = Some("correct-horse".to_owned().into());
                let service = Service::new(Settings { password, ..Settings::default() });
                let probe = self.valid(&world()).swap_remove(0).credential(None);
                see(&probe, &send(&service, &probe));
            }
            "revoke_token" => {
                let world = world();
                let probe = self.valid(&world).swap_remove(0);
                let token = world.service.grant("idempost-cli", KEY, "emails:send").access_token;
                let revocation = probe.clone().json(&json!({"client_id": "idempost-cli", "token": token}));
                see(&revocation, &world.send(&revocation));
                let unknown = unknown_client(probe);
                see(&unknown, &world.send(&unknown));
            }
            "register_client" => with_body(json!({
                "client_name": "x", "redirect_uris": ["http://127.0.0.1/callback"], "scope": "unknown",
            })),
            "update_inbox_draft" | "delete_inbox_draft" => {
                let world = world();
                let probe = self.valid(&world).swap_remove(0);
                let sent = world.send(&Probe::new(Method::POST, format!("{}/send", probe.path)));
                assert!(succeeds(sent.status));
                see(&probe, &world.send(&probe));
            }
            "exchange_token" => {
                let client = json!({
                    "client_name": "x", "redirect_uris": ["http://127.0.0.1/callback"],
                    "grant_types": ["authorization_code"],
                });
                let world = world();
                let probe = self.valid(&world).swap_remove(0);
                let client = world.send(&Probe::new(Method::POST, "/oauth/register").json(&client));
                let client: Value = serde_json::from_slice(&client.body).unwrap();
                let token = world.service.grant("idempost-cli", KEY, "emails:send").refresh_token;
                let refresh = |client: &Value, token: &str| {
                    json!({
                        "grant_type": "refresh_token", "client_id": client, "refresh_token": token,
                        "scope": "full_access",
                    })
                };
                let unknown = unknown_client(probe.clone());
                see(&unknown, &world.send(&unknown));
                for body in [refresh(&client["client_id"], "x"), refresh(&json!("idempost-cli"), &token)] {
                    let probe = probe.clone().json(&body);
                    see(&probe, &world.send(&probe));
                }
            }
            _ => {}
        }
    }

    /// The same key twice, with another body, and while its first request is in progress.
    fn repeat_with_key(&self, see: &mut impl FnMut(&Probe, &Answer)) {
        let world = World::new(Settings::default());
        let valid = self.valid(&world).swap_remove(0).header("idempotency-key", "k");
        let mut body: Value = serde_json::from_slice(&valid.body).unwrap_or_else(|_| json!({}));
        let fields = if body.is_array() { &mut body[0] } else { &mut body };
        fields["text"] = json!("Another body");
        for probe in [valid.clone(), valid.clone(), valid.clone().json(&body)] {
            see(&probe, &world.send(&probe));
        }
        if self.operation.id != "send_email" {
            return;
        }
        let (arrived, arrival) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let released = Mutex::new(released);
        world.service.on_captured(move |_| {
            arrived.send(()).unwrap();
            released.lock().unwrap().recv_timeout(TIMEOUT).unwrap();
        });
        let probe = valid.header("idempotency-key", "l");
        std::thread::scope(|scope| {
            let first = scope.spawn(|| world.send(&probe));
            arrival.recv_timeout(TIMEOUT).unwrap();
            see(&probe, &world.send(&probe));
            release.send(()).unwrap();
            assert!(first.join().unwrap().status.is_success());
        });
    }

    /// Rejections that don't depend on the records: the rate limit, a beta operation, a failure.
    fn fail(&self, world: &World, see: &mut impl FnMut(&Probe, &Answer)) {
        let probe = self.valid(world).swap_remove(0);
        let mut sends = |service: &Service| {
            let answer = send(service, &probe);
            see(&probe, &answer);
        };
        let limited = Service::new(Settings { rate_limit: Some(1), beta: true, ..Settings::default() });
        limited.clock().freeze();
        sends(&limited);
        sends(&limited);
        sends(&Service::new(Settings::default()));
        world.service.faults().add_once(Action::error(500, "application_error", "The service failed."));
        sends(&world.service);
    }
}

/// The request with each credential that may be rejected, and without one.
fn credentials(world: &World, probe: &Probe) -> Vec<Probe> {
    let token = |scope: &str| world.service.grant("idempost-cli", KEY, scope).access_token;
    let spoiled = token("full_access") + "x";
    let credentials =
        [None, Some("unknown"), Some("sb_test_sending"), Some(&*token("emails:send")), Some(&spoiled)]
            .map(|credential| probe.clone().credential(credential));
    credentials.into()
}

/// The request with another value of a query parameter, or without it.
fn with_query(probe: &Probe, name: &str, value: Option<&str>) -> Probe {
    let (path, query) = probe.path.split_once('?').unwrap_or((&probe.path, ""));
    let others = form_urlencoded::parse(query.as_bytes()).filter(|(known, _)| known != name);
    let mut changed = form_urlencoded::Serializer::new(String::new());
    changed.extend_pairs(others).extend_pairs(value.map(|value| (name, value)));
    Probe { path: format!("{path}?{}", changed.finish()), ..probe.clone() }
}

/// Bodies that differ from this one in one place, or entirely.
fn variations(body: &Value) -> Vec<Value> {
    let mut all = vec![json!([]), json!({}), json!(7), unknown(body)];
    match body {
        Value::Object(fields) => {
            for name in fields.keys() {
                for value in [json!("x"), json!([{}]), json!(0)] {
                    let mut changed = fields.clone();
                    changed.insert(name.clone(), value);
                    all.push(changed.into());
                }
                let mut fewer = fields.clone();
                fewer.remove(name);
                all.push(fewer.into());
            }
            // First, when it is accepted, and last, when the record may have changed.
            let mut more = fields.clone();
            more.insert("no_such_field".to_owned(), json!("x"));
            all.insert(0, more.clone().into());
            all.push(more.into());
        }
        Value::Array(items) => {
            for first in items.first().map(variations).unwrap_or_default() {
                let mut changed = items.clone();
                changed[0] = first;
                all.push(changed.into());
            }
        }
        _ => {}
    }
    all
}

/// The body with an unknown ID in place of each ID.
fn unknown(body: &Value) -> Value {
    match body {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), unknown(value))).collect(),
        Value::Array(items) => items.iter().map(unknown).collect(),
        Value::String(text) if is_id(text) => UNKNOWN_ID.into(),
        other => other.clone(),
    }
}

/// The request with the credentials of an unknown client.
fn unknown_client(probe: Probe) -> Probe {
    let form = "grant_type=refresh_token&refresh_token=x&token=x";
    let probe = probe.credential(None).header("authorization", "Basic bm9ib2R5Og==");
    probe.header("content-type", "application/x-www-form-urlencoded").body(form)
}
