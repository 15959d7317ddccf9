//! Jobs with several workers.

use std::{
    collections::HashSet,
    sync::Arc,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use idempost::{Client, call::RateLimit};
use idempost_bulk::{
    Account, AccountError, Bulk, BulkError, ChangedRows, DistributeOptions, Ending, Event, Input, Job,
    JobState, Message, Outcome, Run, RunOptions, SalvageOptions,
    queue::{
        CellKey, Control, ControlState, Intent, IntentResult, Ledger, NatsJob, Queue, Storage, set_state,
    },
    worker::{Worker, WorkerEnding, WorkerEvent, WorkerOptions},
};
use idempost_needs::needs;
use idempost_reference_server::ReferenceServer;
use tokio::time::{sleep, timeout};

use super::{
    job::{
        Fixture, MAX_WAIT, finished, outcomes, planned, planned_at, planned_in_batches, until, until_async,
        until_waiting,
    },
    server::Server,
    service::{Action, Service},
};

const FAST: Action = Action::Accept(Duration::from_millis(1));

#[needs("nats-server")]
#[tokio::test]
async fn three_workers_send_every_email_once() {
    let fixture = Fixture::in_batches(Server::start().leasing(30), Service::new(), 2_050).await;
    let workers = fixture.workers(3).await;
    fixture.assert_all_sent(fixture.distribute().await, 2_050).await;
    assert_eq!((fixture.service.requests(), fixture.service.repeated()), (21, 0));
    let mut batches = 0;
    for worker in workers {
        let report = worker.finish().await.expect("a report");
        assert_eq!(report.ending, WorkerEnding::Finished);
        batches += report.batches;
    }
    assert_eq!(batches, 21);
    let sent = outcomes(&fixture.job).await;
    assert_eq!(sent.len(), 2_050);
    for row in sent {
        assert_eq!(row.outcome, Outcome::Sent { id: format!("id-of-{}", row.recipient) });
        assert!(row.key.starts_with(&format!("bulk/{}/", fixture.job.plan().id())), "{}", row.key);
    }
}

#[needs("nats-server")]
#[tokio::test]
async fn a_job_with_a_schedule_is_not_distributed() {
    let fixture = Fixture::new(Server::start(), Service::new(), 10).await;
    std::fs::write(fixture.job.plan().dir().join("schedule.json"), r#"{"daily":[10]}"#).expect("a schedule");
    let error = fixture.distribute().await.finish().await.expect_err("a schedule").to_string();
    assert!(error.contains("which workers don't support"), "{error}");
    assert_eq!(fixture.service.requests(), 0);
}

#[needs("nats-server")]
#[tokio::test]
async fn the_reference_service_accepts_every_email_of_a_distributed_job_once() {
    let (server, service) = (Server::start(), ReferenceServer::start().await);
    let client = || {
        Client::builder()
            .base_url(service.base_url())
            .api_key(service.api_key())
            .rate_limit(RateLimit::Off)
            .build()
            .expect("valid settings")
    };
    let folder = tempfile::tempdir().expect("a folder");
    let job = planned_in_batches(folder.path(), &client(), 1_234).await;
    let queue = || server.job(job.plan().id());
    let mut workers = Vec::new();
    for index in 0..3 {
        let cache = folder.path().join(format!("cache-{index}"));
        workers.push(Worker::start(queue().await, &client(), cache, WorkerOptions::default()));
    }
    let run = job.distribute(&client(), queue().await, DistributeOptions::default());
    let report = finished(run.expect("no invalid rows")).await;
    assert_eq!((report.counts.sent, report.counts.unknown), (1_234, 0));
    let mails = service.service().mails(&service.api_key());
    let recipients: HashSet<String> = mails.iter().flat_map(|mail| mail.to.iter().cloned()).collect();
    assert_eq!((mails.len(), recipients.len()), (1_234, 1_234));
}

#[needs("nats-server")]
#[tokio::test]
async fn only_the_account_of_a_job_takes_its_batches() {
    // F-13
    let fixture = Fixture::new(Server::start(), Service::new(), 20).await;
    let run = fixture.distribute().await;
    let start = |queue, cache: &str, options| {
        Worker::start(queue, &fixture.service.other_client(), fixture.cache(cache), options)
    };
    let other = start(fixture.backend().await, "other", WorkerOptions::default());
    let rejected = other.finish().await;
    assert!(matches!(rejected, Err(BulkError::Account(AccountError::OtherAccount { .. }))), "{rejected:?}");
    // The same input on another machine is the same job in the queue.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let twin = planned(elsewhere.path(), &fixture.service.other_client(), 20).await;
    assert_eq!(twin.plan().id(), fixture.job.plan().id());
    let distribute_twin = async || {
        let (client, queue) = (fixture.service.other_client(), fixture.backend().await);
        let run = twin.distribute(&client, queue, DistributeOptions::default());
        let rejected = run.expect("no invalid rows").finish().await;
        let is_other = matches!(rejected, Err(BulkError::Account(AccountError::OtherAccount { .. })));
        assert!(is_other, "{rejected:?}");
    };
    distribute_twin().await;
    assert_eq!(fixture.service.requests(), 0);
    let affirmed = WorkerOptions::default().account(Account::new().assume_same_account());
    let worker = start(fixture.backend().await, "affirmed", affirmed);
    assert_eq!(finished(run).await.counts.sent, 20);
    assert_eq!(worker.finish().await.expect("a report").ending, WorkerEnding::Finished);
    distribute_twin().await;
}

#[needs("nats-server")]
#[tokio::test]
async fn a_batch_whose_worker_dies_between_intent_and_result_is_sent_again_under_the_same_key() {
    let service = Service::with(|_, to| if to == "r3@example.com" { Action::Hang } else { FAST });
    let fixture = Fixture::new(Server::start(), service, 10).await;
    let run = fixture.distribute().await;
    let dying = fixture.worker("first").await;
    until(|| fixture.service.delivered() == 10).await;
    dying.abort();
    fixture.service.set_script(|_, _| FAST);
    let _second = fixture.worker("second").await;
    fixture.assert_all_sent(run, 10).await;
    assert!(fixture.service.repeated() >= 1);
}

#[needs("nats-server")]
#[tokio::test]
async fn a_stopped_worker_returns_what_it_cannot_finish() {
    let service = Service::with(|_, _| Action::FailAfter);
    let fixture = Fixture::new(Server::start(), service, 6).await;
    let run = fixture.distribute().await;
    let stopping = fixture.worker("first").await;
    until(|| fixture.service.requests() >= 3).await;
    stopping.stop();
    assert_eq!(stopping.finish().await.expect("a report").ending, WorkerEnding::Stopped);
    let queue = fixture.backend().await;
    follow(&queue).await;
    until_async(async || queue.stats().await.is_ok_and(|stats| stats.leased == 0)).await;
    fixture.service.set_script(|_, _| FAST);
    let _second = fixture.worker("second").await;
    fixture.assert_all_sent(run, 6).await;
}

/// Uses the generation in the job's control record, once the coordinator has added all batches.
async fn follow(queue: &NatsJob) {
    until_async(async || {
        let Ok(Some(cell)) = queue.load(CellKey::Control).await else { return false };
        let control: Control = serde_json::from_slice(&cell.value).expect("a control record");
        let is_supplied = control.added == control.batches;
        if is_supplied {
            queue.use_generation(&control.generation);
        }
        is_supplied
    })
    .await;
}

#[needs("nats-server")]
#[tokio::test]
async fn a_server_that_is_killed_and_restarted_mid_run_costs_no_email() {
    let mut fixture = Fixture::new(Server::start(), Service::new(), 450).await;
    let _workers = fixture.workers(3).await;
    let run = fixture.distribute().await;
    for share in [100, 250] {
        until(|| fixture.service.delivered() >= share).await;
        fixture.server.kill();
        sleep(Duration::from_millis(300)).await;
        fixture.server.restart();
    }
    fixture.assert_all_sent(run, 450).await;
}

#[needs("nats-server")]
#[tokio::test]
async fn batches_that_the_queue_lost_are_found_and_added_again() {
    let fixture = Fixture::new(Server::start().leasing(30), Service::new(), 500).await;
    let run = fixture.distribute().await;
    let queue = fixture.backend().await;
    follow(&queue).await;
    until_waiting(&queue, 500).await;
    let context = fixture.server.jetstream().await;
    let jobs = context.get_stream("BULK_JOBS").await.expect("the stream");
    for sequence in (1..=500).step_by(10) {
        jobs.delete_message(sequence).await.expect("deleted");
    }
    until_waiting(&queue, 450).await;
    let _workers = fixture.workers(2).await;
    fixture.assert_all_sent(run, 500).await;
    assert_eq!(fixture.service.repeated(), 0);
}

#[needs("nats-server")]
#[tokio::test]
async fn a_store_that_is_deleted_mid_run_is_rebuilt_and_no_email_is_sent_under_another_key() {
    let mut fixture = Fixture::new(Server::start(), Service::new(), 300).await;
    let _workers = fixture.workers(3).await;
    let run = fixture.distribute().await;
    until(|| fixture.service.delivered() >= 100).await;
    fixture.server.lose_store();
    fixture.assert_all_sent(run, 300).await;
}

#[needs("nats-server")]
#[tokio::test]
async fn a_salvaged_journal_of_a_distributed_job_costs_no_email() {
    for store_is_lost in [false, true] {
        let mut fixture = Fixture::new(Server::start(), Service::new(), 300).await;
        let _workers = fixture.workers(2).await;
        let run = fixture.distribute().await;
        until(|| fixture.service.delivered() >= 150).await;
        run.stop();
        run.finish().await.expect("a report");
        let path = fixture.job.plan().dir().join("journal");
        let mut journal = std::fs::read(&path).expect("a journal");
        let middle = journal.len() / 2;
        journal[middle..middle + 2_000].fill(0);
        std::fs::write(&path, journal).expect("written");
        if store_is_lost {
            fixture.server.lose_store();
        }
        let salvaged = fixture.job.salvage(SalvageOptions::default()).await.expect("salvaged");
        assert_eq!(salvaged.len(), 1);
        let counts = finished(fixture.distribute().await).await.counts;
        assert_eq!(counts.sent + counts.unknown, 300, "{counts:?}");
        assert_eq!(counts.unknown > 0, store_is_lost, "{counts:?}");
        fixture.service.assert_delivered_once(if store_is_lost { fixture.service.delivered() } else { 300 });
    }
}

#[needs("nats-server")]
#[tokio::test]
async fn a_batch_that_kills_its_workers_is_given_up_and_the_rest_is_sent() {
    let failures = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&failures);
    let service = Service::with(move |_, to| {
        if to == "r7@example.com" {
            counted.fetch_add(1, Ordering::SeqCst);
            return Action::Panic;
        }
        FAST
    });
    let fixture = Fixture::new(Server::start(), service, 20).await;
    let run = fixture.distribute().await;
    let options = WorkerOptions::default().max_deliveries(3);
    let _worker = fixture.worker_with("cache", options).await;
    let report = finished(run).await;
    assert_eq!((report.counts.sent, report.counts.unknown), (19, 1));
    assert_eq!(failures.load(Ordering::SeqCst), 3);
    let outcomes = outcomes(&fixture.job).await;
    let reason = "3 workers failed while processing the batch".to_owned();
    assert_eq!(outcomes[6].outcome, Outcome::Unknown { reason });
}

#[needs("nats-server")]
#[tokio::test]
async fn workers_together_stay_below_the_limit_of_the_job() {
    let fixture = Fixture::new(Server::start().leasing(30), Service::new(), 120).await;
    let _workers = fixture.workers(3).await;
    let run = fixture.distribute_with(DistributeOptions::default().max_rps(30.0)).await;
    assert_eq!(finished(run).await.counts.sent, 120);
    let arrivals = fixture.service.arrivals();
    let took = arrivals[119].duration_since(arrivals[0]);
    assert!(took >= Duration::from_secs_f64(119.0 / 30.0 * 0.95), "{took:?}");
    for (index, first) in arrivals.iter().enumerate() {
        let within =
            arrivals[index..].iter().take_while(|at| at.duration_since(*first) < Duration::from_secs(1));
        // Requests arrive with different delays, up to half a second on a busy machine. Two workers with a limit each would send 60.
        let count = within.count();
        assert!(count <= 45, "{count} requests within a second");
    }
}

#[needs("nats-server")]
#[tokio::test]
async fn a_429_pauses_all_workers() {
    let service = Service::with(|n, _| if n == 10 { Action::Throttle } else { FAST });
    let fixture = Fixture::new(Server::start(), service, 24).await;
    let workers = fixture.workers(2).await;
    fixture.assert_all_sent(fixture.distribute().await, 24).await;
    let arrivals = fixture.service.arrivals();
    let pause = arrivals.windows(2).map(|pair| pair[1].duration_since(pair[0])).max().expect("requests");
    // While a job still searches for the limit, a 429 without `Retry-After` pauses for 0.3 s. A request from before the pause may arrive late.
    assert!(pause >= Duration::from_millis(250), "{pause:?}");
    let mut throttled = 0;
    for worker in workers {
        throttled += worker.finish().await.expect("a report").throttled;
    }
    assert_eq!(throttled, 1);
}

#[needs("nats-server")]
#[tokio::test]
async fn an_exhausted_quota_pauses_only_the_jobs_of_its_account() {
    let service = Service::with(|_, to| if to.starts_with("exhausted") { Action::Quota } else { FAST });
    let fixture = Fixture::new(Server::start(), service, 20).await;
    let folder = tempfile::tempdir().expect("a folder");
    let other = fixture.service.other_client();
    let job = planned_at(folder.path(), &other, "exhausted", 20).await;
    let queue = async || fixture.server.job(job.plan().id()).await;
    let mut paused =
        job.distribute(&other, queue().await, DistributeOptions::default()).expect("no invalid rows");
    let mut others = Worker::start(queue().await, &other, fixture.cache("other"), WorkerOptions::default());
    let is_paused = async { while !matches!(paused.next().await, Some(Event::Paused { .. })) {} };
    timeout(MAX_WAIT, is_paused).await.expect("the other account's job is paused");
    let is_reported = async { while !matches!(others.next().await, Some(WorkerEvent::Paused { .. })) {} };
    timeout(MAX_WAIT, is_reported).await.expect("its worker reports the pause");
    let _worker = fixture.worker("cache").await;
    fixture.assert_all_sent(fixture.distribute().await, 20).await;
    others.stop();
    while let Some(event) = others.next().await {
        assert!(!matches!(event, WorkerEvent::Paused { .. }), "the pause is reported again");
    }
    paused.stop();
    while let Some(event) = paused.next().await {
        assert!(!matches!(event, Event::Paused { .. }), "the collector reports the pause again");
    }
}

#[needs("nats-server")]
#[tokio::test]
async fn an_attempt_that_is_too_old_is_never_repeated() {
    let service = Service::with(|_, to| if to == "r2@example.com" { Action::Hang } else { FAST });
    let fixture = Fixture::new(Server::start().leasing(6), service, 3).await;
    let run = fixture.distribute().await;
    let dying = fixture.worker("first").await;
    until(|| fixture.service.delivered() == 3).await;
    dying.abort();
    let queue = fixture.backend().await;
    let stored = queue.intent(1).await.expect("read").expect("an intent");
    let old = stored.intent.first_attempt - 23 * 3_600_000;
    let aged = Intent { first_attempt: old, ..stored.intent };
    let written = queue.record_intent(1, &aged, Some(stored.revision)).await.expect("written");
    assert!(matches!(written, IntentResult::Recorded(_)));
    let _second = fixture.worker("second").await;
    let report = finished(run).await;
    assert_eq!((report.counts.sent, report.counts.unknown), (2, 1));
    assert_eq!(fixture.service.requests(), 3);
    let Outcome::Unknown { reason } = &outcomes(&fixture.job).await[1].outcome else {
        panic!("it is unknown")
    };
    assert_eq!(reason, "the first attempt was more than 23 hours ago");
}

#[needs("nats-server")]
#[tokio::test]
async fn a_coordinator_that_is_killed_repeatedly_loses_nothing() {
    let fixture = Fixture::new(Server::start(), Service::new(), 300).await;
    let _workers = fixture.workers(2).await;
    for delivered in [1, 60, 180] {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build();
        let runtime = runtime.expect("a runtime");
        let (address, job) = (fixture.server.options(), fixture.job.clone());
        let client = fixture.service.client();
        runtime.spawn(async move {
            let options = address.lease(Duration::from_secs(1));
            let queue = idempost_bulk::queue::NatsQueue::connect(options).await.expect("connected");
            let queue = queue.job(job.plan().id()).expect("a valid name");
            job.distribute(&client, queue, DistributeOptions::default())
                .expect("no invalid rows")
                .finish()
                .await
        });
        until(|| fixture.service.delivered() >= delivered).await;
        runtime.shutdown_background();
    }
    until_async(async || fixture.job.status().await.is_ok_and(|status| status.state != JobState::Running))
        .await;
    fixture.assert_all_sent(fixture.distribute().await, 300).await;
    assert_eq!(outcomes(&fixture.job).await.len(), 300);
}

#[needs("nats-server")]
#[tokio::test]
async fn a_canceled_job_ends_for_all_workers() {
    for through_the_queue in [false, true] {
        canceled(through_the_queue).await;
    }
}

async fn canceled(through_the_queue: bool) {
    let service = Service::with(|_, _| Action::Accept(Duration::from_millis(50)));
    let fixture = Fixture::new(Server::start(), service, 5_000).await;
    let workers = fixture.workers(2).await;
    let run = fixture.distribute().await;
    until(|| fixture.service.delivered() >= 10).await;
    if through_the_queue {
        set_state(&fixture.backend().await, ControlState::Canceled).await.expect("canceled");
    } else {
        fixture.job.cancel().await.expect("canceled");
    }
    let report = run.finish().await.expect("a report");
    assert_eq!(report.ending, Ending::Stopped);
    assert!(report.counts.sent >= 10 && report.counts.remaining > 0, "{report:?}");
    assert_eq!(fixture.job.status().await.expect("a status").state, JobState::Canceled);
    assert!(!fixture.job.is_distributed());
    for worker in workers {
        assert_eq!(worker.finish().await.expect("a report").ending, WorkerEnding::Canceled);
    }
    assert_eq!(fixture.service.delivered() as u64, report.counts.sent);
}

#[needs("nats-server")]
#[tokio::test]
async fn a_canceled_job_reports_what_its_workers_had_in_flight() {
    let service = Service::with(|_, _| Action::Accept(Duration::from_secs(3)));
    // The leases outlast the requests.
    let fixture = Fixture::new(Server::start().leasing(60), service, 50).await;
    let worker = fixture.worker_with("cache", WorkerOptions::default().concurrency(5)).await;
    let run = fixture.distribute().await;
    until(|| fixture.service.requests() >= 5).await;
    fixture.job.cancel().await.expect("canceled");
    let report = timeout(MAX_WAIT, run.finish()).await.expect("the job ends in time").expect("a report");
    assert_eq!(worker.finish().await.expect("a report").ending, WorkerEnding::Canceled);
    let delivered = fixture.service.delivered();
    assert_eq!((report.ending, report.counts.sent), (Ending::Stopped, delivered as u64));
    assert!((5..50).contains(&delivered), "{delivered}");
}

#[needs("nats-server")]
#[tokio::test]
async fn a_job_that_is_canceled_while_only_workers_run_ends_and_leaves_nothing_in_the_queue() {
    let service = Service::with(|_, _| Action::Accept(Duration::from_millis(50)));
    let fixture = Fixture::new(Server::start(), service, 5_000).await;
    let mut workers = fixture.workers(2).await;
    let run = fixture.distribute().await;
    until(|| fixture.service.delivered() >= 10).await;
    run.stop();
    assert_eq!(run.finish().await.expect("a report").ending, Ending::Stopped);
    fixture.job.cancel().await.expect("canceled");
    assert!(fixture.job.is_distributed());
    let report = fixture.distribute().await.finish().await.expect("a report");
    assert_eq!(report.ending, Ending::Stopped);
    assert!(report.counts.remaining > 0, "{report:?}");
    for worker in workers.drain(..) {
        assert_eq!(worker.finish().await.expect("a report").ending, WorkerEnding::Canceled);
    }
    assert_eq!(fixture.service.delivered() as u64, report.counts.sent);
    assert!(!fixture.job.is_distributed());
    assert_eq!(fixture.job.status().await.expect("a status").state, JobState::Canceled);
    let refused = fixture.distribute().await.finish().await.expect_err("it was canceled");
    assert!(refused.to_string().contains("was canceled"), "{refused}");

    let context = fixture.server.jetstream().await;
    for name in ["BULK_JOBS", "BULK_INTENTS", "BULK_RESULTS"] {
        let stream = context.get_stream(name).await.expect("the stream");
        assert_eq!(stream.cached_info().state.messages, 0, "{name}");
    }
}

#[needs("nats-server")]
#[tokio::test]
async fn a_coordinator_ends_when_another_one_has_finished_its_job() {
    // As a coordinator of a copied folder does it; the results may be gone before this one has read them.
    for is_cleared in [false, true] {
        let fixture = Fixture::new(Server::start(), Service::new(), 20).await;
        let (run, queue) = (fixture.distribute().await, fixture.backend().await);
        follow(&queue).await;
        set_state(&queue, ControlState::Finished).await.expect("finished");
        if is_cleared {
            queue.clear().await.expect("cleared");
        }
        let error = timeout(MAX_WAIT, run.finish()).await.expect("an end").expect_err("another coordinator");
        assert!(error.to_string().contains("was finished by another coordinator"), "{error}");
    }
}

#[needs("nats-server")]
#[tokio::test]
async fn a_job_planned_in_another_folder_with_other_rows_is_not_taken_for_this_one() {
    let (server, service) = (Server::start(), Service::with(|_, _| FAST));
    let caches = tempfile::tempdir().expect("a folder");
    let start = async |job: &Job| {
        let queue = server.job(job.plan().id()).await;
        job.distribute(&service.client(), queue, DistributeOptions::default()).expect("no invalid rows")
    };
    let worker = async |job: &Job| {
        let (queue, cache) = (server.job(job.plan().id()).await, caches.path());
        Worker::start(queue, &service.client(), cache, WorkerOptions::default())
    };
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let mut rest = Vec::new();
    for (folder, limit) in folders.iter().zip([5, 10]) {
        let (input, jobs) = (folder.path().join("people.csv"), folder.path().join("jobs"));
        let rows: Vec<String> = (1..=20).map(|row| format!("r{row}@example.com\n")).collect();
        std::fs::write(&input, format!("to\n{}", rows.concat())).expect("written");
        let message = Message::new().from("hi@acme.test").subject("Hello").text("It works.");
        let bulk = || Bulk::new(Input::csv(&input), message.clone());
        let first = bulk().limit(limit).plan(&service.client(), &jobs).await.expect("a plan");
        let _worker = worker(&first).await;
        finished(start(&first).await).await;
        rest.push(bulk().plan(&service.client(), &jobs).await.expect("a plan"));
    }
    assert_eq!(rest[0].plan().id(), rest[1].plan().id());
    let run = start(&rest[0]).await;
    follow(&server.job(rest[0].plan().id()).await).await;
    let error = finished_with_error(start(&rest[1]).await).await;
    assert!(error.contains("other rows"), "{error}");
    let _worker = worker(&rest[0]).await;
    assert_eq!(finished(run).await.counts.sent, 20);
    // Nor is a finished one.
    let error = finished_with_error(start(&rest[1]).await).await;
    assert!(error.contains("other rows"), "{error}");
}

async fn finished_with_error(run: Run) -> String {
    timeout(MAX_WAIT, run.finish()).await.expect("an end").expect_err("another folder's job").to_string()
}

#[needs("nats-server")]
#[tokio::test]
async fn an_earlier_part_that_workers_send_is_not_run_locally() {
    let fixture = Fixture::new(Server::start(), Service::new(), 20).await;
    let run = fixture.distribute().await;
    until(|| fixture.job.is_distributed()).await;
    run.stop();
    run.finish().await.expect("a report");
    let (input, client) = (fixture.cache("people.csv"), fixture.service.client());
    let rows = std::fs::read_to_string(&input).expect("rows");
    std::fs::write(&input, rows + "r21@example.com,Ada 21\n").expect("written");
    let message = Message::new().from("hi@acme.test").subject("Hello").text("It works.");
    let added = Bulk::new(Input::csv(input), message).add_rows(ChangedRows::Send);
    let added = added.plan(&client, fixture.cache("jobs")).await.expect("a plan");
    let error = finished_with_error(added.start(&client, RunOptions::default()).expect("a run")).await;
    assert!(error.contains(fixture.job.plan().id()) && error.contains("distributed over a queue"), "{error}");
    assert_eq!(fixture.service.requests(), 0);
}

#[needs("nats-server")]
#[tokio::test]
async fn a_job_that_the_queue_has_lost_can_be_canceled() {
    let mut fixture = Fixture::new(Server::start(), Service::new(), 50).await;
    let run = fixture.distribute().await;
    follow(&fixture.backend().await).await;
    run.stop();
    run.finish().await.expect("a report");
    fixture.server.lose_store();
    fixture.job.cancel().await.expect("canceled");
    let run = fixture.distribute().await;
    let report = timeout(MAX_WAIT, run.finish()).await.expect("the job ends in time").expect("a report");
    assert_eq!((report.ending, report.counts.remaining), (Ending::Stopped, 50));
    assert!(!fixture.job.is_distributed());
}

#[needs("nats-server")]
#[tokio::test]
async fn a_stopped_job_does_not_wait_for_workers_that_were_killed() {
    let fixture = Fixture::new(Server::start(), Service::with(|_, _| Action::Hang), 50).await;
    let run = fixture.distribute().await;
    let killed = fixture.worker("cache").await;
    until(|| fixture.service.requests() > 0).await;
    killed.abort();
    fixture.job.pause().await.expect("paused");
    let report = timeout(MAX_WAIT, run.finish()).await.expect("the job ends in time").expect("a report");
    assert_eq!((report.ending, report.counts.sent), (Ending::Stopped, 0));
    fixture.service.set_script(|_, _| FAST);
    let _other = fixture.worker("other").await;
    fixture.assert_all_sent(fixture.distribute().await, 50).await;
}

#[needs("nats-server")]
#[tokio::test]
async fn a_paused_job_continues_where_it_was() {
    let fixture = Fixture::new(Server::start(), Service::new(), 300).await;
    let _workers = fixture.workers(2).await;
    let run = fixture.distribute().await;
    until(|| fixture.service.delivered() >= 20).await;
    let queue = fixture.backend().await;
    set_state(&queue, ControlState::Paused).await.expect("paused");
    // The workers read the state within a second, and complete what they have begun.
    let quiet = async {
        let mut before = None;
        while before != Some(fixture.service.requests()) {
            before = Some(fixture.service.requests());
            sleep(Duration::from_millis(500)).await;
        }
    };
    timeout(MAX_WAIT, quiet).await.expect("the workers pause");
    assert!(fixture.service.delivered() < 300, "all emails were sent before the pause");
    set_state(&queue, ControlState::Running).await.expect("continued");
    fixture.assert_all_sent(run, 300).await;
}

#[needs("nats-server")]
#[tokio::test]
async fn a_worker_with_a_rejected_credential_leaves_and_the_others_continue() {
    let fixture = Fixture::new(Server::start(), Service::new(), 50).await;
    let unauthorized = Service::with(|_, _| Action::Unauthorized).client();
    let run = fixture.distribute().await;
    let (queue, cache) = (fixture.backend().await, fixture.cache("first"));
    let refused = Worker::start(queue, &unauthorized, cache, WorkerOptions::default());
    let ending = refused.finish().await.expect("a report").ending;
    assert!(matches!(ending, WorkerEnding::Unauthorized { .. }), "{ending:?}");
    let _other = fixture.worker("second").await;
    fixture.assert_all_sent(run, 50).await;
}

#[needs("nats-server")]
#[tokio::test]
async fn faults_of_the_service_lead_to_no_second_email() {
    let service = Service::with(|n, _| match n {
        17 => Action::Throttle,
        n if n % 5 == 3 => Action::FailAfter,
        _ => FAST,
    });
    let fixture = Fixture::new(Server::start(), service, 25).await;
    let _workers = fixture.workers(2).await;
    fixture.assert_all_sent(fixture.distribute().await, 25).await;
}
