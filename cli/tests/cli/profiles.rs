//! Profiles: which ones exist, and concurrent changes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use crate::service::Service;
use crate::support::{CommandLine as _, Finish as _, Idempost, Ran, SEND, has, shows};

const BASE_URL: &str = "http://127.0.0.1:9";

/// The active profile.
fn active(idempost: &Idempost) -> String {
    idempost.run(&["auth", "status", "--jq", ".profile"]).ok().trim().trim_matches('"').to_owned()
}

fn config(idempost: &Idempost) -> String {
    std::fs::read_to_string(idempost.config_file()).unwrap_or_default()
}

#[test]
fn suggested_commands_select_the_profile_of_the_command_line() {
    let service = Service::start();
    let idempost =
        Idempost::new().config(&format!("[profiles.work]\nbase_url = \"{}\"\n", service.base_url()));
    let expected = "log in: idempost --profile work auth login; or set";
    idempost.run("--profile work emails list").fails_with(4, &[expected]);
    let error = idempost.run("--profile work emails list --json").error(4);
    assert!(error["hint"].as_str().unwrap().contains(expected), "{error}");
    idempost.run_with("--profile work auth login --with-token --store file", "sb_test\n").ok();
    let created = idempost.run("--profile work domains create acme.test");
    created.says(&["idempost --profile work domains verify"]);
    let url = service.base_url();
    let expected = format!("log in: idempost --base-url {url} auth login");
    idempost.run(&["--base-url", &url, "emails", "list"]).fails_with(4, &[&expected]);
}

#[test]
fn a_profile_name_that_is_empty_or_not_text_is_rejected() {
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", BASE_URL);
    let error = idempost.run(&["--profile", "", "emails", "list"]).fails(2);
    assert!(error.starts_with("error: the profile's name must not be empty\n"), "{error}");
    let invalid = OsStr::from_bytes(b"tw\xff");
    let mut command = idempost.command();
    let ran = command.env("IDEMPOST_PROFILE", invalid).args(["emails", "list"]).finish();
    ran.fails_with(2, &["IDEMPOST_PROFILE: there is no profile"]);
    for arguments in [&["--profile", "?", "emails", "list"][..], &["emails", "get", "?"]] {
        let arguments = arguments.iter().map(|one| if *one == "?" { invalid } else { OsStr::new(one) });
        let error = idempost.command().args(arguments).finish().fails(2);
        assert!(error.starts_with("error: the argument `tw\u{fffd}` isn't valid UTF-8\n"), "{error}");
    }
}

#[test]
fn concurrent_changes_are_all_written() {
    let idempost = Idempost::new().config("# mine\n");
    let names: Vec<String> = (0..20).map(|n| format!("p{n}")).collect();
    let set = |name: &String| idempost.spawn(&format!("--profile {name} config set retries 7"));
    let children: Vec<_> = names.iter().map(set).collect();
    for child in children {
        child.finish().ok();
    }
    let text = config(&idempost);
    let lost: Vec<_> = names.iter().filter(|name| !text.contains(&format!("[profiles.{name}]"))).collect();
    assert!(lost.is_empty() && text.contains("# mine\n"), "{lost:?} in {text}");
    assert_eq!(text.matches("retries = 7").count(), 20);
}

#[test]
fn a_change_while_the_editor_is_open_is_not_lost() {
    let idempost = Idempost::new().config("[defaults]\nretries = 1\n");
    let program = env!("CARGO_BIN_EXE_idempost");
    let edit = format!("{program} config set retries 9\nprintf 'output = \"tsv\"\\n' >> \"$1\"");
    let editor = idempost.script("editor", &edit);
    let idempost = idempost.env("EDITOR", editor);
    let expected = ["changed while the editor was open", "edited version is in"];
    let stderr = idempost.run("config edit").fails_with(1, &expected);
    assert_eq!(config(&idempost), "[defaults]\nretries = 9\n");
    let (_, kept) = stderr.split_once("edited version is in ").unwrap();
    shows(&std::fs::read_to_string(kept.lines().next().unwrap()).unwrap(), &["tsv"]);

    // A file that doesn't parse isn't saved; a broken file can be repaired.
    idempost.script("editor", "echo ']' >> \"$1\"");
    idempost.run(&["config", "edit"]).fails(2);
    assert_eq!(config(&idempost), "[defaults]\nretries = 9\n");
    let idempost = idempost.config("]");
    idempost.script("editor", "echo 'x = 1' > \"$1\"");
    idempost.run(&["config", "edit"]).ok();
    assert_eq!(config(&idempost), "x = 1\n");
}

#[test]
fn the_default_profile_can_be_named_explicitly() {
    let idempost = Idempost::new();
    idempost.run(&["--profile", "default", "config", "list"]).ok();
    idempost.store_key("default", BASE_URL, "sb_kept\n");
    for command in ["auth status --json", "--profile default auth status --json"] {
        let expected = json!({"profile": "default", "origin": BASE_URL, "kind": "api_key"});
        has(&idempost.run(command).json(), &expected);
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
    idempost.store_key("work", BASE_URL, "sb_kept\n");
    let idempost = idempost.config("");
    idempost.run(&["--profile", "work", "auth", "status"]).ok();
    idempost.run(&["--profile", "wrok", "auth", "status"]).fails_with(2, &["did you mean `work`?"]);
    idempost.run(&["auth", "use", "work"]).ok();
    idempost.run(&["auth", "status"]).ok();
    idempost.run(&["auth", "logout"]).ok();
    // A missing default profile would make every command fail.
    idempost.run(&["auth", "status"]).fails_with(4, &["profile `default` isn't logged in"]);
}

#[test]
fn a_default_profile_that_no_longer_exists_can_be_replaced() {
    let idempost = Idempost::new().config("default_profile = \"gone\"\n[profiles.work]\nretries = 1\n");
    idempost.run("config list").fails_with(2, &["there is no profile `gone`"]);
    idempost.run("auth use work").ok();
    idempost.run("config list").ok();
    assert!(config(&idempost).starts_with("default_profile = \"work\""));
}

#[test]
fn a_renamed_profile_keeps_its_settings_credentials_and_position() {
    let idempost = Idempost::new()
        .config("# ours\n[profiles.work] # at work\nretries = 5\n\n[profiles.local]\nretries = 1\n");
    idempost.store_key("work", BASE_URL, "sb_kept\n");
    idempost.run(&["auth", "use", "work"]).ok();
    let before = config(&idempost);
    let renamed = idempost.run(&["auth", "rename", "work", "acme", "--json"]).json();
    assert_eq!(renamed, json!({ "profile": "acme", "renamed_from": "work" }));
    let expected = before.replace("[profiles.work]", "[profiles.acme]").replace("\"work\"", "\"acme\"");
    assert_eq!(config(&idempost), expected);
    assert_eq!(active(&idempost), "acme");
    assert_eq!(idempost.run(&["auth", "token"]).ok(), "sb_kept\n");
    idempost.run(&["--profile", "work", "auth", "status"]).fails(2);

    let before = config(&idempost);
    idempost.run("auth rename acme local").fails_with(2, &["profile `local` already exists"]);
    idempost.run(&["auth", "rename", "work", "new"]).fails_with(5, &["no profile `work`"]);
    idempost.run(&["auth", "rename", "acme", " "]).fails(2);
    idempost.run(&["auth", "rename", "acme", "acme"]).fails(2);
    assert_eq!(config(&idempost), before);
    assert_eq!(idempost.run(&["auth", "token"]).ok(), "sb_kept\n");
}

#[test]
fn a_renamed_default_profile_stays_the_default() {
    let idempost = Idempost::new();
    idempost.store_key("default", BASE_URL, "sb_kept\n");
    idempost.run(&["auth", "rename", "default", "acme"]).ok();
    assert_eq!(active(&idempost), "acme");
    idempost.run(&["auth", "rename", "acme", "default"]).ok();
    assert_eq!(active(&idempost), "default");
}

#[test]
fn a_rename_that_fails_changes_nothing() {
    let idempost = Idempost::new().config("[profiles.work]\nretries = 1\n");
    idempost.store_key("work", BASE_URL, "sb_kept\n");
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
    for variable in ["HOME", "IDEMPOST_CONFIG_DIR"] {
        let idempost = Idempost::new();
        let run = |line: &str| idempost.command().args(line.words()).env(variable, "here").finish();
        let expected = format!("{variable}: must be an absolute path (found `here`)");
        run("config set retries 5").fails_with(2, &[&expected]);
        assert!(!idempost.home().join("here").exists());
        run("auth status").fails(2);
        run("help").ok();
    }
    // The XDG specification requires relative paths to be ignored.
    let idempost = Idempost::new().env("XDG_CONFIG_HOME", "here");
    idempost.run(&["config", "set", "retries", "5"]).ok();
    assert!(idempost.config_file().exists());
}

/// Two services; the profile `work` has a key of the first one, and the environment one of the second.
struct Accounts {
    work: Service,
    environment: Service,
    idempost: Idempost,
}

impl Accounts {
    fn new() -> Self {
        let (work, environment) = (Service::start(), Service::start());
        let idempost = Idempost::new();
        idempost.store_key("work", &work.base_url(), "sb_work\n");
        let idempost = idempost
            .env("IDEMPOST_BASE_URL", environment.base_url())
            .env("IDEMPOST_API_KEY", "sb_environment");
        Self { work, environment, idempost }
    }

    /// The number of emails sent by the profile's account, and by the environment's.
    fn sent(&self) -> (usize, usize) {
        let strangers = [(&self.work, "sb_environment"), (&self.environment, "sb_work")];
        assert!(strangers.iter().all(|(service, key)| service.core().mails(key).is_empty()));
        (self.work.core().mails("sb_work").len(), self.environment.core().mails("sb_environment").len())
    }

    fn send(&self, flags: &str) -> Ran {
        self.idempost.run(&(SEND, flags))
    }
}

#[test]
fn an_explicit_profile_wins_over_the_key_in_the_environment() {
    //
    let accounts = Accounts::new();
    let ignored = "IDEMPOST_API_KEY is ignored: --profile selects profile `work`";
    accounts.send("--profile work").says(&[ignored]).ok();
    assert_eq!(accounts.sent(), (1, 0));
    assert_eq!(accounts.send("--profile work --quiet").stderr, "");
    assert_eq!(accounts.sent(), (2, 0));
    // Even if its base URL is that of `[defaults]`.
    let text =
        config(&accounts.idempost).replace("[profiles.work]", "[profiles.work]\nretries = 1\n[defaults]");
    std::fs::write(accounts.idempost.config_file(), text).unwrap();
    accounts.send("--profile work").ok();
    assert_eq!(accounts.sent(), (3, 0));
    let run = |command| accounts.idempost.run(&(command, "--profile work"));
    assert_eq!(run("auth token").ok(), "sb_work\n");
    assert_eq!(run("auth status --json").json()["profile_source"], "--profile");
    run("doctor").prints(&["IDEMPOST_API_KEY is ignored"]);
    // A key file is also named explicitly.
    accounts.idempost.write("key", "sb_file\n");
    let sent = accounts.send("--profile work --api-key-file key");
    sent.says(&["key takes precedence over the stored API key of profile `work`"]);
    assert_eq!(accounts.work.core().mails("sb_file").len(), 1);
}

#[test]
fn the_key_in_the_environment_wins_over_the_default_profile() {
    //
    let accounts = Accounts::new();
    accounts.idempost.run(&["auth", "use", "work"]).ok();
    let note = "IDEMPOST_API_KEY takes precedence over the stored API key of profile `work`";
    accounts.send("").says(&[note]);
    assert_eq!(accounts.sent(), (0, 1));
    assert_eq!(accounts.send("--quiet").stderr, "");
}

#[test]
fn a_key_in_the_environment_is_never_sent_to_an_explicit_profile() {
    //
    let accounts = Accounts::new();
    let url = accounts.work.base_url();
    accounts.idempost.run(&["--profile", "empty", "config", "set", "base_url", &url]).ok();
    let expected = "profile `empty` has no credential, and IDEMPOST_API_KEY isn't sent";
    accounts.send("--profile empty").fails_with(4, &[expected]);
    assert_eq!((accounts.sent(), accounts.work.asked()), ((0, 0), 0));
}

#[test]
fn profile_and_key_in_the_environment_are_rejected_together() {
    //
    let mut accounts = Accounts::new();
    accounts.idempost = accounts.idempost.env("IDEMPOST_PROFILE", "work");
    let expected = "IDEMPOST_PROFILE (profile `work`) and IDEMPOST_API_KEY select different accounts";
    accounts.send("").fails_with(2, &[expected]);
    for command in ["auth token", "auth status", "mcp"] {
        accounts.idempost.run(command).fails_with(2, &[expected]);
    }
    accounts.idempost.run("doctor").prints(&["select different accounts"]);
    assert_eq!(accounts.sent(), (0, 0));
    accounts.send("--profile work").ok();
    assert_eq!(accounts.sent(), (1, 0));
}

#[test]
fn a_profile_without_an_account_uses_the_key_in_the_environment() {
    //
    let accounts = Accounts::new();
    accounts.idempost.run(&["--profile", "plain", "config", "set", "retries", "1"]).ok();
    accounts.send("--profile plain").ok();
    assert_eq!(accounts.sent(), (0, 1));
}
