//! Runs the Rust code in README.md, in the README.md of each crate, in the guide in `docs/` and in the skill, and the tests of all examples.

macro_rules! pages {
    ($($name:ident $path:literal)*) => {
        $(#[cfg(doctest)]
        #[doc = include_str!($path)]
        struct $name;)*
    };
}

pages! {
    Readme "../README.md"
    ReadmeOfTheSdk "../sdk/README.md"
    ReadmeOfBulk "../bulk/README.md"
    ReadmeOfTheSandbox "../sandbox/README.md"
    ReadmeOfTheServer "../tests/reference-server/README.md"
    Skill "../cli/src/commands/skill/SKILL.md"
    Bulk "../docs/bulk.md"
    FirstEmail "../docs/first-email.md"
    OAuth "../docs/oauth.md"
    Operations "../docs/operations.md"
    SdkTour "../docs/sdk-tour.md"
    Testing "../docs/testing.md"
    WebApplications "../docs/web-applications.md"
    Webhooks "../docs/webhooks.md"
}

macro_rules! examples {
    ($($name:ident)*) => {
        $(#[cfg(test)]
        #[allow(dead_code, unfulfilled_lint_expectations, reason = "`main` runs in the example's own program, and tests may print")]
        mod $name;)*
    };
}

examples! {
    attachments
    axum_handler
    batch
    blocking
    broadcast_report
    bulk_from_database
    bulk_worker
    captured_mail
    contact_import
    contact_properties
    contacts
    domain_claim
    domain_setup
    email_metrics
    forward_and_reply
    inboxes
    login
    never_twice
    quotas
    received_mail
    send
    sent_mail
    shared_login
    sign_up
    suppressions
    tickets
    topics
    tracing
    unit_test
    walk_a_list
    webhook_axum
    weekly_broadcast
    welcome_series
}

#[cfg(test)]
mod tests {
    /// An application's token store, a complete help desk and a database cursor need more lines.
    const LONGER: [&str; 4] = ["bulk_from_database.rs", "inboxes.rs", "shared_login.rs", "welcome_series.rs"];

    #[test]
    fn an_example_has_fewer_than_40_lines_of_code_without_its_test() {
        for entry in std::fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "rs") || path.ends_with("guide.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let program = text.split("#[cfg(test)]").next().unwrap();
            let code =
                program.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
            let (lines, is_longer) = (code.count(), LONGER.iter().any(|name| path.ends_with(name)));
            assert!((lines < 40) != is_longer, "{}: {lines} lines", path.display());
        }
    }
}
