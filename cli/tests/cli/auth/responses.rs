//! Responses of a token endpoint, with exit codes: a selection of the table in `sdk/tests/sdk/matrix.rs`.

use std::sync::{Arc, Mutex};

use idempost_conformance::peer::Act;

use super::elsewhere::{
    SERVER, Scripted, empty, field, json, metadata, oauth_error, program, sent, token, tokens,
};
use super::*;
use crate::support::concurrently;

/// An API with its own authorization server, which rejects the access token of the login, so that the next command refreshes.
struct World {
    server: Scripted,
    /// The response to the next requests of this grant type.
    fault: Arc<Mutex<Option<(&'static str, Act)>>>,
    idempost: Idempost,
}

impl World {
    fn new() -> Self {
        let fault: Arc<Mutex<Option<(&'static str, Act)>>> = Arc::default();
        let faults = Arc::clone(&fault);
        let server = Scripted::start(move |url, request| match request.target() {
            SERVER => json(200, metadata(url, url)),
            "/token" => {
                let grant = field(&request.body, "grant_type");
                match faults.lock().unwrap().clone() {
                    Some((kind, answer)) if grant.starts_with(kind) => answer,
                    _ => json(200, tokens(if grant == "refresh_token" { "2" } else { "1" })),
                }
            }
            "/emails" if token(request) == Some("at2") => sent(),
            "/emails" => {
                json(401, json!({ "statusCode": 401, "name": "invalid_access_token", "message": "expired" }))
            }
            _ => empty(404),
        });
        let idempost = program(&server);
        Self { server, fault, idempost }
    }

    fn login(&self) -> Ran {
        Login::begin(&self.idempost, &["--client-id", "c"]).back_with("code=x")
    }

    fn fault(&self, grant: &'static str, answer: Act) -> usize {
        *self.fault.lock().unwrap() = Some((grant, answer));
        self.server.requests("/token").len()
    }
}

fn later(seconds: u32) -> Act {
    Act::answer(429, &[("retry-after", &seconds.to_string())], "")
}

fn dpop() -> Act {
    let mut tokens = tokens("2");
    tokens["token_type"] = json!("DPoP");
    json(200, tokens)
}

#[test]
fn each_response_to_a_refresh_has_its_exit_code_and_keeps_the_login() {
    // D-06, D-08, D-09
    let rows = [
        (later(3600), 6, "overloaded (status 429)", 0),
        (oauth_error(401, "invalid_client"), 4, "invalid_client", 0),
        (Act::json(403, "<html>"), 7, "/token returned 403", 0),
        (Act::json(502, "<html>"), 7, "was lost; try again in", 0),
        (Act::HangUp, 7, "was lost; try again in", 0),
        (dpop(), 7, "no usable access token", 0),
        (oauth_error(400, "invalid_grant"), 4, "has ended", 4),
    ];
    concurrently(rows, |(answer, code, message, status)| {
        let world = World::new();
        world.login().ok();
        let before = world.fault("refresh_token", answer);
        let asked = || world.server.requests("/token").len() - before;
        let refused = world.idempost.run(&SEND).exits(code).says(&[message]);
        assert_eq!(asked(), 1, "{refused:?}");
        world.idempost.run("auth status").exits(status);
        if code != 4 {
            refused.hides(&["auth login"]);
        }
        if code == 6 {
            // The next command respects `Retry-After`.
            let next = world.idempost.run(&SEND).fails(6);
            assert!(next.contains("retry after 35") || next.contains("retry after 34"), "{next}");
            assert_eq!(asked(), 1);
        }
    });
}

#[test]
fn each_response_to_a_code_has_its_exit_code_and_stores_nothing() {
    // C-14
    let rows = [
        (later(3600), 6, "overloaded (status 429)"),
        (oauth_error(400, "invalid_grant"), 4, "invalid_grant"),
        (Act::json(403, "<html>"), 7, "/token returned 403"),
        (Act::json(500, "<html>"), 4, "log in again"),
        (Act::HangUp, 4, "log in again"),
        (dpop(), 4, "`token_type` is DPoP instead of Bearer"),
    ];
    concurrently(rows, |(answer, code, message)| {
        let world = World::new();
        let before = world.fault("authorization_code", answer);
        let ran = world.login().exits(code).says(&[message]);
        assert_eq!(world.server.requests("/token").len() - before, 1, "{ran:?}");
        world.idempost.run("auth status").fails(4);
    });
}

#[test]
fn a_command_that_waits_for_a_refresh_says_so_and_traces_it() {
    let shown = [
        "the authorization server is overloaded (status 429); waiting 2 s before another token refresh\n",
        "grant_type=refresh_token&client_id=c&refresh_token=[redacted]\n",
        "< 429 Too Many Requests in ",
    ];
    concurrently(["-vvv", "--quiet"], |flags| {
        let world = World::new();
        world.login().ok();
        world.fault("refresh_token", later(2));
        let ran = world.idempost.run(&(SEND, flags)).exits(6);
        if flags == "-vvv" {
            ran.says(&shown).hides(&["rt1"])
        } else {
            ran.hides(&["waiting"])
        };
    });
}
