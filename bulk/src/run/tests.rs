//! Jobs against a simulated service that honors idempotency keys, with faults, interruptions and expired keys.

mod canceled;
mod changed_inputs;
mod clock;
mod salvage;
mod schedule;
mod split;
mod stop_on;

use std::{
    collections::HashMap,
    fmt::Write as _,
    path::Path,
    sync::{Mutex, atomic::AtomicBool},
};

use idempost::Client;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde_json::Value;

use super::*;
use crate::{
    Bulk, Input, JobState, Message, Outcome, RowOutcome,
    clock::{StatedTime, WallClock},
    files::tests::folder,
    job::Job as BulkJob,
    journal::SentId,
    pace::Observation,
    sender::{Attempt, SendRequest, tests::client_of},
    state::AttemptResult,
    stop_rule::Feedback,
};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Refused,
    Throttled,
    Failed {
        executed: bool,
    },
    TimedOut {
        executed: bool,
    },
    Unreadable,
    Unauthorized,
    Quota,
    Invalid,
    /// The first email of the batch is rejected.
    Partial,
}

const TRANSIENT: [Fault; 7] = [
    Fault::Refused,
    Fault::Throttled,
    Fault::Failed { executed: false },
    Fault::Failed { executed: true },
    Fault::TimedOut { executed: false },
    Fault::TimedOut { executed: true },
    Fault::Unreadable,
];

/// Decides the fault of the nth request.
type Script = Box<dyn FnMut(u64, &SendRequest) -> Option<Fault> + Send>;

/// A service that sends each email once per key, as long as it remembers the key.
struct Service {
    state: Mutex<State>,
    script: Mutex<Script>,
    forgets_keys: AtomicBool,
    /// The number of requests after which its quota is exhausted.
    quota: AtomicU64,
    /// The clock that its responses report.
    clock: Mutex<Option<WallClock>>,
    wall: Mutex<WallClock>,
}

#[derive(Clone, Default)]
struct State {
    requests: u64,
    keys: HashMap<String, Vec<SentId>>,
    deliveries: HashMap<String, u32>,
    /// The recipients with the times at which their emails were executed.
    times: Vec<(Duration, String)>,
}

impl Service {
    fn new(script: impl FnMut(u64, &SendRequest) -> Option<Fault> + Send + 'static) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            script: Mutex::new(Box::new(script)),
            forgets_keys: AtomicBool::new(false),
            quota: AtomicU64::new(u64::MAX),
            clock: Mutex::default(),
            wall: Mutex::default(),
        })
    }

    fn reliable() -> Arc<Self> {
        Self::new(|_, _| None)
    }

    /// Creates a service in which this share of requests has a transient fault.
    fn faulty(seed: u64, share: f64) -> Arc<Self> {
        let mut random = StdRng::seed_from_u64(seed);
        Self::new(move |_, _| random.gen_bool(share).then(|| TRANSIENT[random.gen_range(0..TRANSIENT.len())]))
    }

    fn set_script(&self, script: impl FnMut(u64, &SendRequest) -> Option<Fault> + Send + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    fn execute(&self, request: &SendRequest) -> Vec<SentId> {
        let mut state = self.state.lock().unwrap();
        if self.forgets_keys.load(Ordering::SeqCst) {
            state.keys.clear();
        }
        if let Some(ids) = state.keys.get(&request.key) {
            return ids.clone();
        }
        let emails = match serde_json::from_slice(&request.body).unwrap() {
            Value::Array(emails) => emails,
            email => vec![email],
        };
        assert_eq!(emails.len(), usize::from(request.emails));
        let mut ids = Vec::new();
        for email in emails {
            let to = email["to"].as_array().map_or(&email["to"], |to| &to[0]).as_str().unwrap().to_owned();
            ids.push(SentId::from(format!("id of {to}").as_str()));
            let subject = email["subject"].as_str().unwrap();
            state.times.push((self.wall.lock().unwrap().now(), to.clone()));
            *state.deliveries.entry(format!("{to} {subject}")).or_default() += 1;
        }
        state.keys.insert(request.key.clone(), ids.clone());
        ids
    }

    fn requests(&self) -> u64 {
        self.state.lock().unwrap().requests
    }

    /// Returns the number of distinct emails by recipient and subject, and the highest number of duplicates.
    fn delivered(&self) -> (usize, u32) {
        let state = self.state.lock().unwrap();
        (state.deliveries.len(), state.deliveries.values().copied().max().unwrap_or_default())
    }
}

impl Sender for Arc<Service> {
    async fn time(&self) -> Result<Option<StatedTime>, Attempt> {
        let clock = self.clock.lock().unwrap();
        Ok(clock.as_ref().map(|clock| StatedTime { since_epoch: clock.now(), is_certain: true }))
    }

    async fn feedback(&self, ids: &[String], _: u64) -> Result<Feedback, Attempt> {
        let known = ids.len() as u64;
        let bounced = ids.iter().filter(|id| id.ends_with("7@example.com")).count() as u64;
        Ok(Feedback { known, bounced, complained: 0 })
    }

    async fn send(&self, request: SendRequest) -> Attempt {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let n = {
            let mut state = self.state.lock().unwrap();
            state.requests += 1;
            state.requests
        };
        let fault = match self.quota.load(Ordering::SeqCst) {
            quota if n > quota => Some(Fault::Quota),
            _ => (self.script.lock().unwrap())(n, &request),
        };
        let accepted = |ids| (AttemptResult::Accepted { ids }, Observation::Accepted);
        let (result, observation) = match fault {
            None => accepted(self.execute(&request)),
            Some(Fault::Refused) => {
                (AttemptResult::NotSent("connection refused".into()), Observation::Unreachable)
            }
            Some(Fault::Throttled) => {
                (AttemptResult::Throttled { retry_after: None }, Observation::Throttled { retry_after: None })
            }
            Some(Fault::Failed { executed }) => {
                if executed {
                    self.execute(&request);
                }
                (AttemptResult::Uncertain("503".into()), Observation::ServerError)
            }
            Some(Fault::TimedOut { executed }) => {
                if executed {
                    self.execute(&request);
                }
                (AttemptResult::Uncertain("timeout".into()), Observation::Timeout)
            }
            Some(Fault::Unreadable) => {
                self.execute(&request);
                (AttemptResult::Uncertain("malformed JSON".into()), Observation::ServerError)
            }
            Some(Fault::Unauthorized) => (
                AttemptResult::Unauthorized { status: 401, message: "invalid_api_key".into() },
                Observation::Other,
            ),
            Some(Fault::Quota) => {
                let retry_after = Some(Duration::from_hours(2));
                (
                    AttemptResult::Quota { name: "daily_quota_exceeded".into(), retry_after },
                    Observation::Other,
                )
            }
            Some(Fault::Invalid) => (
                AttemptResult::Rejected { status: 422, message: "validation_error".into() },
                Observation::Other,
            ),
            Some(Fault::Partial) => {
                let mut ids = self.execute(&request);
                ids.remove(0);
                let errors = vec![(0, "invalid address".into())];
                (AttemptResult::from_response(request.emails, ids, errors), Observation::Accepted)
            }
        };
        let clock = self.clock.lock().unwrap();
        let responds = !matches!(observation, Observation::Unreachable | Observation::Timeout);
        let date = clock.as_ref().filter(|_| responds).map(|clock| (http::header::DATE, date(clock.now())));
        Attempt { result, observation, headers: date.into_iter().collect() }
    }
}

/// Returns the `Date` header of a response.
fn date(time: Duration) -> http::HeaderValue {
    let time = jiff::Timestamp::UNIX_EPOCH + time;
    let text = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&time);
    text.unwrap().try_into().unwrap()
}

/// Plans a job with this many rows in a folder of its own.
async fn planned_job(rows: usize) -> (tempfile::TempDir, BulkJob) {
    let folder = folder();
    let job = plan_job(folder.path(), rows).await;
    (folder, job)
}

/// Plans a job with this many rows in a folder.
async fn plan_job(folder: &Path, rows: usize) -> BulkJob {
    plan_job_in_batches(folder, rows, 100).await
}

async fn plan_job_in_batches(folder: &Path, rows: usize, size: u64) -> BulkJob {
    plan_job_at(folder, &["example.com"], rows, size).await
}

/// Plans a job whose rows are at these domains in turn.
async fn plan_job_at(folder: &Path, domains: &[&str], rows: usize, size: u64) -> BulkJob {
    let mut csv = String::from("to,NAME\n");
    for (row, domain) in (1..=rows).zip(domains.iter().cycle()) {
        writeln!(csv, "r{row}@{domain},Ada {row}").unwrap();
    }
    let path = folder.join("people.csv");
    std::fs::write(&path, csv).unwrap();
    let message = Message::new().from("hi@acme.test").subject("Hello {{{NAME}}}").text("It works");
    let client = Client::new("http://127.0.0.1:1", "re_x").unwrap();
    Bulk::new(Input::csv(path), message).batch_size(size).plan(&client, folder.join("jobs")).await.unwrap()
}

/// Runs a job to its end.
async fn finish_with(job: &BulkJob, service: &Arc<Service>, options: RunOptions) -> Report {
    job.start_with(Arc::clone(service), options).finish().await.unwrap()
}

async fn assert_canceled(job: &BulkJob, service: &Arc<Service>) {
    let error = job.start_with(Arc::clone(service), patient_options()).finish().await.unwrap_err();
    assert!(error.to_string().contains("was canceled"), "{error}");
}

/// Runs a job until this number of requests has been sent, and aborts it.
async fn abort_after(job: &BulkJob, service: &Arc<Service>, options: RunOptions, requests: u64) -> Report {
    let until = service.requests() + requests;
    let mut run = job.start_with(Arc::clone(service), options);
    while service.requests() < until && run.next().await.is_some() {}
    run.abort();
    run.finish().await.unwrap()
}

/// Options without an outage limit: the paused clock advances even while a thread works, so an outage could appear long.
fn patient_options() -> RunOptions {
    RunOptions::default().max_outage(Duration::from_hours(10_000))
}

/// Returns a service that rejects every batch containing one of these rows, and in which this share of requests has a transient fault.
fn strict_service(seed: u64, share: f64, bad: &'static [usize]) -> Arc<Service> {
    let mut random = StdRng::seed_from_u64(seed);
    Service::new(move |_, request| {
        let body = String::from_utf8_lossy(&request.body);
        let is_bad = bad.iter().any(|row| body.contains(&format!("\"r{row}@")));
        let fault = TRANSIENT[random.gen_range(0..TRANSIENT.len())];
        let executes = matches!(
            fault,
            Fault::Failed { executed: true } | Fault::TimedOut { executed: true } | Fault::Unreadable
        );
        let fails = random.gen_bool(share) && !(is_bad && executes);
        if fails { Some(fault) } else { is_bad.then_some(Fault::Invalid) }
    })
}

async fn outcomes(job: &BulkJob) -> Vec<RowOutcome> {
    let (send, receive) = std::sync::mpsc::channel();
    job.outcomes(move |outcome| {
        send.send(outcome).unwrap();
        Ok(())
    })
    .await
    .unwrap();
    let mut all: Vec<_> = receive.into_iter().collect();
    all.sort_by_key(|outcome| outcome.row);
    all
}

#[tokio::test(start_paused = true)]
async fn every_row_is_accepted_exactly_once_whatever_share_of_requests_fails() {
    for (seed, share) in [(1, 0.0), (2, 0.08), (3, 0.2), (4, 0.5)] {
        let (_folder, job) = planned_job(2_050).await;
        let service = Service::faulty(seed, share);
        let report = finish_with(&job, &service, patient_options()).await;
        assert_eq!(report.ending, Ending::Finished, "{share}");
        assert_eq!(report.counts, Counts { sent: 2_050, ..Counts::default() }, "{share}");
        assert!(report.all_sent());
        assert_eq!(service.delivered(), (2_050, 1), "{share}");
        assert_eq!(report.requests, service.requests());
        assert!(share > 0.0 || report.requests == 21);
        let outcomes = outcomes(&job).await;
        assert_eq!(outcomes.len(), 2_050);
        for (row, outcome) in (1..).zip(outcomes) {
            let recipient = format!("r{row}@example.com");
            assert_eq!(outcome.outcome, Outcome::Sent { id: format!("id of {recipient}") });
            assert_eq!((outcome.row, outcome.recipient), (row, recipient));
        }
        assert_eq!(job.status().await.unwrap().state, JobState::Finished);
        // A finished job sends nothing when it is resumed.
        let before = service.requests();
        let again = finish_with(&job, &service, patient_options()).await;
        assert_eq!((again.counts.sent, service.requests()), (2_050, before));
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_aborted_at_random_moments_loses_and_repeats_nothing() {
    // F-09
    let mut replayed = 0;
    for seed in 0..12 {
        let folder = folder();
        let job = plan_job_in_batches(folder.path(), 300, 10).await;
        let service = Service::faulty(seed, 0.15);
        let mut random = StdRng::seed_from_u64(seed);
        let mut runs = 0;
        let report = loop {
            let mut run = job.start_with(Arc::clone(&service), patient_options());
            let until = service.requests() + random.gen_range(1..12);
            while service.requests() < until && run.next().await.is_some() {}
            if random.gen_bool(0.5) {
                run.abort();
            } else {
                run.stop();
            }
            let report = run.finish().await.unwrap();
            replayed += report.replayed;
            runs += 1;
            if report.ending == Ending::Finished {
                break report;
            }
            assert_eq!(report.ending, Ending::Stopped);
            assert!(report.counts.remaining > 0 && runs < 200);
        };
        assert_eq!(report.counts, Counts { sent: 300, ..Counts::default() });
        assert_eq!(service.delivered(), (300, 1));
    }
    assert!(replayed > 0, "no run was aborted with requests in flight");
}

#[tokio::test(start_paused = true)]
async fn batches_whose_keys_have_expired_become_unknown_and_are_never_sent_again() {
    // F-09
    let (_folder, job) = planned_job(500).await;
    let service = Service::new(|_, request| {
        let times_out = request.key.contains("/3/");
        times_out.then_some(Fault::TimedOut { executed: true })
    });
    let mut run = job.start_with(Arc::clone(&service), patient_options());
    while service.delivered().0 < 500 && run.next().await.is_some() {}
    run.abort();
    let report = run.finish().await.unwrap();
    assert_eq!((report.counts.sent, report.counts.remaining), (400, 100));

    service.forgets_keys.store(true, Ordering::SeqCst);
    service.set_script(|_, _| None);
    let requests = service.requests();
    let options = patient_options().clock_offset(Duration::from_hours(24));
    let report = finish_with(&job, &service, options).await;
    assert_eq!(report.counts, Counts { sent: 400, unknown: 100, ..Counts::default() });
    assert_eq!((service.delivered(), service.requests()), ((500, 1), requests));
    let list = std::fs::read_to_string(job.plan().dir().join("unknown.csv")).unwrap();
    assert_eq!(list.lines().count(), 101);
    let first = list.lines().nth(1).unwrap();
    assert!(first.starts_with("301,r301@example.com,3,bulk/") && first.contains("23 hours"), "{first}");
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_quota_pauses_the_job_until_it_is_resumed() {
    let (_folder, job) = planned_job(1_000).await;
    let service = Service::new(|n, _| (n > 4).then_some(Fault::Quota));
    let report = finish_with(&job, &service, patient_options()).await;
    let Ending::Paused { until: Some(_), reason } = &report.ending else { panic!("{report:?}") };
    assert_eq!(reason, "daily_quota_exceeded");
    assert_eq!((report.counts.sent, report.counts.remaining), (400, 600));
    service.set_script(|_, _| None);
    let report = finish_with(&job, &service, patient_options()).await;
    assert_eq!((report.ending, service.delivered()), (Ending::Finished, (1_000, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_credential_stops_the_job_and_one_401_does_not() {
    let (_folder, job) = planned_job(300).await;
    // The access token expires, and the next request has a new one.
    let service = Service::new(|n, _| (n == 2).then_some(Fault::Unauthorized));
    let report = finish_with(&job, &service, patient_options()).await;
    assert_eq!((report.ending, service.delivered()), (Ending::Finished, (300, 1)));

    let (_folder, job) = planned_job(300).await;
    let service = Service::new(|_, _| Some(Fault::Unauthorized));
    let report = finish_with(&job, &service, patient_options()).await;
    let Ending::Unauthorized { reason } = &report.ending else { panic!("{report:?}") };
    assert!(reason.contains("invalid_api_key"), "{reason}");
    assert_eq!((report.counts.remaining, service.delivered().0), (300, 0));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_stays_down_ends_the_run_and_the_job_can_be_resumed() {
    let (_folder, job) = planned_job(900).await;
    let service = Service::new(|n, _| (n > 3).then_some(Fault::TimedOut { executed: n % 2 == 0 }));
    let options = RunOptions::default().max_outage(Duration::from_mins(5));
    let report = finish_with(&job, &service, options).await;
    let Ending::Unavailable { reason } = &report.ending else { panic!("{report:?}") };
    assert_eq!(reason, "timeout");
    assert_eq!(report.counts.sent, 300);
    service.set_script(|_, _| None);
    let report = finish_with(&job, &service, patient_options()).await;
    assert_eq!((report.ending, service.delivered()), (Ending::Finished, (900, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_proxy_whose_errors_have_no_date_does_not_keep_a_run_going() {
    let (_folder, job) = planned_job(1).await;
    let client = client_of(503, "<html>", None);
    let options = RunOptions::default().max_outage(Duration::from_mins(5));
    let report = job.start_with(client, options).finish().await.unwrap();
    assert!(matches!(report.ending, Ending::Unavailable { .. }), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn rejected_emails_are_listed_with_the_reason_and_hold_up_nothing() {
    let (folder, job) = planned_job(400).await;
    let service = Service::new(|_, request| match () {
        () if request.key.contains("/1/") => Some(Fault::Invalid),
        () if request.key.contains("/2/") => Some(Fault::Partial),
        () => None,
    });
    let mut run = job.start_with(Arc::clone(&service), patient_options().max_rejections(0));
    let mut rejections = Vec::new();
    while let Some(event) = run.next().await {
        if let Event::Rejected { batch, first_row, emails, .. } = event {
            rejections.push((batch, first_row, emails));
        }
    }
    rejections.sort_unstable();
    assert_eq!(rejections, [(1, 101, 100), (2, 201, 1)]);
    let report = run.finish().await.unwrap();
    assert_eq!(report.counts, Counts { sent: 299, rejected: 101, ..Counts::default() });
    assert_eq!(report.ending, Ending::Finished);
    let list = std::fs::read_to_string(job.plan().dir().join("rejected.csv")).unwrap();
    assert_eq!(list.lines().count(), 102);
    let id = job.plan().id();
    assert!(list.contains(&format!("101,r101@example.com,1,422,validation_error,{id}\n")), "{list}");
    assert!(list.contains(&format!("201,r201@example.com,2,200,invalid address,{id}\n")), "{list}");
    assert_eq!(report.files, [job.plan().dir().join("rejected.csv")]);
    assert_eq!(job.report().await.unwrap(), Some(report));
    let moved = folder.path().join("moved");
    std::fs::rename(job.plan().dir(), &moved).unwrap();
    let report = BulkJob::open(&moved).await.unwrap().report().await.unwrap().unwrap();
    assert_eq!(report.files, [moved.join("rejected.csv")]);
}

#[tokio::test(start_paused = true)]
async fn another_process_can_pause_or_cancel_a_running_job() {
    let folder = folder();
    let job = plan_job_in_batches(folder.path(), 2_000, 10).await;
    let service = Service::reliable();
    let mut run = job.start_with(Arc::clone(&service), patient_options().max_rps(5.0));
    while service.requests() < 3 && run.next().await.is_some() {}
    let other = BulkJob::open(job.plan().dir()).await.unwrap();
    let error = other.start_with(Arc::clone(&service), patient_options()).finish().await.unwrap_err();
    assert!(error.to_string().contains("is running the job"), "{error}");
    assert_eq!(other.status().await.unwrap().state, JobState::Running);
    other.pause().await.unwrap();
    let report = run.finish().await.unwrap();
    assert_eq!(report.ending, Ending::Stopped);
    assert_eq!(other.status().await.unwrap().state, JobState::Stopped);

    let mut run = job.start_with(Arc::clone(&service), patient_options().max_rps(5.0));
    let until = service.requests() + 2;
    while service.requests() < until && run.next().await.is_some() {}
    other.cancel().await.unwrap();
    assert_eq!(run.finish().await.unwrap().ending, Ending::Stopped);
    assert_eq!(other.status().await.unwrap().state, JobState::Canceled);
    assert_canceled(&job, &service).await;
    assert_eq!(service.delivered().1, 1);
}

#[tokio::test(start_paused = true)]
async fn a_changed_input_does_not_change_a_job() {
    // F-10
    let (folder, job) = planned_job(300).await;
    std::fs::remove_file(folder.path().join("people.csv")).unwrap();
    let service = Service::reliable();
    let report = finish_with(&job, &service, patient_options()).await;
    assert_eq!((report.counts.sent, service.delivered()), (300, (300, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_batch_for_which_the_service_keeps_failing_becomes_unknown_and_the_others_are_sent() {
    let folder = folder();
    // Enough batches, sent slowly enough, that others succeed for more than an hour.
    let job = plan_job_in_batches(folder.path(), 1_600, 2).await;
    let service =
        Service::new(|_, request| request.key.contains("/2/").then_some(Fault::Failed { executed: true }));
    let options = patient_options().max_rps(0.2);
    let report = finish_with(&job, &service, options).await;
    assert_eq!(report.ending, Ending::Finished);
    assert_eq!(report.counts, Counts { sent: 1_598, unknown: 2, ..Counts::default() });
    assert_eq!(service.delivered(), (1_600, 1));
}

#[tokio::test(start_paused = true)]
async fn what_rejects_every_request_pauses_the_job_and_costs_no_row() {
    // More batches than requests, each with more emails than rejections in a row.
    let (_folder, job) = planned_job(8_000).await;
    let service = Service::new(|_, _| Some(Fault::Invalid));
    let report = finish_with(&job, &service, patient_options()).await;
    let Ending::Paused { until: None, reason } = &report.ending else { panic!("{report:?}") };
    assert!(
        reason.contains("requests in a row") && reason.ends_with("HTTP 422: validation_error"),
        "{reason}"
    );
    assert_eq!(report.counts, Counts { remaining: 8_000, ..Counts::default() });
    assert!(service.requests() < 60);
    service.set_script(|_, _| None);
    let report = finish_with(&job, &service, patient_options()).await;
    assert_eq!((report.ending, service.delivered()), (Ending::Finished, (8_000, 1)));
}
