//! Completions: the shell scripts, and the completions that the program returns.

use std::os::unix::fs::PermissionsExt as _;

use http::Method;
use idempost_needs::needs;
use idempost_reference_server::faults::{Action, Rule};

use crate::service::Service;
use crate::support::{Idempost, SEND, wait_until};

/// The completions that the program returns to fish for the last word.
fn complete(idempost: Idempost, words: &[&str]) -> (Idempost, Vec<String>) {
    let idempost = idempost.env("IDEMPOST_COMPLETE", "fish");
    let ran = idempost.run(&("-- idempost", words));
    assert_eq!(ran.stderr, "");
    let lines = ran.ok().lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect();
    (idempost, lines)
}

/// Completes IDs, again if there are none: the program waits for the service only briefly. Also returns the number of attempts.
fn complete_ids(mut idempost: Idempost, words: &[&str]) -> (Idempost, Vec<String>, usize) {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let (same, ids) = complete(idempost, words);
        if !ids.is_empty() {
            return (same, ids, attempts);
        }
        assert!(attempts < 40, "no IDs are offered for {words:?}");
        idempost = same;
    }
}

#[test]
fn every_shell_has_a_script_and_three_have_a_completions_folder() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = Idempost::new().run(&["completions", shell]).ok();
        assert!(script.contains("IDEMPOST_COMPLETE"), "{shell}");
    }
    let idempost = Idempost::new().env("XDG_CONFIG_HOME", "/nowhere");
    let installed = |shell: &str| idempost.run(&["completions", shell, "--install"]);
    for (shell, file) in [
        ("bash", ".local/share/bash-completion/completions/idempost"),
        ("zsh", ".local/share/zsh/site-functions/_idempost"),
    ] {
        let path = idempost.home().join(file);
        assert_eq!(installed(shell).ok().trim(), path.to_str().unwrap());
        assert!(std::fs::read_to_string(path).unwrap().contains("IDEMPOST_COMPLETE"));
    }
    installed("elvish").fails(1);
    let idempost = Idempost::new();
    idempost.run(&["completions", "fish", "--install"]).ok();
    assert!(idempost.home().join(".config/fish/completions/idempost.fish").exists());
    let folder = idempost.run(&["man", "--install"]).ok();
    assert_eq!(folder.trim(), idempost.home().join(".local/share/man/man1").to_str().unwrap());
    assert!(idempost.home().join(".local/share/man/man1/idempost-emails-send.1").exists());
}

#[test]
fn flag_values_and_profiles_are_completed_without_a_service() {
    let values = |words: &[&str]| complete(Idempost::new(), words).1;
    assert_eq!(values(&["topics", "create", "--visibility", ""]), ["public", "private"]);
    assert_eq!(values(&["--output", "n"]), ["ndjson"]);
    assert_eq!(values(&["domains", "create", "--region", "us"]), ["us-east-1"]);
    assert!(values(&["webhooks", "create", "--event", "email."]).contains(&"email.bounced".to_owned()));
    assert_eq!(values(&["domains", "re"]), ["records"]);
    let profiles = complete(Idempost::new().config("[profiles.work]\n[profiles.home]\n"), &["-p", ""]).1;
    assert!(["work", "home"].iter().all(|name| profiles.contains(&(*name).to_owned())), "{profiles:?}");
    assert_eq!(values(&["emails", "get", ""]).iter().filter(|value| !value.starts_with('-')).count(), 0);
}

#[test]
fn aliases_are_completed_with_the_arguments_of_their_command() {
    let aliases = "[aliases]\ntopic = \"topics create\"\nemails = \"topics create\"\n";
    let values = |words: &[&str]| complete(Idempost::new().config(aliases), words).1;
    assert_eq!(values(&["topi"]), ["topic", "topics"]);
    assert_eq!(values(&["topic", "--visibility", ""]), ["public", "private"]);
    assert!(values(&["emails", "se"]).contains(&"send".to_owned()));
}

#[test]
fn ids_come_from_the_service_and_are_cached_privately() {
    let service = Service::start();
    let id = service.idempost().run(&SEND).ok().trim().to_owned();
    let before = service.asked();
    let (idempost, ids, attempts) = complete_ids(service.idempost(), &["emails", "get", &id[..4]]);
    assert_eq!((ids, service.asked() > before), (vec![id.clone()], true));
    let (idempost, again) = complete(idempost, &["emails", "update", &id[..4]]);
    assert_eq!(again, [id]);
    assert!(service.asked() <= before + attempts, "the second time, they come from the cache");
    let folder = idempost.home().join(".local/state/idempost/completions");
    let modes: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().permissions().mode() & 0o777)
        .collect();
    assert_eq!(modes, [0o600]);
    let segment = service.idempost().run(&["segments", "create", "Readers"]).ok();
    let (_, ids, _) =
        complete_ids(service.idempost(), &["broadcasts", "create", "--segment-id", &segment[..3]]);
    assert_eq!(ids, [segment.trim()]);
    let people = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(people.path(), "email\nada@example.com\n").unwrap();
    let path = people.path().to_str().unwrap();
    let import = service.idempost().run(&["contacts", "import", path, "--server"]).ok();
    let (_, ids, _) = complete_ids(service.idempost(), &["contacts", "imports", "get", &import[..4]]);
    assert_eq!(ids, [import.trim()]);
}

/// The program with a stored key for each of two services, in the profiles `a` and `b`.
fn two_accounts() -> ([Service; 2], [String; 2], Idempost) {
    let (services, idempost) = ([Service::start(), Service::start()], Idempost::new());
    let mut ids = [String::new(), String::new()];
    for (n, profile) in ["a", "b"].into_iter().enumerate() {
        let url = services[n].base_url();
        let login = ["-p", profile, "--base-url", &url, "auth", "login", "--with-token", "--store", "file"];
        idempost.run_with(&login, "sb_test\n").ok();
        idempost.run(&(&["-p", profile], SEND)).ok().trim().clone_into(&mut ids[n]);
    }
    (services, ids, idempost)
}

#[test]
fn only_ids_of_the_account_that_the_command_line_selects_are_offered() {
    let (services, [first, second], idempost) = two_accounts();
    let offered = |words: &[&str]| {
        let mut shell = idempost.command();
        shell
            .env("IDEMPOST_COMPLETE", "fish")
            .args(["--", "idempost"])
            .args(words)
            .args(["emails", "get", ""]);
        let ran = crate::support::Ran::of(crate::support::Finish::finish(&mut shell));
        let ids = ran.stdout.lines().filter_map(|line| line.split_once("\tHello"));
        ids.map(|(id, _)| id.to_owned()).collect::<Vec<_>>()
    };
    // The program waits for the service only briefly.
    let finally_offered = |words: &[&str]| {
        let mut ids = Vec::new();
        wait_until("IDs are offered", || {
            ids = offered(words);
            !ids.is_empty()
        });
        ids
    };
    idempost.run(&["auth", "use", "b"]).ok();
    // Bash splits words at `=`.
    for words in
        [&["--profile=a"][..], &["--profile", "a"], &["-pa"], &["-qp", "a"], &["--profile", "=", "a"]]
    {
        assert_eq!(finally_offered(words), [first.as_str()], "{words:?}");
    }
    assert_eq!(finally_offered(&[]), [second.as_str()]);
    idempost.run(&["auth", "use", "a"]).ok();
    assert_eq!(finally_offered(&[]), [first.as_str()]);
    assert_eq!(offered(&["--profile='a'"]), [""; 0], "the shell would remove the quotes");
    // Another account in the same profile, and no request if there is none.
    let url = services[0].base_url();
    let login = ["-p", "a", "--base-url", &url, "auth", "login", "--with-token", "--store", "file"];
    idempost.run_with(&login, "sb_other\n").ok();
    let before = services[0].asked();
    assert_eq!(offered(&[]), [""; 0]);
    wait_until("the service is asked", || services[0].asked() > before);
    let asked = services[0].asked();
    idempost.run(&["-p", "a", "auth", "logout"]).ok();
    assert_eq!((offered(&["-p", "a"]), services[0].asked()), (vec![], asked));
}

#[test]
fn the_cache_of_ids_holds_no_address_and_ends_with_time_and_logout() {
    let (_services, _, idempost) = two_accounts();
    let folder = idempost.home().join(".local/state/idempost/completions");
    let files = || -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(&folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let complete = |idempost: &Idempost, profile: &str| {
        // The program waits for the service only briefly.
        wait_until("IDs are offered", || {
            let mut shell = idempost.command();
            let words = ["--", "idempost", "-p", profile, "emails", "get", ""];
            shell.env("IDEMPOST_COMPLETE", "fish").args(words);
            crate::support::Ran::of(crate::support::Finish::finish(&mut shell)).ok().contains("\tHello")
        });
    };
    complete(&idempost, "a");
    let [first] = &files()[..] else { panic!("{:?}", files()) };
    let text = std::fs::read_to_string(first).unwrap();
    assert!(text.contains("Hello") && !text.contains("ada@example.com"), "{text}");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(61);
    std::fs::File::open(first).unwrap().set_modified(old).unwrap();
    complete(&idempost, "b");
    let left = files();
    assert!(left.len() == 1 && left[0] != *first, "{left:?}");
    idempost.run(&["-p", "b", "auth", "logout"]).ok();
    assert!(files().is_empty());
    // The runtime folder is in memory.
    let runtime = idempost.home().join("run");
    std::fs::create_dir(&runtime).unwrap();
    let idempost = idempost.env("XDG_RUNTIME_DIR", runtime.to_str().unwrap());
    complete(&idempost, "a");
    assert!(runtime.join("idempost/completions").is_dir() && !folder.exists());
}

#[test]
fn ids_that_a_shell_would_interpret_are_not_offered() {
    let service = Service::start().unjudged();
    let hostile =
        ["e$(touch owned)", "e`id`", "e;id", "e id", "e\u{1b}[2J", "e\nx", "e\u{202e}x", "-e", "e'", "e*"];
    let items = hostile.into_iter().chain(["e1"]).map(|id| {
        serde_json::json!({ "id": id, "subject": "one\ntwo\u{1b}]0;title\u{7}", "to": ["a@x.test"], "from": "b@x.test",
            "created_at": "2026-01-01T00:00:00Z", "last_event": "sent" })
    });
    let list = serde_json::json!({ "object": "list", "has_more": false, "data": items.collect::<Vec<_>>() });
    let answer = Action::http_response(200, list.to_string());
    service.core().faults().add(Rule::new(answer).on_request(Method::GET, "/emails").always());
    let idempost = service.idempost().env("IDEMPOST_COMPLETE", "fish");
    let mut offered = String::new();
    wait_until("an ID is offered", || {
        offered = idempost.run(&["--", "idempost", "emails", "get", "e"]).ok();
        !offered.is_empty()
    });
    let lines: Vec<_> = offered.lines().collect();
    let [line] = lines[..] else { panic!("{offered:?}") };
    assert!(line.starts_with("e1\tone") && !line.contains(['\u{1b}', '\u{7}']), "{line:?}");
}

#[test]
fn ids_are_not_requested_if_the_setting_forbids_it() {
    let service = Service::start();
    let id = service.idempost().run(&SEND).ok();
    let asked = service.asked();
    let idempost = service.idempost();
    idempost.run(&["config", "set", "complete_ids", "false"]).ok();
    let (_, ids) = complete(idempost, &["emails", "get", &id[..4]]);
    assert!(ids.is_empty() && service.asked() == asked, "{ids:?}");
}

#[test]
fn an_unreachable_service_completes_nothing_and_prints_nothing() {
    let unreachable =
        || Idempost::new().env("IDEMPOST_BASE_URL", "http://127.0.0.1:9").env("IDEMPOST_API_KEY", "k");
    assert!(complete(unreachable(), &["emails", "get", "a"]).1.is_empty());
    let stalled = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let begun = std::time::Instant::now();
    let address = format!("http://{}", stalled.local_addr().unwrap());
    assert!(complete(unreachable().env("IDEMPOST_BASE_URL", address), &["emails", "get", "a"]).1.is_empty());
    assert!(begun.elapsed() < crate::support::TIMEOUT);
}

/// Runs a shell with the program's environment.
fn in_shell(shell: &str, arguments: &[&str], idempost: &Idempost) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_idempost"));
    let path = std::env::var_os("PATH").unwrap();
    let folders = std::iter::once(program.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
    let ran = std::process::Command::new(shell)
        .args(arguments)
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME", idempost.home())
        .env("PATH", std::env::join_paths(folders).unwrap())
        .output()
        .unwrap();
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[needs("zsh")]
#[test]
fn zsh_completes_from_the_first_tab() {
    let idempost = Idempost::new();
    idempost.run(&["completions", "zsh", "--install"]).ok();
    // A terminal inside zsh; the second Tab follows the first one's completion.
    let script = r#"
        zmodload zsh/zpty
        zpty shell 'stty -echo; zsh -f -i'
        zpty -w shell "fpath=(~/.local/share/zsh/site-functions \$fpath); autoload -U compinit; compinit -u -D
            bindkey '^I' complete-word; echo rea''dy"
        zpty -r shell seen '*ready*'
        zpty -w -n shell $'idempost emai\t'
        zpty -r shell seen '*emails*'; print -r -- "$seen"
        zpty -w -n shell $'list --output nd\t'
        zpty -r shell seen '*ndjson*'; print -r -- "$seen"
        zpty -d shell
    "#;
    let printed = in_shell("timeout", &["60", "zsh", "-f", "-c", script], &idempost);
    assert!(printed.contains("idempost emails") && printed.contains("--output ndjson"), "{printed}");
}

#[needs("fish")]
#[test]
fn fish_completes_commands_and_values() {
    let idempost = Idempost::new();
    idempost.run(&["completions", "fish", "--install"]).ok();
    let complete = |line: &str| in_shell("fish", &["-c", &format!("complete -C '{line}'")], &idempost);
    assert!(complete("idempost emai").starts_with("emails\t"));
    assert_eq!(complete("idempost auth login --store ").lines().collect::<Vec<_>>(), ["keyring", "file"]);
}

#[test]
fn bash_completes_commands_and_values() {
    let idempost = Idempost::new();
    idempost.run(&["completions", "bash", "--install"]).ok();
    let complete = |line: &str| {
        let script = format!(
            "compopt() {{ :; }}; . ~/.local/share/bash-completion/completions/idempost; COMP_WORDS=({line} ''); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); $(complete -p idempost | sed 's/.*-F \\([^ ]*\\).*/\\1/') idempost; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        in_shell("bash", &["-c", &script], &idempost)
    };
    assert!(complete("idempost sandbox").contains("serve"));
    assert_eq!(
        complete("idempost sandbox export x --format").lines().collect::<Vec<_>>(),
        ["eml", "mbox", "json"]
    );
}
