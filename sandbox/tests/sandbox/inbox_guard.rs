//! Requests under an unknown host name (DNS rebinding) and from other origins are rejected.

use http::{Method, StatusCode};
use idempost_sandbox::Settings;
use serde_json::json;

use crate::support::{Answer, Ask, KEY, Sandbox, email, email_with};

/// Some of a request's headers.
pub(crate) type Headers = [(&'static str, &'static str)];

/// A browser's headers for requests that another origin makes.
pub(crate) const FOREIGN: [&Headers; 10] = [
    &[("origin", "https://evil.test")],
    &[("origin", "null")],
    &[("origin", "http://127.0.0.1:3000")],
    &[("origin", "http://localhost:8025")],
    &[("origin", "https://evil.test"), ("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")],
    &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")],
    &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")],
    &[("sec-fetch-site", "same-site")],
    &[("sec-fetch-site", "garbage")],
];

/// A request to this machine with a browser's headers.
pub(crate) fn with_headers<'a>(ask: Ask<'a>, headers: &Headers) -> Ask<'a> {
    let ask = ask.header("host", "127.0.0.1:8025");
    headers.iter().fold(ask, |ask, (name, value)| ask.header(name, *value))
}

fn from(sandbox: &Sandbox, method: Method, path: &str, headers: &Headers) -> Answer {
    with_headers(sandbox.ask(method, path), headers).json(&json!({}))
}

#[test]
fn dns_rebinding_is_rejected_on_every_route() {
    let sandbox = Sandbox::new();
    for host in
        ["evil.test", "evil.test:8025", "127.0.0.1.evil.test", "192.168.1.2:8025", "[2001:db8::1]", ""]
    {
        for (method, path) in [
            (Method::GET, "/_/"),
            (Method::GET, "/_/messages"),
            (Method::GET, "/_/stream"),
            (Method::POST, "/_/reset"),
            (Method::GET, "/emails"),
            (Method::POST, "/emails"),
            (Method::GET, "/oauth/authorize"),
            (Method::GET, "/nowhere"),
            (Method::DELETE, "/api/v1/messages"),
            (Method::GET, "/api/events"),
            (Method::GET, "/view/latest.html"),
            (Method::POST, "/api/v1/send"),
        ] {
            let answer = sandbox.ask(method.clone(), path).header("host", host).json(&email());
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{method} {path} of {host}");
            assert_eq!(answer.name(), "forbidden_host");
            assert!(answer.message().contains("must name this machine"), "{}", answer.message());
        }
    }
    assert!(sandbox.mails().is_empty(), "no side effects");
    for host in ["localhost", "127.0.0.1:8025", "[::1]:8025"] {
        let answer = sandbox.ask(Method::GET, "/emails").header("host", host).send("");
        assert_eq!(answer.status, StatusCode::OK, "{host}");
    }
}

#[test]
fn the_published_base_url_is_an_allowed_host() {
    let settings =
        Settings { public_url: Some("https://sandbox.example:8443/".into()), ..Settings::default() };
    let sandbox = Sandbox::with(&settings);
    let ask = |host: &str| sandbox.ask(Method::GET, "/emails").header("host", host).send("").status.as_u16();
    assert_eq!(ask("sandbox.example:8443"), 200);
    assert_eq!(ask("other.example"), 403);
    // A second listener has its own address.
    sandbox.service.set_base_url("http://192.168.7.1:8025");
    assert_eq!((ask("192.168.7.1:8025"), ask("192.168.7.2:8025"), ask("sandbox.example")), (200, 403, 200));
}

#[test]
fn cross_origin_requests_to_sandbox_routes_are_rejected() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email());
    let mail = format!("/_/messages/{}", sandbox.mail().id);
    let (images, check) = (format!("{mail}/images"), format!("{mail}/check"));
    for headers in FOREIGN {
        for (method, path) in [
            (Method::GET, "/_/"),
            (Method::GET, "/_/stream?key=sb_test"),
            (Method::GET, "/_/tenants"),
            (Method::GET, "/_/latest.html?key=sb_test"),
            (Method::GET, "/_/assets/app.js"),
            (Method::GET, "/_/export?format=json"),
            (Method::GET, "/_/clock"),
            (Method::POST, "/_/clock"),
            (Method::POST, "/_/faults"),
            (Method::POST, "/_/reset"),
            (Method::DELETE, "/_/messages"),
            (Method::POST, &images),
            (Method::POST, &check),
            (Method::GET, "/api/v1/messages"),
            (Method::DELETE, "/api/v1/messages"),
            (Method::GET, "/api/events"),
            (Method::GET, "/view/latest.html"),
            (Method::POST, "/api/v1/send"),
        ] {
            let answer = from(&sandbox, method.clone(), path, headers);
            assert_eq!(answer.status, 403, "{method} {path} with {headers:?}");
            assert_eq!(answer.name(), "forbidden_origin");
        }
    }
    assert_eq!(sandbox.mails().len(), 1, "no side effects");
    let post =
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    assert_eq!(from(&sandbox, Method::POST, "/_/reset", &post).status, 403, "a form of another origin");

    for own in [
        &[("origin", "http://127.0.0.1:8025"), ("sec-fetch-site", "same-origin")][..],
        &[("origin", "http://127.0.0.1:8025")],
        &[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")],
        &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")],
        &[],
    ] {
        assert_eq!(from(&sandbox, Method::GET, "/_/", own).status, 200, "{own:?}");
    }
}

#[test]
fn links_in_mails_work_cross_origin() {
    let sandbox = Sandbox::new();
    let foreign = [("origin", "https://mail.example"), ("sec-fetch-site", "cross-site")];
    for path in ["/_/unsubscribe/word", "/_/received-files/word", "/_/consent/word"] {
        let answer = from(&sandbox, Method::GET, path, &foreign);
        assert!(!answer.text().contains("forbidden_origin"), "{path}: {}", answer.text());
    }
    let id = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";
    assert_eq!(
        from(&sandbox, Method::GET, &format!("/_/received/{id}"), &foreign).name(),
        "forbidden_origin"
    );
}

#[test]
fn cors_is_never_enabled() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email());
    let foreign = [
        ("origin", "https://evil.test"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization"),
    ];
    for (method, path) in [
        (Method::OPTIONS, "/emails"),
        (Method::OPTIONS, "/_/messages"),
        (Method::GET, "/emails"),
        (Method::POST, "/emails"),
        (Method::GET, "/_/messages"),
        (Method::GET, "/.well-known/jwks.json"),
    ] {
        let answer = from(&sandbox, method.clone(), path, &foreign);
        let leave = answer.headers.keys().find(|name| name.as_str().starts_with("access-control-"));
        assert_eq!(leave, None, "{method} {path}");
    }
    let answer = sandbox.get("/_/messages");
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
}

#[test]
fn inbox_responses_disable_content_type_sniffing() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email_with("html", "<b>Hi</b>"));
    let sent = sandbox.mail().id;
    let received =
        sandbox.service.receive(KEY, &["hi@acme.test"], &b"Subject: Hi\r\n\r\n<b>Hi</b>"[..]).unwrap();
    let sides = ["", "/about", "/html", "/text", "/raw", "/download", "/timeline", "/request", "/files/0"];
    let mails = sides
        .iter()
        .flat_map(|side| [format!("/_/messages/{sent}{side}"), format!("/_/received/{received}{side}")]);
    let others = "/_ /_/ready /_/export /_/messages /_/received /_/requests /_/templates /_/tenants /_/stream /_/events /_/clock \
        /_/faults /_/assets/app.js /_/latest.html /_/latest.txt /_/latest.json /_/latest.eml /_/unsubscribe/x /_/consent/x \
        /_/received/x /_/none";
    for path in mails.chain(others.split(' ').map(str::to_owned)) {
        for method in [Method::GET, Method::PUT] {
            let answer = sandbox.ask(method.clone(), path.as_str()).send("");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{method} {path}");
            assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{method} {path}");
        }
    }
    let elsewhere = sandbox.ask(Method::GET, "/_/messages").header("host", "evil.test").send("");
    assert_eq!(
        (elsewhere.status.as_u16(), elsewhere.header("x-content-type-options")),
        (403, Some("nosniff"))
    );
}
