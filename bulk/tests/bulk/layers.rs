//! The crate's layers.

use std::path::Path;

/// Bottom to top.
const LAYERS: [&str; 35] = [
    "macros",
    "locked",
    "account",
    "budget",
    "clock",
    "counts",
    "differences",
    "queue",
    "error",
    "files",
    "list",
    "template",
    "message",
    "input",
    "plan",
    "journal",
    "key",
    "state",
    "lock",
    "folder",
    "schedule",
    "parts",
    "pace",
    "outcomes",
    "last_events",
    "report",
    "reconcile",
    "stop_rule",
    "sender",
    "deliver",
    "run",
    "salvage",
    "worker",
    "coordinator",
    "job",
];

#[test]
fn no_file_imports_from_a_higher_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    // The root file may import everything.
    idempost_conformance::layers::check(&root, &LAYERS, &["lib"], 80);
}
