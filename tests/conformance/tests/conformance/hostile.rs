//! Hostile IDs: each stays one path segment, or isn't sent at all.

use serde_json::json;

use crate::operations::{Described, Document, Operation};

/// Separated by bars.
const HOSTILE: &str = "a/b|/|//evil.test|a/../b|../logs|%2e%2e|%2F|%|a?b|?limit=1|a#b|#|a b| |a@b.test|a+b@x.test|+|a\\b|a;b|a:b|\
    http://evil.test/|a\r\nx: y|a\0b|é|🦀|...|.a|a.|\u{202e}|receiving|batch";

/// Returns the IDs that were handled wrongly.
fn wrong(described: &Described, ids: [&str; 3], refused: bool) -> Option<String> {
    let operation = Operation::named(&described.id)?;
    let segments = ids.map(|id| idempost::problem::path_segment(id).unwrap_or_default());
    let path = described.path_with(&[&segments[0], &segments[1], &segments[2]]);
    let (came, sent) = operation.run(ids, 404, &json!({}));
    let mismatch = |what: &str| Some(format!("{} with {ids:?}: {what}: {came:?}, {sent:?}", described.id));
    match (sent.as_slice(), &came) {
        // The client's rules for an ID may be stricter than those for path segments.
        ([], Err(idempost::Error::Invalid(_))) => None,
        _ if refused => mismatch("is not refused"),
        ([sent], _) if sent.path() == path && sent.method == described.method => None,
        _ => mismatch("leads elsewhere"),
    }
}

/// The ID in each position alone, and in all of them.
fn each(id: &str, parameters: usize) -> Vec<[&str; 3]> {
    let alone = (0..parameters).map(|at| std::array::from_fn(|place| if place == at { id } else { "x" }));
    alone.chain([[id; 3]]).collect()
}

fn with_parameters() -> Vec<Described> {
    let all = Document::read().operations().into_iter();
    all.filter(|operation| operation.parameters() > 0).collect()
}

#[test]
fn a_hostile_id_stays_one_segment_or_is_not_sent() {
    // GEN-31, A-33
    let all = with_parameters();
    let hostile = HOSTILE.split('|').map(|id| (id, false));
    for (id, refused) in hostile.chain(["", ".", ".."].map(|id| (id, true))) {
        for described in &all {
            for ids in each(id, described.parameters()) {
                assert_eq!(wrong(described, ids, refused), None);
            }
        }
    }
}
