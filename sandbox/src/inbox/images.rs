//! The remote images of an email: `GET /_/messages/{id}/images` lists them, and `POST` loads them, for this email only. The sandbox loads
//! them, never the page: see [`remote`](crate::inbox::remote).

use bytes::Bytes;
use http::{Response, StatusCode};
use url::Url;

use crate::inbox::mail::MailView;
use crate::inbox::mail::remote_images;
use crate::inbox::remote::{self, images::load_all};
use idempost_reference_server::reply::Reply;
use idempost_reference_server::state::State;
use idempost_reference_server::state::images::{ImageJob, ImageResult};
use idempost_reference_server::wire::described;
use idempost_reference_server::wire::problem::{self, Problem};

/// The maximum number of images loaded per email.
const MAX_IMAGES: usize = 100;

/// `GET /_/messages/{id}/images`
pub(super) fn show(state: &State, mail: &MailView) -> Response<Bytes> {
    response(state, &job(mail))
}

/// `POST /_/messages/{id}/images`. Mounts that can't wait respond without loading them.
pub(super) fn load(state: &State, mail: &MailView) -> Result<Reply, Problem> {
    remote::check_enabled(state, "Remote images can't be loaded")?;
    let job = job(mail);
    Ok(Reply::wait(response(state, &job), |state| async move {
        load_all(&state, &job).await;
        response(&state, &job)
    }))
}

fn job(mail: &MailView) -> ImageJob {
    let (urls, total) = remote_images::list(&mail.html().unwrap_or_default(), MAX_IMAGES);
    ImageJob { mail: mail.view_id(), urls, total }
}

/// Returns an email's images with their states.
fn response(state: &State, job: &ImageJob) -> Response<Bytes> {
    let loaded = state.images.get(job.mail, state.clock.now());
    let images = job
        .urls
        .iter()
        .map(|url| ImageItem::new(url, loaded.as_deref().and_then(|loaded| loaded.get(url))))
        .collect();
    problem::json(
        StatusCode::OK,
        &ImageList { object: "images", can_load: state.settings.fetch_remote, total: job.total, images },
    )
}

described! {
    /// The remote images of an email.
    pub(super) struct ImageList<'a> {
        object: &'static str,
        /// Whether the sandbox may load images.
        can_load: bool,
        /// The total number of images; the first 100 are listed and loaded.
        total: usize,
        images: Vec<ImageItem<'a>>,
    }

    /// A remote image.
    struct ImageItem<'a>(of: &'a Url, result: Option<&'a ImageResult>) {
        url: &'a str = of.as_str(),
        host: &'a str = of.host_str().unwrap_or_default(),
        /// `blocked`, `loaded` or `failed`.
        state: &'static str = match result {
            None => "blocked",
            Some(Ok(_)) => "loaded",
            Some(Err(_)) => "failed",
        },
        content_type: Option<&'static str> = result.and_then(|result| Some(result.as_ref().ok()?.kind)),
        size: Option<usize> = result.and_then(|result| Some(result.as_ref().ok()?.bytes.len())),
        /// Why loading failed.
        reason: Option<&'a str> = result.and_then(|result| result.as_ref().err()).map(String::as_str),
    }
}
