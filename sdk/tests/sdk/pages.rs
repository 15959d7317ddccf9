//! Lists: pages, cursors, streams, and inconsistent services.

use futures_util::{StreamExt as _, TryStreamExt as _};
use idempost::{Error, emails::LastEvent, error::PagingError};
use serde_json::{Value, json};

use super::script::{Reply, Script};

fn item(id: &str) -> Value {
    json!({"id": id, "message_id": "<m>", "to": ["b@x.test"], "from": "a@x.test", "subject": "s", "bcc": null,
        "created_at": "2026-11-21 04:46:00.123456+00", "last_event": "delivered", "scheduled_at": null})
}

fn page(ids: &[&str], has_more: bool) -> Reply {
    let data: Vec<_> = ids.iter().map(|id| item(id)).collect();
    Reply::json(200, json!({"object": "list", "data": data, "has_more": has_more}))
}

#[tokio::test(start_paused = true)]
async fn only_given_parameters_are_sent() {
    // LIST-04, LIST-09, LIST-10, GEN-28, A-31, A-32
    let script = Script::of([page(&["a"], true), page(&[], false), page(&[], false), page(&[], false)]);
    let client = script.client();
    let first = client.emails().list().await.unwrap();
    assert_eq!((first.data.len(), first.has_more, first.next_cursor()), (1, true, Some("a")));
    client.emails().list().page_size(100).after("x y").await.unwrap();
    client.emails().list().before("b").await.unwrap();
    client.emails().list().after("a").before("b").await.unwrap();
    let urls: Vec<_> = script
        .seen()
        .into_iter()
        .map(|seen| seen.url.as_str().replace("http://127.0.0.1:9/prefix", ""))
        .collect();
    assert_eq!(urls, ["/emails", "/emails?limit=100&after=x+y", "/emails?before=b", "/emails?before=b"]);
    for limit in [0, 101, 255] {
        assert!(matches!(client.emails().list().page_size(limit).await.unwrap_err(), Error::Invalid(_)));
    }
    assert!(script.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_listed_email_with_fields_of_other_types_is_preserved() {
    // GEN-26
    let mut odd = item("a");
    odd["id"] = json!(7);
    odd["to"] = json!("b@x.test");
    odd["cc"] = json!(["c@x.test", 5, {}]);
    odd["subject"] = json!({"text": "s"});
    odd["bcc"] = json!([]);
    odd["last_event"] = json!(3);
    odd["message_id"] = json!(true);
    let sent = json!({"object": "list", "data": [item("b"), odd], "has_more": false});
    let page = Script::of([Reply::json(200, sent)]).client().emails().list().await.unwrap();
    assert_eq!(page.data[0].malformed_fields().count(), 0);
    let email = &page.data[1];
    assert_eq!((email.id.as_str(), email.subject.as_str(), email.from.as_str()), ("7", "", "a@x.test"));
    assert_eq!(
        (email.to.join(" "), email.cc.as_ref().unwrap().join(" ")),
        ("b@x.test".into(), "c@x.test 5".into())
    );
    assert_eq!((email.bcc.as_deref(), email.message_id.as_deref()), (Some(&[][..]), Some("true")));
    let names: Vec<_> = email.malformed_fields().map(|(name, _)| name).collect();
    assert_eq!(names, ["cc", "id", "message_id", "subject", "to"]);
    let mut written = serde_json::to_value(email).unwrap();
    written.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    odd.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    assert_eq!(written, odd);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_after_the_last_page() {
    // LIST-12, B-22
    let script = Script::of([page(&["e", "d"], true), page(&["c", "b"], true), page(&["a"], false)]);
    let all: Vec<_> = script.client().emails().list().stream().try_collect().await.unwrap();
    let ids: Vec<_> =
        all.iter().map(|email: &idempost::emails::SentEmailSummary| email.id.as_str()).collect();
    assert_eq!(ids, ["e", "d", "c", "b", "a"]);
    let queries: Vec<_> = script
        .seen()
        .into_iter()
        .map(|seen| seen.url.as_str().split('?').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(queries, ["limit=100", "limit=100&after=d", "limit=100&after=b"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_towards_newer_items_yields_the_oldest_first() {
    let script = Script::of([page(&["d", "c"], true), page(&["f", "e"], false)]);
    let all: Vec<_> = script.client().emails().list().before("b").stream().try_collect().await.unwrap();
    let ids: Vec<_> =
        all.iter().map(|email: &idempost::emails::SentEmailSummary| email.id.as_str()).collect();
    assert_eq!(ids, ["c", "d", "e", "f"]);
    assert!(script.seen()[1].url.as_str().ends_with("before=d"));
}

#[tokio::test(start_paused = true)]
async fn a_single_page_and_an_empty_list_both_end() {
    // LIST-B6
    let many: Vec<String> = (0..150).map(|i| i.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let client = Script::of([page(&many, false), page(&[], false)]).client();
    assert_eq!(client.emails().list().stream().count().await, 150);
    assert_eq!(client.emails().list().stream().count().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_inconsistent_list_is_an_error_instead_of_a_loop() {
    // B-22
    let paging = |error: Error| if let Error::Paging(error) = error { error } else { panic!("{error:?}") };
    let script = Script::of([page(&["a"], true), page(&[], true)]);
    let found: Vec<_> = script.client().emails().list().stream().collect().await;
    assert_eq!(found.len(), 2);
    assert_eq!(paging(found.into_iter().nth(1).unwrap().unwrap_err()), PagingError::EmptyPage);

    let script = Script::of([page(&["b", "a"], true), page(&["a"], true)]);
    let last = script.client().emails().list().stream().collect::<Vec<_>>().await.pop().unwrap();
    assert_eq!(paging(last.unwrap_err()), PagingError::Repeated("a".to_owned()));

    let script = Script::of([Reply::json(200, json!({"data": [{"x": 1}], "has_more": true}))]);
    let last = script.client().emails().list().as_json().stream().collect::<Vec<_>>().await.pop().unwrap();
    assert_eq!(paging(last.unwrap_err()), PagingError::NoId);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_cloned_with_its_filters_and_read_with_its_response() {
    let script = Script::of([page(&["a"], false), page(&["a"], false)]);
    let list = script.client().contacts().list().segment_id("s1").page_size(2);
    let read = list.clone().call().with_response().await.unwrap();
    assert_eq!((read.status.as_u16(), read.value.data.len()), (200, 1));
    assert!(!read.body.is_empty());
    list.await.unwrap();
    for seen in script.seen() {
        assert!(seen.url.as_str().ends_with("?segment_id=s1&limit=2"), "{}", seen.url);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_pages_cycle_ends_with_an_error() {
    // B-22
    let steps = (0..6).map(|i| page(&[["a", "b", "c"][i % 3]], true));
    let found: Vec<_> = Script::of(steps).client().emails().list().stream().collect().await;
    assert_eq!(found.len(), 4, "three items and the error");
    assert!(matches!(found.last(), Some(Err(Error::Paging(PagingError::Repeated(_))))), "{found:?}");
}

/// A page without `has_more`, or with a null.
fn silent_page(ids: &[&str], null: bool) -> Reply {
    let data: Vec<_> = ids.iter().map(|id| item(id)).collect();
    let page = if null { json!({"data": data, "has_more": null}) } else { json!({"data": data}) };
    Reply::json(200, page)
}

#[tokio::test(start_paused = true)]
async fn a_list_without_has_more_continues_after_each_full_page() {
    // B-22
    for null in [false, true] {
        for last in [&["a"][..], &[]] {
            let script = Script::of([
                silent_page(&["e", "d"], null),
                silent_page(&["c", "b"], null),
                silent_page(last, null),
            ]);
            let stream = script.client().emails().list().page_size(2).stream();
            let all: Vec<idempost::emails::SentEmailSummary> = stream.try_collect().await.unwrap();
            let ids: Vec<_> = all.iter().map(|email| email.id.as_str()).collect();
            assert_eq!(ids, [&["e", "d", "c", "b"], last].concat());
            let last = script.seen().pop().unwrap().url;
            assert!(last.as_str().ends_with("/emails?limit=2&after=b"), "{last}");
        }
    }
    // More items than requested, or fewer: the service returns complete lists.
    for ids in [&["c", "b", "a"][..], &["a"], &[]] {
        let script = Script::of([silent_page(ids, false)]);
        let count = script.client().emails().list().page_size(2).stream().count().await;
        assert_eq!((count, script.seen().len()), (ids.len(), 1));
    }
    // It ignores the cursor as well, so nothing shows whether these are all items.
    let script = Script::of([silent_page(&["b", "a"], false), silent_page(&["b", "a"], false)]);
    let found: Vec<_> = script.client().emails().list().page_size(2).stream().collect().await;
    assert_eq!(found.len(), 3);
    assert!(matches!(found.last(), Some(Err(Error::Paging(PagingError::Repeated(_))))), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn a_full_page_without_has_more_has_more() {
    let ids: Vec<String> = (0..21).map(|n| n.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for (size, items, more) in [
        (Some(2), 2, true),
        (Some(2), 1, false),
        (Some(2), 3, false),
        (Some(2), 0, false),
        (None, 20, true),
        (None, 19, false),
        (None, 21, false),
    ] {
        let list = Script::of([silent_page(&ids[..items], false)]).client().emails().list();
        let page = size.into_iter().fold(list, idempost::List::page_size).await.unwrap();
        assert_eq!(page.has_more, more, "{items} items of {size:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_body_is_a_decode_error_and_not_an_empty_page() {
    for body in ["", "null", "\"x\"", "[]", "{}", "7", "[[],false]", "{\"data\":null}"] {
        let script = Script::of([Reply::bytes(200, body), Reply::bytes(200, body)]);
        let error = script.client().emails().list().await.unwrap_err();
        assert!(matches!(error, Error::Decode(_)), "{body}: {error:?}");
        let error = script.client().emails().list().as_json().await.unwrap_err();
        assert!(matches!(error, Error::Decode(_)), "{body}: {error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn added_and_missing_fields_are_tolerated() {
    // GEN-19, GEN-26, GEN-32, GEN-33, SENT-07, SENT-09, SENT-10
    let mut strange = item("not-a-uuid");
    strange["last_event"] = json!("teleported");
    strange["extra"] = json!({"deep": [1, null]});
    let bare = json!({"id": "b", "to": [], "from": "a", "subject": "", "created_at": "someday"});
    let mut full = item("c");
    full["bcc"] = json!(["x@x.test"]);
    full["last_event"] = json!("opened");
    full["scheduled_at"] = json!("2026-12-01T00:00:00Z");
    let script = Script::of([Reply::json(200, json!({"data": [strange, bare, full]}))]);
    let page = script.client().emails().list().await.unwrap();
    assert!(!page.has_more);
    assert_eq!(page.data[0].last_event.as_ref().unwrap().as_str(), "teleported");
    assert!(matches!(page.data[0].last_event, Some(LastEvent::Unknown(_))));
    assert_eq!((page.data[1].bcc.clone(), page.data[1].last_event.clone()), (None, None));
    assert_eq!(page.data[2].last_event, Some(LastEvent::Opened));
    assert_eq!(page.data[2].scheduled_at.as_ref().unwrap().unix_seconds(), Some(1_796_083_200));
    let back = serde_json::to_value(&page.data[0]).unwrap();
    assert_eq!((&back["id"], &back["last_event"]), (&json!("not-a-uuid"), &json!("teleported")));
}
