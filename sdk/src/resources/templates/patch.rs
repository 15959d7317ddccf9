//! A change of a template.

use serde::Serialize;

use super::{
    TemplateVariable,
    new::{check_alias, check_variables},
};
use crate::{
    problem::Validator,
    types::{Patch, Recipients},
};

/// What to change of a template: [`Templates::update`](super::Templates::update). What is not named stays as it is; what is cleared has no
/// value any more.
///
/// ```
/// use posthaste::TemplatePatch;
///
/// let patch = TemplatePatch::new().subject("Welcome").clear_reply_to();
/// assert!(patch.check().is_ok());
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct TemplatePatch {
    #[serde(skip_serializing_if = "Patch::is_keep")]
    name: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    alias: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    from: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    subject: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    reply_to: Patch<Recipients>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    html: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    text: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    variables: Patch<Vec<TemplateVariable>>,
}

impl TemplatePatch {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another name. It holds at once, also where the template is published.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Patch::Set(name.into());
        self
    }

    /// Another alias. It holds at once, also where the template is published.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.alias = Patch::Set(alias.into());
        self
    }

    /// Takes the alias away.
    #[must_use]
    pub fn clear_alias(mut self) -> Self {
        self.alias = Patch::Clear;
        self
    }

    /// Another sender.
    #[must_use]
    pub fn from(mut self, from: impl Into<String>) -> Self {
        self.from = Patch::Set(from.into());
        self
    }

    /// Takes the sender away: each send has to name one.
    #[must_use]
    pub fn clear_from(mut self) -> Self {
        self.from = Patch::Clear;
        self
    }

    /// Another subject.
    #[must_use]
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Patch::Set(subject.into());
        self
    }

    /// Takes the subject away: each send has to have one.
    #[must_use]
    pub fn clear_subject(mut self) -> Self {
        self.subject = Patch::Clear;
        self
    }

    /// Other addresses that answers go to, in the place of those it had.
    #[must_use]
    pub fn reply_to(mut self, reply_to: impl Into<Recipients>) -> Self {
        self.reply_to = Patch::Set(reply_to.into());
        self
    }

    /// Takes the addresses that answers go to away.
    #[must_use]
    pub fn clear_reply_to(mut self) -> Self {
        self.reply_to = Patch::Clear;
        self
    }

    /// Another HTML body.
    #[must_use]
    pub fn html(mut self, html: impl Into<String>) -> Self {
        self.html = Patch::Set(html.into());
        self
    }

    /// Another plain-text body; an empty one means that there is none.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Patch::Set(text.into());
        self
    }

    /// Lets the service derive the plain-text body from the HTML again.
    #[must_use]
    pub fn clear_text(mut self) -> Self {
        self.text = Patch::Clear;
        self
    }

    /// Other variables, in the place of those it had; at most 50. None at all clears them.
    #[must_use]
    pub fn variables<V: Into<TemplateVariable>>(mut self, variables: impl IntoIterator<Item = V>) -> Self {
        self.variables = Patch::Set(variables.into_iter().map(Into::into).collect());
        self
    }

    fn validate(&self, v: &mut Validator) {
        v.not_blank("name", self.name.text());
        v.not_blank("html", self.html.text());
        check_alias(v, self.alias.text());
        if let Some(from) = self.from.value() {
            v.field("from", |v| v.address(from));
        }
        v.one_line("subject", self.subject.text());
        if let Some(reply_to) = self.reply_to.value() {
            v.addresses("reply_to", reply_to.as_slice());
        }
        if let Some(variables) = self.variables.value() {
            check_variables(v, variables);
        }
    }
}

validate!(TemplatePatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_named_goes_out() {
        // TPL-33
        assert_eq!(serde_json::to_value(TemplatePatch::new()).unwrap(), json!({}));
        let patch =
            TemplatePatch::new().html("<p>x</p>").clear_alias().clear_text().text("").clear_reply_to();
        let expected = json!({ "html": "<p>x</p>", "alias": null, "text": "", "reply_to": null });
        assert_eq!(serde_json::to_value(patch).unwrap(), expected);
    }

    #[test]
    fn fifty_one_variables_are_refused_in_a_change_too() {
        // TPL-08
        let with = |n: usize| {
            TemplatePatch::new().variables((0..n).map(|i| TemplateVariable::number(format!("V{i}"))))
        };
        assert!(with(50).check().is_ok());
        assert_eq!(with(51).check().unwrap_err()[0].code, "count");
    }
}
