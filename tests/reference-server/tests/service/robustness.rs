//! Property tests: no request crashes the service, and no field can inject into another part of the mail.

use base64::Engine as _;
use http::Method;
use mail_parser::{HeaderForm, HeaderValue, MessageParser};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Sandbox, email};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z@<>. \",]{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Real field names, to reach their parsers, and arbitrary ones.
fn key() -> impl Strategy<Value = String> {
    let known = "from to cc bcc reply_to subject html text react headers tags name value attachments content filename \
        path content_type content_id template id variables scheduled_at topic_id type data";
    let known: Vec<_> = known.split(' ').collect();
    prop_oneof![prop::sample::select(known).prop_map(str::to_owned), any::<String>()]
}

/// A valid header value: anything but control characters.
fn line() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,120}", "[^\\x00-\\x1f\\x7f]{0,60}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_body_yields_success_or_a_client_error(
        body in any_json(), field in key(), value in any_json(), batch in any::<bool>()
    ) {
        let sandbox = Sandbox::new();
        let mut near = email();
        near[field] = value;
        for body in [body, near] {
            let (path, body) = if batch { ("/emails/batch", json!([body])) } else { ("/emails", body) };
            let answer = sandbox.post(path, &body);
            prop_assert!([200, 422].contains(&answer.status.as_u16()), "{}: {}", body, answer.text());
        }
    }

    #[test]
    fn any_bytes_on_any_path_get_a_response(
        body in any::<Vec<u8>>(), path in "/[a-z%/{}?=&.-]{0,30}", method in prop::sample::select(vec!["GET", "POST", "DELETE"])
    ) {
        let sandbox = Sandbox::new();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        // Some of these aren't valid HTTP paths.
        if path.parse::<http::Uri>().is_ok() {
            let status = sandbox.ask(method.clone(), path.as_str()).send(body.clone()).status.as_u16();
            prop_assert!([200, 400, 404, 405, 422].contains(&status), "{} {} {}", method, path, status);
        }
        let status = sandbox.ask(Method::POST, "/emails").send(body).status.as_u16();
        prop_assert!([400, 422].contains(&status));
    }

    #[test]
    fn every_text_stays_in_its_own_field(
        name in line(), subject in line(), header in line(), html in any::<String>(), filename in line(),
        content in any::<Vec<u8>>(),
    ) {
        let sandbox = Sandbox::new();
        let quoted = name.trim().replace('\\', "\\\\").replace('"', "\\\"");
        let email = json!({
            "from": format!("\"{quoted}\" <hi@acme.test>"),
            "to": "ada@example.com",
            "subject": subject,
            "headers": {"X-Own": header},
            "html": format!("<p>.</p>{html}"),
            "attachments": [{
                // The ending is one that the service accepts, and no text type follows from it: the parser would decode the bytes as text.
                "filename": format!("f{}.bin", filename.replace(['/', '\\'], "")),
                "content_type": "application/octet-stream",
                "content": base64::engine::general_purpose::STANDARD.encode(&content),
            }],
        });
        sandbox.sent(&email);
        let mail = sandbox.mail();
        let parsed = MessageParser::new().parse(&mail.mime[..]).unwrap();
        let names: Vec<_> = parsed.headers().iter().map(mail_parser::Header::name).collect();
        prop_assert_eq!(
            names,
            ["From", "To", "Subject", "Date", "Message-ID", "X-Own", "MIME-Version", "Content-Type"]
        );
        prop_assert_eq!(parsed.from().unwrap().first().unwrap().address(), Some("hi@acme.test"));
        prop_assert!(mail.mime.split(|byte| *byte == b'\n').all(|line| line.len() <= 999), "RFC 5322, 2.1.1");
        let attachment = parsed.attachment(0).unwrap();
        prop_assert_eq!(attachment.contents(), &content[..]);
        prop_assert_eq!(parsed.attachment_count(), 1);
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !header.contains("=?") {
            let found = parsed.header_as("X-Own", HeaderForm::Text).first().and_then(|value| match value {
                HeaderValue::Text(text) => Some(text.to_string()),
                _ => None,
            });
            prop_assert_eq!(squeezed(&found.unwrap_or_default()), squeezed(&header));
        }
        if !subject.contains("=?") {
            prop_assert_eq!(squeezed(parsed.subject().unwrap_or_default()), squeezed(&subject));
        }
    }
}
