//! The sandbox and SMTP: mail sent or received through it, and captured email forwarded to another server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::support::{Idempost, request, shows, wait_until};

/// The address of a sandbox's SMTP server.
fn smtp_address(sandbox: &Sandbox) -> String {
    sandbox.printed("smtp").unwrap().strip_prefix("smtp://").unwrap().to_owned()
}

/// Sends these commands as a mail client; returns the last reply, with all its lines.
fn say(address: &str, words: &[&str]) -> String {
    let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
    let mut reply = String::new();
    stream.read_line(&mut reply).unwrap();
    for word in words {
        stream.get_mut().write_all(word.as_bytes()).unwrap();
        reply.clear();
        loop {
            let begin = reply.len();
            stream.read_line(&mut reply).unwrap();
            // A dash after the code announces another line.
            if reply.as_bytes().get(begin + 3) != Some(&b'-') {
                break;
            }
        }
    }
    reply
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
    let mut mails = Vec::new();
    wait_until(&format!("{many} have arrived"), || {
        mails = received(idempost);
        mails.len() >= many
    });
    mails.reverse();
    mails
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

#[test]
fn starttls_is_offered_if_it_is_asked_for_or_has_a_given_certificate() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let idempost = Idempost::new();
    let cert = idempost.write("cert.pem", made.cert.pem());
    let key = idempost.write("key.pem", made.signing_key.serialize_pem());
    for (flags, offered) in [
        ("", false),
        ("--smtp-tls-port 0", false),
        ("--smtp-starttls", true),
        ("--host 0.0.0.0 --insecure", true),
        (&format!("--smtp-cert {cert} --smtp-key {key}"), true),
    ] {
        let sandbox = Sandbox::start(&("--smtp-port 0", flags));
        let reply = say(&smtp_address(&sandbox), &MAIL[..1]);
        assert_eq!(reply.contains("STARTTLS"), offered, "{flags}: {reply}");
        let has_certificate = offered || flags.contains("--smtp-tls-port");
        assert_eq!(sandbox.printed("tls").is_some(), has_certificate, "{flags}");
    }
    let serve = |flags: &str| idempost.run(&("sandbox serve --port 0 --smtp-port 0", flags));
    serve("--smtp-cert key.pem --smtp-key cert.pem").fails_with(1, &["cert.pem", "key.pem"]);
    serve("--smtp-cert cert.pem").fails_with(2, &["--smtp-key"]);
}

#[test]
fn run_names_the_file_of_a_self_signed_certificate() {
    let script = "echo $NODE_EXTRA_CA_CERTS; cat $IDEMPOST_SANDBOX_SMTP_CERT; echo $IDEMPOST_SANDBOX_SMTP_CERT $SSL_CERT_FILE";
    let run = |preset: &str| {
        let idempost = Idempost::new().env("NODE_EXTRA_CA_CERTS", preset).env("SSL_CERT_FILE", "");
        idempost.run(&("sandbox run --smtp-tls-port 0 -- sh -c", [script])).ok()
    };
    let printed = run("");
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines[0], lines[lines.len() - 1].trim_end(), "{printed}");
    assert_eq!(lines[1], "-----BEGIN CERTIFICATE-----");
    assert!(!std::path::Path::new(lines[0]).exists(), "{printed}");
    assert!(run("/own.pem").starts_with("/own.pem\n"));
}

#[test]
fn run_passes_the_smtp_urls_to_the_command() {
    let script = "echo $IDEMPOST_SANDBOX_SMTP $IDEMPOST_SANDBOX_SMTPS";
    let urls = Idempost::new().run(&("sandbox run --smtp-port 0 --smtp-tls-port 0 -- sh -c", [script])).ok();
    assert!(urls.starts_with("smtp://127.0.0.1:") && urls.contains(" smtps://127.0.0.1:"), "{urls}");
}

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
        let [id, subject] = ["id", "subject"].map(|name| mail[name].as_str().unwrap());
        let captured = idempost.run(&["sandbox", "inbox", "latest", "--raw", "--subject", subject]).ok();
        let whole = far.run(&["received", "get", id, "--json"]).json();
        let (_, file) = request(whole["raw"]["download_url"].as_str().unwrap(), "GET", "", "");
        assert_eq!(file.split_once("\r\n\r\n").unwrap().1, captured);
    }
    let lines = sandbox.lines.join("\n");
    assert_eq!(sandbox.stop(), "");
    assert!(!lines.contains("hidden"), "{lines}");
}

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
    shows(&sandbox.stop(), &["wasn't forwarded to smtp://127.0.0.1:", "550"]);
}

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
        let unseen = Idempost::new().env("IDEMPOST_SANDBOX_FORWARD", url);
        let by_flag = |flag| Idempost::new().run(&["sandbox", "serve", "--port", "0", flag, url]);
        by_flag("--smtp-release").hides(&["hidden"]).fails_with(2, &["--smtp-release"]);
        for ran in [by_flag("--smtp"), unseen.run("sandbox serve --port 0")] {
            ran.hides(&["hidden"]).fails_with(2, &["--smtp"]);
        }
        unseen.run("sandbox serve --help").hides(&["hidden"]).ok();
    }
}
