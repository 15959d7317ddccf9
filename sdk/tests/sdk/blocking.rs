//! Calls that block their thread.

use std::{future::IntoFuture as _, sync::mpsc, time::Duration};

use idempost::{
    Attachment, Blocking as _, Client, Error, call::RateLimit, contact_imports::NewContactImport,
};
use idempost_reference_server::{ReferenceServer, Settings};
use serde_json::json;
use tokio::runtime::Runtime;

use super::script::{Reply, Script, accepted, email};

#[test]
fn a_blocking_call_in_a_callback_of_another_fails() {
    let script = Script::of([Reply::error(503, "service_unavailable"), accepted()]);
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
    let server = runtime.block_on(ReferenceServer::start_http(Settings::default()));
    (runtime, server)
}

#[test]
fn a_client_can_be_used_from_several_runtimes() {
    // The connections of the first runtime stall after `block_on` has returned.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_serving, server) = server();
    let client = Client::builder()
        .base_url(server.base_url())
        .api_key("sb_test")
        .rate_limit(RateLimit::Off)
        .idle_timeout(Duration::from_secs(20))
        .build()
        .unwrap();
    for _ in 0..2 {
        runtime.block_on(async { client.emails().send(&email()).await }).unwrap();
        client.emails().send(&email()).blocking().unwrap();
    }
    let requests = server.service().requests();
    assert_eq!(requests.len(), 4, "no request was sent again");
}

#[test]
fn files_downloads_and_fingerprints_need_no_runtime() {
    let (_serving, server) = server();
    let client = Client::new(&server.base_url(), "sb_test").unwrap();
    let path = std::env::temp_dir().join(format!("idempost-blocking-{}", std::process::id()));
    std::fs::write(&path, "email\nada@example.com\n").unwrap();
    let file = Attachment::from_file(&path).blocking().unwrap();
    client.emails().send(&email().attach(file)).blocking().unwrap();
    let people = NewContactImport::from_file(&path).blocking().unwrap();
    assert_eq!(people.size(), 22);
    std::fs::remove_file(&path).unwrap();
    let missing = Attachment::from_file(&path).blocking().unwrap_err();
    assert!(matches!(missing, Error::File(_)), "{missing:?}");
    assert_eq!(client.account_fingerprint(b"salt").blocking().unwrap().unwrap().len(), 32);

    let script = Script::of([Reply::bytes(200, "a report"), Reply::bytes(200, "a report")]).odd();
    let download = || script.client().received().download("https://files.example.com/report");
    let (mut written, mut streamed) = (Vec::new(), Vec::new());
    assert_eq!(download().blocking_write_to(&mut written).unwrap(), 8);
    assert_eq!(download().write_to(&mut streamed).blocking().unwrap(), 8);
    assert_eq!((written, streamed), (b"a report".to_vec(), b"a report".to_vec()));
}

#[test]
fn an_iterator_has_the_position_after_its_last_item() {
    let page = |ids: &[&str]| {
        let data: Vec<_> = ids.iter().map(|id| json!({ "id": id })).collect();
        Reply::json(200, json!({"data": data, "has_more": ids.len() > 1}))
    };
    let script = Script::of([page(&["c", "b"]), page(&["a"])]);
    let list = || script.client().emails().list().as_json();
    let mut first = list().blocking_iter();
    assert_eq!(first.next().unwrap().unwrap()["id"], "c");
    let rest: Vec<_> = list().resume(first.position()).blocking_iter().map(Result::unwrap).collect();
    assert_eq!(rest, [json!({"id": "a"})]);
    assert!(script.seen()[1].url.as_str().ends_with("after=c"));
}

#[test]
fn borrowed_futures_block_a_thread_of_another_runtime_too() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let script = Script::of([Reply::bytes(200, "a report")]).odd();
    let mut written = Vec::new();
    runtime.block_on(async {
        let call = script.client().received().download("https://files.example.com/report");
        call.write_to(&mut written).blocking().unwrap();
    });
    assert_eq!(written, b"a report");
}

#[test]
#[should_panic = "the listener panicked"]
fn a_panic_in_a_callback_reaches_the_caller_within_another_runtime() {
    let client = Script::of([Reply::error(503, "service_unavailable")]).client();
    let call = client.emails().send(&email()).on_retry(|_| panic!("the listener panicked"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _ = runtime.block_on(async { call.blocking() });
}

#[cfg(feature = "redirect-listener")]
#[test]
fn a_login_needs_no_runtime() {
    use idempost::auth::{
        AuthorizationServer, MemoryStore, NewOAuthClient, RedirectListener, Revocation, Scope, Session,
    };
    use std::{
        io::{Read as _, Write as _},
        net::TcpStream,
        thread,
    };

    let (_serving, server) = server();
    let discovered = AuthorizationServer::discover(&server.base_url()).blocking().unwrap();
    let registration = NewOAuthClient::new("Mailer", "http://127.0.0.1/callback");
    let client_id = discovered.register(&registration).blocking().unwrap().client_id;
    assert!(discovered.is_registered(&client_id).blocking().unwrap());

    let tokens =
        json!({"access_token": "at", "token_type": "Bearer", "expires_in": 900, "refresh_token": "rt"});
    let script = Script::of([Reply::json(200, tokens), Reply::json(200, json!({}))]).odd();
    let server = AuthorizationServer::new("http://127.0.0.1:9").unwrap().transport(script.clone());
    let receiver = RedirectListener::bind().blocking().unwrap();
    let redirect_uri = receiver.redirect_uri().to_owned();
    let authorization = server.authorize("c", &redirect_uri).scope(Scope::EmailsSend).build().unwrap();
    let state = authorization.url().query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    let browser = thread::spawn(move || {
        let host = redirect_uri.trim_start_matches("http://").trim_end_matches("/callback");
        let get = |path: &str| {
            let mut connection = TcpStream::connect(host).unwrap();
            write!(connection, "GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n").unwrap();
            let mut page = String::new();
            connection.read_to_string(&mut page).unwrap();
            page
        };
        (get(&format!("/callback?code=the-code&state={state}")), get("/done"))
    });
    let code = receiver.wait(&authorization, Duration::from_mins(1)).blocking().unwrap();
    let (redirected, page) = browser.join().unwrap();
    assert!(
        redirected.starts_with("HTTP/1.1 303 ") && page.starts_with("HTTP/1.1 200 "),
        "{redirected} {page}"
    );

    let record = server.exchange(&authorization, &code).blocking().unwrap();
    let builder = Session::builder().transport(script.clone());
    let session = builder.start(MemoryStore::new(), &record).blocking().unwrap();
    assert_eq!(session.access_token().blocking().unwrap().expose(), "at");
    assert_eq!(session.record().blocking().unwrap().unwrap().generation, 1);
    assert!(matches!(session.logout().blocking().unwrap(), Revocation::Revoked));
    assert!(matches!(session.access_token().blocking().unwrap_err(), Error::Auth(_)));
}

#[cfg(feature = "oauth")]
use idempost::auth::{MemoryStore, Session, TokenRecord, TokenStore as _};

/// A session whose next call refreshes the token, which takes a second, and can still use the old one.
#[cfg(feature = "oauth")]
fn refreshing() -> (Runtime, ReferenceServer, MemoryStore, Session) {
    use idempost_reference_server::faults::{Action, Rule};

    let (runtime, server) = server();
    let issued = server.service().grant("idempost-cli", "sb_test", "full_access");
    let token_endpoint = format!("{}/oauth/token", server.base_url());
    let mut record =
        TokenRecord::new(server.base_url(), token_endpoint, "idempost-cli", issued.refresh_token.into());
    record.access_token = serde_json::from_value(issued.access_token.into()).unwrap();
    record.expires_in = Duration::from_mins(15);
    let store = MemoryStore::new();
    // A minute before the token expires.
    let later = record.obtained_at + Duration::from_mins(14);
    let starting = Session::builder().wall_clock(move || later).start(store.clone(), &record);
    let session = runtime.block_on(starting).unwrap();
    let slow = Action::Delay(Duration::from_secs(1));
    server.service().faults().add(Rule::new(slow).on_request(http::Method::POST, "/oauth/token"));
    (runtime, server, store, session)
}

#[cfg(feature = "oauth")]
#[test]
fn a_blocking_call_returns_once_the_refresh_that_it_started_is_saved() {
    // D-14
    let (runtime, server, store, session) = refreshing();
    let client = Client::builder().base_url(server.base_url()).session(session).build().unwrap();
    // The call itself ended long ago.
    let _ = client.emails().list().timeout(Duration::from_millis(100)).blocking();
    assert_eq!(runtime.block_on(store.read()).unwrap().unwrap().generation, 2);
}

#[cfg(feature = "oauth")]
#[test]
fn a_blocking_future_returns_once_the_refresh_that_it_started_is_saved() {
    // D-14
    let (runtime, _server, store, session) = refreshing();
    let impatient = async {
        let limit = Duration::from_millis(100);
        Ok::<_, Error>(tokio::time::timeout(limit, session.access_token()).await.is_err())
    };
    assert!(impatient.blocking().unwrap());
    assert_eq!(runtime.block_on(store.read()).unwrap().unwrap().generation, 2);
}

#[cfg(feature = "oauth")]
#[test]
fn a_blocking_call_leaves_a_refresh_to_the_runtime_that_started_it() {
    let (serving, server, store, session) = refreshing();
    let client = Client::builder().base_url(server.base_url()).session(session).build().unwrap();
    let stopped = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let impatient = async {
        let limit = Duration::from_millis(100);
        tokio::time::timeout(limit, client.emails().list().into_future()).await.is_err()
    };
    assert!(stopped.block_on(impatient));
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || {
        let call = client.emails().list().timeout(Duration::from_millis(100)).blocking();
        ended.send(call.map(drop)).unwrap();
    });
    assert!(end.recv_timeout(Duration::from_secs(20)).is_ok(), "it waits for itself");
    drop(stopped);
    assert_eq!(serving.block_on(store.read()).unwrap().unwrap().generation, 1);
}
