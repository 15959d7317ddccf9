//! The effect of each response of a token endpoint on a login: logins and refreshes, at servers that replace refresh tokens, keep them or issue
//! none, with clocks that differ by an hour. `docs/oauth.md` contains the table; `SNAPSHOTS=overwrite` updates it.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use idempost::{
    Client, Email, Error,
    auth::{AuthError, AuthorizationServer, MemoryStore, Scope, Session, TokenRecord},
    call::{RateLimit, RetryPolicy},
    testing::{RecordedRequest, Reply, ScriptedTransport},
    transport::{RequestDelivery, TransportErrorKind},
};
use serde_json::{Value, json};
use tokio::time::Instant;
use url::form_urlencoded;

/// How the server issues refresh tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Issues {
    Replaced,
    Kept,
    None,
}

/// A fault of the token endpoint.
struct Fault {
    name: &'static str,
    /// Whether the server acts before it responds.
    acts: bool,
    /// The response; with the tokens that the server would send.
    reply: fn(Value) -> Reply,
}

fn page(status: u16) -> Reply {
    Reply::bytes(status, "<html>").header("content-type", "text/html")
}

fn error(status: u16, name: &str) -> Reply {
    Reply::json(status, json!({ "error": name }))
}

fn with(mut tokens: Value, field: &str, value: Value) -> Reply {
    tokens[field] = value;
    Reply::json(200, tokens)
}

fn without(mut tokens: Value, field: &str) -> Reply {
    tokens.as_object_mut().unwrap().remove(field);
    Reply::json(200, tokens)
}

const fn fault(name: &'static str, acts: bool, reply: fn(Value) -> Reply) -> Fault {
    Fault { name, acts, reply }
}

static FAULTS: &[Fault] = &[
    fault("400 `invalid_grant`", false, |_| error(400, "invalid_grant")),
    fault("400 `invalid_request`", false, |_| error(400, "invalid_request")),
    fault("401 `invalid_client`", false, |_| error(401, "invalid_client")),
    fault("401, a page", false, |_| page(401)),
    fault("403, a page", false, |_| page(403)),
    fault("404, a page", false, |_| page(404)),
    fault("429", false, |_| Reply::bytes(429, "")),
    fault("429, `Retry-After: 3600`", false, |_| Reply::bytes(429, "").header("retry-after", "3600")),
    fault("500 `server_error`", false, |_| error(500, "server_error")),
    fault("502, a page", false, |_| page(502)),
    fault("503, a page, `Retry-After: 5`", false, |_| page(503).header("retry-after", "5")),
    fault("503 `temporarily_unavailable`, `Retry-After: 5`", false, |_| {
        error(503, "temporarily_unavailable").header("retry-after", "5")
    }),
    fault("302", false, |_| Reply::bytes(302, "").header("location", "https://evil.test/")),
    fault("200 `invalid_grant`", false, |_| error(200, "invalid_grant")),
    fault("200, a page", false, |_| page(200)),
    fault("200, tokens as `text/plain`", true, |tokens| {
        Reply::bytes(200, tokens.to_string()).header("content-type", "text/plain")
    }),
    fault("`access_token` missing", true, |tokens| without(tokens, "access_token")),
    fault("`token_type` missing", true, |tokens| without(tokens, "token_type")),
    fault("`expires_in` missing", true, |tokens| without(tokens, "expires_in")),
    fault("`refresh_token` missing", true, |tokens| without(tokens, "refresh_token")),
    fault("`scope` missing", true, |tokens| without(tokens, "scope")),
    fault("`access_token` a number", true, |tokens| with(tokens, "access_token", json!(17))),
    fault("`token_type` DPoP", true, |tokens| with(tokens, "token_type", json!("DPoP"))),
    fault("`expires_in` a string", true, |tokens| with(tokens, "expires_in", json!("900"))),
    fault("`expires_in` negative", true, |tokens| with(tokens, "expires_in", json!(-1))),
    fault("`refresh_token` a number", true, |tokens| with(tokens, "refresh_token", json!(17))),
    fault("cut before the tokens", true, |_| Reply::bytes(200, "{\"acc").cut_off(TransportErrorKind::Closed)),
    fault("cut after the tokens", true, |tokens| {
        let text = tokens.to_string();
        Reply::bytes(200, text[..text.len() - 1].to_owned()).cut_off(TransportErrorKind::Closed)
    }),
    fault("no connection", false, |_| Reply::connection_refused()),
    fault("slow: 20 s", true, |tokens| Reply::json(200, tokens).with_delay(Duration::from_secs(20))),
    fault("no response", true, |_| Reply::stall(RequestDelivery::Unknown)),
    fault("complete, but never ends", true, |tokens| Reply::bytes(200, tokens.to_string()).incomplete()),
    fault("huge: the tokens first", true, |tokens| {
        Reply::bytes(200, format!("{}{}", tokens, " ".repeat(1 << 20)))
    }),
    fault("huge: the tokens last", true, |tokens| {
        Reply::bytes(200, format!("{}{}", " ".repeat(1 << 20), tokens))
    }),
];

/// An authorization server with an API of one route, and its clock.
struct Server {
    issues: Issues,
    begun: Instant,
    /// Its clock at the start.
    clock: SystemTime,
    serial: u32,
    /// The valid refresh token; none once the grant is revoked.
    refresh: Option<String>,
    /// The access tokens, and when they expire.
    access: BTreeMap<String, SystemTime>,
    fault: Option<&'static Fault>,
    requests: usize,
}

impl Server {
    fn now(&self) -> SystemTime {
        self.clock + self.begun.elapsed()
    }

    fn reply(&mut self, request: &RecordedRequest) -> Reply {
        let reply = if request.path() == "/emails" { self.send(request) } else { self.token(request) };
        reply.header("date", &httpdate::fmt_http_date(self.now()))
    }

    fn send(&self, request: &RecordedRequest) -> Reply {
        let token = request.header("authorization").trim_start_matches("Bearer ");
        if self.access.get(token).is_some_and(|expires| self.now() < *expires) {
            return Reply::json(200, json!({ "id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794" }));
        }
        Reply::error(401, "invalid_access_token")
    }

    fn token(&mut self, request: &RecordedRequest) -> Reply {
        self.requests += 1;
        let form: BTreeMap<String, String> = form_urlencoded::parse(&request.body).into_owned().collect();
        let fault = self.fault;
        if fault.is_some_and(|fault| !fault.acts) {
            return fault.map(|fault| (fault.reply)(Value::Null)).unwrap();
        }
        if form["grant_type"] == "refresh_token" && self.refresh.as_ref() != form.get("refresh_token") {
            // A reused token revokes the grant.
            (self.refresh, self.access) = (None, BTreeMap::new());
            return error(400, "invalid_grant");
        }
        self.serial += 1;
        let access = format!("at{}", self.serial);
        self.access.insert(access.clone(), self.now() + Duration::from_secs(900));
        let mut tokens = json!({"access_token": access, "token_type": "Bearer", "expires_in": 900, "scope": "emails:send"});
        if self.issues == Issues::Replaced || self.issues == Issues::Kept && self.refresh.is_none() {
            let refresh = format!("rt{}", self.serial);
            tokens["refresh_token"] = json!(refresh);
            self.refresh = Some(refresh);
        }
        match fault {
            Some(fault) => (fault.reply)(tokens),
            None => Reply::json(200, tokens),
        }
    }
}

/// One login at one server.
struct World {
    server: Arc<Mutex<Server>>,
    script: ScriptedTransport,
    begun: Instant,
    started: SystemTime,
}

impl World {
    /// The client's clock is ahead of the server's by `ahead` seconds.
    fn new(issues: Issues, ahead: i64) -> Self {
        let (begun, started) = (Instant::now(), SystemTime::now());
        let server = Arc::new(Mutex::new(Server {
            issues,
            begun,
            clock: shifted(started, -ahead),
            serial: 0,
            refresh: None,
            access: BTreeMap::new(),
            fault: None,
            requests: 0,
        }));
        let model = Arc::clone(&server);
        let script = ScriptedTransport::from_fn(move |request| model.lock().unwrap().reply(request));
        Self { server, script, begun, started }
    }

    async fn login(&self) -> idempost::Result<TokenRecord> {
        let server =
            AuthorizationServer::new("https://api.example.com").unwrap().transport(self.script.clone());
        let redirect = "http://127.0.0.1:4711/callback";
        let request = server.authorize("c", redirect).scope(Scope::EmailsSend).build().unwrap();
        let state = request.url().query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
        let code = request.code_from_url(&format!("{redirect}?code=x&state={state}")).unwrap();
        server.exchange(&request, &code).await
    }

    /// A process with this login.
    async fn client(&self, record: &TokenRecord) -> Client {
        let store = MemoryStore::new();
        Session::start(store.clone(), record).await.unwrap();
        self.process(store, 0)
    }

    /// A process with the login in the store, whose clock differs by this much from the one at the login.
    fn process(&self, store: MemoryStore, moved: i64) -> Client {
        let (begun, started) = (self.begun, shifted(self.started, moved));
        let session = Session::builder().wall_clock(move || started + begun.elapsed()).open(store);
        let builder = Client::builder().base_url("https://api.example.com").transport(self.script.clone());
        builder.session(session).rate_limit(RateLimit::Off).retry(RetryPolicy::never()).build().unwrap()
    }

    fn set(&self, fault: Option<&'static Fault>) {
        let mut server = self.server.lock().unwrap();
        (server.fault, server.requests) = (fault, 0);
    }

    fn clear(&self) {
        self.server.lock().unwrap().fault = None;
    }

    fn requests(&self) -> usize {
        self.server.lock().unwrap().requests
    }
}

fn shifted(at: SystemTime, seconds: i64) -> SystemTime {
    let by = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { at - by } else { at + by }
}

async fn send(client: &Client) -> idempost::Result<()> {
    let email = Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works");
    client.emails().send(&email).timeout(Duration::from_secs(600)).await.map(drop)
}

/// The name of an error's variant.
fn name<T>(result: &idempost::Result<T>) -> String {
    let Err(error) = result else { return "ok".to_owned() };
    let Error::Auth(error) = error else { panic!("{error:?}") };
    let variant = format!("{error:?}");
    format!("`{}`", variant.split([' ', '(']).next().unwrap())
}

/// The outcome of a login.
async fn login(fault: &'static Fault, issues: Issues, ahead: i64) -> String {
    let world = World::new(issues, ahead);
    world.set(Some(fault));
    let outcome = world.login().await;
    let requests = world.requests();
    world.clear();
    if let Ok(record) = &outcome {
        let client = world.client(record).await;
        send(&client).await.unwrap();
    }
    assert_eq!(requests, 1, "{}: a code is sent once", fault.name);
    if outcome.is_err() {
        // It leaves nothing behind: another login succeeds.
        let record = world.login().await.unwrap();
        send(&world.client(&record).await).await.unwrap();
    }
    name(&outcome)
}

/// The outcome of the call whose refresh meets the fault, whether the login was kept, and the token requests until then.
async fn refresh(fault: &'static Fault, issues: Issues, ahead: i64) -> String {
    let world = World::new(issues, ahead);
    let record = world.login().await.unwrap();
    let client = world.client(&record).await;
    send(&client).await.unwrap();
    // Twice, so that the session knows whether refresh tokens are replaced.
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(901)).await;
        send(&client).await.unwrap();
    }
    tokio::time::advance(Duration::from_secs(901)).await;
    world.set(Some(fault));
    let outcome = send(&client).await;
    world.clear();
    let (mut kept, mut ended) = (outcome.is_ok(), is_ended(&outcome));
    let pause = outcome.as_ref().err().and_then(Error::retry_after).unwrap_or_default();
    for _ in 0..4 {
        if kept || ended {
            break;
        }
        tokio::time::advance(Duration::from_secs(61).max(pause)).await;
        let again = send(&client).await;
        (kept, ended) = (again.is_ok(), is_ended(&again));
    }
    assert!(kept != ended, "{}: neither kept nor ended", fault.name);
    let fate = if ended { "ended" } else { "kept" };
    format!("{}, {fate}, {}", name(&outcome), world.requests())
}

fn is_ended<T>(result: &idempost::Result<T>) -> bool {
    matches!(result, Err(Error::Auth(error)) if matches!(**error, AuthError::Ended(_)))
}

const HOUR: i64 = 3600;

#[tokio::test(start_paused = true)]
async fn each_response_of_a_token_endpoint_has_its_documented_outcome() {
    // D-06, D-08, D-09, D-10, D-12, D-16, TOK-33
    let mut table =
        "| response | login | refresh, token replaced | refresh, token kept |\n|---|---|---|---|\n"
            .to_owned();
    for fault in FAULTS {
        let (mut cells, mut without) = ([const { None::<String> }; 3], None::<String>);
        for ahead in [-HOUR, 0, HOUR] {
            let found = [
                login(fault, Issues::Replaced, ahead).await,
                refresh(fault, Issues::Replaced, ahead).await,
                refresh(fault, Issues::Kept, ahead).await,
            ];
            for (cell, found) in cells.iter_mut().zip(found) {
                // Neither a clock that is wrong nor the kind of server changes the outcome of a login.
                assert_eq!(*cell.get_or_insert_with(|| found.clone()), found, "{}, {ahead} s", fault.name);
            }
            assert_eq!(Some(login(fault, Issues::Kept, ahead).await), cells[0], "{}", fault.name);
            let found = login(fault, Issues::None, ahead).await;
            assert_eq!(*without.get_or_insert_with(|| found.clone()), found, "{}, {ahead} s", fault.name);
        }
        let [mut login, replaced, kept] = cells.map(Option::unwrap);
        let without = without.unwrap();
        if without != login {
            write!(login, "; without a refresh token {without}").unwrap();
        }
        writeln!(table, "| {} | {login} | {replaced} | {kept} |", fault.name).unwrap();
    }
    documented("token responses", &table);
}

/// Compares a table with the one in the guide.
fn documented(section: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/oauth.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (start, end) = (format!("<!-- {section} -->\n"), format!("<!-- end of {section} -->\n"));
    let (before, rest) = page.split_once(&start).unwrap();
    let (shown, after) = rest.split_once(&end).unwrap();
    if shown.trim() != table.trim() && std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        std::fs::write(&path, format!("{before}{start}\n{table}\n{end}{after}")).unwrap();
    }
    assert_eq!(shown.trim(), table.trim(), "run it again with SNAPSHOTS=overwrite");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_wrong_or_corrected_causes_no_further_refreshes() {
    // D-16: the server's `Date` counts where the clock at the login was ahead.
    for ahead in [-HOUR, 0, HOUR] {
        for is_corrected in [false, true] {
            let world = World::new(Issues::Replaced, ahead);
            let (record, store) = (world.login().await.unwrap(), MemoryStore::new());
            Session::start(store.clone(), &record).await.unwrap();
            world.set(None);
            world.script.take_requests();
            for _ in 0..60 {
                // A new process each time, as with a command-line program.
                let client = world.process(store.clone(), if is_corrected { -ahead } else { 0 });
                send(&client).await.unwrap();
                tokio::time::advance(Duration::from_secs(60)).await;
            }
            let requests = world.script.take_requests();
            let sends = requests.iter().filter(|request| request.path() == "/emails").count();
            assert_eq!(sends, 60, "{ahead} {is_corrected}: each token was valid");
            // Each lasts between 12 and 15 minutes; a token obtained by a clock an hour behind seems to be older.
            let allowed = 4..=5 + usize::from(is_corrected && ahead < 0);
            assert!(allowed.contains(&world.requests()), "{ahead} {is_corrected}: {}", world.requests());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_process_asks_an_overloaded_token_endpoint_before_it_allows_it() {
    // D-06
    static BUSY: Fault = fault("429", false, |_| Reply::bytes(429, "").header("retry-after", "1800"));
    let world = World::new(Issues::Replaced, 0);
    let (record, store) = (world.login().await.unwrap(), MemoryStore::new());
    Session::start(store.clone(), &record).await.unwrap();
    tokio::time::advance(Duration::from_secs(901)).await;
    world.set(Some(&BUSY));
    for (minutes, requests) in [(0, 1), (1, 1), (20, 1), (7, 1), (2, 2)] {
        tokio::time::advance(Duration::from_secs(60 * minutes)).await;
        if requests == 2 {
            world.clear();
        }
        let outcome = send(&world.process(store.clone(), 0)).await;
        assert_eq!((outcome.is_ok(), world.requests()), (requests == 2, requests), "{minutes} {outcome:?}");
        let pause = outcome.err().and_then(|error| error.retry_after()).unwrap_or_default();
        assert!(requests == 2 || (1..=1800).contains(&pause.as_secs()), "{minutes} {pause:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_waits_reports_why_and_for_how_long() {
    static LOST: Fault = fault("502, a page", false, |_| page(502));
    static BUSY: Fault = fault("429", false, |_| Reply::bytes(429, "").header("retry-after", "30"));
    for (fault, first, expected) in [
        (
            &LOST,
            false,
            "the response to the previous token refresh was lost; waiting 60 s before another token refresh",
        ),
        (
            &BUSY,
            true,
            "the authorization server is overloaded (status 429); waiting 30 s before another token refresh",
        ),
    ] {
        let (world, heard) = (World::new(Issues::Replaced, 0), Arc::new(Mutex::new(Vec::new())));
        let (record, events) = (world.login().await.unwrap(), Arc::clone(&heard));
        let (begun, started) = (world.begun, world.started);
        let session = Session::builder()
            .wall_clock(move || started + begun.elapsed())
            .transport(world.script.clone())
            .on_event(move |event| events.lock().unwrap().push(event.to_string()))
            .start(MemoryStore::new(), &record)
            .await
            .unwrap();
        tokio::time::advance(Duration::from_secs(901)).await;
        world.set(Some(fault));
        if first {
            let server = Arc::clone(&world.server);
            // It recovers while the session waits.
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(10)).await;
                server.lock().unwrap().fault = None;
            });
        } else {
            session.access_token().await.unwrap_err();
            world.clear();
        }
        let begun = Instant::now();
        session.access_token().await.unwrap();
        let waited = format!("waiting {} s", begun.elapsed().as_secs());
        let heard = heard.lock().unwrap();
        assert_eq!(heard.last().unwrap(), expected, "{heard:?}");
        assert!(expected.contains(&waited), "{waited}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_login_without_a_refresh_token_ends_with_its_access_token() {
    // RFC 6749, 5.1
    for ahead in [-HOUR, 0, HOUR] {
        let world = World::new(Issues::None, ahead);
        let client = world.client(&world.login().await.unwrap()).await;
        world.set(None);
        send(&client).await.unwrap();
        tokio::time::advance(Duration::from_secs(901)).await;
        let outcome = send(&client).await;
        assert!(is_ended(&outcome) && world.requests() == 0, "{outcome:?}");
    }
}

#[test]
fn the_tests_that_the_table_of_standards_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/oauth.md")).unwrap();
    let rows =
        page.split_once("## Standards").unwrap().1.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut folders = [
        "sdk/src",
        "sdk/tests",
        "cli/tests",
        "tests/reference-server/tests",
        "tests/conformance/peers/login",
    ]
    .map(|folder| root.join(folder))
    .to_vec();
    let mut sources = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.extension().and_then(|end| end.to_str()) {
                _ if entry.is_dir() => folders.push(entry),
                Some("rs") => sources += &std::fs::read_to_string(entry).unwrap(),
                Some("py" | "mjs") => {
                    writeln!(sources, "fn {}()", entry.file_name().unwrap().display()).unwrap();
                }
                _ => {}
            }
        }
    }
    let mut named = 0;
    for row in rows {
        let shown_by = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        for name in shown_by.split(", ").map(|name| name.trim_matches('`')) {
            assert!(sources.contains(&format!("fn {name}()")), "{name}");
            named += 1;
        }
    }
    assert!(named >= 40, "{named}");
}
