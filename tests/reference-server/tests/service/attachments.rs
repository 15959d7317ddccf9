//! Attachments of `POST /emails`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use idempost_reference_server::{CapturedMail, Fetched};
use mail_parser::{MessageParser, MimeHeaders as _};
use serde_json::{Value, json};

use crate::support::{Sandbox, email_of, email_with};

fn with(attachments: Value) -> Value {
    email_with("attachments", attachments)
}

/// The mail of an email with these attachments.
fn mail_with(attachments: Value) -> CapturedMail {
    let sandbox = Sandbox::new();
    sandbox.sent(&with(attachments));
    sandbox.mail()
}

#[test]
fn email_32_base64_byte_arrays_and_buffers_are_accepted() {
    // GEN-02, EMAIL-28, EMAIL-32, EMAIL-33
    let content: Vec<u8> = (0..=255).collect();
    for form in [
        json!(STANDARD.encode(&content)),
        json!(STANDARD.encode(&content).trim_end_matches('=')),
        json!(content),
        json!({"type": "Buffer", "data": content}),
    ] {
        let mail = mail_with(json!([{"filename": "all.bin", "content": form}]));
        let parsed = MessageParser::new().parse(&mail.mime[..]).unwrap();
        let part = parsed.attachment(0).unwrap();
        assert_eq!(part.contents(), content);
        assert_eq!(part.attachment_name(), Some("all.bin"));
        assert_eq!(mail.attachments[0].size, 256);
    }
}

#[test]
fn text_attachments_preserve_every_byte() {
    for content in [&b"one\ntwo\r\nthree\rfour\n\n.\nFrom x\n  trailing \t\n"[..], b""] {
        let mail = mail_with(json!([{"filename": "notes.txt", "content": STANDARD.encode(content)}]));
        let parsed = MessageParser::new().parse(&mail.mime[..]).unwrap();
        assert_eq!(parsed.attachment(0).unwrap().contents(), content);
    }
}

#[test]
fn email_35_the_content_type_is_derived_from_the_filename_unless_given() {
    // EMAIL-35, EMAIL-36
    for (attachment, expected) in [
        (json!({"filename": "a.pdf", "content": ""}), "application/pdf"),
        (json!({"filename": "a.PNG", "content": ""}), "image/png"),
        (json!({"filename": "a.txt", "content": ""}), "text/plain"),
        (json!({"filename": "a.unknown-kind", "content": ""}), "application/octet-stream"),
        (json!({"content": ""}), "application/octet-stream"),
        (json!({"filename": "a.pdf", "content_type": "text/x-own", "content": ""}), "text/x-own"),
        (json!({"filename": "a.pdf", "contentType": "text/x-own", "content": ""}), "text/x-own"),
    ] {
        let mail = mail_with(json!([attachment]));
        assert_eq!(mail.attachments[0].content_type, expected);
        let parsed = MessageParser::new().parse(&mail.mime[..]).unwrap();
        let found = parsed.attachment(0).unwrap().content_type().unwrap();
        assert_eq!(format!("{}/{}", found.ctype(), found.subtype().unwrap()), expected);
    }
}

#[test]
fn email_37_an_attachment_with_a_content_id_is_inline() {
    // EMAIL-37
    let sandbox = Sandbox::new();
    let attachments = json!([
        {"filename": "logo.png", "content": STANDARD.encode("png"), "content_id": "logo"},
        {"filename": "terms.pdf", "content": STANDARD.encode("pdf")},
    ]);
    sandbox.sent(&email_of(&json!({"attachments": attachments, "html": "<img src=\"cid:logo\">"})));
    let mail = sandbox.mail();
    let parsed = MessageParser::new().parse(&mail.mime[..]).unwrap();
    let parts = parsed.parts.iter().map(|part| {
        let kind = part.content_type().unwrap();
        let disposition = part.content_disposition().map_or("-", |disposition| disposition.ctype());
        let id = part.content_id().unwrap_or("-");
        format!("{}/{} {disposition} {id}", kind.ctype(), kind.subtype().unwrap())
    });
    let expected = [
        "multipart/mixed - -",
        "multipart/alternative - -",
        "text/plain - -",
        "multipart/related - -",
        "text/html - -",
        "image/png inline logo",
        "application/pdf attachment -",
    ];
    assert_eq!(parts.collect::<Vec<_>>(), expected);
}

#[test]
fn filenames_lose_their_directories_and_keep_non_ascii_characters() {
    for (given, kept) in [
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\y.txt", "y.txt"),
        ("Ünï, \"q\".txt", "Ünï, \"q\".txt"),
        ("a\"b.txt", "a\"b.txt"),
    ] {
        let mail = mail_with(json!([{"filename": given, "content": ""}]));
        assert_eq!(mail.attachments[0].filename, kept);
        let parsed = MessageParser::new().parse(&mail.mime[..]).unwrap();
        assert_eq!(parsed.attachment(0).unwrap().attachment_name(), Some(kept));
    }
}

/// Some programs don't decode segments of RFC 2231.
#[test]
fn only_a_filename_that_is_long_or_not_ascii_is_encoded() {
    let long = "a".repeat(80);
    for (filename, parameter) in [
        ("annual report.pdf", "filename=\"annual report.pdf\""),
        ("Ünï.txt", "filename*0*=utf-8''%C3%9Cn%C3%AF%2Etxt"),
        (&long, "filename*0*=utf-8''aaaa"),
    ] {
        let mail = mail_with(json!([{"filename": filename, "content": ""}]));
        assert!(String::from_utf8_lossy(&mail.mime).contains(parameter), "{filename}");
    }
}

/// As Ruby's `Base64.encode64` and Python's `base64.encodebytes` write it.
#[test]
fn base64_in_several_lines_is_read() {
    let mail = mail_with(json!([{"filename": "a.txt", "content": "aGVsbG8g\r\nd29y\nbGQ=\n"}]));
    let parsed = MessageParser::new().parse(&mail.mime[..]).unwrap();
    assert_eq!(parsed.attachment(0).unwrap().contents(), b"hello world");
}

#[test]
fn invalid_attachments_are_rejected() {
    let sandbox = Sandbox::new();
    let nothing = sandbox.refused(&with(json!([{"filename": "a.txt"}])));
    nothing.rejected(422, "invalid_attachment", "`attachments[0]` must have `content` or `path`");
    for (attachment, words) in [
        (json!({"content": "", "path": "https://a.test/x"}), "not both"),
        (json!({"content": "%%%"}), "must be Base64; found \"%\" at position 1"),
        (json!({"content": "YQ==YQ=="}), "must be Base64; found \"=\" at position 3"),
        (json!({"content": "YWI\nYW"}), "must be Base64; found an incomplete end"),
        (json!({"content": 7}), "`attachments[0].content`"),
        (json!({"content": [256]}), "`attachments[0].content`"),
        (json!({"content": {"type": "Blob", "data": []}}), "`attachments[0].content`"),
        (json!({"content": "", "filename": ""}), "`attachments[0].filename`"),
        (json!({"content": "", "filename": "a/"}), "`attachments[0].filename`"),
        (json!({"content": "", "content_type": "pdf"}), "`attachments[0].content_type`"),
        (
            json!({"content": "", "content_type": "Multipart/mixed; boundary=a"}),
            "`attachments[0].content_type`",
        ),
        (json!({"content": "", "content_id": "a>b"}), "`attachments[0].content_id`"),
        (json!({"content": "", "content_id": "a b"}), "`attachments[0].content_id`"),
        (json!({"path": "file:///etc/passwd"}), "`attachments[0].path`"),
        (json!({"path": "https://u:p@a.test/x"}), "`attachments[0].path`"),
        (json!({"path": "x"}), "`attachments[0].path`"),
        (json!("x"), "`attachments[0]` must be an object"),
    ] {
        sandbox.refused(&with(json!([attachment]))).invalid(words);
    }
}

#[test]
fn email_29_attachments_total_at_most_40_mib_of_base64() {
    // EMAIL-29, LIM-03: the specification says 40 MB and is silent on MB against MiB
    const MOST: usize = 41_943_040;
    let sandbox = Sandbox::new();
    let half = "A".repeat(MOST / 2);
    sandbox.post("/emails", &with(json!([{"content": half}, {"content": half}]))).expect_status(200);
    assert_eq!(sandbox.mail().attachments[0].size, MOST / 2 / 4 * 3);

    // One more byte, as a byte array: 4 more Base64 characters.
    let answer = sandbox.refused(&with(json!([{"content": half}, {"content": half}, {"content": [0]}])));
    let rule =
        format!("`attachments` must have at most {MOST} characters of Base64 in all; found {}.", MOST + 4);
    assert_eq!(answer.message(), rule);
}

#[test]
fn email_34_a_hosted_attachment_is_fetched_after_the_response() {
    // EMAIL-34
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&with(json!([
        {"content": STANDARD.encode("here"), "filename": "a.txt"},
        {"path": "https://files.acme.test/terms%20of%20use.pdf?v=2"},
    ])));
    assert_eq!(sandbox.last_event(&id), "queued");
    assert!(sandbox.mails().is_empty());

    let job = sandbox.service.next_fetch().unwrap();
    let addresses: Vec<_> = job.addresses().map(|(index, url)| (index, url.to_string())).collect();
    assert_eq!(addresses, [(1, "https://files.acme.test/terms%20of%20use.pdf?v=2".to_owned())]);
    sandbox.service.finish_fetch(job, Ok(vec![Fetched { index: 1, content: Bytes::from_static(b"pdf") }]));

    let mail = sandbox.mail();
    let parsed = MessageParser::new().parse(&mail.mime[..]).unwrap();
    assert_eq!(parsed.attachment(1).unwrap().contents(), b"pdf");
    assert_eq!(mail.attachments[1].filename, "terms of use.pdf");
    assert_eq!(mail.attachments[1].content_type, "application/pdf");
    assert_eq!(sandbox.last_event(&id), "sent");
}

#[test]
fn programs_are_rejected_by_the_ending_of_their_name() {
    let sandbox = Sandbox::new();
    for (attachment, ending) in [
        (json!({"filename": "setup.exe", "content": ""}), "exe"),
        (json!({"filename": "report.pdf.JS", "content": ""}), "js"),
        (json!({"filename": "folder/.url", "content": ""}), "url"),
        (json!({"filename": "setup.exe. .", "content": ""}), "exe"),
        (json!({"path": "https://acme.test/files/tool.msi"}), "msi"),
    ] {
        let answer = sandbox.refused(&with(json!([{"filename": "a.pdf", "content": ""}, attachment])));
        answer.invalid(&format!("`attachments[1]` must not be a file with the ending `.{ending}`"));
    }
    for name in ["exe", "a.exe.zip", "a.json", "a.xnk2", "a."] {
        sandbox.sent(&with(json!([{"filename": name, "content": ""}])));
    }
    // Received mail may have any attachment.
    let mail = "From: a@x.test\r\nTo: b@y.test\r\nContent-Type: application/octet-stream\r\n\
        Content-Disposition: attachment; filename=setup.exe\r\n\r\nx\r\n";
    assert!(sandbox.service.receive(crate::support::KEY, &["b@y.test"], mail).is_ok());
}

#[test]
fn an_inline_content_id_is_another_name_of_the_content_id() {
    for (attachment, id) in [
        (json!({"content": "", "inline_content_id": "logo"}), "logo"),
        (json!({"content": "", "content_id": "a", "inline_content_id": "b"}), "a"),
    ] {
        let mail = mail_with(json!([attachment]));
        let parsed = MessageParser::new().parse(&mail.mime[..]).unwrap();
        assert_eq!(parsed.attachment(0).unwrap().content_id(), Some(id));
    }
    Sandbox::new()
        .refused(&with(json!([{"content": "", "inline_content_id": "a b"}])))
        .invalid("`attachments[0].inline_content_id`");
}
