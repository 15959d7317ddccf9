//! The suppression list. A path names an entry by its ID or its address.
//!
//! The specification doesn't define it; these are Resend's shapes. Resend publishes no errors; they follow the other resources. Adding a known
//! address changes nothing and returns its entry.

pub mod batch;

use std::sync::Arc;

use http::StatusCode;
use serde::Serialize;
use uuid::Uuid;

use crate::context::Context;
use crate::delivery::suppressions::SuppressionService;
use crate::model::suppression::{self, Origin, Suppression};
use crate::resources::contacts::read_email;
use crate::state::tenant::Tenant;
use crate::store::table::Record as _;
use crate::wire::answers::{self, Answer};
use crate::wire::paging::{Mode, list, quoted};
use crate::wire::problem::{Problem, json};

/// `POST /suppressions`.
pub fn create(context: &Context<'_>) -> Answer {
    let email = context.body(|fields| fields.required("email", read_email))?;
    let added = service(context).add(vec![email], Origin::Manual, None)?;
    let id = added.first().ok_or_else(|| Problem::application("An address was not added."))?;
    Ok(answers::created("suppression", *id))
}

/// `GET /suppressions`: 20 by default, as in mode A; `origin` shows the entries of one origin.
pub fn index(context: &Context<'_>) -> Answer {
    let window = context.window(Mode::A)?;
    let page = match context.query("origin") {
        None => context.tenant.suppressions.page(&window)?,
        Some(word) => {
            let origin = Origin::WORDS.iter().find(|(origin, _)| *origin == word);
            let (_, origin) = origin.ok_or_else(|| {
                let found = quoted(&word);
                Problem::validation(format!(
                    "`origin` must be `bounce`, `complaint` or `manual`; found {found}."
                ))
            })?;
            context.tenant.suppressions.page_of(&window, [*origin], |_| true)?
        }
    };
    Ok(list(&page.show(suppression::Item)))
}

/// `GET /suppressions/{id_or_email}`.
pub fn show(context: &Context<'_>) -> Answer {
    Ok(json(StatusCode::OK, &suppression::Detail(&*named(context)?)))
}

/// `DELETE /suppressions/{id_or_email}`, whatever its origin. Another bounce or complaint adds the address again.
pub fn delete(context: &Context<'_>) -> Answer {
    let id = named(context)?.id;
    service(context).remove(id);
    Ok(answers::deleted("suppression", id))
}

fn service<'a>(context: &'a Context<'_>) -> SuppressionService<'a> {
    SuppressionService { state: context.state, tenant: &context.tenant, at: context.now() }
}

fn named(context: &Context<'_>) -> Result<Arc<Suppression>, Problem> {
    find(&context.tenant, &context.parameter(0)).ok_or_else(Suppression::not_found)
}

/// Finds an entry by its ID or its address.
fn find(tenant: &Tenant, id_or_address: &str) -> Option<Arc<Suppression>> {
    match Uuid::try_parse(id_or_address) {
        Ok(id) => tenant.suppressions.get(id),
        Err(_) => tenant.suppressions.by_key(id_or_address),
    }
}

/// The entries of a batch, as they are created or deleted.
#[derive(Serialize)]
struct Entries<T> {
    data: Vec<T>,
}
