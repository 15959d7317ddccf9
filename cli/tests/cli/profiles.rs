//! Profiles: which exist, and concurrent changes.

use serde_json::json;

use crate::support::{Finish as _, Idempost};

const BASE_URL: &str = "http://127.0.0.1:9";

fn with_key(idempost: &Idempost, profile: &[&str]) {
    let login =
        [profile, &["auth", "login", "--with-token", "--store", "file", "--base-url", BASE_URL]].concat();
    idempost.run_with(&login, "sb_kept\n").ok();
}

fn config(idempost: &Idempost) -> String {
    std::fs::read_to_string(idempost.config_file()).unwrap_or_default()
}

#[test]
fn concurrent_changes_are_all_written() {
    let idempost = Idempost::new().config("# mine\n");
    let names: Vec<String> = (0..20).map(|n| format!("p{n}")).collect();
    let children: Vec<_> = names
        .iter()
        .map(|name| {
            let mut command = idempost.command();
            command.args(["--profile", name, "config", "set", "retries", "7"]).spawn().unwrap()
        })
        .collect();
    for child in children {
        assert!(child.finish().status.success());
    }
    let text = config(&idempost);
    let lost: Vec<_> = names.iter().filter(|name| !text.contains(&format!("[profiles.{name}]"))).collect();
    assert!(lost.is_empty() && text.contains("# mine\n"), "{lost:?} in {text}");
    assert_eq!(text.matches("retries = 7").count(), 20);
}

#[cfg(unix)]
#[test]
fn a_change_while_the_editor_is_open_is_not_lost() {
    let idempost = Idempost::new().config("[defaults]\nretries = 1\n");
    let editor = idempost.home().join("editor.sh");
    let program = env!("CARGO_BIN_EXE_idempost");
    std::fs::write(
        &editor,
        format!("{program} config set retries 9\nprintf 'output = \"tsv\"\\n' >> \"$1\"\n"),
    )
    .unwrap();
    let idempost = idempost.env("EDITOR", format!("sh {}", editor.display()));
    let stderr = idempost.run(&["config", "edit"]).fails(1);
    assert!(
        stderr.contains("changed while the editor was open") && stderr.contains("edited version is in"),
        "{stderr}"
    );
    assert_eq!(config(&idempost), "[defaults]\nretries = 9\n");
    let kept = std::fs::read_dir(idempost.config_file().parent().unwrap()).unwrap();
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
    idempost.run(&["config", "edit"]).fails(2);
    assert_eq!(config(&idempost), "[defaults]\nretries = 9\n");
    std::fs::write(idempost.config_file(), "]").unwrap();
    std::fs::write(&editor, "echo 'x = 1' > \"$1\"\n").unwrap();
    idempost.run(&["config", "edit"]).ok();
    assert_eq!(config(&idempost), "x = 1\n");
}

#[test]
fn the_default_profile_can_be_named_explicitly() {
    let idempost = Idempost::new();
    idempost.run(&["--profile", "default", "config", "list"]).ok();
    with_key(&idempost, &[]);
    for command in [&["auth", "status"][..], &["--profile", "default", "auth", "status"]] {
        assert!(idempost.run(command).ok().starts_with("default  http://127.0.0.1:9  API key"));
    }
    assert_eq!(idempost.run(&["auth", "use", "default"]).ok(), "default\n");
    idempost.run(&["auth", "status"]).ok();
    // Its settings apply if no profile is named.
    idempost.run(&["--profile", "default", "config", "set", "retries", "8"]).ok();
    idempost.run(&["config", "unset", "default_profile"]).ok();
    assert_eq!(idempost.run(&["config", "get", "retries"]).ok(), "8\n");
}

#[test]
fn a_profile_with_credentials_exists_until_it_is_logged_out() {
    let idempost = Idempost::new();
    with_key(&idempost, &["--profile", "work"]);
    std::fs::write(idempost.config_file(), "").unwrap();
    idempost.run(&["--profile", "work", "auth", "status"]).ok();
    assert!(idempost.run(&["--profile", "wrok", "auth", "status"]).fails(2).contains("did you mean `work`?"));
    idempost.run(&["auth", "use", "work"]).ok();
    idempost.run(&["auth", "status"]).ok();
    idempost.run(&["auth", "logout"]).ok();
    // A missing default profile would make every command fail.
    assert!(idempost.run(&["auth", "status"]).fails(4).contains("profile `default` isn't logged in"));
}

#[test]
fn a_renamed_profile_keeps_its_settings_credentials_and_position() {
    let idempost = Idempost::new()
        .config("# ours\n[profiles.work] # at work\nretries = 5\n\n[profiles.local]\nretries = 1\n");
    with_key(&idempost, &["--profile", "work"]);
    idempost.run(&["auth", "use", "work"]).ok();
    let before = config(&idempost);
    let renamed = idempost.run(&["auth", "rename", "work", "acme", "--json"]).json();
    assert_eq!(renamed, json!({ "profile": "acme", "renamed_from": "work" }));
    assert_eq!(
        config(&idempost),
        before.replace("[profiles.work]", "[profiles.acme]").replace("\"work\"", "\"acme\"")
    );
    assert!(idempost.run(&["auth", "status"]).ok().starts_with("acme  "));
    assert_eq!(idempost.run(&["auth", "token"]).ok(), "sb_kept\n");
    idempost.run(&["--profile", "work", "auth", "status"]).fails(2);

    let before = config(&idempost);
    assert!(
        idempost
            .run(&["auth", "rename", "acme", "local"])
            .fails(2)
            .contains("profile `local` already exists")
    );
    assert!(idempost.run(&["auth", "rename", "work", "new"]).fails(5).contains("no profile `work`"));
    idempost.run(&["auth", "rename", "acme", " "]).fails(2);
    idempost.run(&["auth", "rename", "acme", "acme"]).fails(2);
    assert_eq!(config(&idempost), before);
    assert_eq!(idempost.run(&["auth", "token"]).ok(), "sb_kept\n");
}

#[test]
fn a_renamed_default_profile_stays_the_default() {
    let idempost = Idempost::new();
    with_key(&idempost, &[]);
    idempost.run(&["auth", "rename", "default", "acme"]).ok();
    assert!(idempost.run(&["auth", "status"]).ok().starts_with("acme  "));
    idempost.run(&["auth", "rename", "acme", "default"]).ok();
    assert!(idempost.run(&["auth", "status"]).ok().starts_with("default  "));
}

#[cfg(unix)]
#[test]
fn a_rename_that_fails_changes_nothing() {
    let idempost = Idempost::new().config("[profiles.work]\nretries = 1\n");
    with_key(&idempost, &["--profile", "work"]);
    let credentials = idempost.config_file().with_file_name("credentials");
    // The new name can't be locked.
    std::fs::create_dir(credentials.join("acme.lock")).unwrap();
    idempost.run(&["auth", "rename", "work", "acme"]).fails(1);
    assert_eq!(idempost.run(&["--profile", "work", "auth", "token"]).ok(), "sb_kept\n");
    assert!(config(&idempost).contains("[profiles.work]") && !credentials.join("acme.cred").exists());
}

#[test]
fn a_relative_folder_is_refused_with_its_variable() {
    // E-11
    for (variable, code) in [("HOME", 2), ("IDEMPOST_CONFIG_DIR", 2)] {
        let idempost = Idempost::new();
        let mut command = idempost.command();
        command.args(["config", "set", "retries", "5"]).env(variable, "here");
        let stderr = crate::support::Ran::of(command.finish()).fails(code);
        assert!(stderr.contains(&format!("{variable}: must be an absolute path (found `here`)")), "{stderr}");
        assert!(!idempost.home().join("here").exists());
        let mut command = idempost.command();
        command.args(["auth", "status"]).env(variable, "here");
        crate::support::Ran::of(command.finish()).fails(code);
        let mut help = idempost.command();
        assert!(help.args(["help"]).env(variable, "here").finish().status.success());
    }
    // The XDG specification requires relative paths to be ignored.
    let idempost = Idempost::new().env("XDG_CONFIG_HOME", "here");
    idempost.run(&["config", "set", "retries", "5"]).ok();
    assert!(idempost.config_file().exists());
}
