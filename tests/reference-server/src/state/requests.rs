//! The most recent requests and responses, for tests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use jiff::Timestamp;

use crate::lock::lock;
use crate::store::size;

/// A request and its response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedRequest {
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
    /// All headers, credentials included; empty if the exchange exceeded the limit even without its bodies.
    pub headers: HeaderMap,
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
    pub answer_headers: HeaderMap,
    /// The body of the response.
    pub answer_body: Bytes,
    /// Both bodies exceeded the limit and were dropped.
    pub bodies_dropped: bool,
}

impl RecordedRequest {
    fn size(&self) -> usize {
        let heap = size::heap(&(&self.path, &self.query, &self.body, &self.answer_body));
        size::row::<Self>(heap + size::headers(&self.headers) + size::headers(&self.answer_headers))
    }

    /// Drops what exceeds `max_bytes`: the bodies, then the headers, then the path and query. Returns the size in bytes.
    fn shorten(&mut self, max_bytes: usize) -> usize {
        let mut size = self.size();
        if size > max_bytes {
            (self.body, self.answer_body) = (Bytes::new(), Bytes::new());
            self.bodies_dropped = true;
            size = self.size();
        }
        if size > max_bytes {
            (self.headers, self.answer_headers) = (HeaderMap::new(), HeaderMap::new());
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
    requests: VecDeque<(usize, Arc<RecordedRequest>)>,
    bytes: usize,
    counted: u64,
}

impl Requests {
    pub fn new(max_count: usize, max_bytes: usize) -> Self {
        Self { entries: Mutex::default(), max_count, max_bytes }
    }

    pub fn record(&self, mut request: RecordedRequest) {
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
        self.shared().iter().map(|request| RecordedRequest::clone(request)).collect()
    }

    /// Like [`all`](Self::all), without copying.
    pub fn shared(&self) -> Vec<Arc<RecordedRequest>> {
        lock(&self.entries).requests.iter().map(|(_, request)| Arc::clone(request)).collect()
    }

    /// Finds the request with this number, unless it was evicted.
    pub fn get(&self, number: u64) -> Option<Arc<RecordedRequest>> {
        let entries = lock(&self.entries);
        let index = entries.requests.binary_search_by_key(&number, |(_, request)| request.number).ok()?;
        entries.requests.get(index).map(|(_, request)| Arc::clone(request))
    }

    pub fn clear(&self) {
        let mut entries = lock(&self.entries);
        entries.requests.clear();
        entries.bytes = 0;
    }
}

/// Copies headers into one shared allocation. The values of a connection are slices of its read buffer, which they would retain entirely.
pub fn packed(headers: &HeaderMap) -> HeaderMap {
    let mut text = Vec::with_capacity(headers.values().map(HeaderValue::len).sum());
    headers.values().for_each(|value| text.extend_from_slice(value.as_bytes()));
    let mut text = Bytes::from(text);
    let mut copied = headers.clone();
    for value in copied.values_mut() {
        let text = text.split_to(value.len());
        // It is copied from a valid value.
        if let Ok(mut packed) = HeaderValue::from_maybe_shared(text) {
            packed.set_sensitive(value.is_sensitive());
            *value = packed;
        }
    }
    copied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_headers_keep_their_values_and_order() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("b", "1"), ("cookie", "x"), ("b", ""), ("a", "22"), ("cookie", "yy"), ("b", "3")]
        {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers.get_mut("a").expect("it was added").set_sensitive(true);
        let packed = packed(&headers);
        assert!(packed.iter().eq(headers.iter()), "{packed:?}");
        assert!(packed["a"].is_sensitive() && !packed["b"].is_sensitive());
        assert_eq!(super::packed(&HeaderMap::new()), HeaderMap::new());
    }
}
