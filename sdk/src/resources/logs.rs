//! The log of API requests that the service keeps.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    call::{Call, Operation},
    client::{Client, Item, List},
    types::{LogId, Timestamp},
};

/// One request that the service has answered (`SPEC.md`, API log entry).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogEntry {
    /// The entry's id.
    pub id: LogId,
    /// When the request was answered.
    pub created_at: Timestamp,
    /// The path that was asked for.
    pub endpoint: String,
    /// The HTTP method.
    pub method: String,
    /// The status of the answer.
    pub response_status: u16,
    /// What the client said of itself.
    #[serde(default)]
    pub user_agent: Option<String>,
}

impl Item for LogEntry {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// One request with its bodies. (The specification is silent on this record.)
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogRecord {
    /// What the list says of it.
    #[serde(flatten)]
    pub entry: LogEntry,
    /// What was asked, if the service has kept it.
    #[serde(default)]
    pub request_body: Option<Value>,
    /// What was answered, if the service has kept it.
    #[serde(default)]
    pub response_body: Option<Value>,
}

/// The log's operations: [`Client::logs`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// for request in client.logs().list().limit(10).await?.data {
///     println!("{} {}: {}", request.method, request.endpoint, request.response_status);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Logs<'a> {
    client: &'a Client,
}

impl Client {
    /// The service's log of API requests.
    pub fn logs(&self) -> Logs<'_> {
        Logs { client: self }
    }
}

impl Logs<'_> {
    /// The requests, newest first: `GET /logs`, 20 a page unless a limit is given.
    pub fn list(&self) -> List<LogEntry> {
        List::new(self.client, Operation::get("logs.list", "/logs"))
    }

    /// One request with its bodies: `GET /logs/{log_id}`.
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client, id: posthaste::LogId) -> posthaste::Result<()> {
    /// let request = client.logs().get(id).await?;
    /// println!("{} answered {:?}", request.entry.endpoint, request.response_body);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get(&self, id: impl Into<LogId>) -> Call<LogRecord> {
        Call::new(&self.client.core, Operation::on("logs.get", Method::GET, "/logs/", id.into().as_str(), ""))
    }
}
