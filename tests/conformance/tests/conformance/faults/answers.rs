use idempost::{Error, Outcome, error::Recovery};
use idempost_conformance::peer::{Act, Peer, answer};

use super::{client, email, send};

#[tokio::test]
async fn an_accepted_email_with_a_cut_off_response_has_its_id_or_a_way_to_it() {
    // B-05
    for (body, id) in [
        (r#"{"object":"email","id":"49a3999c","cre"#, Some("49a3999c")),
        (r#"{"id":"49a3999c""#, Some("49a3999c")),
        (r#"{"id":"49a39"#, None),
        ("{", None),
        (r#"{"id":7,"x"#, None),
    ] {
        let whole = Act::json(200, body);
        let Act::Answer(mut bytes) = Act::json(200, &format!("{body}{}", " ".repeat(9))) else {
            unreachable!()
        };
        bytes.truncate(bytes.len() - 9);
        // A complete response with an incomplete body, and one whose connection was closed.
        for cut in [whole, Act::AnswerAndClose(bytes)] {
            let peer = Peer::acting([cut]).await;
            let error = send(&peer).await.unwrap_err();
            let Error::Decode(unread) = &error else { panic!("{body}: {error:?}") };
            assert_eq!(
                (error.outcome(), error.recovery(), unread.id()),
                (Outcome::Accepted, Recovery::Never, id)
            );
            assert!(
                error.to_string().starts_with("the service accepted the request (status 200)"),
                "{error}"
            );
            let next = id.unwrap_or("a call with the same idempotency key returns it");
            assert!(error.to_string().contains(next), "{error}");
        }
    }
}

#[tokio::test]
async fn the_sample_of_an_unreadable_response_is_short_and_terminal_safe() {
    // B-05
    let body = format!("\u{1b}[2J{}", "x".repeat(5_000));
    let peer = Peer::acting([Act::json(200, &body)]).await;
    let Error::Decode(unreadable) = send(&peer).await.unwrap_err() else { panic!("readable") };
    assert!(unreadable.sample.len() < 600, "{}", unreadable.sample.len());
    assert!(!unreadable.sample.contains('\u{1b}'));
}

#[tokio::test]
async fn informational_responses_are_skipped() {
    // B-16
    for before in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"] {
        let mut bytes = before.as_bytes().to_vec();
        bytes.extend(answer(200, &[], br#"{"id":"1"}"#));
        let peer = Peer::acting([Act::Answer(bytes)]).await;
        assert_eq!(send(&peer).await.unwrap().id.as_str(), "1");
    }
    let switching = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n".to_vec();
    let peer = Peer::acting([Act::AnswerAndClose(switching)]).await;
    assert!(send(&peer).await.is_err());
}

#[tokio::test]
async fn cookies_are_never_kept() {
    // B-26
    let cookie = Act::answer(200, &[("set-cookie", "session=1; Path=/")], r#"{"id":"1"}"#);
    let peer = Peer::acting([cookie]).await;
    let client = client(&peer.base_url());
    for _ in 0..2 {
        client.emails().send(&email()).await.unwrap();
    }
    assert_eq!(peer.requests()[1].header("cookie"), None);
}

#[tokio::test]
async fn edge_cases_of_json_never_panic() {
    // B-19
    let deep = |n: usize| format!(r#"{{"id":"1","more":{}{}}}"#, "[".repeat(n), "]".repeat(n));
    for body in [deep(100), deep(1_000_000), r#"{"id":"1","n":1e400}"#.to_owned()] {
        let peer = Peer::acting([Act::json(200, &body)]).await;
        match send(&peer).await {
            Ok(accepted) => assert_eq!(accepted.id.as_str(), "1"),
            Err(error) => assert!(matches!(error, Error::Decode(_)), "{error:?}"),
        }
    }
    for body in [
        "\u{feff}{\"id\":\"1\"}",
        r#"{"id":"1","id":"2"}"#,
        r#"{"id":"\ud800"}"#,
        r#"{"id":9223372036854775808}"#,
    ] {
        let peer = Peer::acting([Act::json(200, body)]).await;
        assert!(matches!(send(&peer).await.unwrap_err(), Error::Decode(_)), "{body}");
    }
}
