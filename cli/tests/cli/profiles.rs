//! Profiles: which exist, and concurrent changes.

use serde_json::json;

use crate::support::Posthaste;

const BASE_URL: &str = "http://127.0.0.1:9";

fn with_key(posthaste: &Posthaste, profile: &[&str]) {
    let login =
        [profile, &["auth", "login", "--with-token", "--store", "file", "--base-url", BASE_URL]].concat();
    posthaste.run_with(&login, "sb_kept\n").ok();
}

fn config(posthaste: &Posthaste) -> String {
    std::fs::read_to_string(posthaste.config_file()).unwrap_or_default()
}

#[test]
fn concurrent_changes_are_all_written() {
    let posthaste = Posthaste::new().config("# mine\n");
    let names: Vec<String> = (0..20).map(|n| format!("p{n}")).collect();
    let children: Vec<_> = names
        .iter()
        .map(|name| {
            let mut command = posthaste.command();
            command.args(["--profile", name, "config", "set", "retries", "7"]).spawn().unwrap()
        })
        .collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let text = config(&posthaste);
    let lost: Vec<_> = names.iter().filter(|name| !text.contains(&format!("[profiles.{name}]"))).collect();
    assert!(lost.is_empty() && text.contains("# mine\n"), "{lost:?} in {text}");
    assert_eq!(text.matches("retries = 7").count(), 20);
}

#[cfg(unix)]
#[test]
fn a_change_while_the_editor_is_open_is_not_lost() {
    let posthaste = Posthaste::new().config("[defaults]\nretries = 1\n");
    let editor = posthaste.home().join("editor.sh");
    let program = env!("CARGO_BIN_EXE_posthaste");
    std::fs::write(
        &editor,
        format!("{program} config set retries 9\nprintf 'output = \"tsv\"\\n' >> \"$1\"\n"),
    )
    .unwrap();
    let posthaste = posthaste.env("EDITOR", format!("sh {}", editor.display()));
    let stderr = posthaste.run(&["config", "edit"]).fails(1);
    assert!(
        stderr.contains("changed while the editor was open") && stderr.contains("edited version is in"),
        "{stderr}"
    );
    assert_eq!(config(&posthaste), "[defaults]\nretries = 9\n");
    let kept = std::fs::read_dir(posthaste.config_file().parent().unwrap()).unwrap();
    let kept: Vec<_> = kept
        .map(|entry| entry.unwrap().path())
        .filter(|path| stderr.contains(&*path.to_string_lossy()))
        .collect();
    assert!(
        kept.iter().any(|path| std::fs::read_to_string(path).unwrap().contains("tsv")),
        "{kept:?} {stderr}"
    );

    // A file that doesn't parse isn't saved; a broken file can be repaired.
    std::fs::write(&editor, "echo ']' >> \"$1\"\n").unwrap();
    posthaste.run(&["config", "edit"]).fails(2);
    assert_eq!(config(&posthaste), "[defaults]\nretries = 9\n");
    std::fs::write(posthaste.config_file(), "]").unwrap();
    std::fs::write(&editor, "echo 'x = 1' > \"$1\"\n").unwrap();
    posthaste.run(&["config", "edit"]).ok();
    assert_eq!(config(&posthaste), "x = 1\n");
}

#[test]
fn the_default_profile_can_be_named_explicitly() {
    let posthaste = Posthaste::new();
    posthaste.run(&["--profile", "default", "config", "list"]).ok();
    with_key(&posthaste, &[]);
    for command in [&["auth", "status"][..], &["--profile", "default", "auth", "status"]] {
        assert!(posthaste.run(command).ok().starts_with("default  http://127.0.0.1:9  API key"));
    }
    assert_eq!(posthaste.run(&["auth", "use", "default"]).ok(), "default\n");
    posthaste.run(&["auth", "status"]).ok();
    // Its settings apply if no profile is named.
    posthaste.run(&["--profile", "default", "config", "set", "retries", "8"]).ok();
    posthaste.run(&["config", "unset", "default_profile"]).ok();
    assert_eq!(posthaste.run(&["config", "get", "retries"]).ok(), "8\n");
}

#[test]
fn a_profile_with_credentials_exists_until_it_is_logged_out() {
    let posthaste = Posthaste::new();
    with_key(&posthaste, &["--profile", "work"]);
    std::fs::write(posthaste.config_file(), "").unwrap();
    posthaste.run(&["--profile", "work", "auth", "status"]).ok();
    assert!(
        posthaste.run(&["--profile", "wrok", "auth", "status"]).fails(2).contains("did you mean `work`?")
    );
    posthaste.run(&["auth", "use", "work"]).ok();
    posthaste.run(&["auth", "status"]).ok();
    posthaste.run(&["auth", "logout"]).ok();
    // A missing default profile would make every command fail.
    assert!(posthaste.run(&["auth", "status"]).fails(4).contains("profile `default` isn't logged in"));
}

#[test]
fn a_renamed_profile_keeps_its_settings_credentials_and_position() {
    let posthaste = Posthaste::new()
        .config("# ours\n[profiles.work] # at work\nretries = 5\n\n[profiles.local]\nretries = 1\n");
    with_key(&posthaste, &["--profile", "work"]);
    posthaste.run(&["auth", "use", "work"]).ok();
    let before = config(&posthaste);
    let renamed = posthaste.run(&["auth", "rename", "work", "acme", "--json"]).json();
    assert_eq!(renamed, json!({ "profile": "acme", "renamed_from": "work" }));
    assert_eq!(
        config(&posthaste),
        before.replace("[profiles.work]", "[profiles.acme]").replace("\"work\"", "\"acme\"")
    );
    assert!(posthaste.run(&["auth", "status"]).ok().starts_with("acme  "));
    assert_eq!(posthaste.run(&["auth", "token"]).ok(), "sb_kept\n");
    posthaste.run(&["--profile", "work", "auth", "status"]).fails(2);

    let before = config(&posthaste);
    assert!(
        posthaste
            .run(&["auth", "rename", "acme", "local"])
            .fails(2)
            .contains("profile `local` already exists")
    );
    assert!(posthaste.run(&["auth", "rename", "work", "new"]).fails(5).contains("no profile `work`"));
    posthaste.run(&["auth", "rename", "acme", " "]).fails(2);
    posthaste.run(&["auth", "rename", "acme", "acme"]).fails(2);
    assert_eq!(config(&posthaste), before);
    assert_eq!(posthaste.run(&["auth", "token"]).ok(), "sb_kept\n");
}

#[test]
fn a_renamed_default_profile_stays_the_default() {
    let posthaste = Posthaste::new();
    with_key(&posthaste, &[]);
    posthaste.run(&["auth", "rename", "default", "acme"]).ok();
    assert!(posthaste.run(&["auth", "status"]).ok().starts_with("acme  "));
    posthaste.run(&["auth", "rename", "acme", "default"]).ok();
    assert!(posthaste.run(&["auth", "status"]).ok().starts_with("default  "));
}

#[cfg(unix)]
#[test]
fn a_rename_that_fails_changes_nothing() {
    let posthaste = Posthaste::new().config("[profiles.work]\nretries = 1\n");
    with_key(&posthaste, &["--profile", "work"]);
    let credentials = posthaste.config_file().with_file_name("credentials");
    // The new name can't be locked.
    std::fs::create_dir(credentials.join("acme.lock")).unwrap();
    posthaste.run(&["auth", "rename", "work", "acme"]).fails(1);
    assert_eq!(posthaste.run(&["--profile", "work", "auth", "token"]).ok(), "sb_kept\n");
    assert!(config(&posthaste).contains("[profiles.work]") && !credentials.join("acme.cred").exists());
}

#[test]
fn a_relative_folder_is_refused_with_its_variable() {
    // E-11
    for (variable, code) in [("HOME", 2), ("POSTHASTE_CONFIG_DIR", 2)] {
        let posthaste = Posthaste::new();
        let mut command = posthaste.command();
        command.args(["config", "set", "retries", "5"]).env(variable, "here");
        let stderr = crate::support::Ran::of(command.output().unwrap()).fails(code);
        assert!(stderr.contains(&format!("{variable}: must be an absolute path (found `here`)")), "{stderr}");
        assert!(!posthaste.home().join("here").exists());
        let mut command = posthaste.command();
        command.args(["auth", "status"]).env(variable, "here");
        crate::support::Ran::of(command.output().unwrap()).fails(code);
        let mut help = posthaste.command();
        assert!(help.args(["help"]).env(variable, "here").output().unwrap().status.success());
    }
    // The XDG specification requires relative paths to be ignored.
    let posthaste = Posthaste::new().env("XDG_CONFIG_HOME", "here");
    posthaste.run(&["config", "set", "retries", "5"]).ok();
    assert!(posthaste.config_file().exists());
}
