//! Logins whose requests a proxy, a network's login page or another service responds to.

use idempost_conformance::peer::Act;

use super::elsewhere::{RESOURCE, SERVER, Scripted, empty, field, json, metadata, oauth_error, program};
use super::*;

const PAGE: &str = "<html><head><title>Sign in</title></head></html>";

/// An authorization server whose token endpoint gives this response to the query whether a client is registered.
fn token_endpoint(answer: Act) -> Scripted {
    Scripted::start(move |url, request| match request.target() {
        SERVER => {
            let mut metadata = metadata(url, url);
            metadata["registration_endpoint"] = json!(format!("{url}/register"));
            json(200, metadata)
        }
        "/token" => answer.clone(),
        "/register" => json(201, json!({ "client_id": "registered" })),
        _ => empty(404),
    })
}

/// Asserts that the program reports this response, and what to check, but not that the login or the client is wrong.
#[track_caller]
fn is_reported(ran: Ran, code: i32, response: &str) {
    let wrong = ["auth login", "--issuer", "--client-id", "overloaded", "metadata can't be used"];
    let message = ran.hides(&wrong).fails_with(code, &[response, "check ", ": idempost doctor"]);
    assert!(message.starts_with("error: "), "{message}");
}

/// The message about a response to a request for this URL.
fn expected(url: &str, status: u16, body: &str) -> String {
    match (status, body) {
        (407, _) => format!("a proxy returned 407 for {url}: it requires a user and a password\n"),
        (_, PAGE) => format!(
            "{url} returned {status}, an HTML page instead of the expected JSON (a proxy, or a wrong base URL?)\n"
        ),
        _ => format!("{url} returned {status}, not the expected JSON (a proxy, or a wrong base URL?)\n"),
    }
}

#[test]
fn a_response_that_is_not_metadata_is_reported_with_its_url_and_status() {
    for (path, status, body, code) in [
        (RESOURCE, 503, PAGE, 7),
        (SERVER, 503, "", 7),
        (SERVER, 500, r#"{"error":"server_error"}"#, 7),
        (RESOURCE, 407, PAGE, 4),
        (SERVER, 407, PAGE, 4),
        (SERVER, 511, PAGE, 4),
        (SERVER, 302, "", 4),
        (RESOURCE, 200, "busy", 4),
        (SERVER, 200, PAGE, 4),
    ] {
        let server = Scripted::start(move |_, request| match request.target() {
            target if target == path => Act::json(status, body),
            _ => empty(404),
        });
        let expected = expected(&format!("{}{path}", server.url), status, body);
        let issuer = format!("--issuer {} --client-id c", server.url);
        let flags = ["", "--device", &issuer];
        for flags in if path == SERVER { &flags[..] } else { &flags[..1] } {
            is_reported(program(&server).run(&("auth login", flags)), code, &expected);
        }
    }
}

#[test]
fn an_api_with_a_page_for_unknown_paths_needs_no_metadata() {
    let server = Scripted::start(|_, request| match request.target() {
        "/oauth/token" if field(&request.body, "client_id") == "idempost-cli" => {
            oauth_error(400, "invalid_grant")
        }
        "/oauth/token" => oauth_error(401, "invalid_client"),
        _ => Act::json(200, PAGE),
    });
    for flags in ["", "--client-id c"] {
        let stdout = program(&server).run(&("auth login --no-browser", flags)).ok();
        assert!(stdout.starts_with(&format!("{}/oauth/authorize?", server.url)), "{stdout}");
    }
}

#[test]
fn a_client_counts_as_registered_only_if_the_token_endpoint_says_so() {
    for (status, body, code) in [(403, PAGE, 4), (407, "", 4), (503, PAGE, 7)] {
        let server = token_endpoint(Act::json(status, body));
        let ran = program(&server).run(&["auth", "login", "--no-browser"]);
        is_reported(ran, code, &expected(&format!("{}/token", server.url), status, body));
        assert_eq!(server.requests("/register").len(), 0, "{status}");
    }
    let limited = token_endpoint(Act::answer(429, &[("retry-after", "7")], ""));
    program(&limited).run(&["auth", "login", "--no-browser"]).fails(6);
    // The last one doesn't tell, so the program registers itself.
    for (status, error, client) in [
        (400, "invalid_grant", "idempost-cli"),
        (401, "invalid_client", "registered"),
        (400, "invalid_request", "registered"),
    ] {
        let server = token_endpoint(oauth_error(status, error));
        program(&server).run(&["auth", "login", "--no-browser"]).ok_with(&[&format!("client_id={client}&")]);
    }
}
