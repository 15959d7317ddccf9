//! Receiving mail by SMTP, from third-party clients.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idempost_needs::needs;
use idempost_sandbox::tls::Tls;
use idempost_sandbox::{Settings, smtp};
use lettre::address::{Address, Envelope};
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{Certificate, Tls as ClientTls, TlsParameters};
use lettre::transport::smtp::response::Response;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::support::{KEY, Sandbox};

/// The encryption that clients use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    None,
    StartTls,
    Implicit,
}

/// A user, an API key, and how they are sent.
pub(crate) type Login<'a> = (&'a str, &'a str, Mechanism);

/// A service with an SMTP server, stopped on drop.
pub(crate) struct SmtpServer {
    pub(crate) sandbox: Sandbox,
    pub(crate) address: SocketAddr,
    pub(crate) tls: Option<Tls>,
    encryption: Encryption,
    stop: oneshot::Sender<()>,
}

impl SmtpServer {
    pub(crate) async fn open(settings: &Settings) -> Self {
        Self::with(settings, smtp::Options::new("sb_local")).await
    }

    pub(crate) async fn with(settings: &Settings, options: smtp::Options) -> Self {
        Self::start(settings, options, Encryption::None).await
    }

    /// A server with a certificate.
    pub(crate) async fn encrypted(settings: &Settings, encryption: Encryption) -> Self {
        let tls = Some(Tls::self_signed().unwrap());
        let implicit_tls = encryption == Encryption::Implicit;
        let options = smtp::Options { tls, implicit_tls, ..smtp::Options::new("sb_local") };
        Self::start(settings, options, encryption).await
    }

    async fn start(settings: &Settings, options: smtp::Options, encryption: Encryption) -> Self {
        let sandbox = Sandbox::with(settings);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (service, tls) = (Arc::clone(&sandbox.service), options.tls.clone());
        tokio::spawn(
            async move { smtp::serve(listener, service, options, async { drop(stopped.await) }).await },
        );
        Self { sandbox, address, tls, encryption, stop }
    }

    /// Sends a mail with a third-party client, which trusts only the server's certificate.
    pub(crate) async fn send(
        &self,
        login: Option<Login<'_>>,
        to: &[&str],
        mail: impl AsRef<[u8]>,
    ) -> Result<Response, Error> {
        let mut client =
            AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous("127.0.0.1").port(self.address.port());
        if let Some((user, key, mechanism)) = login {
            let credentials = Credentials::new(user.into(), key.into());
            client = client.credentials(credentials).authentication(vec![mechanism]);
        }
        if let Some(tls) = self.tls.as_ref().filter(|_| self.encryption != Encryption::None) {
            let certificate = Certificate::from_der(tls.certificate().to_vec()).unwrap();
            let parameters = TlsParameters::builder("localhost".into()).add_root_certificate(certificate);
            let parameters = parameters.build().unwrap();
            let is_implicit = self.encryption == Encryption::Implicit;
            client = client.tls(if is_implicit {
                ClientTls::Wrapper(parameters)
            } else {
                ClientTls::Required(parameters)
            });
        }
        let to = to.iter().map(|one| one.parse::<Address>().unwrap()).collect();
        let envelope = Envelope::new(Some("ada@example.com".parse().unwrap()), to).unwrap();
        // The client appends a line ending to every mail.
        let mail = mail.as_ref();
        client.build().send_raw(&envelope, mail.strip_suffix(b"\r\n").unwrap_or(mail)).await
    }

    /// The same for a mail that must be rejected; returns the code and the error.
    pub(crate) async fn refused(
        &self,
        login: Option<Login<'_>>,
        to: &[&str],
        mail: impl AsRef<[u8]>,
    ) -> (String, Error) {
        let error = self.send(login, to, mail).await.unwrap_err();
        (error.status().map(|code| code.to_string()).unwrap_or_default(), error)
    }

    /// A tenant's received emails, newest first.
    pub(crate) fn received(&self, key: &str) -> Vec<Value> {
        self.sandbox.account(key).items("/emails/receiving")
    }

    /// Sends a mail unchanged; returns the final reply.
    pub(crate) async fn deliver(&self, mail: &[u8]) -> String {
        self.deliver_after(&["HELO me"], mail).await
    }

    /// The same after these commands.
    pub(crate) async fn deliver_after(&self, commands: &[&str], mail: &[u8]) -> String {
        let mut stream = self.raw().await;
        let envelope = ["MAIL FROM:<ada@example.com>", "RCPT TO:<hi@acme.test>", "DATA"];
        for command in commands.iter().chain(&envelope) {
            say(&mut stream, command).await;
        }
        stream.write_all(mail).await.unwrap();
        say(&mut stream, ".").await
    }

    pub(crate) async fn raw(&self) -> BufReader<TcpStream> {
        let mut stream = BufReader::new(TcpStream::connect(self.address).await.unwrap());
        assert!(line(&mut stream).await.starts_with("220 "));
        stream
    }

    /// Runs a Python program, in which `PORT` stands for the server's port; returns its output.
    pub(crate) async fn run_python(&self, program: &str) -> String {
        let program = program.replace("PORT", &self.address.port().to_string());
        let run = move || std::process::Command::new("python3").args(["-c", &program]).output();
        let output = tokio::task::spawn_blocking(run).await.unwrap().expect("python3 is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

pub(crate) async fn line(stream: &mut (impl AsyncBufRead + Unpin)) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    line
}

/// The command that logs in.
pub(crate) fn auth_plain(user: &str, key: &str) -> String {
    format!("AUTH PLAIN {}", STANDARD.encode(format!("\0{user}\0{key}")))
}

/// Sends a command; returns the last line of the reply.
pub(crate) async fn say(stream: &mut (impl AsyncBufRead + AsyncWrite + Unpin), command: &str) -> String {
    stream.write_all(format!("{command}\r\n").as_bytes()).await.unwrap();
    reply(stream).await
}

/// The last line of the next reply.
pub(crate) async fn reply(stream: &mut (impl AsyncBufRead + Unpin)) -> String {
    loop {
        let line = line(stream).await;
        if line.as_bytes().get(3) != Some(&b'-') {
            return line;
        }
    }
}

/// Writes all commands together and reads until the connection closes; returns the reply codes, and all replies.
pub(crate) async fn pipelined(
    mut stream: impl AsyncBufRead + AsyncWrite + Unpin,
    words: &[u8],
) -> (Vec<String>, String) {
    stream.write_all(words).await.unwrap();
    let mut answers = Vec::new();
    // Closing a connection with unread data resets it.
    let _ = stream.read_to_end(&mut answers).await;
    let answers = String::from_utf8(answers).unwrap();
    let last = |line: &&str| line.as_bytes().get(3) == Some(&b' ');
    (answers.lines().filter(last).map(|line| line[..3].to_owned()).collect(), answers)
}

const TO: &[&str] = &["support@acme.test"];
const MAIL: &[u8] =
    b"From: Ada <ada@example.com>\r\nTo: Support <support@acme.test>\r\nSubject: Help\r\n\r\n\
    .hidden\r\n..\r\nIt broke\r\n";

#[tokio::test]
async fn a_mail_received_by_smtp_is_a_received_email() {
    let server = SmtpServer::open(&Settings::default()).await;
    server.send(None, &["support@acme.test", "hidden@acme.test"], MAIL).await.unwrap();
    let received = server.received("sb_local");
    assert_eq!(received.len(), 1);
    assert_eq!(received[0]["from"], "ada@example.com");
    assert_eq!(received[0]["to"], json!(["Support <support@acme.test>"]));
    assert_eq!(received[0]["received_for"], json!(["support@acme.test", "hidden@acme.test"]));
    let path = format!("/emails/receiving/{}", received[0]["id"].as_str().unwrap());
    let whole = server.sandbox.account("sb_local").get(path).json();
    assert_eq!(whole["text"], ".hidden\r\n..\r\nIt broke\r\n");
    assert!(server.received("sb_other").is_empty());
}

#[tokio::test]
async fn mail_in_a_multi_byte_character_set_is_decoded() {
    let server = SmtpServer::open(&Settings::default()).await;
    for (charset, text) in [
        ("iso-2022-jp", &b"\x1b$BF|K\\\x1b(B"[..]),
        ("shift_jis", b"\x93\xfa\x96\x7b"),
        ("euc-jp", b"\xc6\xfc\xcb\xdc"),
        ("gb2312", b"\xc8\xd5\xb1\xbe"),
        ("gb18030", b"\xc8\xd5\xb1\xbe"),
        ("big5", b"\xa4\xe9\xa5\xbb"),
        ("euc-kr", b"\xec\xed\xdc\xe2"),
    ] {
        let word = STANDARD.encode(text);
        let head = format!(
            "From: a@b.test\r\nSubject: =?{charset}?b?{word}?= =?{charset}?b??=\r\nContent-Type: text/html; charset={charset}\r\n\r\n"
        );
        // Neither an empty nor a truncated text is an error.
        for body in [&b""[..], &text[..text.len() - 1], text] {
            let reply = server.deliver(&[head.as_bytes(), body, b"\r\n"].concat()).await;
            assert!(reply.starts_with("250"), "{charset}: {reply}");
        }
        let received = server.received("sb_local").remove(0);
        assert_eq!(received["subject"], "日本", "{charset}");
        let path = format!("/emails/receiving/{}", received["id"].as_str().unwrap());
        let record = server.sandbox.account("sb_local").get(path).json();
        assert_eq!(record["html"].as_str().unwrap().trim_end(), "日本", "{charset}");
    }
}

#[tokio::test]
async fn user_inbound_selects_the_tenant_by_key() {
    let server = SmtpServer::open(&Settings::default()).await;
    let made = server.sandbox.post("/api-keys", &json!({"name": "mail"})).json();
    for (user, key, mechanism, tenant) in [
        ("inbound", "sb_plain", Mechanism::Plain, "sb_plain"),
        ("Inbound", "sb_login", Mechanism::Login, "sb_login"),
        ("inbound", "sb_send_sending", Mechanism::Plain, "sb_send"),
        ("inbound", made["token"].as_str().unwrap(), Mechanism::Plain, KEY),
    ] {
        server.send(Some((user, key, mechanism)), TO, MAIL).await.unwrap();
        assert_eq!(server.received(tenant).len(), 1, "{key}");
        assert!(server.sandbox.account(tenant).items("/emails").is_empty(), "{key}");
    }
    let (code, error) = server.refused(Some(("inbound", "secret", Mechanism::Plain)), TO, MAIL).await;
    assert_eq!(code, "535", "{error}");
    assert!(server.received("sb_local").is_empty());
}

#[tokio::test]
async fn recv_strict_domains_reject_unverified_recipient_domains() {
    let server = SmtpServer::open(&Settings { strict_domains: true, ..Settings::default() }).await;
    let domain = json!({"name": "acme.test", "capabilities": {"sending": "enabled", "receiving": "enabled"}});
    let account = server.sandbox.account("sb_local");
    let id = account.created("/domains", &domain);
    let (code, error) = server.refused(None, TO, MAIL).await;
    assert_eq!(code, "550", "{error}");
    account.act(format!("/domains/{id}/verify"));
    server.sandbox.advance(10);
    server.send(None, TO, MAIL).await.unwrap();
    assert_eq!(server.received("sb_local").len(), 1);
}

#[tokio::test]
async fn a_large_mail_is_unchanged_and_one_over_the_limit_is_rejected() {
    let server = SmtpServer::open(&Settings { body_limit: 2 << 20, ..Settings::default() }).await;
    let mut mail = MAIL.to_vec();
    while mail.len() < 1 << 20 {
        mail.extend_from_slice(b".one line of many, with a dot in front\r\n");
    }
    server.send(None, TO, &mail).await.unwrap();
    let id = server.received("sb_local")[0]["id"].as_str().unwrap().to_owned();
    let whole = server.sandbox.account("sb_local").get(format!("/emails/receiving/{id}")).json();
    let raw = server.sandbox.visit(whole["raw"]["download_url"].as_str().unwrap());
    assert!(raw.body == mail, "{} bytes of {}", raw.body.len(), mail.len());
    let (code, error) = server.refused(None, TO, mail.repeat(3)).await;
    assert_eq!(code, "552", "{error}");
    assert_eq!(server.received("sb_local").len(), 1);
}

#[tokio::test]
async fn commands_can_be_pipelined() {
    let server = SmtpServer::open(&Settings::default()).await;
    let all = b"EHLO me\r\nMAIL FROM:<a@b.test> BODY=8BITMIME SIZE=20\r\nRCPT TO:<c@d.test>\r\nDATA\r\n\
        Subject: \xc3\xbc\r\n\r\nx\r\n.\r\nQUIT\r\n";
    let (codes, answers) = pipelined(server.raw().await, all).await;
    assert_eq!(codes, ["250", "250", "250", "354", "250", "221"], "{answers}");
    for offer in ["PIPELINING", "8BITMIME", "SMTPUTF8", "SIZE 67108864", "AUTH PLAIN LOGIN"] {
        assert!(answers.contains(offer), "{answers}");
    }
    assert_eq!(server.received("sb_local")[0]["subject"], "ü");
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
    assert!(say(&mut first, "QUIT").await.starts_with("221 "));
    assert_eq!(line(&mut first).await, "");
    // Its slot is freed when its task ends, which can be slightly later.
    loop {
        let mut again = BufReader::new(TcpStream::connect(server.address).await.unwrap());
        if line(&mut again).await.starts_with("220 ") {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_a_few_bytes_at_a_time_is_disconnected() {
    let envelope = "EHLO me\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n";
    let line = "x".repeat(998) + "\r\n";
    for (opening, piece, is_too_slow) in
        [("", "N", true), (envelope, "x", true), ("", "NOOP\r\n", false), (envelope, &line.repeat(20), false)]
    {
        let service = idempost_sandbox::service(Settings::default());
        let (mut client, server) = tokio::io::duplex(1 << 16);
        tokio::spawn(async {
            smtp::serve_connection(server, service, &smtp::Options::new("sb_local")).await
        });
        client.write_all(opening.as_bytes()).await.unwrap();
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_mins(2)).await;
            // Fails once the session has ended.
            let _ = client.write_all(piece.as_bytes()).await;
        }
        let mut replies = vec![0; 1 << 12];
        let length = client.read(&mut replies).await.unwrap();
        let replies = String::from_utf8_lossy(&replies[..length]);
        assert_eq!(replies.contains("\r\n421 4.4.2 "), is_too_slow, "{opening}{piece:.8}: {replies}");
    }
}

#[needs("python3")]
#[tokio::test]
async fn python_smtplib_can_deliver() {
    let server = SmtpServer::open(&Settings::default()).await;
    let program = "import smtplib\nfrom email.message import EmailMessage\nmail = EmailMessage()\n\
         mail['From'], mail['To'], mail['Subject'] = 'ada@example.com', 'support@acme.test', 'Grüße'\n\
         mail.set_content('.Hallo\\n')\nmail.add_attachment(b'\\x00\\xff', maintype='application', subtype='x-own', filename='a.bin')\n\
         with smtplib.SMTP('127.0.0.1', PORT) as smtp:\n    smtp.login('inbound', 'sb_python')\n    smtp.send_message(mail)\n";
    server.run_python(program).await;
    let received = server.received("sb_python");
    assert_eq!(received[0]["subject"], "Grüße");
    assert_eq!(received[0]["attachments"][0]["filename"], "a.bin");
}

#[tokio::test]
async fn shutdown_sends_421_to_open_connections() {
    let server = SmtpServer::open(&Settings::default()).await;
    let mut stream = server.raw().await;
    drop(server.stop);
    assert!(line(&mut stream).await.starts_with("421 4.3.2 "));
    assert_eq!(line(&mut stream).await, "");
}
