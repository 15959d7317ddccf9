//! Jobs that are interrupted: by signals, crashes, a full disk, another command.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use idempost_reference_server::Settings;
use idempost_reference_server::faults::{Action, Rule};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use rustix::process::Signal;
use serde_json::Value;

use super::{Bench, MESSAGE};
use crate::service::Service;
use crate::support::{Finish as _, Limited, Ran, exhaustive, signal, wait_until};

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
    let faults = bench.service.core().faults();
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
        let mut planning = bench.start(&[]);
        std::thread::sleep(Duration::from_millis(milliseconds));
        planning.kill().unwrap();
        planning.wait().unwrap();
    }
    bench.idempost.run(&("bulk plan people.csv", MESSAGE)).ok();
    let (mut kills, mut runs) = (0, 0);
    loop {
        runs += 1;
        assert!(runs < 100 + 3 * times, "the job makes no progress");
        let mut resume = bench.idempost.command();
        resume.args(["bulk", "resume", "--concurrency", "2"]).stdin(Stdio::null());
        let mut child = resume.spawn().unwrap();
        let which = [Signal::KILL, Signal::TERM, Signal::INT, Signal::KILL][kills % 4];
        // The kills depend on the number of requests, not on the machine's speed. The first runs are killed early, so that the job is long enough
        // for all kills.
        let max = if kills < times + 4 { 2 } else { 60 };
        let last = requests.load(Relaxed) + random.gen_range(0..=max);
        wait_until("the job makes progress or ends", || {
            requests.load(Relaxed) >= last || child.try_wait().unwrap().is_some()
        });
        std::thread::sleep(Duration::from_millis(random.gen_range(0..150)));
        if child.try_wait().unwrap().is_some() {
            if child.wait().unwrap().code() == Some(0) {
                break;
            }
            continue;
        }
        signal(&child, which);
        let ended = child.finish();
        kills += 1;
        match which {
            Signal::KILL => assert_eq!(ended.status.code(), None, "{ended:?}"),
            // There is no exit code if the process had no handler yet, and 0 if the job had just finished.
            Signal::TERM => assert!(matches!(ended.status.code(), Some(143 | 0) | None), "{ended:?}"),
            _ => assert!(matches!(ended.status.code(), Some(130 | 0) | None), "{ended:?}"),
        }
    }
    assert!(kills >= times, "{kills} kills in {runs} runs");
    bench.each_got_one(people);
    let status = bench.bulk(&["status", "--json"]).json();
    assert_eq!((&status["state"], &status["sent"]), (&"finished".into(), &people.into()), "{status}");
    println!("{kills} kills in {runs} runs, {people} emails, 0 lost, 0 twice");
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_first_interrupt_finishes_the_requests_in_flight_and_names_the_resume_command() {
    for flags in [&[][..], &["-q"], &["--json"], &["--json", "-q"]] {
        let bench = Bench::with(500);
        bench.service.core().faults().add(Rule::new(Action::Delay(Duration::from_secs(1))).always());
        let child = bench.start(&[&["--concurrency", "1"], flags].concat());
        bench.until_asked(1);
        signal(&child, Signal::INT);
        let output = child.finish();
        let stderr = stderr_of(&output);
        assert_eq!(output.status.code(), Some(130), "{flags:?} {stderr}");
        let status = bench.bulk(&["status", "--json"]).json();
        let resume = format!("idempost bulk resume {}", status["job"].as_str().unwrap());
        assert!(stderr.contains(&resume), "{flags:?} {stderr}");
        assert_eq!(status["state"], "stopped");
        let sent = status["sent"].as_u64().unwrap();
        assert_eq!(sent, u64::try_from(bench.delivered().len()).unwrap(), "nothing is left uncertain");
        assert!((100..500).contains(&sent), "{status}");
        if flags.contains(&"--json") {
            let error: Value = serde_json::from_str(stderr.lines().last().unwrap()).unwrap();
            assert_eq!(
                (&error["error"]["kind"], &error["error"]["exit_code"]),
                (&"interrupted".into(), &130.into())
            );
            assert!(error["error"]["hint"].as_str().unwrap().contains(&resume));
        }
        bench.service.core().faults().clear();
        bench.bulk(&["resume"]).ok();
        bench.each_got_one(500);
    }
}

#[test]
fn the_second_interrupt_stops_at_once_and_resuming_repeats_the_same_request() {
    let bench = Bench::with(100);
    let faults = bench.service.core().faults();
    faults.add(Rule::new(Action::Delay(Duration::from_mins(1))));
    let mut child = bench.start(&[]);
    bench.until_asked(1);
    signal(&child, Signal::TERM);
    let mut lines = BufReader::new(Limited(child.stderr.take().unwrap())).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("interrupt again to stop immediately")));
    signal(&child, Signal::TERM);
    assert!(lines.any(|line| line.contains("100 rows left")));
    assert_eq!(child.finish().status.code(), Some(143));
    assert_eq!(bench.delivered().len(), 100, "the service had accepted them");
    let resumed = bench.bulk(&["resume"]);
    assert!(resumed.stdout.contains("1 batch repeated with the same keys"), "{resumed:?}");
    resumed.ok();
    bench.each_got_one(100);
    let keys: Vec<_> = bench
        .service
        .core()
        .requests()
        .iter()
        .filter_map(|request| request.headers.get("idempotency-key").cloned())
        .collect();
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn canceling_a_job_that_was_killed_names_the_rows_that_may_have_been_sent() {
    let bench = Bench::with(250);
    bench.service.core().faults().add(Rule::new(Action::Delay(Duration::from_mins(1))));
    let mut child = bench.start(&["--concurrency", "1"]);
    bench.until_asked(1);
    child.kill().unwrap();
    child.wait().unwrap();
    let id = bench.bulk(&["status", "--json"]).json()["job"].as_str().unwrap().to_owned();
    let canceled = bench.bulk(&["cancel", &id, "--yes"]);
    let expected = "150 rows won't be sent, and 100 rows may have been sent";
    assert!(canceled.stderr.contains(expected), "{canceled:?}");
    assert_eq!(bench.service.asked(), 1);
    let listed = bench.bulk(&["list", "--columns", "state,sent,unknown,remaining"]).ok();
    assert_eq!(listed, "canceled\t0\t100\t150\n");
    let rows = bench.bulk(&["report", "--rows", "--columns", "outcome"]).ok();
    assert_eq!(rows, "unknown\n".repeat(100));
    // Sending it again names the way out.
    let stderr = bench.send(&[]).fails(1);
    assert!(stderr.contains("was canceled; nothing was sent") && stderr.contains("--add"), "{stderr}");
    assert!(!stderr.contains("continues"), "{stderr}");
}

#[test]
fn canceling_a_running_job_names_the_rows_that_an_earlier_run_may_have_sent() {
    // F-10
    let bench = Bench::with(500);
    bench.service.core().faults().add(Rule::new(Action::Delay(Duration::from_mins(1))).always());
    let mut child = bench.start(&["--concurrency", "3"]);
    bench.until_asked(3);
    child.kill().unwrap();
    child.wait().unwrap();
    bench.service.core().faults().clear();
    let slow = Rule::new(Action::Delay(Duration::from_secs(3))).on_path("/emails/batch");
    bench.service.core().faults().add(slow.always());
    let mut resume = bench.idempost.command();
    let child = resume.args(["bulk", "resume", "--concurrency", "1"]).spawn().unwrap();
    wait_until("a request is repeated", || {
        bench.service.core().requests().iter().filter(|request| request.path == "/emails/batch").count() == 4
    });
    bench.bulk(&["cancel", "people.csv", "--yes"]).ok();
    let canceled = Ran::of(child.finish());
    assert_eq!(canceled.code, Some(9), "{canceled:?}");
    let expected = "the job was canceled; 200 rows won't be sent, and 200 rows may have been sent";
    assert!(canceled.stderr.contains(expected), "{canceled:?}");
    for command in ["status", "report"] {
        let document = bench.bulk(&[command, "--json"]).json();
        for (field, rows) in [("sent", 100), ("unknown", 200), ("remaining", 200)] {
            assert_eq!(document[field], rows, "{command} {document}");
        }
    }
}

#[test]
fn a_signal_before_the_first_request_sends_nothing() {
    let bench = Bench::with(1);
    let mut command = bench.idempost.command();
    command.args(["bulk", "send", "-", "--yes"]).args(MESSAGE).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // More than fits into the pipe: once it is written, the program has started to read.
    child.stdin.as_mut().unwrap().write_all(super::csv(10_000).as_bytes()).unwrap();
    let stdin = child.stdin.take();
    signal(&child, Signal::INT);
    let output = child.finish();
    drop(stdin);
    assert_eq!((output.status.code(), bench.service.asked()), (Some(130), 0), "{output:?}");
}

#[test]
fn another_command_shows_pauses_and_cancels_a_running_job() {
    // F-10
    let bench = Bench::with(9_000);
    let child = bench.start(&["--max-rps", "2"]);
    bench.until_asked(2);
    let status = bench.bulk(&["status", "--json"]).json();
    assert_eq!(status["state"], "running", "{status}");
    let refused = bench.bulk(&["resume"]);
    assert!(refused.stderr.contains("is running the job"), "{refused:?}");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    bench.bulk(&["pause"]).ok();
    let paused = Ran::of(child.finish());
    assert_eq!(paused.code, Some(6), "{paused:?}");
    assert!(
        paused.stderr.contains("the job was paused") && paused.stderr.contains("bulk resume"),
        "{paused:?}"
    );
    assert!(bench.bulk(&["pause"]).stderr.contains("isn't running"));

    let asked = bench.service.asked();
    let id = status["job"].as_str().unwrap();
    let child = bench.idempost.spawn(&["bulk", "resume", &id[..6], "--max-rps", "2"]);
    bench.until_asked(asked + 1);
    bench.bulk(&["cancel", id, "--yes"]).ok();
    let canceled = Ran::of(child.finish());
    assert_eq!(canceled.code, Some(10), "{canceled:?}");
    assert!(canceled.stderr.contains("the job was canceled"), "{canceled:?}");
    let refused = bench.bulk(&["resume", id]);
    assert!(refused.stderr.contains("was canceled"), "{refused:?}");
    assert_eq!(bench.bulk(&["status", id, "--json"]).json()["state"], "canceled");
    assert!(bench.delivered().values().all(|emails| *emails == 1));
}

#[test]
fn a_full_disk_stops_the_job_and_it_continues_when_there_is_space() {
    // F-10
    let bench = Bench::with(2_000);
    // The journal grows by 1.7 kB per batch; limiting the file to 8 kB simulates a full disk.
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"";
    bench.idempost.run(&("bulk plan people.csv", MESSAGE)).ok();
    let mut command = bench.idempost.wrapped("dash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_idempost"), "bulk", "resume"]);
    let ran = Ran::of(command.finish());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("couldn't write") && ran.stderr.contains("journal"), "{ran:?}");
    assert!(!bench.delivered().is_empty() && bench.delivered().len() < 2_000);
    bench.bulk(&["resume"]).ok();
    bench.each_got_one(2_000);
}

#[test]
fn a_running_job_serves_its_figures_to_prometheus() {
    let bench = Bench::with(200);
    bench.service.core().faults().add(Rule::new(Action::Delay(Duration::from_mins(1))).always());
    let mut child = bench.start(&["--metrics-address", "127.0.0.1:0"]);
    let mut lines = BufReader::new(Limited(child.stderr.take().unwrap())).lines().map(Result::unwrap);
    let line = lines.find(|line| line.contains("metrics: http://")).unwrap();
    let address = line.split("http://").nth(1).unwrap().strip_suffix("/metrics").unwrap().to_owned();
    let get = |path: &str| {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        std::io::read_to_string(Limited(stream)).unwrap()
    };
    let mut response = String::new();
    wait_until("the figures show both requests", || {
        response = get("/metrics");
        response.contains("idempost_bulk_requests_total{job=\"") && response.contains("\"} 2\n")
    });
    assert!(response.contains("text/plain; version=0.0.4"), "{response}");
    assert!(response.contains("outcome=\"remaining\"} 200\n"), "{response}");
    assert!(get("/").starts_with("HTTP/1.1 404"));
    child.kill().unwrap();
    child.finish();
    bench.send(&["--metrics-address", "9464"]).fails_with(2, &[" --metrics-address:1:1\n"]);
}

#[test]
fn progress_is_lines_or_objects_on_standard_error() {
    let bench = Bench::with(300);
    bench.service.core().faults().add(Rule::new(Action::Delay(Duration::from_millis(1_500))).always());
    let ran = bench.send(&["--progress", "json", "--concurrency", "1"]);
    let objects: Vec<Value> = ran
        .stderr
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|object| object.get("progress").is_some())
        .collect();
    let last = &objects.last().expect("a job of four seconds has progress")["progress"];
    assert_eq!((&last["total"], &last["state"]), (&300.into(), &"running".into()), "{ran:?}");
    assert_eq!(bench.delivered().len(), 300);
    ran.ok();
}
