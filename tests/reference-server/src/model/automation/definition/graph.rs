//! Checks of the graph of steps and connections.

use std::collections::{HashMap, HashSet};

use crate::model::automation::definition::{Action, Definition};
use crate::wire::{Report, quote};

/// Reports the problems of a definition.
pub fn check(definition: &Definition, report: &Report<'_>) {
    let mut places = HashMap::new();
    for (index, step) in definition.steps.iter().enumerate() {
        if let Some(first) = places.insert(step.key.as_str(), index) {
            let key = quote(&step.key);
            report.report(format_args!(
                "`steps[{index}].key` must name one step; steps[{first}] has the key {key} too."
            ));
        }
    }
    let is_trigger = |index: &usize| matches!(definition.steps[*index].action, Action::Trigger { .. });
    if !(0..definition.steps.len()).any(|index| is_trigger(&index)) {
        report.report("`steps` must have at least one step of the type `trigger`; found none.");
    }
    let mut ways = HashSet::new();
    let mut edges = Vec::new();
    for (at, connection) in definition.connections.iter().enumerate() {
        let (from, to) = (places.get(connection.from.as_str()), places.get(connection.to.as_str()));
        for (name, key, index) in [("from", &connection.from, from), ("to", &connection.to, to)] {
            if index.is_none() {
                let key = quote(key);
                report.report(format_args!(
                    "`connections[{at}].{name}` must be the key of a step; there is no step {key}."
                ));
            }
        }
        if to.is_some_and(is_trigger) {
            let to = quote(&connection.to);
            report.report(format_args!("`connections[{at}].to` must not lead to a trigger; {to} is one."));
        }
        let step = from.map(|index| definition.steps[*index].kind);
        if let (Some(needed), Some(step)) = (connection.kind.belongs_to(), step)
            && needed != step
        {
            let kind = connection.kind.as_str();
            report.report(format_args!(
                "`connections[{at}].type` can be `{kind}` only from a `{needed}` step; found a `{step}` step."
            ));
        }
        if !ways.insert((connection.from.as_str(), connection.kind)) {
            let (from, kind) = (quote(&connection.from), connection.kind.as_str());
            report.report(format_args!(
                "`connections[{at}]` must be the only `{kind}` connection from the step {from}."
            ));
        }
        if let (Some(from), Some(to)) = (from, to) {
            edges.push((at, *from, *to));
        }
    }
    for at in find_cycle_edges(&edges, definition.steps.len()) {
        report.report(format_args!("`connections[{at}]` must not lead back to a step on the way to it."));
    }
}

/// The connections that close a cycle, found by a depth-first search from each step.
fn find_cycle_edges(edges: &[(usize, usize, usize)], steps: usize) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Seen {
        No,
        OnTheWay,
        Done,
    }
    let mut leads: Vec<Vec<(usize, usize)>> = vec![Vec::new(); steps];
    for (at, from, to) in edges {
        leads[*from].push((*at, *to));
    }
    let (mut seen, mut closing) = (vec![Seen::No; steps], Vec::new());
    for start in 0..steps {
        if seen[start] != Seen::No {
            continue;
        }
        // The path to the current step, each step with its next connection to try.
        let mut way = vec![(start, 0)];
        seen[start] = Seen::OnTheWay;
        while let Some((step, tried)) = way.last_mut() {
            let Some((at, to)) = leads[*step].get(*tried).copied() else {
                seen[*step] = Seen::Done;
                way.pop();
                continue;
            };
            *tried += 1;
            match seen[to] {
                Seen::OnTheWay => closing.push(at),
                Seen::Done => {}
                Seen::No => {
                    seen[to] = Seen::OnTheWay;
                    way.push((to, 0));
                }
            }
        }
    }
    closing.sort_unstable();
    closing
}
