//! Runs the terminal sessions of README.md, exactly as shown, against a fresh sandbox.

use std::path::Path;
use std::process::Stdio;

use posthaste_reference_server::{ReferenceServer, Settings};
use tokio::process::Command;

/// A command and its output: stdout, and stderr if the page shows it.
struct Step<'a> {
    command: &'a str,
    shown: Vec<&'a str>,
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

#[tokio::test]
async fn the_readme_shows_the_program_s_actual_output() {
    let page = include_str!("../../../README.md");
    let steps = steps(page);
    assert!(steps.len() >= 4, "README.md has sessions");
    let server = ReferenceServer::over_http(Settings::default()).await;
    let home = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_posthaste")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    for step in steps {
        let output = Command::new("sh")
            .args(["-c", step.command])
            .env_clear()
            .env("PATH", &path)
            .env("HOME", home.path())
            .env("POSTHASTE_BASE_URL", server.base_url())
            .env("POSTHASTE_API_KEY", server.api_key())
            .current_dir(home.path())
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let shown = without_ids(&step.shown.join("\n"));
        let (alone, both) =
            (without_ids(stdout.trim_end()), without_ids(format!("{stderr}{stdout}").trim_end()));
        assert!(shown == alone || shown == both, "{}\nshown:\n{shown}\nfound:\n{both}", step.command);
        assert_eq!(output.status.code(), Some(0), "{}\n{both}", step.command);
    }
}
