//! The reference server's layers.

use std::path::Path;

/// Bottom to top.
const LAYERS: [&str; 27] = [
    "cpu_time",
    "lock",
    "seeds",
    "wire",
    "store",
    "clock",
    "scheduler",
    "mime",
    "content",
    "model",
    "settings",
    "state",
    "delivery",
    "context",
    "access",
    "reply",
    "route",
    "oauth",
    "resources",
    "control",
    "inbox",
    "routes",
    "guard",
    "service",
    "persistence",
    "mount",
    "server",
];

#[test]
fn no_file_of_the_reference_server_imports_from_a_higher_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reference-server/src");
    idempost_conformance::layers::check(&root, &LAYERS, &["lib"], 700);
}
