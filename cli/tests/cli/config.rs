//! The configuration file and the resulting settings.

use serde_json::{Value, json};

use crate::support::{Idempost, has, mode};

#[test]
fn every_command_that_needs_an_unreadable_configuration_reports_it() {
    let idempost = Idempost::new().config("");
    let file = idempost.config_file();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&file, &file).unwrap();
    for line in ["config list", "emails list", "emails list --sandbox", "auth status"] {
        idempost.run(line).fails_with(1, &["couldn't read the configuration file ", "symbolic links"]);
    }
}

#[test]
fn a_setting_can_be_set_read_and_unset() {
    let idempost = Idempost::new();
    idempost.run(&["config", "set", "retries", "5"]).ok();
    assert_eq!(idempost.run(&["config", "get", "retries"]).ok(), "5\n");
    assert_eq!(idempost.read(".config/idempost/config.toml"), "[defaults]\nretries = 5\n");
    let file = idempost.config_file();
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    idempost.run(&["config", "unset", "retries"]).ok();
    assert_eq!(idempost.run(&["config", "get", "retries"]).ok(), "3\n");
}

#[test]
fn writing_preserves_comments_and_creates_the_named_profile() {
    let idempost = Idempost::new().config("# ours\n[defaults] # all\noutput = \"tsv\" # short\n");
    idempost.run(&["--profile", "work", "config", "set", "base_url", "https://api.example.com"]).ok();
    idempost.run(&["config", "set", "output", "json"]).ok();
    idempost.run(&["config", "set", "default_profile", "work", "-o", "human"]).ok();
    let text = idempost.read(".config/idempost/config.toml");
    assert!(
        text.contains("# ours\n") && text.contains("[defaults] # all\noutput = \"json\" # short\n"),
        "{text}"
    );
    assert_eq!(idempost.run(&["config", "get", "base_url", "-o", "human"]).ok(), "https://api.example.com\n");
}

#[test]
fn every_setting_has_a_source() {
    let idempost = Idempost::new()
        .config("default_profile = \"work\"\n[profiles.work]\nretries = 7\ntimeout = \"9s\"\n")
        .env("IDEMPOST_TIMEOUT", "20s")
        .env("IDEMPOST_API_KEY", "sb_secret_value");
    let list = idempost.run(&["config", "list", "--color", "never", "--json"]).json();
    let source = |name: &str| {
        let settings = list["settings"].as_array().unwrap();
        let setting = settings.iter().find(|setting| setting["name"] == name).unwrap();
        (setting["value"].as_str().unwrap().to_owned(), setting["source"].as_str().unwrap().to_owned())
    };
    let file = idempost.config_file().display().to_string();
    assert_eq!(source("color"), ("never".into(), "--color".into()));
    assert_eq!(source("timeout"), ("20s".into(), "IDEMPOST_TIMEOUT".into()));
    assert_eq!(source("retries"), ("7".into(), format!("{file}:3")));
    assert_eq!(source("progress"), ("auto".into(), "built-in".into()));
    assert_eq!(source("profile"), ("work".into(), format!("{file}:1")));
    assert_eq!(source("credential"), ("(hidden)".into(), "IDEMPOST_API_KEY".into()));
    assert!(!list.to_string().contains("secret_value"));
    idempost.run(&["config", "list", "--origin"]).ok_with(&[&format!("retries\t7\t{file}:3\n")]);
}

#[test]
fn a_secret_in_the_file_is_refused() {
    let idempost = Idempost::new();
    let stderr = idempost.run(&["config", "set", "api_key", "sb_hidden"]).fails(2);
    assert!(stderr.contains("contains no secrets") && !stderr.contains("sb_hidden"), "{stderr}");
    assert!(!idempost.config_file().exists());

    let idempost = idempost.config("[profiles.x]\napi_key = \"sb_hidden\"\n");
    let stderr = idempost.run(&["config", "list"]).fails_with(2, &["config.toml:2:1", "--api-key-file"]);
    assert!(!stderr.contains("sb_hidden"), "{stderr}");
}

#[test]
fn a_secret_is_masked_in_every_spelling_of_its_setting() {
    for text in [
        "profiles.x = { api_key = \"sb_hidden\", retries = 1 }\n",
        "profiles.x.api_key = \"sb_hidden\"\n",
        "defaults.\"api_key\" = 'sb_hidden'\n",
        "[defaults]\n'access_token' = \"\"\"sb_hidden\"\"\"\n",
        "[defaults]\napi_key = \"\"\"\nsb_hidden\"\"\" ]\n",
        "[defaults]\n\"api\\u005fkey\" = \"sb_hidden\"\n",
        "[defaults]\napi-key = \"sb_hidden\"\n",
        "[profiles.x.auth]\napi_key = \"sb_hidden\"\n",
        "defaults.auth = [{ x = 1 }, { api_key = \"sb_hidden\" }]\n",
        // Files that don't parse.
        "defaults = { api_key = \"sb_hidden\", retries = }\n",
        "[defaults]\napi_key = \"sb_hidden\n",
        "[defaults]\napi_key = sb_hidden, sb_hidden\n",
        "[defaults]\napi_key = \"\"\"sb_hidden\n",
        "profiles.x.refresh_token = [\"sb_hidden\", oops\n",
        "[defaults]\nbase_url = \"https://me:sb_hidden@x.test\"\n",
    ] {
        let idempost = Idempost::new().config(text);
        for arguments in [&["config", "list"][..], &["doctor", "--offline"], &["auth", "status", "--json"]] {
            let ran = idempost.run(arguments);
            assert!(matches!(ran.code, Some(1 | 2)), "{text}: {ran:?}");
            assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("hidden"), "{text}: {ran:?}");
        }
    }
}

#[test]
fn an_invalid_value_is_not_written() {
    let idempost = Idempost::new();
    for (key, value) in [
        ("retries", "many"),
        ("timeout", "0"),
        ("output", "xml"),
        ("base_url", "http://api.example.com"),
        ("from", "nonsense"),
        ("scope", "emails:send \"all\""),
    ] {
        idempost.run(&["config", "set", key, value]).fails_with(2, &[&format!("{key} must")]);
    }
    // It would make every other command fail.
    idempost.run("config set default_profile wrok").fails_with(2, &["there is no profile `wrok`"]);
    assert!(!idempost.config_file().exists());
    for line in ["from hi@acme.test", "scope emails:send,full_access", "default_profile default"] {
        idempost.run(&("config set", line)).ok();
    }
}

#[test]
fn a_setting_of_the_default_profile_is_changed_where_it_applies() {
    let file = "[defaults]\nretries = 1\n[profiles.default]\nretries = 2\n";
    let idempost = Idempost::new().config(file);
    for (line, retries) in [("set retries 5", "5\n"), ("unset retries", "1\n"), ("set retries 6", "6\n")] {
        idempost.run(&("config", line)).ok();
        assert_eq!(idempost.run("config get retries").ok(), retries, "{line}");
    }
    assert_eq!(
        idempost.read(".config/idempost/config.toml"),
        "[defaults]\nretries = 6\n[profiles.default]\n"
    );
}

#[test]
fn a_syntax_error_has_a_caret_and_does_not_block_config_commands() {
    // G-06
    let idempost = Idempost::new().config("[defaults]\nretries = \n");
    let stderr = idempost.run(&["config", "list"]).fails(2);
    assert!(stderr.contains("config.toml:2:") && stderr.contains('^'), "{stderr}");
    idempost.run(&["config", "path"]).ok();
    idempost.run(&["help"]).ok();
    let error = idempost.run(&["config", "list", "--json"]).error(2);
    has(&error, &json!({"kind": "usage", "outcome": "not_sent"}));
    assert_eq!(error["problems"][0]["origin"]["line"], 2);
}

#[test]
fn an_unknown_setting_is_a_warning_with_a_caret() {
    let idempost = Idempost::new().config("[defaults]\noutptu = \"json\"\n");
    idempost.run("emails list").says(&["warning", "^^^^^^", "did you mean `output`?"]).fails(2);
    idempost.run("config list").says(&["^^^^^^", "did you mean `output`?"]).ok();
    idempost.run("config get from").fails_with(5, &["did you mean `output`?", "`from` isn't set"]);
    let ran = idempost.run("emails list --json");
    let warning: Value = serde_json::from_str(ran.stderr.lines().next().unwrap()).unwrap();
    assert_eq!(warning["warning"]["hint"], "did you mean `output`?");
}

#[test]
fn all_invalid_settings_are_reported_at_once() {
    //
    let idempost = Idempost::new()
        .env("IDEMPOST_NO_INPUT", "perhaps")
        .env("IDEMPOST_RETRIES", "-1")
        .env("IDEMPOST_API_KEY", "sb_hid den");
    let arguments =
        ["config", "list", "--timeout", "-5s", "--base-url", "https://user:hunter2@x.test", "--json"];
    let error = idempost.run(&arguments).error(2);
    let origins: Vec<String> =
        error["problems"].as_array().unwrap().iter().map(|problem| problem["origin"].to_string()).collect();
    assert_eq!(origins.len(), 5, "{error}");
    for origin in ["--timeout", "--base-url", "IDEMPOST_RETRIES", "IDEMPOST_NO_INPUT", "IDEMPOST_API_KEY"] {
        assert!(origins.iter().any(|known| known.contains(origin)), "{origin} in {error}");
    }
    assert!(!error.to_string().contains("hunter2") && !error.to_string().contains("hid den"), "{error}");

    let idempost =
        Idempost::new().config("[defaults]\noutput = 'xml'\napi_key = 'sb_hid'\n[aliases]\nship = 4\n");
    let expected =
        ["output must be one of", "`api_key` doesn't belong here", "the alias `ship` must be a string"];
    idempost.run("emails list").hides(&["sb_hid"]).fails_with(2, &expected);
}

#[test]
fn the_key_can_come_from_a_file_or_standard_input() {
    let idempost = Idempost::new();
    let key = idempost.write("key", "sb_hidden\n");
    let list = idempost.run(&["config", "list", "--api-key-file", &key, "--json"]);
    list.hides(&["sb_hidden"]).ok_with(&["(hidden)"]);
    let list = idempost.run_with("config list --api-key-file - --origin", "sb_hidden\n");
    list.ok_with(&["credential\t(hidden)\tstandard input\n"]);
    idempost.run("config list --api-key-file nowhere").fails_with(2, &["couldn't read the API key"]);
}

#[test]
fn an_editor_command_may_have_flags_and_its_result_is_validated() {
    let idempost = Idempost::new().env("EDITOR", "sed -i s/idempost/outptu=1#/");
    idempost.run(&["config", "edit"]).exits(0);
    assert!(idempost.config_file().exists());
    let idempost = Idempost::new().env("VISUAL", "false");
    idempost.run(&["config", "edit"]).fails_with(1, &["the editor `false` failed"]);
    let idempost = Idempost::new().env("VISUAL", "no-such-editor");
    idempost.run(&["config", "edit"]).fails_with(1, &["set VISUAL or EDITOR"]);
}

#[test]
fn every_command_names_an_invalid_setting() {
    for command in [
        "emails list",
        "emails get 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794",
        "emails send --from a@acme.test --to b@example.com --subject s --text t",
        "topics create News --default-subscription opt_in",
        "sandbox inbox list",
        "whoami",
    ] {
        let stderr = Idempost::new().env("IDEMPOST_BASE_URL", "acme").run(command).fails(2);
        let rule =
            "error: IDEMPOST_BASE_URL: base_url must be an absolute URL, such as https://api.example.com";
        assert!(stderr.starts_with(rule), "{command:?}: {stderr}");
    }
}
