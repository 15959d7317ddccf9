//! reqwest clients, each with a connection pool that is discarded once a connection stalls.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::runtime::{Handle, Id};

/// The clients of one kind with their connection pools: one per runtime, since a connection is driven by the runtime that opened it.
///
/// Over HTTP/2, all requests share a connection, and reqwest keeps a connection that answers pings, whether or not it answers requests. Dropping the
/// client is the only way to drop its connections.
#[derive(Clone, Default)]
pub(super) struct Pool {
    clients: Arc<Mutex<VecDeque<Arc<Client>>>>,
}

/// The number of runtimes whose clients are kept; a program rarely has more than two.
const RUNTIMES: usize = 4;

struct Client {
    runtime: Option<Id>,
    http: reqwest::Client,
    /// The number of responses received and failed connections.
    responses: AtomicUsize,
}

impl Pool {
    /// Returns the current client. It is built for the first request that needs it, since loading the system's certificates takes longer than
    /// starting a small program.
    pub(super) fn get(
        &self,
        build: impl FnOnce() -> reqwest::Result<reqwest::Client>,
    ) -> reqwest::Result<Pooled> {
        let runtime = Handle::try_current().ok().map(|runtime| runtime.id());
        let of_runtime = |clients: &VecDeque<Arc<Client>>| {
            clients.iter().find(|client| client.runtime == runtime).map(Arc::clone)
        };
        let found = of_runtime(&self.lock());
        let client = if let Some(client) = found {
            client
        } else {
            let new = Client::new(runtime, build()?);
            let mut clients = self.lock();
            of_runtime(&clients).unwrap_or_else(|| {
                clients.truncate(RUNTIMES - 1);
                clients.push_front(Arc::clone(&new));
                new
            })
        };
        Ok(Pooled { client, pool: Some(self.clone()) })
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    fn new(runtime: Option<Id>, client: reqwest::Client) -> Arc<Self> {
        Arc::new(Self { runtime, http: client, responses: AtomicUsize::new(0) })
    }
}

/// A request's client, and the pool to which it belongs.
#[derive(Clone)]
pub(super) struct Pooled {
    client: Arc<Client>,
    /// `None` for a client built by the application, which can't be replaced.
    pool: Option<Pool>,
}

impl Pooled {
    pub(super) fn from_client(client: reqwest::Client) -> Self {
        Self { client: Client::new(None, client), pool: None }
    }

    pub(super) fn client(&self) -> &reqwest::Client {
        &self.client.http
    }

    /// Keeps other requests from using this client's connections.
    pub(super) fn abandon(&self) {
        if let Some(pool) = &self.pool {
            pool.lock().retain(|client| !Arc::ptr_eq(client, &self.client));
        }
    }
}

/// A request waiting for its response. If it is dropped before this or another response to its client has arrived, the connection may have stalled.
pub(super) struct Unanswered<'a> {
    pooled: &'a Pooled,
    before: usize,
}

impl<'a> Unanswered<'a> {
    pub(super) fn new(pooled: &'a Pooled) -> Self {
        Self { pooled, before: pooled.client.responses.load(Ordering::Relaxed) }
    }

    /// Records that the connection has responded or is closed.
    pub(super) fn finish(self) {
        self.pooled.client.responses.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if self.pooled.client.responses.load(Ordering::Relaxed) == self.before {
            self.pooled.abandon();
        }
    }
}

partial_debug!(Pool = "Pool");
