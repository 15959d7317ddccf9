//! Guards in front of all routes, against web pages, broken clients and oversized requests.

use std::time::Duration;

use http::{Method, StatusCode};
use idempost_sandbox::Settings;
use serde_json::{Value, json};

use crate::cpu_time::cpu_time;
use crate::inbox_guard::{FOREIGN, Headers, with_headers};
use crate::support::{Answer, KEY, Sandbox, email, email_with};

const FORM: &str = "application/x-www-form-urlencoded";

fn ask(sandbox: &Sandbox, path: &str, headers: &Headers, body: &str) -> Answer {
    with_headers(sandbox.ask(Method::POST, path).no_key(), headers).send(body.to_owned())
}

fn registration() -> String {
    json!({"client_name": "Test", "redirect_uris": ["http://127.0.0.1/cb"]}).to_string()
}

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
    own.expect_status(201);
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

/// Every list and map in a request body: the request, the field named by the error, and a body with one item or value of it, in which `#` is
/// replaced by its number.
fn lists_and_maps(sandbox: &Sandbox) -> Vec<(String, &'static str, Value)> {
    let template =
        json!({"name": "t", "html": "<p>{{{K0}}}</p>", "variables": [{"key": "K0", "type": "string"}]});
    let template = sandbox.created("/templates", &template);
    sandbox.ask(Method::POST, format!("/templates/{template}/publish")).send("");
    let contact = sandbox.created("/contacts", &json!({"email": "ada@example.com"}));
    let event = sandbox.created("/events", &json!({"name": "user.created", "schema": {"a": "string"}}));
    let segment = sandbox.created("/segments", &json!({"name": "All"}));
    let webhook = json!({"endpoint": "https://hook.test/", "events": ["email.sent"]});
    let hook = sandbox.created("/webhooks", &webhook);
    let some = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";
    let addresses = json!(["a#@b.test"]);
    let with_template = json!({"from": "a@b.test", "to": "c@d.test", "subject": "s", "template": {"id": template, "variables": {"k#": "x"}}});
    let contact_with = |field: &str, value: Value| json!({"email": "bo@b.test", field: value});
    let choice = json!([{"id": some, "subscription": "opt_in"}]);
    let properties = json!({"k#": "x"});
    let variables = json!([{"key": "K#", "type": "string"}]);
    let template_with = |field: &str, value: &Value| json!({"name": "t", "html": "x", field: value});
    let trigger =
        |key: &str| json!([{"key": key, "type": "trigger", "config": {"event_name": "user.created"}}]);
    let automation =
        |steps: Value, connections: Value| json!({"name": "a", "steps": steps, "connections": connections});
    let post = |path: &str| format!("POST {path}");
    let patch = |path: &str, id: &str| format!("PATCH {path}/{id}");
    vec![
        (post("/emails"), "headers", email_with("headers", properties.clone())),
        (post("/emails"), "to", email_with("to", addresses.clone())),
        (post("/emails"), "cc", email_with("cc", addresses.clone())),
        (post("/emails"), "bcc", email_with("bcc", addresses.clone())),
        (post("/emails"), "reply_to", email_with("reply_to", addresses.clone())),
        (post("/emails"), "tags", email_with("tags", json!([{"name": "n#", "value": "v"}]))),
        (
            post("/emails"),
            "attachments",
            email_with("attachments", json!([{"content": "", "filename": "a"}])),
        ),
        (post("/emails"), "template.variables", with_template),
        (post("/emails"), "The body", email_with("unknown#", 1)),
        (post("/emails/batch"), "The body", json!([email()])),
        (post("/webhooks"), "events", webhook.clone()),
        (patch("/webhooks", &hook), "events", json!({"events": ["email.sent"]})),
        (post("/contacts"), "segments", contact_with("segments", json!([{"id": some}]))),
        (post("/contacts"), "topics", contact_with("topics", choice.clone())),
        (post("/contacts"), "properties", contact_with("properties", properties.clone())),
        (patch("/contacts", &contact), "properties", json!({"properties": properties})),
        (patch("/contacts", &format!("{contact}/topics")), "topics", choice),
        (post("/templates"), "variables", template_with("variables", &variables)),
        (patch("/templates", &template), "variables", json!({"variables": variables})),
        (post("/templates"), "reply_to", template_with("reply_to", &addresses)),
        (post("/events"), "schema", json!({"name": "user.updated", "schema": {"k#": "string"}})),
        (patch("/events", &event), "schema", json!({"schema": {"k#": "string"}})),
        (post("/automations"), "steps", automation(trigger("s#"), json!([]))),
        (post("/automations"), "connections", automation(trigger("s"), json!([{"from": "s", "to": "s#"}]))),
        (
            post("/broadcasts"),
            "reply_to",
            json!({"segment_id": segment, "from": "a@b.test", "subject": "s", "html": "x", "reply_to": addresses}),
        ),
    ]
}

/// The body with this many items or values in the field.
fn grown(body: &Value, field: &str, many: usize) -> Value {
    let is_whole = field == "The body" || body.is_array();
    let pointer = if is_whole { String::new() } else { format!("/{}", field.replace('.', "/")) };
    let mut body = body.clone();
    let place = body.pointer_mut(&pointer).unwrap();
    *place = match &*place {
        Value::Array(items) => {
            let item = items[0].to_string();
            (0..many)
                .map(|at| serde_json::from_str::<Value>(&item.replace('#', &at.to_string())).unwrap())
                .collect()
        }
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| {
                let times = if key.contains('#') { many } else { 1 };
                (0..times).map(move |at| (key.replace('#', &at.to_string()), value.clone()))
            })
            .collect(),
        other => panic!("neither a list nor a map: {other}"),
    };
    body
}

#[test]
fn every_list_and_map_in_a_body_has_a_limit_named_in_the_error() {
    let sandbox = Sandbox::unread();
    for (request, field, body) in lists_and_maps(&sandbox) {
        let (method, path) = request.split_once(' ').unwrap();
        let answer = sandbox.ask(method.parse().unwrap(), path).json(&grown(&body, field, 20_000));
        assert_eq!(answer.status, 422, "{method} {path} {field}: {}", answer.text());
        let said = answer.message();
        assert!(said.contains(field), "{method} {path} names {field}: {said}");
        assert!(said.contains("at most") || said.contains(" to "), "{method} {path} {field}: {said}");
        assert!(said.contains("2000"), "{method} {path} {field} says how many were found: {said}");
    }
}

#[test]
fn reading_a_list_or_map_takes_linear_time() {
    let sandbox = Sandbox::unread();
    for (request, field, body) in lists_and_maps(&sandbox) {
        let (method, path) = request.split_once(' ').unwrap();
        let cost = |many: usize| {
            let body = grown(&body, field, many).to_string();
            let ask = || sandbox.ask(method.parse().unwrap(), path).send(body.clone());
            (0..3).map(|_| cpu_time(ask)).min().unwrap()
        };
        let (less, more) = (cost(2_000), cost(16_000));
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
    let accounts = tenants.items();
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

#[test]
fn receiving_a_mail_takes_linear_time() {
    let sandbox = Sandbox::new();
    let cost = |mail: &str| {
        let receive = || sandbox.service.receive(KEY, &["c@d.test"], mail.to_owned()).unwrap();
        (0..3).map(|_| cpu_time(receive)).min().unwrap()
    };
    let part = "--m\r\nContent-Disposition: attachment\r\n\r\nx\r\n";
    // `#` is replaced by the number of the piece.
    for (what, start, piece, end) in [
        ("headers", "", "X-#: 1\r\n", "\r\nx"),
        ("one header again and again", "", "X-Own: 1\r\n", "\r\nx"),
        ("addresses", "To: ", "a@b.test,\r\n ", "c@d.test\r\n\r\nx"),
        ("files", "Content-Type: multipart/mixed; boundary=m\r\n\r\n", part, "--m--"),
        ("encoded words", "To: ", "=?utf-8?q?a?= ", "<c@d.test>\r\n\r\nx"),
    ] {
        let mail = |many: usize| {
            let pieces: Vec<_> = (0..many).map(|at| piece.replace('#', &at.to_string())).collect();
            format!("From: a@b.test\r\nSubject: x\r\n{start}{}{end}", pieces.concat())
        };
        let (less, more) = (cost(&mail(1_200)), cost(&mail(9_600)));
        let linear = more < Duration::from_millis(100) || more < 30 * less;
        assert!(linear, "{what}: {less:?}, {more:?}");
    }
}
