//! Logins at authorization servers that aren't the API's own: found through the API's metadata (RFC 9728), by `--issuer`, and in the device flow
//! (RFC 8628). Both servers are scripted.

use std::sync::Mutex;

use idempost_conformance::peer::{Act, Arrived};

use super::*;
use crate::service::ScriptedPeer;

pub(super) const RESOURCE: &str = "/.well-known/oauth-protected-resource";
pub(super) const SERVER: &str = "/.well-known/oauth-authorization-server";

/// A server on its own port.
pub(super) struct Scripted {
    pub(super) url: String,
    peer: ScriptedPeer,
}

impl Scripted {
    /// `script` also gets the server's URL.
    pub(super) fn start(script: impl Fn(&str, &Arrived) -> Act + Send + Sync + 'static) -> Self {
        let peer = ScriptedPeer::start(move |request| {
            let url = format!("http://{}", request.header("host").unwrap());
            script(&url, request)
        });
        Self { url: peer.base_url(), peer }
    }

    pub(super) fn requests(&self, path: &str) -> Vec<Arrived> {
        self.peer.requests().into_iter().filter(|request| request.target() == path).collect()
    }
}

/// The access token of a request.
pub(super) fn token(request: &Arrived) -> Option<&str> {
    request.header("authorization")?.strip_prefix("Bearer ")
}

pub(super) fn json(status: u16, body: impl Into<Value>) -> Act {
    Act::json(status, &body.into().to_string())
}

pub(super) fn empty(status: u16) -> Act {
    Act::json(status, "")
}

pub(super) fn oauth_error(status: u16, name: &str) -> Act {
    json(status, json!({ "error": name }))
}

pub(super) fn field(body: &[u8], name: &str) -> String {
    let found = url::form_urlencoded::parse(body).find(|(known, _)| known == name);
    found.map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// The response with the tokens of a login, or of its refresh.
pub(super) fn tokens(suffix: &str) -> Value {
    json!({
        "access_token": format!("at{suffix}"), "token_type": "Bearer", "expires_in": 900,
        "refresh_token": format!("rt{suffix}"), "scope": "emails:send",
    })
}

pub(super) fn sent() -> Act {
    json(200, json!({ "id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794" }))
}

/// The metadata of an authorization server, some of whose endpoints are at `endpoints`.
pub(super) fn metadata(issuer: &str, endpoints: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{endpoints}/token"),
        "revocation_endpoint": format!("{endpoints}/revoke"),
        "device_authorization_endpoint": format!("{issuer}/device_authorization"),
        "code_challenge_methods_supported": ["S256"],
    })
}

/// An authorization server with one client. In the device flow, the user decides after one request.
fn authorization_server(decision: &'static str, endpoints: Option<String>) -> Scripted {
    let polls = Mutex::new(0);
    Scripted::start(move |url, request| match request.target() {
        SERVER => json(200, metadata(url, endpoints.as_deref().unwrap_or(url))),
        "/device_authorization" => json(
            200,
            json!({
                "device_code": "device-code-sentinel", "user_code": "WDJB-MJHT",
                "verification_uri": format!("{url}/device"),
                "verification_uri_complete": format!("{url}/device?user_code=WDJB-MJHT"),
                "expires_in": 1800, "interval": 1,
            }),
        ),
        "/token" if field(&request.body, "client_id") != "idempost-cli" => oauth_error(401, "invalid_client"),
        "/token" if field(&request.body, "device_code") == "device-code-sentinel" => {
            let mut polls = polls.lock().unwrap();
            *polls += 1;
            match (*polls, decision) {
                (1, _) => oauth_error(400, "authorization_pending"),
                (_, "allow") => json(200, tokens("-sentinel")),
                (_, error) => oauth_error(400, error),
            }
        }
        "/token" if field(&request.body, "code") == "code-sentinel" => {
            let mut tokens = tokens("-sentinel");
            if decision == "no refresh token" {
                tokens.as_object_mut().unwrap().remove("refresh_token");
            }
            json(200, tokens)
        }
        "/token" => oauth_error(400, "invalid_grant"),
        "/revoke" => json(200, json!({})),
        _ => empty(404),
    })
}

/// An API that names this authorization server, at the well-known URL or in a 401, or that names none.
fn api(issuer: Option<&str>, in_challenge: bool) -> Scripted {
    let issuer = issuer.map(str::to_owned);
    Scripted::start(move |url, request| {
        let resource = json!({ "resource": url, "authorization_servers": [issuer.as_deref()] });
        match request.target() {
            RESOURCE if issuer.is_some() && !in_challenge => json(200, resource),
            "/meta" if in_challenge => json(200, resource),
            "/emails" if token(request) == Some("at-sentinel") => sent(),
            "/emails" => {
                let unauthorized =
                    json!({ "statusCode": 401, "name": "missing_api_key", "message": "no key" });
                let challenge = format!("Bearer resource_metadata=\"{url}/meta\"");
                let challenge = in_challenge.then_some(("www-authenticate", &*challenge));
                let headers = [("content-type", "application/json")].into_iter().chain(challenge);
                Act::answer(401, &headers.collect::<Vec<_>>(), unauthorized.to_string())
            }
            _ => empty(404),
        }
    })
}

/// An authorization server, the API that names it, and a program with its base URL.
fn world(decision: &'static str) -> (Scripted, Scripted, Idempost) {
    let server = authorization_server(decision, None);
    let api = api(Some(&server.url), false);
    let idempost = program(&api);
    (server, api, idempost)
}

/// A program without credentials that stores logins in a file.
pub(super) fn program(api: &Scripted) -> Idempost {
    Idempost::new().env("IDEMPOST_BASE_URL", &*api.url).env("IDEMPOST_CREDENTIAL_STORE", "file")
}

#[test]
fn a_login_takes_place_at_the_server_that_the_api_names() {
    // RFC 9728, by its well-known URL and by the challenge of a 401
    for in_challenge in [false, true] {
        let server = authorization_server("allow", None);
        let api = api(Some(&server.url), in_challenge);
        let idempost = program(&api);
        let login = Login::begin(&idempost, "");
        assert_eq!(login.page.origin().ascii_serialization(), server.url);
        login.back_with("code=code-sentinel").ok();
        idempost.run(&SEND).ok();
        let status = idempost.run(&["auth", "status", "--json"]).json();
        has(&status, &json!({"origin": api.url, "issuer": server.url}));
        idempost.run(&["auth", "logout"]).ok();
        assert_eq!(server.requests("/revoke").len(), 1);
        assert!(api.requests("/token").is_empty() && server.requests("/emails").is_empty());
    }
}

#[test]
fn an_issuer_is_given_once_and_belongs_to_its_base_url() {
    let server = authorization_server("allow", None);
    let (api, other) = (api(None, false), api(None, false));
    let idempost = Idempost::new().env("IDEMPOST_CREDENTIAL_STORE", "file");
    let work = ["--profile", "work", "--base-url", &api.url];
    let ran = idempost.run(&("auth login --issuer login.example.com", &work));
    ran.fails_with(2, &["--issuer must be an absolute URL"]);
    let at =
        |login: &Login, server: &Scripted| assert_eq!(login.page.origin().ascii_serialization(), server.url);
    let login = Login::begin(&idempost, &(&work, &["--issuer", &server.url]));
    at(&login, &server);
    login.back_with("code=code-sentinel").exits(0).says(&["saved base_url and issuer to"]);

    let again = Login::begin(&idempost, "--profile work --login-timeout 1s");
    at(&again, &server);
    again.end().fails(4);
    // Another API gets no tokens of this server.
    let elsewhere = format!("--profile work --base-url {} --login-timeout 1s --client-id c", other.url);
    let login = Login::begin(&idempost, &elsewhere);
    at(&login, &other);
    login.end().fails(4);
    shows(&idempost.read(".config/idempost/config.toml"), &[&format!("issuer = \"{}\"", server.url)]);

    // An issuer without metadata is an error: its endpoints can't be guessed.
    let issuer = format!("auth login --base-url {} --issuer {}", api.url, other.url);
    idempost.run(&issuer).fails_with(3, &["publishes no authorization server metadata"]);
}

#[test]
fn endpoints_of_other_origins_have_to_be_trusted() {
    // RFC 9700, 4.4: otherwise the metadata could send a code to another server.
    let tokens = authorization_server("allow", None);
    let server = authorization_server("allow", Some(tokens.url.clone()));
    let api = api(Some(&server.url), false);
    let idempost = program(&api);
    let refused = format!("`token_endpoint` is at {}, not at {}", tokens.url, server.url);
    idempost.run("auth login").fails_with(3, &[&refused, "--trust-endpoints"]);
    assert!(tokens.requests("/token").is_empty());
    for flags in ["--trust-endpoints", ""] {
        Login::begin(&idempost, flags).back_with("code=code-sentinel").ok();
        idempost.run(&SEND).ok();
    }
    assert!(server.requests("/token").is_empty());
}

#[test]
fn a_login_in_the_device_flow_needs_no_browser_here() {
    // RFC 8628
    let (server, api, idempost) = world("allow");
    let ran = idempost.run(&["auth", "login", "--device", "-vvv"]).says(&[
        "and enter WDJB-MJHT:\n",
        &format!("  {}/device\n", server.url),
        "/device?user_code=WDJB-MJHT",
    ]);
    // Traced like a call, without secrets.
    let traced: [&str; 5] = [
        &format!("> GET {}{RESOURCE}\n", api.url),
        &format!("> POST {}/token\n", server.url),
        "< 400 Bad Request in ",
        "grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=[redacted]&client_id=idempost-cli",
        r#"{"access_token":"[redacted]","token_type":"Bearer","expires_in":900,"refresh_token":"[redacted]""#,
    ];
    ran.says(&traced).hides(&["sentinel"]).ok_with(&["logged in as profile `default`"]);
    idempost.run(&SEND).ok();
    assert_eq!(server.requests("/token").len(), 2);

    let open = idempost.run(&["auth", "login", "--device", "--json"]);
    let open: Value = open.stderr.lines().find_map(|line| serde_json::from_str(line).ok()).unwrap();
    assert_eq!(open["open"]["user_code"], "WDJB-MJHT");
}

#[test]
fn a_login_in_the_device_flow_ends_with_its_reason_and_stores_nothing() {
    let endings = [
        ("access_denied", "", "access was denied in the browser; nothing was stored"),
        ("expired_token", "", "the device code has expired; nothing was stored"),
        ("authorization_pending", "--login-timeout 1s", "timed out after 1 s"),
    ];
    concurrently(endings, |(decision, flags, part)| {
        let (_server, _api, idempost) = world(decision);
        idempost.run(&("auth login --device", flags)).fails_with(4, &[part]);
        idempost.run(&["auth", "status"]).fails(4);
    });
    // Like the service, the sandbox doesn't offer it.
    let (_service, idempost) = without_login();
    idempost.run("auth login --device").fails_with(4, &["doesn't offer the device flow", "auth login"]);
}

#[test]
fn a_login_without_a_refresh_token_says_when_it_ends() {
    // RFC 6749, 5.1
    let (_server, _api, idempost) = world("no refresh token");
    let login = Login::begin(&idempost, "");
    login.back_with("code=code-sentinel").ok_with(&["expires in 15m; the login ends then"]);
    idempost.run(&SEND).ok();
}

/// Runs a command, and returns it with its output as shown to a user.
fn recorded(idempost: &Idempost, command: &str) -> String {
    let program = env!("CARGO_BIN_EXE_idempost");
    let output = idempost.shell(&format!("{} 2>&1", command.replacen("idempost", program, 1))).ok();
    format!("$ {command}\n{output}")
}

/// The part of a text between two others.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    text.split_once(start).unwrap().1.split_once(end).unwrap().0
}

#[test]
fn the_recorded_logins_of_the_guide_show_the_actual_output() {
    let (server, api, _) = world("allow");
    let who = "idempost whoami --jq '.origin, .issuer, .scope'";
    let mut sessions = Vec::new();
    for flow in ["device", "browser"] {
        let idempost = Idempost::new();
        let login = format!("idempost --base-url {} auth login --store file", api.url);
        let mut text = String::new();
        if flow == "device" {
            text += &recorded(&idempost, &format!("{login} --device"));
        } else {
            let begun = recorded(&idempost, &format!("{login} --no-browser"));
            let (state, challenge) = (
                between(&begun, "&state=", "&").to_owned(),
                between(&begun, "&code_challenge=", "&").to_owned(),
            );
            text += &begun;
            let back =
                format!("http://127.0.0.1/callback?code=code-sentinel&state={state}&iss={}", server.url);
            text += &recorded(&idempost, &format!("idempost auth login --callback-url '{back}'"));
            text = text.replace(&state, "…").replace(&challenge, "…").replace("code-sentinel", "…");
        }
        text += &recorded(&idempost, who);
        let home = idempost.home().to_str().unwrap();
        let text = text
            .replace(&api.url, "https://api.example.com")
            .replace(&server.url, "https://login.example.com");
        sessions.push(format!("```text\n{}```\n", text.replace(home, "/home/ada")));
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/oauth.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (start, end) = ("<!-- recorded logins -->\n", "<!-- end of recorded logins -->\n");
    let (shown, sessions) = (between(&page, start, end), format!("\n{}\n", sessions.join("\n")));
    if shown != sessions && std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        let page = page.replacen(&format!("{start}{shown}{end}"), &format!("{start}{sessions}{end}"), 1);
        std::fs::write(&path, page).unwrap();
    }
    assert_eq!(shown, sessions, "run it again with SNAPSHOTS=overwrite");
}
