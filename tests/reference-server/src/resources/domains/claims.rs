//! Claims of domains: `POST /domains/claim`, `GET /domains/{id}/claim`, `POST /domains/{id}/claim/verify`.
//!
//! The specification mentions claims without defining them; the shapes follow Resend, which documents no errors. A claim is for a domain that another
//! tenant has verified. It creates a placeholder among the tenant's own domains; once the claim is completed, the other tenant loses the domain, and
//! the placeholder becomes an ordinary domain that isn't verified yet.
//!
//! The sandbox makes no DNS lookups. A check takes as long as a domain's (`domain/verification.rs`) and finds the record, with two exceptions: for
//! names that begin with `fail.` (which the owner only has to register), the claim fails; for names that begin with `blocked.`, it is blocked because
//! of the owner's recent activity. The transfer takes another two seconds. A claim expires after 7 days. A newer claim by another tenant supersedes
//! one that is pending. Deleting the placeholder cancels the claim.

use std::sync::Arc;

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::context::Context;
use crate::model::domain::Domain;
use crate::model::domain::verification::check_duration;
use crate::model::domain_claim::{Detail, DomainClaim, Status};
use crate::resources::domains::{notify_webhooks, read_claim};
use crate::state::State;
use crate::state::job::{ClaimStep, Job, Task};
use crate::state::moment::Moment;
use crate::state::tenant::Tenant;
use crate::store::table::Record as _;
use crate::wire::{HandlerResult, Problem, json};

/// The time between the proof and the end of the transfer.
const TRANSFER: SignedDuration = SignedDuration::from_secs(2);

/// `POST /domains/claim`: 201 for a new claim, 200 for one that is pending with the same settings. Otherwise a new claim replaces an earlier one.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let setup = context.body(read_claim)?;
    let (state, tenant, now) = (context.state, &context.tenant, context.now());
    let known = tenant.domain_claims.find_by_key(&setup.name);
    let pending = known.as_ref().filter(|known| known.is_open() && known.setup == setup);
    if let Some(claim) = pending {
        return Ok(json(StatusCode::OK, &Detail(claim)));
    }
    let unfinished = known.as_ref().filter(|known| known.status != Status::Completed);
    let placeholder = unfinished.and_then(|known| tenant.domains.get(known.domain));
    if placeholder.is_none()
        && let Some(own) = tenant.domain(&setup.name)
    {
        return Err(Domain::conflict(&own, &own));
    }
    let owner = owner(state, tenant, &setup.name).ok_or_else(|| {
        let name = &setup.name;
        Problem::validation(format!(
            "`name` must be a domain that another account has verified; no other account has verified {name}. Register it: POST /domains."
        ))
    })?;
    let claim = DomainClaim {
        id: state.next_id(),
        domain: placeholder.as_ref().map_or_else(|| state.next_id(), |placeholder| placeholder.id),
        setup,
        status: Status::Pending,
        checking: false,
        owner: owner.name.clone(),
        proof: format!("idempost-domain-verification={}", state.next_secret().simple()),
        created_at: now,
    };
    let (id, expires_at, answer) = (claim.id, claim.expires_at(), json(StatusCode::CREATED, &Detail(&claim)));
    let replaced = known.and_then(|known| tenant.domain_claims.remove(known.id));
    if let Err(problem) = add(context, claim) {
        if let Some(replaced) = replaced {
            tenant.domain_claims.lock().insert(replaced.id, replaced);
        }
        return Err(problem);
    }
    schedule_step(state, tenant, id, ClaimStep::Expire, expires_at);
    Ok(answer)
}

/// Adds a claim and its placeholder, or neither, and supersedes other tenants' claims.
fn add(context: &Context<'_>, claim: DomainClaim) -> Result<(), Problem> {
    let (state, tenant) = (context.state, &context.tenant);
    let (id, domain, setup) = (claim.id, claim.domain, claim.setup.clone());
    tenant.domain_claims.add(id, claim)?;
    let name = setup.name.clone();
    if tenant.domains.change(domain, |placeholder| placeholder.set_up(setup.clone())).is_none() {
        let placeholder = Domain::new(domain, context.now(), setup);
        if let Err(problem) = tenant.domains.add(domain, placeholder) {
            tenant.domain_claims.remove(id);
            return Err(problem);
        }
        notify_webhooks(context.moment(), "domain.created", tenant.domains.get(domain));
    }
    supersede(state, tenant, &name, |claim| claim.status == Status::Pending);
    Ok(())
}

/// `GET /domains/{id}/claim`, even after the placeholder was deleted.
pub fn show(context: &Context<'_>) -> HandlerResult {
    Ok(json(StatusCode::OK, &Detail(&*find(context)?)))
}

/// `POST /domains/{id}/claim/verify`: starts a check and responds immediately. A request during a check joins it.
pub fn verify(context: &Context<'_>) -> HandlerResult {
    let (id, now) = (find(context)?.id, context.now());
    let (starts, claim) = context.tenant.domain_claims.try_update(id, |claim| {
        let starts = match claim.status {
            Status::Pending => !claim.checking,
            // The reason may no longer apply.
            Status::Blocked if now < claim.expires_at() => true,
            Status::Verified | Status::Completed => false,
            status => {
                return Err(Problem::validation(format!(
                    "The claim is {}. Claim the domain again: POST /domains/claim.",
                    status.as_str()
                )));
            }
        };
        if starts {
            (claim.status, claim.checking) = (Status::Pending, true);
        }
        Ok((starts, claim.clone()))
    })?;
    if starts {
        let due = saturating_add(now, check_duration(&claim.setup.name));
        schedule_step(context.state, &context.tenant, id, ClaimStep::Check, due);
    }
    Ok(json(StatusCode::OK, &Detail(&claim)))
}

fn schedule_step(state: &State, tenant: &Arc<Tenant>, claim: Uuid, step: ClaimStep, due: Timestamp) {
    state.scheduler.schedule(due, Job::new(tenant, Task::AdvanceClaim { claim, step }));
}

fn find(context: &Context<'_>) -> Result<Arc<DomainClaim>, Problem> {
    let claims = &context.tenant.domain_claims;
    claims.oldest(&context.id("a domain")?).ok_or_else(DomainClaim::not_found)
}

/// The other tenants, most recently used first. Their number is limited; claims are rare.
fn other_tenants(state: &State, tenant: &Arc<Tenant>) -> impl Iterator<Item = Arc<Tenant>> {
    state.tenants.all().into_iter().filter(move |other| other.name != tenant.name)
}

/// The other tenant that has verified a domain. Names that can't be verified here only have to be registered.
pub(super) fn owner(state: &State, tenant: &Arc<Tenant>, name: &str) -> Option<Arc<Tenant>> {
    let is_owned = |domain: Arc<Domain>| domain.proven || name.starts_with("fail.");
    other_tenants(state, tenant).find(|other| other.domain(name).is_some_and(is_owned))
}

/// Whether a strict sandbox keeps the tenant from verifying a domain, since another tenant has.
pub fn is_taken(state: &State, tenant: &Arc<Tenant>, domain: Uuid) -> bool {
    let unproven =
        tenant.domains.get(domain).filter(|domain| state.settings.strict_domains && !domain.proven);
    unproven.is_some_and(|domain| owner(state, tenant, &domain.setup.name).is_some())
}

/// Ends claims of the domain by other tenants: a new claim the pending ones, a completed claim those with a transfer in progress, too.
fn supersede(state: &State, tenant: &Arc<Tenant>, name: &str, ends: fn(&DomainClaim) -> bool) {
    for other in other_tenants(state, tenant) {
        if let Some(claim) = other.domain_claims.find_by_key(name).filter(|claim| ends(claim)) {
            other.domain_claims.change(claim.id, |claim| claim.status = Status::Superseded);
        }
    }
}

/// Cancels the claim of a deleted placeholder.
pub(super) fn cancel(tenant: &Tenant, domain: Uuid) {
    if let Some(claim) = tenant.domain_claims.oldest(&domain) {
        tenant.domain_claims.change(claim.id, |claim| {
            if claim.status != Status::Completed {
                claim.status = Status::Canceled;
            }
        });
    }
}

/// Whether a domain is the placeholder of a claim that isn't completed.
pub(super) fn is_placeholder(tenant: &Tenant, domain: Uuid) -> bool {
    tenant.domain_claims.oldest(&domain).is_some_and(|claim| claim.status != Status::Completed)
}

/// Runs a step that is due.
pub fn advance(moment: Moment<'_>, id: Uuid, step: ClaimStep) {
    let Moment { state, tenant, at: due } = moment;
    let Some(claim) = tenant.domain_claims.get(id) else { return };
    let become_status = |status| {
        tenant.domain_claims.change(id, |claim| (claim.status, claim.checking) = (status, false));
    };
    match step {
        ClaimStep::Expire if matches!(claim.status, Status::Pending | Status::Blocked) => {
            become_status(Status::Expired);
        }
        ClaimStep::Check if claim.status == Status::Pending && claim.checking => {
            let name = &claim.setup.name;
            if name.starts_with("fail.") {
                return become_status(Status::Failed);
            }
            if name.starts_with("blocked.") {
                return become_status(Status::Blocked);
            }
            become_status(Status::Verified);
            schedule_step(state, tenant, id, ClaimStep::Transfer, saturating_add(due, TRANSFER));
        }
        ClaimStep::Transfer if claim.status == Status::Verified => {
            let owner = state.tenants.find(&claim.owner);
            let domain = owner.as_ref().and_then(|owner| owner.domain(&claim.setup.name));
            if let (Some(owner), Some(domain)) = (&owner, domain) {
                let removed = owner.domains.remove(domain.id);
                notify_webhooks(Moment { state, tenant: owner, at: due }, "domain.deleted", removed);
            }
            become_status(Status::Completed);
            supersede(state, tenant, &claim.setup.name, DomainClaim::is_open);
        }
        _ => {}
    }
}
