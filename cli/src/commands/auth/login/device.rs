//! A login with the device flow (RFC 8628).

use idempost::auth::{
    AuthError, AuthorizationServer, DeviceAuthorization, OAuthErrorCode, Scope, Session, TokenRecord,
};
use serde_json::json;

use super::countdown::Countdown;
use super::{Plan, client};
use crate::commands::auth::{auth_failure, login_failure};
use crate::context::Context;
use crate::credentials::ProfileStore;
use crate::diagnostics::Fail;
use crate::output::write_stderr;
use crate::signals;

/// Prints the page and the code, waits until access is allowed, and stores the login.
pub(super) async fn log_in(plan: &Plan, store: ProfileStore, context: &Context) -> Result<TokenRecord, Fail> {
    let server = plan.login.target.discover(context).await?;
    let device = begin(&server, plan, context).await?;
    show(&device, &plan.login.scopes, context);
    let countdown = Countdown::new(plan.timeout.min(device.expires_in()), context)?;
    let allowed = tokio::select! {
        allowed = tokio::time::timeout(plan.timeout, server.exchange_device(&device)) => allowed,
        never = countdown.run() => match never {},
    };
    let record = allowed
        .map_err(|_| auth_failure(&AuthError::RedirectTimeout { waited: plan.timeout }))?
        .map_err(login_failure)?;
    // The tokens exist only in this process, so signals wait until they are stored.
    let _held = signals::hold();
    Session::start(store, &record).await.map_err(login_failure)?;
    Ok(record)
}

/// Requests the code with the given client ID, the first one that the server knows, or a newly registered one.
async fn begin(
    server: &AuthorizationServer,
    plan: &Plan,
    context: &Context,
) -> Result<DeviceAuthorization, Fail> {
    let request = |client_id: String| {
        plan.login
            .scopes
            .iter()
            .fold(server.authorize_device(client_id), |request, scope| {
                request.scope(Scope::from(scope.clone()))
            })
            .send()
    };
    if let Some(given) = &plan.client_id {
        return request(given.clone()).await.map_err(login_failure);
    }
    for known in client::known_ids(server, context)? {
        match request(known).await {
            Err(idempost::Error::Auth(error)) if is_unknown_client(&error) => {}
            begun => return begun.map_err(login_failure),
        }
    }
    request(client::register(server).await?).await.map_err(login_failure)
}

fn is_unknown_client(error: &AuthError) -> bool {
    matches!(error, AuthError::Rejected(error)
        if matches!(error.code, OAuthErrorCode::InvalidClient | OAuthErrorCode::UnauthorizedClient))
}

fn show(device: &DeviceAuthorization, scopes: &[String], context: &Context) {
    let (url, code, scope) = (device.verification_uri(), device.user_code(), scopes.join(" "));
    let complete = device.verification_uri_complete();
    if context.out.messages_are_json {
        let open = json!({ "url": url, "user_code": code, "complete_url": complete, "scope": scope });
        return write_stderr(&format!("{}\n", json!({ "open": open })));
    }
    let complete = complete.map_or_else(String::new, |complete| {
        format!("or open this page, and compare the code:\n  {complete}\n")
    });
    write_stderr(&format!(
        "Open this page on any device to allow `idempost` to use your account ({scope}), and enter {code}:\n  {url}\n{complete}"
    ));
    context.out.note("Waiting for your decision…");
}
