//! The client, and requests to operations without a typed method.

use std::sync::Arc;

use http::Method;
use url::Url;

use crate::{
    call::{Call, Core, Operation},
    error::Result,
    types::RecipientGuard,
};

/// An HTTP client for the service. Cloning is cheap; clones share connections, rate limiter and retry budget.
#[derive(Clone)]
pub struct Client {
    pub(crate) core: Arc<Core>,
}

impl Client {
    /// Returns the base URL.
    pub fn base_url(&self) -> &Url {
        &self.core.base_url
    }

    /// Returns the guard that restricts the recipients.
    pub fn recipient_guard(&self) -> &RecipientGuard {
        &self.core.recipients
    }

    /// Returns a fingerprint of the credential's account: 32 hexadecimal digits, a hash keyed with `salt`. A program can store it with unfinished
    /// work, together with a random salt of at least 16 bytes, to continue that work only from the same account. The fingerprint reveals neither the
    /// credential nor the account, and fingerprints with different salts can't be compared.
    ///
    /// An access token is identified by its subject (the claim `sub` of RFC 9068), which a refresh or another login doesn't change. An API key
    /// doesn't identify its account, so the key itself is fingerprinted: another key of the same account has a different fingerprint. `None` if a
    /// session's access token has no subject.
    ///
    /// # Errors
    /// [`Error::Auth`](crate::Error::Auth) if a session has no login, or its store can't be read.
    pub async fn account_fingerprint(&self, salt: &[u8]) -> Result<Option<String>> {
        self.core.credentials.account_fingerprint(salt).await
    }

    /// Creates a request to an operation for which this version has no typed method.
    ///
    /// `path` is relative to the base URL, begins with `/`, and is sent unchanged: encode its segments with
    /// [`path_segment`](crate::problem::path_segment). Add a [`query`](Call::query) or a [`json`](Call::json) body, and deserialize the response into
    /// `serde_json::Value` or, with [`with_response_type`](Call::with_response_type), into your own type.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// let domain = idempost::problem::path_segment("d91cd9bd-1176-453e-8fc1-35364d380206")?;
    /// let response = client.request(http::Method::GET, format!("/domains/{domain}")).await?;
    /// println!("{}", response["status"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It is retried like a typed call: a `POST` with an unknown outcome is never retried, except for `/emails` and `/emails/batch`, which have an
    /// idempotency key here as well. Methods are case-sensitive: `post` is an unknown method, which isn't retried either.
    pub fn request(&self, method: Method, path: impl Into<String>) -> Call<serde_json::Value> {
        Call::new(&self.core, Operation::raw(method, path.into()))
    }
}

partial_debug! {
    /// `Debug` prints only the base URL.
    Client { base_url = [core.base_url.as_str()] }
}
