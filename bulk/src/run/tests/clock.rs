//! Jobs while clocks change, machines sleep, and keys expire.

use super::*;
use crate::Schedule;

const DAY: i64 = 24 * 3_600_000;

/// Returns whether this is the request for batch 3, the one that is repeated.
fn is_fourth(request: &SendRequest) -> bool {
    request.key.contains("/3/")
}

/// Runs a job until its emails are delivered, and kills it before the result of batch 3 is recorded.
async fn run_interrupted(folder: &Path, wall: &WallClock) -> (BulkJob, Arc<Service>) {
    let job = plan_job(folder, 500).await;
    let service = Service::new(|_, request| is_fourth(request).then_some(Fault::TimedOut { executed: true }));
    *service.clock.lock().unwrap() = Some(WallClock::default());
    let mut run = job.start_with(Arc::clone(&service), patient_options().wall_clock(wall));
    while service.delivered().0 < 500 && run.next().await.is_some() {}
    run.abort();
    assert_eq!(run.finish().await.unwrap().counts.remaining, 100);
    service.set_script(|_, _| None);
    (job, service)
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_a_little_behind_makes_no_batch_unknown() {
    // F-11
    let (folder, wall) = (folder(), WallClock::default());
    let (job, service) = run_interrupted(folder.path(), &wall).await;
    wall.advance_millis(-3_000);
    let report = finish_with(&job, &service, patient_options().wall_clock(&wall)).await;
    assert_eq!(report.counts, Counts { sent: 500, ..Counts::default() });
    assert_eq!(service.delivered(), (500, 1));
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_back_does_not_hide_that_keys_have_expired() {
    // F-11
    let (folder, wall) = (folder(), WallClock::default());
    let (job, service) = run_interrupted(folder.path(), &wall).await;
    // A day later, the wall clock has been set back to the same time.
    service.forgets_keys.store(true, Ordering::SeqCst);
    service.clock.lock().unwrap().as_ref().unwrap().advance_millis(DAY);
    let report = finish_with(&job, &service, patient_options().wall_clock(&wall)).await;
    assert_eq!(report.counts, Counts { sent: 400, unknown: 100, ..Counts::default() });
    assert_eq!(service.delivered(), (500, 1));
}

/// Runs a job in which the wall clock advances by `moved` milliseconds between two attempts of batch 3. `slept` is how far the service's clock advances.
async fn time_passes(moved: i64, slept: Option<Duration>, concurrency: usize) -> (Report, (usize, u32)) {
    let (folder, wall) = (folder(), WallClock::default());
    let job = plan_job(folder.path(), 500).await;
    let (machine, its_clock) = (wall.clone(), WallClock::default());
    let (mut attempts, clock) = (0, slept.map(|_| its_clock.clone()));
    let service = Service::new(move |_, request| {
        is_fourth(request).then_some(())?;
        attempts += 1;
        if attempts == 1 {
            machine.advance_millis(moved);
            its_clock.pass(slept.unwrap_or_default());
        }
        (attempts == 1).then_some(Fault::TimedOut { executed: true })
    });
    service.forgets_keys.store(slept.is_none_or(|slept| !slept.is_zero()), Ordering::SeqCst);
    *service.clock.lock().unwrap() = clock;
    let report =
        finish_with(&job, &service, patient_options().wall_clock(&wall).concurrency(concurrency)).await;
    (report, service.delivered())
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_ahead_during_a_run_makes_no_batch_unknown() {
    // F-11
    let (report, delivered) = time_passes(DAY, Some(Duration::ZERO), 16).await;
    assert_eq!(report.counts, Counts { sent: 500, ..Counts::default() });
    assert_eq!(delivered, (500, 1));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_slept_for_a_day_repeats_no_request() {
    // F-11
    let day = Some(Duration::from_hours(24));
    // The clocks of a virtual machine stand still while it is paused.
    for (moved, service_time, concurrency) in [(DAY, day, 16), (DAY, None, 16), (0, day, 16), (0, day, 1)] {
        let (report, delivered) = time_passes(moved, service_time, concurrency).await;
        assert_eq!(
            report.counts,
            Counts { sent: 400, unknown: 100, ..Counts::default() },
            "{service_time:?}"
        );
        assert_eq!(delivered, (500, 1), "{service_time:?}");
    }
}

/// Kills a job on a machine whose clock is 12 hours ahead, and resumes it `hours` later. One batch is executed but gets no response: with 0, its intent
/// is older than the first response.
async fn resume_after_being_ahead(
    is_corrected: bool,
    hours: i64,
    timed_out: u32,
    schedule: Option<&Schedule>,
) -> (Report, (usize, u32)) {
    let (folder, wall, its_clock) = (folder(), WallClock::default(), WallClock::default());
    let job = plan_job(folder.path(), 400).await;
    let path = format!("/{timed_out}/");
    let service = Service::new(move |_, request| {
        request.key.contains(&path).then_some(Fault::TimedOut { executed: true })
    });
    *service.clock.lock().unwrap() = Some(its_clock.clone());
    wall.advance_millis(DAY / 2);
    let options = || {
        let options = patient_options().wall_clock(&wall).concurrency(2);
        schedule.into_iter().cloned().fold(options, RunOptions::schedule)
    };
    let mut run = job.start_with(Arc::clone(&service), options());
    while let Some(event) = run.next().await {
        if matches!(event, Event::Progress(now) if now.counts.sent == 300 && now.requests >= 5) {
            break;
        }
    }
    run.abort();
    assert_eq!(run.finish().await.unwrap().counts.sent, 300);
    if is_corrected {
        wall.advance_millis(-DAY / 2);
    }
    for clock in [&wall, &its_clock] {
        clock.advance_millis(hours * DAY / 24);
    }
    service.forgets_keys.store(hours >= 24, Ordering::SeqCst);
    service.set_script(|_, _| None);
    (finish_with(&job, &service, options()).await, service.delivered())
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_ahead_and_is_corrected_does_not_hide_that_keys_have_expired() {
    // F-11
    let schedule = Schedule::new().daily([1_000]).unwrap().time_zone("UTC").unwrap();
    for (timed_out, schedule) in [(3, None), (0, None), (3, Some(&schedule)), (0, Some(&schedule))] {
        let (report, delivered) = resume_after_being_ahead(true, 30, timed_out, schedule).await;
        let expected = Counts { sent: 300, unknown: 100, ..Counts::default() };
        assert_eq!((report.counts, delivered), (expected, (400, 1)), "{timed_out} {schedule:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_stays_ahead_makes_no_batch_unknown() {
    // F-11
    let schedule = Schedule::new().daily([1_000]).unwrap().time_zone("UTC").unwrap();
    for (timed_out, schedule) in [(3, None), (0, Some(&schedule))] {
        let (report, delivered) = resume_after_being_ahead(false, 1, timed_out, schedule).await;
        assert_eq!((report.counts, delivered), (Counts { sent: 400, ..Counts::default() }, (400, 1)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_got_no_response_to_a_send_dates_its_requests_by_the_service_s_time() {
    // F-11
    let (folder, wall, its_clock) = (folder(), WallClock::default(), WallClock::default());
    let job = plan_job(folder.path(), 400).await;
    let service = Service::new(|_, _| Some(Fault::TimedOut { executed: true }));
    *service.clock.lock().unwrap() = Some(its_clock.clone());
    wall.advance_millis(DAY / 2);
    let options = || patient_options().wall_clock(&wall).concurrency(1);
    abort_after(&job, &service, options(), 1).await;
    assert_eq!(service.delivered(), (100, 1));
    wall.advance_millis(-DAY / 2);
    for clock in [&wall, &its_clock] {
        clock.advance_millis(30 * DAY / 24);
    }
    service.forgets_keys.store(true, Ordering::SeqCst);
    service.set_script(|_, _| None);
    let report = finish_with(&job, &service, options()).await;
    assert_eq!(report.counts, Counts { sent: 300, unknown: 100, ..Counts::default() });
    assert_eq!(service.delivered(), (400, 1));
}
