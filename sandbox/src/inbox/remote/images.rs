//! Loads the remote images of an email, on a user's request, from public addresses only.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderValue, Method, header};
use url::Url;

use super::{Failure, Remote};
use crate::check::LinkState;
use idempost_reference_server::state::State;
use idempost_reference_server::state::http_clients::error_chain;
use idempost_reference_server::state::images::{Image, ImageJob, ImageResult, LoadedImages};

/// The maximum size of an image, in bytes.
const MAX_IMAGE: usize = 5 << 20;
/// The image types that all browsers support.
const ACCEPT: HeaderValue =
    HeaderValue::from_static("image/avif,image/webp,image/png,image/jpeg,image/gif,image/*;q=0.5");

/// Loads an email's images and stores them. Dropping the result cancels the requests.
pub(in crate::inbox) async fn load_all(state: &State, job: &ImageJob) {
    let remaining = Arc::new(AtomicUsize::new(state.images.max_email()));
    let loaded =
        super::run_for_each(state, &job.urls, |remote, url| load_image(remote, url, Arc::clone(&remaining)))
            .await;
    let loaded = loaded.into_iter().map(|(url, image)| (url.into(), image.map_err(|failure| failure.reason)));
    let now = state.clock.now();
    state.images.insert(job.mail, LoadedImages::new(now, loaded.collect()), now);
}

/// Loads one image. `remaining` is the number of bytes left for the email's images.
async fn load_image(remote: Remote, url: Url, remaining: Arc<AtomicUsize>) -> Result<Image, Failure> {
    let found = remote.follow(url, &[Method::GET], ACCEPT).await?;
    read(found.response, &remaining).await.map_err(|reason| Failure { state: LinkState::Broken, reason })
}

async fn read(mut answer: reqwest::Response, remaining: &AtomicUsize) -> ImageResult {
    if !answer.status().is_success() {
        return Err(format!("the status is {}", answer.status()));
    }
    let declared = answer
        .headers()
        .get(header::CONTENT_TYPE)
        .map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let essence = declared
        .as_deref()
        .map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    if let Some(kind) = essence.filter(|kind| !is_expected(kind)) {
        return Err(format!("the content type is {kind:.100}"));
    }
    let too_large = || format!("the image is larger than {} MiB", MAX_IMAGE >> 20);
    if answer.content_length().is_some_and(|length| length > MAX_IMAGE as u64) {
        return Err(too_large());
    }
    let mut content = Reserved { bytes: Vec::new(), remaining };
    while let Some(chunk) = answer.chunk().await.map_err(|error| error_chain(&error))? {
        if content.bytes.len() + chunk.len() > MAX_IMAGE {
            return Err(too_large());
        }
        content.push(&chunk)?;
    }
    let kind = kind_of(&content.bytes).ok_or("the content isn't PNG, JPEG, GIF, WebP, AVIF, BMP or ICO")?;
    Ok(Image { kind, bytes: content.take() })
}

/// An image's received content, deducted from the remaining bytes until it is dropped.
struct Reserved<'a> {
    bytes: Vec<u8>,
    remaining: &'a AtomicUsize,
}

impl Reserved<'_> {
    fn push(&mut self, chunk: &[u8]) -> Result<(), &'static str> {
        let take = |left: usize| left.checked_sub(chunk.len());
        let taken = self.remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.map_err(|_| "the images of this email are too large in total")?;
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    fn take(mut self) -> Bytes {
        // Boxed, so that no spare capacity is retained.
        std::mem::take(&mut self.bytes).into_boxed_slice().into()
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.remaining.fetch_add(self.bytes.len(), Ordering::Relaxed);
    }
}

/// Returns whether a response with this media type may be an image. SVG is excluded, since most mail clients don't show it.
fn is_expected(kind: &str) -> bool {
    kind.is_empty()
        || kind.starts_with("image/") && !kind.starts_with("image/svg")
        || matches!(kind, "application/octet-stream" | "binary/octet-stream")
}

/// Returns the media type of an image that browsers show, detected from its first bytes instead of the server's `Content-Type`.
fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    let starts = |at: usize, with: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(with));
    Some(match bytes {
        _ if starts(0, b"\x89PNG\r\n\x1a\n") => "image/png",
        _ if starts(0, b"\xff\xd8\xff") => "image/jpeg",
        _ if starts(0, b"GIF87a") || starts(0, b"GIF89a") => "image/gif",
        _ if starts(0, b"RIFF") && starts(8, b"WEBP") => "image/webp",
        _ if starts(4, b"ftypavif") || starts(4, b"ftypavis") => "image/avif",
        _ if starts(0, b"BM") => "image/bmp",
        _ if starts(0, b"\0\0\x01\0") => "image/x-icon",
        _ => return None,
    })
}
