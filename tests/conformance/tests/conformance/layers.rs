//! The layers of the reference server and of the sandbox.

use std::path::Path;

/// Of the reference server, bottom to top.
const SERVER: [&str; 26] = [
    "cpu_time",
    "lock",
    "digest",
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
    "routes",
    "guard",
    "service",
    "mount",
    "server",
];

/// Of the sandbox, bottom to top.
const SANDBOX: [&str; 7] = ["cpu_time", "check", "inbox", "routes", "persistence", "tls", "smtp"];

#[test]
fn no_file_of_the_reference_server_imports_from_a_higher_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reference-server/src");
    idempost_conformance::layers::check(&root, &SERVER, &["lib"], 700);
}

#[test]
fn no_file_of_the_sandbox_imports_from_a_higher_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sandbox/src");
    idempost_conformance::layers::check(&root, &SANDBOX, &["lib"], 5);
}
