//! Parts of a typed call that the caller sets: query, body and response.

use idempost::{Attachment, BatchEmail, Email, Error};
use serde_json::{Value, json};

use super::script::{Reply, Script, accepted, email};

#[tokio::test(start_paused = true)]
async fn a_query_parameter_is_added_to_a_typed_call() {
    let received = Reply::json(200, json!({"id": "r1"}));
    let page = Reply::json(200, json!({"data": [], "has_more": false}));
    let script = Script::of([received, page]).odd();
    let client = script.client();
    let call =
        client.received().get("r1").html_format(idempost::received::HtmlFormat::Cid).query("new", "a b");
    assert_eq!(call.await.unwrap().id.as_str(), "r1");
    client.emails().list().page_size(2).call().query("new", "1").await.unwrap();
    let urls: Vec<_> = script.seen().into_iter().map(|sent| sent.url).collect();
    let at = "http://127.0.0.1:9/prefix/emails";
    assert_eq!(urls[0].as_str(), format!("{at}/receiving/r1?html_format=cid&new=a+b"));
    assert_eq!(urls[1].as_str(), format!("{at}?limit=2&new=1"));
}

#[tokio::test(start_paused = true)]
async fn a_json_body_replaces_the_input_of_a_typed_call() {
    let script = Script::of([Reply::json(503, json!({})), accepted()]).odd();
    let mut body = serde_json::to_value(email()).unwrap();
    body["new"] = json!({"deep": true});
    // Its problems and attachments no longer matter.
    let input = Email::default().attach(Attachment::from_bytes("a.txt", "abc"));
    let call = script.client().emails().send(&input).json(&body);
    let key = call.key().unwrap().clone();
    assert_eq!(call.await.unwrap().id.as_str(), "e1");
    let seen = script.seen();
    assert_eq!(seen.len(), 2);
    for sent in &seen {
        assert_eq!(serde_json::from_slice::<Value>(&sent.body).unwrap(), body);
        assert_eq!(sent.header("idempotency-key"), key.as_str());
        assert_eq!(sent.header("content-type"), "application/json");
    }
}

#[tokio::test(start_paused = true)]
async fn the_response_to_a_replaced_batch_may_have_another_number_of_ids() {
    let script = Script::of([Reply::json(200, json!({"data": [{"id": "e1"}, {"id": "e2"}]}))]);
    let body = json!([email(), email()]);
    let one: [BatchEmail; 1] = [email().into()];
    let accepted = script.client().emails().send_batch(&one).json(&body).await.unwrap();
    assert_eq!(accepted.data.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_body_has_its_media_type_and_a_response_can_be_bytes() {
    let script = Script::of([accepted()]).odd();
    let call = script.client().emails().send(&email()).body("application/cbor", [0xa0]).bytes();
    assert_eq!(call.await.unwrap(), r#"{"id":"e1"}"#);
    let seen = script.seen();
    assert_eq!((seen[0].header("content-type"), &seen[0].body[..]), ("application/cbor", &[0xa0][..]));
}

#[tokio::test(start_paused = true)]
async fn a_download_has_no_query_and_no_body_of_the_caller() {
    let script = Script::of([]);
    let client = script.client();
    let download = || client.received().download("https://files.example.com/a?signature=x");
    for call in [download().query("a", "b"), download().json(&1), download().body("text/plain", "x")] {
        assert!(matches!(call.await.unwrap_err(), Error::Invalid(_)));
    }
    assert!(script.seen().is_empty());
}
