//! The delivery outcomes of emails that the service has accepted.

use super::{Bench, MESSAGE, schedule::wait_for_schedule};

/// Recipients, every tenth of whom has an address that bounces.
fn csv(people: usize) -> String {
    let row = |n| {
        let name = if n % 10 == 0 { "bounced" } else { "ada" };
        format!("{name}@r{n}.example.com,Person {n}\n")
    };
    let rows: Vec<_> = (1..=people).map(row).collect();
    format!("to,NAME\n{}", rows.concat())
}

#[test]
fn a_job_pauses_when_too_many_emails_bounce() {
    let bench = Bench::with(0);
    bench.write("people.csv", csv(300));
    wait_for_schedule(bench.sending(&["--daily", "100"]), 0);
    assert_eq!(bench.delivered().len(), 100);
    bench.service.core().clock().advance(std::time::Duration::from_mins(1));
    let paused = bench.bulk("resume --no-schedule --stop-on 'complained>1%' --stop-on 'bounced>2%'").exits(6);
    paused.says(&["paused: 10 of 100 sampled emails bounced, more than 2%"]);
    assert_eq!(bench.delivered().len(), 100, "nothing is sent before the outcomes are known");
    bench.bulk(&["resume", "--no-schedule", "--stop-on", "bounced>20%"]).ok();
    bench.each_got_one(300);
}

#[test]
fn a_report_has_what_became_of_each_email() {
    // This machine's clock may be ahead of the service's.
    for seconds_ahead in [0, 12 * 3_600] {
        let bench = Bench::with(0);
        bench.write("people.csv", csv(120));
        bench.later(seconds_ahead, &("send people.csv --yes", MESSAGE)).ok();
        bench.service.core().clock().advance(std::time::Duration::from_mins(1));
        let rows = bench.bulk(&["report", "--outcomes", "--columns", "last_event,recipient"]).ok();
        let with = |event: &str| rows.lines().filter(|row| row.starts_with(event)).collect::<Vec<_>>();
        assert_eq!((with("delivered\t").len(), with("bounced\t").len()), (108, 12), "{rows}");
        assert!(with("bounced\t").iter().all(|row| row.starts_with("bounced\tbounced@")), "{rows}");
        let row = bench.bulk("report --outcomes -o ndjson --jq 'select(.row == 7) | .last_event'").ok();
        assert_eq!(row.trim(), "delivered");
    }
}
