//! `received`.

use std::fs;

use idempost_conformance::peer::Act;
use serde_json::json;

use crate::service::{ScriptedPeer, Service};
use crate::support::{Idempost, has};

const MAIL: &str = concat!(
    "From: Ada <ada@example.com>\r\nTo: in@acme.test\r\nSubject: Files\r\nMIME-Version: 1.0\r\n",
    "Content-Type: multipart/mixed; boundary=m\r\n\r\n",
    "--m\r\nContent-Type: text/plain\r\n\r\nHere\r\n",
    "--m\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=\"../../evil.txt\"\r\n\r\none\r\n",
    "--m\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=\"../../evil.txt\"\r\n\r\ntwo\r\n--m--\r\n",
);

#[test]
fn a_received_mail_is_read_and_its_attachments_are_saved_safely() {
    let (_service, idempost) = Service::with_program();
    let id = idempost.run_with(&["sandbox", "receive", "-", "--to", "in@acme.test"], MAIL).ok();
    let id = id.trim();
    assert_eq!(idempost.run("received ls --columns id,subject").ok().trim(), format!("{id}\tFiles"));
    assert_eq!(idempost.run(&["emails", "receiving", "list", "--columns", "id"]).ok().trim(), id);
    idempost.run(&["received", "get", id]).ok_with(&["Ada <ada@example.com>", "Here"]);
    let list = idempost.run(&["received", "attachments", id, "--columns", "filename,size"]).ok();
    assert_eq!(list.trim(), "../../evil.txt\t3\n../../evil.txt\t3");

    let folder = idempost.home().join("saved/deep");
    let name = folder.to_str().unwrap();
    let saved = idempost.run(&["received", "attachments", id, "--download", name]).ok();
    let paths: Vec<_> = saved.lines().collect();
    assert_eq!(paths, [format!("{name}/_._.._evil.txt"), format!("{name}/_._.._evil-2.txt")]);
    assert_eq!(
        fs::read_to_string(paths[0]).unwrap() + fs::read_to_string(paths[1]).unwrap().as_str(),
        "onetwo"
    );
    fs::write(paths[0], "other").unwrap();
    let again = idempost.run(&["received", "attachments", id, "--download", name, "--json"]).json();
    assert_eq!(again["data"][0]["path"], format!("{name}/_._.._evil-3.txt"));
    assert_eq!(again["data"][1]["path"], paths[1], "an identical file isn't saved again");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    idempost.run(&["received", "get", "00000000-0000-4000-8000-000000000000"]).fails(5);
}

#[test]
fn attachments_saved_before_a_failed_download_are_listed() {
    let service = ScriptedPeer::start(|request| match request.target() {
        "/files/1" => Act::answer(200, &[], "one"),
        "/files/2" => Act::refused(500, "internal_server_error"),
        _ => {
            let attachment = |n: u8| {
                json!({ "id": format!("a{n}"), "filename": format!("{n}.txt"), "size": 3, "content_type": "text/plain",
                "content_disposition": "attachment", "expires_at": "2099-01-01T00:00:00Z",
                "download_url": format!("http://{}/files/{n}", request.header("host").unwrap()) })
            };
            let list = json!({ "object": "list", "data": [attachment(1), attachment(2)], "has_more": false });
            Act::json(200, &list.to_string())
        }
    });
    let idempost = Idempost::at(service.base_url(), "sb_x");
    let ran = idempost.run("received attachments e1 --download saved --retries 0").exits(7);
    assert_eq!((ran.stdout.as_str(), idempost.read("saved/1.txt").as_str()), ("saved/1.txt\n", "one"));
}

#[test]
fn the_checks_of_the_sender_are_set_and_shown() {
    let service = Service::start();
    let id = service.run_with("sandbox receive - --spf pass --dkim gray --dmarc fail", MAIL).ok();
    let ran = service.run(&["received", "get", id.trim()]);
    ran.ok_with(&["authentication  spf pass, dkim gray, dmarc fail\n"]);
    let json = service.run(&["received", "get", id.trim(), "--html-format", "cid", "--json"]).json();
    assert_eq!(json["authentication"], json!({"spf": "pass", "dkim": "gray", "dmarc": "fail"}));
    assert_eq!(json["html_format"], "cid");
    service.run_with("sandbox receive - --spf good", MAIL).fails_with(3, &["`spf` must be one of `pass`"]);
    let ran = service.run(&["received", "get", id.trim(), "--html-format", "inline"]);
    ran.fails_with(3, &["`html_format` must be one of `data_uri`, `cid`"]);
}

#[test]
fn a_mail_is_composed_from_flags() {
    let (_service, idempost) = Service::with_program();
    idempost.write("log.txt", "a log");
    let receive = "sandbox receive --from ada@example.com --to in@acme.test --subject Help --text 'It broke'";
    let id = idempost.run(&(receive, "--attach log.txt")).ok();
    let email = idempost.run(&["received", "get", id.trim(), "--json"]).json();
    has(&email, &json!({"subject": "Help", "received_for": ["in@acme.test"]}));
    assert_eq!(email["attachments"][0]["filename"], "log.txt");
}

/// An email with an image in its HTML and a file, both with hostile names.
const RICH: &str = concat!(
    "From: Ada <ada@example.com>\r\nTo: support@acme.test, Bob <bob@example.com>\r\nCc: c@example.com\r\n",
    "Reply-To: desk@example.com\r\nSubject: =?utf-8?b?R3LDvMOfZQ==?=\r\nMessage-ID: <m2@example.com>\r\nReferences: <m1@example.com>\r\n",
    "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n",
    "--m\r\nContent-Type: text/html\r\n\r\n<img src=\"cid:logo@acme\">\r\n",
    "--m\r\nContent-Type: image/png\r\nContent-ID: <logo@acme>\r\nContent-Disposition: inline; filename=logo.png\r\n",
    "Content-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n",
    "--m\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=\"../notes.txt\"\r\n\r\nnotes\r\n--m--\r\n",
);

#[test]
fn a_received_mail_is_forwarded_once_per_key() {
    let service = Service::start();
    let id = service.run_with(&["sandbox", "receive", "-", "--to", "support@acme.test"], RICH).ok();
    let flags = "--from hi@acme.test --to eve@example.com dan@example.com --idempotency-key forward-1";
    let keyed = (["received", "forward", id.trim()], flags);
    let sent = service.run(&keyed).says(&["accepted for 2 recipients"]);
    assert_eq!(service.run(&keyed).ok(), sent.ok(), "the retry returns the first email");
    let mail = service.run(&["sandbox", "inbox", "list", "--json"]).json();
    assert_eq!(mail["data"].as_array().unwrap().len(), 1);
    let mail = &mail["data"][0];
    has(mail, &json!({"subject": "Grüße", "to": ["eve@example.com", "dan@example.com"]}));
    assert_eq!(
        mail["attachments"],
        json!([
            {"filename": "logo.png", "content_type": "image/png", "size": 8, "content_id": "logo@acme"},
            {"filename": "notes.txt", "content_type": "text/plain", "size": 5, "content_id": null},
        ])
    );
    let html =
        service.run(&["sandbox", "inbox", "get", mail["id"].as_str().unwrap(), "--json"]).json()["html"]
            .clone();
    assert_eq!(html.as_str().unwrap().trim_end(), "<img src=\"cid:logo@acme\">");
}

#[test]
fn a_wrapped_forward_has_the_original_as_its_attachment() {
    let service = Service::start();
    let id = service.run_with(&["sandbox", "receive", "-", "--to", "support@acme.test"], RICH).ok();
    let forward = "received forward --from hi@acme.test --to abuse@example.com --wrap --text 'See below.'";
    let wrapped = (forward, [id.trim()]);
    let plan = service.run(&(&wrapped, "--dry-run")).json();
    let body = &plan["dry_run"]["body"];
    has(body, &json!({"subject": "Fwd: Grüße", "text": "See below."}));
    assert_eq!(body["attachments"][0]["content"]["bytes"], RICH.len());
    assert_eq!(body["attachments"][0]["filename"], "forwarded_message.eml");
    assert_eq!(service.run(&["sandbox", "inbox", "list"]).ok().trim(), "");
    service.run(&wrapped).ok();
    let mail = service.run(&["sandbox", "inbox", "list", "--json"]).json()["data"][0].clone();
    assert_eq!(mail["attachments"][0]["content_type"], "message/rfc822");

    let none = "00000000-0000-4000-8000-000000000000";
    service.run(&["received", "forward", none, "--from", "hi@acme.test", "--to", "a@x.test"]).fails(5);
}

#[test]
fn a_reply_stays_in_the_thread_and_goes_to_all_on_request() {
    let service = Service::start();
    let id = service.run_with(&["sandbox", "receive", "-", "--to", "support@acme.test"], RICH).ok();
    let reply = ("received reply --from 'Support <support@acme.test>' --text 'On it.'", [id.trim()]);
    let body = |flags| service.run(&((&reply, flags), "--dry-run")).json()["dry_run"]["body"].clone();
    let one = body("");
    has(&one, &json!({"to": ["desk@example.com"], "subject": "Re: Grüße"}));
    let expected =
        json!({"In-Reply-To": "<m2@example.com>", "References": "<m1@example.com> <m2@example.com>"});
    assert_eq!(one["headers"], expected);
    assert_eq!(one["cc"], json!(null));
    let all = body("--reply-all --cc boss@acme.test --subject Done");
    assert_eq!(all["to"], json!(["desk@example.com", "Bob <bob@example.com>"]));
    has(&all, &json!({"cc": ["c@example.com", "boss@acme.test"], "subject": "Done"}));
    service.run(&(&reply, "--reply-all")).ok();
    let source = service.run(&["sandbox", "inbox", "list", "--json"]).json()["data"][0].clone();
    has(&source, &json!({"to": ["desk@example.com", "Bob <bob@example.com>"], "cc": ["c@example.com"]}));
}

#[test]
fn attachments_of_a_sent_mail_are_listed_and_saved() {
    let (_service, idempost) = Service::with_program();
    idempost.write("log.txt", "a log");
    let send = "emails send --from hi@acme.test --to ada@example.com --subject Log --text Hi";
    let id = idempost.run(&(send, "--attach log.txt")).ok();
    let list = idempost.run(&["emails", "attachments", id.trim(), "--columns", "filename,size"]).ok();
    assert_eq!(list.trim(), "log.txt\t5");
    let saved = idempost.run(&["emails", "attachments", id.trim(), "--download", "sent"]).ok();
    assert_eq!(idempost.read(saved.trim()), "a log");
    idempost.run(&["emails", "attachments", "00000000-0000-4000-8000-000000000000"]).fails(5);
}

#[test]
fn sent_and_received_mails_are_shared_by_links_that_expire() {
    let service = Service::start();
    let received = service.run_with(&["sandbox", "receive", "-", "--to", "in@acme.test"], MAIL).ok();
    let send = "emails send --from hi@acme.test --to ada@example.com --subject Log --text Hi";
    for id in [received, service.run(&send).ok()] {
        service.run(&["emails", "share", id.trim(), "--for", "1h 30m"]).ok_with(&["/_/shared/"]);
        let json = service.run(&["emails", "share", id.trim(), "--json"]).json();
        assert_eq!(json["id"], id.trim());
    }
    let plan = service.run("emails share 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --for 90m --dry-run").json();
    assert_eq!(plan["dry_run"]["body"], json!({"expires_in": "1h 30m"}));
}
