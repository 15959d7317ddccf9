//! The limiter against a simulated service, under tokio's paused time.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tokio::time::sleep;

use super::*;

/// How a service counts requests.
#[derive(Clone, Copy, Debug)]
enum Counter {
    /// In consecutive seconds; the first began this many milliseconds before the test.
    Fixed(u64),
    /// In the second before each request.
    Sliding,
}

/// A service with a limit per second.
struct Service {
    limit: usize,
    counter: Counter,
    headers: HeaderMap,
    retry_after: Option<Duration>,
    start: Instant,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    /// The admitted requests of the current second.
    recent: VecDeque<Instant>,
    admitted: u32,
    throttled: u32,
}

impl Service {
    fn new(limit: usize, counter: Counter) -> Self {
        let start = Instant::now();
        Self { limit, counter, headers: HeaderMap::new(), retry_after: None, start, log: Mutex::default() }
    }

    fn announcing(mut self) -> Self {
        self.headers.insert("ratelimit-policy", format!("{};w=1", self.limit).parse().unwrap());
        self
    }

    fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(Duration::from_secs(seconds));
        self
    }

    fn count(&self) -> Verdict {
        const SECOND: Duration = Duration::from_secs(1);
        let mut log = self.log.lock().unwrap();
        let second = |at: Instant| match self.counter {
            Counter::Fixed(age) => (at - self.start + Duration::from_millis(age)).as_secs(),
            Counter::Sliding => 0,
        };
        let now = Instant::now();
        while let Some(&first) = log.recent.front()
            && (now - first >= SECOND || second(first) < second(now))
        {
            log.recent.pop_front();
        }
        if log.recent.len() >= self.limit {
            log.throttled += 1;
            return Verdict::Throttled { retry_after: self.retry_after };
        }
        log.recent.push_back(now);
        log.admitted += 1;
        Verdict::Admitted
    }
}

/// The result of a load test: the used share of the limit, and the share of requests rejected with 429.
#[derive(Debug)]
struct Figures {
    used: f64,
    rejected: f64,
    throttled: u32,
}

/// Sends as fast as the limiters of the clients permit, from `tasks` tasks in all. A request takes 20 to 100 ms, of which `way` is the latency until it is counted.
async fn load<const CLIENTS: usize>(
    limiters: [Limiter; CLIENTS],
    service: Service,
    tasks: u64,
    period: Duration,
    way: Range<u64>,
) -> Figures {
    let (limiters, service) = (limiters.map(Arc::new), Arc::new(service));
    let end = Instant::now() + period;
    // The first response announces the limit.
    for limiter in &limiters {
        limiter.acquire(None).await.unwrap().sent();
        limiter.learn(&service.headers, service.count());
    }
    let tasks = (0..tasks).zip(limiters.iter().cycle()).map(|(task, limiter)| {
        let (limiter, service, way) = (Arc::clone(limiter), Arc::clone(&service), way.clone());
        tokio::spawn(async move {
            let mut random = StdRng::seed_from_u64(task);
            while let Ok(mut permit) = limiter.acquire(Some(end)).await {
                if Instant::now() >= end {
                    break;
                }
                permit.sent();
                let there = random.gen_range(way.clone());
                let back = random.gen_range(20_000.max(there)..100_000) - there;
                sleep(Duration::from_micros(there)).await;
                let verdict = service.count();
                sleep(Duration::from_micros(back)).await;
                limiter.learn(&service.headers, verdict);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let log = service.log.lock().unwrap();
    let (admitted, throttled) = (f64::from(log.admitted), f64::from(log.throttled));
    let used = admitted / (f64::from(u32::try_from(service.limit).unwrap()) * period.as_secs_f64());
    Figures { used, rejected: throttled / (admitted + throttled), throttled: log.throttled }
}

/// A latency of 10 to 20 ms before the service counts the request, in microseconds; the rest of the round trip follows.
const STEADY: Range<u64> = 10_000..20_000;
/// Half of a round trip of 20 to 100 ms.
const JITTERY: Range<u64> = 10_000..50_000;

/// The one with more jitter, or both with `IDEMPOST_EXHAUSTIVE`.
fn ways() -> impl Iterator<Item = Range<u64>> {
    let all = std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some();
    all.then_some(STEADY).into_iter().chain([JITTERY])
}

const COUNTERS: [Counter; 5] =
    [Counter::Sliding, Counter::Fixed(0), Counter::Fixed(300), Counter::Fixed(700), Counter::Fixed(960)];

fn services(limit: usize) -> impl Iterator<Item = Service> {
    COUNTERS.into_iter().map(move |counter| Service::new(limit, counter))
}

#[tokio::test(start_paused = true)]
async fn an_announced_limit_is_used_to_97_percent_in_a_minute_without_a_429() {
    // B-29
    for limit in [2, 10, 100] {
        for service in services(limit) {
            let case = format!("{limit}/s, {:?}", service.counter);
            let limiter = Limiter::new(RateLimit::Adaptive);
            let service = service.announcing().retry_after(1);
            let figures = load([limiter], service, 50, Duration::from_mins(1), STEADY).await;
            assert!(figures.used >= 0.97 && figures.throttled == 0, "{case}: {figures:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn jitter_costs_at_most_one_429_per_minute_in_fixed_windows_and_four_in_sliding_ones() {
    for service in services(10) {
        let counter = service.counter;
        let service = service.announcing().retry_after(1);
        let figures =
            load([Limiter::new(RateLimit::Adaptive)], service, 20, Duration::from_mins(1), JITTERY).await;
        let (used, throttled) = if let Counter::Fixed(_) = counter { (0.95, 1) } else { (0.88, 4) };
        assert!(figures.used >= used && figures.throttled <= throttled, "{counter:?}: {figures:?}");
    }
}

/// Loads a service that announces nothing, and expects 92 % of its limit with at most 0.5 % of 429s after those of the first requests, which are
/// sent at once.
async fn assert_learned(service: Service, minutes: u64, way: Range<u64>) {
    const TASKS: u32 = 50;
    let case = format!("{}/s for {minutes} min, {:?}, {way:?}", service.limit, service.counter);
    let limiter = Limiter::new(RateLimit::Adaptive);
    let figures = load([limiter], service, TASKS.into(), Duration::from_mins(minutes), way).await;
    println!("{case}: {figures:?}");
    let later =
        f64::from(figures.throttled.saturating_sub(TASKS)) / f64::from(figures.throttled) * figures.rejected;
    assert!(figures.used >= 0.92 && later <= 0.005, "{case}: {figures:?}");
}

#[tokio::test(start_paused = true)]
async fn an_unannounced_limit_of_10_per_second_is_used_to_92_percent_with_half_a_percent_of_429s_in_10_minutes()
 {
    // B-29
    for way in ways() {
        for service in services(10) {
            assert_learned(service, 10, way.clone()).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_unannounced_limit_of_2_per_second_is_used_to_92_percent_with_half_a_percent_of_429s_in_an_hour() {
    for way in ways() {
        for service in services(2) {
            assert_learned(service.retry_after(1), 60, way.clone()).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_unannounced_limit_of_100_per_second_is_used_to_92_percent_with_half_a_percent_of_429s_in_5_minutes()
 {
    for service in [Service::new(100, Counter::Sliding), Service::new(100, Counter::Fixed(0))] {
        assert_learned(service.retry_after(1), 5, STEADY).await;
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_and_its_absence_lead_to_the_same_figures() {
    for service in [Service::new(10, Counter::Sliding), Service::new(10, Counter::Sliding).retry_after(1)] {
        assert_learned(service, 10, STEADY).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_configured_rate_above_the_services_limit_adapts_to_it() {
    let service = Service::new(5, Counter::Fixed(0));
    let limiter = Limiter::new(RateLimit::PerSecond(50.0));
    let figures = load([limiter], service, 20, Duration::from_mins(10), STEADY).await;
    assert!(figures.used >= 0.92 && figures.rejected <= 0.02, "{figures:?}");
}

#[tokio::test(start_paused = true)]
async fn two_processes_that_share_a_limit_are_rarely_rejected() {
    // B-29
    for service in services(10).flat_map(|service| {
        let (limit, counter) = (service.limit, service.counter);
        [
            service,
            Service::new(limit, counter).announcing(),
            Service::new(limit, counter).announcing().retry_after(1),
        ]
    }) {
        let case = format!("{:?} {:?} {:?}", service.counter, service.headers, service.retry_after);
        let limiters = [Limiter::new(RateLimit::Adaptive), Limiter::new(RateLimit::Adaptive)];
        let figures = load(limiters, service, 40, Duration::from_mins(10), STEADY).await;
        println!("{case}: {figures:?}");
        assert!(figures.used >= 0.92 && figures.rejected <= 0.01, "{case}: {figures:?}");
    }
}
