//! `sandbox env`: the variables that point programs to a running sandbox.

use std::path::{Path, PathBuf};

use secrecy::ExposeSecret;
use serde_json::{Map, Value};

use super::assignment::{Shell, quote_value};
use super::{REMOTE, VENDOR_API_KEY, api_key_or_default, client, vendor_base_urls};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::files;

/// The maximum size of a file for `--write`.
const MAX_FILE: u64 = 1 << 20;

/// Print the variables that point programs to a sandbox, or write them to a file
///
/// Prints `export` lines for a shell, or with --shell powershell its commands: IDEMPOST_BASE_URL and IDEMPOST_API_KEY, and for Resend's own clients RESEND_BASE_URL, RESEND_API_URL and
/// RESEND_API_KEY. The API key is the configured one if it is a sandbox key (sb_…), otherwise sb_local: a live key is never written.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  eval \"$(idempost sandbox env)\"\n  idempost sandbox env --shell powershell | Invoke-Expression\n  idempost sandbox env --write .env.local\n  \
    idempost sandbox env --smtp-port 2525 --output json"
)]
pub(crate) struct Args {
    /// Set the variables in this dotenv file instead (`NAME=value` lines); its other lines are kept
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Add SMTP_HOST and SMTP_PORT for a sandbox with this --smtp-port
    #[arg(long, value_name = "N")]
    smtp_port: Option<u16>,
    /// Shell to print commands for; on Windows powershell, unless a POSIX shell runs the command, elsewhere sh
    #[arg(long, value_name = "SHELL", value_parser = Shell::NAMES, conflicts_with = "write")]
    shell: Option<String>,
    /// Leave out RESEND_BASE_URL, RESEND_API_URL and RESEND_API_KEY
    #[arg(long)]
    no_vendor_env: bool,
}

/// Prints or writes the variables. Sends no request.
pub(super) fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let client = client(context)?;
    let base_url = client.base_url().as_str().trim_end_matches('/').to_owned();
    let key = api_key(context)?;
    let mut variables = vec![("IDEMPOST_BASE_URL", base_url.clone()), ("IDEMPOST_API_KEY", key.clone())];
    if !args.no_vendor_env {
        variables.extend(vendor_base_urls(&base_url));
        variables.push((VENDOR_API_KEY, key));
    }
    if let Some(port) = args.smtp_port {
        let host = client.base_url().host_str().unwrap_or("127.0.0.1");
        variables.push(("SMTP_HOST", host.trim_matches(['[', ']']).to_owned()));
        variables.push(("SMTP_PORT", port.to_string()));
    }
    if let Some(path) = &args.write {
        write(path, &variables)
            .map_err(|error| Fail::local(format!("couldn't write {}", path.display()), error))?;
        context.out.note(&format!("set {} variables in {}", variables.len(), path.display()));
    }
    let lines: Vec<_> = if args.write.is_some() {
        Vec::new()
    } else {
        let shell = Shell::from_name(args.shell.as_deref(), &context.env);
        variables.iter().map(|(name, value)| shell.line(&[(name, value)])).collect()
    };
    let document: Map<_, _> =
        variables.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value))).collect();
    context.out.result(&lines, &Value::Object(document))
}

/// The API key that commands for the sandbox use, unless it is a live one.
fn api_key(context: &Context) -> Result<String, Fail> {
    let is_stored = context.env.get(REMOTE).is_none() && context.credential()?.is_none();
    let stored = if is_stored { context.stored_key()? } else { None };
    match stored.as_ref().map(ExposeSecret::expose_secret).filter(|key| key.starts_with("sb_")) {
        Some(key) => Ok(key.to_owned()),
        None => api_key_or_default(context),
    }
}

/// Sets variables in a dotenv file. An existing variable is replaced in its line, without `export` and comment.
fn write(path: &Path, variables: &[(&str, String)]) -> std::io::Result<()> {
    let before = files::read(path, MAX_FILE, false)?.unwrap_or_default();
    let before = String::from_utf8(before)
        .map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))?;
    files::write(path, set_variables(&before, variables).as_bytes())
}

fn set_variables(before: &str, variables: &[(&str, String)]) -> String {
    let mut missing: Vec<_> = variables.iter().collect();
    let mut after = String::new();
    for line in split_entries(before) {
        let content = line.trim_end_matches(['\r', '\n']);
        let assignment = content.trim_start();
        let assignment = assignment.strip_prefix("export ").unwrap_or(assignment);
        let name = assignment.split_once('=').map(|(name, _)| name.trim());
        if !variables.iter().any(|(known, _)| Some(*known) == name) {
            after.push_str(line);
        } else if let Some(at) = missing.iter().position(|(known, _)| Some(*known) == name) {
            // Duplicate lines are removed: readers disagree on which one counts.
            let (name, value) = missing.remove(at);
            after.extend([name, "=", &quote_value(value), &line[content.len()..]]);
        }
    }
    let ending = if before.contains("\r\n") { "\r\n" } else { "\n" };
    for (name, value) in missing {
        if !after.is_empty() && !after.ends_with('\n') {
            after.push_str(ending);
        }
        after.extend([name, "=", &quote_value(value), ending]);
    }
    after
}

/// The lines of a dotenv file; a quoted value may span several.
fn split_entries(text: &str) -> Vec<&str> {
    let (mut entries, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let line = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let end = closing_quote(rest, line)
            .map_or(line, |closing| rest[closing..].find('\n').map_or(rest.len(), |end| closing + end + 1));
        let (entry, after) = rest.split_at(end);
        entries.push(entry);
        rest = after;
    }
    entries
}

/// The end of the quoted value that an assignment in the first line starts; `None` if there is no such value, or if nothing closes it.
fn closing_quote(text: &str, line: usize) -> Option<usize> {
    let assignment = text[..line].trim_start();
    if assignment.starts_with('#') {
        return None;
    }
    let value = text[..line].find('=')? + 1;
    let value = value + (text[value..line].len() - text[value..line].trim_start().len());
    let quote = text[value..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let mut escaped = false;
    text[value + 1..].char_indices().find_map(|(at, c)| {
        let closes = c == quote && !escaped;
        escaped = c == '\\' && !escaped && quote == '"';
        closes.then_some(value + 1 + at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_several_lines_is_replaced_or_kept_as_a_whole() {
        let variables = [("RESEND_API_KEY", "sb_local".to_owned())];
        let key = "KEY=\"-----BEGIN\nRESEND_API_KEY=in the key\n\\\" still\n-----END\"\n";
        let before = format!("{key}RESEND_API_KEY='first\nsecond' # secret\nA=it's\n# \"open\nB=1\n");
        let after = format!("{key}RESEND_API_KEY=sb_local\nA=it's\n# \"open\nB=1\n");
        assert_eq!(set_variables(&before, &variables), after);
        // The quote isn't closed, so the value ends with the line.
        assert_eq!(set_variables("RESEND_API_KEY=\"re\nB=1\n", &variables), "RESEND_API_KEY=sb_local\nB=1\n");
    }

    #[test]
    fn variables_are_replaced_where_they_stand_and_other_lines_stay() {
        let variables = [("RESEND_API_KEY", "sb_local".to_owned()), ("SMTP_PORT", "2525".to_owned())];
        let before = "# mail\nexport RESEND_API_KEY = 're_live' # secret\nOTHER=\"ü RESEND_API_KEY=1\"\nRESEND_API_KEY=re_second\n";
        let after = "# mail\nRESEND_API_KEY=sb_local\nOTHER=\"ü RESEND_API_KEY=1\"\nSMTP_PORT=2525\n";
        assert_eq!(set_variables(before, &variables), after);
        assert_eq!(set_variables(after, &variables), after, "writing again changes nothing");
        assert_eq!(set_variables("", &variables), "RESEND_API_KEY=sb_local\nSMTP_PORT=2525\n");
        assert_eq!(set_variables("A=1", &variables[..1]), "A=1\nRESEND_API_KEY=sb_local\n");
        assert_eq!(set_variables("SMTP_PORT=1", &variables[1..]), "SMTP_PORT=2525");
        assert_eq!(
            set_variables("A=1\r\nSMTP_PORT=1\r\n\r\n", &variables),
            "A=1\r\nSMTP_PORT=2525\r\n\r\nRESEND_API_KEY=sb_local\r\n"
        );
    }
}
