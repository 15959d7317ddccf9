//! The operations of `openapi.yaml`.

use http::Method;
use idempost_conformance::contract::openapi;
use serde_json::Value;

/// The whole document.
pub(crate) struct Document(&'static Value);

/// An operation of the contract.
pub(crate) struct Described {
    pub(crate) id: String,
    pub(crate) method: Method,
    /// With `{…}` for every parameter.
    pub(crate) path: String,
    /// The success status, and the schema of the response.
    pub(crate) success: (u16, Value),
    /// The operation as written.
    value: Value,
}

/// A parameter of an operation in the path or the query, or a header.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) location: String,
}

impl Document {
    pub(crate) fn read() -> Self {
        Self(openapi())
    }

    /// Resolves a reference; returns anything else unchanged.
    pub(crate) fn follow<'a>(&'a self, value: &'a Value) -> &'a Value {
        let Some(reference) = value["$ref"].as_str() else { return value };
        let pointer = reference.strip_prefix('#').expect("references stay within the document");
        self.follow(self.0.pointer(pointer).unwrap_or_else(|| panic!("{reference} is dangling")))
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
                    value: operation.clone(),
                });
            }
        }
        found
    }

    pub(crate) fn parameters(&self, operation: &Described) -> Vec<Parameter> {
        let written = operation.value["parameters"].as_array().into_iter().flatten();
        let parameters = written.map(|parameter| {
            let parameter = self.follow(parameter);
            let text = |key: &str| parameter[key].as_str().unwrap().to_owned();
            Parameter { name: text("name"), location: text("in") }
        });
        parameters.collect()
    }

    /// The examples of an operation's request body, each with its media type.
    pub(crate) fn bodies(&self, operation: &Described) -> Vec<(String, Value)> {
        let content = &self.follow(&operation.value["requestBody"])["content"];
        let mut bodies = Vec::new();
        for (kind, content) in content.as_object().into_iter().flatten() {
            for example in content["examples"].as_object().into_iter().flat_map(|examples| examples.values())
            {
                bodies.push((kind.clone(), self.follow(example)["value"].clone()));
            }
            bodies.extend(content.get("example").map(|example| (kind.clone(), example.clone())));
        }
        bodies
    }

    /// The alternatives of credentials that an operation accepts: the names of the schemes with their scopes. Empty if it needs none.
    pub(crate) fn security(&self, operation: &Described) -> Vec<(String, Vec<String>)> {
        let own = operation.value.get("security").unwrap_or(&self.0["security"]);
        let alternatives = own.as_array().into_iter().flatten().flat_map(|one| one.as_object().unwrap());
        let scopes = |scopes: &Value| {
            scopes.as_array().unwrap().iter().map(|scope| scope.as_str().unwrap().to_owned()).collect()
        };
        alternatives.map(|(scheme, required)| (scheme.clone(), scopes(required))).collect()
    }

    fn success(&self, operation: &Value) -> (u16, Value) {
        let responses = operation["responses"].as_object().unwrap();
        // A redirect is the success of an operation for browsers.
        let succeeds = |status: &String| status.starts_with('2') || status.starts_with('3');
        let (status, response) = responses.iter().find(|(status, _)| succeeds(status)).unwrap();
        let schema = &self.follow(response)["content"]["application/json"]["schema"];
        (status.parse().unwrap(), schema.clone())
    }
}

impl Described {
    /// The number of path parameters.
    pub(crate) fn parameters(&self) -> usize {
        self.path.matches('{').count()
    }

    /// The path with these values for its parameters, unencoded.
    pub(crate) fn path_with(&self, texts: &[&str]) -> String {
        let mut texts = texts.iter();
        let segments = self.path.split('/').map(|segment| {
            if segment.starts_with('{') {
                *texts.next().expect("a value for every parameter")
            } else {
                segment
            }
        });
        segments.collect::<Vec<_>>().join("/")
    }

    /// The path with unnamed parameters.
    pub(crate) fn pattern(&self) -> String {
        nameless(&self.path)
    }
}

/// A path pattern with unnamed parameters, so that names make no difference.
pub(crate) fn nameless(pattern: &str) -> String {
    let segments = pattern.split('/').map(|segment| if segment.starts_with('{') { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}
