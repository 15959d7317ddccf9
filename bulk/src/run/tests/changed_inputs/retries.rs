//! Retries, and the outcomes of rows in several parts of a job.

use super::*;

/// Runs a part with these rows until one row was rejected and the next one is in flight.
async fn interrupt(inputs: &Inputs, rows: &[(usize, usize)], service: &Arc<Service>) -> BulkJob {
    let mut requests = 0;
    service.set_script(move |_, _| {
        requests += 1;
        Some(match requests {
            1 => Fault::Invalid,
            2 => Fault::TimedOut { executed: true },
            _ => Fault::Quota,
        })
    });
    let job = inputs.plan(inputs.bulk(rows).batch_size(1).add_rows(ChangedRows::Reject)).await.unwrap();
    let report = finish_with(&job, service, patient_options().concurrency(1)).await;
    assert_eq!((report.counts.rejected, report.counts.sent), (1, 0));
    service.set_script(|_, _| None);
    job
}

/// Runs a job when the keys of its requests have expired.
async fn finish_late(job: &BulkJob, service: &Arc<Service>) -> Report {
    let options = patient_options().clock_offset(Duration::from_hours(25));
    finish_with(job, service, options).await
}

/// Returns the rows that weren't sent, by number, with their parts and outcomes.
async fn unsent(job: &BulkJob) -> Vec<(u64, String, bool)> {
    let rows = outcomes(job).await.into_iter();
    rows.filter_map(|row| match row.outcome {
        Outcome::Sent { .. } => None,
        Outcome::Rejected { .. } => Some((row.row, row.part, true)),
        Outcome::Unknown { .. } => Some((row.row, row.part, false)),
    })
    .collect()
}

/// Returns how often a recipient got an email.
fn received(service: &Service, recipient: usize) -> u32 {
    let state = service.state.lock().unwrap();
    let to = format!("r{recipient}@");
    state.deliveries.iter().filter(|(row, _)| row.starts_with(&to)).map(|(_, times)| times).sum()
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_retry_is_continued_whichever_part_is_named() {
    // F-09
    let inputs = Inputs::new();
    let service = Service::new(|_, _| Some(Fault::Invalid));
    let first = inputs.plan(inputs.bulk(&rows(0..3)).batch_size(1)).await.unwrap();
    assert_eq!(finish(&first, &service).await.counts.rejected, 3);
    let retry = first.retry(Retry::Rejected).await.unwrap().unwrap();
    service.set_script(|_, _| Some(Fault::Quota));
    finish(&retry, &service).await;
    service.set_script(|n, _| (n % 2 == 0).then_some(Fault::Quota));
    for _ in 0..4 {
        for named in [&first, &retry] {
            let Some(again) = named.retry(Retry::Rejected).await.unwrap() else { continue };
            assert_eq!(again.plan().id(), retry.plan().id());
            finish(&again, &service).await;
        }
    }
    assert_eq!((service.delivered(), inputs.jobs()), ((3, 1), 2));
    assert_eq!(retry.status().await.unwrap().counts, Counts { sent: 3, ..Counts::default() });
    let added = inputs.plan(inputs.bulk(&rows(0..4)).add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!(added.plan().counts().valid, 1);
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_not_started_holds_no_rows() {
    // F-09
    let inputs = Inputs::new();
    let service = Service::new(|_, _| Some(Fault::Invalid));
    let first = inputs.plan(inputs.bulk(&rows(0..2)).batch_size(1)).await.unwrap();
    finish(&first, &service).await;
    service.set_script(|_, _| None);
    let planned = first.retry(Retry::Rejected).await.unwrap().unwrap();
    planned.discard().await.unwrap();
    assert_eq!((inputs.jobs(), unsent(&first).await.len()), (1, 2));
    // Two retries at the same time: the later one replaces the other.
    let replaced = first.retry(Retry::Rejected).await.unwrap().unwrap();
    let retry = replaced.retry(Retry::Rejected).await.unwrap().unwrap();
    let options = patient_options();
    let (one, other) = (
        replaced.start_with(Arc::clone(&service), options.clone()),
        retry.start_with(Arc::clone(&service), options),
    );
    let (one, other) = tokio::join!(one.finish(), other.finish());
    assert!(one.unwrap_err().to_string().contains("replaced by another plan"));
    assert_eq!(other.unwrap().counts.sent, 2);
    // A started job isn't removed.
    retry.clone().discard().await.unwrap();
    assert_eq!((service.delivered(), inputs.jobs()), ((2, 1), 2));
    assert!(retry.retry(Retry::Rejected).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn outcomes_and_retries_cover_all_parts_of_a_job() {
    // F-09
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let first = interrupt(&inputs, &rows(0..3), &service).await;
    let report = finish_late(&first, &service).await;
    assert_eq!(report.counts, Counts { sent: 1, rejected: 1, unknown: 1, remaining: 0 });
    service.set_script(|_, request| {
        String::from_utf8_lossy(&request.body).contains("r3@").then_some(Fault::Invalid)
    });
    let second = inputs.plan(inputs.bulk(&rows(3..5)).batch_size(1).add_rows(ChangedRows::Reject)).await;
    let second = second.unwrap();
    let report = finish(&second, &service).await;
    assert_eq!(report.counts, Counts { sent: 2, rejected: 2, unknown: 1, remaining: 0 });
    let [one, two] = [&first, &second].map(|job| job.plan().id().to_owned());
    let expected = [(1, one.clone(), true), (1, two, true), (2, one, false)];
    assert_eq!(unsent(&second).await, expected);
    for (list, rows) in [("rejected.csv", 2), ("unknown.csv", 1)] {
        let path = second.plan().dir().join(list);
        assert!(report.files.contains(&path), "{report:?}");
        assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 1 + rows, "{list}");
    }
    service.set_script(|_, _| None);
    let retry = second.retry(Retry::Rejected).await.unwrap().unwrap();
    let report = finish(&retry, &service).await;
    assert_eq!(report.counts, Counts { sent: 4, rejected: 0, unknown: 1, remaining: 0 });
    assert_eq!(unsent(&retry).await.len(), 1);
    for named in [&first, &second, &retry] {
        assert!(named.retry(Retry::Rejected).await.unwrap().is_none());
    }
    assert_eq!(service.delivered(), (5, 1));
    // An unknown row that is rejected later counts, and is retried, as a rejected one.
    service.set_script(|_, _| Some(Fault::Invalid));
    let retry = retry.retry(Retry::Unknown).await.unwrap().unwrap();
    assert_eq!(finish(&retry, &service).await.counts.rejected, 1);
    service.set_script(|_, _| None);
    assert!(first.retry(Retry::Unknown).await.unwrap().is_none());
    let retry = first.retry(Retry::Rejected).await.unwrap().unwrap();
    let report = finish(&retry, &service).await;
    assert_eq!((report.counts.sent, report.all_sent(), unsent(&retry).await.len()), (5, true, 0));
    assert_eq!((received(&service, 1), service.delivered().0), (2, 5));
}

#[tokio::test(start_paused = true)]
async fn requests_in_flight_of_a_canceled_part_are_unknown_rows() {
    // F-09
    for added in [false, true] {
        let (inputs, service) = (Inputs::new(), Service::reliable());
        let first = interrupt(&inputs, &rows(0..3), &service).await;
        first.cancel().await.unwrap();
        let mut job = first.clone();
        if added {
            let bulk = inputs.bulk(&rows(0..4)).batch_size(1);
            job = inputs.plan(bulk.add_rows(ChangedRows::Reject)).await.unwrap();
            let report = finish(&job, &service).await;
            assert_eq!(report.counts, Counts { sent: 3, rejected: 0, unknown: 1, remaining: 0 });
            assert!(report.files.contains(&job.plan().dir().join("unknown.csv")), "{report:?}");
        }
        let unknown: Vec<_> = unsent(&job).await.into_iter().filter(|(.., rejected)| !rejected).collect();
        assert_eq!(unknown, [(2, first.plan().id().to_owned(), false)]);
        let retry = job.retry(Retry::Unknown).await.unwrap().unwrap();
        assert_eq!(retry.plan().counts().valid, 1);
        assert_eq!(finish(&retry, &service).await.counts.unknown, 0);
        assert!(job.retry(Retry::Unknown).await.unwrap().is_none());
        assert_eq!(received(&service, 1), 2, "exactly the unknown row");
    }
}

#[tokio::test(start_paused = true)]
async fn rows_rejected_after_a_request_without_a_response_are_unknown_and_not_retried_as_rejected() {
    // F-09
    let inputs = Inputs::new();
    // The domain is removed after the service has accepted the first request.
    let service =
        Service::new(|n, _| Some(if n == 1 { Fault::TimedOut { executed: true } } else { Fault::Invalid }));
    let job = inputs.plan(inputs.bulk(&rows(0..2))).await.unwrap();
    let report = finish(&job, &service).await;
    assert_eq!(report.counts, Counts { unknown: 2, ..Counts::default() });
    let reasons = outcomes(&job).await.into_iter().map(|row| row.outcome);
    let reason = "HTTP 422: validation_error; the outcome of an earlier attempt is unknown".to_owned();
    assert_eq!(reasons.collect::<Vec<_>>(), vec![Outcome::Unknown { reason }; 2]);
    assert!(job.retry(Retry::Rejected).await.unwrap().is_none());
    assert_eq!(service.delivered(), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_reconciliation_without_unknown_rows_leaves_no_list_of_an_earlier_one() {
    let (inputs, service) = (Inputs::new(), Service::reliable());
    let job = inputs.plan(inputs.bulk(&rows(0..2))).await.unwrap();
    finish(&job, &service).await;
    let list = job.plan().dir().join("reconciled.csv");
    std::fs::write(&list, "row,recipient\n1,r0@example.com\n").unwrap();
    let client = Client::new("http://127.0.0.1:1", "re_x").unwrap();
    let account = crate::Account::new().assume_same_account();
    let found = job.reconcile(&client, &account).await.unwrap();
    assert_eq!((found.unknown, found.file), (0, None));
    assert!(!list.exists());
}

#[tokio::test(start_paused = true)]
async fn a_canceled_retry_leaves_the_rows_to_the_next_one() {
    // F-09
    let inputs = Inputs::new();
    let service = Service::new(|_, _| Some(Fault::Invalid));
    let first = inputs.plan(inputs.bulk(&rows(0..3)).batch_size(1)).await.unwrap();
    finish(&first, &service).await;
    let retry = first.retry(Retry::Rejected).await.unwrap().unwrap();
    service.set_script(|n, _| (n % 2 == 0).then_some(Fault::Quota));
    let sent = run(&retry, &service, 1).await.counts.sent;
    assert!((0..3).contains(&sent));
    retry.cancel().await.unwrap();
    service.set_script(|_, _| None);
    let again = retry.retry(Retry::Rejected).await.unwrap().unwrap();
    assert_eq!(again.plan().counts().valid, 3 - sent);
    assert_eq!(
        again.status().await.unwrap().counts,
        Counts { sent, remaining: 3 - sent, ..Counts::default() }
    );
    let report = finish(&again, &service).await;
    assert_eq!((report.counts, service.delivered()), (Counts { sent: 3, ..Counts::default() }, (3, 1)));
}

#[tokio::test(start_paused = true)]
async fn rows_without_the_new_key_do_not_shift_the_outcomes_of_others() {
    // F-09
    let inputs = Inputs::new();
    let service = Service::new(|n, _| (n == 1).then_some(Fault::Invalid));
    let path = inputs.folder.path().join("people.csv");
    let message = || Message::new().from("hi@acme.test").subject("Hi").text("It works");
    std::fs::write(&path, "to,var:ORDER\nr0@example.com,\nr1@example.com,1\nr2@example.com,2\n").unwrap();
    let first = inputs.plan(Bulk::new(Input::csv(&path), message()).batch_size(1)).await.unwrap();
    let options = patient_options().concurrency(1);
    let report = finish_with(&first, &service, options).await;
    assert_eq!((report.counts.sent, report.counts.rejected), (2, 1));
    std::fs::write(&path, "to,var:ORDER\nr1@example.com,1\nr2@example.com,2\nr3@example.com,3\n").unwrap();
    let bulk = Bulk::new(Input::csv(&path), message()).batch_size(1).key("var:ORDER");
    let second = inputs.plan(bulk.add_rows(ChangedRows::Reject)).await.unwrap();
    finish(&second, &service).await;
    assert_eq!(service.delivered(), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_retry_replaces_a_plan_that_was_never_started() {
    let inputs = Inputs::new();
    let service = Service::new(|_, _| Some(Fault::Partial));
    let first = inputs.plan(inputs.bulk(&rows(0..2)).batch_size(1)).await.unwrap();
    assert_eq!(finish(&first, &service).await.counts.rejected, 2);
    service.set_script(|_, _| None);
    inputs.plan(inputs.bulk(&rows(2..3)).add_rows(ChangedRows::Reject)).await.unwrap();
    let planned = first.retry(Retry::Rejected).await.unwrap().unwrap();
    assert_eq!((planned.plan().counts().valid, inputs.jobs()), (2, 2));
    let retry = first.retry(Retry::Rejected).await.unwrap().unwrap();
    assert_eq!((finish(&retry, &service).await.counts.sent, inputs.jobs()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_retry_keeps_the_suppression_list_of_its_job() {
    // F-09
    let inputs = Inputs::new();
    let service = Service::new(|_, request| {
        String::from_utf8_lossy(&request.body).contains("r7@").then_some(Fault::Invalid)
    });
    let bulk = |n| inputs.bulk(&rows(0..n)).batch_size(1).suppress(["r3@example.com"]);
    let first = inputs.plan(bulk(10)).await.unwrap();
    finish(&first, &service).await;
    service.set_script(|_, _| None);
    let retry = first.retry(Retry::Rejected).await.unwrap().unwrap();
    assert_eq!(finish(&retry, &service).await.counts.sent, 9);
    let found = inputs.differences(bulk(11)).await;
    assert_eq!((found.known, found.new, found.fields), (9, 1, Vec::<String>::new()));
    assert_eq!(service.delivered(), (9, 1));
}

#[tokio::test(start_paused = true)]
async fn a_retry_sends_nothing_to_addresses_that_a_later_part_suppresses() {
    let inputs = Inputs::new();
    let service = Service::new(|_, _| Some(Fault::Invalid));
    let first = inputs.plan(inputs.bulk(&rows(0..2)).batch_size(1)).await.unwrap();
    assert_eq!(finish(&first, &service).await.counts.rejected, 2);
    let bulk = inputs.bulk(&rows(0..2)).batch_size(1).suppress(["R1@example.com"]);
    let later = inputs.plan(bulk.add_rows(ChangedRows::Reject)).await.unwrap();
    assert_eq!(finish(&later, &service).await.counts.rejected, 2);
    service.set_script(|_, _| None);
    let list = later.plan().dir().join("suppressed");
    let intact = std::fs::read(&list).unwrap();
    for damaged in [&intact[..15], &[]] {
        std::fs::write(&list, damaged).unwrap();
        let error = later.retry(Retry::Rejected).await.unwrap_err().to_string();
        assert!(error.contains("suppressed is damaged"), "{error}");
    }
    std::fs::write(&list, intact).unwrap();
    let retry = later.retry(Retry::Rejected).await.unwrap().unwrap();
    finish(&retry, &service).await;
    assert_eq!(first.retry(Retry::Rejected).await.unwrap().map(|job| job.plan().counts().valid), None);
    assert_eq!(service.delivered(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_retry_can_be_repeated_until_every_rejected_row_is_sent() {
    let inputs = Inputs::new();
    let fixed = Arc::new(AtomicBool::new(false));
    let is_fixed = Arc::clone(&fixed);
    let service = Service::new(move |_, request| {
        let is_wrong = String::from_utf8_lossy(&request.body).contains("r7@");
        (is_wrong && !is_fixed.load(Ordering::SeqCst)).then_some(Fault::Partial)
    });
    let mut changed = rows(0..200);
    changed.swap(0, 7);
    let job = inputs.plan(inputs.bulk(&changed)).await.unwrap();
    assert_eq!(finish(&job, &service).await.counts.rejected, 1);
    for n in 1..=3 {
        fixed.store(n == 3, Ordering::SeqCst);
        let retry = job.retry(Retry::Rejected).await.unwrap().unwrap();
        let report = finish(&retry, &service).await;
        let rejected = u64::from(n < 3);
        assert_eq!((report.counts.sent, report.counts.rejected), (200 - rejected, rejected), "{n}");
    }
    assert_eq!(job.retry(Retry::Rejected).await.unwrap().map(|job| job.plan().id().to_owned()), None);
    assert_eq!(inputs.jobs(), 4);
}
