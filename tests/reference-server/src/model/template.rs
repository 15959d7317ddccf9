//! Templates: emails with variables.

pub mod version;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::version::{Variable, Version};
use crate::content::text::derive;
use crate::model::email::recipients::texts;
use crate::store::size;
use crate::store::table::{self, NoGroup};
use crate::wire::{Problem, quote, to_database_format, view};

/// A template.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Template {
    pub id: Uuid,
    pub name: String,
    pub alias: Option<String>,
    /// The latest version.
    pub newest: Arc<Version>,
    /// The version that is sent.
    pub published: Option<Arc<Version>>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub published_at: Option<Timestamp>,
}

impl table::Record for Template {
    const NOUN: &'static str = "a template";
    const PLURAL: &'static str = "templates";

    type Group = NoGroup;

    fn key(&self) -> Option<&str> {
        self.alias.as_deref()
    }

    /// Aliases are unique. The specification doesn't define this, but a send must resolve one.
    fn conflict(&self, _: &Self) -> Problem {
        Problem::validation(format!(
            "`alias` must be a new one; there is a template with the alias {} already.",
            quote(self.alias.as_deref().unwrap_or_default())
        ))
    }

    /// A version that is both latest and published counts once.
    fn size(&self) -> usize {
        let published = self.published.as_ref().filter(|version| !Arc::ptr_eq(version, &self.newest));
        size::row::<Self>(size::heap(&(&self.name, &self.alias, &self.newest, published)))
    }
}

impl Template {
    pub fn has_unpublished_versions(&self) -> bool {
        self.published.as_ref().is_none_or(|published| published.id != self.newest.id)
    }
}

view! {
    pub Item of template: Template {
        id: template.id,
        name: template.name,
        alias: template.alias,
        status: if template.published.is_some() { "published" } else { "draft" },
        published_at: template.published_at.map(to_database_format),
        created_at: to_database_format(template.created_at),
        updated_at: to_database_format(template.updated_at),
    }
}

view! {
    pub Detail of template: Template {
        object: "template",
        ..Item,
        current_version_id: template.newest.id,
        has_unpublished_versions: template.has_unpublished_versions(),
        from: template.newest.from.as_ref().map(|from| &from.text),
        subject: template.newest.subject,
        reply_to: template.newest.reply_to.as_deref().map(texts),
        html: template.newest.html,
        text: template.newest.text.clone().unwrap_or_else(|| derive(&template.newest.html)),
        variables: template.newest.variables.iter().map(VariableItem).collect::<Vec<_>>(),
    }
}

view! {
    VariableItem of variable: Variable {
        id: variable.id,
        key: variable.key,
        type: variable.r#type,
        fallback_value: variable.fallback_value,
        created_at: to_database_format(variable.created_at),
        updated_at: to_database_format(variable.created_at),
    }
}
