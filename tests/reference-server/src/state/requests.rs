//! The last requests and their answers, for tests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;

use crate::lock::lock;

/// A request that arrived, and how it was answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// Which one it is, counted from 1 since the service started.
    pub number: u64,
    /// When it arrived, by the service's clock.
    pub received_at: Timestamp,
    /// GET, POST, …
    pub method: Method,
    /// As it arrived: percent-encoded, without the query.
    pub path: String,
    /// Without the `?`.
    pub query: Option<String>,
    /// All of them, credentials included.
    pub headers: HeaderMap,
    /// Empty if this exchange was larger than what is kept; see [`bodies_dropped`](Self::bodies_dropped).
    pub body: Bytes,
    /// The status of the answer.
    pub status: StatusCode,
    /// The headers of the answer.
    pub answer_headers: HeaderMap,
    /// The body of the answer.
    pub answer_body: Bytes,
    /// Both bodies were too large to be kept.
    pub bodies_dropped: bool,
}

impl RecordedRequest {
    fn size(&self) -> usize {
        self.body.len() + self.answer_body.len()
    }
}

/// A log that is bounded in number and in bytes of bodies.
#[derive(Debug)]
pub(crate) struct Requests {
    kept: Mutex<Kept>,
    most: usize,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Kept {
    requests: VecDeque<Arc<RecordedRequest>>,
    bytes: usize,
    counted: u64,
}

impl Requests {
    pub(crate) fn new(most: usize, most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), most, most_bytes }
    }

    pub(crate) fn record(&self, mut request: RecordedRequest) {
        if request.size() > self.most_bytes {
            request.body = Bytes::new();
            request.answer_body = Bytes::new();
            request.bodies_dropped = true;
        }
        let mut kept = lock(&self.kept);
        kept.bytes += request.size();
        kept.counted += 1;
        request.number = kept.counted;
        kept.requests.push_back(Arc::new(request));
        while kept.requests.len() > self.most || kept.bytes > self.most_bytes {
            let Some(oldest) = kept.requests.pop_front() else { break };
            kept.bytes -= oldest.size();
        }
    }

    /// Oldest first.
    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        self.shared().iter().map(|request| RecordedRequest::clone(request)).collect()
    }

    /// As [`all`](Self::all), without copying them.
    pub(crate) fn shared(&self) -> Vec<Arc<RecordedRequest>> {
        lock(&self.kept).requests.iter().cloned().collect()
    }

    /// The one with this number, if it is kept.
    pub(crate) fn get(&self, number: u64) -> Option<Arc<RecordedRequest>> {
        let kept = lock(&self.kept);
        let place = kept.requests.binary_search_by_key(&number, |request| request.number).ok()?;
        kept.requests.get(place).cloned()
    }

    pub(crate) fn clear(&self) {
        let mut kept = lock(&self.kept);
        kept.requests.clear();
        kept.bytes = 0;
    }
}
