//! The parsers of the SDK: responses, webhook deliveries, and emails as JSON.

pub(crate) mod answers;
pub(crate) mod emails;
pub(crate) mod transport;
pub(crate) mod webhooks;
