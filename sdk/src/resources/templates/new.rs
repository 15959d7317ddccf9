//! A template to be made.

use serde::Serialize;

use super::TemplateVariable;
use crate::{
    problem::{
        Problem, Problems, limits,
        rules::{check_address, check_addresses, check_filled, check_key, check_line},
    },
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

    /// Whether the template keeps all rules of the specification that can be checked here.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (field, text) in [("name", &self.name), ("html", &self.html)] {
            if text.trim().is_empty() {
                problems.push(Problem::new(
                    format!("/{field}"),
                    "required",
                    format!("`{field}` is required"),
                ));
            }
        }
        if let Some(alias) = &self.alias {
            check_alias(alias, &mut problems);
        }
        if let Some(from) = &self.from {
            check_address("/from", from, &mut problems);
        }
        if let Some(subject) = &self.subject {
            check_line("subject", subject, &mut problems);
        }
        check_addresses(self.reply_to.as_slice(), &mut problems);
        check_variables(&self.variables, &mut problems);
        problems
    }
}

pub(super) fn check_alias(alias: &str, problems: &mut Vec<Problem>) {
    check_filled("alias", alias, problems);
    check_line("alias", alias, problems);
}

pub(super) fn check_variables(variables: &[TemplateVariable], problems: &mut Vec<Problem>) {
    if variables.len() > limits::VARIABLES_PER_TEMPLATE {
        let problem = Problem::new("/variables", "count", "a template has at most 50 variables");
        problems.push(problem.found(format!("{} variables", variables.len())));
    }
    for (i, variable) in variables.iter().enumerate() {
        let at = format!("/variables/{i}/key");
        check_key(&at, "variable", &variable.key, problems);
        if variables[..i].iter().any(|earlier| earlier.key == variable.key) {
            problems.push(Problem::new(at, "repeated", "a key stands for one variable").found(&variable.key));
        }
    }
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
        let found: Vec<_> =
            template.problems().into_iter().map(|problem| (problem.path, problem.code)).collect();
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
