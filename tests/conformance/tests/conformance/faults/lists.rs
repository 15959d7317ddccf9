use futures_util::TryStreamExt as _;
use idempost::{BatchEmail, Error, Outcome, error::PagingError};
use idempost_conformance::peer::{Act, Peer};
use serde_json::{Value, json};

use super::client;

fn entry(id: usize) -> Value {
    json!({
        "id": id.to_string(), "created_at": "2026-11-22 15:28:00+00", "endpoint": "/emails", "method": "POST",
        "response_status": 200, "user_agent": null,
    })
}

fn page(ids: impl IntoIterator<Item = usize>, has_more: bool) -> Act {
    let data: Vec<_> = ids.into_iter().map(entry).collect();
    Act::json(200, &json!({ "object": "list", "data": data, "has_more": has_more }).to_string())
}

async fn walk(peer: &Peer) -> Result<Vec<String>, Error> {
    let client = client(&peer.base_url());
    let ids = client.logs().list().stream().map_ok(|entry| entry.id.as_str().to_owned()).try_collect().await;
    peer.judge();
    ids
}

#[tokio::test]
async fn a_stream_continues_from_the_last_item_until_the_end() {
    // LIST-12
    let peer = Peer::acting([page(0..2, true), page(2..4, true), page(4..5, false)]).await;
    assert_eq!(walk(&peer).await.unwrap(), ["0", "1", "2", "3", "4"]);
    let targets: Vec<_> = peer.requests().iter().map(|request| request.target().to_owned()).collect();
    assert_eq!(targets, ["/logs?limit=100", "/logs?limit=100&after=1", "/logs?limit=100&after=3"]);
}

#[tokio::test]
async fn an_empty_list_ends_a_stream() {
    let peer = Peer::acting([page([], false)]).await;
    assert_eq!(walk(&peer).await.unwrap(), Vec::<String>::new());
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
async fn an_empty_page_with_has_more_is_an_error_instead_of_an_endless_loop() {
    // B-22
    let peer = Peer::acting([page(0..2, true), page([], true)]).await;
    assert!(matches!(walk(&peer).await.unwrap_err(), Error::Paging(PagingError::EmptyPage)));
    assert_eq!(peer.requests().len(), 2);
}

#[tokio::test]
async fn a_repeated_page_is_an_error_instead_of_an_endless_loop() {
    // B-22
    let peer = Peer::acting([page(0..2, true)]).await;
    assert!(matches!(walk(&peer).await.unwrap_err(), Error::Paging(PagingError::Repeated(_))));
    assert_eq!(peer.requests().len(), 2);
}

#[tokio::test]
async fn a_list_on_a_single_page_is_streamed_with_one_request() {
    // LIST-B6
    let peer = Peer::acting([page(0..150, false)]).await;
    assert_eq!(walk(&peer).await.unwrap().len(), 150);
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
async fn a_page_shows_its_items_and_whether_there_are_more() {
    // GEN-28
    let peer = Peer::acting([page(0..3, true)]).await;
    let page = client(&peer.base_url()).logs().list().await.unwrap();
    assert_eq!((page.data.len(), page.has_more, page.next_cursor()), (3, true, Some("2")));
    assert_eq!(peer.requests()[0].target(), "/logs", "unset parameters aren't sent"); // LIST-10
}

#[tokio::test]
async fn a_batch_response_with_another_number_of_ids_is_a_decode_error() {
    // B-23
    let emails: Vec<_> =
        (0..3).map(|n| BatchEmail::new("a@x.test", "b@x.test", n.to_string()).text("t")).collect();
    for ids in [0, 2, 4] {
        let data: Vec<_> = (0..ids).map(|n| json!({ "id": n.to_string() })).collect();
        let peer = Peer::acting([Act::json(200, &json!({ "data": data }).to_string())]).await;
        let error = client(&peer.base_url()).emails().send_batch(&emails).await.unwrap_err();
        let outcome = if ids == 0 { Outcome::Unknown } else { Outcome::Accepted };
        assert_eq!(error.outcome(), outcome, "{ids} ids for 3 emails: {error:?}");
    }
}
