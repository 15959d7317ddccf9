//! Concurrency: tasks, processes, and calls that are rejected together.

use futures_util::future::join_all;
use idempost::auth::Session;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn many_tasks_and_processes_refresh_an_expired_token_once() {
    // TOK-28, D-01
    let fixture = Fixture::expired().await;
    for round in 1..=5 {
        let clients: Vec<_> = (0..10).map(|_| fixture.client(&fixture.session())).collect();
        let calls =
            clients.iter().flat_map(|client| (0..3).map(|_| async { client.emails().send(&email()).await }));
        for sent in join_all(calls).await {
            sent.unwrap();
        }
        assert_eq!(fixture.rotations(), round);
        assert_eq!(fixture.record().await.generation, 1 + round as u64);
        // With 5 s left, calls wait for the refresh too.
        fixture.pass(895);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_rejected_calls_cause_one_refresh_and_one_retry_each() {
    // TOK-34, D-02: the session's clock stands still, so only the service knows that the token has expired.
    let fixture = Fixture::fresh().await;
    let stands = fixture.now();
    let session = Session::builder().wall_clock(move || stands).open(fixture.store.clone());
    let client = fixture.client(&session);
    fixture.pass(901);
    let sent = join_all((0..50).map(|_| async { client.emails().send(&email()).await })).await;
    assert!(sent.len() == 50 && sent.iter().all(Result::is_ok), "{sent:?}");
    assert_eq!(fixture.rotations(), 1);
    assert_eq!(fixture.server.service().mails(&fixture.server.api_key()).len(), 50);
    let requests = fixture.server.service().requests();
    let refused = requests.iter().filter(|request| request.status.as_u16() == 401).count();
    let sends = requests.iter().filter(|request| request.path == "/emails").count();
    assert!((1..=50).contains(&refused), "{refused}");
    assert_eq!(sends, 50 + refused);
}
