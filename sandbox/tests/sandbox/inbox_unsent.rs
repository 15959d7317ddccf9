//! Unsent emails (pending, failed or canceled) in the inbox.

use http::Method;
use serde_json::{Value, json};

use crate::inbox_live::open_stream;
use crate::restarts::Restartable;
use crate::support::{Sandbox, email, email_with, expect_fields_of};

/// An email suppressed by its recipient's topic choice.
fn create_opted_out_email(sandbox: &Sandbox) -> String {
    let topic = json!({"name": "News", "default_subscription": "opt_out"});
    let topic = sandbox.post("/topics", &topic).json()["id"].clone();
    sandbox.sent(&email_with("topic_id", topic))
}

/// Creates one email in each unsent state; returns ids, states and reasons.
fn one_of_each(sandbox: &Sandbox) -> Vec<(String, &'static str, Value)> {
    let scheduled = sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    let canceled = sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    assert_eq!(sandbox.ask(Method::POST, format!("/emails/{canceled}/cancel")).send("").status, 200);
    let files = json!([{"path": "http://127.0.0.1:9/file.pdf"}]);
    vec![
        (scheduled, "scheduled", Value::Null),
        (canceled, "canceled", Value::Null),
        (sandbox.sent(&email_with("attachments", files)), "queued", Value::Null),
        (create_opted_out_email(sandbox), "failed", json!("recipients_opted_out")),
        (sandbox.sent(&email_with("to", "failed@example.com")), "failed", json!("recipient_refused")),
        (sandbox.sent(&email_with("to", "suppressed@example.com")), "suppressed", Value::Null),
    ]
}

#[test]
fn unsent_emails_are_listed_only_with_a_state_filter() {
    let sandbox = Sandbox::new();
    let each = one_of_each(&sandbox);
    let left = sandbox.sent(&email());
    let mut found = sandbox.items("/_/messages?state=unsent");
    found.reverse();
    assert_eq!(found.len(), each.len(), "{found:?}");
    for (one, (id, state, reason)) in found.iter().zip(&each) {
        assert_eq!((&one["id"], &one["email_id"]), (&json!(id), &json!(id)));
        assert_eq!((&one["state"], &one["reason"]), (&json!(state), reason), "{one}");
    }
    assert_eq!(found[0]["scheduled_at"], "2026-03-02 13:00:00.000000+00");
    assert_eq!(found[0]["subject"], "Hello");
    for query in ["", "?state=sent"] {
        let sent = sandbox.column(format!("/_/messages{query}"), "email_id");
        assert_eq!(sent, [left.as_str()], "without a state only mails are listed");
    }
    let failed: Vec<_> = each.iter().filter(|(_, state, _)| *state == "failed").map(|(id, ..)| id).collect();
    assert_eq!(sandbox.get("/_/messages?state=failed").ids(), [failed[1].as_str(), failed[0].as_str()]);
}

#[test]
fn unsent_emails_are_searched_and_paged_like_mails() {
    let sandbox = Sandbox::new();
    let mut all = Vec::new();
    for number in 0..5 {
        let mut email = email_with("scheduled_at", "in 1 hour");
        email["subject"] = format!("Number {number}").into();
        email["text"] = format!("word{number}").into();
        all.insert(0, sandbox.sent(&email));
        sandbox.sent(&email_with("subject", "left"));
    }
    let page = |query: &str| sandbox.get(format!("/_/messages?state=unsent&{query}"));
    assert_eq!(page("limit=2").ids(), all[..2]);
    assert_eq!(page(&format!("limit=2&after={}", all[1])).ids(), all[2..4]);
    assert_eq!(page(&format!("limit=2&after={}", all[1])).json()["has_more"], true);
    assert_eq!(page(&format!("limit=2&after={}", all[3])).json()["has_more"], false);
    assert_eq!(page(&format!("limit=2&before={}", all[3])).ids(), all[1..3]);
    assert_eq!(page("query=WORD3").ids(), all[1..2]);
    assert_eq!(page("subject=number%200").ids(), all[4..]);
    assert!(page("to=nobody").ids().is_empty());
    // An email sent in the meantime is still a valid cursor.
    sandbox.advance(3_600);
    assert!(page(&format!("after={}", all[2])).ids().is_empty());
    assert_eq!(
        sandbox.ask(Method::GET, "/_/messages?state=unsent").key("sb_other").send("").json()["data"],
        json!([])
    );
}

#[test]
fn an_unsent_email_has_timeline_bodies_and_request_under_the_path_of_its_later_mail() {
    let sandbox = Sandbox::new();
    for (id, state, reason) in one_of_each(&sandbox) {
        let about = sandbox.get(format!("/_/messages/{id}/about")).json();
        expect_fields_of(&json!({"state": state, "reason": reason, "text_size": 8}), &about);
        let timeline = sandbox.get(format!("/_/messages/{id}/timeline")).json();
        let last = timeline["events"].as_array().unwrap().last().unwrap().clone();
        assert_eq!((&last["event"], &last["reason"]), (&json!(state), &reason), "{timeline}");
        assert_eq!(sandbox.get(format!("/_/messages/{id}/text")).text(), "It works");
        let made = sandbox.get(format!("/_/messages/{id}/request")).json();
        assert_eq!(made["path"], "/emails", "{made}");
        for side in ["", "/raw", "/download", "/files/0"] {
            let path = format!("/_/messages/{id}{side}");
            assert_eq!(sandbox.get(path.as_str()).status, 404, "{path} is of a mail");
        }
    }
    let id = sandbox.get("/_/messages?state=scheduled").ids().remove(0);
    sandbox.advance(3_600);
    assert!(sandbox.get("/_/messages?state=scheduled").ids().is_empty());
    let about = sandbox.get(format!("/_/messages/{id}/about")).json();
    assert_eq!((&about["email_id"], &about["state"]), (&json!(id), &Value::Null), "{about}");
    assert_eq!(sandbox.get(format!("/_/messages/{id}")).json()["email_id"], json!(id));
}

#[test]
fn unsent_emails_and_their_reasons_survive_a_restart() {
    let listed = |sandbox: &Sandbox| -> Vec<(Value, Value)> {
        let list = sandbox.items("/_/messages?state=unsent");
        list.iter().rev().map(|one| (one["state"].clone(), one["reason"].clone())).collect()
    };
    let mut sandbox = Restartable::new();
    one_of_each(&sandbox);
    let mut expected = listed(&sandbox);
    assert_eq!(expected[2].0, "queued");

    sandbox.restart();
    // Its files were being fetched.
    expected[2] = (json!("failed"), json!("attachment_unreachable"));
    assert_eq!(listed(&sandbox), expected);
}

#[tokio::test]
async fn a_pending_email_is_streamed_immediately_and_replaced_by_its_mail() {
    let (server, mut stream, hello) = open_stream().await;
    assert_eq!(hello["unsent"], 0);
    let id = server.sent(&email_with("scheduled_at", "in 1 hour"));
    let news = stream.news(|_| true).await;
    let waiting = news["unsent"][0].clone();
    assert_eq!((&waiting["state"], &news["unsent_count"]), (&json!("scheduled"), &json!(1)));
    assert!(news["mails"].as_array().unwrap().is_empty());

    let moved = server.service.clock().now() + jiff::SignedDuration::from_hours(9);
    server.patch(format!("/emails/{id}"), &json!({"scheduled_at": moved.to_string()}));
    let news = stream.news(|news| news["unsent"][0]["scheduled_at"].is_string()).await;
    assert_ne!(news["unsent"][0]["scheduled_at"], waiting["scheduled_at"]);
    server.post("/_/clock", &json!({"advance": "1 day"})).expect_status(200);
    let news = stream.news(|news| news["mails"][0]["email_id"] == waiting["id"]).await;
    assert_eq!((&news["unsent"], &news["unsent_count"]), (&json!([]), &json!(0)));
}
