//! `segments metrics`.

use crate::service::Service;

#[test]
fn contacts_are_counted_in_total_and_by_segment() {
    let service = Service::start();
    let readers = service.done(&["segments", "create", "Readers"]);
    let empty = service.done(&["segments", "create", "Empty"]);
    service.done(&["contacts", "create", "ada@x.test", "--segment-id", &readers]);
    service.done(&["contacts", "create", "bob@x.test", "--segment-id", &readers, "--unsubscribed"]);
    service.done(&["contacts", "create", "eve@x.test"]);
    let metrics = |arguments: &[&str]| service.done(&("segments metrics", arguments));
    assert_eq!(metrics(&[]), "all_contacts\t3\nsubscribers\t2\nunsubscribers\t1");
    assert_eq!(metrics(&["--segment-id", &readers, "--metrics", "subscribers"]), "subscribers\t1");
    assert_eq!(
        metrics(&["--dimensions", "segment", "--columns", "name,all_contacts,subscribers,unsubscribers"]),
        "Empty\t0\t0\t0\nReaders\t2\t1\t1"
    );
    let expected = format!("Empty\t0\t{empty}\nReaders\t1\t{readers}");
    assert_eq!(metrics(&["--dimensions", "segment", "--metrics", "subscribers"]), expected);
    assert_eq!(metrics(&["--jq", ".totals.unsubscribers"]), "1");
}
