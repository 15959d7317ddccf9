//! Jobs over a cluster of three servers, each of which can be killed.

use std::time::{Duration, Instant};

use idempost_bulk::{
    DistributeOptions, Job, Run,
    queue::{NatsJob, NatsQueue, QueueOptions, Storage},
    worker::{Worker, WorkerOptions},
};
use idempost_needs::needs;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tokio::time::{sleep, timeout};

use super::{
    job::{MAX_WAIT, finished, planned, planned_at, until},
    server::{Server, free_port},
    service::{Action, Service},
};

/// Three servers that store each record together.
struct Cluster(Vec<Server>);

impl Cluster {
    async fn start() -> Self {
        // Another process can take a port between the search for a free one and the start.
        let cluster = Self((0..5).find_map(|_| Self::try_start()).expect("the servers start"));
        // The servers elect a leader first.
        let ready = async {
            while cluster.job("ready", 3).await.restore("a1").await.is_err() {
                sleep(Duration::from_millis(200)).await;
            }
        };
        timeout(MAX_WAIT, ready).await.expect("the servers elect a leader");
        cluster
    }

    fn try_start() -> Option<Vec<Server>> {
        let ports = [0; 3].map(|_| free_port());
        let routes = ports.map(|port| format!("nats-route://127.0.0.1:{port}")).join(", ");
        let servers = ports.iter().enumerate().map(|(index, port)| {
            let settings = format!(
                "server_name: s{index}\ncluster {{ name: bulk, listen: 127.0.0.1:{port}, routes: [{routes}] }}"
            );
            Server::try_start("sync_interval: always", &settings)
        });
        servers.collect()
    }

    async fn job(&self, name: &str, replicas: usize) -> NatsJob {
        let addresses: Vec<String> = self.0.iter().map(Server::address).collect();
        let options = QueueOptions::new(&addresses.join(",")).and_then(|options| options.replicas(replicas));
        let options = options.expect("valid options").lease(Duration::from_secs(2));
        NatsQueue::connect(options).await.expect("a connection").job(name).expect("a valid name")
    }

    async fn distribute(&self, job: &Job, service: &Service) -> Run {
        let queue = self.job(job.plan().id(), 3).await;
        job.distribute(&service.client(), queue, DistributeOptions::default()).expect("no invalid rows")
    }
}

#[needs("nats-server")]
#[tokio::test]
async fn the_replicas_of_a_queue_are_raised_where_the_servers_allow_it() {
    let cluster = Cluster::start().await;
    let context = cluster.0[0].jetstream().await;
    for stream in
        ["BULK_JOBS", "BULK_INTENTS", "BULK_RESULTS", "KV_bulk_control", "KV_bulk_rate", "OBJ_bulk_files"]
    {
        let mut config = context.get_stream(stream).await.expect("the stream").cached_info().config.clone();
        assert_eq!(config.num_replicas, 3, "{stream}");
        config.num_replicas = 1;
        context.update_stream(config).await.expect("lowered");
    }
    // The default of one replica keeps the existing number.
    cluster.job("job", 1).await.restore("a1").await.expect("restored");
    assert_eq!(replicas(&context).await, [1; 4]);
    cluster.job("job", 3).await.restore("a1").await.expect("restored");
    assert_eq!(replicas(&context).await, [3; 4]);
    cluster.job("job", 1).await.restore("a1").await.expect("restored");
    assert_eq!(replicas(&context).await, [3; 4]);
}

async fn replicas(context: &async_nats::jetstream::Context) -> [usize; 4] {
    let mut found = [0; 4];
    let streams = ["BULK_JOBS", "BULK_RESULTS", "KV_bulk_control", "OBJ_bulk_files"];
    for (replicas, stream) in found.iter_mut().zip(streams) {
        let stream = context.get_stream(stream).await.expect("the stream");
        *replicas = stream.cached_info().config.num_replicas;
    }
    found
}

#[needs("nats-server")]
#[tokio::test]
async fn workers_join_while_the_leader_changes() {
    let (mut cluster, service) = (Cluster::start().await, Service::new());
    let folder = tempfile::tempdir().expect("a folder");
    let job = planned(folder.path(), &service.client(), 100).await;
    let run = cluster.distribute(&job, &service).await;
    let start = |queue, name: &str| {
        Worker::start(queue, &service.client(), folder.path().join(name), WorkerOptions::default())
    };
    let mut workers = Vec::new();
    for server in 0..3 {
        let queue = cluster.job(job.plan().id(), 3).await;
        cluster.0[server].kill();
        workers.push(start(queue, &format!("cache-{server}")));
        sleep(Duration::from_millis(300)).await;
        cluster.0[server].restart();
    }
    assert_eq!(finished(run).await.counts.sent, 100);
    service.assert_delivered_once(100);
    for worker in workers {
        worker.finish().await.expect("it stays until the job is finished");
    }
}

/// Kills servers, workers and coordinators of two jobs at random, for `IDEMPOST_SOAK_MINUTES` (1 by default).
///
/// `cargo test -p idempost-bulk --features nats --test nats random_kills -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn two_jobs_survive_random_kills_of_servers_workers_and_coordinators() {
    let minutes = std::env::var("IDEMPOST_SOAK_MINUTES").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (mut cluster, mut random) = (Cluster::start().await, StdRng::seed_from_u64(7));
    let service = Service::with(|n, _| {
        if n % 50 == 7 { Action::FailAfter } else { Action::Accept(Duration::from_millis(20)) }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let mut jobs = Vec::new();
    for name in ["one", "two"] {
        let home = folder.path().join(name);
        std::fs::create_dir(&home).expect("a folder");
        jobs.push(planned_at(&home, &service.client(), name, 2_000 * minutes).await);
    }
    let mut coordinators = Vec::new();
    for job in &jobs {
        coordinators.push(cluster.distribute(job, &service).await);
    }
    let (end, mut kills, mut caches) = (Instant::now() + Duration::from_secs(60 * minutes as u64), 0, 0);
    let mut workers: Vec<Worker> = Vec::new();
    // The jobs of the coordinators.
    let mut order = vec![0, 1];
    while Instant::now() < end {
        while workers.len() < 6 {
            let queue = cluster.job(jobs[caches % 2].plan().id(), 3).await;
            let cache = folder.path().join(format!("cache-{caches}"));
            caches += 1;
            workers.push(Worker::start(queue, &service.client(), cache, WorkerOptions::default()));
        }
        sleep(Duration::from_millis(random.gen_range(500..3_000))).await;
        kills += 1;
        match random.gen_range(0..3) {
            0 => {
                let server = random.gen_range(0..3);
                cluster.0[server].kill();
                sleep(Duration::from_millis(random.gen_range(100..2_000))).await;
                cluster.0[server].restart();
            }
            1 => workers.swap_remove(random.gen_range(0..workers.len())).abort(),
            _ => {
                let index = random.gen_range(0..2);
                let killed = coordinators.remove(index);
                killed.abort();
                // The next one needs its lock.
                let _ = killed.finish().await;
                coordinators.push(cluster.distribute(&jobs[order[index]], &service).await);
                let moved = order.remove(index);
                order.push(moved);
            }
        }
    }
    for (index, job) in jobs.iter().enumerate() {
        let queue = cluster.job(job.plan().id(), 3).await;
        let cache = folder.path().join(format!("last-{index}"));
        workers.push(Worker::start(queue, &service.client(), cache, WorkerOptions::default()));
    }
    for run in coordinators {
        let report = finished(run).await;
        assert_eq!((report.counts.unknown, report.counts.rejected), (0, 0), "{report:?}");
    }
    until(|| service.delivered() == 4_000 * minutes).await;
    service.assert_delivered_once(4_000 * minutes);
    println!("{kills} kills, {} requests, {} repeated", service.requests(), service.repeated());
}
