//! The program's layers.

use std::path::Path;

/// Bottom to top.
const LAYERS: [&str; 19] = [
    "diagnostics",
    "literal",
    "files",
    "settings",
    "processes",
    "output",
    "signals",
    "credentials",
    "input",
    "global",
    "context",
    "actions",
    "rows",
    "commands",
    "cli",
    "run",
    "fuzzing",
    "lib",
    "main",
];

#[test]
fn no_file_imports_from_a_higher_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    idempost_conformance::layers::check(&root, &LAYERS, &[], 500);
}
