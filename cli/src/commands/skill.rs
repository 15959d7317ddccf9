//! `skill`: instructions for AI assistants that write code or scripts with this program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::man::print_installed;
use crate::actions::confirm::confirm_locally;
use crate::context::Context;
use crate::diagnostics::{EXIT_CODES, Fail};
use crate::files;

/// The skill. `{version}` and `{exit-codes}` are filled in.
const SKILL: &str = include_str!("skill/SKILL.md");
/// The folder of the skill, also named in its front matter.
const NAME: &str = "idempost";
/// The folder of a project's skills.
const FOLDER: &str = ".agents/skills";
/// A larger file can't be a skill.
const MAX_BYTES: u64 = 1 << 20;

/// Print instructions for AI assistants that write code or scripts with this program
///
/// The instructions are a skill in the common format (SKILL.md) for this version of the program. Only --install writes it to a file: idempost/SKILL.md in a folder of
/// skills. Asks before overwriting a file that has different content.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost skill\n  \
    idempost skill --install\n  \
    idempost skill --index >> AGENTS.md")]
pub(crate) struct Args {
    /// Write the skill to this folder of skills [default: .agents/skills]
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, without a folder, with one")]
    install: Option<Option<PathBuf>>,
    /// Print an index of the commands and rules instead, for AGENTS.md; at most 8 KB
    #[arg(long, conflicts_with = "install")]
    index: bool,
}

/// Prints or installs the skill.
pub(crate) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let text = if args.index { render_index(&(context.command_tree)()) } else { render_skill() };
    if let Some(folder) = &args.install {
        return install(folder.as_deref().unwrap_or(Path::new(FOLDER)), &text, context).await;
    }
    let document = json!({ "name": NAME, "version": env!("CARGO_PKG_VERSION"), "text": text });
    context.out.result(&[text.trim_end().to_owned()], &document)
}

async fn install(folder: &Path, text: &str, context: &Context) -> Result<(), Fail> {
    let folder = folder.join(NAME);
    let path = folder.join("SKILL.md");
    let failed = |error| Fail::local(format!("couldn't write {}", path.display()), error);
    // It could lead out of the project, to a file that isn't a skill.
    if path.is_symlink() {
        return Err(Fail::error(format!("{} is a symbolic link, which isn't followed", path.display()))
            .hint("remove the link, or name another folder with --install DIR"));
    }
    let found = files::read(&path, MAX_BYTES, false).map_err(failed)?;
    if found.as_deref() != Some(text.as_bytes()) {
        if found.is_some() {
            let question = format!("{} exists and has different content. Replace it?", path.display());
            confirm_locally(&question, context).await?;
        }
        // Not a private file: it belongs to the project.
        std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, text)).map_err(failed)?;
    }
    print_installed(&path, context)
}

/// The skill of this version.
fn render_skill() -> String {
    let rows = EXIT_CODES.iter().map(|row| format!("| {} | {} | {} |\n", row.code, row.meaning, row.advice));
    let codes = format!("| code | meaning | what to do |\n|--:|---|---|\n{}", rows.collect::<String>());
    SKILL.replace("{version}", env!("CARGO_PKG_VERSION")).replace("{exit-codes}\n", &codes)
}

/// The rules of the skill, and all commands and exit codes by name.
fn render_index(root: &clap::Command) -> String {
    let rules = SKILL.split("## Rules\n\n").nth(1).and_then(|rest| rest.split("\n\n## ").next());
    let mut index = format!(
        "# Email: idempost {}\n\n`idempost` sends email with the Resend API and captures it in a local sandbox. Before you write code or scripts that send or test email, read `idempost skill`.\n\n{}\n\n## Commands\n\n`idempost COMMAND --help` describes one.\n\n",
        env!("CARGO_PKG_VERSION"),
        rules.unwrap_or_default()
    );
    let shown = |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "help";
    for noun in root.get_subcommands().filter(shown) {
        let about = noun.get_about().map(ToString::to_string).unwrap_or_default();
        let verbs: Vec<_> = noun.get_subcommands().filter(shown).map(clap::Command::get_name).collect();
        let verbs = if verbs.is_empty() { String::new() } else { format!(": {}", verbs.join(", ")) };
        // Writing to a string can't fail.
        let _ = writeln!(index, "- `{}` ({about}){verbs}", noun.get_name());
    }
    let codes: Vec<_> = EXIT_CODES.iter().map(|row| format!("{} {}", row.code, row.name)).collect();
    let _ = write!(
        index,
        "\n## Exit codes\n\n{}. `idempost help exit-codes` lists what to do after each.\n",
        codes.join(", ")
    );
    index
}
