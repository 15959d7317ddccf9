//! The limiter's arithmetic and its queue, step by step under tokio's paused time.

mod calls;

use futures_util::FutureExt as _;
use tokio::time::{advance, sleep};

use super::*;

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

fn throttled(seconds: u64) -> RateVerdict {
    RateVerdict::Throttled { retry_after: Some(Duration::from_secs(seconds)) }
}

fn per_second(rate: f64) -> Limiter {
    Limiter::new(RateLimit::PerSecond(rate))
}

/// Returns a limiter without a known limit.
fn open() -> Limiter {
    let limiter = Limiter::new(RateLimit::Adaptive);
    assert!(limiter.open.load(Ordering::Relaxed));
    limiter
}

/// Updates the pace from the response to a request sent now.
fn observe_now(limiter: &Limiter, headers: &HeaderMap, verdict: RateVerdict) {
    limiter.observe_response(limiter.now(), headers, verdict);
}

/// Sends immediately, or returns false if it can't.
fn send_now(limiter: &Limiter) -> bool {
    match limiter.acquire(None).now_or_never() {
        Some(Ok(mut permit)) => {
            permit.mark_sent();
            true
        }
        Some(Err(_)) => unreachable!("without a deadline"),
        None => false,
    }
}

/// Sends as soon as possible, and returns how long that took, in milliseconds.
async fn wait_to_send(limiter: &Limiter) -> u128 {
    let start = Instant::now();
    limiter.acquire(None).await.unwrap().mark_sent();
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

#[tokio::test(start_paused = true)]
async fn without_a_limit_every_request_is_sent_immediately() {
    let limiter = Limiter::new(RateLimit::Off);
    observe_now(&limiter, &policy_headers("1;w=60"), throttled(30));
    assert!((0..1_000).all(|_| send_now(&limiter)));
    assert!(limiter.open.load(Ordering::Relaxed));
}

// Rate

#[tokio::test(start_paused = true)]
async fn a_configured_rate_is_evenly_spaced() {
    let limiter = per_second(2.0);
    let start = Instant::now();
    for n in 0..20 {
        limiter.acquire(None).await.unwrap().mark_sent();
        assert_eq!(start.elapsed(), SECOND / 2 * n);
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
async fn concurrency_is_not_limited_while_no_limit_is_known() {
    let limiter = Limiter::new(RateLimit::Adaptive);
    let permits: Vec<_> = (0..1_000).map_while(|_| limiter.acquire(None).now_or_never()).collect();
    assert_eq!(permits.len(), 1_000);
    // The service admits ten requests, so those in flight use up no more than its first window.
    observe_now(&limiter, &policy_headers("10;w=1"), RateVerdict::Admitted);
    drop(permits);
    assert_eq!(wait_to_send(&limiter).await, 1_025);
    assert_eq!(limiter.in_flight.load(Ordering::Relaxed), 0);
}

// The queue

#[tokio::test(start_paused = true)]
async fn calls_are_sent_in_the_order_in_which_they_were_made() {
    let limiter = per_second(100.0);
    let order = Mutex::new(Vec::new());
    let calls = (0..50).map(|n| {
        let (limiter, order) = (&limiter, &order);
        async move {
            limiter.acquire(None).await.unwrap().mark_sent();
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
        assert_eq!(too_late(&limiter, ms(500)).await, TooLate { available_in: ms(500), rate: Some(2.0) });
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
        call.await.unwrap().mark_sent();
        assert_eq!(start.elapsed(), ms(400 + 500 * n as u64));
    }
    assert_eq!(limiter.lock().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn the_slot_of_a_call_accounts_for_the_pause_after_a_429() {
    let limiter = per_second(10.0);
    assert!(send_now(&limiter));
    observe_now(&limiter, &HeaderMap::new(), throttled(3));
    assert_eq!(too_late(&limiter, SECOND * 3).await.available_in, SECOND * 3);
    let mut waiting = Box::pin(limiter.acquire(None));
    assert!(waiting.as_mut().now_or_never().is_none());
    let pace = 10.0 * 0.95;
    let second = ms(2_990) + Duration::from_secs_f64(1.0 / pace);
    assert_eq!(too_late(&limiter, SECOND).await, TooLate { available_in: second, rate: Some(pace) });
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
        observe_now(&limiter, &HeaderMap::new(), throttled(10));
    };
    let (head, second, ()) = tokio::join!(call(), call(), throttle);
    assert_eq!(head.0, SECOND * 2);
    assert_eq!(second.0, SECOND * 2);
    assert_eq!(head.1.min(second.1), ms(8_100));
    assert_eq!(limiter.lock().waiting, 0);
    assert_eq!(wait_to_send(&limiter).await, 8_100);
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
    refused.mark_sent();
    refused.release();
    let mut lost = limiter.acquire(None).now_or_never().unwrap().unwrap();
    lost.mark_sent();
    drop(lost);
    assert!(!send_now(&limiter));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_is_sent_earlier_when_the_limit_rises() {
    let limiter = open();
    observe_now(&limiter, &policy_headers("1;w=60"), RateVerdict::Admitted);
    let (waited, ()) = tokio::join!(wait_to_send(&limiter), async {
        sleep(SECOND).await;
        observe_now(&limiter, &policy_headers("1000000;w=1"), RateVerdict::Admitted);
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
        observe_now(&limiter, &HeaderMap::new(), RateVerdict::Throttled { retry_after });
        assert_eq!(wait_to_send(&limiter).await, pause);
    }
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
            observe_now(&limiter, &map, RateVerdict::Admitted);
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

    /// An application's calls, polled in order after each millisecond.
    struct Application<'a> {
        limiter: &'a Limiter,
        interval: Duration,
        waiting: Vec<(Call<'a>, Option<Instant>)>,
        /// When each permit was granted, by number. Excludes permits returned while they were the latest.
        granted: BTreeMap<usize, Instant>,
        /// The permits that haven't been sent or dropped.
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
            // It must never idle while a call waits.
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
                        permit.mark_sent();
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
            // Twice: after a head is dropped, the next call checks.
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
            // It uses the runtime's clock, which is paused.
            let limiter = runtime.block_on(async { per_second(rate) });
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
                    prop_assert!(*last - *first + ms(10) >= least, "{n} in {:?}", *last - *first);
                }
            }
        }
    }
}
