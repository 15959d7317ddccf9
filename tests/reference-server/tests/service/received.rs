//! Received emails: receiving, reading, and downloading attachments.

use http::Method;
use idempost_reference_server::{NotReceived, Settings};
use mailparse::ParsedMail;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Answer, KEY, Sandbox, UNKNOWN_ID, email, expect_fields_of};

const MAIL: &str = concat!(
    "From: =?utf-8?q?Ad=C3=A8le?= <ada@example.com>\r\n",
    "To: support@acme.test, \"Ops, Acme\" <ops@acme.test>\r\n",
    "Subject: =?utf-8?b?R3LDvMOfZQ==?=\r\n",
    "Message-ID: <m1@example.com>\r\n",
    "MIME-Version: 1.0\r\n",
    "Content-Type: multipart/mixed; boundary=m\r\n\r\n",
    "--m\r\nContent-Type: multipart/related; boundary=r\r\n\r\n",
    "--r\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<img src=\"cid:logo@acme\">\r\n",
    "--r\r\nContent-Type: image/png\r\nContent-ID: <logo@acme>\r\nContent-Disposition: inline; filename=\"logo.png\"\r\n",
    "Content-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n--r--\r\n",
    "--m\r\nContent-Type: text/csv; charset=iso-8859-1\r\n",
    "Content-Disposition: attachment; filename*=utf-8''%C3%A4.csv\r\nContent-Transfer-Encoding: base64\r\n\r\n5Dtv\r\n",
    "--m\r\nContent-Type: message/rfc822\r\n\r\nSubject: Inner\r\n\r\ninner text\r\n",
    "--m--\r\n",
);

fn deliver(sandbox: &Sandbox) -> String {
    sandbox.service.receive(KEY, &["support@acme.test"], MAIL).unwrap()
}

fn fetch(sandbox: &Sandbox, url: &Value) -> Answer {
    sandbox.visit(url.as_str().unwrap())
}

#[test]
fn a_received_email_is_listed_with_its_attachments() {
    // RECV-01, RECV-02, RECV-03, RECV-04, RECV-05, RECV-06, RECV-08, RECV-09, RECV-10, RECV-11, RECV-13, RECV-14, GEN-23
    let sandbox = Sandbox::new();
    let id = deliver(&sandbox);
    let list = sandbox.get("/emails/receiving").json();
    expect_fields_of(&json!({ "object": "list", "has_more": false }), &list);
    let mut item = list["data"][0].clone();
    let record = sandbox.get(format!("/emails/receiving/{id}?html_format=cid")).json();
    expect_fields_of(&item, &record);
    assert_eq!(record["object"], "email");
    for attachment in item["attachments"].as_array_mut().unwrap() {
        assert_eq!(attachment["id"].take().as_str().unwrap().len(), 36);
    }
    let expected = json!({
        "id": id,
        "to": ["support@acme.test", "\"Ops, Acme\" <ops@acme.test>"],
        "from": "ada@example.com",
        "created_at": "2026-03-02T12:00:00.000Z",
        "subject": "Grüße",
        "bcc": [], "cc": [], "reply_to": [],
        "message_id": "<m1@example.com>",
        "received_for": ["support@acme.test"],
        "attachments": [
            {"id": null, "filename": "logo.png", "content_type": "image/png", "content_id": "logo@acme",
             "content_disposition": "inline", "size": 8},
            {"id": null, "filename": "ä.csv", "content_type": "text/csv", "content_id": null,
             "content_disposition": "attachment", "size": 3},
            {"id": null, "filename": "attachment-3.eml", "content_type": "message/rfc822", "content_id": null,
             "content_disposition": "attachment", "size": 28},
        ],
    });
    assert_eq!(item, expected);
    assert_eq!(record["html"].as_str().unwrap().trim_end(), "<img src=\"cid:logo@acme\">");
    assert_eq!(record["html_format"], "cid");
    assert_eq!(record["authentication"], json!({"spf": "unknown", "dkim": "unknown", "dmarc": "unknown"}));
    assert_eq!(record["headers"]["message-id"], "<m1@example.com>");
    assert_eq!(record["headers"]["subject"], "=?utf-8?b?R3LDvMOfZQ==?=");
    assert_eq!(record["raw"]["expires_at"], "2026-03-02T13:00:00.000Z");
    assert_eq!(record["from"], "ada@example.com");
    assert!(record["headers"]["from"].as_str().unwrap().ends_with(" <ada@example.com>"), "{record}");
    assert_eq!(fetch(&sandbox, &record["raw"]["download_url"]).text(), MAIL);
}

#[test]
fn an_attachment_without_a_name_is_named_after_its_type() {
    for (kind, name) in [
        ("text/plain", "attachment-1.txt"),
        ("text/html", "attachment-1.html"),
        ("image/jpeg", "attachment-1.jpg"),
        ("image/png", "attachment-1.png"),
        ("image/gif", "attachment-1.gif"),
        ("application/pdf", "attachment-1.pdf"),
        ("text/calendar", "attachment-1.ics"),
        ("application/x-other", "attachment-1"),
    ] {
        let sandbox = Sandbox::new();
        let mail = format!(
            "From: ada@example.com\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n\
            --b\r\nContent-Type: {kind}\r\nContent-Disposition: attachment\r\n\r\ny\r\n--b--\r\n"
        );
        sandbox.service.receive(KEY, &["support@acme.test"], mail).unwrap();
        assert_eq!(sandbox.items("/emails/receiving")[0]["attachments"][0]["filename"], name, "{kind}");
    }
}

#[test]
fn html_contains_the_inline_images_by_default() {
    let sandbox = Sandbox::new();
    let id = deliver(&sandbox);
    for query in ["", "?html_format=data_uri", "?html_format=cid&html_format=data_uri"] {
        let record = sandbox.get(format!("/emails/receiving/{id}{query}")).json();
        let html = record["html"].as_str().unwrap().trim_end();
        assert_eq!(html, "<img src=\"data:image/png;base64,iVBORw0KGgo=\">", "{query}");
        assert_eq!(record["html_format"], "data_uri");
        // The images stay attachments.
        assert_eq!(record["attachments"][0]["content_id"], "logo@acme");
    }
    let wrong = sandbox.get(format!("/emails/receiving/{id}?html_format=inline"));
    wrong.invalid("`html_format`");
    wrong.invalid("inline");
    let text = sandbox.service.receive(KEY, &["in@acme.test"], "Subject: x\r\n\r\ncid:logo@acme").unwrap();
    let record = sandbox.get(format!("/emails/receiving/{text}")).json();
    let expected = json!({ "html": null, "html_format": "data_uri", "text": "cid:logo@acme" });
    expect_fields_of(&expected, &record);
}

#[test]
fn images_over_100_mb_stay_references() {
    let sandbox = Sandbox::new();
    let image = "QUFB".repeat(1 << 18);
    let mail = format!(
        "Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=r\r\n\r\n\
         --r\r\nContent-Type: text/html\r\n\r\n{}\r\n\
         --r\r\nContent-Type: image/png\r\nContent-ID: <a>\r\nContent-Transfer-Encoding: base64\r\n\r\n{image}\r\n--r--\r\n",
        "<img src=cid:a>".repeat(200)
    );
    let id = sandbox.service.receive(KEY, &["in@acme.test"], mail).unwrap();
    let record = sandbox.get(format!("/emails/receiving/{id}")).json();
    assert_eq!(record["html_format"], "cid");
    assert!(record["html"].as_str().unwrap().starts_with("<img src=cid:a><img"));
}

#[test]
fn a_test_sets_the_results_of_the_checks_of_the_sender() {
    let sandbox = Sandbox::new();
    let receive = |query: &str| {
        let request = sandbox.ask(Method::POST, format!("/_/received?to=in@acme.test{query}"));
        request.header("content-type", "message/rfc822").send(MAIL)
    };
    let shown = |answer: &Answer| {
        let id = answer.id();
        sandbox.get(format!("/emails/receiving/{id}")).json()["authentication"].clone()
    };
    let set = receive("&spf=pass&dkim=processing_failed&dmarc=fail");
    assert_eq!(shown(&set), json!({"spf": "pass", "dkim": "processing_failed", "dmarc": "fail"}));
    let partly = receive("&dmarc=gray");
    assert_eq!(shown(&partly), json!({"spf": "unknown", "dkim": "unknown", "dmarc": "gray"}));
    let wrong = receive("&dkim=passed").expect_status(422);
    assert!(wrong.message().contains("`dkim` must be one of `pass`, `fail`"), "{}", wrong.text());
    assert_eq!(sandbox.items("/emails/receiving").len(), 2);
}

#[test]
fn attachment_links_return_the_original_bytes_for_an_hour() {
    // RATT-01, RATT-02, RATT-03, RATT-04, RATT-05, RATT-06
    let sandbox = Sandbox::new();
    let (id, other) = (deliver(&sandbox), deliver(&sandbox));
    let path = format!("/emails/receiving/{id}/attachments");
    let files = sandbox.items(&path);
    assert_eq!(files.len(), 3);
    let others = sandbox.items(format!("/emails/receiving/{other}/attachments"));
    assert!(files.iter().all(|file| others.iter().all(|other| other["id"] != file["id"])));
    let expected: [&[u8]; 3] = [b"\x89PNG\r\n\x1a\n", b"\xe4;o", b"Subject: Inner\r\n\r\ninner text"];
    let shown = sandbox.get(format!("/emails/receiving/{id}")).json();
    for (index, (file, expected)) in files.iter().zip(expected).enumerate() {
        expect_fields_of(&shown["attachments"][index], file);
        assert_eq!(file["expires_at"], "2026-03-02T13:00:00.000Z");
        let answer = fetch(&sandbox, &file["download_url"]);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, expected);
        assert_eq!(file["size"], expected.len());
        assert_eq!(answer.header("content-type").unwrap(), file["content_type"]);
        assert!(answer.header("content-disposition").unwrap().starts_with("attachment;"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let one = sandbox.get(format!("{path}/{}", file["id"].as_str().unwrap())).json();
        assert_eq!(one["object"], "attachment");
        expect_fields_of(file, &one);
    }
    let url = files[0]["download_url"].as_str().unwrap();
    for at in [url.len() - 60, url.len() - 1] {
        let mut changed = url.as_bytes().to_vec();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        sandbox.visit(&String::from_utf8(changed).unwrap()).rejected(403, "invalid_link", "");
    }
    sandbox.advance(3_599);
    assert_eq!(sandbox.visit(url).status, 200);
    sandbox.advance(1);
    sandbox.visit(url).rejected(403, "expired_link", "");
    assert_eq!(fetch(&sandbox, &sandbox.items(&path)[0]["download_url"]).status, 200);
}

#[test]
fn an_attached_text_keeps_its_bytes_without_a_character_set() {
    // RATT-02
    let sandbox = Sandbox::new();
    let mail = "From: a@x.test\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=a.csv\r\n\
        Content-Transfer-Encoding: base64\r\n\r\naWQ7AP8NCg==\r\n";
    let id = sandbox.service.receive(KEY, &["in@acme.test"], mail).unwrap();
    let files = sandbox.items(format!("/emails/receiving/{id}/attachments"));
    let answer = fetch(&sandbox, &files[0]["download_url"]);
    assert_eq!(answer.body, &b"id;\x00\xff\r\n"[..]);
}

#[test]
fn a_header_that_is_not_utf_8_is_part_of_the_headers() {
    let sandbox = Sandbox::new();
    let mail = &b"From: a@b.test\r\nSubject: Gr\xfc\xdfe\r\nX-Name: J\xf6rg\r\n\r\nHi"[..];
    let id = sandbox.service.receive(KEY, &["in@acme.test"], mail).unwrap();
    let record = sandbox.get(format!("/emails/receiving/{id}")).json();
    let headers = json!({ "from": "a@b.test", "subject": "Gr\u{fffd}\u{fffd}e", "x-name": "J\u{fffd}rg" });
    assert_eq!(record["headers"], headers);
}

#[test]
fn unknown_ids_are_not_found() {
    // RATT-07
    let sandbox = Sandbox::new();
    let id = deliver(&sandbox);
    for path in [
        format!("/emails/receiving/{UNKNOWN_ID}"),
        format!("/emails/receiving/{UNKNOWN_ID}/attachments"),
        format!("/emails/receiving/{id}/attachments/{UNKNOWN_ID}"),
    ] {
        sandbox.get(path).rejected(404, "not_found", "");
    }
    assert_eq!(sandbox.get("/emails/receiving/x").name(), "invalid_parameter");
    assert_eq!(sandbox.get(format!("/emails/receiving/{id}/attachments/x")).name(), "invalid_parameter");
    // Nor is another tenant's mail found.
    sandbox.account("sb_other").get(format!("/emails/receiving/{id}")).expect_status(404);
}

#[test]
fn mail_is_received_as_raw_mime_or_as_fields() {
    let sandbox = Sandbox::new();
    let raw = sandbox.ask(Method::POST, "/_/received").header("content-type", "message/rfc822");
    raw.send(MAIL).expect_status(201);
    let item = sandbox.items("/emails/receiving").remove(0);
    assert_eq!(item["received_for"], json!(["support@acme.test", "ops@acme.test"]));
    let mail = json!({
        "from": "ada@example.com", "to": "Support <support@acme.test>", "cc": "ops@acme.test",
        "reply_to": "reply@example.com", "subject": "Hello", "text": "It works",
        "attachments": [{"filename": "a.txt", "content": "aGk="}],
    });
    let fields = sandbox.ask(Method::POST, "/_/received?to=in@acme.test");
    let fields = fields.header("content-type", "application/json").json(&mail).expect_status(201);
    let item = sandbox.items("/emails/receiving").remove(0);
    let expected = json!({
        "id": fields.id(), "received_for": ["in@acme.test"], "cc": ["ops@acme.test"],
        "reply_to": ["reply@example.com"],
    });
    expect_fields_of(&expected, &item);
    expect_fields_of(&json!({ "filename": "a.txt", "size": 2 }), &item["attachments"][0]);
    let record = sandbox.get(format!("/emails/receiving/{}", fields.id())).json();
    expect_fields_of(&expected, &record);
    assert_eq!(record["text"].as_str().unwrap().trim_end(), "It works");
    let headers = json!({ "to": "Support <support@acme.test>", "cc": "ops@acme.test" });
    expect_fields_of(&headers, &record["headers"]);
}

#[test]
fn an_envelope_recipient_must_be_an_address() {
    let sandbox = Sandbox::new();
    for wrong in ["", "x", "a@b.test,c@d.test", "@b.test"] {
        let answer = sandbox.ask(Method::POST, format!("/_/received?to=in@acme.test&to={wrong}")).send(MAIL);
        answer.invalid("`to` is");
    }
    assert_eq!(sandbox.items("/emails/receiving"), Vec::<Value>::new());
    sandbox.ask(Method::POST, "/_/received?to=Ada%20%3Cada@acme.test%3E").send(MAIL).expect_status(201);
    assert_eq!(sandbox.items("/emails/receiving")[0]["received_for"], json!(["ada@acme.test"]));
}

#[test]
fn json_of_another_type_is_rejected_with_the_type_that_it_needs() {
    let sandbox = Sandbox::new();
    for kind in ["application/x-www-form-urlencoded", "text/plain", "application/vnd.api+json"] {
        let answer = sandbox
            .ask(Method::POST, "/_/received?to=in@acme.test")
            .header("content-type", kind)
            .json(&email());
        answer.invalid("`content-type: application/json`");
    }
}

#[test]
fn malformed_mail_never_crashes_the_service() {
    let sandbox = Sandbox::new();
    let deep = "Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n".repeat(500);
    for mail in [
        "",
        "\r\n",
        "\0\u{7f}",
        "no header",
        "Subject",
        "Subject:",
        ": x",
        "From: <<>>\r\nTo: ,,,;:\r\n\r\n",
        "Content-Type: multipart/mixed\r\n\r\n--x",
        "Content-Type: multipart/mixed; boundary=\r\n\r\n--\r\n--",
        "Content-Transfer-Encoding: base64\r\n\r\n====",
        "Content-Type: ;;=\r\nContent-Disposition: ;filename=\r\n\r\nx",
        "Content-Type: text/plain; charset=nope\r\n\r\nx",
        deep.as_str(),
    ] {
        let _ = sandbox.service.receive(KEY, &["in@acme.test"], mail.to_owned());
        for id in sandbox.ids("/emails/receiving") {
            assert_eq!(sandbox.get(format!("/emails/receiving/{id}")).status, 200, "{mail:?}");
            for file in sandbox.column(format!("/emails/receiving/{id}/attachments"), "download_url") {
                assert_eq!(sandbox.visit(&file).status, 200, "{mail:?}");
            }
        }
    }
    sandbox.act("/_/received?to=in@acme.test").invalid("");
}

#[test]
fn truncated_and_mutated_mail_never_panics() {
    let sandbox = Sandbox::new();
    for at in 0..MAIL.len() {
        let _ = sandbox.service.receive(KEY, &["in@acme.test"], MAIL.as_bytes()[..at].to_vec());
        let mut changed = MAIL.as_bytes().to_vec();
        changed[at] = changed[at].wrapping_add(0x80);
        let _ = sandbox.service.receive(KEY, &["in@acme.test"], changed);
    }
    assert_eq!(sandbox.get("/emails/receiving?limit=100").status, 200);
}

#[test]
fn a_strict_sandbox_receives_only_for_verified_domains() {
    let sandbox = Sandbox::with(&Settings { strict_domains: true, ..Settings::default() });
    let receive = |to: &[&str]| sandbox.service.receive(KEY, to, MAIL);
    assert!(matches!(receive(&["in@acme.test"]), Err(NotReceived::UnknownDomains(_))));
    let domain =
        json!({"name": "acme.test", "capabilities": {"sending": "disabled", "receiving": "enabled"}});
    let id = sandbox.created("/domains", &domain);
    sandbox.act(format!("/domains/{id}/verify"));
    sandbox.advance(5);
    assert!(receive(&["in@acme.test", "in@other.test"]).is_ok());
    assert_eq!(sandbox.items("/emails/receiving")[0]["received_for"], json!(["in@acme.test"]));
    assert_eq!(receive(&[]), Err(NotReceived::NoRecipient));
    assert_eq!(sandbox.service.receive("nobody", &["in@acme.test"], MAIL), Err(NotReceived::UnknownKey));
}

#[test]
fn a_strict_sandbox_receives_only_with_a_verified_mx_record() {
    let sandbox = Sandbox::with(&Settings { strict_domains: true, ..Settings::default() });
    let receives = |domain: &str| sandbox.service.receive(KEY, &[&*format!("in@{domain}")], MAIL).is_ok();
    let receiving = json!({"capabilities": {"receiving": "enabled"}});
    let id = sandbox.created("/domains", &json!({"name": "acme.test"}));
    let verify = || {
        sandbox.act(format!("/domains/{id}/verify")).expect_status(200);
    };
    verify();
    sandbox.advance(1);
    sandbox.patch(format!("/domains/{id}"), &receiving).expect_status(200);
    sandbox.advance(4);
    assert!(!receives("acme.test"), "the check began before the record was added");
    verify();
    sandbox.advance(5);
    assert!(receives("acme.test"));
    verify();
    assert!(receives("acme.test"), "it stays verified during another check");
    let partial = json!({"name": "partial.acme.test", "capabilities": {"receiving": "enabled"}});
    let partial = sandbox.created("/domains", &partial);
    sandbox.act(format!("/domains/{partial}/verify")).expect_status(200);
    for _ in 0..2 {
        sandbox.advance(60);
        assert!(!receives("partial.acme.test"));
    }
    sandbox.act(format!("/domains/{partial}/verify")).expect_status(200);
    assert!(!receives("partial.acme.test"), "nor during another check: none has found the record");
}

#[test]
fn received_mails_are_bounded_like_sent_ones() {
    let sandbox = Sandbox::with(&Settings { keep_mails: 2, ..Settings::default() });
    let ids = [deliver(&sandbox), deliver(&sandbox), deliver(&sandbox)];
    assert_eq!(sandbox.ids("/emails/receiving"), [&*ids[2], &*ids[1]]);
}

#[test]
fn links_use_the_public_base_url() {
    let public_url = Some("https://sandbox.acme.test/".to_owned());
    let sandbox = Sandbox::with(&Settings { public_url, ..Settings::default() });
    sandbox.service.set_base_url("http://127.0.0.1:4010");
    let id = deliver(&sandbox);
    let record = sandbox.get(format!("/emails/receiving/{id}")).json();
    let url = record["raw"]["download_url"].as_str().unwrap();
    assert!(url.starts_with("https://sandbox.acme.test/_/received-files/"), "{url}");
}

/// The bodies of a received message, and the names and contents of its files.
fn parts_of(sandbox: &Sandbox, raw: &str) -> (Value, Value, Vec<(String, String)>) {
    let id = sandbox.service.receive(KEY, &["support@acme.test"], raw.to_owned()).unwrap();
    let record = sandbox.get(format!("/emails/receiving/{id}?html_format=cid")).json();
    let files = sandbox.get(format!("/emails/receiving/{id}/attachments"));
    let contents = files.column("download_url").into_iter().map(|url| sandbox.visit(&url).text());
    let files = files.column("filename").into_iter().zip(contents).collect();
    (record["html"].clone(), record["text"].clone(), files)
}

fn multipart(kind: &str, parts: &[&str]) -> String {
    let parts: Vec<_> = parts.iter().map(|part| format!("--{kind}\r\n{part}\r\n")).collect();
    format!("Content-Type: multipart/{kind}; boundary={kind}\r\n\r\n{}--{kind}--\r\n", parts.concat())
}

#[test]
fn body_parts_are_joined_and_attached_texts_are_files() {
    let plain = |text: &str| format!("Content-Type: text/plain\r\n\r\n{text}");
    let html = |text: &str| format!("Content-Type: text/html\r\n\r\n{text}");
    let attached = |kind: &str, text: &str| {
        format!(
            "Content-Type: text/{kind}\r\nContent-Disposition: attachment; filename=a.{kind}\r\n\r\n{text}"
        )
    };
    let named = "Content-Type: text/plain\r\nContent-Disposition: inline; filename=notes.txt\r\n\r\nNotes";
    let image = "Content-Type: image/png\r\nContent-Disposition: inline; filename=x.png\r\n\r\nPNG";
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let sandbox = Sandbox::new();
    for (name, body, expected) in [
        (
            "Ruby's mail: files inside multipart/alternative",
            multipart(
                "alternative",
                &[&plain("Hi"), &html("<p>Hi</p>"), &attached("plain", "log"), &attached("html", "<i>")],
            ),
            (json!("<p>Hi</p>"), json!("Hi"), vec![file("a.plain", "log"), file("a.html", "<i>")]),
        ),
        (
            "Apple Mail: text around an image",
            multipart("mixed", &[&plain("Before\r\n"), image, &plain("After & out")]),
            (json!(null), json!("Before\r\nAfter & out"), vec![file("x.png", "PNG")]),
        ),
        (
            "a mailing list's footer",
            multipart(
                "mixed",
                &[&multipart("alternative", &[&plain("Hi"), &html("<p>Hi</p>")]), &plain("a < b")],
            ),
            (
                json!("<p>Hi</p>\n<div style=\"white-space: pre-wrap\">a &lt; b</div>"),
                json!("Hi\na < b"),
                vec![],
            ),
        ),
        (
            "HTML after a text",
            multipart("mixed", &[&plain("One"), &html("<p>Two</p>")]),
            (json!("<div style=\"white-space: pre-wrap\">One</div>\n<p>Two</p>"), json!("One\nTwo"), vec![]),
        ),
        (
            "a named text beside the body",
            multipart("mixed", &[&plain("Hi"), named]),
            (json!(null), json!("Hi"), vec![file("notes.txt", "Notes")]),
        ),
        (
            "HTML parts around an image, with a text for both",
            multipart(
                "alternative",
                &[&plain("All"), &multipart("mixed", &[&html("<p>1</p>"), image, &html("<p>2</p>")])],
            ),
            (json!("<p>1</p>\n<p>2</p>"), json!("All"), vec![file("x.png", "PNG")]),
        ),
    ] {
        let (html, text, files) = parts_of(&sandbox, &format!("From: a@b.test\r\n{body}"));
        assert_eq!((html, text, files), expected, "{name}");
    }
}

/// A message, or a part of one.
#[derive(Clone, Debug)]
enum Shape {
    /// The fields of a part; its content is a word that occurs once.
    Leaf(&'static str),
    Multipart(&'static str, Vec<Shape>),
}

fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop::sample::select(vec![
        "X-None: x",
        "Content-Type: text/plain",
        "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable",
        "Content-Type: text/html",
        "Content-Type: text/html; charset=iso-8859-1\r\nContent-Transfer-Encoding: 7bit",
        "Content-Type: text/plain; name=n.txt",
        "Content-Type: text/plain\r\nContent-Disposition: inline; filename=i.txt",
        "Content-Type: text/plain\r\nContent-Disposition: attachment",
        "Content-Type: text/html\r\nContent-Disposition: attachment; filename=a.html",
        "Content-Type: text/calendar; method=REQUEST",
        "Content-Type: text/x-amp-html",
        "Content-Type: image/png\r\nContent-ID: <x@y>",
        "Content-Type: image/png\r\nContent-Disposition: inline; filename=x.png",
        "Content-Type: application/pdf; name=x.pdf",
        "Content-Type: message/rfc822",
        "Content-Type: message/delivery-status",
    ]);
    leaf.prop_map(Shape::Leaf).prop_recursive(3, 16, 5, |inner| {
        let kind = prop::sample::select(vec!["mixed", "alternative", "related", "signed", "report"]);
        (kind, prop::collection::vec(inner, 1..5)).prop_map(|(kind, parts)| Shape::Multipart(kind, parts))
    })
}

/// Writes a message of this shape.
fn written(shape: &Shape, words: &mut usize, boundaries: &mut usize) -> String {
    match shape {
        Shape::Leaf(fields) => {
            *words += 1;
            let inner = if fields.contains("rfc822") { "Subject: inner\r\n\r\n" } else { "" };
            format!("{fields}\r\n\r\n{inner}word{words}end\r\n")
        }
        Shape::Multipart(kind, parts) => {
            *boundaries += 1;
            let boundary = format!("b{boundaries}b");
            let parts: Vec<_> = parts
                .iter()
                .map(|part| format!("--{boundary}\r\n{}\r\n", written(part, words, boundaries)))
                .collect();
            format!(
                "Content-Type: multipart/{kind}; boundary={boundary}\r\n\r\n{}--{boundary}--\r\n",
                parts.concat()
            )
        }
    }
}

/// The contents of all parts, as an unrelated parser reads them.
fn contents(mail: &ParsedMail<'_>, found: &mut Vec<String>) {
    if mail.subparts.is_empty() {
        found.push(String::from_utf8(mail.get_body_raw().unwrap()).unwrap().trim().to_owned());
    }
    mail.subparts.iter().for_each(|part| contents(part, found));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_part_of_a_message_is_lost(shape in shapes()) {
        let raw = format!("From: a@b.test\r\n{}", written(&shape, &mut 0, &mut 0));
        let mut expected = Vec::new();
        contents(&mailparse::parse_mail(raw.as_bytes()).unwrap(), &mut expected);
        let (html, text, files) = parts_of(&Sandbox::new(), &raw);
        let found = format!("{html} {text} {files:?}").replace("\\r\\n", "\n");
        for content in expected {
            let word = content.rsplit('\n').next().unwrap();
            prop_assert!(found.contains(word), "{word} of\n{raw}\nis missing in {found}");
        }
    }
}
