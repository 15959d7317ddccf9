//! No test passes without its assertions: none returns early, hides an assertion behind `if let`, or asserts `.all(…)` on something that may be empty.

use std::{
    fs,
    path::{Path, PathBuf},
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Tests that may contain such text, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[("hollow_tests_are_found", "its samples are such text")];

#[test]
fn no_test_can_pass_without_its_assertions() {
    let (mut tests, mut wrong) = (0, Vec::new());
    for file in files(&["bulk", "cli", "examples", "sandbox", "sdk", "tests"], "rs") {
        let source = fs::read_to_string(&file).unwrap();
        for (name, body) in tests_of(&source) {
            tests += 1;
            if !EXCEPTIONS.iter().any(|(exception, _)| *exception == name) {
                wrong
                    .extend(hollow(body).into_iter().map(|why| format!("{}: {name}: {why}", file.display())));
            }
        }
    }
    assert!(tests > 2_000, "{tests} tests");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// In a snapshot, `...` matches any number of lines; `[..]` is a placeholder within one.
#[test]
fn no_snapshot_omits_lines() {
    let snapshots = files(&["cli/tests/sessions"], "trycmd");
    assert!(snapshots.len() > 10, "{snapshots:?}");
    for file in snapshots {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.lines().any(|line| line.trim() == "..."), "{} omits output", file.display());
    }
}

fn files(folders: &[&str], ending: &str) -> Vec<PathBuf> {
    let mut folders: Vec<_> = folders.iter().map(|folder| Path::new(ROOT).join(folder)).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            } else if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
                folders.push(path);
            }
        }
    }
    found
}

/// The name and the text of every test function.
fn tests_of(source: &str) -> Vec<(&str, &str)> {
    let attributes = source.match_indices("#[test]").chain(source.match_indices("#[tokio::test"));
    let tests = attributes.filter_map(|(at, _)| {
        let indent = at - source[..at].rfind('\n').map_or(0, |end| end + 1);
        let start = at + source[at..].find("fn ")? + 3;
        let name = &source[start..start + source[start..].find('(')?];
        let end = source[start..].find(&format!("\n{:indent$}}}\n", ""))?;
        Some((name, &source[start..start + end]))
    });
    tests.collect()
}

/// The ways in which a test could pass without its assertions.
fn hollow(body: &str) -> Vec<String> {
    let lines: Vec<_> = body.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.contains("return;") || line.contains("return }") {
            found.push(format!("returns early: {}", line.trim()));
        }
        if ["if let Ok(", "if let Some(", "if let Err("].iter().any(|pattern| line.contains(pattern)) {
            let indent = line.len() - line.trim_start().len();
            let end = format!("{:indent$}}}", "");
            let block = lines[at + 1..].iter().take_while(|line| !line.starts_with(&end)).count();
            let has_else = lines.get(at + 1 + block).is_some_and(|line| line.contains("else"));
            let asserts =
                lines[at + 1..at + 1 + block].iter().any(|line| line.trim_start().starts_with("assert"));
            if asserts && !has_else {
                found.push(format!("asserts only under a condition: {}", line.trim()));
            }
        }
    }
    found.extend(possibly_empty(body).map(|name| format!("`{name}` may be empty, so check its length too")));
    found
}

/// The subject of `assert!(….all(…))`, unless the test checks how many items it has.
fn possibly_empty(body: &str) -> impl Iterator<Item = &str> {
    let asserts = body.match_indices("assert!(").filter(|(at, _)| !body[..*at].ends_with("prop_"));
    asserts.flat_map(move |(at, start)| {
        let at = at + start.len();
        let condition = &body[at..at + parenthesized(&body[at..])];
        condition.match_indices(".all(").filter_map(move |(dot, call)| {
            let subject = condition[..dot].rsplit("&&").next().unwrap_or_default().trim_start();
            let name = &subject[..subject.find(|char| !is_word(char)).unwrap_or(subject.len())];
            // Literals, constants, and `!….all(…)`, which fails if there is nothing.
            if name.is_empty() || !name.contains(char::is_lowercase) {
                return None;
            }
            let (before, after) = body.split_at(at + dot);
            let after = &after[call.len() + parenthesized(&after[call.len()..])..];
            (!has_length(before, name) && !has_length(after, name)).then_some(name)
        })
    })
}

/// The length of the text up to the parenthesis that closes it.
fn parenthesized(text: &str) -> usize {
    let mut depth = 1;
    let end = text.find(|char| {
        depth += match char {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    });
    end.unwrap_or(text.len())
}

/// Whether the text compares the value or its length, indexes it, or creates it with items.
fn has_length(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let compared = before.trim_end_matches(['(', '&', '*', ' ', '\n']);
        let end = after.find([';', '{', '}']).unwrap_or(after.len());
        let lengths = [".len()", ".is_empty()", ".count()"];
        let index = after.trim_start_matches(|char| is_word(char) || char == '.').strip_prefix('[');
        !before.ends_with(is_word)
            && !after.starts_with(is_word)
            && (compared.ends_with("assert_eq!")
                || compared.ends_with("assert_ne!")
                || lengths.iter().any(|length| after[..end].contains(length))
                || index.is_some_and(|index| index.trim_start_matches('.').starts_with(char::is_numeric))
                || [" = [", " = vec!["].iter().any(|literal| after.starts_with(literal)))
    })
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

#[test]
fn hollow_tests_are_found() {
    for body in [
        "    let Ok(x) = y else { return };",
        "    if z {\n        return;\n    }",
        "    if let Ok(x) = y {\n        assert!(x);\n    }",
        "    assert!(x.iter().all(|one| one));",
        "    assert!(y && x[\"data\"].iter().all(|one| one.len() == 1), \"{x}\");",
    ] {
        assert_eq!(hollow(body).len(), 1, "{body}");
    }
    for body in [
        "    let Ok(x) = y else { panic!() };\n    return Err(x);",
        "    if let Ok(x) = y {\n        assert!(x);\n    } else {\n        assert!(z);\n    }",
        "    if let Ok(x) = y {\n        z(x);\n    }\n    assert!(z);",
        "    assert!(!x.is_empty() && x.iter().all(|one| one));",
        "    assert!(x.iter().all(|one| one));\n    assert_eq!(x, z);",
        "    assert!(X.iter().all(|one| one) && (0..9).all(|one| one) && !y.all(|one| one));",
        "    let x = [1, 2];\n    assert!(x.iter().all(|one| one == x[0]));",
        "    prop_assert!(x.iter().all(|one| one));",
    ] {
        assert_eq!(hollow(body), [""; 0], "{body}");
    }
}
