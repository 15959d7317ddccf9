//! The service's log of API requests.

use serde_json::Value;

use crate::{
    call::Call,
    client::List,
    types::{LogId, Timestamp},
};

record! {
    /// An API request in the log (`docs/specification.md`, API log entry).
    pub struct LogEntrySummary {
        /// The entry's ID.
        pub id: LogId,
        /// When the service responded.
        pub created_at: Timestamp,
        /// The path of the request.
        pub endpoint: String,
        /// The HTTP method.
        pub method: String,
        /// The HTTP status of the response.
        pub response_status: Option<u16>,
        /// The client's `User-Agent` header.
        pub user_agent: Option<String>,
    }

    /// An API request in the log with its bodies. (The specification doesn't define this record.)
    pub struct LogEntry: LogEntrySummary {
        /// The request body, if the service stored it.
        pub request_body: Option<Value>,
        /// The response body, if the service stored it.
        pub response_body: Option<Value>,
    }
}

items!(LogEntrySummary);

operations! {
    /// The operations on the log of API requests: [`Client::logs`](crate::Client::logs).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// for request in client.logs().list().page_size(10).await?.data {
    ///     println!("{} {}: {:?}", request.method, request.endpoint, request.response_status);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub struct Logs;

    /// Returns the operations on the service's log of API requests.
    accessor logs;

    /// Lists API requests, newest first: `GET /logs`, 20 per page by default.
    fn list() -> List<LogEntrySummary> = GET["/logs"];

    /// Gets an API request with its bodies: `GET /logs/{log_id}`.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client, id: idempost::LogId) -> idempost::Result<()> {
    /// let request = client.logs().get(id).await?;
    /// println!("{} returned {:?}", request.endpoint, request.response_body);
    /// # Ok(())
    /// # }
    /// ```
    fn get(id: LogId) -> Call<LogEntry> = GET["/logs/" id];
}
