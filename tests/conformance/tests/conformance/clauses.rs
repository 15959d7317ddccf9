//! `clauses.toml` and `reliability.toml` are complete and correct: they list all clauses, and the tests that they name exist, run, and cite
//! their clauses.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};

use serde::Deserialize;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A list of clauses, each with the tests that prove it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clauses {
    families: BTreeMap<String, u32>,
    clause: Vec<Clause>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clause {
    id: String,
    says: String,
    /// The part that the tests don't prove.
    missing: Option<String>,
    /// Why there is no test.
    none: Option<String>,
    #[serde(default)]
    tests: Vec<String>,
}

impl Clauses {
    /// The clauses of the specification, and the promises about bad input and faults.
    fn lists() -> [(&'static str, Self); 2] {
        ["clauses.toml", "reliability.toml"].map(|name| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            (name, toml_edit::de::from_str(&fs::read_to_string(path).unwrap()).unwrap())
        })
    }

    /// Every clause: `GEN-01` to `GEN-33`, `LIST-A1` to `LIST-A5`, …
    fn all(&self) -> Vec<String> {
        let ids = self.families.iter().flat_map(|(family, count)| {
            (1..=*count).map(move |n| {
                if family.contains('-') { format!("{family}{n}") } else { format!("{family}-{n:02}") }
            })
        });
        ids.collect()
    }
}

#[test]
fn every_clause_is_listed_once() {
    for (name, clauses) in Clauses::lists() {
        let mut listed: HashMap<&str, usize> = HashMap::new();
        for clause in &clauses.clause {
            *listed.entry(&clause.id).or_default() += 1;
            assert!(!clause.says.is_empty(), "{} has no sentence", clause.id);
            let reason = clause.none.as_ref().is_some_and(|reason| !reason.is_empty());
            assert_ne!(
                reason,
                !clause.tests.is_empty(),
                "{} has either tests or a reason why not",
                clause.id
            );
        }
        let all = clauses.all();
        for id in &all {
            assert_eq!(listed.remove(id.as_str()), Some(1), "{id} must be listed once");
        }
        assert!(listed.is_empty(), "clauses of no family: {listed:?}");

        let partly = clauses.clause.iter().filter(|clause| clause.missing.is_some()).count();
        let none: Vec<_> = clauses.clause.iter().filter_map(|clause| clause.none.as_ref()).collect();
        println!(
            "{name}: {} clauses, {} proved, {partly} proved in part, {} without a test",
            all.len(),
            all.len() - partly - none.len(),
            none.len()
        );
    }
}

#[test]
fn every_listed_test_exists_runs_and_cites_its_clause() {
    let mut sources = HashMap::new();
    let mut wrong = Vec::new();
    for clause in Clauses::lists().into_iter().flat_map(|(_, clauses)| clauses.clause) {
        for test in &clause.tests {
            let (file, name) = test.split_once("::").unwrap_or_else(|| panic!("{test:?} isn't `file::test`"));
            let source = sources
                .entry(file.to_owned())
                .or_insert_with(|| fs::read_to_string(Path::new(ROOT).join(file)).unwrap_or_default());
            match body_of_test(source, name) {
                None => wrong.push(format!("{}: {test} doesn't exist or isn't run", clause.id)),
                Some(body) if !mentions(body, &clause.id) => {
                    wrong.push(format!("{}: {test} doesn't cite the clause", clause.id));
                }
                Some(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The text of a test function that isn't ignored, from its name to its closing brace.
fn body_of_test<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let start = source.find(&format!("fn {name}("))?;
    let line = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let before = source[..line].lines().rev();
    let attributes: Vec<_> = before.map(str::trim).take_while(|line| line.starts_with("#[")).collect();
    let is_test =
        attributes.iter().any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
    if !is_test || attributes.iter().any(|line| line.starts_with("#[ignore")) {
        return None;
    }
    let indent: String = source[line..].chars().take_while(|char| *char == ' ').collect();
    let end = source[start..].find(&format!("\n{indent}}}\n"))?;
    Some(&source[start..start + end])
}

/// Whether the clause occurs in the text as a word: neither `LIST-1` in `LIST-12` nor `H-01` in `AUTH-01`.
fn mentions(text: &str, id: &str) -> bool {
    let word = |char: char| char.is_ascii_alphanumeric() || char == '-';
    text.match_indices(id)
        .any(|(at, _)| !text[..at].ends_with(word) && !text[at + id.len()..].starts_with(word))
}

#[test]
fn tests_are_found_by_their_attribute() {
    let source = "#[test]\nfn a() {\n    // X-01\n}\n\n#[test]\n#[ignore = \"slow\"]\nfn b() {\n}\nfn c() {\n}\n    #[tokio::test]\n    async fn d() {\n        // X-2\n    }\n";
    assert!(mentions(body_of_test(source, "a").unwrap(), "X-01"));
    assert!(!mentions(body_of_test(source, "a").unwrap(), "X-2"));
    assert!(mentions(body_of_test(source, "d").unwrap(), "X-2"));
    assert_eq!(body_of_test(source, "b"), None, "ignored");
    assert_eq!(body_of_test(source, "c"), None, "no test");
    assert_eq!(body_of_test(source, "e"), None, "missing");
    assert!(!mentions("X-12", "X-1") && !mentions("AX-1", "X-1") && mentions("(X-1)", "X-1"));
}
