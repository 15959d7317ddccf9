//! What an access token may do: `docs/specification.md`, Authentication 3.

use http::Method;
use idempost_reference_server::Service;

use super::sandbox;
use crate::support::KEY;

const SENDING: [(Method, &str); 5] = [
    (Method::POST, "/emails"),
    (Method::POST, "/email"),
    (Method::POST, "/emails/sending"),
    (Method::POST, "/email/sending"),
    (Method::POST, "/broadcasts/{broadcast_id}/send"),
];

/// Whether a route accepts a token with this scope, ignoring other problems of the request.
fn allows(scope: &str, method: &Method, path: &str) -> bool {
    let sandbox = sandbox();
    let token = sandbox.service.grant("full", KEY, scope).access_token;
    let path = path.split('/').map(|segment| {
        if segment.starts_with('{') { "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794" } else { segment }
    });
    let path = path.collect::<Vec<_>>().join("/");
    let answer = sandbox.ask(method.clone(), &path).key(&token).send("{}");
    let refused = answer.status == 403 && answer.name() == "invalid_permission";
    assert_eq!(refused, answer.text().contains("needs the scope `full_access`"), "{}", answer.text());
    assert_ne!(answer.status, 401, "{method} {path}");
    assert_eq!(refused, answer.headers.contains_key("www-authenticate"), "{method} {path}");
    !refused
}

#[test]
fn full_access_grants_every_route_and_emails_send_only_the_sending_routes() {
    // SCOPE-01, SCOPE-02, SCOPE-03, SCOPE-04, SCOPE-05, SCOPE-06, SCOPE-07, SCOPE-08, SCOPE-09
    let mut others = 0;
    for (method, path) in Service::routes() {
        if Service::open_routes().any(|open| open == (method.clone(), path)) {
            continue;
        }
        let sends = SENDING.contains(&(method.clone(), path));
        assert_eq!(allows("emails:send", &method, path), sends, "{method} {path}");
        assert!(allows("full_access", &method, path), "{method} {path}");
        others += usize::from(!sends);
    }
    assert!(others > 80, "{others} other routes");
}

#[test]
fn an_email_sent_with_an_access_token_belongs_to_its_tenant() {
    // AUTH-04, SCOPE-01
    let sandbox = sandbox();
    let token = sandbox.service.grant("full", KEY, "emails:send").access_token;
    sandbox.ask(Method::POST, "/emails").key(&token).json(&crate::support::email()).expect_status(200);
    assert_eq!(sandbox.mails().len(), 1);
}
