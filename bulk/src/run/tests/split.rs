//! Batches that contain rejected rows, whose emails are sent one by one.

use super::{canceled::plan_rest, *};

#[tokio::test(start_paused = true)]
async fn a_bad_row_rejects_none_of_its_neighbors() {
    let (_folder, job) = planned_job(350).await;
    let service = strict_service(0, 0.0, &[51, 249]);
    let report = finish_with(&job, &service, patient_options()).await;
    assert_eq!((report.ending, report.counts.sent, report.counts.rejected), (Ending::Finished, 348, 2));
    assert_eq!((service.delivered(), report.requests), ((348, 1), 204));
    let rejected: Vec<_> =
        outcomes(&job).await.into_iter().filter(|row| !matches!(row.outcome, Outcome::Sent { .. })).collect();
    assert_eq!(rejected.iter().map(|row| row.row).collect::<Vec<_>>(), [51, 249]);
    assert_eq!(rejected[0].outcome, Outcome::Rejected { status: 422, reason: "validation_error".to_owned() });
}

#[tokio::test(start_paused = true)]
async fn a_split_batch_is_sent_once_whatever_fails_and_whenever_it_is_resumed() {
    // F-09
    for seed in 0..60 {
        let folder = folder();
        let job = plan_job_in_batches(folder.path(), 69, 30).await;
        let service = strict_service(seed, 0.1, &[7, 40]);
        let mut random = StdRng::seed_from_u64(seed);
        for _ in 0..random.gen_range(0..8) {
            abort_after(&job, &service, patient_options(), random.gen_range(0..30)).await;
        }
        let job = if seed % 3 == 0 {
            job.cancel().await.unwrap();
            plan_rest(folder.path(), &job).await
        } else {
            job
        };
        let report = finish_with(&job, &service, patient_options()).await;
        assert_eq!(report.ending, Ending::Finished, "{seed}");
        let Counts { sent, rejected, unknown, .. } = report.counts;
        assert_eq!(sent + rejected + unknown, 69, "{seed}: {report:?}");
        let (delivered, times) = service.delivered();
        // The requests in flight of a canceled job may have been delivered.
        let possible = sent..=if seed % 3 == 0 { sent + unknown } else { sent };
        assert!(times == 1 && possible.contains(&(delivered as u64)), "{seed}: {delivered}, {report:?}");
    }
}

/// Plans a batch of 60 emails, and runs the job until its quota is exhausted after 20 requests.
pub(super) async fn split_by_quota(bad: &'static [usize]) -> (tempfile::TempDir, BulkJob, Arc<Service>) {
    let (folder, job) = planned_job(60).await;
    let service = strict_service(0, 0.0, bad);
    service.quota.store(20, Ordering::SeqCst);
    let report = finish_with(&job, &service, patient_options()).await;
    assert!(matches!(report.ending, Ending::Paused { until: Some(_), .. }), "{report:?}");
    assert_eq!((report.counts.remaining, service.delivered().0), (60, 19 - bad.len()));
    service.quota.store(u64::MAX, Ordering::SeqCst);
    (folder, job, service)
}

#[tokio::test(start_paused = true)]
async fn a_split_batch_is_continued_where_it_was_paused() {
    let (_folder, job, service) = split_by_quota(&[3, 4, 19]).await;
    let report = finish_with(&job, &service, patient_options()).await;
    assert_eq!(report.ending, Ending::Finished);
    assert_eq!(report.counts, Counts { sent: 57, rejected: 3, ..Counts::default() });
    // Row 19 was rejected last, so its rejection could have had the same cause as the pause.
    assert_eq!((service.delivered(), report.requests), ((57, 1), 60 - 18));
}

#[tokio::test(start_paused = true)]
async fn emails_that_no_process_has_attempted_outlive_the_key_of_their_batch() {
    let (_folder, job, service) = split_by_quota(&[3]).await;
    service.forgets_keys.store(true, Ordering::SeqCst);
    let later = patient_options().clock_offset(Duration::from_hours(30));
    // A timeout of an email that is attempted for the first time doesn't end it.
    service.set_script(|n, _| (n == 30).then_some(Fault::TimedOut { executed: false }));
    let report = finish_with(&job, &service, later).await;
    assert_eq!(report.ending, Ending::Finished);
    assert_eq!(report.counts, Counts { sent: 59, rejected: 1, ..Counts::default() });
    assert_eq!(service.delivered(), (59, 1));
}

/// More consecutive rows than the limit of consecutive rejections, and one before.
const BAD: &[usize] =
    &[2, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35];

#[tokio::test(start_paused = true)]
async fn rows_whose_rejections_paused_the_job_are_attempted_again_and_then_rejected() {
    let (_folder, job) = planned_job(60).await;
    let service = strict_service(0, 0.0, BAD);
    let report = finish_with(&job, &service, patient_options()).await;
    assert!(matches!(report.ending, Ending::Paused { until: None, .. }), "{report:?}");
    let report = finish_with(&job, &service, patient_options().max_rejections(0)).await;
    assert_eq!(report.ending, Ending::Finished);
    let rejected = BAD.len() as u64;
    assert_eq!(report.counts, Counts { sent: 60 - rejected, rejected, ..Counts::default() });
    assert_eq!((service.delivered(), report.requests), ((34, 1), 60 - 10));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_ahead_does_not_hide_that_the_key_of_an_email_has_expired() {
    // F-11
    let schedule = Schedule::new().daily([1_000]).unwrap().time_zone("UTC").unwrap();
    for schedule in [None, Some(schedule)] {
        let (_folder, job) = planned_job(60).await;
        let (wall, its_clock) = (WallClock::default(), WallClock::default());
        let service = Service::new(|n, request| match n {
            _ if String::from_utf8_lossy(&request.body).contains("\"r3@") => Some(Fault::Invalid),
            21.. => Some(Fault::TimedOut { executed: true }),
            _ => None,
        });
        *service.clock.lock().unwrap() = Some(its_clock.clone());
        wall.advance_millis(12 * 3_600_000);
        let options = || {
            let options = patient_options().wall_clock(&wall);
            schedule.iter().cloned().fold(options, RunOptions::schedule)
        };
        abort_after(&job, &service, options(), 21).await;
        assert_eq!(service.delivered(), (19, 1), "18 have responses, one doesn't");
        wall.advance_millis(-12 * 3_600_000);
        for clock in [&wall, &its_clock] {
            clock.advance_millis(30 * 3_600_000);
        }
        service.forgets_keys.store(true, Ordering::SeqCst);
        service.set_script(|_, request| {
            String::from_utf8_lossy(&request.body).contains("\"r3@").then_some(Fault::Invalid)
        });
        let report = finish_with(&job, &service, options()).await;
        let expected = Counts { sent: 58, rejected: 1, unknown: 1, ..Counts::default() };
        assert_eq!((report.counts, service.delivered()), (expected, (59, 1)), "{schedule:?}");
    }
}
