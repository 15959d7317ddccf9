//! The list of accounts, received emails, and the newest captured email.

use bytes::Bytes;
use http::{Request, Response};

use crate::inbox::mail::{MailView, ReceivedItem};
use crate::inbox::{matching_page, window};
use idempost_reference_server::access::{self, account};
use idempost_reference_server::lock::lock;
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::State;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::wire::answers::HandlerResult;
use idempost_reference_server::wire::described;
use idempost_reference_server::wire::paging::{Page, Window, list};
use idempost_reference_server::wire::problem::Problem;

/// `GET /_/tenants`: all accounts, most recently used first. Without a password, the route needs no credential, so it shows no keys; with a
/// credential, it marks that account as current.
pub(super) fn tenants(state: &State, request: &Request<Bytes>) -> Response<Bytes> {
    let current = access::name_or_query(state, request).ok();
    let tenants = state.tenants.all();
    let items = tenants.iter().map(|tenant| AccountItem::new(state, tenant, current.as_deref()));
    list(&Page { items: items.collect(), has_more: false })
}

described! {
    /// An account.
    pub(super) struct AccountItem(state: &State, tenant: &Tenant, current_name: Option<&str>) {
        /// It can be used in place of the account's key.
        id: String = account::id(state, &tenant.name),
        /// The beginning of its key, without the password.
        label: String = account::key_label(state, &tenant.name),
        /// Whether the request's credential is the account's.
        current: bool = current_name == Some(&*tenant.name),
        /// The number of captured emails.
        sent: usize = lock(&tenant.captured).len(),
        received: usize = lock(&tenant.received).len(),
    }
}

/// `GET /_/received`, mode A: received emails, with the search of `GET /_/messages`.
pub(super) fn list_received(call: &AccountCall<'_>) -> HandlerResult {
    Ok(list(&matching_page(call, &call.tenant.received, &window(call)?)?.show(ReceivedItem)))
}

/// `GET /_/latest.html?to=…`: the newest matching captured email, for tests that have only a browser.
pub(super) fn latest(call: &AccountCall<'_>) -> Result<MailView, Problem> {
    let window = Window { limit: Some(1), ..Window::default() };
    let page = matching_page(call, &call.tenant.captured, &window)?;
    let mail = page.items.into_iter().next();
    mail.map(MailView::Sent).ok_or_else(|| Problem::not_found("No captured email matches."))
}
