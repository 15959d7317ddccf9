//! Calls that block their thread.

use std::{sync::mpsc, time::Duration};

use idempost::{Client, Email, Error, RateLimit};
use idempost_reference_server::{ReferenceServer, Settings};
use serde_json::json;
use tokio::runtime::Runtime;

use super::script::{Reply, Script};

fn email() -> Email {
    Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("It works")
}

#[test]
fn a_blocking_call_in_a_callback_of_another_fails() {
    let busy = json!({"statusCode": 503, "name": "service_unavailable", "message": "no"});
    let script = Script::of([Reply::json(503, busy), Reply::json(200, json!({"id": "e1"}))]);
    let client = script.client();
    let (results, nested) = mpsc::channel();
    let inner = client.clone();
    let call = client.emails().send(&email()).on_retry(move |_| {
        results.send(inner.emails().list().blocking().unwrap_err()).unwrap();
    });
    call.blocking().unwrap();
    let error = nested.try_recv().unwrap();
    assert!(matches!(error, Error::Settings(_)) && error.to_string().contains("callback"), "{error}");
    assert_eq!(script.seen().len(), 2);
}

/// A server, and the runtime that it runs on.
fn server() -> (Runtime, ReferenceServer) {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(ReferenceServer::over_http(Settings::default()));
    (runtime, server)
}

#[test]
fn a_client_can_be_used_from_several_runtimes() {
    // The connections of the first runtime stand still after `block_on` has returned.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_serving, server) = server();
    let client = Client::builder()
        .base_url(server.base_url())
        .api_key("sb_test")
        .rate_limit(RateLimit::Off)
        .idle_timeout(Duration::from_secs(5))
        .build()
        .unwrap();
    for _ in 0..2 {
        runtime.block_on(async { client.emails().send(&email()).await }).unwrap();
        client.emails().send(&email()).blocking().unwrap();
    }
    let requests = server.service().requests();
    assert_eq!(requests.len(), 4, "no request was sent again");
}

#[cfg(feature = "oauth")]
#[test]
fn a_blocking_call_returns_once_the_refresh_that_it_started_is_saved() {
    // D-14
    use idempost::auth::{MemoryStore, Session, TokenRecord, TokenStore as _};
    use idempost_reference_server::faults::{Action, Rule};

    let (runtime, server) = server();
    let issued = server.service().grant("idempost-cli", "sb_test", "full_access");
    let token_endpoint = format!("{}/oauth/token", server.base_url());
    let mut record =
        TokenRecord::new(server.base_url(), token_endpoint, "idempost-cli", issued.refresh_token.into());
    record.access_token = serde_json::from_value(issued.access_token.into()).unwrap();
    record.expires_in = Duration::from_mins(15);
    let store = MemoryStore::new();
    // A minute before it expires, a call refreshes the token and can still use it.
    let later = record.obtained_at + Duration::from_mins(14);
    let starting = Session::builder().wall_clock(move || later).start(store.clone(), &record);
    let session = runtime.block_on(starting).unwrap();
    let slow = Action::Delay(Duration::from_secs(1));
    server.service().faults().add(Rule::new(slow).on(http::Method::POST, "/oauth/token"));
    let client = Client::builder().base_url(server.base_url()).session(session).build().unwrap();
    // The call itself is over long before.
    let _ = client.emails().list().timeout(Duration::from_millis(100)).blocking();
    assert_eq!(runtime.block_on(store.read()).unwrap().unwrap().generation, 2);
}
