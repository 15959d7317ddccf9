//! `idempost skill`: its format, where it is written, its index, and its scripts. The guide's tests run its sessions and its Rust code.

use crate::completeness::{leaves, name};
use crate::guide::{Block, blocks};
use crate::support::{Idempost, SEND};
use idempost_reference_server::{ClockStart, ReferenceServer, Settings};

/// The lines between `---` at the start of the skill, and the rest.
fn front_matter(text: &str) -> (&str, &str) {
    text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap()
}

fn field<'a>(matter: &'a str, name: &str) -> &'a str {
    matter.lines().find_map(|line| line.trim_start().strip_prefix(&format!("{name}: "))).unwrap()
}

#[test]
fn the_skill_has_the_common_format_and_the_program_s_version_and_codes() {
    let idempost = Idempost::new();
    let text = idempost.run(&["skill"]).ok();
    let (matter, body) = front_matter(&text);
    assert_eq!(field(matter, "name"), "idempost");
    let description = field(matter, "description");
    assert!((100..=1024).contains(&description.len()) && !description.contains(": "), "{description}");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(field(matter, "version"), format!("\"{version}\""));
    assert!(body.contains(&format!("describes version {version}")) && body.lines().count() < 500, "{body}");
    assert!(!body.contains("{version}") && !body.contains("{exit-codes}"), "{body}");
    let tree = idempost.run(&["help", "--json"]).json();
    let codes = tree["exit_codes"].as_array().unwrap();
    assert!(!codes.is_empty());
    for row in codes {
        let row = format!("| {} | {} |", row["code"], row["meaning"].as_str().unwrap());
        assert!(body.contains(&row), "{row}\n{body}");
    }
    let document = idempost.run(&["skill", "--json"]).json();
    assert_eq!(document["text"].as_str().unwrap().trim_end(), text.trim_end());
    assert!(idempost.home().read_dir().unwrap().next().is_none(), "nothing is written unless asked");
}

#[test]
fn the_skill_is_installed_when_asked_and_replaces_no_other_file() {
    let idempost = Idempost::new();
    let text = idempost.run(&["skill"]).ok();
    for (install, path) in [
        ("skill --install", ".agents/skills/idempost/SKILL.md"),
        ("skill --install skills", "skills/idempost/SKILL.md"),
    ] {
        assert_eq!(idempost.run(install).ok().trim(), path);
        assert_eq!(idempost.read(path).trim_end(), text.trim_end());
        idempost.run(install).ok();
        idempost.write(path, "mine");
        idempost.run(install).fails_with(2, &[path, "--yes"]);
        assert_eq!(idempost.read(path), "mine");
        idempost.run(&(install, "--yes")).ok();
        assert_eq!(idempost.read(path).trim_end(), text.trim_end());
    }
    std::fs::create_dir_all(idempost.home().join("folder/idempost/SKILL.md")).unwrap();
    idempost.run(&["skill", "--install", "folder"]).fails_with(1, &["not a regular file"]);
    idempost.run(&["skill", "--install", "--index"]).fails(2);
    #[cfg(unix)]
    for target in ["mine", "absent"] {
        idempost.write("mine", "mine");
        let folder = idempost.home().join(format!("linked-{target}/idempost"));
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(idempost.home().join(target), folder.join("SKILL.md")).unwrap();
        idempost
            .run(&format!("skill --yes --install linked-{target}"))
            .fails_with(1, &["SKILL.md", "symbolic link"]);
        assert!(idempost.read("mine") == "mine" && !idempost.home().join("absent").exists());
    }
}

#[test]
fn the_index_names_every_command_and_rule_in_at_most_8_kb() {
    let idempost = Idempost::new();
    let index = idempost.run(&["skill", "--index"]).ok();
    assert!(index.len() <= 8 * 1024, "{} bytes", index.len());
    let commands = leaves(&idempost);
    assert!(commands.len() > 100);
    for leaf in &commands {
        let command = name(leaf);
        let (noun, verb) = command.split_once(' ').unwrap_or((command, ""));
        let line = index.lines().find(|line| line.starts_with(&format!("- `{noun}` ")));
        let verb = verb.split(' ').next().unwrap();
        let named = line.is_some_and(|line| {
            verb.is_empty() || line.rsplit("): ").next().unwrap().split(", ").any(|one| one == verb)
        });
        assert!(noun == "help" || named, "{command}\n{index}");
    }
    let skill = idempost.run(&["skill"]).ok();
    let rules: Vec<_> = skill.lines().filter(|line| line.starts_with("- ")).collect();
    assert!(rules.len() >= 5 && rules.iter().all(|rule| index.contains(rule)), "{index}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_snippet_of_the_skill_is_run_by_a_test() {
    let skill = Idempost::new().run(&["skill"]).ok();
    let mut scripts = 0;
    for Block { language, text, .. } in blocks(&skill) {
        match language {
            // Run by the guide's tests: `guide.rs` here, and the doctests of the examples.
            "console" => assert!(text.starts_with("$ "), "{text}"),
            "rust" | "rust,no_run" => {
                assert!(include_str!("../../../examples/guide.rs").contains("SKILL.md"));
            }
            "toml" => assert!(text.contains(&format!("idempost = \"{}\"", minor())), "{text}"),
            "sh" => {
                let server = ReferenceServer::start_http(Settings::default()).await;
                let idempost = Idempost::at(server.base_url(), server.api_key());
                let program = std::path::Path::new(env!("CARGO_BIN_EXE_idempost")).parent().unwrap();
                let script = format!("PATH={}:$PATH\n{text}", program.display());
                for _ in 0..2 {
                    let printed = idempost.shell(&script).ok();
                    assert!(printed.starts_with("accepted as "), "{printed}");
                }
                assert_eq!(server.service().mails("sb_test").len(), 1, "a repetition sends nothing");
                scripts += 1;
            }
            other => panic!("no test runs a block of `{other}`"),
        }
    }
    assert_eq!(scripts, 1);
}

/// The version that a manifest names, such as `0.1`.
fn minor() -> &'static str {
    env!("CARGO_PKG_VERSION").rsplit_once('.').unwrap().0
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_of_assistants_don_t_change_any_output() {
    // The status and the age of the email stay the same.
    let clock = ClockStart::Frozen("2026-03-02T12:00:00Z".parse().unwrap());
    let server = ReferenceServer::start_http(Settings { seed: Some(0), clock, ..Settings::default() }).await;
    let program = || Idempost::at(server.base_url(), server.api_key());
    let id = program().run(&SEND).ok();
    let get = format!("emails get {}", id.trim());
    let commands: [&str; 10] = [
        "--help",
        "emails send --help",
        "emails list",
        &get,
        &format!("{get} --json"),
        "emails delete",
        "emails send --to x",
        "domains verify",
        "skill",
        "emails send --from hi@acme.test --to a@x.test --subject Hi --text Hi --dry-run --idempotency-key a",
    ];
    for tty in [None, Some("100")] {
        for command in commands {
            let outputs = [false, true].map(|assisted| {
                let mut idempost = program();
                if let Some(columns) = tty {
                    idempost = idempost.env("IDEMPOST_FORCE_TTY", columns);
                }
                for name in ASSISTANTS.split(' ').filter(|_| assisted) {
                    idempost = idempost.env(name, "1");
                }
                let ran = idempost.run(command);
                (ran.code, ran.stdout, ran.stderr)
            });
            assert_eq!(outputs[0], outputs[1], "{command} {tty:?}");
        }
    }
}

/// Variables by which programs recognize that an assistant runs them.
const ASSISTANTS: &str = "AGENT AI_AGENT AUGMENT_AGENT CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLINE_ACTIVE CODEX_SANDBOX \
                          CURSOR_AGENT CURSOR_TRACE_ID GEMINI_CLI OPENCODE REPL_ID";
