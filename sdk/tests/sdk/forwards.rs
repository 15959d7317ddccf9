//! Forwarding of received emails whose files are on another host.

use idempost::{Error, received::HtmlFormat};
use serde_json::{Value, json};

use super::script::{Reply, Script};

fn email() -> Value {
    json!({
        "object": "email", "id": "e1", "subject": "Hi", "text": "It works", "html": null,
        "raw": { "download_url": "https://files.other.test/raw?signature=1" },
    })
}

fn list(files: &Value) -> Reply {
    Reply::json(200, json!({ "object": "list", "has_more": false, "data": files }))
}

fn file(url: &str, more: &Value) -> Value {
    let mut file = json!({ "id": "a1", "download_url": url });
    for (name, value) in more.as_object().unwrap() {
        file[name] = value.clone();
    }
    file
}

#[tokio::test(start_paused = true)]
async fn the_files_are_fetched_without_the_credential() {
    let url = "https://files.other.test/a?signature=1";
    let script = Script::of([
        Reply::json(200, email()),
        list(&json!([file(url, &json!({}))])),
        Reply::bytes(200, "bytes"),
    ])
    .odd();
    let client = script.client();
    let copy = client.received().forward("e1").await.unwrap();
    assert_eq!(copy.fields().attachments[0].size(), Some(5));
    let seen = script.seen();
    assert!(
        seen[0].url.as_str().ends_with(&format!("/emails/receiving/e1?html_format={}", HtmlFormat::Cid)),
        "{}",
        seen[0].url
    );
    assert!(seen[1].header("authorization").ends_with("re_test"));
    assert_eq!((seen[2].url.as_str(), seen[2].header("authorization")), (url, ""));

    let script =
        Script::of([Reply::json(200, email()), Reply::bytes(200, "Subject: Hi\r\n\r\nIt works")]).odd();
    let wrapped = script.client().received().forward_as_attachment("e1").await.unwrap();
    let attached = serde_json::to_value(wrapped.from("a@x.test").to("b@x.test").text("x")).unwrap();
    assert_eq!(attached["attachments"][0]["content_type"], "message/rfc822");
    assert_eq!((script.seen()[1].header("authorization"), &attached["subject"]), ("", &json!("Fwd: Hi")));
}

#[tokio::test(start_paused = true)]
async fn a_copy_keeps_the_subject_and_a_wrapped_forward_marks_it_once() {
    for (subject, kept, marked) in [
        (json!("Grüße 🎉"), "Grüße 🎉", "Fwd: Grüße 🎉"),
        (json!("FWD: Hi"), "FWD: Hi", "FWD: Hi"),
        (json!("Re: Hi"), "Re: Hi", "Fwd: Re: Hi"),
        (json!(""), "(no subject)", "Fwd: (no subject)"),
        (json!(null), "(no subject)", "Fwd: (no subject)"),
        (json!("a\r\nBcc: x@evil.test"), "a  Bcc: x@evil.test", "Fwd: a  Bcc: x@evil.test"),
    ] {
        let mut email = email();
        (email["subject"], email["headers"]) = (subject, json!({ "x-secret": "1" }));
        let script = Script::of([
            Reply::json(200, email.clone()),
            list(&json!([])),
            Reply::json(200, email),
            Reply::bytes(200, "Subject: Hi\r\n\r\nIt works"),
        ])
        .odd();
        let client = script.client();
        let copy = client.received().forward("e1").await.unwrap();
        let wrapped = client.received().forward_as_attachment("e1").await.unwrap();
        assert_eq!((copy.fields().subject, wrapped.fields().subject), (Some(kept), Some(marked)));
        assert!(copy.fields().headers.is_empty() && wrapped.fields().headers.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_has_both_bodies_and_a_blank_one_if_there_is_none() {
    for (text, html, expected) in [
        (json!("plain"), json!("<p>é</p>"), (Some("plain"), Some("<p>é</p>"))),
        (json!(""), json!("<p>é</p>"), (None, Some("<p>é</p>"))),
        (json!(null), json!(null), (Some(" "), None)),
    ] {
        let mut email = email();
        (email["text"], email["html"]) = (text, html);
        let script = Script::of([Reply::json(200, email), list(&json!([]))]).odd();
        let copy = script.client().received().forward("e1").await.unwrap().from("a@x.test").to("b@x.test");
        assert_eq!((copy.fields().text, copy.fields().html), expected);
        assert!(copy.check().is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn hostile_files_and_urls_never_reach_the_copy() {
    for (fields, name, kind, id) in [
        (
            json!({ "filename": "../../etc/passwd", "content_id": "<logo@x>" }),
            "passwd",
            json!(null),
            json!("logo@x"),
        ),
        (
            json!({ "filename": "a\r\nb\u{0}.txt", "content_type": "text/plain" }),
            "a  b .txt",
            json!("text/plain"),
            json!(null),
        ),
        (
            json!({ "filename": "x/", "content_type": "multipart/mixed" }),
            "attachment",
            json!(null),
            json!(null),
        ),
        (
            json!({ "filename": null, "content_type": "text", "content_id": "" }),
            "attachment",
            json!(null),
            json!(null),
        ),
        (
            json!({ "filename": "Größe 🎉.pdf", "content_id": "<a b>", "content_type": "text/x;y=\"\r\n\"" }),
            "Größe 🎉.pdf",
            json!(null),
            json!(null),
        ),
        (json!({ "filename": "a", "content_id": "é" }), "a", json!(null), json!(null)),
    ] {
        let files = json!([file("http://127.0.0.1:9/x", &fields)]);
        let script = Script::of([Reply::json(200, email()), list(&files), Reply::bytes(200, "x")]).odd();
        let copy = script.client().received().forward("e1").await.unwrap().from("a@x.test").to("b@x.test");
        assert!(copy.check().is_ok(), "{fields}");
        let attachment = serde_json::to_value(&copy).unwrap()["attachments"][0].clone();
        let found = ["filename", "content_type", "content_id"].map(|field| attachment[field].clone());
        assert_eq!(found, [json!(name), kind, id], "{fields}");
    }
    for url in ["", "file:///etc/passwd", "/relative"] {
        let script = Script::of([Reply::json(200, email()), list(&json!([file(url, &json!({}))]))]).odd();
        let error = script.client().received().forward("e1").await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{url}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_email_that_is_too_large_or_has_no_raw_message_is_reported_before_any_download() {
    let files = json!([
        file("http://127.0.0.1:9/a", &json!({ "size": 31_000_000 })),
        file("http://127.0.0.1:9/b", &json!({ "size": u64::MAX })),
    ]);
    let script = Script::of([Reply::json(200, email()), list(&files)]).odd();
    let Error::Invalid(problems) = script.client().received().forward("e1").await.unwrap_err() else {
        panic!()
    };
    assert_eq!((problems[0].path.as_str(), problems[0].code), ("/attachments", "size"));
    for raw in [json!(null), json!({ "download_url": "" })] {
        let mut email = email();
        email["raw"] = raw;
        let script = Script::of([Reply::json(200, email)]).odd();
        let error = script.client().received().forward_as_attachment("e1").await.unwrap_err();
        let Error::Invalid(problems) = error else { panic!("{error}") };
        assert_eq!((problems[0].path.as_str(), problems[0].code), ("/raw", "required"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_understated_size_does_not_exceed_the_limit() {
    let large = || "x".repeat(16 << 20);
    let files = json!([
        file("http://127.0.0.1:9/a", &json!({ "size": 1 })),
        file("http://127.0.0.1:9/b", &json!({ "size": 1 })),
    ]);
    let script = Script::of([
        Reply::json(200, email()),
        list(&files),
        Reply::bytes(200, large()),
        Reply::bytes(200, large()),
    ])
    .odd();
    let Error::Invalid(problems) = script.client().received().forward("e1").await.unwrap_err() else {
        panic!()
    };
    assert_eq!((problems[0].path.as_str(), problems[0].code), ("/attachments", "size"));
}

#[tokio::test(start_paused = true)]
async fn a_failed_request_ends_the_preparation() {
    for steps in [
        vec![Reply::error(404, "not_found")],
        vec![Reply::json(200, email()), Reply::error(404, "not_found")],
        vec![
            Reply::json(200, email()),
            list(&json!([file("http://127.0.0.1:9/a", &json!({}))])),
            Reply::error(403, "not_found"),
        ],
    ] {
        let (requests, script) = (steps.len(), Script::of(steps).odd());
        let error = script.client().received().forward("e1").await.unwrap_err();
        assert!(matches!(error, Error::Api(_)), "{error}");
        let seen = script.seen();
        assert!(seen.len() == requests && seen.iter().all(|seen| seen.method == "GET"));
    }
}
