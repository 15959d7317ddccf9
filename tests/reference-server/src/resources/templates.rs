//! Templates: stored bodies with variables. A path names one by its id or by its alias.
//!
//! A template has a version that is edited and, once it was published, one that is sent. An edit of a published template stays a draft until it
//! is published; name and alias belong to the template itself and hold at once.

pub(crate) mod version;
mod wish;

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::version::{Type, Version};
use self::wish::Wish;
use super::answers;
use super::contacts::book::PropertyValue;
use super::timestamp::database;
use crate::paging::{Mode, Window, list, quoted};
use crate::problem::{Problem, json};
use crate::routes::Context;
use crate::state::Tenant;
use crate::store::size::Size;
use crate::store::table::{self, NoGroup};

/// One template.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Template {
    pub(crate) id: Uuid,
    pub(crate) name: String,
    pub(crate) alias: Option<String>,
    /// The newest version.
    pub(crate) newest: Arc<Version>,
    /// The version that is sent.
    pub(crate) published: Option<Arc<Version>>,
    created_at: Timestamp,
    updated_at: Timestamp,
    published_at: Option<Timestamp>,
}

/// A version that is published as it is counts once.
impl Size for Template {
    fn heap_size(&self) -> usize {
        let Self { id: _, name, alias, newest, published, created_at: _, updated_at: _, published_at: _ } =
            self;
        let published = published.as_ref().filter(|version| !Arc::ptr_eq(version, newest));
        name.heap_size() + alias.heap_size() + newest.heap_size() + published.map_or(0, Size::heap_size)
    }
}

impl table::Record for Template {
    const PLURAL: &'static str = "templates";

    type Group = NoGroup;

    fn key(&self) -> Option<&str> {
        self.alias.as_deref()
    }

    /// Two templates never share an alias. The specification is silent on it; a send has to find one.
    fn conflict(&self, _: &Self) -> Problem {
        Problem::validation(format!(
            "`alias` must be a new one; there is a template with the alias {} already.",
            quoted(self.alias.as_deref().unwrap_or_default())
        ))
    }
}

/// What leads from a name in a request to something that can be sent.
pub(crate) enum Lookup {
    Published(Uuid, Arc<Version>),
    /// There is one, and it was never published.
    Draft,
    Unknown,
}

/// The template with this id or alias, to be sent.
pub(crate) fn look_up(tenant: &Tenant, id_or_alias: &str) -> Lookup {
    match find(tenant, id_or_alias) {
        None => Lookup::Unknown,
        Some(template) => {
            let id = template.id;
            template.published.clone().map_or(Lookup::Draft, |version| Lookup::Published(id, version))
        }
    }
}

/// The template with this id or alias.
pub(crate) fn find(tenant: &Tenant, id_or_alias: &str) -> Option<Arc<Template>> {
    let by_id = Uuid::try_parse(id_or_alias).ok().and_then(|id| tenant.templates.get(id));
    by_id.or_else(|| tenant.templates.by_key(id_or_alias))
}

/// The template that the path names.
fn named(context: &Context<'_>) -> Result<Arc<Template>, Problem> {
    find(&context.tenant, &context.parameter(0)).ok_or_else(|| Problem::not_found("Template not found."))
}

/// `POST /templates`: a draft.
pub(crate) fn create(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let (id, now) = (context.service.next_id(), context.now());
    let wish = Wish::to_create(context)?;
    let blank = Version {
        id: context.service.next_id(),
        from: None,
        subject: None,
        reply_to: None,
        html: String::new(),
        text: None,
        variables: Vec::new(),
    };
    let mut template = Template {
        id,
        name: String::new(),
        alias: None,
        newest: Arc::new(blank),
        published: None,
        created_at: now,
        updated_at: now,
        published_at: None,
    };
    wish.grant(&mut template);
    context.tenant.templates.add(id, template)?;
    Ok(answers::made("template", id))
}

/// `GET /templates`, mode A.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::A)?;
    Ok(list(&context.tenant.templates.page(&window)?.map(|template| Item::of(&template))))
}

/// `GET /templates/{id_or_alias}`: the newest version.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    Ok(json(StatusCode::OK, &Record::of(&*named(context)?)))
}

/// `PATCH /templates/{id_or_alias}`.
pub(crate) fn update(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = named(context)?.id;
    let wish = Wish::to_update(context)?;
    let (now, version) = (context.now(), context.service.next_id());
    let changed = context.tenant.templates.try_change(id, |template| {
        if wish.changes_content() {
            Arc::make_mut(&mut template.newest).id = version;
        }
        wish.grant(template);
        template.updated_at = now;
        Ok(answers::reference("template", id))
    });
    changed.ok_or_else(|| Problem::not_found("Template not found."))?
}

/// `POST /templates/{id_or_alias}/publish`: the newest version is the one that is sent from now on. Publishing it again changes nothing.
pub(crate) fn publish(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let (id, now) = (named(context)?.id, context.now());
    context.tenant.templates.change(id, |template| {
        if !template.has_unpublished_versions() {
            return;
        }
        template.published = Some(Arc::clone(&template.newest));
        template.published_at = Some(now);
        template.updated_at = now;
    });
    Ok(answers::reference("template", id))
}

/// `POST /templates/{id_or_alias}/duplicate`: a draft of the newest version, without the alias.
pub(crate) fn duplicate(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let (original, id, now) = (named(context)?, context.service.next_id(), context.now());
    let copy = Template {
        id,
        name: format!("{} (copy)", original.name),
        alias: None,
        newest: Arc::new(Version { id: context.service.next_id(), ..Version::clone(&original.newest) }),
        published: None,
        created_at: now,
        updated_at: now,
        published_at: None,
    };
    context.tenant.templates.add(id, copy)?;
    Ok(answers::reference("template", id))
}

/// `DELETE /templates/{id_or_alias}`.
pub(crate) fn delete(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = named(context)?.id;
    context.tenant.templates.remove(id);
    Ok(answers::deleted("template", id))
}

impl Template {
    fn has_unpublished_versions(&self) -> bool {
        self.published.as_ref().is_none_or(|published| published.id != self.newest.id)
    }
}

/// `SPEC.md`, Template.
#[derive(Serialize)]
struct Item {
    id: String,
    name: String,
    alias: Option<String>,
    status: &'static str,
    published_at: Option<String>,
    created_at: String,
    updated_at: String,
}

impl Item {
    fn of(template: &Template) -> Self {
        Self {
            id: template.id.to_string(),
            name: template.name.clone(),
            alias: template.alias.clone(),
            status: if template.published.is_some() { "published" } else { "draft" },
            published_at: template.published_at.map(database),
            created_at: database(template.created_at),
            updated_at: database(template.updated_at),
        }
    }
}

#[derive(Serialize)]
struct Record<'a> {
    object: &'static str,
    #[serde(flatten)]
    item: Item,
    current_version_id: String,
    has_unpublished_versions: bool,
    from: Option<&'a str>,
    subject: Option<&'a str>,
    reply_to: Option<Vec<&'a str>>,
    html: &'a str,
    text: Option<std::borrow::Cow<'a, str>>,
    variables: Vec<Variable<'a>>,
}

#[derive(Serialize)]
struct Variable<'a> {
    id: String,
    key: &'a str,
    r#type: Type,
    fallback_value: Option<&'a PropertyValue>,
    created_at: String,
    updated_at: String,
}

impl<'a> Record<'a> {
    fn of(template: &'a Template) -> Self {
        let version = &*template.newest;
        let reply_to = version.reply_to.as_ref();
        let variables = version.variables.iter().map(|variable| Variable {
            id: variable.id.to_string(),
            key: &variable.key,
            r#type: variable.r#type,
            fallback_value: variable.fallback_value.as_ref(),
            created_at: database(variable.created_at),
            updated_at: database(variable.created_at),
        });
        Self {
            object: "template",
            item: Item::of(template),
            current_version_id: version.id.to_string(),
            has_unpublished_versions: template.has_unpublished_versions(),
            from: version.from.as_ref().map(|from| from.text.as_str()),
            subject: version.subject.as_deref(),
            reply_to: reply_to.map(|list| list.iter().map(|one| one.text.as_str()).collect()),
            html: &version.html,
            text: Some(match &version.text {
                Some(text) => text.as_str().into(),
                None => crate::delivery::text::derive(&version.html).into(),
            }),
            variables: variables.collect(),
        }
    }
}
