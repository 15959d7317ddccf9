//! Replies and forwards: what leaves, and what the thread shows.

use serde_json::{Value, json};

use super::{events, id_of, kinds, receive, subscribe, with_inbox};
use crate::support::{KEY, Sandbox, expect_fields_of};

/// Receives a mail; returns its thread's path, and its own.
fn received(sandbox: &Sandbox, inbox: &str) -> (String, String) {
    let headers = [
        "From: Ada <ada@example.com>",
        "To: support@acme.test, Bob <bob@example.com>",
        "Cc: eve@example.com",
        "Subject: Question",
        "Message-ID: <q@example.com>",
        "References: <p@example.com>",
        "MIME-Version: 1.0",
        "Content-Type: multipart/mixed; boundary=b",
    ];
    let parts = "--b\r\nContent-Type: text/html\r\n\r\n<p>How?</p>\r\n--b\r\nContent-Type: text/csv\r\n\
        Content-Disposition: attachment; filename=data.csv\r\n\r\n1;2\r\n--b--";
    receive(sandbox, &headers, parts);
    let thread = format!("{inbox}/threads/{}", id_of(&sandbox.items(format!("{inbox}/threads"))[0]));
    let email = format!("{thread}/emails/{}", id_of(&sandbox.items(format!("{thread}/emails"))[0]));
    (thread, email)
}

#[test]
fn a_reply_is_sent_with_threading_headers_and_joins_the_thread() {
    let (sandbox, inbox) = with_inbox();
    sandbox.ask(http::Method::PATCH, &inbox).json(&json!({ "from_name": "Acme, Support" }));
    let (thread, email) = received(&sandbox, &inbox);
    subscribe(&sandbox);
    let reply = json!({ "text": "Like this.", "headers": { "X-Case": "7" } });
    let answer = sandbox.post(&format!("{email}/reply"), &reply).expect_status(200);
    let mail = sandbox.mail();
    assert_eq!((&*mail.from, &*mail.subject), ("\"Acme, Support\" <support@acme.test>", "Re: Question"));
    assert_eq!(mail.to, ["ada@example.com"]);
    assert!(mail.cc.is_empty());
    let mime = String::from_utf8_lossy(&mail.mime).replace("\r\n ", " ");
    assert!(mime.contains("In-Reply-To: <q@example.com>\r\n"), "{mime}");
    assert!(mime.contains("References: <p@example.com> <q@example.com>\r\n"), "{mime}");
    assert!(mime.contains("X-Case: 7\r\n"), "{mime}");
    let emails = sandbox.items(format!("{thread}/emails"));
    assert_eq!(emails.len(), 2);
    let sent = &emails[1];
    expect_fields_of(&json!({"direction": "outbound", "text": "Like this.", "read": true}), sent);
    assert_eq!(sent["id"], answer.json()["id"], "the ID of GET /emails/{{email_id}}");
    assert_eq!(sandbox.last_event(&id_of(sent)), "sent");
    let seen = events(&sandbox);
    assert_eq!(kinds(&seen), ["inbox.email.sent"]);
    assert_eq!((&seen[0].1["source"], &seen[0].1["email_id"]), (&json!("api"), &sent["id"]));

    let back = [
        "From: ada@example.com",
        "Subject: Re: Question",
        &format!("In-Reply-To: {}", sent["message_id"].as_str().unwrap()),
    ];
    receive(&sandbox, &back, "Thanks");
    assert_eq!(sandbox.items(format!("{thread}/emails")).len(), 3, "the answer to the reply");
    let path = format!("{thread}/emails/{}/reply", id_of(sent));
    sandbox.post(&path, &json!({ "html": "<p>PS</p>" })).expect_status(200);
    let to = &sandbox.mails()[0].to;
    assert_eq!(to, &["ada@example.com"], "a reply to an own email goes to its recipients again");
}

#[test]
fn reply_all_copies_the_other_recipients_once() {
    let (sandbox, inbox) = with_inbox();
    let (_, email) = received(&sandbox, &inbox);
    let body = json!({ "html": "<p>x</p>", "reply_all": true, "cc": "EVE@example.com", "bcc": ["log@acme.test"], "subject": "Own" });
    assert_eq!(sandbox.post(&format!("{email}/reply"), &body).status, 200);
    let mail = sandbox.mail();
    assert_eq!(mail.to, ["ada@example.com"]);
    assert_eq!(mail.cc, ["EVE@example.com", "Bob <bob@example.com>"], "neither the inbox nor anyone twice");
    assert_eq!((mail.bcc, mail.subject), (vec!["log@acme.test".to_owned()], "Own".to_owned()));
    let hidden = json!({ "text": "x", "reply_all": true, "cc": "eve@example.com", "bcc": "BOB@example.com" });
    assert_eq!(sandbox.post(&format!("{email}/reply"), &hidden).status, 200);
    assert_eq!(sandbox.mails()[0].cc, ["eve@example.com"], "who is in bcc isn't shown in cc");
}

#[test]
fn reply_all_leaves_out_the_inbox_in_every_form_of_its_address() {
    let (sandbox, _) = with_inbox();
    let address = "büro@münchen.example";
    let inbox = sandbox.created("/inboxes", &json!({ "email_address": address }));
    let mail =
        "From: ada@example.com\r\nTo: BÜRO@xn--mnchen-3ya.example, bob@example.com\r\nSubject: x\r\n\r\ny";
    sandbox.service.receive(KEY, &[address], mail).unwrap();
    let threads = format!("/inboxes/{inbox}/threads");
    let emails = format!("{threads}/{}/emails", id_of(&sandbox.items(&threads)[0]));
    let email = &sandbox.items(&emails)[0];
    assert_eq!(email["message_id"], Value::Null, "the mail has none");
    let reply = json!({ "text": "z", "reply_all": true });
    sandbox.post(&format!("{emails}/{}/reply", id_of(email)), &reply).expect_status(200);
    let mail = sandbox.mail();
    assert_eq!(mail.cc, ["bob@example.com"]);
    let mime = String::from_utf8_lossy(&mail.mime);
    assert!(!mime.contains("In-Reply-To") && !mime.contains("References"), "{mime}");
}

#[test]
fn a_reply_refers_to_the_last_twenty_emails() {
    let (sandbox, inbox) = with_inbox();
    let known: Vec<_> = (1..=25).map(|n| format!("<{n}@x.test>")).collect();
    let references = format!("References: {}", known.join(" "));
    receive(&sandbox, &["From: ada@example.com", "Subject: x", "Message-ID: <26@x.test>", &references], "y");
    let thread = format!("{inbox}/threads/{}", id_of(&sandbox.items(format!("{inbox}/threads"))[0]));
    let email = id_of(&sandbox.items(format!("{thread}/emails"))[0]);
    sandbox.post(&format!("{thread}/emails/{email}/reply"), &json!({ "text": "z" })).expect_status(200);
    let mime = String::from_utf8_lossy(&sandbox.mail().mime).replace("\r\n ", " ");
    let expected = format!("References: {} <26@x.test>\r\n", known[6..].join(" "));
    assert!(mime.contains(&expected), "{mime}");
}

#[test]
fn a_received_subject_adds_no_header_field_to_an_answer() {
    let (sandbox, inbox) = with_inbox();
    let subject = "Subject: =?utf-8?Q?Hi=0D=0AX-Injected:_1=0D=0A=0D=0ABody?=";
    receive(&sandbox, &["From: ada@example.com", subject], "x");
    let thread = id_of(&sandbox.items(format!("{inbox}/threads"))[0]);
    let emails = format!("{inbox}/threads/{thread}/emails");
    let email = id_of(&sandbox.items(&emails)[0]);
    let draft = json!({ "thread_id": thread, "reply_to_email_id": email, "text": "y" });
    let draft = sandbox.created(&format!("{inbox}/drafts"), &draft);
    for (path, body, expected) in [
        (format!("{emails}/{email}/reply"), json!({ "text": "y" }), "Re: Hi  X-Injected: 1    Body"),
        (
            format!("{emails}/{email}/forward"),
            json!({ "to": "bob@x.test" }),
            "Fwd: Hi  X-Injected: 1    Body",
        ),
        (format!("{inbox}/drafts/{draft}/send"), json!({}), "Re: Hi  X-Injected: 1    Body"),
    ] {
        sandbox.post(&path, &body).expect_status(200);
        let mail = &sandbox.mails()[0];
        assert_eq!(mail.subject, expected);
        let mime = String::from_utf8_lossy(&mail.mime);
        assert!(!mime.contains("\r\nX-Injected"), "{mime}");
    }
}

#[test]
fn a_reply_goes_to_the_reply_to_address() {
    let (sandbox, inbox) = with_inbox();
    receive(&sandbox, &["From: ada@example.com", "Reply-To: desk@example.com", "Subject: re: x"], "y");
    let thread = format!("{inbox}/threads/{}", id_of(&sandbox.items(format!("{inbox}/threads"))[0]));
    let email = id_of(&sandbox.items(format!("{thread}/emails"))[0]);
    sandbox.post(&format!("{thread}/emails/{email}/reply"), &json!({ "text": "z" }));
    let mail = sandbox.mail();
    assert_eq!(mail.to, ["desk@example.com"]);
    assert_eq!(mail.subject, "re: x");
}

#[test]
fn a_forward_has_the_original_with_its_attachments() {
    let (sandbox, inbox) = with_inbox();
    let (thread, email) = received(&sandbox, &inbox);
    let body = json!({ "to": "boss@acme.test", "text": "See <below>", "attachments": [{ "filename": "a.txt", "content": "YQ==" }] });
    sandbox.post(&format!("{email}/forward"), &body).expect_status(200);
    let mail = sandbox.mail();
    assert_eq!((mail.subject.as_str(), &mail.to), ("Fwd: Question", &vec!["boss@acme.test".to_owned()]));
    let files: Vec<_> = mail.attachments.iter().map(|file| (file.filename.as_str(), file.size)).collect();
    assert_eq!(files, [("data.csv", 3), ("a.txt", 1)]);
    let (html, text) = (mail.html.as_deref().unwrap(), mail.text.as_deref().unwrap());
    let start = "See <below>\n\n---------- Forwarded message ---------\nFrom: ada@example.com\n";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("How?"), "{text}");
    assert!(html.contains("See &lt;below&gt;") && html.contains("<p>How?</p>"), "{html}");
    let emails = sandbox.items(format!("{thread}/emails"));
    assert_eq!(sandbox.column(format!("{thread}/emails"), "direction"), ["inbound", "outbound"]);
    assert_eq!(emails[1]["attachments"].as_array().unwrap().len(), 2);
    let path = format!("{thread}/emails/{}/forward", id_of(&emails[1]));
    assert_eq!(sandbox.post(&path, &json!({ "to": ["x@acme.test"] })).status, 200);
    assert_eq!(sandbox.mails()[0].attachments.len(), 2, "also those of a sent email");
}

#[test]
fn a_repeated_request_with_its_key_sends_nothing_again() {
    let (sandbox, inbox) = with_inbox();
    let (thread, email) = received(&sandbox, &inbox);
    let reply = |path: &str, key: &str| {
        let ask = sandbox.ask(http::Method::POST, format!("{path}/reply")).header("idempotency-key", key);
        ask.json(&json!({ "text": "x" }))
    };
    let (first, second) = (reply(&email, "k"), reply(&email, "k"));
    assert_eq!((second.status.as_u16(), second.json()), (200, first.json()));
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!(sandbox.items(format!("{thread}/emails")).len(), 2);
    let own = format!("{thread}/emails/{}", first.json()["id"].as_str().unwrap());
    let other = reply(&own, "k");
    assert_ne!(other.json()["id"], first.json()["id"], "a key belongs to one path");
    assert_eq!(sandbox.mails().len(), 2);
}

#[test]
fn what_cannot_be_sent_is_refused_with_the_field_and_the_rule() {
    let (sandbox, inbox) = with_inbox();
    let (thread, email) = received(&sandbox, &inbox);
    let many: Vec<_> = (0..51).map(|n| format!("a{n}@example.com")).collect();
    let files = |count: usize| vec![json!({ "filename": "a.txt", "content": "YQ==" }); count];
    let hosted = |path: &str| json!([{ "path": path }]);
    let file = |name: &str| json!([{ "filename": name, "content": "YQ==" }]);
    let large = json!([{ "filename": "a.bin", "content": "AAAA".repeat((25 << 20) / 3 + 1) }]);
    for (field, value, part) in [
        ("cc", json!(&many[..50]), "at most 50 addresses in total; found 51"),
        ("headers", json!({ "in-reply-to": "<x@y>" }), "must not have `In-Reply-To`, `References` or"),
        ("headers", json!({ "References": "<x@y>" }), "which the service sets"),
        ("headers", json!({ "Reply-To": "a@b.test" }), "which the service sets"),
        ("attachments", json!(files(11)), "`attachments` must have at most 10 items; found 11"),
        ("attachments", large, "at most 26214400 bytes in total"),
        ("attachments", file("run.EXE"), "must not be a file with the ending `.exe`"),
        (
            "attachments",
            hosted("http://localhost:1/a.txt"),
            "`attachments[0].path` must not be on this machine",
        ),
        ("attachments", hosted("https://[::ffff:127.0.0.1]/a"), "must not be on this machine"),
        ("attachments", hosted("http://files.localhost./a"), "must not be on this machine"),
        ("attachments", hosted("file:///etc/passwd"), "must be an http or https address"),
        ("text", json!(""), "`html` or `text` must have content"),
        ("text", Value::Null, "The body must have at least one of `html`, `text`"),
    ] {
        let mut body = json!({ "text": "x" });
        body[field] = value;
        if body["text"].is_null() {
            body.as_object_mut().unwrap().remove("text");
        }
        sandbox.post(&format!("{email}/reply"), &body).invalid(part);
    }
    sandbox.post(&format!("{email}/forward"), &json!({})).invalid("Missing `to`");
    let to = json!({ "to": "a@b.test", "cc": many[..25], "bcc": many[25..] });
    sandbox.post(&format!("{email}/forward"), &to).invalid("found 52");
    assert!(sandbox.mails().is_empty());
    assert_eq!(sandbox.items(format!("{thread}/emails")).len(), 1);
    let elsewhere = json!({ "text": "x", "attachments": hosted("https://files.example.com/a.pdf") });
    sandbox.created(&format!("{inbox}/drafts"), &elsewhere);
}

#[test]
fn an_email_from_an_inbox_counts_against_the_quota() {
    let settings =
        idempost_reference_server::Settings { beta: true, daily_quota: Some(2), ..Default::default() };
    let sandbox = Sandbox::with(&settings);
    let inbox = sandbox.created("/inboxes", &json!({ "email_address": super::ADDRESS }));
    let inbox = format!("/inboxes/{inbox}");
    let (thread, email) = received(&sandbox, &inbox);
    let answer = sandbox.post(&format!("{email}/reply"), &json!({ "text": "x", "reply_all": true }));
    answer.rejected(429, "daily_quota_exceeded", "The daily quota");
    let draft = json!({ "to": ["a@b.test", "b@b.test", "c@b.test"], "text": "x" });
    let draft = sandbox.created(&format!("{inbox}/drafts"), &draft);
    let answer = sandbox.post(&format!("{inbox}/drafts/{draft}/send"), &json!({}));
    answer.rejected(429, "daily_quota_exceeded", "quota of 2 emails");
    assert!(answer.header("retry-after").is_some_and(|seconds| seconds != "0"));
    sandbox.advance(86_400);
    assert_eq!(sandbox.items(format!("{thread}/emails")).len(), 1);
    assert_eq!(sandbox.items(format!("{inbox}/drafts")).len(), 1, "the draft can still be sent");
}
