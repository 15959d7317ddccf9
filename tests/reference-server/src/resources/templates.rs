//! Templates: stored bodies with variables. A path names one by its ID or its alias.
//!
//! A template has a latest version, which edits change, and, once published, a version that is sent. An edit of a published template stays
//! a draft until it is published; name and alias belong to the template itself and change immediately.

pub mod input;

use std::sync::Arc;

use http::StatusCode;
use uuid::Uuid;

use self::input::TemplateInput;
use crate::context::Context;
use crate::model::template::version::Version;
use crate::model::template::{self, Template};
use crate::state::tenant::Tenant;
use crate::wire::{HandlerResult, Problem, answers, json};

/// The result of looking up a template to send.
pub enum Lookup {
    Published(Uuid, Arc<Version>),
    /// It exists, but was never published.
    Draft,
    Unknown,
}

/// Looks up a template by ID or alias, for sending.
pub fn find_published(tenant: &Tenant, id_or_alias: &str) -> Lookup {
    match tenant.templates.find(id_or_alias) {
        None => Lookup::Unknown,
        Some(template) => {
            let id = template.id;
            template.published.clone().map_or(Lookup::Draft, |version| Lookup::Published(id, version))
        }
    }
}

/// Finds the template of the path.
fn find(context: &Context<'_>) -> Result<Arc<Template>, Problem> {
    context.find_by_id_or_key(0, &context.tenant.templates)
}

/// `POST /templates`: creates a draft.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let (id, now) = (context.state.next_id(), context.now());
    let input = TemplateInput::from_request(context, &["name", "html"])?;
    let newest = Arc::new(Version { id: context.state.next_id(), ..Version::default() });
    let mut template = Template { id, newest, created_at: now, updated_at: now, ..Template::default() };
    input.apply(&mut template);
    context.tenant.templates.add(id, template)?;
    Ok(answers::created_response("template", id))
}

/// `GET /templates/{id_or_alias}`: the latest version.
pub fn show(context: &Context<'_>) -> HandlerResult {
    Ok(json(StatusCode::OK, &template::Detail(&*find(context)?)))
}

/// `PATCH /templates/{id_or_alias}`.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = find(context)?.id;
    let input = TemplateInput::from_request(context, &[])?;
    let (now, version) = (context.now(), context.state.next_id());
    context.tenant.templates.update(id, |template| {
        if input.changes_content() {
            Arc::make_mut(&mut template.newest).id = version;
        }
        input.apply(template);
        template.updated_at = now;
    })?;
    Ok(answers::reference("template", id))
}

/// `POST /templates/{id_or_alias}/publish`: publishes the latest version. Repeating it has no effect.
pub fn publish(context: &Context<'_>) -> HandlerResult {
    let (id, now) = (find(context)?.id, context.now());
    context.tenant.templates.update(id, |template| {
        if !template.has_unpublished_versions() {
            return;
        }
        template.published = Some(Arc::clone(&template.newest));
        template.published_at = Some(now);
        template.updated_at = now;
    })?;
    Ok(answers::reference("template", id))
}

/// `POST /templates/{id_or_alias}/duplicate`: a draft with the latest version, without the alias.
pub fn duplicate(context: &Context<'_>) -> HandlerResult {
    let (original, id, now) = (find(context)?, context.state.next_id(), context.now());
    let newest = Version { id: context.state.next_id(), ..Version::clone(&original.newest) };
    let copy = Template {
        id,
        name: format!("{} (copy)", original.name),
        newest: Arc::new(newest),
        created_at: now,
        updated_at: now,
        ..Template::default()
    };
    context.tenant.templates.add(id, copy)?;
    Ok(answers::reference("template", id))
}

/// `DELETE /templates/{id_or_alias}`.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = find(context)?.id;
    context.tenant.templates.remove(id);
    Ok(answers::deleted_response("template", id))
}
