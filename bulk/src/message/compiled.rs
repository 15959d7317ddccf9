//! A message with compiled templates.

use idempost::{
    Email,
    problem::{Problem, push_token},
    types::Scalar,
};
use serde_json::Value;

use super::Message;
use crate::template::{Escape, Template, is_name};

/// A message with compiled templates and validated fixed fields.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) message: Message,
    pub(crate) subject: Option<Template>,
    pub(crate) html: Option<Template>,
    pub(crate) text: Option<Template>,
    /// The one-click unsubscribe URL.
    pub(crate) list_unsubscribe: Option<Template>,
    pub(crate) headers: Vec<(String, Template)>,
    pub(crate) tags: Vec<(String, Template)>,
    pub(crate) variables: Vec<DefaultVariable>,
}

/// A variable and its default value.
#[derive(Debug)]
pub(crate) struct DefaultVariable {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) value: Scalar,
}

/// A variable that a template of the message uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UsedVariable<'a> {
    pub(crate) name: &'a str,
    /// The field of the template: `html`, `text`, `subject`, `list_unsubscribe`, `headers` or `tags`.
    pub(crate) field: &'static str,
    /// Whether the placeholder has no fallback and the message has no default.
    pub(crate) required: bool,
}

impl Compiled {
    pub(super) fn new(message: &Message) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut compile = |path: &str, source: &str| match Template::compile(path, source) {
            Ok(template) => Some(template),
            Err(found) => {
                problems.extend(found);
                None
            }
        };
        let mut field =
            |path: &str, source: &Option<String>| source.as_deref().and_then(|s| compile(path, s));
        let subject = field("/subject", &message.subject);
        let html = field("/html", &message.html);
        let text = field("/text", &message.text);
        let list_unsubscribe = field("/list_unsubscribe", &message.list_unsubscribe);
        let mut pairs = |path: &str, map: &std::collections::BTreeMap<String, String>| -> Vec<_> {
            let template = |(name, source): (&String, &String)| {
                Some((name.clone(), compile(&variable_pointer(path, name), source)?))
            };
            map.iter().filter_map(template).collect()
        };
        let headers = pairs("/headers", &message.headers);
        let tags = pairs("/tags", &message.tags);
        let mut variables = Vec::new();
        for (name, value) in &message.variables {
            let path = || variable_pointer("/variables", name);
            if !is_name(name) {
                problems.push(Problem::new(
                    path(),
                    "charset",
                    "a variable name must contain only ASCII letters, digits and `_`",
                ));
            }
            match to_variable(value) {
                Some((value, text)) => variables.push(DefaultVariable { name: name.clone(), text, value }),
                None => {
                    problems.push(
                        Problem::new(path(), "type", "a variable must be a string or a number")
                            .with_value(value),
                    );
                }
            }
        }
        let is_set = |(name, _): &&(String, Template)| is_list_unsubscribe(name);
        if let (Some(_), Some((name, _))) = (&list_unsubscribe, headers.iter().find(is_set)) {
            let rule = "the header is set by `list_unsubscribe`, so it can't be set here too";
            problems.push(Problem::new(variable_pointer("/headers", name), "exclusive", rule));
        }
        let message = message.clone();
        let compiled = Self { message, subject, html, text, list_unsubscribe, headers, tags, variables };
        problems.extend(compiled.fixed_problems());
        if problems.is_empty() { Ok(compiled) } else { Err(problems) }
    }

    /// Validates the fields that are the same in all rows, with valid placeholders for the others.
    fn fixed_problems(&self) -> Vec<Problem> {
        const STAND_IN: &str = "x";
        // Valid in `List-Unsubscribe`, whose value is a URL, and in any other header.
        const HEADER_STAND_IN: &str = "<https://a.b>";
        let Message { from, template, cc, bcc, reply_to, topic_id, scheduled_at, .. } = &self.message;
        let fixed_or = |template: &Template, stand_in: &str| match template.variables().next() {
            None => template.render(Escape::Plain, |_| None, |_| ()),
            Some(_) => stand_in.to_owned(),
        };
        let fixed = |template: &Template| fixed_or(template, STAND_IN);
        let mut email = Email::default().to("a@b.c").from(from.as_deref().unwrap_or("a@b.c"));
        email = email.subject(self.subject.as_ref().map_or_else(|| STAND_IN.to_owned(), fixed));
        email = email.cc(cc).bcc(bcc).reply_to(reply_to);
        email = topic_id.iter().fold(email, |email, topic| email.topic_id(topic.as_str()));
        email = scheduled_at.iter().fold(email, |email, time| email.scheduled_at(time.as_str()));
        email = self
            .headers
            .iter()
            .fold(email, |email, (name, value)| email.header(name, fixed_or(value, HEADER_STAND_IN)));
        email = self.list_unsubscribe.iter().fold(email, |email, url| {
            email.list_unsubscribe(url.render(Escape::Url, |_| Some(STAND_IN), |_| ()))
        });
        email = self.tags.iter().fold(email, |email, (name, value)| email.tag(name, fixed(value)));
        email = match template {
            Some(template) => {
                let email = email.template(template);
                let email = self.message.html.iter().fold(email, |email, _| email.html(STAND_IN));
                let email = self.message.text.iter().fold(email, |email, _| email.text(STAND_IN));
                self.variables.iter().fold(email, |email, v| email.variable(&v.name, v.value.clone()))
            }
            None => email.text(STAND_IN),
        };
        let problems = email.check().err().map(idempost::problem::Problems::into_vec).unwrap_or_default();
        problems.into_iter().map(|problem| self.rename_problem(problem)).collect()
    }

    /// Locates a problem by the tag's name instead of its index, or by the field that sets a header.
    fn rename_problem(&self, mut problem: Problem) -> Problem {
        if self.list_unsubscribe.is_some() && problem.path == "/headers/List-Unsubscribe" {
            "/list_unsubscribe".clone_into(&mut problem.path);
        }
        let index = problem.path.strip_prefix("/tags/").and_then(|rest| rest.split('/').next()?.parse().ok());
        if let Some((name, _)) = index.and_then(|index: usize| self.tags.get(index)) {
            problem.path = variable_pointer("/tags", name);
        }
        problem
    }

    /// Returns the variables used in all templates.
    pub(crate) fn used_variables(&self) -> impl Iterator<Item = UsedVariable<'_>> {
        let fields = [
            ("subject", &self.subject),
            ("html", &self.html),
            ("text", &self.text),
            ("list_unsubscribe", &self.list_unsubscribe),
        ];
        let fields = fields.into_iter().filter_map(|(field, template)| Some((field, template.as_ref()?)));
        let headers = self.headers.iter().map(|(_, template)| ("headers", template));
        let tags = self.tags.iter().map(|(_, template)| ("tags", template));
        fields.chain(headers).chain(tags).flat_map(move |(field, template)| {
            template.variables().map(move |(name, required)| UsedVariable {
                name,
                field,
                required: required && self.default(name).is_none(),
            })
        })
    }

    /// Returns a variable's default as text.
    pub(crate) fn default(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|variable| variable.name == name).map(|variable| variable.text.as_str())
    }
}

/// Returns whether this is a header that [`Message::list_unsubscribe`] sets.
pub(crate) fn is_list_unsubscribe(name: &str) -> bool {
    ["List-Unsubscribe", "List-Unsubscribe-Post"].iter().any(|set| name.eq_ignore_ascii_case(set))
}

/// Converts a string or a number, and returns it with its text.
pub(crate) fn to_variable(value: &Value) -> Option<(Scalar, String)> {
    let scalar = Scalar::from(value.clone());
    let text = scalar.to_string();
    matches!(scalar, Scalar::Text(_) | Scalar::Number(_)).then_some((scalar, text))
}

fn variable_pointer(path: &str, name: &str) -> String {
    let mut path = path.to_owned();
    push_token(&mut path, name);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_of_a_message_are_reported_at_once() {
        let message = Message::new()
            .from("nobody")
            .subject("two\nlines")
            .html("{{{A")
            .header("X-Id", "{{{B C}}}")
            .header("bad name", "x")
            .tag("ok", "not a tag")
            .variable("LIST", vec![1])
            .variable("bad name", "x");
        let problems = message.check().unwrap_err();
        let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
        let expected = [
            "/html",
            "/headers/X-Id",
            "/variables/LIST",
            "/variables/bad name",
            "/from",
            "/subject",
            "/headers/bad name",
            "/tags/ok",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn the_url_of_one_click_unsubscribing_is_https_whatever_the_row_has() {
        let problems = |url: &str| {
            let message = Message::new().from("a@b.test").subject("s").text("t").list_unsubscribe(url);
            let problems = message.check().err().unwrap_or_default();
            problems.into_iter().map(|problem| (problem.path, problem.code)).collect::<Vec<_>>()
        };
        assert_eq!(problems("https://acme.test/u/{{{ID}}}?t={{{TOKEN}}}"), []);
        for url in ["http://acme.test/u?t={{{TOKEN}}}", "mailto:leave@acme.test", "{{{URL}}}", ""] {
            assert_eq!(problems(url), [("/list_unsubscribe".to_owned(), "url")], "{url}");
        }
        assert_eq!(problems("https://{{{"), [("/list_unsubscribe".to_owned(), "placeholder")]);
        for name in ["list-unsubscribe", "List-Unsubscribe-Post"] {
            let message = Message::new().list_unsubscribe("https://acme.test/u").header(name, "x");
            let problems = message.check().unwrap_err();
            let path = format!("/headers/{name}");
            assert!(problems.iter().any(|found| (found.path.as_str(), found.code) == (&path, "exclusive")));
        }
    }

    #[test]
    fn a_body_and_a_stored_template_exclude_each_other() {
        let problems = Message::new().template("welcome").html("<p>{{{A}}}</p>").check().unwrap_err();
        assert_eq!((problems[0].path.as_str(), problems[0].code), ("/html", "exclusive"));
        assert!(Message::new().template("welcome").variable("N", 7).check().is_ok());
        assert!(Message::new().check().is_ok(), "rows may have all fields");
    }

    #[test]
    fn a_default_or_a_fallback_makes_a_variable_optional() {
        let message = Message::new().subject("{{{A}}}{{{B|b}}}").html("{{{C}}}{{{A|a}}}").variable("C", 1.5);
        let compiled = message.compile().unwrap();
        let required: Vec<_> =
            compiled.used_variables().filter(|v| v.required).map(|v| (v.name, v.field)).collect();
        assert_eq!(required, [("A", "subject")]);
        assert_eq!(compiled.default("C"), Some("1.5"));
    }

    #[test]
    fn a_message_is_stored_as_json() {
        let message = Message::new()
            .from("Acmé <hi@acme.test>")
            .subject("s")
            .html("{{{N}}}")
            .cc("c@x.test")
            .tag("k", "v")
            .header("X-A", "1")
            .header("x-a", "2")
            .variable("N", 7)
            .scheduled_at("in 1 hour");
        let json = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), message);
        assert!(json.contains(r#""headers":{"x-a":"2"}"#) && !json.contains("bcc"), "{json}");
        assert!(serde_json::from_str::<Message>(r#"{"subjct":"s"}"#).is_err());
    }
}
