//! Jobs with a schedule, on clocks that the tests move.

use std::collections::BTreeMap;

use super::*;
use crate::Schedule;

const HOUR: i64 = 3_600_000;

/// Returns a wall clock set to half past an hour, so that no run crosses midnight.
fn half_past() -> WallClock {
    let wall = WallClock::default();
    let past = i64::try_from(wall.now().as_millis()).unwrap() % HOUR;
    wall.advance_millis(HOUR / 2 - past);
    wall
}

fn day(wall: &WallClock) -> u64 {
    wall.now().as_secs() / 86_400
}

/// Runs a job until it has sent a number of requests or waits for its schedule, then kills it. Returns whether it finished.
async fn run_and_kill(job: &BulkJob, service: &Arc<Service>, options: RunOptions, requests: u64) -> bool {
    let mut run = job.start_with(Arc::clone(service), options);
    let until = service.requests() + requests;
    while service.requests() < until {
        match run.next().await {
            None | Some(Event::Paused { .. }) => break,
            _ => {}
        }
    }
    run.abort();
    run.finish().await.unwrap().ending == Ending::Finished
}

#[tokio::test(start_paused = true)]
async fn no_day_has_more_than_its_cap_however_often_the_job_is_killed() {
    // F-09
    let (folder, wall) = (tempfile::tempdir().unwrap(), half_past());
    let job = plan_job_in_batches(folder.path(), 4_000, 10).await;
    let service = Service::faulty(5, 0.1);
    let mut random = StdRng::seed_from_u64(5);
    let schedule = Schedule::new().daily([30]).unwrap().time_zone("UTC").unwrap();
    let (mut kills, mut by_day) = (0, BTreeMap::<u64, usize>::new());
    loop {
        let before = service.delivered().0;
        // The schedule is set once, and the job keeps it.
        let mut options = patient_options().wall_clock(&wall);
        if kills == 0 {
            options = options.schedule(schedule.clone());
        }
        let finished = run_and_kill(&job, &service, options, random.gen_range(1..4)).await;
        let sent = service.delivered().0 - before;
        *by_day.entry(day(&wall)).or_default() += sent;
        if finished {
            break;
        }
        kills += 1;
        assert!(kills < 3_000, "the job makes no progress");
        wall.advance_millis(random.gen_range(0..6) * HOUR);
    }
    assert!(kills >= 1_000, "{kills} kills");
    let most = by_day.values().max().unwrap();
    assert_eq!(*most, 30, "{by_day:?}");
    assert_eq!(service.delivered().1, 1);
    let counts = job.status().await.unwrap().counts;
    assert_eq!(counts.sent + counts.unknown, 4_000, "{counts:?}");
    assert!(counts.unknown < 400, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_repeated_after_midnight_counts_on_the_new_day_too() {
    // F-09
    for concurrency in [1, 2] {
        let (folder, wall) = (tempfile::tempdir().unwrap(), half_past());
        let hour = i64::try_from(wall.now().as_secs() / 3_600 % 24).unwrap();
        wall.advance_millis((23 - hour) * HOUR);
        let job = plan_job_in_batches(folder.path(), 100, 10).await;
        let (moved, mut attempts) = (wall.clone(), 0);
        let service = Service::new(move |_, request| {
            request.key.contains("/0/").then_some(())?;
            attempts += 1;
            if attempts == 2 {
                moved.advance_millis(HOUR);
            }
            (attempts < 10).then_some(Fault::TimedOut { executed: false })
        });
        *service.wall.lock().unwrap() = wall.clone();
        let today = day(&wall) + 1;
        let schedule = Schedule::new().daily([20]).unwrap().time_zone("UTC").unwrap();
        let options = patient_options().wall_clock(&wall).concurrency(concurrency).schedule(schedule);
        let mut run = job.start_with(Arc::clone(&service), options);
        // Ten minutes of progress.
        for _ in 0..6_000 {
            run.next().await;
        }
        run.abort();
        run.finish().await.unwrap();
        let state = service.state.lock().unwrap();
        let sent_today = state.times.iter().filter(|(at, _)| at.as_secs() / 86_400 == today).count();
        assert_eq!(sent_today, 20, "{concurrency}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_day_of_refused_connections_leaves_its_cap_unused() {
    let (folder, wall) = (tempfile::tempdir().unwrap(), half_past());
    let job = plan_job_in_batches(folder.path(), 50, 10).await;
    let service = Service::new(|_, _| Some(Fault::Refused));
    let schedule = Schedule::new().daily([20]).unwrap().time_zone("UTC").unwrap();
    let options = || patient_options().wall_clock(&wall);
    let mut run = job.start_with(Arc::clone(&service), options().schedule(schedule));
    while service.requests() < 6 && run.next().await.is_some() {}
    run.abort();
    run.finish().await.unwrap();
    assert_eq!((service.requests() >= 6, service.delivered().0), (true, 0));
    service.set_script(|_, _| None);
    for sent in [20, 40] {
        let mut run = job.start_with(Arc::clone(&service), options());
        while service.delivered().0 < sent && run.next().await.is_some() {}
        // Ten seconds of progress.
        for _ in 0..100 {
            run.next().await;
        }
        run.abort();
        run.finish().await.unwrap();
        assert_eq!(service.delivered().0, sent);
        wall.advance_millis(24 * HOUR);
    }
    // Without a schedule, the rest is sent immediately.
    let report = job.start_with(Arc::clone(&service), options().schedule(Schedule::new())).finish().await;
    assert_eq!((report.unwrap().ending, service.delivered()), (Ending::Finished, (50, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_plan_whose_requests_exceed_a_cap_does_not_start() {
    let (folder, wall) = (tempfile::tempdir().unwrap(), half_past());
    let job = plan_job_in_batches(folder.path(), 50, 10).await;
    let service = Service::reliable();
    let schedule = Schedule::new().daily([100, 9]).unwrap();
    let run = job.start_with(Arc::clone(&service), patient_options().wall_clock(&wall).schedule(schedule));
    let error = run.finish().await.unwrap_err().to_string();
    assert!(
        error.contains("requests in the plan contain up to 10 emails, more than the daily cap of 9"),
        "{error}"
    );
    assert_eq!(service.requests(), 0);
}
