//! A crate's layers: a file imports from its own layer and from those below it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Checks every file under `root`, a crate's `src`, against its layers, bottom to top, and that there are no import cycles;
/// files in `exempt` may import everything. A file and the files of its folder are one module: they may use the names of the folder's own file.
///
/// Only code counts, without comments, test modules and files declared for tests only. A name at the crate's root counts
/// as part of the highest layer.
///
/// # Panics
/// If a file imports from a higher layer or is part of a cycle, a module has no layer, or fewer than `least` imports were found.
pub fn check(root: &Path, layers: &[&str], exempt: &[&str], least: usize) {
    let rank = |module: &str| layers.iter().position(|layer| *layer == module);
    let modules = imports(root);
    let mut checked = 0;
    let mut violations = Vec::new();
    let mut graph = BTreeMap::new();
    for (module, imports) in &modules {
        if exempt.contains(&module[0].as_str()) {
            continue;
        }
        let own =
            rank(&module[0]).unwrap_or_else(|| panic!("{} has no layer: add it to the table", module[0]));
        for import in imports.iter().filter(|import| import[0] != module[0]) {
            checked += 1;
            if rank(&import[0]).unwrap_or(layers.len() - 1) > own {
                violations.push(format!("{} imports crate::{}", module.join("::"), import.join("::")));
            }
        }
        let file_of = |import: &Vec<String>| {
            (1..=import.len())
                .rev()
                .map(|length| import[..length].to_vec())
                .find(|prefix| modules.contains_key(prefix))
        };
        let others = imports.iter().filter_map(file_of).filter(|other| !module.starts_with(other));
        graph.insert(module.clone(), others.collect::<BTreeSet<_>>());
    }
    assert!(checked >= least, "only {checked} imports were found: the parser is broken");
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    let circle = in_circles(&graph);
    assert!(circle.is_empty(), "these files form an import cycle:\n{}", circle.join("\n"));
}

/// The imports of each file under `root` from its own crate, without files that are only for tests. `a/b.rs` is `["a", "b"]`.
///
/// # Panics
/// If a file can't be read.
pub fn imports(root: &Path) -> BTreeMap<Vec<String>, Vec<Vec<String>>> {
    let mut files = Vec::new();
    sources(root, &mut files);
    let for_tests: Vec<PathBuf> = files.iter().flat_map(|file| test_modules(file, &read(file))).collect();
    files.retain(|file| !for_tests.iter().any(|test| file.starts_with(test)));
    let imports_of = |file: &PathBuf| {
        let module = module_of(root, file);
        let imports = paths(&read(file)).iter().filter_map(|path| absolute(&module, path)).collect();
        (module, imports)
    };
    files.iter().map(imports_of).collect()
}

/// The files on an import cycle, if there is one.
fn in_circles(graph: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Vec<String> {
    let leads_back = |start: &Vec<String>| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<_> = graph[start].iter().collect();
        while let Some(module) = next.pop() {
            if module == start {
                return true;
            }
            if seen.insert(module) {
                next.extend(graph.get(module).into_iter().flatten());
            }
        }
        false
    };
    graph.keys().filter(|module| leads_back(module)).map(|module| module.join("::")).collect()
}

/// `a/b.rs` is `a::b`.
fn module_of(root: &Path, file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(root).expect("every source file is below the root").with_extension("");
    let mut module: Vec<_> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.len() > 1 {
        module.pop_if(|last| last == "mod");
    }
    module
}

/// A path from the crate's root; `None` if it leaves the crate.
fn absolute(module: &[String], path: &str) -> Option<Vec<String>> {
    let mut base = module.to_vec();
    let mut rest = path.split("::").peekable();
    match rest.next()? {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            base.pop();
        }
        _ => return None,
    }
    while rest.next_if_eq(&"super").is_some() {
        base.pop();
    }
    base.extend(rest.map(str::to_owned));
    (!base.is_empty()).then_some(base)
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

/// The modules that a file declares for tests only.
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

/// All paths that start at the crate's root, at the module or at its parent, outside of comments and of the file's own tests.
fn paths(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for start in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(start) {
            // This is part of a longer path that was already found.
            if !code[..at].ends_with(|c: char| is_name(c) || c == ':') {
                expand("", &code[at..], &mut found);
            }
        }
    }
    found
}

/// Expands the path at the start of a text, including braces. Returns where it ends.
fn expand(prefix: &str, text: &str, found: &mut Vec<String>) -> usize {
    let length = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let path = format!("{prefix}{}", &text[..length]);
    if !(path.ends_with("::") && text[length..].starts_with('{')) {
        found.push(path.trim_end_matches(':').trim_end_matches("::self").to_owned());
        return length;
    }
    let mut at = length + 1;
    loop {
        at += text[at..].find(|c: char| !c.is_whitespace() && c != ',').unwrap_or(text.len() - at);
        if at >= text.len() || text[at..].starts_with('}') {
            return at + 1;
        }
        let step = expand(&path, &text[at..], found);
        // A new name after `as`, or something other than a path.
        at += step;
        at += text[at..].find([',', '}']).unwrap_or(text.len() - at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_every_form_are_found() {
        let text = "use crate::a::B;\nuse crate::{\n    c::{D, E as F},\n    f,\n    g::{self, H},\n};\nlet x = crate::i::j(); // crate::k\n/// [`crate::l`]\n$crate::m::n!()\nuse super::o::*;\nuse self::p::Q;\n#[cfg(test)]\nmod tests {\n    use crate::r;\n}";
        assert_eq!(
            paths(text),
            [
                "crate::a::B",
                "crate::c::D",
                "crate::c::E",
                "crate::f",
                "crate::g",
                "crate::g::H",
                "crate::i::j",
                "crate::k",
                "crate::m::n",
                "self::p::Q",
                "super::o"
            ]
        );
        let module = ["a".to_owned(), "b".to_owned()];
        assert_eq!(absolute(&module, "super::o"), Some(vec!["a".to_owned(), "o".to_owned()]));
        assert_eq!(absolute(&module, "super::super"), None);
    }

    #[test]
    fn import_cycles_are_found() {
        let name = |name: &str| vec![name.to_owned()];
        let graph = |edges: &[(&str, &[&str])]| {
            edges.iter().map(|(from, to)| (name(from), to.iter().map(|to| name(to)).collect())).collect()
        };
        assert!(in_circles(&graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])).is_empty());
        assert_eq!(
            in_circles(&graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"]), ("d", &["a"])])),
            ["b", "c"]
        );
    }
}
