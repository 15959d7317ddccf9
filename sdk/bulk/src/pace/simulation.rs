//! The controller against simulated services: ten minutes of sending, by discrete events.

use std::{cmp::Reverse, collections::BinaryHeap, fmt, ops::Range, time::Duration};

use http::HeaderMap;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use super::controller::{Controller, Observation, PaceOptions, Ticket};

/// How long a job sends.
const PERIOD: Duration = Duration::from_mins(10);
const SEEDS: Range<u64> = 0..8;

/// The service's limit in requests per second, from an instant on.
type Limits = &'static [(u64, u32)];

const TWO: Limits = &[(0, 2)];
const TEN: Limits = &[(0, 10)];
const HUNDRED: Limits = &[(0, 100)];
const CHANGING: Limits = &[(0, 100), (200, 20), (400, 60)];

/// How a service counts requests.
#[derive(Clone, Copy, Debug)]
enum Counter {
    /// In consecutive windows of a second.
    Window,
    /// By a token bucket that holds a second's worth of requests.
    Bucket,
}

/// How long a request takes to the service; the whole round trip takes 20 to 300 ms, 90 ms on average.
#[derive(Clone, Copy, Debug)]
enum Jitter {
    /// 10 to 20 ms.
    Low,
    /// 10 to 50 ms.
    High,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    limits: Limits,
    counter: Counter,
    headers: bool,
    retry_after: bool,
    jitter: Jitter,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits: Vec<_> = self.limits.iter().map(|(_, limit)| limit.to_string()).collect();
        let headers = if self.headers { "headers" } else { "none" };
        let retry_after = if self.retry_after { "1 s" } else { "none" };
        write!(
            f,
            "{:<12} {:<7} {headers:<8} {retry_after:<6} {:<5}",
            limits.join(">"),
            format!("{:?}", self.counter),
            format!("{:?}", self.jitter),
        )
    }
}

struct Service {
    shape: Shape,
    /// How long before the start of the job the first window began.
    offset: Duration,
    /// The current window, and the requests counted in it.
    window: (u64, u32),
    tokens: f64,
    filled_at: Duration,
}

impl Service {
    fn new(shape: Shape, random: &mut StdRng) -> Self {
        let offset = Duration::from_millis(random.gen_range(0..1_000));
        let tokens = f64::from(shape.limits[0].1);
        Self { shape, offset, window: (0, 0), tokens, filled_at: Duration::ZERO }
    }

    fn limit(&self, at: Duration) -> u32 {
        self.shape.limits.iter().rev().find(|(since, _)| *since <= at.as_secs()).unwrap().1
    }

    /// Counts a request, and responds.
    fn count(&mut self, at: Duration) -> (Observation, HeaderMap) {
        let limit = match self.shape.counter {
            // A changed limit applies from the next window on.
            Counter::Window => {
                let start = (at + self.offset).as_secs();
                self.limit(Duration::from_secs(start).saturating_sub(self.offset))
            }
            Counter::Bucket => self.limit(at),
        };
        let remaining = match self.shape.counter {
            Counter::Window => {
                let window = (at + self.offset).as_secs();
                if self.window.0 < window {
                    self.window = (window, 0);
                }
                let remaining = limit.checked_sub(self.window.1 + 1);
                self.window.1 += u32::from(remaining.is_some());
                remaining
            }
            Counter::Bucket => {
                let filled = (at - self.filled_at).as_secs_f64() * f64::from(limit);
                self.tokens = (self.tokens + filled).min(f64::from(limit));
                self.filled_at = at;
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let remaining = (self.tokens >= 1.0).then(|| {
                    self.tokens -= 1.0;
                    self.tokens as u32
                });
                remaining
            }
        };
        let observation = match remaining {
            Some(_) => Observation::Accepted,
            None => {
                let retry_after = self.shape.retry_after.then_some(Duration::from_secs(1));
                Observation::Throttled { retry_after }
            }
        };
        let mut headers = HeaderMap::new();
        if self.shape.headers {
            headers.insert("ratelimit-policy", format!("{limit};w=1").parse().unwrap());
            headers.insert("ratelimit-remaining", remaining.unwrap_or(0).into());
            headers.insert("ratelimit-reset", 1.into());
        }
        (observation, headers)
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    goodput: f64,
    throttled: u32,
    share: f64,
}

enum Event {
    Arrival(Ticket, Duration),
    Response(Ticket, Observation, HeaderMap),
}

/// Events in the order of their time.
struct Queue {
    order: BinaryHeap<Reverse<(Duration, usize)>>,
    events: Vec<Option<Event>>,
}

impl Queue {
    fn add(&mut self, at: Duration, event: Event) {
        self.order.push(Reverse((at, self.events.len())));
        self.events.push(Some(event));
    }

    fn pop(&mut self) -> Option<(Duration, Event)> {
        let Reverse((at, index)) = self.order.pop()?;
        Some((at, self.events[index].take().unwrap()))
    }
}

fn run(shape: Shape, seed: u64, trace: bool) -> Figures {
    let mut random = StdRng::seed_from_u64(seed);
    let mut service = Service::new(shape, &mut random);
    let mut controller = Controller::with_random(PaceOptions::default(), StdRng::seed_from_u64(!seed));
    let mut queue = Queue { order: BinaryHeap::new(), events: Vec::new() };
    let mut now = Duration::ZERO;
    let (mut accepted, mut throttled) = (0_u32, 0_u32);
    let mut rate = 0.0;
    while now < PERIOD {
        let blocked = loop {
            match controller.admit(now) {
                Err(blocked) => break blocked,
                Ok(ticket) => {
                    let to = random.gen_range(match shape.jitter {
                        Jitter::Low => 10_000..20_000,
                        Jitter::High => 10_000..50_000,
                    });
                    let skewed: f64 = random.gen_range(0.0_f64..1.0).powi(3);
                    let from = Duration::from_secs_f64(0.02 + 0.28 * skewed)
                        .saturating_sub(Duration::from_micros(to));
                    queue.add(now + Duration::from_micros(to), Event::Arrival(ticket, from));
                }
            }
        };
        let next = queue.order.peek().map(|Reverse((at, _))| *at);
        now = [next, blocked.until].into_iter().flatten().min().unwrap();
        if next.is_none_or(|next| next > now) {
            continue;
        }
        match queue.pop().unwrap().1 {
            Event::Arrival(ticket, from) => {
                let (observation, headers) = service.count(now);
                match observation {
                    Observation::Accepted => accepted += 1,
                    _ => throttled += 1,
                }
                queue.add(now + from, Event::Response(ticket, observation, headers));
            }
            Event::Response(ticket, observation, headers) => {
                controller.observe(ticket, observation, &headers, now);
                let snapshot = controller.snapshot(now);
                #[expect(clippy::float_cmp)]
                if trace && (snapshot.rate != rate || observation != Observation::Accepted) {
                    rate = snapshot.rate;
                    println!("{now:>12.3?} {rate:8.2}/s {observation:?}");
                }
            }
        }
    }
    let ends = shape.limits.iter().skip(1).map(|(since, _)| *since).chain([PERIOD.as_secs()]);
    let possible: f64 = shape
        .limits
        .iter()
        .zip(ends)
        .map(|((since, limit), end)| (end - since) as f64 * f64::from(*limit))
        .sum();
    Figures {
        goodput: f64::from(accepted) / possible,
        throttled,
        share: f64::from(throttled) / f64::from(accepted + throttled),
    }
}

#[test]
#[ignore = "prints a table"]
fn pace_table() {
    println!("limit        counter headers  retry  jitter | goodput min mean | 429s mean max | share max");
    for jitter in [Jitter::Low, Jitter::High] {
        for headers in [false, true] {
            for counter in [Counter::Window, Counter::Bucket] {
                for limits in [TWO, TEN, HUNDRED, CHANGING] {
                    for retry_after in [true, false] {
                        let shape = Shape { limits, counter, headers, retry_after, jitter };
                        let figures: Vec<_> = SEEDS.map(|seed| run(shape, seed, false)).collect();
                        let count = figures.len() as f64;
                        let mean = figures.iter().map(|figures| figures.goodput).sum::<f64>() / count;
                        let least = figures.iter().map(|figures| figures.goodput).fold(1.0, f64::min);
                        let throttled =
                            figures.iter().map(|figures| f64::from(figures.throttled)).sum::<f64>() / count;
                        let most = figures.iter().map(|figures| figures.throttled).max().unwrap();
                        let share = figures.iter().map(|figures| figures.share).fold(0.0, f64::max);
                        println!(
                            "{shape} | {:5.1} % {:5.1} % | {throttled:6.1} {most:5} | {:5.2} %",
                            least * 100.0,
                            mean * 100.0,
                            share * 100.0
                        );
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "prints a trace"]
fn trace() {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let limits = match var("LIMIT").as_str() {
        "2" => TWO,
        "10" => TEN,
        "100" => HUNDRED,
        _ => CHANGING,
    };
    let counter = if var("COUNTER") == "bucket" { Counter::Bucket } else { Counter::Window };
    let shape = Shape {
        limits,
        counter,
        headers: !var("HEADERS").is_empty(),
        retry_after: true,
        jitter: Jitter::Low,
    };
    println!("{:?}", run(shape, var("SEED").parse().unwrap_or(0), true));
}
