//! Templates: stored bodies with variables, which a send names instead of a body.

mod new;
mod patch;
mod variable;

pub use new::NewTemplate;
pub use patch::TemplatePatch;
pub use variable::{DefinedVariable, NumberVariable, StringVariable, TemplateVariable, VariableType};

use http::Method;
use serde::{Deserialize, Serialize};

use super::{Deleted, Reference};
use crate::{
    call::{Call, Operation},
    client::{Client, Item, List},
    types::{TemplateId, Timestamp},
};

/// A template as the list shows it (`SPEC.md`, Template).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TemplateSummary {
    /// The template's id.
    pub id: TemplateId,
    /// Its name.
    pub name: String,
    /// What can stand for its id.
    #[serde(default)]
    pub alias: Option<String>,
    /// Whether it can be sent.
    #[serde(default)]
    pub status: Option<TemplateStatus>,
    /// When it was published last.
    #[serde(default)]
    pub published_at: Option<Timestamp>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When it was changed last.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

impl Item for TemplateSummary {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// One template with its newest content, which of a published template can be one that is not sent yet. (The specification names the operation
/// and is silent on the fields.)
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Template {
    /// What the list shows of it.
    #[serde(flatten)]
    pub summary: TemplateSummary,
    /// The version that is shown here.
    #[serde(default)]
    pub current_version_id: Option<String>,
    /// Whether what is shown here differs from what is sent.
    #[serde(default)]
    pub has_unpublished_versions: Option<bool>,
    /// The sender of emails that name none.
    #[serde(default)]
    pub from: Option<String>,
    /// The subject of emails that have none.
    #[serde(default)]
    pub subject: Option<String>,
    /// Where answers go, for emails that don't say it.
    #[serde(default)]
    pub reply_to: Option<Vec<String>>,
    /// The HTML body.
    #[serde(default)]
    pub html: Option<String>,
    /// The plain-text body.
    #[serde(default)]
    pub text: Option<String>,
    /// The variables.
    #[serde(default)]
    pub variables: Option<Vec<DefinedVariable>>,
}

open_enum! {
    /// Whether a template can be sent.
    TemplateStatus {
        /// It was never published.
        Draft = "draft",
        /// It can be sent.
        Published = "published",
    }
}

/// The operations on templates: [`Client::templates`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// use posthaste::TemplatePatch;
///
/// for template in client.templates().list().limit(10).await?.data {
///     println!("{} {:?}", template.name, template.status);
/// }
/// let patch = TemplatePatch::new().subject("Good morning, {{{NAME}}}");
/// client.templates().update("welcome", &patch).await?;
/// println!("{:?}", client.templates().get("welcome").await?.html);
/// let copy = client.templates().duplicate("welcome").await?;
/// client.templates().delete(copy.id).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Templates<'a> {
    client: &'a Client,
}

impl Client {
    /// Templates: stored bodies with variables.
    pub fn templates(&self) -> Templates<'_> {
        Templates { client: self }
    }
}

impl Templates<'_> {
    /// Makes a template, a draft: `POST /templates`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewTemplate::check`] finds, before anything is sent.
    pub fn create(&self, template: &NewTemplate) -> Call<Reference<TemplateId>> {
        let operation = Operation::new("templates.create", Method::POST, "/templates")
            .validated(template)
            .with_json(template);
        Call::new(&self.client.core, operation)
    }

    /// The templates, newest first: `GET /templates`, 20 a page unless a limit is given.
    pub fn list(&self) -> List<TemplateSummary> {
        List::new(self.client, Operation::get("templates.list", "/templates"))
    }

    /// One template by its id or alias, with its newest content: `GET /templates/{id_or_alias}`.
    pub fn get(&self, id_or_alias: impl Into<TemplateId>) -> Call<Template> {
        Call::new(&self.client.core, on("templates.get", Method::GET, &id_or_alias.into(), ""))
    }

    /// Changes a template by its id or alias: `PATCH /templates/{id_or_alias}`.
    ///
    /// A template that is published goes on being sent as it was published; the change is a draft until it is
    /// [published](Self::publish) too. (The specification is silent on it.)
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`TemplatePatch::check`] finds, before anything is sent.
    pub fn update(
        &self,
        id_or_alias: impl Into<TemplateId>,
        patch: &TemplatePatch,
    ) -> Call<Reference<TemplateId>> {
        let id = id_or_alias.into();
        let operation = on("templates.update", Method::PATCH, &id, "").validated(patch).with_json(patch);
        Call::new(&self.client.core, operation)
    }

    /// Makes the newest content the one that is sent: `POST /templates/{id_or_alias}/publish`. Doing it again changes nothing, so it is repeated
    /// when an answer is lost.
    pub fn publish(&self, id_or_alias: impl Into<TemplateId>) -> Call<Reference<TemplateId>> {
        let id = id_or_alias.into();
        let operation =
            Operation::on("templates.publish", Method::POST, "/templates/", id.as_str(), "/publish");
        Call::new(&self.client.core, operation.repeatable())
    }

    /// Makes a draft of the same content: `POST /templates/{id_or_alias}/duplicate`; it answers the new one's id. (The specification is
    /// silent on this operation.)
    pub fn duplicate(&self, id_or_alias: impl Into<TemplateId>) -> Call<Reference<TemplateId>> {
        Call::new(
            &self.client.core,
            on("templates.duplicate", Method::POST, &id_or_alias.into(), "/duplicate"),
        )
    }

    /// Deletes a template by its id or alias: `DELETE /templates/{id_or_alias}`.
    pub fn delete(&self, id_or_alias: impl Into<TemplateId>) -> Call<Deleted<TemplateId>> {
        Call::new(&self.client.core, on("templates.delete", Method::DELETE, &id_or_alias.into(), ""))
    }
}

fn on(name: &'static str, method: Method, id: &TemplateId, after: &'static str) -> Operation {
    Operation::on(name, method, "/templates/", id.as_str(), after)
}
