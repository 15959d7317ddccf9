//! The contents of the inbox page: its files, the views of a mail, requests and templates.

use std::time::Instant;

use http::Method;
use idempost_sandbox::Settings;
use serde_json::{Value, json};

use crate::support::{Answer, KEY, Sandbox, email, email_of, email_with, expect_fields_of};

fn open(sandbox: &Sandbox, path: impl Into<String>) -> Answer {
    sandbox.ask(Method::GET, path).no_key().send("")
}

#[test]
fn the_content_security_policy_allows_only_the_page_s_own_scripts() {
    let sandbox = Sandbox::new();
    let page = open(&sandbox, "/_/");
    assert_eq!((page.status.as_u16(), page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
    assert!(policy.ends_with("base-uri 'none'; form-action 'none'; frame-ancestors 'none'"), "{policy}");
    let text = page.text();
    let mut files: Vec<_> =
        text.split('"').filter(|part| part.starts_with("assets/")).map(|part| format!("/_/{part}")).collect();
    assert!(files.len() >= 6, "{files:?}");
    let mut seen = 0;
    while let Some(path) = files.get(seen).cloned() {
        seen += 1;
        let file = open(&sandbox, &path);
        let kind = match path.rsplit('.').next() {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            _ => "image/svg+xml",
        };
        assert_eq!((file.status.as_u16(), file.header("content-type")), (200, Some(kind)), "{path}");
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        // Imported modules are files, too.
        let text = file.text();
        for name in text.split("from \"./").skip(1).filter_map(|rest| rest.split('"').next()) {
            let path = format!("/_/assets/{name}");
            if !files.contains(&path) {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 15, "every module was reached: {files:?}");
    assert_eq!(open(&sandbox, "/_/assets/../page.rs").status, 404);
    assert_eq!(open(&sandbox, "/_/assets/none.js").status, 404);
    assert_eq!(sandbox.ask(Method::POST, "/_/assets/app.js").send("").status, 405);
}

#[test]
fn mail_html_has_a_policy_of_its_own_and_inlined_images() {
    let sandbox = Sandbox::new();
    let email = email_of(&json!({
        "html": "<!doctype html><link rel=preconnect href=https://evil.test><script>x()</script><img src='cid:logo'><img src=cid:none>",
        "attachments": [{"filename": "logo.png", "content": "YWJj", "content_id": "logo"}],
    }));
    sandbox.sent(&email);
    let id = sandbox.mail().id;
    let page = open(&sandbox, format!("/_/messages/{id}/html?key={KEY}")).expect_status(200);
    assert_eq!(
        page.header("content-security-policy").unwrap(),
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    );
    assert_eq!(page.header("x-dns-prefetch-control"), Some("off"));
    let text = page.text();
    assert!(text.starts_with("<!doctype html><base target=\"_blank\">"), "{text}");
    assert!(text.contains("<x-link rel=preconnect") && !text.contains("<link"), "{text}");
    assert!(
        text.contains("<img src='data:image/png;base64,YWJj'>") && text.contains("<img src=cid:none>"),
        "{text}"
    );
    // The newest mail, for browser tests.
    assert_eq!(open(&sandbox, format!("/_/latest.html?key={KEY}&to=ada")).text(), text);
    assert_eq!(open(&sandbox, format!("/_/latest.txt?key={KEY}")).text(), "It works");
    assert_eq!(open(&sandbox, format!("/_/latest.json?key={KEY}")).json()["id"], id);
    assert_eq!(open(&sandbox, format!("/_/latest.eml?key={KEY}")).body, sandbox.mail().mime);
    assert_eq!(open(&sandbox, format!("/_/latest.html?key={KEY}&to=bob")).status, 404);
}

#[test]
fn attachments_are_downloaded_and_never_rendered() {
    let sandbox = Sandbox::new();
    let mut email = email_with("html", "<p>Hi</p>");
    email["attachments"] = json!([
        {"filename": "page\u{202e}fdp.html", "content": "PHNjcmlwdD54KCk8L3NjcmlwdD4="},
        {"filename": "in.png", "content": "YWJj", "content_id": "x"},
    ]);
    sandbox.sent(&email);
    let id = sandbox.mail().id;
    let about = sandbox.get(format!("/_/messages/{id}/about")).json();
    assert!(about.get("html").is_none() && about["html_size"] == 9 && about["subject"] == "Hello", "{about}");
    let files = about["files"].as_array().unwrap();
    assert_eq!(files.len(), 2);
    let place = files.iter().position(|file| file["content_type"] == "text/html").unwrap();
    let file = open(&sandbox, format!("/_/messages/{id}/files/{place}?key={KEY}"));
    assert_eq!(file.text(), "<script>x()</script>");
    assert_eq!(file.header("content-security-policy"), Some("sandbox; default-src 'none'"));
    assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
    let disposition = file.header("content-disposition").unwrap();
    assert!(
        disposition.starts_with("attachment; filename*=utf-8''page") && !disposition.contains("E2%80%AE"),
        "{disposition}"
    );
    for place in ["2", "-1", "x", "99999999999999999999"] {
        assert_eq!(sandbox.get(format!("/_/messages/{id}/files/{place}")).status, 404, "{place}");
    }
    let source = sandbox.get(format!("/_/messages/{id}/download"));
    assert_eq!(source.body, sandbox.mail().mime);
    assert!(source.header("content-disposition").unwrap().starts_with("attachment;"));
}

#[test]
fn a_message_over_the_limits_is_not_parsed() {
    let sandbox = Sandbox::unread();
    sandbox.sent(&email_of(&json!({"subject": "word ".repeat(1 << 20), "html": "<p>Hi</p>"})));
    let mail = format!("/_/messages/{}", sandbox.mail().id);
    let about = sandbox.get(format!("{mail}/about")).json();
    let not_shown = "This email has more than 4 MiB of headers and is not shown.";
    expect_fields_of(&json!({"not_shown": not_shown, "files": [], "headers": []}), &about);
    sandbox.get(format!("{mail}/files/0")).invalid(not_shown);
    for side in ["html", "text", "download", "timeline"] {
        sandbox.get(format!("{mail}/{side}")).expect_status(200);
    }
}

#[test]
fn received_mails_have_the_same_views() {
    let sandbox = Sandbox::new();
    for (subject, text) in [("First", "needle in it"), ("Second", "hay")] {
        let mail = json!({"from": "Ada Lovelace <ada@example.com>", "to": "help@acme.test", "subject": subject, "text": text, "html": "<p>Hi</p>"});
        sandbox.received(&mail);
    }
    assert_eq!(sandbox.subjects("/_/received"), ["Second", "First"]);
    assert_eq!(sandbox.get("/_/received?limit=1").json()["has_more"], true);
    for query in ["from=lovelace", "from=ada@example.com", "query=lovelace"] {
        let found = sandbox.ids(format!("/_/received?{query}"));
        assert_eq!(found.len(), 2, "{query}: the sender's name and address");
    }
    assert_eq!(sandbox.subjects("/_/received?query=NEEDLE"), ["First"]);
    let id = &sandbox.ids("/_/received")[1];
    let about = sandbox.get(format!("/_/received/{id}")).json();
    expect_fields_of(&json!({"received_for": ["help@acme.test"], "to": ["help@acme.test"]}), &about);
    assert_eq!(sandbox.get(format!("/_/received/{id}/text")).text().trim(), "needle in it");
    assert!(sandbox.get(format!("/_/received/{id}/html")).text().ends_with("<p>Hi</p>"));
    let timeline = sandbox.get(format!("/_/received/{id}/timeline")).json();
    assert_eq!(timeline["events"][0]["event"], "received");
    assert_eq!(sandbox.ask(Method::GET, format!("/_/received/{id}")).key("sb_other").send("").status, 404);
}

#[test]
fn the_timeline_lists_events_and_webhook_attempts() {
    let sandbox = Sandbox::new();
    let hook = json!({"endpoint": "http://127.0.0.1:9/hook", "events": ["email.bounced"]});
    let hook = sandbox.post("/webhooks", &hook).json()["id"].clone();
    sandbox.sent(&email());
    sandbox.advance(5);
    let id = sandbox.mail().id;
    sandbox.post(&format!("/_/messages/{id}/events"), &json!({"type": "bounced"})).expect_status(201);
    let timeline = sandbox.get(format!("/_/messages/{id}/timeline")).json();
    let events: Vec<_> =
        timeline["events"].as_array().unwrap().iter().map(|one| one["event"].as_str().unwrap()).collect();
    assert_eq!((events.first(), events.last()), (Some(&"accepted"), Some(&"bounced")));
    assert!(events.contains(&"sent") && events.contains(&"delivered"), "{events:?}");
    let delivery = &timeline["webhooks"][0];
    let expected =
        json!({"type": "email.bounced", "webhook_id": hook, "endpoint": "http://127.0.0.1:9/hook"});
    expect_fields_of(&expected, delivery);
    assert!(delivery["attempts"].is_array() && delivery["status"].is_string());
}

#[test]
fn the_originating_request_is_shown_without_credentials() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email_with("subject", "other"));
    let sent = sandbox
        .ask(Method::POST, "/emails")
        .header("idempotency-key", "k-1")
        .header("cookie", "c=secret")
        .json(&email());
    let id = sent.id();
    let made = sandbox.get(format!("/_/messages/{id}/request")).json();
    expect_fields_of(&json!({"method": "POST", "path": "/emails", "status": 200}), &made);
    let body: Value = serde_json::from_str(made["body"]["text"].as_str().unwrap()).unwrap();
    assert_eq!(body, email());
    let value = |name: &str| {
        made["headers"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()["value"].clone()
    };
    assert_eq!(
        (value("authorization"), value("cookie"), value("idempotency-key")),
        (json!("Bearer [hidden]"), json!("[hidden]"), json!("k-1"))
    );
    assert!(!made.to_string().contains(KEY) && !made.to_string().contains("secret"), "{made}");
}

#[test]
fn a_later_request_is_not_shown_as_the_originating_one() {
    let sandbox = Sandbox::new();
    // It isn't recorded.
    let send = json!({"From": {"Email": "hi@acme.test"}, "To": [{"Email": "ada@example.com"}], "Text": "x", "Subject": "x"});
    sandbox.post("/api/v1/send", &send).expect_status(200);
    let mail = sandbox.get("/_/latest.json").json();
    let id = mail["email_id"].as_str().unwrap();
    sandbox.post(&format!("/emails/{id}/share"), &json!({})).expect_status(200);
    sandbox.get(format!("/_/messages/{id}/request")).expect_status(404);
}

#[test]
fn the_request_log_shows_the_tenant_s_own_and_unauthenticated_requests() {
    let sandbox = Sandbox::new();
    sandbox.service.faults().add_once(idempost_sandbox::faults::Action::http_response(503, "busy"));
    assert_eq!(sandbox.post("/emails", &email()).status, 503);
    sandbox.sent(&email());
    sandbox.ask(Method::POST, "/emails").key("sb_other").json(&email());
    sandbox.ask(Method::GET, "/emails").key("nonsense").send("");
    sandbox.ask(Method::POST, "/oauth/token").no_key().send("refresh_token=very-secret");
    let key = sandbox.post("/api-keys", &json!({"name": "x"})).json()["token"].as_str().unwrap().to_owned();
    let statuses = |query: &str| -> Vec<u64> {
        let list = sandbox.items(format!("/_/requests?{query}"));
        list.iter().map(|one| one["status"].as_u64().unwrap()).collect()
    };
    assert_eq!(statuses("")[3..], [200, 503], "newest first, including a fault");
    assert_eq!(statuses("").len(), 5);
    assert_eq!(
        (statuses("status=5"), statuses("status=50x"), statuses("method=get&path=EMAIL")),
        (vec![503], vec![503], vec![403])
    );
    assert_eq!(statuses("status=2xx"), [201, 200]);
    for wrong in ["x", "abc", "9", "50x0", "2999", "5%20", "x5"] {
        sandbox.get(format!("/_/requests?status={wrong}")).invalid("`status` must be");
    }
    let list = sandbox.get("/_/requests").json();
    let oldest = list["data"][4]["number"].as_u64().unwrap();
    assert_eq!(statuses(&format!("before={}", oldest + 2)), [200, 503]);
    for one in list["data"].as_array().unwrap() {
        let whole = sandbox.get(format!("/_/requests/{}", one["number"])).text();
        assert!(!whole.contains("very-secret") && !whole.contains(&key) && !whole.contains(KEY), "{whole}");
    }
    assert_eq!(sandbox.get("/_/requests/999").status, 404);
    let others = sandbox.ask(Method::GET, format!("/_/requests/{}", oldest + 2)).key(KEY).send("");
    assert_eq!(others.status, 404, "another tenant's");
}

#[test]
fn a_request_stays_hidden_from_other_accounts_after_its_key_is_deleted() {
    let sandbox = Sandbox::new();
    let key = sandbox.post("/api-keys", &json!({"name": "x"})).json();
    let token = key["token"].as_str().unwrap();
    let sent = sandbox.ask(Method::POST, "/emails").key(token).json(&email()).json();
    let path = format!("/api-keys/{}", key["id"].as_str().unwrap());
    let deleted = sandbox.ask(Method::DELETE, path).key(token).send("");
    assert_eq!(deleted.status, 200, "a key can delete itself");
    let seen_by = |key: &str| sandbox.account(key).items("/_/requests").len();
    assert_eq!((seen_by(KEY), seen_by("sb_other")), (3, 0));
    let request = format!("/_/messages/{}/request", sent["id"].as_str().unwrap());
    assert_eq!(sandbox.get(request).json()["path"], "/emails");
}

#[test]
fn requests_record_their_duration_and_scripted_delay_separately() {
    let sandbox = Sandbox::new();
    sandbox.post("/_/faults", &json!({"action": "slow", "delay_ms": 1500}));
    let start = Instant::now();
    sandbox.sent(&email());
    sandbox.sent(&email());
    let took = start.elapsed();
    let list = sandbox.get("/_/requests").json();
    let field =
        |place: usize, name: &str| list["data"][place][name].as_u64().unwrap_or_else(|| panic!("{list}"));
    assert_eq!((field(1, "delay_ms"), field(0, "delay_ms")), (1500, 0));
    let micros = field(0, "duration_us") + field(1, "duration_us");
    assert!(micros > 0 && u128::from(micros) <= took.as_micros(), "{micros} µs of {took:?}");
    let recorded = &sandbox.service.requests()[0];
    assert_eq!(recorded.delay.as_millis(), 1500);
    assert_eq!(recorded.duration.as_micros(), u128::from(field(1, "duration_us")));
    let whole = sandbox.get(format!("/_/requests/{}", recorded.number)).json();
    assert_eq!((&whole["duration_us"], &whole["delay_ms"]), (&list["data"][1]["duration_us"], &json!(1500)));
}

#[test]
fn a_template_preview_renders_like_a_send() {
    let sandbox = Sandbox::new();
    let template = json!({"name": "Order", "alias": "order", "subject": "Order {{{ORDER}}}", "html": "<p>Hi {{{NAME}}}, {{{EMAIL}}}: {{{TOTAL}}}</p>",
        "variables": [{"key": "NAME", "type": "string", "fallback_value": "friend"}, {"key": "ORDER", "type": "string"}, {"key": "TOTAL", "type": "number", "fallback_value": 42}]});
    let id = sandbox.created("/templates", &template);
    let listed = sandbox.get("/_/templates").json();
    assert_eq!(
        (&listed["data"][0]["alias"], &listed["data"][0]["variables"][2]["fallback_value"]),
        (&json!("order"), &json!(42))
    );
    let shown = sandbox.get(format!("/_/templates/{id}/preview")).json();
    assert_eq!((&shown["subject"], &shown["missing"]), (&json!("Order {{{ORDER}}}"), &json!(["ORDER"])));
    let query = "variables=%7B%22ORDER%22%3A%22A%201%22%2C%22TOTAL%22%3A7%7D&to=ada%40example.com";
    let shown = sandbox.get(format!("/_/templates/order/preview?{query}")).json();
    assert_eq!((&shown["subject"], &shown["missing"]), (&json!("Order A 1"), &json!([])));
    let page = open(&sandbox, format!("/_/templates/order/preview.html?{query}&key={KEY}"));
    assert!(page.text().ends_with("<p>Hi friend, ada@example.com: 7</p>"), "{}", page.text());
    assert!(page.header("content-security-policy").unwrap().starts_with("sandbox; default-src 'none'"));
    assert_eq!(sandbox.get("/_/templates/order/preview?version=published").status, 404);
    assert_eq!(sandbox.get("/_/templates/none/preview").status, 404);
    for wrong in ["%5B%5D", "x", "%7B%22A%22%3Atrue%7D"] {
        let answer = sandbox.get(format!("/_/templates/order/preview?variables={wrong}"));
        answer.invalid("`variables` must be an object of strings and numbers");
    }
    assert!(
        sandbox.service.requests().iter().all(|request| request.path == "/templates"),
        "the page's requests aren't logged"
    );
}

#[test]
fn tenants_are_listed_and_reading_creates_none() {
    let sandbox = Sandbox::new();
    for path in [
        "/_/messages?key=sb_nobody",
        "/_/received?key=sb_nobody",
        "/_/requests?key=sb_nobody",
        "/_/templates?key=sb_nobody",
        "/_/stream?key=sb_nobody",
    ] {
        assert_eq!(open(&sandbox, path).status, 200, "{path}");
    }
    assert_eq!(open(&sandbox, "/_/tenants").json()["data"], json!([]));
    sandbox.sent(&email());
    sandbox.ask(Method::POST, "/emails").key("sb_other").json(&email());
    let tenants = sandbox.items("/_/tenants");
    let shown: Vec<_> = tenants.iter().map(|one| [&one["label"], &one["current"]]).collect();
    assert_eq!(json!(shown), json!([["sb_oth…", false], ["sb_tes…", true]]));
    expect_fields_of(&json!({"sent": 1, "received": 0}), &tenants[0]);
    assert_eq!(open(&sandbox, "/_/messages?key=other").status, 403);
    assert_eq!(open(&sandbox, "/_/messages").status, 401);
}

#[cfg(unix)]
/// Runs `command` in a shell; returns curl's arguments and standard input.
fn run_in_shell(command: &str) -> (Vec<String>, Vec<u8>) {
    let script = format!("curl() {{ printf '%s\\0' \"$@\" STDIN; cat; }}; {command}");
    // Uses a file, since an argument has a lower size limit than pasted input.
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, script).unwrap();
    let output = std::process::Command::new("sh")
        .arg(file.path())
        .env("IDEMPOST_API_KEY", KEY)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{command}: {output:?}");
    let marker = b"\0STDIN\0";
    let end = output.stdout.windows(marker.len()).position(|part| part == marker).unwrap();
    let arguments = output.stdout[..end].split(|byte| *byte == 0);
    let arguments = arguments.map(|argument| String::from_utf8(argument.to_vec()).unwrap()).collect();
    (arguments, output.stdout[end + marker.len()..].to_vec())
}

#[cfg(unix)]
fn copied_curl(sandbox: &Sandbox) -> Option<String> {
    let number = sandbox.get("/_/requests").json()["data"][0]["number"].to_string();
    sandbox.get(format!("/_/requests/{number}")).json()["curl"].as_str().map(str::to_owned)
}

#[cfg(unix)]
mod shell {
    use bytes::Bytes;
    use http::Request;
    use proptest::prelude::*;

    use super::*;

    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            &b"@/etc/passwd"[..],
            b"'",
            b"\"",
            b"$(touch pwned)",
            b"`id`",
            b"\\",
            b"\n",
            b"!",
            b"%s%d",
            b"\0",
            b"\xff",
            b"\x1b[201~",
            b" ",
            b"; id",
            b"&",
            b"\xc2\x9b",
            b"\r",
            b"\t",
            b"0",
            "\u{e9}".as_bytes(),
            b"{}",
            b"-d",
        ]);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_copied_request_reaches_curl_unchanged(
            method in "[A-Z!#$%&'*+.^_`|~-]{1,12}", path in "/[a-z0-9!$&'()*+,;=:@{}`\"|.%-]{0,20}",
            query in "[a-z0-9!$&'()*+,;=:@/?{}`|\\[\\]-]{0,20}", key in "[ -~]{1,30}", body in hostile(),
        ) {
            let sandbox = Sandbox::new();
            let target = format!("{path}?{query}");
            let request = Request::builder().method(method.as_str()).uri(target.as_str()).header("idempotency-key", key.trim());
            let Ok(request) = request.body(Bytes::from(body.clone())) else { return Ok(()) };
            if request.uri().path() == "/" || request.uri().path().starts_with("/_") {
                return Ok(());
            }
            sandbox.service.handle(request);
            let command = copied_curl(&sandbox).unwrap();
            prop_assert!(!command.chars().any(|char| char.is_control() && char != '\n'), "{:?}", command);
            let (arguments, input) = run_in_shell(&command);
            let after = |flag: &str| arguments.iter().skip_while(|argument| *argument != flag).nth(1).cloned();
            prop_assert_eq!(after("-X"), Some(method), "{}", command);
            let url = format!("http://sandbox.invalid{target}");
            prop_assert!(arguments.contains(&url), "{} is not in {:?}", url, arguments);
            prop_assert!(arguments.contains(&["Authorization: Bearer ", KEY].concat()));
            prop_assert!(arguments.contains(&format!("idempotency-key: {}", key.trim())), "{:?}", arguments);
            match std::str::from_utf8(&body) {
                _ if body.is_empty() => prop_assert!(!command.contains("--data")),
                Ok(text) if !text.chars().any(|char| char.is_control() && char != '\n') => {
                    prop_assert_eq!(arguments.last().map(String::as_str), Some(text));
                    prop_assert_eq!(&arguments[arguments.len() - 2], "--data-raw");
                }
                _ => {
                    prop_assert_eq!(&arguments[arguments.len() - 2..], ["--data-binary", "@-"]);
                    prop_assert_eq!(&input, &body);
                }
            }
        }
    }

    #[test]
    fn a_large_or_redacted_body_is_copied_whole_or_not_at_all() {
        let sandbox = Sandbox::new();
        let text = "it's ".repeat(30 << 10);
        sandbox.sent(&email_with("text", text.as_str()));
        let (_, input) = run_in_shell(&copied_curl(&sandbox).unwrap());
        assert_eq!(serde_json::from_slice::<Value>(&input).unwrap()["text"], text);
        sandbox.sent(&email_with("text", text.repeat(2)));
        assert_eq!(copied_curl(&sandbox), None);
        sandbox.ask(Method::POST, "/oauth/token").no_key().json(&json!({"refresh_token": "secret"}));
        assert_eq!(copied_curl(&sandbox), None);
    }
}

#[test]
fn browsers_are_led_from_the_root_to_the_page() {
    let sandbox = Sandbox::new();
    let root = |accept: &str| sandbox.ask(Method::GET, "/").no_key().header("accept", accept).send("");
    let led = root("text/html,application/xhtml+xml;q=0.9");
    assert_eq!((led.status.as_u16(), led.header("location")), (303, Some("_/")));
    for accept in ["application/json", "*/*"] {
        assert_eq!((root(accept).status.as_u16(), root(accept).name().as_str()), (404, "not_found"));
    }
    let head = sandbox.ask(Method::HEAD, "/_/").no_key().send("");
    assert_eq!((head.status.as_u16(), head.header("content-type")), (200, Some("text/html; charset=utf-8")));
}

#[test]
fn labels_of_accounts_do_not_show_the_password() {
    let password = Some("correct-horse".to_owned().into());
    let sandbox = Sandbox::with(&Settings { password, ..Settings::default() });
    for key in ["sb_correct-horse", "sb_correct-horse_worker1", "re_correct-horse_ci"] {
        assert_eq!(sandbox.ask(Method::POST, "/emails").key(key).json(&email()).status, 200);
    }
    let labels = sandbox.account("sb_correct-horse").column("/_/tenants", "label");
    assert_eq!(labels, ["re_…_ci", "sb_…_worker1", "sb_…"]);
}
