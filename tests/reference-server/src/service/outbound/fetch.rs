//! Fetches hosted attachments.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use url::Url;

use crate::model::email::attachments::{MAX_BASE64, base64_size, encoded_size};
use crate::service::Service;
use crate::state::fetches::{FetchError, FetchJob, Fetched};
use crate::state::http_clients::public::NotPublic;
use crate::state::in_flight::Reservation;

const FILE_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout of all files of an email.
const EMAIL_TIMEOUT: Duration = Duration::from_mins(1);

/// Starts the fetches that may run now, each in its own task, which starts the next one when it ends.
pub fn run_all(service: &Arc<Service>) {
    if service.state().fetches.is_empty() {
        return;
    }
    while let Ok(permit) = Arc::clone(&service.state().fetches.running).try_acquire_owned() {
        let Some(job) = service.next_fetch() else { return };
        let service = Arc::clone(service);
        tokio::spawn(async move {
            let mut held = Reservation::default();
            let outcome = timeout(EMAIL_TIMEOUT, fetch(&service, &job, &mut held)).await;
            let outcome = outcome.unwrap_or_else(|_| Err("timed out fetching the files".into()));
            let finished = Arc::clone(&service);
            // On a blocking thread, since sending the email may wait for the disk. A panic was reported.
            let _ = tokio::task::spawn_blocking(move || finished.finish_fetch(job, outcome)).await;
            drop((held, permit));
            run_all(&service);
        });
    }
}

/// Fetches the files of an email. Their memory is `held`.
async fn fetch(
    service: &Service,
    job: &FetchJob,
    held: &mut Reservation,
) -> Result<Vec<Fetched>, FetchError> {
    let mut fetched = 0;
    let mut remaining = MAX_BASE64.saturating_sub(encoded_size(&job.draft.attachments));
    let mut files = Vec::new();
    for (index, url) in job.addresses() {
        let count = |bytes| service.state().in_flight.extend(held, fetched + bytes);
        let content = fetch_one(service, url, remaining, count).await?;
        remaining -= base64_size(content.len());
        fetched += content.len();
        files.push(Fetched { index, content });
    }
    Ok(files)
}

/// Fetches a file of at most `max` characters of Base64. `count` reserves memory for a number of bytes. Redirects aren't followed: they could lead
/// from a permitted address to one that only this machine can reach.
async fn fetch_one(
    service: &Service,
    url: &Url,
    max: usize,
    mut count: impl FnMut(usize) -> bool,
) -> Result<Bytes, FetchError> {
    let unreachable = |reason: &dyn fmt::Display| FetchError::Unreachable(format!("{url}: {reason}"));
    let clients = &service.state().http_clients;
    let networks = clients.networks();
    networks.check(url).map_err(FetchError::from)?;
    let client = clients.client(networks).map_err(|error| unreachable(&error))?;
    let answer = client.get(url.clone()).timeout(FILE_TIMEOUT).send().await;
    let mut answer = answer
        .map_err(|error| NotPublic::from_error(&error).map_or_else(|| unreachable(&error), Into::into))?;
    if !answer.status().is_success() {
        return Err(unreachable(&format!(
            "the status is {}, and redirects aren't followed",
            answer.status()
        )));
    }
    let announced = usize::try_from(answer.content_length().unwrap_or_default()).unwrap_or(usize::MAX);
    if announced > max / 4 * 3 {
        return Err(FetchError::TooLarge);
    }
    let too_much = "the requests in flight use all memory available to them";
    if !count(announced) {
        return Err(unreachable(&too_much));
    }
    let mut content = Vec::with_capacity(announced);
    while let Some(chunk) = answer.chunk().await.map_err(|error| unreachable(&error))? {
        if base64_size(content.len() + chunk.len()) > max {
            return Err(FetchError::TooLarge);
        }
        if !count(content.len() + chunk.len()) {
            return Err(unreachable(&too_much));
        }
        content.extend_from_slice(&chunk);
    }
    // Boxed, so that the email doesn't retain spare capacity.
    Ok(content.into_boxed_slice().into())
}
