use std::io::Write as _;

use base64::Engine as _;
use idempost::{Attachment, Email};
use idempost_conformance::bench::Bench;
use mail_parser::{MessageParser, MimeHeaders as _, PartType};
use serde_json::Value;

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
