//! The inbox page: `GET /_/`, and its files under `/_/assets/`.
//!
//! The files are part of the program and are sent unchanged; all data is loaded later as JSON and inserted as text. The page can therefore be
//! restricted to its own scripts, and an email's HTML is shown in a frame with a separate policy.

use bytes::Bytes;
use http::{HeaderName, Request, Response, StatusCode, header};

use idempost_reference_server::access::account;
use idempost_reference_server::state::State;
use idempost_reference_server::wire::answers::{HandlerResult, route_not_found};
use idempost_reference_server::wire::problem::{Problem, redirect, response_with};
use idempost_reference_server::wire::query::Parameters;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
    frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

macro_rules! assets {
    ($($kind:tt: $($name:literal)*;)*) => {
        &[$($(($name, $kind, include_str!(concat!("page/", $name)))),*),*]
    };
}

/// All files: name, type and content.
const ASSETS: &[(&str, &str, &str)] = assets! {
    SCRIPT: "actions.js" "api.js" "app.js" "badge.js" "bodies.js" "changes.js" "check.js" "clock.js"
        "deletion.js" "density.js" "dom.js" "faults.js" "format.js" "keys.js" "list.js" "live.js" "mail.js"
        "metrics.js" "notify.js" "preview.js" "release.js" "requests.js" "selection.js" "templates.js"
        "theme.js" "timeline.js" "welcome.js";
    STYLE: "base.css" "check.css" "layout.css" "mail.css" "metrics.css";
    "image/svg+xml": "icon.svg";
};

/// `GET /`: redirects browsers to the page. Other clients find nothing here.
pub(super) fn redirect_to_page(request: &Request<Bytes>) -> HandlerResult {
    let accepted = request.headers().get_all(header::ACCEPT).iter();
    let is_browser =
        accepted.filter_map(|value| value.to_str().ok()).any(|value| value.contains("text/html"));
    if !is_browser {
        return Err(route_not_found(request.method(), request.uri().path()));
    }
    // Relative, since a proxy may serve the sandbox under a path.
    let mut response = response_with(Bytes::new(), [(header::LOCATION, "_/"), (header::VARY, "accept")]);
    *response.status_mut() = StatusCode::SEE_OTHER;
    Ok(response)
}

/// `GET /_/`. Without a key in the URL, the page shows the account `sb_local`; if the service has a password, it redirects to the account whose key
/// is the password. The page refers to its files by relative URLs, so `/_` is redirected to `/_/`.
///
/// Redirects are relative as well: behind a reverse proxy, the browser's path can have a prefix.
pub(super) fn show(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    let (path, query) = (request.uri().path(), request.uri().query());
    let here = if path.ends_with('/') { "./" } else { "_/" };
    let names_account = Parameters::new(query).text("key").is_some();
    if state.settings.password.is_some() && !names_account {
        return redirect(
            StatusCode::SEE_OTHER,
            &format!("{here}?key={}", account::id(state, &state.default_account())),
        );
    }
    match query {
        _ if path.ends_with('/') => file("text/html; charset=utf-8", include_str!("page/index.html")),
        Some(query) => redirect(StatusCode::SEE_OTHER, &format!("{here}?{query}")),
        None => redirect(StatusCode::SEE_OTHER, here),
    }
}

/// `GET /_/assets/{name}`.
pub(super) fn asset(name: &str) -> HandlerResult {
    let asset = ASSETS.iter().find(|(known, _, _)| *known == name);
    let (_, kind, text) = asset.ok_or_else(|| Problem::not_found("The page has no such file."))?;
    Ok(file(kind, text))
}

fn file(kind: &'static str, text: &'static str) -> Response<Bytes> {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        // A later version of the sandbox may be served at the same URL.
        (header::CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    response_with(text, headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_are_small_and_load_no_external_resources() {
        let all = ASSETS.iter().map(|(name, _, text)| (*name, *text));
        let mut size = 0;
        for (name, text) in all.chain([("index.html", include_str!("page/index.html"))]) {
            size += text.len();
            let without_namespace = text.replace("http://www.w3.org/2000/svg", "");
            assert!(
                !without_namespace.contains("//fonts") && !without_namespace.contains("src=\"http"),
                "{name}"
            );
            assert!(!text.contains("innerHTML") && !text.contains("document.write"), "{name}");
            assert!(
                !text.contains(" style=\"") && !text.contains(" onclick="),
                "{name}: the policy forbids it"
            );
            assert!(text.lines().count() <= 400, "{name}");
        }
        assert!(size < 175_000, "{size}");
    }
}
