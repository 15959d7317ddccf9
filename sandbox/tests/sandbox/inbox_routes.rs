//! Paths and methods under `/_/`.

use std::fmt::Write as _;
use std::fs;

use http::Method;

use crate::support::Sandbox;

/// Every path under `/_/`, and the methods that it takes.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("/", "GET, HEAD"),
    ("/_", "GET, HEAD"),
    ("/_/assets/app.js", "GET, HEAD"),
    ("/_/ready", "GET, HEAD"),
    ("/_/stream", "GET"),
    ("/_/tenants", "GET"),
    ("/_/export", "GET"),
    ("/_/latest.html", "GET"),
    ("/_/latest.txt", "GET"),
    ("/_/latest.json", "GET"),
    ("/_/latest.eml", "GET"),
    ("/_/messages", "GET, PATCH, DELETE"),
    ("/_/messages/ids", "GET"),
    ("/_/received/ids", "GET"),
    ("/_/messages/wait", "GET"),
    ("/_/messages/x", "GET, PATCH, DELETE"),
    ("/_/messages/x/raw", "GET"),
    ("/_/messages/x/about", "GET"),
    ("/_/messages/x/check", "GET, POST"),
    ("/_/messages/x/html", "GET"),
    ("/_/messages/x/images", "GET, POST"),
    ("/_/messages/x/text", "GET"),
    ("/_/messages/x/download", "GET"),
    ("/_/messages/x/files/0", "GET"),
    ("/_/messages/x/timeline", "GET"),
    ("/_/messages/x/request", "GET"),
    ("/_/messages/x/events", "POST"),
    ("/_/messages/x/release", "POST"),
    ("/_/relay", "GET"),
    ("/_/received", "GET, POST, PATCH, DELETE"),
    ("/_/received/x", "GET, PATCH, DELETE"),
    ("/_/received/x/about", "GET"),
    ("/_/received/x/check", "GET, POST"),
    ("/_/received/x/html", "GET"),
    ("/_/received/x/images", "GET, POST"),
    ("/_/received/x/text", "GET"),
    ("/_/received/x/download", "GET"),
    ("/_/received/x/files/0", "GET"),
    ("/_/received/x/timeline", "GET"),
    ("/_/received/x/release", "POST"),
    ("/_/received-files/x", "GET"),
    ("/_/files/x", "GET"),
    ("/_/metrics", "GET"),
    ("/_/requests", "GET"),
    ("/_/requests/1", "GET"),
    ("/_/templates", "GET"),
    ("/_/templates/x/preview", "GET"),
    ("/_/templates/x/preview.html", "GET"),
    ("/_/events", "GET, POST"),
    ("/_/clock", "GET, POST"),
    ("/_/faults", "GET, POST, DELETE"),
    ("/_/faults/1", "GET, DELETE"),
    ("/_/unsubscribe/x", "GET, POST"),
    ("/_/shared/x", "GET"),
    ("/_/shared/x/html", "GET"),
    ("/_/shared/x/files/0", "GET"),
    ("/_/consent/x", "GET, POST"),
    ("/_/reset", "POST"),
    ("/_/openapi.json", "GET, HEAD"),
];

#[test]
fn a_wrong_method_returns_405_with_the_allowed_methods() {
    let sandbox = Sandbox::new();
    for (path, allowed) in ROUTES {
        for path in [(*path).to_owned(), format!("{path}/"), format!("{path}/?key=sb_test")] {
            let answer = sandbox.ask(Method::PUT, path.as_str()).send("");
            assert_eq!(
                (answer.status.as_u16(), answer.header("allow"), answer.name().as_str()),
                (405, Some(*allowed), "method_not_allowed"),
                "{path}"
            );
        }
        for method in allowed.split(", ").filter(|method| *method != "DELETE" && *path != "/_/reset") {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert_ne!(sandbox.ask(method, *path).send("").status, 405, "{path}");
        }
    }
}

#[test]
fn an_unknown_path_returns_404_for_every_method() {
    let sandbox = Sandbox::new();
    for path in [
        "/_/x",
        "/_/messages/x/y",
        "/_/messages/x/files",
        "/_/messages/x/raw/y",
        "/_/received/x/request",
        "/_/received/x/events",
        "/_/clock/x",
        "/_/templates/x",
        "/_/assets",
        "/_/_/messages",
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let answer = sandbox.ask(method.clone(), path).send("");
            assert_eq!(
                (answer.status.as_u16(), answer.name().as_str()),
                (404, "not_found"),
                "{method} {path}"
            );
        }
    }
}

#[test]
fn account_and_control_routes_require_a_key() {
    let sandbox = Sandbox::new();
    let open = [
        "/",
        "/_",
        "/_/assets/app.js",
        "/_/ready",
        "/_/openapi.json",
        "/_/tenants",
        "/_/received-files/x",
        "/_/files/x",
        "/_/unsubscribe/x",
        "/_/shared/x",
        "/_/shared/x/html",
        "/_/shared/x/files/0",
        "/_/consent/x",
    ];
    for (path, allowed) in ROUTES {
        for method in allowed.split(", ") {
            let is_open = open.contains(path) || (*path, method) == ("/_/events", "GET");
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let answer = sandbox.ask(method.clone(), *path).no_key().send("");
            assert_eq!(answer.status == 401, !is_open, "{method} {path}: {}", answer.text());
        }
    }
}

/// The page of the guide with the sandbox's own routes.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/sandbox-routes.md");

#[test]
fn the_guide_lists_the_own_routes_with_their_access() {
    let document = Sandbox::new().get("/_/openapi.json").json();
    let mut rows = String::from("| request | access | |\n|---|---|---|\n");
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let access = match operation["security"].to_string().as_str() {
                "[]" => "none",
                r#"[{"key":[]}]"# => "key",
                _ => "password",
            };
            let about = operation["summary"].as_str().unwrap();
            let _ = writeln!(rows, "| `{} {path}` | {access} | {about} |", method.to_uppercase());
        }
    }
    let page = fs::read_to_string(PAGE).unwrap();
    let (introduction, listed) = page.split_once("| request |").unwrap();
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
        fs::write(PAGE, format!("{introduction}{rows}")).unwrap();
    }
    let advice = "SNAPSHOTS=overwrite cargo test -p idempost-sandbox --test sandbox the_guide_lists";
    assert_eq!(format!("| request |{listed}"), rows, "{PAGE} isn't current: {advice}");
}
