//! Runs the terminal sessions of README.md, of the README.md of each crate, of the guide in `docs/` and of the skill, exactly as shown, and checks
//! the links.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use idempost_needs::needs;
use idempost_reference_server::Settings;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use tokio::process::Command;

/// The folders of the published crates.
const CRATES: [&str; 5] = ["cli", "sdk", "bulk", "sandbox", "tests/reference-server"];

/// What `idempost skill` prints.
const SKILL: &str = "cli/src/commands/skill/SKILL.md";

/// A command and its output: stdout, and stderr if the page shows it. A line with `…` stands for any lines.
struct Step<'a> {
    command: &'a str,
    shown: Vec<&'a str>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// All pages, with their paths from the root.
fn pages() -> Vec<(PathBuf, String)> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root()).unwrap().to_owned(), text)
    };
    let folder = std::fs::read_dir(root().join("docs")).unwrap();
    let pages = folder
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"));
    let front = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", SKILL].map(|name| root().join(name));
    let crates = CRATES.map(|folder| root().join(folder).join("README.md"));
    front.into_iter().chain(crates).chain(pages).map(read).collect()
}

fn steps(page: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match (inside, line) {
            (false, line) => inside = line == "```console",
            (true, "```") => inside = false,
            (true, line) => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step { command, shown: Vec::new() }),
                (None, Some(step)) => step.shown.push(line),
                (None, None) => panic!("a session starts with a command, not with {line:?}"),
            },
        }
    }
    steps
}

/// IDs differ between runs: a UUID matches any other.
fn without_ids(text: &str) -> String {
    let is_id = |word: &str| word.len() == 36 && word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let words = text.split_inclusive(char::is_whitespace);
    words
        .map(
            |word| {
                if is_id(word.trim_end()) { word.replace(word.trim_end(), "<id>") } else { word.to_owned() }
            },
        )
        .collect()
}

fn fits(shown: &[&str], found: &[&str]) -> bool {
    match (shown, found) {
        (["…", rest @ ..], _) => (0..=found.len()).any(|skipped| fits(rest, &found[skipped..])),
        ([first, rest @ ..], [line, others @ ..]) => first == line && fits(rest, others),
        (shown, found) => shown.is_empty() && found.is_empty(),
    }
}

/// Runs the sessions of a page in one shell, so that a variable that one command sets is there for the next.
async fn run(name: &Path, page: &str) {
    let steps = steps(page);
    let server = idempost_sandbox::start(Settings::default()).await;
    let home = tempfile::tempdir().unwrap();
    let results = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_idempost")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let file = |kind: &str, index: usize| results.path().join(format!("{index}.{kind}"));
    let mut script = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let [out, err, code] = ["out", "err", "code"].map(|kind| file(kind, index).display().to_string());
        script.push(format!("{{ {}\n}} >'{out}' 2>'{err}'; echo $? >'{code}'", step.command));
    }
    let status = Command::new("sh")
        .args(["-c", &script.join("\n")])
        .env_clear()
        .env("PATH", &path)
        .env("HOME", home.path())
        .env("IDEMPOST_BASE_URL", server.base_url())
        .env("IDEMPOST_API_KEY", server.api_key())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .status()
        .await
        .unwrap();
    assert!(status.success());
    for (index, step) in steps.iter().enumerate() {
        let [stdout, stderr, code] =
            ["out", "err", "code"].map(|kind| std::fs::read_to_string(file(kind, index)).unwrap());
        let shown = without_ids(&step.shown.join("\n"));
        let (alone, both) =
            (without_ids(stdout.trim_end()), without_ids(format!("{stderr}{stdout}").trim_end()));
        let equal =
            |found: &str| fits(&shown.lines().collect::<Vec<_>>(), &found.lines().collect::<Vec<_>>());
        let name = name.display();
        assert!(equal(&alone) || equal(&both), "{name}: {}\nshown:\n{shown}\nfound:\n{both}", step.command);
        assert_eq!(code.trim(), "0", "{name}: {}\n{both}", step.command);
    }
}

#[tokio::test]
async fn the_readme_and_the_guide_show_the_program_s_actual_output() {
    let mut sessions = 0;
    for (name, page) in pages() {
        sessions += steps(&page).len();
        run(&name, &page).await;
    }
    assert!(sessions >= 30, "the pages have {sessions} sessions");
}

/// The anchors of a page's headings, as mdBook and GitHub name them, and its links.
fn anchors_and_links(page: &str) -> (HashSet<String>, Vec<String>) {
    let (mut anchors, mut links) = (HashSet::new(), Vec::new());
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let text = heading.take().unwrap_or_default().to_lowercase().replace(' ', "-");
                anchors.insert(text.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect());
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(dest_url.to_string());
            }
            _ => {}
        }
    }
    (anchors, links)
}

#[test]
fn every_link_of_the_readme_and_the_guide_leads_somewhere() {
    let pages: HashMap<_, _> =
        pages().into_iter().map(|(name, page)| (root().join(name), anchors_and_links(&page))).collect();
    let mut checked = 0;
    for (page, (_, links)) in &pages {
        for link in links.iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            // The reference of all commands is generated when the guide is built.
            if file == "commands.md" {
                continue;
            }
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let target =
                target.canonicalize().unwrap_or_else(|_| panic!("{}: {link} doesn't exist", page.display()));
            let is_heading = |(anchors, _): &(HashSet<String>, _)| anchors.contains(anchor);
            let leads_there = anchor.is_empty() || pages.get(&target).is_none_or(is_heading);
            assert!(leads_there, "{}: {link} has no such heading", page.display());
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked} links");
}

#[test]
fn the_guide_s_reference_has_every_command() {
    let page = crate::support::Idempost::new()
        .run(&["help", "--jq", include_str!("../../../docs/commands.jq")])
        .stdout;
    let mut commands = Vec::new();
    let tree = crate::support::Idempost::new().run(&["help", "--json"]).json();
    crate::completeness::leaves(&tree, &mut commands);
    for leaf in commands {
        let command = leaf["command"].as_str().unwrap();
        assert!(page.contains(&format!("\n### {command}\n")), "{command}");
    }
    assert!(page.contains("| 9 | `unknown` |"));
}

#[test]
fn every_page_of_the_guide_is_in_its_table_of_contents() {
    let contents = include_str!("../../../docs/SUMMARY.md");
    for (page, _) in pages().into_iter().filter(|(page, _)| page.starts_with("docs")) {
        let name = page.file_name().unwrap().to_str().unwrap();
        assert!(name == "SUMMARY.md" || contents.contains(&format!("]({name})")), "{name}");
    }
}

#[needs("awk")]
#[test]
fn each_page_is_published_as_markdown_and_listed_in_llms_txt() {
    let folder = tempfile::tempdir().unwrap();
    let [source, target] = ["source", "target"].map(|name| folder.path().join(name));
    std::fs::create_dir_all(&target).unwrap();
    // As `docs/build` prepares them.
    let pages: Vec<_> = pages().into_iter().filter(|(name, _)| name.starts_with("docs")).collect();
    let (_, listed) = anchors_and_links(include_str!("../../../docs/SUMMARY.md"));
    let others = listed.iter().filter_map(|link| link.strip_prefix("../"));
    let sources = pages.iter().map(|(name, text)| (name.strip_prefix("docs").unwrap(), text.clone()));
    let others = others.map(|name| (Path::new(name), std::fs::read_to_string(root().join(name)).unwrap()));
    let commands = (Path::new("commands.md"), "# Commands\n\nAll commands.\n".to_owned());
    for (name, text) in sources.chain(others).chain([commands]) {
        let file = source.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text.replace("](../", "](")).unwrap();
    }
    let status = std::process::Command::new(root().join("docs/llms")).args([&source, &target]).status();
    assert!(status.unwrap().success());
    let index = std::fs::read_to_string(target.join("llms.txt")).unwrap();
    assert!(index.starts_with("# idempost\n\n> idempost is a Rust SDK"), "{index}");
    let (_, links) = anchors_and_links(&index);
    assert!(links.len() > pages.len(), "{index}");
    for link in links {
        let page = std::fs::read_to_string(target.join(&link)).unwrap();
        let described =
            index.lines().any(|line| line.contains(&format!("]({link}): ")) && line.ends_with('.'));
        assert!(described, "{link}\n{index}");
        let code = page.split("```").skip(1).step_by(2).filter(|block| block.starts_with("rust"));
        let hidden = code.flat_map(str::lines).find(|line| line.trim_start().starts_with("# "));
        assert_eq!(hidden, None, "{link}");
    }
}

#[test]
fn the_rust_code_of_every_page_is_a_doctest() {
    for (page, text) in pages() {
        let page = page.display();
        let tested = include_str!("../../../examples/guide.rs").contains(&format!("\"../{page}\""));
        assert_eq!(text.contains("```rust"), tested, "{page}: the doctests are in examples/guide.rs");
    }
}

#[test]
fn every_page_that_names_the_oldest_supported_rust_is_right() {
    let mut named = 0;
    let manifest = include_str!("../../../sdk/Cargo.toml");
    let sdk =
        manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    for (page, text) in pages() {
        let words: Vec<_> = text.split_whitespace().collect();
        for words in words.windows(4) {
            if let ["Rust", version, "or", "newer"] = words {
                let expected =
                    if page.ends_with("sdk/README.md") { sdk } else { env!("CARGO_PKG_RUST_VERSION") };
                assert_eq!(*version, expected, "{}", page.display());
                named += 1;
            }
        }
    }
    assert!(named >= 5, "{named} pages");
}

/// crates.io shows a README.md without the repository around it.
#[test]
fn the_readme_of_a_crate_has_no_relative_links() {
    for folder in CRATES {
        let (_, links) =
            anchors_and_links(&std::fs::read_to_string(root().join(folder).join("README.md")).unwrap());
        assert!(!links.is_empty(), "{folder}");
        assert!(links.iter().all(|link| link.starts_with("https://")), "{folder}: {links:?}");
    }
}
