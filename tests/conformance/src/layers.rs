//! A crate's layers: a file imports from its own layer and from those below it.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Checks every file under `root`, a crate's `src`, against its layers, bottom to top; the files named in `exempt` may import everything.
///
/// Only code counts: comments, test modules and files that are declared for tests alone are left out. A name at the crate's root counts
/// as one of the highest layer.
///
/// # Panics
/// If a file imports from a higher layer, a module is in no layer, or fewer than `least` imports were found.
pub fn check(root: &Path, layers: &[&str], exempt: &[&str], least: usize) {
    let rank = |module: &str| layers.iter().position(|layer| *layer == module);
    let mut files = Vec::new();
    sources(root, &mut files);
    let for_tests: Vec<PathBuf> = files.iter().flat_map(|file| test_modules(file, &read(file))).collect();
    let mut checked = 0;
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| !for_tests.iter().any(|test| file.starts_with(test))) {
        let relative = file.strip_prefix(root).expect("every source file is below the root");
        let module = relative.iter().next().unwrap_or_default().to_string_lossy();
        let module = module.trim_end_matches(".rs");
        if exempt.contains(&module) {
            continue;
        }
        let own = rank(module).unwrap_or_else(|| panic!("{module} has no layer: add it to the table"));
        for import in imports(&read(file)) {
            checked += 1;
            if rank(&import).unwrap_or(layers.len() - 1) > own {
                violations.push(format!("{} imports crate::{import}", relative.display()));
            }
        }
    }
    assert!(checked >= least, "only {checked} imports were found: the parser is broken");
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of source files") {
        let path = entry.expect("a source file").path();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_in_every_form() {
        let text = "use crate::a::B;\nuse crate::{\n    c::{D, E},\n    f,\n    g::H,\n};\nlet x = crate::i::j(); // crate::k\n/// [`crate::l`]\n$crate::m::n!()\n#[cfg(test)]\nmod tests {\n    use crate::o;\n}";
        assert_eq!(imports(text), ["a", "c", "f", "g", "i", "k", "m"]);
    }
}
