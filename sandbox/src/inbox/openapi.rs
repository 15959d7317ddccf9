//! `GET /openapi.json` and `GET /openapi.yaml`: the contract, with this sandbox as its server.
//!
//! The file in `openapi/` is `openapi.yaml` as published, without `x-source`. A test in `tests/conformance` compares the two, and updates the file
//! with `SNAPSHOTS=overwrite`. JSON is valid YAML (YAML 1.2, 1.3), so both paths return the same text.
//!
//! `GET /_/openapi.json` describes the sandbox's own routes, as declared in their tables.

use bytes::Bytes;
use http::{Method, Response, header};
use serde_json::{Map, Value, json};

use idempost_reference_server::route::{Access, Area, Call, Effect, Route};
use idempost_reference_server::state::State;
use idempost_reference_server::wire::declared::Input;
use idempost_reference_server::wire::described::Named;
use idempost_reference_server::wire::problem::response_with;

/// The document, with one member per line.
const DOCUMENT: &str = include_str!("openapi/openapi.json");
/// The default address of a sandbox.
const DEFAULT_ADDRESS: &str = "http://127.0.0.1:4010";
/// The beginning of the line that contains the servers.
const SERVERS: &str = "\n\"servers\":";

pub(super) const JSON: &str = "application/json; charset=utf-8";
pub(super) const YAML: &str = "application/yaml; charset=utf-8";

/// Returns the contract of the service with this sandbox as its server.
pub(super) fn service(state: &State, media_type: &'static str) -> Response<Bytes> {
    response(with_server(&state.links.address()), media_type)
}

fn response(document: String, media_type: &'static str) -> Response<Bytes> {
    // A later version of the sandbox may be served at the same URL.
    response_with(document, [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-cache")])
}

/// Returns the document with one server, whose address replaces the default address in links and examples.
fn with_server(address: &str) -> String {
    let servers = json!([{ "url": address, "description": "This sandbox." }]);
    let (before, after) = DOCUMENT.split_once(SERVERS).unwrap_or((DOCUMENT, ""));
    let (_, after) = after.split_once('\n').unwrap_or_default();
    let [before, after] = [before, after].map(|text| text.replace(DEFAULT_ADDRESS, address));
    format!("{before}{SERVERS}{servers},\n{after}")
}

/// Returns the contract of the sandbox's own routes.
pub(super) fn sandbox_routes(call: &Call<'_>) -> Response<Bytes> {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for route in call.routes.in_area(Area::Own) {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation(route, &mut schemas);
    }
    schemas.insert(
        "Problem".to_owned(),
        json!({
            "type": "object",
            "required": ["statusCode", "name", "message"],
            "properties": {"statusCode": {"type": "integer"}, "name": {"type": "string"}, "message": {"type": "string"}},
        }),
    );
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "idempost sandbox",
            "summary": "The sandbox's own routes: captured emails, the clock, faults, and links.",
            "description": "What a sandbox serves besides the operations of the service, which `/openapi.json` describes.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": call.state.links.address(), "description": "This sandbox."}],
        "tags": TAGS.map(|(name, description)| json!({"name": name, "description": description})),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key, or an account ID. It names the account."},
                "password": {"type": "http", "scheme": "basic", "description": "The password, if the sandbox has one, with any user name."},
            },
            "responses": {
                "Problem": {
                    "description": "An error.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
                },
                "PageProblem": {
                    "description": "An error: a page, or JSON if the request was rejected before the page read it.",
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Problem"}},
                        "text/html": {"schema": {"type": "string"}},
                    },
                },
                "MailpitProblem": {"description": "An error.", "content": {"application/json": {"schema": {}}, "text/plain": {"schema": {"type": "string"}}}},
            },
            "schemas": schemas,
        },
    });
    response(document.to_string(), JSON)
}

/// The groups of routes.
const TAGS: [(&str, &str); 5] = [
    ("control", "The clock, faults, simulated events, and the reset."),
    ("inbox", "Captured and received emails, the requests that sent them, and the page that shows them."),
    ("links", "The targets of links in emails and responses, and of logins."),
    (
        "mailpit",
        "Mailpit's API, for programs that use it. Parameters and bodies are those of Mailpit's documentation.",
    ),
    ("sandbox", "The state of the sandbox, and its contracts."),
];

fn tag(route: &Route) -> &'static str {
    let own = route.path.strip_prefix("/_/").unwrap_or_default().split('/').next().unwrap_or_default();
    match (route.access, own) {
        (Access::Link, _) | (_, "consent") => "links",
        (_, "clock" | "faults" | "events" | "reset") => "control",
        (_, "ready" | "openapi.json") => "sandbox",
        (_, "") if route.path.starts_with("/api/") || route.path.starts_with("/view/") => "mailpit",
        (_, "") if !route.path.starts_with("/_") && route.path != "/" => "sandbox",
        _ => "inbox",
    }
}

fn operation(route: &Route, schemas: &mut Named) -> Value {
    let names = route.path.split(['{', '}']).skip(1).step_by(2);
    let in_path = names.map(|name| {
        let schema = match name {
            "folder" => json!({"type": "string", "enum": ["messages", "received"]}),
            _ => json!({"type": "string"}),
        };
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    });
    let in_query = route.query.iter().copied().flatten().map(|Input { name, kind, about, is_required }| {
        let (description, schema) = (format!("{about}."), kind.schema());
        json!({"name": name, "in": "query", "required": is_required, "description": description, "schema": schema})
    });
    let parameters: Vec<_> = in_path.chain(in_query).collect();
    let path = route.path.replacen("/_", "/sandbox", 1);
    let words = path.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let id = words.fold(route.method.as_str().to_ascii_lowercase(), |id, word| format!("{id}_{word}"));
    let tag = tag(route);
    let (security, requires) = match route.access {
        Access::Health | Access::Open => (json!([]), "Requires nothing."),
        Access::Link => (json!([]), "The URL contains its own authorization."),
        Access::Key(_) if tag == "mailpit" => {
            let text = "Requires the password, if the sandbox has one, alone or within a credential of the account. Without a credential, the account is the default one.";
            (json!([{"key": []}, {"password": []}, {}]), text)
        }
        Access::Key(_) => (json!([{"key": []}]), "Requires a credential of the account."),
        Access::Password => {
            (json!([{"password": []}, {"key": []}, {}]), "Requires the password, if the sandbox has one.")
        }
    };
    let problem = match tag {
        "mailpit" => "MailpitProblem",
        "links" if route.path.starts_with("/_/consent/") => "PageProblem",
        _ => "Problem",
    };
    let mut operation = json!({
        "operationId": id,
        "summary": route.about,
        "description": format!("{}. {requires}", route.about),
        "tags": [tag],
        "security": security,
        "responses": {
            "4XX": {"$ref": format!("#/components/responses/{problem}")},
        },
    });
    let (status, media_types) = route.success;
    operation["responses"][status.to_string()] = success(route, media_types, schemas);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = body(route) {
        operation["requestBody"] = body;
    }
    if route.effect == Effect::Reads {
        operation["x-read-only"] = true.into();
    }
    operation
}

/// Describes a successful response.
fn success(route: &Route, media_types: &[&str], schemas: &mut Named) -> Value {
    let content = media_types.iter().map(|media_type| {
        let schema = route.schema.filter(|_| *media_type == "application/json");
        let schema = match schema {
            Some(schema) => schema(schemas),
            None if media_type.starts_with("text/") => json!({"type": "string"}),
            None => json!({"type": "string", "format": "binary"}),
        };
        ((*media_type).to_owned(), json!({"schema": schema}))
    });
    let content: Map<_, _> = content.collect();
    if content.is_empty() {
        json!({"description": "Success."})
    } else {
        json!({"description": "Success.", "content": content})
    }
}

/// Describes the body of a request; `None` if the route reads none.
fn body(route: &Route) -> Option<Value> {
    if !route.fields.is_empty() {
        let content = json!({"application/json": {"schema": Input::object_schema(route.fields)}});
        return Some(json!({"required": route.method != Method::DELETE, "content": content}));
    }
    let types = route.media_types.iter().map(|media_type| ((*media_type).to_owned(), json!({"schema": {}})));
    let content: Map<_, _> = types.collect();
    (!content.is_empty()).then(|| json!({"content": content}))
}
