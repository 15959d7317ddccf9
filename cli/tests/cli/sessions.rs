//! Sessions with their exact output: `tests/sessions/*.trycmd`.
//!
//! After an intended change, regenerate them with `TRYCMD=overwrite cargo test -p idempost-cli`.

#[test]
fn every_session_has_its_recorded_output() {
    let cases = trycmd::TestCases::new();
    // Empty variables count as unset, so the machine's environment has no effect.
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
        cases.env(format!("IDEMPOST_{name}"), "");
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
    cases.env("IDEMPOST_CONFIG_DIR", "/nonexistent/idempost");
    cases.insert_var("[VERSION]", env!("CARGO_PKG_VERSION")).unwrap();
    cases.case("tests/sessions/*.trycmd");
}
