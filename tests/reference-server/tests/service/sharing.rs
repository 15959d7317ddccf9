//! Links to emails: `POST /emails/{email_id}/share`, and their pages.

use http::Method;
use idempost_reference_server::Settings;
use serde_json::{Value, json};

use crate::restarts::Restartable;
use crate::support::{Answer, KEY, Sandbox, UNKNOWN_ID, email, email_of, email_with, expect_fields_of};

fn share(sandbox: &Sandbox, id: &str, body: &Value) -> Answer {
    sandbox.post(&format!("/emails/{id}/share"), body)
}

fn link(sandbox: &Sandbox, id: &str) -> String {
    let shared = sandbox.act(format!("/emails/{id}/share")).expect_status(200);
    shared.json()["url"].as_str().unwrap().strip_prefix("http://sandbox.invalid").unwrap().to_owned()
}

const HOSTILE: &str = "From: <a@x.test>\r\nTo: in@acme.test\r\nSubject: =?utf-8?q?=3Cscript=3Ealert(1)=3C/script=3E?=\r\n\
    MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n\
    --m\r\nContent-Type: text/html\r\n\r\n<script>alert(1)</script><img src=https://evil.test/x><base href=https://evil.test><a href=https://evil.test>x</a>\r\n\
    --m\r\nContent-Type: text/html\r\nContent-Disposition: attachment; filename=\"<b>.html\"\r\n\r\n<script>alert(2)</script>\r\n--m--\r\n";

#[test]
fn a_link_shows_the_email_until_it_expires() {
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("bcc", "secret@example.com"));
    let shared = share(&sandbox, &id, &json!({"expires_in": "1h 30m"})).expect_status(200).json();
    expect_fields_of(&json!({ "object": "email", "id": id }), &shared);
    let path = shared["url"].as_str().unwrap().strip_prefix("http://sandbox.invalid").unwrap();
    let page = sandbox.visit(path).expect_status(200);
    for text in ["<h1>Hello</h1>", "Acme &lt;hi@acme.test&gt;", "ada@example.com", "<pre>It works</pre>"] {
        assert!(page.text().contains(text), "{text}: {}", page.text());
    }
    assert!(!page.text().contains("secret@") && !page.text().contains(KEY), "{}", page.text());
    sandbox.advance(5_399);
    assert_eq!(sandbox.visit(path).status, 200);
    sandbox.advance(1);
    for path in [path.to_owned(), format!("{path}/html"), format!("{path}/files/0")] {
        sandbox.visit(&path).rejected(403, "expired_link", "");
    }
    let path = link(&sandbox, &id);
    sandbox.advance(48 * 3_600 - 1);
    assert_eq!(sandbox.visit(&path).status, 200);
    sandbox.advance(1);
    assert_eq!(sandbox.visit(&path).status, 403);
}

#[test]
fn lifetimes_are_durations_in_words_of_at_most_48_hours() {
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email());
    for expires_in in ["10m", "2 hours", "1 day", "1h 30m", "48h", "2 days", "1 second"] {
        assert_eq!(share(&sandbox, &id, &json!({ "expires_in": expires_in })).status, 200, "{expires_in}");
    }
    assert_eq!(share(&sandbox, &id, &json!({ "expires_in": null })).status, 200);
    for expires_in in
        [json!("48h 1s"), json!("3 days"), json!("0h"), json!("soon"), json!("PT5M"), json!(""), json!(60)]
    {
        share(&sandbox, &id, &json!({ "expires_in": expires_in })).invalid("`expires_in`");
    }
    let long = share(&sandbox, &id, &json!({"expires_in": "49 hours"}));
    long.invalid("`expires_in` must not exceed 48 hours");
}

#[test]
fn hostile_mail_is_inert_on_its_page() {
    let sandbox = Sandbox::new();
    let id = sandbox.service.receive(KEY, &["in@acme.test"], HOSTILE).unwrap();
    let path = link(&sandbox, &id);
    let page = sandbox.visit(&path);
    assert!(!page.text().contains("<script") && !page.text().contains("<b>"), "{}", page.text());
    for text in ["<iframe sandbox ", "&lt;script&gt;"] {
        assert!(page.text().contains(text), "{text}: {}", page.text());
    }
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let html = sandbox.visit(&format!("{path}/html"));
    assert!(html.header("content-security-policy").unwrap().starts_with("sandbox; default-src 'none';"));
    for element in ["<base href=https", "<a href=https"] {
        assert!(!html.text().contains(element), "{}", html.text());
    }
    let file = sandbox.visit(&format!("{path}/files/0"));
    assert_eq!(file.text().trim_end(), "<script>alert(2)</script>");
    assert!(file.header("content-disposition").unwrap().starts_with("attachment;"));
    assert!(file.header("content-security-policy").unwrap().starts_with("sandbox"));
    assert_eq!(sandbox.visit(&format!("{path}/files/9")).status, 404);
    for answer in [&page, &html, &file] {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
}

#[test]
fn links_are_followed_from_anywhere_and_cannot_be_forged() {
    let sandbox = Sandbox::new();
    let (id, other) = (sandbox.sent(&email()), sandbox.sent(&email()));
    let path = link(&sandbox, &id);
    let foreign = sandbox.ask(Method::GET, path.clone()).no_key();
    let foreign =
        foreign.header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "navigate").send("");
    assert_eq!(foreign.status, 200);
    sandbox.ask(Method::GET, path.clone()).no_key().header("host", "evil.test").send("").expect_status(403);
    let mut forged = path.clone().into_bytes();
    let last = forged.len() - 2;
    forged[last] = if forged[last] == b'A' { b'B' } else { b'A' };
    sandbox.visit(&String::from_utf8(forged).unwrap()).rejected(403, "invalid_link", "");
    // The token of a file is none of a page.
    let file = sandbox.sent(&email_with("attachments", json!([{"content": "YQ=="}])));
    let file = sandbox.column(format!("/emails/{file}/attachments"), "download_url").remove(0);
    let token = file.rsplit('/').next().unwrap();
    assert_eq!(sandbox.visit(&format!("/_/shared/{token}")).status, 403);
    assert_ne!(link(&sandbox, &other), path);
}

#[test]
fn unsent_emails_are_shared_and_deleted_ones_are_not() {
    let sandbox = Sandbox::new();
    let scheduled = email_of(&json!({"scheduled_at": "2026-03-02T13:00:00Z", "html": "<p>Later</p>"}));
    let path = link(&sandbox, &sandbox.sent(&scheduled));
    assert!(sandbox.visit(&format!("{path}/html")).text().ends_with("<p>Later</p>"));
    sandbox.advance(3_600);
    assert!(sandbox.visit(&format!("{path}/html")).text().ends_with("<p>Later</p>"));
    share(&sandbox, UNKNOWN_ID, &json!({})).rejected(404, "not_found", "Email not found.");
    assert_eq!(share(&sandbox, "x", &json!({})).name(), "invalid_parameter");
    let id = sandbox.sent(&email());
    share(&sandbox.account("sb_other"), &id, &json!({})).expect_status(404);
    let path = link(&sandbox, &id);
    sandbox.act("/_/reset");
    assert_eq!(sandbox.visit(&path).status, 404);
    let small = Sandbox::with(&Settings { keep_mails: 1, ..Settings::default() });
    let path = link(&small, &small.sent(&email()));
    small.sent(&email());
    assert_eq!(small.visit(&path).status, 404);
}

#[test]
fn links_survive_a_restart() {
    let mut sandbox = Restartable::new();
    let ids = [sandbox.sent(&email()), sandbox.service.receive(KEY, &["in@acme.test"], HOSTILE).unwrap()];
    let links = ids.map(|id| link(&sandbox, &id));
    sandbox.restart();
    for link in links {
        sandbox.visit(&link).expect_status(200);
    }
}
