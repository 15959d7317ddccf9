//! Domains: `POST /domains`, `GET /domains`, `GET`, `PATCH` and `DELETE /domains/{id}`, `POST /domains/{id}/verify`.
//!
//! Tenants are isolated, so each can register a domain that another tenant has verified, except in a strict sandbox: there it has to be
//! claimed ([`claims`]).

pub mod claims;
pub mod name;

use std::sync::Arc;

use http::StatusCode;
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::context::Context;
use crate::delivery::webhooks::{notify, payload};
use crate::model::domain::{self, Capabilities, Domain, Region, Setup, Tls};
use crate::state::job::{Job, Task};
use crate::state::moment::Moment;
use crate::store::table::Record as _;
use crate::wire::{
    Checked, Field, Fields, HandlerResult, Problem, SWITCH, answers, boolean, input, json, quote, replace,
};

/// `POST /domains`, 201.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let setup = context.body(read_new)?;
    if context.state.settings.strict_domains
        && claims::owner(context.state, &context.tenant, &setup.name).is_some()
    {
        return Err(Problem::forbidden(format!(
            "The domain {} has been registered already by another account. Claim it: POST /domains/claim.",
            setup.name
        )));
    }
    let domain = Domain::new(context.state.next_id(), context.now(), setup);
    let answer = json(StatusCode::CREATED, &domain::Created(&domain));
    let id = domain.id;
    context.tenant.domains.add(id, domain)?;
    notify_webhooks(context.moment(), "domain.created", context.tenant.domains.get(id));
    Ok(answer)
}

/// `PATCH /domains/{id}`. New records start as `not_started`; the others, and the domain, keep their status. (The specification names the
/// operation without defining it.)
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = context.id("a domain")?;
    // The rules concern the result of the update, so it is applied to the current settings first.
    context.tenant.domains.try_update(id, |domain| {
        let setup = context.body(|fields| read_update(&domain.setup, fields))?;
        domain.set_up(setup);
        Ok(())
    })?;
    Ok(answers::reference("domain", id))
}

/// `DELETE /domains/{id}`.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = context.id("a domain")?;
    let domain = context.tenant.domains.remove(id).ok_or_else(Domain::not_found)?;
    claims::cancel(&context.tenant, id);
    notify_webhooks(context.moment(), "domain.deleted", Some(domain));
    Ok(answers::deleted_response("domain", id))
}

/// `POST /domains/{id}/verify`: starts a check of the DNS records and responds immediately.
pub fn verify(context: &Context<'_>) -> HandlerResult {
    let id = context.id("a domain")?;
    if claims::is_placeholder(&context.tenant, id) {
        return Err(Problem::validation(
            "The domain belongs to another account until its claim is completed: GET /domains/{id}/claim.",
        ));
    }
    let begun = changed_status(context.moment(), id, crate::model::domain::verification::begin_check);
    let begun = begun.ok_or_else(Domain::not_found)?;
    if let Some(check) = begun {
        let job = Job::new(&context.tenant, Task::CheckDomain { domain: id, number: check.number });
        context.state.scheduler.schedule(saturating_add(context.now(), check.due_after), job);
    }
    Ok(answers::reference("domain", id))
}

/// Changes a domain, and notifies webhooks if its status changed (`docs/specification.md`, Events).
pub fn changed_status<R>(moment: Moment<'_>, id: Uuid, change: impl FnOnce(&mut Domain) -> R) -> Option<R> {
    let (result, changed) = moment.tenant.domains.change(id, |domain| {
        let before = domain.status;
        let result = change(domain);
        (result, domain.status != before)
    })?;
    if changed {
        notify_webhooks(moment, "domain.updated", moment.tenant.domains.get(id));
    }
    Some(result)
}

/// Notifies webhooks of an event of a domain.
fn notify_webhooks(moment: Moment<'_>, kind: &'static str, domain: Option<Arc<Domain>>) {
    if let Some(domain) = domain {
        notify(moment, kind, None, || payload::domain(&domain));
    }
}

input! {
    /// The settings of both a new and an updated domain.
    struct SetupInput(fields) {
        open_tracking: Option<bool> = fields.optional("open_tracking", boolean),
        click_tracking: Option<bool> = fields.optional("click_tracking", boolean),
        tls: Option<Tls> = fields.optional("tls", |field| field.one_of(Tls::WORDS)),
        capabilities: Option<CapabilitiesInput> =
            fields.optional("capabilities", |field| field.object(CapabilitiesInput::read)),
    }
}

input! {
    /// Omitted capabilities stay unchanged.
    struct CapabilitiesInput(fields) {
        sending: Option<bool> = fields.optional("sending", |field| field.one_of(&SWITCH)),
        receiving: Option<bool> = fields.optional("receiving", |field| field.one_of(&SWITCH)),
    }
}

impl SetupInput {
    fn apply(self, setup: &mut Setup) {
        replace(&mut setup.open_tracking, self.open_tracking);
        replace(&mut setup.click_tracking, self.click_tracking);
        replace(&mut setup.tls, self.tls);
        if let Some(capabilities) = self.capabilities {
            replace(&mut setup.capabilities.sending, capabilities.sending);
            replace(&mut setup.capabilities.receiving, capabilities.receiving);
        }
    }
}

fn read_new(fields: &mut Fields<'_>) -> Checked<Setup> {
    let setup = read_named(fields);
    let input = SetupInput::read(fields);
    let mut setup = setup?;
    input?.apply(&mut setup);
    check_fields(fields, setup)
}

/// Reads the settings of a claim: like a new domain's, without `tls` and `capabilities`.
fn read_claim(fields: &mut Fields<'_>) -> Checked<Setup> {
    let setup = read_named(fields);
    let open_tracking = fields.optional("open_tracking", boolean);
    let click_tracking = fields.optional("click_tracking", boolean);
    let mut setup = setup?;
    replace(&mut setup.open_tracking, open_tracking?);
    replace(&mut setup.click_tracking, click_tracking?);
    check_fields(fields, setup)
}

fn read_named(fields: &mut Fields<'_>) -> Checked<Setup> {
    let name = fields.required("name", |field| field.parse_with(name::domain));
    let region = fields.optional("region", |field| field.one_of(Region::WORDS));
    let return_path = fields.optional("custom_return_path", read_label);
    let tracking_subdomain = fields.optional("tracking_subdomain", read_label);
    Ok(Setup {
        name: name?,
        region: region?.unwrap_or_default(),
        return_path: return_path?.unwrap_or_else(|| "send".to_owned()),
        open_tracking: false,
        click_tracking: false,
        tracking_subdomain: tracking_subdomain?,
        tls: Tls::default(),
        capabilities: Capabilities::default(),
    })
}

fn read_update(known: &Setup, fields: &mut Fields<'_>) -> Checked<Setup> {
    let mut setup = known.clone();
    let input = SetupInput::read(fields);
    // The specification doesn't define removing the subdomain; here `null` removes it, as `null` is its value in responses.
    let tracking_subdomain = fields.patch("tracking_subdomain", read_label);
    input?.apply(&mut setup);
    tracking_subdomain?.apply(&mut setup.tracking_subdomain);
    check_fields(fields, setup)
}

/// Checks the rules between fields.
fn check_fields(fields: &Fields<'_>, setup: Setup) -> Checked<Setup> {
    let mut checked = Ok(());
    if setup.capabilities == (Capabilities { sending: false, receiving: false }) {
        checked = Err(fields.reject(
            "capabilities",
            "must have at least one of `sending` and `receiving` enabled; found both disabled",
        ));
    }
    if setup.tracking_subdomain.as_deref() == Some(&setup.return_path) {
        // A name with a CNAME record can have no other records (RFC 1034, 3.6.2).
        let found = quote(&setup.return_path);
        checked = Err(fields.reject(
            "tracking_subdomain",
            format_args!("must differ from the return path's label; found {found} for both"),
        ));
    }
    checked.map(|()| setup)
}

fn read_label(field: &Field<'_>) -> Checked<String> {
    field.parse_with(name::parse_label)
}
