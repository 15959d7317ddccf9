//! Lists that continue in another process.

use futures_util::TryStreamExt as _;
use idempost::{
    Client, Error,
    broadcasts::{BounceType, RecipientType},
    page::ListPosition,
    testing::{Reply, ScriptedTransport},
};
use serde_json::{Value, json};

const OLDEST_FIRST: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

/// One page, and whether more items follow in its direction.
fn page(after: Option<&str>, before: Option<&str>, limit: usize) -> (Vec<&'static str>, bool) {
    let items = OLDEST_FIRST.into_iter();
    let mut found: Vec<_> = match (after, before) {
        (_, Some(before)) => items.filter(|item| *item > before).collect(),
        (Some(after), None) => items.filter(|item| *item < after).rev().collect(),
        (None, None) => items.rev().collect(),
    };
    let has_more = found.len() > limit;
    found.truncate(limit);
    if before.is_some() {
        found.reverse();
    }
    (found, has_more)
}

/// Lists the items, the newest first.
fn listing() -> ScriptedTransport {
    ScriptedTransport::from_fn(|request| {
        let value = |name: &str| {
            request.url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
        };
        let limit = value("limit").unwrap().parse().unwrap();
        let (found, has_more) = page(value("after").as_deref(), value("before").as_deref(), limit);
        let data: Vec<_> = found.into_iter().map(|id| json!({ "id": id })).collect();
        Reply::json(200, json!({"object": "list", "data": data, "has_more": has_more}))
    })
}

fn client(listing: &ScriptedTransport) -> Client {
    let builder = Client::builder().base_url("http://127.0.0.1:9").api_key("re_test");
    builder.transport(listing.clone()).build().unwrap()
}

fn list(newer: bool, page_size: u8) -> idempost::List<Value> {
    let list = client(&listing()).contacts().list().page_size(page_size).as_json();
    if newer { list.before("a") } else { list }
}

fn expected(newer: bool) -> Vec<&'static str> {
    if newer { OLDEST_FIRST[1..].to_vec() } else { OLDEST_FIRST.into_iter().rev().collect() }
}

/// The position that another process reads back from storage.
fn stored(position: Option<&ListPosition>) -> Option<ListPosition> {
    serde_json::from_str(&serde_json::to_string(&position).unwrap()).unwrap()
}

#[tokio::test]
async fn a_list_stopped_after_any_item_resumes_in_another_process() {
    for newer in [false, true] {
        for page_size in 1..=4 {
            for stop in 0..=expected(newer).len() {
                let mut seen = Vec::new();
                let mut first = list(newer, page_size).stream();
                while seen.len() < stop {
                    seen.push(first.try_next().await.unwrap().unwrap());
                }
                let position = stored(first.position().as_ref());
                assert_eq!(position.is_none(), stop == 0 && !newer);
                let rest = list(newer, page_size).resume(position).stream();
                seen.extend(rest.try_collect::<Vec<_>>().await.unwrap());
                let ids: Vec<_> = seen.iter().map(|item| item["id"].as_str().unwrap()).collect();
                assert_eq!(ids, expected(newer), "{newer} {page_size} {stop}");
            }
        }
    }
}

#[tokio::test]
async fn a_list_resumed_after_each_item_yields_each_once() {
    for newer in [false, true] {
        let (mut position, mut seen) = (None, Vec::new());
        loop {
            let mut items = list(newer, 3).resume(stored(position.as_ref())).stream();
            let Some(item) = items.try_next().await.unwrap() else { break };
            seen.push(item["id"].as_str().unwrap().to_owned());
            position = items.position();
        }
        assert_eq!(seen, expected(newer));
    }
}

#[tokio::test]
async fn a_list_resumed_after_each_page_yields_each_page_once() {
    for newer in [false, true] {
        let (mut position, mut seen) = (None, Vec::new());
        loop {
            let mut pages = list(newer, 3).resume(stored(position.as_ref())).pages();
            let page = pages.try_next().await.unwrap().unwrap();
            if page.data.is_empty() {
                break;
            }
            seen.extend(page.data.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
            position = pages.position();
        }
        seen.sort();
        let mut all = expected(newer);
        all.sort_unstable();
        assert_eq!(seen, all);
    }
}

#[tokio::test]
async fn a_position_keeps_its_direction_without_a_cursor() {
    let mut first = list(true, 2).stream();
    first.try_next().await.unwrap();
    let rest = list(false, 2).resume(first.position()).stream();
    let rest: Vec<Value> = rest.try_collect().await.unwrap();
    assert_eq!(rest.iter().map(|item| item["id"].as_str().unwrap()).collect::<String>(), "cdefg");
}

#[tokio::test]
async fn a_position_of_another_list_is_rejected_with_both_names() {
    let listing = listing();
    let client = client(&listing);
    let mut contacts = client.contacts().list().segment_id("s1").as_json().page_size(2).stream();
    contacts.try_next().await.unwrap();
    let position = contacts.position().unwrap();
    let text = serde_json::to_string(&position).unwrap();
    assert_eq!(text, r#"{"list":"http://127.0.0.1:9/contacts?segment_id=s1","after":"g"}"#);
    listing.take_requests();

    let at = "http://127.0.0.1:9/contacts?segment_id=s1";
    let other = Client::new("http://127.0.0.1:8", "re_test").unwrap();
    let in_segment = |client: &Client, id: &str| client.contacts().list().segment_id(id).as_json();
    for (list, named) in [
        (in_segment(&client, "s2"), "http://127.0.0.1:9/contacts?segment_id=s2"),
        (client.contacts().list().as_json(), "http://127.0.0.1:9/contacts"),
        (client.emails().list().as_json(), "http://127.0.0.1:9/emails"),
        (in_segment(&other, "s1"), "http://127.0.0.1:8/contacts?segment_id=s1"),
    ] {
        let error = list.resume(position.clone()).stream().try_next().await.unwrap_err();
        let expected = format!("a position in {at} can't continue the list {named}");
        assert_eq!(problems(&error), expected);
    }
    let newer = in_segment(&client, "s1").before("c").resume(position);
    let expected = "a position in a list toward older items can't continue a list toward newer items";
    assert_eq!(problems(&newer.await.unwrap_err()), expected);
    assert!(listing.take_requests().is_empty(), "nothing was sent");
}

fn problems(error: &Error) -> String {
    let Error::Invalid(problems) = error else { panic!("{error}") };
    problems.to_string()
}

#[tokio::test]
async fn filters_identify_a_list_in_any_order() {
    let client = client(&listing());
    let list = || client.broadcasts().recipients("b1", RecipientType::Bounced).page_size(2);
    let mut first = list().email("acme").bounce_type(BounceType::Permanent).as_json().stream();
    first.try_next().await.unwrap();
    let rest = list().bounce_type(BounceType::Permanent).email("acme").as_json().resume(first.position());
    assert_eq!(rest.stream().try_collect::<Vec<_>>().await.unwrap().len(), OLDEST_FIRST.len() - 1);
}
