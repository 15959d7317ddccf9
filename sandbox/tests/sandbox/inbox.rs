//! The sandbox's own routes under `/_/`.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Sandbox, UNKNOWN_ID, email, email_of, email_with, expect_fields_of};

impl Sandbox {
    /// The subjects in a list, in its order.
    #[track_caller]
    pub(crate) fn subjects(&self, path: &str) -> Vec<String> {
        self.column(path, "subject")
    }

    /// Receives an email with the fields of a sent one; returns its ID.
    #[track_caller]
    pub(crate) fn received(&self, email: &Value) -> String {
        let request = self.ask(Method::POST, "/_/received").header("content-type", "application/json");
        request.json(email).expect_status(201).id()
    }
}

#[test]
fn readiness_requires_no_key() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.ask(Method::GET, "/_/ready").no_key().send("").json(),
        json!({"ready": true, "keeps": false, "saved": false})
    );
}

#[test]
fn the_page_and_its_redirects_are_relative_to_a_prefix() {
    let sandbox = Sandbox::new();
    for (path, location) in [("/_", "_/"), ("/_?key=sb_other", "_/?key=sb_other")] {
        let answer = sandbox.get(path);
        assert_eq!((answer.status.as_u16(), answer.header("location")), (303, Some(location)), "{path}");
    }
    let page = sandbox.get("/_/").text();
    let of_page = |attribute| {
        page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()).collect::<Vec<_>>()
    };
    let urls: Vec<_> = [of_page(" href=\""), of_page(" src=\"")].concat();
    assert!(urls.len() > 8, "{urls:?}");
    for url in urls {
        assert!(url.starts_with("assets/") || url.starts_with('#'), "{url}");
    }
}

#[test]
fn lists_have_the_first_words_and_the_code_of_each_mail() {
    let sandbox = Sandbox::new();
    let text = "Hello\n\nYour verification code is 482913.";
    sandbox.sent(&email_with("text", text));
    let html = email_of(&json!({"html": "<p>Only <b>HTML</b></p>", "text": null}));
    sandbox.sent(&html);
    let later = email_of(&json!({"text": text, "scheduled_at": "in 1 hour"}));
    sandbox.sent(&later);
    let mail = json!({"from": "a@example.com", "to": "b@acme.test", "subject": "In", "text": text});
    sandbox.received(&mail);
    let shown = |path: &str| {
        let items = sandbox.items(path);
        items.iter().map(|item| json!([item["preview"], item["code"]])).collect::<Vec<_>>()
    };
    let coded = json!(["Hello Your verification code is 482913.", "482913"]);
    assert_eq!(shown("/_/messages"), [json!(["Only HTML", null]), coded.clone()]);
    assert_eq!(shown("/_/messages?state=unsent"), std::slice::from_ref(&coded));
    assert_eq!(shown("/_/received"), [coded]);
}

#[test]
fn captured_mails_are_listed_newest_first_with_their_details() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email_with("subject", "older"));
    let newer = email_of(&json!({
        "subject": "newer", "bcc": "b@example.com", "tags": [{"name": "kind", "value": "test"}],
        "attachments": [{"filename": "a.txt", "content": "YQ==", "content_id": "x"}],
    }));
    let id = sandbox.sent(&newer);
    sandbox.advance(1);
    assert_eq!(sandbox.subjects("/_/messages"), ["newer", "older"]);
    let expected = json!({
        "email_id": id, "from": "Acme <hi@acme.test>", "to": ["ada@example.com"], "cc": [], "bcc": ["b@example.com"],
        "last_event": "delivered", "tags": [{"name": "kind", "value": "test"}],
        "attachments": [{"filename": "a.txt", "content_type": "text/plain", "size": 1, "content_id": "x"}],
        "size": sandbox.mails()[0].mime.len(), "created_at": "2026-03-02 12:00:00.000000+00",
    });
    expect_fields_of(&expected, &sandbox.get("/_/messages").json()["data"][0]);
}

#[test]
fn after_id_lists_only_later_mails() {
    let sandbox = Sandbox::new();
    for subject in ["one", "two", "three"] {
        sandbox.sent(&email_with("subject", subject));
    }
    let one = &sandbox.ids("/_/messages")[2];
    assert_eq!(sandbox.subjects(&format!("/_/messages?after_id={one}")), ["three", "two"]);
    let page = format!("/_/messages?after_id={one}&limit=1");
    assert_eq!(sandbox.subjects(&page), ["two"]);
    assert_eq!(sandbox.get(page).json()["has_more"], true);
}

#[test]
fn a_mail_is_returned_with_bodies_headers_and_source() {
    let sandbox = Sandbox::new();
    let email =
        email_of(&json!({"html": "<p>It works</p>", "headers": {"X-Long": "word ".repeat(40).trim()}}));
    sandbox.sent(&email);
    let mail = sandbox.mail();
    let shown = sandbox.get(format!("/_/messages/{}", mail.id)).json();
    assert_eq!((&shown["text"], &shown["html"]), (&json!("It works"), &json!("<p>It works</p>")));
    let value_of = |name: &str| {
        let mut headers = shown["headers"].as_array().unwrap().iter();
        headers.find(|header| header["name"] == name).map(|header| header["value"].clone())
    };
    assert_eq!(value_of("Subject"), Some(json!("Hello")));
    assert_eq!(value_of("X-Long"), Some(json!("word ".repeat(40).trim())));

    let raw = sandbox.get(format!("/_/messages/{}/raw", mail.id));
    assert_eq!(raw.header("content-type"), Some("message/rfc822"));
    assert_eq!(raw.body, mail.mime);
    assert_eq!(sandbox.get(format!("/_/messages/{UNKNOWN_ID}")).status, 404);
    assert_eq!(sandbox.get("/_/messages/x/raw").status, 404);
}

#[test]
fn mails_are_deleted_per_tenant() {
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email());
    sandbox.ask(Method::POST, "/emails").key("sb_other").json(&email());
    assert_eq!(sandbox.delete("/_/messages").json(), json!({"deleted": 1}));
    assert!(sandbox.mails().is_empty());
    assert_eq!(sandbox.last_event(&id), "sent", "the email is still stored");
    assert_eq!(sandbox.service.mails("sb_other").len(), 1);

    assert_eq!(sandbox.ask(Method::POST, "/_/reset").send("").status, 200);
    assert_eq!(sandbox.get(format!("/emails/{id}")).status, 404);
    assert_eq!(sandbox.service.mails("sb_other").len(), 1);
    let posts = sandbox.service.requests().into_iter().filter(|one| one.method == Method::POST);
    assert_eq!(posts.count(), 1, "the recorded request of the other account");
}

#[test]
fn control_routes_bypass_the_log_rate_limit_and_faults() {
    let sandbox = Sandbox::with(&idempost_sandbox::Settings { rate_limit: Some(1), ..Default::default() });
    sandbox.service.faults().add_once(idempost_sandbox::faults::Action::http_response(500, ""));
    for _ in 0..3 {
        assert_eq!(sandbox.get("/_/messages").status, 200);
    }
    assert!(sandbox.service.requests().is_empty());
    assert_eq!(sandbox.service.faults().pending(), 1);
    assert_eq!(sandbox.ask(Method::GET, "/_/messages").no_key().send("").name(), "missing_api_key");
    assert_eq!(sandbox.ask(Method::PUT, "/_/reset").send("").status, 405);
    assert_eq!(sandbox.get("/_/nowhere").status, 404);
}
