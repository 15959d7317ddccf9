//! Jobs that are interrupted: by signals, crashes, a full disk, another command.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use idempost_reference_server::Settings;
use idempost_reference_server::faults::{Action, Rule};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::Bench;
use crate::service::Service;
use crate::support::{
    Finish as _, Running, concurrently, exhaustive, has, kill, lines, request, shows, signal, wait_until,
};

#[test]
fn every_row_is_sent_once_whatever_kills_the_program_and_whatever_the_service_does() {
    // F-09
    let (people, times) = if exhaustive() { (16_000, 30) } else { (5_000, 9) };
    killed(&Bench::with(people), people, times);
}

/// An hour of kills: `cargo test -p idempost-cli --test cli bulk_soak -- --ignored --nocapture`. The service keeps every email, in several GB.
#[test]
#[ignore = "takes an hour"]
fn bulk_soak() {
    let settings = Settings {
        seed: Some(0),
        max_memory: 64 << 30,
        keep_mails: usize::MAX,
        keep_mail_bytes: usize::MAX,
        ..Settings::default()
    };
    killed(&Bench::of(Service::with(settings).unjudged(), 1_000_000), 1_000_000, 1_000);
}

/// Sends to `people` recipients while the service fails and the program is killed at least `times` times, and prints the counts.
#[expect(clippy::print_stdout, reason = "the counts are the soak's result")]
fn killed(bench: &Bench, people: usize, times: usize) {
    let faults = bench.service.faults();
    faults.add(Rule::new(Action::Delay(Duration::from_millis(150))).always());
    faults.add(Rule::new(Action::error(500, "application_error", "try later")).percent(5));
    faults.add(Rule::new(Action::DropAfter).percent(8));
    faults.add(Rule::new(Action::DropBefore).percent(4));
    faults.add(Rule::new(Action::Truncate(20)).percent(4));
    faults.add(Rule::new(Action::TooMany { retry_after: Some("0".to_owned()) }).percent(4));
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    bench.service.core().on_request(move |_| {
        counter.fetch_add(1, Relaxed);
    });
    let mut random = StdRng::seed_from_u64(7);
    // A process that is killed while planning leaves no job.
    for milliseconds in [10, 20, 40] {
        let mut planning = bench.start("");
        std::thread::sleep(Duration::from_millis(milliseconds));
        kill(&mut planning);
    }
    bench.plan("").ok();
    let (mut kills, mut runs) = (0, 0);
    loop {
        runs += 1;
        assert!(runs < 100 + 3 * times, "the job makes no progress");
        let mut child = bench.idempost.spawn("bulk resume --concurrency 2");
        let which = [Signal::KILL, Signal::TERM, Signal::INT, Signal::KILL][kills % 4];
        // The kills depend on the number of requests, not on the machine's speed. The first runs are killed early, so that the job is long enough
        // for all kills.
        let max = if kills < times + 4 { 2 } else { 60 };
        let last = requests.load(Relaxed) + random.gen_range(0..=max);
        wait_until("the job makes progress or ends", || {
            requests.load(Relaxed) >= last || child.try_wait().unwrap().is_some()
        });
        std::thread::sleep(Duration::from_millis(random.gen_range(0..150)));
        if let Some(ended) = child.try_wait().unwrap() {
            if ended.success() {
                break;
            }
            continue;
        }
        signal(&child, which);
        let ended = child.finish();
        kills += 1;
        // There is no exit code if the process had no handler yet, and 0 if the job had just finished.
        let expected = match which {
            Signal::KILL => &[None][..],
            Signal::TERM => &[Some(143), Some(0), None],
            _ => &[Some(130), Some(0), None],
        };
        assert!(expected.contains(&ended.code), "{ended:?}");
    }
    assert!(kills >= times, "{kills} kills in {runs} runs");
    bench.each_got_one(people);
    has(&bench.status(), &json!({"state": "finished", "sent": people}));
    println!("{kills} kills in {runs} runs, {people} emails, 0 lost, 0 twice");
}

#[test]
fn the_first_interrupt_finishes_the_requests_in_flight_and_names_the_resume_command() {
    concurrently(["", "-q", "--json", "--json -q"], |flags| {
        let bench = Bench::with(500);
        bench.fail_sends(Rule::new(Action::Delay(Duration::from_secs(1))).always());
        let child = bench.start(&("--concurrency 1", flags));
        bench.wait_for_sends(1);
        signal(&child, Signal::INT);
        let ran = child.finish().exits(130);
        let status = bench.status();
        let resume = format!("idempost bulk resume {}", status["job"].as_str().unwrap());
        shows(&ran.stderr, &[&resume]);
        assert_eq!(status["state"], "stopped");
        let sent = status["sent"].as_u64().unwrap();
        assert_eq!(sent, u64::try_from(bench.delivered().len()).unwrap(), "nothing is left uncertain");
        assert!((100..500).contains(&sent), "{status}");
        if flags.contains("--json") {
            let error = ran.last_error();
            has(&error, &json!({"kind": "interrupted", "exit_code": 130}));
            shows(error["hint"].as_str().unwrap(), &[&resume]);
        }
        bench.service.faults().clear();
        bench.bulk(&["resume"]).ok();
        bench.each_got_one(500);
    });
}

#[test]
fn the_second_interrupt_stops_at_once_and_resuming_repeats_the_same_request() {
    let bench = Bench::with(100);
    bench.fail_sends(Rule::new(Action::Delay(Duration::from_mins(1))));
    let mut child = bench.start("");
    bench.wait_for_sends(1);
    signal(&child, Signal::TERM);
    let mut lines = lines(&mut child.stderr);
    assert!(lines.any(|line| line.contains("interrupt again to stop immediately")));
    signal(&child, Signal::TERM);
    assert!(lines.any(|line| line.contains("100 rows left")));
    child.finish().exits(143);
    assert_eq!(bench.delivered().len(), 100, "the service had accepted them");
    bench.bulk(&["resume"]).prints(&["1 batch repeated with the same keys"]).ok();
    bench.each_got_one(100);
    let requests = bench.service.requests().into_iter();
    let keys: Vec<_> = requests.filter_map(|mut request| request.headers.remove("idempotency-key")).collect();
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn canceling_a_job_that_was_killed_names_the_rows_that_may_have_been_sent() {
    let bench = Bench::with(250);
    bench.fail_sends(Rule::new(Action::Delay(Duration::from_mins(1))));
    bench.kill_after(1, "--concurrency 1");
    let expected = "150 rows won't be sent, and 100 rows may have been sent";
    bench.bulk(&["cancel", &bench.job(), "--yes"]).says(&[expected]);
    assert_eq!(bench.sends(), 1);
    let listed = bench.bulk(&["list", "--columns", "state,sent,unknown,remaining"]).ok();
    assert_eq!(listed, "canceled\t0\t100\t150\n");
    let rows = bench.bulk(&["report", "--rows", "--columns", "outcome"]).ok();
    assert_eq!(rows, "unknown\n".repeat(100));
    // Sending it again names the way out.
    let stderr = bench.send("").fails_with(1, &["was canceled; nothing was sent", "--add"]);
    assert!(!stderr.contains("continues"), "{stderr}");
}

#[test]
fn canceling_again_lists_what_a_canceled_run_that_was_killed_may_have_sent() {
    let bench = Bench::with(250);
    bench.fail_sends(Rule::new(Action::Delay(Duration::from_mins(1))));
    let mut child = bench.start("--concurrency 1");
    bench.wait_for_sends(1);
    let (id, list) = (bench.job(), bench.file("unknown.csv"));
    bench.bulk(&["cancel", &id, "--yes"]).says(&["its process stops after the requests in flight"]).ok();
    kill(&mut child);
    assert!(!list.exists());
    let expected = "is already canceled; 150 rows won't be sent, and 100 rows may have been sent";
    bench.bulk(&["cancel", &id, "--no-input"]).says(&[expected]).ok();
    assert_eq!(std::fs::read_to_string(list).unwrap().lines().count(), 101);
}

#[test]
fn another_command_shows_pauses_and_cancels_a_running_job() {
    // F-10
    let bench = Bench::with(9_000);
    let child = bench.start(&["--max-rps", "2"]);
    bench.wait_for_sends(2);
    let status = bench.status();
    assert_eq!(status["state"], "running", "{status}");
    bench.bulk(&["resume"]).says(&["is running the job"]).exits(1);
    bench.bulk(&["pause"]).ok();
    child.finish().exits(6).says(&["the job was paused", "bulk resume"]);
    assert!(bench.bulk(&["pause"]).stderr.contains("isn't running"));

    let asked = bench.service.asked();
    let id = status["job"].as_str().unwrap();
    let child = bench.idempost.spawn(&["bulk", "resume", &id[..6], "--max-rps", "2"]);
    bench.wait_for_sends(asked + 1);
    bench.bulk(&["cancel", id, "--yes"]).ok();
    child.finish().exits(10).says(&["the job was canceled"]);
    bench.bulk(&["resume", id]).says(&["was canceled"]);
    assert_eq!(bench.bulk(&["status", id, "--json"]).json()["state"], "canceled");
    assert!(bench.delivered().values().all(|emails| *emails == 1));
}

#[test]
fn a_full_disk_stops_the_job_and_it_continues_when_there_is_space() {
    // F-10
    let bench = Bench::with(2_000);
    // The journal grows by 1.7 kB per batch; limiting the file to 8 kB simulates a full disk.
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"";
    bench.plan("").ok();
    let mut command = bench.idempost.wrapped("dash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_idempost"), "bulk", "resume"]);
    command.finish().exits(1).says(&["couldn't write", "journal"]);
    assert!(!bench.delivered().is_empty() && bench.delivered().len() < 2_000);
    bench.bulk(&["resume"]).ok();
    bench.each_got_one(2_000);
}

#[test]
fn a_running_job_serves_its_figures_to_prometheus() {
    let bench = Bench::with(200);
    bench.fail_sends(Rule::new(Action::Delay(Duration::from_mins(1))).always());
    let mut child = Running(bench.start("--metrics-address 127.0.0.1:0"));
    let mut lines = lines(&mut child.stderr);
    let line = lines.find(|line| line.contains("metrics: http://")).unwrap();
    let url = &line[line.find("http://").unwrap()..];
    let mut response = String::new();
    wait_until("the figures show both requests", || {
        (_, response) = request(url, "GET", "", "");
        response.contains("idempost_bulk_requests_total{job=\"") && response.contains("\"} 2\n")
    });
    shows(&response, &["text/plain; version=0.0.4", "outcome=\"remaining\"} 200\n"]);
    assert_eq!(request(url.strip_suffix("metrics").unwrap(), "GET", "", "").0, 404);
    bench.send(&["--metrics-address", "9464"]).fails_with(2, &[" --metrics-address:1:1\n"]);
}

#[test]
fn progress_is_lines_or_objects_on_standard_error() {
    let bench = Bench::with(300);
    bench.fail_sends(Rule::new(Action::Delay(Duration::from_millis(600))).always());
    let ran = bench.send(&["--progress", "json", "--concurrency", "1"]);
    let objects = ran.stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut progress = objects.filter_map(|object| object.get("progress").cloned());
    let last = progress.next_back().expect("a job of more than a second has progress");
    has(&last, &json!({"total": 300, "state": "running"}));
    assert_eq!(bench.delivered().len(), 300);
    ran.ok();
}
