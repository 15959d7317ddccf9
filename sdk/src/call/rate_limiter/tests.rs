//! The arithmetic of the pace, step by step.

mod simulation;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A sender and its clock.
#[derive(Default)]
struct Sender {
    pace: RateLimiter,
    now: Duration,
    in_flight: u32,
}

impl Sender {
    fn max(rate: f64) -> Self {
        let mut sender = Self::default();
        sender.pace.set_max(Some(rate));
        sender
    }

    /// Processes the response to a request sent now.
    fn observe(&mut self, verdict: RateVerdict, headers: &[(&'static str, &str)]) {
        let headers =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let signal = RateSignal::new(self.now, verdict, &headers);
        self.pace.observe(&signal, self.in_flight, self.now);
    }

    fn expect_admitted(&mut self, requests: u32) {
        for _ in 0..requests {
            self.observe(RateVerdict::Admitted, &[]);
        }
    }

    fn announce_policy(&mut self, policy: &str) {
        self.observe(RateVerdict::Admitted, &[("ratelimit-policy", policy)]);
    }

    fn throttle(&mut self, retry_after: Option<Duration>) {
        self.observe(RateVerdict::Throttled { retry_after }, &[]);
    }

    /// Sends as soon as possible, and returns how long that took.
    fn send(&mut self) -> Duration {
        let start = self.now;
        while let Err(ready_at) = self.pace.take(self.now) {
            self.now = ready_at;
        }
        self.now.saturating_sub(start)
    }

    #[track_caller]
    fn assert_rate(&self, expected: f64) {
        let rate = self.pace.rate(self.now).unwrap();
        assert!((rate - expected).abs() < expected * 1e-6, "{rate} instead of {expected}");
    }
}

// The slots

#[test]
fn a_slot_missed_by_less_than_the_tolerance_is_made_up_for() {
    for (late, next) in [(0, 500), (7, 500), (10, 500), (11, 501), (300, 790)] {
        let mut sender = Sender::max(2.0);
        sender.send();
        sender.now = ms(500 + late);
        assert_eq!(sender.send(), Duration::ZERO);
        sender.send();
        assert_eq!(sender.now, ms(500 + next), "{late} ms late");
    }
}

#[test]
fn an_unused_slot_is_available_again_until_a_later_request_is_sent() {
    let mut pace = Sender::max(2.0).pace;
    let unused = pace.take(Duration::ZERO).unwrap();
    pace.return_slot(unused);
    let unused = pace.take(Duration::ZERO).unwrap();
    pace.take(ms(500)).unwrap();
    pace.return_slot(unused);
    assert_eq!(pace.take(ms(500)), Err(SECOND));
}

#[test]
fn an_announced_limit_is_used_to_97_5_percent() {
    for (policy, interval) in [("10;w=1", 102.5), ("2;w=1", 512.5), ("10;w=60", 6_150.0), ("1;w=1", 1_025.0)]
    {
        let mut sender = Sender::default();
        sender.send();
        sender.announce_policy(policy);
        sender.assert_rate(1_000.0 / interval);
        assert!((sender.send().as_secs_f64() * 1_000.0 - interval).abs() < 1e-3, "{policy}");
    }
}

#[test]
fn no_window_of_the_announced_length_holds_more_requests_than_announced() {
    for (limit, seconds) in [(1, 1), (2, 1), (10, 1), (37, 1), (100, 1), (10, 60), (60, 60)] {
        let mut sender = Sender::default();
        sender.announce_policy(&format!("{limit};w={seconds}"));
        let mut sent = Vec::new();
        for n in 0..limit * 4 {
            sender.send();
            sent.push(sender.now);
            if n % 7 == 0 {
                sender.now += ms(n as u64);
            }
        }
        for window in sent.windows(limit + 1) {
            assert!(window[limit].saturating_sub(window[0]) >= SECOND * seconds, "{limit};w={seconds}");
        }
    }
}

#[test]
fn the_lower_of_the_set_and_the_announced_rate_applies() {
    let mut sender = Sender::max(2.0);
    sender.announce_policy("10;w=1");
    sender.assert_rate(2.0);
    sender.announce_policy("1;w=1");
    sender.assert_rate(1.0 / 1.025);
    sender.announce_policy("1000000;w=1");
    sender.assert_rate(2.0);
}

#[test]
fn a_very_high_announced_limit_slows_nothing() {
    let mut sender = Sender::default();
    for (limit, paced) in [(1_000_000, false), (10_000, true), (10_251, false), (10, true), (10_250, false)] {
        sender.announce_policy(&format!("{limit};w=1"));
        assert_eq!(sender.pace.rate(sender.now).is_some(), paced, "{limit}");
    }
}

#[test]
fn a_changed_announcement_replaces_the_old_one_and_the_learned_limit() {
    let mut sender = Sender::default();
    sender.announce_policy("10;w=1");
    sender.throttle(None);
    sender.announce_policy("10;w=1");
    sender.assert_rate(10.0 / 1.025 * 0.95);
    sender.announce_policy("20;w=1");
    sender.assert_rate(20.0 / 1.025);
    sender.expect_admitted(1);
    sender.assert_rate(20.0 / 1.025);
    assert_eq!(sender.pace.limit(), Some(20.0));
}

#[test]
fn requests_in_flight_at_the_announcement_count_in_its_first_window() {
    for (in_flight, wait) in [(0, 102_500), (3, 307_500), (1_000, 1_025_000)] {
        let mut sender = Sender { in_flight, ..Sender::default() };
        sender.announce_policy("10;w=1");
        assert_eq!(sender.send().as_micros(), wait);
    }
}

#[test]
fn a_lowered_limit_applies_after_a_whole_window() {
    let mut sender = Sender::default();
    sender.announce_policy("100;w=1");
    sender.announce_policy("20;w=1");
    assert_eq!(sender.send(), ms(1_025));
}

#[test]
fn an_already_exhausted_window_is_waited_out() {
    let exhausted = |remaining, reset| {
        [("ratelimit-policy", "10;w=2"), ("ratelimit-remaining", remaining), ("ratelimit-reset", reset)]
    };
    for (remaining, reset, wait) in
        [("0", "2", 2_000), ("0", "0", 205), ("0", "4000000000", 2_000), ("0", "-1", 205), ("1", "9", 205)]
    {
        let mut sender = Sender::default();
        sender.observe(RateVerdict::Admitted, &exhausted(remaining, reset));
        assert_eq!(sender.send(), ms(wait), "{reset}");
        // A fully used window ends as exhausted.
        sender.observe(RateVerdict::Admitted, &exhausted(remaining, reset));
        assert!(sender.send() <= ms(205), "{reset}");
    }
}

// An unknown limit

#[test]
fn the_first_429_sets_the_rate_of_the_last_second_or_3_per_second() {
    for (before, within, rate) in [(0, 0, 3.0), (0, 20, 18.0), (30, 20, 27.0), (7, 0, 6.3)] {
        let mut sender = Sender { now: SECOND * 9, ..Sender::default() };
        sender.expect_admitted(before);
        sender.now += SECOND;
        sender.expect_admitted(within);
        sender.throttle(None);
        sender.assert_rate(rate);
        assert_eq!(sender.pace.limit(), None);
    }
}

#[test]
fn the_rate_of_the_last_second_excludes_older_responses() {
    let mut recent = RecentRequests::default();
    for at in [0, 0, 0, 0, 0, 999] {
        recent.count(ms(at));
    }
    let rate = |mut recent: RecentRequests, at| recent.rate(ms(at)).to_string();
    assert_eq!([999, 1_000, 1_999, 2_000].map(|at| rate(recent, at)), ["6", "6", "6", "1"]);
    recent.count(ms(1_000));
    assert_eq!((recent.current, recent.previous), (1, 6));
}

#[test]
fn after_the_first_429_the_rate_triples_every_second_until_the_next() {
    for (admitted, rate) in [(1, 0.6 * 27.0), (25, 0.95 * 25.0)] {
        let mut sender = Sender::default();
        sender.throttle(None);
        sender.now += SECOND * 3;
        sender.assert_rate(27.0);
        // Ten requests take less time than at the current rate.
        let ready_at = sender.pace.ready_at(10, sender.now).saturating_sub(sender.now);
        assert!((ready_at.as_secs_f64() - (1.0 + 10.0 * 3_f64.ln() / 27.0).ln() / 3_f64.ln()).abs() < 1e-3);
        sender.expect_admitted(admitted);
        sender.throttle(None);
        sender.assert_rate(rate);
        assert_eq!(sender.send(), ms(300));
    }
}

#[test]
fn a_429_without_another_is_forgotten() {
    let mut sender = Sender::default();
    sender.throttle(None);
    sender.now += ms(8_300);
    sender.send();
    assert!(sender.pace.rate(sender.now).is_some());
    sender.now += ms(100);
    sender.send();
    assert_eq!(sender.pace.rate(sender.now), None);
}

#[test]
fn a_slow_start_triples_the_rate_every_second_until_a_429() {
    let mut sender = Sender { pace: RateLimiter::slow_start(Duration::ZERO), ..Sender::default() };
    sender.assert_rate(5.0);
    sender.now = SECOND * 2;
    sender.assert_rate(45.0);
    let mut fast = sender.pace.clone();
    fast.take(SECOND * 7).unwrap();
    assert_eq!((fast.rate(SECOND * 7), fast.limit()), (None, None));
    sender.expect_admitted(40);
    sender.throttle(None);
    sender.assert_rate(38.0);
    assert_eq!(sender.pace.limit(), Some(38.0));
}

#[test]
fn a_learned_rate_waits_and_then_increases_faster_and_faster() {
    let mut sender = Sender { pace: RateLimiter::with_limit(10.0, Duration::ZERO), ..Sender::default() };
    for (seconds, rate) in [(0, 10.0), (4, 10.0), (8, 10.1), (12, 10.3), (28, 16.3)] {
        sender.now = SECOND * seconds;
        sender.assert_rate(rate);
    }
    sender.now = SECOND * 70;
    assert_eq!(sender.pace.limit(), Some(10.0));
    sender.send();
    assert!(sender.pace.rate(sender.now).is_some());
    sender.now = SECOND * 71;
    sender.send();
    assert_eq!((sender.pace.rate(sender.now), sender.pace.limit()), (None, None));
}

#[test]
fn late_429s_lower_the_rate_by_a_twentieth_and_double_the_wait() {
    let mut sender =
        Sender { pace: RateLimiter::with_limit(10.0, Duration::ZERO), now: SECOND * 4, ..Sender::default() };
    let mut rate = 10.0;
    for wait in [8.0, 16.0, 32.0, 300.0 / (10.0 * 0.95 * 0.95 * 0.95)] {
        sender.throttle(None);
        rate *= 0.95;
        sender.assert_rate(rate);
        let learned = sender.pace.learned.unwrap();
        assert!((learned.wait.as_secs_f64() - wait).abs() < 1e-6, "{learned:?}");
        sender.now = learned.increases_at();
    }
}

#[test]
fn early_429s_lower_the_rate_to_what_the_service_accepts() {
    for (admitted, rate) in [(1, 5.0), (7, 6.65), (20, 9.0)] {
        let mut sender = Sender {
            pace: RateLimiter::with_limit(10.0, Duration::ZERO),
            now: SECOND * 3,
            ..Sender::default()
        };
        sender.expect_admitted(admitted);
        sender.throttle(None);
        sender.assert_rate(rate);
    }
}

#[test]
fn the_429s_of_requests_sent_before_the_first_one_count_once() {
    let mut sender = Sender::max(10.0);
    sender.now = SECOND;
    sender.throttle(Some(SECOND));
    let late =
        RateSignal::new(SECOND, RateVerdict::Throttled { retry_after: Some(SECOND) }, &HeaderMap::new());
    sender.pace.observe(&late, 0, ms(1_900));
    sender.now = ms(1_900);
    sender.assert_rate(9.5);
    assert_eq!(sender.pace.learned.unwrap().increases_at(), ms(2_900) + WAIT);
    assert_eq!(sender.send(), SECOND);
}

#[test]
fn a_429_never_raises_the_rate_above_a_slow_limit() {
    let mut announced = Sender::default();
    announced.announce_policy("10;w=60");
    for (mut sender, cap) in [(announced, 10.0 / 60.0 / 1.025), (Sender::max(0.1), 0.1)] {
        sender.throttle(Some(SECOND));
        sender.assert_rate(cap * 0.95);
        for _ in 0..10 {
            sender.now += SECOND * 2;
            sender.throttle(Some(SECOND));
        }
        assert!(sender.pace.rate(sender.now).unwrap() < cap * 0.95);
        sender.now += SECOND * 90;
        sender.assert_rate(cap);
    }
}

#[test]
fn a_pause_is_only_replaced_by_a_longer_one() {
    let mut sender = Sender::default();
    sender.pace.pause_until(SECOND * 60);
    sender.pace.pause_until(SECOND * 5);
    assert_eq!(sender.send(), SECOND * 60);
}

#[test]
fn the_state_survives_serialization_without_the_maximum() {
    let mut sender = Sender::max(5.0);
    sender.announce_policy("20;w=1");
    sender.throttle(None);
    let text = serde_json::to_string(&sender.pace).unwrap();
    sender.pace = serde_json::from_str(&text).unwrap();
    sender.assert_rate(4.75);
    sender.now += SECOND * 60;
    sender.assert_rate(20.0 / 1.025);
}
