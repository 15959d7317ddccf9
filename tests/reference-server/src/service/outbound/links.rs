//! Requests the links of an email, on a user's request, at public addresses only. No content is read.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Response};
use url::Url;

use super::remote::{self, Failure, FailureKind, Remote};
use crate::content::check::Outcome;
use crate::inbox::check::{self, LinkJob};
use crate::service::Service;

const ACCEPT: HeaderValue = HeaderValue::from_static("text/html,*/*;q=0.8");

/// Requests the links of an email, and responds with its check. When the result is dropped, its requests end.
pub(crate) async fn check(service: &Arc<Service>, job: LinkJob) -> Response<Bytes> {
    let found = remote::all(service.state(), &job.urls, link).await;
    let outcome = |result: Result<Outcome, Failure>| {
        result.unwrap_or_else(|Failure { kind, reason }| match kind {
            FailureKind::NotPublic => Outcome::NotPublic(reason),
            FailureKind::Unreachable => Outcome::Unreachable(reason),
            FailureKind::Broken => Outcome::Broken(reason),
            FailureKind::NoTime => Outcome::Skipped(reason),
        })
    };
    check::response(job, found.into_iter().map(|(url, result)| (url, outcome(result))).collect())
}

async fn link(remote: Remote, url: Url) -> Result<Outcome, Failure> {
    let found = remote.follow(url, &[Method::HEAD, Method::GET], ACCEPT).await?;
    let (status, location) = (found.response.status(), found.response.url().clone());
    Ok(Outcome::Response { status, location, is_insecure: found.is_insecure })
}
