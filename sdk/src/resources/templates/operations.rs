//! The operations on templates.

use super::{
    new::NewTemplate,
    patch::TemplatePatch,
    record::{Template, TemplateSummary},
};
use crate::{
    call::Call,
    client::List,
    resources::shared::{Deleted, Reference},
    types::TemplateId,
};

operations! {
    /// The operations on templates: [`Client::templates`](crate::Client::templates).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::templates::TemplatePatch;
    ///
    /// for template in client.templates().list().page_size(10).await?.data {
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
    pub struct Templates;

    /// Returns the operations on templates.
    accessor templates;

    /// Creates a draft template: `POST /templates`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewTemplate::check`] finds, before anything is sent.
    fn create() with (template: &NewTemplate) -> Call<Reference<TemplateId>> = POST["/templates"];

    /// Lists templates, newest first: `GET /templates`, 20 per page by default.
    fn list() -> List<TemplateSummary> = GET["/templates"];

    /// Gets a template by ID or alias with its latest content: `GET /templates/{id_or_alias}`.
    fn get(id_or_alias: TemplateId) -> Call<Template> = GET["/templates/" id_or_alias];

    /// Updates a template by ID or alias: `PATCH /templates/{id_or_alias}`.
    ///
    /// Emails use the published content until the update is [published](Self::publish) as well. (The specification doesn't define this.)
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`TemplatePatch::check`] finds, before anything is sent.
    fn update(id_or_alias: TemplateId) with (patch: &TemplatePatch) -> Call<Reference<TemplateId>>
        = PATCH["/templates/" id_or_alias];

    /// Publishes the latest content: `POST /templates/{id_or_alias}/publish`. The operation is idempotent, so the client retries it if its outcome is
    /// unknown.
    fn publish(id_or_alias: TemplateId) -> Call<Reference<TemplateId>>
        = POST["/templates/" id_or_alias "/publish"].idempotent();

    /// Creates a draft with the same content: `POST /templates/{id_or_alias}/duplicate`. The response contains the new template's ID. (The
    /// specification doesn't define this operation.)
    fn duplicate(id_or_alias: TemplateId) -> Call<Reference<TemplateId>> = POST["/templates/" id_or_alias "/duplicate"];

    /// Deletes a template by ID or alias: `DELETE /templates/{id_or_alias}`.
    fn delete(id_or_alias: TemplateId) -> Call<Deleted<TemplateId>> = DELETE["/templates/" id_or_alias];
}
