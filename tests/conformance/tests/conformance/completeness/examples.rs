//! The examples in the documentation: all of them are compiled, and most are run.

use std::{fs, path::Path};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The text of every example, without whitespace.
pub(super) struct Examples(Vec<String>);

impl Examples {
    pub(super) fn read() -> Self {
        let root = Path::new(ROOT);
        let mut texts = vec![fs::read_to_string(root.join("README.md")).unwrap()];
        for entry in fs::read_dir(root.join("examples")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                texts.push(fs::read_to_string(path).unwrap());
            }
        }
        documentation(&root.join("sdk/src"), &mut texts);
        Self(texts.iter().map(|text| bare(text)).collect())
    }

    /// Whether an example contains the method chain of this call.
    pub(super) fn show(&self, call: &str) -> bool {
        let wanted = methods(&bare(call), &[]);
        let first = format!(".{}(", wanted[0]);
        self.0.iter().any(|text| {
            text.match_indices(&first).any(|(at, _)| {
                let found = methods(&text[at..], &wanted);
                found.len() == wanted.len()
            })
        })
    }
}

/// The code in the documentation of every file below.
fn documentation(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            documentation(&path, texts);
            continue;
        }
        let (mut in_code, mut code) = (false, String::new());
        for line in fs::read_to_string(&path).unwrap().lines() {
            let line = line.trim_start();
            let Some(line) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else { continue };
            if line.trim_start().starts_with("```") {
                in_code = !in_code && !line.contains("text");
            } else if in_code {
                code.push_str(line);
            }
        }
        texts.push(code);
    }
}

fn bare(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

/// The methods of a chain that ends with an operation: of `client.emails().get(id)`, `emails` and `get`. With `wanted`, stops
/// where they no longer match.
fn methods(chain: &str, wanted: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = chain.trim_start_matches(|character| character != '.');
    while let Some(call) = rest.strip_prefix('.') {
        let Some((name, arguments)) = call.split_once('(') else { break };
        // A chain of two methods is an operation; its options follow.
        if wanted.is_empty() && found.len() == 2 && OPTIONS.contains(&name) {
            break;
        }
        if !wanted.is_empty() && wanted.get(found.len()).is_none_or(|wanted| wanted != name) {
            break;
        }
        found.push(name.to_owned());
        rest = behind(arguments);
    }
    found
}

/// Methods of a call rather than of an operation.
const OPTIONS: &[&str] = &["permissive", "unchecked"];

/// The text after the parenthesis that closes these arguments.
fn behind(arguments: &str) -> &str {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, character) in arguments.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted && depth == 0 => return &arguments[at + 1..],
            ')' if !quoted => depth -= 1,
            _ => {}
        }
    }
    ""
}

#[test]
fn method_chains_are_found_with_any_arguments() {
    let examples = Examples(vec![bare(
        "let x = client\n.emails()\n.send(&Email::new(\"a)\", f(1)))\n.await?; client.logs().list().page_size(3)",
    )]);
    assert!(examples.show("client.emails().send(&other)"));
    assert!(examples.show("client.logs().list()"));
    assert!(!examples.show("client.emails().list()"));
    assert!(!examples.show("client.logs().send(1)"));
}
