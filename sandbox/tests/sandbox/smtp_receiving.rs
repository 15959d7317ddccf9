//! Receiving mail by SMTP, from third-party clients.

use std::net::SocketAddr;
use std::sync::Arc;

use http::Method;
use idempost_needs::needs;
use idempost_sandbox::{Service, Settings, smtp};
use lettre::address::{Address, Envelope};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::support::Sandbox;

/// A service with an SMTP server, stopped on drop.
pub(crate) struct SmtpServer {
    pub(crate) sandbox: Sandbox,
    pub(crate) address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl SmtpServer {
    pub(crate) async fn open(settings: &Settings) -> Self {
        Self::with(settings, smtp::Options::new("sb_local")).await
    }

    pub(crate) async fn with(settings: &Settings, options: smtp::Options) -> Self {
        let sandbox = Sandbox::with(settings);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let service: Arc<Service> = Arc::clone(&sandbox.service);
        tokio::spawn(
            async move { smtp::serve(listener, service, options, async { drop(stopped.await) }).await },
        );
        Self { sandbox, address, _stop: stop }
    }

    fn client(&self, login: Option<(&str, Mechanism)>) -> AsyncSmtpTransport<Tokio1Executor> {
        let builder =
            AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous("127.0.0.1").port(self.address.port());
        match login {
            Some((key, mechanism)) => builder
                .credentials(Credentials::new("inbound".into(), key.into()))
                .authentication(vec![mechanism])
                .build(),
            None => builder.build(),
        }
    }

    /// A tenant's received emails, newest first.
    pub(crate) fn received(&self, key: &str) -> Vec<Value> {
        let answer = self.sandbox.ask(Method::GET, "/emails/receiving").key(key).send("");
        answer.json()["data"].as_array().unwrap().clone()
    }

    /// Sends a mail unchanged; returns the final reply.
    pub(crate) async fn deliver(&self, mail: &[u8]) -> String {
        self.deliver_after("HELO me\r\n", mail).await
    }

    /// The same after these commands, each with a one-line reply.
    pub(crate) async fn deliver_after(&self, commands: &str, mail: &[u8]) -> String {
        let mut stream = self.raw().await;
        let envelope = "MAIL FROM:<ada@example.com>\r\nRCPT TO:<hi@acme.test>\r\nDATA\r\n";
        stream.write_all(format!("{commands}{envelope}").as_bytes()).await.unwrap();
        for _ in 0..commands.lines().count() + 3 {
            line(&mut stream).await;
        }
        stream.write_all(mail).await.unwrap();
        stream.write_all(b".\r\n").await.unwrap();
        line(&mut stream).await
    }

    pub(crate) async fn raw(&self) -> BufReader<TcpStream> {
        let mut stream = BufReader::new(TcpStream::connect(self.address).await.unwrap());
        assert!(line(&mut stream).await.starts_with("220 "));
        stream
    }
}

pub(crate) async fn line(stream: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    line
}

/// The client appends a line ending to every mail.
fn written(mail: &[u8]) -> &[u8] {
    mail.strip_suffix(b"\r\n").unwrap()
}

fn envelope(to: &[&str]) -> Envelope {
    let to = to.iter().map(|one| one.parse::<Address>().unwrap()).collect();
    Envelope::new(Some("ada@example.com".parse().unwrap()), to).unwrap()
}

const MAIL: &[u8] =
    b"From: Ada <ada@example.com>\r\nTo: Support <support@acme.test>\r\nSubject: Help\r\n\r\n\
    .hidden\r\n..\r\nIt broke\r\n";

#[tokio::test]
async fn a_mail_received_by_smtp_is_a_received_email() {
    let server = SmtpServer::open(&Settings::default()).await;
    server
        .client(None)
        .send_raw(&envelope(&["support@acme.test", "hidden@acme.test"]), written(MAIL))
        .await
        .unwrap();
    let received = server.received("sb_local");
    assert_eq!(received.len(), 1);
    assert_eq!(received[0]["from"], "ada@example.com");
    assert_eq!(received[0]["to"], json!(["Support <support@acme.test>"]));
    assert_eq!(received[0]["received_for"], json!(["support@acme.test", "hidden@acme.test"]));
    let path = format!("/emails/receiving/{}", received[0]["id"].as_str().unwrap());
    let whole = server.sandbox.ask(Method::GET, path).key("sb_local").send("").json();
    assert_eq!(whole["text"], ".hidden\r\n..\r\nIt broke\r\n");
    assert!(server.received("sb_other").is_empty());
}

#[tokio::test]
async fn evt_07_a_mail_received_by_smtp_triggers_email_received() {
    // EVT-07
    let server = SmtpServer::open(&Settings::default()).await;
    let webhook = json!({"endpoint": "http://127.0.0.1:9/hook", "events": ["email.received"]});
    assert_eq!(server.sandbox.ask(Method::POST, "/webhooks").key("sb_local").json(&webhook).status, 201);
    server.client(None).send_raw(&envelope(&["support@acme.test"]), written(MAIL)).await.unwrap();
    let payload: Value = serde_json::from_slice(&server.sandbox.service.next_post().unwrap().body).unwrap();
    assert_eq!((&payload["type"], &payload["data"]["subject"]), (&json!("email.received"), &json!("Help")));
}

#[tokio::test]
async fn user_inbound_selects_the_tenant_by_key() {
    let server = SmtpServer::open(&Settings::default()).await;
    let made = server.sandbox.post("/api-keys", &json!({"name": "mail"})).json()["token"]
        .as_str()
        .unwrap()
        .to_owned();
    for (key, mechanism, tenant) in [
        ("sb_plain", Mechanism::Plain, "sb_plain"),
        ("sb_login", Mechanism::Login, "sb_login"),
        ("sb_send_sending", Mechanism::Plain, "sb_send"),
        (&made, Mechanism::Plain, crate::support::KEY),
    ] {
        server
            .client(Some((key, mechanism)))
            .send_raw(&envelope(&["support@acme.test"]), written(MAIL))
            .await
            .unwrap();
        assert_eq!(server.received(tenant).len(), 1, "{key}");
    }
    let refused = server.client(Some(("secret", Mechanism::Plain)));
    let error = refused.send_raw(&envelope(&["support@acme.test"]), written(MAIL)).await.unwrap_err();
    assert_eq!(error.status().unwrap().to_string(), "535", "{error}");
    assert!(server.received("sb_local").is_empty());
}

#[tokio::test]
async fn recv_strict_domains_reject_unverified_recipient_domains() {
    let server = SmtpServer::open(&Settings { strict_domains: true, ..Settings::default() }).await;
    let domain = server.sandbox.ask(Method::POST, "/domains").key("sb_local").json(&json!({
        "name": "acme.test", "capabilities": {"sending": "enabled", "receiving": "enabled"}
    }));
    assert_eq!(domain.status, 201, "{}", domain.text());
    let id = domain.id();
    let error =
        server.client(None).send_raw(&envelope(&["support@acme.test"]), written(MAIL)).await.unwrap_err();
    assert_eq!(error.status().unwrap().to_string(), "550", "{error}");
    server.sandbox.ask(Method::POST, format!("/domains/{id}/verify")).key("sb_local").send("");
    server.sandbox.advance(10);
    server.client(None).send_raw(&envelope(&["support@acme.test"]), written(MAIL)).await.unwrap();
    assert_eq!(server.received("sb_local").len(), 1);
}

#[tokio::test]
async fn a_large_mail_is_unchanged_and_one_over_the_limit_is_rejected() {
    let server = SmtpServer::open(&Settings { body_limit: 2 << 20, ..Settings::default() }).await;
    let mut mail = MAIL.to_vec();
    while mail.len() < 1 << 20 {
        mail.extend_from_slice(b".one line of many, with a dot in front\r\n");
    }
    let client = server.client(None);
    client.send_raw(&envelope(&["support@acme.test"]), written(&mail)).await.unwrap();
    let id = server.received("sb_local")[0]["id"].as_str().unwrap().to_owned();
    let whole =
        server.sandbox.ask(Method::GET, format!("/emails/receiving/{id}")).key("sb_local").send("").json();
    let url: http::Uri = whole["raw"]["download_url"].as_str().unwrap().parse().unwrap();
    let raw = server.sandbox.ask(Method::GET, url.path_and_query().unwrap().as_str()).no_key().send("");
    assert!(raw.body == mail, "{} bytes of {}", raw.body.len(), mail.len());
    let error =
        client.send_raw(&envelope(&["support@acme.test"]), written(&mail.repeat(3))).await.unwrap_err();
    assert_eq!(error.status().unwrap().to_string(), "552", "{error}");
    assert_eq!(server.received("sb_local").len(), 1);
}

#[tokio::test]
async fn commands_can_be_pipelined() {
    let server = SmtpServer::open(&Settings::default()).await;
    let mut stream = server.raw().await;
    let all = b"EHLO me\r\nMAIL FROM:<a@b.test> BODY=8BITMIME SIZE=20\r\nRCPT TO:<c@d.test>\r\nDATA\r\n\
        Subject: \xc3\xbc\r\n\r\nx\r\n.\r\nQUIT\r\n";
    stream.write_all(all).await.unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.unwrap();
    let last: Vec<_> = answers.lines().filter(|line| &line[3..4] == " ").map(|line| &line[..3]).collect();
    assert_eq!(last, ["250", "250", "250", "354", "250", "221"], "{answers}");
    for offer in ["PIPELINING", "8BITMIME", "SMTPUTF8", "SIZE 67108864", "AUTH PLAIN LOGIN"] {
        assert!(answers.contains(offer), "{answers}");
    }
    assert_eq!(server.received("sb_local")[0]["subject"], "ü");
}

#[tokio::test]
async fn smtp_smuggling_and_http_requests_are_rejected() {
    let server = SmtpServer::open(&Settings::default()).await;
    let mail = "MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\nSubject: x\r\n\r\nx";
    for (words, codes) in [
        (
            format!("EHLO me\r\n{mail}\r\n.\r\r\n{mail}\r\n.\r\nQUIT\r\n"),
            &["250", "250", "250", "354", "554", "221"][..],
        ),
        (
            format!(
                "POST / HTTP/1.1\r\nHost: {}\r\nContent-Length: 500\r\n\r\nEHLO me\r\n{mail}\r\n.\r\n",
                server.address
            ),
            &["421"],
        ),
    ] {
        let mut stream = server.raw().await;
        stream.write_all(words.as_bytes()).await.unwrap();
        let mut answers = Vec::new();
        // Closing a connection with unread data resets it.
        let _ = stream.read_to_end(&mut answers).await;
        let answers = String::from_utf8(answers).unwrap();
        let last = answers.lines().filter(|line| line.as_bytes().get(3) == Some(&b' '));
        assert_eq!(last.map(|line| &line[..3]).collect::<Vec<_>>(), codes, "{answers}");
        assert!(server.received("sb_local").is_empty());
    }
}

#[tokio::test]
async fn connections_are_limited() {
    let server = SmtpServer::open(&Settings::default()).await;
    let mut open = Vec::new();
    for _ in 0..100 {
        open.push(server.raw().await);
    }
    let mut one_more = BufReader::new(TcpStream::connect(server.address).await.unwrap());
    assert!(line(&mut one_more).await.starts_with("421 "));
    let mut first = open.remove(0);
    first.write_all(b"QUIT\r\n").await.unwrap();
    assert!(line(&mut first).await.starts_with("221 "));
    assert_eq!(line(&mut first).await, "");
    // Its slot is freed when its task ends, which can be slightly later.
    loop {
        let mut again = BufReader::new(TcpStream::connect(server.address).await.unwrap());
        if line(&mut again).await.starts_with("220 ") {
            break;
        }
    }
}

#[needs("python3")]
#[tokio::test]
async fn python_smtplib_can_deliver() {
    let server = SmtpServer::open(&Settings::default()).await;
    let program = format!(
        "import smtplib\nfrom email.message import EmailMessage\nmail = EmailMessage()\n\
         mail['From'], mail['To'], mail['Subject'] = 'ada@example.com', 'support@acme.test', 'Grüße'\n\
         mail.set_content('.Hallo\\n')\nmail.add_attachment(b'\\x00\\xff', maintype='application', subtype='x-own', filename='a.bin')\n\
         with smtplib.SMTP('127.0.0.1', {}) as smtp:\n    smtp.login('inbound', 'sb_python')\n    smtp.send_message(mail)\n",
        server.address.port()
    );
    let run = tokio::task::spawn_blocking(move || {
        std::process::Command::new("python3").args(["-c", &program]).output()
    });
    let output = run.await.unwrap().expect("python3 is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let received = server.received("sb_python");
    assert_eq!(received[0]["subject"], "Grüße");
    assert_eq!(received[0]["attachments"][0]["filename"], "a.bin");
}

#[tokio::test]
async fn shutdown_sends_421_to_open_connections() {
    let SmtpServer { sandbox, address, _stop: stop } = SmtpServer::open(&Settings::default()).await;
    let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
    assert!(line(&mut stream).await.starts_with("220 "));
    drop(stop);
    assert!(line(&mut stream).await.starts_with("421 4.3.2 "));
    assert_eq!(line(&mut stream).await, "");
    drop(sandbox);
}
