//! `GET /_/messages/wait`: the details of the newest matching captured email, immediately or as soon as one is captured.
//!
//! The handler checks once. If it finds nothing, [`Waiting`] continues to check without a thread: a waiter needs only a connection and a timer. It
//! subscribes before it checks again, and remembers which emails it has seen, so that no email is missed or compared twice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use tokio::time::timeout_at;
use url::form_urlencoded;
use uuid::Uuid;

use crate::inbox::messages;
use crate::inbox::search::Search;
use idempost_reference_server::lock::lock;
use idempost_reference_server::model::mail::Mail;
use idempost_reference_server::reply::Reply;
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::State;
use idempost_reference_server::state::arrivals::Seen;
use idempost_reference_server::state::mails;
use idempost_reference_server::wire::cancel::Cancellation;
use idempost_reference_server::wire::declared::{Input, Kind};
use idempost_reference_server::wire::paging::quote;
use idempost_reference_server::wire::problem::Problem;
use idempost_reference_server::wire::query::Parameters;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_TIMEOUT: Duration = Duration::from_mins(10);

/// The parameters, besides those of a search.
pub(super) const QUERY: &[Input] = &[
    Input::new(
        "timeout",
        Kind::Number(0.0, MAX_TIMEOUT.as_secs_f64()),
        "The timeout in seconds; by default 30",
    ),
    Input::new("after", Kind::Text, "The ID of an email or an RFC 3339 time: older emails don't match"),
];

/// A request waiting for an email.
struct Waiting {
    tenant: Arc<str>,
    search: Search,
    /// Matches only emails captured after this time, by the sandbox's clock.
    after: Option<Timestamp>,
    seen: Seen,
}

/// `GET /_/messages/wait`
pub(super) fn wait(call: &AccountCall<'_>) -> Result<Reply, Problem> {
    let (start, parameters) = (Instant::now(), call.parameters());
    let timeout = parse_timeout(&parameters)?;
    let (state, tenant) = (call.state, &call.tenant);
    let mut seen = Seen::default();
    let after = match parameters.text("after") {
        Some(after) => read_after(state, &tenant.name, after, &mut seen)?,
        None => None,
    };
    let tenant = tenant.name.as_str().into();
    let mut waiting = Waiting { tenant, search: Search::read(call)?, after, seen };
    if let Some(response) = waiting.find_match(state, &call.cancellation()) {
        return Ok(response.into());
    }
    let message =
        "Waiting needs the HTTP mount; this one only finds emails that were captured before the request.";
    let otherwise = Problem::new(StatusCode::NOT_IMPLEMENTED, "not_implemented", message).into_response();
    let conditions = describe_conditions(call.query().unwrap_or_default());
    let with_conditions = if conditions.is_empty() { String::new() } else { format!(" with {conditions}") };
    let seconds = timeout.as_secs_f64();
    let message = format!("No email{with_conditions} was captured within {seconds} s (`timeout`).");
    let timed_out = Problem::new(StatusCode::REQUEST_TIMEOUT, "wait_timeout", message);
    Ok(Reply::wait(otherwise, move |state| async move {
        let found = timeout_at((start + timeout).into(), waiting.response(state)).await;
        found.unwrap_or_else(|_| timed_out.into_response())
    }))
}

impl Waiting {
    /// Waits until a matching email is captured, and returns its details.
    async fn response(mut self, state: Arc<State>) -> Response<Bytes> {
        let mut arrivals = state.arrivals.subscribe(&self.tenant);
        loop {
            // Closing it would be the only error.
            let permit = Arc::clone(&state.arrivals.looking).acquire_owned().await;
            let (state, canceled) = (Arc::clone(&state), Cancellation::default());
            // Dropped with this future when the client disconnects.
            let _gone = canceled.on_drop();
            let looked = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                let found = self.find_match(&state, &canceled);
                (self, found)
            });
            match looked.await {
                Ok((_, Some(response))) => return response,
                Ok((waiting, None)) => self = waiting,
                Err(error) => return Problem::application(error.to_string()).into_response(),
            }
            arrivals.next_capture().await;
        }
    }

    /// Compares the emails captured since the last check.
    fn find_match(&mut self, state: &State, canceled: &Cancellation) -> Option<Response<Bytes>> {
        let Self { tenant, search, after, seen } = self;
        let later = |mail: &Mail| after.is_none_or(|after| to_micros(mail.captured_at) > to_micros(after));
        let tenant = state.tenants.find(tenant)?;
        let mut matcher = search.matcher(&tenant);
        let mail = seen.newest_match(&tenant, |mail| {
            canceled.is_canceled() || (later(mail) && matcher.matches(&**mail))
        })?;
        canceled.check().is_ok().then(|| messages::details(&tenant, &mail))
    }
}

/// Returns a time in the resolution used in responses.
fn to_micros(time: Timestamp) -> i64 {
    time.as_microsecond()
}

fn parse_timeout(parameters: &Parameters<'_>) -> Result<Duration, Problem> {
    let Some(text) = parameters.text("timeout") else { return Ok(DEFAULT_TIMEOUT) };
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|timeout| *timeout <= MAX_TIMEOUT).ok_or_else(|| {
        let max = MAX_TIMEOUT.as_secs();
        Problem::validation(format!(
            "`timeout` must be a number of seconds from 0 to {max}; found {}.",
            quote(text)
        ))
    })
}

/// Reads `after`: a time, or the ID of a captured email or its sent email. Older emails then count as seen.
fn read_after(state: &State, name: &str, text: &str, seen: &mut Seen) -> Result<Option<Timestamp>, Problem> {
    let Ok(id) = Uuid::try_parse(text) else {
        // In queries, the plus sign of an offset is often left unescaped, and form decoding turns it into a space.
        let with_sign = || text.rsplit_once(' ').map(|(time, offset)| format!("{time}+{offset}"));
        let time = text.parse().or_else(|error| with_sign().ok_or(error)?.parse());
        return time.map(Some).map_err(|_: jiff::Error| {
            Problem::validation(format!(
                "`after` must be the id of a captured or sent email, or an RFC 3339 time; found {}.",
                quote(text)
            ))
        });
    };
    let tenant = state.tenants.find(name);
    let position = tenant.as_deref().and_then(|tenant| {
        let mail = mails::find(tenant, text).ok()?;
        lock(&tenant.captured).position(mail.id)
    });
    match (tenant, position) {
        (Some(tenant), Some(position)) => {
            *seen = Seen::up_to(&tenant, position);
            Ok(None)
        }
        _ => Err(Problem::validation(format!(
            "`after` must be the id of a captured or sent email, or an RFC 3339 time; no email has the id {id}. \
             It may have been deleted or evicted: use the time of its capture."
        ))),
    }
}

/// Returns the conditions of a query as text.
fn describe_conditions(query: &str) -> String {
    let all = form_urlencoded::parse(query.as_bytes());
    let all =
        all.filter(|(name, _)| matches!(&**name, "to" | "from" | "subject" | "query" | "tag" | "after"));
    all.map(|(name, value)| format!("`{name}` {}", quote(&value))).collect::<Vec<_>>().join(", ")
}
