//! What becomes of the rows of a canceled job.

use super::{split::split_by_quota, *};
use crate::{Account, ChangedRows, lock::JobLock};

/// A job of 600 rows: 400 are sent, batch 3 may have been, and batch 5 isn't.
async fn stopped(folder: &Path, service: &Arc<Service>) -> BulkJob {
    let job = plan_job(folder, 600).await;
    service.set_script(|_, request| match &request.key {
        key if key.contains("/3/") => Some(Fault::TimedOut { executed: true }),
        key if key.contains("/5/") => Some(Fault::Quota),
        _ => None,
    });
    let options = patient_options().concurrency(2);
    let report = finish_with(&job, service, options).await;
    assert_eq!(report.counts, Counts { sent: 400, remaining: 200, ..Counts::default() });
    assert_eq!(job.status().await.unwrap().in_flight, 100);
    job
}

const CANCELED: Counts = Counts { sent: 400, rejected: 0, unknown: 100, remaining: 100 };

/// Plans a part with the rows that a canceled job hasn't sent.
pub(super) async fn plan_rest(folder: &Path, job: &BulkJob) -> BulkJob {
    let client = Client::new("http://127.0.0.1:1", "re_x").unwrap();
    let bulk = Bulk::new(Input::csv(folder.join("people.csv")), job.plan().message().clone()).batch_size(100);
    bulk.add_rows(ChangedRows::Reject).plan(&client, folder.join("jobs")).await.unwrap()
}

/// Returns the rows whose outcome is unknown.
async fn unknown_rows(job: &BulkJob) -> Vec<u64> {
    let outcomes = outcomes(job).await.into_iter();
    let unknown = outcomes.filter(|row| matches!(row.outcome, Outcome::Unknown { .. }));
    unknown.map(|row| row.row).collect()
}

#[tokio::test(start_paused = true)]
async fn requests_in_flight_of_a_canceled_job_have_an_unknown_outcome() {
    let (folder, service) = (folder(), Service::reliable());
    let job = stopped(folder.path(), &service).await;
    assert!(unknown_rows(&job).await.is_empty());
    let list = job.plan().dir().join("unknown.csv");
    let running = JobLock::acquire(job.plan().dir()).unwrap();
    job.cancel().await.unwrap();
    // Its process finishes them.
    assert!(unknown_rows(&job).await.is_empty() && !list.exists());
    drop(running);
    job.cancel().await.unwrap();
    let status = job.status().await.unwrap();
    assert_eq!((status.state, status.counts, status.in_flight), (JobState::Canceled, CANCELED, 0));
    assert_eq!(unknown_rows(&job).await, (301..=400).collect::<Vec<_>>());
    assert_eq!(std::fs::read_to_string(list).unwrap().lines().count(), 101);
    // A later part counts them in the same way, and sends the others.
    service.set_script(|_, _| None);
    let later = plan_rest(folder.path(), &job).await;
    assert_eq!(later.status().await.unwrap().counts, CANCELED);
    let report = finish_with(&later, &service, patient_options()).await;
    assert_eq!(report.counts, Counts { sent: 500, unknown: 100, ..Counts::default() });
    assert_eq!(service.delivered(), (600, 1));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_canceled_reports_what_an_earlier_run_left_in_flight() {
    let (folder, service) = (folder(), Service::reliable());
    let job = stopped(folder.path(), &service).await;
    service.set_script(|_, _| Some(Fault::TimedOut { executed: false }));
    let mut run = job.start_with(Arc::clone(&service), patient_options().concurrency(1));
    let until = service.requests() + 2;
    while service.requests() < until && run.next().await.is_some() {}
    job.cancel().await.unwrap();
    let report = run.finish().await.unwrap();
    assert_eq!((report.ending, report.counts), (Ending::Stopped, CANCELED));
    assert_eq!(job.status().await.unwrap().counts, CANCELED);
    let list = std::fs::read_to_string(job.plan().dir().join("unknown.csv")).unwrap();
    assert_eq!(list.lines().count(), 101);
    assert!(list.contains("\n301,r301@example.com,3,bulk/") && list.contains("was canceled"), "{list}");
}

#[tokio::test(start_paused = true)]
async fn a_canceled_job_is_reconciled_only_when_its_process_has_stopped() {
    let (folder, service) = (folder(), Service::reliable());
    let job = stopped(folder.path(), &service).await;
    let running = JobLock::acquire(job.plan().dir()).unwrap();
    job.cancel().await.unwrap();
    let client = Client::new("http://127.0.0.1:1", "re_x").unwrap();
    let account = Account::new().assume_same_account();
    let error = job.reconcile(&client, &account).await.unwrap_err().to_string();
    let expected =
        format!("job {} was canceled but is still running; wait until it has stopped", job.plan().id());
    assert_eq!(error, expected);
    assert!(!job.plan().dir().join("reconciled.csv").exists());
    // Its process records the outcomes of the requests in flight.
    drop(running);
    let error = job.reconcile(&client, &account).await.unwrap_err();
    assert!(matches!(error, BulkError::Client(_)), "the list of emails is requested: {error}");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_canceled_in_a_split_batch_knows_the_outcome_of_each_of_its_emails() {
    let (folder, job, service) = split_by_quota(&[3]).await;
    service.set_script(|n, _| (n >= 26).then_some(Fault::TimedOut { executed: true }));
    abort_after(&job, &service, patient_options(), 6).await;
    job.cancel().await.unwrap();
    let Counts { sent, rejected, unknown, remaining } = job.status().await.unwrap().counts;
    assert_eq!((sent, rejected, unknown, remaining), (22, 1, 1, 36));
    let outcomes = outcomes(&job).await;
    assert_eq!(outcomes.iter().map(|row| row.row).collect::<Vec<_>>(), (1..=24).collect::<Vec<_>>());
    assert!(matches!(outcomes[2].outcome, Outcome::Rejected { status: 422, .. }), "{:?}", outcomes[2]);
    let Outcome::Unknown { reason } = &outcomes[23].outcome else { panic!("{:?}", outcomes[23]) };
    assert_eq!(reason, "the responses don't show whether the email was accepted");
    // A later part sends the others, and the rejected row again.
    service.set_script(|_, _| None);
    let later = plan_rest(folder.path(), &job).await;
    assert_eq!(later.plan().counts().valid, 37);
    let report = finish_with(&later, &service, patient_options()).await;
    assert_eq!(report.counts, Counts { sent: 59, unknown: 1, ..Counts::default() });
    assert_eq!(service.delivered(), (60, 1));
}
