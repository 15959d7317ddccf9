//! The attachments of sent emails: listing and downloading.

use bytes::Bytes;
use idempost_reference_server::Fetched;
use serde_json::{Value, json};

use crate::restarts::Restartable;
use crate::support::{Answer, Sandbox, UNKNOWN_ID, email, email_of, expect_fields_of, merged};

fn with_files() -> Value {
    let attachments = json!([
        {"filename": "notes.txt", "content": "bm90ZXM="},
        {"filename": "logo.png", "content": "iVBORw0KGgo=", "content_id": "logo"},
        {"content": "", "content_type": "application/x-none"},
    ]);
    email_of(&json!({"attachments": attachments, "html": "<img src=cid:logo>"}))
}

fn fetch(sandbox: &Sandbox, file: &Value) -> Answer {
    sandbox.visit(file["download_url"].as_str().unwrap())
}

fn files(sandbox: &Sandbox, id: &str) -> Vec<Value> {
    sandbox.items(format!("/emails/{id}/attachments"))
}

#[test]
fn the_detail_record_lists_the_attachments_without_download_urls() {
    // SENT-11
    let sandbox = Sandbox::new();
    let scheduled = merged(with_files(), &json!({"scheduled_at": "in 1 hour"}));
    for sent in [with_files(), scheduled] {
        let id = sandbox.sent(&sent);
        let mut listed = files(&sandbox, &id);
        for file in &mut listed {
            let file = file.as_object_mut().unwrap();
            assert!(file.remove("download_url").is_some() && file.remove("expires_at").is_some());
        }
        assert_eq!(listed.len(), 3);
        assert_eq!(sandbox.record(&id)["attachments"], json!(listed));
    }
}

#[test]
fn the_name_of_a_downloaded_file_shows_its_type() {
    let sandbox = Sandbox::new();
    let attachments = json!([{"filename": "bill\u{202e}fdp.exe\u{200f}", "content": "eA=="}]);
    let id = sandbox.sent(&email_of(&json!({"attachments": attachments})));
    let answer = fetch(&sandbox, &files(&sandbox, &id)[0]);
    assert_eq!(
        answer.header("content-disposition"),
        Some("attachment; filename*=utf-8''bill%5Ffdp%2Eexe%5F"),
        "direction marks could disguise the type"
    );
}

#[test]
fn attachments_are_listed_in_their_order_and_downloaded_for_an_hour() {
    let sandbox = Sandbox::new();
    let (id, other) = (sandbox.sent(&with_files()), sandbox.sent(&with_files()));
    let found = files(&sandbox, &id);
    let shown = json!([
        {"filename": "notes.txt", "content_type": "text/plain", "content_id": null,
         "content_disposition": "attachment", "size": 5},
        {"filename": "logo.png", "content_type": "image/png", "content_id": "logo",
         "content_disposition": "inline", "size": 8},
        {"filename": "attachment-3", "content_type": "application/x-none", "content_id": null,
         "content_disposition": "attachment", "size": 0},
    ]);
    assert_eq!(found.len(), 3);
    for (file, shown) in found.iter().zip(shown.as_array().unwrap()) {
        expect_fields_of(shown, file);
    }
    let ids = |files: &[Value]| files.iter().map(|file| file["id"].clone()).collect::<Vec<_>>();
    let others = ids(&files(&sandbox, &other));
    assert!(!others.is_empty());
    assert!(!others.iter().any(|id| ids(&found).contains(id)), "IDs are unique");
    for (file, content) in found.iter().zip([&b"notes"[..], b"\x89PNG\r\n\x1a\n", b""]) {
        assert_eq!(file["expires_at"], "2026-03-02T13:00:00.000Z");
        let answer = fetch(&sandbox, file);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, content);
        assert_eq!(answer.header("content-type").unwrap(), file["content_type"]);
        assert!(answer.header("content-disposition").unwrap().starts_with("attachment;"));
        let one = sandbox.get(format!("/emails/{id}/attachments/{}", file["id"].as_str().unwrap())).json();
        assert_eq!(one["object"], "attachment");
        expect_fields_of(file, &one);
    }
    sandbox.advance(3_600);
    fetch(&sandbox, &found[0]).rejected(403, "expired_link", "");
    assert_eq!(ids(&files(&sandbox, &id)), ids(&found), "IDs are constant");
    assert_eq!(fetch(&sandbox, &files(&sandbox, &id)[0]).text(), "notes");
}

#[test]
fn attachments_are_paged_and_belong_to_one_email_of_one_account() {
    let sandbox = Sandbox::new();
    let (id, plain) = (sandbox.sent(&with_files()), sandbox.sent(&email()));
    let found = files(&sandbox, &id);
    let first = found[0]["id"].as_str().unwrap();
    let page = sandbox.get(format!("/emails/{id}/attachments?limit=1&after={first}")).json();
    assert_eq!(page["data"][0]["id"], found[1]["id"]);
    assert_eq!(page["has_more"], true);
    assert_eq!(files(&sandbox, &plain), [Value::Null; 0]);
    for (email, file) in [(UNKNOWN_ID, ""), (&*id, UNKNOWN_ID), (&*plain, first)] {
        let path = format!("/emails/{email}/attachments/{file}");
        sandbox.get(path.trim_end_matches('/')).rejected(404, "not_found", "");
    }
    assert_eq!(sandbox.get("/emails/x/attachments").name(), "invalid_parameter");
    assert_eq!(sandbox.get(format!("/emails/{id}/attachments/x")).name(), "invalid_parameter");
    sandbox.account("sb_other").get(format!("/emails/{id}/attachments")).expect_status(404);
    // The token of a sent file is none of a received one.
    let url = found[0]["download_url"].as_str().unwrap().replace("/_/files/", "/_/received-files/");
    sandbox.visit(&url).rejected(403, "invalid_link", "");
}

#[test]
fn attachments_exist_before_and_after_a_schedule_and_not_after_a_cancellation() {
    let sandbox = Sandbox::new();
    let scheduled = merged(with_files(), &json!({"scheduled_at": "2026-03-02T13:00:00Z"}));
    let (id, canceled) = (sandbox.sent(&scheduled), sandbox.sent(&scheduled));
    let before = files(&sandbox, &id);
    assert_eq!(fetch(&sandbox, &before[0]).text(), "notes");
    assert_eq!(files(&sandbox, &canceled).len(), 3);
    sandbox.act(format!("/emails/{canceled}/cancel"));
    assert_eq!(files(&sandbox, &canceled), [Value::Null; 0]);
    sandbox.advance(3_599);
    sandbox.advance(2);
    assert_eq!(sandbox.mails().len(), 1);
    let after = files(&sandbox, &id);
    assert_eq!(after.len(), 3);
    assert_eq!(after[1]["id"], before[1]["id"]);
    assert_eq!(fetch(&sandbox, &after[0]).text(), "notes");
}

#[test]
fn emails_of_templates_have_their_attachments() {
    let sandbox = Sandbox::new();
    let template = json!({"name": "Welcome", "alias": "welcome", "from": "hi@acme.test", "subject": "Hi", "html": "<p>Hi"});
    sandbox.published(&template);
    let id = sandbox.sent(&json!({
        "to": "ada@example.com", "template": {"id": "welcome"},
        "attachments": [{"filename": "a.txt", "content": "YQ=="}],
    }));
    assert_eq!(fetch(&sandbox, &files(&sandbox, &id)[0]).text(), "a");
}

#[test]
fn hosted_attachments_have_content_once_they_are_fetched() {
    let sandbox = Sandbox::new();
    let attachments = json!([{"path": "https://files.acme.test/a.pdf"}, {"content": "YQ=="}]);
    let id =
        sandbox.sent(&email_of(&json!({"attachments": attachments, "scheduled_at": "2026-03-02T13:00:00Z"})));
    let waiting = files(&sandbox, &id);
    expect_fields_of(&json!({"filename": "a.pdf", "size": 0}), &waiting[0]);
    fetch(&sandbox, &waiting[0]).rejected(404, "not_found", "");
    assert_eq!(fetch(&sandbox, &waiting[1]).text(), "a");
    sandbox.advance(3_600);
    assert_eq!(files(&sandbox, &id), [Value::Null; 0], "while they are fetched");
    let job = sandbox.service.next_fetch().unwrap();
    sandbox.service.finish_fetch(job, Ok(vec![Fetched { index: 0, content: Bytes::from_static(b"%PDF") }]));
    let fetched = files(&sandbox, &id);
    expect_fields_of(&json!({"id": waiting[0]["id"], "size": 4}), &fetched[0]);
    assert_eq!(fetch(&sandbox, &fetched[0]).text(), "%PDF");
}

#[test]
fn attachments_and_their_links_survive_a_restart() {
    let mut sandbox = Restartable::new();
    let scheduled = merged(with_files(), &json!({"scheduled_at": "2026-03-02T13:00:00Z"}));
    let ids = [sandbox.sent(&with_files()), sandbox.sent(&scheduled)];
    let before = ids.each_ref().map(|id| files(&sandbox, id));
    sandbox.restart();
    for (id, before) in ids.iter().zip(&before) {
        assert_eq!(&files(&sandbox, id), before);
        assert_eq!(fetch(&sandbox, &before[0]).text(), "notes");
    }
}

#[test]
fn a_deleted_email_has_no_files_and_its_links_lead_nowhere() {
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&with_files());
    let found = files(&sandbox, &id);
    sandbox.delete("/_/messages");
    assert_eq!(fetch(&sandbox, &found[0]).status, 404);
    sandbox.act("/_/reset");
    assert_eq!(fetch(&sandbox, &found[0]).status, 404);
    sandbox.get(format!("/emails/{id}/attachments")).expect_status(404);
}
