//! Emails that leave the sandbox: forwarded or released to a real server. These tests see every command that it receives.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::support::{request, wait_until};

/// An SMTP server that accepts everything except recipients whose local part is `refused`, and records what clients send.
struct Sink {
    address: String,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// The arguments of all `RCPT` commands.
    recipients: Vec<String>,
    /// The messages.
    messages: Vec<String>,
    /// Commands that don't belong to a simple session.
    others: Vec<String>,
}

impl Sink {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let recorded = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let recorded = Arc::clone(&recorded);
                // A client that disconnects isn't an error.
                std::thread::spawn(move || Self::session(stream?, &recorded));
            }
        });
        Self { address, seen }
    }

    fn session(stream: TcpStream, seen: &Mutex<Seen>) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        stream.get_mut().write_all(b"220 sink\r\n")?;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end_matches("\r\n");
            let reply: &[u8] = match line.split([' ', ':']).next().unwrap_or_default() {
                "EHLO" => b"250-sink\r\n250-SMTPUTF8\r\n250 8BITMIME\r\n",
                "RCPT" => {
                    let recipient = line.strip_prefix("RCPT TO:").unwrap_or(line).to_owned();
                    seen.lock().unwrap().recipients.push(recipient);
                    if line.contains("<refused@") {
                        b"550 5.1.1 No such user here\r\n"
                    } else {
                        b"250 2.1.5 OK\r\n"
                    }
                }
                "DATA" => {
                    stream.get_mut().write_all(b"354 go\r\n")?;
                    let mut message = Vec::new();
                    while !message.ends_with(b"\r\n.\r\n") {
                        let mut byte = [0];
                        stream.read_exact(&mut byte)?;
                        message.push(byte[0]);
                    }
                    seen.lock().unwrap().messages.push(String::from_utf8_lossy(&message).into_owned());
                    b"250 2.0.0 Queued as 17\r\n"
                }
                "MAIL" | "NOOP" | "QUIT" | "RSET" => b"250 2.0.0 OK\r\n",
                _ => {
                    seen.lock().unwrap().others.push(line.to_owned());
                    b"500 5.5.1 Unknown\r\n"
                }
            };
            stream.get_mut().write_all(reply)?;
        }
    }

    fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    /// The recipients, sorted, and the messages that arrived since the last call.
    fn take(&self) -> (Vec<String>, Vec<String>) {
        let mut seen = self.seen.lock().unwrap();
        assert_eq!(seen.others, [""; 0]);
        let mut recipients = std::mem::take(&mut seen.recipients);
        recipients.sort();
        (recipients, std::mem::take(&mut seen.messages))
    }

    fn wait_for_messages(&self, many: usize) {
        wait_until(&format!("{many} messages arrive"), || self.seen.lock().unwrap().messages.len() >= many);
    }
}

/// Sends a request to the sandbox; returns the status and the body.
fn ask(sandbox: &Sandbox, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let url = format!("{}{path}", sandbox.base_url);
    let headers = "authorization: Bearer sb_local\r\ncontent-type: application/json\r\n";
    let (status, answer) = request(&url, method, headers, body.to_string());
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    (status, serde_json::from_str(body).unwrap())
}

fn send(sandbox: &Sandbox, to: &Value, cc: &Value, bcc: &Value) -> String {
    let email = json!({"from": "Acme <hi@acme.test>", "to": to, "cc": cc, "bcc": bcc, "subject": "Hello", "text": ".It works"});
    let (status, answer) = ask(sandbox, "POST", "/emails", &email);
    assert_eq!(status, 200, "{answer}");
    answer["id"].as_str().unwrap().to_owned()
}

fn release(sandbox: &Sandbox, id: &str, to: &Value) -> (u16, Value) {
    ask(sandbox, "POST", &format!("/_/messages/{id}/release"), &json!({ "to": to }))
}

/// The entries in an email's timeline about forwarding and release.
fn relayed(sandbox: &Sandbox, id: &str) -> Vec<Value> {
    let (_, timeline) = ask(sandbox, "GET", &format!("/_/messages/{id}/timeline"), &json!({}));
    let events = timeline["events"].as_array().unwrap().iter().filter(|event| event.get("to").is_some());
    events.map(|event| json!([event["event"], event["to"], event["reason"]])).collect()
}

#[test]
fn a_forwarded_mail_reaches_the_recipients_that_the_server_accepts_once() {
    let sink = Sink::start();
    let sandbox = Sandbox::start(&["--smtp", &sink.url()]);
    let id =
        send(&sandbox, &json!(["ada@live.test", "refused@live.test"]), &json!("cy@live.test"), &json!([]));
    wait_until("all recipients are in the timeline", || relayed(&sandbox, &id).len() == 3);
    let no_user = "550 5.1.1 No such user here";
    let expected = [
        ("forwarded", "ada", "250 2.0.0 Queued as 17"),
        ("not_forwarded", "refused", no_user),
        ("forwarded", "cy", "250 2.0.0 Queued as 17"),
    ];
    let expected = expected.map(|(event, to, reason)| json!([event, [format!("{to}@live.test")], reason]));
    assert_eq!(relayed(&sandbox, &id), expected);
    assert_eq!(sink.take().1.len(), 2);
}

#[test]
fn a_released_mail_reaches_only_the_recipients_of_the_release() {
    let sink = Sink::start();
    let sandbox = Sandbox::start(&["--smtp-release", &sink.url()]);
    assert_eq!(sandbox.printed("release"), Some(sink.url().as_str()));
    let id = send(&sandbox, &json!(["Ada <ada@live.test>"]), &json!("cy@live.test"), &json!("eve@live.test"));
    let released =
        sandbox.run(&format!("sandbox inbox release {id} --to qa@acme.test --to 'QA <qa2@Acme.test>'"));
    assert_eq!(released.stdout, "250 2.0.0 Queued as 17\n");
    assert_eq!(released.stderr, "released to qa@acme.test, QA <qa2@Acme.test>\n");
    let (recipients, messages) = sink.take();
    assert_eq!(recipients, ["<qa2@acme.test>", "<qa@acme.test>"]);
    // The message is the captured one, with a dot added at the start of a line.
    let raw = sandbox.run(&["sandbox", "inbox", "get", &id, "--raw"]).ok();
    assert_eq!(messages[0].replace("\r\n..", "\r\n."), raw + "\r\n.\r\n");
    assert!(messages[0].contains("To: Ada <ada@live.test>") && !messages[0].contains("eve@"), "{messages:?}");

    sandbox
        .run(&["sandbox", "inbox", "release", &id, "--to", "refused@acme.test", "--to", "qa@acme.test"])
        .fails_with(3, &["did not accept the email: 550 5.1.1 No such user here"]);
    let expected = [
        json!(["released", ["qa@acme.test", "qa2@acme.test"], "250 2.0.0 Queued as 17"]),
        json!(["not_released", ["refused@acme.test", "qa@acme.test"], "550 5.1.1 No such user here"]),
    ];
    assert_eq!(relayed(&sandbox, &id), expected);
    let (recipients, messages) = sink.take();
    assert_eq!((recipients, messages.len()), (vec!["<refused@acme.test>".to_owned()], 0));
}

#[test]
fn a_received_mail_is_released_without_its_bcc_fields_and_bare_line_ends() {
    let sink = Sink::start();
    let sandbox = Sandbox::start(&["--smtp-release", &sink.url()]);
    let mail = "From: ada@example.com\nTo: support@acme.test\nBcc: eve@evil.test,\n x@evil.test\nSubject: Help\n\nIt broke\n.\nRCPT TO:<eve@evil.test>\n";
    let id = sandbox.run_with("sandbox receive -", mail).ok();
    sandbox.run(&["sandbox", "inbox", "release", id.trim_end(), "--to", "qa@acme.test"]).ok();
    let (recipients, messages) = sink.take();
    assert_eq!(recipients, ["<qa@acme.test>"]);
    let expected = "From: ada@example.com\r\nTo: support@acme.test\r\nSubject: Help\r\n\r\nIt broke\r\n..\r\nRCPT TO:<eve@evil.test>\r\n.\r\n";
    assert_eq!(messages, [expected]);
    sandbox.run("sandbox inbox release 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --to qa@acme.test").fails(5);
}

/// If the recipients of a release were checked but those of the email used, the allow list would let everything through.
#[test]
fn a_release_is_never_sent_to_the_recipients_of_the_mail_nor_to_those_that_are_not_allowed() {
    let sink = Sink::start();
    let allowed = "--smtp-allow '*@allowed.test' --smtp-allow ada@example.com";
    let sandbox = Sandbox::start(&(allowed, ["--smtp-release", &sink.url()]));
    let id = send(&sandbox, &json!("cust@live.test"), &Value::Null, &json!("boss@live.test"));
    assert_eq!(release(&sandbox, &id, &json!("qa@allowed.test")).0, 200);
    assert_eq!(sink.take().0, ["<qa@allowed.test>"]);
    for to in [
        json!("cust@live.test"),
        json!(["qa@allowed.test", "cust@live.test"]),
        json!("cust@live.test, qa@allowed.test"),
        json!("qa@allowed.test <cust@live.test>"),
        json!("\"cust@live.test\"@allowed.test"),
        json!("cust%live.test@allowed.test"),
        json!("cust@live.test\r\nRCPT TO:<cust@live.test>\r\n@allowed.test"),
        json!("ada+tag@example.com"),
    ] {
        let (status, answer) = release(&sandbox, &id, &to);
        assert_eq!(status, 422, "{to}: {answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.starts_with("The email was not released: ") || message.contains("`to"), "{answer}");
        assert_eq!(sink.take(), (vec![], vec![]), "{to}");
    }
    let kept = relayed(&sandbox, &id);
    assert_eq!(kept[1], json!(["not_released", ["cust@live.test"], "isn't allowed by --smtp-allow"]));
}

#[test]
fn only_allowed_recipients_of_forwarded_mails_get_them_and_the_timeline_names_the_others() {
    let sink = Sink::start();
    let mut sandbox = Sandbox::start(&["--smtp", &sink.url(), "--smtp-allow", "*@allowed.test"]);
    let to = json!(["Ada <ada@Allowed.test>", "cust@live.test"]);
    let bcc = json!(["bo@allowed.test", "eve@live.test", "x%live.test@allowed.test"]);
    let mixed = send(&sandbox, &to, &json!("cy@live.test"), &bcc);
    sink.wait_for_messages(1);
    let (recipients, messages) = sink.take();
    assert_eq!(recipients, ["<ada@allowed.test>", "<bo@allowed.test>"]);
    let hidden = ["bo@", "eve@"].iter().any(|hidden| messages[0].contains(hidden));
    assert!(messages[0].contains("cy@live.test") && !hidden, "{messages:?}");
    wait_until("all recipients are in the timeline", || relayed(&sandbox, &mixed).len() == 2);
    let others = ["cust@live.test", "cy@live.test", "eve@live.test", "x%live.test@allowed.test"];
    let entries = relayed(&sandbox, &mixed);
    for expected in [
        json!(["not_forwarded", others, "isn't allowed by --smtp-allow"]),
        json!(["forwarded", ["ada@allowed.test", "bo@allowed.test"], "250 2.0.0 Queued as 17"]),
    ] {
        assert!(entries.contains(&expected), "{expected} isn't in {entries:?}");
    }
    assert_eq!(sandbox.stop(), "");
}

#[test]
fn a_sandbox_without_a_server_refuses_to_release() {
    let sandbox = Sandbox::start("");
    let id = send(&sandbox, &json!("ada@example.com"), &Value::Null, &Value::Null);
    sandbox
        .client()
        .run(&["sandbox", "inbox", "release", &id, "--to", "qa@acme.test"])
        .fails_with(3, &["start it with --smtp-release URL"]);
}

#[test]
fn an_unreachable_server_is_reported_and_recorded_without_the_password() {
    let sandbox =
        Sandbox::start(&["--smtp-release", "smtp://me:hidden@127.0.0.1:9", "--smtp-allow", "*@acme.test"]);
    let id = send(&sandbox, &json!("ada@example.com"), &Value::Null, &Value::Null);
    let (status, answer) = release(&sandbox, &id, &json!("qa@acme.test"));
    let message = answer["message"].as_str().unwrap().to_lowercase();
    assert_eq!((status, &answer["name"]), (422, &json!("release_rejected")));
    assert!(message.starts_with("smtp://127.0.0.1:9 did not confirm the email: "), "{message}");
    assert!(message.contains("connection"), "{message}");
    assert_eq!(relayed(&sandbox, &id)[0][0], "not_released");
    let (_, relay) = ask(&sandbox, "GET", "/_/relay", &json!({}));
    let expected = json!({"object": "relay", "server": "smtp://127.0.0.1:9", "forwards": false, "allow": ["*@acme.test"]});
    assert_eq!(relay, expected);
    assert!(!sandbox.lines.join("\n").contains("hidden"));
}
