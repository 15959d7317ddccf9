//! The process that refreshes a login on behalf of a command, so that neither a signal nor the end of the command interrupts the refresh.
//!
//! It is the same program in its own process group, with the same store and lock. The command waits for it within its timeout, and then reads
//! the store. The helper reports its progress and its outcome as lines of JSON.

use std::ffi::OsString;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idempost::auth::{AuthError, OAuthError, RefreshRequest, Session, SessionEvent, StoreError};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::Credentials;
use crate::output::http_trace::TracedTransport;
use crate::output::{report, write_stdout};
use crate::processes;
use crate::settings::env::Env;
use crate::settings::network::Network;
use crate::signals::Signals;

/// The hidden command that runs the helper.
const COMMAND: &str = "__refresh";

/// A report of the running helper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// Traced messages.
    Trace(String),
    /// The helper is waiting, for this reason.
    Waiting(String),
    /// A noteworthy event.
    Warning(String),
}

/// One line of the helper's output; the last one is the outcome.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Report(Report),
    Done(Option<Failure>),
}

#[derive(Debug, Serialize, Deserialize)]
enum Failure {
    /// The new tokens were lost when the helper exited.
    NotSaved(String),
    /// The store failed before anything was sent.
    Store(String),
    Rejected {
        code: String,
        description: Option<String>,
    },
    Throttled {
        status: u16,
        retry_after: Option<Duration>,
    },
    NotOAuthEndpoint {
        status: u16,
        path: String,
    },
    Other {
        message: String,
        retryable: bool,
    },
}

impl From<&idempost::Error> for Failure {
    fn from(error: &idempost::Error) -> Self {
        let auth = match error {
            idempost::Error::Auth(auth) => Some(&**auth),
            _ => None,
        };
        match auth {
            Some(AuthError::Rejected(error)) => {
                let code = error.code.as_str().to_owned();
                Self::Rejected { code, description: error.description.clone() }
            }
            Some(AuthError::Throttled { status, retry_after }) => {
                Self::Throttled { status: *status, retry_after: *retry_after }
            }
            Some(AuthError::NotOAuthEndpoint { status, path }) => {
                Self::NotOAuthEndpoint { status: *status, path: path.clone() }
            }
            Some(failed @ AuthError::Store(StoreError::Unavailable { .. })) => {
                Self::Store(error_reason(failed))
            }
            _ => Self::Other {
                message: auth.map_or_else(|| report::sdk_message(error), |auth| report::error_chain(auth)),
                retryable: auth.is_some_and(AuthError::is_retryable),
            },
        }
    }
}

impl From<Failure> for AuthError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotSaved(message) => Self::NotSaved(StoreError::unavailable(message)),
            Failure::Store(message) => Self::Store(StoreError::unavailable(message)),
            Failure::Rejected { code, description } => Self::Rejected(OAuthError::new(code, description)),
            Failure::Throttled { status, retry_after } => Self::Throttled { status, retry_after },
            Failure::NotOAuthEndpoint { status, path } => Self::NotOAuthEndpoint { status, path },
            Failure::Other { message, retryable } => Self::Delegate { message, retryable },
        }
    }
}

/// Starts a helper that refreshes a profile's login. Dropping the future leaves the helper running.
pub(crate) async fn renew(
    profile: String,
    request: RefreshRequest,
    network: &Network,
    verbose: u8,
    report: &(dyn Fn(&Report) + Send + Sync),
) -> Result<(), AuthError> {
    let failed = |what: String| AuthError::Delegate { message: what, retryable: true };
    let mut command = tokio::process::Command::new(
        processes::current_program().map_err(|error| failed(error.to_string()))?,
    );
    command.arg(COMMAND).arg(profile).arg(request.generation.to_string()).arg(request.rejected.to_string());
    command.arg(verbose.to_string());
    command.args(&request.scope).envs(network.variables());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[cfg(unix)]
    command.process_group(0);
    // DETACHED_PROCESS: without a console, so that neither Ctrl-C nor closing the window reaches it.
    #[cfg(windows)]
    command.creation_flags(0x8);
    let mut helper =
        command.spawn().map_err(|error| failed(format!("couldn't start the token refresh: {error}")))?;
    let mut done = None;
    if let Some(output) = helper.stdout.take() {
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            match serde_json::from_str(&line) {
                Ok(Line::Report(reported)) => report(&reported),
                Ok(Line::Done(failure)) => done = Some(failure),
                Err(_) => {}
            }
        }
    }
    let status = helper.wait().await.map_err(|error| failed(error.to_string()))?;
    let done = done.ok_or_else(|| failed(format!("the token refresh was interrupted ({status})")))?;
    done.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Runs as the helper if the arguments say so.
pub(crate) fn run(arguments: &[OsString], env: &Env) -> Option<u8> {
    let [_, word, profile, generation, rejected, verbose, scope @ ..] = arguments else { return None };
    if word != COMMAND || scope.len() > 1 {
        return None;
    }
    let scope = match scope.first() {
        Some(scope) => Some(scope.to_str()?.to_owned()),
        None => None,
    };
    let (profile, verbose) = (profile.to_str()?, verbose.to_str()?.parse().ok()?);
    let (generation, rejected) = (generation.to_str()?.parse().ok()?, rejected.to_str()?.parse().ok()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let failure =
        runtime.block_on(execute(profile, RefreshRequest { generation, rejected, scope }, verbose, env));
    let code = u8::from(failure.is_some());
    print(&Line::Done(failure));
    Some(code)
}

fn print(line: &Line) {
    let mut bytes = serde_json::to_vec(line).unwrap_or_default();
    bytes.push(b'\n');
    // The command may have exited.
    let _ = write_stdout(&bytes);
}

async fn execute(profile: &str, request: RefreshRequest, verbose: u8, env: &Env) -> Option<Failure> {
    // Signals are ignored: a refresh is bounded by its own timeouts.
    let _signals = Signals::listen();
    let unsaved = Arc::new(Mutex::new(None));
    let not_saved = Arc::clone(&unsaved);
    let on_event = move |event: &SessionEvent| match event {
        SessionEvent::NotSaved(error) => *lock(&not_saved) = Some(error_reason(error)),
        waiting @ SessionEvent::Waiting { .. } => print(&Line::Report(Report::Waiting(waiting.to_string()))),
        other => print(&Line::Report(Report::Warning(other.to_string()))),
    };
    let trace = |lines: &str| print(&Line::Report(Report::Trace(lines.to_owned())));
    let done = match Credentials::new(env, Some(profile)) {
        Err(error) => Err(AuthError::Store(error).into()),
        Ok(credentials) => {
            let session = Session::builder().on_event(on_event);
            // The command has read the same files, but a pipe can be read only once.
            let transport = match Network::from_env(env).transport() {
                Ok(transport) => Arc::new(transport),
                Err((setting, rule)) => {
                    let message = format!("`{setting}` can't be read again for the token refresh: {rule}");
                    return Some(Failure::Other { message, retryable: false });
                }
            };
            let transport = TracedTransport::wrap(transport, verbose, Arc::new(trace));
            let session = session.transport(transport).open(credentials.store(None));
            let done = session.refresh(request).await;
            session.close().await;
            done
        }
    };
    // The session has retried several times, and the tokens are lost when this process exits.
    match (lock(&unsaved).take(), done) {
        (Some(message), _) => Some(Failure::NotSaved(message)),
        (None, done) => done.err().as_ref().map(Failure::from),
    }
}

/// The reason why the store failed, without the command's context.
fn error_reason(error: &AuthError) -> String {
    match error {
        AuthError::NotSaved(StoreError::Unavailable { reason, source })
        | AuthError::Store(StoreError::Unavailable { reason, source }) => {
            source.as_ref().map_or_else(|| reason.clone(), |cause| format!("{reason}: {cause}"))
        }
        other => report::error_chain(other),
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
