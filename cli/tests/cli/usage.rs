//! `usage`, and the quotas of `sandbox serve` and `doctor`.

use idempost_reference_server::Settings;

use crate::service::Service;
use crate::support::{Idempost, SEND};

#[test]
fn usage_shows_what_was_used() {
    let service = Service::with(Settings { seed: Some(0), daily_quota: Some(3), ..Settings::default() });
    // No new day begins.
    service.core().clock().freeze();
    service.done(&SEND);
    let shown = service.done(&["usage"]);
    assert!(shown.contains("emails today       1 of 3 (1 sent, 0 received), resets "), "{shown}");
    assert!(shown.contains("broadcasts         0, unlimited"), "{shown}");
    assert_eq!(service.done(&["usage", "--jq", ".emails.daily.limit"]), "3");
    let doctor = service.done(&["doctor"]);
    assert!(doctor.contains("emails: today 1 of 3"), "{doctor}");
    service.done(&SEND);
    service.done(&SEND);
    let output = service.run(&SEND).fails(6);
    assert!(output.contains("daily_quota_exceeded") || output.contains("daily quota of 3"), "{output}");
    service.run(&["doctor"]).exits(1).prints(&["until it resets"]);
}

#[test]
fn the_sandbox_has_the_quotas_of_its_flags() {
    let script = "$IDEMPOST emails send --from hi@acme.test --to ada@example.com --to bob@example.com --subject s --text x; \
                  $IDEMPOST emails send --from hi@acme.test --to ada@example.com --subject s --text x; echo $?";
    for (flag, period) in [("--daily-quota", "daily"), ("--monthly-quota", "monthly")] {
        let idempost = Idempost::new().env("IDEMPOST", env!("CARGO_BIN_EXE_idempost"));
        let ran = idempost.run(&["sandbox", "run", flag, "2", "--", "sh", "-c", script]);
        assert_eq!(ran.stdout.lines().last(), Some("6"), "{ran:?}");
        assert!(ran.stderr.contains(&format!("{period} quota of 2 emails")), "{ran:?}");
    }
}
