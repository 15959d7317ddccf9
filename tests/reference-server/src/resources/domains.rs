//! Domains: `POST /domains`, `GET /domains`, `GET`, `PATCH` and `DELETE /domains/{id}`, `POST /domains/{id}/verify`.
//!
//! Claims of domains that another tenant has registered (`SPEC.md` mentions them without a definition) aren't supported: tenants are
//! isolated, so no domain is taken.

pub(crate) mod name;

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::context::Context;
use crate::delivery::webhooks::{notify, payload};
use crate::model::domain::{self, Capabilities, Domain, Region, Setup, Tls};
use crate::state::State;
use crate::state::job::Job;
use crate::state::tenant::Tenant;
use crate::wire::answers;
use crate::wire::paging::{Mode, Window, list, quoted};
use crate::wire::problem::{Problem, json};
use crate::wire::switch::SWITCH;
use crate::wire::validation::{Change, Fields, Ignored, Problems};

/// The wire values of the capabilities.
const TLS: [(&str, Tls); 2] = [("opportunistic", Tls::Opportunistic), ("enforced", Tls::Enforced)];

/// `POST /domains`, 201.
pub(crate) fn create(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let setup = context.body(|fields, problems, ignored| Some(read_new(fields, problems, ignored)))?;
    let domain = Domain::new(context.state.next_id(), context.now(), setup);
    let answer = json(StatusCode::CREATED, &domain::Created(&domain));
    let id = domain.id;
    context.tenant.domains.add(id, domain)?;
    notify_webhooks(
        context.state,
        &context.tenant,
        "domain.created",
        context.tenant.domains.get(id),
        context.now(),
    );
    Ok(answer)
}

/// `GET /domains`, mode B. The specification doesn't show the items; they exclude DNS records.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::B)?;
    let page = context.tenant.domains.page(&window)?;
    Ok(list(&page.show(domain::Item)))
}

/// `GET /domains/{id}`.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let domain = context.tenant.domains.get(context.id("a domain")?).ok_or_else(not_found)?;
    Ok(json(StatusCode::OK, &domain::Detail(&domain)))
}

/// `PATCH /domains/{id}`. New records start as `not_started`; the others, and the domain, keep their status. (The specification names the
/// operation without defining it.)
pub(crate) fn update(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("a domain")?;
    // The rules concern the result of the update, so it is applied to the current settings first.
    let changed = context.tenant.domains.try_change(id, |domain| {
        let setup = context
            .body(|fields, problems, ignored| Some(read_update(&domain.setup, fields, problems, ignored)))?;
        domain.set_up(setup);
        Ok(())
    });
    changed.ok_or_else(not_found)??;
    Ok(answers::reference("domain", id))
}

/// `DELETE /domains/{id}`.
pub(crate) fn delete(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("a domain")?;
    let domain = context.tenant.domains.remove(id).ok_or_else(not_found)?;
    notify_webhooks(context.state, &context.tenant, "domain.deleted", Some(domain), context.now());
    Ok(answers::deleted("domain", id))
}

/// `POST /domains/{id}/verify`: starts a check of the DNS records and responds immediately.
pub(crate) fn verify(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("a domain")?;
    let begun = changed_status(
        context.state,
        &context.tenant,
        id,
        context.now(),
        crate::model::domain::verification::begin,
    );
    let begun = begun.ok_or_else(not_found)?;
    if let Some(check) = begun {
        let job =
            Job::CheckDomain { tenant: Arc::downgrade(&context.tenant), domain: id, number: check.number };
        context.state.scheduler.schedule(saturating_add(context.now(), check.due_after), job);
    }
    Ok(answers::reference("domain", id))
}

/// Changes a domain, and notifies webhooks if its status changed (`SPEC.md`, Events).
pub(crate) fn changed_status<R>(
    state: &State,
    tenant: &Arc<Tenant>,
    id: Uuid,
    at: Timestamp,
    change: impl FnOnce(&mut Domain) -> R,
) -> Option<R> {
    let (result, changed) = tenant.domains.change(id, |domain| {
        let before = domain.status;
        let result = change(domain);
        (result, domain.status != before)
    })?;
    if changed {
        notify_webhooks(state, tenant, "domain.updated", tenant.domains.get(id), at);
    }
    Some(result)
}

/// Notifies webhooks of an event of a domain.
fn notify_webhooks(
    state: &State,
    tenant: &Arc<Tenant>,
    kind: &'static str,
    domain: Option<Arc<Domain>>,
    at: Timestamp,
) {
    if let Some(domain) = domain {
        notify(state, tenant, at, kind, None, || payload::domain(&domain));
    }
}

fn not_found() -> Problem {
    Problem::not_found("Domain not found.")
}

fn read_new(fields: &mut Fields<'_>, problems: &mut Problems, ignored: &mut Ignored) -> Setup {
    if !fields.has("name") {
        problems.missing(fields.name("name"));
    }
    let name = fields.take_text("name", problems).and_then(|text| {
        let read = name::domain(&text);
        if let Err(rule) = &read {
            problems.wrong(|| format!("`{}` {rule}; found {}.", fields.name("name"), quoted(&text)));
        }
        read.ok()
    });
    let region = fields.take_word("region", &Region::ALL.map(|region| (region.as_str(), region)), problems);
    let return_path = take_label("custom_return_path", fields, problems);
    let tracking_subdomain = take_label("tracking_subdomain", fields, problems);
    let setup = Setup {
        name: name.unwrap_or_default(),
        region: region.unwrap_or_default(),
        return_path: return_path.unwrap_or_else(|| "send".to_owned()),
        open_tracking: fields.take_bool("open_tracking", problems).unwrap_or_default(),
        click_tracking: fields.take_bool("click_tracking", problems).unwrap_or_default(),
        tracking_subdomain,
        tls: fields.take_word("tls", &TLS, problems).unwrap_or_default(),
        capabilities: take_capabilities(Capabilities::default(), fields, problems, ignored),
    };
    check_fields(&setup, problems);
    setup
}

fn read_update(
    known: &Setup,
    fields: &mut Fields<'_>,
    problems: &mut Problems,
    ignored: &mut Ignored,
) -> Setup {
    let mut setup = known.clone();
    if let Some(open_tracking) = fields.take_bool("open_tracking", problems) {
        setup.open_tracking = open_tracking;
    }
    if let Some(click_tracking) = fields.take_bool("click_tracking", problems) {
        setup.click_tracking = click_tracking;
    }
    if let Some(tls) = fields.take_word("tls", &TLS, problems) {
        setup.tls = tls;
    }
    setup.capabilities = take_capabilities(known.capabilities, fields, problems, ignored);
    // The specification doesn't define removing the subdomain; `null` does it, as `null` is its value in responses.
    match fields
        .take_change("tracking_subdomain", |fields| take_label("tracking_subdomain", fields, problems))
    {
        Change::Keep => {}
        Change::Clear => setup.tracking_subdomain = None,
        Change::Set(label) => setup.tracking_subdomain = Some(label),
    }
    check_fields(&setup, problems);
    setup
}

/// Checks the rules between fields.
fn check_fields(setup: &Setup, problems: &mut Problems) {
    if setup.capabilities == (Capabilities { sending: false, receiving: false }) {
        problems.wrong(|| {
            "`capabilities` must have at least one of `sending` and `receiving` enabled; found both disabled.".to_owned()
        });
    }
    if setup.tracking_subdomain.as_deref() == Some(&setup.return_path) {
        // A name with a CNAME record can have no other records (RFC 1034, 3.6.2).
        problems.wrong(|| {
            format!(
                "`tracking_subdomain` must differ from the return path's label; found {} for both.",
                quoted(&setup.return_path)
            )
        });
    }
}

fn take_label(field: &str, fields: &mut Fields<'_>, problems: &mut Problems) -> Option<String> {
    let text = fields.take_text(field, problems)?;
    match name::label(&text) {
        Ok(label) => Some(label),
        Err(rule) => {
            problems.wrong(|| format!("`{}` {rule}; found {}.", fields.name(field), quoted(&text)));
            None
        }
    }
}

/// Capabilities that aren't named stay unchanged.
fn take_capabilities(
    known: Capabilities,
    fields: &mut Fields<'_>,
    problems: &mut Problems,
    ignored: &mut Ignored,
) -> Capabilities {
    let Some(json) = fields.take("capabilities") else { return known };
    let (at, pointer) = (format!("{}.", fields.name("capabilities")), fields.pointer("capabilities"));
    let Some(mut inner) = Fields::read(json, at, pointer, problems) else { return known };
    let sending = inner.take_word("sending", &SWITCH, problems).unwrap_or(known.sending);
    let receiving = inner.take_word("receiving", &SWITCH, problems).unwrap_or(known.receiving);
    inner.report_ignored(ignored);
    Capabilities { sending, receiving }
}
