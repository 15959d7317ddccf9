//! `broadcasts`: command lines, requests and messages.

use std::time::Duration;

use http::Method;
use idempost_reference_server::faults::{Action, Rule};
use idempost_reference_server::{ClockStart, Settings};
use serde_json::{Value, json};

use crate::service::Service;
use crate::support::{CommandLine, Idempost, has};

/// A service with one segment.
struct Stage {
    service: Service,
    segment: String,
}

impl Stage {
    fn new() -> Self {
        let noon = "2026-03-02T12:00:00Z".parse().unwrap();
        let settings = Settings { seed: Some(0), clock: ClockStart::Frozen(noon), ..Settings::default() };
        let service = Service::with(settings);
        let segment = service.done("segments create Readers");
        service.done(&["contacts", "create", "ada@example.com", "--segment-id", &segment]);
        Self { service, segment }
    }

    /// `broadcasts create` with the required flags and further ones.
    fn create(&self, more: &(impl CommandLine + ?Sized)) -> Vec<String> {
        let least = format!("broadcasts create --segment-id {} --from news@acme.test", self.segment);
        ((least, "--subject 'Your week' --text Hello"), more).words()
    }

    fn draft(&self) -> String {
        self.service.done(&self.create(""))
    }

    fn get(&self, id: &str) -> Value {
        self.service.run(&["broadcasts", "get", id, "--json"]).json()
    }

    fn mails(&self) -> usize {
        self.service.mails().len()
    }
}

#[test]
fn a_draft_prints_its_id_and_the_command_that_sends_it() {
    let stage = Stage::new();
    let ran = stage.service.run(&stage.create(
        "--html <p>Hi</p> --preview-text p --name 'Week 47' --reply-to a@x.test --reply-to b@x.test",
    ));
    let id = ran.stdout.trim().to_owned();
    let expected = (Some(0), format!("draft created · send it: idempost broadcasts send {id}\n"));
    assert_eq!((ran.code, ran.stderr), expected);
    let record = stage.get(&id);
    has(&record, &json!({"status": "draft", "name": "Week 47", "reply_to": ["a@x.test", "b@x.test"]}));
    assert_eq!(stage.mails(), 0);
    stage.service.run(&["broadcasts", "ls"]).ok_with(&["Week 47", "draft"]);
}

#[test]
fn a_draft_needs_no_body_until_it_is_sent() {
    // BCAST-29
    let stage = Stage::new();
    let create = ("broadcasts create --from news@acme.test --subject Hi --segment-id", &stage.segment);
    let id = stage.service.done(&create);
    let record = stage.get(&id);
    has(&record, &json!({"status": "draft", "html": null, "text": null}));
    let sent = stage.service.run(&["broadcasts", "send", &id, "--yes"]);
    assert!(sent.code != Some(0) && sent.stderr.contains("`html` or `text`"), "{sent:?}");
    let refused = stage.service.run(&(create, "--send --yes --json")).error(2);
    assert_eq!(refused["missing"], json!(["--html or --text"]));
}

#[test]
fn all_problems_are_reported_at_once_by_flag() {
    //
    let error = Idempost::new().run(&["broadcasts", "create", "--send", "--json"]).error(2);
    assert_eq!(error["missing"], json!(["--segment-id", "--from", "--subject", "--html or --text"]));
    let problems = error["problems"].as_array().unwrap();
    let found: Vec<_> = problems.iter().map(|problem| json!([problem["code"], problem["path"]])).collect();
    let expected = ["/segment_id", "/from", "/subject", ""].map(|path| json!(["required", path]));
    assert_eq!(found, expected);
}

#[test]
fn sending_asks_for_confirmation_and_without_a_terminal_needs_yes() {
    let stage = Stage::new();
    let id = stage.draft();
    let before = stage.service.asked();
    for arguments in [("broadcasts send", &id).words(), stage.create("--send")] {
        let stderr = stage.service.run(&arguments).fails_with(2, &["isn't interactive", "--yes"]);
        // Without a terminal, the summary is shown too.
        assert!(
            stderr.contains("Send \"Your week\" from news@acme.test to 1 contact of segment"),
            "{stderr}"
        );
    }
    let requests = stage.service.requests();
    let reads = requests[before..].iter().filter(|request| request.method == "GET").count();
    assert_eq!((requests.len() - before, stage.mails()), (reads, 0));
    let ran = stage.service.run(&["broadcasts", "send", &id, "--yes"]);
    assert_eq!(ran.ok().trim(), id);
    stage.service.run(&stage.create("--send -y")).ok();
    assert_eq!(stage.mails(), 2);
}

#[test]
fn a_scheduled_broadcast_is_sent_when_due_and_can_be_canceled() {
    let stage = Stage::new();
    let id = stage.draft();
    let run = |arguments: &[&str]| stage.service.run(arguments);
    run(&["broadcasts", "send", &id, "--scheduled-at", "in 1 hour", "--yes"]).ok();
    assert_eq!(stage.get(&id)["scheduled_at"], "2026-03-02 13:00:00.000000+00");
    assert_eq!(run(&["broadcasts", "cancel", &id]).ok().trim(), id);
    assert_eq!(stage.get(&id)["status"], "draft");
    run(&["broadcasts", "cancel", &id]).fails(3);
    run(&["broadcasts", "update", &id, "--subject", "New", "--clear", "preview-text"]).ok();
    let copy = run(&["broadcasts", "duplicate", &id]).ok();
    assert_eq!(stage.get(copy.trim())["subject"], "New");
    assert_eq!(run(&["broadcasts", "delete", copy.trim()]).ok(), copy);
    run(&["broadcasts", "get", copy.trim()]).fails(5);

    stage.service.done(&stage.create("--send --scheduled-at 'tomorrow at 9am' --yes"));
    stage.service.core().clock().advance(Duration::from_hours(20));
    assert_eq!(stage.mails(), 0);
    stage.service.core().clock().advance(Duration::from_hours(1));
    assert_eq!(stage.mails(), 1);
}

#[test]
fn a_wait_ends_when_the_broadcast_is_sent_and_reports_a_timeout() {
    let stage = Stage::new();
    stage.service.run(&stage.create(&["--send", "--yes", "--wait"])).says(&["sent after "]);
    let id = stage.draft();
    let arguments =
        ["broadcasts", "send", &id, "--scheduled-at", "in 1 hour", "--yes", "--wait", "--wait-timeout", "1s"];
    let ran = stage.service.run(&arguments);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(8), id.as_str()));
    assert!(ran.stderr.contains("it is scheduled"), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("idempost broadcasts get {id}")), "{}", ran.stderr);
}

#[test]
fn a_failing_service_leaves_the_outcome_of_a_send_unknown_and_it_is_not_retried() {
    for action in [Action::error(503, "service_unavailable", "later"), Action::DropAfter] {
        let stage = Stage::new();
        let id = stage.draft();
        for path in ["/broadcasts/{id}/send", "/broadcasts"] {
            stage.service.faults().add(Rule::new(action.clone()).on_request(Method::POST, path).always());
        }
        let before = stage.service.asked();
        let error = stage.service.run(&["broadcasts", "send", &id, "--yes", "--json"]).error(9);
        has(&error, &json!({"kind": "unknown", "outcome": "unknown", "retryable": false}));
        let look = format!("the broadcast may have been sent; check: idempost broadcasts get {id}");
        assert_eq!(error["hint"], look);
        assert_eq!(stage.service.asked(), before + 1, "tried once");
        stage
            .service
            .run(&stage.create(&["--send", "--yes"]))
            .fails_with(9, &["check: idempost broadcasts list"]);
    }
}

#[test]
fn a_dry_run_shows_the_request_and_does_not_prompt() {
    let shown = |line: &str| Idempost::new().run(line).json()["dry_run"].clone();
    let send = shown("broadcasts send a/b -n");
    has(&send, &json!({"method": "POST", "path": "/broadcasts/a%2Fb/send"}));
    assert_eq!(send.get("body").filter(|body| !body.is_null()), None);
    let later = shown("broadcasts send b --scheduled-at 'in 1 hour' -n");
    assert_eq!(later["body"], json!({"scheduled_at": "in 1 hour"}));
    let update = "broadcasts update b --topic-id t --clear text -n";
    assert_eq!(shown(update)["body"], json!({"text": null, "topic_id": "t"}));
}

/// The program at a terminal, with a user who reads and types.
mod at_a_terminal {
    use super::*;
    use crate::at_a_terminal::{code, run};

    #[test]
    fn the_prompt_shows_what_is_sent_and_yes_sends_it() {
        let stage = Stage::new();
        let id = stage.draft();
        let mut session =
            run(stage.service.idempost(), &["broadcasts", "send", &id, "--scheduled-at", "in 1 hour"]);
        let segment = &stage.segment;
        let question = format!(
            "Send \"Your week\" from news@acme.test to 1 contact of segment {segment}, in 1 hour? [y/N] "
        );
        session.pty.exp_string(&question).unwrap();
        assert_eq!(stage.get(&id)["status"], "draft");
        session.pty.send_line("yes").unwrap();
        session.pty.exp_string(&id).unwrap();
        assert_eq!(code(&session), 0);
        assert_eq!(stage.get(&id)["status"], "scheduled");
    }

    #[test]
    fn any_answer_but_yes_means_no() {
        let stage = Stage::new();
        for answer in ["n", "", "yess"] {
            let mut session = run(stage.service.idempost(), &stage.create("--send"));
            session.pty.exp_string("[y/N] ").unwrap();
            session.pty.send_line(answer).unwrap();
            session.pty.exp_string("not confirmed; nothing was done").unwrap();
            assert_eq!(code(&session), 130, "{answer:?}");
        }
        assert_eq!(stage.service.run(&["broadcasts", "list"]).ok(), "");
    }

    #[test]
    fn with_a_sending_key_the_prompt_shows_only_the_id() {
        let stage = Stage::new();
        let id = stage.draft();
        let idempost = stage.service.idempost().env("IDEMPOST_API_KEY", "sb_test_sending");
        let mut session = run(idempost, &["broadcasts", "send", &id]);
        session.pty.exp_string(&format!("Send broadcast {id}? [y/N] ")).unwrap();
        session.pty.send_line("y").unwrap();
        session.pty.exp_string(&id).unwrap();
        assert_eq!(code(&session), 0);
        assert_eq!(stage.mails(), 1);
    }

    #[test]
    fn ctrl_c_at_the_prompt_sends_nothing() {
        let stage = Stage::new();
        let id = stage.draft();
        let mut session = run(stage.service.idempost(), &["broadcasts", "send", &id]);
        session.pty.exp_string("[y/N] ").unwrap();
        session.pty.send_control('c').unwrap();
        assert_eq!(code(&session), 130);
        assert_eq!(stage.get(&id)["status"], "draft");
    }
}
