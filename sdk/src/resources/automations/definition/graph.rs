//! What makes the graph sound that the connections draw.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{Judge, Node};

impl Judge {
    /// Judges the connections; without nodes only their shape.
    pub(super) fn connections<'a>(
        &mut self,
        connections: &'a [Value],
        nodes: Option<&HashMap<&'a str, Node<'a>>>,
    ) {
        let mut edges: Vec<(usize, &str, &str)> = Vec::new();
        let mut taken = HashSet::new();
        for (place, connection) in connections.iter().enumerate() {
            let at = format!("/connections/{place}");
            let Some(fields) = self.object(&at, connection, "a connection") else { continue };
            self.known(fields, &at, &["from", "to", "type"]);
            let from = self.required_text(fields, &at, "from");
            let to = self.required_text(fields, &at, "to");
            let kind =
                if fields.contains_key("type") { self.text(fields, &at, "type") } else { Some("default") };
            let (Some(from), Some(to), Some(kind), Some(nodes)) = (from, to, kind, nodes) else { continue };
            let mut sound = true;
            for (name, key) in [("from", from), ("to", to)] {
                if !nodes.contains_key(key) {
                    self.found(format!("{at}/{name}"), "reference", "no step has this key", key);
                    sound = false;
                }
            }
            if nodes.get(to).is_some_and(|node| node.kind == "trigger") {
                self.found(
                    format!("{at}/to"),
                    "reference",
                    "a trigger begins a run; nothing leads to it",
                    to,
                );
                sound = false;
            }
            self.connection_type(&at, kind, nodes.get(from).map(|node| node.kind));
            if !taken.insert((from, kind)) {
                let rule = "a run goes one way: a step has one connection of each type";
                self.found(at, "exclusive", rule, &format!("{from}, {kind}"));
            }
            if sound {
                edges.push((place, from, to));
            }
        }
        for place in closing(&edges) {
            let rule = "a run ends: no connection leads back to a step on the way to it";
            self.problem(format!("/connections/{place}"), "cycle", rule);
        }
    }

    fn connection_type(&mut self, at: &str, kind: &str, step: Option<&str>) {
        let needed = match kind {
            "default" => return,
            "condition_met" | "condition_not_met" => "condition",
            "timeout" | "event_received" => "wait_for_event",
            other => {
                let rule = "a connection's type is default, condition_met, condition_not_met, timeout or event_received";
                return self.found(format!("{at}/type"), "type", rule, other);
            }
        };
        if step.is_some_and(|step| step != needed) {
            self.found(format!("{at}/type"), "reference", format!("only a {needed} has this outcome"), kind);
        }
    }
}

/// The connections that close a circle, in the order in which a walk from each step meets them.
fn closing(edges: &[(usize, &str, &str)]) -> Vec<usize> {
    let mut ways: HashMap<&str, Vec<(usize, &str)>> = HashMap::new();
    for (place, from, to) in edges {
        ways.entry(from).or_default().push((*place, to));
    }
    let (mut done, mut closing) = (HashSet::new(), Vec::new());
    for (_, start, _) in edges {
        if done.contains(start) {
            continue;
        }
        // A walk without recursion: the steps on the way, each with the connection to be tried next.
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
