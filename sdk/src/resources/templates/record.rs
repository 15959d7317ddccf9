//! Templates as the service returns them.

use serde_json::Value;

use super::variable::VariableType;
use crate::types::{TemplateId, Timestamp};

record! {
    /// A template in a list (`docs/specification.md`, Template).
    pub struct TemplateSummary {
        /// The template's ID.
        pub id: TemplateId,
        /// The template's name.
        pub name: String,
        /// The alias, which the service accepts in place of the ID.
        pub alias: Option<String>,
        /// Whether the template is published.
        pub status: Option<TemplateStatus>,
        /// When the template was last published.
        pub published_at: Option<Timestamp>,
        /// When the template was created.
        pub created_at: Option<Timestamp>,
        /// When the template was last updated.
        pub updated_at: Option<Timestamp>,
    }

    /// A template with its latest content, which may be an unpublished draft. (The specification names the operation but doesn't define the fields.)
    pub struct Template: TemplateSummary {
        /// The ID of this version.
        pub current_version_id: Option<String>,
        /// Whether this content differs from the published content.
        pub has_unpublished_versions: Option<bool>,
        /// The default sender.
        pub from: Option<String>,
        /// The default subject.
        pub subject: Option<String>,
        /// The default `Reply-To` addresses.
        pub reply_to: Option<Vec<String>>,
        /// The HTML body.
        pub html: Option<String>,
        /// The plain-text body.
        pub text: Option<String>,
        /// The variables.
        pub variables: Option<Vec<DefinedVariable>>,
    }
}

items!(TemplateSummary);

record! {
    /// A variable of a template.
    pub struct DefinedVariable {
        /// The variable's ID.
        pub id: Option<String>,
        /// The variable's key.
        pub key: String,
        /// The type of its values.
        pub kind as "type": Option<VariableType>,
        /// The value for emails that don't set one: a string or a number.
        pub fallback_value: Option<Value>,
        /// When the variable was defined.
        pub created_at: Option<Timestamp>,
        /// When the variable was last updated.
        pub updated_at: Option<Timestamp>,
    }
}

open_enum! {
    /// Whether a template is published.
    TemplateStatus {
        /// Never published.
        Draft = "draft",
        /// Published: emails can use it.
        Published = "published",
    }
}
