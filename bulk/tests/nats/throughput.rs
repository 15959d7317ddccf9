//! A measurement: batches per second with three workers, a service that responds immediately, and a server that syncs each record.
//!
//! `cargo test -p idempost-bulk --features nats --test nats throughput -- --ignored --nocapture`

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{
    job::{distribute, finished, planned, workers},
    server::Server,
    service::{Action, Service},
};

const BATCHES: usize = 10_000;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn throughput_of_three_workers() {
    let server = Server::start();
    let service = Service::with(|_, _| Action::Accept(Duration::ZERO));
    let folder = tempfile::tempdir().expect("a folder");
    let job = planned(folder.path(), &service.client(), BATCHES).await;
    let _workers = workers(&server, &service, &job, folder.path(), 3).await;
    let run = distribute(&server, &job).await;
    let watched = service.clone();
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
    finished(run).await;
    let seconds = started.elapsed().as_secs_f64();
    let peak = watch.await.expect("counted");
    service.assert_delivered_once(BATCHES);
    println!(
        "{BATCHES} batches in {seconds:.1} s, {peak} in the best second, {} repeated",
        service.repeated()
    );
}
