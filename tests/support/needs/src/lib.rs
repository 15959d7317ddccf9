//! `#[needs("python3")]` ignores a test where a program that it drives is not in `PATH`, with a reason that names the program.
//!
//! An environment variable can name the program instead: `NATS_SERVER` for `nats-server`.

use proc_macro::{TokenStream, TokenTree};

/// Adds `#[ignore = "not installed: …"]` to a test unless every named program is in `PATH`.
///
/// It stands above `#[test]` or `#[tokio::test]`, which read the attribute that it adds.
#[proc_macro_attribute]
#[expect(clippy::missing_panics_doc, reason = "the attribute that it writes always parses")]
pub fn needs(programs: TokenStream, test: TokenStream) -> TokenStream {
    let missing: Vec<_> = programs
        .into_iter()
        .filter(|token| matches!(token, TokenTree::Literal(_)))
        .map(|literal| literal.to_string().trim_matches('"').to_owned())
        .filter(|program| !is_installed(program))
        .collect();
    if missing.is_empty() {
        return test;
    }
    let reason = format!("not installed: {}", missing.join(", "));
    let mut ignored: TokenStream = format!("#[ignore = {reason:?}]").parse().expect("an attribute");
    ignored.extend(test);
    ignored
}

fn is_installed(program: &str) -> bool {
    let variable = program.to_uppercase().replace('-', "_");
    if std::env::var_os(variable).is_some_and(|path| std::path::Path::new(&path).is_file()) {
        return true;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
