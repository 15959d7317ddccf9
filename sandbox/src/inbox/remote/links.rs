//! Requests an email's links, on a user's request and only at public addresses. No content is read.

use std::collections::HashMap;

use http::{HeaderValue, Method};
use url::Url;

use super::{Failure, Remote};
use crate::check::Outcome;
use idempost_reference_server::state::State;

const ACCEPT: HeaderValue = HeaderValue::from_static("text/html,*/*;q=0.8");

/// Requests these links. Dropping the result cancels the requests.
pub(in crate::inbox) async fn request_all(state: &State, urls: &[Url]) -> HashMap<Url, Outcome> {
    let found = super::run_for_each(state, urls, check_link).await;
    let failed = |Failure { state, reason }| Outcome::Failed(state, reason);
    found.into_iter().map(|(url, result)| (url, result.unwrap_or_else(failed))).collect()
}

async fn check_link(remote: Remote, url: Url) -> Result<Outcome, Failure> {
    let found = remote.follow(url, &[Method::HEAD, Method::GET], ACCEPT).await?;
    let (status, location) = (found.response.status(), found.response.url().clone());
    Ok(Outcome::Response { status, location, is_insecure: found.is_insecure })
}
