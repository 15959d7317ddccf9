//! The attachments of sent emails: listing and downloading.

use bytes::Bytes;
use http::Method;
use idempost_reference_server::Fetched;
use serde_json::{Value, json};

use crate::restarts::{close, open};
use crate::support::{Answer, KEY, Sandbox, email, email_with, expect_fields_of};

fn with_files() -> Value {
    let mut email = email_with(
        "attachments",
        json!([
            {"filename": "notes.txt", "content": "bm90ZXM="},
            {"filename": "logo.png", "content": "iVBORw0KGgo=", "content_id": "logo"},
            {"content": "", "content_type": "application/x-none"},
        ]),
    );
    email["html"] = "<img src=cid:logo>".into();
    email
}

fn fetch(sandbox: &Sandbox, file: &Value) -> Answer {
    let path = file["download_url"].as_str().unwrap().strip_prefix("http://sandbox.invalid").unwrap();
    sandbox.ask(Method::GET, path).no_key().send("")
}

fn files(sandbox: &Sandbox, id: &str) -> Vec<Value> {
    let list = sandbox.get(format!("/emails/{id}/attachments")).json();
    list["data"].as_array().unwrap_or_else(|| panic!("{list}")).clone()
}

#[test]
fn the_detail_record_lists_the_attachments_without_download_urls() {
    // SENT-11
    let sandbox = Sandbox::new();
    let mut scheduled = with_files();
    scheduled["scheduled_at"] = "in 1 hour".into();
    for sent in [with_files(), scheduled] {
        let id = sandbox.sent(&sent);
        let mut listed = files(&sandbox, &id);
        for file in &mut listed {
            let file = file.as_object_mut().unwrap();
            assert!(file.remove("download_url").is_some() && file.remove("expires_at").is_some());
        }
        assert_eq!((listed.len(), &sandbox.record(&id)["attachments"]), (3, &json!(listed)));
    }
}

#[test]
fn attachments_are_listed_in_their_order_and_downloaded_for_an_hour() {
    let sandbox = Sandbox::new();
    let (id, other) = (sandbox.sent(&with_files()), sandbox.sent(&with_files()));
    let found = files(&sandbox, &id);
    let shown: Vec<_> = found
        .iter()
        .map(|file| {
            json!([
                file["filename"],
                file["content_type"],
                file["content_id"],
                file["content_disposition"],
                file["size"]
            ])
        })
        .collect();
    assert_eq!(
        shown,
        [
            json!(["notes.txt", "text/plain", null, "attachment", 5]),
            json!(["logo.png", "image/png", "logo", "inline", 8]),
            json!(["attachment-3", "application/x-none", null, "attachment", 0]),
        ]
    );
    let ids = |files: &[Value]| files.iter().map(|file| file["id"].clone()).collect::<Vec<_>>();
    let others = ids(&files(&sandbox, &other));
    assert!(!others.is_empty());
    assert!(!others.iter().any(|id| ids(&found).contains(id)), "IDs are unique");
    for (file, content) in found.iter().zip([&b"notes"[..], b"\x89PNG\r\n\x1a\n", b""]) {
        assert_eq!(file["expires_at"], "2026-03-02T13:00:00.000Z");
        let answer = fetch(&sandbox, file);
        assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, content));
        assert_eq!(answer.header("content-type").unwrap(), file["content_type"]);
        assert!(answer.header("content-disposition").unwrap().starts_with("attachment;"));
        let one = sandbox.get(format!("/emails/{id}/attachments/{}", file["id"].as_str().unwrap())).json();
        assert_eq!(one["object"], "attachment");
        expect_fields_of(file, &one);
    }
    sandbox.advance(3_600);
    let expired = fetch(&sandbox, &found[0]);
    expired.rejected(403, "expired_link", "");
    assert_eq!(ids(&files(&sandbox, &id)), ids(&found), "IDs are constant");
    assert_eq!(fetch(&sandbox, &files(&sandbox, &id)[0]).text(), "notes");
}

#[test]
fn attachments_are_paged_and_belong_to_one_email_of_one_account() {
    let sandbox = Sandbox::new();
    let (id, plain) = (sandbox.sent(&with_files()), sandbox.sent(&email()));
    let found = files(&sandbox, &id);
    let page = sandbox
        .get(format!("/emails/{id}/attachments?limit=1&after={}", found[0]["id"].as_str().unwrap()))
        .json();
    assert_eq!((&page["data"][0]["id"], &page["has_more"]), (&found[1]["id"], &json!(true)));
    assert_eq!(files(&sandbox, &plain), [Value::Null; 0]);
    let none = "8b3c4d5e-0000-4000-8000-000000000000";
    let of_other = format!("/emails/{plain}/attachments/{}", found[0]["id"].as_str().unwrap());
    for path in [format!("/emails/{none}/attachments"), format!("/emails/{id}/attachments/{none}"), of_other]
    {
        assert_eq!(
            (sandbox.get(&path).status.as_u16(), sandbox.get(&path).name().as_str()),
            (404, "not_found")
        );
    }
    assert_eq!(sandbox.get("/emails/x/attachments").name(), "invalid_parameter");
    assert_eq!(sandbox.get(format!("/emails/{id}/attachments/x")).name(), "invalid_parameter");
    sandbox.ask(Method::GET, format!("/emails/{id}/attachments")).key("sb_other").send("").expect_status(404);
    // The token of a sent file is none of a received one.
    let url = found[0]["download_url"].as_str().unwrap().replace("/_/files/", "/_/received-files/");
    let crossed = fetch(&sandbox, &json!({ "download_url": url }));
    crossed.rejected(403, "invalid_link", "");
}

#[test]
fn attachments_exist_before_and_after_a_schedule_and_not_after_a_cancellation() {
    let sandbox = Sandbox::new();
    let mut scheduled = with_files();
    scheduled["scheduled_at"] = "2026-03-02T13:00:00Z".into();
    let (id, canceled) = (sandbox.sent(&scheduled), sandbox.sent(&scheduled));
    let before = files(&sandbox, &id);
    assert_eq!(fetch(&sandbox, &before[0]).text(), "notes");
    assert_eq!(files(&sandbox, &canceled).len(), 3);
    sandbox.ask(Method::POST, format!("/emails/{canceled}/cancel")).send("");
    assert_eq!(files(&sandbox, &canceled), [Value::Null; 0]);
    sandbox.advance(3_599);
    sandbox.advance(2);
    assert_eq!(sandbox.mails().len(), 1);
    let after = files(&sandbox, &id);
    assert_eq!((after.len(), &after[1]["id"]), (3, &before[1]["id"]));
    assert_eq!(fetch(&sandbox, &after[0]).text(), "notes");
}

#[test]
fn emails_of_templates_have_their_attachments() {
    let sandbox = Sandbox::new();
    let template = json!({"name": "Welcome", "alias": "welcome", "from": "hi@acme.test", "subject": "Hi", "html": "<p>Hi"});
    sandbox.post("/templates", &template);
    sandbox.ask(Method::POST, "/templates/welcome/publish").send("");
    let id = sandbox.sent(&json!({
        "to": "ada@example.com", "template": {"id": "welcome"},
        "attachments": [{"filename": "a.txt", "content": "YQ=="}],
    }));
    assert_eq!(fetch(&sandbox, &files(&sandbox, &id)[0]).text(), "a");
}

#[test]
fn hosted_attachments_have_content_once_they_are_fetched() {
    let sandbox = Sandbox::new();
    let mut email =
        email_with("attachments", json!([{"path": "https://files.acme.test/a.pdf"}, {"content": "YQ=="}]));
    email["scheduled_at"] = "2026-03-02T13:00:00Z".into();
    let id = sandbox.sent(&email);
    let waiting = files(&sandbox, &id);
    assert_eq!((&waiting[0]["filename"], &waiting[0]["size"]), (&json!("a.pdf"), &json!(0)));
    let early = fetch(&sandbox, &waiting[0]);
    early.rejected(404, "not_found", "");
    assert_eq!(fetch(&sandbox, &waiting[1]).text(), "a");
    sandbox.advance(3_600);
    assert_eq!(files(&sandbox, &id), [Value::Null; 0], "while they are fetched");
    let job = sandbox.service.next_fetch().unwrap();
    sandbox.service.finish_fetch(job, Ok(vec![Fetched { index: 0, content: Bytes::from_static(b"%PDF") }]));
    let fetched = files(&sandbox, &id);
    assert_eq!((&fetched[0]["id"], &fetched[0]["size"]), (&waiting[0]["id"], &json!(4)));
    assert_eq!(fetch(&sandbox, &fetched[0]).text(), "%PDF");
}

#[test]
fn attachments_and_their_links_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (sandbox, persistence) = open(folder.path());
    let mut scheduled = with_files();
    scheduled["scheduled_at"] = "2026-03-02T13:00:00Z".into();
    let ids = [sandbox.sent(&with_files()), sandbox.sent(&scheduled)];
    let before = ids.each_ref().map(|id| files(&sandbox, id));
    close(sandbox, persistence);
    let (sandbox, persistence) = open(folder.path());
    for (id, before) in ids.iter().zip(&before) {
        assert_eq!(&files(&sandbox, id), before);
        assert_eq!(fetch(&sandbox, &before[0]).text(), "notes");
    }
    close(sandbox, persistence);
}

#[test]
fn a_deleted_email_has_no_files_and_its_links_lead_nowhere() {
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&with_files());
    let found = files(&sandbox, &id);
    sandbox.delete("/_/messages");
    assert_eq!(fetch(&sandbox, &found[0]).status, 404);
    sandbox.ask(Method::POST, "/_/reset").send("");
    assert_eq!(fetch(&sandbox, &found[0]).status, 404);
    assert_eq!(sandbox.ask(Method::GET, format!("/emails/{id}/attachments")).key(KEY).send("").status, 404);
}
