//! A measurement: batches per second with three workers, a service that responds immediately, and a server that syncs each record.
//!
//! `cargo test -p idempost-bulk --features nats --test nats throughput -- --ignored --nocapture`

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{
    job::Fixture,
    server::Server,
    service::{Action, Service},
};

const BATCHES: usize = 10_000;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn throughput_of_three_workers() {
    let service = Service::with(|_, _| Action::Accept(Duration::ZERO));
    let fixture = Fixture::new(Server::start(), service, BATCHES).await;
    let _workers = fixture.workers(3).await;
    let run = fixture.distribute().await;
    let watched = fixture.service.clone();
    let watch = tokio::spawn(async move {
        let (mut before, mut peak) = (0, 0);
        loop {
            sleep(Duration::from_secs(1)).await;
            let delivered = watched.delivered();
            println!("{} batches/s", delivered - before);
            peak = peak.max(delivered - before);
            before = delivered;
            if delivered == BATCHES {
                return peak;
            }
        }
    });
    let started = Instant::now();
    fixture.assert_all_sent(run, BATCHES).await;
    let seconds = started.elapsed().as_secs_f64();
    let peak = watch.await.expect("counted");
    println!(
        "{BATCHES} batches in {seconds:.1} s, {peak} in the best second, {} repeated",
        fixture.service.repeated()
    );
}
