//! The client, and requests to operations without a type of their own.

use std::{fmt, sync::Arc};

use http::Method;
use url::Url;

use crate::call::{Call, Core, Operation};

/// A connection to the service, with its settings. Cloning it is cheap; clones share connections, limits and budgets.
#[derive(Clone)]
pub struct Client {
    pub(crate) core: Arc<Core>,
}

impl Client {
    /// The address that all paths are put behind.
    pub fn base_url(&self) -> &Url {
        &self.core.base_url
    }

    /// An operation that this version has no type for.
    ///
    /// `path` is relative to the base address, begins with `/`, and is sent as it is: write its parts with
    /// [`path_segment`](crate::path_segment). Add a [`query`](Call::query) or a [`json`](Call::json) body, and read the answer as
    /// `serde_json::Value` or as a type of your own with [`typed`](Call::typed).
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
    /// let domain = posthaste::path_segment("d91cd9bd-1176-453e-8fc1-35364d380206")?;
    /// let answer = client.request(http::Method::GET, format!("/domains/{domain}")).await?;
    /// println!("{}", answer["status"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It is retried as a typed call would be: a `POST` whose outcome is unknown never, except for `/emails` and `/emails/batch`, which
    /// carry an idempotency key here too.
    pub fn request(&self, method: Method, path: impl Into<String>) -> Call<serde_json::Value> {
        Call::new(&self.core, Operation::raw(method, path.into()))
    }
}

/// `Debug` names the address and nothing else.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base_url", &self.core.base_url.as_str()).finish_non_exhaustive()
    }
}
