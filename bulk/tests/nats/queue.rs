//! The queue alone.

use std::{fs, time::Duration};

use bytes::Bytes;
use idempost_bulk::queue::{
    CellKey, Durability, Intent, IntentResult, IntentState, JobFile, Ledger, NatsJob, NatsQueue, Queue,
    QueueAuth, QueueError, QueueOptions, QueueStats, Storage,
};
use idempost_needs::needs;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::server::Server;

const SOON: Duration = Duration::from_millis(300);
/// Longer than a batch takes to arrive on a busy machine.
const LONG: Duration = Duration::from_mins(1);

async fn restored(server: &Server, name: &str) -> NatsJob {
    let job = server.job(name).await;
    job.restore("a1").await.expect("restored");
    job
}

async fn restored_on(server: Server) -> (Server, NatsJob) {
    let job = restored(&server, "job").await;
    (server, job)
}

fn intent(attempt: &str) -> Intent {
    Intent {
        first_attempt: 1_000,
        hash: [7; 16],
        state: IntentState::Open,
        emails: Vec::new(),
        requests: 0,
        attempt: attempt.to_owned(),
    }
}

#[needs("nats-server")]
#[tokio::test]
async fn adding_batches_twice_creates_no_duplicates() {
    let (_server, job) = restored_on(Server::start()).await;
    let batches: Vec<u32> = (0..500).collect();
    job.put(&batches, 0).await.expect("added");
    job.put(&batches, 0).await.expect("added again");
    assert_eq!(job.stats().await.expect("stats"), QueueStats { waiting: 500, leased: 0 });
    // Another round is how a lost batch is added again.
    job.put(&[3], 1).await.expect("added");
    assert_eq!(job.stats().await.expect("stats").waiting, 501);
}

#[needs("nats-server")]
#[tokio::test]
async fn a_lease_that_expires_is_delivered_again_and_counted() {
    let (_server, job) = restored_on(Server::start().leasing(6)).await;
    job.put(&[4], 0).await.expect("added");
    let first = job.take(LONG).await.expect("taken").expect("a batch");
    assert_eq!((first.batch, first.deliveries), (4, 1));
    assert_eq!(job.take(SOON).await.expect("taken"), None);
    let second = job.take(LONG).await.expect("taken").expect("the batch again");
    assert_eq!((second.batch, second.deliveries), (4, 2));
    job.complete(&second).await.expect("removed");
    assert!(job.stats().await.expect("stats").is_empty());
}

#[needs("nats-server")]
#[tokio::test]
async fn an_extended_lease_does_not_expire() {
    let (_server, job) = restored_on(Server::start().leasing(6)).await;
    job.put(&[4], 0).await.expect("added");
    let lease = job.take(LONG).await.expect("taken").expect("a batch");
    for _ in 0..4 {
        assert_eq!(job.take(Duration::from_secs(2)).await.expect("taken"), None);
        job.extend(&lease).await.expect("extended");
    }
}

#[needs("nats-server")]
#[tokio::test]
async fn a_rejected_batch_is_available_at_once_and_its_deliveries_start_again() {
    let (_server, job) = restored_on(Server::start().leasing(30)).await;
    job.put(&[4], 0).await.expect("added");
    for _ in 0..3 {
        let lease = job.take(Duration::from_secs(20)).await.expect("taken").expect("a batch");
        assert_eq!((lease.batch, lease.deliveries), (4, 1));
        job.reject(&lease).await.expect("rejected");
    }
    assert_eq!(job.stats().await.expect("stats"), QueueStats { waiting: 1, leased: 0 });
}

#[needs("nats-server")]
#[tokio::test]
async fn jobs_share_the_streams_and_see_only_their_own_batches() {
    let server = Server::start();
    let one = restored(&server, "one").await;
    let other = restored(&server, "one-two").await;
    one.put(&[1], 0).await.expect("added");
    other.put(&[2, 3], 0).await.expect("added");
    other.record_result(2, Bytes::from_static(b"x")).await.expect("concluded");
    assert_eq!(one.take(LONG).await.expect("taken").expect("a batch").batch, 1);
    assert_eq!(one.results(0, 10).await.expect("results"), []);
    one.clear().await.expect("cleared");
    assert_eq!(other.stats().await.expect("stats").waiting, 2);
    assert_eq!(other.results(0, 10).await.expect("results").len(), 1);
}

#[needs("nats-server")]
#[tokio::test]
async fn an_intent_is_created_once_and_replaced_only_in_the_version_that_was_read() {
    let (_server, job) = restored_on(Server::start()).await;
    let IntentResult::Recorded(first) = job.record_intent(5, &intent("a"), None).await.expect("recorded")
    else {
        panic!("there was no intent")
    };
    let conflict = job.record_intent(5, &intent("b"), None).await.expect("a response");
    assert!(
        matches!(conflict, IntentResult::Conflict(stored) if stored.intent == intent("a") && stored.revision == first)
    );
    // The same call again: its first response may have been lost.
    assert_eq!(
        job.record_intent(5, &intent("a"), None).await.expect("recorded"),
        IntentResult::Recorded(first)
    );

    let IntentResult::Recorded(second) =
        job.record_intent(5, &intent("b"), Some(first)).await.expect("recorded")
    else {
        panic!("the version was the latest")
    };
    let withdrawn = Intent { state: IntentState::NotSent, ..intent("a") };
    let conflict = job.record_intent(5, &withdrawn, Some(first)).await.expect("a response");
    assert!(matches!(conflict, IntentResult::Conflict(stored) if stored.revision == second));
}

#[needs("nats-server")]
#[tokio::test]
async fn the_first_result_of_a_batch_is_kept() {
    let (_server, job) = restored_on(Server::start()).await;
    assert_eq!(job.result(5).await.expect("read"), None);
    assert!(job.record_result(5, Bytes::from_static(b"first")).await.expect("concluded"));
    assert!(!job.record_result(5, Bytes::from_static(b"second")).await.expect("concluded"));
    assert_eq!(job.result(5).await.expect("read"), Some(Bytes::from_static(b"first")));
}

#[needs("nats-server")]
#[tokio::test]
async fn records_are_read_in_pages_from_a_position() {
    let (_server, job) = restored_on(Server::start()).await;
    for batch in 0..25 {
        job.record_result(batch, Bytes::from(batch.to_string())).await.expect("concluded");
    }
    let (mut seen, mut position) = (Vec::new(), 0);
    loop {
        let page = job.results(position, 10).await.expect("results");
        let Some(last) = page.last() else { break };
        position = last.position;
        seen.extend(page.into_iter().map(|entry| entry.batch));
    }
    assert_eq!(seen, (0..25).collect::<Vec<_>>());
}

#[needs("nats-server")]
#[tokio::test]
async fn a_cell_is_written_only_in_the_version_that_was_read() {
    let (_server, job) = restored_on(Server::start()).await;
    let key = CellKey::Rate("0123");
    assert_eq!(job.load(key).await.expect("read"), None);
    let revision = job.store(key, Bytes::from_static(b"1"), None).await.expect("written").expect("new");
    assert_eq!(job.store(key, Bytes::from_static(b"2"), None).await.expect("a response"), None);
    assert!(job.store(key, Bytes::from_static(b"2"), Some(revision)).await.expect("written").is_some());
    assert_eq!(job.load(key).await.expect("read").expect("a value").value, "2");
}

#[needs("nats-server")]
#[tokio::test]
async fn a_record_beyond_the_server_s_payload_limit_is_an_error_that_no_repetition_hides() {
    let server = Server::start_with("sync_interval: always", "max_payload: 2000");
    let job = server.job("job").await;
    job.restore("a1").await.expect("restored");
    let error = job.store(CellKey::Control, vec![b'x'; 3_000].into(), None).await.expect_err("too large");
    assert!(!error.is_transient(), "{error}");
    let expected = "3000 bytes and headers exceed the server's `max_payload` of 2000";
    assert!(error.to_string().contains(expected), "{error}");
}

#[needs("nats-server")]
#[tokio::test]
async fn a_file_arrives_complete_or_not_at_all() {
    // Its parts are smaller than the server's largest message.
    let (_server, job) = restored_on(Server::start_with("sync_interval: always", "max_payload: 20000")).await;
    let folder = tempfile::tempdir().expect("a folder");
    let content = vec![42; 300_000];
    let source = folder.path().join("input");
    fs::write(&source, &content).expect("written");
    let file = JobFile {
        name: "files/input".to_owned(),
        size: content.len() as u64,
        blake3: blake3::hash(&content).to_hex().to_string(),
    };
    job.upload(&file, &source).await.expect("uploaded");
    job.upload(&file, &source).await.expect("uploaded already");
    let target = folder.path().join("cache/files/input");
    job.download(&file, &target).await.expect("downloaded");
    assert_eq!(fs::read(&target).expect("read"), content);

    fs::write(&source, b"another content").expect("written");
    let wrong = JobFile { blake3: "00".repeat(32), ..file.clone() };
    job.upload(&wrong, &source).await.expect("uploaded");
    let elsewhere = folder.path().join("cache/other");
    let error = job.download(&wrong, &elsewhere).await.expect_err("another hash");
    assert_eq!(error.to_string(), "job file files/input: the queue's copy doesn't match its hash");
    assert!(!elsewhere.exists());

    let outside = JobFile { name: "../outside".to_owned(), ..file };
    assert!(matches!(job.download(&outside, &elsewhere).await, Err(QueueError::File { .. })));
}

#[needs("nats-server")]
#[tokio::test]
async fn records_survive_a_killed_server_and_the_connection_recovers() {
    let mut server = Server::start();
    let job = restored(&server, "job").await;
    job.put(&(0..50).collect::<Vec<_>>(), 0).await.expect("added");
    job.record_result(1, Bytes::from_static(b"x")).await.expect("concluded");
    let before = job.identity().await.expect("read").expect("complete");
    server.kill();
    assert!(job.record_result(2, Bytes::from_static(b"x")).await.is_err_and(|error| error.is_transient()));
    server.restart();
    let mut stats = job.stats().await;
    for _ in 0..600 {
        if stats.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        stats = job.stats().await;
    }
    assert_eq!(stats.expect("stats").waiting, 50);
    let after = job.identity().await.expect("read").expect("complete");
    assert_eq!((before.results, before.entries), (after.results, after.entries));
}

#[needs("nats-server")]
#[tokio::test]
async fn a_missing_stream_is_recognized_as_lost_data() {
    let server = Server::start();
    let job = server.job("job").await;
    assert_eq!(job.identity().await.expect("read"), None);
    assert!(matches!(job.take(SOON).await, Err(QueueError::Lost { .. })));
    assert!(matches!(job.record_result(0, Bytes::new()).await, Err(QueueError::Lost { .. })));
    assert!(matches!(job.results(0, 10).await, Err(QueueError::Lost { .. })));
    assert!(matches!(job.record_intent(0, &intent("a"), None).await, Err(QueueError::Lost { .. })));
}

#[needs("nats-server")]
#[tokio::test]
async fn a_worker_that_does_not_answer_is_none() {
    let (server, job) = restored_on(Server::start()).await;
    let frozen = async_nats::connect(server.address()).await.expect("connected");
    let _questions = frozen.subscribe("bulk.workers.job").await.expect("subscribed");
    frozen.flush().await.expect("sent");
    assert!(!job.is_attended().await.expect("the queue responds"));
}

#[needs("nats-server")]
#[tokio::test]
async fn the_monitoring_address_tells_whether_records_are_synced() {
    let server = Server::start();
    assert_eq!(server.connect().await.durability().await, Durability::Always);
    let default = Server::start_with("", "");
    assert_eq!(default.connect().await.durability().await, Durability::Interval(Duration::from_mins(2)));
    let hidden =
        NatsQueue::connect(QueueOptions::new(&server.address()).expect("valid")).await.expect("connected");
    assert!(
        hidden.durability().await.to_string().starts_with("can't verify"),
        "{}",
        hidden.durability().await
    );
}

#[needs("nats-server")]
#[tokio::test]
async fn wrong_credentials_are_refused_without_showing_them() {
    let server = Server::start_with("sync_interval: always", "authorization { token: s3cret }");
    let options = |token: &str| {
        QueueOptions::new(&server.address()).expect("valid").auth(QueueAuth::Token(token.to_owned().into()))
    };
    assert!(NatsQueue::connect(options("s3cret")).await.is_ok());
    let error = NatsQueue::connect(options("wr0ng")).await.expect_err("refused");
    let text = format!("{error:?} {error}");
    assert!(text.contains("the server rejected the credentials") && !text.contains("wr0ng"), "{text}");
}

#[tokio::test]
async fn a_server_that_is_too_old_is_refused_with_its_version() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = format!("nats://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.expect("a connection");
        let info = r#"{"server_id":"A","server_name":"A","version":"2.9.25","go":"go","host":"127.0.0.1","port":4222,"max_payload":1048576,"proto":1,"headers":true,"jetstream":true}"#;
        connection.write_all(format!("INFO {info}\r\n").as_bytes()).await.expect("written");
        // CONNECT and PING.
        let mut received = vec![0; 4096];
        let _ = connection.read(&mut received).await;
        connection.write_all(b"PONG\r\n").await.expect("written");
        let _ = connection.read(&mut received).await;
    });
    let error = NatsQueue::connect(QueueOptions::new(&address).expect("valid")).await.expect_err("too old");
    assert_eq!(
        error.to_string(),
        format!("the queue at {address} runs NATS 2.9.25; bulk sending requires 2.12 or later"),
    );
}

#[needs("nats-server")]
#[tokio::test]
async fn a_stream_that_drops_records_is_refused() {
    let server = Server::start();
    let context = server.jetstream().await;
    let config = async_nats::jetstream::stream::Config {
        name: "BULK_RESULTS".to_owned(),
        subjects: vec!["bulk.results.*.*".to_owned()],
        max_messages_per_subject: 1,
        max_messages: 1_000,
        ..Default::default()
    };
    context.create_stream(config).await.expect("created");
    let error = server.job("job").await.restore("a1").await.expect_err("refused");
    assert!(error.to_string().contains("BULK_RESULTS exists with a different configuration"), "{error}");
}

#[needs("nats-server")]
#[tokio::test]
async fn a_look_for_running_jobs_reads_only_what_has_changed() {
    let server = Server::start();
    let queue = server.connect().await;
    let control = |state: &str| {
        let account = json!({ "base_url": "http://127.0.0.1:9", "salt": "00", "credentials": [] });
        let control = json!({
            "state": state, "batches": 1, "added": 1, "round": 0, "generation": "a1", "account": account, "rate_scope": "x",
            "files": [],
        });
        Bytes::from(control.to_string())
    };
    let store = async |name: &str, state: &str| {
        let job = queue.job(name).expect("a valid name");
        let revision = job.load(CellKey::Control).await.expect("loaded").map(|cell| cell.revision);
        job.store(CellKey::Control, control(state), revision).await.expect("stored").expect("no conflict");
    };
    let running = async || {
        let jobs = queue.running_jobs().await.expect("the jobs").into_iter();
        jobs.map(|job| job.id).collect::<Vec<_>>()
    };
    assert_eq!(running().await, [""; 0]);
    restored(&server, "job").await;
    for ended in 0..600 {
        store(&format!("ended-{ended}"), "finished").await;
    }
    for name in ["b", "a", "c"] {
        store(name, "running").await;
    }
    assert_eq!(running().await, ["a", "b", "c"]);
    store("b", "paused").await;
    let before = server.messages();
    assert_eq!(running().await, ["a", "c"]);
    let messages = server.messages() - before;
    assert!(messages < 10, "{messages}");

    // Records that others delete, and a bucket that is created again.
    let jetstream = server.jetstream().await;
    let bucket = jetstream.get_key_value("bulk_control").await.expect("a bucket");
    bucket.delete("a").await.expect("deleted");
    assert_eq!(running().await, ["c"]);
    bucket.stream.purge().await.expect("purged");
    assert_eq!(running().await, [""; 0]);
    store("d", "running").await;
    assert_eq!(running().await, ["d"]);
    jetstream.delete_key_value("bulk_control").await.expect("deleted");
    assert_eq!(running().await, [""; 0]);
    restored(&server, "job").await;
    store("e", "running").await;
    assert_eq!(running().await, ["e"]);
}
