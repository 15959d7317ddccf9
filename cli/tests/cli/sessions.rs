//! Sessions as a person reads them, word for word: `tests/sessions/*.trycmd`.
//!
//! After a change that is meant, `TRYCMD=overwrite cargo test -p posthaste-cli` writes them anew.

#[test]
fn every_session_reads_as_it_is_written_down() {
    let cases = trycmd::TestCases::new();
    // An empty variable is unset, so nothing of the machine's environment shows.
    for name in [
        "API_KEY",
        "ACCESS_TOKEN",
        "BASE_URL",
        "CREDENTIAL_STORE",
        "PROFILE",
        "OUTPUT",
        "TIMEOUT",
        "RETRIES",
        "NO_INPUT",
        "FORCE_TTY",
    ] {
        cases.env(format!("POSTHASTE_{name}"), "");
    }
    for name in [
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
        "CLICOLOR_FORCE",
        "COLUMNS",
    ] {
        cases.env(name, "");
    }
    cases.env("POSTHASTE_CONFIG_DIR", "/nonexistent/posthaste");
    cases.case("tests/sessions/*.trycmd");
}
