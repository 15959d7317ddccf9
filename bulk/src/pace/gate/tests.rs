use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::join_all;
use tokio::time::timeout;

use super::{super::breaker::BreakerState, *};

const SECOND: Duration = Duration::from_secs(1);

fn gate(rate: f64) -> Gate {
    Gate::new(PaceOptions { start_rate: Some(rate), ..PaceOptions::default() })
}

async fn send(gate: &Gate, observation: Observation) {
    let mut permit = gate.acquire().await;
    permit.sending();
    permit.finish(observation, &HeaderMap::new());
}

#[tokio::test(start_paused = true)]
async fn permits_are_granted_in_order_at_the_rate() {
    let (gate, start, order) = (gate(10.0), Instant::now(), AtomicU32::new(0));
    let tasks = (0..30).map(|task| {
        let (gate, order) = (&gate, &order);
        async move {
            send(gate, Observation::Accepted).await;
            assert_eq!(order.fetch_add(1, Ordering::Relaxed), task);
        }
    });
    join_all(tasks).await;
    assert!((2_890..2_950).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn canceled_waits_and_unused_permits_leak_nothing() {
    let (gate, start) = (gate(2.0), Instant::now());
    for _ in 0..1_000 {
        drop(gate.acquire().await);
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    send(&gate, Observation::Accepted).await;
    let waits = (0..1_000).map(|_| timeout(Duration::from_millis(100), gate.acquire()));
    let waits = join_all(waits).await;
    assert!(waits.len() == 1_000 && waits.iter().all(Result::is_err));
    send(&gate, Observation::Accepted).await;
    assert!((500..505).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    assert_eq!(gate.snapshot().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_permit_dropped_after_sending_frees_its_place_and_keeps_its_slot() {
    let options = PaceOptions { start_rate: Some(2.0), concurrency: 1, ..PaceOptions::default() };
    let (gate, start) = (Gate::new(options), Instant::now());
    let mut permit = gate.acquire().await;
    permit.sending();
    assert_eq!(gate.snapshot().in_flight, 1);
    drop(permit);
    send(&gate, Observation::Accepted).await;
    assert!((500..505).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_finished_request_wakes_a_task_that_waits_for_concurrency() {
    let options = PaceOptions { start_rate: Some(100.0), concurrency: 1, ..PaceOptions::default() };
    let (gate, start) = (Gate::new(options), Instant::now());
    let permit = gate.acquire().await;
    let finish = async {
        sleep(SECOND).await;
        permit.finish(Observation::Accepted, &HeaderMap::new());
    };
    tokio::join!(finish, send(&gate, Observation::Accepted));
    assert_eq!(start.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_429_pauses_waiting_tasks_as_well() {
    let (gate, start) = (gate(10.0), Instant::now());
    let permit = gate.acquire().await;
    let throttle = async {
        sleep(Duration::from_millis(50)).await;
        permit.finish(Observation::Throttled { retry_after: Some(SECOND * 10) }, &HeaderMap::new());
    };
    tokio::join!(throttle, send(&gate, Observation::Accepted));
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(10_050) && elapsed < SECOND * 11, "{elapsed:?}");
    assert_eq!(gate.snapshot().throttled, 1);
}

#[tokio::test(start_paused = true)]
async fn unused_retries_return_to_the_budget() {
    let (gate, start) = (gate(10.0), Instant::now());
    for _ in 0..1_000 {
        drop(gate.retry_permit().await);
    }
    for _ in 0..100 {
        assert!(timeout(Duration::ZERO, async { drop(gate.retry_permit().await) }).await.is_ok());
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn retries_wait_for_the_budget_while_first_attempts_pass() {
    let gate = gate(1_000.0);
    for _ in 0..100 {
        gate.retry_permit().await.finish(Observation::Other, &HeaderMap::new());
    }
    // Each request itself added a tenth of a retry.
    let mut more = 0;
    while let Ok(permit) = timeout(Duration::from_millis(500), gate.retry_permit()).await {
        permit.finish(Observation::Other, &HeaderMap::new());
        more += 1;
    }
    assert!((9..=13).contains(&more), "{more}");
    let start = Instant::now();
    let retry = async {
        gate.retry_permit().await.finish(Observation::Other, &HeaderMap::new());
        start.elapsed()
    };
    let first = async {
        send(&gate, Observation::Accepted).await;
        start.elapsed()
    };
    let (retry, first) = tokio::join!(retry, first);
    assert!(first < SECOND && retry > SECOND, "{first:?}, {retry:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_trial_does_not_block_the_job() {
    let (gate, start) = (gate(100.0), Instant::now());
    for _ in 0..20 {
        send(&gate, Observation::Unreachable).await;
    }
    let trial = gate.acquire().await;
    assert_eq!(gate.snapshot().breaker, BreakerState::HalfOpen);
    let release = async {
        sleep(SECOND).await;
        drop(trial);
    };
    tokio::join!(release, send(&gate, Observation::Accepted));
    assert_eq!(gate.snapshot().breaker, BreakerState::Closed);
    assert!(start.elapsed() < SECOND * 32, "{:?}", start.elapsed());
}
