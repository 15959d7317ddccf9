//! The sandbox and SMTP: mail sent or received through it, and captured email forwarded to another server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::support::Idempost;

/// The address of a sandbox's SMTP server.
fn smtp_address(sandbox: &Sandbox) -> String {
    sandbox.printed("smtp").unwrap().strip_prefix("smtp://").unwrap().to_owned()
}

/// Sends these commands as a mail client; returns the last reply.
fn say(address: &str, words: &[&str]) -> String {
    let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
    let mut answer = String::new();
    stream.read_line(&mut answer).unwrap();
    for word in words {
        stream.get_mut().write_all(word.as_bytes()).unwrap();
        loop {
            answer.clear();
            stream.read_line(&mut answer).unwrap();
            if answer.as_bytes().get(3) != Some(&b'-') {
                break;
            }
        }
    }
    answer
}

const MAIL: &[&str] = &[
    "EHLO me\r\n",
    "MAIL FROM:<ada@example.com>\r\n",
    "RCPT TO:<support@acme.test>\r\n",
    "DATA\r\n",
    "From: ada@example.com\r\nTo: support@acme.test\r\nSubject: Help\r\n\r\nIt broke\r\n.\r\n",
];

fn received(idempost: &Idempost) -> Vec<Value> {
    idempost.run(&["received", "list", "--json"]).json()["data"].as_array().unwrap().clone()
}

/// Polls until there are `many`; oldest first.
fn wait_for_received(idempost: &Idempost, many: usize) -> Vec<Value> {
    let end = Instant::now() + crate::support::TIMEOUT;
    loop {
        let mut mails = received(idempost);
        if mails.len() >= many {
            mails.reverse();
            return mails;
        }
        assert!(Instant::now() < end, "{} of {many} have arrived", mails.len());
    }
}

/// Downloads from a URL of the sandbox.
#[cfg(unix)]
fn download(url: &str) -> String {
    use std::io::Read as _;
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn send(idempost: &Idempost, to: &str, subject: &str, more: &[&str]) {
    let send = "emails send --from 'Acme <hi@acme.test>' --text '.dots\n.\n' --to";
    idempost.run(&((send, [to, "--subject", subject]), more)).ok();
}

#[test]
fn any_smtp_client_can_send_to_the_sandbox() {
    let sandbox = Sandbox::start(&["--smtp-port", "0"]);
    let answer = say(&smtp_address(&sandbox), MAIL);
    assert!(answer.starts_with("250 2.0.0 Received as "), "{answer}");
    let idempost = sandbox.client();
    let mails = received(&idempost);
    assert_eq!((mails.len(), &mails[0]["subject"]), (1, &json!("Help")));
    assert!(answer.trim_end().ends_with(mails[0]["id"].as_str().unwrap()), "{answer}");
}

#[test]
fn with_auth_the_sandbox_sends_and_its_certificate_has_the_printed_fingerprint() {
    use base64::Engine as _;
    let sandbox = Sandbox::start(&["--smtp-port", "0", "--smtp-tls-port", "0"]);
    let fingerprint = sandbox.printed("tls").unwrap().strip_prefix("SHA-256 ").unwrap();
    assert_eq!((fingerprint.len(), fingerprint.matches(':').count()), (95, 31), "{fingerprint}");
    assert!(sandbox.printed("smtps").unwrap().starts_with("smtps://127.0.0.1:"));
    let auth = base64::engine::general_purpose::STANDARD.encode("\0resend\0sb_local");
    let auth = format!("AUTH PLAIN {auth}\r\n");
    let words = [&MAIL[..1], &[&auth], &MAIL[1..]].concat();
    let answer = say(&smtp_address(&sandbox), &words);
    assert!(answer.starts_with("250 2.0.0 Sent as "), "{answer}");
    let idempost = sandbox.client();
    assert!(received(&idempost).is_empty());
    let subject = idempost.run(&["sandbox", "inbox", "list", "--columns", "subject"]).ok();
    assert_eq!(subject, "Help\n");
}

/// The reply to EHLO.
fn offers(address: &str) -> String {
    let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
    stream.read_line(&mut String::new()).unwrap();
    stream.get_mut().write_all(b"EHLO me\r\n").unwrap();
    let mut reply = String::new();
    while !reply.contains("250 ") {
        stream.read_line(&mut reply).unwrap();
    }
    reply
}

#[test]
fn starttls_is_offered_if_it_is_asked_for_or_has_a_given_certificate() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let cert = file("cert.pem", &made.cert.pem());
    let key = file("key.pem", &made.signing_key.serialize_pem());
    let given = ["--smtp-cert", &cert, "--smtp-key", &key];
    for (flags, offered) in [
        (&[][..], false),
        (&["--smtp-tls-port", "0"], false),
        (&["--smtp-starttls"], true),
        (&["--host", "0.0.0.0", "--insecure"], true),
        (&given, true),
    ] {
        let sandbox = Sandbox::start(&[&["--smtp-port", "0"], flags].concat());
        let reply = offers(&smtp_address(&sandbox));
        assert_eq!(reply.contains("STARTTLS"), offered, "{flags:?}: {reply}");
        let has_certificate = offered || flags.contains(&"--smtp-tls-port");
        assert_eq!(sandbox.printed("tls").is_some(), has_certificate, "{flags:?}");
    }
    let serve = |flags: &[&str]| Idempost::new().run(&("sandbox serve --port 0 --smtp-port 0", flags));
    serve(&["--smtp-cert", &key, "--smtp-key", &cert]).fails_with(1, &["cert.pem", "key.pem"]);
    assert!(serve(&["--smtp-cert", &cert]).fails(2).contains("--smtp-key"));
}

#[cfg(unix)]
#[test]
fn run_names_the_file_of_a_self_signed_certificate() {
    let script = "echo $NODE_EXTRA_CA_CERTS; cat $IDEMPOST_SANDBOX_SMTP_CERT; echo $IDEMPOST_SANDBOX_SMTP_CERT $SSL_CERT_FILE";
    let run = |flags: &[&str], preset: &str| {
        let idempost = Idempost::new().env("NODE_EXTRA_CA_CERTS", preset).env("SSL_CERT_FILE", "");
        idempost.run(&(("sandbox run", flags), &["--", "sh", "-c", script])).ok()
    };
    let printed = run(&["--smtp-tls-port", "0"], "");
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines[0], lines[lines.len() - 1].trim_end(), "{printed}");
    assert!(
        lines[1] == "-----BEGIN CERTIFICATE-----" && !std::path::Path::new(lines[0]).exists(),
        "{printed}"
    );
    assert!(run(&["--smtp-tls-port", "0"], "/own.pem").starts_with("/own.pem\n"));
}

#[cfg(unix)]
#[test]
fn run_passes_the_smtp_urls_to_the_command() {
    let script = "echo $IDEMPOST_SANDBOX_SMTP $IDEMPOST_SANDBOX_SMTPS";
    let ports = ["--smtp-port", "0", "--smtp-tls-port", "0"];
    let ran = Idempost::new().run(&(("sandbox run", &ports), &["--", "sh", "-c", script]));
    let urls = ran.ok();
    assert!(urls.starts_with("smtp://127.0.0.1:") && urls.contains(" smtps://127.0.0.1:"), "{urls}");
}

#[test]
fn an_smtp_port_in_use_is_reported_with_a_hint() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let stderr = Idempost::new().run(&["sandbox", "serve", "--port", "0", "--smtp-port", &port]).fails(1);
    assert!(stderr.contains(&port) && stderr.contains("--smtp-port 0"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn captured_mails_are_forwarded_unchanged_and_in_order() {
    let server = Sandbox::start(&["--smtp-port", "0"]);
    let url = format!("smtp://inbound:sb_forwarded_hidden@{}", smtp_address(&server));
    let mut sandbox = Sandbox::start(&["--smtp", &url]);
    assert_eq!(sandbox.printed("forward"), Some(format!("smtp://{}", smtp_address(&server)).as_str()));
    let idempost = sandbox.client();
    send(&idempost, "Ada <ada@example.com>", "One", &["--bcc", "eve@example.com", "--cc", "cy@example.com"]);
    send(&idempost, "Grüße <bob@example.com>", "Zwei: ü", &[]);
    send(&idempost, "bob@example.com", "Three", &["--html", "<p>.</p>\n.\n"]);

    let far = server.client().env("IDEMPOST_API_KEY", "sb_forwarded_hidden");
    let mails = wait_for_received(&far, 3);
    let subjects: Vec<_> = mails.iter().map(|mail| mail["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["One", "Zwei: ü", "Three"]);
    assert_eq!(mails[0]["received_for"], json!(["ada@example.com", "cy@example.com", "eve@example.com"]));
    for mail in &mails {
        let id = mail["id"].as_str().unwrap();
        let captured =
            ["sandbox", "inbox", "latest", "--subject", mail["subject"].as_str().unwrap(), "--raw"];
        let whole = far.run(&["received", "get", id, "--json"]).json();
        let file = download(whole["raw"]["download_url"].as_str().unwrap());
        assert_eq!(file, idempost.run(&captured).ok());
    }
    let lines = sandbox.lines.join("\n");
    let stderr = sandbox.stop();
    assert_eq!(stderr, "");
    assert!(!lines.contains("hidden"), "{lines}");
}

#[cfg(unix)]
#[test]
fn a_rejected_mail_does_not_stop_forwarding_and_the_sandbox_keeps_all() {
    let server = Sandbox::start(&["--smtp-port", "0", "--strict-domains"]);
    let far = server.client();
    let id = far.run("domains create example.com --sending enabled --receiving enabled").ok();
    far.run(&["domains", "verify", id.trim(), "--wait"]).ok();
    let mut sandbox = Sandbox::start(&["--smtp", &format!("smtp://{}", smtp_address(&server))]);
    let idempost = sandbox.client();
    send(&idempost, "ada@elsewhere.test", "Refused", &[]);
    send(&idempost, "ada@example.com", "Taken", &[]);
    let mails = wait_for_received(&far, 1);
    assert_eq!(mails[0]["subject"], "Taken");
    let kept = idempost.run(&["sandbox", "inbox", "list", "--columns", "subject"]).ok();
    assert_eq!(kept, "Taken\nRefused\n");
    let stderr = sandbox.stop();
    assert!(stderr.contains("wasn't forwarded to smtp://127.0.0.1:") && stderr.contains("550"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn an_unreachable_server_costs_no_captured_mail_and_no_time() {
    let mut sandbox = Sandbox::start(&["--smtp", "smtp://me:hidden@127.0.0.1:9"]);
    let idempost = sandbox.client();
    for n in 0..3 {
        send(&idempost, "ada@example.com", &format!("Mail {n}"), &[]);
    }
    assert_eq!(idempost.run(&["sandbox", "inbox", "list", "--columns", "subject"]).ok().lines().count(), 3);
    let stderr = sandbox.stop();
    assert!(stderr.contains("stopped before 3 emails were forwarded"), "{stderr}");
    assert!(!stderr.contains("hidden"), "{stderr}");
}

#[test]
fn an_invalid_forwarding_url_is_reported_without_its_password() {
    for url in ["http://me:hidden@mail.acme.test", "smtp://me:hidden@mail.acme.test?tls=no", "hidden"] {
        let stderr = Idempost::new().run(&["sandbox", "serve", "--port", "0", "--smtp", url]).fails(2);
        assert!(stderr.contains("--smtp") && !stderr.contains("hidden"), "{stderr}");
        let unseen = Idempost::new().env("IDEMPOST_SANDBOX_FORWARD", url);
        let stderr = unseen.run(&["sandbox", "serve", "--port", "0"]).fails(2);
        assert!(stderr.contains("--smtp") && !stderr.contains("hidden"), "{stderr}");
        assert!(!unseen.run(&["sandbox", "serve", "--help"]).ok().contains("hidden"));
    }
}
