//! `contacts`, `segments`, `audiences`: command lines, requests and messages; CSV import and export.

use std::fmt::Write as _;
use std::time::Duration;

use http::Method;
use idempost_reference_server::faults::{Action, Rule};
use serde_json::{Value, json};

use crate::service::Service;
use crate::support::{CommandLine, Finish as _, finish_with, has, mode, wait_until};

fn contact(service: &Service, email: &str) -> Value {
    service.run(&["contacts", "get", email, "--json"]).json()
}

fn emails(service: &Service, list: &(impl CommandLine + ?Sized)) -> Vec<String> {
    let page = service.run(&(list, "--json")).json();
    page["data"].as_array().unwrap().iter().map(|one| one["email"].as_str().unwrap().to_owned()).collect()
}

fn properties(service: &Service) {
    service.done(&["properties", "create", "--key", "city", "--type", "string"]);
    service.done(&["properties", "create", "--key", "orders", "--type", "number"]);
}

#[test]
fn a_contact_is_created_shown_changed_and_deleted_by_address() {
    // CONT-02, A-34
    let service = Service::start();
    properties(&service);
    let weekly = service.done(&["segments", "create", "Weekly"]);
    let address = "a+b/c#d%e?f@x.test";
    let create =
        "contacts create --first-name Ada --last-name L --property city=007 --property-json orders=3";
    let id = service.done(&(create, &[address, "--segment-id", &weekly]));
    let found = contact(&service, address);
    assert_eq!(found["id"], id.as_str());
    let expected =
        json!({"city": {"type": "string", "value": "007"}, "orders": {"type": "number", "value": 3}});
    assert_eq!(found["properties"], expected);
    let change = "contacts update --clear last-name --clear-property orders --unsubscribed";
    assert_eq!(service.done(&(change, &[address])), id);
    let found = contact(&service, &id);
    has(&found, &json!({"last_name": null, "unsubscribed": true}));
    assert_eq!(found["properties"].as_object().unwrap().len(), 1);
    assert_eq!(emails(&service, &["contacts", "list", "--segment-id", &weekly]), [address]);
    assert_eq!(emails(&service, &["contacts", "list", "--segment", &weekly]), [address]);
    assert_eq!(service.done(&["contacts", "delete", address]), id);
    service.run(&["contacts", "get", address]).fails(5);
}

#[test]
fn membership_is_visible_from_both_sides() {
    let service = Service::start();
    let weekly = service.done(&["segments", "create", "Weekly"]);
    service.done(&["contacts", "create", "ada@example.com"]);
    assert_eq!(service.done(&["contacts", "add-to-segment", "ada@example.com", &weekly]), weekly);
    assert_eq!(emails(&service, &["segments", "contacts", &weekly]), ["ada@example.com"]);
    let segments = service.run(&["contacts", "segments", "ada@example.com", "--json"]).json();
    assert_eq!(segments["data"][0]["name"], "Weekly");
    assert_eq!(service.done(&["segments", "rename", &weekly, "Monthly"]), weekly);
    assert_eq!(service.run(&["segments", "get", &weekly, "--json"]).json()["name"], "Monthly");
    service.done(&["contacts", "remove-from-segment", "ada@example.com", &weekly]);
    assert_eq!(emails(&service, &["segments", "contacts", &weekly]), Vec::<String>::new());
    assert_eq!(service.done(&["segments", "delete", &weekly]), weekly);
    service.run(&["segments", "get", &weekly]).fails(5);
}

#[test]
fn audiences_list_the_segments_and_warn_once() {
    // AUD-02, AUD-03, A-52
    let service = Service::start();
    service.done(&["segments", "create", "Weekly"]);
    let ran = service.run(&["audiences", "list", "--limit", "1", "-o", "tsv"]);
    assert_eq!(ran.stderr.matches("deprecated").count(), 1, "{ran:?}");
    assert_eq!(ran.ok(), service.run(&["segments", "list", "-o", "tsv"]).ok());
    let help = service.run(&["audiences", "--help"]).ok();
    assert!(help.starts_with("Deprecated") && help.contains("Deprecated: list segments"), "{help}");
}

#[test]
fn an_imported_file_round_trips_with_properties_and_segments() {
    let service = Service::start();
    properties(&service);
    let weekly = service.done(&["segments", "create", "Weekly"]);
    let text = "\u{feff}email,first_name,last_name,unsubscribed,city,orders\r\n\
                ada@example.com,Ada,\"L, \"\"A\"\"\",false,\"two\nlines\",3\r\n\
                b+c/d#e@x.test,,,true,,\r\n";
    let program = service.idempost();
    program.write("people.csv", text);
    // One row at a time, so that contacts are in the file's order.
    let import = ["contacts", "import", "people.csv", "--segment-id", &weekly, "--concurrency", "1"];
    let stderr = program.run(&import).ok();
    assert_eq!(stderr, "2 written, 0 skipped, 0 rejected\n");
    assert_eq!(emails(&service, &["segments", "contacts", &weekly]), ["b+c/d#e@x.test", "ada@example.com"]);
    let ada = contact(&service, "ada@example.com");
    assert_eq!(ada["properties"]["orders"], json!({"type": "number", "value": 3}));
    has(&ada, &json!({"last_name": "L, \"A\"", "properties": {"city": {"value": "two\nlines"}}}));

    let exported = program.run(&["contacts", "export", "--segment-id", &weekly]).ok();
    let expected = "email,first_name,last_name,unsubscribed,city,orders\n\
                    b+c/d#e@x.test,,,true,,\nada@example.com,Ada,\"L, \"\"A\"\"\",false,\"two\nlines\",3\n";
    assert_eq!(exported, expected);

    // Into another account, through standard input.
    let other = Service::start();
    properties(&other);
    other.run_with(&["contacts", "import", "-"], &exported).ok();
    let again = other.run(&["contacts", "export"]).ok();
    let mut lines: Vec<_> = again.matches("ada@example.com").chain(again.matches("b+c/d#e@x.test")).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["ada@example.com", "b+c/d#e@x.test"]);
    let file = ["contacts", "export", "--no-properties", "--output-file", "out.csv"];
    assert_eq!(program.run(&file).ok(), "2 contacts written to out.csv\n");
    let written = program.read("out.csv");
    assert!(written.starts_with("email,first_name,last_name,unsubscribed\nb+c"), "{written}");
}

#[test]
fn unreadable_consent_is_never_shown_or_exported_as_subscribed() {
    let service = Service::start();
    let contact = |id: u8, email: &str, unsubscribed: Option<Value>| {
        let id = format!("e169aa45-1ecf-4183-9955-b1499d5701d{id}");
        let mut contact = json!({ "object": "contact", "id": id, "email": email, "first_name": null,
            "last_name": null, "created_at": "2026-03-01T12:00:00Z", "properties": {} });
        contact.as_object_mut().unwrap().extend(unsubscribed.map(|value| ("unsubscribed".to_owned(), value)));
        contact
    };
    let contacts = [
        contact(1, "missing@x.test", None),
        contact(2, "null@x.test", Some(Value::Null)),
        contact(3, "yes@x.test", Some(json!("yes"))),
        contact(4, "ada@x.test", Some(json!(false))),
    ];
    let list = json!({ "object": "list", "data": contacts, "has_more": false });
    let rule = Rule::new(Action::http_response(200, list.to_string())).on_path("/contacts").always();
    service.faults().add(rule);
    let idempost = service.idempost();
    let ran = idempost.run(&["contacts", "export", "--no-properties"]);
    assert_eq!(
        ran.stdout,
        "email,first_name,last_name,unsubscribed\nmissing@x.test,,,unknown\nnull@x.test,,,unknown\n\
         yes@x.test,,,unknown\nada@x.test,,,false\n"
    );
    assert!(ran.code == Some(0) && ran.stderr.contains("`unknown` in 3 of 4 rows"), "{ran:?}");
    let table = idempost.run(&["contacts", "list", "-o", "human", "--columns", "email,unsubscribed"]).ok();
    let subscribed: Vec<_> = table.lines().filter(|line| line.contains("false")).collect();
    assert!(subscribed.len() == 1 && subscribed[0].contains("ada@x.test"), "{table}");
    // An import needs a decision on each of them.
    let stderr = service.run_with(&["contacts", "import", "-"], &ran.stdout).fails(2);
    assert_eq!(stderr.matches("expected true or false; found").count(), 3, "{stderr}");
}

#[test]
fn all_problems_with_a_file_are_reported_with_line_and_column_before_anything_is_sent() {
    let service = Service::start();
    properties(&service);
    let before = service.asked();
    let text =
        "email,orders,unsubscribed\nada@example.com,3,no\nnobody,x,perhaps\nADA@example.com,1,\nb@x.test\n";
    service.run_with(&["contacts", "import", "-"], text).fails_with(
        2,
        &[
            "5 problems in standard input; nothing was sent",
            "standard input:3, column 1 (email)",
            "standard input:3, column 2 (orders)",
            "standard input:3, column 3 (unsubscribed)",
            "standard input:4: the address ADA@example.com is already on line 2",
            "standard input:5: the row has 1 cells; expected 3",
        ],
    );
    let ran = service.run_with("contacts import -", "email,town\na@b.c,x\n");
    ran.fails_with(2, &["standard input:1, column 2: `town` is neither a contact field nor an"]);
    let posts = service.requests();
    assert!(!posts[before..].iter().any(|request| request.method != Method::GET), "something was written");

    let ran = service.run_with("contacts import -", "mail,mail\n");
    ran.fails_with(2, &["the column `email` is missing; the columns are: mail, mail", "another column"]);
    let program = service.idempost();
    program.write("utf16.csv", b"\xff\xfee\0");
    program.run("contacts import utf16.csv").fails_with(2, &["utf16.csv: it is in UTF-16; save it as"]);
    service.run_with(&["contacts", "import", "-"], "").fails(2);
    service.run(&["contacts", "import", "no-such-file.csv"]).fails(2);
    service.run(&["contacts", "import", ".", "--concurrency", "0", "--on-conflict", "x"]).fails(2);
}

#[test]
fn columns_are_mapped_or_skipped_and_a_dry_run_sends_nothing() {
    let service = Service::start();
    properties(&service);
    let text = "E-mail,Town,Notes\nada@example.com,London,x\n";
    let map = ["contacts", "import", "-", "--map", "E-mail=email", "--map", "Town=city", "--map", "Notes="];
    let before = service.asked();
    service.run_with(&(&map, "--dry-run"), text).says(&["1 rows, no problems found, nothing sent"]);
    assert_eq!(service.asked(), before);
    service.run_with(&map, text).ok();
    assert_eq!(contact(&service, "ada@example.com")["properties"]["city"]["value"], "London");
    let wrong = ["contacts", "import", "-", "--map", "Mail=email", "--map", "x"];
    service.run_with(&wrong, text).fails_with(2, &["there is no column `Mail`"]);
}

#[test]
fn a_file_may_have_other_delimiters_than_commas_unless_the_service_imports_it() {
    let service = Service::start();
    properties(&service);
    let idempost = service.idempost();
    for (town, delimiter) in [("London; UK", ";"), ("Bath\tUK", "\t")] {
        let text = format!("email,city\nada@example.com,\"{town}\"\n").replace(',', delimiter);
        service.run_with("contacts import -", &text).ok();
        assert_eq!(contact(&service, "ada@example.com")["properties"]["city"]["value"], town);
        let asked = service.asked();
        let file = idempost.write("people.csv", &text);
        let refused = service.run(&["contacts", "import", &file, "--server"]);
        refused.fails_with(2, &["must be separated by commas; found `", "without --server"]);
        assert_eq!(service.asked(), asked);
    }
    // Rejected rows keep the file's delimiter.
    service.done("contacts create bob@example.com");
    let failing = "contacts import - --on-conflict fail --failed failed.csv";
    idempost.run_with(failing, "email;first_name\nbob@example.com;\"B;b\"\n").exits(3);
    let rejected = idempost.read("failed.csv");
    assert!(
        rejected.starts_with("email;first_name;rejection_reason\nbob@example.com;\"B;b\";"),
        "{rejected}"
    );
    // A header that looks as if it had semicolons.
    let text = "email,first_name,a;b;c;d\ncy@example.com,Cy;C,x\n";
    let import = ["contacts", "import", "-", "--map", "a;b;c;d="];
    service.run_with(&import, text).fails_with(2, &["the column `email` is missing", "--delimiter"]);
    service.run_with(&(import, "--delimiter comma"), text).ok();
    assert_eq!(contact(&service, "cy@example.com")["first_name"], "Cy;C");
    service.run_with(&(import, "--delimiter ^"), &text.replace(',', "^")).ok();
    service.run_with(&(import, "--delimiter |,"), text).fails_with(2, &[" --delimiter:1:1\n"]);
    // An open quote is one in the file's own columns.
    let ran = service.run_with("contacts import -", "email;city\na@x.test;\"x\nb@x.test;y\n");
    ran.fails_with(2, &["row 2 (line 2): a quote in this row is never closed"]);
    let wide: Vec<_> = (1..=1_000).map(|n| format!("c{n}")).collect();
    let ran = service.run_with("contacts import -", &wide.join(";"));
    ran.fails_with(2, &["the columns are: c1, c2", "c20, and 980 more; to map"]);
}

#[test]
fn a_problem_has_the_line_on_which_its_row_begins() {
    let service = Service::start();
    let reject = Rule::new(Action::error(422, "validation_error", "Not this one."));
    for line_end in ["\n", "\r\n"] {
        let import = |text: &str, flags: &str| {
            service.run_with(&("contacts import -", flags), &text.replace('\n', line_end))
        };
        let text = "\nemail,first_name\n\nada@x.test,Ada\n\n\nbob@x.test,Bob,x\ncy@x.test,Cy\nADA@x.test,\n";
        let ran = import(text, "");
        let wrong = ["input:7: the row has 3 cells", "input:9: the address ADA@x.test is already on line 4"];
        ran.fails_with(2, &wrong);
        // Rows are longer than the reader's buffer.
        let long = format!("email\n{}\n\nbob@x.test\n", "a@x.test\n".repeat(1_000).trim_end());
        import(&long, "").fails_with(2, &["input:3: the address a@x.test is already on line 2"]);
        import("\n\nmail,mail\n", "").fails_with(2, &["input:3: the column `email` is missing"]);
        import("\n\nemail,email\n", "").fails_with(2, &["input:3, column 2: another column"]);
        import("\n\nemail,town\n", "").fails_with(2, &["input:3, column 2: `town` is neither"]);
        import("email\n\nada@x.test\n\"bob\n", "").fails_with(2, &["row 3 (line 4): a quote in this row"]);
        service.faults().add(reject.clone().on_request(Method::POST, "/contacts"));
        import("email\n\nada@x.test\n", "").exits(3).says(&["standard input:3: "]);
    }
}

#[test]
fn a_pipe_that_cannot_be_copied_is_a_local_failure() {
    let service = Service::start();
    let import = ["contacts", "import", "-", "--dry-run"];
    let idempost = service.idempost();
    for script in ["TMPDIR=/nowhere", "trap '' XFSZ; ulimit -f 8;"] {
        let mut command = idempost.through(&format!("{script} exec \"$0\" \"$@\""));
        let ran = finish_with(command.args(import), &format!("email\n{}", "a@x.test\n".repeat(10_000)));
        ran.fails_with(1, &["couldn't use a temporary file: "]);
    }
}

#[test]
fn an_existing_contact_is_updated_skipped_or_rejected_as_requested() {
    let service = Service::start();
    let text = "email,first_name\nada@example.com,Ada\nbob@example.com,Bob\n";
    service.done(&["contacts", "create", "ada@example.com", "--first-name", "Old", "--last-name", "L"]);
    let import = |how: &str| {
        let arguments = ["contacts", "import", "-", "--on-conflict", how, "--json"];
        let ran = service.run_with(&arguments, text);
        (ran.code, serde_json::from_str::<Value>(&ran.stdout).unwrap())
    };
    let counted = |written: u64, skipped: u64, rejected: u64| json!({"object": "import", "rows": 2, "written": written, "skipped": skipped, "rejected": rejected});
    assert_eq!(import("skip"), (Some(0), counted(1, 1, 0)));
    assert_eq!(contact(&service, "ada@example.com")["first_name"], "Old");
    assert_eq!(import("update"), (Some(0), counted(2, 0, 0)));
    let ada = contact(&service, "ada@example.com");
    has(&ada, &json!({"first_name": "Ada", "last_name": "L"}));
    assert_eq!(import("fail"), (Some(3), counted(0, 0, 2)));
}

#[test]
fn a_rejected_row_is_written_to_a_file_with_its_reason_and_the_others_continue() {
    let service = Service::start();
    let answer = Action::error(422, "validation_error", "Not this one.");
    service.faults().add(Rule::new(answer).on_request(Method::POST, "/contacts").times(1));
    let program = service.idempost();
    let text = "email,first_name\nada@example.com,Ada\nbob@example.com,Bob\n";
    let arguments = ["contacts", "import", "-", "--concurrency", "1", "--failed", "rejected.csv"];
    let ran = program.run_with(&arguments, text);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(10), "1 written, 0 skipped, 1 rejected\n"), "{ran:?}");
    let rejected = program.read("rejected.csv");
    assert_eq!(rejected, "email,first_name,rejection_reason\nada@example.com,Ada,Not this one.\n");
    assert_eq!(mode(program.home().join("rejected.csv")), 0o600, "it contains addresses");
    // Importing the same file would overwrite it.
    program.run_with(&arguments, text).fails(2);
    let corrected = ["contacts", "import", "rejected.csv", "--map", "rejection_reason="];
    assert_eq!(program.run(&corrected).ok(), "1 written, 0 skipped, 0 rejected\n");
}

#[cfg(target_os = "linux")]
#[test]
fn an_import_of_a_million_rows_takes_little_memory() {
    use std::time::Instant;

    use crate::support::RUN_TIMEOUT;

    let idempost = crate::support::Idempost::new();
    let mut text = "email\n".to_owned();
    for n in 0..950_000 {
        writeln!(text, "p{n}@example.com").unwrap();
    }
    idempost.write("people.csv", text);
    let mut command = idempost.command();
    let mut child = command.args(["contacts", "import", "people.csv", "--dry-run"]).spawn().unwrap();
    let (mut peak, begun) = (0, Instant::now());
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < RUN_TIMEOUT, "timed out waiting until the file is validated");
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let most = most.and_then(|value| value.split_whitespace().next()?.parse().ok());
        peak = most.unwrap_or(peak);
        std::thread::sleep(Duration::from_millis(5));
    }
    let ran = child.finish();
    assert!(ran.stderr.starts_with("950000 rows, no problems found"), "{ran:?}");
    assert!(peak > 0 && peak < 64 * 1024, "{peak} KiB");
}

#[test]
fn an_interrupted_import_reports_its_progress_and_how_to_continue() {
    let service = Service::start();
    let answer = Action::error(403, "invalid_api_key", "No.");
    let mut text = "email\n".to_owned();
    for n in 0..20 {
        writeln!(text, "person{n}@example.com").unwrap();
    }
    service.faults().add(Rule::new(answer).on_request(Method::POST, "/contacts").skip_first(7).times(1));
    let arguments = ["contacts", "import", "-", "--concurrency", "1"];
    let ran = service.run_with(&arguments, &text);
    ran.fails_with(4, &["7 of 20 rows are done", "run the same command again: it rewrites the rows"]);
    assert_eq!(service.run_with(&arguments, &text).ok(), "20 written, 0 skipped, 0 rejected\n");
    assert_eq!(emails(&service, &["contacts", "list"]).len(), 20);
    for (action, effect) in [("skip", "it skips the rows"), ("fail", "it rejects the rows")] {
        let answer = Action::error(403, "invalid_api_key", "No.");
        service.faults().add(Rule::new(answer).on_request(Method::GET, "/contacts/{id}").times(1));
        let failed = format!("{action}.csv");
        let ran = service.run_with(&(&arguments, ["--on-conflict", action, "--failed", &failed]), &text);
        ran.fails_with(4, &["run the same command again, with another file for --failed", effect]);
    }
}

#[test]
fn an_import_of_a_file_that_changes_after_its_validation_reports_the_rows_that_are_left() {
    let service = Service::start();
    let weekly = service.done(&["segments", "create", "Weekly"]);
    let path = format!("/segments/{weekly}");
    let slow = Rule::new(Action::Delay(Duration::from_secs(1))).on_request(Method::GET, &path);
    service.faults().add(slow.times(3));
    let program = service.idempost();
    let import = |before: &str, after: &str| {
        program.write("people.csv", before);
        let requests = || service.requests().iter().filter(|one| one.path == path).count();
        let earlier = requests();
        let arguments = ["contacts", "import", "people.csv", "--segment-id", &weekly];
        let running = program.spawn(&(&arguments, "--failed rejected.csv"));
        wait_until("the file is validated", || requests() > earlier);
        program.write("people.csv", after);
        running.finish()
    };
    let rows = "email\na@example.com\nb@example.com\nc@example.com\n";
    let unreadable = import(rows, "email\na@example.com\n\"b@example.com\nc@example.com\n");
    let expected =
        ["couldn't read people.csv", "a quote in this row is never closed", "1 of 3 rows are done"];
    unreadable.fails_with(1, &expected);
    std::fs::remove_file(program.home().join("rejected.csv")).unwrap();
    let cut = import(rows, "email\na@example.com\n");
    cut.fails_with(1, &["people.csv changed during the import: it had 3 rows", "1 of 3 rows are done"]);
    std::fs::remove_file(program.home().join("rejected.csv")).unwrap();
    import(rows, "email\na@example.com\nb@example.com,Bob\nc@example.com\n").exits(10);
    let rejected = "email,rejection_reason\nb@example.com,Bob,the file changed while it was read\n";
    assert_eq!(program.read("rejected.csv"), rejected);
}

#[test]
fn the_service_imports_a_file_from_one_request() {
    let service = Service::start();
    properties(&service);
    let weekly = service.done(&["segments", "create", "Weekly"]);
    let news = service.done(&["topics", "create", "--name", "News", "--default-subscription", "opt_in"]);
    service.done(&["contacts", "create", "old@example.com", "--first-name", "Old"]);
    let program = service.idempost();
    let text = "E-mail,first_name,Orders,Notes\nold@example.com,New,3,x\nmüller@bücher.test,,,\nnobody,,,\n";
    program.write("people.csv", text);
    let maps = ["--map", "E-mail=email", "--map", "Orders=orders", "--map", "Notes=", "--map", "first_name="];
    let import =
        ["contacts", "import", "people.csv", "--server", "--segment-id", &weekly, "--opt-out", &news];
    let ran = program.run(&((&import, &maps), "--wait")).exits(10).says(&[
        "1 created, 1 updated, 0 skipped, 1 failed",
        "1 of 3 rows failed",
        "idempost contacts import people.csv --map E-mail=email --map Orders=orders --map Notes= --map first_name= --dry-run",
    ]);
    let id = ran.stdout.trim().to_owned();
    let listed = program.run(&["contacts", "imports", "list", "--status", "completed"]).ok();
    assert!(listed.starts_with(&format!("{id}\tcompleted\t3\t1\t1\t0\t1\t")), "{listed}");
    assert_eq!(program.run(&["contacts", "imports", "get", &id, "--jq", ".counts.failed"]).ok(), "1\n");
    let old = contact(&service, "old@example.com");
    has(&old, &json!({"first_name": "Old", "properties": {"orders": {"value": 3}}}));
    let expected = ["müller@bücher.test", "old@example.com"];
    assert_eq!(emails(&service, &["segments", "contacts", &weekly]), expected);
    let topics = program.run(&["contacts", "topics", "old@example.com", "--json"]).json();
    assert_eq!(topics["data"][0]["subscription"], "opt_out");

    // The same through standard input, again after a rejected attempt.
    let fault =
        Rule::new(Action::TooMany { retry_after: None }).on_request(Method::POST, "/contacts/imports");
    service.faults().add(fault.times(1));
    let again = ["contacts", "import", "-", "--server", "--on-conflict", "skip", "--wait"];
    let ran = program.run_with(&again, "email\nold@example.com\nnew@example.com\n");
    ran.exits(0).says(&["1 created, 0 updated, 1 skipped"]);
    program.write("odd.csv", "email;name,unsubscribed\nnobody,\n");
    let odd = "contacts import odd.csv --delimiter comma --map 'email;name=email' --max-size 1MB";
    program.run(&(odd, "--server --wait")).exits(3).says(&[&format!("idempost {odd} --dry-run")]);
    let failed =
        program.run_with(&["contacts", "import", "-", "--server", "--wait"], "email\nnobody\n").exits(3);
    assert!(!failed.stderr.contains("--dry-run"), "standard input can't be read again: {failed:?}");
}

#[test]
fn invalid_flags_of_a_server_import_send_nothing() {
    let service = Service::start();
    for (flags, text, part) in [
        ("--server --on-conflict fail", "email\n", "must be update or skip"),
        ("--server --failed x.csv", "email\n", "--failed"),
        ("--server --concurrency 2", "email\n", "--concurrency"),
        ("--server --wait=done", "email\n", "--wait must be `completed`"),
        ("--server", "name\n", "the column `email` is missing"),
        ("--wait", "email\n", "--server"),
        ("--server --dry-run", "email\nnobody\n", "standard input:2, column 1 (email)"),
    ] {
        service.run_with(&("contacts import -", flags), text).fails_with(2, &[part]);
    }
    let ran = service.run_with("contacts import - --server --dry-run", "email\nada@example.com\n");
    ran.says(&["1 rows, no problems found, nothing sent"]);
    assert_eq!(service.asked(), 0);
}
