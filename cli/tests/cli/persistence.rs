//! `sandbox serve --data`: persistence over restarts, stops and kills.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::support::{Idempost, Ran, exhaustive};

const MAIL: &str = r#"{"from":"hi@acme.test","to":"ada@example.com","subject":"Hello","text":"It works"}"#;

/// A persistent connection for sequential requests.
struct Line {
    stream: TcpStream,
    host: String,
}

impl Line {
    fn to(base_url: &str) -> Self {
        let host = base_url.strip_prefix("http://").unwrap().to_owned();
        Self { stream: TcpStream::connect(&host).unwrap(), host }
    }

    /// `None` if the connection is closed.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> Option<Value> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer sb_local\r\ncontent-length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.stream.write_all(head.as_bytes()).ok()?;
        let mut answer = Vec::new();
        let mut chunk = [0; 8_192];
        loop {
            let read = self.stream.read(&mut chunk).ok().filter(|read| *read > 0)?;
            answer.extend_from_slice(&chunk[..read]);
            let text = String::from_utf8_lossy(&answer);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.unwrap().parse::<usize>().unwrap() {
                assert!(head.starts_with("HTTP/1.1 200"), "{text}");
                return Some(serde_json::from_str(body).unwrap());
            }
        }
    }

    fn send(&mut self) -> Option<String> {
        Some(self.ask("POST", "/emails", MAIL)?["id"].as_str().unwrap().to_owned())
    }

    /// All items of a list, over all pages.
    fn all(&mut self, path: &str) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let after = all.last().map(|last| format!("&after={}", last["id"].as_str().unwrap()));
            let page =
                self.ask("GET", &format!("{path}?limit=100{}", after.unwrap_or_default()), "").unwrap();
            all.extend(page["data"].as_array().unwrap().iter().cloned());
            if page["has_more"] != true {
                return all;
            }
        }
    }
}

fn ids(items: &[Value], field: &str) -> HashSet<String> {
    items.iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
}

/// Sends on this many connections at full speed until the sandbox is killed after this time; returns when each email was accepted, and the
/// time of the kill.
fn send_until_killed(
    sandbox: &mut Sandbox,
    connections: usize,
    after: Duration,
) -> (Vec<(String, Instant)>, Instant) {
    let base_url = sandbox.base_url.clone();
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..connections)
            .map(|_| {
                scope.spawn(|| {
                    let (mut line, mut sent) = (Line::to(&base_url), Vec::new());
                    while let Some(id) = line.send() {
                        sent.push((id, Instant::now()));
                    }
                    sent
                })
            })
            .collect();
        std::thread::sleep(after);
        sandbox.kill();
        let killed = Instant::now();
        (senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect(), killed)
    })
}

#[test]
fn a_killed_process_loses_nothing_older_than_a_second() {
    let (counts, kills): (&[_], _) = if exhaustive() { (&[1, 4, 16], 2) } else { (&[4], 1) };
    for &connections in counts {
        let folder = tempfile::tempdir().unwrap();
        let flags = ["--data", &folder.path().display().to_string(), "--keep", "1000000"];
        let mut kept = HashSet::new();
        let (mut rounds, mut passed) = (0, 0);
        // If others use the disk and the processor too, a write can take longer: then the round is repeated.
        while passed < kills {
            rounds += 1;
            assert!(
                rounds <= 10,
                "{connections} connections: only {passed} rounds lost nothing older than a second"
            );
            let mut sandbox = Sandbox::start(&flags);
            let after = Duration::from_millis(1_500 + RandomState::new().hash_one(()) % 1_500);
            let (sent, killed) = send_until_killed(&mut sandbox, connections, after);
            let due: Vec<_> = sent.iter().filter(|(_, at)| killed - *at > Duration::from_secs(1)).collect();

            let again = Sandbox::start(&flags);
            let mut line = Line::to(&again.base_url);
            let emails = ids(&line.all("/emails"), "id");
            assert!(kept.is_subset(&emails), "an email that survived a kill is lost");
            passed += usize::from(due.len() > 10 && due.iter().all(|(id, _)| emails.contains(id)));
            kept.clone_from(&emails);
            // Every captured message has its email, and every immediately delivered email has its message.
            assert_eq!(ids(&line.all("/_/messages"), "email_id"), emails);
        }
    }
}

/// Starts a sandbox that can't use its folder.
fn serve(folder: &str) -> Ran {
    Idempost::new().run(&["sandbox", "serve", "--port", "0", "--data", folder])
}

#[test]
fn two_sandboxes_cannot_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display().to_string();
    let first = Sandbox::start(&["--data", &data]);
    assert_eq!(first.printed("data"), Some(data.as_str()));
    serve(&data).fails_with(1, &["another sandbox is using it", &data]);
    Line::to(&first.base_url).send().unwrap();
}

#[test]
fn an_unusable_folder_is_reported_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let under = file.join("data").display().to_string();
    serve(&under).fails_with(1, &["choose a writable folder"]);

    let database = folder.path().join("sandbox.redb");
    std::fs::write(&database, "This is a letter to my grandmother.".repeat(1_000)).unwrap();
    serve(&folder.path().display().to_string()).fails_with(1, &["damaged", "move it away"]);
    let kept = std::fs::read_to_string(database).unwrap();
    assert!(kept.starts_with("This is a letter"));
}

#[test]
fn a_damaged_file_is_not_reported_as_a_bug() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display().to_string();
    let mut sandbox = Sandbox::start(&["--data", &data]);
    Line::to(&sandbox.base_url).send().unwrap();
    sandbox.stop();
    let file = folder.path().join("sandbox.redb");
    let whole = std::fs::read(&file).unwrap();
    let mut damaged = 0;
    for seed in 0..9 {
        let mut random = StdRng::seed_from_u64(seed);
        let mut bytes = whole.clone();
        for _ in 0..300 {
            let place = random.gen_range(4_096..bytes.len());
            bytes[place] ^= 0x55;
        }
        std::fs::write(&file, &bytes).unwrap();
        let program = env!("CARGO_BIN_EXE_idempost");
        let ran = Idempost::new().run(&["sandbox", "run", "--data", &data, "--", program, "--version"]);
        assert!(!ran.stderr.contains("bug"), "{ran:?}");
        damaged += u32::from(ran.stderr.contains("it is damaged"));
    }
    assert!(damaged > 0);
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_full_disk_the_sandbox_warns_continues_and_catches_up() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display().to_string();
    // By default the signal would kill a process at the limit; ignored, it becomes an error like a full disk.
    let idempost = Idempost::new();
    let command = idempost.through(r#"trap '' XFSZ; exec "$0" "$@""#);
    let mut sandbox = Sandbox::start_by(idempost, command, &["--data", &data]);
    let sandbox_id = Pid::from_raw(i32::try_from(sandbox.pid()).unwrap());
    let limit_file_size = |bytes| {
        prlimit(sandbox_id, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
    };
    limit_file_size(Some(1_000_000));
    let mut line = Line::to(&sandbox.base_url);
    let large = MAIL.replace("It works", &"It works. ".repeat(20_000));
    let mut sent = Vec::new();
    for _ in 0..10 {
        sent.push(line.ask("POST", "/emails", &large).unwrap()["id"].as_str().unwrap().to_owned());
    }
    let warning = sandbox.says();
    assert!(warning.contains("couldn't write changes to"), "{warning}");
    sent.push(line.send().unwrap());
    let ready = line.ask("GET", "/_/ready", "").unwrap();
    assert_eq!(ready, json!({"ready": true, "keeps": true, "saved": false}));
    limit_file_size(None);
    let stderr = sandbox.stop();
    assert!(stderr.contains("are written to"), "{stderr}");
    let again = Sandbox::start(&["--data", &data]);
    let mut line = Line::to(&again.base_url);
    assert_eq!(ids(&line.all("/emails"), "id"), sent.into_iter().collect());
    let ready = line.ask("GET", "/_/ready", "").unwrap();
    assert_eq!(ready, json!({"ready": true, "keeps": true, "saved": true}));
}

#[test]
fn resetting_a_persistent_sandbox_needs_confirmation() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&["--data", &folder.path().display().to_string()]);
    Line::to(&sandbox.base_url).send().unwrap();
    sandbox.run(&["sandbox", "reset"]).fails_with(2, &["--yes"]);
    assert_eq!(sandbox.run(&["sandbox", "inbox", "list"]).ok().lines().count(), 1);
    sandbox.run(&["sandbox", "reset", "--yes"]).ok();
    assert_eq!(sandbox.run(&["sandbox", "inbox", "list"]).ok(), "");
}
