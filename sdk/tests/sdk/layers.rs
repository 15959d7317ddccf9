//! The crate's layers: a file imports from its own layer and from those below it.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Bottom to top. The root file may name everything and `guide` holds documentation alone; `macros` expands in all layers and imports nothing.
const LAYERS: [&str; 10] =
    ["macros", "problem", "types", "body", "transport", "error", "auth", "call", "client", "resources"];

fn rank(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == module)
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The modules that a file declares for tests alone.
fn test_modules(source: &Path, text: &str) -> Vec<PathBuf> {
    let folder = source.with_extension("");
    let mut modules = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]"
            && let Some(name) = lines.peek().and_then(|line| line.strip_prefix("mod "))
        {
            let name = name.trim_end_matches([';', ' ', '{']);
            modules.extend([folder.join(format!("{name}.rs")), folder.join(name)]);
        }
    }
    modules
}

/// The first segments of all paths from the crate's root, outside of comments and of the file's own tests.
fn imports(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => found.push(first_segment(rest)),
            Some(group) => {
                let mut depth = 0;
                let mut item = String::new();
                for c in group.chars() {
                    match c {
                        '}' if depth == 0 => break,
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 0 => found.push(first_segment(&std::mem::take(&mut item))),
                        _ => {}
                    }
                    if c != ',' || depth > 0 {
                        item.push(c);
                    }
                }
                found.push(first_segment(&item));
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

fn first_segment(path: &str) -> String {
    path.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn no_file_imports_from_a_higher_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let for_tests: Vec<PathBuf> =
        files.iter().flat_map(|file| test_modules(file, &fs::read_to_string(file).unwrap())).collect();
    let mut checked = 0;
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| !for_tests.iter().any(|test| file.starts_with(test))) {
        let relative = file.strip_prefix(&root).unwrap();
        let module = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" || module == "guide" {
            continue;
        }
        let own = rank(module).unwrap_or_else(|| panic!("{module} has no layer: add it to the table"));
        for import in imports(&fs::read_to_string(file).unwrap()) {
            checked += 1;
            // A name at the crate's root is re-exported from anywhere, so only the highest layer may use one.
            if rank(&import).unwrap_or(LAYERS.len() - 1) > own {
                violations.push(format!("{} imports crate::{import}", relative.display()));
            }
        }
    }
    assert!(checked > 300, "only {checked} imports were found: the parser is broken");
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "use crate::a::B;\nuse crate::{\n    c::{D, E},\n    f,\n    g::H,\n};\nlet x = crate::i::j(); // crate::k\n/// [`crate::l`]\n$crate::m::n!()\n#[cfg(test)]\nmod tests {\n    use crate::o;\n}";
    assert_eq!(imports(text), ["a", "c", "f", "g", "i", "k", "m"]);
}
