//! Error responses, and the headers of every response.

use http::Method;
use idempost_reference_server::{Service, Settings};
use serde_json::json;

use crate::support::{Answer, Sandbox, UNKNOWN_ID, email};

fn assert_error(answer: &Answer, status: u16, name: &str) {
    assert_eq!((answer.status.as_u16(), answer.name().as_str()), (status, name), "{}", answer.text());
    // ERR-04: exactly these three keys.
    let body = answer.json();
    assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["statusCode", "name", "message"]);
    assert_eq!(body["statusCode"], status);
    assert!(!answer.message().is_empty());
}

#[test]
fn err_04_every_error_has_the_same_three_keys() {
    // ERR-04, ERR-05, ERR-08, ERR-10
    let sandbox = Sandbox::new();
    assert_error(&sandbox.get("/nowhere"), 404, "not_found");
    assert_error(&sandbox.get("/emails/a/b/c"), 404, "not_found");
    assert_error(&sandbox.get("/emails/00000000-0000-4000-8000-000000000000"), 404, "not_found");
    assert_error(&sandbox.get("/emails/nonsense"), 422, "invalid_parameter");
    assert_error(&sandbox.post("/emails", &json!({})), 422, "missing_required_field");
    assert_error(&sandbox.post("/emails/batch", &json!({})), 422, "validation_error");
    assert_error(&sandbox.visit("/emails"), 401, "missing_api_key");
    assert_error(&sandbox.ask(Method::GET, "/emails").key("x").send(""), 403, "invalid_api_key");
    assert_error(&sandbox.account("sb_x_sending").get("/emails"), 401, "restricted_api_key");
}

/// The record that a route's first parameter names.
fn record_name(route: &str) -> &'static str {
    let names = [
        ("/emails/receiving/", "Received email"),
        ("/emails/", "Email"),
        ("/broadcasts/", "Broadcast"),
        ("/templates/", "Template"),
        ("/domains/{domain_id}/claim", "Domain claim"),
        ("/domains/", "Domain"),
        ("/contacts/imports/", "Contact import"),
        ("/contacts/", "Contact"),
        ("/contact-properties/", "Contact property"),
        ("/segments/", "Segment"),
        ("/audiences/", "Segment"),
        ("/topics/", "Topic"),
        ("/suppressions/", "Suppression"),
        ("/automations/", "Automation"),
        ("/events/", "Event"),
        ("/inboxes/", "Inbox"),
        ("/webhooks/", "Webhook"),
        ("/logs/", "Log entry"),
        ("/api-keys/", "API key"),
        ("/oauth/grants/", "OAuth grant"),
    ];
    names.iter().find(|(start, _)| route.starts_with(start)).unwrap_or_else(|| panic!("{route}")).1
}

#[test]
fn err_08_an_unknown_id_is_not_found_on_any_route() {
    // ERR-04, ERR-08
    let sandbox = Sandbox::with(&Settings { beta: true, ..Settings::default() });
    for (method, route) in Service::routes().filter(|(_, route)| route.contains('{')) {
        let ask = |id: &str, query: &str, body: &'static str| {
            let segments = route.split('/').map(|part| if part.starts_with('{') { id } else { part });
            let path = segments.collect::<Vec<_>>().join("/");
            sandbox.ask(method.clone(), format!("{path}{query}")).send(body)
        };
        // The record is looked up first, whatever else is wrong.
        let (unknown, nonsense) = (ask(UNKNOWN_ID, "?limit=0", "{"), ask("nonsense", "", "{}"));
        if method == Method::DELETE && ["/segments/{segment_id}", "/audiences/{audience_id}"].contains(&route)
        {
            assert_eq!(unknown.expect_status(200).json()["deleted"], true, "like Resend");
        } else {
            assert_error(&unknown, 404, "not_found");
            assert_eq!(unknown.message(), format!("{} not found.", record_name(route)), "{method} {route}");
        }
        // A name, an alias or an address can be any text.
        if route.contains("{id_or_") && !route.starts_with("/audiences/") || route.contains("{inbox}") {
            assert_error(&nonsense, 404, "not_found");
        } else {
            assert_error(&nonsense, 422, "invalid_parameter");
            let rule = "must be a UUID; found \"nonsense\".";
            assert!(nonsense.message().ends_with(rule), "{method} {route}: {}", nonsense.message());
        }
    }
}

#[test]
fn err_10_method_not_allowed_lists_the_allowed_methods() {
    // ERR-10
    let sandbox = Sandbox::new();
    for (method, path, allowed) in [
        (Method::DELETE, "/emails", "POST, GET"),
        (Method::GET, "/emails/batch", "POST"),
        (Method::POST, "/logs", "GET"),
        (Method::GET, "/email", "POST"),
        (Method::PUT, "/logs", "GET"),
        (Method::PUT, "/emails/00000000-0000-4000-8000-000000000000", "GET, PATCH"),
    ] {
        let answer = sandbox.ask(method, path).send("");
        assert_error(&answer, 405, "method_not_allowed");
        assert_eq!(answer.header("allow"), Some(allowed), "{path}");
        assert!(answer.message().contains(allowed), "{}", answer.message());
    }
}

#[test]
fn err_09_a_body_that_is_not_json_is_rejected_in_the_same_shape() {
    // ERR-09
    let sandbox = Sandbox::new();
    let deep = "[".repeat(1_000_000);
    let deep_object = "{\"a\":".repeat(1_000_000);
    for body in ["", "{", "{]", "nonsense", "{} x", "\u{feff}{}", &deep, &deep_object] {
        for path in ["/emails", "/emails/batch"] {
            assert_error(&sandbox.ask(Method::POST, path).send(body.to_owned()), 400, "validation_error");
        }
    }
    let not_utf_8 = sandbox.ask(Method::POST, "/emails").send(&b"{\"from\":\"\xff\"}"[..]);
    assert_error(&not_utf_8, 400, "validation_error");
}

#[test]
fn gen_14_every_response_is_json_with_request_id_and_rate_limit_headers() {
    // GEN-14
    let sandbox = Sandbox::new();
    let answers =
        [sandbox.post("/emails", &email()), sandbox.get("/emails"), sandbox.get("/logs"), sandbox.get("/x")];
    let mut ids = Vec::new();
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status.as_u16()).collect();
    assert_eq!(statuses, [200, 200, 200, 404]);
    for answer in answers {
        answer.json();
        assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
        assert_eq!(answer.header("ratelimit-limit"), Some("1000000"));
        assert_eq!(answer.header("ratelimit-remaining"), Some("1000000"));
        assert_eq!(answer.header("ratelimit-reset"), Some("1"));
        assert_eq!(answer.header("ratelimit-policy"), Some("1000000;w=1"));
        ids.push(uuid::Uuid::try_parse(answer.header("x-request-id").unwrap()).unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[test]
fn the_rate_limit_counts_requests_per_tenant_and_second() {
    let sandbox = Sandbox::with(&Settings { rate_limit: Some(3), ..Settings::default() });
    for remaining in ["2", "1", "0"] {
        let answer = sandbox.get("/emails").expect_status(200);
        assert_eq!(answer.header("ratelimit-limit"), Some("3"));
        assert_eq!(answer.header("ratelimit-policy"), Some("3;w=1"));
        assert_eq!(answer.header("ratelimit-remaining"), Some(remaining));
    }
    for answer in [sandbox.get("/emails"), sandbox.post("/emails", &email())] {
        assert_error(&answer, 429, "rate_limit_exceeded");
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert_eq!(answer.header("ratelimit-remaining"), Some("0"));
    }
    assert!(sandbox.mails().is_empty());
    assert_eq!(sandbox.account("sb_other").get("/emails").status, 200);
    sandbox.advance(1);
    assert_eq!(sandbox.get("/emails").status, 200);
}

#[test]
fn recorded_requests_can_be_inspected() {
    let sandbox = Sandbox::new();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = std::sync::Arc::clone(&seen);
    sandbox.service.on_request(move |request| {
        log.lock().unwrap().push(format!("{} {} {}", request.method, request.path, request.status.as_u16()));
    });
    sandbox.ask(Method::POST, "/emails?x=1").header("idempotency-key", "k").json(&email());
    let requests = sandbox.service.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(*seen.lock().unwrap(), ["POST /emails 200"]);
    let request = &requests[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/emails"));
    assert_eq!(request.query.as_deref(), Some("x=1"));
    assert_eq!(request.headers["idempotency-key"], "k");
    assert_eq!(request.body, email().to_string());
    assert_eq!(request.status, 200);
    assert!(request.answer_body.starts_with(b"{\"id\":"));
    sandbox.service.reset();
    assert!(sandbox.service.requests().is_empty());
}

#[test]
fn the_same_seed_generates_the_same_ids() {
    let ids = |seed| {
        let sandbox = Sandbox::with(&Settings { seed, ..Settings::default() });
        [sandbox.sent(&email()), sandbox.sent(&email())]
    };
    assert_eq!(ids(Some(7)), ids(Some(7)));
    assert_ne!(ids(Some(7)), ids(Some(8)));
    assert_ne!(ids(None), ids(None));
    let ids = ids(Some(7));
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn an_unknown_route_says_so_for_every_method() {
    let sandbox = Sandbox::new();
    let id = UNKNOWN_ID;
    let methods = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    for path in [
        "/nowhere",
        "/emails/a/b",
        "/contacts/a@x.test/devices",
        "/oauth/nowhere",
        "/.well-known/x",
        "/_/nowhere",
    ] {
        for method in &methods {
            let answer = sandbox.ask(method.clone(), path).send("");
            assert_error(&answer, 404, "not_found");
            answer.rejected(404, "not_found", &format!("There is no route {method} \"{path}\""));
            assert_eq!(answer.header("allow"), None);
        }
    }
    // The path of a record, with text that can't be its ID.
    for (method, path) in [
        (Method::POST, "/emails/report"),
        (Method::PUT, "/domains/all"),
        (Method::POST, "/broadcasts/all"),
        (Method::DELETE, "/logs/all"),
        (Method::GET, "/automations/all/stop"),
    ] {
        let answer = sandbox.ask(method.clone(), path).send("");
        assert_error(&answer, 404, "not_found");
        assert!(answer.message().contains("There is no route"), "{method} {path}: {}", answer.message());
    }
    for path in [
        format!("/emails/{id}"),
        format!("/emails/{}", id.replace('-', "%2D")),
        format!("/broadcasts/{id}"),
        "/contacts/anything".into(),
        "/events/any.name".into(),
    ] {
        assert_error(&sandbox.ask(Method::PUT, path).send(""), 405, "method_not_allowed");
    }
}
