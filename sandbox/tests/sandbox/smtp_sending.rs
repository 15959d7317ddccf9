//! SMTP with `AUTH`: the service's submission server.

use std::sync::Arc;

use http::Method;
use idempost_needs::needs;
use idempost_sandbox::Settings;
use idempost_sandbox::faults::{Action, Rule};
use lettre::transport::smtp::authentication::Mechanism;
use mail_parser::MessageParser;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::smtp_receiving::{Encryption, Login, SmtpServer, auth_plain, line, pipelined, say};
use crate::support::{KEY, email, email_with, expect_fields_of};

const ALL: [Encryption; 3] = [Encryption::None, Encryption::StartTls, Encryption::Implicit];

async fn open(settings: &Settings) -> SmtpServer {
    SmtpServer::encrypted(settings, Encryption::None).await
}

fn resend(key: &str) -> Login<'_> {
    ("resend", key, Mechanism::Plain)
}

const MAIL: &str = "Received: from elsewhere\r\nFrom: \"Acme, Inc.\" <hi@acme.test>\r\nTo: Ada <ada@example.com>, Bo <BO@example.com>, gone@example.com\r\n\
    Cc: cy@example.com\r\nReply-To: Help <help@acme.test>, more@acme.test\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\
    Date: Mon, 2 Mar 2026 12:00:00 +0000\r\nMessage-ID: <one@acme.test>\r\nX-Own: one\r\n two\r\nX-Twice: a\r\nX-Twice: b\r\n\
    List-Unsubscribe: <https://acme.test/u>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n\
    --m\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n\
    --a\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHello\r\n.dot\r\n--a\r\nContent-Type: text/html\r\n\r\n<p>Hello <img src=\"cid:logo\"></p>\r\n--a--\r\n\
    --m\r\nContent-Type: image/png; name=logo.png\r\nContent-ID: <logo>\r\nContent-Disposition: inline\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw==\r\n\
    --m\r\nContent-Type: application/x-own\r\nContent-Disposition: attachment; filename=\"a b.bin\"\r\nContent-Transfer-Encoding: base64\r\n\r\nAAH/\r\n--m--";

const RECIPIENTS: [&str; 5] =
    ["ada@example.com", "bo@example.com", "cy@example.com", "dee@example.com", "dee@example.com"];

fn sent(server: &SmtpServer, key: &str) -> Vec<Value> {
    server.sandbox.account(key).items("/emails")
}

#[tokio::test]
async fn an_authenticated_mail_is_sent_over_plain_text_starttls_and_tls() {
    for encryption in ALL {
        for (user, mechanism) in
            [("resend", Mechanism::Plain), ("resend", Mechanism::Login), ("anybody", Mechanism::Plain)]
        {
            let server = SmtpServer::encrypted(&Settings::default(), encryption).await;
            let answer = server.send(Some((user, KEY, mechanism)), &RECIPIENTS, MAIL).await.unwrap();
            let emails = sent(&server, KEY);
            let email = &emails[0];
            let said: Vec<_> = answer.message().map(str::to_owned).collect();
            assert_eq!(said, [format!("2.0.0 Sent as {}", email["id"].as_str().unwrap())]);
            assert_eq!(emails.len(), 1, "{encryption:?} {user}");
            let expected = json!({
                "from": "\"Acme, Inc.\" <hi@acme.test>", "to": ["Ada <ada@example.com>", "Bo <BO@example.com>"],
                "cc": ["cy@example.com"], "bcc": ["dee@example.com"],
                "reply_to": ["Help <help@acme.test>", "more@acme.test"], "subject": "Grüße", "last_event": "sent",
            });
            expect_fields_of(&expected, email);
            let record = server.sandbox.record(email["id"].as_str().unwrap());
            assert_eq!(record["text"], "Hello\r\n.dot");
            assert_eq!(record["html"], "<p>Hello <img src=\"cid:logo\"></p>");
            assert!(server.received(KEY).is_empty() && server.received("sb_local").is_empty());

            let mail = server.sandbox.mail();
            let parsed = MessageParser::new().parse(&mail.mime[..]).unwrap();
            let raw = |name: &'static str| parsed.header_raw(name).map(str::trim);
            assert_eq!((raw("X-Own"), raw("X-Twice")), (Some("one two"), Some("a, b")));
            assert_eq!(raw("List-Unsubscribe"), Some("<https://acme.test/u>"));
            assert_eq!((raw("Received"), raw("Bcc")), (None, None));
            assert_ne!(parsed.message_id(), Some("one@acme.test"));
            let files = mail.attachments.iter().map(|file| (&*file.filename, &*file.content_type, file.size));
            let files: Vec<_> = files.collect();
            assert_eq!(files, [("logo.png", "image/png", 4), ("a b.bin", "application/x-own", 3)]);
            let ids: Vec<_> = mail.attachments.iter().map(|file| file.content_id.as_deref()).collect();
            assert_eq!(ids, [Some("logo"), None]);
        }
    }
}

/// Asserts that the API rejects the email and SMTP the equivalent mail, for the same reason.
async fn assert_both_reject(server: &SmtpServer, key: &str, body: &Value, mail: &str, to: &[&str]) -> String {
    let answer = server.sandbox.ask(Method::POST, "/emails").key(key).json(body);
    assert!(!answer.status.is_success());
    let (code, error) = server.refused(Some(resend(key)), to, mail).await;
    assert!(error.to_string().contains(&answer.message()), "{error} has {}", answer.message());
    code
}

#[tokio::test]
async fn smtp_rejects_whatever_post_emails_rejects() {
    let server = open(&Settings::default()).await;
    let without = |field: &str| {
        let mut email = email();
        email.as_object_mut().unwrap().remove(field);
        email
    };
    let mail = |from: &str, to: &str, subject: &str, more: &str, text: &str| {
        format!("{from}{to}{subject}{more}X-Last: 1\r\n\r\n{text}")
    };
    let (from, to, subject) = ("From: hi@acme.test\r\n", "To: ada@example.com\r\n", "Subject: Hello\r\n");
    for (body, mail) in [
        (without("from"), mail("", to, subject, "", "x")),
        (without("subject"), mail(from, to, "", "", "x")),
        (without("to"), mail(from, "To: other@example.com\r\n", subject, "", "x")),
        (email_with("from", "nobody"), mail("From: nobody\r\n", to, subject, "", "x")),
    ] {
        assert_eq!(assert_both_reject(&server, KEY, &body, &mail, &ADA).await, "554", "{mail}");
    }
    let many: Vec<_> = (0..51).map(|at| format!("a{at}@example.com")).collect();
    let to: Vec<_> = many.iter().map(String::as_str).collect();
    let mail = format!("{from}To: {}\r\n{subject}\r\nx", many.join(", \r\n "));
    let body = email_with("to", json!(many));
    assert_eq!(assert_both_reject(&server, KEY, &body, &mail, &to).await, "554");
    assert!(sent(&server, KEY).is_empty() && server.received(KEY).is_empty());
}

const ADA: [&str; 1] = ["ada@example.com"];
const SMALL: &str = "From: hi@acme.test\r\nTo: ada@example.com\r\nSubject: Hello\r\n\r\nIt works";

#[tokio::test]
async fn key_permissions_and_domains_are_enforced() {
    let server = open(&Settings { strict_domains: true, ..Settings::default() }).await;
    assert_eq!(assert_both_reject(&server, KEY, &email(), SMALL, &ADA).await, "550");

    let server = open(&Settings::default()).await;
    let domain = server.sandbox.post("/domains", &json!({"name": "other.test"})).json()["id"].clone();
    let key = |body: Value| server.sandbox.post("/api-keys", &body).json();
    let bound = key(json!({"name": "k", "permission": "sending_access", "domain_id": domain}));
    let bound = bound["token"].as_str().unwrap();
    assert_eq!(assert_both_reject(&server, bound, &email(), SMALL, &ADA).await, "550");
    let sending = key(json!({"name": "k", "permission": "sending_access"}));
    for (key, many) in [(sending["token"].as_str().unwrap(), 1), ("sb_test_sending", 2), (KEY, 3)] {
        server.send(Some(("resend", key, Mechanism::Login)), &ADA, SMALL).await.unwrap();
        assert_eq!(sent(&server, KEY).len(), many, "{key}");
    }
    let mut session = server.raw().await;
    let login = auth_plain("resend", sending["token"].as_str().unwrap());
    for command in ["EHLO me", &login, "MAIL FROM:<hi@acme.test>"] {
        say(&mut session, command).await;
    }
    let path = format!("/api-keys/{}", sending["id"].as_str().unwrap());
    server.sandbox.delete(path);
    let reply = say(&mut session, "RCPT TO:<ada@example.com>").await;
    assert!(reply.starts_with("535 ") && reply.contains("was deleted"), "{reply}");
    for wrong in [sending["token"].as_str().unwrap(), "secret", ""] {
        for user in ["resend", "inbound"] {
            let (code, error) = server.refused(Some((user, wrong, Mechanism::Plain)), &ADA, SMALL).await;
            assert_eq!(code, "535", "{wrong}");
            let is_key = wrong.starts_with("sb_") || wrong.starts_with("re_");
            let parts = if is_key { &["was deleted"][..] } else { &["sb_", "re_", "resend", "inbound"] };
            for part in parts {
                assert!(error.to_string().contains(part), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn rate_limits_and_idempotency_match_the_api() {
    let server = open(&Settings { rate_limit: Some(2), ..Settings::default() }).await;
    let send = async |mail: String| server.send(Some(resend(KEY)), &ADA, mail).await;
    // A mail client's retry has a new message ID, date and boundary.
    let mail = |subject: &str, id: u32| {
        format!(
            "Resend-Idempotency-Key: welcome/1\r\nMessage-ID: <{id}@acme.test>\r\nFrom: hi@acme.test\r\nTo: ada@example.com\r\nSubject: {subject}\r\n\r\nx"
        )
    };
    send(mail("One", 1)).await.unwrap();
    send(mail("One", 2)).await.unwrap();
    let limited = send(mail("One", 3)).await.unwrap_err();
    assert!(limited.is_transient() && limited.to_string().contains("Too many requests"), "{limited}");
    server.sandbox.advance(2);
    let other = send(mail("Two", 4)).await.unwrap_err();
    assert_eq!(other.status().unwrap().to_string(), "554", "{other}");
    let emails = sent(&server, KEY);
    assert_eq!((emails.len(), &emails[0]["subject"]), (1, &json!("One")));
    let raw = String::from_utf8(server.sandbox.mail().mime.to_vec()).unwrap();
    assert!(!raw.contains("Idempotency"), "{raw}");
}

#[tokio::test]
async fn scripted_api_faults_apply_to_smtp() {
    let server = open(&Settings::default()).await;
    let faults = server.sandbox.service.faults();
    faults.add(Rule::new(Action::DropBefore).on_request(Method::POST, "/emails").times(1));
    let lost = server.send(Some(resend(KEY)), &ADA, SMALL).await.unwrap_err();
    assert!(lost.status().is_none(), "{lost}");
    assert!(sent(&server, KEY).is_empty());
    server.send(Some(resend(KEY)), &ADA, SMALL).await.unwrap();
    assert_eq!(sent(&server, KEY).len(), 1);
}

/// Starts TLS.
async fn encrypted(server: &SmtpServer, stream: TcpStream) -> BufReader<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let certificate = server.tls.as_ref().unwrap().certificate();
    roots.add(CertificateDer::from(certificate.to_vec())).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    BufReader::new(TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap())
}

#[tokio::test]
async fn pipelined_commands_with_auth_work_over_plain_text_starttls_and_tls() {
    let mail = format!("MAIL FROM:<>\r\nRCPT TO:<ada@example.com>\r\nDATA\r\n{SMALL}\r\n.\r\n");
    let refused = mail.replace("Subject: Hello\r\n", "");
    for encryption in ALL {
        for (key, accepted) in [(KEY, true), ("secret", false)] {
            let server = SmtpServer::encrypted(&Settings::default(), encryption).await;
            let login = auth_plain("resend", key);
            let words = format!("EHLO me\r\n{login}\r\n{mail}{refused}{mail}QUIT\r\n");
            let (codes, _) = match encryption {
                Encryption::None => pipelined(server.raw().await, words.as_bytes()).await,
                Encryption::StartTls => {
                    let mut tcp = server.raw().await;
                    // Plain-text commands pipelined after STARTTLS must be discarded (command injection).
                    let injected =
                        "STARTTLS\r\nEHLO evil\r\nMAIL FROM:<evil@example.com>\r\nRCPT TO:<evil@example.com>";
                    assert!(say(&mut tcp, injected).await.starts_with("220 "));
                    pipelined(encrypted(&server, tcp.into_inner()).await, words.as_bytes()).await
                }
                Encryption::Implicit => {
                    let tcp = TcpStream::connect(server.address).await.unwrap();
                    let mut stream = encrypted(&server, tcp).await;
                    assert!(line(&mut stream).await.starts_with("220 "));
                    pipelined(stream, words.as_bytes()).await
                }
            };
            let (sends, receives) = if accepted { (2, 0) } else { (0, 3) };
            let login = if accepted { "235" } else { "535" };
            let second = if accepted { "554" } else { "250" };
            let expected = [
                "250", login, "250", "250", "354", "250", "250", "250", "354", second, "250", "250", "354",
                "250", "221",
            ];
            assert_eq!(codes, expected, "{encryption:?} {key}");
            assert_eq!((sent(&server, KEY).len(), server.received("sb_local").len()), (sends, receives));
        }
    }
}

#[tokio::test]
async fn starttls_is_offered_once_and_only_with_a_certificate() {
    let server = SmtpServer::encrypted(&Settings::default(), Encryption::StartTls).await;
    let mut tcp = server.raw().await;
    tcp.write_all(b"EHLO me\r\nSTARTTLS\r\n").await.unwrap();
    let mut offers = String::new();
    while !offers.contains("220 ") {
        offers.push_str(&line(&mut tcp).await);
    }
    assert!(offers.contains("250-STARTTLS"), "{offers}");
    let stream = encrypted(&server, tcp.into_inner()).await;
    let (codes, _) = pipelined(stream, b"MAIL FROM:<>\r\nEHLO me\r\nSTARTTLS\r\nQUIT\r\n").await;
    assert_eq!(codes, ["503", "250", "502", "221"], "a client starts over after the handshake");
    let server = SmtpServer::open(&Settings::default()).await;
    let (codes, _) = pipelined(server.raw().await, b"EHLO me\r\nSTARTTLS\r\nQUIT\r\n").await;
    assert_eq!(codes, ["250", "502", "221"]);
}

#[needs("python3")]
#[tokio::test]
async fn python_smtplib_sends_over_tls_and_sees_the_fingerprint() {
    for (encryption, open_it, start) in [
        (Encryption::Implicit, "smtplib.SMTP_SSL('127.0.0.1', PORT, context=context)", "pass"),
        (Encryption::StartTls, "smtplib.SMTP('127.0.0.1', PORT)", "smtp.starttls(context=context)"),
    ] {
        let server = SmtpServer::encrypted(&Settings::default(), encryption).await;
        let program = format!(
            "import hashlib, smtplib, ssl\nfrom email.message import EmailMessage\nmail = EmailMessage()\n\
             mail['From'], mail['To'], mail['Bcc'], mail['Subject'] = 'ada@acme.test', 'bo@example.com', 'cy@example.com', 'Grüße'\n\
             mail.set_content('.Hallo\\n')\nmail.add_alternative('<p>Hallo</p>', subtype='html')\n\
             mail.add_attachment(b'\\x00\\xff', maintype='application', subtype='x-own', filename='a.bin')\n\
             context = ssl.create_default_context()\ncontext.check_hostname = False\ncontext.verify_mode = ssl.CERT_NONE\n\
             with {open_it} as smtp:\n    {start}\n    smtp.login('resend', 'sb_python')\n    smtp.send_message(mail)\n    \
             print(hashlib.sha256(smtp.sock.getpeercert(True)).hexdigest().upper())\n"
        );
        let fingerprint = server.run_python(&program).await;
        assert_eq!(fingerprint.trim(), server.tls.as_ref().unwrap().fingerprint().replace(':', ""));
        let emails = sent(&server, "sb_python");
        assert_eq!((&emails[0]["subject"], &emails[0]["bcc"]), (&json!("Grüße"), &json!(["cy@example.com"])));
        assert!(server.received("sb_python").is_empty());
    }
}
