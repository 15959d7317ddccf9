//! The operations on the log.

use super::record::{LogEntry, LogEntrySummary};
use crate::{call::Call, client::List, types::LogId};

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
