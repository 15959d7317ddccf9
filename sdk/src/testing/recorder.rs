//! A transport that records the exchanges of another one.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream;
use http::{Method, Response, header::AUTHORIZATION};

use super::recording::{Expected, Recording};
use crate::transport::{BoxFuture, ResponseBody, Transport, TransportError, TransportRequest};

/// Records the exchanges of another transport, such as [`ReqwestTransport`](crate::transport::ReqwestTransport). Clones share the recording.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use idempost::{Client, testing::Recorder, transport::ReqwestTransport};
///
/// let recorder = Recorder::new(ReqwestTransport::default());
/// let client = Client::builder().base_url("http://127.0.0.1:4010").api_key("sb_test").transport(recorder.clone()).build()?;
/// client.domains().list().await?;
/// recorder.recording().save("tests/domains.json")?;
/// # Ok(())
/// # }
/// ```
pub struct Recorder<T> {
    transport: Arc<T>,
    recording: Arc<Mutex<Recording>>,
}

impl<T: Transport> Recorder<T> {
    /// Creates a recorder without exchanges.
    pub fn new(transport: T) -> Self {
        Self { transport: Arc::new(transport), recording: Arc::default() }
    }

    /// Returns the complete exchanges, in order of completion.
    pub fn recording(&self) -> Recording {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn record(&self, add: impl FnOnce(&mut Recording)) {
        add(&mut self.recording.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl<T> Clone for Recorder<T> {
    fn clone(&self) -> Self {
        Self { transport: Arc::clone(&self.transport), recording: Arc::clone(&self.recording) }
    }
}

partial_debug!(Recorder<T> = "Recorder");

impl<T: Transport> Transport for Recorder<T> {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let sent = Expected::from_transport(&request);
            // Besides downloads, only discovery is a `GET` without a credential.
            let is_file = request.method == Method::GET && !request.headers.contains_key(AUTHORIZATION);
            let response = match self.transport.send(request).await {
                Ok(response) => response,
                Err(error) => {
                    self.record(|recording| recording.push_failure(sent, &error));
                    return Err(error);
                }
            };
            let (head, body) = response.into_parts();
            let body = body.collect(usize::MAX, None).await;
            let response = Response::from_parts(head, body.bytes);
            let cut = body.missing.as_ref().map(TransportError::kind);
            self.record(|recording| recording.push_response(sent, &response, cut, is_file));
            Ok(response.map(|bytes: Bytes| match body.missing {
                None => ResponseBody::from(bytes),
                Some(error) => ResponseBody::stream(stream::iter([Ok(bytes), Err(error)])),
            }))
        })
    }
}
