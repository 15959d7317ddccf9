//! Validation of `POST /emails`: both sides of each limit, with errors that name the field.

use idempost_reference_server::{Compat, Settings};
use serde_json::{Value, json};

use crate::support::{RESERVED_KEYS, Sandbox, email, email_of, email_with};

/// Asserts that each email is rejected with this error name and words in its message.
fn assert_rejected(cases: impl IntoIterator<Item = (Value, &'static str)>) {
    let sandbox = Sandbox::new();
    for (email, words) in cases {
        sandbox.refused(&email).invalid(words);
    }
}

fn assert_accepted(cases: impl IntoIterator<Item = Value>) {
    let sandbox = Sandbox::new();
    for email in cases {
        sandbox.sent(&email);
    }
}

#[test]
fn email_03_missing_required_fields_are_named() {
    // EMAIL-03, EMAIL-06, EMAIL-10
    for field in ["from", "to", "subject"] {
        let sandbox = Sandbox::new();
        let mut absent = email();
        absent.as_object_mut().unwrap().remove(field);
        for email in [absent, email_with(field, Value::Null)] {
            let answer = sandbox.refused(&email);
            assert_eq!(answer.name(), "missing_required_field");
            assert_eq!(answer.message(), format!("Missing `{field}` field."));
        }
    }
}

#[test]
fn an_email_without_a_body_is_rejected() {
    assert_rejected([
        (email_with("text", Value::Null), "Missing `html` or `text`"),
        (email_with("text", ""), "`html` or `text`"),
    ]);
    for body in ["html", "text"] {
        let answer = Sandbox::new().refused(&email_of(&json!({"text": null, (body): 1})));
        assert_eq!(answer.message(), format!("`{body}` must be a string; found a number."));
    }
    Sandbox::new().sent(&email_with("text", " "));
}

#[test]
fn a_sender_s_name_is_everything_before_the_last_angle_bracket() {
    // EMAIL-05
    for (from, name) in [
        ("Acme, Inc <hi@acme.test>", "\"Acme, Inc\""),
        ("\"Acme, Inc\" <hi@acme.test>", "\"Acme, Inc\""),
        ("Acme <EU>; Ltd <hi@acme.test>", "\"Acme <EU>; Ltd\""),
        ("\"Acme\" Ltd <hi@acme.test>", r#""\"Acme\" Ltd""#),
    ] {
        let sandbox = Sandbox::new();
        let id = sandbox.sent(&email_with("from", from));
        assert_eq!(sandbox.record(&id)["from"], from);
        let mime = String::from_utf8_lossy(&sandbox.mail().mime).into_owned();
        assert!(mime.contains(&format!("From: {name} <hi@acme.test>")), "{mime}");
    }
    // A list accepts the same names, except that a comma separates addresses there.
    let to = ["\"Acme\" Ltd <a@acme.test>", "Ada \"A, B\" L <b@acme.test>"];
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email_with("to", json!(to)));
    assert_eq!(sandbox.record(&id)["to"], json!(to));
    assert_rejected([(email_with("to", "\"Acme\" Ltd <a@acme.test>, b@acme.test"), "`to`")]);
    for field in ["to", "cc", "reply_to"] {
        let several = "Acme, Inc <hi@acme.test>";
        assert_rejected([(email_with(field, several), "is more than one address")]);
    }
}

#[test]
fn email_05_malformed_addresses_are_rejected() {
    // EMAIL-05
    let from = [
        "Name <a@b.c",
        "<>",
        "a@",
        "@b",
        "Name a@b.c",
        "",
        "  ",
        "a b@c.d",
        "a@b.c, d@e.f",
        "a@b.c\r\nBcc: victim@example.com",
        "\"open <a@b.c>",
        "a\u{0}@b.c",
    ];
    for text in from {
        assert_rejected([(email_with("from", text), "`from`")]);
        assert_rejected([(email_with("to", text), "`to`")]);
        assert_rejected([(email_with("cc", json!(["x@y.z", text])), "`cc[1]`")]);
    }
    assert_rejected([
        (email_with("from", 7), "`from` must be a string; found a number"),
        (email_with("from", json!(["a@b.c"])), "`from`"),
        (email_with("to", json!({})), "`to`"),
        (email_with("to", json!([1])), "`to[0]`"),
        (email_with("to", json!([])), "`to`"),
        (email_with("reply_to", "x"), "`reply_to`"),
        (email_with("bcc", "x"), "`bcc`"),
    ]);
}

#[test]
fn email_09_to_has_at_most_fifty_addresses() {
    // EMAIL-09, LIM-02
    let many = |count: usize| (0..count).map(|n| format!("r{n}@example.com")).collect::<Vec<_>>();
    assert_accepted([email_with("to", many(50)), email_with("cc", many(51))]);
    assert_rejected([(email_with("to", many(51)), "`to` must name at most 50 addresses; found 51")]);
}

#[test]
fn line_breaks_cannot_inject_headers() {
    for bad in ["x\r\nBcc: victim@example.com", "x\ny", "x\ry", "x\u{0}y", "x\u{7f}"] {
        assert_rejected([
            (email_with("subject", bad), "`subject`"),
            (email_with("headers", json!({"X-A": bad})), "`headers.X-A`"),
            (email_with("headers", json!({ bad: "x" })), "`headers`"),
            (
                email_with("attachments", json!([{"content": "", "filename": bad}])),
                "`attachments[0].filename`",
            ),
        ]);
    }
}

#[test]
fn header_names_and_values_are_validated() {
    for name in ["X A", "X:", "", "Ä"] {
        assert_rejected([(email_with("headers", json!({ name: "x" })), "`headers`")]);
    }
    assert_rejected([
        (email_with("headers", json!({"X-A": 1})), "`headers.X-A` must be a string; found a number"),
        (email_with("headers", json!([])), "`headers` must be an object; found an array"),
    ]);
    assert_accepted([email_with("headers", json!({"X-A": "v".repeat(2_000)}))]);
}

#[test]
fn email_38_a_tag_needs_a_name_and_a_value() {
    // EMAIL-38
    assert_rejected([
        (email_with("tags", json!([{"name": "a"}])), "Missing `tags[0].value`"),
        (email_with("tags", json!([{"name": "a", "value": "b"}, {"value": "b"}])), "Missing `tags[1].name`"),
        (email_with("tags", json!([{"name": 1, "value": "b"}])), "`tags[0].name`"),
        (email_with("tags", json!(["a"])), "`tags[0]` must be an object"),
        (email_with("tags", json!({"a": "b"})), "`tags` must be an array; found an object"),
    ]);
}

#[test]
fn email_39_a_tag_has_only_ascii_letters_digits_underscores_and_dashes() {
    // EMAIL-39
    let tag = |name: &str, value: &str| email_with("tags", json!([{"name": name, "value": value}]));
    assert_accepted([tag("azAZ09_-", "azAZ09_-")]);
    for bad in ["a b", "é", ".", "a/b", "", "a\n"] {
        assert_rejected([(tag(bad, "ok"), "`tags[0].name`"), (tag("ok", bad), "`tags[0].value`")]);
    }
}

#[test]
fn email_40_a_tag_has_at_most_256_characters() {
    // EMAIL-40, LIM-06
    let tag = |name: usize, value: usize| {
        email_with("tags", json!([{"name": "n".repeat(name), "value": "v".repeat(value)}]))
    };
    assert_accepted([tag(256, 256)]);
    assert_rejected([
        (tag(257, 1), "`tags[0].name` must have at most 256 characters; found 257"),
        (tag(1, 257), "`tags[0].value`"),
    ]);
}

fn with_template(template: impl Into<Value>) -> Value {
    let template = template.into();
    json!({"from": "a@b.test", "to": "c@d.test", "subject": "s", "template": template})
}

#[test]
fn email_41_a_template_id_must_exist() {
    // EMAIL-41; EMAIL-45 for a template that isn't published
    assert_rejected([
        (with_template(json!({})), "Missing `template.id`"),
        (with_template(json!({"id": ""})), "`template.id`"),
        (with_template(json!({"id": 1})), "`template.id`"),
        (with_template(json!("welcome")), "`template` must be an object"),
        (with_template(json!({"id": "welcome"})), "there is no template \"welcome\""),
    ]);
}

#[test]
fn email_47_a_template_excludes_other_bodies() {
    // EMAIL-47, EMAIL-48, EMAIL-49, ERR-01
    for (field, value) in [("html", json!("<p>x</p>")), ("text", json!("x")), ("text", json!(""))] {
        let mut email = with_template(json!({"id": "welcome"}));
        email[field] = value;
        let words = if field == "html" { "`html`" } else { "`text`" };
        assert_rejected([(email.clone(), "`template`"), (email, words)]);
    }
    let mut email = with_template(json!({"id": "welcome"}));
    email["react"] = json!({});
    assert_rejected([(email, "`react`")]);
}

#[test]
fn react_is_rejected_with_a_reason() {
    assert_rejected([(email_with("react", json!({"type": "div"})), "send the result as `html`")]);
}

fn with_variable(key: &str, value: Value) -> Value {
    let mut variables = serde_json::Map::new();
    variables.insert(key.into(), value);
    with_template(json!({"variables": variables, "id": "welcome"}))
}

#[test]
fn email_55_variable_keys_are_validated() {
    // EMAIL-55, EMAIL-56, EMAIL-57, LIM-07
    let fifty = "k".repeat(50);
    for good in ["A", "a_1", "first_name", &fifty] {
        // The only problem is the unknown template.
        assert_rejected([(with_variable(good, json!("x")), "there is no template \"welcome\".")]);
    }
    let long = "k".repeat(51);
    for bad in ["a-b", "é", "", "a b", &long].into_iter().chain(RESERVED_KEYS) {
        assert_rejected([(with_variable(bad, json!("x")), "`template.variables`")]);
    }
}

#[test]
fn email_58_variable_values_are_validated() {
    // EMAIL-58, EMAIL-59, EMAIL-60, LIM-08
    let good = [
        json!(""),
        json!("v".repeat(2_000)),
        json!("🎈".repeat(2_000)),
        json!(9_007_199_254_740_991_u64),
        json!(1.5),
        json!(-9_007_199_254_740_992_i64),
    ];
    for value in good {
        assert_rejected([(with_variable("A", value), "there is no template \"welcome\".")]);
    }
    let bad = [
        json!("v".repeat(2_001)),
        json!("🎈".repeat(2_001)),
        json!(9_007_199_254_740_992_u64),
        json!(1e17),
        json!(true),
        json!({}),
        json!([]),
        Value::Null,
    ];
    for value in bad {
        assert_rejected([(with_variable("A", value), "`template.variables.A`")]);
    }
}

#[test]
fn one_response_counts_all_problems() {
    assert_rejected([(
        json!({"to": [], "text": 1, "tags": [{}]}),
        "Missing `from` field. (And 5 more problems.)",
    )]);
}

#[test]
fn an_object_has_at_most_1000_fields() {
    let sandbox = Sandbox::new();
    let with_fields = |count: usize| {
        let mut email = email();
        for n in email.as_object().unwrap().len()..count {
            email[format!("x{n}")] = n.into();
        }
        email
    };
    sandbox.sent(&with_fields(1_000));
    sandbox.refused(&with_fields(1_001)).invalid("at most 1000 fields; found 1001");
}

#[test]
fn error_responses_are_bounded() {
    let sandbox = Sandbox::new();
    let long = "ä".repeat(100_000);
    for email in [
        email_with("from", long.as_str()),
        email_with("headers", json!({ long.as_str(): 1 })),
        email_with("headers", json!({ "h".repeat(100_000): "\n" })),
        email_with("scheduled_at", long.as_str()),
        email_with("template", json!({"id": long, "variables": {long.as_str(): "v".repeat(3_000)}})),
        email_with("tags", json!([{"name": long, "value": "v"}])),
    ] {
        assert!(sandbox.refused(&email).body.len() < 1_000);
    }
    let mut email = email();
    for n in 0..100 {
        email[format!("{n}{long}")] = 1.into();
    }
    let answer = sandbox.post("/emails", &email).expect_status(200);
    assert!(answer.header("x-sandbox-ignored-fields").unwrap().len() < 16_384);
}

#[test]
fn a_body_that_is_not_an_object_is_rejected() {
    for body in [json!([]), json!("x"), json!(1), Value::Null, json!(true)] {
        assert_rejected([(body, "The body must be a JSON object")]);
    }
}

#[test]
fn empty_values_count_as_absent_with_live_compatibility_only() {
    let settings = |compat| Settings { compat, ..Settings::default() };
    let [live, strict] = [Compat::Live, Compat::Specification].map(|compat| Sandbox::with(&settings(compat)));
    for sandbox in [&live, &strict] {
        let template = json!({"name": "n", "alias": "n", "from": "a@acme.test", "subject": "From the template", "html": "<p>Hi</p>"});
        assert_eq!(sandbox.post("/templates", &template).status, 201);
        assert_eq!(sandbox.post("/templates/n/publish", &json!({})).status, 200);
    }
    let email = email_with("scheduled_at", json!(""));
    let templated = json!({
        "to": "ada@example.com", "from": "", "subject": "", "html": "", "text": "", "template": {"id": "n", "variables": []},
    });
    for (path, body, ignored) in [
        ("/emails", email.clone(), "/scheduled_at"),
        ("/emails", email_with("headers", json!([])), "/headers"),
        ("/emails", templated, "/from,/subject,/html,/text,/template/variables"),
        ("/emails/batch", json!([email]), "/0/scheduled_at"),
        ("/contacts", json!({"email": "ada@example.com", "properties": []}), "/properties"),
        ("/events/send", json!({"event": "joined", "email": "ada@example.com", "payload": []}), "/payload"),
    ] {
        let answer = strict.post(path, &body);
        assert_eq!(answer.status, 422, "{path} {body}: {}", answer.text());
        let answer = live.post(path, &body);
        assert!(answer.status.is_success(), "{path} {body}: {}", answer.text());
        assert_eq!(answer.headers["x-sandbox-ignored-fields"], ignored, "{path} {body}");
    }
    assert!(live.mails().iter().any(|mail| mail.subject == "From the template"));
    assert_eq!(live.refused(&email_with("from", json!(""))).name(), "validation_error");
}

#[test]
fn a_null_alternative_is_not_reported_as_an_unknown_field() {
    let sandbox = Sandbox::new();
    let ada = sandbox.created("/contacts", &json!({"email": "ada@example.com"}));
    let segment = sandbox.created("/segments", &json!({"name": "s"}));
    sandbox.created("/events", &json!({"name": "joined"}));
    let attached = |attachment| email_with("attachments", json!([attachment]));
    let broadcast = |segment: Value, audience: Value| json!({"from": "a@acme.test", "subject": "s", "html": "h", "segment_id": segment, "audience_id": audience});
    for (path, body) in [
        ("/emails", attached(json!({"content": "aGk=", "path": null}))),
        ("/emails", attached(json!({"content": "aGk=", "content_id": "a", "inline_content_id": null}))),
        ("/emails", attached(json!({"content": "aGk=", "content_type": "a/b", "contentType": null}))),
        ("/emails", attached(json!({"content": null, "path": "https://files.example/a.txt"}))),
        ("/events/send", json!({"event": "joined", "email": "ada@example.com", "contact_id": null})),
        ("/events/send", json!({"event": "joined", "email": null, "contact_id": ada})),
        ("/suppressions/batch/remove", json!({"emails": ["ada@example.com"], "ids": null})),
        ("/suppressions/batch/remove", json!({"emails": null, "ids": [ada]})),
        ("/broadcasts", broadcast(json!(segment), Value::Null)),
        ("/broadcasts", broadcast(Value::Null, json!(segment))),
    ] {
        let answer = sandbox.post(path, &body);
        assert!(answer.status.is_success(), "{path} {body}: {}", answer.text());
        assert_eq!(answer.header("x-sandbox-ignored-fields"), None, "{path} {body}");
    }
}
