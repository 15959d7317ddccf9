//! Calls that block their thread.

use std::{sync::mpsc, time::Duration};

use idempost::{Client, Email, Error, RateLimit};
use idempost_reference_server::{ReferenceServer, Settings};
use serde_json::json;

use super::script::{Script, Step};

fn email() -> Email {
    Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("It works")
}

#[test]
fn a_blocking_call_in_a_callback_of_another_fails() {
    let busy = json!({"statusCode": 503, "name": "service_unavailable", "message": "no"});
    let script = Script::of([Step::Answer(503, busy), Step::Answer(200, json!({"id": "e1"}))]);
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

#[test]
fn a_client_can_be_used_from_several_runtimes() {
    // The connections of the first runtime stand still after `block_on` has returned.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(async {
        let serving = std::thread::spawn(|| {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let server = runtime.block_on(ReferenceServer::over_http(Settings::default()));
            (runtime, server)
        });
        serving.join().unwrap()
    });
    let (_serving, server) = server;
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
