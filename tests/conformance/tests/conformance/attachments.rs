use std::io::Write as _;

use base64::Engine as _;
use idempost::{Attachment, Email, Error, received::ContentDisposition};
use idempost_conformance::{
    bench::Bench,
    peer::{Act, Peer},
};
use mail_parser::{MessageParser, MimeHeaders as _, PartType};
use serde_json::{Value, json};

use super::with;

fn email() -> Email {
    Email::new("hi@acme.test", "ada@example.com", "Files")
        .html("<p>See <img src=\"cid:logo\"></p>")
        .text("See")
}

/// File name, media type, Content-ID, whether it is inline, and content.
type Part = (String, String, Option<String>, bool, Vec<u8>);

fn parts(bench: &Bench) -> Vec<Part> {
    let mails = bench.mails();
    let mail = MessageParser::default().parse(&mails[0].mime[..]).unwrap();
    let files = mail.parts.iter().filter(|part| part.attachment_name().is_some());
    files
        .map(|part| {
            let kind = part.content_type().unwrap();
            let bytes = match &part.body {
                PartType::Binary(bytes) | PartType::InlineBinary(bytes) => bytes.to_vec(),
                PartType::Text(text) | PartType::Html(text) => text.as_bytes().to_vec(),
                other => panic!("{other:?}"),
            };
            (
                part.attachment_name().unwrap().to_owned(),
                format!("{}/{}", kind.c_type, kind.c_subtype.as_deref().unwrap_or_default()),
                part.content_id().map(str::to_owned),
                part.content_disposition().unwrap().is_inline(),
                bytes,
            )
        })
        .collect()
}

fn every_byte() -> Vec<u8> {
    (0..=255).cycle().take(10_001).collect()
}

#[tokio::test]
async fn attachments_arrive_unchanged() {
    // GEN-02, EMAIL-28, EMAIL-31, EMAIL-33, EMAIL-35, EMAIL-36
    let bench = Bench::start().await;
    let email = email()
        .attach(Attachment::from_bytes("report.pdf", every_byte()))
        .attach(Attachment::from_bytes("Grüße, \"1\".bin", "abc").content_type("application/x-own"))
        .attach(Attachment::from_bytes("leer.txt", ""));
    bench.client().emails().send(&email).await.unwrap();
    let sent: Value = serde_json::from_slice(&bench.requests()[0].body).unwrap();
    let content = sent["attachments"][0]["content"].as_str().unwrap();
    assert_eq!(base64::engine::general_purpose::STANDARD.decode(content).unwrap(), every_byte());
    assert_eq!(
        parts(&bench),
        [
            ("report.pdf".into(), "application/pdf".into(), None, false, every_byte()),
            ("Grüße, \"1\".bin".into(), "application/x-own".into(), None, false, b"abc".to_vec()),
            ("leer.txt".into(), "text/plain".into(), None, false, b"".to_vec()),
        ]
    );
}

#[tokio::test]
async fn files_of_any_length_arrive_unchanged() {
    // EMAIL-31
    let folder = tempfile::tempdir().unwrap();
    for length in [0, 1, 2, 3, 4, 65_535, 65_536, 65_537, 1_000_000] {
        let bench = Bench::start().await;
        let path = folder.path().join("data.bin");
        let bytes: Vec<u8> = every_byte().into_iter().cycle().take(length).collect();
        std::fs::File::create(&path).unwrap().write_all(&bytes).unwrap();
        let email = email().attach(Attachment::from_file(&path).await.unwrap());
        bench.client().emails().send(&email).await.unwrap();
        let (name, _, _, _, arrived) = parts(&bench).remove(0);
        assert!(name == "data.bin" && arrived == bytes, "{length} bytes");
    }
}

#[tokio::test]
async fn an_inline_image_has_its_content_id() {
    // EMAIL-37
    let bench = Bench::start().await;
    let email = email().attach(Attachment::from_bytes("logo.png", "PNG").content_id("logo"));
    bench.client().emails().send(&email).await.unwrap();
    assert_eq!(
        parts(&bench),
        [("logo.png".into(), "image/png".into(), Some("logo".into()), true, b"PNG".to_vec())]
    );
    let mails = bench.mails();
    let mail = MessageParser::default().parse(&mails[0].mime[..]).unwrap();
    assert!(mail.body_html(0).unwrap().contains("cid:logo"));
}

#[tokio::test]
async fn a_hosted_file_is_fetched_by_the_service() {
    // EMAIL-34
    let host = Peer::acting([Act::answer(200, &[("content-type", "application/pdf")], every_byte())]).await;
    let bench = Bench::start().await;
    let email = email().attach(Attachment::from_url(format!("{}/files/report.pdf", host.base_url())));
    let id = bench.client().emails().send(&email).await.unwrap().id;
    let sent: Value = serde_json::from_slice(&bench.requests()[0].body).unwrap();
    assert_eq!(sent["attachments"][0].get("content"), None);
    let fetched = tokio::time::timeout(std::time::Duration::from_mins(1), async {
        while bench.mails().is_empty() {
            tokio::task::yield_now().await;
        }
    });
    fetched.await.expect("the mail is sent once its file was fetched");
    let (name, kind, _, _, bytes) = parts(&bench).remove(0);
    assert_eq!((&*name, &*kind, bytes), ("report.pdf", "application/pdf", every_byte()));
    assert_eq!(host.requests()[0].target(), "/files/report.pdf");
    assert_eq!(bench.mails()[0].email_id, id.as_str());
}

#[tokio::test]
async fn content_may_be_base64_or_a_buffer() {
    // EMAIL-32
    for content in [json!("AAH/"), json!([0, 1, 255]), json!({ "type": "Buffer", "data": [0, 1, 255] })] {
        let bench = Bench::start().await;
        let email = with(json!({ "attachments": [{ "filename": "a.bin", "content": content }] }));
        assert_eq!(bench.post("/emails", &email).status, 200, "{content}");
        assert_eq!(parts(&bench)[0].4, [0, 1, 255]);
    }
    let bench = Bench::start().await;
    for content in
        [json!("A*=="), json!([256]), json!([-1]), json!([1.5]), json!({ "type": "x", "data": [] }), json!(7)]
    {
        let email = with(json!({ "attachments": [{ "filename": "a.bin", "content": content }] }));
        let reply = bench.post_wrong("/emails", &email);
        assert!(reply.status == 422 && reply.message().contains("attachments[0].content"), "{content}");
    }
}

#[tokio::test]
async fn an_attachment_has_content_or_a_url() {
    // A-20
    let bench = Bench::start().await;
    let post = |attachment: Value| bench.post_wrong("/emails", &with(json!({ "attachments": [attachment] })));
    let neither = post(json!({ "filename": "a.bin" }));
    assert_eq!((neither.status.as_u16(), neither.name()), (422, "invalid_attachment"));
    let both = post(json!({ "content": "YQ==", "path": "https://acme.test/a" }));
    assert_eq!((both.status.as_u16(), both.name()), (422, "validation_error"));
    for path in ["file:///etc/passwd", "ftp://acme.test/a", "report.pdf", ""] {
        assert_eq!(post(json!({ "path": path })).status, 422, "{path:?}");
    }
    assert!(bench.mails().is_empty());
}

#[tokio::test]
async fn folders_in_a_file_name_are_dropped() {
    // A-25
    let bench = Bench::start().await;
    let attachments = json!([{ "content": "YQ==", "filename": "../../x" }, { "content": "YQ==", "filename": "C:\\x\\y.txt" }]);
    assert_eq!(bench.post("/emails", &with(json!({ "attachments": attachments }))).status, 200);
    let names: Vec<_> = parts(&bench).into_iter().map(|part| part.0).collect();
    assert_eq!(names, ["x", "y.txt"]);
}

#[tokio::test]
async fn forty_megabytes_after_base64_are_the_limit_of_one_email() {
    // EMAIL-29, LIM-03, A-21
    let bench = Bench::start().await;
    // Written by hand, since libraries take too long for this many bytes.
    let body = |lengths: [usize; 2]| {
        let [first, second] =
            lengths.map(|length| format!(r#"{{"filename":"a.bin","content":"{}"}}"#, "A".repeat(length)));
        let mut body = super::least().to_string();
        body.truncate(body.len() - 1);
        format!(r#"{body},"attachments":[{first},{second}]}}"#)
    };
    let post = |lengths| {
        let request = bench.request(http::Method::POST, "/emails").header("content-type", "application/json");
        bench.ask(request, body(lengths))
    };
    let half = 20 << 20;
    assert_eq!(post([half, half]).status, 200);
    let reply = post([half, half + 4]);
    assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"));
    assert!(reply.message().contains("attachments"), "{}", reply.message());
    assert_eq!(bench.mails().len(), 1);
}

#[tokio::test]
async fn an_email_with_an_unreadable_file_is_not_sent() {
    // A-23
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let missing = folder.path().join("missing.pdf");
    // Opening a pipe without a writer would block.
    for path in [missing, folder.path().to_owned(), "/dev/null".into(), pipe] {
        let error = Attachment::from_file(&path).await.unwrap_err();
        let Error::File(error) = error else { panic!("{error:?}") };
        assert_eq!(error.path, path);
    }
}

#[tokio::test]
async fn an_email_with_a_file_that_changed_is_not_accepted() {
    // A-23
    let folder = tempfile::tempdir().unwrap();
    for length in [500_000, 1_500_000] {
        let bench = Bench::start().await;
        let path = folder.path().join("data.bin");
        std::fs::write(&path, vec![1; 1_000_000]).unwrap();
        let email = email().attach(Attachment::from_file(&path).await.unwrap());
        std::fs::write(&path, vec![2; length]).unwrap();
        let error = bench.client().emails().send(&email).await.unwrap_err();
        assert!(matches!(error, Error::File(_)), "{length}: {error:?}");
        assert!(bench.mails().is_empty());
        assert!(bench.requests().is_empty(), "{length}: the service received a request");
    }
}

#[tokio::test]
async fn attachments_of_a_sent_email_are_listed_and_downloaded() {
    let bench = Bench::start().await;
    let client = bench.client();
    let email = Email::new("hi@acme.test", "ada@example.com", "Files").html("<img src=cid:logo>");
    let email = email.attach(Attachment::from_bytes("notes.txt", "notes"));
    let email = email.attach(Attachment::from_bytes("logo.png", "image").content_id("logo"));
    let id = client.emails().send(&email).await.unwrap().id;
    let files = client.emails().attachments(&id).await.unwrap().data;
    let names: Vec<_> = files.iter().map(|file| (file.filename.as_deref(), file.size)).collect();
    assert_eq!(names, [(Some("notes.txt"), Some(5)), (Some("logo.png"), Some(5))]);
    assert_eq!(files[1].content_disposition, Some(ContentDisposition::Inline));
    assert_eq!(client.received().download(&files[0].download_url).await.unwrap(), "notes");
    let one = client.emails().attachment(&id, &files[1].id).await.unwrap();
    assert_eq!(client.received().download(&one.download_url).await.unwrap(), "image");
    let missing = client.emails().attachment(&id, "8b3c4d5e-0000-4000-8000-000000000000").await.unwrap_err();
    assert_eq!(missing.status().unwrap(), 404);
}
