//! The input of a template creation.

use super::variable::TemplateVariable;
use crate::{
    problem::{
        Problem, Problems, limits,
        rules::{check_address, check_addresses, check_filled, check_key, check_line},
    },
    types::Recipients,
};

input! {
    /// A template to create with [`Templates::create`](super::Templates::create). It is a draft until it is
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
    pub struct NewTemplate {
        /// Creates a template with an internal name and an HTML body.
        new(name: String, html: String);
        optional {
            /// Sets the alias, which the service accepts in place of the ID.
            alias: String,
            /// Sets the default sender: `email` or `Name <email>`.
            from: String,
            /// Sets the default subject. It may contain placeholders.
            subject: String,
            /// Sets the plain-text body. Without one the service derives it from the HTML; an empty one disables that.
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
    /// Adds default `Reply-To` addresses.
    #[must_use]
    pub fn reply_to(mut self, reply_to: impl Into<Recipients>) -> Self {
        self.reply_to.push(reply_to.into());
        self
    }

    /// Adds a variable, at most 50.
    #[must_use]
    pub fn variable(mut self, variable: impl Into<TemplateVariable>) -> Self {
        self.variables.push(variable.into());
        self
    }

    /// Validates the input against the rules of the specification.
    ///
    /// # Errors
    /// All problems at once.
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
        check_key(&at, "variable", variable.key(), problems);
        if variables[..i].iter().any(|earlier| earlier.key() == variable.key()) {
            problems
                .push(Problem::new(at, "repeated", "a key stands for one variable").found(variable.key()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    fn a_template_has_at_most_fifty_variables() {
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
