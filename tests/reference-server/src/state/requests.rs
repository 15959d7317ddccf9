//! The most recent requests and responses, for tests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;

use crate::lock::lock;
use crate::store::packed_headers::PackedHeaders;
use crate::store::size;

/// A request and its response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedRequest<Headers = HeaderMap> {
    /// The request's number, from 1 since the service started.
    pub number: u64,
    /// The time of arrival, by the service's clock.
    pub received_at: Timestamp,
    /// GET, POST, …
    pub method: Method,
    /// The path as received: percent-encoded, without the query.
    pub path: String,
    /// The query, without the `?`.
    pub query: Option<String>,
    /// The account of its credential, which may have become invalid since; `None` without a valid one.
    pub(crate) account: Option<String>,
    /// All headers, credentials included; empty if the exchange exceeded the limit even without its bodies.
    pub headers: Headers,
    /// Empty if the exchange exceeded the limit; see [`bodies_dropped`](Self::bodies_dropped).
    pub body: Bytes,
    /// The processing time, in real time, not by the service's clock: from the complete request to the complete response, in memory. It excludes
    /// reading and writing over a connection, and a scripted [`delay`](Self::delay).
    pub duration: Duration,
    /// The additional delay of a scripted fault; zero without one.
    pub delay: Duration,
    /// The status of the response.
    pub status: StatusCode,
    /// The headers of the response.
    pub answer_headers: Headers,
    /// The body of the response.
    pub answer_body: Bytes,
    /// Both bodies exceeded the limit and were dropped.
    pub bodies_dropped: bool,
}

/// A stored request, whose headers take a third of the memory of header maps.
pub type KeptRequest = RecordedRequest<PackedHeaders>;

impl KeptRequest {
    /// Whether an account may see the request: its own, or one without a valid credential, to find out why it failed.
    #[doc(hidden)]
    pub fn is_shown_to(&self, account: &str) -> bool {
        self.account.as_deref().is_none_or(|owner| owner == account)
    }

    fn size(&self) -> usize {
        let heap = size::heap(&(&self.path, &self.query, &self.account, &self.body, &self.answer_body));
        size::row::<Self>(heap + self.headers.heap_size() + self.answer_headers.heap_size())
    }

    /// The same for listeners and tests.
    pub(crate) fn to_recorded(&self) -> RecordedRequest {
        RecordedRequest {
            number: self.number,
            received_at: self.received_at,
            method: self.method.clone(),
            path: self.path.clone(),
            query: self.query.clone(),
            account: self.account.clone(),
            headers: self.headers.to_map(),
            body: self.body.clone(),
            duration: self.duration,
            delay: self.delay,
            status: self.status,
            answer_headers: self.answer_headers.to_map(),
            answer_body: self.answer_body.clone(),
            bodies_dropped: self.bodies_dropped,
        }
    }

    /// Drops the bodies, then the headers, then the path and query, until the request fits into `max_bytes`. Returns the size in bytes.
    fn shorten(&mut self, max_bytes: usize) -> usize {
        let mut size = self.size();
        if size > max_bytes {
            (self.body, self.answer_body) = (Bytes::new(), Bytes::new());
            self.bodies_dropped = true;
            size = self.size();
        }
        if size > max_bytes {
            (self.headers, self.answer_headers) = (PackedHeaders::default(), PackedHeaders::default());
            size = self.size();
        }
        if size > max_bytes {
            (self.path, self.query) = (String::new(), None);
            size = self.size();
        }
        size
    }
}

/// A log that is bounded in number and in bytes.
#[derive(Debug)]
pub struct Requests {
    entries: Mutex<Entries>,
    max_count: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Entries {
    /// The requests, each with its size in bytes.
    requests: VecDeque<(usize, Arc<KeptRequest>)>,
    bytes: usize,
    counted: u64,
}

impl Requests {
    pub fn new(max_count: usize, max_bytes: usize) -> Self {
        Self { entries: Mutex::default(), max_count, max_bytes }
    }

    pub fn record(&self, mut request: KeptRequest) {
        let size = request.shorten(self.max_bytes);
        let mut entries = lock(&self.entries);
        entries.bytes += size;
        entries.counted += 1;
        request.number = entries.counted;
        entries.requests.push_back((size, Arc::new(request)));
        while entries.requests.len() > self.max_count || entries.bytes > self.max_bytes {
            let Some((size, _)) = entries.requests.pop_front() else { break };
            entries.bytes -= size;
        }
    }

    /// Oldest first.
    pub fn all(&self) -> Vec<RecordedRequest> {
        self.shared().iter().map(|request| request.to_recorded()).collect()
    }

    /// Like [`all`](Self::all), without copying.
    pub fn shared(&self) -> Vec<Arc<KeptRequest>> {
        lock(&self.entries).requests.iter().map(|(_, request)| Arc::clone(request)).collect()
    }

    /// Finds the request with this number, unless it was evicted.
    pub fn get(&self, number: u64) -> Option<Arc<KeptRequest>> {
        let entries = lock(&self.entries);
        let index = entries.requests.binary_search_by_key(&number, |(_, request)| request.number).ok()?;
        entries.requests.get(index).map(|(_, request)| Arc::clone(request))
    }

    /// Removes the requests of an account.
    pub fn remove_account(&self, name: &str) {
        let mut entries = lock(&self.entries);
        entries.requests.retain(|(_, request)| request.account.as_deref() != Some(name));
        entries.bytes = entries.requests.iter().map(|(size, _)| size).sum();
    }

    pub fn clear(&self) {
        let mut entries = lock(&self.entries);
        entries.requests.clear();
        entries.bytes = 0;
    }
}
