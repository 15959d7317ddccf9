//! Starts other programs: this one again, the shell, and a program by name.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::settings::env::Env;

/// The number of programs that control the terminal.
static FOREGROUND: AtomicUsize = AtomicUsize::new(0);

/// While this exists, another program controls the terminal, such as a pager or an editor.
#[derive(Debug)]
pub(crate) struct Foreground(());

/// Gives the terminal to another program.
pub(crate) fn foreground() -> Foreground {
    FOREGROUND.fetch_add(1, Ordering::SeqCst);
    Foreground(())
}

/// Whether another program controls the terminal, and handles Ctrl-C.
pub(crate) fn has_foreground() -> bool {
    FOREGROUND.load(Ordering::SeqCst) > 0
}

impl Drop for Foreground {
    fn drop(&mut self) {
        FOREGROUND.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The path of the running program, even if its file has been replaced.
pub(crate) fn current_program() -> std::io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// A command line for the system's shell.
pub(crate) fn shell(line: &str) -> Command {
    #[cfg(unix)]
    {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]);
        shell
    }
    #[cfg(windows)]
    {
        let mut shell = Command::new("cmd");
        // With /s, cmd removes the outer quotes and leaves the rest unchanged; it doesn't support other programs' escapes. /d: no AutoRun
        // commands.
        std::os::windows::process::CommandExt::raw_arg(shell.args(["/d", "/s", "/c"]), format!("\"{line}\""));
        shell
    }
}

/// Resolves a program's name. Windows only finds `.exe` files by name, but `npm` and `code` are `npm.cmd` and `code.cmd`.
pub(crate) fn resolve_program(name: &OsStr, env: &Env) -> OsString {
    let extensions = env.get("PATHEXT").unwrap_or(".COM;.EXE;.BAT;.CMD");
    let folders = env.raw("PATH").map(std::env::split_paths).into_iter().flatten();
    let found = if cfg!(windows) { with_extension(name, folders, extensions, Path::is_file) } else { None };
    found.map_or_else(|| name.to_owned(), PathBuf::into_os_string)
}

/// The first existing file with one of the extensions, in the order of the folders. `None` if the name already has an extension.
fn with_extension(
    name: &OsStr,
    folders: impl Iterator<Item = PathBuf>,
    extensions: &str,
    exists: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    if Path::new(name).extension().is_some() {
        return None;
    }
    let has_folder = Path::new(name).parent().is_some_and(|folder| !folder.as_os_str().is_empty());
    let folders: Vec<_> = if has_folder { vec![PathBuf::new()] } else { folders.collect() };
    let files = folders.iter().flat_map(|folder| {
        extensions.split(';').map(|extension| {
            let mut file = name.to_owned();
            file.push(extension);
            folder.join(file)
        })
    });
    files.into_iter().find(|file| exists(file))
}

/// The words of a command line in a variable such as `EDITOR`, separated by spaces. Double quotes enclose words with spaces.
pub(crate) fn split_words(line: &str) -> Vec<String> {
    let (mut words, mut quoted, mut started) = (vec![String::new()], false, false);
    for c in line.chars() {
        match c {
            '"' => (quoted, started) = (!quoted, true),
            c if c.is_whitespace() && !quoted => {
                if std::mem::take(&mut started) {
                    words.push(String::new());
                }
            }
            c => {
                started = true;
                if let Some(word) = words.last_mut() {
                    word.push(c);
                }
            }
        }
    }
    if !started {
        words.pop();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_found_by_its_name_in_the_first_folder_that_has_it() {
        let files = ["/b/npm", "/b/npm.CMD", "/c/npm.EXE", "/c/node.EXE", "here/app.BAT"];
        let found = |name: &str| {
            let folders = ["/a", "/b", "/c"].map(PathBuf::from).into_iter();
            let exists = |path: &Path| files.iter().any(|file| Path::new(file) == path);
            with_extension(OsStr::new(name), folders, ".EXE;.BAT;.CMD", exists)
        };
        assert_eq!(found("npm"), Some("/b/npm.CMD".into()));
        assert_eq!(found("node"), Some("/c/node.EXE".into()));
        assert_eq!(found("here/app"), Some("here/app.BAT".into()));
        assert_eq!(found("npm.cmd"), None, "a name with an extension is complete");
        assert_eq!(found("sh"), None);
    }

    #[test]
    fn quotes_enclose_words_with_spaces() {
        assert_eq!(split_words(" code  --wait "), ["code", "--wait"]);
        assert_eq!(split_words(r#""C:\Program Files\ed.exe" -m """#), [r"C:\Program Files\ed.exe", "-m", ""]);
        assert!(split_words(" ").is_empty());
    }
}
