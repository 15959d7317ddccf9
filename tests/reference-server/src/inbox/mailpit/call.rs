//! A request of Mailpit's API, as handlers receive it.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;

use crate::state::State;
use crate::state::tenant::Tenant;
use crate::wire::cancel::Cancellation;

/// A request, and the account that it is for.
pub(super) struct Call<'a> {
    pub(super) state: &'a State,
    pub(super) request: &'a Request<Bytes>,
    /// Not created by requests that only read.
    pub(super) tenant: Arc<Tenant>,
}

impl Call<'_> {
    /// A segment of the path, by index; empty if there are fewer.
    pub(super) fn segment(&self, index: usize) -> &str {
        segments(self.request.uri().path()).nth(index).unwrap_or_default()
    }

    pub(super) fn query(&self) -> &str {
        self.request.uri().query().unwrap_or_default()
    }

    pub(super) fn canceled(&self) -> Cancellation {
        Cancellation::of(self.request)
    }
}

/// The segments of a path. Slashes at its ends are ignored.
pub(super) fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.trim_matches('/').split('/')
}
