//! Contact imports: the file is streamed for every attempt.

use http::Method;
use idempost::{
    Error,
    contact_imports::{ContactImportStatus, ImportConflict, NewContactImport},
};
use idempost_conformance::bench::Bench;
use idempost_reference_server::faults::{Action, Rule};

#[tokio::test]
async fn the_client_streams_an_import_again_at_every_attempt_and_repeats_none_of_unknown_outcome() {
    let bench = Bench::start().await;
    let fault = |action| {
        bench.service().faults().add(Rule::new(action).on_request(Method::POST, "/contacts/imports").times(1))
    };
    let client = bench.client();
    let rows: Vec<_> = (0..500).map(|n| bytes::Bytes::from(format!("p{n}@example.com\n"))).collect();
    let rows = [vec![bytes::Bytes::from("email\n")], rows].concat();
    let length = rows.iter().map(|row| row.len() as u64).sum();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), rows.concat()).unwrap();
    let streamed = rows.clone();
    let open = move || futures_util::stream::iter(streamed.clone().into_iter().map(Ok));
    for import in [
        NewContactImport::from_stream(length, open),
        NewContactImport::from_bytes(rows.concat()),
        NewContactImport::from_file(file.path()).await.unwrap(),
    ] {
        let busy = || Action::TooMany { retry_after: Some("0".into()) };
        fault(busy());
        fault(busy());
        let sent = bench.requests().len();
        let id =
            client.contact_imports().create(&import.on_conflict(ImportConflict::Upsert)).await.unwrap().id;
        let attempts: Vec<_> = bench.requests()[sent..].iter().map(|request| request.body.clone()).collect();
        assert!(attempts.len() == 3 && attempts.iter().all(|body| *body == attempts[0]));
        let done = client.contact_imports().wait(&id).await.unwrap();
        assert_eq!((done.status, done.counts.total), (Some(ContactImportStatus::Completed), Some(500)));
    }
    assert_eq!(client.contacts().list().await.unwrap().data.len(), 500);

    // A file that changes between two attempts is never imported in part.
    let import = NewContactImport::from_file(file.path()).await.unwrap();
    std::fs::write(file.path(), "email\n").unwrap();
    assert!(matches!(client.contact_imports().create(&import).await, Err(Error::File(_))));
    assert_eq!(client.contact_imports().list().await.unwrap().data.len(), 3);

    // Each request starts an import, so a request that may have arrived isn't retried.
    for action in [Action::DropAfter, Action::error(503, "service_unavailable", "busy")] {
        fault(action);
        let sent = bench.requests().len();
        let import = NewContactImport::from_bytes("email\nada@example.com\n");
        let error = client.contact_imports().create(&import).await.unwrap_err();
        assert_eq!((error.outcome(), error.is_retryable()), (idempost::Outcome::Unknown, false), "{error}");
        assert_eq!(bench.requests().len(), sent + 1);
    }
    assert_eq!(client.contact_imports().list().await.unwrap().data.len(), 4);
}
