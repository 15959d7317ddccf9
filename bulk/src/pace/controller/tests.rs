use super::*;

const OVERLOADED: Observation = Observation::ServerError;

fn controller(options: PaceOptions) -> Controller {
    Controller::new(options)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Admits a request as soon as possible and advances `now` accordingly.
fn admit_next(controller: &mut Controller, now: &mut Duration) -> Ticket {
    loop {
        match controller.admit(*now) {
            Ok(ticket) => return ticket,
            Err(until) => *now = until.unwrap(),
        }
    }
}

/// Sends one request that takes 10 ms.
fn send(controller: &mut Controller, now: &mut Duration, observation: Observation) {
    let ticket = admit_next(controller, now);
    *now += ms(10);
    controller.observe(ticket, observation, &HeaderMap::new(), *now);
}

#[test]
fn a_429_pauses_all_requests_until_retry_after() {
    for (retry_after, pause) in [(Some(Duration::from_secs(20)), ms(20_000)), (None, ms(300))] {
        let (mut controller, mut now) = (controller(PaceOptions::default()), Duration::ZERO);
        send(&mut controller, &mut now, Observation::Throttled { retry_after });
        let snapshot = controller.snapshot(now);
        let expected = Pause { remaining: pause, reason: PauseReason::RateLimited };
        assert_eq!((snapshot.pause, snapshot.throttled), (Some(expected), 1));
        assert_eq!(controller.admit(now).unwrap_err(), Some(now + pause));
        let ticket = admit_next(&mut controller, &mut now);
        assert_eq!(controller.snapshot(now).pause, None);
        controller.release(ticket, now);
    }
}

#[test]
fn a_journaled_rate_is_used_again() {
    let options = PaceOptions { start_rate: Some(9.5), ..PaceOptions::default() };
    let (mut controller, mut now) = (controller(options), Duration::ZERO);
    for _ in 0..20 {
        send(&mut controller, &mut now, Observation::Accepted);
    }
    assert_eq!(controller.snapshot(now).learned_limit, Some(9.5));
    assert!((ms(2_000)..ms(2_050)).contains(&now), "{now:?}");
}

#[test]
fn an_announced_limit_applies() {
    let (mut controller, mut now) = (controller(PaceOptions::default()), Duration::ZERO);
    let ticket = admit_next(&mut controller, &mut now);
    let headers = [("ratelimit-policy".parse().unwrap(), "600;w=60".parse().unwrap())];
    controller.observe(ticket, Observation::Accepted, &headers.into_iter().collect(), now);
    let snapshot = controller.snapshot(now);
    assert_eq!((snapshot.learned_limit, snapshot.pause), (Some(10.0), None));
    assert!(snapshot.rate.is_some_and(|rate| rate < 10.0));
}

#[test]
fn twenty_consecutive_failures_open_the_breaker_and_a_successful_trial_closes_it() {
    let (mut controller, mut now) = (controller(PaceOptions::default()), Duration::ZERO);
    send(&mut controller, &mut now, OVERLOADED);
    send(&mut controller, &mut now, Observation::Accepted);
    for failures in 1..=20 {
        assert_eq!(controller.snapshot(now).breaker, BreakerState::Closed, "{failures}");
        send(&mut controller, &mut now, OVERLOADED);
    }
    let opened = now;
    assert_eq!(controller.snapshot(now).breaker, BreakerState::Open);
    assert_eq!(controller.snapshot(now).pause.unwrap().reason, PauseReason::ServiceFailing);

    send(&mut controller, &mut now, OVERLOADED);
    assert_eq!(now, opened + ms(30_010));
    assert_eq!(controller.snapshot(now).breaker, BreakerState::Open);

    let trial = admit_next(&mut controller, &mut now);
    assert_eq!(controller.snapshot(now).breaker, BreakerState::HalfOpen);
    assert_eq!(controller.admit(now + Duration::from_mins(1)).unwrap_err(), None);
    controller.observe(trial, Observation::Accepted, &HeaderMap::new(), now);
    assert_eq!(controller.snapshot(now).breaker, BreakerState::Closed);
}

#[test]
fn a_trial_that_was_not_sent_leaves_room_for_another() {
    let (mut controller, mut now) = (controller(PaceOptions::default()), Duration::ZERO);
    for _ in 0..20 {
        send(&mut controller, &mut now, Observation::Unreachable);
    }
    let trial = admit_next(&mut controller, &mut now);
    controller.release(trial, now);
    let resumed = now;
    let trial = admit_next(&mut controller, &mut now);
    assert_eq!(now, resumed);
    controller.abandon(trial, now);
    assert_eq!(controller.snapshot(now).pause.unwrap().remaining, Duration::from_secs(30));
}

#[test]
fn a_service_that_is_down_for_an_hour_gets_one_request_per_30_seconds() {
    let options = PaceOptions { start_rate: Some(10.0), ..PaceOptions::default() };
    let (mut controller, mut now) = (controller(options), Duration::ZERO);
    let mut requests = 0;
    while now < Duration::from_hours(1) {
        requests += 1;
        send(&mut controller, &mut now, Observation::Unreachable);
    }
    assert!((120..=140).contains(&requests), "{requests}");
    let back = now;
    for _ in 0..100 {
        send(&mut controller, &mut now, Observation::Accepted);
    }
    let elapsed = now.saturating_sub(back);
    assert!(elapsed < Duration::from_secs(42), "{elapsed:?}");
}

#[test]
fn retries_are_a_tenth_of_all_requests_after_a_reserve_of_100() {
    let mut controller = controller(PaceOptions { start_rate: Some(1_000.0), ..PaceOptions::default() });
    let mut now = Duration::ZERO;
    assert_eq!((0..200).filter(|_| controller.take_retry(now).is_ok()).count(), 100);
    for _ in 0..500 {
        send(&mut controller, &mut now, Observation::Accepted);
    }
    let mut taken: Vec<_> = (0..200).filter_map(|_| controller.take_retry(now).ok()).collect();
    assert!((50..=51).contains(&taken.len()), "{}", taken.len());
    controller.refund_retry(taken.pop().unwrap());
    let _taken = controller.take_retry(now).unwrap();
    let until = controller.take_retry(now).unwrap_err();
    assert!(until <= now + Duration::from_secs(11));
    assert!(controller.take_retry(until).is_ok());
}

#[test]
fn timeouts_lower_the_concurrency_and_responses_raise_it_again() {
    let (mut controller, mut now) = (controller(PaceOptions::default()), Duration::ZERO);
    send(&mut controller, &mut now, Observation::Timeout);
    assert_eq!(controller.snapshot(now).concurrency, 16);
    send(&mut controller, &mut now, Observation::Timeout);
    assert_eq!(controller.snapshot(now).concurrency, 8);
    for _ in 0..8 * 16 {
        send(&mut controller, &mut now, Observation::Accepted);
    }
    assert_eq!(controller.snapshot(now).concurrency, 16);
}

#[test]
fn no_more_requests_are_in_flight_than_the_concurrency() {
    let options = PaceOptions { start_rate: Some(1_000.0), concurrency: 3, ..PaceOptions::default() };
    let (mut controller, mut now) = (controller(options), Duration::ZERO);
    let mut tickets: Vec<_> = (0..3).map(|_| admit_next(&mut controller, &mut now)).collect();
    now += Duration::from_secs(1);
    assert_eq!(controller.admit(now).unwrap_err(), None);
    controller.observe(tickets.pop().unwrap(), Observation::Accepted, &HeaderMap::new(), now);
    assert!(controller.admit(now).is_ok());
}

#[test]
fn the_maximum_rate_is_not_exceeded_in_any_second() {
    for max in [0.5, 3.0, 8.0, 120.0] {
        let options = PaceOptions { max_rps: Some(max), ..PaceOptions::default() };
        let (mut controller, mut now, mut sent) = (controller(options), Duration::ZERO, Vec::new());
        while now < Duration::from_mins(2) {
            let ticket = admit_next(&mut controller, &mut now);
            sent.push(now);
            controller.observe(ticket, Observation::Accepted, &HeaderMap::new(), now + ms(2));
            now += ms(u64::from(now.subsec_nanos()) % 7);
        }
        for (first, start) in sent.iter().enumerate() {
            let count = sent[first..].iter().take_while(|at| at.saturating_sub(*start) < ms(1_000)).count();
            assert!(f64::from(u32::try_from(count).unwrap()) <= f64::max(max, 1.0), "{count} at {max}/s");
        }
        let used = f64::from(u32::try_from(sent.len()).unwrap()) / 120.0;
        assert!(used > max * 0.93, "{used} of {max}");
    }
}
