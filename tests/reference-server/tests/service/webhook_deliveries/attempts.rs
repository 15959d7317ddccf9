//! Attempts: outcomes, listing, and replays.

use std::time::Duration;

use idempost_reference_server::{Posted, Settings};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{attempted, deliver, event_types, replay, sent, signature, text, webhook};
use crate::support::{Sandbox, email, email_with};

#[test]
fn in_flight_attempts_are_listed_and_a_late_failure_does_not_undo_a_success() {
    let (sandbox, path) = sent();
    let status = || sandbox.get(format!("{path}/events")).json()["data"][0]["status"].clone();
    let slow = sandbox.service.next_post().unwrap();
    assert_eq!(status(), "attempting");
    let event = slow.headers["svix-id"].to_str().unwrap().to_owned();
    replay(&sandbox, &format!("{path}/events/{event}"));
    assert_eq!(deliver(&sandbox, Some(200)).len(), 1);
    assert_eq!(status(), "success");
    sandbox.service.finish_post(slow, Posted::default());
    assert_eq!(status(), "success");
    sandbox.advance(10);
    assert!(deliver(&sandbox, Some(200)).is_empty());
}

#[test]
fn a_replay_is_one_immediate_attempt() {
    let (sandbox, path) = sent();
    let (first, event) = attempted(&sandbox, &path, Some(200));
    let answer = sandbox.act(format!("{event}/replay")).json();
    assert_eq!(answer, json!({ "object": "webhook_event", "id": first.header("svix-id") }));
    let again = deliver(&sandbox, Some(500));
    assert_eq!((again.len(), &again[0].body), (1, &first.body));
    let status = &sandbox.get(&*event).json()["status"];
    assert_eq!(status, "success", "a failed replay leaves the event delivered");
    sandbox.advance(5);
    assert!(deliver(&sandbox, Some(200)).is_empty(), "a replay isn't retried");
    let attempts = sandbox.items(format!("{event}/attempts"));
    assert_eq!(attempts.len(), 2);
    assert_eq!(attempts[0]["response"], "seen");
    assert!(text(&attempts[0]["id"]).starts_with("atmpt_"));
}

#[test]
fn the_first_100_attempts_are_listed() {
    let (sandbox, path) = sent();
    let (_, event) = attempted(&sandbox, &path, Some(200));
    let listed = || sandbox.get(format!("{event}/attempts?limit=100")).json();
    let replay = || {
        replay(&sandbox, &event);
        assert_eq!(deliver(&sandbox, Some(500)).len(), 1);
    };
    (1..100).for_each(|_| replay());
    let before = listed();
    assert_eq!((before["data"].as_array().unwrap().len(), &before["has_more"]), (100, &json!(false)));
    replay();
    assert_eq!(listed(), before);
}

#[test]
fn deliveries_are_listed_newest_first_and_paged() {
    let sandbox = Sandbox::new();
    let (path, _) = webhook(&sandbox, &["email.sent"]);
    let (other, _) = webhook(&sandbox, &["email.sent"]);
    (0..25).for_each(|_| drop(sandbox.sent(&email())));
    let page = |query: &str, has_more: bool| {
        let list = sandbox.get(format!("{path}/events{query}")).expect_status(200);
        assert_eq!(list.json()["has_more"], has_more, "{query}");
        list.ids()
    };
    let first = page("", true);
    assert_eq!(first.len(), 20);
    let last = &first[19];
    let rest = page(&format!("?after={last}"), false);
    assert_eq!(rest.len(), 5);
    assert!(rest.iter().all(|id| !first.contains(id)));
    for (query, status) in [
        (format!("{path}/events?before={last}"), 422),
        (format!("{path}/events?after=4dd369bc-aa82-4ff3-97de-514ae3000ee0"), 422),
        // An event of another webhook.
        (format!("{other}/events?after={last}"), 422),
        (format!("{other}/events/{last}"), 404),
        (format!("{path}/events?limit=0"), 422),
        (format!("{path}/events?limit=101"), 422),
        (format!("{path}/events/nonsense"), 422),
        (format!("{path}/events/msg_4dd369bcaa824ff397de514ae3000ee0"), 404),
        ("/webhooks/4dd369bc-aa82-4ff3-97de-514ae3000ee0/events".to_owned(), 404),
    ] {
        assert_eq!(sandbox.get(&*query).status, status, "{query}");
    }
    for (list, unknown) in [
        (format!("{path}/events"), "msg_4dd369bcaa824ff397de514ae3000ee0"),
        (format!("{path}/events/{last}/attempts"), "atmpt_4dd369bcaa824ff397de514ae3000ee0"),
    ] {
        let answer = sandbox.get(format!("{list}?after={unknown}"));
        answer.invalid(&format!("there is none with the id {unknown}"));
    }
}

#[test]
fn ten_thousand_events_for_a_dead_endpoint_are_bounded_and_block_no_other_webhook() {
    let sandbox = Sandbox::with(&Settings { keep_webhook_events: 1_000, ..Settings::default() });
    let (dead, _) = webhook(&sandbox, &["topic.created"]);
    let stuck: Vec<_> = {
        (0..10_000).for_each(|_| drop(sandbox.post("/_/events", &json!({ "type": "topic.created" }))));
        std::iter::from_fn(|| sandbox.service.next_post()).collect()
    };
    assert!(stuck.len() < 100, "{} attempts are under way at once", stuck.len());
    // Its attempts hang; those of another webhook proceed.
    webhook(&sandbox, &["topic.deleted"]);
    sandbox.post("/_/events", &json!({ "type": "topic.deleted" }));
    assert_eq!(event_types(&sandbox), ["topic.deleted"]);
    for post in stuck {
        sandbox.service.finish_post(post, Posted::default());
    }
    let mut walked = 0;
    let mut query = String::new();
    loop {
        let page = sandbox.get(format!("{dead}/events?limit=100{query}")).json();
        let items = page["data"].as_array().unwrap();
        walked += items.len();
        if page["has_more"] == false {
            break;
        }
        query = format!("&after={}", text(&items[items.len() - 1]["id"]));
    }
    assert!(walked <= 1_000, "{walked} are remembered");
}

#[test]
fn a_retry_that_a_successful_replay_made_unnecessary_displaces_no_other_attempt() {
    // At most two attempts wait.
    let sandbox = Sandbox::with(&Settings { keep_webhook_events: 2, ..Settings::default() });
    let (path, _) = webhook(&sandbox, &["email.sent"]);
    sandbox.sent(&email());
    let (_, delivered) = attempted(&sandbox, &path, Some(500));
    replay(&sandbox, &delivered);
    assert_eq!(deliver(&sandbox, Some(200)).len(), 1);

    sandbox.sent(&email());
    let waiting = format!("{path}/events/{}", sandbox.ids(format!("{path}/events"))[0]);
    replay(&sandbox, &waiting);
    sandbox.advance(5);
    assert_eq!(sandbox.get(&*waiting).json()["status"], "pending");
    assert_eq!(deliver(&sandbox, Some(500)).len(), 3, "the attempt, the replay, and the retry after 5 s");
}

#[test]
fn every_rotated_secret_signs_for_a_day_across_repeated_rotations() {
    let sandbox = Sandbox::new();
    let (path, first) = webhook(&sandbox, &["email.sent"]);
    let rotate = || {
        let rotated = sandbox.act(format!("{path}/signing-secret/rotate")).json();
        assert_eq!(sandbox.get(&*path).json()["signing_secret"], rotated["signing_secret"]);
        text(&rotated["signing_secret"])
    };
    let second = rotate();
    assert_ne!(second, first);
    sandbox.advance(3_600);
    let third = rotate();
    let signs = |secrets: &[&String]| {
        sandbox.sent(&email());
        let attempt = deliver(&sandbox, Some(200)).remove(0);
        let expected: Vec<_> = secrets.iter().map(|secret| signature(secret, &attempt)).collect();
        assert_eq!(attempt.header("svix-signature"), expected.join(" "));
    };
    signs(&[&third, &second, &first]);
    sandbox.advance(86_400 - 3_600 - 1);
    signs(&[&third, &second, &first]);
    sandbox.advance(1);
    signs(&[&third, &second]);
    sandbox.advance(3_600);
    signs(&[&third]);
}

#[test]
fn evt_12_a_move_of_the_clock_makes_the_due_attempts_in_order_at_their_due_times() {
    // EVT-12
    let sandbox = Sandbox::new();
    let (path, _) = webhook(&sandbox, &["email.sent"]);
    let start = sandbox.service.clock().now();
    let nine_hours = 9 * 3_600;
    sandbox.sent(&email());
    sandbox.sent(&email_with("scheduled_at", (start + SignedDuration::from_secs(nine_hours)).to_string()));
    sandbox.advance(28 * 3_600);
    let made = deliver(&sandbox, Some(500));
    let retries = [0, 5, 305, 2_105, 9_305, 27_305, 63_305, 99_305];
    let of_first = retries.map(|after| (after, made[0].header("svix-id")));
    let second = made.iter().map(|attempt| attempt.header("svix-id")).find(|id| *id != of_first[0].1);
    let of_second = retries[..7].iter().map(|after| (nine_hours + after, second.unwrap()));
    let mut expected: Vec<_> = of_first.into_iter().chain(of_second).collect();
    expected.sort_unstable();
    assert_eq!(
        made.iter().map(|attempt| attempt.header("svix-id")).collect::<Vec<_>>(),
        expected.iter().map(|(_, id)| *id).collect::<Vec<_>>()
    );
    for id in [of_first[0].1, second.unwrap()] {
        let attempts = sandbox.column(format!("{path}/events/{id}/attempts?limit=100"), "sent_at");
        let since_start = |at: &String| at.parse::<Timestamp>().unwrap().duration_since(start).as_secs();
        let sent = attempts.iter().rev().map(since_start);
        let due = expected.iter().filter(|(_, of)| *of == id).map(|(after, _)| *after);
        assert_eq!(sent.collect::<Vec<_>>(), due.collect::<Vec<_>>());
    }
}

#[test]
fn evt_12_a_move_of_the_clock_does_not_delay_an_attempt_in_flight() {
    // EVT-12: a failure counts from the attempt's own time, even if the clock was moved before the response.
    let (sandbox, path) = sent();
    let first = sandbox.service.next_post().unwrap();
    sandbox.advance(60);
    sandbox.service.finish_post(first, Posted::default());
    let retry = deliver(&sandbox, Some(200));
    assert_eq!(retry.len(), 1);
    let attempts = format!("{path}/events/{}/attempts", retry[0].header("svix-id"));
    let sent = sandbox.column(attempts, "sent_at");
    assert_eq!(sent, ["2026-03-02T12:00:05.000Z", "2026-03-02T12:00:00.000Z"]);
}

#[test]
fn evt_12_after_a_timeout_a_move_of_the_clock_makes_the_attempts_to_the_endpoint_concurrently() {
    // EVT-12: an attempt ends immediately, which is in time with the first timeout, and too late with the second.
    for (webhook_timeout, concurrent) in [(Duration::from_secs(15), 1), (Duration::ZERO, 8)] {
        let sandbox = Sandbox::with(&Settings { webhook_timeout, ..Settings::default() });
        webhook(&sandbox, &["email.sent"]);
        for _ in 0..20 {
            sandbox.sent(&email());
            sandbox.advance(1);
        }
        let first = sandbox.service.next_post().unwrap();
        assert!(sandbox.service.next_post().is_none(), "later attempts wait for the first");
        sandbox.service.finish_post(first, Posted { status: Some(200), ..Posted::default() });
        let started: Vec<_> = std::iter::from_fn(|| sandbox.service.next_post()).collect();
        assert_eq!(started.len(), concurrent, "{webhook_timeout:?}");
        let created: Vec<Value> =
            started.iter().map(|post| serde_json::from_slice(&post.body).unwrap()).collect();
        assert!(created.is_sorted_by_key(|event| text(&event["created_at"])), "{created:?}");
        for post in started {
            sandbox.service.finish_post(post, Posted { status: Some(200), ..Posted::default() });
        }
        assert_eq!(deliver(&sandbox, Some(200)).len(), 20 - 1 - concurrent);
    }
}
