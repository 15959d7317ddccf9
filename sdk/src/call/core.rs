//! The state shared by all clones of a client.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use url::Url;

use super::{
    limiter::Limiter,
    retry::{Budget, RetryPolicy},
};
use crate::{auth::Credentials, transport::Transport, types::RecipientGuard};

pub(crate) struct Core {
    pub(crate) base_url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) credentials: Credentials,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) idle_timeout: Duration,
    pub(crate) response_limit: usize,
    pub(crate) retry: RetryPolicy,
    pub(crate) budget: Budget,
    pub(crate) limiter: Limiter,
    pub(crate) recipients: RecipientGuard,
    #[cfg(feature = "otel")]
    pub(crate) metrics: super::otel::Metrics,
}
