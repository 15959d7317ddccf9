//! Runs the terminal sessions of README.md, of the README.md of each crate, of the guide in `docs/` and of the skill, exactly as shown, and checks
//! all other commands, the links, and the page of the specification.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::{Idempost, concurrently};
use idempost_needs::needs;
use idempost_reference_server::{
    Settings,
    faults::{Action, Rule},
};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use tokio::process::Command;

/// The folders of the published crates.
const CRATES: [&str; 5] = ["cli", "sdk", "bulk", "sandbox", "tests/reference-server"];

/// The packages for tests in other languages, whose READMEs are pages of the guide.
const PACKAGES: [&str; 2] = ["sandbox/clients/node", "sandbox/clients/python"];

/// The skill, as `idempost skill` prints it.
const SKILL: &str = "cli/src/commands/skill/SKILL.md";

/// The families of clauses, each with its heading and the sections of the specification that state it.
const FAMILIES: [(&str, [&str; 2]); 30] = [
    ("GEN", ["Service and conventions", "What the service does; Conventions"]),
    ("EMAIL", ["Sending an email", "POST /emails"]),
    ("IDEM", ["Idempotency", "POST /emails, the header `Idempotency-Key`; Limits"]),
    ("BATCH", ["Batches", "POST /emails/batch"]),
    ("SENT", ["Sent emails", "Sent email (list item); GET /emails"]),
    ("RECV", ["Received emails", "Received email (list item); GET /emails/receiving"]),
    ("RATT", ["Attachments of received emails", "Received-email attachment (list item)"]),
    ("LIST", ["Lists", "Common list parameters"]),
    ("LIST-A", ["Lists in mode A: always paged", "Common list parameters, mode A"]),
    ("LIST-B", ["Lists in mode B: complete unless a limit is given", "Common list parameters, mode B"]),
    (
        "TPL",
        ["Templates", "Template; POST /templates; PATCH /templates/{id_or_alias}; States and transitions"],
    ),
    ("DOM", ["Domains", "Domain; POST /domains; POST /domains/{domain_id}/verify; States and transitions"]),
    ("BCAST", ["Broadcasts", "Broadcast (list item); POST /broadcasts; POST /broadcasts/:broadcastId/send"]),
    ("CONT", ["Contacts", "Contact; GET /contacts/{id_or_email}/topics and /segments"]),
    ("SEG", ["Segments", "Segment and audience (list item); GET /segments/{segment_id}/contacts"]),
    ("TOPIC", ["Topics", "Contact topic subscription (list item)"]),
    ("PROP", ["Contact properties", "Contact property (list item); GET /contact-properties"]),
    ("AUD", ["Audiences", "GET /audiences; Versioning"]),
    ("AUTO", ["Automations", "Automation (list item); GET /automations"]),
    ("RUN", ["Automation runs", "Automation run (list item); GET /automations/{automation_id}/runs"]),
    ("HOOK", ["Webhooks", "Webhook (list item); POST /webhooks; PATCH /webhooks/{webhook_id}"]),
    ("EVT", ["Events", "Events; States and transitions"]),
    ("LOG", ["Request log", "API log entry (list item); GET /logs"]),
    (
        "AUTHZ",
        ["Authorization endpoint", "GET /oauth/authorize; OAuth artifacts; Errors, Authorization endpoint"],
    ),
    ("TOK", ["Token endpoint", "POST /oauth/token; OAuth artifacts; Errors, Token endpoint"]),
    ("AUTH", ["Authentication", "Authentication"]),
    ("SCOPE", ["Permissions and scopes", "Authentication, Scopes"]),
    ("ERR", ["Errors", "Errors, Other API errors"]),
    ("LIM", ["Limits", "Limits"]),
    ("VER", ["Versioning", "Versioning"]),
];

/// A command and its output: stdout, and stderr if the page shows it. A line with `…` stands for any lines.
struct Step {
    command: String,
    shown: Vec<String>,
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
    let folders = CRATES.into_iter().chain(PACKAGES);
    let others = folders.map(|folder| root().join(folder).join("README.md"));
    front.into_iter().chain(others).chain(pages).map(read).collect()
}

/// A fenced block of a page.
pub(crate) struct Block<'a> {
    pub(crate) language: &'a str,
    pub(crate) text: String,
    /// The line before it: the comment that says why its commands don't run.
    before: &'a str,
    is_recorded: bool,
}

pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut open, mut before, mut is_recorded) = (Vec::new(), None, "", false);
    for line in page.lines() {
        let fence = line.strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(language)) => {
                open = Some(Block { language, text: String::new(), before, is_recorded });
            }
            (Some(_), Some(_)) => {
                blocks.extend(open.take());
                before = "";
            }
            (Some(block), None) => block.text.extend([line, "\n"]),
            (None, None) if line.trim().is_empty() => {}
            (None, None) => {
                before = line;
                is_recorded = (is_recorded || line == "<!-- recorded logins -->")
                    && line != "<!-- end of recorded logins -->";
            }
        }
    }
    blocks
}

/// The words of a command, up to the character that ends it in a shell.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            // A redirection may begin with the number of a stream.
            (None, '>') if word.as_ref().is_some_and(|word| word == "2") => {
                word = None;
                break;
            }
            (None, '|' | ';' | '&' | '(' | ')' | '<' | '>' | '`' | '…') => break,
            (None, '#') if word.is_none() => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The command lines of the program in a line of a shell, without its name.
fn commands(line: &str) -> Vec<Vec<String>> {
    let before = ["", "$ ", "$(", "| ", "; ", "-- ", "do ", "if ", "run: ", "'", "cargo run --bin "];
    let starts = line.match_indices("idempost ").map(|(at, name)| (&line[..at], &line[at + name.len()..]));
    let starts = starts.filter(|(head, _)| {
        before
            .iter()
            .any(|before| if before.is_empty() { head.trim().is_empty() } else { head.ends_with(before) })
    });
    starts
        .map(|(head, rest)| {
            let quoted = head.ends_with('\'').then(|| rest.split('\'').next().unwrap_or_default());
            words(quoted.unwrap_or(rest))
        })
        .collect()
}

fn is_shell(language: &str) -> bool {
    matches!(language, "sh" | "console" | "text" | "yaml")
}

#[test]
fn a_block_of_commands_runs_or_says_why_not() {
    let (mut named, mut silent) = (0, Vec::new());
    // The tests of the skill run its script.
    for (name, page) in pages().into_iter().filter(|(name, _)| !name.ends_with("SKILL.md")) {
        for block in blocks(&page).iter().filter(|block| !block.is_recorded) {
            let has_commands = block.language == "sh"
                || is_shell(block.language)
                    && block.language != "console"
                    && block.text.lines().any(|line| line.starts_with("$ "));
            let reason = ["<!-- not run: ", "<!-- run by: "]
                .into_iter()
                .find_map(|start| block.before.strip_prefix(start));
            match (has_commands, reason) {
                (true, None) => silent.push(format!(
                    "{}: {}",
                    name.display(),
                    block.text.lines().next().unwrap_or_default()
                )),
                (true, Some(reason)) => {
                    assert!(reason.len() > 15 && reason.ends_with(" -->"), "{}: {reason}", name.display());
                    named += 1;
                }
                (false, reason) => assert_eq!(reason, None, "{}: {}", name.display(), block.text),
            }
        }
    }
    assert!(silent.is_empty(), "no reason why these don't run:\n{}", silent.join("\n"));
    assert!(named > 10, "{named} blocks");
}

#[test]
fn every_command_on_a_page_has_the_flags_of_the_program() {
    let idempost = crate::support::Idempost::new();
    let mut checked = HashSet::new();
    for (_, page) in pages() {
        let blocks = blocks(&page);
        let shell = blocks.iter().filter(|block| is_shell(block.language));
        let lines = shell.flat_map(|block| {
            let is_session = block.text.lines().any(|line| line.starts_with("$ "));
            let text = block.text.replace("\\\n", " ");
            let lines = text.lines().filter(|line| !is_session || line.starts_with("$ "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        });
        let spans = Parser::new_ext(&page, Options::ENABLE_TABLES).filter_map(|event| match event {
            Event::Code(code) => Some(code.to_string()),
            _ => None,
        });
        let lines: Vec<String> = lines.chain(spans).collect();
        let aliases: Vec<&str> =
            lines.iter().filter_map(|line| line.split("alias set ").nth(1)?.split(' ').next()).collect();
        for command in lines.iter().flat_map(|line| commands(line)) {
            let is_placeholder = command.first().is_none_or(|word| {
                aliases.contains(&word.as_str()) || !word.contains(|c: char| c.is_ascii_lowercase())
            });
            if !is_placeholder {
                checked.insert(command);
            }
        }
    }
    assert!(checked.len() > 150, "{} commands", checked.len());
    concurrently(checked, |mut command| {
        let end = command.iter().position(|word| word == "--").unwrap_or(command.len());
        command.insert(end, "--help".to_owned());
        idempost.run(&command).exits(0);
    });
}

#[test]
fn a_page_with_rust_code_names_its_dependencies() {
    let manifest = include_str!("../../../sdk/Cargo.toml").parse::<toml_edit::DocumentMut>().unwrap();
    let features = manifest["features"].as_table().unwrap();
    for (name, page) in pages().into_iter().filter(|(_, page)| page.contains("```rust")) {
        let name = name.display();
        let blocks = blocks(&page);
        let tables: Vec<toml_edit::DocumentMut> = blocks
            .iter()
            .filter(|block| block.language == "toml")
            .map(|block| block.text.parse().unwrap())
            .collect();
        let added = page.contains("cargo add ");
        let dependencies = tables.iter().flat_map(|table| {
            ["dependencies", "dev-dependencies"]
                .into_iter()
                .filter_map(|kind| table.get(kind)?.as_table_like())
        });
        let mut named = 0;
        for dependency in dependencies {
            named += 1;
            let Some(wanted) = dependency.get("idempost").and_then(|idempost| idempost.get("features"))
            else {
                continue;
            };
            for feature in wanted.as_array().unwrap() {
                assert!(features.contains_key(feature.as_str().unwrap()), "{name}: {feature}");
            }
        }
        assert!(named > 0 || added, "{name}: add `[dependencies]`");
    }
}

const SPECIFICATION: &str = "# Specification

What the service requires of its clients and returns to them, clause by clause. Comments in the code, tests and the contract cite these clauses.

Client and server were written against a specification of Resend's email API that isn't part of this repository. This page states its content in our own words: one line per testable statement, with the number of \
tests that prove it. [`clauses.toml`](../tests/conformance/clauses.toml) names each of them, and is the source of this page. The [contract](../openapi.yaml) has the shapes of requests and responses.

A citation such as `docs/specification.md`, POST /emails, names a section of the specification; the line below a heading says which sections the clauses come from. `x-source` in the contract marks what the specification leaves open, \
and what only Resend's own service adds.
";

/// The page of the specification: each family of clauses, and where the specification states them.
fn specification() -> String {
    let source =
        include_str!("../../../tests/conformance/clauses.toml").parse::<toml_edit::DocumentMut>().unwrap();
    let text = |table: &toml_edit::Table, key: &str| table[key].as_str().unwrap().to_owned();
    let clauses: Vec<(String, String, usize)> = source["clause"]
        .as_array_of_tables()
        .unwrap()
        .iter()
        .map(|clause| {
            (
                text(clause, "id"),
                text(clause, "says"),
                clause.get("tests").and_then(|tests| tests.as_array()).map_or(0, toml_edit::Array::len),
            )
        })
        .collect();
    let mut page = SPECIFICATION.to_owned();
    for (family, [title, section]) in FAMILIES {
        let columns = "| clause | what it requires | tests |\n|---|---|--:|";
        writeln!(page, "\n## {title}\n\nIn the specification: {section}.\n\n{columns}").unwrap();
        let number = |id: &str| id.strip_prefix(family)?.trim_start_matches('-').parse::<u32>().ok();
        let of_family = clauses.iter().filter_map(|clause| Some((number(&clause.0)?, clause)));
        let mut of_family: Vec<_> = of_family.collect();
        of_family.sort();
        for (_, (id, says, tests)) in of_family {
            writeln!(page, "| {id} | {} | {tests} |", says.replace('|', "\\|")).unwrap();
        }
    }
    page
}

#[test]
fn the_page_of_the_specification_lists_every_clause() {
    let (page, path) = (specification(), root().join("docs/specification.md"));
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
        std::fs::write(&path, &page).unwrap();
    }
    let clauses = include_str!("../../../tests/conformance/clauses.toml").matches("\n[[clause]]").count();
    assert_eq!(
        page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| clause ")).count(),
        clauses
    );
    assert!(
        std::fs::read_to_string(path).unwrap() == page,
        "docs/specification.md is outdated: SNAPSHOTS=overwrite cargo test -p idempost-cli --test cli guide"
    );
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for session in blocks(page).iter().filter(|block| block.language == "console") {
        for line in session.text.lines() {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step { command: command.to_owned(), shown: Vec::new() }),
                (None, Some(step)) => step.shown.push(line.to_owned()),
                (None, None) => panic!("a session starts with a command, not with {line:?}"),
            }
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

/// Runs the sessions of a page in one shell, so that variables set by one command are available to the next.
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

/// The loop of `scripts.md` around a send, through an outage that lasts longer than the program's own retries.
#[test]
fn the_retry_loop_of_the_guide_sends_one_email() {
    let page = include_str!("../../../docs/scripts.md");
    let blocks = blocks(page);
    let script = blocks.iter().find(|block| block.language == "sh").map(|block| &block.text).unwrap();
    let service = crate::service::Service::start();
    let outage = Rule::new(Action::error(503, "internal_server_error", "An outage."));
    service.faults().add(outage.on_path("/emails").times(6));
    // The program's own delays are as short as possible, and the loop's take no time.
    let shortened = format!(
        "sleep() {{ :; }}\nidempost() {{ {} --retries 1 \"$@\"; }}\n{script}",
        env!("CARGO_BIN_EXE_idempost")
    );
    let sent = || service.run(&["emails", "list", "--columns", "subject"]).ok();
    service.idempost().shell(&shortened).ok();
    assert_eq!((sent().as_str(), service.faults().pending()), ("Order 17\n", 0));
    service.idempost().shell(&shortened).ok();
    assert_eq!(sent(), "Order 17\n", "another run of the script sends nothing");
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
            // These pages are generated when the guide is built.
            if ["commands.md", "examples.md"].contains(&file) {
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
    let page = Idempost::new().run(&["help", "--jq", include_str!("../../../docs/commands.jq")]).stdout;
    for leaf in crate::completeness::leaves(&Idempost::new()) {
        let command = leaf["command"].as_str().unwrap();
        assert!(page.contains(&format!("\n### {command}\n")), "{command}");
    }
    assert!(page.contains("| 9 | `unknown` |"));
    assert!(page.contains("`Acme <hi@acme.test>`") && !page.contains("\\<hi@acme.test>`"));
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
    let generated = ["commands", "examples"].map(|name| format!("{name}.md"));
    let generated = generated.iter().map(|name| (Path::new(name), "# Page\n\nAll of them.\n".to_owned()));
    for (name, text) in sources.chain(others).chain(generated) {
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

/// crates.io shows a README.md without the rest of the repository.
#[test]
fn the_readme_of_a_crate_has_no_relative_links() {
    for folder in CRATES {
        let (_, links) =
            anchors_and_links(&std::fs::read_to_string(root().join(folder).join("README.md")).unwrap());
        assert!(!links.is_empty(), "{folder}");
        assert!(links.iter().all(|link| link.starts_with("https://")), "{folder}: {links:?}");
    }
}
