//! `openapi.yaml` as it is written, its merges done.

use http::Method;
use posthaste_conformance::contract::OPENAPI;
use serde_json::Value;

/// The whole document.
pub(crate) struct Document(Value);

/// One operation as the contract describes it.
pub(crate) struct Described {
    pub(crate) id: String,
    pub(crate) method: Method,
    /// With `{…}` for every parameter.
    pub(crate) path: String,
    /// The status of success, and the schema of the answer.
    pub(crate) success: (u16, Value),
}

impl Document {
    pub(crate) fn read() -> Self {
        let mut written: yaml_serde::Value = yaml_serde::from_str(OPENAPI).unwrap();
        written.apply_merge().unwrap();
        Self(yaml_serde::from_value(written).unwrap())
    }

    /// What a reference leads to; anything else is what it is.
    pub(crate) fn follow<'a>(&'a self, value: &'a Value) -> &'a Value {
        let Some(reference) = value["$ref"].as_str() else { return value };
        let pointer = reference.strip_prefix('#').expect("references stay within the document");
        self.follow(self.0.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere")))
    }

    pub(crate) fn operations(&self) -> Vec<Described> {
        let mut found = Vec::new();
        for (path, item) in self.0["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let Some(id) = operation["operationId"].as_str() else { continue };
                found.push(Described {
                    id: id.to_owned(),
                    method: method.to_uppercase().parse().unwrap(),
                    path: path.clone(),
                    success: self.success(operation),
                });
            }
        }
        found
    }

    fn success(&self, operation: &Value) -> (u16, Value) {
        let responses = operation["responses"].as_object().unwrap();
        // A redirect is the success of what only a browser asks for.
        let succeeds = |status: &String| status.starts_with('2') || status.starts_with('3');
        let (status, response) = responses.iter().find(|(status, _)| succeeds(status)).unwrap();
        let schema = &self.follow(response)["content"]["application/json"]["schema"];
        (status.parse().unwrap(), schema.clone())
    }
}

impl Described {
    /// How many parameters the path has.
    pub(crate) fn parameters(&self) -> usize {
        self.path.matches('{').count()
    }

    /// The path with these texts in the places of its parameters, as they are.
    pub(crate) fn path_with(&self, texts: &[&str]) -> String {
        let mut texts = texts.iter();
        let segments = self.path.split('/').map(|segment| {
            if segment.starts_with('{') {
                *texts.next().expect("a text for every parameter")
            } else {
                segment
            }
        });
        segments.collect::<Vec<_>>().join("/")
    }

    /// The path with every parameter without its name.
    pub(crate) fn pattern(&self) -> String {
        nameless(&self.path)
    }
}

/// A pattern of paths with every parameter without its name: whoever names it, it is the same one.
pub(crate) fn nameless(pattern: &str) -> String {
    let segments = pattern.split('/').map(|segment| if segment.starts_with('{') { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}
