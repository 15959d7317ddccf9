//! Log entries as the service returns them.

use serde_json::Value;

use crate::types::{LogId, Timestamp};

record! {
    /// An API request in the log (`SPEC.md`, API log entry).
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

    /// An API request in the log with its bodies. (The specification is silent on this record.)
    pub struct LogEntry: LogEntrySummary {
        /// The request body, if the service stored it.
        pub request_body: Option<Value>,
        /// The response body, if the service stored it.
        pub response_body: Option<Value>,
    }
}

items!(LogEntrySummary);
