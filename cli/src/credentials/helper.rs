//! The process that refreshes a login on behalf of a command, so that neither a signal nor the end of the command interrupts the refresh.
//!
//! It is this program again, in its own process group, with the same store and lock. The command waits for it within its
//! timeout, and then reads the store. The helper reports errors and warnings as one line of JSON.

use std::ffi::OsString;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idempost::auth::{AuthError, OAuthError, RefreshRequest, Session, SessionEvent, StoreError};
use serde::{Deserialize, Serialize};

use super::Credentials;
use crate::output::{report, write_stdout};
use crate::processes;
use crate::settings::env::Env;
use crate::settings::network::Network;
use crate::signals::Signals;

/// The hidden command that runs the helper.
const COMMAND: &str = "__refresh";

/// The helper's report.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Report {
    notices: Vec<String>,
    trouble: Option<Failure>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Failure {
    message: String,
    retryable: bool,
    /// The new tokens were lost when the helper exited.
    not_saved: bool,
    /// The code and description of the service's rejection.
    rejection: Option<(String, Option<String>)>,
}

/// Starts a helper that refreshes a profile's login. Dropping the future leaves the helper running.
pub(crate) async fn renew(
    profile: String,
    request: RefreshRequest,
    network: &Network,
    warn: impl Fn(&str),
) -> Result<(), AuthError> {
    let failed = |what: String| AuthError::Delegate { message: what, retryable: true };
    let mut command =
        tokio::process::Command::new(processes::this_program().map_err(|error| failed(error.to_string()))?);
    command.arg(COMMAND).arg(profile).arg(request.generation.to_string()).arg(request.rejected.to_string());
    command.args(&request.scope).envs(network.variables());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[cfg(unix)]
    command.process_group(0);
    // DETACHED_PROCESS: without a console, so that neither Ctrl-C nor closing the window reaches it.
    #[cfg(windows)]
    command.creation_flags(0x8);
    let output = match command.spawn() {
        Ok(helper) => helper.wait_with_output().await,
        Err(error) => return Err(failed(format!("couldn't start the token refresh: {error}"))),
    };
    let output = output.map_err(|error| failed(error.to_string()))?;
    let Ok(report) = serde_json::from_slice::<Report>(&output.stdout) else {
        return Err(failed(format!("the token refresh was interrupted ({})", output.status)));
    };
    report.notices.iter().for_each(|notice| warn(notice));
    match report.trouble {
        None => Ok(()),
        Some(Failure { message, not_saved: true, .. }) => {
            Err(AuthError::NotSaved(StoreError::unavailable(message)))
        }
        Some(Failure { rejection: Some((code, description)), .. }) => {
            Err(AuthError::Rejected(OAuthError::new(code, description)))
        }
        Some(Failure { message, retryable, .. }) => Err(AuthError::Delegate { message, retryable }),
    }
}

/// Runs as the helper if the arguments say so.
pub(crate) fn run(arguments: &[OsString], env: &Env) -> Option<u8> {
    let [_, word, profile, generation, rejected, scope @ ..] = arguments else { return None };
    if word != COMMAND || scope.len() > 1 {
        return None;
    }
    let scope = match scope.first() {
        Some(scope) => Some(scope.to_str()?.to_owned()),
        None => None,
    };
    let (profile, generation, rejected) =
        (profile.to_str()?, generation.to_str()?.parse().ok()?, rejected.to_str()?.parse().ok()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let report = runtime.block_on(execute(profile, RefreshRequest { generation, rejected, scope }, env));
    let output = serde_json::to_vec(&report).unwrap_or_default();
    // The command may have exited meanwhile.
    let _ = write_stdout(&output);
    Some(u8::from(report.trouble.is_some()))
}

async fn execute(profile: &str, request: RefreshRequest, env: &Env) -> Report {
    // Signals are ignored: a refresh is bounded by its own timeouts.
    let _signals = Signals::listen();
    let (notices, unsaved) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(None)));
    let (note, not_saved) = (Arc::clone(&notices), Arc::clone(&unsaved));
    let on_event = move |event: &SessionEvent| match event {
        SessionEvent::NotSaved(error) => *locked(&not_saved) = Some(reason(error)),
        other => locked(&note).push(other.to_string()),
    };
    let done = match Credentials::of(env, Some(profile)) {
        Err(error) => Err(AuthError::Store(error).into()),
        Ok(credentials) => {
            let session = Session::builder().on_event(on_event);
            // The command has read the same file.
            let transport = Network::of_env(env).transport().unwrap_or_default();
            let session = session.transport(transport).open(credentials.store(None));
            let done = session.refresh(request).await;
            session.close().await;
            done
        }
    };
    // The session has retried several times, and the tokens are lost when this process exits.
    let trouble = match (locked(&unsaved).take(), done) {
        (Some(message), _) => Some(Failure { message, retryable: false, not_saved: true, rejection: None }),
        (None, Ok(())) => None,
        (None, Err(error)) => Some(Failure {
            message: report::sdk_message(&error),
            retryable: matches!(&error, idempost::Error::Auth(error) if error.is_retryable()),
            not_saved: false,
            rejection: match &error {
                idempost::Error::Auth(error) => match &**error {
                    AuthError::Rejected(error) => {
                        Some((error.code.as_str().to_owned(), error.description.clone()))
                    }
                    _ => None,
                },
                _ => None,
            },
        }),
    };
    Report { notices: std::mem::take(&mut *locked(&notices)), trouble }
}

/// Why tokens couldn't be saved, without the context that the command adds.
fn reason(error: &AuthError) -> String {
    match error {
        AuthError::NotSaved(StoreError::Unavailable { reason, source: Some(cause) }) => {
            format!("{reason}: {cause}")
        }
        AuthError::NotSaved(StoreError::Unavailable { reason, .. }) => reason.clone(),
        other => report::chain(other),
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
