//! Files that the service hands out by signed addresses, which may be another company's.

use posthaste::Error;

use super::script::{Script, Step};

#[tokio::test(start_paused = true)]
async fn nothing_of_the_clients_own_goes_to_a_download_address() {
    // AUTH-08, AUTH-09
    for url in [
        "https://files.other.test/x?signature=1",
        "http://127.0.0.1:9/prefix/_/received/word",
        "http://files.other.test/x",
    ] {
        let script = Script::of([Step::Text(503, "soon"), Step::Text(200, "bytes")]).odd();
        let bytes = script.client().received().download(url).await.unwrap();
        assert_eq!(bytes, "bytes");
        for seen in script.seen() {
            assert_eq!((seen.method.as_str(), seen.url.as_str()), ("GET", url));
            let names: Vec<_> = seen.headers.keys().map(http::HeaderName::as_str).collect();
            assert_eq!(names, ["user-agent"], "{url}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_that_is_none_is_refused_and_not_repeated() {
    let script = Script::of([]);
    let over_https = script.builder().base_url("https://api.test").build().unwrap();
    let over_http = script.client();
    for (client, url) in [
        (&over_https, "http://files.test/sentinel"),
        (&over_https, "file:///sentinel"),
        (&over_http, "ftp://files.test/sentinel"),
        (&over_http, "/sentinel"),
        (&over_http, "sentinel"),
        (&over_http, ""),
    ] {
        let error = client.received().download(url).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
        assert!(!format!("{error} {error:?}").contains("sentinel"), "{error}");
    }
    assert!(script.seen().is_empty());
}
