//! `broadcasts recipients` and `broadcasts clicked-links`.

use std::time::Duration;

use idempost_reference_server::{ClockStart, Settings};

use crate::service::Service;

/// A service with a broadcast whose recipients are simulated; also its ID.
fn stage(recipients: &[&str]) -> (Service, String) {
    let clock = ClockStart::Frozen("2026-03-02T12:00:00Z".parse().unwrap());
    let service = Service::with(Settings { seed: Some(0), clock, ..Settings::default() });
    let segment = service.done(&["segments", "create", "Readers"]);
    for email in recipients {
        service.done(&["contacts", "create", email, "--segment-id", &segment]);
    }
    let create = "broadcasts create --from news@acme.test --subject s --html '<a href=\"https://acme.test/docs\">Docs</a>'";
    let id = service.done(&(create, &["--segment-id", &segment]));
    service.done(&["broadcasts", "send", &id, "--yes"]);
    service.core().clock().advance(Duration::from_mins(2));
    (service, id)
}

#[test]
fn recipients_are_listed_by_type_and_filtered() {
    let (service, id) = stage(&["ada@x.test", "bounced@x.test", "clicked@y.test"]);
    let command = format!("broadcasts recipients {id}");
    let columns = (&command, "--columns email,count,bounce_type");
    let recipients = |flags: &str| service.done(&(columns, flags));
    assert_eq!(recipients("--type clicked"), "clicked@y.test\t1");
    let expected = "bounced@x.test\t\tpermanent";
    assert_eq!(recipients("--type bounced --bounce-type permanent"), expected);
    assert_eq!(recipients("--type sent --email X.test").lines().count(), 2);
    assert_eq!(recipients("--type sent --all").lines().count(), 3);
    let link = service.done(&(&command, "--type clicked --jq .data[0].clicked_links[0].url"));
    assert_eq!(link, "https://acme.test/docs");
    assert_eq!(service.done(&["broadcasts", "clicked-links", &id]), "https://acme.test/docs\t1\t1");
}

#[test]
fn pages_continue_at_the_cursor_of_the_last_item() {
    let (service, id) = stage(&["a@x.test", "b@x.test", "c@x.test"]);
    let command = ["broadcasts", "recipients", id.as_str(), "--type", "sent", "--columns", "email,id"];
    let all = service.done(&command);
    let ran = service.run(&(&command, "--limit 1"));
    assert_eq!(ran.stdout.trim_end(), all.lines().next().unwrap());
    let cursor = ran.stdout.trim_end().split('\t').nth(1).unwrap();
    assert!(ran.stderr.contains(&format!("--after {cursor}")), "{ran:?}");
    let rest = service.done(&(&command, &["--after", cursor]));
    assert_eq!(rest.lines().collect::<Vec<_>>(), all.lines().skip(1).collect::<Vec<_>>());
}
