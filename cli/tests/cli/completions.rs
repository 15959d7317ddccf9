//! Completions: the shell scripts, and the completions that the program returns.

use std::path::{Path, PathBuf};
use std::time::Instant;

use http::Method;
use idempost_needs::needs;
use idempost_reference_server::faults::{Action, Rule};
use serde_json::json;

use crate::service::Service;
use crate::support::{
    CommandLine, Finish as _, Idempost, SEND, TIMEOUT, UNUSED, mode, taken_port, wait_until,
};

/// The folder of the cached IDs.
const CACHE: &str = ".local/state/idempost/completions";

/// The completions that the program returns to fish for the last word, with their descriptions.
fn described(idempost: &Idempost, words: &(impl CommandLine + ?Sized)) -> Vec<String> {
    let mut shell = idempost.command();
    let ran = shell.env("IDEMPOST_COMPLETE", "fish").args(("-- idempost", words).words()).finish();
    assert_eq!(ran.stderr, "");
    ran.ok().lines().map(str::to_owned).collect()
}

fn complete(idempost: &Idempost, words: &(impl CommandLine + ?Sized)) -> Vec<String> {
    let value = |line: String| line.split('\t').next().unwrap().to_owned();
    described(idempost, words).into_iter().map(value).collect()
}

/// Completes IDs, again if there are none: the program waits for the service only briefly.
fn until_offered(complete: impl Fn() -> Vec<String>) -> Vec<String> {
    let mut ids = Vec::new();
    wait_until("IDs are offered", || {
        ids = complete();
        !ids.is_empty()
    });
    ids
}

fn complete_ids(idempost: &Idempost, words: &(impl CommandLine + ?Sized)) -> Vec<String> {
    until_offered(|| complete(idempost, words))
}

/// The files in which the program caches IDs.
fn cached(folder: &Path) -> Vec<PathBuf> {
    folder.read_dir().into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn every_shell_has_a_script_and_three_have_a_completions_folder() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        Idempost::new().run(&["completions", shell]).ok_with(&["IDEMPOST_COMPLETE"]);
    }
    let idempost = Idempost::new().env("XDG_CONFIG_HOME", "/nowhere");
    let installed = |shell: &str| idempost.run(&["completions", shell, "--install"]);
    for (shell, file) in [
        ("bash", ".local/share/bash-completion/completions/idempost"),
        ("zsh", ".local/share/zsh/site-functions/_idempost"),
    ] {
        assert_eq!(installed(shell).ok().trim(), idempost.home().join(file).to_str().unwrap());
        assert!(idempost.read(file).contains("IDEMPOST_COMPLETE"));
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
    let idempost = Idempost::new();
    let values = |words: &str| complete(&idempost, words);
    assert_eq!(values("topics create --visibility ''"), ["public", "private"]);
    assert_eq!(values("--output n"), ["ndjson"]);
    assert_eq!(values("domains create --region us"), ["us-east-1"]);
    assert!(values("webhooks create --event email.").contains(&"email.bounced".to_owned()));
    assert_eq!(values("domains re"), ["records"]);
    let profiles = complete(&Idempost::new().config("[profiles.work]\n[profiles.home]\n"), "-p ''");
    assert!(["work", "home"].iter().all(|name| profiles.contains(&(*name).to_owned())), "{profiles:?}");
    let idempost = Idempost::new().config("[profiles.work]\n[aliases]\ntopic = \"topics create\"\n");
    for (words, expected) in [
        ("auth use w", "work"),
        ("auth rename w", "work"),
        ("alias delete t", "topic"),
        ("config get base", "base_url"),
        ("config set default", "default_profile"),
        ("config unset retr", "retries"),
    ] {
        assert_eq!(complete(&idempost, words), [expected], "{words}");
    }
    assert_eq!(values("emails get ''").iter().filter(|value| !value.starts_with('-')).count(), 0);
}

#[test]
fn aliases_are_completed_with_the_arguments_of_their_command() {
    let aliases = "[aliases]\ntopic = \"topics create\"\nemails = \"topics create\"\n";
    let idempost = Idempost::new().config(aliases);
    let values = |words: &str| complete(&idempost, words);
    assert_eq!(values("topi"), ["topic", "topics"]);
    assert_eq!(values("topic --visibility ''"), ["public", "private"]);
    assert!(values("emails se").contains(&"send".to_owned()));
}

#[test]
fn ids_come_from_the_service_and_are_cached_privately() {
    let service = Service::start();
    let id = service.done(&SEND);
    let idempost = service.idempost();
    let (before, mut attempts) = (service.asked(), 0);
    wait_until("the ID is offered", || {
        attempts += 1;
        complete(&idempost, &["emails", "get", &id[..4]]) == [&*id]
    });
    assert!(service.asked() > before);
    assert_eq!(complete(&idempost, &["emails", "update", &id[..4]]), [id]);
    assert!(service.asked() <= before + attempts, "the second time, they come from the cache");
    let files = cached(&idempost.home().join(CACHE));
    assert_eq!(files.iter().map(mode).collect::<Vec<_>>(), [0o600]);
    let segment = service.done("segments create Readers");
    let expected = [&*segment];
    assert_eq!(complete_ids(&idempost, &["broadcasts", "create", "--segment-id", &segment[..3]]), expected);
    let import = service.run_with("contacts import - --server", "email\nada@example.com\n").ok();
    let ids = complete_ids(&idempost, &["contacts", "imports", "get", &import[..4]]);
    assert_eq!(ids, [import.trim()]);
}

/// The program with a stored key for each of two services, in the profiles `a` and `b`.
fn two_accounts() -> ([Service; 2], [String; 2], Idempost) {
    let (services, idempost) = ([Service::start(), Service::start()], Idempost::new());
    let mut ids = [String::new(), String::new()];
    for (n, profile) in ["a", "b"].into_iter().enumerate() {
        idempost.store_key(profile, &services[n].base_url(), "sb_test\n");
        idempost.run(&(["-p", profile], SEND)).ok().trim().clone_into(&mut ids[n]);
    }
    (services, ids, idempost)
}

#[test]
fn only_ids_of_the_account_that_the_command_line_selects_are_offered() {
    let (services, [first, second], idempost) = two_accounts();
    let offered = |flags: &str| {
        let lines = described(&idempost, &(flags, "emails get ''")).into_iter();
        let ids = lines.filter_map(|line| Some(line.split_once("\tHello")?.0.to_owned()));
        ids.collect::<Vec<_>>()
    };
    let finally_offered = |flags: &str| until_offered(|| offered(flags));
    idempost.run(&["auth", "use", "b"]).ok();
    // Bash splits words at `=`.
    for flags in ["--profile=a", "--profile a", "-pa", "-qp a", "--profile = a"] {
        assert_eq!(finally_offered(flags), [first.as_str()], "{flags}");
    }
    assert_eq!(finally_offered(""), [second.as_str()]);
    idempost.run(&["auth", "use", "a"]).ok();
    assert_eq!(finally_offered(""), [first.as_str()]);
    assert_eq!(offered(r#""--profile='a'""#), [""; 0], "the shell would remove the quotes");
    // Another account in the same profile, and no request if there is none.
    idempost.store_key("a", &services[0].base_url(), "sb_other\n");
    let before = services[0].asked();
    assert_eq!(offered(""), [""; 0]);
    wait_until("the service is asked", || services[0].asked() > before);
    let asked = services[0].asked();
    idempost.run(&["-p", "a", "auth", "logout"]).ok();
    assert_eq!((offered("-p a"), services[0].asked()), (vec![], asked));
}

#[test]
fn the_cache_of_ids_holds_no_address_and_ends_with_time_and_logout() {
    let (_services, _, idempost) = two_accounts();
    let folder = idempost.home().join(CACHE);
    let complete = |idempost: &Idempost, profile: &str| {
        // The program waits for the service only briefly.
        wait_until("IDs are offered", || {
            let words = (["-p", profile], "emails get ''");
            described(idempost, &words).iter().any(|line| line.contains("\tHello"))
        });
    };
    complete(&idempost, "a");
    let [first] = &cached(&folder)[..] else { panic!("{:?}", cached(&folder)) };
    let text = std::fs::read_to_string(first).unwrap();
    assert!(text.contains("Hello") && !text.contains("ada@example.com"), "{text}");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(61);
    std::fs::File::open(first).unwrap().set_modified(old).unwrap();
    complete(&idempost, "b");
    let left = cached(&folder);
    assert!(left.len() == 1 && left[0] != *first, "{left:?}");
    idempost.run(&["-p", "b", "auth", "logout"]).ok();
    assert!(cached(&folder).is_empty());
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
        json!({ "id": id, "subject": "one\ntwo\u{1b}]0;title\u{7}", "to": ["a@x.test"], "from": "b@x.test",
            "created_at": "2026-01-01T00:00:00Z", "last_event": "sent" })
    });
    let list = json!({ "object": "list", "has_more": false, "data": items.collect::<Vec<_>>() });
    let answer = Action::http_response(200, list.to_string());
    service.faults().add(Rule::new(answer).on_request(Method::GET, "/emails").always());
    let idempost = service.idempost();
    let offered = until_offered(|| described(&idempost, "emails get e"));
    let [line] = &offered[..] else { panic!("{offered:?}") };
    assert!(line.starts_with("e1\tone") && !line.contains(['\u{1b}', '\u{7}']), "{line:?}");
}

#[test]
fn ids_are_not_requested_if_the_setting_forbids_it() {
    let service = Service::start();
    let id = service.run(&SEND).ok();
    let asked = service.asked();
    let idempost = service.idempost();
    idempost.run(&["config", "set", "complete_ids", "false"]).ok();
    let ids = complete(&idempost, &["emails", "get", &id[..4]]);
    assert!(ids.is_empty() && service.asked() == asked, "{ids:?}");
}

#[test]
fn an_unreachable_service_completes_nothing_and_prints_nothing() {
    let (_stalled, port) = taken_port();
    for address in [UNUSED, &format!("127.0.0.1:{port}")] {
        let begun = Instant::now();
        assert!(complete(&Idempost::at(format!("http://{address}"), "k"), "emails get a").is_empty());
        assert!(begun.elapsed() < TIMEOUT);
    }
}

/// Runs a shell that finds the program; returns its output.
fn in_shell(shell: &str, arguments: &[&str], idempost: &Idempost) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_idempost"));
    let path = std::env::var_os("PATH").unwrap();
    let folders = std::iter::once(program.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
    let mut shell = idempost.wrapped(shell);
    shell.args(arguments).env("PATH", std::env::join_paths(folders).unwrap()).finish().stdout
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
    let formats = complete("idempost sandbox export x --format");
    assert_eq!(formats.lines().collect::<Vec<_>>(), ["eml", "mbox", "json"]);
}
