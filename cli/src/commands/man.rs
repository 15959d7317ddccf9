//! `man`: manual pages, generated from the same command tree as `--help`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{alias, help};
use crate::context::Context;
use crate::diagnostics::{EXIT_CODES, Fail};
use crate::input::flags::Required;
use crate::settings::paths;

/// Print the manual page of a command, or write all pages to a folder
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost man emails send | man -l -\n  \
    idempost man --install")]
pub(crate) struct Args {
    /// Command, such as `emails send`
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write all pages to this folder [default: ~/.local/share/man/man1]
    #[arg(long, value_name = "DIR", num_args = 0..=1, conflicts_with = "command")]
    #[expect(clippy::option_option, reason = "absent, without a folder, with one")]
    install: Option<Option<PathBuf>>,
}

/// The name of the first page.
const ROOT: &str = "idempost";

/// Prints one page or writes all.
pub(crate) fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let root = &(context.command_tree)();
    if let Some(folder) = &args.install {
        let folder = match folder {
            Some(folder) => folder.clone(),
            None => paths::data_home(&context.env)?.join("man/man1"),
        };
        let mut written = 0;
        install(root, ROOT, &folder, &mut written)?;
        context.out.note(&format!("{written} pages"));
        return print_installed(&folder, context);
    }
    let (command, name) = help::find(root, &alias::resolve(&args.command, root, context))?;
    let page =
        render_page(command, &name).map_err(|error| Fail::local("couldn't generate the page", error))?;
    context.out.bytes(&page)
}

/// Prints the path that was written.
pub(super) fn print_installed(path: &Path, context: &Context) -> Result<(), Fail> {
    let path = path.display().to_string();
    context.out.result(std::slice::from_ref(&path), &json!({ "path": path }))
}

fn install(command: &clap::Command, name: &str, folder: &Path, written: &mut usize) -> Result<(), Fail> {
    let save = || {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(format!("{}.1", name.replace(' ', "-"))), render_page(command, name)?)
    };
    save().map_err(|error| {
        Fail::local(format!("couldn't write the page of `{name}` to {}", folder.display()), error)
    })?;
    *written += 1;
    for child in command.get_subcommands().filter(|child| !child.is_hide_set()) {
        install(child, &format!("{name} {}", child.get_name()), folder, written)?;
    }
    Ok(())
}

/// Renders one page with the common exit codes. Only the first page lists the global flags.
fn render_page(command: &clap::Command, name: &str) -> std::io::Result<Vec<u8>> {
    let root = name == ROOT;
    let page_of = command.clone().name(name.replace(' ', "-")).bin_name(name.to_owned());
    let page_of = page_of.version(env!("CARGO_PKG_VERSION"));
    let page_of = if root { page_of.about(env!("CARGO_PKG_DESCRIPTION")) } else { page_of };
    // Includes the options that the short help omits.
    let page_of = page_of.mut_args(|arg| {
        let shared = arg.is_global_set() && !root;
        let required = arg.is_required_set() || arg.get::<Required>().is_some();
        arg.hide_short_help(false).hide_long_help(false).hide(shared).required(required)
    });
    let mut page = Vec::new();
    clap_mangen::Man::new(page_of).render(&mut page)?;
    writeln!(page, ".SH \"EXIT CODES\"")?;
    for row in EXIT_CODES {
        let meaning = row.meaning.replace('-', "\\-");
        writeln!(page, ".TP\n\\fB{}\\fR {}\n{meaning}", row.code, row.name)?;
    }
    if !root {
        writeln!(page, ".SH \"SEE ALSO\"\n\\fBidempost\\fR(1), for the global options")?;
    }
    Ok(page)
}
