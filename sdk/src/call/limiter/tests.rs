//! The limiter's arithmetic and its queue, step by step under tokio's paused time.

use futures_util::FutureExt as _;
use tokio::time::{advance, sleep, sleep_until};

use super::{learned::SHORT_HOLD, *};

const SECOND: Duration = Duration::from_secs(1);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

fn policy_headers(policy: &str) -> HeaderMap {
    headers(&[("ratelimit-policy", policy)])
}

fn throttled(seconds: u64) -> Verdict {
    Verdict::Throttled { retry_after: Some(Duration::from_secs(seconds)) }
}

const BARE_429: Verdict = Verdict::Throttled { retry_after: None };

fn per_second(rate: f64) -> Limiter {
    Limiter::new(RateLimit::PerSecond(rate))
}

/// A limiter without a known limit.
fn open() -> Limiter {
    let limiter = Limiter::new(RateLimit::Adaptive);
    assert!(limiter.open.load(Ordering::Relaxed));
    limiter
}

fn pace(limiter: &Limiter) -> Option<f64> {
    limiter.lock().pace(Instant::now())
}

#[track_caller]
fn assert_pace(limiter: &Limiter, expected: f64) {
    let pace = pace(limiter).unwrap();
    assert!((pace - expected).abs() < expected * 1e-6, "{pace} instead of {expected}");
}

/// Sends immediately, or returns that it can't.
fn send_now(limiter: &Limiter) -> bool {
    match limiter.acquire(None).now_or_never() {
        Some(Ok(mut permit)) => {
            permit.sent();
            true
        }
        Some(Err(_)) => unreachable!("without a deadline"),
        None => false,
    }
}

/// Sends as soon as possible, and returns how long that took, in milliseconds.
async fn wait_to_send(limiter: &Limiter) -> u128 {
    let start = Instant::now();
    limiter.acquire(None).await.unwrap().sent();
    start.elapsed().as_millis()
}

async fn too_late(limiter: &Limiter, deadline: Duration) -> TooLate {
    limiter.acquire(Some(Instant::now() + deadline)).await.unwrap_err()
}

// Settings

#[test]
fn a_rate_that_is_not_positive_and_finite_is_an_invalid_setting() {
    for (rate, found) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (-1.0, "-1"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "inf"),
        (-f64::INFINITY, "-inf"),
    ] {
        let error = RateLimit::PerSecond(rate).validate().unwrap_err();
        assert_eq!(error.setting, "rate_limit");
        assert_eq!(error.rule, "must be a positive, finite number of requests per second");
        assert_eq!(error.found.as_deref(), Some(found));
        let builder = crate::Client::builder().base_url("http://127.0.0.1:1").api_key("re_x");
        let error = builder.rate_limit(RateLimit::PerSecond(rate)).build().unwrap_err();
        assert!(error.to_string().starts_with("rate_limit must be a positive"), "{error}");
    }
    for limit in [RateLimit::Adaptive, RateLimit::Off, RateLimit::PerSecond(0.01), RateLimit::PerSecond(1e9)]
    {
        assert_eq!(limit.validate(), Ok(()));
    }
}

#[tokio::test(start_paused = true)]
async fn extreme_rates_neither_overflow_nor_mean_unlimited() {
    for rate in [f64::MIN_POSITIVE, 5e-324, 1e-9] {
        let limiter = per_second(rate);
        assert!(send_now(&limiter) && !send_now(&limiter));
        let late = too_late(&limiter, Duration::from_hours(24)).await;
        assert_eq!(late.available_in, Duration::from_hours(24 * 365));
        assert!(too_late(&limiter, Duration::ZERO).await.available_in > Duration::from_hours(24 * 364));
    }
    let limiter = per_second(f64::MAX);
    assert!((0..1_000).all(|_| send_now(&limiter)));
}

#[test]
fn a_time_beyond_the_clock_is_a_year_away() {
    let now = Instant::now();
    assert_eq!(later(now, Duration::MAX), now + MAX_INTERVAL);
    assert_eq!(later(now, SECOND), now + SECOND);
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_every_request_is_sent_immediately() {
    let limiter = Limiter::new(RateLimit::Off);
    limiter.learn(&policy_headers("1;w=60"), throttled(30));
    assert!((0..1_000).all(|_| send_now(&limiter)));
    assert!(limiter.open.load(Ordering::Relaxed));
}

// Rate

#[tokio::test(start_paused = true)]
async fn a_configured_rate_is_evenly_spaced() {
    let limiter = per_second(2.0);
    let start = Instant::now();
    for n in 0..20 {
        limiter.acquire(None).await.unwrap().sent();
        assert_eq!(start.elapsed(), SECOND / 2 * n);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slot_missed_by_less_than_the_tolerance_is_made_up_for() {
    for (late, next) in [(0, 500), (7, 500), (10, 500), (11, 501), (300, 790)] {
        let limiter = per_second(2.0);
        let start = Instant::now();
        assert!(send_now(&limiter));
        advance(ms(500 + late)).await;
        assert!(send_now(&limiter));
        wait_to_send(&limiter).await;
        assert_eq!(start.elapsed(), ms(500 + next), "{late} ms late");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_client_accumulates_no_burst() {
    let limiter = per_second(2.0);
    assert!(send_now(&limiter));
    advance(Duration::from_hours(1)).await;
    assert!(send_now(&limiter) && !send_now(&limiter));
    assert_eq!(wait_to_send(&limiter).await, 490);
}

#[tokio::test(start_paused = true)]
async fn an_announced_limit_sets_the_interval_to_its_stretched_window() {
    for (policy, interval) in [("10;w=1", 102.5), ("2;w=1", 512.5), ("10;w=60", 6_150.0), ("1;w=1", 1_025.0)]
    {
        let limiter = Limiter::new(RateLimit::Adaptive);
        assert!(send_now(&limiter));
        limiter.learn(&policy_headers(policy), Verdict::Admitted);
        assert_pace(&limiter, 1_000.0 / interval);
        let next = limiter.lock().next.unwrap() - Instant::now();
        assert!((next.as_secs_f64() * 1_000.0 - interval).abs() < 1e-3, "{policy}: {next:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_window_of_the_announced_length_holds_more_requests_than_announced() {
    for (limit, seconds) in [(1u16, 1), (2, 1), (10, 1), (37, 1), (100, 1), (10, 60), (60, 60)] {
        let limiter = open();
        limiter.learn(&policy_headers(&format!("{limit};w={seconds}")), Verdict::Admitted);
        let mut departures = Vec::new();
        for n in 0..limit * 4 {
            limiter.acquire(None).await.unwrap().sent();
            departures.push(Instant::now());
            if n % 7 == 0 {
                sleep(ms(u64::from(n))).await;
            }
        }
        let limit = usize::from(limit);
        for window in departures.windows(limit + 1) {
            assert!(window[limit] - window[0] >= SECOND * seconds, "{limit};w={seconds}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_lower_of_the_configured_and_the_announced_rate_applies() {
    let limiter = per_second(2.0);
    limiter.learn(&policy_headers("10;w=1"), Verdict::Admitted);
    assert_pace(&limiter, 2.0);
    limiter.learn(&policy_headers("1;w=1"), Verdict::Admitted);
    assert_pace(&limiter, 1.0 / 1.025);
    limiter.learn(&policy_headers("1000000;w=1"), Verdict::Admitted);
    assert_pace(&limiter, 2.0);
}

#[tokio::test(start_paused = true)]
async fn a_very_high_announced_limit_slows_nothing() {
    let limiter = Limiter::new(RateLimit::Adaptive);
    limiter.learn(&policy_headers("1000000;w=1"), Verdict::Admitted);
    assert_eq!(pace(&limiter), None);
    assert!(limiter.open.load(Ordering::Relaxed));
    limiter.learn(&policy_headers("10000;w=1"), Verdict::Admitted);
    assert_pace(&limiter, 10_000.0 / 1.025);
    limiter.learn(&policy_headers("10251;w=1"), Verdict::Admitted);
    assert_eq!(pace(&limiter), None);
    limiter.learn(&policy_headers("10;w=1"), Verdict::Admitted);
    limiter.learn(&policy_headers("10250;w=1"), Verdict::Admitted);
    assert_eq!(pace(&limiter), None);
}

#[tokio::test(start_paused = true)]
async fn a_changed_announcement_replaces_the_old_one_and_the_learned_limit() {
    let limiter = open();
    limiter.learn(&policy_headers("10;w=1"), Verdict::Admitted);
    limiter.learn(&HeaderMap::new(), BARE_429);
    limiter.learn(&policy_headers("10;w=1"), Verdict::Admitted);
    assert!(limiter.lock().learned.is_some());
    limiter.learn(&policy_headers("20;w=1"), Verdict::Admitted);
    assert_pace(&limiter, 20.0 / 1.025);
    limiter.learn(&HeaderMap::new(), Verdict::Admitted);
    assert_pace(&limiter, 20.0 / 1.025);
}

#[tokio::test(start_paused = true)]
async fn requests_in_flight_at_the_announcement_count_in_its_first_window() {
    let limiter = Limiter::new(RateLimit::Adaptive);
    let permits: Vec<_> = (0..3).map(|_| limiter.acquire(None).now_or_never().unwrap().unwrap()).collect();
    limiter.learn(&policy_headers("10;w=1"), Verdict::Admitted);
    drop(permits);
    assert_eq!(wait_to_send(&limiter).await, 308);
    // A later slot never precedes one that is already taken.
    limiter.lock().next = Some(Instant::now() + SECOND);
    limiter.learn(&policy_headers("20;w=1"), Verdict::Admitted);
    assert_eq!(wait_to_send(&limiter).await, 1_000);
}

#[tokio::test(start_paused = true)]
async fn an_already_exhausted_window_is_waited_out() {
    let exhausted = |reset: &str| {
        headers(&[("ratelimit-policy", "10;w=1"), ("ratelimit-remaining", "0"), ("ratelimit-reset", reset)])
    };
    for (reset, wait) in [("2", 2_000), ("0", 103), ("60", 60_000), ("4000000000", 60_000), ("-1", 103)] {
        let limiter = Limiter::new(RateLimit::Adaptive);
        limiter.learn(&exhausted(reset), Verdict::Admitted);
        assert_eq!(wait_to_send(&limiter).await, wait, "{reset}");
        // A fully used window ends as an exhausted one.
        limiter.learn(&exhausted(reset), Verdict::Admitted);
        assert!(wait_to_send(&limiter).await <= 103);
    }
    let limiter = Limiter::new(RateLimit::Adaptive);
    let left =
        headers(&[("ratelimit-policy", "10;w=1"), ("ratelimit-remaining", "1"), ("ratelimit-reset", "9")]);
    limiter.learn(&left, Verdict::Admitted);
    assert_eq!(wait_to_send(&limiter).await, 103);
    // Without a limit, there is no window.
    let limiter = per_second(10.0);
    limiter.learn(&policy_headers("1000;w=1"), Verdict::Admitted);
    let unlimited = headers(&[
        ("ratelimit-policy", "1000000;w=1"),
        ("ratelimit-remaining", "0"),
        ("ratelimit-reset", "9"),
    ]);
    limiter.learn(&unlimited, Verdict::Admitted);
    assert!(wait_to_send(&limiter).await <= 2);
}

// Without a known limit

#[tokio::test(start_paused = true)]
async fn concurrency_is_not_limited_while_no_limit_is_known() {
    let limiter = Limiter::new(RateLimit::Adaptive);
    let permits: Vec<_> = (0..1_000).map_while(|_| limiter.acquire(None).now_or_never()).collect();
    assert_eq!(permits.len(), 1_000);
    // The service admits ten of them, so those in flight take no more than its first window.
    limiter.learn(&policy_headers("10;w=1"), Verdict::Admitted);
    drop(permits);
    assert_eq!(wait_to_send(&limiter).await, 1_025);
    assert_eq!(limiter.in_flight.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn after_the_first_429_the_rate_triples_every_second_until_the_next() {
    let limiter = open();
    for _ in 0..10 {
        limiter.learn(&HeaderMap::new(), Verdict::Admitted);
    }
    limiter.learn(&HeaderMap::new(), BARE_429);
    advance(SECOND).await;
    assert_pace(&limiter, 9.0);
    advance(SECOND).await;
    assert_pace(&limiter, 27.0);
    advance(SECOND / 2).await;
    limiter.learn(&HeaderMap::new(), BARE_429);
    // The rate of a second ago.
    let ceiling = 9.0 * 3_f64.sqrt() * 0.95;
    assert_pace(&limiter, ceiling * 0.95);
    advance(SHORT_HOLD + SECOND * 8).await;
    assert_pace(&limiter, ceiling);
    // Without another 429, the limit was a passing one.
    let limiter = open();
    limiter.learn(&HeaderMap::new(), BARE_429);
    advance(SECOND * 15).await;
    limiter.learn(&HeaderMap::new(), Verdict::Admitted);
    assert!(limiter.open.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_spaces_requests_is_used_at_the_rate_of_the_second_429() {
    let limiter = open();
    limiter.learn(&HeaderMap::new(), Verdict::Admitted);
    limiter.learn(&HeaderMap::new(), BARE_429);
    advance(SECOND * 3).await;
    assert_pace(&limiter, 27.0);
    limiter.learn(&HeaderMap::new(), BARE_429);
    let ceiling = 27.0 * 0.87 * 0.98;
    assert_pace(&limiter, ceiling * 0.95);
    // It needs no long pause, and rejects a request that makes up for a late one.
    assert_eq!(wait_to_send(&limiter).await, 300);
    assert_eq!(wait_to_send(&limiter).await, 46);
    advance(SECOND).await;
    assert!(send_now(&limiter));
    assert_eq!(wait_to_send(&limiter).await, 45);
    // It stays one.
    advance(SECOND * 3).await;
    let pace = pace(&limiter).unwrap();
    limiter.learn(&HeaderMap::new(), BARE_429);
    assert_pace(&limiter, pace * 0.98 * 0.95);
    assert_eq!(wait_to_send(&limiter).await, 300);
}

// The queue

#[tokio::test(start_paused = true)]
async fn calls_are_sent_in_the_order_in_which_they_were_made() {
    let limiter = per_second(100.0);
    let order = Mutex::new(Vec::new());
    let calls = (0..50).map(|n| {
        let (limiter, order) = (&limiter, &order);
        async move {
            limiter.acquire(None).await.unwrap().sent();
            order.lock().unwrap().push(n);
        }
    });
    futures_util::future::join_all(calls).await;
    assert_eq!(*order.lock().unwrap(), (0..50).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_new_call_does_not_overtake_the_waiting_ones() {
    let limiter = per_second(2.0);
    assert!(send_now(&limiter));
    let mut waiting = Box::pin(limiter.acquire(None));
    assert!(waiting.as_mut().now_or_never().is_none());
    advance(ms(600)).await;
    assert!(!send_now(&limiter));
    assert!(waiting.now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_slot_is_after_its_deadline_fails_immediately_and_takes_none() {
    let limiter = per_second(2.0);
    assert!(send_now(&limiter));
    let start = Instant::now();
    for _ in 0..100 {
        assert_eq!(too_late(&limiter, ms(500)).await, TooLate { available_in: ms(500), pace: Some(2.0) });
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    let deadline = Instant::now() + ms(501);
    assert!(limiter.acquire(Some(deadline)).await.is_ok());
    assert_eq!(start.elapsed(), ms(500));
}

#[tokio::test(start_paused = true)]
async fn the_slot_of_a_call_accounts_for_the_calls_waiting_before_it() {
    let limiter = per_second(2.0);
    assert!(send_now(&limiter));
    advance(ms(100)).await;
    let mut waiting = Vec::new();
    for n in 0..10 {
        let turn = ms(400 + 500 * n);
        assert_eq!(too_late(&limiter, turn).await.available_in, turn);
        waiting.push(Box::pin(limiter.acquire(Some(Instant::now() + turn + ms(1)))));
        assert!(waiting.last_mut().unwrap().now_or_never().is_none());
    }
    drop(waiting.remove(4));
    assert_eq!(too_late(&limiter, SECOND).await.available_in, ms(400 + 500 * 9));
    let start = Instant::now();
    for (n, call) in waiting.into_iter().enumerate() {
        call.await.unwrap().sent();
        assert_eq!(start.elapsed(), ms(400 + 500 * n as u64));
    }
    assert_eq!(limiter.lock().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn the_slot_of_a_call_accounts_for_the_pause_after_a_429() {
    let limiter = per_second(10.0);
    assert!(send_now(&limiter));
    limiter.learn(&HeaderMap::new(), throttled(3));
    assert_eq!(too_late(&limiter, SECOND * 3).await.available_in, SECOND * 3);
    let mut waiting = Box::pin(limiter.acquire(None));
    assert!(waiting.as_mut().now_or_never().is_none());
    let pace = 10.0 * 0.98 * 0.95;
    let second = ms(3_000) + Duration::from_secs_f64(1.0 / pace);
    assert_eq!(too_late(&limiter, SECOND).await, TooLate { available_in: second, pace: Some(pace) });
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_whose_deadline_passes_because_of_a_429_fail_at_the_deadline() {
    let limiter = per_second(2.0);
    assert!(send_now(&limiter));
    let start = Instant::now();
    let call = async || {
        let error = limiter.acquire(Some(start + SECOND * 2)).await.unwrap_err();
        (start.elapsed(), error.available_in)
    };
    let throttle = async {
        sleep(ms(100)).await;
        limiter.learn(&HeaderMap::new(), throttled(10));
    };
    let (head, second, ()) = tokio::join!(call(), call(), throttle);
    assert_eq!(head.0, SECOND * 2);
    assert_eq!(second.0, SECOND * 2);
    assert_eq!(second.1, ms(8_100));
    assert_eq!(limiter.lock().waiting, 0);
    assert_eq!(wait_to_send(&limiter).await, 8_100);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_at_two_per_second_neither_idle_nor_lock_out_later_ones() {
    let limiter = per_second(2.0);
    let start = Instant::now();
    let left = Mutex::new(Vec::new());
    let failed = Mutex::new(0);
    let calls = (0..1_000).map(|n| {
        let (limiter, left, failed) = (&limiter, &left, &failed);
        async move {
            let call = async {
                match limiter.acquire(Some(start + Duration::from_mins(1))).await {
                    Ok(mut permit) => {
                        permit.sent();
                        left.lock().unwrap().push(start.elapsed());
                    }
                    Err(late) => {
                        assert_eq!(start.elapsed(), Duration::ZERO);
                        assert_eq!(late.available_in, Duration::from_mins(1));
                        *failed.lock().unwrap() += 1;
                    }
                }
            };
            // The application drops three calls of four after at most a minute.
            let limit = if n % 4 == 0 { SECOND * 120 } else { ms(n * 60 + 1) };
            let _ = tokio::time::timeout(limit, call).await;
        }
    });
    let waves = async {
        // Later calls take the places of dropped ones.
        futures_util::future::join_all((1..120u32).map(|n| {
            let (limiter, left) = (&limiter, &left);
            async move {
                sleep_until(start + SECOND / 2 * n + ms(1)).await;
                if let Ok(mut permit) = limiter.acquire(Some(start + Duration::from_mins(1))).await {
                    permit.sent();
                    left.lock().unwrap().push(start.elapsed());
                }
            }
        }))
        .await;
    };
    tokio::join!(futures_util::future::join_all(calls), waves);
    assert_eq!(*failed.lock().unwrap(), 1_000 - 120);
    let expected: Vec<_> = (0..120).map(|n| SECOND / 2 * n).collect();
    assert_eq!(*left.lock().unwrap(), expected);
    sleep_until(start + Duration::from_mins(1)).await;
    assert!(send_now(&limiter));
    assert_eq!((limiter.lock().waiting, start.elapsed()), (0, Duration::from_mins(1)));
}

#[tokio::test(start_paused = true)]
async fn a_permit_dropped_before_sending_returns_its_slot() {
    let limiter = per_second(2.0);
    for _ in 0..100 {
        drop(limiter.acquire(None).now_or_never().unwrap());
    }
    assert!(send_now(&limiter));
    assert!(!send_now(&limiter));
}

#[tokio::test(start_paused = true)]
async fn a_returned_slot_is_used_by_the_waiting_call() {
    let limiter = per_second(0.1);
    let permit = limiter.acquire(None).await.unwrap();
    let (waited, ()) = tokio::join!(wait_to_send(&limiter), async {
        sleep(SECOND).await;
        drop(permit);
    });
    assert_eq!(waited, 1_000);
}

#[tokio::test(start_paused = true)]
async fn a_sent_permit_keeps_its_slot_unless_it_is_given_back() {
    let limiter = per_second(2.0);
    let mut refused = limiter.acquire(None).await.unwrap();
    refused.sent();
    refused.give_back();
    let mut lost = limiter.acquire(None).now_or_never().unwrap().unwrap();
    lost.sent();
    drop(lost);
    assert!(!send_now(&limiter));
}

#[tokio::test(start_paused = true)]
async fn an_unused_slot_causes_no_burst() {
    let limiter = per_second(2.0);
    let unsent = limiter.acquire(None).await.unwrap();
    wait_to_send(&limiter).await;
    drop(unsent);
    assert_eq!(wait_to_send(&limiter).await, 500);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_is_sent_earlier_when_the_limit_rises() {
    let limiter = open();
    limiter.learn(&policy_headers("1;w=60"), Verdict::Admitted);
    let (waited, ()) = tokio::join!(wait_to_send(&limiter), async {
        sleep(SECOND).await;
        limiter.learn(&policy_headers("1000000;w=1"), Verdict::Admitted);
    });
    assert_eq!(waited, 1_000);
}

// 429s

#[tokio::test(start_paused = true)]
async fn a_429_pauses_all_calls_until_its_retry_after_and_a_minute_at_most() {
    for (retry_after, pause) in [
        (None, 1_000),
        (Some(0), 0),
        (Some(3), 3_000),
        (Some(60), 60_000),
        (Some(61), 60_000),
        (Some(u64::MAX), 60_000),
    ] {
        let limiter = open();
        let retry_after = retry_after.map(Duration::from_secs);
        limiter.learn(&HeaderMap::new(), Verdict::Throttled { retry_after });
        assert_eq!(wait_to_send(&limiter).await, pause);
    }
}

#[tokio::test(start_paused = true)]
async fn a_shorter_retry_after_does_not_end_a_longer_pause() {
    let limiter = open();
    limiter.learn(&HeaderMap::new(), throttled(5));
    limiter.learn(&HeaderMap::new(), throttled(2));
    assert_eq!(wait_to_send(&limiter).await, 5_000);
}

#[tokio::test(start_paused = true)]
async fn a_429_with_a_retry_after_of_more_than_a_minute_slows_the_client_down() {
    let limiter = open();
    limiter
        .learn(&policy_headers("10;w=1"), Verdict::Throttled { retry_after: Some(Duration::from_hours(2)) });
    assert_pace(&limiter, 10.0 / 1.025 * 0.98 * 0.95);
}

#[tokio::test(start_paused = true)]
async fn the_first_429_sets_the_rate_of_the_last_second_or_3_per_second() {
    for (before, within, rate) in [(0, 0, 1.0), (0, 20, 20.0), (30, 20, 30.0), (7, 0, 7.0)] {
        let limiter = open();
        for _ in 0..before {
            limiter.learn(&HeaderMap::new(), Verdict::Admitted);
        }
        advance(SECOND).await;
        for _ in 0..within {
            limiter.learn(&HeaderMap::new(), Verdict::Admitted);
        }
        limiter.learn(&HeaderMap::new(), BARE_429);
        let ceiling = limiter.lock().learned.unwrap();
        let since = Instant::now() + SECOND;
        let (first, span) = (rate * 0.9, SECOND * 8);
        let start = f64::max(first, 3.0);
        let expected = Ceiling { rate: start, cut: 0.1, since, span, grows_from: Some(first), spaced: false };
        assert_eq!(ceiling, expected);
        assert_pace(&limiter, start);
    }
}

#[test]
fn the_rate_of_the_last_second_excludes_older_responses() {
    let start = Instant::now();
    let mut recent = Recent::default();
    for _ in 0..5 {
        recent.count(start);
    }
    recent.count(start + ms(999));
    let rate = |mut recent: Recent, at| recent.rate(start + ms(at)).to_string();
    assert_eq!(rate(recent, 999), "6");
    assert_eq!(rate(recent, 1_000), "6");
    assert_eq!(rate(recent, 1_999), "6");
    assert_eq!(rate(recent, 2_000), "1");
    recent.count(start + ms(1_000));
    assert_eq!((recent.current, recent.previous), (1, 6));
    assert_eq!(rate(recent, 2_000), "1");
}

#[test]
fn the_pace_approaches_the_ceiling_and_then_exceeds_it() {
    let since = Instant::now() + SECOND * 100;
    let ceiling = Ceiling { rate: 10.0, cut: 0.1, since, span: SECOND * 8, grows_from: None, spaced: false };
    for (spans, pace) in
        [(0, 9.5), (1, 9.9375 - 0.0), (2, 10.0), (3, 10.0625), (4, 10.5), (6, 14.0), (8, 23.5)]
    {
        // In half spans: x = spans / 2 − 1, 10 · (1 + 0.05 · x³).
        let actual = ceiling.pace(since + SECOND * 4 * spans);
        assert!((actual - pace).abs() < 1e-9, "{spans}: {actual}");
        assert_eq!(ceiling.is_over(since + SECOND * 4 * spans), spans == 8);
    }
    assert!((ceiling.pace(since - SECOND * 50) - 9.5).abs() < 1e-9);
    assert!(!ceiling.is_over(since + SECOND * 32 - ms(1)));
}

#[tokio::test(start_paused = true)]
async fn early_429s_double_the_cut_up_to_a_halving_and_late_ones_double_the_span() {
    let limiter = per_second(100.0);
    let mut pace = 100.0;
    let mut step = |after: Duration, cut: f64, span: u64| {
        let since = Instant::now() + SECOND;
        limiter.learn(&HeaderMap::new(), BARE_429);
        let ceiling = limiter.lock().learned.unwrap();
        assert!((ceiling.rate - pace * (1.0 - cut)).abs() < 1e-9, "{} after {after:?}", ceiling.rate);
        assert!((ceiling.cut - cut).abs() < 1e-9, "{} after {after:?}", ceiling.cut);
        assert_eq!((ceiling.span, ceiling.since), (SECOND * u32::try_from(span).unwrap(), since));
        pace = ceiling.pace(since + after);
        after
    };
    // The time is counted from the end of the pause.
    for (cut, span, then) in [
        (0.02, 8, 1_999),
        (0.04, 8, 0),
        (0.08, 8, 2_000),
        (0.02, 16, 4_000),
        (0.02, 32, 7_999),
        (0.04, 16, 4_000),
        (0.02, 32, 8_000),
        (0.02, 64, 16_000),
        (0.02, 128, 32_000),
        (0.02, 256, 64_000),
        (0.02, 256, 0),
        (0.04, 128, 0),
        (0.08, 64, 0),
        (0.16, 32, 0),
        (0.32, 16, 0),
        (0.5, 8, 0),
        (0.5, 8, 0),
    ] {
        let then = step(ms(then), cut, span);
        advance(SECOND + then).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_429s_of_one_incident_count_once() {
    let limiter = per_second(10.0);
    let start = Instant::now();
    limiter.learn(&HeaderMap::new(), throttled(0));
    advance(ms(999)).await;
    limiter.learn(&HeaderMap::new(), throttled(0));
    let ceiling = limiter.lock().learned.unwrap();
    assert_eq!((ceiling.cut.to_string(), ceiling.since), ("0.02".to_owned(), start + SECOND));
    limiter.learn(&HeaderMap::new(), throttled(3));
    assert_eq!(limiter.lock().learned.unwrap().since, start + ms(3_999));
    assert_pace(&limiter, 10.0 * 0.98 * 0.95);
    advance(ms(3_000)).await;
    limiter.learn(&HeaderMap::new(), throttled(0));
    assert_pace(&limiter, 10.0 * 0.98 * 0.95 * 0.96 * 0.95);
}

#[tokio::test(start_paused = true)]
async fn repeated_429s_lower_the_ceiling_to_a_request_every_two_seconds() {
    let limiter = open();
    for _ in 0..20 {
        limiter.learn(&HeaderMap::new(), BARE_429);
        advance(SECOND).await;
    }
    assert_eq!(limiter.lock().learned.unwrap().rate.to_string(), "0.5");
}

#[tokio::test(start_paused = true)]
async fn a_429_never_raises_the_pace_above_a_slow_limit() {
    let announced = open();
    announced.learn(&policy_headers("10;w=60"), Verdict::Admitted);
    let configured = per_second(0.1);
    for (limiter, cap) in [(announced, 10.0 / 60.0 / 1.025), (configured, 0.1)] {
        for _ in 0..10 {
            limiter.learn(&HeaderMap::new(), throttled(1));
            assert_pace(&limiter, cap * 0.95);
            advance(SECOND * 2).await;
        }
        advance(SECOND * 15).await;
        assert_pace(&limiter, cap);
    }
}

#[tokio::test(start_paused = true)]
async fn an_announced_limit_is_reached_again_after_a_429_and_not_exceeded() {
    let limiter = open();
    limiter.learn(&policy_headers("10;w=1"), BARE_429);
    advance(SECOND * 5).await;
    assert_pace(&limiter, 10.0 / 1.025 * 0.98 * (1.0 - 0.05 / 8.0));
    advance(SECOND * 27).await;
    assert_pace(&limiter, 10.0 / 1.025);
    advance(SECOND).await;
    assert!(send_now(&limiter));
    assert_eq!(limiter.lock().learned, None);
    assert_pace(&limiter, 10.0 / 1.025);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_was_never_announced_is_forgotten_when_no_429_confirms_it() {
    let limiter = open();
    limiter.learn(&HeaderMap::new(), BARE_429);
    advance(SECOND).await;
    limiter.learn(&HeaderMap::new(), BARE_429);
    assert!(!limiter.open.load(Ordering::Relaxed));
    advance(ms(32_299)).await;
    limiter.learn(&HeaderMap::new(), Verdict::Admitted);
    assert!(pace(&limiter).is_some());
    advance(ms(1)).await;
    assert!(send_now(&limiter));
    assert_eq!(pace(&limiter), None);
    assert!(limiter.open.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_is_sent_when_the_limit_is_forgotten() {
    let limiter = open();
    limiter.learn(&HeaderMap::new(), BARE_429);
    limiter.lock().next = Some(Instant::now() + Duration::from_hours(1));
    let (waited, ()) = tokio::join!(wait_to_send(&limiter), async {
        sleep(SECOND * 33).await;
        limiter.learn(&HeaderMap::new(), Verdict::Unrelated);
    });
    assert_eq!(waited, 33_000);
}

// Headers

#[tokio::test(start_paused = true)]
async fn unreadable_headers_slow_nothing() {
    // B-12
    let limiter = open();
    for name in ["ratelimit-policy", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"] {
        for value in ["", "x", "-1", "0", "1e400", "99999999999999999999", "0;w=0", "\u{fc}"] {
            let mut map = HeaderMap::new();
            map.insert(name, http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
            limiter.learn(&map, Verdict::Admitted);
        }
    }
    assert!(limiter.open.load(Ordering::Relaxed));
    assert!((0..100).all(|_| send_now(&limiter)));
}

// Properties

mod properties {
    use std::{collections::BTreeMap, future::Future, pin::Pin};

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        /// Makes a call with a deadline, in milliseconds from now.
        Acquire(Option<u64>),
        /// Drops a waiting call.
        Drop(usize),
        /// Sends with a permit, or drops it before sending.
        Finish(usize, bool),
        Advance(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => proptest::option::of(0..3_000u64).prop_map(Step::Acquire),
            1 => any::<usize>().prop_map(Step::Drop),
            3 => (any::<usize>(), any::<bool>()).prop_map(|(which, sent)| Step::Finish(which, sent)),
            3 => (0..400u64).prop_map(Step::Advance),
        ];
        proptest::collection::vec(step, 1..150)
    }

    type Call<'a> = Pin<Box<dyn Future<Output = Result<Permit<'a>, TooLate>> + 'a>>;

    /// The calls of an application, polled in order after each millisecond.
    struct Application<'a> {
        limiter: &'a Limiter,
        interval: Duration,
        waiting: Vec<(Call<'a>, Option<Instant>)>,
        /// When each permit was granted, by number, without permits returned while they were the latest.
        granted: BTreeMap<usize, Instant>,
        /// The permits that are neither sent nor dropped.
        held: Vec<(usize, Permit<'a>)>,
        departures: Vec<Instant>,
        grants: usize,
    }

    impl Application<'_> {
        fn poll(&mut self) {
            let now = Instant::now();
            let mut index = 0;
            while index < self.waiting.len() {
                let (call, deadline) = &mut self.waiting[index];
                match call.as_mut().now_or_never() {
                    None => {
                        assert!(deadline.is_none_or(|deadline| now <= deadline + ms(1)));
                        index += 1;
                    }
                    Some(Err(late)) => {
                        let deadline = deadline.unwrap();
                        assert!(now + late.available_in >= deadline || now >= deadline);
                        drop(self.waiting.remove(index));
                    }
                    Some(Ok(permit)) => {
                        drop(self.waiting.remove(index));
                        self.granted.insert(self.grants, now);
                        self.held.push((self.grants, permit));
                        self.grants += 1;
                    }
                }
            }
            // Never idle while a call waits.
            if !self.waiting.is_empty() {
                let (_, latest) = self.granted.last_key_value().unwrap();
                assert!(now < *latest + self.interval + ms(2), "idle since {:?}", now - *latest);
            }
            assert_eq!(self.limiter.lock().waiting as usize, self.waiting.len());
        }

        async fn take(&mut self, step: Step) {
            match step {
                Step::Acquire(deadline) => {
                    let deadline = deadline.map(|deadline| Instant::now() + ms(deadline));
                    self.waiting.push((Box::pin(self.limiter.acquire(deadline)), deadline));
                }
                Step::Drop(which) if !self.waiting.is_empty() => {
                    let which = which % self.waiting.len();
                    drop(self.waiting.remove(which));
                }
                Step::Finish(which, sent) if !self.held.is_empty() => {
                    let which = which % self.held.len();
                    let (number, mut permit) = self.held.remove(which);
                    if sent {
                        permit.sent();
                        self.departures.push(self.granted[&number]);
                    } else if self.granted.last_key_value().unwrap().0 == &number {
                        self.granted.remove(&number);
                    }
                }
                Step::Advance(milliseconds) => {
                    for _ in 0..milliseconds {
                        advance(ms(1)).await;
                        self.poll();
                    }
                }
                Step::Drop(_) | Step::Finish(..) => {}
            }
            // Twice: after a dropped head, the next call checks.
            self.poll();
            self.poll();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_schedule_exceeds_the_rate_or_leaves_the_wire_idle(steps in steps(), rate in 3.0..200.0f64) {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
            let limiter = per_second(rate);
            let interval = Duration::from_secs_f64(1.0 / rate);
            let mut departures = runtime.block_on(async {
                let mut application = Application {
                    limiter: &limiter,
                    interval,
                    waiting: Vec::new(),
                    granted: BTreeMap::new(),
                    held: Vec::new(),
                    departures: Vec::new(),
                    grants: 0,
                };
                for step in steps {
                    application.take(step).await;
                }
                application.departures
            });
            departures.sort();
            for (from, first) in departures.iter().enumerate() {
                for (n, last) in departures[from..].iter().enumerate() {
                    let least = interval * u32::try_from(n).unwrap();
                    prop_assert!(*last - *first + TOLERANCE >= least, "{n} in {:?}", *last - *first);
                }
            }
        }
    }
}
