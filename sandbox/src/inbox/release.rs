//! Releases an email to a real server: `POST /_/messages/{id}/release` and `POST /_/received/{id}/release`. `GET /_/relay` returns the server.
//!
//! Only the recipients in the request receive the mail, not those in its headers or envelope.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use uuid::Uuid;

use crate::inbox::mail::MailView;
use idempost_reference_server::delivery::relay::{record_not_admitted, record_result};
use idempost_reference_server::model::email::recipients::{MAX_TO, read_to};
use idempost_reference_server::model::relayed::RelayOutcome;
use idempost_reference_server::reply::Reply;
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::State;
use idempost_reference_server::state::relay::{Outgoing, Relay};
use idempost_reference_server::wire::declared::{Input, Kind};
use idempost_reference_server::wire::described;
use idempost_reference_server::wire::paging::quote;
use idempost_reference_server::wire::problem::{self, Problem};

/// `GET /_/relay`: the server, without credentials.
pub(super) fn server(state: &State) -> Response<Bytes> {
    problem::json(StatusCode::OK, &RelayServer::new(state.relay.get()))
}

described! {
    /// The server that emails may be released to.
    pub(super) struct RelayServer<'a>(relay: Option<&'a Relay>) {
        object: &'static str = "relay",
        /// `None` if there is none.
        server: Option<&'a str> = relay.map(Relay::server),
        /// Whether emails are forwarded to it when they are sent.
        forwards: bool = relay.is_some_and(Relay::is_forwarding),
        /// The recipients to which emails may be released.
        allow: Vec<&'a str> = relay.map(|relay| relay.allow().patterns().collect()).unwrap_or_default(),
    }

    /// A released email.
    pub(super) struct Release<'a> {
        object: &'static str,
        to: &'a [String],
        server: &'a str,
        /// The server's reply.
        reply: String,
    }
}

/// The fields of a release.
pub(super) const FIELDS: &[Input] = &[Input::new(
    "to",
    Kind::Either(&[Kind::Text, Kind::List(&Kind::Text, MAX_TO)]),
    "The addresses to send the email to",
)
.required()];

/// Checks the request and sends the mail. The result is recorded even if the client disconnects.
pub(super) fn handle(call: &AccountCall<'_>) -> Result<Reply, Problem> {
    let (state, mail) = (call.state, MailView::from_call(call)?);
    let message = mail.source()?;
    let to = call.body(|fields| fields.required("to", read_to))?;
    let relay = state.relay.get().ok_or_else(|| {
        Problem::validation(
            "This sandbox has no server to release to: start it with --smtp-release URL, or --smtp URL.",
        )
    })?;
    let addresses = to.iter().map(|one| one.address.as_str());
    let (outgoing, not_admitted) = relay.admit(mail.sender(), addresses, &message);
    let Some(outgoing) = outgoing.filter(|_| not_admitted.is_empty()) else {
        record_not_admitted(state, mail.email_id(), RelayOutcome::NotReleased, &not_admitted);
        let all: Vec<_> =
            not_admitted.iter().map(|one| format!("{} {}", quote(&one.recipient), one.reason)).collect();
        return Err(Problem::validation(format!("The email was not released: {}.", all.join("; "))));
    };
    let otherwise = Problem::application("Releasing an email needs the HTTP mount.").into_response();
    let email = mail.email_id();
    Ok(Reply::from_task(otherwise, move |state| release(state, email, outgoing)))
}

/// Sends a released mail and responds with the server's reply.
async fn release(state: Arc<State>, email: Uuid, outgoing: Outgoing) -> Response<Bytes> {
    let Some(relay) = state.relay.get() else {
        return Problem::application("The server is missing.").into_response();
    };
    let result = relay.send(outgoing.clone()).await;
    let (recorded, sent) = (Arc::clone(&state), outgoing.clone());
    // On a blocking thread, since a change may wait for the disk.
    let recording = tokio::task::spawn_blocking(move || {
        let _guard = recorded.snapshot_lock.enter();
        let outcomes = (RelayOutcome::Released, RelayOutcome::NotReleased);
        record_result(&recorded, email, outcomes, &sent, &result);
        result
    });
    let result = match recording.await {
        Ok(result) => result,
        Err(error) => return Problem::application(error.to_string()).into_response(),
    };
    match result {
        Ok(reply) => {
            let release =
                Release { object: "release", to: outgoing.recipients(), server: relay.server(), reply };
            problem::json(StatusCode::OK, &release)
        }
        Err(error) => {
            // It may have accepted the email if it didn't reply.
            let failed = if error.code.is_some() { "accept" } else { "confirm" };
            let message = format!("{} did not {failed} the email: {error}", relay.server());
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "release_rejected", message).into_response()
        }
    }
}
