//! Placeholders, in both implementations: those of a bulk message and those of the sandbox's templates.

use http::StatusCode;
use idempost_bulk::Message;
use serde_json::{Value, json};

use super::service::{KEY, Sandbox};

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let message = Message::new().from("hi@acme.test").subject("Hello").html(text);
    let checked = message.check();

    let sandbox = Sandbox::new();
    let template = json!({"name": "t", "html": text, "subject": "Hello", "from": "hi@acme.test",
        "variables": [{"key": "NAME", "type": "string", "fallback_value": "Ada"}, {"key": "N", "type": "number", "fallback_value": 3}]});
    let response = sandbox.call("POST", "/templates", template.to_string().into());
    if response.status() != StatusCode::CREATED && response.status() != StatusCode::OK {
        return;
    }
    let created: Value = serde_json::from_slice(response.body()).expect("the response is JSON");
    let id = created["id"].as_str().expect("a template has an ID");
    assert!(sandbox.call("POST", &format!("/templates/{id}/publish"), "{}".into()).status().is_success());
    let email = json!({"to": "ada@example.com", "template": {"id": id, "variables": {"NAME": "{{{N}}}<b>"}}});
    if sandbox.call("POST", "/emails", email.to_string().into()).status() != StatusCode::OK {
        return;
    }
    let mails = sandbox.service.mails(KEY);
    let html = mails.first().and_then(|mail| mail.html.as_deref()).unwrap_or_default();
    if !text.contains("{{{") {
        assert_eq!(html, text, "a text without placeholders was changed");
        assert!(checked.is_ok() || text.trim().is_empty(), "{checked:?}");
    }
    // Values aren't filled in again. What a bulk message accepts without fallbacks is filled in by the sandbox, too.
    let parts: Vec<_> = text.split("{{{NAME}}}").map(|part| part.replace("{{{N}}}", "3")).collect();
    if !parts.iter().any(|part| part.contains("{{{") || part.contains("}}}")) && checked.is_ok() {
        assert_eq!(html, parts.join("{{{N}}}<b>"), "{text:?}");
    }
}
