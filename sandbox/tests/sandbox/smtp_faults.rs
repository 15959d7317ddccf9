//! Scripted faults at the stages of SMTP sessions: `/_/faults` with `smtp`.

use std::process::Command;
use std::time::{Duration, Instant};

use http::Method;
use idempost_needs::needs;
use idempost_sandbox::Settings;
use idempost_sandbox::faults::{Action, Rule, SmtpStage};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::smtp_receiving::{SmtpServer, line, pipelined, reply, say};
use crate::support::{Sandbox, merged};

const STAGES: [&str; 7] = ["CONNECT", "EHLO", "AUTH", "MAIL", "RCPT", "DATA", "END-OF-DATA"];

/// One mail with AUTH, a line for each stage after the connection.
const SESSION: [&str; 6] = [
    "EHLO me",
    "AUTH PLAIN AGluYm91bmQAc2JfdGVzdA==",
    "MAIL FROM:<ada@example.com>",
    "RCPT TO:<hi@acme.test>",
    "DATA",
    "Subject: Hello\r\n\r\nIt works\r\n.",
];

async fn open() -> SmtpServer {
    SmtpServer::open(&Settings::default()).await
}

fn script(server: &SmtpServer, rule: &serde_json::Value) {
    server.sandbox.post("/_/faults", rule).expect_status(201);
}

/// Runs the session up to a stage; returns the reply there, or nothing if the connection was closed. All earlier replies must be positive.
async fn reply_at(server: &SmtpServer, stage: usize) -> (Option<String>, BufReader<TcpStream>) {
    let mut stream = BufReader::new(TcpStream::connect(server.address).await.unwrap());
    for number in 0..=stage {
        let reply = match number {
            0 => reply(&mut stream).await,
            number => say(&mut stream, SESSION[number - 1]).await,
        };
        if number == stage {
            return (Some(reply.trim_end().to_owned()).filter(|reply| !reply.is_empty()), stream);
        }
        assert!(reply.starts_with(['2', '3']), "stage {number}: {reply:?}");
    }
    unreachable!("the loop returns at the stage")
}

#[tokio::test]
async fn a_fault_replies_at_its_stage_once_and_the_next_session_succeeds() {
    let server = open().await;
    for (number, stage) in STAGES.into_iter().enumerate() {
        for (code, class) in
            [(421, "4"), (450, "4"), (451, "4"), (452, "4"), (550, "5"), (552, "5"), (554, "5")]
        {
            script(&server, &json!({"smtp": stage, "action": "answer", "code": code, "times": 1}));
            let before = server.received("sb_test").len();
            let (reply, mut stream) = reply_at(&server, number).await;
            let reply = reply.unwrap();
            let words: Vec<_> = reply.splitn(3, ' ').collect();
            assert_eq!((words[0], words[1].split('.').next()), (&*code.to_string(), Some(class)), "{reply}");
            assert!(!words[2].is_empty());
            // 421 and a rejection in place of the greeting end the session.
            let next = say(&mut stream, "NOOP").await;
            assert_eq!(next.is_empty(), code == 421 || stage == "CONNECT", "{stage} {code}: {next:?}");
            assert_eq!(server.received("sb_test").len(), before, "{stage} {code}: the mail was delivered");
            // The rule is used up.
            assert_eq!(server.sandbox.service.faults().pending(), 0);
            let (reply, _) = reply_at(&server, 6).await;
            assert!(reply.unwrap().starts_with("250 2.0.0 Received"), "{stage} {code}");
            assert_eq!(server.received("sb_test").len(), before + 1);
        }
    }
}

#[tokio::test]
async fn dropped_commands_have_no_effect_and_lost_ones_have_theirs() {
    let server = open().await;
    for (number, stage) in STAGES.into_iter().enumerate() {
        for action in ["drop", "lose"] {
            script(&server, &json!({"smtp": stage, "action": action}));
            let before = server.received("sb_test").len();
            let (reply, mut stream) = reply_at(&server, number).await;
            assert_eq!(reply, None, "{stage} {action}");
            assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0);
            let delivered = server.received("sb_test").len() - before;
            assert_eq!(delivered == 1, (stage, action) == ("END-OF-DATA", "lose"), "{stage} {action}");
        }
    }
}

#[tokio::test]
async fn a_rejected_recipient_leaves_the_others_and_a_rejected_message_the_session() {
    let server = open().await;
    server.sandbox.service.faults().add(
        Rule::new(Action::smtp_reply(550, "5.1.1 No such mailbox"))
            .on_smtp(SmtpStage::Rcpt)
            .skip_first(1)
            .times(1),
    );
    server.sandbox.service.faults().add_once(Action::http_response(500, "of HTTP, which this is not"));
    let (_, mut stream) = reply_at(&server, 3).await;
    let mut say = async |words: &str| say(&mut stream, words).await;
    assert!(say("RCPT TO:<one@acme.test>").await.starts_with("250 "));
    assert_eq!(say("RCPT TO:<two@acme.test>").await, "550 5.1.1 No such mailbox\r\n");
    assert!(say("RCPT TO:<three@acme.test>").await.starts_with("250 "));
    assert!(say("DATA").await.starts_with("354 "));
    server
        .sandbox
        .service
        .faults()
        .add(Rule::new(Action::smtp_reply(451, "4.3.0 Later")).on_smtp(SmtpStage::EndOfData));
    assert_eq!(say(SESSION[5]).await, "451 4.3.0 Later\r\n");
    assert!(say("DATA").await.starts_with("503 "), "the transaction has ended");
    for words in &SESSION[2..5] {
        say(words).await;
    }
    assert!(say(SESSION[5]).await.starts_with("250 "));
    assert_eq!(server.sandbox.service.faults().pending(), 1, "the fault of HTTP waits for a request");
    server.sandbox.service.faults().clear();
    assert_eq!(server.received("sb_test").len(), 1);
}

#[tokio::test]
async fn pipelined_commands_before_a_dropped_one_are_answered() {
    let server = open().await;
    script(&server, &json!({"smtp": "RCPT", "action": "drop", "after": 1}));
    let (_, stream) = reply_at(&server, 2).await;
    let words = [SESSION[2], SESSION[3], SESSION[3], SESSION[4], ""].join("\r\n");
    let (_, replies) = pipelined(stream, words.as_bytes()).await;
    assert_eq!(replies, "250 2.1.0 Sender OK\r\n250 2.1.5 Recipient OK\r\n");
}

#[tokio::test]
async fn slow_replies_are_late_and_a_stalled_session_ends_with_its_client() {
    let server = open().await;
    for (number, stage) in STAGES.into_iter().enumerate() {
        script(&server, &json!({"smtp": stage, "action": "slow", "delay_ms": 40}));
        let start = Instant::now();
        let (reply, _) = reply_at(&server, number).await;
        assert!(start.elapsed() >= Duration::from_millis(40), "{stage}");
        assert!(reply.unwrap().starts_with(['2', '3']), "{stage}");
    }
    script(&server, &json!({"smtp": "MAIL", "action": "stall"}));
    let (_, mut stream) = reply_at(&server, 2).await;
    let silent = tokio::time::timeout(Duration::from_millis(60), say(&mut stream, SESSION[2])).await;
    assert!(silent.is_err(), "{silent:?}");
    stream.shutdown().await.unwrap();
    assert_eq!(line(&mut stream).await, "");
}

#[tokio::test]
async fn a_percentage_of_recipients_fails() {
    let server = SmtpServer::open(&Settings { seed: Some(7), ..Settings::default() }).await;
    script(&server, &json!({"smtp": "RCPT", "action": "answer", "code": 451, "percent": 30}));
    let (_, mut stream) = reply_at(&server, 3).await;
    let mut failed = 0;
    for _ in 0..200 {
        failed +=
            usize::from(say(&mut stream, SESSION[3]).await == "451 4.7.1 Greylisted, try again later\r\n");
    }
    assert!((35..=85).contains(&failed), "{failed} of 200");
    let rule = server.sandbox.get("/_/faults/1").json();
    assert!(rule["met"].as_u64().unwrap() >= failed as u64 && rule["percent"] == 30, "{rule}");
}

#[tokio::test]
async fn a_rule_applies_to_sessions_of_its_account_only() {
    let server = open().await;
    let add = |rule: serde_json::Value| {
        let added = server.sandbox.ask(Method::POST, "/_/faults").key("sb_other").json(&rule);
        added.expect_status(201).json()["all_accounts"].clone()
    };
    assert_eq!(add(json!({"smtp": "RCPT", "action": "answer", "always": true})), false);
    let (reply, _) = reply_at(&server, 6).await;
    assert!(reply.unwrap().starts_with("250 "), "the session of sb_test");
    // The session has no account yet.
    for stage in &STAGES[..3] {
        assert_eq!(add(json!({"smtp": stage, "action": "drop"})), true, "{stage}");
    }
}

#[test]
fn rules_of_smtp_are_shown_with_the_reply() {
    let sandbox = Sandbox::new();
    let added = sandbox
        .post("/_/faults", &json!({"smtp": "rcpt", "action": "answer", "code": 550, "message": "Not here"}));
    assert_eq!(
        added.json(),
        json!({
            "object": "fault", "id": "1", "method": null, "path": null, "smtp": "RCPT", "all_accounts": false, "action": "answer", "code": 550,
            "message": "5.1.1 Not here", "after": 0, "left": 1, "met": 0,
            "client_gets": {
                "summary": "550 5.1.1 Not here", "handled": false, "status": 550, "name": null, "end": "complete",
                "body_bytes": null, "delay_ms": 0,
            },
        })
    );
    for (mut rule, summary) in [
        (json!({"action": "answer"}), "451 4.3.0 Temporary failure, try again later"),
        (json!({"action": "drop"}), "no reply: connection closed, command not handled"),
        (json!({"action": "lose"}), "no reply: command handled, then connection closed"),
        (json!({"action": "stall"}), "no reply: connection left open, command not handled"),
        (json!({"action": "slow", "delay_ms": 50}), "the service's own reply, 50 ms late"),
    ] {
        rule["smtp"] = "MAIL".into();
        let added = sandbox.post("/_/faults", &rule).expect_status(201).json();
        assert_eq!(added["client_gets"]["summary"], summary, "{rule}");
    }
    assert_eq!(sandbox.get("/emails").status, 200, "no rule of SMTP applies to a request");
}

#[test]
fn invalid_rules_of_smtp_name_the_field_and_the_rule() {
    let sandbox = Sandbox::new();
    let answer = json!({"smtp": "RCPT", "action": "answer"});
    for (fields, part) in [
        (
            json!({"smtp": "HELO"}),
            "`smtp` must be one of CONNECT, EHLO, AUTH, MAIL, RCPT, DATA, END-OF-DATA; found",
        ),
        (json!({"smtp": 7}), "`smtp` must be a string; found 7."),
        (json!({"path": "/emails"}), "can't be used with `method` or `path`"),
        (
            json!({"action": null}),
            "Missing `action` field; it must be one of answer, drop, lose, stall, slow.",
        ),
        (
            json!({"action": "truncate"}),
            "`action` must be one of answer, drop, lose, stall, slow at an SMTP stage; found",
        ),
        (json!({"code": 250}), "`code` must be a whole number from 400 to 599; found 250."),
        (json!({"code": 600}), "`code` must be a whole number from 400 to 599; found 600."),
        (json!({"status": 503}), "`status` can't be used with the action `answer` at an SMTP stage."),
        (
            json!({"action": "drop", "code": 451}),
            "`code` can't be used with the action `drop` at an SMTP stage.",
        ),
        (json!({"message": "a\r\n250 OK"}), "`message` must be a line of at most 400 bytes"),
        (json!({"message": "x".repeat(401)}), "`message` must be a line of at most 400 bytes"),
        (json!({"smtp": null, "code": 451}), "`code` can't be used with the action `answer`."),
    ] {
        let rule = merged(answer.clone(), &fields);
        sandbox.post("/_/faults", &rule).rejected(422, "validation_error", part);
    }
    assert_eq!(sandbox.service.faults().pending(), 0);
}

#[needs("python3")]
#[tokio::test]
async fn python_smtplib_sees_each_code_and_a_lost_connection() {
    let server = open().await;
    let program = "import smtplib\n\
         def send():\n    \
             with smtplib.SMTP('127.0.0.1', PORT, timeout=10) as smtp:\n        \
                 smtp.login('inbound', 'sb_test')\n        \
                 smtp.sendmail('ada@example.com', ['hi@acme.test'], 'Subject: Hello\\n\\nIt works')\n\
         try:\n    send()\n    print('sent')\n\
         except smtplib.SMTPRecipientsRefused as error:\n    print(*error.recipients['hi@acme.test'])\n\
         except smtplib.SMTPResponseException as error:\n    print(error.smtp_code, error.smtp_error)\n\
         except smtplib.SMTPServerDisconnected:\n    print('disconnected')\n";
    for stage in STAGES {
        // smtplib tries HELO after a rejected EHLO, and LOGIN after PLAIN.
        let times = if ["EHLO", "AUTH"].contains(&stage) { 2 } else { 1 };
        for code in [451, 452, 550, 554] {
            script(&server, &json!({"smtp": stage, "action": "answer", "code": code, "times": times}));
            let seen = server.run_python(program).await;
            assert!(seen.starts_with(&format!("{code} b'{}.", code / 100)), "{stage} {code}: {seen}");
            assert_eq!(server.sandbox.service.faults().pending(), 0, "{stage} {code}");
        }
        script(&server, &json!({"smtp": stage, "action": "drop"}));
        assert_eq!(server.run_python(program).await, "disconnected\n", "{stage}");
    }
    assert!(server.received("sb_test").is_empty());
    assert_eq!(server.run_python(program).await, "sent\n");
}

#[needs("swaks")]
#[tokio::test]
async fn swaks_sees_each_code_at_its_stage() {
    let server = open().await;
    let swaks = async || {
        let mut command = Command::new("swaks");
        let server = server.address.to_string();
        command.args(["--server", &server, "--from", "ada@example.com", "--to", "hi@acme.test"]);
        command.args(["--auth", "PLAIN", "--auth-user", "inbound", "--auth-password", "sb_test"]);
        command.args(["--helo", "me", "--timeout", "10"]);
        tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
    };
    // Its exit codes name the stage.
    for (stage, exit) in STAGES.into_iter().zip([21, 22, 28, 23, 24, 25, 26]) {
        let times = if stage == "EHLO" { 2 } else { 1 };
        for code in [451, 550] {
            script(&server, &json!({"smtp": stage, "action": "answer", "code": code, "times": times}));
            let output = swaks().await;
            let transcript = String::from_utf8_lossy(&output.stdout).into_owned();
            let reply = format!("<** {code} {}.", code / 100);
            assert!(transcript.contains(&reply), "{stage} {code}: {transcript}");
            assert_eq!(output.status.code(), Some(exit), "{stage} {code}: {transcript}");
            assert_eq!(server.sandbox.service.faults().pending(), 0, "{stage} {code}");
        }
    }
    assert!(server.received("sb_test").is_empty());
    assert!(swaks().await.status.success());
}
