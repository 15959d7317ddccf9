//! A template to be made.

use std::collections::HashSet;

use serde::Serialize;

use super::TemplateVariable;
use crate::{
    problem::{Validator, limits},
    types::Recipients,
};

/// A stored body with variables, to be made with [`Templates::create`](super::Templates::create). It is a draft until it is
/// [published](super::Templates::publish).
///
/// ```
/// use posthaste::{NewTemplate, TemplateVariable};
///
/// let welcome = NewTemplate::new("Welcome", "<p>Hello {{{NAME}}}</p>")
///     .alias("welcome")
///     .from("Acme <hi@acme.test>")
///     .subject("Welcome, {{{NAME}}}")
///     .variable(TemplateVariable::string("NAME").fallback("friend"));
/// assert!(welcome.check().is_ok());
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct NewTemplate {
    name: String,
    html: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "is_empty")]
    reply_to: Recipients,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    variables: Vec<TemplateVariable>,
}

fn is_empty(recipients: &Recipients) -> bool {
    recipients.as_slice().is_empty()
}

impl NewTemplate {
    /// A template with a name for its makers and an HTML body.
    pub fn new(name: impl Into<String>, html: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            html: html.into(),
            alias: None,
            from: None,
            subject: None,
            reply_to: Recipients::default(),
            text: None,
            variables: Vec::new(),
        }
    }

    /// A name that can stand for the id where the template is sent, changed or published.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.alias = Some(alias.into());
        self
    }

    /// The sender of emails that name none: `email` or `Name <email>`.
    #[must_use]
    pub fn from(mut self, from: impl Into<String>) -> Self {
        self.from = Some(from.into());
        self
    }

    /// The subject of emails that have none. It may hold placeholders.
    #[must_use]
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Adds addresses that answers go to, for emails that name none.
    #[must_use]
    pub fn reply_to(mut self, reply_to: impl Into<Recipients>) -> Self {
        self.reply_to.push(reply_to.into());
        self
    }

    /// The plain-text body. Without one the service derives it from the HTML; an empty one switches that off.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Adds a variable, at most 50.
    #[must_use]
    pub fn variable(mut self, variable: impl Into<TemplateVariable>) -> Self {
        self.variables.push(variable.into());
        self
    }

    fn validate(&self, v: &mut Validator) {
        v.required("name", &self.name);
        v.required("html", &self.html);
        check_alias(v, self.alias.as_deref());
        if let Some(from) = &self.from {
            v.field("from", |v| v.address(from));
        }
        v.one_line("subject", self.subject.as_deref());
        v.addresses("reply_to", self.reply_to.as_slice());
        check_variables(v, &self.variables);
    }
}

validate!(NewTemplate);

pub(super) fn check_alias(v: &mut Validator, alias: Option<&str>) {
    v.not_blank("alias", alias);
    v.one_line("alias", alias);
}

pub(super) fn check_variables(v: &mut Validator, variables: &[TemplateVariable]) {
    if variables.len() > limits::VARIABLES_PER_TEMPLATE {
        let rule = format!("a template has at most {} variables", limits::VARIABLES_PER_TEMPLATE);
        let found = format_args!("{} variables", variables.len());
        v.field("variables", |v| v.report_found("count", rule, found));
    }
    let mut seen = HashSet::new();
    v.each("variables", variables, |v, variable| {
        v.field("key", |v| {
            v.key("variable", &variable.key);
            if !seen.insert(variable.key.as_str()) {
                v.report_found("repeated", "a key stands for one variable", &variable.key);
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_goes_out_under_its_name_and_nothing_else() {
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
    fn all_problems_are_told_at_once() {
        // TPL-13, TPL-19, TPL-20
        let mut template =
            NewTemplate::new(" ", "").alias("").from("nobody").subject("a\nb").reply_to("c@@x.test");
        for key in ["contact", "a b", "OK", "OK", &"x".repeat(51)] {
            template = template.variable(TemplateVariable::string(key));
        }
        let found: Vec<_> = template
            .check()
            .unwrap_err()
            .into_vec()
            .into_iter()
            .map(|problem| (problem.path, problem.code))
            .collect();
        let expected = [
            ("/name", "required"),
            ("/html", "required"),
            ("/alias", "empty"),
            ("/from", "address"),
            ("/subject", "header"),
            ("/reply_to/0", "address"),
            ("/variables/0/key", "reserved"),
            ("/variables/1/key", "charset"),
            ("/variables/3/key", "repeated"),
            ("/variables/4/key", "length"),
        ];
        assert_eq!(found, expected.map(|(path, code)| (path.to_owned(), code)));
    }

    #[test]
    fn fifty_variables_are_taken_and_one_more_is_not() {
        // TPL-07, LIM-09
        let with = |n: usize| {
            (0..n).fold(NewTemplate::new("n", "h"), |template, i| {
                template.variable(TemplateVariable::string(format!("V{i}")))
            })
        };
        assert!(with(50).check().is_ok());
        assert_eq!(with(51).check().unwrap_err()[0].code, "count");
    }
}
