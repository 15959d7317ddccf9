//! Jobs whose workers, queue or rows have faults: workers keep running, and their reports are true.

use std::time::Duration;

use idempost::types::RecipientGuard;
use idempost_bulk::{
    BulkError, Counts, DistributeOptions, Ending, Event, Outcome, Run,
    queue::{EmailIntent, Intent, IntentState, Ledger, QueueError, Storage, StoredIntent},
    worker::{Worker, WorkerEnding, WorkerEvent, WorkerOptions},
};
use idempost_needs::needs;
use tokio::time::{sleep, timeout};

use super::{
    faulty::Faults,
    job::{Fixture, MAX_WAIT, finished, outcomes, until, until_async, until_journaled},
    server::Server,
    service::{Action, Service},
};

const SLOW: Action = Action::Accept(Duration::from_millis(20));

#[needs("nats-server")]
#[tokio::test]
async fn a_queue_clock_set_back_stops_the_workers_until_it_is_right() {
    // F-11
    let fixture = Fixture::new(Server::start(), Service::with(|_, _| SLOW), 300).await;
    let faults = Faults::default();
    let start = |queue, cache: &str| {
        let cache = fixture.cache(cache);
        Worker::start(faults.of(queue), &fixture.service.client(), cache, WorkerOptions::default())
    };
    let mut first = start(fixture.backend().await, "first");
    let run = fixture.distribute().await;
    until(|| fixture.service.delivered() >= 20).await;
    faults.set_clock(-3_600);
    until_reported(&mut first, "was set back by 60 min").await;
    // Batches that a worker has leased are completed.
    sleep(Duration::from_secs(1)).await;
    let before = fixture.service.requests();
    let mut second = start(fixture.backend().await, "second");
    until_reported(&mut second, "was set back by").await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(fixture.service.requests(), before);
    faults.set_clock(0);
    fixture.assert_all_sent(run, 300).await;
}

/// Waits until a worker reports this reason why it doesn't send.
async fn until_reported(worker: &mut Worker, expected: &str) {
    let reported = async {
        loop {
            match worker.next().await.expect("it stays") {
                WorkerEvent::QueueUnavailable { reason } | WorkerEvent::Waiting { reason }
                    if reason.contains(expected) =>
                {
                    return;
                }
                _ => {}
            }
        }
    };
    timeout(MAX_WAIT, reported).await.expect("it reports in time");
}

#[needs("nats-server")]
#[tokio::test]
async fn a_queue_clock_set_back_ends_the_coordination_with_an_error() {
    // F-11
    let fixture = Fixture::new(Server::start(), Service::new(), 20).await;
    let faults = Faults::default();
    let start = |queue| {
        let run =
            fixture.job.distribute(&fixture.service.client(), faults.of(queue), DistributeOptions::default());
        run.expect("no invalid rows")
    };
    let mut run = start(fixture.backend().await);
    while let Some(event) = run.next().await
        && event != Event::NoWorkers
    {}
    faults.set_clock(-600);
    let clock = |error| matches!(error, Err(BulkError::Queue(QueueError::Clock { ahead: false, .. })));
    assert!(clock(run.finish().await.map(drop)));
    // Another process knows the time from before.
    assert!(clock(start(fixture.backend().await).finish().await.map(drop)));
    faults.set_clock(-60);
    let _worker = fixture.worker("cache").await;
    assert_eq!(finished(start(fixture.backend().await)).await.counts.sent, 20);
}

#[needs("nats-server")]
#[tokio::test]
async fn a_queue_that_stores_nothing_makes_no_unsent_row_rejected() {
    let fixture = Fixture::new(Server::start(), Service::new(), 30).await;
    let faults = Faults::default();
    let run = fixture.distribute().await;
    faults.set_full(true);
    let options = WorkerOptions::default().max_deliveries(1);
    let queue = faults.of(fixture.backend().await);
    let _worker = Worker::start(queue, &fixture.service.client(), fixture.cache("cache"), options);
    // The leases of this server last a second.
    sleep(Duration::from_secs(5)).await;
    assert_eq!(fixture.service.requests(), 0);
    faults.set_full(false);
    fixture.assert_all_sent(run, 30).await;
}

#[needs("nats-server")]
#[tokio::test]
async fn a_job_found_in_the_queue_is_no_longer_run_locally() {
    let fixture = Fixture::new(Server::start(), Service::new(), 20).await;
    let faults = Faults::default();
    faults.set_full(true);
    let memory = fixture.job.plan().dir().join("queue.json");
    // In a lost folder that was planned again, nothing says that workers may be sending.
    for _ in 0..2 {
        let (client, queue) = (fixture.service.client(), faults.of(fixture.backend().await));
        let run =
            fixture.job.distribute(&client, queue, DistributeOptions::default()).expect("no invalid rows");
        until(|| fixture.job.is_distributed()).await;
        run.stop();
        run.finish().await.expect("a report");
        std::fs::remove_file(&memory).expect("removed");
    }
}

#[needs("nats-server")]
#[tokio::test]
async fn a_refused_batch_is_rejected_alone_and_the_workers_stay() {
    let service = Service::with(|_, to| if to == "r1@example.com" { Action::Forbidden } else { SLOW });
    let fixture = Fixture::new(Server::start(), service, 50).await;
    let workers = fixture.workers(3).await;
    let report = finished(fixture.distribute().await).await;
    assert_eq!((report.counts.sent, report.counts.rejected), (49, 1));
    fixture.service.assert_delivered_once(49);
    for worker in workers {
        assert_eq!(worker.finish().await.expect("a report").ending, WorkerEnding::Finished);
    }
    let first = &outcomes(&fixture.job).await[0];
    assert!(matches!(&first.outcome, Outcome::Rejected { status: 403, .. }), "{first:?}");
}

#[needs("nats-server")]
#[tokio::test]
async fn refusals_of_everything_reject_nothing() {
    let fixture = Fixture::new(Server::start(), Service::with(|_, _| Action::Forbidden), 50).await;
    let run = fixture.distribute().await;
    let refused = fixture.worker("first").await;
    let ending = refused.finish().await.expect("a report").ending;
    assert!(matches!(ending, WorkerEnding::Unauthorized { .. }), "{ending:?}");
    fixture.service.set_script(|_, _| SLOW);
    let _other = fixture.worker("second").await;
    let report = finished(run).await;
    assert_eq!((report.counts.sent, report.counts.rejected), (50, 0));
}

#[needs("nats-server")]
#[tokio::test]
async fn a_worker_whose_recipient_guard_rejects_or_redirects_a_batch_leaves_it_to_other_workers() {
    // G-13
    let fixture = Fixture::new(Server::start(), Service::with(|_, _| SLOW), 50).await;
    let run = fixture.distribute().await;
    let start = async |guard| {
        let (queue, client) = (fixture.backend().await, fixture.service.guarded_client(guard));
        Worker::start(queue, &client, fixture.cache("guarded"), WorkerOptions::default()).finish().await
    };
    let redirected = start(RecipientGuard::new().redirect_to(["qa@acme.test"]).expect("an address")).await;
    let error = redirected.expect_err("the job has no redirection").to_string();
    assert!(error.contains("planned without the redirection to qa@acme.test"), "{error}");
    assert_eq!(fixture.service.requests(), 0);
    let allowed = (1..=50).filter(|row| *row != 7).map(|row| format!("r{row}@example.com"));
    let rejected = start(RecipientGuard::new().allow_to(allowed).expect("addresses")).await;
    let ending = rejected.expect("a report").ending;
    let WorkerEnding::Unauthorized { reason } = &ending else { panic!("{ending:?}") };
    assert!(reason.contains("recipient guard"), "{reason}");
    let _other = fixture.worker("other").await;
    fixture.assert_all_sent(run, 50).await;
}

/// Waits until the service's rejections pause a job.
async fn paused_by_rejections(run: Run) -> Counts {
    let report = timeout(MAX_WAIT, run.finish()).await.expect("the job ends in time").expect("a report");
    let Ending::Paused { until: None, reason } = &report.ending else { panic!("{report:?}") };
    assert!(reason.contains("20 requests in a row") && reason.contains("validation_error"), "{reason}");
    report.counts
}

#[needs("nats-server")]
#[tokio::test]
async fn rejections_of_everything_pause_the_job_with_their_cause() {
    let fixture = Fixture::new(Server::start(), Service::with(|_, _| Action::Invalid), 200).await;
    let _worker = fixture.worker("cache").await;
    let counts = paused_by_rejections(fixture.distribute().await).await;
    assert_eq!(counts.rejected, 19, "{counts:?}");
    fixture.service.set_script(|_, _| SLOW);
    let report = finished(fixture.distribute().await).await;
    assert_eq!((report.counts.sent, report.counts.rejected), (181, 19));
    fixture.service.assert_delivered_once(181);
}

#[needs("nats-server")]
#[tokio::test]
async fn rejections_of_everything_leave_a_split_batch_for_later() {
    let fixture = Fixture::in_batches(Server::start(), Service::with(|_, _| Action::Invalid), 300).await;
    let _worker = fixture.worker("cache").await;
    let counts = paused_by_rejections(fixture.distribute().await).await;
    assert_eq!((counts.rejected, counts.remaining), (0, 300));
    fixture.service.set_script(|_, _| SLOW);
    fixture.assert_all_sent(fixture.distribute().await, 300).await;
}

#[needs("nats-server")]
#[tokio::test]
async fn a_worker_splits_a_rejected_batch_until_the_bad_row_stands_alone() {
    let service = Service::with(|_, to| if to == "r101@example.com" { Action::Invalid } else { SLOW });
    let fixture = Fixture::in_batches(Server::start().leasing(30), service, 250).await;
    let _worker = fixture.worker("cache").await;
    let report = finished(fixture.distribute().await).await;
    assert_eq!((report.counts.sent, report.counts.rejected), (249, 1));
    assert_eq!(
        (report.requests, fixture.service.requests()),
        (103, 103),
        "3 batches, and 100 emails of one of them"
    );
    assert_eq!((report.replayed, fixture.service.repeated()), (0, 0));
    fixture.service.assert_delivered_once(249);
    let rejected = &outcomes(&fixture.job).await[100];
    assert!(matches!(&rejected.outcome, Outcome::Rejected { .. }), "{rejected:?}");
}

#[needs("nats-server")]
#[tokio::test]
async fn a_batch_that_a_killed_worker_has_split_stays_split() {
    for store_is_lost in [false, true] {
        let service = Service::with(|_, to| match to {
            "r1@example.com" | "r5@example.com" | "r20@example.com" => Action::Invalid,
            "r9@example.com" => Action::Hang,
            _ => SLOW,
        });
        let mut fixture = Fixture::in_batches(Server::start(), service, 50).await;
        let mut run = fixture.distribute().await;
        let dying = fixture.worker("first").await;
        until(|| fixture.service.requests() == 10).await;
        dying.abort();
        let queue = fixture.backend().await;
        let state = queue.intent(0).await.expect("read").expect("an intent").intent.state;
        assert_eq!(state, IntentState::Split);
        if store_is_lost {
            until_journaled(&queue, &fixture.job).await;
            run.stop();
            run.finish().await.expect("a report");
            fixture.server.lose_store();
            run = fixture.distribute().await;
        }
        // The batch as a whole would be accepted now.
        fixture.service.set_script(|_, to| if to == "r20@example.com" { Action::Invalid } else { SLOW });
        let _second = fixture.worker("second").await;
        let report = finished(run).await;
        // In the lost store, the first worker may have sent the emails behind the ninth.
        let unknown = u64::from(store_is_lost);
        let counts = Counts { sent: 47, rejected: 3 - unknown, unknown, ..Counts::default() };
        assert_eq!(report.counts, counts, "{store_is_lost}");
        fixture.service.assert_delivered_once(47);
        assert_eq!((fixture.service.requests(), fixture.service.repeated()), (10 + 42, 1), "{store_is_lost}");
    }
}

#[needs("nats-server")]
#[tokio::test]
async fn a_worker_whose_split_batch_was_taken_sends_no_further_email() {
    let service = Service::with(|_, to| match to {
        "r1@example.com" => Action::Invalid,
        "r9@example.com" => Action::Accept(Duration::from_secs(2)),
        _ => SLOW,
    });
    let fixture = Fixture::in_batches(Server::start(), service, 50).await;
    let run = fixture.distribute().await;
    let _worker = fixture.worker("cache").await;
    until(|| fixture.service.requests() == 10).await;
    let queue = fixture.backend().await;
    let StoredIntent { intent, revision } = queue.intent(0).await.expect("read").expect("an intent");
    assert!(matches!(&intent.emails[0], EmailIntent::Rejected(message) if message.starts_with("HTTP 422: ")));
    assert_eq!(intent.emails[7], EmailIntent::Accepted("id-of-r8@example.com".to_owned()));
    assert!(matches!(intent.emails[8], EmailIntent::Open(_)));
    assert_eq!(intent.emails[9..], vec![EmailIntent::NotSent; 41]);
    let taken = Intent { attempt: "of another worker".to_owned(), ..intent };
    queue.record_intent(0, &taken, Some(revision)).await.expect("recorded");
    // Its lease expires, and the worker gets the batch again.
    assert_eq!(finished(run).await.counts, Counts { sent: 49, rejected: 1, ..Counts::default() });
    fixture.service.assert_delivered_once(49);
    assert_eq!((fixture.service.requests(), fixture.service.repeated()), (10 + 42, 1));
}

#[needs("nats-server")]
#[tokio::test]
async fn a_worker_that_stops_within_a_split_batch_leaves_what_it_knows() {
    let bad = ["r1@example.com", "r5@example.com", "r20@example.com"];
    let service = Service::with(move |_, to| if bad.contains(&to) { Action::Invalid } else { SLOW });
    let fixture = Fixture::in_batches(Server::start().leasing(30), service, 50).await;
    let run = fixture.distribute().await;
    for stopped in 1..4 {
        let worker = fixture.worker("cache").await;
        until(|| fixture.service.requests() >= 10 * stopped).await;
        worker.stop();
        worker.finish().await.expect("a report");
    }
    // An email that wasn't attempted outlives the key of the batch.
    let queue = fixture.backend().await;
    let stored = queue.intent(0).await.expect("read").expect("an intent");
    let aged = Intent { first_attempt: stored.intent.first_attempt - 23 * 3_600_000, ..stored.intent };
    queue.record_intent(0, &aged, Some(stored.revision)).await.expect("recorded");
    let _last = fixture.worker("cache").await;
    assert_eq!(finished(run).await.counts, Counts { sent: 47, rejected: 3, ..Counts::default() });
    fixture.service.assert_delivered_once(47);
    assert_eq!(fixture.service.repeated(), 0);
}

#[needs("nats-server")]
#[tokio::test]
async fn a_worker_killed_after_a_rejection_within_a_split_batch_makes_no_row_unknown() {
    let bad = ["r1@example.com", "r5@example.com"];
    let service = Service::with(move |_, to| if bad.contains(&to) { Action::Invalid } else { SLOW });
    let fixture = Fixture::in_batches(Server::start(), service, 10).await;
    let run = fixture.distribute_with(DistributeOptions::default().max_rps(2.0)).await;
    let killed = fixture.worker("first").await;
    until(|| fixture.service.requests() == 6).await;
    // The next request is due in 500 ms.
    sleep(Duration::from_millis(250)).await;
    killed.abort();
    let _other = fixture.worker("second").await;
    assert_eq!(finished(run).await.counts, Counts { sent: 8, rejected: 2, ..Counts::default() });
}

#[needs("nats-server")]
#[tokio::test]
async fn a_split_batch_that_is_given_up_keeps_the_outcomes_of_its_emails() {
    let service = Service::with(|_, to| match to {
        "r1@example.com" => Action::Invalid,
        "r4@example.com" => Action::Panic,
        _ => SLOW,
    });
    let fixture = Fixture::in_batches(Server::start(), service, 10).await;
    let run = fixture.distribute().await;
    let _worker = fixture.worker_with("cache", WorkerOptions::default().max_deliveries(2)).await;
    assert_eq!(finished(run).await.counts, Counts { sent: 2, rejected: 1, unknown: 7, ..Counts::default() });
}

#[needs("nats-server")]
#[tokio::test]
async fn a_worker_that_joins_while_the_server_is_down_waits_for_it() {
    let mut fixture = Fixture::new(Server::start(), Service::new(), 30).await;
    let mut run = fixture.distribute().await;
    let queue = fixture.backend().await;
    while let Some(event) = run.next().await
        && event != Event::NoWorkers
    {}
    fixture.server.kill();
    let mut worker =
        Worker::start(queue, &fixture.service.client(), fixture.cache("cache"), WorkerOptions::default());
    until_reported(&mut worker, "read a shared value").await;
    fixture.server.restart();
    assert_eq!(finished(run).await.counts.sent, 30);
    assert_eq!(worker.finish().await.expect("a report").ending, WorkerEnding::Finished);
}

#[needs("nats-server")]
#[tokio::test]
async fn a_restored_queue_keeps_the_earlier_first_attempt() {
    let service = Service::with(|_, to| if to == "r2@example.com" { Action::Hang } else { SLOW });
    let mut fixture = Fixture::new(Server::start(), service, 3).await;
    let run = fixture.distribute().await;
    let dying = fixture.worker("first").await;
    until(|| fixture.service.delivered() == 3).await;
    dying.abort();
    let queue = fixture.backend().await;
    let before = queue.intent(1).await.expect("read").expect("an intent").intent;
    until_journaled(&queue, &fixture.job).await;
    run.stop();
    run.finish().await.expect("a report");
    fixture.server.lose_store();
    let queue = fixture.backend().await;
    queue.restore("ff").await.expect("restored");
    let first_attempt = before.first_attempt + 60_000;
    let newer = Intent { first_attempt, attempt: "of another worker".to_owned(), ..before.clone() };
    queue.record_intent(1, &newer, None).await.expect("recorded");
    let run = fixture.distribute().await;
    // The coordinator restores the earlier time.
    let is_earlier = |stored: StoredIntent| stored.intent.first_attempt == before.first_attempt;
    until_async(async || queue.intent(1).await.ok().flatten().is_some_and(is_earlier)).await;
    fixture.service.set_script(|_, _| SLOW);
    let _second = fixture.worker("second").await;
    fixture.assert_all_sent(run, 3).await;
}

#[needs("nats-server")]
#[tokio::test]
async fn a_report_counts_the_requests_and_the_repeated_batches() {
    let service = Service::with(|n, to| match to {
        "r3@example.com" => Action::Hang,
        _ if n == 2 => Action::Throttle,
        _ => SLOW,
    });
    let fixture = Fixture::new(Server::start().leasing(6), service, 10).await;
    let run = fixture.distribute().await;
    let dying = fixture.worker("first").await;
    until(|| fixture.service.delivered() == 10).await;
    // Only the results that a worker has recorded are sure to be counted.
    let queue = fixture.backend().await;
    until_async(async || queue.results(0, 10).await.is_ok_and(|results| results.len() == 9)).await;
    dying.abort();
    fixture.service.set_script(|_, _| SLOW);
    let _second = fixture.worker("second").await;
    let report = finished(run).await;
    assert_eq!((report.requests, report.throttled, report.replayed), (fixture.service.requests(), 1, 1));
    assert_eq!(report.requests, 12, "10 batches, one of them throttled and one repeated");
}

#[needs("nats-server")]
#[tokio::test]
async fn replicas_that_the_server_cannot_store_are_an_error() {
    let server = Server::start();
    let queue = || async {
        let options = server.options().replicas(3).expect("a valid number");
        let queue = idempost_bulk::queue::NatsQueue::connect(options).await.expect("connected");
        queue.job("job").expect("a valid name")
    };
    let created = queue().await.restore("a1").await.expect_err("one server");
    let text = created.to_string();
    assert!(text.starts_with("couldn't store BULK_JOBS on 3 servers: "), "{text}");
    server.job("job").await.restore("a1").await.expect("restored");
    let raised = queue().await.restore("a1").await.expect_err("one server");
    let text = raised.to_string();
    assert!(text.starts_with("couldn't store BULK_JOBS on 3 servers: it is stored on 1"), "{text}");
}
