//! The input for updating a template.

use super::{
    new::{check_alias, check_variables},
    variable::TemplateVariable,
};
use crate::{
    problem::Validator,
    types::{Patch, Recipients},
};

patch! {
    /// Changes to a template: [`Templates::update`](super::Templates::update). Fields that aren't set are left unchanged.
    ///
    /// ```
    /// use idempost::templates::TemplatePatch;
    ///
    /// let patch = TemplatePatch::new().subject("Welcome").clear_reply_to();
    /// assert!(patch.check().is_ok());
    /// ```
    pub struct TemplatePatch {
        /// Sets the name. It takes effect immediately, even for a published template.
        name: String,
        /// Sets the alias. It takes effect immediately, even for a published template.
        alias: String |
        /// Removes the alias.
        clear_alias,
        /// Sets the default sender.
        from: String as "crate::types::serialize_sender" |
        /// Removes the default sender, so that every email must set one.
        clear_from,
        /// Sets the default subject.
        subject: String |
        /// Removes the default subject, so that every email must set one.
        clear_subject,
        /// Replaces the default `Reply-To` addresses.
        reply_to: Recipients |
        /// Removes the default `Reply-To` addresses.
        clear_reply_to,
        /// Sets the HTML body.
        html: String,
        /// Sets the plain-text body; an empty string removes it.
        text: String |
        /// Lets the service derive the plain-text body from the HTML again.
        clear_text,
    } other {
        #[serde(skip_serializing_if = "Patch::is_keep")]
        variables: Patch<Vec<TemplateVariable>>,
    }
}

impl TemplatePatch {
    /// Replaces the variables, at most 50. An empty list removes all of them.
    pub fn variables<V: Into<TemplateVariable>>(mut self, variables: impl IntoIterator<Item = V>) -> Self {
        self.variables = Patch::Set(variables.into_iter().map(Into::into).collect());
        self
    }

    fn validate(&self, v: &mut Validator) {
        v.check_not_blank("name", self.name.text());
        v.check_not_blank("html", self.html.text());
        check_alias(v, self.alias.text());
        v.address("from", self.from.text());
        v.check_one_line("subject", self.subject.text());
        v.addresses("reply_to", self.reply_to.value().map(Recipients::as_slice).unwrap_or_default());
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
    fn only_fields_that_were_set_or_cleared_are_sent() {
        // TPL-33, A-41
        assert_eq!(serde_json::to_value(TemplatePatch::new()).unwrap(), json!({}));
        let patch =
            TemplatePatch::new().html("<p>x</p>").clear_alias().clear_text().text("").clear_reply_to();
        let expected = json!({ "html": "<p>x</p>", "alias": null, "text": "", "reply_to": null });
        assert_eq!(serde_json::to_value(patch).unwrap(), expected);
    }

    #[test]
    fn an_update_has_at_most_fifty_variables() {
        // TPL-08, A-38
        let with = |n: usize| {
            TemplatePatch::new().variables((0..n).map(|i| TemplateVariable::number(format!("V{i}"))))
        };
        assert!(with(50).check().is_ok());
        assert_eq!(with(51).check().unwrap_err()[0].code, "count");
    }
}
