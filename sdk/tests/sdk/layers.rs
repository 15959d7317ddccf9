//! The crate's layers.

use std::path::Path;

/// Bottom to top; `macros` expands in all of them and imports nothing.
const LAYERS: [&str; 12] = [
    "macros",
    "clock",
    "problem",
    "types",
    "body",
    "transport",
    "error",
    "auth",
    "call",
    "client",
    "resources",
    "testing",
];

#[test]
fn no_file_imports_from_a_higher_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    // The root file may import everything, and `guide` contains only documentation.
    idempost_conformance::layers::check(&root, &LAYERS, &["lib", "guide"], 300);
}
