//! Jobs with a schedule, on clocks that the tests move.

use std::collections::BTreeMap;

use super::*;
use crate::Schedule;

const HOUR: i64 = 3_600_000;

/// Returns a wall clock set to half past an hour, so that only moving it crosses midnight.
fn half_past() -> WallClock {
    let wall = WallClock::default();
    let past = i64::try_from(wall.now().as_millis()).unwrap() % HOUR;
    wall.advance_millis(HOUR / 2 - past);
    wall
}

/// Returns a wall clock set to half an hour before midnight.
fn before_midnight() -> WallClock {
    let wall = WallClock::default();
    let past = i64::try_from(wall.now().as_millis()).unwrap() % (24 * HOUR);
    wall.advance_millis(24 * HOUR - HOUR / 2 - past);
    wall
}

/// Returns the emails that the service executed on each day.
fn executed_by_day(service: &Service) -> BTreeMap<u64, usize> {
    let state = service.state.lock().unwrap();
    let days = state.times.iter().map(|(at, _)| at.as_secs() / 86_400);
    days.fold(BTreeMap::new(), |mut by_day, day| {
        *by_day.entry(day).or_default() += 1;
        by_day
    })
}

fn day(wall: &WallClock) -> u64 {
    wall.now().as_secs() / 86_400
}

/// The number of rows of a job, and how often it is killed at least: a thousand times with `IDEMPOST_EXHAUSTIVE`.
fn scale(rows: usize) -> (usize, usize) {
    if std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some() { (rows, 1_000) } else { (rows / 5, 200) }
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
    let (folder, wall) = (folder(), half_past());
    let (rows, least) = scale(4_000);
    let job = plan_job_in_batches(folder.path(), rows, 10).await;
    // Hours pass between runs, and while requests are in flight.
    let (moved, mut faults) = (wall.clone(), StdRng::seed_from_u64(5));
    let service = Service::new(move |_, request| {
        if faults.gen_bool(0.05) {
            moved.pass(Duration::from_hours(faults.gen_range(1..4)));
        }
        // A rejected batch is split, so its emails are sent on different days.
        if String::from_utf8_lossy(&request.body).contains("3@example.com") && faults.gen_bool(0.1) {
            return Some(Fault::Invalid);
        }
        faults.gen_bool(0.1).then(|| TRANSIENT[faults.gen_range(0..TRANSIENT.len())])
    });
    *service.wall.lock().unwrap() = wall.clone();
    let mut random = StdRng::seed_from_u64(5);
    let schedule = Schedule::new().daily([30]).unwrap().time_zone("UTC").unwrap();
    let mut kills = 0;
    loop {
        // The schedule is set once, and the job keeps it.
        let mut options = patient_options().wall_clock(&wall);
        if kills == 0 {
            options = options.schedule(schedule.clone());
        }
        if run_and_kill(&job, &service, options, random.gen_range(1..4)).await {
            break;
        }
        kills += 1;
        assert!(kills < 3_000, "the job makes no progress");
        wall.pass(Duration::from_hours(random.gen_range(0..6)));
    }
    assert!(kills >= least, "{kills} kills");
    let by_day = executed_by_day(&service);
    assert_eq!(by_day.values().max(), Some(&30), "{by_day:?}");
    assert_eq!(service.delivered().1, 1);
    let counts = job.status().await.unwrap().counts;
    assert_eq!(counts.sent + counts.rejected + counts.unknown, rows as u64, "{counts:?}");
    assert!(counts.unknown < rows as u64 / 5, "{counts:?}");
}

/// How a job of batches of 10 emails, started half an hour before midnight, is interrupted.
#[derive(Clone, Copy, Debug)]
struct Midnight {
    cap: usize,
    concurrency: usize,
    /// Whether the service executes the first three attempts of the first batch, which time out.
    executed: bool,
    /// The attempt of the first batch during which midnight passes; the fourth one succeeds.
    attempt: u32,
    /// The number of requests after which the job is killed; otherwise, while it waits for its schedule.
    killed_after: u64,
}

/// Runs the job and kills it, and resumes it until it is finished. Returns the emails executed on each day, counted from the first one, and those of the
/// first batch.
async fn run_over_midnight(case: Midnight) -> [BTreeMap<u64, usize>; 2] {
    let (folder, wall) = (folder(), before_midnight());
    let first = day(&wall);
    let job = plan_job_in_batches(folder.path(), 40, 10).await;
    let (moved, ended) = (wall.clone(), Arc::new(AtomicBool::new(false)));
    let (mut attempts, ends) = (0, Arc::clone(&ended));
    let service = Service::new(move |_, request| {
        request.key.contains("/0/").then_some(())?;
        attempts += 1;
        if attempts == case.attempt {
            moved.pass(Duration::from_hours(1));
        }
        ends.store(attempts >= 4, Ordering::SeqCst);
        (attempts < 4).then_some(Fault::TimedOut { executed: case.executed })
    });
    *service.wall.lock().unwrap() = wall.clone();
    let schedule = Schedule::new().daily([case.cap as u64]).unwrap().time_zone("UTC").unwrap();
    let options = || patient_options().wall_clock(&wall);
    let mut run =
        job.start_with(Arc::clone(&service), options().concurrency(case.concurrency).schedule(schedule));
    let mut idle = (0, 0);
    // Once the first batch has ended, a second of progress without a request.
    while service.requests() < case.killed_after && idle.1 < 10 && run.next().await.is_some() {
        let requests = service.requests();
        idle = (requests, if requests == idle.0 && ended.load(Ordering::SeqCst) { idle.1 + 1 } else { 0 });
    }
    run.abort();
    run.finish().await.unwrap();
    loop {
        let before = service.requests();
        let mut run = job.start_with(Arc::clone(&service), options().concurrency(1));
        let is_paused = loop {
            match run.next().await {
                None => break false,
                Some(Event::Paused { .. }) => break true,
                _ => {}
            }
        };
        run.abort();
        if run.finish().await.unwrap().ending == Ending::Finished {
            break;
        }
        // Everything that this day allows has been sent.
        if is_paused && service.requests() == before {
            wall.pass(Duration::from_hours(24));
        }
    }
    assert_eq!(service.delivered(), (40, 1), "{case:?}");
    let state = service.state.lock().unwrap();
    let mut by_day = [BTreeMap::new(), BTreeMap::new()];
    for (at, to) in &state.times {
        let row: usize = to.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
        for (emails, counts) in by_day.iter_mut().zip([true, row <= 10]) {
            *emails.entry(at.as_secs() / 86_400 - first).or_default() += usize::from(counts);
        }
    }
    by_day
}

#[tokio::test(start_paused = true)]
async fn a_batch_open_at_midnight_counts_once_on_each_day_wherever_the_job_is_killed() {
    // F-09
    let is_exhaustive = std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some();
    let killed: &[u64] = if is_exhaustive { &[1, 2, 3, 4, 5, 6, 7, u64::MAX] } else { &[2, 4, 5, u64::MAX] };
    for (cap, concurrency, executed) in [(10, 1, false), (10, 1, true), (20, 2, false), (20, 2, true)] {
        for attempt in 1..=4 {
            for &killed_after in killed {
                let case = Midnight { cap, concurrency, executed, attempt, killed_after };
                let [all, first] = run_over_midnight(case).await;
                assert!(all.values().max().is_some_and(|emails| *emails <= cap), "{case:?}: {all:?}");
                // An uncertain request may have been executed on either day, so its batch counts on both. The other batches use the rest, and all of it.
                let others = all.get(&1).unwrap_or(&0) - first.get(&1).unwrap_or(&0);
                assert_eq!(others, cap - 10, "{case:?}: {all:?} {first:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_repeated_after_midnight_counts_on_the_new_day_too() {
    // F-09
    for concurrency in [1, 2] {
        let (folder, wall) = (folder(), half_past());
        let hour = i64::try_from(wall.now().as_secs() / 3_600 % 24).unwrap();
        wall.advance_millis((23 - hour) * HOUR);
        let job = plan_job_in_batches(folder.path(), 100, 10).await;
        let (moved, mut attempts) = (wall.clone(), 0);
        let service = Service::new(move |_, request| {
            request.key.contains("/0/").then_some(())?;
            attempts += 1;
            if attempts == 2 {
                moved.pass(Duration::from_hours(1));
            }
            (attempts < 10).then_some(Fault::TimedOut { executed: false })
        });
        *service.wall.lock().unwrap() = wall.clone();
        let today = day(&wall) + 1;
        let schedule = Schedule::new().daily([20]).unwrap().time_zone("UTC").unwrap();
        let options = patient_options().wall_clock(&wall).concurrency(concurrency).schedule(schedule);
        let mut run = job.start_with(Arc::clone(&service), options);
        let sent_today = || {
            let state = service.state.lock().unwrap();
            state.times.iter().filter(|(at, _)| at.as_secs() / 86_400 == today).count()
        };
        while sent_today() < 10 && run.next().await.is_some() {}
        // A minute of progress.
        for _ in 0..600 {
            run.next().await;
        }
        run.abort();
        run.finish().await.unwrap();
        // What was sent before midnight counts on both days if its result came after it.
        assert!((10..=20).contains(&sent_today()), "{concurrency}: {}", sent_today());
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_in_flight_while_the_machine_sleeps_past_midnight_counts_on_the_new_day_too() {
    // F-09
    let (folder, wall) = (folder(), before_midnight());
    let job = plan_job_in_batches(folder.path(), 50, 10).await;
    let moved = wall.clone();
    // Its wall clock alone shows that the machine slept. The request is executed afterwards.
    let service = Service::new(move |n, _| {
        if n == 2 {
            moved.advance_millis(HOUR);
        }
        None
    });
    *service.wall.lock().unwrap() = wall.clone();
    *service.clock.lock().unwrap() = Some(wall.clone());
    let (today, schedule) = (day(&wall), Schedule::new().daily([20]).unwrap().time_zone("UTC").unwrap());
    let options = patient_options().wall_clock(&wall).concurrency(1).schedule(schedule);
    run_and_kill(&job, &service, options, 1_000).await;
    assert_eq!(executed_by_day(&service), BTreeMap::from([(today, 10), (today + 1, 20)]));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_stays_ahead_of_the_service_s_hides_no_email_from_a_rate() {
    // F-09
    let (folder, wall) = (folder(), WallClock::default());
    wall.advance_millis(12 * HOUR);
    let job = plan_job_in_batches(folder.path(), 50, 10).await;
    let service = Service::reliable();
    *service.clock.lock().unwrap() = Some(WallClock::default());
    let rate = Schedule::new().domain_rate("example.com=20/h").unwrap();
    for _ in 0..2 {
        let options = patient_options().wall_clock(&wall).concurrency(1).schedule(rate.clone());
        run_and_kill(&job, &service, options, 1_000).await;
        assert_eq!(service.delivered(), (20, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn emails_of_a_split_batch_wait_for_the_window() {
    let (folder, wall) = (folder(), before_midnight());
    let job = plan_job_in_batches(folder.path(), 50, 50).await;
    let moved = wall.clone();
    let service = Service::new(move |n, request| {
        if n == 20 {
            moved.pass(Duration::from_hours(1));
        }
        String::from_utf8_lossy(&request.body).contains("\"r3@").then_some(Fault::Invalid)
    });
    *service.wall.lock().unwrap() = wall.clone();
    let schedule = Schedule::new().window("20:00-24:00").unwrap().time_zone("UTC").unwrap();
    let options = || patient_options().wall_clock(&wall).schedule(schedule.clone());
    run_and_kill(&job, &service, options(), 1_000).await;
    assert_eq!(service.delivered(), (18, 1), "the window closed during the 19th email, with row 3 rejected");
    wall.pass(Duration::from_hours(20));
    let report = finish_with(&job, &service, options()).await;
    let counts = Counts { sent: 49, rejected: 1, ..Counts::default() };
    assert_eq!((report.ending, report.counts, service.delivered()), (Ending::Finished, counts, (49, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_day_of_refused_connections_leaves_its_cap_unused() {
    let (folder, wall) = (folder(), half_past());
    let job = plan_job_in_batches(folder.path(), 50, 10).await;
    let service = Service::new(|_, _| Some(Fault::Refused));
    let schedule = Schedule::new().daily([20]).unwrap().time_zone("UTC").unwrap();
    let options = || patient_options().wall_clock(&wall);
    abort_after(&job, &service, options().schedule(schedule), 6).await;
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
async fn a_run_that_does_not_start_leaves_the_job_its_schedule() {
    let (folder, wall) = (folder(), half_past());
    let job = plan_job_in_batches(folder.path(), 50, 10).await;
    let service = Service::reliable();
    let options = || patient_options().wall_clock(&wall);
    let daily = |cap| Schedule::new().daily([cap]).unwrap().time_zone("UTC").unwrap();
    let mut run = job.start_with(Arc::clone(&service), options().schedule(daily(20)));
    while service.delivered().0 < 20 && run.next().await.is_some() {}
    run.abort();
    run.finish().await.unwrap();
    let running = crate::lock::JobLock::acquire(job.plan().dir()).unwrap();
    let refused = job.start_with(Arc::clone(&service), options().schedule(Schedule::new())).finish().await;
    assert!(matches!(refused, Err(BulkError::NotRunnable(why)) if why.contains("is running the job")));
    drop(running);
    job.start_with(Arc::clone(&service), options().schedule(daily(9))).finish().await.unwrap_err();
    run_and_kill(&job, &service, options(), 1_000).await;
    assert_eq!(service.delivered(), (20, 1));
}

#[tokio::test(start_paused = true)]
async fn a_plan_whose_requests_exceed_a_cap_or_a_rate_does_not_start() {
    let (folder, wall) = (folder(), half_past());
    let job = plan_job_in_batches(folder.path(), 50, 10).await;
    let service = Service::reliable();
    let caps = Schedule::new().daily([100, 9]).unwrap();
    let rates = Schedule::new().domain_rate("a.test=50/s").unwrap().domain_rate("b.test=9/h").unwrap();
    assert_eq!(rates.smallest_cap(), Some(9));
    for (schedule, limit) in [(caps, "the daily cap of 9"), (rates, "the rate for b.test of 9")] {
        let options = patient_options().wall_clock(&wall).schedule(schedule);
        let error = job.start_with(Arc::clone(&service), options).finish().await.unwrap_err().to_string();
        let expected = format!("requests in the plan contain up to 10 emails, more than {limit}");
        assert!(error.contains(&expected), "{error}");
    }
    assert_eq!(service.requests(), 0);
}

/// Returns the largest number of emails to a domain in any period.
fn most_in(service: &Service, domain: &str, period: Duration) -> usize {
    let state = service.state.lock().unwrap();
    let mut times: Vec<_> =
        state.times.iter().filter(|(_, to)| to.ends_with(domain)).map(|(at, _)| *at).collect();
    times.sort_unstable();
    let counts = (0..times.len()).map(|i| times[i..].partition_point(|at| *at < times[i] + period));
    counts.max().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn no_domain_exceeds_its_rate_however_often_the_job_is_killed() {
    // F-09
    let (folder, wall) = (folder(), WallClock::without_waits());
    let domains = ["a.test", "b.test", "a.test", "c.test", "a.test"];
    let (rows, least) = scale(2_800);
    let job = plan_job_at(folder.path(), &domains, rows, 4).await;
    let service = Service::faulty(6, 0.1);
    *service.wall.lock().unwrap() = wall.clone();
    let mut random = StdRng::seed_from_u64(6);
    let rates = Schedule::new().domain_rate("a.test=8/min").unwrap().domain_rate("B.test=60/h").unwrap();
    let mut kills = 0;
    loop {
        let mut options = patient_options().wall_clock(&wall).concurrency(2);
        if kills == 0 {
            options = options.schedule(rates.clone());
        }
        if run_and_kill(&job, &service, options, random.gen_range(0..2)).await {
            break;
        }
        kills += 1;
        assert!(kills < 20_000, "the job makes no progress");
        wall.advance_millis(random.gen_range(0..60_000));
    }
    assert!(kills >= least, "{kills} kills");
    let most = [("@a.test", 60), ("@b.test", 3_600)]
        .map(|(domain, period)| most_in(&service, domain, Duration::from_secs(period)));
    // How much of a rate is used varies: attempts with an uncertain result count until the batch's last one.
    assert!((6..=8).contains(&most[0]) && (40..=60).contains(&most[1]), "{most:?}");
    assert_eq!(service.delivered().1, 1);
    let counts = job.status().await.unwrap().counts;
    assert_eq!((counts.sent + counts.unknown, counts.rejected), (rows as u64, 0), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_running_job_sends_to_a_domain_at_its_rate() {
    let (folder, wall) = (folder(), WallClock::without_waits());
    let job = plan_job_at(folder.path(), &["a.test", "b.test"], 400, 10).await;
    let service = Service::reliable();
    *service.wall.lock().unwrap() = wall.clone();
    let before = wall.now();
    let options =
        patient_options().wall_clock(&wall).schedule(Schedule::new().domain_rate("a.test=20/min").unwrap());
    let report = finish_with(&job, &service, options).await;
    assert_eq!((report.ending, service.delivered()), (Ending::Finished, (400, 1)));
    assert_eq!(most_in(&service, "@a.test", Duration::from_mins(1)), 20);
    let last = service.state.lock().unwrap().times.iter().map(|(at, _)| *at).max().unwrap();
    assert!(last >= before + Duration::from_mins(9), "{before:?} {last:?}");
}
