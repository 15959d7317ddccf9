//! A login in two commands, for sessions without a terminal: the first prints the consent page's URL, the second takes the redirect's URL.
//!
//! In between, a private file contains `state` and the PKCE verifier, for as long as the service accepts the code.

use idempost::auth::{AuthError, AuthorizationRequest};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::{Args, Grant, Login, PASTE_REDIRECT_URI, Plan, paste};
use crate::actions::repeat::quote_argument;
use crate::commands::auth::auth_failure;
use crate::context::Context;
use crate::credentials::{Credentials, StoreKind};
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::report;

/// The time within which a login can be finished.
const LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Unfinished {
    begun_at: Timestamp,
    #[serde(flatten)]
    login: Login,
    store: StoreKind,
    request: Value,
}

/// Prints the URL of the consent page, and stores the unfinished login.
pub(super) async fn begin(
    plan: &Plan,
    store: StoreKind,
    credentials: &Credentials,
    context: &Context,
) -> Result<(), Fail> {
    let server = plan.login.target.discover(context).await?;
    let request = super::request(&server, PASTE_REDIRECT_URI.to_owned(), plan, context).await?;
    let unfinished = Unfinished {
        begun_at: Timestamp::now(),
        login: plan.login.clone(),
        store,
        request: serde_json::from_slice(&request.to_json()).unwrap_or_default(),
    };
    let bytes = serde_json::to_vec(&unfinished).unwrap_or_default();
    credentials.store_unfinished(bytes).await?;
    let named = context.settings()?.selected_profile();
    let named = named.map(|name| format!(" --profile {}", quote_argument(name))).unwrap_or_default();
    context.out.note(&format!(
        "open this page in any browser to allow `idempost` to use your account ({}); then, within 10 minutes, pass the URL that it redirects to, even if \
         it doesn't load: idempost{named} auth login --callback-url URL",
        plan.login.scopes.join(" ")
    ));
    let url = request.url().as_str();
    context.out.result(
        &[url.to_owned()],
        &json!({
            "profile": context.settings()?.profile_name(),
            "url": url,
            "scope": plan.login.scopes.join(" "),
            "redirect_uri": request.redirect_uri(),
            "expires_at": (unfinished.begun_at + LIFETIME).to_string(),
        }),
    )
}

/// Finishes the login with the URL that the consent page redirected to.
pub(super) async fn finish(given: &str, args: &Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let others = [("--store", args.store.is_some()), ("--with-token", args.with_token)];
    let others = others.into_iter().filter_map(|(name, is_set)| is_set.then_some(name));
    for name in args.page_flags().chain(others) {
        flags.reject("exclusive", format!("{name} can't be used with --callback-url"), name, "");
    }
    flags.finish()?;
    let credentials = Credentials::new(&context.env, context.settings()?.selected_profile())?;
    let none = |message: String| Fail::auth(message).hint("start one: idempost auth login --no-browser");
    let bytes = credentials.load_unfinished_login()?;
    let name = context.settings()?.profile_name();
    let bytes = bytes.ok_or_else(|| none(format!("profile `{name}` has no unfinished login")))?;
    let unreadable = || none("the unfinished login is unreadable".to_owned());
    let Unfinished { begun_at, login, store, request } =
        serde_json::from_slice(&bytes).map_err(|_| unreadable())?;
    let request = serde_json::to_vec(&request).unwrap_or_default();
    let request = AuthorizationRequest::from_json(&request).map_err(|_| unreadable())?;
    if Timestamp::now().duration_since(begun_at) > LIFETIME {
        credentials.take_unfinished()?;
        return Err(none(
            "the login was started more than 10 minutes ago, and its code has expired".to_owned(),
        ));
    }
    check_base_url(&login.target.base_url, context)?;
    let read;
    let given = if given == "-" {
        (_, read) = context.stdin().text("--callback-url", given)?;
        read.trim()
    } else {
        given
    };
    let code = match request.code_from_url(given) {
        Ok(code) => code,
        Err(AuthError::Callback(error)) => {
            let rule = paste::rejection_message(&request, error);
            return Err(invalid_callback(rule));
        }
        Err(error) => {
            credentials.take_unfinished()?;
            return Err(auth_failure(&error));
        }
    };
    let server = login.target.discover(context).await?;
    // The session may have no keyring, unlike the first command's.
    let hint = (store == StoreKind::Keyring)
        .then_some("finish it where the keyring is available, or start it again with --store file");
    credentials.probe(store).await.map_err(|error| {
        Fail::error(format!("the login can't be stored: {}", report::error_chain(&error))).hint_if(hint)
    })?;
    // A code is sent at most once: its reuse would revoke the grant.
    if !credentials.take_unfinished()? {
        return Err(none("another command is finishing this login".to_owned()));
    }
    let record =
        Grant { server, authorization: request, code }.store_in(credentials.store(Some(store))).await?;
    super::warn_about_scope(&login.scopes, &record, context);
    super::save_settings(&login, context)?;
    super::print_result(&login, store, super::metadata(&record), context)
}

fn invalid_callback(rule: String) -> Fail {
    // Omits the value, which contains a code.
    Fail::usage("callback", rule, None)
}

/// The command line and the environment must not name another service.
fn check_base_url(begun: &Url, context: &Context) -> Result<(), Fail> {
    use crate::settings::Source;
    match &context.settings()?.base_url {
        Some(set) if !matches!(set.source, Source::File { .. }) && set.value.origin() != begun.origin() => {
            Err(invalid_callback(format!(
                "the login was started at {begun}, but {} is {}",
                set.source, set.value
            )))
        }
        _ => Ok(()),
    }
}
