//! The contract of the sandbox's own routes, `GET /_/openapi.json`: the routes read the inputs that it declares, with these types, and no others, and
//! respond with the fields that it declares, which the support code checks. Mailpit's API is described by Mailpit.

use std::cmp::Reverse;

use http::Method;
use serde_json::{Map, Value, json};

use crate::support::{Answer, Sandbox, email_of};

const MESSAGE: &str = "From: a@b.test\r\nTo: c@d.test\r\n\r\nHi";

/// A route.
struct Operation {
    method: Method,
    /// A path that exists.
    path: String,
    parameters: Vec<Value>,
    /// The schema of the body; `None` if it declares no fields.
    body: Option<Value>,
}

/// A value for an input.
enum Given<'a> {
    Parameter(&'a str, &'a str),
    Field(&'a str, Value),
}

/// A sandbox with an email, a received email and a template, and the operations.
fn sandbox() -> (Sandbox, Vec<Operation>) {
    let sandbox = Sandbox::new();
    let template = json!({"name": "Order", "alias": "order", "subject": "For {{{EMAIL}}}", "html": "<p>{{{EMAIL}}}</p>"});
    sandbox.created("/templates", &template);
    let attachments = json!([{"filename": "a.txt", "content": "YQ=="}]);
    let sent = sandbox.sent(&email_of(&json!({"html": "<p>Hi</p>", "attachments": attachments})));
    let request = sandbox.items("/_/requests")[0]["number"].to_string();
    let received = sandbox.ask(Method::POST, "/_/received").send(MESSAGE).id();
    let document = sandbox.get("/_/openapi.json").json();
    let mut operations = Vec::new();
    for (pattern, methods) in document["paths"].as_object().unwrap() {
        let id = match pattern.split('/').nth(2) {
            Some("received") => &received,
            Some("templates") => "order",
            Some("faults") => "1",
            _ => &sent,
        };
        let path = pattern.replace("{folder}", "messages").replace("{id}", id).replace("{index}", "0");
        let path = path.replace("{number}", &request).replace("{name}", "app.js");
        for (method, operation) in methods.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            operations.push(Operation {
                method: method.to_uppercase().parse().unwrap(),
                path: path.clone(),
                parameters: parameters.filter(|one| one["in"] == "query").cloned().collect(),
                body: operation
                    .pointer("/requestBody/content/application~1json/schema/properties")
                    .map(|_| operation["requestBody"]["content"]["application/json"]["schema"].clone()),
            });
        }
    }
    (sandbox, operations)
}

/// The operations with inputs.
fn sandbox_with_inputs() -> (Sandbox, Vec<Operation>) {
    let (sandbox, mut operations) = sandbox();
    operations.retain(|one| !one.parameters.is_empty() || one.body.is_some());
    (sandbox, operations)
}

impl Operation {
    /// Sends a request with all required inputs, and this one.
    fn ask(&self, sandbox: &Sandbox, given: Option<&Given<'_>>) -> Answer {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for one in self.parameters.iter().filter(|one| one["required"] == true) {
            query.append_pair(one["name"].as_str().unwrap(), one["schema"]["enum"][0].as_str().unwrap());
        }
        let mut fields = Map::new();
        for name in self.body.iter().flat_map(|schema| schema["required"].as_array().unwrap()) {
            let name = name.as_str().unwrap();
            let schema = &self.body.as_ref().unwrap()["properties"][name];
            let words = schema["enum"][0].as_str().map(Value::from);
            fields.insert(name.to_owned(), words.unwrap_or_else(|| (schema["type"] == "boolean").into()));
        }
        match given {
            Some(Given::Parameter(name, value)) => drop(query.append_pair(name, value)),
            Some(Given::Field(name, value)) => drop(fields.insert((*name).to_owned(), value.clone())),
            None => {}
        }
        let ask = sandbox.ask(self.method.clone(), format!("{}?{}", self.path, query.finish()));
        if self.body.is_some() { ask.json(&fields.into()) } else { ask.send(MESSAGE) }
    }
}

/// Values that the schema of a parameter doesn't allow; none if it allows every text.
fn wrong_texts(schema: &Value) -> Vec<String> {
    let beyond = |bound: &str, by: f64| schema[bound].as_f64().map(|bound| (bound + by).to_string());
    match schema["type"].as_str().unwrap() {
        "array" => wrong_texts(&schema["items"]),
        "string" if schema.get("maxLength").is_some() => {
            vec!["x".repeat(usize::try_from(schema["maxLength"].as_u64().unwrap()).unwrap() + 1)]
        }
        "string" if schema.get("enum").or(schema.get("format")).is_none() => Vec::new(),
        _ => [Some("x".into()), beyond("minimum", -1.0), beyond("maximum", 1.0)]
            .into_iter()
            .flatten()
            .collect(),
    }
}

/// Values that the schema of a field doesn't allow; none if it allows every value.
fn wrong_values(schema: &Value) -> Vec<Value> {
    let beyond = |bound: &str, by: f64| schema[bound].as_f64().map(|bound| json!(bound + by));
    let is_typed = schema.get("type").or(schema.get("oneOf")).is_some();
    let wrong_type = is_typed.then(|| json!([[]]));
    [wrong_type, beyond("minimum", -1.0), beyond("maximum", 1.0)].into_iter().flatten().collect()
}

/// The content of a response, without what differs between equal requests.
fn content(answer: &Answer) -> (u16, String) {
    let text = serde_json::from_slice::<Value>(&answer.body).map(|mut json| {
        for name in ["id", "ahead_seconds"] {
            json.as_object_mut().map(|fields| fields.remove(name));
        }
        json.to_string()
    });
    (answer.status.as_u16(), text.unwrap_or_else(|_| answer.text()))
}

#[test]
fn own_routes_read_every_declared_parameter_with_its_type() {
    let (sandbox, operations) = sandbox_with_inputs();
    let mut checked = 0;
    for operation in &operations {
        for parameter in &operation.parameters {
            let name = parameter["name"].as_str().unwrap();
            let wrong = wrong_texts(&parameter["schema"]);
            let context = format!("{} {} {name}", operation.method, operation.path);
            for value in &wrong {
                let answer = operation.ask(&sandbox, Some(&Given::Parameter(name, value)));
                let named = if name == "after_id" { "before" } else { name };
                assert_eq!(answer.status, 422, "{context}={value}: {}", answer.text());
                assert!(answer.message().contains(&format!("`{named}`")), "{context}: {}", answer.text());
            }
            let is_recipient = (&*operation.path, name) == ("/_/received", "to");
            if wrong.is_empty() && !is_recipient {
                let with = operation.ask(&sandbox, Some(&Given::Parameter(name, "q")));
                assert_ne!(content(&with), content(&operation.ask(&sandbox, None)), "{context}");
            }
            checked += 1;
        }
    }
    assert!(checked > 80, "{checked}");
    sandbox.ask(Method::POST, "/_/received?to=x%40y.test").send(MESSAGE);
    assert_eq!(sandbox.get("/_/received?limit=1").json()["data"][0]["received_for"], json!(["x@y.test"]));
}

#[test]
fn own_routes_read_every_declared_field_with_its_type_and_reject_others() {
    let (sandbox, operations) = sandbox_with_inputs();
    let mut checked = 0;
    for operation in &operations {
        let fields = operation.body.iter().flat_map(|schema| schema["properties"].as_object().unwrap());
        for (name, schema) in fields.clone() {
            let context = format!("{} {} {name}", operation.method, operation.path);
            let wrong = wrong_values(schema);
            for value in &wrong {
                let answer = operation.ask(&sandbox, Some(&Given::Field(name, value.clone())));
                assert_eq!(answer.status, 422, "{context}: {value}: {}", answer.text());
                assert!(answer.message().contains(&format!("`{name}")), "{context}: {}", answer.text());
            }
            if wrong.is_empty() {
                let with = operation.ask(&sandbox, Some(&Given::Field(name, json!([]))));
                assert_ne!(content(&with), content(&operation.ask(&sandbox, None)), "{context}");
            }
            checked += 1;
        }
        let known: Vec<_> = fields.map(|(name, _)| format!("`{name}`")).collect();
        if !known.is_empty() {
            let message = operation.ask(&sandbox, Some(&Given::Field("x", json!(1)))).message();
            let expected = format!("\"x\" is not a field here; these are: {}.", known.join(", "));
            assert!(message.ends_with(&expected), "{}: {message}, {expected}", operation.path);
        }
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn own_routes_respond_as_they_declare() {
    let (sandbox, mut operations) = sandbox();
    operations.retain(|one| !one.path.contains('{') && !one.path.starts_with("/api/"));
    let order = [Method::GET, Method::PATCH, Method::POST, Method::DELETE];
    operations.sort_by_key(|one| {
        let place = order.iter().position(|method| *method == one.method);
        (one.path == "/_/reset", place, Reverse(one.path.len()))
    });
    sandbox.created("/_/faults", &json!({"action": "drop", "path": "/usage"}));
    let mut failed = Vec::new();
    for operation in &operations {
        let answer = operation.ask(&sandbox, None);
        if !answer.status.is_success() {
            failed.push(format!("{} {}", operation.method, operation.path.rsplit('/').next().unwrap()));
        }
    }
    assert!(operations.len() > 60, "{}", operations.len());
    // Redirects, logins, and changes that need more than the required fields.
    assert_eq!(failed, ["GET app.js", "GET _", "GET ", "POST release", "POST app.js", "POST clock"]);
}

#[test]
fn errors_of_own_routes_have_a_declared_media_type() {
    let sandbox = Sandbox::new();
    let document = sandbox.get("/_/openapi.json").json();
    for (pattern, media_types) in [
        ("/_/messages/{id}", &["application/json"][..]),
        ("/_/consent/{name}", &["application/json", "text/html"]),
        ("/api/v1/message/{id}", &["application/json", "text/plain"]),
    ] {
        let answer = sandbox.get(pattern.replace("{id}", "x").replace("{name}", "x")).expect_status(404);
        let reference = document["paths"][pattern]["get"]["responses"]["4XX"]["$ref"].as_str().unwrap();
        let declared = document.pointer(&reference[1..]).unwrap()["content"].as_object().unwrap();
        assert!(declared.keys().eq(media_types), "{declared:?}");
        assert!(answer.header("content-type").unwrap().starts_with(media_types.last().unwrap()), "{pattern}");
    }
}

#[test]
fn responses_of_own_routes_declare_a_concrete_media_type() {
    let document = Sandbox::new().get("/_/openapi.json").json();
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap());
    let responses =
        operations.flat_map(|(_, operation)| operation["responses"].as_object().unwrap().values());
    let contents: Vec<_> = responses.filter_map(|response| response["content"].as_object()).collect();
    assert!(contents.len() > 60, "{}", contents.len());
    for content in contents {
        assert!(content.keys().any(|media_type| !media_type.contains('*')), "{content:?}");
    }
}

#[test]
fn only_changes_of_several_emails_reject_undeclared_parameters() {
    let (sandbox, operations) = sandbox_with_inputs();
    for operation in operations.iter().filter(|one| !one.parameters.is_empty() && one.path != "/_/received") {
        let before = content(&operation.ask(&sandbox, None));
        let answer = operation.ask(&sandbox, Some(&Given::Parameter("x", "1")));
        let changes_several = operation.body.is_some();
        let is_rejected = answer.status == 422 && answer.message().starts_with("\"x\" is not a filter here");
        assert_eq!(is_rejected, changes_several, "{}: {}", operation.path, answer.text());
        assert!(is_rejected || content(&answer) == before, "{}", operation.path);
    }
}
