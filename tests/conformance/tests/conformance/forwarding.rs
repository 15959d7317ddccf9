use http::Method;
use idempost_conformance::bench::Bench;
use serde_json::{Value, json};

fn receive(bench: &Bench, mail: &str) -> String {
    let request =
        bench.request(Method::POST, "/_/received?to=in@acme.test").header("content-type", "message/rfc822");
    let answer = bench.service().handle(request.body(mail.to_owned().into()).unwrap());
    assert_eq!(answer.status(), 201);
    serde_json::from_slice::<Value>(answer.body()).unwrap()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn subjects_of_forwards_and_replies_are_those_of_the_original() {
    let bench = Bench::start().await;
    for (subject, copy, wrapped, reply) in [
        ("Subject: =?utf-8?b?R3LDvMOfZSDwn46J?=\r\n", "Grüße 🎉", "Fwd: Grüße 🎉", "Re: Grüße 🎉"),
        ("Subject: FWD: Hi\r\n", "FWD: Hi", "FWD: Hi", "Re: FWD: Hi"),
        ("Subject: Re: Hi\r\n", "Re: Hi", "Fwd: Re: Hi", "Re: Hi"),
        ("Subject: \r\n", "(no subject)", "Fwd: (no subject)", "Re: (no subject)"),
        ("", "(no subject)", "Fwd: (no subject)", "Re: (no subject)"),
        (
            "Subject: =?utf-8?q?a=0D=0ABcc:_x@evil.test?=\r\n",
            "a  Bcc: x@evil.test",
            "Fwd: a  Bcc: x@evil.test",
            "Re: a  Bcc: x@evil.test",
        ),
    ] {
        let id = receive(&bench, &format!("From: ada@example.com\r\n{subject}\r\nIt broke.\r\n"));
        let client = bench.client();
        let email = client.received().get(id.as_str()).await.unwrap();
        let prepared = [
            (client.received().forward(id.as_str()).await.unwrap(), copy),
            (client.received().forward_as_attachment(id.as_str()).await.unwrap().text("See below"), wrapped),
            (email.reply("in@acme.test").text("On it"), reply),
        ];
        for (prepared, subject) in prepared {
            client.emails().send(&prepared.from("in@acme.test").to("dan@example.com")).await.unwrap();
            assert_eq!(bench.mails()[0].subject, subject);
        }
    }
}

#[tokio::test]
async fn a_forward_has_bodies_files_and_inline_images_and_is_sent_once_per_key() {
    let bench = Bench::start().await;
    let large = "QUJD".repeat(3 << 20);
    let mail = format!(
        "From: Ada <ada@example.com>\r\nTo: in@acme.test\r\nBcc: secret@example.com\r\nSubject: Files\r\nX-Secret: 1\r\n\
         MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n\
         --m\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n--a\r\nContent-Type: text/plain\r\n\r\nplain\r\n\
         --a\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>é</p><img src=\"cid:logo@acme\">\r\n--a--\r\n\
         --m\r\nContent-Type: image/png\r\nContent-ID: <logo@acme>\r\nContent-Disposition: inline; filename=logo.png\r\n\
         Content-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n\
         --m\r\nContent-Type: application/zip\r\nContent-Disposition: attachment; filename*=utf-8''%C3%A4.zip\r\n\
         Content-Transfer-Encoding: base64\r\n\r\n{large}\r\n--m--\r\n"
    );
    let id = receive(&bench, &mail);
    let client = bench.client();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let copy =
            client.received().forward(id.as_str()).await.unwrap().from("in@acme.test").to("dan@example.com");
        ids.push(client.emails().send(&copy).idempotency_key("forward-1").await.unwrap().id);
    }
    assert_eq!(ids[0], ids[1]);
    let mails = bench.mails();
    let [sent] = &mails[..] else { panic!("sent twice") };
    assert_eq!(sent.text.as_deref().unwrap().trim_end(), "plain");
    assert_eq!(sent.html.as_deref().unwrap().trim_end(), "<p>é</p><img src=\"cid:logo@acme\">");
    let files: Vec<_> = sent
        .attachments
        .iter()
        .map(|file| {
            (file.filename.as_str(), file.content_type.as_str(), file.size, file.content_id.as_deref())
        })
        .collect();
    assert_eq!(
        files,
        [("logo.png", "image/png", 8, Some("logo@acme")), ("ä.zip", "application/zip", 9 << 20, None)]
    );
    let source = String::from_utf8_lossy(&sent.mime[..2_000]).into_owned();
    assert!(!source.contains("X-Secret") && !source.contains("secret@"), "{source}");

    // Another body under the same key is another email.
    let wrapped = client.received().forward_as_attachment(id.as_str()).await.unwrap();
    let wrapped = wrapped.from("in@acme.test").to("dan@example.com").text("See below");
    let conflict = client.emails().send(&wrapped).idempotency_key("forward-1").await.unwrap_err();
    assert_eq!(conflict.status().unwrap(), 409);
    client.emails().send(&wrapped).await.unwrap();
    let sent = bench.mails().remove(0);
    assert_eq!(
        (sent.attachments[0].content_type.as_str(), sent.attachments[0].size),
        ("message/rfc822", mail.len())
    );
}

#[tokio::test]
async fn a_mail_without_a_body_is_forwarded_for_its_files() {
    let bench = Bench::start().await;
    let id = receive(
        &bench,
        "From: ada@example.com\r\nMIME-Version: 1.0\r\nContent-Type: application/pdf\r\n\
         Content-Disposition: attachment; filename=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERi0=\r\n",
    );
    let client = bench.client();
    let copy =
        client.received().forward(id.as_str()).await.unwrap().from("in@acme.test").to("dan@example.com");
    client.emails().send(&copy).await.unwrap();
    assert_eq!(bench.mails()[0].attachments[0].filename, "a.pdf");
}

#[tokio::test]
async fn a_reply_is_threaded_in_the_message_that_is_sent() {
    let bench = Bench::start().await;
    let references: Vec<_> = (0..60).map(|n| format!("<{n}.{}@example.com>", "x".repeat(40))).collect();
    let id = receive(
        &bench,
        &format!(
            "From: ada@example.com\r\nMessage-ID: <m1@example.com>\r\nReferences: {}\r\n\r\nIt broke.\r\n",
            references.join("\r\n ")
        ),
    );
    let client = bench.client();
    let email = client.received().get(id.as_str()).await.unwrap();
    client.emails().send(&email.reply("in@acme.test").text("On it")).await.unwrap();
    let sent = bench.mails().remove(0);
    let source = String::from_utf8_lossy(&sent.mime).replace("\r\n ", " ");
    assert!(source.contains("\r\nIn-Reply-To: <m1@example.com>\r\n"), "{source}");
    let line = source.lines().find(|line| line.starts_with("References: ")).unwrap();
    assert!(
        line.starts_with(&format!("References: {} ", references[0])) && line.ends_with("<m1@example.com>"),
        "{line}"
    );
    assert_eq!(sent.to, ["ada@example.com"]);
    // A reply to a reply continues the thread.
    let raw = String::from_utf8_lossy(&sent.mime).into_owned();
    let again = client.received().get(receive(&bench, &raw).as_str()).await.unwrap().reply("ada@example.com");
    let headers = again.fields().headers;
    assert_eq!(headers.iter().filter(|(_, value)| value.contains("<m1@example.com>")).count(), 1);
    assert_eq!(json!(headers[0].0), "In-Reply-To");
}
