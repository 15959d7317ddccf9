//! The commands around a job: list, status, report, doctor.

use idempost_reference_server::faults::{Action, Rule};

use serde_json::json;

use super::Bench;
use crate::support::{has, shows};

#[test]
fn jobs_are_listed_and_named_by_prefix_or_folder() {
    let bench = Bench::with(3);
    bench.bulk("list").says(&["no jobs yet"]);
    bench.bulk(&["status"]).fails_with(5, &["there are no jobs yet"]);
    bench.plan("").ok();
    assert_eq!(bench.status()["state"], "planned");
    bench.send("").ok();
    bench.send(&["--again"]).ok();
    let jobs = bench.bulk(&["list", "--json"]).json();
    let jobs = jobs["data"].as_array().unwrap();
    assert_eq!(jobs.len(), 2);
    let ids: Vec<_> = jobs.iter().map(|job| job["job"].as_str().unwrap()).collect();
    assert!(ids[0].ends_with("-2") && ids[1].ends_with("-1"), "the latest job is first: {ids:?}");
    bench.bulk(&["status", &ids[0][..4]]).fails_with(2, &["several jobs match"]);
    assert_eq!(bench.bulk(&["status", ids[1], "--json"]).json()["job"], ids[1]);
    let folder = jobs[1]["folder"].as_str().unwrap();
    assert_eq!(bench.bulk(&["status", folder, "--json"]).json()["job"], ids[1]);
    bench.bulk(&["status", "zzz"]).fails(5);
    let table = bench.bulk(&["list", "--columns", "state,sent,rows"]).ok();
    assert_eq!(table, "finished\t3\t3\nfinished\t3\t3\n");
    // The input isn't needed to inspect a job.
    std::fs::remove_file(bench.idempost.home().join("people.csv")).unwrap();
    assert_eq!(bench.bulk(&["list", "--json"]).json()["data"].as_array().unwrap().len(), 2);
    bench.bulk(&["report"]).ok();
}

#[test]
fn a_damaged_job_is_listed() {
    let bench = Bench::with(3);
    bench.send("").ok();
    let journal = bench.file("journal");
    let mut bytes = std::fs::read(&journal).unwrap();
    let damaged = bytes.len() / 3;
    bytes[damaged] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    let listed = bench.bulk("list --columns state,folder").says(&["damaged at byte"]);
    assert_eq!(listed.ok(), format!("damaged\t{}\n", journal.parent().unwrap().display()));
    assert_eq!(bench.bulk(&["list", "--json"]).json()["data"][0]["state"], "damaged");
}

#[test]
fn a_damaged_job_is_salvaged_and_resumed() {
    // F-09
    let bench = Bench::with(250);
    bench.fail_sends(Rule::new(Action::Stall).skip_first(1).always());
    bench.kill_after(2, "--concurrency 1");
    bench.service.faults().clear();
    bench.bulk("salvage").says(&["isn't damaged"]);
    let journal = bench.file("journal");
    let mut bytes = std::fs::read(&journal).unwrap();
    // In the IDs of the first request.
    bytes[400] ^= 1;
    std::fs::write(&journal, &bytes).unwrap();
    bench.bulk(&["resume"]).fails_with(1, &["damaged at byte", "bulk salvage"]);
    // In a folder that can't be written, such as one on a damaged disk, no lock can be created.
    let lock = journal.with_file_name("lock");
    std::fs::remove_file(&lock).unwrap();
    let dry = bench.bulk(&["salvage", "--dry-run", "--json"]).json();
    assert!(!lock.exists());
    assert_eq!(std::fs::read(&journal).unwrap(), bytes);
    let salvaged = bench.bulk(&["salvage", "--json"]).json();
    let (dry, salvaged) = (&dry["data"][0], &salvaged["data"][0]);
    for (document, dry_run) in [(dry, true), (salvaged, false)] {
        let expected =
            json!({"dry_run": dry_run, "sent": 0, "unknown": 0, "in_flight": 200, "remaining": 250});
        has(document, &expected);
    }
    assert_eq!(std::fs::read(salvaged["damaged_journal"].as_str().unwrap()).unwrap(), bytes);
    bench.bulk(&["resume"]).ok();
    bench.each_got_one(250);
    bench.bulk(&["salvage", "nobody"]).fails(5);
}

#[test]
fn a_command_to_copy_names_a_job_in_another_folder_by_its_path() {
    let bench = Bench::with(3);
    let rejects = Action::error(422, "validation_error", "no");
    bench.fail_sends(Rule::new(rejects).always());
    let listed = bench.send("").exits(10);
    listed.says(&[&format!("idempost bulk retry --rejected {}\n", bench.job())]);
    let folder = bench.idempost.home().join("old jobs/job");
    std::fs::create_dir(folder.parent().unwrap()).unwrap();
    std::fs::rename(bench.file(""), &folder).unwrap();
    let (job, quoted) = (folder.to_str().unwrap(), format!("'{}'", folder.display()));
    let elsewhere = bench.bulk(&["resume", job]).exits(10);
    elsewhere.says(&[&format!("idempost bulk retry --rejected {quoted}\n")]);
    std::fs::write(folder.join("journal"), []).unwrap();
    bench.bulk(&["resume", job]).fails_with(1, &[&format!("idempost bulk salvage {quoted}\n")]);
    let salvaged = bench.bulk(&["salvage", job]).exits(9);
    for command in ["resume", "reconcile"] {
        shows(&salvaged.stderr, &[&format!("idempost bulk {command} {quoted}\n")]);
    }
}

#[test]
fn a_started_job_whose_journal_is_lost_is_damaged() {
    // F-09
    for content in [None, Some(&b""[..]), Some(b"BUL"), Some(&[0; 7])] {
        let bench = Bench::with(3);
        bench.send("").ok();
        let journal = bench.file("journal");
        match content {
            Some(content) => std::fs::write(&journal, content).unwrap(),
            None => std::fs::remove_file(&journal).unwrap(),
        }
        assert_eq!(bench.bulk(&["list", "--json"]).json()["data"][0]["state"], "damaged", "{content:?}");
        for flags in ["", "--add", "--reply-to re@acme.test"] {
            bench.send(flags).fails_with(1, &["is missing or empty", "bulk salvage"]);
        }
        bench.bulk(&["resume"]).fails(1);
        bench.bulk("salvage --dry-run").exits(9);
        assert_eq!(journal.exists(), content.is_some());
        bench.bulk("salvage").exits(9);
        // Every row may have been sent.
        has(&bench.status(), &json!({"unknown": 3, "remaining": 0}));
        bench.send("").exits(9);
        bench.each_got_one(3);
    }
}

#[test]
fn a_truncated_job_is_salvaged_without_sending_it_again() {
    // F-09
    let bench = Bench::with(250);
    bench.send("").ok();
    let journal = bench.file("journal");
    let bytes = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &bytes[..bytes.len() / 2]).unwrap();
    bench.bulk(&["salvage", "--truncated"]).exits(9).says(&["the outcome of "]);
    bench.bulk("resume").exits(9);
    bench.each_got_one(250);
    let status = bench.status();
    assert_eq!(status["sent"].as_u64().unwrap() + status["unknown"].as_u64().unwrap(), 250, "{status}");
}

#[test]
fn a_report_has_every_row_with_its_id() {
    let bench = Bench::with(120);
    assert_eq!(bench.send(&["-q"]).ok().lines().next().map(|line| line.ends_with(": 120 sent")), Some(true));
    let rows = bench.bulk(&["report", "--rows"]).ok();
    assert_eq!(rows.lines().count(), 120);
    // In the order in which the outcomes became known.
    assert!(rows.lines().any(|row| row.starts_with("1\tp1@example.com\tsent\t")), "{rows}");
    let mails = bench.service.mails();
    let ids: std::collections::HashSet<_> = mails.iter().map(|mail| mail.email_id.as_str()).collect();
    assert!(rows.lines().all(|row| row.split('\t').any(|cell| ids.contains(cell))), "{rows}");
    let report = bench.bulk(&["report", "--json"]).json();
    has(&report, &json!({"sent": 120, "state": "finished"}));
}

#[test]
fn the_doctor_sends_one_email_twice_and_compares_the_ids() {
    let bench = Bench::with(0);
    let doctor = "doctor --from hi@acme.test --to me@acme.test";
    let line = bench.bulk(doctor).ok();
    assert!(line.starts_with("ok: both requests returned "), "{line}");
    assert_eq!((bench.service.asked(), bench.delivered()["me@acme.test"]), (2, 1));
    bench.bulk(&["doctor"]).fails_with(2, &["missing: --from"]);
    // A service that forgets the key between the requests.
    let forgets = Action::http_response(200, r#"{"data":[{"id":"another"}]}"#);
    bench.fail_sends(Rule::new(forgets).skip_first(1));
    bench.bulk(&(doctor, "--json")).exits(3).prints(&[r#""honored":false"#]);
}

#[test]
fn the_help_explains_columns_exit_codes_and_limits_of_the_guarantee() {
    let bench = Bench::with(0);
    let help = bench.bulk(&["send", "--help"]).ok().replace('\n', " ");
    shows(&help, &["var:NAME", "9 some outcomes", "at most --concurrency requests", "{{{NAME|text}}}"]);
}
