//! Paths and methods under `/_/`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use http::Method;

use serde_json::json;

use crate::support::{Sandbox, email};

/// The page of the guide with the sandbox's own routes.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/sandbox-routes.md");

/// The paths that also take HEAD.
pub(crate) const HEAD: [&str; 5] = ["/", "/_", "/_/assets/x", "/_/ready", "/_/openapi.json"];

/// A route as the guide lists it.
#[derive(Clone)]
pub(crate) struct Listed {
    pub(crate) method: Method,
    /// With `x` for each parameter.
    pub(crate) path: String,
    /// `none`, `key` or `password`.
    pub(crate) access: String,
}

/// All routes that the guide lists.
pub(crate) fn listed() -> Vec<Listed> {
    let page = fs::read_to_string(PAGE).unwrap();
    let mut all = Vec::new();
    for row in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let (method, rest) = row.split_once(' ').unwrap();
        let (pattern, rest) = rest.split_once("` | ").unwrap();
        let folders = if pattern.contains("{folder}") { &["messages", "received"][..] } else { &["x"] };
        for folder in folders {
            let path = pattern.replace("{folder}", folder);
            let segment = |segment| if str::starts_with(segment, '{') { "x" } else { segment };
            all.push(Listed {
                method: method.parse().unwrap(),
                path: path.split('/').map(segment).collect::<Vec<_>>().join("/"),
                access: rest.split_once(" | ").unwrap().0.to_owned(),
            });
        }
    }
    assert!(all.len() > 90, "{}", all.len());
    all
}

/// The routes under `/_/`, and that of `/`.
fn of_the_page() -> impl Iterator<Item = Listed> {
    listed().into_iter().filter(|route| route.path == "/" || route.path.starts_with("/_"))
}

#[test]
fn a_wrong_method_returns_405_with_the_allowed_methods() {
    let sandbox = Sandbox::new();
    let mut allowed = BTreeMap::<String, Vec<Method>>::new();
    for route in of_the_page() {
        let methods = allowed.entry(route.path.clone()).or_default();
        methods.push(route.method);
        methods.extend(HEAD.contains(&&*route.path).then_some(Method::HEAD));
    }
    for (path, methods) in allowed {
        let allowed = methods.iter().map(Method::as_str).collect::<Vec<_>>().join(", ");
        for path in [path.clone(), format!("{path}/"), format!("{path}/?key=sb_test")] {
            let answer = sandbox.ask(Method::PUT, path.as_str()).send("");
            assert_eq!(
                (answer.status.as_u16(), answer.header("allow"), answer.name().as_str()),
                (405, Some(&*allowed), "method_not_allowed"),
                "{path}"
            );
        }
        for method in methods.into_iter().filter(|method| *method != Method::DELETE && path != "/_/reset") {
            assert_ne!(sandbox.ask(method, path.as_str()).send("").status, 405, "{path}");
        }
    }
}

#[test]
fn an_unknown_path_returns_404_for_every_method() {
    let sandbox = Sandbox::new();
    let paths = "/_/x /_/messages/x/y /_/messages/x/files /_/messages/x/raw/y /_/received/x/request \
        /_/received/x/events /_/clock/x /_/templates/x /_/assets /_/_/messages";
    for path in paths.split(' ') {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let answer = sandbox.ask(method.clone(), path).send("");
            assert_eq!((answer.status.as_u16(), &*answer.name()), (404, "not_found"), "{method} {path}");
        }
    }
}

#[test]
fn account_and_control_routes_require_a_key() {
    let sandbox = Sandbox::new();
    for Listed { method, path, access } in of_the_page() {
        // Without a password, a route that requires it is open.
        let answer = sandbox.ask(method.clone(), path.as_str()).no_key().send("");
        assert_eq!(answer.status == 401, access == "key", "{method} {path}: {}", answer.text());
    }
}

#[test]
fn the_guide_lists_the_own_routes_with_their_access() {
    let document = Sandbox::new().get("/_/openapi.json").json();
    let mut rows = String::from("| request | access | |\n|---|---|---|\n");
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let access = match operation["security"][0].to_string().as_str() {
                "null" => "none",
                r#"{"key":[]}"# => "key",
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

#[test]
fn percent_encoded_ids_select_the_same_records() {
    let sandbox = Sandbox::new();
    let email = sandbox.sent(&email());
    let received =
        sandbox.ask(Method::POST, "/_/received").send("From: a@b.test\r\nTo: c@d.test\r\n\r\nHi").id();
    let fault = sandbox.created("/_/faults", &json!({"action": "drop", "path": "/usage"}));
    let request = sandbox.items("/_/requests")[0]["number"].to_string();
    for (path, id) in [
        ("/emails/{}", &email),
        ("/_/messages/{}", &email),
        ("/_/messages/{}/about", &email),
        ("/_/received/{}/text", &received),
        ("/api/v1/message/{}", &received),
        ("/_/faults/{}", &fault),
        ("/_/requests/{}", &request),
    ] {
        let encoded = id.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        let answer = sandbox.get(path.replace("{}", &encoded));
        assert_eq!(answer.body, sandbox.get(path.replace("{}", id)).expect_status(200).body, "{path}");
    }
}
