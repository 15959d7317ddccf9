//! Requests an email's links, on a user's request and only at public addresses. No content is read.

use std::collections::HashMap;

use http::{HeaderValue, Method};
use url::Url;

use super::{Failure, Remote};
use crate::check::RequestedLink;
use idempost_reference_server::state::State;

const ACCEPT: HeaderValue = HeaderValue::from_static("text/html,*/*;q=0.8");

/// Requests these links. Dropping the result cancels the requests.
pub(in crate::inbox) async fn request_all(state: &State, urls: &[Url]) -> HashMap<Url, RequestedLink> {
    let found = super::run_for_each(state, urls, check_link).await.into_iter();
    let links = found.map(|(url, result)| {
        let failed = |Failure { state, reason }| RequestedLink::failed(&url, state, reason);
        let link = result.unwrap_or_else(failed);
        (url, link)
    });
    links.collect()
}

async fn check_link(remote: Remote, url: Url) -> Result<RequestedLink, Failure> {
    let found = remote.follow(url.clone(), &[Method::HEAD, Method::GET], ACCEPT).await?;
    let (status, location) = (found.response.status(), found.response.url());
    Ok(RequestedLink::from_response(&url, status, location, found.is_insecure))
}
