//! Responses of a token endpoint, with exit codes: a selection of the table in `sdk/tests/sdk/matrix.rs`.

use std::sync::{Arc, Mutex};

use super::elsewhere::{Answer, Scripted, empty, field, json};
use super::*;

/// An API with its own authorization server, which rejects the access token of the login, so that the next command refreshes.
struct World {
    server: Scripted,
    /// The response to the next requests of this grant type.
    fault: Arc<Mutex<Option<(&'static str, Answer)>>>,
    idempost: Idempost,
}

impl World {
    fn new() -> Self {
        let fault: Arc<Mutex<Option<(&'static str, Answer)>>> = Arc::default();
        let faults = Arc::clone(&fault);
        let server = Scripted::start(move |url, request| match request.path.as_str() {
            "/.well-known/oauth-authorization-server" => json(
                200,
                json!({
                    "issuer": url, "authorization_endpoint": format!("{url}/authorize"),
                    "token_endpoint": format!("{url}/token"), "code_challenge_methods_supported": ["S256"],
                }),
            ),
            "/token" => {
                let grant = field(&request.body, "grant_type");
                if let Some((_, answer)) =
                    faults.lock().unwrap().clone().filter(|(kind, _)| grant.starts_with(kind))
                {
                    return answer;
                }
                let serial = if grant == "refresh_token" { 2 } else { 1 };
                json(200, tokens(serial))
            }
            "/emails" if request.headers.to_ascii_lowercase().contains("authorization: bearer at2") => {
                json(200, json!({ "id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794" }))
            }
            "/emails" => {
                json(401, json!({ "statusCode": 401, "name": "invalid_access_token", "message": "expired" }))
            }
            _ => empty(404),
        });
        let idempost =
            Idempost::new().env("IDEMPOST_BASE_URL", &*server.url).env("IDEMPOST_CREDENTIAL_STORE", "file");
        Self { server, fault, idempost }
    }

    fn login(&self) -> Ran {
        Login::begin(&self.idempost, &["--client-id", "c"]).back_with("code=x")
    }

    fn fault(&self, grant: &'static str, answer: Answer) -> usize {
        *self.fault.lock().unwrap() = Some((grant, answer));
        self.server.requests("/token").len()
    }
}

fn tokens(serial: u32) -> Value {
    json!({
        "access_token": format!("at{serial}"), "token_type": "Bearer", "expires_in": 900,
        "refresh_token": format!("rt{serial}"), "scope": "emails:send",
    })
}

fn page(status: u16) -> Answer {
    (status, String::new(), "<html>".to_owned())
}

fn later(status: u16, seconds: u32) -> Answer {
    (status, format!("retry-after: {seconds}\r\n"), String::new())
}

fn dpop(serial: u32) -> Answer {
    let mut tokens = tokens(serial);
    tokens["token_type"] = json!("DPoP");
    json(200, tokens)
}

#[test]
fn each_response_to_a_refresh_has_its_exit_code_and_keeps_the_login() {
    // D-06, D-08, D-09
    for (name, answer, code, message, requests) in [
        ("429", later(429, 3600), 6, "overloaded (status 429)", 1),
        ("401", json(401, json!({ "error": "invalid_client" })), 4, "invalid_client", 1),
        ("403", page(403), 7, "/token returned 403", 1),
        ("502", page(502), 7, "was lost; try again in", 1),
        ("closed", empty(0), 7, "was lost; try again in", 1),
        ("DPoP", dpop(2), 7, "no usable access token", 1),
        ("invalid_grant", json(400, json!({ "error": "invalid_grant" })), 4, "has ended", 1),
    ] {
        let world = World::new();
        world.login().ok();
        let before = world.fault("refresh_token", answer);
        let ran = world.idempost.run(&SEND);
        assert_eq!(ran.code, Some(code), "{name}: {ran:?}");
        assert!(ran.stderr.contains(message), "{name}: {ran:?}");
        assert_eq!(world.server.requests("/token").len() - before, requests, "{name}");
        let status = world.idempost.run(&["auth", "status", "--json"]);
        let kept = if name == "invalid_grant" { Some(4) } else { Some(0) };
        assert_eq!(status.code, kept, "{name}: {status:?}");
        if name == "429" {
            // The next command respects `Retry-After`.
            assert_eq!(world.idempost.run(&SEND).code, Some(6));
            assert_eq!(world.server.requests("/token").len() - before, requests);
        }
    }
}

#[test]
fn each_response_to_a_code_has_its_exit_code_and_stores_nothing() {
    // C-14
    for (name, answer, code, message) in [
        ("429", later(429, 3600), 6, "overloaded (status 429)"),
        ("400", json(400, json!({ "error": "invalid_grant" })), 4, "invalid_grant"),
        ("403", page(403), 7, "/token returned 403"),
        ("500", page(500), 4, "log in again"),
        ("closed", empty(0), 4, "log in again"),
        ("DPoP", dpop(1), 4, "`token_type` is DPoP instead of Bearer"),
    ] {
        let world = World::new();
        let before = world.fault("authorization_code", answer);
        let ran = world.login();
        assert_eq!(ran.code, Some(code), "{name}: {ran:?}");
        assert!(ran.stderr.contains(message), "{name}: {ran:?}");
        assert_eq!(world.server.requests("/token").len() - before, 1, "{name}");
        world.idempost.run(&["auth", "status"]).fails(4);
    }
}

#[test]
fn a_command_that_waits_for_a_refresh_says_so_and_traces_it() {
    let world = World::new();
    world.login().ok();
    world.fault("refresh_token", later(429, 2));
    let ran = world.idempost.run(&(SEND, "-vvv"));
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let note =
        "the authorization server is overloaded (status 429); waiting 2 s before another token refresh\n";
    assert!(ran.stderr.contains(note), "{ran:?}");
    let trace = "grant_type=refresh_token&client_id=c&refresh_token=[redacted]\n";
    assert!(ran.stderr.contains(trace) && ran.stderr.contains("< 429 Too Many Requests in "), "{ran:?}");
    assert!(!ran.stderr.contains("rt1"), "{ran:?}");
    let quiet = world.idempost.run(&(SEND, "--quiet"));
    assert!(quiet.code == Some(6) && !quiet.stderr.contains("waiting"), "{quiet:?}");
}
