//! Validation of the graph formed by the connections.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::{
    problem::{Validator, present},
    resources::automations::connection::ConnectionType,
};

/// A step, reduced to its role in the graph.
pub(super) struct Node<'a> {
    pub(super) place: usize,
    pub(super) kind: &'a str,
}

/// Validates the connections; without nodes, validates only their format.
pub(super) fn check_connections<'a>(
    v: &mut Validator,
    connections: &'a [Value],
    nodes: Option<&HashMap<&'a str, Node<'a>>>,
) {
    let mut edges: Vec<(usize, &str, &str)> = Vec::new();
    let mut taken = HashSet::new();
    v.for_each_item("connections", connections.iter().enumerate(), |v, (place, connection)| {
        let Some(fields) = v.object(connection, "a connection") else { return };
        v.check_known_fields(fields, "a connection", &["from", "to", "type"]);
        let ends = (v.required_text(fields, "from"), v.required_text(fields, "to"));
        let kind = connection_kind(v, fields);
        let ((Some(from), Some(to)), Some(kind), Some(nodes)) = (ends, kind, nodes) else { return };
        let mut sound = true;
        for (name, key) in [("from", from), ("to", to)] {
            if !nodes.contains_key(key) {
                v.field(name, |v| {
                    v.report_found("reference", format!("`{name}` must be the key of a step"), key);
                });
                sound = false;
            }
        }
        if nodes.get(to).is_some_and(|node| node.kind == "trigger") {
            let rule = "`to` must not be a trigger";
            v.field("to", |v| v.report_found("reference", rule, to));
            sound = false;
        }
        v.field("type", |v| check_outcome(v, kind, nodes.get(from).map(|node| node.kind)));
        if !taken.insert((from, kind)) {
            let rule = "a step must not have two connections of the same type";
            v.report_found("exclusive", rule, format_args!("{from}, {kind}"));
        }
        if sound {
            edges.push((place, from, to));
        }
    });
    v.field("connections", |v| {
        for place in find_cycle_edges(&edges) {
            v.item(place, |v| v.report("cycle", "connections must not form a cycle"));
        }
    });
}

/// Returns the type of a connection, `default` if it is absent.
fn connection_kind<'a>(v: &mut Validator, fields: &'a Map<String, Value>) -> Option<&'a str> {
    if present(fields, "type").is_none() { Some("default") } else { v.non_empty_text(fields, "type") }
}

/// Validates the type of a connection against the type of its source step.
fn check_outcome(v: &mut Validator, kind: &str, step: Option<&str>) {
    if !v.check_one_of("`type`", ConnectionType::KNOWN, kind) || kind == "default" {
        return;
    }
    let needed = if kind.starts_with("condition") { "condition" } else { "wait_for_event" };
    if step.is_some_and(|step| step != needed) {
        v.report_found(
            "reference",
            format!("`type` is only valid for connections from a `{needed}` step"),
            kind,
        );
    }
}

/// Returns the connections that close a cycle, in the order in which a traversal from each step reaches them.
fn find_cycle_edges(edges: &[(usize, &str, &str)]) -> Vec<usize> {
    let mut ways: HashMap<&str, Vec<(usize, &str)>> = HashMap::new();
    for (place, from, to) in edges {
        ways.entry(from).or_default().push((*place, to));
    }
    let (mut done, mut closing) = (HashSet::new(), Vec::new());
    for (_, start, _) in edges {
        if done.contains(start) {
            continue;
        }
        // An iterative depth-first search: the current path, with the next connection to try for each step.
        let (mut way, mut on_way) = (vec![(*start, 0)], HashSet::from([*start]));
        while let Some((step, next)) = way.last_mut() {
            let Some((place, to)) = ways.get(step).and_then(|ways| ways.get(*next)) else {
                on_way.remove(step);
                done.insert(*step);
                way.pop();
                continue;
            };
            *next += 1;
            if on_way.contains(to) {
                closing.push(*place);
            } else if !done.contains(to) {
                on_way.insert(to);
                way.push((to, 0));
            }
        }
    }
    closing.sort_unstable();
    closing
}
