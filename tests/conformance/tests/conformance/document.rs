//! `openapi.yaml` uses only features that YAML parsers, code generators and human readers can handle.

use std::collections::BTreeSet;

use idempost_conformance::contract::{OPENAPI, openapi};
use serde_json::Value;

use crate::assert_none;

/// The keywords whose value is a schema, and those whose value is a list or a map of schemas.
const SCHEMA: [&str; 7] = ["schema", "items", "additionalProperties", "propertyNames", "if", "then", "else"];
const SCHEMAS: [&str; 4] = ["properties", "allOf", "anyOf", "oneOf"];

/// The keywords of conditions, whose properties restate those that the schema describes.
const CONDITIONS: [&str; 5] = ["if", "then", "else", "not", "dependentSchemas"];

/// Calls `visit` with the path and the value of every map, outside of examples.
fn walk<'a>(value: &'a Value, path: &mut Vec<&'a str>, visit: &mut impl FnMut(&[&str], &'a Value)) {
    match value {
        Value::Object(map) => {
            visit(path, value);
            for (key, inner) in map.iter().filter(|(key, _)| !["example", "examples"].contains(&key.as_str()))
            {
                path.push(key);
                walk(inner, path, visit);
                path.pop();
            }
        }
        Value::Array(items) => {
            for inner in items {
                path.push("*");
                walk(inner, path, visit);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Collects what `find` reports about the maps of the document.
fn findings<'a>(
    document: &'a Value,
    mut find: impl FnMut(&[&str], &'a serde_json::Map<String, Value>) -> Vec<String>,
) -> Vec<String> {
    let mut found = Vec::new();
    walk(document, &mut Vec::new(), &mut |path, value| {
        let wrong = find(path, value.as_object().unwrap());
        found.extend(wrong.into_iter().map(|wrong| format!("{}: {wrong}", path.join(" / "))));
    });
    found
}

/// Follows a reference to a component.
fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    value["$ref"].as_str().and_then(|target| document.pointer(&target[1..])).unwrap_or(value)
}

fn operations<'a>(document: &'a Value, part: &str) -> Vec<&'a Value> {
    let items = document[part].as_object().unwrap().values();
    items.flat_map(|item| item.as_object().unwrap().values()).collect()
}

#[test]
fn no_node_is_an_anchor_an_alias_or_a_merge_key() {
    let marked = |text: &str| {
        let mut characters = text.chars();
        matches!(characters.next(), Some('&' | '*'))
            && characters.next().is_some_and(|next| next.is_alphanumeric() || next == '_')
            || text.starts_with("<<")
    };
    let found: Vec<_> = OPENAPI
        .lines()
        .enumerate()
        .filter(|(_, line)| {
            let node = line.trim_start_matches([' ', '-']);
            marked(node) || node.split_once(": ").is_some_and(|(_, value)| marked(value.trim_start()))
        })
        .map(|(at, line)| format!("openapi.yaml:{}: {}", at + 1, line.trim()))
        .collect();
    assert_none(&found, "parsers limit aliases or reject them: write a component and refer to it");
}

#[test]
fn references_lead_to_components_and_every_component_is_used() {
    let document = openapi();
    let mut used = BTreeSet::new();
    let wrong = findings(document, |_, map| {
        let targets = map.values().filter_map(Value::as_str).filter(|text| text.starts_with("#/"));
        let dangling =
            |target: &&str| target.split('/').count() != 4 || document.pointer(&target[1..]).is_none();
        used.extend(targets.clone());
        targets.filter(dangling).map(str::to_owned).collect()
    });
    assert_none(&wrong, "generators name a type after its component; refer to one that exists");
    let mut unused = Vec::new();
    for (kind, components) in document["components"].as_object().unwrap() {
        // Security schemes are used by their names.
        for name in components.as_object().unwrap().keys().filter(|_| kind != "securitySchemes") {
            let target = format!("#/components/{kind}/{name}");
            if !used.contains(target.as_str()) {
                unused.push(target);
            }
        }
    }
    assert_none(&unused, "components that nothing uses");
}

#[test]
fn schemas_use_only_what_generators_can_read() {
    let document = openapi();
    let wrong = findings(document, |path, map| {
        if path.last() == Some(&"properties") {
            return Vec::new();
        }
        let mut wrong = Vec::new();
        for (key, value) in map {
            let inner: Vec<&Value> = match value {
                Value::Object(map) if SCHEMAS.contains(&key.as_str()) => map.values().collect(),
                Value::Array(list) if SCHEMAS.contains(&key.as_str()) => list.iter().collect(),
                _ if SCHEMA.contains(&key.as_str()) => vec![value],
                _ => Vec::new(),
            };
            if inner.iter().any(|schema| schema.is_boolean()) && key != "additionalProperties" {
                wrong.push(format!("`{key}` has a boolean schema"));
            }
            if key == "const" && (value.is_array() || value.is_object()) {
                wrong.push("`const` is no scalar".to_owned());
            }
        }
        wrong
    });
    assert_none(&wrong, "some generators fail on these schemas");
}

#[test]
fn patterns_are_anchored_at_the_start_and_look_neither_ahead_nor_behind() {
    let document = openapi();
    let wrong = findings(document, |path, map| {
        let pattern =
            map.get("pattern").and_then(Value::as_str).filter(|_| path.last() != Some(&"properties"));
        pattern
            .filter(|pattern| !pattern.starts_with('^') || pattern.contains("(?"))
            .map(str::to_owned)
            .into_iter()
            .collect()
    });
    assert_none(
        &wrong,
        "clients match from the start or search, and some engines have no lookaround: start with `^`, use `not`",
    );
}

#[test]
fn names_of_components_collide_with_no_other_and_no_constructor() {
    let document = openapi();
    let components = document["components"].as_object().unwrap();
    let mut wrong = Vec::new();
    for name in components["schemas"].as_object().unwrap().keys() {
        if name.strip_prefix("New").is_some_and(|rest| rest.starts_with(char::is_uppercase)) {
            wrong.push(format!("{name} is also a constructor in Go"));
        }
        let kinds = ["parameters", "requestBodies"].into_iter();
        let kinds = kinds.filter(|kind| components[*kind].get(name).is_some());
        wrong.extend(kinds.map(|kind| format!("{name} is a schema and stands in `{kind}`")));
    }
    assert_none(&wrong, "generators make a type of each");
}

#[test]
fn enums_in_lists_and_objects_that_may_be_null_have_a_name() {
    let document = openapi();
    let wrong = findings(document, |path, map| {
        if path.iter().any(|key| CONDITIONS.contains(key) || *key == "parameters") {
            return Vec::new();
        }
        let nullable = map.get("type").and_then(Value::as_array);
        let nullable = nullable.is_some_and(|types| types.contains(&"object".into()));
        let listed = path.last() == Some(&"items") && map.contains_key("enum");
        if nullable || listed { vec![format!("{map:?}")] } else { Vec::new() }
    });
    assert_none(&wrong, "generators invent a name: write a component");
}

#[test]
fn request_fields_have_no_default() {
    let document = openapi();
    let schemas = &document["components"]["schemas"];
    let wrong = findings(schemas, |_, map| {
        let scalar = map.get("default").is_some_and(|default| !default.is_object());
        if scalar { vec!["has a `default`".to_owned()] } else { Vec::new() }
    });
    assert_none(&wrong, "in TypeScript, such a field becomes mandatory: name the default in the description");
}

#[test]
fn every_operation_parameter_schema_and_property_has_a_description() {
    let document = openapi();
    let described = |value: &Value| {
        let own = value["description"].as_str().or_else(|| resolve(document, value)["description"].as_str());
        own.is_some_and(|text| !text.trim().is_empty())
    };
    let mut missing = findings(document, |path, map| {
        if path.iter().any(|key| CONDITIONS.contains(key)) || path.last() == Some(&"properties") {
            return Vec::new();
        }
        let properties = map.get("properties").and_then(Value::as_object).into_iter().flatten();
        properties.filter(|(_, value)| !described(value)).map(|(name, _)| name.clone()).collect()
    });
    for (kind, components) in document["components"].as_object().unwrap() {
        let components = components.as_object().unwrap().iter();
        let undescribed = components.filter(|(_, value)| kind != "requestBodies" && !described(value));
        missing.extend(undescribed.map(|(name, _)| format!("{kind} / {name}")));
    }
    for part in ["paths", "webhooks"] {
        let undescribed = operations(document, part).into_iter().filter(|operation| !described(operation));
        missing.extend(undescribed.map(|operation| operation["operationId"].to_string()));
    }
    assert_none(&missing, "without a description");
}

#[test]
fn descriptions_state_the_rule_and_leave_its_source_to_an_extension() {
    let document = openapi();
    let wrong = findings(document, |_, map| {
        let text = map.get("description").and_then(Value::as_str).unwrap_or_default().to_lowercase();
        let named = ["the specification", "public service"].into_iter().find(|words| text.contains(words));
        named.map(|words| format!("names {words:?}")).into_iter().collect()
    });
    assert_none(&wrong, "move the source of the rule to `x-source`");
}

#[test]
fn operations_and_webhooks_have_unique_names_and_share_no_tag() {
    let document = openapi();
    let tags = |part| {
        let mut found = BTreeSet::new();
        for operation in operations(document, part) {
            let tags = operation["tags"].as_array().unwrap();
            assert_eq!(tags.len(), 1, "{}: generators make a file for each tag", operation["operationId"]);
            found.insert(tags[0].as_str().unwrap());
        }
        found
    };
    let (paths, webhooks) = (tags("paths"), tags("webhooks"));
    assert!(paths.is_disjoint(&webhooks), "a generated file would contain both: {paths:?}, {webhooks:?}");

    let declared: Vec<_> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let unique: BTreeSet<_> = declared.iter().copied().collect();
    assert_eq!(declared.len(), unique.len(), "a tag is declared twice");
    assert_eq!(unique, paths.union(&webhooks).copied().collect(), "declared tags, and those of operations");

    let mut ids = BTreeSet::new();
    for operation in operations(document, "paths").into_iter().chain(operations(document, "webhooks")) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id), "two operations have the name {id}");
    }
}

#[test]
fn the_document_has_the_version_of_the_project() {
    assert_eq!(openapi()["info"]["version"], env!("CARGO_PKG_VERSION"));
}
