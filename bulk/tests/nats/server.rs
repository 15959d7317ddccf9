//! A real NATS server with its own store.

use std::{
    env, fs,
    io::{self, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use async_nats::jetstream;
use idempost_bulk::queue::{NatsJob, NatsQueue, QueueOptions};
use rand::Rng as _;
use tempfile::TempDir;

/// How long a server may take to start.
const START: Duration = Duration::from_secs(30);

/// A running server. It is killed when this value is dropped.
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    monitoring: u16,
    child: Child,
    lease: Duration,
}

impl Server {
    /// Starts a server that syncs each record to disk.
    pub(crate) fn start() -> Self {
        Self::start_with("sync_interval: always", "")
    }

    /// Starts a server with these settings in the `jetstream` section and at the top level.
    pub(crate) fn start_with(jetstream: &str, settings: &str) -> Self {
        // Another process can take a port between the search for a free one and the start.
        (0..5).find_map(|_| Self::try_start(jetstream, settings)).expect("the server starts")
    }

    /// Starts a server; `None` if one of its ports is taken.
    pub(crate) fn try_start(jetstream: &str, settings: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let (port, monitoring) = (free_port(), free_port());
        let store = folder.path().join("store");
        let config = format!(
            "listen: 127.0.0.1:{port}\nhttp: 127.0.0.1:{monitoring}\njetstream {{ store_dir: {store:?}, {jetstream} }}\n{settings}\n",
        );
        fs::write(folder.path().join("nats.conf"), config).expect("a configuration file");
        let child = spawn(&folder.path().join("nats.conf"), port)?;
        Some(Self { folder, port, monitoring, child, lease: Duration::from_secs(1) })
    }

    /// The leases of its jobs last this long, so that a pause of the machine ends none.
    pub(crate) fn leasing(mut self, seconds: u64) -> Self {
        self.lease = Duration::from_secs(seconds);
        self
    }

    pub(crate) fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn options(&self) -> QueueOptions {
        QueueOptions::new(&self.address())
            .and_then(|options| options.monitoring(&format!("http://127.0.0.1:{}", self.monitoring)))
            .expect("valid options")
    }

    pub(crate) async fn connect(&self) -> NatsQueue {
        NatsQueue::connect(self.options()).await.expect("a connection")
    }

    pub(crate) async fn jetstream(&self) -> jetstream::Context {
        jetstream::new(async_nats::connect(self.address()).await.expect("connected"))
    }

    /// A job. Its leases last a second by default, so that lost workers are noticed soon.
    pub(crate) async fn job(&self, name: &str) -> NatsJob {
        let options = self.options().lease(self.lease);
        NatsQueue::connect(options).await.expect("a connection").job(name).expect("a valid name")
    }

    /// The number of messages that the server has received.
    pub(crate) fn messages(&self) -> u64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.monitoring)).expect("a monitoring address");
        stream.write_all(b"GET /varz HTTP/1.0\r\n\r\n").expect("requested");
        let response = io::read_to_string(stream).expect("a response");
        let (_, body) = response.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str::<serde_json::Value>(body).expect("JSON")["in_msgs"].as_u64().expect("a number")
    }

    /// Kills the server with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a running server");
        self.child.wait().expect("a killed server");
    }

    /// Starts the server again, with the same addresses and the same store.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(&self.folder.path().join("nats.conf"), self.port).expect("the server starts");
    }

    /// Kills the server, deletes everything that it has stored, and starts it again.
    pub(crate) fn lose_store(&mut self) {
        self.kill();
        fs::remove_dir_all(self.store()).expect("a store");
        self.restart();
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed by the test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server. `None` if it exits immediately.
fn spawn(config: &Path, port: u16) -> Option<Child> {
    let program = env::var_os("NATS_SERVER").unwrap_or_else(|| "nats-server".into());
    let mut child = Command::new(program)
        .arg("--config")
        .arg(config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts");
    let deadline = Instant::now() + START;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if child.try_wait().expect("a child").is_some() {
            return None;
        }
        assert!(Instant::now() < deadline, "the server doesn't listen");
        thread::sleep(Duration::from_millis(10));
    }
    Some(child)
}

/// A free port below those that the system gives to connections, so that none takes it while a server restarts.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = rand::thread_rng().gen_range(15_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
