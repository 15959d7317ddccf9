//! Guards in front of all routes, against web pages, broken clients and oversized requests.

use std::time::Duration;

use http::{Method, StatusCode};
use idempost_sandbox::Settings;
use serde_json::{Value, json};

use crate::cpu_time::cpu_time;
use crate::support::{Answer, KEY, Sandbox, email, email_with};

const OWN: &str = "127.0.0.1:8025";
const FORM: &str = "application/x-www-form-urlencoded";

fn ask(sandbox: &Sandbox, path: &str, headers: &[(&'static str, &str)], body: &str) -> Answer {
    let mut ask = sandbox.ask(Method::POST, path).no_key().header("host", OWN);
    for (name, value) in headers {
        ask = ask.header(name, *value);
    }
    ask.send(body.to_owned())
}

fn registration() -> String {
    json!({"client_name": "Test", "redirect_uris": ["http://127.0.0.1/cb"]}).to_string()
}

/// A browser's headers for a cross-site request.
const FOREIGN: [&[(&str, &str)]; 5] = [
    &[("origin", "https://evil.test")],
    &[("origin", "null")],
    &[("origin", "http://127.0.0.1:3000")],
    &[("origin", "https://evil.test"), ("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "same-site")],
];

#[test]
fn a_cross_origin_post_without_a_key_is_rejected_before_its_body_is_read() {
    for foreign in FOREIGN {
        for path in ["/oauth/token", "/oauth/revoke", "/oauth/register", "/_/consent/word", "/_/reset"] {
            for kind in ["application/json", FORM, "text/plain", "garbage"] {
                let sandbox = Sandbox::new();
                let headers = [foreign, &[("content-type", kind)]].concat();
                let answer = ask(&sandbox, path, &headers, "{not read");
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {headers:?}: {}", answer.text());
                if path.starts_with("/oauth/") {
                    assert_eq!(answer.json()["error"], "invalid_request", "{path}");
                } else {
                    assert_eq!(answer.name(), "forbidden_origin", "{path}");
                }
            }
        }
    }
}

#[test]
fn cross_site_registrations_do_not_count_toward_the_limit() {
    let sandbox = Sandbox::new();
    for _ in 0..40 {
        let headers = [("origin", "https://evil.test"), ("content-type", "text/plain")];
        assert_eq!(ask(&sandbox, "/oauth/register", &headers, &registration()).status, 403);
    }
    let own = ask(&sandbox, "/oauth/register", &[("content-type", "application/json")], &registration());
    assert_eq!(own.status, 201, "{}", own.text());
}

#[test]
fn non_browser_and_same_origin_requests_need_no_key() {
    let own: [&[(&str, &str)]; 3] = [
        &[],
        &[("origin", "http://127.0.0.1:8025")],
        &[("origin", "http://127.0.0.1:8025"), ("sec-fetch-site", "same-origin")],
    ];
    for headers in own {
        let sandbox = Sandbox::new();
        let as_json = [headers, &[("content-type", "application/json; charset=utf-8")]].concat();
        assert_eq!(ask(&sandbox, "/oauth/register", &as_json, &registration()).status, 201, "{headers:?}");
        let as_form = [headers, &[("content-type", FORM)]].concat();
        let token = ask(&sandbox, "/oauth/token", &as_form, "grant_type=x");
        assert_eq!(token.json()["error"], "unsupported_grant_type", "{headers:?}");
        let revoked = ask(&sandbox, "/oauth/revoke", &as_form, "token=x&client_id=idempost-cli");
        assert_eq!(revoked.status, 200, "{headers:?}");
    }
}

#[test]
fn form_and_text_bodies_are_rejected_on_json_routes() {
    for kind in [FORM, "multipart/form-data; boundary=x", "text/plain", "Text/Plain;charset=UTF-8"] {
        let sandbox = Sandbox::new();
        let answer = ask(&sandbox, "/oauth/register", &[("content-type", kind)], &registration());
        assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind}: {}", answer.text());
        let said = answer.json()["error_description"].as_str().unwrap().to_owned();
        assert!(said.contains("content-type") && said.contains("application/json"), "{said}");
        for path in ["/_/clock", "/_/faults", "/_/events", "/_/reset", "/_/messages/x/events"] {
            let answer = sandbox.ask(Method::POST, path).header("content-type", kind).send("{}");
            assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{path} {kind}: {}", answer.text());
            assert_eq!(answer.name(), "unsupported_media_type");
        }
        let raw =
            sandbox.ask(Method::POST, "/_/unsubscribe/word").no_key().header("content-type", kind).send("");
        assert_ne!(
            raw.status,
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "one-click unsubscribing sends a form (RFC 8058)"
        );
    }
}

#[test]
fn a_webhook_endpoint_with_control_characters_is_rejected() {
    let sandbox = Sandbox::new();
    let webhook = json!({"endpoint": "https://hook.test/", "events": ["email.sent"]});
    let id = sandbox.post("/webhooks", &webhook).json()["id"].as_str().unwrap().to_owned();
    for control in ["\r", "\n", "\t", "\0", "\u{1b}", "\u{7f}", "\u{85}", "\r\nMAIL FROM:<a@b.test>\r\n"] {
        for endpoint in [
            format!("{control}http://127.0.0.1:2525/"),
            format!("http://127.0.0.1:2525/{control}"),
            format!("ht{control}tp://127.0.0.1:2525/"),
            format!("http://127.0.{control}0.1:2525/x"),
            format!("http://127.0.0.1:2525/?a={control}b"),
        ] {
            let body = json!({"endpoint": endpoint, "events": ["email.sent"]});
            let created = sandbox.post("/webhooks", &body);
            let updated = sandbox.ask(Method::PATCH, format!("/webhooks/{id}")).json(&body);
            for answer in [created, updated] {
                assert_eq!(answer.status, 422, "{endpoint:?}: {}", answer.text());
                assert!(answer.message().contains("`endpoint`"), "{}", answer.message());
                assert!(answer.message().contains("control characters"), "{}", answer.message());
            }
        }
    }
    let kept = sandbox.get(format!("/webhooks/{id}")).json();
    assert_eq!(kept["endpoint"], "https://hook.test/");
}

fn list(many: usize, item: impl Fn(usize) -> Value) -> Value {
    (0..many).map(item).collect()
}

fn map(many: usize, item: impl Fn(usize) -> Value) -> Value {
    Value::Object((0..many).map(|at| (format!("k{at}"), item(at))).collect())
}

/// Method, path, the field named by the error, and a body with this many entries.
type Case = (&'static str, String, &'static str, Box<dyn Fn(usize) -> Value>);

/// Every list and map in a request body.
fn lists_and_maps(sandbox: &Sandbox) -> Vec<Case> {
    let template =
        json!({"name": "t", "html": "<p>{{{K0}}}</p>", "variables": [{"key": "K0", "type": "string"}]});
    let id = sandbox.post("/templates", &template).json()["id"].as_str().unwrap().to_owned();
    sandbox.ask(Method::POST, format!("/templates/{id}/publish")).send("");
    let contact = sandbox.post("/contacts", &json!({"email": "ada@example.com"})).json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let event = json!({"name": "user.created", "schema": {"a": "string"}});
    let event = sandbox.post("/events", &event).json()["id"].as_str().unwrap().to_owned();
    let segment =
        sandbox.post("/segments", &json!({"name": "All"})).json()["id"].as_str().unwrap().to_owned();
    let webhook = json!({"endpoint": "https://hook.test/", "events": ["email.sent"]});
    let webhook = sandbox.post("/webhooks", &webhook).json()["id"].as_str().unwrap().to_owned();
    let template_id = id.clone();
    let with = move |field: &'static str, make: fn(usize) -> Value| {
        Box::new(move |many: usize| email_with(field, list(many, make))) as Box<dyn Fn(usize) -> Value>
    };
    let address = |at: usize| json!(format!("a{at}@b.test"));
    let mut all: Vec<Case> = vec![
        (
            "POST",
            "/emails".into(),
            "headers",
            Box::new(|many| email_with("headers", map(many, |_| json!("x")))),
        ),
        ("POST", "/emails".into(), "to", with("to", address)),
        ("POST", "/emails".into(), "cc", with("cc", address)),
        ("POST", "/emails".into(), "bcc", with("bcc", address)),
        ("POST", "/emails".into(), "reply_to", with("reply_to", address)),
        (
            "POST",
            "/emails".into(),
            "tags",
            with("tags", |at| json!({"name": format!("n{at}"), "value": "v"})),
        ),
        (
            "POST",
            "/emails".into(),
            "attachments",
            with("attachments", |_| json!({"content": "", "filename": "a"})),
        ),
        (
            "POST",
            "/emails".into(),
            "template.variables",
            Box::new(move |many| {
                let variables = map(many, |_| json!("x"));
                json!({"from": "a@b.test", "to": "c@d.test", "subject": "s", "template": {"id": template_id, "variables": variables}})
            }),
        ),
        (
            "POST",
            "/emails".into(),
            "The body",
            Box::new(|many| {
                let mut email = email();
                for at in 0..many {
                    email[format!("unknown{at}")] = json!(1);
                }
                email
            }),
        ),
        ("POST", "/emails/batch".into(), "The body", Box::new(|many| list(many, |_| email()))),
        (
            "POST",
            "/webhooks".into(),
            "events",
            Box::new(
                |many| json!({"endpoint": "https://hook.test/", "events": list(many, |_| json!("email.sent"))}),
            ),
        ),
        (
            "PATCH",
            format!("/webhooks/{webhook}"),
            "events",
            Box::new(|many| json!({"events": list(many, |_| json!("email.sent"))})),
        ),
        (
            "POST",
            "/contacts".into(),
            "segments",
            Box::new(
                |many| json!({"email": "bo@b.test", "segments": list(many, |_| json!({"id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}))}),
            ),
        ),
        (
            "POST",
            "/contacts".into(),
            "topics",
            Box::new(
                |many| json!({"email": "bo@b.test", "topics": list(many, |_| json!({"id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794", "subscription": "opt_in"}))}),
            ),
        ),
        (
            "POST",
            "/contacts".into(),
            "properties",
            Box::new(|many| json!({"email": "bo@b.test", "properties": map(many, |_| json!("x"))})),
        ),
        (
            "PATCH",
            format!("/contacts/{contact}"),
            "properties",
            Box::new(|many| json!({"properties": map(many, |_| json!("x"))})),
        ),
        (
            "PATCH",
            format!("/contacts/{contact}/topics"),
            "topics",
            Box::new(|many| {
                list(
                    many,
                    |_| json!({"id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794", "subscription": "opt_in"}),
                )
            }),
        ),
        (
            "POST",
            "/templates".into(),
            "variables",
            Box::new(
                |many| json!({"name": "t", "html": "x", "variables": list(many, |at| json!({"key": format!("K{at}"), "type": "string"}))}),
            ),
        ),
        (
            "PATCH",
            format!("/templates/{id}"),
            "variables",
            Box::new(
                |many| json!({"variables": list(many, |at| json!({"key": format!("K{at}"), "type": "string"}))}),
            ),
        ),
        (
            "POST",
            "/events".into(),
            "schema",
            Box::new(|many| json!({"name": "user.updated", "schema": map(many, |_| json!("string"))})),
        ),
        (
            "PATCH",
            format!("/events/{event}"),
            "schema",
            Box::new(|many| json!({"schema": map(many, |_| json!("string"))})),
        ),
        (
            "POST",
            "/automations".into(),
            "steps",
            Box::new(
                |many| json!({"name": "a", "steps": list(many, |at| json!({"key": format!("s{at}"), "type": "trigger", "config": {"event_name": "user.created"}})), "connections": []}),
            ),
        ),
        (
            "POST",
            "/automations".into(),
            "connections",
            Box::new(
                |many| json!({"name": "a", "steps": [{"key": "s", "type": "trigger", "config": {"event_name": "user.created"}}], "connections": list(many, |at| json!({"from": "s", "to": format!("s{at}")}))}),
            ),
        ),
    ];
    let broadcast = move |many| json!({"segment_id": segment, "from": "a@b.test", "subject": "s", "html": "x", "reply_to": list(many, address)});
    all.push(("POST", "/broadcasts".into(), "reply_to", Box::new(broadcast)));
    let template = move |many| json!({"name": "t", "html": "x", "reply_to": list(many, address)});
    all.push(("POST", "/templates".into(), "reply_to", Box::new(template)));
    all
}

#[test]
fn every_list_and_map_in_a_body_has_a_limit_named_in_the_error() {
    let sandbox = Sandbox::new();
    for (method, path, field, body) in lists_and_maps(&sandbox) {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let answer = sandbox.ask(method.clone(), path.as_str()).json(&body(20_000));
        assert_eq!(answer.status, 422, "{method} {path} {field}: {}", answer.text());
        let said = answer.message();
        assert!(said.contains(field), "{method} {path} names {field}: {said}");
        assert!(said.contains("at most") || said.contains(" to "), "{method} {path} {field}: {said}");
        assert!(said.contains("2000"), "{method} {path} {field} says how many were found: {said}");
    }
}

#[test]
fn reading_a_list_or_map_takes_linear_time() {
    let sandbox = Sandbox::new();
    let cost = |method: &Method, path: &str, body: &Value| {
        let body = body.to_string();
        let took = (0..3).map(|_| cpu_time(|| sandbox.ask(method.clone(), path).send(body.clone())));
        took.min().unwrap()
    };
    for (method, path, field, body) in lists_and_maps(&sandbox) {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let (less, more) = (body(2_000), body(16_000));
        let (less, more) = (cost(&method, &path, &less), cost(&method, &path, &more));
        // Linear growth is a factor of 8, quadratic 64; very short times aren't compared.
        let linear = more < Duration::from_millis(50) || more < 30 * less;
        assert!(linear, "{method} {path} {field}: {less:?}, {more:?}");
    }
}

#[test]
fn token_requests_are_bounded_before_parsing() {
    let sandbox = Sandbox::new();
    let post = |path: &str, body: String| ask(&sandbox, path, &[("content-type", FORM)], &body);
    let refresh = "grant_type=refresh_token&client_id=idempost-cli&refresh_token=x";
    let scopes: Vec<_> = (0..20_000).map(|at| format!("s{at}")).collect();
    let start = std::time::Instant::now();
    for (body, rule) in [
        (format!("{refresh}&scope={}", scopes.join("+")), "at most 65536 bytes; found 1"),
        (format!("{refresh}&scope={}", scopes[..1_000].join("+")), "at most 16 scopes; found 1000"),
        (format!("{refresh}&{}", "a=1&".repeat(1_000)), "at most 64 parameters; found"),
    ] {
        for path in ["/oauth/token", "/oauth/revoke"] {
            if path == "/oauth/revoke" && rule.contains("scopes") {
                continue;
            }
            let answer = post(path, body.clone());
            assert_eq!(answer.status, 400, "{path}: {}", answer.text());
            let said = answer.json()["error_description"].as_str().unwrap().to_owned();
            assert!(said.contains(rule), "{path}: {said}");
        }
    }
    let many: Vec<_> = (0..5_000).map(|at| format!("http://127.0.0.1/{at}")).collect();
    let body = json!({"client_name": "Test", "redirect_uris": many}).to_string();
    let answer = ask(&sandbox, "/oauth/register", &[("content-type", "application/json")], &body);
    assert!(answer.text().contains("at most 65536 bytes"), "{}", answer.text());
    let query =
        format!("client_id=idempost-cli&redirect_uri=http://127.0.0.1/callback&{}", "a=1&".repeat(1_000));
    let answer = sandbox.ask(Method::GET, format!("/oauth/authorize?{query}")).no_key().send("");
    let location = answer.header("location").unwrap();
    assert!(
        location.contains("error=invalid_request") && location.contains("at+most+64+parameters"),
        "{location}"
    );
    assert!(start.elapsed().as_secs() < 30);
}

#[test]
fn an_inbox_search_has_limited_words_and_tags() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email());
    for (query, field) in
        [("query=".to_owned() + &"a+".repeat(100), "`query`"), ("tag=a%3Db&".repeat(100), "`tag`")]
    {
        let answer = sandbox.get(format!("/_/messages?{query}"));
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert!(
            answer.message().contains(field) && answer.message().contains("at most 32"),
            "{}",
            answer.message()
        );
        assert!(answer.message().contains("found 100"), "{}", answer.message());
    }
}

#[test]
fn unauthenticated_responses_never_contain_keys() {
    let sandbox = Sandbox::with(&Settings::default());
    let real = "re_4Tz9realKEYofSomebody";
    for key in [real, KEY] {
        assert_eq!(sandbox.ask(Method::POST, "/emails").key(key).json(&email()).status, 200);
    }
    let made = sandbox.ask(Method::POST, "/api-keys").key(real).json(&json!({"name": "k"})).json();
    let made = made["token"].as_str().unwrap().to_owned();
    let open = |path: &str| sandbox.ask(Method::GET, path).no_key().send("");
    let tenants = open("/_/tenants");
    let accounts = tenants.json()["data"].as_array().unwrap().clone();
    let account =
        accounts.iter().find(|one| one["label"] == "re_4Tz…").unwrap_or_else(|| panic!("{accounts:?}"));
    assert_eq!((&account["sent"], account.get("key")), (&json!(1), None));
    let id = account["id"].as_str().unwrap().to_owned();
    // The page reads an account by id; the responses never contain its key.
    let of = |path: &str| sandbox.ask(Method::GET, path).key(&id).send("");
    let mail = of("/_/messages").json()["data"][0]["id"].as_str().unwrap().to_owned();
    let number = of("/_/requests").json()["data"][0]["number"].to_string();
    let mut shown = vec![tenants];
    for path in [
        "/_/messages".to_owned(),
        "/_/stream".into(),
        "/_/requests".into(),
        format!("/_/requests/{number}"),
        "/_/export?format=json".into(),
        "/_/templates".into(),
        "/_/received".into(),
        format!("/_/messages/{mail}"),
        format!("/_/messages/{mail}/about"),
        format!("/_/messages/{mail}/request"),
        format!("/_/messages/{mail}/timeline"),
        "/_/latest.json".into(),
        "/_/clock".into(),
        "/_/faults".into(),
    ] {
        let by_header = of(&path);
        assert_eq!(by_header.status, 200, "{path}: {}", by_header.text());
        shown.push(by_header);
        let with = if path.contains('?') { "&" } else { "?" };
        shown.push(open(&format!("{path}{with}key={id}")));
    }
    for answer in shown {
        assert!(!answer.text().contains(real) && !answer.text().contains(&made), "{}", answer.text());
    }
    // The id isn't an API key.
    assert_eq!(sandbox.ask(Method::GET, "/emails").key(&id).send("").status, 403);
    let guessed = format!("{}x", &id[..id.len() - 1]);
    assert_ne!(sandbox.ask(Method::GET, "/_/messages").key(&guessed).send("").status, 200);
    // The page can also act on the account.
    assert_eq!(sandbox.ask(Method::POST, "/_/reset").key(&id).send("").status, 200);
    assert!(sandbox.service.mails(real).is_empty());
    assert_eq!(sandbox.mails().len(), 1);
}

/// A mail with this many repeated elements.
type Make = Box<dyn Fn(usize) -> String>;

#[test]
fn receiving_a_mail_takes_linear_time() {
    let sandbox = Sandbox::new();
    let cost = |recipients: &[&str], mail: &str| {
        let receive = || sandbox.service.receive(KEY, recipients, mail.to_owned()).unwrap();
        (0..3).map(|_| cpu_time(receive)).min().unwrap()
    };
    let rest = "From: a@b.test\r\nSubject: x\r\n";
    let part = "--m\r\nContent-Disposition: attachment\r\n\r\nx\r\n";
    let mails: [(&str, Make); 5] = [
        (
            "headers",
            Box::new(move |many| {
                format!(
                    "{}{rest}\r\nx",
                    (0..many).map(|at| format!("X-{at}: 1\r\n")).collect::<Vec<_>>().concat()
                )
            }),
        ),
        (
            "one header again and again",
            Box::new(move |many| format!("{}{rest}\r\nx", "X-Own: 1\r\n".repeat(many))),
        ),
        (
            "addresses",
            Box::new(move |many| format!("To: {}c@d.test\r\n{rest}\r\nx", "a@b.test,\r\n ".repeat(many))),
        ),
        (
            "files",
            Box::new(move |many| {
                format!("Content-Type: multipart/mixed; boundary=m\r\n{rest}\r\n{}--m--", part.repeat(many))
            }),
        ),
        (
            "encoded words",
            Box::new(move |many| format!("To: {}<c@d.test>\r\n{rest}\r\nx", "=?utf-8?q?a?= ".repeat(many))),
        ),
    ];
    for (what, mail) in mails {
        let (less, more) = (cost(&["c@d.test"], &mail(1_200)), cost(&["c@d.test"], &mail(9_600)));
        let linear = more < Duration::from_millis(100) || more < 30 * less;
        assert!(linear, "{what}: {less:?}, {more:?}");
    }
}
