//! The input for creating a template.

use super::variable::TemplateVariable;
use std::collections::HashSet;

use crate::{
    problem::{Validator, limits},
    types::Recipients,
};

input! {
    /// A template to create with [`Templates::create`](super::Templates::create). It is a draft until it is
    /// [published](super::Templates::publish).
    ///
    /// Subject, HTML and text may contain the template's variables and the placeholders of a [broadcast](crate::broadcasts::NewBroadcast):
    /// `{{{contact.city|Rome}}}` for a contact property with a fallback, and `{{{SERVICE_UNSUBSCRIBE_URL}}}` for the unsubscribe link.
    ///
    /// ```
    /// use idempost::templates::{NewTemplate, TemplateVariable};
    ///
    /// let welcome = NewTemplate::new("Welcome", "<p>Hello {{{NAME}}}</p>")
    ///     .alias("welcome")
    ///     .from("Acme <hi@acme.test>")
    ///     .subject("Welcome, {{{NAME}}}")
    ///     .variable(TemplateVariable::string("NAME").fallback("friend"));
    /// assert!(welcome.check().is_ok());
    /// ```
    pub struct NewTemplate {
        /// Creates a template with an internal name and an HTML body.
        new(name: String, html: String);
        optional {
            /// Sets the alias, which the service accepts in place of the ID.
            alias: String,
            /// Sets the default sender: `email` or `Name <email>`.
            from: String as "crate::types::serialize_sender",
            /// Sets the default subject. It may contain placeholders.
            subject: String,
            /// Sets the plain-text body. By default the service derives it from the HTML; an empty string disables that.
            text: String,
        }
        other {
            #[serde(skip_serializing_if = "Recipients::is_empty")]
            reply_to: Recipients,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            variables: Vec<TemplateVariable>,
        }
    }
}

impl NewTemplate {
    setters! {
        /// Adds default `Reply-To` addresses.
        reply_to += Recipients => reply_to;
        /// Adds a variable, at most 50 in total.
        variable += TemplateVariable => variables;
    }

    fn validate(&self, v: &mut Validator) {
        v.check_required("name", &self.name);
        v.check_required("html", &self.html);
        check_alias(v, self.alias.as_deref());
        v.address("from", self.from.as_deref());
        v.check_one_line("subject", self.subject.as_deref());
        v.addresses("reply_to", self.reply_to.as_slice());
        check_variables(v, &self.variables);
    }
}

validate!(NewTemplate);

pub(super) fn check_alias(v: &mut Validator, alias: Option<&str>) {
    v.check_not_blank("alias", alias);
    v.check_one_line("alias", alias);
}

pub(super) fn check_variables(v: &mut Validator, variables: &[TemplateVariable]) {
    if variables.len() > limits::VARIABLES_PER_TEMPLATE {
        let rule = format!("a template must have at most {} variables", limits::VARIABLES_PER_TEMPLATE);
        let found = format!("{} variables", variables.len());
        v.field("variables", |v| v.report_found("count", rule, found));
    }
    let mut seen = HashSet::new();
    v.for_each_item("variables", variables, |v, variable| {
        v.field("key", |v| {
            v.check_key("variable", variable.key());
            if !seen.insert(variable.key()) {
                v.report_found("repeated", "a variable key must be unique", variable.key());
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::problem::codes;

    #[test]
    fn every_field_that_was_set_is_sent_and_nothing_else() {
        // TPL-27
        let template = NewTemplate::new("n", "<p>x</p>");
        assert_eq!(serde_json::to_value(&template).unwrap(), json!({ "name": "n", "html": "<p>x</p>" }));
        let template = template
            .alias("a")
            .from("a@x.test")
            .subject("s")
            .reply_to(["b@x.test", "c@x.test"])
            .text("")
            .variable(TemplateVariable::string("A").fallback("x"))
            .variable(TemplateVariable::number("B").fallback(3))
            .variable(TemplateVariable::number("C"));
        let expected = json!({
            "name": "n", "html": "<p>x</p>", "alias": "a", "from": "a@x.test", "subject": "s", "reply_to": ["b@x.test", "c@x.test"],
            "text": "", "variables": [
                { "key": "A", "type": "string", "fallback_value": "x" }, { "key": "B", "type": "number", "fallback_value": 3 },
                { "key": "C", "type": "number" },
            ],
        });
        assert_eq!(serde_json::to_value(&template).unwrap(), expected);
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        // TPL-13, TPL-19, TPL-20, A-38, A-40
        let mut template =
            NewTemplate::new(" ", "").alias("").from("nobody").subject("a\nb").reply_to("c@@x.test");
        for key in ["contact", "a b", "OK", "OK", &"x".repeat(51)] {
            template = template.variable(TemplateVariable::string(key));
        }
        let expected = [
            "required /name",
            "required /html",
            "empty /alias",
            "address /from",
            "header /subject",
            "address /reply_to/0",
            "reserved /variables/0/key",
            "charset /variables/1/key",
            "repeated /variables/3/key",
            "length /variables/4/key",
        ];
        assert_eq!(codes(template.check()), expected.join(", "));
    }

    #[test]
    fn a_template_has_at_most_fifty_variables() {
        // TPL-07, LIM-09, A-38
        let with = |n: usize| {
            (0..n).fold(NewTemplate::new("n", "h"), |template, i| {
                template.variable(TemplateVariable::string(format!("V{i}")))
            })
        };
        assert!(with(50).check().is_ok());
        assert_eq!(with(51).check().unwrap_err()[0].code, "count");
    }
}
